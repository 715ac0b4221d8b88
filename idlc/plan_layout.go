package idlc

import (
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
)

// fixedLayout gives alignment and size of a value whose encoding, once it begins at a multiple of the alignment, is the same
// everywhere. A struct must begin with what it aligns most strictly: otherwise the padding inside depends on where
// it begins. Enumerators in arrays have a DHEADER in XCDR2, and are left out for it.
func fixedLayout(t Type, v2 bool) (align, size int, ok bool) {
	most := 8
	if v2 {
		most = 4
	}
	switch t := resolve(t).(type) {
	case Primitive:
		n := primitives[t].size
		return min(n, most), n, true
	case *Enum:
		return t.Width, t.Width, true
	case *Bitmask:
		return min(t.Width, most), t.Width, true
	case *Bitset:
		return min(t.Width, most), t.Width, true
	case *Fixed:
		return 1, t.size(), true
	case *Array:
		p, isPrim := resolve(t.Elem).(Primitive)
		if !isPrim {
			return 0, 0, false
		}
		n := primitives[p].size
		return min(n, most), n * t.count(), true
	case *Struct:
		f := t.fixed[cdrVersion(v2)]
		return f.align, f.size, f.ok
	}
	return 0, 0, false
}

// isImage tells whether a value has the same bytes in memory and in both versions of CDR, on a machine with the byte order of the
// sample: a struct of numbers without padding, none of which has values that are refused.
func isImage(t Type) bool {
	s, ok := resolve(t).(*Struct)
	if !ok || len(s.wire()) != len(s.allMembers()) {
		return false
	}
	sum := 0
	for _, m := range s.wire() {
		elem := resolve(m.Type)
		if a, ok := elem.(*Array); ok {
			elem = resolve(a.Elem)
		}
		p, isPrimitive := elem.(Primitive)
		c := m.constraints()
		switch {
		case m.pointer() || c.Min.Valid() || c.Max.Valid():
			return false
		case isPrimitive && (p == Boolean || p == Float128):
			return false
		case !isPrimitive && !isImage(elem):
			return false
		}
		_, n, _ := fixedLayout(m.Type, true)
		sum += n
	}
	a1, n1, ok1 := fixedLayout(s, false)
	a2, n2, ok2 := fixedLayout(s, true)
	return ok1 && ok2 && n1 == sum && n2 == sum && sum%a1 == 0 && sum%a2 == 0
}

// inMemory gives alignment and size of a struct whose members are encoded as they lie in memory, on a machine with the
// byte order of the sample: numbers, booleans and enumerators without padding, of which the first is the most strictly
// aligned one.
func (s *Struct) inMemory() (align, size int, ok bool) {
	f := s.front()
	if f == nil || !f.whole || len(f.parts) < 2 || len(s.wire()) != len(s.allMembers()) {
		return 0, 0, false
	}
	align = f.parts[0].width
	for _, p := range f.parts {
		if p.width > align || alignUp(size, p.width) != size {
			return 0, 0, false
		}
		size += p.width * p.count
	}
	for _, m := range s.wire() {
		if m.pointer() || !liesInMemory(m.Type, false) {
			return 0, 0, false
		}
	}
	return align, size, size%align == 0
}

// liesInMemory tells whether a value is encoded as it lies in memory, and within another struct without being checked.
func liesInMemory(t Type, within bool) bool {
	switch t := resolve(t).(type) {
	case Primitive:
		return t != Float128
	case *Enum:
		return t.Width == 4 && !within
	case *Array:
		return liesInMemory(t.Elem, within)
	case *Struct:
		for _, m := range t.wire() {
			if c := m.constraints(); m.pointer() || c.Min.Valid() || c.Max.Valid() || !liesInMemory(m.Type, true) {
				return false
			}
		}
		return len(t.wire()) == len(t.allMembers())
	}
	return false
}

// size is the length of a packed decimal number: a digit in each half of a byte, and the sign in the last one.
func (f *Fixed) size() int { return (f.Digits + 2) / 2 }

// cdrVersion is the index of XCDR1 and XCDR2.
func cdrVersion(v2 bool) int {
	if v2 {
		return 1
	}
	return 0
}

// slot is where a builder puts a member.
type slot struct {
	fixed  bool
	behind int    // members of variable size before it
	at     string // Go expression for the offset of a fixed member
	size   int    // of a fixed member
}

// segment is a run of fixed members; number 0 is at the start, the others follow a member of variable size.
type segment struct {
	first int    // index of its first member; -1 if it has none
	end   string // Go expression for the offset behind it
}

// builderLayout gives a slot for each member and one segment more than there are members of variable size. In the expressions
// of all but the first segment, p is the offset where the segment begins.
func builderLayout(s *Struct) ([]slot, []segment) {
	start := 0
	if s.Extensibility != cdr.Final {
		start = 4
	}
	var slots []slot
	segments := []segment{{first: -1}}
	place := placer{align: 4, delta: start}
	for i, m := range s.wire() {
		seg := &segments[len(segments)-1]
		a, n, ok := fixedLayout(m.Type, true)
		if !ok || m.Optional {
			slots = append(slots, slot{behind: len(segments) - 1})
			segments = append(segments, segment{first: -1})
			place = placer{anchor: "p", align: 1}
			continue
		}
		slots = append(slots, slot{fixed: true, behind: len(segments) - 1, at: place.add(a, n), size: n})
		if seg.first < 0 {
			seg.first = i
		}
		seg.end = place.offset()
	}
	return slots, segments
}

// placer computes offsets as an anchor, which is a multiple of align, and a distance from it.
type placer struct {
	anchor string // "" is 0
	align  int
	delta  int
}

func (p *placer) add(align, n int) string {
	if align > p.align {
		p.anchor = fmt.Sprintf("cdr.AlignUp(%s, %d)", p.offset(), align)
		p.align, p.delta = align, 0
	}
	p.delta = alignUp(p.delta, align)
	at := p.offset()
	p.delta += n
	return at
}

func (p *placer) offset() string {
	switch {
	case p.anchor == "":
		return itoa(p.delta)
	case p.delta == 0:
		return p.anchor
	}
	return fmt.Sprintf("%s+%d", p.anchor, p.delta)
}
