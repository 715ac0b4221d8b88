package filter

import (
	"bytes"
	"path"
)

// operation is what a node does.
type operation uint8

const (
	opAnd operation = iota
	opOr
	opNot
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
	case opIntegers, opIntegerReal:
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
