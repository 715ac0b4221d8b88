package qos

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/qos/internal/tree"
)

const (
	maxNameLength  = 255
	maxInheritance = 64     // profiles that one inherits from
	maxEntities    = 1000   // of a profile; selecting among them is a walk
	maxMerged      = 20_000 // entities of a document that profiles with several bases get from them
)

// loader reads one document into profiles. It works on a copy of the provider's map, so that a file with
// errors leaves nothing behind.
type loader struct {
	valueReader
	profiles map[string]*profile
	builtin  map[string]*profile // what is below all that was loaded
	replace  bool                // a profile may take the place of one of another file
	order    []string
	defaults [entityKinds]string // the profiles that say that they are the default
	later    map[string]place    // of every profile of this document, to tell a forward reference from an unknown name
	judged   map[string]bool     // inconsistencies reported already, see consistency
	merged   int                 // entities that several bases of a profile made
}

// input is a document and how to read it.
type input struct {
	name    string
	r       io.Reader
	options Options
	replace bool
}

func load(in input, profiles, builtin map[string]*profile) (*loader, error) {
	l := &loader{
		valueReader: valueReader{report: &report{strict: in.options.Strict}},
		profiles:    maps.Clone(profiles),
		builtin:     builtin,
		replace:     in.replace,
		later:       map[string]place{},
		judged:      map[string]bool{},
	}
	if l.profiles == nil {
		l.profiles = map[string]*profile{}
	}
	if root := l.parse(in); root != nil {
		x := expander{report: l.report, lookup: environment(in.options)}
		x.expand(root)
		if root, ok := l.normalize(root); ok {
			l.document(root)
		}
	}
	return l, l.err()
}

// parse reads the tree in the format that the name of the file tells. Nil if it can not be judged.
func (l *loader) parse(in input) *node {
	data, ok := readDocument(in.name, in.r, l.report)
	if !ok {
		return nil
	}
	if other := tree.ParserFor(in.name); other != nil {
		l.dialect = dialectYAML
		return other(in.name, data, func(at place, what, hint string) { l.fail(at, "", what, hint) })
	}
	if ending := strings.ToLower(path.Ext(in.name)); ending == ".yaml" || ending == ".yml" {
		l.fail(place{File: in.name, Line: 1, Col: 1}, "", "this program does not read YAML", "import github.com/omg-dds-go/dds/qos/qosyaml into it")
		return nil
	}
	root, complete := parseXML(in.name, data, l.report)
	if !complete {
		return nil
	}
	return root
}

func (l *loader) document(root *node) {
	switch root.Name {
	case "dds":
		l.elements(root, "dds", "version")
		var libraries []*node
		for _, c := range root.Children {
			switch {
			case c.Name == "qos_library":
				libraries = append(libraries, c)
			case slices.Contains(otherBlocks, c.Name):
			default:
				l.unknownElement(c, "dds/"+c.Name, append([]string{"qos_library"}, otherBlocks...))
			}
		}
		l.libraries(libraries)
	case "qos_library":
		l.libraries([]*node{root})
	default:
		l.fail(root.At, root.Name, fmt.Sprintf("unknown root element <%s>", root.Name), "a QoS file starts with <dds>")
	}
}

// libraries notes first where every profile stands, then reads them in document order.
func (l *loader) libraries(libraries []*node) {
	for _, lib := range libraries {
		name, _ := lib.Attr("name")
		for _, c := range lib.Children {
			if profileName, ok := c.Attr("name"); ok && isProfileElement(c.Name) {
				full := fullName(name.Value, profileName.Value)
				if _, seen := l.later[full]; !seen {
					l.later[full] = c.At
				}
			}
		}
	}
	for _, lib := range libraries {
		l.library(lib)
	}
}

// fullName is Library::Profile, or Profile alone in a file of a dialect without libraries.
func fullName(library, profile string) string {
	if library == "" {
		return profile
	}
	return library + "::" + profile
}

func isProfileElement(name string) bool {
	_, entity := entityElements[name]
	return entity || name == "qos_profile" || name == "qos_snippet"
}

// withoutLibraries dialects have profiles right below the root.
func (d dialect) withoutLibraries() bool { return d == dialectFastDDS || d == dialectOpenDDS }

func (l *loader) library(n *node) {
	_, named := n.Attr("name")
	free := l.dialect.withoutLibraries() && !named
	name, ok := l.name(n, "dds/qos_library", !free)
	path := "dds/qos_library"
	switch {
	case ok:
		path = name
	case free:
		path, ok = l.dialect.rootPath(), true
	}
	l.elements(n, path, "name")
	for _, c := range n.Children {
		if !isProfileElement(c.Name) {
			l.unknownElement(c, path+"/"+c.Name, append(entityNamesFor(), "qos_profile", "qos_snippet"))
			continue
		}
		l.profile(c, name, path, ok)
	}
}

