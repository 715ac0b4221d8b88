package qos

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/qos/internal/tree"
)

// Dialect is a format of XML that profiles can be written in.
type Dialect uint8

const (
	// DialectStandard is DDS-XML 1.0, which OpenDDS and Cyclone DDS read too.
	DialectStandard Dialect = iota + 1
	// DialectRTI is that of RTI Connext.
	DialectRTI
	// DialectFastDDS is that of Fast DDS.
	DialectFastDDS
)

// WriteXML writes the profiles of the files that p was made of. What the dialect has no words for is not written, and listed
// in lost; inheritance that it does not know is written out.
func (p *Provider) WriteXML(w io.Writer, d Dialect) (lost []string, err error) {
	if p == nil {
		return nil, errNilProvider
	}
	var root *node
	switch d {
	case DialectStandard:
		root, lost = export(p.contents(), target{dialect: dialectStandard})
	case DialectRTI:
		root, lost = export(p.contents(), target{dialect: dialectRTI})
	case DialectFastDDS:
		root, lost = exportFast(p.contents())
	default:
		return nil, fmt.Errorf("qos: dialect %d is none; use DialectStandard, DialectRTI or DialectFastDDS", uint8(d))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return nil, err
	}
	return lost, writeXML(w, root, "")
}

// Document is what the files say, as a tree in the standard's form with our extensions, and what that has no words for. It is
// for package qosyaml.
func (p *Provider) Document() (root *tree.Node, lost []string) {
	return export(p.contents(), target{dialect: dialectYAML})
}

// target is the dialect that is written, with what it knows.
type target struct {
	dialect dialect
	lost    []string
}

func (t *target) lose(format string, args ...any) {
	t.lost = append(t.lost, fmt.Sprintf(format, args...))
}

// ours says whether what only we have can be written.
func (t *target) ours() bool { return t.dialect == dialectYAML }

// keeps says whether a base can be named: one that is written as well, or that the readers of the dialect have built in.
func (t *target) keeps(base string, c contents) bool {
	switch {
	case c.profiles[base] != nil:
		return t.ours() || strings.Contains(base, "::")
	case t.dialect == dialectRTI:
		return strings.HasPrefix(base, "BuiltinQos")
	}
	return t.ours()
}

// export makes the tree of a dialect that has libraries and inheritance.
func export(c contents, t target) (*node, []string) {
	root := &node{Name: "dds"}
	if t.dialect == dialectStandard {
		root.Attrs = append(root.Attrs, attribute{Name: "xmlns", Value: standardNamespace})
	}
	libraries := map[string]*node{}
	for _, name := range c.order {
		p := c.profiles[name]
		lib, own := p.lib, strings.TrimPrefix(name, p.lib+"::")
		if lib == "" {
			lib = "Profiles"
		}
		if libraries[lib] == nil {
			libraries[lib] = &node{Name: "qos_library", Attrs: []attribute{{Name: "name", Value: lib}}}
			root.Children = append(root.Children, libraries[lib])
		}
		libraries[lib].Children = append(libraries[lib].Children, t.profile(c, p, own))
	}
	return root, t.lost
}

func (t *target) profile(c contents, p *profile, name string) *node {
	n := &node{Name: "qos_profile", Attrs: []attribute{{Name: "name", Value: t.profileName(p, name)}}}
	if len(p.isDefault) > 0 {
		if len(p.isDefault) == int(entityKinds) && t.dialect != dialectStandard {
			n.Attrs = append(n.Attrs, attribute{Name: "is_default_qos", Value: "true"})
		} else {
			t.lose("%s is the default for %v", p.name, p.isDefault)
		}
	}
	bases := make([]string, len(p.bases))
	for i, b := range p.bases {
		bases[i] = b.name
	}
	if !t.inherits(n, bases, c) {
		for _, e := range p.visible {
			n.Children = append(n.Children, t.entity(p, e, e.resolved))
		}
		return n
	}
	for _, e := range p.entities {
		own := &node{}
		if len(e.bases) == 0 || !t.inherits(own, e.bases, c) {
			leaves := e.own
			if len(e.bases) > 0 {
				leaves, own = e.resolved, &node{}
			}
			n.Children = append(n.Children, t.entity(p, e, leaves))
			continue
		}
		written := t.entity(p, e, e.own)
		written.Attrs = append(written.Attrs, own.Attrs...)
		written.Children = append(own.Children, written.Children...)
		n.Children = append(n.Children, written)
	}
	return n
}

