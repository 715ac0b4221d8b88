// Package tree is what every format of QoS files is read into: named elements with attributes, text and children, each
// with its place in the file. Package qos judges trees only, so an error in YAML reads like one in XML.
//
// A format besides XML registers itself, as image formats do, so that whoever does not import it does not link it.
package tree

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"sync"
)

// Place is a position in a file. Lines and columns count from 1, columns in bytes.
type Place struct {
	File      string
	Line, Col int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Node is an element with its positions.
type Node struct {
	Name     string
	As       string // how the file spells Name, where that is otherwise
	Space    string // the namespace of its name
	At       Place  // where it begins
	Attrs    []Attribute
	Children []*Node
	Text     []byte // its own text without leading blanks
	TextAt   Place  // where that begins; At, if there is none
	Plain    string // of a tree to be written: Text as YAML spells it
}

// Attribute is one attribute of an element.
type Attribute struct {
	Name, Value string
	At          Place // of its name
	Foreign     bool  // xmlns, xsi:*, xml:*: not ours to judge
}

// Attr finds an attribute by its name.
func (n *Node) Attr(name string) (Attribute, bool) {
	for _, a := range n.Attrs {
		if a.Name == name && !a.Foreign {
			return a, true
		}
	}
	return Attribute{}, false
}

// Spelled is the name as it stands in the file.
func (n *Node) Spelled() string {
	if n.As != "" {
		return n.As
	}
	return n.Name
}

// Trimmed is the text without the blanks around it.
func (n *Node) Trimmed() string { return string(bytes.TrimRight(n.Text, " \t\r\n")) }

// Parser reads a document of a format. It reports what is wrong through fail, and returns nil if there is nothing to go
// on with.
type Parser func(file string, data []byte, fail func(at Place, what, hint string)) *Node

var (
	mu      sync.RWMutex
	parsers = map[string]Parser{}
)

// Register makes files with these endings (".yaml") readable. It is for init functions.
func Register(parse Parser, endings ...string) {
	mu.Lock()
	defer mu.Unlock()
	for _, e := range endings {
		parsers[e] = parse
	}
}

// ParserFor is the parser that is registered for a file of that name, or nil.
func ParserFor(file string) Parser {
	mu.RLock()
	defer mu.RUnlock()
	return parsers[strings.ToLower(path.Ext(file))]
}
