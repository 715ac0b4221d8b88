package idlc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// unbounded is the size of what has no largest encoding, or none that fits 32 bits.
const unbounded = -1

// sizer computes the end of the largest XCDR2 encoding. The end grows with the start, so the largest parts make the
// largest whole. It depends on the start modulo 4 only, and is kept for each of these.
type sizer struct{ known map[sizeOf]int64 }

// sizeOf asks for the size of a value, or of its key, that starts at a residue modulo 4.
type sizeOf struct {
	of    Type
	key   bool
	start int64
}

func (z *sizer) maxSize(s *Struct) int { return int(z.end(s, 0, false)) }

func (z *sizer) maxKeySize(s *Struct) int {
	if !s.keyed() {
		return 0
	}
	return int(z.end(s, 0, true))
}

func alignUp[N int | int64](n, a N) N { return (n + a - 1) &^ (a - 1) }

// end gives where a value ends that starts at an offset.
func (z *sizer) end(t Type, at int64, key bool) int64 {
	t = resolve(t)
	switch t := t.(type) {
	case Primitive:
		n := int64(primitives[t].size)
		return alignUp(at, min(n, 4)) + n
	case *Enum:
		return alignUp(at, int64(t.Width)) + int64(t.Width)
	}
	q := sizeOf{t, key, at % 4}
	size, known := z.known[q]
	if !known {
		z.known[q] = unbounded // for a type that is part of itself
		if end := z.compute(t, q.start, key); end != unbounded && end <= math.MaxInt32 {
			size = end - q.start
		} else {
			size = unbounded
		}
		z.known[q] = size
	}
	if size == unbounded {
		return unbounded
	}
	return at + size
}

func (z *sizer) compute(t Type, at int64, key bool) int64 {
	switch t := t.(type) {
	case *String:
		switch {
		case t.Bound == 0:
			return unbounded
		case t.Wide:
			return alignUp(at, 4) + 4 + 2*int64(t.Bound)
		}
		return alignUp(at, 4) + 4 + int64(t.Bound) + 1
	case *Sequence:
		if t.Bound == 0 {
			return unbounded
		}
		if !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		return z.elements(t.Elem, alignUp(at, 4)+4, int64(t.Bound), key)
	case *Array:
		if !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		return z.elements(t.Elem, at, int64(t.count()), key)
	case *Struct:
		members := t.allMembers()
		if key {
			members = keyOrder(t)
		} else if t.Extensibility != cdr.Final {
			at = alignUp(at, 4) + 4
		}
		for _, m := range members {
			if at = z.end(m.Type, at, key); at == unbounded || at > math.MaxInt32 {
				return unbounded
			}
		}
		return at
	}
	return unbounded
}

// elements adds n elements. Where an element ends depends on its start modulo 4 only, so after at most four of them
// the residues repeat.
func (z *sizer) elements(elem Type, at, n int64, key bool) int64 {
	seen := map[int64]int64{} // residue to how many were left
	var ends [4]int64
	for n > 0 {
		r := at % 4
		if before, again := seen[r]; again {
			period, bytes := before-n, at-ends[r]
			if bytes > 0 && n/period > math.MaxInt32/bytes {
				return unbounded
			}
			at += n / period * bytes
			n %= period
			clear(seen)
			if n == 0 {
				break
			}
		}
		seen[r], ends[r] = n, at
		if at = z.end(elem, at, key); at == unbounded {
			return unbounded
		}
		n--
	}
	return at
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