func (d dialect) rootPath() string {
	if d == dialectFastDDS {
		return "dds/profiles"
	}
	return "dds"
}

// name reads the name attribute. An element without a proper one is still checked inside.
func (l *loader) name(n *node, path string, required bool) (string, bool) {
	a, has := n.Attr("name")
	switch {
	case !has && required:
		attribute := "name"
		if l.dialect == dialectFastDDS {
			attribute = "profile_name"
		}
		l.fail(n.At, path, fmt.Sprintf("<%s> has no %s", n.Spelled(), attribute), "write "+attribute+`="..."`)
		return "", false
	case !has:
		return "", false
	}
	if problem := l.nameProblem(a.Value); problem != "" {
		l.fail(a.At, path, fmt.Sprintf("name %s %s", quote(a.Value), problem), "names are made of letters, digits, _ and .")
		return "", false
	}
	return a.Value, true
}

// nameProblem: names of vendors are freer, so that a profile may have the name of a ROS topic, or a blank.
func (l *loader) nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxNameLength:
		return fmt.Sprintf("is longer than %d", maxNameLength)
	}
	for _, c := range name {
		if !isNameRune(c) && (!l.dialect.foreign() || !strings.ContainsRune("/- ", c)) {
			return fmt.Sprintf("has a %q in it", c)
		}
	}
	return ""
}

func isNameRune(c rune) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// profile reads a <qos_profile>, a <qos_snippet>, or a single entity, which is a profile of that one entity.
func (l *loader) profile(n *node, lib, libPath string, libOK bool) {
	name, named := l.name(n, libPath+"/"+n.Name, true)
	p := &profile{name: fullName(lib, name), lib: lib, at: n.At, snippet: n.Name == "qos_snippet"}
	path := p.name
	if !named {
		path = libPath + "/" + n.Spelled()
	}
	if kind, single := entityElements[n.Name]; single {
		l.entity(p, n, kind, path+"/"+n.Name, true)
	} else {
		l.elements(n, path, "name", "base_name", "is_default_qos", "is_default_participant_factory_profile")
		l.baseProfiles(p, n, path)
		l.defaultFor(p, n, path, everyKind...)
		for _, c := range n.Children {
			kind, ok := entityElements[c.Name]
			switch {
			case c.Name == "base_name" || c.Name == "qos_snippets":
				continue
			case !ok && c.Name == "writer_qos" && l.dialect == dialectRTI:
				kind = kindWriter
			case !ok && c.Name == "reader_qos" && l.dialect == dialectRTI:
				kind = kindReader
			case !ok:
				l.unknownElement(c, path+"/"+c.Name, entityNamesFor())
				continue
			}
			if len(p.entities) >= maxEntities {
				l.fail(c.At, path, fmt.Sprintf("more than %d elements in a profile", maxEntities), "split it")
				break
			}
			l.entity(p, c, kind, path+"/"+c.Name, false)
		}
	}
	l.inherit(p, path)
	if !named || !libOK {
		return
	}
	first := l.profiles[p.name]
	switch {
	case first == nil:
		l.order = append(l.order, p.name)
	case l.replace && first.at.File != n.At.File:
		l.warn(n.At, path, fmt.Sprintf("profile %s takes the place of the one at %v", p.name, first.at), "")
	default:
		l.fail(n.At, path, fmt.Sprintf("profile %s is defined twice, first at %v", p.name, first.at), "rename one of them")
		return
	}
	l.profiles[p.name] = p
}

// defaultFor reads is_default_qos: what a lookup without a name gives for entities of these kinds.
func (l *loader) defaultFor(p *profile, n *node, path string, kinds ...entityKind) {
	a, ok := n.Attr("is_default_qos")
	if !ok {
		return
	}
	switch a.Value {
	case "true", "1":
	case "false", "0", "":
		return
	default:
		l.fail(a.At, path, quote(a.Value)+" is not a boolean", didYouMean(a.Value, []string{"true", "false"}))
		return
	}
	for _, k := range kinds {
		if other := l.defaults[k]; other != "" && other != p.name {
			l.warn(a.At, path, fmt.Sprintf("%s is the default for <%v> in place of %s", p.name, k, other), "let one profile be the default")
		}
		l.defaults[k] = p.name
		p.isDefault = append(p.isDefault, k)
	}
}

