package qos

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// expander puts the values of variables where a document names them: ${NAME}, ${NAME:-default}, and $(NAME) as RTI writes
// it. $$ is a dollar sign; so is one that nothing of this follows. What a variable holds is not expanded again.
type expander struct {
	*report
	lookup   func(string) (string, bool) // of the environment
	defaults map[string]string           // of <configuration_variables>
	grown    int
}

// expand works on all texts and attributes of a tree.
func (x *expander) expand(n *node) {
	x.declared(n)
	x.node(n, "")
}

// declared takes <configuration_variables> out of the document: they serve where the environment has none.
func (x *expander) declared(root *node) {
	root.Children = slices.DeleteFunc(root.Children, func(c *node) bool {
		if c.Name != "configuration_variables" {
			return false
		}
		list := c.Children
		if len(list) == 1 && list[0].Name == "value" {
			list = list[0].Children
		}
		for _, e := range list {
			var name, value string
			for _, part := range e.Children {
				switch part.Name {
				case "name":
					name = part.Trimmed()
				case "value":
					value = part.Trimmed()
				}
			}
			if name == "" {
				x.fail(e.At, c.Name, fmt.Sprintf("<%s> names no variable", e.Spelled()),
					"write <element><name>NAME</name><value>...</value></element>")
				continue
			}
			if x.defaults == nil {
				x.defaults = map[string]string{}
			}
			x.defaults[name] = value
		}
		return true
	})
}

// node reports false if the text of the node has no value. Then the node is taken out: that was told, and what is wrong
// with the text as it stands is no error of its own.
func (x *expander) node(n *node, path string) bool {
	path = strings.TrimPrefix(path+"/"+n.Name, "/")
	for i := range n.Attrs {
		if a := &n.Attrs[i]; !a.Foreign {
			a.Value, _ = x.text(a.Value, a.At, path)
		}
	}
	if bytes.IndexByte(n.Text, '$') >= 0 {
		text, ok := x.text(string(n.Text), n.TextAt, path)
		if !ok {
			return false
		}
		n.Text = []byte(strings.TrimLeft(text, " \t\r\n"))
	}
	had := len(n.Children)
	n.Children = slices.DeleteFunc(n.Children, func(c *node) bool { return !x.node(c, path) })
	// One that was given nothing else goes with them, but for what has a name, which others refer to.
	return had == 0 || len(n.Children) > 0 || len(n.Attrs) > 0
}

// text is s with the values of its variables; false if one has none, which is reported.
func (x *expander) text(s string, at place, path string) (expanded string, ok bool) {
	if strings.IndexByte(s, '$') < 0 {
		return s, true
	}
	var b strings.Builder
	rest := s
	for {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			break
		}
		b.WriteString(rest[:i])
		rest = rest[i+1:]
		var body string
		var closed bool
		switch {
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			rest = rest[1:]
			continue
		case strings.HasPrefix(rest, "{"):
			body, rest, closed = strings.Cut(rest[1:], "}")
		case strings.HasPrefix(rest, "("):
			body, rest, closed = strings.Cut(rest[1:], ")")
		default:
			b.WriteByte('$')
			continue
		}
		if !closed {
			x.fail(at, path, fmt.Sprintf("a variable in %s does not end", quote(s)), "close it with } or ), or write $$ for a dollar sign")
			return s, false
		}
		value, ok := x.value(body, at, path)
		if !ok {
			return s, false
		}
		if x.grown += len(value); x.grown > maxXMLBytes {
			x.fail(at, path, fmt.Sprintf("variables make the document larger than %d bytes", maxXMLBytes), "")
			return s, false
		}
		b.WriteString(value)
	}
	return b.String() + rest, true
}

// value is what stands for NAME or NAME:-default.
func (x *expander) value(body string, at place, path string) (string, bool) {
	name, fallback, hasFallback := strings.Cut(body, ":-")
	if !isVariable(name) {
		x.fail(at, path, quote(name)+" is no name of a variable", "names are made of letters, digits and _; write $$ for a dollar sign")
		return "", false
	}
	if v, ok := x.lookup(name); ok && (v != "" || !hasFallback) {
		return v, true
	}
	if v, ok := x.defaults[name]; ok {
		return v, true
	}
	if hasFallback {
		return fallback, true
	}
	hint := fmt.Sprintf("set it, or write ${%s:-default}", name)
	if best, near := closest(name, slices.Sorted(maps.Keys(x.defaults))); near {
		hint = "did you mean " + best + "?"
	}
	x.fail(at, path, fmt.Sprintf("variable %s is not set", name), hint)
	return "", false
}

func isVariable(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= maxNameLength
}

func environment(o Options) func(string) (string, bool) {
	if o.LookupEnv != nil {
		return o.LookupEnv
	}
	return os.LookupEnv
}
