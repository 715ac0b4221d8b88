package qosyaml

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/qos/internal/tree"
)

// Write writes the profiles of the files that p was made of, with what they inherit by name. LoadFile reads the same policies
// from it; lost lists names that had to change, and profiles that are the default for some kinds of entities only.
func Write(w io.Writer, p *qos.Provider) (lost []string, err error) {
	document, lost := p.Document()
	libraries := mapping()
	for _, lib := range document.Children {
		profiles := mapping()
		for _, n := range lib.Children {
			put(profiles, attr(n, "name"), profile(n))
		}
		put(libraries, attr(lib, "name"), profiles)
	}
	root := mapping()
	put(root, "qos_library", libraries)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return lost, err
	}
	return lost, enc.Close()
}

func attr(n *tree.Node, name string) string {
	a, _ := n.Attr(name)
	return a.Value
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, text(key), value)
}

// text is a string that is read as it stands, without variables.
func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ReplaceAll(s, "$", "$$")}
}

// profile has one value for an entity, or a list if there are several of the kind.
func profile(n *tree.Node) *yaml.Node {
	m := mapping()
	attributes(m, n, "is_default_qos")
	bases(m, n)
	var kinds []string
	for _, c := range n.Children {
		if c.Name != "base_name" && !slices.Contains(kinds, c.Name) {
			kinds = append(kinds, c.Name)
		}
	}
	for _, kind := range kinds {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, c := range n.Children {
			if c.Name == kind {
				list.Content = append(list.Content, entity(c))
			}
		}
		if len(list.Content) == 1 {
			list = list.Content[0]
		}
		put(m, kind, list)
	}
	return m
}

func attributes(m *yaml.Node, n *tree.Node, names ...string) {
	for _, name := range names {
		if a, ok := n.Attr(name); ok {
			put(m, name, scalar(a.Value))
		}
	}
}

func bases(m *yaml.Node, n *tree.Node) {
	attributes(m, n, "base_name")
	for _, c := range n.Children {
		if c.Name == "base_name" {
			put(m, "base_name", value(c))
		}
	}
}

func entity(n *tree.Node) *yaml.Node {
	m := mapping()
	attributes(m, n, "name", "topic_filter")
	bases(m, n)
	for _, policy := range n.Children {
		if policy.Name == "base_name" {
			continue
		}
		fields := mapping()
		fields.Style = yaml.FlowStyle
		for _, f := range policy.Children {
			put(fields, f.Name, value(f))
		}
		put(m, policy.Name, fields)
	}
	return m
}

// value is a field: a list if it has elements, and what Plain says else.
func value(n *tree.Node) *yaml.Node {
	if !slices.ContainsFunc(n.Children, func(c *tree.Node) bool { return c.Name == "element" }) {
		return scalar(n.Plain)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, c := range n.Children {
		list.Content = append(list.Content, text(c.Plain))
	}
	return list
}

func scalar(s string) *yaml.Node {
	n := text(s)
	switch s {
	case "true", "false":
		n.Tag = "!!bool"
	case "empty":
		n.Value = "" // no octets
	case "[]":
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	}
	if _, err := strconv.ParseInt(s, 10, 32); err == nil {
		n.Tag = "!!int"
	}
	return n
}
