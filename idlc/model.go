package idlc

import (
	"strings"
	"sync"

	"github.com/omg-dds-go/dds/cdr"
)

// The model is what a file means: names resolved, constants computed, annotations applied. Its stages further down (Go back end,
// TypeObjects, other notations) read it and change nothing. The values of members and labels are in model_value.go, what
// annotations say in model_annotation.go.

// Unit is a checked translation unit.
type Unit struct {
	File        string
	Decls       []Decl            // in the order of declaration, those of included files as well
	Annotations []*AnnotationType // declared with @annotation
}

// Decl is *Struct, *Union, *Enum, *Bitmask, *Bitset, *Alias or *Const.
type Decl interface{ common() *Common }

// Common is what all declarations have.
type Common struct {
	Name     string
	Module   []string // enclosing modules from the outside in
	Doc      string
	Pos      Pos
	Verbatim []Verbatim
	Applied  []*Applied // every annotation that is known, in the order written
}

func (c *Common) common() *Common { return c }

// Scoped gives the name with its modules: "avionics::AirData".
func (c *Common) Scoped() string {
	return strings.Join(append(c.Module[:len(c.Module):len(c.Module)], c.Name), "::")
}

// Type is Primitive, *String, *Fixed, *Sequence, *Array, *Map, *Struct, *Union, *Enum, *Bitmask, *Bitset or *Alias.
type Type interface{ isType() }

// Primitive is a type of fixed size that is copied as it is.
type Primitive uint8

const (
	Boolean Primitive = iota
	Octet
	Char
	WChar // char16 of XTypes
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	Float128 // long double
)

// primitiveInfo describes a Primitive: IDL name, Go type, size, and the suffix of the cdr methods.
type primitiveInfo struct {
	idl, goType, method string
	size                int
	signed, integer     bool
}

var primitives = [...]primitiveInfo{
	Boolean:  {"boolean", "bool", "Bool", 1, false, false},
	Octet:    {"octet", "byte", "Uint8", 1, false, true},
	Char:     {"char", "byte", "Uint8", 1, false, false},
	WChar:    {"wchar", "uint16", "Uint16", 2, false, false},
	Int8:     {"int8", "int8", "Int8", 1, true, true},
	Uint8:    {"uint8", "uint8", "Uint8", 1, false, true},
	Int16:    {"int16", "int16", "Int16", 2, true, true},
	Uint16:   {"uint16", "uint16", "Uint16", 2, false, true},
	Int32:    {"int32", "int32", "Int32", 4, true, true},
	Uint32:   {"uint32", "uint32", "Uint32", 4, false, true},
	Int64:    {"int64", "int64", "Int64", 8, true, true},
	Uint64:   {"uint64", "uint64", "Uint64", 8, false, true},
	Float32:  {"float", "float32", "Float32", 4, true, false},
	Float64:  {"double", "float64", "Float64", 8, true, false},
	Float128: {"long double", "cdr.LongDouble", "LongDouble", 16, true, false},
}

var primitiveWords = map[string]Primitive{
	"boolean": Boolean, "octet": Octet, "char": Char, "wchar": WChar, "int8": Int8, "uint8": Uint8,
	"short": Int16, "int16": Int16, "unsigned short": Uint16, "uint16": Uint16,
	"long": Int32, "int32": Int32, "unsigned long": Uint32, "uint32": Uint32,
	"long long": Int64, "int64": Int64, "unsigned long long": Uint64, "uint64": Uint64,
	"float": Float32, "double": Float64, "long double": Float128,
}

// String is string or wstring. Bound 0 stands for none; it counts bytes, or UTF-16 code units.
type String struct {
	Wide  bool
	Bound int
}

// Fixed is a decimal number of Digits digits, Scale of them behind the point.
type Fixed struct{ Digits, Scale int }

// Element is what annotations in front of the element type of a collection say of its elements.
type Element struct {
	External     bool
	TryConstruct TryConstruct
}

