package xtypes

import (
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// What follows from a type about the bytes of its values (XTypes 1.3 §7.4).

// width is the size of a value that is a single number; 0 for other types. t is resolved.
func (t *Type) width() int {
	switch t.d.Kind {
	case TKEnum:
		return enumWidth(t.d.BitBound)
	case TKBitmask:
		return bitsWidth(int(t.d.BitBound))
	case TKBitset:
		return bitsWidth(t.bitsetBits())
	}
	return t.d.Kind.Size()
}

func enumWidth(bits uint16) int { return bitsWidth(min(int(bits), 32)) }

func bitsWidth(bits int) int {
	switch {
	case bits <= 8:
		return 1
	case bits <= 16:
		return 2
	case bits <= 32:
		return 4
	}
	return 8
}

// delimited tells whether XCDR2 puts a DHEADER in front of a value of the resolved type t. Collections whose elements
// are primitive have none; an enumeration is not primitive.
func (t *Type) delimited() bool {
	switch t.d.Kind {
	case TKStructure, TKUnion:
		return t.d.Extensibility != cdr.Final
	case TKSequence, TKArray:
		return !t.d.Elem.Resolve().d.Kind.Primitive()
	case TKMap:
		return !t.d.Elem.Resolve().d.Kind.Primitive() || !t.d.MapKey.Resolve().d.Kind.Primitive()
	}
	return false
}

// bodiless tells whether values of t take no bytes in some encoding: those of an empty structure, which has a header at most.
func (t *Type) bodiless() bool { return t.bodilessIn(nil) }

func (t *Type) bodilessIn(above []*Type) bool {
	t = t.Resolve()
	switch t.d.Kind {
	case TKArray:
		return t.d.Elem.bodilessIn(above)
	case TKStructure:
		if t.d.Extensibility == cdr.Mutable || slices.Contains(above, t) {
			return false
		}
		above = append(above, t)
		return !slices.ContainsFunc(t.all, func(m *Member) bool { return m.Optional || !m.Type.bodilessIn(above) })
	}
	return false
}

// sequenceBound is what the length of a sequence is checked for; 0 for nothing. See cdr.MaxBodiless.
func (t *Type) sequenceBound() uint32 {
	if (t.d.Bound == 0 || t.d.Bound > cdr.MaxBodiless) && t.d.Elem.bodiless() {
		return cdr.MaxBodiless
	}
	return t.d.Bound
}

// Length codes of XCDR2 member headers (XTypes 1.3 §7.4.3).
const (
	lengthNext  = 4 // the length follows the header
	lengthAlso1 = 5 // the first four bytes of the value count the bytes behind them
	lengthAlso4 = 6 // or groups of four bytes
	lengthAlso8 = 7 // or groups of eight
)

// lengthCode is what a writer puts into the header of a member of type t: the shortest form that says where the value ends.
func (t *Type) lengthCode() uint32 {
	t = t.Resolve()
	switch t.width() {
	case 1:
		return 0
	case 2:
		return 1
	case 4:
		return 2
	case 8:
		return 3
	}
	switch t.d.Kind {
	case TKString8, TKString16:
		return lengthAlso1
	case TKSequence:
		switch e := t.d.Elem.Resolve(); {
		case !e.d.Kind.Primitive() || e.width() == 1:
			return lengthAlso1
		case e.width() == 4:
			return lengthAlso4
		case e.width() == 8:
			return lengthAlso8
		}
	}
	// What begins with a DHEADER could share it with the header. Structures and unions do not: Cyclone DDS writes both,
	// and so does generated code.
	if k := t.d.Kind; k != TKStructure && k != TKUnion && t.delimited() {
		return lengthAlso1
	}
	return lengthNext
}

// Parameter ids of XCDR1 (XTypes 1.3 §7.4.1.2).
const (
	pidMask      = 0x3fff
	pidVendor    = 0x8000
	pidMust      = 0x4000
	pidLargest   = 0x3f00 // of those that are member ids
	pidExtended  = 0x3f01
	pidListEnd   = 0x3f02
	pidSentinel  = 0x0001 // ends a list in RTPS, and in the XTypes drafts
	shortHeader  = 4
	extendedMust = 0x40000000
	extendedVend = 0x80000000
	memberMust   = 0x80000000 // in the header of XCDR2
)

// Encapsulation gives the representation identifier of samples of t (RTPS 2.5 §10.2), which follows from its extensibility.
func (t *Type) Encapsulation(xcdr2, bigEndian bool) cdr.Encapsulation {
	var enc cdr.Encapsulation
	switch x := t.Resolve().d.Extensibility; {
	case !xcdr2 && x == cdr.Mutable:
		enc = cdr.PLCDRBE
	case !xcdr2:
		enc = cdr.CDRBE
	case x == cdr.Final:
		enc = cdr.CDR2BE
	case x == cdr.Appendable:
		enc = cdr.DCDR2BE
	default:
		enc = cdr.PLCDR2BE
	}
	if !bigEndian {
		enc++
	}
	return enc
}
