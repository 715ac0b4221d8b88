package idlc

import (
	"math"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

const (
	// maxValue bounds the memory of a value without what its strings and sequences refer to.
	maxValue = 1 << 28
	// maxDepth bounds how deep a value of fixed shape lies in another: what is deeper could never be encoded.
	maxDepth = cdr.MaxDepth
	// maxSequences bounds sequences of sequences, and maxParts the members of a struct with those of its members: above, the Go
	// compiler takes minutes.
	maxSequences = 32
	maxParts     = 1 << 20
	// maxBases bounds a chain of inheritance. Every struct of it has the members of all its bases.
	maxBases = 64
)

// measures are what is known of a struct once all of its members are. A struct that is part of another is complete
// before that one, so nothing here walks further down than one struct: types that double at each level
// are as cheap as others.
type measures struct {
	memory float64        // see memorySize
	depth  int            // of the values within it, see depthOf
	parts  int            // members, and members of members; those of elements once
	bases  int            // above it
	min    int            // see minSize
	fixed  [2]fixedValues // see fixedLayout; XCDR1 and XCDR2
}

// fixedValues is a size that is the same everywhere, if ok.
type fixedValues struct {
	align, size int
	ok          bool
}

// measure completes a struct.
func (s *Struct) measure() {
	s.Complete = true
	m := measures{min: 0}
	if s.Base != nil {
		m.bases = s.Base.bases + 1
	}
	members := s.wire()
	for _, member := range members {
		m.add(member)
		m.min = min(math.MaxInt32, m.min+member.minSize())
	}
	if s.Extensibility != cdr.Final {
		m.min = min(m.min, 4) // members may be absent
	}
	m.fixed = [2]fixedValues{fixedMembers(s, members, false), fixedMembers(s, members, true)}
	s.measures = m
}

// measure completes a union.
func (u *Union) measure() {
	u.Complete = true
	m := measures{min: 1}
	for _, k := range u.Cases {
		m.add(&k.Member)
	}
	if u.Discriminator != nil && u.Extensibility == cdr.Final {
		m.min = minSize(u.Discriminator)
	}
	u.measures = m
}

// add counts a member in. One that is a reference takes the memory of that alone.
func (m *measures) add(member *Member) {
	if member.pointer() {
		m.memory += 8
	} else {
		m.memory += memorySize(member.Type)
	}
	m.depth = max(m.depth, depthWithin(member.Type))
	m.parts = min(1<<30, m.parts+partsOf(member.Type))
}

// minSize is a lower bound of what a member takes.
func (m *Member) minSize() int {
	switch {
	case m.Optional:
		return 1 // the flag that says no
	case m.External && !isComplete(m.Type):
		return 0 // it is not known yet
	}
	return minSize(m.Type)
}

// fixedMembers is fixedLayout for the members of a struct.
func fixedMembers(s *Struct, members []*Member, v2 bool) (f fixedValues) {
	if s.Extensibility != cdr.Final {
		return fixedValues{}
	}
	for i, m := range members {
		a, n, ok := fixedLayout(m.Type, v2)
		if !ok || m.Optional || i > 0 && a > f.align {
			return fixedValues{}
		}
		if i == 0 {
			f.align = a
		}
		f.size = alignUp(f.size, a) + n
	}
	f.ok = f.size > 0
	return f
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
		return max(1, t.memory)
	case *Union:
		return max(1, t.memory)
	}
	return 4
}

// depthOf counts the levels at which coders guard against depth. What sequences refer to counts only as far as it is
// not a struct: there may be none.
func depthOf(t Type) int {
	switch t := resolve(t).(type) {
	case *Struct:
		return t.depth
	case *Union:
		return t.depth
	case *Array:
		if isPrimitive(t.Elem) {
			return len(t.Dims)
		}
		return len(t.Dims) + depthOf(t.Elem)
	case *Sequence:
		return 1 + depthInside(t.Elem)
	case *Map:
		return 1 + depthInside(t.Elem)
	}
	return 0
}

// depthInside is the depth that an element adds to its collection: none if it is a struct or a union.
func depthInside(t Type) int {
	switch r := resolve(t).(type) {
	case *Struct, *Union:
		return 0
	default:
		return depthOf(r)
	}
}

// depthWithin is the depth that a member adds to its struct.
func depthWithin(t Type) int {
	switch r := resolve(t).(type) {
	case *Struct:
		return 1 + r.depth
	case *Union:
		return 1 + r.depth
	}
	return depthOf(t)
}

// partsOf counts the values that the Go type of a member lists.
func partsOf(t Type) int {
	switch t := resolve(t).(type) {
	case *Struct:
		return max(1, t.parts)
	case *Union:
		return max(1, t.parts)
	case *Array:
		return partsOf(t.Elem)
	}
	return 1
}

// sequencesOf counts sequences within one another.
func sequencesOf(t Type) int {
	switch t := resolve(t).(type) {
	case *Sequence:
		return 1 + sequencesOf(t.Elem)
	case *Map:
		return 1 + sequencesOf(t.Elem)
	case *Array:
		return sequencesOf(t.Elem)
	}
	return 0
}

// minSize is a lower bound of what a value takes in either version of XCDR: 0 only for what never takes anything.
func minSize(t Type) int {
	switch t := resolve(t).(type) {
	case Primitive:
		return primitives[t].size
	case *Enum:
		return t.Width
	case *Bitmask:
		return t.Width
	case *Bitset:
		return t.Width
	case *Fixed:
		return t.size()
	case *Array:
		return min(math.MaxInt32, minSize(t.Elem)*t.count())
	case *Struct:
		if t.min == 0 && !bodiless(t) {
			return 1
		}
		return t.min
	case *Union:
		return max(1, t.min)
	}
	return 4 // a length
}

// bodiless tells whether values of a type take no bytes in some encoding: those of an empty struct, which has a header at most.
func bodiless(t Type) bool { return bodilessIn(t, map[*Struct]bool{}) }

// bodilessIn looks at each struct once, whatever the number of paths to it. What holds itself is not empty: it is false
// in known while its members are looked at.
func bodilessIn(t Type, known map[*Struct]bool) bool {
	switch t := resolve(t).(type) {
	case *Array:
		return bodilessIn(t.Elem, known)
	case *Struct:
		if is, ok := known[t]; ok {
			return is
		}
		known[t] = false
		known[t] = t.Extensibility != cdr.Mutable && !slices.ContainsFunc(t.wire(), func(m *Member) bool {
			return m.Optional || !bodilessIn(m.Type, known)
		})
		return known[t]
	}
	return false
}

// bound is what the length of a sequence is checked for; 0 for nothing. What takes no bytes cannot come in any number:
// a sample of a few bytes would keep its reader busy.
func (s *Sequence) bound() int {
	if s.Bound == 0 && bodiless(s.Elem) || s.Bound > cdr.MaxBodiless && bodiless(s.Elem) {
		return cdr.MaxBodiless
	}
	return s.Bound
}