// Sequence has a Bound of 0 when unbounded.
type Sequence struct {
	Elem  Type
	Bound int
	Of    Element

	kept int // how many elements reading keeps of those that were sent; 0 for all
}

// Map has a Bound of 0 when unbounded.
type Map struct {
	Key, Elem Type
	Bound     int
	OfKeys    Element
	Of        Element

	kept int // how many pairs reading keeps of those that were sent; 0 for all
}

// Array may have several dimensions.
type Array struct {
	Elem Type
	Dims []int
}

// Alias is a typedef.
type Alias struct {
	Common
	Constraints
	Target Type
	final  Type // Target without typedefs
}

// Const is a constant of a primitive type, a string, a fixed, an enum or a bitmask. Value has the form of Type.
type Const struct {
	Common
	Type  Type
	Value Value
	Unit  string
}

// Enum is an enumeration; Width is its size in bytes, BitBound what @bit_bound says (32 without it).
type Enum struct {
	Common
	Extensibility      cdr.Extensibility
	Nested             bool
	BitBound           int
	Width              int
	IgnoreLiteralNames bool // @ignore_literal_names, for assignability
	Enumerators        []*Enumerator
	Default            *Enumerator // of members that are absent: @default_literal, or the first
	names              *scope      // lets enumerators be named as members of their enum
}

// Enumerator is a value of an Enum.
type Enumerator struct {
	Name    string
	Value   int32
	Doc     string
	Pos     Pos
	Enum    *Enum
	Applied []*Applied
}

// Bitmask is a set of flags in an unsigned integer of Width bytes, of which @bit_bound bits count (32 without it).
type Bitmask struct {
	Common
	Extensibility cdr.Extensibility
	Nested        bool
	BitBound      int
	Width         int
	Flags         []*Flag // in the order written
	names         *scope
}

// Flag is one bit of a Bitmask; Position 0 is the least significant one.
type Flag struct {
	Name     string
	Position int
	Doc      string
	Pos      Pos
	Mask     *Bitmask
	Applied  []*Applied
}

// Bitset is a run of bit fields, the first in the least significant bits. It is written as an unsigned integer of Width bytes,
// which holds the bits of the bases as well.
type Bitset struct {
	Common
	Base     *Bitset
	Fields   []*Bitfield // its own, without those of Base, in the order written
	Bits     int         // in use, those of Base and unnamed ones included
	Width    int
	Complete bool
}

// Bitfield is a part of a Bitset.
type Bitfield struct {
	Name     string // "" leaves bits out
	Position int    // of the least significant bit
	Bits     int    // 1 to 64
	Type     Primitive
	Unit     string
	Doc      string
	Pos      Pos
	Applied  []*Applied
}

// Aggregate is what structs and unions have in common.
type Aggregate struct {
	Extensibility   cdr.Extensibility
	Nested          bool                // @nested, @default_nested: not for topics
	Topic           string              // @topic(name=...) for DDS
	AutoID          AutoID              // @autoid of the type or of a module around it
	Representations cdr.Representations // @data_representation of the type or of a module around it; 0: any
	Complete        bool                // not just declared forward
}

// Struct is a struct; Members are its own, without those of Base.
type Struct struct {
	Common
	Aggregate
	Base    *Struct
	Members []*Member
	measures

	frontOnce sync.Once // declarations are printed at the same time
	frontPart *front    // see front
}

// Member is a member of a struct, or what a case of a union holds.
type Member struct {
	Name string
	Of   *Struct // that declares it; nil in a union
	Type Type
	ID   uint32 // 0 to 0x0fffffff: @id, @hashid, or from AutoID
	Doc  string
	Pos  Pos

	Key            bool // @key, //@key, #pragma keylist
	Optional       bool
	MustUnderstand bool // as written: a key must be understood without it (XTypes 1.3 §7.2.2.4.4.4.8)
	External       bool
	NonSerialized  bool // @non_serialized: in Go, not on the wire, and without an ID
	TryConstruct   TryConstruct
	HashID         *string // what @hashid says; "" stands for the name of the member
	Constraints

	Verbatim []Verbatim
	Applied  []*Applied
}

