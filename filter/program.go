package filter

import (
	"bytes"
	"cmp"
	"path"
	"slices"
)

// program is a condition that runs over one sample.
type program struct {
	root     *node
	converts bool // it needs room for texts
}

func newProgram(root *node) *program { return &program{root, root.converts()} }

func (p *program) matches(sample []byte) bool {
	if !p.converts {
		c := cursor{sample: sample}
		return p.root.eval(&c) == yes
	}
	c := cursorOf(sample)
	defer c.release()
	return p.root.eval(c) == yes
}

// converts tells whether the condition reads a member that is not compared as it lies in the sample.
func (n *node) converts() bool {
	return n.a.field.converts() || n.b.field.converts() || slices.ContainsFunc(n.kids, (*node).converts)
}

// operation is what a node does.
type operation uint8

const (
	opAnd operation = iota
	opOr
	opNot
	opLimit       // compares an integer member with a constant that its type holds
	opIntegers    // compares two integers
	opReals       // compares two real numbers
	opIntegerReal // compares an integer with a real number
	opTexts       // compares two texts
	opPresent     // the value is there
	opLike
	opMatch
)

// node is a condition, ready to run. Nodes do not change and know no sample.
type node struct {
	op       operation
	kids     []*node  // of opAnd, opOr, opNot
	holds    ordering // of the comparisons: those that satisfy it
	a, b     operand
	limit    uint64   // of opLimit: b as a field's sortable
	patterns []string // of opMatch
}

// operand is a constant, or a member if field is not nil.
type operand struct {
	field   *field
	class   class
	integer integer
	real    float64
	text    []byte
}

// eval runs the program.
func (n *node) eval(c *cursor) truth {
	switch n.op {
	case opLimit:
		if v, ok := n.a.field.sortable(c); ok {
			return truthOf(n.holds&orderingOf(cmp.Compare(v, n.limit)) != 0)
		}
	case opAnd:
		t := yes
		for _, k := range n.kids {
			if t = min(t, k.eval(c)); t == no {
				break
			}
		}
		return t
	case opOr:
		t := no
		for _, k := range n.kids {
			if t = max(t, k.eval(c)); t == yes {
				break
			}
		}
		return t
	case opNot:
		return -n.kids[0].eval(c)
	case opPresent:
		return truthOf(n.a.field.present(c))
	}
	return n.compare(c)
}

func (n *node) compare(c *cursor) truth {
	switch n.op {
	case opLimit, opIntegers, opIntegerReal:
		i, ok := n.a.asInteger(c)
		if !ok {
			return unknown
		}
		if n.op == opIntegerReal {
			f, ok := n.b.asReal(c)
			return n.judge(ok, i.orderReal(f))
		}
		j, ok := n.b.asInteger(c)
		return n.judge(ok, i.order(j))
	case opReals:
		f, ok := n.a.asReal(c)
		g, also := n.b.asReal(c)
		return n.judge(ok && also, orderReals(f, g))
	}
	s, ok := n.a.asText(c)
	if !ok {
		return unknown
	}
	if n.op == opMatch {
		return truthOf(matchesAny(n.patterns, s))
	}
	t, ok := n.b.asText(c)
	switch {
	case !ok:
		return unknown
	case n.op == opLike:
		return truthOf(like(s, t))
	}
	return n.judge(true, orderingOf(bytes.Compare(s, t)))
}

func (n *node) judge(present bool, o ordering) truth {
	if !present {
		return unknown
	}
	return truthOf(n.holds&o != 0)
}

func (o *operand) asInteger(c *cursor) (integer, bool) {
	if o.field == nil {
		return o.integer, true
	}
	return o.field.integer(c)
}

func (o *operand) asReal(c *cursor) (float64, bool) {
	if o.field == nil {
		return o.real, true
	}
	return o.field.real(c)
}

func (o *operand) asText(c *cursor) ([]byte, bool) {
	if o.field == nil {
		return o.text, true
	}
	return o.field.text(c)
}

// matchesAny is MATCH: shell patterns, of which one has to match.
func matchesAny(patterns []string, s []byte) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, string(s)); ok { // that it is a pattern was checked
			return true
		}
	}
	return false
}
