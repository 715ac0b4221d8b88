package xtypes

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
)

// A type object byte by byte, as XTypes 1.3 Annex B has it.
func TestBytesOfTypeObjects(t *testing.T) {
	color := Must(Build(TypeDescriptor{Kind: TKEnum, Name: "m::Color", Literals: []Literal{{Name: "GREEN", Value: 1, Default: true}, {Name: "RED"}}}))
	shape := Must(Build(TypeDescriptor{Kind: TKStructure, Name: "m::S", Extensibility: cdr.Appendable, Nested: true, Members: []Member{
		{Name: "b", ID: 5, Type: sequence(long, 300), Optional: true, Unit: "m", Max: nil},
		{Name: "a", ID: 2, Type: NewString(0), Key: true},
	}}))
	u := union("m::U", cdr.Final, color, kase("x", array(octet, 2, 3), 1, 0))
	for _, c := range []struct {
		t    *Type
		ek   EquivalenceKind
		want string
	}{
		{shape, Minimal, "3d000000 f1 51 0200 01000000 00 000000" + // DHEADER, EK_MINIMAL, TK_STRUCTURE, IS_APPENDABLE, header with TK_NONE for the base
			"2d000000 02000000" + // members, by id
			"0c000000 02000000 3100 70 00 0cc175b9" + // id 2, T1 M K, string<0>, hash of the name
			"15000000 05000000 0900 81 f3 0100 0000 2c010000 04 92eb5ffe"}, // id 5, T1 O, large sequence of int32
		{color, Complete, "5c000000 f2 40 0000 11000000 2000 00 00 09000000 6d3a3a436f6c6f7200 000000" +
			"3c000000 02000000" +
			"16000000 06000000 00000000 0000 0000 04000000 52454400 00 00 0000" + // RED, which comes first
			"18000000 06000000 01000000 4000 0000 06000000 475245454e00 00 00"},
		{u, Minimal, ""},
	} {
		o, err := c.t.Object(c.ek)
		require.NoError(t, err)
		if c.want != "" {
			require.Equal(t, strings.ReplaceAll(c.want, " ", ""), hex.EncodeToString(o.Marshal()), c.t.Name())
		}
		got, err := UnmarshalTypeObject(o.Marshal())
		require.NoError(t, err)
		require.Equal(t, o.Hash(), got.Hash())
		got.raw = nil
		require.Equal(t, o.Marshal(), got.Marshal(), "nothing is lost")
	}
}

// Hashes that Cyclone DDS has computed for the same IDL.
func TestEquivalenceHashesAreThoseOfOthers(t *testing.T) {
	point := structure("corpus::Point", cdr.Final, member("x", double), member("y", double))
	for ek, want := range map[EquivalenceKind]string{Minimal: "EK_MINIMAL eaebffeba577e613f97b2084b26c", Complete: "EK_COMPLETE 5273cd88bdeaaf4fbe730c57c1af"} {
		id, err := point.Identifier(ek)
		require.NoError(t, err)
		require.Equal(t, want, id.String())
	}
}

func TestIdentifiersWithoutHash(t *testing.T) {
	for want, typ := range map[string]*Type{
		"int32": long, "string": NewString(0), "wstring<300>": NewWString(300), "sequence<string<5>, 300>": sequence(NewString(5), 300),
		"map<int16, octet[300][2], 3>": mapOf(Primitive(TKInt16), array(octet, 300, 2), 3),
	} {
		for _, ek := range []EquivalenceKind{Minimal, Complete} {
			id, err := typ.Identifier(ek)
			require.NoError(t, err)
			require.Equal(t, want, id.String())
			require.True(t, id.FullyDescriptive())
			if id.Elem != nil {
				require.Equal(t, Both, id.Equivalence)
			}
			o, err := typ.Object(ek)
			require.NoError(t, err)
			require.Nil(t, o)
			back, err := NewRegistry().Type(id)
			require.NoError(t, err)
			require.Equal(t, typ.String(), back.String())
		}
	}
}

