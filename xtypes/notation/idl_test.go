package notation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
)

func compile(t *testing.T, text string) []*xtypes.Type {
	t.Helper()
	unit, report := idlc.Check("t.idl", idlc.Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	require.False(t, report.Failed(), "%s\n%s", report, text)
	types, err := unit.Types(false)
	require.NoError(t, err)
	return types
}

// same tells that two lists of types are alike, by their complete type objects.
func same(t *testing.T, want, got []*xtypes.Type, text []byte) {
	t.Helper()
	byName := map[string]*xtypes.Type{}
	for _, g := range got {
		byName[g.Name()] = g
	}
	for _, x := range want {
		g := byName[x.Name()]
		require.NotNil(t, g, "%s\n%s", x, text)
		a, err := xtypes.Describe(x)
		require.NoError(t, err)
		b, err := xtypes.Describe(g)
		require.NoError(t, err)
		require.Equal(t, a, b, "%s is not what it was\n%s", x, text)
	}
}

const plain = `
module m {
  enum Color { @value(3) RED, @default_literal @value(5) GREEN, BLUE };
  @bit_bound(10) bitmask Flags { A, @position(9) J };
  bitset Bits { bitfield<3> lo; bitfield<7>; bitfield<9, int16> hi; };
  bitset More : Bits { bitfield<1, boolean> top; };
  typedef double Meters;
  typedef long Grid[2][3];
  typedef sequence<string<3>, 9> Names;
  @appendable struct Node;
  typedef sequence<Node, 4> Nodes;
  @appendable struct Node { Nodes children; @optional @external Node next; };
  @mutable union Choice switch (Color) { case RED: case BLUE: long r; default: Meters d; };
  @final union Flag switch (boolean) { case TRUE: long yes; };
  @appendable union Letter switch (char) { case 'a': long a; case '\n': octet n; };
  @final struct Base { @key long id; };
  @mutable @nested @autoid(HASH) struct Hashed { long a; @id(7) long c; };
  // All of it.
  @final struct All : Base {
    boolean p0; octet p1; char p2; wchar p3; int8 p4; uint8 p5; short p6; unsigned short p7; long p8; unsigned long p9;
    long long pa; unsigned long long pb; float pc; double pd; long double pe;
    string s; string<5> sb; wstring w; wstring<6> wb;
    sequence<long> q; Names qs; long arr[2][3]; Grid g; map<long, string> mm; map<string<4>, Base, 8> mb; map<Color, long> mc;
    sequence<Base> bases; string<4> ss[2]; sequence<octet, 4> sa[3];
    Flags f; More b; Choice u; Flag fl; Letter le; Node n; Hashed h; Color c; Meters _case; @id(99) long far; @must_understand long mu;
  };
};
module other { struct After { m::All all; m::Node _struct; }; };`

func TestIDLIsReadAsTheSameTypes(t *testing.T) {
	for _, text := range []string{plain, `
module m {
  typedef string<5> Name;
  enum Color { RED, GREEN };
  @verbatim(language = "c", placement = BEFORE_DECLARATION, text = "a\"b\\c")
  @mutable struct S {
    @hashid long a; @hashid("x") long b; @try_construct(TRIM) Name n; @unit("°C/s") @min(-1.5) @max(2) double speed;
    @default(7) @range(min = 1, max = 9) long ranged; @default(GREEN) Color c; @default("é\t\"b\\") string t; @default('x') char ch; @default(TRUE) boolean on;
    sequence<@external Name> ex; map<@try_construct(TRIM) string<3>, long> tm; @default(0.1) float fl;
  };
};`} {
		want := compile(t, text)
		out, err := IDL(want)
		require.NoError(t, err)
		got := compile(t, string(out))
		same(t, want, got, out)
		again, err := IDL(got)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	}
}

// What type objects do not carry is kept as well.
func TestIDLKeepsHowEnumsAreAssigned(t *testing.T) {
	types := compile(t, "@ignore_literal_names @final enum E { A, B };")
	out, err := IDL(types)
	require.NoError(t, err)
	got := compile(t, string(out))[0]
	require.True(t, got.IgnoreLiteralNames(), "%s", out)
	require.Equal(t, cdr.Final, got.Extensibility(), "%s", out)
	_, err = XML(types)
	require.ErrorContains(t, err, "DDS-XML has no @ignore_literal_names")
}

// XMLWithout writes what XML refuses for its annotations, and the ids that these gave.
func TestXMLWithout(t *testing.T) {
	types := compile(t, `
		@ignore_literal_names @final enum E { A, B };
		@topic(name = "s") @data_representation(XCDR2) @autoid(HASH) @verbatim(language = "c", text = "x") @final
		struct S { @unit("m") long a; @try_construct(TRIM) string<3> b; };
		@final struct T { long a; @hashid("x") long b; };
		@final union U switch (@try_construct(USE_DEFAULT) long) { case 1: long a; };`)
	text, lost, err := XMLWithout(types)
	require.NoError(t, err)
	require.Equal(t, []string{
		"E: DDS-XML has no @ignore_literal_names",
		"S: DDS-XML has no @verbatim", "S: DDS-XML has no @autoid", "S: DDS-XML has no @topic", "S: DDS-XML has no @data_representation",
		"S: a: DDS-XML has no @unit", "S: b: DDS-XML has no @try_construct",
		"T: b: DDS-XML has no @hashid",
		"U: discriminator: DDS-XML has no @try_construct",
	}, lost)
	got, err := ParseXML(text)
	require.NoError(t, err, "%s", text)
	for i, typ := range types {
		require.NoError(t, xtypes.Assignable(got[i], typ, xtypes.Consistency{}), "%s", text)
		require.NoError(t, xtypes.Assignable(typ, got[i], xtypes.Consistency{}), "%s", text)
	}
}

func TestIDLSaysWhatItCannotSay(t *testing.T) {
	long := xtypes.Primitive(xtypes.TKInt32)
	array := xtypes.Must(xtypes.NewArray(long, 2))
	s := func(typ *xtypes.Type) []*xtypes.Type {
		return []*xtypes.Type{xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Name: "S", Members: []xtypes.Member{{Name: "a", Type: typ}}}))}
	}
	_, err := IDL(s(xtypes.Must(xtypes.NewSequence(array, 0))))
	require.EqualError(t, err, "notation: S: int32[2] within another type: give the array a name with a typedef")
	_, err = IDL(s(xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{Kind: xtypes.TKArray, Elem: long, Dims: []uint32{1}, ElemFlags: xtypes.ElemFlags{External: true}}))))
	require.EqualError(t, err, "notation: S: IDL cannot annotate the elements of an array")
}
