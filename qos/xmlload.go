package qos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

const (
	maxNameLength  = 255
	maxInheritance = 64   // profiles, one the base of the next
	maxEntities    = 1000 // of a profile; selecting among them is a walk
)

// loader reads one document into profiles. It works on a copy of the provider's map, so that a file with
// errors leaves nothing behind.
type loader struct {
	valueReader
	profiles map[string]*profile
	order    []string
	later    map[string]place // of every profile of this document, to tell a forward reference from an unknown name
	judged   map[string]bool  // inconsistencies reported already, see consistency
}

func load(file string, r io.Reader, profiles map[string]*profile) (*loader, error) {
	l := &loader{
		valueReader: valueReader{&report{}},
		profiles:    maps.Clone(profiles),
		later:       map[string]place{},
		judged:      map[string]bool{},
	}
	if l.profiles == nil {
		l.profiles = map[string]*profile{}
	}
	root, complete := parseTree(file, r, l.report)
	if complete {
		l.document(root)
	}
	return l, l.err()
}

func (l *loader) document(root *node) {
	switch root.name {
	case "dds":
		l.elements(root, "dds", "version")
		var libraries []*node
		for _, c := range root.children {
			switch {
			case c.name == "qos_library":
				libraries = append(libraries, c)
			case slices.Contains(otherBlocks, c.name):
			default:
				l.unknownElement(c, "dds/"+c.name, append([]string{"qos_library"}, otherBlocks...))
			}
		}
		l.libraries(libraries)
	case "qos_library":
		l.libraries([]*node{root})
	default:
		l.fail(root.at, root.name, fmt.Sprintf("unknown root element <%s>", root.name), "a QoS file starts with <dds>")
	}
}

func (l *loader) unknownElement(n *node, path string, known []string) {
	hint, ok := foreignElements[n.name]
	if !ok {
		hint = didYouMean(n.name, known)
	}
	l.fail(n.at, path, fmt.Sprintf("unknown element <%s>", n.name), hint)
}

// libraries notes first where every profile stands, then reads them in document order.
func (l *loader) libraries(libraries []*node) {
	for _, lib := range libraries {
		name, _ := lib.attr("name")
		for _, c := range lib.children {
			if profileName, ok := c.attr("name"); ok && isProfileElement(c.name) {
				full := name.value + "::" + profileName.value
				if _, seen := l.later[full]; !seen {
					l.later[full] = c.at
				}
			}
		}
	}
	for _, lib := range libraries {
		l.library(lib)
	}
}

func isProfileElement(name string) bool {
	_, entity := entityElements[name]
	return entity || name == "qos_profile"
}

func (l *loader) library(n *node) {
	name, ok := l.name(n, "dds/qos_library", true)
	path := "dds/qos_library"
	if ok {
		path = name
	}
	l.elements(n, path, "name")
	for _, c := range n.children {
		if !isProfileElement(c.name) {
			known := append(slices.Sorted(maps.Keys(entityElements)), "qos_profile")
			l.unknownElement(c, path+"/"+c.name, known)
			continue
		}
		l.profile(c, name, path)
	}
}

// name reads the name attribute. An element without a proper one is still checked inside.
func (l *loader) name(n *node, path string, required bool) (string, bool) {
	a, has := n.attr("name")
	switch {
	case !has && required:
		l.fail(n.at, path, fmt.Sprintf("<%s> has no name", n.name), `write name="..."`)
		return "", false
	case !has:
		return "", false
	}
	if problem := nameProblem(a.value); problem != "" {
		l.fail(a.at, path, fmt.Sprintf("name %s %s", quote(a.value), problem), "names are made of letters, digits, _ and .")
		return "", false
	}
	return a.value, true
}

func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxNameLength:
		return fmt.Sprintf("is longer than %d", maxNameLength)
	}
	for _, c := range name {
		if !isNameRune(c) {
			return fmt.Sprintf("has a %q in it", c)
		}
	}
	return ""
}

func isNameRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.'
}

// profile reads a <qos_profile>, or an entity that stands in its place: a profile of the entity's name with
// this one member.
func (l *loader) profile(n *node, lib, libPath string) {
	name, named := l.name(n, libPath+"/"+n.name, true)
	p := &profile{name: lib + "::" + name, at: n.at}
	path := p.name
	if !named {
		path = libPath + "/" + n.name
	}
	if kind, single := entityElements[n.name]; single {
		l.entity(p, n, kind, path+"/"+n.name, true)
	} else {
		l.elements(n, path, "name", "base_name")
		if a, ok := n.attr("base_name"); ok {
			l.baseProfile(p, a, path)
		}
		for _, c := range n.children {
			kind, ok := entityElements[c.name]
			if !ok {
				l.unknownElement(c, path+"/"+c.name, slices.Sorted(maps.Keys(entityElements)))
				continue
			}
			if len(p.entities) >= maxEntities {
				l.fail(c.at, path, fmt.Sprintf("more than %d elements in a profile", maxEntities), "split it")
				break
			}
			l.entity(p, c, kind, path+"/"+c.name, false)
		}
	}
	if !named || lib == "" {
		return
	}
	if first := l.profiles[p.name]; first != nil {
		l.fail(n.at, path, fmt.Sprintf("profile %s is defined twice, first at %v", p.name, first.at), "rename one of them")
		return
	}
	l.profiles[p.name] = p
	l.order = append(l.order, p.name)
}

