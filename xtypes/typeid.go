package xtypes

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// EquivalenceKind says what a type object leaves out (XTypes 1.3 §7.3.4).
type EquivalenceKind uint8

// The kinds. Both is of types that have no hash anywhere inside, so that minimal and complete are the same.
const (
	Minimal  EquivalenceKind = 0xf1 // what assignability needs: hashes in place of names
	Complete EquivalenceKind = 0xf2
	Both     EquivalenceKind = 0xf3
)

// String gives the name of Annex B.
func (k EquivalenceKind) String() string {
	switch k {
	case Minimal:
		return "EK_MINIMAL"
	case Complete:
		return "EK_COMPLETE"
	case Both:
		return "EK_BOTH"
	}
	return fmt.Sprintf("equivalence kind 0x%02x", uint8(k))
}

// Kinds of type identifiers that are neither a primitive Kind nor an EquivalenceKind (Annex B).
const (
	tiString8Small  = 0x70
	tiString8Large  = 0x71
	tiString16Small = 0x72
	tiString16Large = 0x73
	tiSequenceSmall = 0x80
	tiSequenceLarge = 0x81
	tiArraySmall    = 0x90
	tiArrayLarge    = 0x91
	tiMapSmall      = 0xa0
	tiMapLarge      = 0xa1
	tiComponent     = 0xb0 // TI_STRONGLY_CONNECTED_COMPONENT
)

// EquivalenceHash is the start of the MD5 of a serialized type object (XTypes 1.3 §7.3.4).
type EquivalenceHash [14]byte

// TypeIdentifier names a type (XTypes 1.3 §7.3.4): in full, or by the hash of its type object. The zero value is that
// of no type. It is a value: parts that it points to are not changed.
type TypeIdentifier struct {
	Kind uint8 // a primitive Kind, an EquivalenceKind, or a TI_ constant

	Bound  uint32   // of strings, sequences and maps; 0 for none
	Bounds []uint32 // of arrays

	Equivalence EquivalenceKind // of a plain collection: of the hashes inside
	ElemFlags   uint16
	Elem        *TypeIdentifier
	KeyFlags    uint16
	Key         *TypeIdentifier

	Hash EquivalenceHash // of a type object, or of a strongly connected component

	// Of a type that is part of a recursion: its component has Length types, of which this is number Index, from 1.
	HashKind      EquivalenceKind
	Length, Index int32
}

// Hashed tells whether the type is named by a hash, so that its type object is needed to know it.
func (id *TypeIdentifier) Hashed() bool {
	return id.Kind == uint8(Minimal) || id.Kind == uint8(Complete) || id.Kind == tiComponent
}

// FullyDescriptive tells whether no hash is in the identifier.
func (id *TypeIdentifier) FullyDescriptive() bool {
	return !id.Hashed() && (id.Elem == nil || id.Elem.FullyDescriptive()) && (id.Key == nil || id.Key.FullyDescriptive())
}

// None tells whether the identifier is that of no type.
func (id *TypeIdentifier) None() bool { return id.Kind == uint8(TKNone) }

// Equal tells whether two identifiers are the same.
func (id *TypeIdentifier) Equal(o *TypeIdentifier) bool { return id.key() == o.key() }

// key gives what two identifiers have in common if and only if they are equal.
func (id *TypeIdentifier) key() string {
	a := newArchive()
	c := *id
	a.id(&c)
	return string(a.w.buf)
}

// String names the identifier for people: "EK_COMPLETE 0123...", "sequence<int32, 5>".
func (id *TypeIdentifier) String() string {
	bounded := func(kind string, args ...string) string {
		if id.Bound > 0 {
			args = append(args, fmt.Sprint(id.Bound))
		}
		if len(args) == 0 {
			return kind
		}
		return kind + "<" + strings.Join(args, ", ") + ">"
	}
	switch id.Kind {
	case tiString8Small, tiString8Large:
		return bounded("string")
	case tiString16Small, tiString16Large:
		return bounded("wstring")
	case tiSequenceSmall, tiSequenceLarge:
		return bounded("sequence", id.Elem.String())
	case tiMapSmall, tiMapLarge:
		return bounded("map", id.Key.String(), id.Elem.String())
	case tiArraySmall, tiArrayLarge:
		s := id.Elem.String()
		for _, b := range id.Bounds {
			s += fmt.Sprintf("[%d]", b)
		}
		return s
	case uint8(Minimal), uint8(Complete):
		return EquivalenceKind(id.Kind).String() + " " + hex.EncodeToString(id.Hash[:])
	case tiComponent:
		return fmt.Sprintf("type %d of %d in component %s %x", id.Index, id.Length, id.HashKind, id.Hash)
	}
	return Kind(id.Kind).String()
}