// tree gives two types that refer to each other, and one beside them.
func tree() (node, edge, top *Type) {
	node, edge = Forward("z::Node"), Forward("a::Edge")
	Must(Build(TypeDescriptor{Kind: TKStructure, Name: "z::Node", Forward: node, Extensibility: cdr.Appendable, Members: []Member{member("edges", sequence(edge, 0)), member("v", long)}}))
	Must(Build(TypeDescriptor{Kind: TKStructure, Name: "a::Edge", Forward: edge, Members: []Member{{Name: "to", AutoID: true, Type: node, Optional: true, External: true}}}))
	return node, edge, structure("Top", cdr.Final, member("root", node), member("p", structure("P", cdr.Final, member("x", double))))
}

func TestStronglyConnectedComponents(t *testing.T) {
	node, edge, top := tree()
	for _, ek := range []EquivalenceKind{Minimal, Complete} {
		all, err := Identify(top, ek)
		require.NoError(t, err)
		require.Len(t, all, 4)
		require.Same(t, top, all[0].Type)
		require.EqualValues(t, ek, all[0].ID.Kind)
		ids := map[*Type]TypeIdentifier{}
		for _, x := range all {
			ids[x.Type] = x.ID
			require.Equal(t, len(x.Object.Marshal()), x.Size)
		}
		e, n := ids[edge], ids[node]
		require.Equal(t, []any{uint8(tiComponent), ek, int32(2), int32(1), int32(2)}, []any{e.Kind, e.HashKind, e.Length, e.Index, n.Index}, "ordered by name")
		require.Equal(t, e.Hash, n.Hash)

		// The hash is that of the sequence of both objects, in which they name each other with a hash of zero.
		zero := func(of *Type) *TypeObject {
			k := objectMaker{ek: ek, part: nil}
			var part func(p *Type) TypeIdentifier
			part = func(p *Type) TypeIdentifier {
				switch p {
				case edge, node:
					id := ids[p]
					id.Hash = EquivalenceHash{}
					return id
				}
				return plain(p, ek, part)
			}
			k.part = part
			return k.object(of)
		}
		a := newArchive()
		objects := []*TypeObject{zero(edge), zero(node)}
		list(a, &objects, func(o **TypeObject) { a.object(*o) })
		require.Equal(t, hashOf(a.w.buf), e.Hash)

		// From whichever type one starts, the identifiers are the same.
		again, err := node.Identifier(ek)
		require.NoError(t, err)
		require.True(t, again.Equal(&n))
	}
}

func TestTypesSurviveTheirTypeObjects(t *testing.T) {
	_, _, top := tree()
	for _, typ := range []*Type{everything(cdr.Final), everything(cdr.Appendable), everything(cdr.Mutable), top, alias("A", sequence(testColor, 5)), testBits} {
		b, err := Describe(typ)
		require.NoError(t, err)
		got, info, mapping, err := ParseDescription(b)
		require.NoError(t, err)
		require.Equal(t, typ.Name(), got.Name())
		again, err := Describe(got)
		require.NoError(t, err)
		require.Equal(t, b, again, "%s", typ)
		require.Len(t, mapping.Complete, int(info.Complete.Count)+1)
		r := NewRegistry()
		require.NoError(t, r.AddMapping(mapping))
		minimal, err := r.Type(info.Minimal.ID)
		require.NoError(t, err)
		id, err := minimal.Identifier(Minimal)
		require.NoError(t, err)
		require.Equal(t, len(r.Missing(id)), 0, "a type without names has the same minimal identifier: %s", &id)
		for i := range b {
			_, _, _, err := ParseDescription(b[:i])
			require.Error(t, err)
		}

		objects, err := CompleteObjects(b)
		require.NoError(t, err)
		require.Less(t, len(objects), len(b)*2/3)
		alone, err := ParseObjects(objects)
		require.NoError(t, err)
		again, err = Describe(alone)
		require.NoError(t, err)
		require.Equal(t, b, again, "the complete type objects tell all of %s", typ)
		for i := range objects {
			_, err := ParseObjects(objects[:i])
			require.Error(t, err)
		}
	}
}

