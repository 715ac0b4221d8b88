package idlc

import (
	"math"

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

	keySequence *Sequence // the first that is part of its key, and where
	keyPath     string
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
		if member.pointer() {
			m.memory += 8
		} else {
			m.memory += memorySize(member.Type)
		}
		m.depth = max(m.depth, depthWithin(member.Type))
		m.parts = min(1<<30, m.parts+partsOf(member.Type))
		if member.Optional {
			m.min++ // the flag that says no
		} else {
			m.min = min(math.MaxInt32, m.min+minSize(member.Type))
		}
	}
	if s.Extensibility != cdr.Final {
		m.min = min(m.min, 4) // members may be absent
	}
	m.min = max(1, m.min)
	m.fixed = [2]fixedValues{fixedMembers(s, members, false), fixedMembers(s, members, true)}
	for _, member := range s.holder() {
		if m.keyPath, m.keySequence = sequenceIn(member.Type, member.Name); m.keySequence != nil {
			break
		}
	}
	s.measures = m
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
	}
	return 4
}

// depthOf counts the levels at which coders guard against depth. What sequences refer to counts only as far as it is
// not a struct: there may be none.
func depthOf(t Type) int {
	switch t := resolve(t).(type) {
	case *Struct:
		return t.depth
	case *Array:
		if isPrimitive(t.Elem) {
			return len(t.Dims)
		}
		return len(t.Dims) + depthOf(t.Elem)
	case *Sequence:
		if _, isStruct := resolve(t.Elem).(*Struct); isStruct {
			return 1
		}
		return 1 + depthOf(t.Elem)
	}
	return 0
}

// depthWithin is the depth that a member adds to its struct.
func depthWithin(t Type) int {
	if s, ok := resolve(t).(*Struct); ok {
		return 1 + s.depth
	}
	return depthOf(t)
}

// partsOf counts the values that the Go type of a member lists.
func partsOf(t Type) int {
	switch t := resolve(t).(type) {
	case *Struct:
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
	case *Array:
		return sequencesOf(t.Elem)
	}
	return 0
}

// minSize is a lower bound of what a value takes in either version of XCDR. It is never 0.
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
	case *Union:
		if t.Extensibility == cdr.Final {
			return minSize(t.Discriminator)
		}
		return 1
	case *Array:
		return min(math.MaxInt32, minSize(t.Elem)*t.count())
	case *Struct:
		return max(1, t.min)
	}
	return 4 // a length
}

// sequenceIn finds a sequence in what a member contributes to a key.
func sequenceIn(t Type, path string) (string, *Sequence) {
	switch t := resolve(t).(type) {
	case *Sequence:
		return path, t
	case *Array:
		return sequenceIn(t.Elem, path+"[]")
	case *Struct:
		if t.keySequence != nil {
			return path + "." + t.keyPath, t.keySequence
		}
	}
	return "", nil
}
