package idlc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
)

const everyConstruct = `
module m {
  enum Color { @value(3) RED, @default_literal @value(5) GREEN };
  @bit_bound(10) bitmask Flags { A, @position(9) J };
  bitset Bits { bitfield<3> lo; bitfield<7>; bitfield<9, int16> hi; };
  bitset More : Bits { bitfield<1, boolean> top; };
  @unit("m") typedef double Meters;
  @appendable struct Node; 
  typedef sequence<Node, 4> Nodes;
  @appendable struct Node { Nodes children; @optional @external Node next; };
  @mutable union Choice switch (Color) { case RED: long r; default: Meters d; };
  @final struct Base { @key long id; };
  @mutable @nested @autoid(HASH) struct Hashed { long a; @hashid("x") long b; @id(7) long c; };
  @final struct All : Base {
    boolean p0; octet p1; char p2; wchar p3; int8 p4; uint8 p5; short p6; unsigned short p7; long p8; unsigned long p9;
    long long pa; unsigned long long pb; float pc; double pd; long double pe;
    string s; string<5> sb; wstring w; wstring<6> wb;
    sequence<long> q; sequence<string<3>, 9> qs; long arr[2][3]; map<long, string> m; map<string<4>, Base, 8> mb;
    Flags f; More b; Choice u; Node n; Hashed h;
    @default(7) @range(min = 1, max = 9) long ranged; @default(GREEN) Color c; @must_understand @try_construct(TRIM) string<3> t;
    Meters altitude; @non_serialized long scratch;
  };
};`

func typesOf(t *testing.T, text string) []*xtypes.Type {
	t.Helper()
	unit, report := Check("t.idl", Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	require.False(t, report.Failed(), "%s", report)
	types, err := unit.Types(false)
	require.NoError(t, err)
	return types
}

func TestTypesOfEveryConstruct(t *testing.T) {
	types := typesOf(t, everyConstruct)
	all := types[len(types)-1]
	require.Equal(t, []any{"m::All", cdr.Final, "m::Base", true}, []any{all.Name(), all.Extensibility(), all.Base().Name(), all.Keyed()})
	for path, want := range map[string]string{
		"id": "int32", "p0": "boolean", "p1": "octet", "p2": "char", "p3": "wchar", "p4": "int8", "p5": "uint8", "p6": "int16", "p7": "uint16", "p8": "int32", "p9": "uint32",
		"pa": "int64", "pb": "uint64", "pc": "float", "pd": "double", "pe": "long double", "s": "string", "sb": "string<5>", "w": "wstring", "wb": "wstring<6>",
		"q": "sequence<int32>", "qs": "sequence<string<3>, 9>", "arr": "int32[2][3]", "m": "map<int32, string>", "mb": "map<string<4>, m::Base, 8>",
		"f": "m::Flags", "b": "m::More", "u.d": "m::Meters", "u._d": "m::Color", "n.next.children[3].next": "m::Node", "h.b": "int32", "altitude": "m::Meters",
	} {
		p, err := all.Path(path)
		require.NoError(t, err)
		require.Equal(t, want, p.Type().String(), path)
	}
	require.Nil(t, all.MemberByName("scratch"), "not on the wire")
	ranged, c, s := all.MemberByName("ranged"), all.MemberByName("c"), all.MemberByName("t")
	require.Equal(t, []any{int32(7), int32(1), int32(9), int32(5)}, []any{ranged.Default, ranged.Min, ranged.Max, c.Default})
	require.Equal(t, []any{true, xtypes.TryConstructTrim, "m"}, []any{s.MustUnderstand, s.TryConstruct, all.MemberByName("altitude").Unit})
	hashed := all.MemberByName("h").Type
	require.Equal(t, []any{true, true, uint32(7), true}, []any{hashed.Nested(), hashed.AutoIDHash(), hashed.MemberByName("c").ID, hashed.MemberByName("b").HasHashID})
	require.Equal(t, "GREEN", all.MemberByName("c").Type.DefaultLiteral().Name)

	for _, typ := range types {
		b, err := xtypes.Describe(typ)
		require.NoError(t, err)
		got, _, _, err := xtypes.ParseDescription(b)
		require.NoError(t, err)
		require.Equal(t, typ.Name(), got.Name())
	}
}

func TestTypesOfIncludedFiles(t *testing.T) {
	files := map[string]string{"a.idl": `struct A { long x; };`, "b.idl": "#include \"a.idl\"\nstruct B { A a; };"}
	unit, report := Check("b.idl", Options{ReadFile: func(name string) ([]byte, error) { return []byte(files[name]), nil }})
	require.False(t, report.Failed(), "%s", report)
	for included, want := range map[bool][]string{false: {"B"}, true: {"A", "B"}} {
		types, err := unit.Types(included)
		require.NoError(t, err)
		var names []string
		for _, typ := range types {
			names = append(names, typ.Name())
		}
		require.Equal(t, want, names)
	}
}

func TestTypesThatXTypesDoesNotHave(t *testing.T) {
	unit, report := Check("t.idl", Options{ReadFile: func(string) ([]byte, error) { return []byte("struct S {\n  fixed<5, 2> money; };"), nil }})
	require.False(t, report.Failed(), "%s", report)
	_, err := unit.Types(false)
	require.EqualError(t, err, "t.idl:1:8: S: money: fixed<5, 2> has no counterpart in the type system of XTypes 1.3")
}

// What generated code carries is what the reader of package xtypes takes.
func TestDescriptionsForGeneratedCode(t *testing.T) {
	unit, report := Check("t.idl", Options{ReadFile: func(string) ([]byte, error) { return []byte(everyConstruct), nil }})
	require.False(t, report.Failed(), "%s", report)
	b := newTypeBuilder()
	for _, d := range unit.Decls {
		typ, ok := d.(Type)
		if !ok {
			continue
		}
		bytes, defaults, err := b.describe(typ)
		require.NoError(t, err)
		got, _, _, err := xtypes.ParseDescription(bytes, defaults...)
		require.NoError(t, err)
		require.Equal(t, defaults, xtypes.Defaults(got), "a type object has no place for them")
		require.Equal(t, d.common().Scoped(), got.Name())
	}
}