func (l *loader) entity(p *profile, n *node, kind entityKind, path string, single bool) {
	e := &entity{kind: kind, at: n.at}
	l.elements(n, path, "name", "base_name", "topic_filter")
	if !single {
		e.name, _ = l.name(n, path, false)
	}
	if a, ok := n.attr("topic_filter"); ok {
		e.filter = l.filter(a, kind, path, single)
	}
	switch {
	case e.name != "":
		path += "[" + e.name + "]"
	case e.filter != "":
		path += "[" + e.filter + "]"
	}
	l.unique(p, e, path)
	inherited := leaves(nil)
	if p.base != nil {
		inherited = p.base.feeds(kind, e.filter)
	}
	partial := p.partial
	if a, ok := n.attr("base_name"); ok {
		base, found := l.baseEntity(p, e, a, path)
		inherited = inherited.over(base)
		partial = partial || !found
	}
	e.own = l.policies(n, kind, p.name, path)
	e.resolved = inherited.over(e.own)
	p.partial = p.partial || partial
	p.entities = append(p.entities, e)
	l.consistency(e, partial, path)
}

// filter reads topic_filter; "*" is the same as none.
func (l *loader) filter(a attribute, kind entityKind, path string, single bool) string {
	switch {
	case single:
		l.fail(a.at, path, "topic_filter outside a <qos_profile>", "put the element into a profile")
		return ""
	case !kind.filterable():
		l.fail(a.at, path, fmt.Sprintf("topic_filter on <%v>", kind), "only <topic_qos>, <datawriter_qos> and <datareader_qos> have one")
		return ""
	case a.value == "" || len(a.value) > maxNameLength:
		l.fail(a.at, path, fmt.Sprintf("topic_filter has %d characters", len(a.value)), fmt.Sprintf("write 1 to %d", maxNameLength))
		return ""
	}
	for _, c := range a.value {
		if !isNameRune(c) && !strings.ContainsRune("/*?:-[]! ", c) {
			l.fail(a.at, path, fmt.Sprintf("topic_filter %s has a %q in it", quote(a.value), c),
				"a filter is made of letters, digits, _ . / : - blanks, and * ? [ ] for any text, any character, one of a set")
			return ""
		}
	}
	if i := openBracket(a.value); i >= 0 {
		l.fail(a.at, path, fmt.Sprintf("topic_filter %s has a set that does not end: %s", quote(a.value), quote(a.value[i:])),
			"close it with ]; [[] is the bracket itself")
		return ""
	}
	if a.value == "*" {
		return ""
	}
	return a.value
}

// unique: entities of a profile differ in kind, name, or filter.
func (l *loader) unique(p *profile, e *entity, path string) {
	for _, other := range p.entities {
		if other.kind == e.kind && other.name == e.name && (e.name != "" || other.filter == e.filter) {
			what := fmt.Sprintf("<%v> appears twice, first at %v", e.kind, other.at)
			l.fail(e.at, path, what, "merge the two, or give them different names or topic_filters")
			return
		}
	}
}

// policies reads the policies of an entity element.
func (l *loader) policies(n *node, kind entityKind, owner, path string) leaves {
	var out leaves
	set := kind.defaults()
	seen := map[string]place{}
	for _, c := range n.children {
		policyPath := path + "/" + c.name
		i := slices.IndexFunc(policyElements, func(p policyElement) bool { return p.element == c.name })
		switch {
		case i < 0 && slices.Contains(withoutEffect, c.name):
			l.warn(c.at, policyPath, fmt.Sprintf("<%s> has no effect", c.name), "it is of a later schema")
		case i < 0:
			l.unknownElement(c, policyPath, policyNames(kind))
		case !policyElements[i].has(set):
			l.fail(c.at, policyPath, fmt.Sprintf("<%s> does not belong to <%v>", c.name, kind),
				"it belongs to "+alternatives(policyOwners(policyElements[i])))
		case seen[c.name] != place{}:
			l.duplicate(c, policyPath, seen[c.name])
		default:
			seen[c.name] = c.at
			if out == nil {
				out = make(leaves, len(leafNames))
			}
			l.fields(out, c, policyElements[i], owner, policyPath)
		}
	}
	return out
}

func (l *loader) fields(out leaves, n *node, policy policyElement, owner, path string) {
	l.elements(n, path)
	known := make([]string, len(policy.fields))
	for i, f := range policy.fields {
		known[i] = f.element
	}
	for _, c := range n.children {
		fieldPath := path + "/" + c.name
		i := slices.Index(known, c.name)
		if i < 0 {
			l.unknownElement(c, fieldPath, known)
			continue
		}
		f := policy.fields[i]
		if first := out[f.leaf]; first != nil {
			l.duplicate(c, fieldPath, first.at)
			continue
		}
		v, ok := f.read(l.valueReader, c, fieldPath)
		out[f.leaf] = &leaf{value: v, at: c.at, owner: owner, bad: !ok}
	}
}
