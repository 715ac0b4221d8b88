package xtypes

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

var littleEndian byteOrder = binary.LittleEndian

// TypeObject is a type object (XTypes 1.3 §7.3.4, Annex B): a type, without the types that it refers to. It does not
// change once it was read or made.
type TypeObject struct {
	equivalence EquivalenceKind
	kind        Kind
	flags       uint16
	name        string // empty in minimal ones, and of anonymous collections
	verbatim    *Verbatim
	base        TypeIdentifier // of a structure
	disc        objectMember   // of a union: flags and type
	members     []objectMember // of a structure or a union
	related     TypeIdentifier // of an alias
	bound       uint32
	bounds      []uint32
	elem, key   objectMember // flags and type
	bitBound    uint16
	literals    []objectLiteral // of an enumeration, a bitmask or a bitset
	builtin     memberBuiltin   // of an alias
	// raw is what was read: custom annotations and what the standard may append are part of the hash, and not kept otherwise.
	raw []byte
	// plain is of those that UnmarshalPlainTypeObject has read.
	plain bool
}

type objectMember struct {
	id     uint32
	flags  uint16
	typ    TypeIdentifier
	labels []int32
	detail memberDetail
}

// objectLiteral is an enumerator, a flag at a position, or a field.
type objectLiteral struct {
	value    int32
	flags    uint16
	position uint16
	bits     uint8
	holder   Kind
	detail   memberDetail
}

// memberDetail has the name, or in minimal objects its hash.
type memberDetail struct {
	name    string
	hash    [4]byte
	builtin memberBuiltin
}

// memberBuiltin is AppliedBuiltinMemberAnnotations. HashID and Unit are absent when nil.
type memberBuiltin struct {
	unit, hashID *string
	min, max     *paramValue
}

func (b memberBuiltin) present() bool {
	return b.unit != nil || b.hashID != nil || b.min != nil || b.max != nil
}

// paramValue is AnnotationParameterValue.
type paramValue struct {
	kind Kind
	bits uint64
	text string
	wide Float128
}

// Equivalence tells whether the object is minimal or complete.
func (o *TypeObject) Equivalence() EquivalenceKind { return o.equivalence }

// Kind is the kind of the type.
func (o *TypeObject) Kind() Kind { return o.kind }

// Name is the name of the type; minimal objects have none.
func (o *TypeObject) Name() string { return o.name }

// Marshal serializes the object: XCDR2, little endian, without a header in front.
func (o *TypeObject) Marshal() []byte {
	if o.raw != nil {
		return slices.Clone(o.raw)
	}
	a := newArchive()
	c := *o
	a.object(&c)
	return a.w.buf
}

// Hash is the equivalence hash.
func (o *TypeObject) Hash() EquivalenceHash { return hashOf(o.Marshal()) }

func hashOf(b []byte) EquivalenceHash {
	sum := md5.Sum(b)
	return EquivalenceHash(sum[:14])
}

// UnmarshalTypeObject reads what Marshal writes, of any vendor. Memory and depth are bounded by the size of the input. Custom
// annotations are read over.
func UnmarshalTypeObject(b []byte) (*TypeObject, error) {
	a := openArchive(b)
	o := &TypeObject{}
	a.object(o)
	if err := a.done(); err != nil {
		return nil, err
	}
	return o, nil
}

// nameHash stands for a name in minimal type objects. Types that were built from these have names that give it: see hashedName.
func nameHash(name string) [4]byte {
	if h, ok := hashInName(name); ok {
		return h
	}
	sum := md5.Sum([]byte(name))
	return [4]byte(sum[:4])
}

// hashedName is the name of a member of which only the hash is known. IDL has no such names.
func hashedName(h [4]byte) string { return fmt.Sprintf("#%x", h) }

func hashInName(name string) (h [4]byte, ok bool) {
	if len(name) != 9 || name[0] != '#' {
		return h, false
	}
	n, err := fmt.Sscanf(name[1:], "%08x", new(uint32))
	if n != 1 || err != nil {
		return h, false
	}
	var v uint32
	_, _ = fmt.Sscanf(name[1:], "%08x", &v)
	binary.BigEndian.PutUint32(h[:], v)
	return h, true
}