func TestAnnotationsOfMembersSurvive(t *testing.T) {
	typ := structure("S", cdr.Appendable,
		Member{Name: "a", AutoID: true, Type: long, Unit: "m", Min: -5, Max: 7}, Member{Name: "d", AutoID: true, Type: double, Min: 0.5, TryConstruct: TryConstructTrim},
		Member{Name: "h", AutoID: true, HasHashID: true, HashID: "other", Type: testColor, Max: "GREEN"}, Member{Name: "t", AutoID: true, Type: NewString(0), Min: "x"},
		Member{Name: "x", AutoID: true, Type: Primitive(TKFloat128), Max: 2.0})
	b, err := Describe(typ)
	require.NoError(t, err)
	got, _, _, err := ParseDescription(b)
	require.NoError(t, err)
	for i := range typ.NumMembers() {
		want, m := *typ.Member(i), *got.Member(i)
		want.AutoID, want.Type, m.Type = false, nil, nil
		want.TryConstruct = max(want.TryConstruct, TryConstructDiscard)
		require.Equal(t, want, m)
	}
}

func TestRegistryRefusesWhatIsNotWhatItSays(t *testing.T) {
	p := structure("P", cdr.Final, member("x", double))
	all, err := Identify(structure("S", cdr.Final, member("p", p)), Complete)
	require.NoError(t, err)
	r := NewRegistry()
	require.ErrorContains(t, r.Add(all[0].ID, all[1].Object), "it is damaged, or another one")
	require.ErrorContains(t, r.Add(TypeIdentifier{Kind: uint8(TKInt32)}, all[1].Object), "int32 has no type object")
	require.NoError(t, r.Add(all[0].ID, all[0].Object))
	require.Equal(t, []TypeIdentifier{all[1].ID}, r.Missing(all[0].ID))
	_, err = r.Type(all[0].ID)
	require.ErrorContains(t, err, "needs 1 type objects that are not there, such as "+all[1].ID.String())
	require.NoError(t, r.Add(all[1].ID, all[1].Object))
	got, err := r.Type(all[0].ID)
	require.NoError(t, err)
	require.Equal(t, "P", got.Member(0).Type.Name())
}

func TestLabelsBeyond32BitsHaveNoTypeObject(t *testing.T) {
	_, err := Describe(union("U", cdr.Final, Primitive(TKInt64), kase("a", long, 1<<40)))
	require.EqualError(t, err, "xtypes: U.a: case label 1099511627776: a type object has labels of 32 bits")
	_, err = Describe(long)
	require.EqualError(t, err, "xtypes: int32 has no type object")
}

// FuzzTypeObject: no input makes the readers panic or take much memory, and what they accept can be built or is refused.
func FuzzTypeObject(f *testing.F) {
	_, _, top := tree()
	for _, typ := range []*Type{everything(cdr.Mutable), top, union("U", cdr.Final, testColor, kase("x", array(octet, 2, 3), 7))} {
		b, err := Describe(typ)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := UnmarshalTypeObject(b); err == nil {
			id := TypeIdentifier{Kind: uint8(o.equivalence), Hash: o.Hash()}
			r := NewRegistry()
			if err := r.Add(id, o); err != nil {
				t.Fatal(err)
			}
			_, _ = r.Type(id)
		}
		if o, err := UnmarshalPlainTypeObject(b); err == nil {
			id := TypeIdentifier{Kind: uint8(o.equivalence), Hash: o.Hash()}
			r := NewRegistry()
			if err := r.Add(id, o); err != nil {
				t.Fatal(err)
			}
			_, _ = r.Type(id)
		}
		_, _ = UnmarshalTypeInformation(b)
		_, _ = UnmarshalTypeMapping(b)
		if objects, err := CompleteObjects(b); err == nil {
			_, _ = ParseObjects(objects)
		}
		_, _ = ParseObjects(b)
		typ, _, _, err := ParseDescription(b)
		if err != nil {
			return
		}
		if _, err := Identify(typ, Complete); err != nil {
			return
		}
		if typ.Resolve().Kind() == TKStructure {
			_, _ = NewData(typ)
		}
	})
}

