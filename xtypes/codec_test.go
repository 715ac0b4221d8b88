package xtypes

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
)

// encapsulations gives all that t has.
func encapsulations(t *Type) []cdr.Encapsulation {
	return []cdr.Encapsulation{t.Encapsulation(false, false), t.Encapsulation(false, true), t.Encapsulation(true, false), t.Encapsulation(true, true)}
}

var (
	testColor = Must(Build(TypeDescriptor{Kind: TKEnum, Name: "Color", BitBound: 16, Literals: []Literal{{Name: "RED"}, {Name: "GREEN", Value: 7}, {Name: "BLUE", Value: -3, Default: true}}}))
	testMask  = Must(Build(TypeDescriptor{Kind: TKBitmask, Name: "Mask", BitBound: 10, Bitflags: []Bitflag{{Name: "A"}, {Name: "J", Position: 9}}}))
	testBits  = Must(Build(TypeDescriptor{Kind: TKBitset, Name: "Bits", Bitfields: []Bitfield{{Name: "lo", Bits: 3, Holder: TKUint8}, {Name: "hi", Position: 10, Bits: 9, Holder: TKInt16}}}))
)

// everything has a member of each kind of type, in each extensibility.
func everything(x cdr.Extensibility) *Type {
	name := strings.ToUpper(x.String()[:1])
	inner := structure("In"+name, x, member("o", octet), member("d", double), member("s", NewString(0)))
	choice := union("Ch"+name, x, testColor, kase("n", long, 7), kase("in", inner, -3), Member{Name: "rest", AutoID: true, Type: NewString(0), DefaultCase: true})
	members := []Member{{Name: "id", AutoID: true, Type: NewString(12), Key: true}}
	for k := range kinds {
		if p := Primitive(Kind(k)); p != nil {
			members = append(members, member(fmt.Sprintf("p%d", k), p), Member{Name: fmt.Sprintf("q%d", k), AutoID: true, Type: p, Optional: true})
		}
	}
	for i, t := range []*Type{NewString(0), NewWString(9), testColor, testMask, testBits, inner, choice, sequence(octet, 9), sequence(double, 0), sequence(testColor, 0),
		sequence(NewString(0), 4), sequence(inner, 0), sequence(sequence(long, 0), 0), sequence(choice, 0), array(long, 3), array(double, 2, 2), array(testColor, 3), array(inner, 2),
		array(alias("Row"+name, array(long, 2)), 2), mapOf(long, double, 0), mapOf(NewString(0), inner, 5), mapOf(Primitive(TKInt16), sequence(octet, 0), 0), alias("Al"+name, double),
		sequence(Primitive(TKChar16), 0), sequence(boolean, 0)} {
		members = append(members, member(fmt.Sprintf("m%d", i), t), Member{Name: fmt.Sprintf("o%d", i), AutoID: true, Type: t, Optional: true})
	}
	members = append(members, Member{Name: "far", ID: 0x0ffffff0, Type: long}, Member{Name: "last", ID: 70000, Type: double, Optional: true})
	return structure("Everything"+name, x, members...)
}

func TestDataRoundTrips(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		typ := everything(x)
		for range 200 {
			d := randomValue(rng.Uint64, typ, 0).(*Data)
			for _, enc := range encapsulations(typ) {
				b, err := d.Encode(enc)
				require.NoError(t, err)
				require.Zero(t, len(b)%4)
				got, err := Decode(typ, b)
				require.NoError(t, err, "%s", enc)
				require.True(t, d.Equal(got), "%s\n%s", enc, hex.Dump(b))
			}
			require.True(t, d.Equal(d.Clone()))
		}
	}
}

