package qos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// baseProfile resolves the base_name of a profile. Only what stands earlier can be a base, so there are no
// cycles.
func (l *loader) baseProfile(p *profile, a attribute, path string) {
	p.partial = true
	parts, ok := l.reference(a, path)
	if !ok {
		return
	}
	if len(parts) > 2 {
		l.fail(a.at, path, fmt.Sprintf("base_name %s names an entity", quote(a.value)), "the base of a profile is a profile")
		return
	}
	name := qualified(p.library(), parts)
	base := l.profiles[name]
	switch {
	case base == nil:
		l.unresolved(p, a, path, name)
		return
	case base.depth >= maxInheritance:
		l.fail(a.at, path, fmt.Sprintf("inheritance is deeper than %d profiles", maxInheritance), "")
		return
	}
	p.base, p.depth, p.partial = base, base.depth+1, base.partial
}

// baseEntity resolves the base_name of an entity element: an entity of this profile, a profile of this library,
// Lib::Profile, Profile::Entity of this library, or Lib::Profile::Entity. False if it names nothing.
func (l *loader) baseEntity(p *profile, e *entity, a attribute, path string) (leaves, bool) {
	parts, ok := l.reference(a, path)
	if !ok {
		return nil, false
	}
	lib := p.library()
	var owner *profile
	entityName := ""
	switch len(parts) {
	case 1:
		for _, sibling := range p.entities {
			if sibling.kind == e.kind && sibling.name == parts[0] {
				return sibling.resolved, true
			}
		}
		owner = l.profiles[lib+"::"+parts[0]]
	case 2:
		owner = l.profiles[parts[0]+"::"+parts[1]]
		if inLibrary := l.profiles[lib+"::"+parts[0]]; owner == nil && inLibrary != nil {
			owner, entityName = inLibrary, parts[1]
		}
	default:
		owner, entityName = l.profiles[parts[0]+"::"+parts[1]], parts[2]
	}
	if owner == nil {
		name := qualified(lib, parts[:min(len(parts), 2)])
		if _, later := l.later[lib+"::"+parts[0]]; later && len(parts) == 2 {
			name = lib + "::" + parts[0]
		}
		l.unresolved(p, a, path, name)
		return nil, false
	}
	if entityName == "" {
		return owner.feeds(e.kind, e.filter), !owner.partial
	}
	found := owner.named(e.kind, entityName)
	if found == nil {
		l.fail(a.at, path, fmt.Sprintf("base_name %s: %s has no <%v> named %s", quote(a.value), owner.name, e.kind, quote(entityName)),
			didYouMean(entityName, entityNames(owner, e.kind)))
		return nil, false
	}
	return found.resolved, !owner.partial
}

func entityNames(p *profile, kind entityKind) []string {
	var out []string
	for ; p != nil; p = p.base {
		for _, e := range p.entities {
			if e.kind == kind && e.name != "" {
				out = append(out, e.name)
			}
		}
	}
	return out
}

// reference takes a base_name apart at its "::".
func (l *loader) reference(a attribute, path string) ([]string, bool) {
	parts := strings.SplitN(strings.TrimPrefix(a.value, "::"), "::", 4)
	if len(parts) > 3 || slices.ContainsFunc(parts, func(s string) bool { return nameProblem(s) != "" }) {
		l.fail(a.at, path, fmt.Sprintf("base_name %s is no name", quote(a.value)), "write Profile, or Library::Profile")
		return nil, false
	}
	return parts, true
}

func qualified(lib string, parts []string) string {
	if len(parts) == 1 {
		return lib + "::" + parts[0]
	}
	return strings.Join(parts, "::")
}

// unresolved says why name is no base: it comes later, it is the profile itself, or there is none.
func (l *loader) unresolved(p *profile, a attribute, path, name string) {
	what := fmt.Sprintf("base_name %s", quote(a.value))
	at, later := l.later[name]
	switch {
	case later && at == p.at:
		l.fail(a.at, path, what+" is the profile itself", "")
	case later:
		l.fail(a.at, path, fmt.Sprintf("%s is defined only later, at %v", what, at), fmt.Sprintf("move %s above %s", name, p.name))
	default:
		hint := "load the file that defines it first"
		if !l.full() {
			hint = cmp.Or(profileHint(name, l.profiles, l.later), hint)
		}
		l.fail(a.at, path, what+" names no profile", hint)
	}
}

// profileHint looks for a profile that was meant by name: of the same name in another library, or of a
// similar one.
func profileHint(name string, profiles map[string]*profile, later map[string]place) string {
	candidates := slices.Concat(slices.Sorted(maps.Keys(profiles)), slices.Sorted(maps.Keys(later)))
	_, last, _ := strings.Cut(name, "::")
	for _, c := range candidates {
		if strings.HasSuffix(c, "::"+last) && last != "" {
			return "did you mean " + c + "?"
		}
	}
	if best, ok := closest(name, candidates); ok {
		return "did you mean " + best + "?"
	}
	return ""
}

// consistency reports values of the resolved entity that contradict each other, with the places that they come
// from. If something it inherits is missing (partial), only values that are set are judged, not the defaults
// behind them.
func (l *loader) consistency(e *entity, partial bool, path string) {
	set := e.kind.defaults()
	e.resolved.apply(set)
	for _, problem := range inconsistencies(set) {
		at, origins, ok := e.origins(problem.Fields, partial)
		key := problem.Detail + "\n" + strings.Join(origins, "\n")
		if !ok || l.judged[key] {
			continue
		}
		l.judged[key] = true
		l.add(&XMLError{
			File: at.file, Line: at.line, Col: at.col, Path: path,
			What: fmt.Sprintf("%s (%s)", problem.Detail, strings.Join(origins, ", ")),
			Hint: "change one of them", err: ErrInconsistentPolicy,
		})
	}
}

// origins says where each of the fields got its value. The place to report is the last of them that stands in
// e itself, else e. It is false if they cannot be judged, or if e has set none of them: then whoever it inherits
// from was judged.
func (e *entity) origins(fields []string, partial bool) (at place, texts []string, ok bool) {
	at = e.at
	for _, name := range fields {
		i := slices.Index(leafNames, name)
		var v *leaf
		if i >= 0 && e.resolved != nil {
			v = e.resolved[i]
		}
		switch {
		case v == nil && partial, v != nil && v.bad:
			return at, nil, false
		case v == nil:
			texts = append(texts, name+" is the default")
			continue
		}
		texts = append(texts, fmt.Sprintf("%s from %v in %s", name, v.at, v.owner))
		if e.own != nil && e.own[i] == v && (at == e.at || v.at.line > at.line || v.at.line == at.line && v.at.col > at.col) {
			at = v.at
		}
	}
	return at, texts, true
}
