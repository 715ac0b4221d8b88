package idlc

import (
	"math/big"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// The model is what a file means: names resolved, constants computed, annotations applied.

// Unit is a checked translation unit.
type Unit struct {
	File  string
	Decls []Decl // in the order of declaration, those of included files as well
}

// Decl is *Struct, *Enum, *Alias or *Const.
type Decl interface{ common() *Common }

// Common is what all declarations have.
type Common struct {
	Name   string
	Module []string // enclosing modules from the outside in
	Doc    string
	Pos    Pos
}

func (c *Common) common() *Common { return c }

// Scoped gives the name with its modules: "avionics::AirData".
func (c *Common) Scoped() string {
	return strings.Join(append(c.Module[:len(c.Module):len(c.Module)], c.Name), "::")
}

// Type is Primitive, *String, *Sequence, *Array, *Struct, *Enum or *Alias.
type Type interface{ isType() }

// Primitive is a type of fixed size that is copied as it is.
type Primitive uint8

const (
	Boolean Primitive = iota
	Octet
	Char
	WChar
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
)

// primitiveInfo describes a Primitive: IDL name, Go type, size, and the suffix of the cdr methods.
type primitiveInfo struct {
	idl, goType, method string
	size                int
	signed, integer     bool
}

var primitives = [...]primitiveInfo{
	Boolean: {"boolean", "bool", "Bool", 1, false, false},
	Octet:   {"octet", "byte", "Uint8", 1, false, true},
	Char:    {"char", "byte", "Uint8", 1, false, false},
	WChar:   {"wchar", "uint16", "Uint16", 2, false, false},
	Int8:    {"int8", "int8", "Int8", 1, true, true},
	Uint8:   {"uint8", "uint8", "Uint8", 1, false, true},
	Int16:   {"int16", "int16", "Int16", 2, true, true},
	Uint16:  {"uint16", "uint16", "Uint16", 2, false, true},
	Int32:   {"int32", "int32", "Int32", 4, true, true},
	Uint32:  {"uint32", "uint32", "Uint32", 4, false, true},
	Int64:   {"int64", "int64", "Int64", 8, true, true},
	Uint64:  {"uint64", "uint64", "Uint64", 8, false, true},
	Float32: {"float", "float32", "Float32", 4, true, false},
	Float64: {"double", "float64", "Float64", 8, true, false},
}

var primitiveWords = map[string]Primitive{
	"boolean": Boolean, "octet": Octet, "char": Char, "wchar": WChar, "int8": Int8, "uint8": Uint8,
	"short": Int16, "int16": Int16, "unsigned short": Uint16, "uint16": Uint16,
	"long": Int32, "int32": Int32, "unsigned long": Uint32, "uint32": Uint32,
	"long long": Int64, "int64": Int64, "unsigned long long": Uint64, "uint64": Uint64,
	"float": Float32, "double": Float64,
}

// String is string or wstring. Bound 0 stands for none; it counts bytes, or UTF-16 code units.
type String struct {
	Wide  bool
	Bound int
}

// Sequence has a Bound of 0 when unbounded.
type Sequence struct {
	Elem  Type
	Bound int
}

// Array may have several dimensions.
type Array struct {
	Elem Type
	Dims []int
}

// Alias is a typedef.
type Alias struct {
	Common
	Target Type
	final  Type // Target without typedefs
}

// Const is a constant of a primitive type, a string or an enum.
type Const struct {
	Common
	Type  Type
	Value constValue
}

// Enum is an enumeration; Width is its size in bytes.
type Enum struct {
	Common
	Width       int
	Enumerators []*Enumerator
	Default     *Enumerator // of members that are absent
	names       *scope      // lets enumerators be named as members of their enum
}

// Enumerator is a value of an Enum.
type Enumerator struct {
	Name  string
	Value int32
	Doc   string
	Pos   Pos
	Enum  *Enum
}

// Struct is a struct; Members are its own, without those of Base.
type Struct struct {
	Common
	Base          *Struct
	Members       []*Member
	Extensibility cdr.Extensibility
	Nested        bool
	Complete      bool // not just declared forward
	measures
}

// Member is a member of a struct.
type Member struct {
	Name string
	Of   *Struct // that declares it
	Type Type
	Key  bool
	ID   uint32
	Unit string
	Doc  string
	Pos  Pos
}

func (Primitive) isType() {}
func (*String) isType()   {}
func (*Sequence) isType() {}
func (*Array) isType()    {}
func (*Alias) isType()    {}
func (*Enum) isType()     {}
func (*Struct) isType()   {}

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

// constValue is an integer, a float, a string, a boolean, or an enumerator; nil fields are not it.
type constValue struct {
	Int   *big.Int
	Float *float64
	Str   *string
	Bool  *bool
	Enum  *Enumerator
	Char  bool // Int holds a character
}

func (v constValue) valid() bool {
	return v.Int != nil || v.Float != nil || v.Str != nil || v.Bool != nil || v.Enum != nil
}

func (v constValue) kind() string {
	switch {
	case v.Char:
		return "a character"
	case v.Int != nil:
		return "an integer"
	case v.Float != nil:
		return "a floating-point number"
	case v.Str != nil:
		return "a string"
	case v.Bool != nil:
		return "a boolean"
	case v.Enum != nil:
		return "an enumerator of " + v.Enum.Enum.Name
	}
	return "nothing"
}

// typeName describes a type in IDL.
func typeName(t Type) string {
	switch t := t.(type) {
	case Primitive:
		return primitives[t].idl
	case *String:
		s := "string"
		if t.Wide {
			s = "wstring"
		}
		if t.Bound > 0 {
			s += "<" + itoa(t.Bound) + ">"
		}
		return s
	case *Sequence:
		if t.Bound > 0 {
			return "sequence<" + typeName(t.Elem) + ", " + itoa(t.Bound) + ">"
		}
		return "sequence<" + typeName(t.Elem) + ">"
	case *Array:
		s := typeName(t.Elem)
		for _, d := range t.Dims {
			s += "[" + itoa(d) + "]"
		}
		return s
	case namedType:
		return t.text
	case Decl:
		return t.common().Scoped()
	}
	return "?"
}