// paths gives every path to a single value of d.
func paths(d *Data) []string {
	var list []string
	var visit func(path string, t *Type, v any)
	visit = func(path string, t *Type, v any) {
		t = t.Resolve()
		switch x := v.(type) {
		case *Data:
			if path != "" {
				path += "."
			}
			if x.typ.disc != nil {
				list = append(list, path+Discriminator)
			}
			for _, m := range x.typ.all {
				visit(path+m.Name, m.Type, x.Member(m))
			}
			return
		}
		switch t.d.Kind {
		case TKMap:
		case TKArray, TKSequence:
			dims := t.d.Dims
			r := reflect.ValueOf(v)
			n := t.Len()
			if t.d.Kind == TKSequence {
				dims = []uint32{1 << 30}
				n = 2
			}
			for i := range n {
				text, rest := "", i
				for k := len(dims) - 1; k >= 0; k-- {
					text = fmt.Sprintf("[%d]", rest%int(dims[k])) + text
					rest /= int(dims[k])
				}
				var e any
				if r.IsValid() && i < r.Len() {
					e = r.Index(i).Interface()
				}
				if e == nil && (t.d.Elem.Resolve().width() == 0) {
					continue
				}
				visit(path+text, t.d.Elem, e)
			}
		case TKStructure, TKUnion:
		default:
			list = append(list, path)
		}
	}
	visit("", d.typ, d)
	return list
}

// What an Accessor finds in the bytes is what Get finds in the decoded value, for every value of every kind, absent
// ones included.
func TestAccessorAgreesWithData(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		typ := everything(x)
		compared := 0
		for range 20 {
			d := randomValue(rng.Uint64, typ, 0).(*Data)
			for _, path := range paths(d) {
				p, err := typ.Path(path)
				require.NoError(t, err)
				a, err := NewAccessor(p)
				require.NoError(t, err)
				want, err := d.Get(path)
				require.NoError(t, err)
				for _, enc := range encapsulations(typ) {
					b, err := d.Encode(enc)
					require.NoError(t, err)
					v, present, err := a.Get(b)
					require.NoError(t, err)
					require.Equal(t, want != nil, present, "%s %s", path, enc)
					if present {
						require.Equal(t, want, v.Any(), "%s %s", path, enc)
						compared++
					}
				}
			}
		}
		require.Greater(t, compared, 1000)
	}
}

// numbers has single values at fixed offsets, in final and appendable structures, and a string behind them.
func numbers(x cdr.Extensibility) *Type {
	name := x.String()
	inner := structure("NumbersIn"+name, x, member("o", octet), member("d", double))
	var members []Member
	for k := range kinds {
		if p := Primitive(Kind(k)); p != nil {
			members = append(members, member(fmt.Sprintf("p%d", k), p))
		}
	}
	for i, t := range []*Type{testColor, testMask, testBits, array(double, 2, 2), array(testColor, 3), inner, NewString(0), long} {
		members = append(members, member(fmt.Sprintf("m%d", i), t))
	}
	return structure("Numbers"+name, x, members...)
}

// What is read quickly is what Get reads, and nothing is read of what Get finds broken or absent.
func TestNumberAgreesWithGet(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	quick := 0
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		typ := numbers(x)
		for range 20 {
			d := randomValue(rng.Uint64, typ, 0).(*Data)
			for _, path := range paths(d) {
				p, err := typ.Path(path)
				require.NoError(t, err)
				a, err := NewAccessor(p)
				require.NoError(t, err)
				for _, enc := range encapsulations(typ) {
					b, err := d.Encode(enc)
					require.NoError(t, err)
					check := func(b []byte) {
						bits, ok := a.Number(b)
						if !ok {
							return
						}
						quick++
						v, present, err := a.Get(b)
						require.NoError(t, err, "%s %s", path, enc)
						require.True(t, present, "%s %s", path, enc)
						require.Equal(t, v.Uint(), bits, "%s %s", path, enc)
					}
					check(b)
					check(b[:rng.Intn(len(b))])
					b[rng.Intn(min(len(b), 40))] = byte(rng.Intn(256))
					check(b)
				}
			}
		}
	}
	require.Greater(t, quick, 500)
}

func TestAccessorAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		typ := everything(x)
		d := randomValue(rng.Uint64, typ, 0).(*Data)
		for _, path := range []string{"id", "p10", "m0", "m5.d", "m15[1][1]", "far"} {
			p, err := typ.Path(path)
			require.NoError(t, err)
			a, err := NewAccessor(p)
			require.NoError(t, err)
			for _, enc := range encapsulations(typ) {
				b, err := d.Encode(enc)
				require.NoError(t, err)
				require.Zero(t, testing.AllocsPerRun(10, func() {
					if _, present, err := a.Get(b); !present || err != nil {
						t.Fatal(present, err)
					}
				}), "%s %s", path, enc)
			}
		}
	}
}

func TestAccessorKnowsOffsetsBehindFixedMembers(t *testing.T) {
	flat := structure("Flat", cdr.Appendable, member("a", octet), member("b", double), member("in", structure("In", cdr.Final, member("c", array(long, 2)), member("e", testColor))), member("s", NewString(0)), member("z", long))
	for path, want := range map[string][2]fixedOffset{
		"a":       {{0, true, nil}, {4, true, []int{0}}},
		"b":       {{8, true, nil}, {8, true, []int{0}}},
		"in.c[1]": {{20, true, nil}, {20, true, []int{0}}},
		"in.e":    {{24, true, nil}, {24, true, []int{0}}},
		"s":       {{28, true, nil}, {28, true, []int{0}}},
		"z":       {},
	} {
		p, err := flat.Path(path)
		require.NoError(t, err)
		a, err := NewAccessor(p)
		require.NoError(t, err)
		require.Equal(t, want, a.fixed, path)
	}
}

// A sample that ends anywhere gives an error or a value, and nothing else; and so does one with a byte that is not what it was.
func TestDamagedSamplesAreErrors(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	for _, x := range []cdr.Extensibility{cdr.Final, cdr.Appendable, cdr.Mutable} {
		typ := everything(x)
		d := randomValue(rng.Uint64, typ, 0).(*Data)
		p, err := typ.Path("last")
		require.NoError(t, err)
		a, err := NewAccessor(p)
		require.NoError(t, err)
		for _, enc := range encapsulations(typ) {
			b, err := d.Encode(enc)
			require.NoError(t, err)
			for i := range b {
				_, err := Decode(typ, b[:i])
				if x == cdr.Final {
					require.Error(t, err)
				}
				_, _, _ = a.Get(b[:i])
				damaged := append([]byte(nil), b...)
				damaged[i] ^= byte(1 + rng.Intn(255))
				_, _ = Decode(typ, damaged)
				_, _, _ = a.Get(damaged)
			}
		}
	}
}

func TestBytesOfEncodings(t *testing.T) {
	opt := structure("Opt", cdr.Final, member("a", octet), Member{Name: "b", AutoID: true, Type: double, Optional: true}, Member{Name: "c", AutoID: true, Type: octet, Optional: true}, member("d", long))
	mut := structure("Mut", cdr.Mutable, Member{Name: "a", ID: 1, Type: octet}, Member{Name: "b", ID: 2, Type: double, MustUnderstand: true},
		Member{Name: "c", ID: 70000, Type: NewString(0), Optional: true}, Member{Name: "d", ID: 4, Type: sequence(long, 0)})
	app := structure("App", cdr.Appendable, member("e", sequence(testColor, 0)), member("w", NewWString(0)))
	shape := union("Shape", cdr.Mutable, boolean, kase("x", Primitive(TKInt16), 1))
	for _, c := range []struct {
		typ  *Type
		json string
		enc  cdr.Encapsulation
		want string
	}{
		{opt, `{"a":1,"b":2,"d":3}`, cdr.CDR2LE, "0007 0000 01 01 0000 0000000000000040 00 000000 03000000"},
		{opt, `{"a":1,"b":2,"d":3}`, cdr.CDRBE, "0000 0000 01 000000 00010008 4000000000000000 00020000 00000003"},
		{mut, `{"a":1,"b":2,"c":"x","d":[5]}`, cdr.PLCDR2LE, "000b 0000 2c000000 01000000 01 000000 020000b0 0000000000000040 70110150 0200000078 00 0000 04000060 01000000 05000000"},
		{mut, `{"a":1,"b":2,"d":[]}`, cdr.PLCDRBE, "0002 0000 00010001 01 000000 40020008 4000000000000000 00040004 00000000 7f020000"},
		{mut, `{"a":1,"b":2,"c":"","d":[]}`, cdr.PLCDRLE, "0003 0000 01000100 01 000000 02400800 0000000000000040 017f0800 70110100 05000000 01000000 00 000000 04000400 00000000 027f0000"},
		{app, `{"e":["RED","BLUE"],"w":"é"}`, cdr.DCDR2LE, "0009 0002 12000000 08000000 02000000 0000 fdff 02000000 e900 0000"},
		{shape, `{"_d":true,"x":-2}`, cdr.PLCDR2BE, "000a 0002 0000000e 80000000 01 000000 10000001 fffe 0000"},
	} {
		d, err := NewData(c.typ)
		require.NoError(t, err)
		require.NoError(t, d.UnmarshalJSON([]byte(c.json)))
		b, err := d.Encode(c.enc)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(c.want, " ", ""), hex.EncodeToString(b), "%s %s", c.json, c.enc)
	}
}

