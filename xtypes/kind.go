package xtypes

import "fmt"

// Kind is a TypeKind of XTypes 1.3 §7.2.2 with the value that it has in type objects (Annex B).
type Kind uint8

// The kinds of types. Where the casing differs, the standard writes TK_BOOLEAN and so on.
const (
	TKNone     Kind = 0x00 // of a type that was declared forward only
	TKBoolean  Kind = 0x01
	TKByte     Kind = 0x02 // octet: bits that nobody interprets
	TKInt16    Kind = 0x03
	TKInt32    Kind = 0x04
	TKInt64    Kind = 0x05
	TKUint16   Kind = 0x06
	TKUint32   Kind = 0x07
	TKUint64   Kind = 0x08
	TKFloat32  Kind = 0x09
	TKFloat64  Kind = 0x0a
	TKFloat128 Kind = 0x0b
	TKInt8     Kind = 0x0c
	TKUint8    Kind = 0x0d
	TKChar8    Kind = 0x10
	TKChar16   Kind = 0x11

	TKString8  Kind = 0x20
	TKString16 Kind = 0x21

	TKAlias Kind = 0x30

	TKEnum    Kind = 0x40
	TKBitmask Kind = 0x41

	TKAnnotation Kind = 0x50
	TKStructure  Kind = 0x51
	TKUnion      Kind = 0x52
	TKBitset     Kind = 0x53

	TKSequence Kind = 0x60
	TKArray    Kind = 0x61
	TKMap      Kind = 0x62
)

// kindInfo describes a Kind: its IDL word, the size of a value in bytes if it is primitive, and whether it is an integer, and
// one with a sign.
type kindInfo struct {
	idl             string
	size            int
	integer, signed bool
}

var kinds = [...]kindInfo{
	TKNone:       {idl: "undefined type"},
	TKBoolean:    {idl: "boolean", size: 1},
	TKByte:       {idl: "octet", size: 1},
	TKInt16:      {idl: "int16", size: 2, integer: true, signed: true},
	TKInt32:      {idl: "int32", size: 4, integer: true, signed: true},
	TKInt64:      {idl: "int64", size: 8, integer: true, signed: true},
	TKUint16:     {idl: "uint16", size: 2, integer: true},
	TKUint32:     {idl: "uint32", size: 4, integer: true},
	TKUint64:     {idl: "uint64", size: 8, integer: true},
	TKFloat32:    {idl: "float", size: 4},
	TKFloat64:    {idl: "double", size: 8},
	TKFloat128:   {idl: "long double", size: 16},
	TKInt8:       {idl: "int8", size: 1, integer: true, signed: true},
	TKUint8:      {idl: "uint8", size: 1, integer: true},
	TKChar8:      {idl: "char", size: 1},
	TKChar16:     {idl: "wchar", size: 2},
	TKString8:    {idl: "string"},
	TKString16:   {idl: "wstring"},
	TKAlias:      {idl: "typedef"},
	TKEnum:       {idl: "enum"},
	TKBitmask:    {idl: "bitmask"},
	TKAnnotation: {idl: "@annotation"},
	TKStructure:  {idl: "struct"},
	TKUnion:      {idl: "union"},
	TKBitset:     {idl: "bitset"},
	TKSequence:   {idl: "sequence"},
	TKArray:      {idl: "array"},
	TKMap:        {idl: "map"},
}

func (k Kind) info() kindInfo {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return kindInfo{}
}

// String gives the word that IDL has for the kind.
func (k Kind) String() string {
	if s := k.info().idl; s != "" {
		return s
	}
	return fmt.Sprintf("type kind 0x%02x", uint8(k))
}

// Primitive tells whether k is a primitive kind of XTypes 1.3 §7.2.2.2; enumerations, bitmasks and strings are not.
func (k Kind) Primitive() bool { return k.info().size > 0 }

// Integer tells whether k is a signed or unsigned integer; an octet is not.
func (k Kind) Integer() bool { return k.info().integer }

// Signed tells whether k is an integer with a sign.
func (k Kind) Signed() bool { return k.info().signed }

// Size is the number of bytes of an encoded value of a primitive kind, 0 for other kinds.
func (k Kind) Size() int { return k.info().size }