// object is TypeObject of Annex B.
func (a *archive) object(o *TypeObject) {
	if !a.reading && o.raw != nil && a.plain == o.plain {
		a.w.align(4)
		a.w.buf = append(a.w.buf, o.raw...)
		return
	}
	if a.reading {
		start := a.r.align(4)
		defer func() {
			if a.r.fault == noFault {
				o.raw = slices.Clone(a.r.buf[start:a.r.pos]) // nothing in it aligns to more than four bytes
			}
		}()
	}
	a.delimited(func() {
		numeral(a, 1, &o.equivalence)
		if o.equivalence != Minimal && o.equivalence != Complete {
			a.fail("0x%02x is neither EK_MINIMAL nor EK_COMPLETE", uint8(o.equivalence))
			return
		}
		numeral(a, 1, &o.kind)
		switch o.kind {
		case TKAlias:
			a.alias(o)
		case TKStructure:
			a.structure(o)
		case TKUnion:
			a.union(o)
		case TKBitset:
			a.delimited(func() { a.bitset(o) })
		case TKSequence:
			a.sequence(o)
		case TKArray:
			if o.equivalence == Complete {
				a.delimited(func() { a.array(o) })
			} else {
				a.array(o)
			}
		case TKMap:
			a.mapping(o)
		case TKEnum:
			a.enum(o)
		case TKBitmask:
			a.delimited(func() { a.bitmask(o) })
		case TKAnnotation: // its DHEADER leads behind it
		default:
			a.fail("0x%02x is no kind of type that has a type object", uint8(o.kind))
		}
	})
}

// typeDetail is CompleteTypeDetail; minimal objects have nothing in its place.
func (a *archive) typeDetail(o *TypeObject) {
	if o.equivalence == Minimal {
		return
	}
	a.builtinOfType(&o.verbatim)
	a.custom()
	a.string(&o.name, maxName)
}

// builtinOfType is an optional AppliedBuiltinTypeAnnotations.
func (a *archive) builtinOfType(v **Verbatim) {
	if !a.optional(*v != nil) {
		return
	}
	if a.reading || *v == nil {
		*v = &Verbatim{}
	}
	a.delimited(func() {
		if !a.optional(true) {
			*v = nil
			return
		}
		a.string(&(*v).Placement, 32)
		a.string(&(*v).Language, 32)
		a.string(&(*v).Text, 0)
	})
	if a.plain && *v != nil && **v == (Verbatim{}) {
		*v = nil
	}
}

// custom is an optional AppliedAnnotationSeq, which is read over.
func (a *archive) custom() {
	if !a.optional(false) {
		return
	}
	if !a.plain {
		a.skip()
		return
	}
	type parameter struct{}
	type annotation struct{ parameters []parameter }
	var list []annotation
	elements(a, &list, func(x *annotation) {
		var id TypeIdentifier
		a.id(&id)
		elements(a, &x.parameters, func(*parameter) {
			var name [4]byte
			a.bytes(name[:])
			a.value(new(paramValue))
		})
	})
}

// header is an appendable header that holds nothing but a type detail.
func (a *archive) header(o *TypeObject) {
	a.delimited(func() { a.typeDetail(o) })
}

func (a *archive) memberDetail(o *TypeObject, d *memberDetail) {
	if o.equivalence == Minimal {
		a.bytes(d.hash[:])
		return
	}
	a.string(&d.name, maxName)
	a.builtin(&d.builtin)
	a.custom()
}

func (a *archive) builtin(b *memberBuiltin) {
	if !a.optional(b.present()) {
		return
	}
	text := func(p **string) {
		if a.optional(*p != nil) {
			if a.reading || *p == nil {
				*p = new(string)
			}
			a.string(*p, 0)
			if a.plain && **p == "" {
				*p = nil
			}
		}
	}
	value := func(p **paramValue) {
		if a.optional(*p != nil) {
			if a.reading || *p == nil {
				*p = new(paramValue)
			}
			a.value(*p)
			if a.plain && (*p).kind == TKNone {
				*p = nil
			}
		}
	}
	a.delimited(func() {
		text(&b.unit)
		value(&b.min)
		value(&b.max)
		text(&b.hashID)
	})
}

// value is AnnotationParameterValue.
func (a *archive) value(v *paramValue) {
	numeral(a, 1, &v.kind)
	switch v.kind {
	case TKString8:
		a.string(&v.text, 128)
	case TKFloat128:
		if a.reading {
			copy(v.wide[:], a.r.take(16, 16))
		} else {
			a.w.align(16)
			a.w.buf = append(a.w.buf, v.wide[:]...)
		}
	case TKEnum:
		numeral(a, 4, &v.bits)
	case TKString16:
		if a.reading {
			a.r.string16()
		}
	default:
		if !v.kind.Primitive() {
			a.skip() // ExtendedAnnotationParameterValue; there is none in plain CDR
			return
		}
		numeral(a, v.kind.Size(), &v.bits)
	}
}

func (a *archive) structure(o *TypeObject) {
	a.u16(&o.flags)
	a.delimited(func() {
		a.id(&o.base)
		a.typeDetail(o)
	})
	list(a, &o.members, func(m *objectMember) {
		a.delimited(func() {
			a.u32(&m.id)
			a.u16(&m.flags)
			a.id(&m.typ)
			a.memberDetail(o, &m.detail)
		})
	})
}

