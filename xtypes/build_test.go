package xtypes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
)

var (
	long    = Primitive(TKInt32)
	double  = Primitive(TKFloat64)
	octet   = Primitive(TKByte)
	boolean = Primitive(TKBoolean)
)

// member gives a member with an automatic id.
func member(name string, t *Type) Member { return Member{Name: name, AutoID: true, Type: t} }

func structure(name string, x cdr.Extensibility, members ...Member) *Type {
	return Must(Build(TypeDescriptor{Kind: TKStructure, Name: name, Extensibility: x, Members: members}))
}

func sequence(elem *Type, bound uint32) *Type   { return Must(NewSequence(elem, bound)) }
func array(elem *Type, dims ...uint32) *Type    { return Must(NewArray(elem, dims...)) }
func mapOf(key, elem *Type, bound uint32) *Type { return Must(NewMap(key, elem, bound)) }
func alias(name string, t *Type) *Type          { return Must(NewAlias(name, t)) }
func enumeration(name string, ls ...Literal) *Type {
	return Must(Build(TypeDescriptor{Kind: TKEnum, Name: name, Literals: ls}))
}

func union(name string, x cdr.Extensibility, disc *Type, members ...Member) *Type {
	return Must(Build(TypeDescriptor{Kind: TKUnion, Name: name, Extensibility: x, Discriminator: Member{Type: disc}, Members: members}))
}

// kase is a member of a union.
func kase(name string, t *Type, labels ...int64) Member {
	return Member{Name: name, AutoID: true, Type: t, Labels: labels}
}

func TestMembersAreFoundByNameAndID(t *testing.T) {
	base := structure("Base", cdr.Final, Member{Name: "id", ID: 7, Type: long, Key: true})
	derived := Must(Build(TypeDescriptor{Kind: TKStructure, Name: "Derived", Base: alias("B", base), Members: []Member{
		member("next", double), {Name: "far", ID: 100, Type: long}, member("after", long),
		{Name: "color", AutoID: true, HasHashID: true, Type: long}, {Name: "c", AutoID: true, HasHashID: true, HashID: "shapesize", Type: long},
	}}))
	require.Equal(t, 6, derived.NumMembers())
	require.Same(t, base, derived.Base(), "the alias is looked through")
	require.True(t, derived.Keyed())
	require.EqualValues(t, 8, derived.MemberByName("next").ID)
	require.EqualValues(t, 101, derived.MemberByName("after").ID)
	// The two examples of XTypes 1.3 §7.3.1.2.1.1.
	require.EqualValues(t, 0x0fa5dd70, derived.MemberByName("color").ID)
	require.EqualValues(t, 0x047790da, derived.MemberByName("c").ID)
	require.Same(t, derived.MemberByName("far"), derived.MemberByID(100))
	require.Nil(t, derived.MemberByName("none"))
	own := 0
	for m := range derived.OwnMembers() {
		require.Equal(t, own+1, m.Index)
		own++
	}
	require.Equal(t, 5, own)
}

func TestRecursiveTypes(t *testing.T) {
	node := Forward("Node")
	children := sequence(node, 0)
	require.Equal(t, []string{"Node"}, children.Incomplete())
	d := TypeDescriptor{Kind: TKStructure, Name: "Node", Forward: node, Members: []Member{
		member("value", long), member("children", children), {Name: "next", AutoID: true, Type: node, Optional: true},
	}}
	got := Must(Build(d))
	require.Same(t, node, got)
	require.Empty(t, children.Incomplete())
	require.Equal(t, []*Type{node}, node.References())
	_, err := Build(d)
	require.EqualError(t, err, "xtypes: struct Node: is complete already; declare another one with Forward")
}

