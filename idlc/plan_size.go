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

func (z *sizer) maxSize(t Type) int { return int(z.end(t, 0, false)) }

func (z *sizer) maxKeySize(t Type) int {
	if !isKeyed(t) {
		return 0
	}
	return int(z.end(t, 0, true))
}

// isKeyed tells whether a topic of a type has instances.
func isKeyed(t Type) bool {
	switch t := t.(type) {
	case *Struct:
		return t.keyed()
	case *Union:
		return t.DiscriminatorKey
	}
	return false
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
	case *Bitmask:
		return alignUp(at, min(int64(t.Width), 4)) + int64(t.Width)
	case *Bitset:
		return alignUp(at, min(int64(t.Width), 4)) + int64(t.Width)
	case *Fixed:
		return at + int64(t.size())
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
		members := t.wire()
		if key {
			members = keyOrder(t)
		} else if t.Extensibility != cdr.Final {
			at = alignUp(at, 4) + 4
		}
		for _, m := range members {
			if at = z.member(m, t.Extensibility, at, key); at == unbounded {
				return unbounded
			}
		}
		return at
	case *Map:
		if t.Bound == 0 {
			return unbounded
		}
		if !isPrimitive(t.Key) || !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		return z.repeat(alignUp(at, 4)+4, int64(t.Bound), func(at int64) int64 {
			if at = z.end(t.Key, at, key); at == unbounded {
				return unbounded
			}
			return z.end(t.Elem, at, key)
		})
	case *Union:
		return z.union(t, at, key)
	}
	return unbounded
}

// member adds a member with its header or its flag.
func (z *sizer) member(m *Member, x cdr.Extensibility, at int64, key bool) int64 {
	switch {
	case x == cdr.Mutable && !key:
		at = alignUp(at, 4) + 4
		if lengthCode(m.Type) == 4 {
			at += 4
		}
	case m.Optional:
		at++
	}
	if at = z.end(m.Type, at, key); at > math.MaxInt32 {
		return unbounded
	}
	return at
}

// union adds the largest of the cases.
func (z *sizer) union(u *Union, at int64, key bool) int64 {
	x := u.Extensibility
	if key {
		x = cdr.Final
	}
	if x != cdr.Final {
		at = alignUp(at, 4) + 4
	}
	if x == cdr.Mutable {
		at = alignUp(at, 4) + 4
	}
	at = z.end(u.Discriminator, at, key)
	most := at
	if key && u.DiscriminatorKey {
		return at
	}
	for _, c := range u.Cases {
		end := z.member(&c.Member, x, at, key)
		if end == unbounded {
			return unbounded
		}
		most = max(most, end)
	}
	return most
}

// elements adds n elements. Where an element ends depends on its start modulo 4 only, so after at most four of them
// the residues repeat.
func (z *sizer) elements(elem Type, at, n int64, key bool) int64 {
	return z.repeat(at, n, func(at int64) int64 { return z.end(elem, at, key) })
}

func (z *sizer) repeat(at, n int64, end func(at int64) int64) int64 {
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
		if at = end(at); at == unbounded {
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
	holder := slices.DeleteFunc(slices.Clone(s.holder()), func(m *Member) bool { return m.NonSerialized })
	return slices.SortedStableFunc(slices.Values(holder), func(a, b *Member) int { return int(a.ID) - int(b.ID) })
}

// typeText is the normalised definition of a struct with all that it refers to: typedefs resolved, base members
// in place, ids and extensibility explicit. Equal text means equal types.
func typeText(s Type) string {
	var b strings.Builder
	seen := map[Type]bool{}
	var inType func(t Type)
	inType = func(t Type) {
		t = resolve(t)
		switch t := t.(type) {
		case *Sequence:
			inType(t.Elem)
			return
		case *Array:
			inType(t.Elem)
			return
		case *Map:
			inType(t.Key)
			inType(t.Elem)
			return
		}
		d, named := t.(Decl)
		if !named || seen[t] {
			return
		}
		seen[t] = true
		switch d := d.(type) {
		case *Enum:
			fmt.Fprintf(&b, "@bit_bound(%d) enum %s {", 8*d.Width, d.Scoped())
			for i, v := range d.Enumerators {
				if i > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, " %s = %d", v.Name, v.Value)
			}
			b.WriteString(" };\n")
		case *Bitmask:
			fmt.Fprintf(&b, "@bit_bound(%d) bitmask %s {", d.BitBound, d.Scoped())
			for i, v := range d.Flags {
				if i > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, " @position(%d) %s", v.Position, v.Name)
			}
			b.WriteString(" };\n")
		case *Bitset:
			fmt.Fprintf(&b, "bitset %s {", d.Scoped())
			for _, f := range d.allFields() {
				fmt.Fprintf(&b, " @position(%d) bitfield<%d, %s> %s;", f.Position, f.Bits, typeName(f.Type), f.Name)
			}
			b.WriteString(" };\n")
		case *Struct:
			for _, m := range d.wire() {
				inType(m.Type)
			}
			fmt.Fprintf(&b, "@%s struct %s {\n", d.Extensibility, d.Scoped())
			for _, m := range d.wire() {
				fmt.Fprintf(&b, "\t%s\n", memberText(m))
			}
			b.WriteString("};\n")
		case *Union:
			for _, c := range d.Cases {
				inType(c.Type)
			}
			inType(d.Discriminator)
			key := ""
			if d.DiscriminatorKey {
				key = "@key "
			}
			fmt.Fprintf(&b, "@%s union %s switch(%s%s) {\n", d.Extensibility, d.Scoped(), key, normalName(d.Discriminator))
			for _, c := range d.Cases {
				b.WriteByte('\t')
				for _, v := range c.Labels {
					fmt.Fprintf(&b, "case %d: ", v.Ordinal())
				}
				if c.IsDefault {
					b.WriteString("default: ")
				}
				fmt.Fprintf(&b, "%s\n", memberText(&c.Member))
			}
			b.WriteString("};\n")
		}
	}
	inType(s)
	return b.String()
}

// memberText is the normalised declaration of a member.
func memberText(m *Member) string {
	prefix := ""
	if m.Key {
		prefix += "@key "
	}
	if m.Optional {
		prefix += "@optional "
	}
	if m.MustUnderstand {
		prefix += "@must_understand "
	}
	return fmt.Sprintf("%s@id(%d) %s %s;", prefix, m.ID, normalName(m.Type), m.Name)
}

// normalName is typeName without typedefs.
func normalName(t Type) string {
	switch t := resolve(t).(type) {
	case *Sequence:
		return typeName(&Sequence{Elem: namedType{normalName(t.Elem)}, Bound: t.Bound})
	case *Array:
		return typeName(&Array{Elem: namedType{normalName(t.Elem)}, Dims: t.Dims})
	case *Map:
		return typeName(&Map{Key: namedType{normalName(t.Key)}, Elem: namedType{normalName(t.Elem)}, Bound: t.Bound})
	default:
		return typeName(t)
	}
}

// namedType stands for a type by its text.
type namedType struct{ text string }

func (namedType) isType() {}