// archive reads or writes type objects: one description of their layout serves both ways. The encoding is XCDR2, little endian.
type archive struct {
	w       writer
	r       cursor
	reading bool
	plain   bool // plain CDR, as Fast DDS 2 has it: see UnmarshalPlainTypeObject
	depth   int
	err     error
}

// Limits on what is read.
const (
	maxIDDepth = 32      // of collections within collections
	maxObject  = 1 << 24 // bytes of a serialized type object, TypeInformation or TypeMapping
)

func newArchive() *archive {
	return &archive{w: writer{order: littleEndian, v2: true}}
}

func openArchive(b []byte) *archive {
	a := &archive{reading: true, r: cursor{buf: b, end: len(b), v2: true}}
	if len(b) > maxObject {
		a.fail("%d bytes are more than the %d that a type object may have", len(b), maxObject)
	}
	return a
}

func (a *archive) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("xtypes: type object: "+format, args...)
	}
	a.r.fail(malformed)
}

// done gives the error, if any.
func (a *archive) done() error {
	switch {
	case a.err != nil:
		return a.err
	case a.reading && a.r.fault != noFault:
		return fmt.Errorf("xtypes: type object: input of %d bytes ends early, or is malformed, before offset %d", len(a.r.buf), a.r.pos)
	}
	return nil
}

func numeral[T ~uint8 | ~uint16 | ~uint32 | ~int32 | ~uint64 | ~int64](a *archive, size int, p *T) {
	if a.reading {
		*p = T(a.r.uint(size))
	} else {
		a.w.uint(size, uint64(*p))
	}
}

func (a *archive) u8(p *uint8)   { numeral(a, 1, p) }
func (a *archive) u16(p *uint16) { numeral(a, 2, p) }
func (a *archive) u32(p *uint32) { numeral(a, 4, p) }
func (a *archive) i32(p *int32)  { numeral(a, 4, p) }

func (a *archive) bytes(p []byte) {
	if a.reading {
		copy(p, a.r.take(1, len(p)))
	} else {
		a.w.buf = append(a.w.buf, p...)
	}
}

func (a *archive) string(p *string, bound int) {
	if !a.reading {
		a.w.uint(4, uint64(len(*p)+1))
		a.w.buf = append(append(a.w.buf, *p...), 0)
		return
	}
	b := a.r.string8()
	if bound > 0 && len(b) > bound {
		a.fail("string of %d bytes exceeds its bound of %d", len(b), bound)
		return
	}
	*p = string(b)
}

// optional reads or writes whether an optional member is present.
func (a *archive) optional(present bool) bool {
	if a.plain {
		return !a.reading || a.r.fault == noFault
	}
	var b uint8
	if present {
		b = 1
	}
	a.u8(&b)
	if b > 1 {
		a.fail("%d is no boolean", b)
	}
	return b == 1 && a.r.fault == noFault
}

// delimited does what is in an appendable or mutable value, or a collection of values that are not primitive. What a newer
// version of the standard has appended is skipped.
func (a *archive) delimited(do func()) {
	if a.plain {
		do()
		return
	}
	if a.reading {
		s := a.r.scope()
		a.r.narrow(&s, a.r.length())
		do()
		a.r.leave(s)
		return
	}
	a.w.uint(4, 0)
	start := len(a.w.buf)
	do()
	a.w.order.PutUint32(a.w.buf[start-4:], uint32(len(a.w.buf)-start))
}

// skip passes over an appendable value or a collection when reading; there is none to be written.
func (a *archive) skip() { a.delimited(func() {}) }

// list does the elements of a sequence of values that are not primitive.
func list[T any](a *archive, p *[]T, do func(*T)) {
	a.delimited(func() { elements(a, p, do) })
}

// elements does those of a sequence without a DHEADER. Each takes a byte at least.
func elements[T any](a *archive, p *[]T, do func(*T)) {
	n := uint32(len(*p))
	a.u32(&n)
	if a.reading {
		if int64(n) > int64(a.r.end-a.r.pos) {
			a.r.fail(truncated)
			return
		}
		*p = nil
	}
	for i := 0; i < int(n) && a.r.fault == noFault; i++ {
		if a.reading {
			*p = append(*p, *new(T))
		}
		do(&(*p)[i])
	}
}