func TestShorterVersionsOfTypesRead(t *testing.T) {
	v1 := structure("V", cdr.Appendable, member("a", long))
	v2 := structure("V", cdr.Appendable, member("a", long), Member{Name: "b", AutoID: true, Type: long, Default: 7}, member("in", v1))
	old, err := NewData(v1)
	require.NoError(t, err)
	require.NoError(t, old.Set("a", 5))
	for _, enc := range encapsulations(v1) {
		b, err := old.Encode(enc)
		require.NoError(t, err)
		d, err := Decode(v2, b)
		require.NoError(t, err)
		require.Equal(t, []any{int32(5), int32(7), int32(0)}, []any{get(t, d, "a"), get(t, d, "b"), get(t, d, "in.a")})
		for path, there := range map[string]bool{"a": true, "b": false, "in.a": false} {
			p, err := v2.Path(path)
			require.NoError(t, err)
			a, err := NewAccessor(p)
			require.NoError(t, err)
			_, present, err := a.Get(b)
			require.NoError(t, err)
			require.Equal(t, there, present, path)
		}
	}
}

func get(t *testing.T, d *Data, path string) any {
	t.Helper()
	v, err := d.Get(path)
	require.NoError(t, err)
	return v
}

func TestTryConstruct(t *testing.T) {
	long8 := structure("S", cdr.Final, member("s", NewString(0)), member("q", sequence(long, 0)), member("e", long), member("after", long))
	d, err := NewData(long8)
	require.NoError(t, err)
	require.NoError(t, d.UnmarshalJSON([]byte(`{"s":"abcdef","q":[1,2,3,4],"e":99,"after":5}`)))
	for _, c := range []struct {
		tc   TryConstruct
		want string
		err  string
	}{
		{TryConstructUnset, "", "cdr: read S.s: string of 6 bytes exceeds its bound of 3"},
		{TryConstructUseDefault, `{"s":"dfl","q":[],"e":"BLUE","after":5}`, ""},
		{TryConstructTrim, "", "cdr: read S.e: 99 is no enumerator of Wide"},
	} {
		wide := Must(Build(TypeDescriptor{Kind: TKEnum, Name: "Wide", Literals: testColor.Literals()}))
		short := structure("S", cdr.Final, Member{Name: "s", AutoID: true, Type: NewString(3), TryConstruct: c.tc, Default: "dfl"},
			Member{Name: "q", AutoID: true, Type: sequence(long, 2), TryConstruct: c.tc}, Member{Name: "e", AutoID: true, Type: wide, TryConstruct: c.tc}, member("after", long))
		for _, enc := range encapsulations(long8) {
			b, err := d.Encode(enc)
			require.NoError(t, err)
			got, err := Decode(short, b)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				continue
			}
			require.NoError(t, err)
			text, err := got.MarshalJSON()
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(text))
		}
	}
	trim := structure("S", cdr.Final, Member{Name: "s", AutoID: true, Type: NewString(3), TryConstruct: TryConstructTrim}, Member{Name: "q", AutoID: true, Type: sequence(long, 2), TryConstruct: TryConstructTrim}, member("e", long), member("after", long))
	b, err := d.Encode(cdr.CDR2BE)
	require.NoError(t, err)
	got, err := Decode(trim, b)
	require.NoError(t, err)
	require.Equal(t, []any{"abc", []int32{1, 2}, int32(99), int32(5)}, []any{get(t, got, "s"), get(t, got, "q"), get(t, got, "e"), get(t, got, "after")})
}