// inherits writes the bases into n. False: they have to be written out.
func (t *target) inherits(n *node, bases []string, c contents) bool {
	for _, b := range bases {
		parts := strings.SplitN(b, "::", 3) // an entity of a profile is kept where the profile is
		if !t.keeps(b, c) && (len(parts) < 3 || !t.keeps(parts[0]+"::"+parts[1], c)) {
			return false
		}
	}
	switch {
	case len(bases) == 0:
	case len(bases) == 1:
		n.Attrs = append(n.Attrs, attribute{Name: "base_name", Value: t.reference(bases[0])})
	case t.dialect == dialectStandard:
		return false
	default:
		list := &node{Name: "base_name"}
		for _, b := range bases {
			list.Children = append(list.Children, &node{Name: "element", Text: []byte(t.reference(b)), Plain: t.reference(b)})
		}
		n.Children = append(n.Children, list)
	}
	return true
}

// reference is a name that holds in the written document.
func (t *target) reference(name string) string {
	if strings.Contains(name, "::") {
		return name
	}
	return "Profiles::" + standardName(name)
}

// standardName replaces what names may not hold.
func standardName(s string) string {
	return strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '_'
	}, s)
}

func (t *target) profileName(p *profile, name string) string {
	clean := standardName(name)
	if clean != name {
		t.lose("%s is called %s", p.name, clean)
	}
	return clean
}

// entity writes one element.
func (t *target) entity(p *profile, e *entity, values leaves) *node {
	n := &node{Name: e.kind.String()}
	if e.name != "" {
		n.Attrs = append(n.Attrs, attribute{Name: "name", Value: e.name})
	}
	if e.filter != "" {
		n.Attrs = append(n.Attrs, attribute{Name: "topic_filter", Value: e.filter})
	}
	for i, v := range values {
		def := leafDefs[i]
		if v == nil || v.bad {
			continue
		}
		if def.policy == PolicyConsistency && !t.ours() {
			t.lose("%s of %s, %v: %s", def.name, p.name, e.kind, v.text)
			continue
		}
		element := def.element
		if element == "data_representation" && t.dialect == dialectRTI {
			element = "representation"
		}
		child(n, element).Children = append(child(n, element).Children, leafNode(def.field, v))
	}
	return n
}

func leafNode(name string, v *leaf) *node {
	n := &node{Name: name, Plain: v.text}
	v.write(n)
	return n
}

// child is the element of that name in n, a new one at the end if there is none.
func child(n *node, name string) *node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	c := &node{Name: name}
	n.Children = append(n.Children, c)
	return c
}

// writeXML writes a tree with two blanks for each level.
func writeXML(w io.Writer, n *node, indent string) error {
	var b strings.Builder
	printXML(&b, n, indent)
	_, err := io.WriteString(w, b.String())
	return err
}

func printXML(b *strings.Builder, n *node, indent string) {
	b.WriteString(indent + "<" + n.Name)
	for _, a := range n.Attrs {
		b.WriteString(" " + a.Name + `="` + escapeXML(a.Value) + `"`)
	}
	text := escapeXML(string(n.Text))
	switch {
	case len(n.Children) > 0 && short(n):
		b.WriteString(">")
		for _, c := range n.Children {
			var inner strings.Builder
			printXML(&inner, c, "")
			b.WriteString(strings.TrimSuffix(inner.String(), "\n"))
		}
		b.WriteString("</" + n.Name + ">\n")
	case len(n.Children) > 0:
		b.WriteString(">\n")
		for _, c := range n.Children {
			printXML(b, c, indent+"  ")
		}
		b.WriteString(indent + "</" + n.Name + ">\n")
	case text == "":
		b.WriteString("/>\n")
	default:
		b.WriteString(">" + text + "</" + n.Name + ">\n")
	}
}

// short elements fit a line: a policy does, with few fields.
func short(n *node) bool {
	size := 0
	var add func(n *node, height int) bool
	add = func(n *node, height int) bool {
		size += 2*len(n.Name) + len(n.Text)
		return height >= 0 && !slices.ContainsFunc(n.Children, func(c *node) bool { return !add(c, height-1) })
	}
	return add(n, 2) && size <= 100
}

// escapeXML also doubles dollar signs, which would otherwise begin variables.
func escapeXML(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(strings.ReplaceAll(s, "$", "$$"))); err != nil {
		return "" // a Builder does not fail
	}
	return b.String()
}
