package idlc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// unbounded is the size of what has no largest encoding.
const unbounded = -1

// sizer computes the end of the largest XCDR2 encoding. The end grows with the start, so the largest parts make the
// largest whole.
type sizer struct {
	key    bool             // of the key holder
	within map[*Struct]bool // to find recursion, which has no bound
}

func maxSize(s *Struct) int {
	return (&sizer{within: map[*Struct]bool{}}).structEnd(s, 0)
}

func maxKeySize(s *Struct) int {
	if !s.keyed() {
		return 0
	}
	return (&sizer{key: true, within: map[*Struct]bool{}}).structEnd(s, 0)
}

func alignUp(n, a int) int { return (n + a - 1) &^ (a - 1) }

func (z *sizer) structEnd(s *Struct, at int) int {
	if z.within[s] {
		return unbounded
	}
	z.within[s] = true
	defer delete(z.within, s)
	members := s.allMembers()
	if z.key {
		members = keyOrder(s)
	} else if s.Extensibility != cdr.Final {
		at = alignUp(at, 4) + 4
	}
	for _, m := range members {
		if at = z.end(m.Type, at); at == unbounded {
			return unbounded
		}
	}
	return at
}

func (z *sizer) end(t Type, at int) int {
	switch t := resolve(t).(type) {
	case Primitive:
		n := primitives[t].size
		return alignUp(at, min(n, 4)) + n
	case *Enum:
		return alignUp(at, t.Width) + t.Width
	case *String:
		switch {
		case t.Bound == 0:
			return unbounded
		case t.Wide:
			return alignUp(at, 4) + 4 + 2*t.Bound
		}
		return alignUp(at, 4) + 4 + t.Bound + 1
	case *Sequence:
		if t.Bound == 0 {
			return unbounded
		}
		if !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		return z.elements(t.Elem, alignUp(at, 4)+4, t.Bound)
	case *Array:
		if !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		return z.elements(t.Elem, at, t.count())
	case *Struct:
		return z.structEnd(t, at)
	}
	return unbounded
}

// elements adds n elements. Where an element ends depends on its start modulo 4 only, so four make up a period.
func (z *sizer) elements(elem Type, at, n int) int {
	for n > 0 && n%4 != 0 || n > 0 && n <= 8 {
		if at = z.end(elem, at); at == unbounded {
			return unbounded
		}
		n--
	}
	if n == 0 {
		return at
	}
	for range 4 { // into the cycle
		if at = z.end(elem, at); at == unbounded {
			return unbounded
		}
	}
	next := at
	for range 4 {
		if next = z.end(elem, next); next == unbounded {
			return unbounded
		}
	}
	for at%4 != next%4 { // cannot stay different for long: at most four residues
		at = next
		n -= 4
		for range 4 {
			if next = z.end(elem, next); next == unbounded {
				return unbounded
			}
		}
	}
	periods := (n - 4) / 4
	if next-at > 0 && periods > math.MaxInt32/(next-at) {
		return unbounded
	}
	return at + periods*(next-at)
}

// memorySize is a lower bound of the memory that a value takes in Go, as a float because it may be absurd.
func memorySize(t Type) float64 {
	switch t := resolve(t).(type) {
	case Primitive:
		return float64(primitives[t].size)
	case *Array:
		n := memorySize(t.Elem)
		for _, d := range t.Dims {
			n *= float64(d)
		}
		return n
	case *Struct:
		n := 0.0
		for _, m := range t.allMembers() {
			n += memorySize(m.Type)
		}
		return n
	}
	return 4
}

func (a *Array) count() int {
	n := 1
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// isPrimitive is XTypes' term: enums and arrays are not.
func isPrimitive(t Type) bool {
	_, ok := resolve(t).(Primitive)
	return ok
}

// keyOrder gives the holder's members by id.
func keyOrder(s *Struct) []*Member {
	return slices.SortedStableFunc(slices.Values(s.holder()), func(a, b *Member) int { return int(a.ID) - int(b.ID) })
}

// minSize is a lower bound of what a value takes in either version of XCDR. It is never 0.
func minSize(t Type) int {
	switch t := resolve(t).(type) {
	case Primitive:
		return primitives[t].size
	case *Enum:
		return t.Width
	case *Array:
		return min(math.MaxInt32, minSize(t.Elem)*t.count())
	case *Struct:
		n := 0
		for _, m := range t.allMembers() {
			n = min(math.MaxInt32, n+minSize(m.Type))
		}
		if t.Extensibility != cdr.Final {
			n = min(n, 4) // members may be absent
		}
		return max(1, n)
	}
	return 4 // a length
}

// typeText is the normalised definition of a struct with all that it refers to: typedefs resolved, base members
// in place, ids and extensibility explicit. Equal text means equal types.
func typeText(s *Struct) string {
	var b strings.Builder
	seen := map[Type]bool{}
	var inType func(t Type)
	inType = func(t Type) {
		switch t := resolve(t).(type) {
		case *Sequence:
			inType(t.Elem)
		case *Array:
			inType(t.Elem)
		case *Enum:
			if seen[t] {
				return
			}
			seen[t] = true
			fmt.Fprintf(&b, "@bit_bound(%d) enum %s {", 8*t.Width, t.Scoped())
			for i, v := range t.Enumerators {
				if i > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, " %s = %d", v.Name, v.Value)
			}
			b.WriteString(" };\n")
		case *Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for _, m := range t.allMembers() {
				inType(m.Type)
			}
			fmt.Fprintf(&b, "@%s struct %s {\n", t.Extensibility, t.Scoped())
			for _, m := range t.allMembers() {
				key := ""
				if m.Key {
					key = "@key "
				}
				fmt.Fprintf(&b, "\t%s@id(%d) %s %s;\n", key, m.ID, normalName(m.Type), m.Name)
			}
			b.WriteString("};\n")
		}
	}
	inType(s)
	return b.String()
}

// normalName is typeName without typedefs.
func normalName(t Type) string {
	switch t := resolve(t).(type) {
	case *Sequence:
		return typeName(&Sequence{Elem: namedType{normalName(t.Elem)}, Bound: t.Bound})
	case *Array:
		return typeName(&Array{Elem: namedType{normalName(t.Elem)}, Dims: t.Dims})
	default:
		return typeName(t)
	}
}

// namedType stands for a type by its text.
type namedType struct{ text string }

func (namedType) isType() {}
