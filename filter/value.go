package filter

import (
	"cmp"
	"math"
)

// truth is what a condition says of a sample. A predicate about a value that the sample does not have is unknown, as in SQL:
// neither it nor its negation lets the sample pass.
type truth int8

const (
	no      truth = -1
	unknown truth = 0
	yes     truth = 1
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// class is what values of a kind are compared as.
type class uint8

const (
	classInteger class = iota // integers, octets, booleans, enumerators, bitmasks
	classReal
	classText // strings and characters
)

// integer holds every int64 and every uint64: two's complement in 128 bits.
type integer struct {
	high int64 // 0 or -1
	low  uint64
}

func signed(v int64) integer { return integer{v >> 63, uint64(v)} }

func unsigned(v uint64) integer { return integer{0, v} }

// ordering is how two values lie to each other, as a bit: an operator is a set of those that satisfy it.
type ordering uint8

const (
	less ordering = 1 << iota
	equal
	greater
	unordered // one of them is not a number
)

func orderingOf(c int) ordering { return less << (c + 1) }

// operators are the relational operators of Annex B, and != as another way to write <>.
var operators = map[string]ordering{
	"=":  equal,
	"<>": less | greater | unordered,
	"!=": less | greater | unordered,
	"<":  less,
	"<=": less | equal,
	">":  greater,
	">=": greater | equal,
}

// mirrored is the operator for exchanged operands.
func (o ordering) mirrored() ordering {
	return o&(equal|unordered) | o&less<<2 | o&greater>>2
}

func (i integer) compare(j integer) int {
	if i.high != j.high {
		return cmp.Compare(i.high, j.high)
	}
	return cmp.Compare(i.low, j.low)
}

func (i integer) order(j integer) ordering { return orderingOf(i.compare(j)) }

func orderReals(a, b float64) ordering {
	switch {
	case a < b:
		return less
	case a > b:
		return greater
	case a == b:
		return equal
	}
	return unordered
}

// order compares an integer with a real number exactly: neither is rounded to the other's type.
func (i integer) orderReal(f float64) ordering {
	switch {
	case f != f:
		return unordered
	case f >= 1<<64:
		return less
	case f < -1<<63:
		return greater
	}
	whole := math.Trunc(f)
	j := integer{}
	if whole < 0 {
		j = signed(int64(whole))
	} else {
		j = unsigned(uint64(whole))
	}
	if o := i.order(j); o != equal {
		return o
	}
	return orderReals(whole, f)
}