func TestMustUnderstand(t *testing.T) {
	writer := structure("W", cdr.Mutable, Member{Name: "a", ID: 1, Type: long}, Member{Name: "b", ID: 2, Type: long, MustUnderstand: true})
	reader := structure("W", cdr.Mutable, Member{Name: "a", ID: 1, Type: long})
	d, err := NewData(writer)
	require.NoError(t, err)
	for _, enc := range encapsulations(writer) {
		b, err := d.Encode(enc)
		require.NoError(t, err)
		_, err = Decode(reader, b)
		require.EqualError(t, err, "cdr: read W: member 2 must be understood, and is not known")
		require.ErrorIs(t, err, cdr.ErrNotUnderstood)
	}
}

// Little in a sample does not become much in memory.
func TestMemoryIsBoundedByTheSample(t *testing.T) {
	crowd := structure("Crowd", cdr.Final, member("q", sequence(structure("Empty", cdr.Final), 0)))
	_, err := Decode(crowd, []byte{0, 7, 0, 0, 4, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f}) // elements that take no bytes
	require.ErrorIs(t, err, cdr.ErrBound)
	require.ErrorContains(t, err, "sequence of 2147483647 elements exceeds its bound of 16384")

	// Each part is four bytes, and its array comes into being only when somebody asks for it.
	bulky := structure("Bulky", cdr.Appendable, member("blob", array(long, 1<<30)))
	bulk := structure("Bulk", cdr.Final, member("parts", sequence(bulky, 0)))
	const n = 1000
	b := []byte{0, 7, 0, 0, byte((4 + 4*n) % 256), byte((4 + 4*n) / 256), 0, 0, byte(n % 256), byte(n / 256), 0, 0}
	_, err = Decode(bulk, append(b, make([]byte, 4*n)...))
	require.NoError(t, err)

	// Sizes do not overflow.
	huge := array(array(double, 1<<30), 1<<30)
	require.Positive(t, huge.footprint())
	_, err = Decode(union("Huge", cdr.Appendable, long, Member{Name: "a", AutoID: true, Type: huge, DefaultCase: true}), []byte{0, 9, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0})
	require.ErrorIs(t, err, cdr.ErrBound)

	final := structure("Plain", cdr.Appendable, member("a", long), member("parts", array(array(long, 1<<30), 1)))
	_, err = Decode(final, []byte{0, 9, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0})
	require.NoError(t, err)
}

func TestDeepValuesAreRefused(t *testing.T) {
	node := Forward("Node")
	Must(Build(TypeDescriptor{Kind: TKStructure, Name: "Node", Forward: node, Members: []Member{{Name: "next", AutoID: true, Type: node, Optional: true}}}))
	top := newData(node)
	for d, i := top, 0; i < cdr.MaxDepth+1; i++ {
		next := newData(node)
		require.NoError(t, d.SetMember(node.Member(0), next))
		d = next
	}
	_, err := top.Encode(cdr.CDR2LE)
	require.ErrorIs(t, err, cdr.ErrDepth)
	b := append([]byte{0, 7, 0, 0}, strings.Repeat("\x01", 1000)...)
	_, err = Decode(node, b)
	require.ErrorIs(t, err, cdr.ErrDepth)
}