// Union holds one of its cases: the one with the value of the discriminator among its labels.
type Union struct {
	Common
	Aggregate
	Discriminator    Type // boolean, octet, char, wchar, an integer, an enum, or a typedef of one of these
	DiscriminatorKey bool // @key in front of the discriminator's type: it alone is the key
	// DiscriminatorTryConstruct is in type objects. Nothing that an unknown discriminator selects can be read, so such
	// a union is discarded.
	DiscriminatorTryConstruct TryConstruct
	Cases                     []*Case
	Default                   *Case // of all values that are no label; nil without one
	// Exhaustive tells that the labels cover all values of the discriminator: there can be no default, not even the implicit
	// one, with which the union holds nothing but its discriminator.
	Exhaustive bool
	// Other is the least value of the discriminator that is no label, counted from 0: it selects the default. The zero Value
	// if Exhaustive.
	Other Value
	measures
}

// Case is a member of a union. Labels are in the order written and have the form of the discriminator's type.
type Case struct {
	Member
	Union     *Union
	Labels    []Value
	IsDefault bool // it has the label default, perhaps among others
}

func (Primitive) isType() {}
func (*String) isType()   {}
func (*Fixed) isType()    {}
func (*Sequence) isType() {}
func (*Map) isType()      {}
func (*Array) isType()    {}
func (*Alias) isType()    {}
func (*Enum) isType()     {}
func (*Bitmask) isType()  {}
func (*Bitset) isType()   {}
func (*Struct) isType()   {}
func (*Union) isType()    {}

// resolve looks through typedefs.
func resolve(t Type) Type {
	if a, ok := t.(*Alias); ok {
		return a.final
	}
	return t
}

// allMembers gives inherited members first.
func (s *Struct) allMembers() []*Member {
	if s.Base == nil {
		return s.Members
	}
	base := s.Base.allMembers()
	return append(base[:len(base):len(base)], s.Members...)
}

// keyed tells whether a member is a key.
func (s *Struct) keyed() bool {
	for _, m := range s.allMembers() {
		if m.Key {
			return true
		}
	}
	return false
}

// holder gives the members that a key of this type has: the key members, or all where there are none.
func (s *Struct) holder() []*Member {
	all := s.allMembers()
	if !s.keyed() {
		return all
	}
	var keys []*Member
	for _, m := range all {
		if m.Key {
			keys = append(keys, m)
		}
	}
	return keys
}

// allFields gives inherited bit fields first.
func (b *Bitset) allFields() []*Bitfield {
	if b.Base == nil {
		return b.Fields
	}
	base := b.Base.allFields()
	return append(base[:len(base):len(base)], b.Fields...)
}

// typeName describes a type in IDL.
func typeName(t Type) string {
	bounded := func(kind string, bound int, args ...string) string {
		if bound > 0 {
			args = append(args, itoa(bound))
		}
		if len(args) == 0 {
			return kind
		}
		return kind + "<" + strings.Join(args, ", ") + ">"
	}
	switch t := t.(type) {
	case Primitive:
		return primitives[t].idl
	case *String:
		if t.Wide {
			return bounded("wstring", t.Bound)
		}
		return bounded("string", t.Bound)
	case *Fixed:
		return "fixed<" + itoa(t.Digits) + ", " + itoa(t.Scale) + ">"
	case *Sequence:
		return bounded("sequence", t.Bound, typeName(t.Elem))
	case *Map:
		return bounded("map", t.Bound, typeName(t.Key), typeName(t.Elem))
	case *Array:
		s := typeName(t.Elem)
		for _, d := range t.Dims {
			s += "[" + itoa(d) + "]"
		}
		return s
	case namedType:
		return t.text
	case skippedType:
		return t.what
	case Decl:
		return t.common().Scoped()
	}
	return "?"
}
