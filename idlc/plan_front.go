package idlc

import (
	"math"

	"github.com/omg-dds-go/dds/cdr"
)

// front is the members of fixed size that a struct begins with. A view reads them through one pointer to an array of their bytes,
// which lie as in little-endian XCDR2 from a start that is aligned to four (cdr.Front).
type front struct {
	members []*Member
	at      []int // their offsets
	part    []int // the first part of each
	parts   []frontPart
	size    int
	whole   bool // there are no other members
	// anywhere tells that the struct may begin at any offset, having no DHEADER: then what it aligns most strictly
	// comes first, so that the first alignment is all of them.
	anywhere bool
}

// frontPart is a cdr.Part: a number, or an array of numbers, of a member or of a struct within it.
type frontPart struct {
	name         string
	width, count int
	def          uint64
	inner        bool
}

const (
	// maxFront bounds the bytes of a front: a sample that ends within it has those of an older version, and is
	// completed in memory.
	maxFront = 4096
	// maxFrontParts bounds its parts, which the parts of structs within it count among.
	maxFrontParts = 256
)

// front gives the front of a struct; nil if it begins with something else. It is for complete structs.
func (s *Struct) front() *front {
	s.frontOnce.Do(func() { s.frontPart = s.makeFront() })
	return s.frontPart
}

func (s *Struct) makeFront() *front {
	if s.Extensibility == cdr.Mutable {
		return nil
	}
	f := &front{anywhere: s.Extensibility == cdr.Final}
	members := s.wire()
	for _, m := range members {
		if !f.add(m) {
			break
		}
	}
	if len(f.members) == 0 {
		return nil
	}
	f.whole = len(f.members) == len(members)
	return f
}

// add takes a member in, if it can be.
func (f *front) add(m *Member) bool {
	if m.Optional || m.TryConstruct > TryConstructDiscard {
		return false
	}
	parts, at := f.partsOf(m)
	if len(parts) == 0 || len(f.parts)+len(parts) > maxFrontParts {
		return false
	}
	size := f.size
	for _, p := range parts {
		if f.anywhere && len(f.parts) > 0 && min(p.width, 4) > f.parts[0].width {
			return false
		}
		size = alignUp(size, min(p.width, 4)) + p.width*p.count
	}
	if size > maxFront {
		return false
	}
	f.members, f.at, f.part = append(f.members, m), append(f.at, at), append(f.part, len(f.parts))
	f.parts, f.size = append(f.parts, parts...), size
	return true
}

// partsOf gives the parts of a member behind those that are there already, and its offset.
func (f *front) partsOf(m *Member) (parts []frontPart, at int) {
	def, ok := defaultBits(m)
	if !ok {
		return nil, 0
	}
	one := func(width, count int) ([]frontPart, int) {
		return []frontPart{{name: m.Name, width: width, count: count, def: def}}, alignUp(f.size, min(width, 4))
	}
	switch t := resolve(m.Type).(type) {
	case Primitive, *Enum, *Bitmask, *Bitset:
		n, _ := scalarSize(t)
		return one(n, 1)
	case *Fixed:
		return one(1, t.size())
	case *Array:
		p, isPrimitive := resolve(t.Elem).(Primitive)
		if n := t.count(); isPrimitive && n <= maxFront {
			return one(primitives[p].size, n)
		}
	case *Struct:
		return f.nested(m, t)
	}
	return nil, 0
}

// nested gives the parts of a struct that is a front itself. One behind a pointer may be the struct around it.
func (f *front) nested(m *Member, s *Struct) (parts []frontPart, at int) {
	if m.External || s.Extensibility != cdr.Final || s.parts > maxFrontParts {
		return nil, 0
	}
	inner := s.front()
	if inner == nil || !inner.whole {
		return nil, 0
	}
	for i, p := range inner.parts {
		p.name, p.inner = m.Name+"."+p.name, p.inner || i > 0
		parts = append(parts, p)
	}
	return parts, alignUp(f.size, min(inner.parts[0].width, 4))
}

// defaultBits gives the number that a member reads as if it is absent, as its encoding has it.
func defaultBits(m *Member) (bits uint64, ok bool) {
	v := m.constraints().Default
	if e, isEnum := resolve(m.Type).(*Enum); isEnum && !v.Valid() {
		return uint64(uint32(e.Default.Value)), true
	}
	n, isScalar := scalarSize(m.Type)
	switch {
	case !v.Valid():
		return 0, true
	case !isScalar || n > 8:
		return 0, false
	case v.Float == nil && resolve(m.Type) != Type(Float32) && resolve(m.Type) != Type(Float64):
		return uint64(v.Ordinal()), true
	}
	f := float64(v.Ordinal())
	if v.Float != nil {
		f = *v.Float
	}
	if resolve(m.Type) == Type(Float32) {
		return uint64(math.Float32bits(float32(f))), true
	}
	return math.Float64bits(f), true
}