// Types that refer to themselves, round in a ring, and from one ring into another: which start makes no difference, and
// what is read is the same.
func TestRecursionsWithinRecursions(t *testing.T) {
	self := Forward("m::Self")
	Must(Build(TypeDescriptor{Kind: TKStructure, Name: "m::Self", Forward: self, Extensibility: cdr.Mutable, Members: []Member{member("v", long), member("more", sequence(self, 0))}}))
	ring := []*Type{Forward("m::C"), Forward("m::A"), Forward("m::B")}
	for i, typ := range ring {
		members := []Member{member("next", sequence(ring[(i+1)%3], 4))}
		if i == 1 {
			members = append(members, member("out", self))
		}
		Must(Build(TypeDescriptor{Kind: TKStructure, Name: typ.Name(), Forward: typ, Extensibility: cdr.Appendable, Members: members}))
	}
	for _, ek := range []EquivalenceKind{Minimal, Complete} {
		id, err := self.Identifier(ek)
		require.NoError(t, err)
		require.Equal(t, []any{uint8(tiComponent), ek, int32(1), int32(1)}, []any{id.Kind, id.HashKind, id.Length, id.Index})
		ids := map[string]TypeIdentifier{}
		for _, start := range ring {
			all, err := Identify(start, ek)
			require.NoError(t, err)
			require.Len(t, all, 4)
			for _, x := range all {
				if before, again := ids[x.Type.Name()]; again {
					require.True(t, before.Equal(&x.ID), "%s from %s", x.Type, start)
				}
				ids[x.Type.Name()] = x.ID
			}
		}
		require.True(t, id.Equal(new(ids["m::Self"])), "alone, and from the ring")
		a, b, c := ids["m::A"], ids["m::B"], ids["m::C"]
		require.Equal(t, []int32{3, 1, 3, 2, 3, 3}, []int32{a.Length, a.Index, b.Length, b.Index, c.Length, c.Index}, "ordered by name")
		require.True(t, a.Hash == b.Hash && b.Hash == c.Hash && a.Hash != id.Hash)
	}
	for _, typ := range append(ring, self) {
		b, err := Describe(typ)
		require.NoError(t, err)
		got, _, _, err := ParseDescription(b)
		require.NoError(t, err)
		again, err := Describe(got)
		require.NoError(t, err)
		require.Equal(t, b, again, "%s", typ)
		require.NoError(t, Assignable(typ, got, DefaultConsistency()))
		require.NoError(t, Assignable(got, typ, Consistency{DisallowTypeCoercion: true}))
	}
	// Another member anywhere in a component is another component.
	other := Forward("m::Self")
	Must(Build(TypeDescriptor{Kind: TKStructure, Name: "m::Self", Forward: other, Extensibility: cdr.Mutable, Members: []Member{member("v", octet), member("more", sequence(other, 0))}}))
	x, err := self.Identifier(Minimal)
	require.NoError(t, err)
	y, err := other.Identifier(Minimal)
	require.NoError(t, err)
	require.NotEqual(t, x.Hash, y.Hash)
}

// TestWhatAliasesAndBitsetsSay goes through type objects: annotations of aliases and of bit fields, and the bits behind
// the last field.
func TestWhatAliasesAndBitsetsSay(t *testing.T) {
	speed := Must(Build(TypeDescriptor{Kind: TKAlias, Name: "Speed", Target: Primitive(TKFloat64), Unit: "m/s", Min: 0.0, Max: 600.0, Default: 1.5}))
	bits := Must(Build(TypeDescriptor{Kind: TKBitset, Name: "Wide", Bitfields: []Bitfield{{Name: "a", Bits: 3, Holder: TKByte, Unit: "ms"}, {Position: 3, Bits: 13, Holder: TKUint16}}}))
	narrow := Must(Build(TypeDescriptor{Kind: TKBitset, Name: "Narrow", Bitfields: []Bitfield{{Name: "a", Bits: 3, Holder: TKByte}, {Position: 3, Bits: 5, Holder: TKByte}}}))
	s := Must(Build(TypeDescriptor{Kind: TKStructure, Name: "S", Members: []Member{{Name: "speed", AutoID: true, Type: speed}, {Name: "bits", AutoID: true, Type: bits}, {Name: "narrow", AutoID: true, Type: narrow}}}))
	standard, least, most := speed.Constraints()
	require.Equal(t, []any{1.5, 0.0, 600.0}, []any{standard, least, most})
	m, err := NewTypeMapping(s)
	require.NoError(t, err)
	r := NewRegistry()
	require.NoError(t, r.AddMapping(m))
	want, err := NewData(s)
	require.NoError(t, err)
	sample, err := want.Encode(cdr.CDR2LE)
	require.NoError(t, err)
	for _, list := range [][]Pair{m.Minimal, m.Complete} {
		got, err := r.Type(list[0].ID)
		require.NoError(t, err)
		d, err := NewData(got)
		require.NoError(t, err)
		b, err := d.Encode(cdr.CDR2LE)
		require.NoError(t, err)
		require.Len(t, b, len(sample), "%s", got)
		require.NoError(t, Assignable(s, got, DefaultConsistency()))
		if list[0].ID.Kind == uint8(Minimal) {
			continue
		}
		a := got.Member(0).Type
		_, least, most = a.Constraints()
		require.Equal(t, []any{"m/s", 0.0, 600.0}, []any{a.Unit(), least, most})
		require.Equal(t, "ms", got.Member(1).Type.Bitfields()[0].Unit)
		require.Len(t, got.Member(1).Type.Bitfields(), 2)
		require.Len(t, got.Member(2).Type.Bitfields(), 1, "what does not make it wider is left out")
	}
	_, err = Build(TypeDescriptor{Kind: TKAlias, Name: "Bad", Target: Primitive(TKFloat64), Min: "x"})
	require.EqualError(t, err, "xtypes: typedef Bad: minimum: string is no value of double")
}