func TestRefusedDescriptionsSayWhy(t *testing.T) {
	self, selfAlias, selfSequence, selfUnion := Forward("Self"), Forward("A"), Forward("Q"), Forward("V")
	color := enumeration("Color", Literal{Name: "RED"}, Literal{Name: "BLUE", Value: 5})
	s := func(ms ...Member) TypeDescriptor { return TypeDescriptor{Kind: TKStructure, Name: "S", Members: ms} }
	u := func(disc *Type, ms ...Member) TypeDescriptor {
		return TypeDescriptor{Kind: TKUnion, Name: "U", Discriminator: Member{Type: disc}, Members: ms}
	}
	for want, d := range map[string]TypeDescriptor{
		"struct: has no name":                                             {Kind: TKStructure},
		"undefined type: cannot be built":                                 {},
		"string X: takes no name; build an alias of it":                   {Kind: TKString8, Name: "X"},
		"struct S.a: has no type":                                         s(Member{Name: "a"}),
		"struct S: member 0 has no name":                                  s(Member{Type: long}),
		"struct S.a: is the name of members 0 and 1":                      s(member("a", long), member("a", long)),
		"struct S.b: has id 3, which a has as well":                       s(Member{Name: "a", ID: 3, Type: long}, Member{Name: "b", ID: 3, Type: long}),
		"struct S.a: id 268435456 exceeds 268435455":                      s(Member{Name: "a", ID: 1 << 28, Type: long}),
		"struct S.a: a key cannot be optional":                            s(Member{Name: "a", Type: long, Key: true, Optional: true}),
		"struct S.a: has case labels, which only members of a union have": s(Member{Name: "a", Type: long, Labels: []int64{1}}),
		"struct S.a: default: 300 is not in the range of octet":           s(Member{Name: "a", Type: octet, Default: 300}),
		"struct S.a: default: \"GREEN\" is no enumerator of Color":        s(Member{Name: "a", Type: color, Default: "GREEN"}),
		"struct S.a: maximum: string is no value of long double":          s(Member{Name: "a", Type: Primitive(TKFloat128), Max: "1"}),
		"struct S: base Color is a enum, not a struct":                    {Kind: TKStructure, Name: "S", Base: color},
		"struct S: is mutable, its base B is final; they must be alike":   {Kind: TKStructure, Name: "S", Extensibility: cdr.Mutable, Base: structure("B", cdr.Final)},
		"struct Self.a.next: contains the type itself; make it @optional, a sequence, or a member of a union that is not the default": {Kind: TKStructure, Name: "Self", Forward: self,
			Members: []Member{member("a", structure("Inner", cdr.Final, member("next", array(self, 2))))}},
		"typedef A: stands for itself": {Kind: TKAlias, Name: "A", Forward: selfAlias, Target: alias("B", selfAlias)},
		"typedef Q: is a collection of itself; put a struct or a union between": {Kind: TKAlias, Name: "Q", Forward: selfSequence,
			Target: mapOf(long, sequence(selfSequence, 0), 0)},
		"union V.a: contains the type itself; make it @optional, a sequence, or a member of a union that is not the default": {Kind: TKUnion, Name: "V", Forward: selfUnion,
			Discriminator: Member{Type: long}, Members: []Member{kase("b", long, 1), kase("a", selfUnion, 0)}},
		"union U: has no cases": u(long),
		"union U: discriminator is double; it must be an integer, a character, a boolean or an enumeration": u(double, kase("a", long, 1)),
		"union U.a: has no case label and is not the default":                                               u(long, kase("a", long)),
		"union U.b: case label 1 is used by a as well":                                                      u(long, kase("a", long, 1), kase("b", long, 1)),
		"union U.a: case label 2 is not of type boolean":                                                    u(boolean, kase("a", long, 2)),
		"union U.a: case label 3 is no enumerator of Color":                                                 u(color, kase("a", long, 3)),
		"union U.b: is the default case, as is a": u(long, Member{Name: "a", Type: long, DefaultCase: true},
			Member{Name: "b", ID: 1, Type: long, DefaultCase: true}),
		"enum E: has no enumerators":                                                                       {Kind: TKEnum, Name: "E"},
		"enum E.B: has value 1, which A has as well":                                                       {Kind: TKEnum, Name: "E", Literals: []Literal{{Name: "A", Value: 1}, {Name: "B", Value: 1}}},
		"enum E.A: value 128 does not fit into 8 bits":                                                     {Kind: TKEnum, Name: "E", BitBound: 8, Literals: []Literal{{Name: "A", Value: 128}}},
		"enum E: bit bound 33 exceeds 32":                                                                  {Kind: TKEnum, Name: "E", BitBound: 33},
		"bitmask M.b: is at position 8 of 8":                                                               {Kind: TKBitmask, Name: "M", BitBound: 8, Bitflags: []Bitflag{{Name: "b", Position: 8}}},
		"bitmask M.b: is at position 1, where a is":                                                        {Kind: TKBitmask, Name: "M", Bitflags: []Bitflag{{Name: "a", Position: 1}, {Name: "b", Position: 1}}},
		"bitset B.b: begins at bit 2, where the field before it has not ended (it does at 3)":              {Kind: TKBitset, Name: "B", Bitfields: []Bitfield{{Name: "a", Bits: 3, Holder: TKUint8}, {Name: "b", Position: 2, Bits: 1, Holder: TKBoolean}}},
		"bitset B.a: has 9 bits, which do not fit into a uint8":                                            {Kind: TKBitset, Name: "B", Bitfields: []Bitfield{{Name: "a", Bits: 9, Holder: TKUint8}}},
		"sequence.element: has no type":                                                                    {Kind: TKSequence},
		"array: has no dimensions":                                                                         {Kind: TKArray, Elem: long},
		"array: has a dimension of 0":                                                                      {Kind: TKArray, Elem: long, Dims: []uint32{2, 0}},
		"array: has more than 2147483647 elements":                                                         {Kind: TKArray, Elem: long, Dims: []uint32{1 << 16, 1 << 16}},
		"map.key: is a double; keys are integers, characters, booleans, strings, enumerations or bitmasks": {Kind: TKMap, MapKey: double, Elem: long},
	} {
		_, err := Build(d)
		require.EqualError(t, err, "xtypes: "+want)
	}
	require.Equal(t, TKNone, self.Kind(), "a refused description leaves the declaration open")
}