func (l *loader) entity(p *profile, n *node, kind entityKind, path string, single bool) {
	e := &entity{kind: kind, at: n.At}
	l.elements(n, path, "name", "base_name", "topic_filter", "is_default_qos")
	if !single {
		e.name, _ = l.name(n, path, false)
	}
	if a, ok := n.Attr("topic_filter"); ok {
		e.filter = l.filter(a, kind, path, single)
	}
	switch {
	case e.name != "":
		path += "[" + e.name + "]"
	case e.filter != "":
		path += "[" + e.filter + "]"
	}
	l.unique(p, e, path)
	l.defaultFor(p, n, path, kind)
	inherited := p.inherits(kind, e.filter)
	partial := p.partial
	for _, a := range l.references(n, path) {
		base, name, found := l.baseEntity(p, e, a, path)
		inherited = inherited.over(base)
		partial = partial || !found
		if name != "" {
			e.bases = append(e.bases, name)
		}
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
		l.fail(a.At, path, "topic_filter outside a <qos_profile>", "put the element into a profile")
		return ""
	case !kind.filterable():
		l.fail(a.At, path, fmt.Sprintf("topic_filter on <%v>", kind), "only <topic_qos>, <datawriter_qos> and <datareader_qos> have one")
		return ""
	case a.Value == "" || len(a.Value) > maxNameLength:
		l.fail(a.At, path, fmt.Sprintf("topic_filter has %d characters", len(a.Value)), fmt.Sprintf("write 1 to %d", maxNameLength))
		return ""
	}
	for _, c := range a.Value {
		if !isNameRune(c) && !strings.ContainsRune("/*?:-[]! ", c) {
			l.fail(a.At, path, fmt.Sprintf("topic_filter %s has a %q in it", quote(a.Value), c),
				"a filter is made of letters, digits, _ . / : - blanks, and * ? [ ] for any text, any character, one of a set")
			return ""
		}
	}
	if i := openBracket(a.Value); i >= 0 {
		l.fail(a.At, path, fmt.Sprintf("topic_filter %s has a set that does not end: %s", quote(a.Value), quote(a.Value[i:])),
			"close it with ]; [[] is the bracket itself")
		return ""
	}
	if a.Value == "*" {
		return ""
	}
	return a.Value
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
	for _, c := range n.Children {
		policyPath := path + "/" + c.Name
		i := slices.IndexFunc(policyElements, func(p policyElement) bool { return p.element == c.Name })
		switch {
		case c.Name == "base_name" || c.Name == "qos_snippets":
		case i < 0:
			l.unknownElement(c, policyPath, policyNames(kind))
		case !policyElements[i].has(set) && l.dialect.foreign():
			l.ignore(c, policyPath, fmt.Sprintf("<%v> has no such policy in the standard", kind))
		case !policyElements[i].has(set):
			l.fail(c.At, policyPath, fmt.Sprintf("<%s> does not belong to <%v>", c.Name, kind),
				"it belongs to "+alternatives(policyOwners(policyElements[i])))
		case seen[c.Name] != place{}:
			l.duplicate(c, policyPath, seen[c.Name])
		default:
			seen[c.Name] = c.At
			if out == nil {
				out = make(leaves, len(leafNames))
			}
			l.fields(out, c, policyElements[i], kind, owner, policyPath)
		}
	}
	return out
}

func (l *loader) fields(out leaves, n *node, policy policyElement, kind entityKind, owner, path string) {
	l.elements(n, path)
	known := make([]string, len(policy.fields))
	for i, f := range policy.fields {
		known[i] = f.element
	}
	for _, c := range n.Children {
		fieldPath := path + "/" + c.Name
		i := slices.Index(known, c.Name)
		if i < 0 {
			l.unknownElement(c, fieldPath, known)
			continue
		}
		if auto := automatic(c, kind); auto != "" && l.dialect == dialectRTI {
			l.warn(c.At, fieldPath, fmt.Sprintf("%s leaves <%s> as it is inherited, or the default", auto, c.Name), "")
			continue
		}
		f := policy.fields[i]
		if first := out[f.leaf]; first != nil {
			l.duplicate(c, fieldPath, first.at)
			continue
		}
		v, ok := f.read(l.valueReader, c, fieldPath)
		out[f.leaf] = &leaf{value: v, at: c.At, owner: owner, bad: !ok}
	}
}

// automatic gives the literal by which RTI leaves a value to its implementation.
func automatic(n *node, kind entityKind) string {
	switch text := strings.TrimPrefix(n.Trimmed(), "DDS_"); {
	case text == "LENGTH_AUTO", strings.HasPrefix(text, "DURATION_AUTO"),
		text == "HIGHEST_OFFERED_PRESENTATION_QOS" && kind == kindSubscriber:
		return text
	}
	for _, c := range n.Children {
		if text := automatic(c, kind); text != "" {
			return text
		}
	}
	return ""
}
