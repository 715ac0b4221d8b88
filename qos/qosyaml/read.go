package qosyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/omg-dds-go/dds/qos/internal/tree"
)

func init() { tree.Register(parse, ".yaml", ".yml", ".json") }

// maxDepth bounds nesting: what profiles need is a third of it.
const maxDepth = 24

// reader turns a document of YAML into the tree that XML has for the same profiles.
type reader struct {
	file string
	fail func(at tree.Place, what, hint string)
	ok   bool
}

func parse(file string, data []byte, fail func(at tree.Place, what, hint string)) *tree.Node {
	r := &reader{file: file, ok: true}
	r.fail = func(at tree.Place, what, hint string) {
		r.ok = false
		fail(at, what, hint)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		r.fail(tree.Place{File: file, Line: 1, Col: 1}, "no YAML in the file", "a QoS file starts with qos_library:")
		return nil
	case err != nil:
		r.malformed(err)
		return nil
	}
	switch err = dec.Decode(&second); {
	case err == nil:
		r.fail(r.at(&second), "a second document in the file", "put all into the first")
	case !errors.Is(err, io.EOF):
		r.malformed(err)
	}
	root := r.root(doc.Content[0])
	if !r.ok {
		return nil
	}
	return root
}

var lineOfError = regexp.MustCompile(`line (\d+): `)

// malformed reports what the parser says. It knows lines only.
func (r *reader) malformed(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := lineOfError.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits; too many give the largest, which is as wrong as any
		text = strings.Replace(text, m[0], "", 1)
	}
	r.fail(tree.Place{File: r.file, Line: line, Col: 1}, "not well-formed YAML: "+text, "nothing after this place was checked")
}

func (r *reader) at(n *yaml.Node) tree.Place {
	return tree.Place{File: r.file, Line: max(n.Line, 1), Col: max(n.Column, 1)}
}

// pairs calls do for each key of a mapping. what names it in errors.
func (r *reader) pairs(n *yaml.Node, what string, do func(key, value *yaml.Node)) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // nothing in it
	}
	if n.Kind != yaml.MappingNode {
		r.refuse(n, what+" is no mapping", "write its parts as key: value")
		return
	}
	seen := map[string]tree.Place{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		first, twice := seen[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			r.refuse(key, "a key of "+what+" is no name", "to take over the parts of another profile, write base_name")
		case twice:
			r.fail(r.at(key), fmt.Sprintf("%s appears twice in %s, first at %v", key.Value, what, first), "keep one of them")
		case r.plain(value):
			seen[key.Value] = r.at(key)
			do(key, value)
		}
	}
}

// plain refuses anchors and aliases.
func (r *reader) plain(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.refuse(n, "", "")
		return false
	}
	return true
}

func (r *reader) refuse(n *yaml.Node, what, hint string) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		what, hint = "anchors and aliases are not read", "inherit with base_name, which shows where a value comes from"
	}
	r.fail(r.at(n), what, hint)
}

func (r *reader) root(n *yaml.Node) *tree.Node {
	at := r.at(n)
	root := &tree.Node{Name: "dds", At: at, TextAt: at}
	r.pairs(n, "the document", func(key, value *yaml.Node) {
		if key.Value != "qos_library" {
			r.fail(r.at(key), fmt.Sprintf("unknown key %s", key.Value), "a QoS file starts with qos_library:")
			return
		}
		r.pairs(value, "qos_library", func(name, profiles *yaml.Node) {
			lib := r.named("qos_library", name)
			root.Children = append(root.Children, lib)
			r.pairs(profiles, "library "+name.Value, func(name, body *yaml.Node) {
				lib.Children = append(lib.Children, r.profile(name, body))
			})
		})
	})
	return root
}

// named is an element whose name attribute is a key.
func (r *reader) named(element string, key *yaml.Node) *tree.Node {
	at := r.at(key)
	return &tree.Node{Name: element, At: at, TextAt: at, Attrs: []tree.Attribute{{Name: "name", Value: key.Value, At: at}}}
}

func (r *reader) profile(name, body *yaml.Node) *tree.Node {
	p := r.named("qos_profile", name)
	r.pairs(body, "profile "+name.Value, func(key, value *yaml.Node) {
		switch {
		case r.attribute(p, key, value):
		case value.Kind == yaml.SequenceNode:
			for _, e := range value.Content {
				if r.plain(e) {
					p.Children = append(p.Children, r.entity(key, e))
				}
			}
		default:
			p.Children = append(p.Children, r.entity(key, value))
		}
	})
	return p
}

func (r *reader) entity(key, body *yaml.Node) *tree.Node {
	at := r.at(key)
	if body.Kind == yaml.MappingNode && len(body.Content) > 0 && body.Line > key.Line {
		at = r.at(body) // in a list, each has a place of its own
	}
	e := &tree.Node{Name: key.Value, At: at, TextAt: at}
	r.pairs(body, key.Value, func(key, value *yaml.Node) {
		if !r.attribute(e, key, value) {
			e.Children = append(e.Children, r.node(key, value, 0))
		}
	})
	return e
}

// attribute takes what is an attribute in XML.
func (r *reader) attribute(n *tree.Node, key, value *yaml.Node) bool {
	switch key.Value {
	case "base_name":
		if value.Kind == yaml.SequenceNode {
			n.Children = append(n.Children, r.node(key, value, 0))
			return true
		}
	case "name", "topic_filter", "is_default_qos":
	default:
		return false
	}
	if value.Kind != yaml.ScalarNode {
		r.refuse(value, key.Value+" is no single value", "")
		return true
	}
	n.Attrs = append(n.Attrs, tree.Attribute{Name: key.Value, Value: strings.TrimSpace(value.Value), At: r.at(key)})
	return true
}

// node is a policy, a field or an element of a list.
func (r *reader) node(key, value *yaml.Node, depth int) *tree.Node {
	n := &tree.Node{Name: key.Value, At: r.at(key), TextAt: r.at(value)}
	if depth > maxDepth {
		r.fail(n.At, fmt.Sprintf("nested deeper than %d", maxDepth), "")
		return n
	}
	switch value.Kind {
	case yaml.MappingNode:
		r.pairs(value, key.Value, func(key, value *yaml.Node) { n.Children = append(n.Children, r.node(key, value, depth+1)) })
	case yaml.SequenceNode:
		for _, e := range value.Content {
			if r.plain(e) {
				n.Children = append(n.Children, r.node(&yaml.Node{Value: "element", Line: e.Line, Column: e.Column}, e, depth+1))
			}
		}
	default:
		if value.Tag != "!!null" {
			n.Text = []byte(strings.TrimLeft(value.Value, " \t\r\n"))
		}
	}
	return n
}