func (a *archive) id(p *TypeIdentifier) {
	if a.depth++; a.depth > maxIDDepth {
		a.fail("collections are nested more than %d levels deep", maxIDDepth)
	}
	defer func() { a.depth-- }()
	a.u8(&p.Kind)
	if a.err != nil {
		return
	}
	small := func() {
		b := uint8(p.Bound)
		a.u8(&b)
		p.Bound = uint32(b)
	}
	switch p.Kind {
	case tiString8Small, tiString16Small:
		small()
	case tiString8Large, tiString16Large:
		a.u32(&p.Bound)
	case tiSequenceSmall, tiSequenceLarge, tiMapSmall, tiMapLarge:
		a.plainHeader(p)
		if p.Kind == tiSequenceSmall || p.Kind == tiMapSmall {
			small()
		} else {
			a.u32(&p.Bound)
		}
		a.part(&p.Elem)
		if p.Kind == tiMapSmall || p.Kind == tiMapLarge {
			a.u16(&p.KeyFlags)
			a.part(&p.Key)
		}
	case tiArraySmall, tiArrayLarge:
		a.plainHeader(p)
		elements(a, &p.Bounds, func(b *uint32) {
			if p.Kind == tiArraySmall {
				numeral(a, 1, b)
			} else {
				a.u32(b)
			}
		})
		a.part(&p.Elem)
	case tiComponent:
		a.delimited(func() {
			numeral(a, 1, &p.HashKind)
			a.bytes(p.Hash[:])
			a.i32(&p.Length)
			a.i32(&p.Index)
		})
	case uint8(Minimal), uint8(Complete):
		a.bytes(p.Hash[:])
	default:
		if k := Kind(p.Kind); k != TKNone && !k.Primitive() {
			a.fail("0x%02x is no kind of type identifier", p.Kind)
		}
	}
}

func (a *archive) plainHeader(p *TypeIdentifier) {
	numeral(a, 1, &p.Equivalence)
	a.u16(&p.ElemFlags)
}

func (a *archive) part(p **TypeIdentifier) {
	if a.reading {
		*p = &TypeIdentifier{}
	}
	a.id(*p)
}

// plain gives the identifier of a string or of a collection that needs no type object; parts gives those of the parts.
func plain(t *Type, ek EquivalenceKind, part func(*Type) TypeIdentifier) TypeIdentifier {
	id := TypeIdentifier{Bound: t.d.Bound}
	large := t.d.Bound > 255
	pick := func(small, big uint8) uint8 {
		if large {
			return big
		}
		return small
	}
	switch t.d.Kind {
	case TKString8:
		id.Kind = pick(tiString8Small, tiString8Large)
		return id
	case TKString16:
		id.Kind = pick(tiString16Small, tiString16Large)
		return id
	case TKSequence:
		id.Kind = pick(tiSequenceSmall, tiSequenceLarge)
	case TKMap:
		id.Kind = pick(tiMapSmall, tiMapLarge)
		key := part(t.d.MapKey)
		id.Key, id.KeyFlags = &key, t.mapKey.flags()
	case TKArray:
		id.Bounds = t.d.Dims
		large = slices.Max(t.d.Dims) > 255
		id.Kind = pick(tiArraySmall, tiArrayLarge)
	default:
		id.Kind = uint8(t.d.Kind)
		return id
	}
	elem := part(t.d.Elem)
	id.Elem, id.ElemFlags = &elem, t.elem.flags()
	id.Equivalence = ek
	if id.FullyDescriptive() {
		id.Equivalence = Both
	}
	return id
}

// Flags of members and types in type objects (Annex B, MemberFlag and TypeFlag).
const (
	flagTryConstruct   = 0x03
	flagExternal       = 1 << 2
	flagOptional       = 1 << 3
	flagMustUnderstand = 1 << 4
	flagKey            = 1 << 5
	flagDefault        = 1 << 6

	flagFinal      = 1 << 0
	flagAppendable = 1 << 1
	flagMutable    = 1 << 2
	flagNested     = 1 << 3
	flagAutoIDHash = 1 << 4
	flagsMinimal   = 0x07 // of types
)

// flags gives the MemberFlag of a member or an element. A key must be understood (XTypes 1.3 §7.2.2.4).
func (m *Member) flags() uint16 {
	f := uint16(max(m.TryConstruct, TryConstructDiscard))
	for flag, is := range map[uint16]bool{flagExternal: m.External, flagOptional: m.Optional, flagMustUnderstand: m.must(),
		flagKey: m.Key, flagDefault: m.DefaultCase} {
		if is {
			f |= flag
		}
	}
	return f
}