func (a *archive) union(o *TypeObject) {
	a.u16(&o.flags)
	a.header(o)
	a.delimited(func() {
		a.u16(&o.disc.flags)
		a.id(&o.disc.typ)
		if o.equivalence == Complete {
			var none *Verbatim // of a discriminator, which is read over
			a.builtinOfType(&none)
			a.custom()
		}
	})
	list(a, &o.members, func(m *objectMember) {
		a.delimited(func() {
			a.u32(&m.id)
			a.u16(&m.flags)
			a.id(&m.typ)
			elements(a, &m.labels, a.i32)
			a.memberDetail(o, &m.detail)
		})
	})
}

func (a *archive) alias(o *TypeObject) {
	a.u16(&o.flags)
	a.header(o)
	a.delimited(func() {
		var unused uint16
		a.u16(&unused)
		a.id(&o.related)
		if o.equivalence == Complete {
			a.builtin(&o.builtin)
			a.custom()
		}
	})
}

// element is a CollectionElement.
func (a *archive) element(o *TypeObject, m *objectMember) {
	a.delimited(func() {
		a.u16(&m.flags)
		a.id(&m.typ)
		if o.equivalence == Complete {
			a.builtin(&m.detail.builtin)
			a.custom()
		}
	})
}

// collectionHeader is that of sequences and maps, which may have no name.
func (a *archive) collectionHeader(o *TypeObject) {
	a.delimited(func() {
		a.u32(&o.bound)
		if o.equivalence == Complete && a.optional(o.name != "") {
			a.typeDetail(o)
		}
	})
}

func (a *archive) sequence(o *TypeObject) {
	a.u16(&o.flags)
	a.collectionHeader(o)
	a.element(o, &o.elem)
}

func (a *archive) mapping(o *TypeObject) {
	a.u16(&o.flags)
	a.collectionHeader(o)
	a.element(o, &o.key)
	a.element(o, &o.elem)
}

func (a *archive) array(o *TypeObject) {
	a.u16(&o.flags)
	a.delimited(func() {
		elements(a, &o.bounds, a.u32)
		a.typeDetail(o)
	})
	a.element(o, &o.elem)
}

// boundHeader is that of enumerations and bitmasks.
func (a *archive) boundHeader(o *TypeObject) {
	a.delimited(func() {
		a.u16(&o.bitBound)
		a.typeDetail(o)
	})
}

func (a *archive) enum(o *TypeObject) {
	a.u16(&o.flags)
	a.boundHeader(o)
	list(a, &o.literals, func(l *objectLiteral) {
		a.delimited(func() {
			a.delimited(func() {
				a.i32(&l.value)
				a.u16(&l.flags)
			})
			a.memberDetail(o, &l.detail)
		})
	})
}

func (a *archive) bitmask(o *TypeObject) {
	a.u16(&o.flags)
	a.boundHeader(o)
	list(a, &o.literals, func(l *objectLiteral) {
		a.delimited(func() {
			a.u16(&l.position)
			a.u16(&l.flags)
			a.memberDetail(o, &l.detail)
		})
	})
}

func (a *archive) bitset(o *TypeObject) {
	a.u16(&o.flags)
	if a.plain {
		a.id(&o.base) // an earlier draft had it, and Fast DDS has it still
	}
	a.header(o)
	list(a, &o.literals, func(l *objectLiteral) {
		a.delimited(func() {
			a.u16(&l.position)
			a.u16(&l.flags)
			a.u8(&l.bits)
			numeral(a, 1, &l.holder)
			a.memberDetail(o, &l.detail)
		})
	})
}

// objectMaker makes the type objects of one equivalence kind. part gives the identifiers of parts.
type objectMaker struct {
	ek   EquivalenceKind
	part func(*Type) TypeIdentifier
	err  error
}

