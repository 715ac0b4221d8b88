package qos

import (
	"slices"
	"strings"
)

// Fast DDS has no libraries and no profiles of several entities: each <data_writer> is a profile. Those of one name become
// one profile here, so that "x" names all of them. PARTITION, PRESENTATION and GROUP_DATA stand at endpoints there; here
// they go to the publisher or subscriber of the profile.

// fastEntities are its elements, present ones and those of Fast RTPS.
var fastEntities = map[string]entityKind{
	"participant": kindParticipant,
	"topic":       kindTopic,
	"data_writer": kindWriter,
	"publisher":   kindWriter,
	"data_reader": kindReader,
	"subscriber":  kindReader,
}

// fastRoot says whether a document without a namespace is of Fast DDS.
func fastRoot(root *node) bool {
	if _, entity := fastEntities[root.Name]; entity {
		return true
	}
	return root.Name == "profiles" || root.Name == "dds" && hasChild(root, "profiles")
}

// fastGroupPolicies belong to a publisher or subscriber here.
var fastGroupPolicies = []string{"partition", "presentation", "group_data"}

// fastTree brings a document into the standard's tree, with the places where everything stands in the file.
func fastTree(root *node) *node {
	t := fastTranslator{free: &node{Name: "qos_library", At: root.At, TextAt: root.At}}
	out := &node{Name: "dds", At: root.At, Attrs: root.Attrs, Text: root.Text, TextAt: root.TextAt, Children: []*node{t.free}}
	list := root.Children
	if root.Name != "dds" { // each of its parts may stand alone
		list = []*node{root}
		out.Attrs, out.Text = nil, nil
	}
	for _, c := range list {
		if c.Name == "profiles" {
			for _, e := range c.Children {
				out.Children = append(out.Children, t.entity(e)...)
			}
			continue
		}
		out.Children = append(out.Children, t.entity(c)...)
	}
	return out
}

type fastTranslator struct {
	free *node // the library without a name
}

// entity translates one element, and gives back what is none.
func (t *fastTranslator) entity(n *node) []*node {
	kind, ok := fastEntities[n.Name]
	if !ok {
		return []*node{n}
	}
	profile := t.profile(n)
	e := &node{Name: kind.String(), As: n.Name, At: n.At, TextAt: n.TextAt, Text: n.Text}
	for _, a := range n.Attrs {
		switch a.Name {
		case "profile_name": // that of the profile
		case "is_default_profile":
			a.Name = "is_default_qos"
			e.Attrs = append(e.Attrs, a)
		default:
			e.Attrs = append(e.Attrs, a)
		}
	}
	profile.Children = append(profile.Children, e)
	for _, c := range n.Children {
		switch {
		case c.Name == "qos" && kind != kindTopic:
			t.policies(profile, e, kind, c)
		case c.Name == "topic" && (kind == kindWriter || kind == kindReader):
			t.topic(e, c)
		case c.Name == "rtps" && kind == kindParticipant:
			t.rtps(e, c)
		case kind == kindTopic:
			t.topicChild(e, c)
		default:
			e.Children = append(e.Children, c)
		}
	}
	return nil
}

// profile is the one of that name. An element without a name gets a profile whose lack of one is reported there.
func (t *fastTranslator) profile(n *node) *node {
	p := &node{Name: "qos_profile", As: n.Name, At: n.At, TextAt: n.At}
	if a, ok := n.Attr("profile_name"); ok {
		for _, known := range t.free.Children {
			if name, _ := known.Attr("name"); name.Value == a.Value {
				return known
			}
		}
		a.Name = "name"
		p.Attrs = append(p.Attrs, a)
	}
	t.free.Children = append(t.free.Children, p)
	return p
}

// policies translates what stands in <qos>.
func (t *fastTranslator) policies(profile, e *node, kind entityKind, qos *node) {
	for _, c := range qos.Children {
		policy := fastPolicy(c)
		if slices.Contains(fastGroupPolicies, policy.Name) {
			group := kindPublisher
			if kind == kindReader {
				group = kindSubscriber
			}
			g := t.group(profile, group, c)
			g.Children = append(g.Children, policy)
			continue
		}
		e.Children = append(e.Children, policy)
	}
}

// group is the publisher or subscriber of the profile.
func (t *fastTranslator) group(profile *node, kind entityKind, at *node) *node {
	for _, c := range profile.Children {
		if c.Name == kind.String() {
			return c
		}
	}
	g := &node{Name: kind.String(), As: at.Name, At: at.At, TextAt: at.At}
	profile.Children = append(profile.Children, g)
	return g
}

func (t *fastTranslator) topic(e, n *node) {
	for _, c := range n.Children {
		t.topicChild(e, c)
	}
}

// topicChild: name, kind and type of a topic are no QoS, and are given in code here.
func (t *fastTranslator) topicChild(e, c *node) {
	switch c.Name {
	case "name", "kind", "dataType":
	default:
		e.Children = append(e.Children, fastPolicy(c))
	}
}

func (t *fastTranslator) rtps(e, n *node) {
	for _, c := range n.Children {
		if policy := fastPolicy(c); policy.Name == "user_data" {
			e.Children = append(e.Children, policy)
		} else {
			e.Children = append(e.Children, c)
		}
	}
}

// fastPolicy gives a policy the standard's names. They differ in case, underscores and the ending Qos.
func fastPolicy(n *node) *node {
	folded := foldName(n.Name)
	i := slices.IndexFunc(policyElements, func(p policyElement) bool {
		f := foldName(p.element)
		return f == folded || f+"qos" == folded
	})
	if i < 0 {
		return n
	}
	out := *n
	if name := policyElements[i].element; name != n.Name {
		out.Name, out.As = name, n.Name
	}
	if out.Name == "partition" {
		out.Children = fastNames(n.Children)
	}
	return &out
}

func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// fastNames turns <names><name>A</name></names> into <name><element>A</element></name>.
func fastNames(children []*node) []*node {
	out := slices.Clone(children)
	for i, c := range out {
		if c.Name != "names" {
			continue
		}
		list := *c
		list.Name, list.As = "name", "names"
		list.Children = slices.Clone(c.Children)
		for j, e := range list.Children {
			if e.Name == "name" {
				element := *e
				element.Name, element.As = "element", "name"
				list.Children[j] = &element
			}
		}
		out[i] = &list
	}
	return out
}
