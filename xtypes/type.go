package xtypes

import (
	"iter"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// Type is a DynamicType of XTypes 1.3 §7.5.2.1: what a type is, without code for it.
//
// A Type does not change once it and everything that it refers to is built; it is safe for concurrent use then. What its
// methods return by pointer or as a slice is shared and must not be changed.
type Type struct {
	d      TypeDescriptor
	all    []*Member // of a structure or a union: those of the bases first
	own    int       // where in all the members begin that are not inherited
	byName map[string]*Member
	byID   map[uint32]*Member
	disc   *Member // of a union
	elem   *Member // of a collection: the flags and the type of an element
	mapKey *Member // of a map
}

// Member is a member of a structure or a union (MemberDescriptor, XTypes 1.3 §7.5.2.6), the discriminator of a union,
// or stands for the elements of a collection.
type Member struct {
	Name string
	// ID is the member id. With AutoID, Build computes it.
	ID     uint32
	AutoID bool
	Index  int // among the members with those of the bases; -1 for what is not declared as a member
	Type   *Type

	Key            bool
	Optional       bool
	MustUnderstand bool
	External       bool
	TryConstruct   TryConstruct

	// Default is the value of @default, in the form that Data has for the type; nil for none.
	Default any

	// Labels are the case labels of a union's member.
	Labels []int64
	// DefaultCase marks the member of a union that is selected when no label is.
	DefaultCase bool

	Unit     string // @unit
	Min, Max any    // @min, @max, @range: numbers in the form that Data has for the type; nil for none
	HashID   string // argument of @hashid; the name is hashed if it is empty and HasHashID is set
	// HasHashID tells that the id came from @hashid.
	HasHashID bool
	Doc       string

	hash [4]byte // nameHash of the name, of a type that is built
}

// TryConstruct says what becomes of a value that does not fit its member (XTypes 1.3 §7.2.4).
type TryConstruct uint8

// The kinds of TryConstruct, as numbered in the flags of type objects plus the unset zero.
const (
	TryConstructUnset   TryConstruct = iota // not annotated: DISCARD
	TryConstructDiscard                     // the object that contains the value fails as well
	TryConstructUseDefault
	TryConstructTrim // strings, sequences and maps lose what exceeds the bound
)

// String gives the argument of @try_construct.
func (t TryConstruct) String() string {
	switch t {
	case TryConstructUseDefault:
		return "USE_DEFAULT"
	case TryConstructTrim:
		return "TRIM"
	}
	return "DISCARD"
}

// Literal is an enumerator.
type Literal struct {
	Name    string
	Value   int32
	Default bool // @default_literal: what an absent or unknown value becomes
	Doc     string

	hash [4]byte // as that of a member
}

// Bitflag is a flag of a bitmask.
type Bitflag struct {
	Name     string
	Position uint16
	Doc      string
}

// Bitfield is a field of a bitset. One without a name only takes room, and is not part of type objects.
type Bitfield struct {
	Name     string
	Position uint16
	Bits     uint8
	Holder   Kind // integer or boolean that holds the value
	Unit     string
	Doc      string
}

// Verbatim is an applied @verbatim.
type Verbatim struct{ Placement, Language, Text string }

// Kind tells what the type is; TKNone for a forward declaration that was not completed.
func (t *Type) Kind() Kind { return t.d.Kind }

// Name is the scoped name: "avionics::AirData". Collections, strings and primitive types have none.
func (t *Type) Name() string { return t.d.Name }

// Extensibility tells how a structure, a union, an enumeration or a bitmask may evolve.
func (t *Type) Extensibility() cdr.Extensibility { return t.d.Extensibility }

// Nested tells whether @nested keeps the type from being that of a topic.
func (t *Type) Nested() bool { return t.d.Nested }

// Topic is the name of topics of the type where none is given (@topic); empty for none.
func (t *Type) Topic() string { return t.d.Topic }

// Representations are those in which topics of the type may be written (@data_representation); 0 stands for any.
func (t *Type) Representations() cdr.Representations { return t.d.Representations }

// AutoIDHash tells whether member ids are computed from names.
func (t *Type) AutoIDHash() bool { return t.d.AutoIDHash }

// Base is the structure or bitset that t inherits from; nil for none.
func (t *Type) Base() *Type { return t.d.Base }

// NumMembers is the number of members of a structure or a union, inherited ones included; the discriminator is none.
func (t *Type) NumMembers() int { return len(t.all) }

// Member gives member i in the order of declaration, inherited ones first.
func (t *Type) Member(i int) *Member { return t.all[i] }

// Members walks over all members, inherited ones first.
func (t *Type) Members() iter.Seq[*Member] { return slices.Values(t.all) }

// OwnMembers walks over the members that are not inherited.
func (t *Type) OwnMembers() iter.Seq[*Member] { return slices.Values(t.all[t.own:]) }

// MemberByName gives the member with that name; nil if there is none.
func (t *Type) MemberByName(name string) *Member { return t.byName[name] }

// MemberByID gives the member with that id; nil if there is none.
func (t *Type) MemberByID(id uint32) *Member { return t.byID[id] }

// Discriminator describes the discriminator of a union: its type, and whether it is a key.
func (t *Type) Discriminator() *Member { return t.disc }

// Case gives the member of a union that a discriminator selects; nil if it selects none.
func (t *Type) Case(discriminator int64) *Member {
	var def *Member
	for _, m := range t.all {
		if slices.Contains(m.Labels, discriminator) {
			return m
		}
		if m.DefaultCase {
			def = m
		}
	}
	return def
}

// Elem is the type of the elements of a sequence, an array or a map.
func (t *Type) Elem() *Type { return t.d.Elem }

// ElemMember gives the flags of the elements of a collection: External and TryConstruct.
func (t *Type) ElemMember() *Member { return t.elem }

// MapKey is the type of the keys of a map.
func (t *Type) MapKey() *Type { return t.d.MapKey }

// MapKeyMember gives the flags of the keys of a map.
func (t *Type) MapKeyMember() *Member { return t.mapKey }

// Bound is the largest length of a string, sequence or map; 0 for none. It counts bytes of a string and UTF-16 code units of
// a wide one.
func (t *Type) Bound() uint32 { return t.d.Bound }

// Dims are the dimensions of an array.
func (t *Type) Dims() []uint32 { return t.d.Dims }

// Len is the number of elements of an array, over all dimensions.
func (t *Type) Len() int {
	n := 1
	for _, d := range t.d.Dims {
		n *= int(d)
	}
	return n
}

// Target is what an alias stands for.
func (t *Type) Target() *Type { return t.d.Target }

// IgnoreLiteralNames tells whether enumerators are assigned by value alone.
func (t *Type) IgnoreLiteralNames() bool { return t.d.IgnoreLiteralNames }

// Literals are the enumerators, in the order of declaration.
func (t *Type) Literals() []Literal { return t.d.Literals }

// LiteralByName finds an enumerator.
func (t *Type) LiteralByName(name string) (Literal, bool) {
	i := slices.IndexFunc(t.d.Literals, func(l Literal) bool { return l.Name == name })
	if i < 0 {
		return Literal{}, false
	}
	return t.d.Literals[i], true
}

// LiteralByValue finds an enumerator.
func (t *Type) LiteralByValue(v int32) (Literal, bool) {
	i := slices.IndexFunc(t.d.Literals, func(l Literal) bool { return l.Value == v })
	if i < 0 {
		return Literal{}, false
	}
	return t.d.Literals[i], true
}

// DefaultLiteral is what @default_literal marks, or the first.
func (t *Type) DefaultLiteral() Literal {
	for _, l := range t.d.Literals {
		if l.Default {
			return l
		}
	}
	return t.d.Literals[0]
}

// BitBound is the number of bits of an enumeration or a bitmask.
func (t *Type) BitBound() int { return int(t.d.BitBound) }

// Bitflags are the flags of a bitmask, in the order of declaration.
func (t *Type) Bitflags() []Bitflag { return t.d.Bitflags }

// Bitfields are the own fields of a bitset, in the order of declaration.
func (t *Type) Bitfields() []Bitfield { return t.d.Bitfields }

// Verbatim gives the text of @verbatim; nil for none.
func (t *Type) Verbatim() *Verbatim { return t.d.Verbatim }

// Doc is the comment of the declaration.
func (t *Type) Doc() string { return t.d.Doc }

// Constraints gives what annotations of an alias say of its values; nil for nothing.
func (t *Type) Constraints() (standard, least, most any) { return t.d.Default, t.d.Min, t.d.Max }

// Unit is what @unit says of an alias.
func (t *Type) Unit() string { return t.d.Unit }

// Resolve looks through aliases.
func (t *Type) Resolve() *Type {
	for t.d.Kind == TKAlias {
		t = t.d.Target
	}
	return t
}

// Keyed tells whether a structure or union has a key.
func (t *Type) Keyed() bool {
	if t.disc != nil && t.disc.Key {
		return true
	}
	return slices.ContainsFunc(t.all, func(m *Member) bool { return m.Key })
}