func (k *objectMaker) object(t *Type) *TypeObject {
	o := &TypeObject{equivalence: k.ek, kind: t.d.Kind}
	if k.ek == Complete {
		o.name, o.verbatim = t.d.Name, t.d.Verbatim
	}
	switch t.d.Kind {
	case TKStructure:
		o.flags = k.typeFlags(t)
		if t.d.Base != nil {
			o.base = k.part(t.d.Base)
		}
		for m := range t.OwnMembers() {
			o.members = append(o.members, k.member(t, m))
		}
		if k.ek == Minimal {
			slices.SortFunc(o.members, func(x, y objectMember) int { return cmp.Compare(x.id, y.id) })
		}
	case TKUnion:
		o.flags = k.typeFlags(t)
		// Annex B has no M among the flags of a discriminator, not even of one that is a key.
		o.disc = objectMember{flags: t.disc.flags() &^ flagMustUnderstand, typ: k.part(t.disc.Type)}
		for m := range t.OwnMembers() {
			o.members = append(o.members, k.member(t, m))
		}
		if k.ek == Minimal {
			slices.SortFunc(o.members, func(x, y objectMember) int { return cmp.Compare(x.id, y.id) })
		}
	case TKAlias:
		o.related = k.part(t.d.Target)
		if k.ek == Complete {
			o.builtin = builtinOf(t.d.Target, t.d.Unit, t.d.Min, t.d.Max)
		}
	case TKSequence, TKArray, TKMap:
		o.bound, o.bounds = t.d.Bound, t.d.Dims
		o.elem = objectMember{flags: t.elem.flags(), typ: k.part(t.d.Elem)}
		if t.mapKey != nil {
			o.key = objectMember{flags: t.mapKey.flags(), typ: k.part(t.d.MapKey)}
		}
	case TKEnum:
		k.enum(o, t)
	case TKBitmask:
		o.bitBound = t.d.BitBound
		for _, f := range t.d.Bitflags {
			o.literals = append(o.literals, objectLiteral{position: f.Position, detail: k.detail(f.Name)})
		}
		slices.SortFunc(o.literals, func(x, y objectLiteral) int { return cmp.Compare(x.position, y.position) })
	case TKBitset:
		named := 0
		fields := t.allBitfields() // Annex B has no base of a bitset
		for i, f := range fields {
			if f.Name != "" {
				named = int(f.Position) + int(f.Bits)
			}
			// One without a name tells only where the next one begins, which the position of that tells, too. Behind
			// the last one it may make the bitset wider, which nothing else tells.
			if f.Name != "" || i == len(fields)-1 && bitsWidth(named) < t.width() {
				l := objectLiteral{position: f.Position, bits: f.Bits, holder: f.Holder, detail: k.detail(f.Name)}
				if k.ek == Complete {
					l.detail.builtin = builtinOf(nil, f.Unit, nil, nil)
				}
				o.literals = append(o.literals, l)
			}
		}
	}
	return o
}

func (k *objectMaker) enum(o *TypeObject, t *Type) {
	o.bitBound = t.d.BitBound
	for _, l := range t.d.Literals {
		x := objectLiteral{value: l.Value, detail: k.detail(l.Name)}
		if l.Default {
			x.flags = flagDefault
		}
		o.literals = append(o.literals, x)
	}
	slices.SortFunc(o.literals, func(x, y objectLiteral) int { return cmp.Compare(x.value, y.value) })
}

func (k *objectMaker) typeFlags(t *Type) uint16 {
	f := map[cdr.Extensibility]uint16{cdr.Final: flagFinal, cdr.Appendable: flagAppendable, cdr.Mutable: flagMutable}[t.d.Extensibility]
	if t.d.Nested {
		f |= flagNested
	}
	if t.d.AutoIDHash {
		f |= flagAutoIDHash
	}
	if k.ek == Minimal {
		f &= flagsMinimal
	}
	return f
}

func (k *objectMaker) detail(name string) memberDetail {
	if k.ek == Minimal {
		return memberDetail{hash: nameHash(name)}
	}
	return memberDetail{name: name}
}

func (k *objectMaker) member(t *Type, m *Member) objectMember {
	o := objectMember{id: m.ID, flags: m.flags(), typ: k.part(m.Type), detail: k.detail(m.Name)}
	unsigned := t.disc != nil && t.disc.Type.Resolve().d.Kind == TKUint32
	for _, l := range m.Labels {
		if unsigned { // all of them have room, those from 2^31 as negative numbers
			l = int64(int32(l))
		}
		if l < math.MinInt32 || l > math.MaxInt32 {
			k.err = fmt.Errorf("xtypes: %s.%s: case label %d: a type object has labels of 32 bits", t.d.Name, m.Name, l)
			return o
		}
		o.labels = append(o.labels, int32(l))
	}
	slices.Sort(o.labels)
	if k.ek == Complete {
		o.detail.builtin = builtinOf(m.Type, m.Unit, m.Min, m.Max)
		if m.HasHashID {
			o.detail.builtin.hashID = &m.HashID
		}
	}
	return o
}

// builtinOf gives what annotations say of the values of t.
func builtinOf(t *Type, unit string, least, most any) memberBuiltin {
	b := memberBuiltin{min: paramOf(t, least), max: paramOf(t, most)}
	if unit != "" {
		b.unit = &unit
	}
	return b
}

// paramOf gives the value of an annotation; nil for none.
func paramOf(t *Type, v any) *paramValue {
	if v == nil {
		return nil
	}
	p := &paramValue{kind: t.Resolve().d.Kind}
	switch x := v.(type) {
	case string:
		p.text = x
	case float32:
		p.bits = uint64(math.Float32bits(x))
	case float64:
		p.bits = math.Float64bits(x)
	case Float128:
		p.wide = x
	default:
		p.bits = uint64(ordinal(x))
	}
	return p
}