// TestLabelsOfUnsignedDiscriminators have 32 bits in type objects, whatever their sign is.
func TestLabelsOfUnsignedDiscriminators(t *testing.T) {
	u := Must(Build(TypeDescriptor{Kind: TKUnion, Name: "U", Discriminator: Member{Type: Primitive(TKUint32)},
		Members: []Member{{Name: "most", AutoID: true, Type: Primitive(TKInt32), Labels: []int64{1<<32 - 1, 1 << 31, 5}}}}))
	b, err := Describe(u)
	require.NoError(t, err)
	got, _, _, err := ParseDescription(b)
	require.NoError(t, err)
	require.ElementsMatch(t, u.Member(0).Labels, got.Member(0).Labels)
	_, err = Describe(Must(Build(TypeDescriptor{Kind: TKUnion, Name: "U", Discriminator: Member{Type: Primitive(TKInt64)},
		Members: []Member{{Name: "most", AutoID: true, Type: Primitive(TKInt32), Labels: []int64{1 << 31}}}})))
	require.EqualError(t, err, "xtypes: U.most: case label 2147483648: a type object has labels of 32 bits")
}

// TestFlagsThatDoNotApply are read over in members of unions, where Annex B has T1, T2, D and X only.
func TestFlagsThatDoNotApply(t *testing.T) {
	u := Must(Build(TypeDescriptor{Kind: TKUnion, Name: "U", Discriminator: Member{Type: Primitive(TKInt32), TryConstruct: TryConstructTrim},
		Members: []Member{{Name: "a", AutoID: true, Type: Primitive(TKInt32), Labels: []int64{1}}}}))
	all, err := Identify(u, Complete)
	require.NoError(t, err)
	o := *all[0].Object
	o.raw = nil
	require.Equal(t, "EK_COMPLETE union U IS_FINAL\n  discriminator int32 TRY_CONSTRUCT_TRIM\n  member a id=1 int32 case=[1] TRY_CONSTRUCT_DISCARD\n", o.Text())
	o.members[0].flags |= flagMustUnderstand | flagKey | flagOptional
	d, err := NewRegistry().descriptor(&o)
	require.NoError(t, err)
	require.False(t, d.Members[0].MustUnderstand || d.Members[0].Key || d.Members[0].Optional)
	require.Equal(t, TryConstructTrim, d.Discriminator.TryConstruct)
	for _, m := range []Member{{MustUnderstand: true}, {Key: true}, {Optional: true}} {
		m.Name, m.Type, m.Labels = "a", Primitive(TKInt32), []int64{1}
		_, err := Build(TypeDescriptor{Kind: TKUnion, Name: "U", Discriminator: Member{Type: Primitive(TKInt32)}, Members: []Member{m}})
		require.EqualError(t, err, "xtypes: union U.a: members of a union cannot be optional or keys, and which there is need not be understood")
	}
}