// A member of more than 64 KB moves behind its long header, with the members in it that have moved already; that it is
// written once only is what lets this end.
func TestLongMembersInLongMembers(t *testing.T) {
	node := Forward("Node")
	Must(Build(TypeDescriptor{Kind: TKStructure, Name: "Node", Forward: node, Extensibility: cdr.Mutable, Members: []Member{
		member("number", double), {Name: "next", AutoID: true, Type: node, Optional: true}, member("text", NewString(0))}}))
	var top *Data
	for i := range 60 {
		d := newData(node)
		require.NoError(t, d.Set("number", float64(i)))
		require.NoError(t, d.Set("text", strings.Repeat("x", i)))
		if top == nil {
			require.NoError(t, d.Set("text", strings.Repeat("x", 70000)))
		} else {
			require.NoError(t, d.Set("next", top))
		}
		top = d
	}
	for _, enc := range encapsulations(node) {
		b, err := top.Encode(enc)
		require.NoError(t, err)
		got, err := Decode(node, b)
		require.NoError(t, err)
		require.True(t, top.Equal(got), "%s", enc)
	}
}

// A cut string is the one that generated code cuts, in whole characters.
func TestStringsAreCutBetweenCharacters(t *testing.T) {
	writer := structure("S", cdr.Final, member("s", NewString(0)), member("w", NewWString(0)))
	reader := structure("S", cdr.Final, Member{Name: "s", AutoID: true, Type: NewString(2), TryConstruct: TryConstructTrim},
		Member{Name: "w", AutoID: true, Type: NewWString(2), TryConstruct: TryConstructTrim})
	d := newData(writer)
	require.NoError(t, d.UnmarshalJSON([]byte(`{"s":"aé","w":"a😀"}`)))
	b, err := d.Encode(cdr.CDR2LE)
	require.NoError(t, err)
	got, err := Decode(reader, b)
	require.NoError(t, err)
	require.Equal(t, []any{"a", "a"}, []any{get(t, got, "s"), get(t, got, "w")})
}

// The work of compiling a path is bounded: a type that doubles at each level has more members than there is time for.
func TestAccessorOfTypeThatDoubles(t *testing.T) {
	typ := structure("L0", cdr.Final, member("a", long))
	for i := range 60 {
		typ = structure(fmt.Sprintf("L%d", i+1), cdr.Final, member("a", typ), member("b", typ))
	}
	path, err := structure("Top", cdr.Final, member("all", typ), member("last", long)).Path("last")
	require.NoError(t, err)
	_, err = NewAccessor(path)
	require.NoError(t, err)
}

// Random values keep to the bounds of their types, and end.
func TestRandomKeepsToBounds(t *testing.T) {
	always := func() uint64 { return 3 }
	typ := structure("S", cdr.Final, member("q", sequence(long, 2)), member("m", mapOf(Primitive(TKUint8), long, 2)))
	rng := rand.New(rand.NewSource(1))
	for range 100 {
		_, err := Random(rng.Uint64, typ).Encode(cdr.CDR2LE)
		require.NoError(t, err)
	}
	tree := Forward("Tree")
	Must(Build(TypeDescriptor{Kind: TKUnion, Name: "Tree", Forward: tree, Discriminator: Member{Type: long}, Members: []Member{
		kase("leaf", long, 0), kase("fork", structure("Fork", cdr.Appendable, member("left", tree), member("right", tree)), 3)}}))
	_, err := Random(always, tree).Encode(cdr.CDR2LE)
	require.NoError(t, err)
}