func TestUnionCases(t *testing.T) {
	u := union("U", cdr.Final, Primitive(TKChar8), kase("a", long, 'a', 'A'), Member{Name: "rest", AutoID: true, Type: double, DefaultCase: true})
	require.Equal(t, "a", u.Case('A').Name)
	require.Equal(t, "rest", u.Case('z').Name)
	require.Nil(t, union("V", cdr.Final, boolean, kase("yes", long, 1)).Case(0))
	require.EqualValues(t, 1, u.MemberByName("a").ID, "id 0 is the discriminator's")
}

func TestPaths(t *testing.T) {
	point := structure("Point", cdr.Final, member("x", double), member("name", NewString(8)))
	shape := union("Shape", cdr.Final, long, kase("p", point, 1), kase("n", long, 2))
	top := structure("Top", cdr.Final, member("route", sequence(alias("P", point), 4)), member("m", array(point, 2, 3)),
		member("s", shape), member("mp", mapOf(long, long, 0)))
	for text, want := range map[string]string{
		"": "Top", "route": "sequence<P, 4>", "route[3]": "P", "route[3].name": "string<8>", "m[1][2].x": "double", "s._d": "int32", "s.p.x": "double",
	} {
		p, err := top.Path(text)
		require.NoError(t, err, text)
		require.Equal(t, want, p.Type().String(), text)
		require.Equal(t, text, p.String())
	}
	p, err := top.Path("m[1][2].x")
	require.NoError(t, err)
	require.Equal(t, []int{0, 5, 0}, []int{p.Steps()[0].Index, p.Steps()[1].Index, p.Steps()[2].Index})
	for text, want := range map[string]string{
		"nope":       `xtypes: path "nope": the sample is a Top: it has no member "nope"; it has route, m, s, mp`,
		"route.x":    `xtypes: path "route.x": route is a sequence<P, 4>: it has no member "x"`,
		"route[4]":   `xtypes: path "route[4]": route is a sequence<P, 4>: index 4 is not below 4`,
		"route[-1]":  `xtypes: path "route[-1]": route is a sequence<P, 4>: "-1" is no index`,
		"route[1":    `xtypes: path "route[1": route is a sequence<P, 4>: expected [index], got "[1"`,
		"route[1]x":  `xtypes: path "route[1]x": route[1] is a P: expected '.' or '[' before "x"`,
		"route[1].":  `xtypes: path "route[1].": route[1] is a P: expected the name of a member at byte 9`,
		"m[1]":       `xtypes: path "m[1]": m is a Point[2][3]: expected [index][index], got "[1]"`,
		"s[0]":       `xtypes: path "s[0]": s is a Shape: it has no elements`,
		"mp[0]":      `xtypes: path "mp[0]": mp is a map<int32, int32>: paths do not reach into maps`,
		".route":     `xtypes: path ".route": the sample is a Top: expected the name of a member at byte 0`,
		"[0]":        `xtypes: path "[0]": the sample is a Top: it has no elements`,
		"s.p.x.more": `xtypes: path "s.p.x.more": s.p.x is a double: it has no member "more"`,
	} {
		_, err := top.Path(text)
		require.EqualError(t, err, want)
	}
}

func TestValuesOfDefaults(t *testing.T) {
	color := enumeration("Color", Literal{Name: "RED"}, Literal{Name: "BLUE", Value: 5})
	for _, c := range []struct {
		t    *Type
		in   any
		want any
	}{
		{long, int64(-5), int32(-5)}, {octet, 255, uint8(255)}, {Primitive(TKUint64), uint64(1 << 63), uint64(1 << 63)},
		{color, "BLUE", int32(5)}, {color, 0, int32(0)}, {Primitive(TKChar8), "é", uint8(0xe9)}, {Primitive(TKChar16), "Ω", uint16(0x3a9)},
		{Primitive(TKFloat32), 1.5, float32(1.5)}, {double, 3, 3.0}, {boolean, true, true}, {NewWString(2), "😀", "😀"},
	} {
		got, err := scalar(alias("T", c.t), c.in)
		require.NoError(t, err, "%s %v", c.t, c.in)
		require.Equal(t, c.want, got)
	}
	for _, c := range []struct {
		t    *Type
		in   any
		want string
	}{
		{long, int64(1) << 31, "2147483648 is not in the range of int32"}, {Primitive(TKUint64), -1, "-1 is not in the range of uint64"},
		{Primitive(TKInt64), uint64(1 << 63), "9223372036854775808 is not in the range of int64"},
		{Primitive(TKChar8), "ab", `"ab" is not one character of char`}, {NewString(2), "abc", "string of 3 bytes exceeds its bound of 2"},
		{NewWString(1), "😀", "string of 2 UTF-16 code units exceeds its bound of 1"}, {NewWString(0), "\xff", "wstring is not UTF-8"}, {double, int64(1)<<53 + 1, "9007199254740993 is not exact in double"},
		{Primitive(TKFloat32), 1e300, "1e+300 is not in the range of float"}, {boolean, 1, "int is no value of boolean"},
		{color, 1, "1 is no enumerator of Color"}, {sequence(long, 0), 1, "sequence<int32> has parts; it is no single value"},
	} {
		_, err := scalar(c.t, c.in)
		require.EqualError(t, err, c.want)
	}
}
