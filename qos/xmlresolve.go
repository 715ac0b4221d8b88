package qos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// references are what a profile or an entity inherits from, in the order in which they are put over each other: its
// base_name attribute, then the <element>s of <base_name>, as RTI writes several, then the snippets of later schemas,
// wherever they stand.
func (l *loader) references(n *node, path string) []attribute {
	var out, snippets []attribute
	if a, ok := n.Attr("base_name"); ok {
		out = append(out, a)
	}
	for _, c := range n.Children {
		switch c.Name {
		case "base_name":
			for _, e := range l.list(c, path+"/base_name") {
				if text, ok := l.content(e, path+"/base_name/element"); ok {
					out = append(out, attribute{Name: "base_name", Value: text, At: e.TextAt})
				}
			}
		case "qos_snippets":
			l.elements(c, path+"/qos_snippets")
			for _, e := range c.Children {
				a, ok := e.Attr("snippet_ref")
				switch {
				case e.Name != "snippet":
					l.unknownElement(e, path+"/qos_snippets/"+e.Name, []string{"snippet"})
				case !ok:
					l.fail(e.At, path+"/qos_snippets/snippet", "<snippet> has no snippet_ref", `write snippet_ref="Library::Snippet"`)
				default:
					l.noAttributes(e, path+"/qos_snippets/snippet", "snippet_ref")
					a.Name = "base_name"
					snippets = append(snippets, a)
				}
			}
		}
	}
	return append(out, snippets...)
}

// find gives a profile of this or an earlier file, or a built-in one.
func (l *loader) find(name string) *profile {
	if p := l.profiles[name]; p != nil {
		return p
	}
	return l.builtin[name]
}

// baseProfiles resolves what a profile inherits from. Only what stands earlier can be a base, so there are no cycles.
func (l *loader) baseProfiles(p *profile, n *node, path string) {
	for _, a := range l.references(n, path) {
		base := l.baseProfile(p, a, path)
		switch {
		case base == nil:
			p.partial = true
			continue
		case p.ancestors+base.ancestors+1 > maxInheritance:
			l.fail(a.At, path, fmt.Sprintf("inheritance is deeper than %d profiles", maxInheritance), "")
			p.partial = true
			return
		}
		p.bases = append(p.bases, base)
		p.ancestors += base.ancestors + 1
		p.partial = p.partial || base.partial
	}
}

func (l *loader) baseProfile(p *profile, a attribute, path string) *profile {
	parts, ok := l.reference(a, path)
	if !ok {
		return nil
	}
	if len(parts) > 2 {
		l.fail(a.At, path, fmt.Sprintf("base_name %s names an entity", quote(a.Value)), "the base of a profile is a profile")
		return nil
	}
	name := qualified(p.lib, parts)
	base := l.find(name)
	if base == nil {
		l.unresolved(p, a, path, name)
	}
	return base
}

// baseEntity resolves a base_name of an entity element: an entity of this profile, a profile of this library,
// Lib::Profile, Profile::Entity of this library, or Lib::Profile::Entity. It gives its full name too, and false if
// it names nothing.
func (l *loader) baseEntity(p *profile, e *entity, a attribute, path string) (leaves, string, bool) {
	parts, ok := l.reference(a, path)
	if !ok {
		return nil, "", false
	}
	var owner *profile
	entityName := ""
	switch len(parts) {
	case 1:
		for _, sibling := range p.entities {
			if sibling.kind == e.kind && sibling.name == parts[0] {
				return sibling.resolved, p.name + "::" + sibling.name, true
			}
		}
		owner = l.find(fullName(p.lib, parts[0]))
	case 2:
		owner = l.find(parts[0] + "::" + parts[1])
		if inLibrary := l.find(fullName(p.lib, parts[0])); owner == nil && inLibrary != nil {
			owner, entityName = inLibrary, parts[1]
		}
	default:
		owner, entityName = l.find(parts[0]+"::"+parts[1]), parts[2]
	}
	if owner == nil {
		name := qualified(p.lib, parts[:min(len(parts), 2)])
		if inLibrary := fullName(p.lib, parts[0]); len(parts) == 2 {
			if _, later := l.later[inLibrary]; later {
				name = inLibrary
			}
		}
		l.unresolved(p, a, path, name)
		return nil, "", false
	}
	if entityName == "" {
		return owner.feeds(e.kind, e.filter), owner.name, !owner.partial
	}
	found := owner.named(e.kind, entityName)
	if found == nil {
		l.fail(a.At, path, fmt.Sprintf("base_name %s: %s has no <%v> named %s", quote(a.Value), owner.name, e.kind, quote(entityName)),
			didYouMean(entityName, entityNames(owner, e.kind)))
		return nil, "", false
	}
	return found.resolved, owner.name + "::" + entityName, !owner.partial
}

func entityNames(p *profile, kind entityKind) []string {
	var out []string
	for _, e := range p.visible {
		if e.kind == kind && e.name != "" {
			out = append(out, e.name)
		}
	}
	return out
}

// reference takes a base_name apart at its "::".
func (l *loader) reference(a attribute, path string) ([]string, bool) {
	parts := strings.SplitN(strings.TrimPrefix(a.Value, "::"), "::", 4)
	if len(parts) > 3 || slices.ContainsFunc(parts, func(s string) bool { return l.nameProblem(s) != "" }) {
		l.fail(a.At, path, fmt.Sprintf("base_name %s is no name", quote(a.Value)), "write Profile, or Library::Profile")
		return nil, false
	}
	return parts, true
}

func qualified(lib string, parts []string) string {
	if len(parts) == 1 {
		return fullName(lib, parts[0])
	}
	return strings.Join(parts, "::")
}

// unresolved says why name is no base: it comes later, it is the profile itself, or there is none.
func (l *loader) unresolved(p *profile, a attribute, path, name string) {
	what := fmt.Sprintf("base_name %s", quote(a.Value))
	at, later := l.later[name]
	switch {
	case later && at == p.at:
		l.fail(a.At, path, what+" is the profile itself", "")
	case later:
		l.fail(a.At, path, fmt.Sprintf("%s is defined only later, at %v", what, at), fmt.Sprintf("move %s above %s", name, p.name))
	default:
		hint := "load the file that defines it first"
		if !l.full() {
			hint = cmp.Or(profileHint(name, p.name, l.profiles, l.later, l.builtin), hint)
		}
		l.fail(a.At, path, what+" names no profile", hint)
	}
}

// profileHint looks for a profile that was meant by name: of the same name in another library, or of a
// similar one. It was not the profile that names it.
func profileHint(name, self string, profiles map[string]*profile, later map[string]place, builtin map[string]*profile) string {
	candidates := slices.Concat(slices.Sorted(maps.Keys(profiles)), slices.Sorted(maps.Keys(later)), slices.Sorted(maps.Keys(builtin)))
	candidates = slices.DeleteFunc(candidates, func(c string) bool { return c == self })
	last := name[strings.LastIndex(name, ":")+1:]
	for _, c := range candidates {
		if last != "" && (strings.HasSuffix(c, "::"+last) || c == last) {
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
			File: at.File, Line: at.Line, Col: at.Col, Path: path,
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
		if e.own != nil && e.own[i] == v && (at == e.at || v.at.Line > at.Line || v.at.Line == at.Line && v.at.Col > at.Col) {
			at = v.at
		}
	}
	return at, texts, true
}