func TestSetAndGet(t *testing.T) {
	typ := everything(cdr.Appendable)
	d, err := NewData(typ)
	require.NoError(t, err)
	require.Equal(t, []any{"", nil, int32(-3), nil, []uint8{}}, []any{get(t, d, "id"), get(t, d, "q5"), get(t, d, "m2"), get(t, d, "o5.d"), get(t, d, "m7")})
	for path, v := range map[string]any{"id": "x", "q5": 9, "m2": "GREEN", "o5.d": 2.5, "m6.n": 4, "m15[1][0]": 8, "m3": 513, "m19": map[int]int{1: 2}, "m17[1].s": "deep"} {
		require.NoError(t, d.Set(path, v), path)
	}
	require.Equal(t, []any{"x", int64(9), int32(7), 2.5, int32(4), int32(7), 8.0, uint64(513), map[int32]float64{1: 2}, "deep"},
		[]any{get(t, d, "id"), get(t, d, "q5"), get(t, d, "m2"), get(t, d, "o5.d"), get(t, d, "m6.n"), get(t, d, "m6._d"), get(t, d, "m15[1][0]"), get(t, d, "m3"), get(t, d, "m19"), get(t, d, "m17[1].s")})
	require.Nil(t, get(t, d, "m6.rest"), "a member that is not selected")
	require.NoError(t, d.Set("q5", nil))
	require.Nil(t, get(t, d, "q5"))
	for path, c := range map[string]struct {
		v    any
		want string
	}{
		"id":        {"longer than twelve", "xtypes: EverythingA.id: string of 18 bytes exceeds its bound of 12"},
		"m2":        {"PINK", `xtypes: EverythingA.m2: "PINK" is no enumerator of Color`},
		"m7":        {make([]byte, 10), "xtypes: EverythingA.m7: sequence of 10 elements exceeds its bound of 9"},
		"m14":       {[]int{1}, "xtypes: EverythingA.m14: 1 elements are not the 3 of int32[3]"},
		"m8[0]":     {1, `xtypes: path "m8[0]": the sequence has 0 elements, none at index 0`},
		"m5":        {newData(everything(cdr.Final)), "xtypes: EverythingA.m5: a EverythingF is no InA"},
		"m3":        {1 << 10, "xtypes: EverythingA.m3: 1024 is not in the range of Mask"},
		"":          {1, "xtypes: the path is empty: name a member of EverythingA"},
		"m9":        {[]string{"RED", "x"}, `xtypes: EverythingA.m9: element 1: "x" is no enumerator of Color`},
		"m12":       {[]any{nil}, "xtypes: EverythingA.m12: element 0: <nil> is no value of sequence<int32>"},
		"m21":       {map[int]any{1: nil}, "xtypes: EverythingA.m21: key 1: <nil> is no value of sequence<octet>"},
		"m20":       {map[string]int{"k": 1}, "xtypes: EverythingA.m20: key k: int is no value of InA"},
		"m6._d":     {nil, "xtypes: ChA._d: a discriminator has a value"},
		"m19[0]":    {1, `xtypes: path "m19[0]": m19 is a map<int32, double>: paths do not reach into maps`},
		"m16[1]":    {3, "xtypes: path \"m16[1]\": 3 is no enumerator of Color"},
		"p11":       {"x", "xtypes: EverythingA.p11: string is no value of long double"},
		"m5.nobody": {1, `xtypes: path "m5.nobody": m5 is a InA: it has no member "nobody"; it has o, d, s`},
	} {
		require.EqualError(t, d.Set(path, c.v), c.want)
	}
}

func TestFloat128(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	for i := range 10000 {
		f := math.Float64frombits(rng.Uint64())
		if i < 100 {
			f = math.Float64frombits(rng.Uint64() >> 12) // subnormal
		}
		got := Float128From(f).Float64()
		require.True(t, got == f || math.IsNaN(got) && math.IsNaN(f), "%v %v", f, got)
	}
	for _, f := range []float64{0, math.Copysign(0, -1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		require.Equal(t, math.Float64bits(f), math.Float64bits(Float128From(f).Float64()))
	}
	one := Float128From(1)
	one[0] = 1 // the last of 113 bits
	require.Equal(t, 1.0, one.Float64(), "rounded")
}

// A bit that belongs to no field would be lost in JSON and in encoding, and yet make a difference.
func TestBitsetHasNoStrayBits(t *testing.T) {
	d, err := NewData(Must(Build(TypeDescriptor{Kind: TKStructure, Name: "S", Members: []Member{{Name: "bits", Type: testBits}}})))
	require.NoError(t, err)
	require.NoError(t, d.Set("bits", 7|1<<10))
	require.ErrorContains(t, d.Set("bits", 9), "9 has bits 0x8, which no field of Bits has")
	require.ErrorContains(t, d.UnmarshalJSON([]byte(`{"bits": 8}`)), "bits 0x8")
}
