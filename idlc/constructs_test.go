package idlc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/omg-dds-go/dds/internal/viewtest"
)

func item(set func(m *ct.Item)) *ct.Item {
	m := new(ct.Item)
	set(m)
	return m
}

// TestConstructVectors compares with encodings worked out by hand from XTypes 1.3 §7.4.1 and §7.4.3.
func TestConstructVectors(t *testing.T) {
	loosely := new(ct.Loosely)
	loosely.SetText("ab")
	choice := new(ct.Choice)
	choice.SetOther(1.5)
	for _, c := range []struct {
		name  string
		value cdr.Message
		enc   cdr.Encapsulation
		want  string
	}{
		{"union", item(func(m *ct.Item) { m.SetReal(1.5) }), cdr.DCDR2LE, `
			0009 0000
			0c000000              # DHEADER
			01000000              # the first of two labels
			000000000000f83f`},
		{"union", item(func(m *ct.Item) { m.SetReal(1.5) }), cdr.CDRBE, `
			0000 0000
			00000001
			00000000              # padding to 8
			3ff8000000000000`},
		{"union with a member of variable size", item(func(m *ct.Item) { m.SetText("ab") }), cdr.DCDR2BE, `
			0008 0001
			0000000b
			00000002
			00000003 616200
			00`},
		{"union without a member", item(func(m *ct.Item) { _ = m.SetDiscriminator(99) }), cdr.DCDR2LE, `
			0009 0000
			04000000
			63000000`},
		{"default branch", choice, cdr.CDR2LE, `
			0007 0000
			01000000              # GREEN, the first enumerator that is no label
			000000000000f83f`},
		{"mutable union", loosely, cdr.PLCDR2LE, `
			000b 0001
			13000000              # 19 bytes
			00000080 62           # the discriminator: id 0, must be understood, one byte
			000000
			204e0050              # id 20000, the length of the string is that of the member
			03000000 616200
			00`},
		{"mutable union", loosely, cdr.PLCDRLE, `
			0003 0000
			0040 0100 62
			000000
			017f 0800 204e0000 07000000
			03000000 616200
			00
			027f 0000`},
		{"map of primitives", &ct.Maps{Numbers: map[int32]float64{2: 1, -1: 2}}, cdr.DCDR2LE, `
			0009 0000
			60000000
			00000000              # id
			02000000              # numbers: no DHEADER
			ffffffff 0000000000000040
			02000000 000000000000f03f
			04000000 00000000     # words: a DHEADER, for the keys are strings
			04000000 00000000
			04000000 00000000
			04000000 00000000
			04000000 00000000
			04000000 00000000
			04000000 00000000
			04000000 00000000`},
		{"map", &ct.LooseMaps{Bits: map[string]ct.Bits{"a": {A: 5, Flag: true, SignedPart: -2, Wide: 0x1ff}}}, cdr.PLCDR2LE, `
			000b 0000
			60000000
			00000040              # numbers: no DHEADER to share
			04000000 00000000
			01000050              # bits: its DHEADER is the length
			10000000 01000000
			02000000 6100 0000
			0dfeff1f              # 9 bits, 12 bits, a gap of 4, 1 bit, 3 bits
			02000010 0000 0000    # access: 2 bytes
			03000030 0000000000000000
			04000020 00000000     # packed
			05000040 0c000000
			08000000 00000000 00000000
			06000050 04000000 00000000`},
		{"numbers", &ct.Numbers{Mark: 1, Big: cdr.LongDoubleOf(1), Price: cdr.MustFixed("-12.5")}, cdr.CDR2LE, `
			0007 0000
			01 000000
			0000000000000000000000000000ff3f
			01250d                # fixed<5, 2>
			0000000000000000000000000000000c
			0c
			00000000              # bigs: aligned to 4 already
			0000000000000000000000000000000000000000000000000000000000000000
			0000000000000000000000000000000000000000000000000000000000000000
			04000000 00000000     # prices
			00000c 00             # key
			00000000000000000000000000000000`},
		{"large bitmask", &ct.Bitty{Access: ct.AccessRead | ct.AccessExecute, Small: ct.SmallC, Large: ct.LargeHigh, Mark: 7}, cdr.CDRLE, `
			0001 0000
			8100 04
			0000000000            # padding to 8
			0000000001000000
			07 000000
			00000000
			00000000
			000000
			00
			00000000
			00000000
			00000000 00000000
			00000000`},
	} {
		t.Run(c.name+" "+c.enc.String(), func(t *testing.T) {
			want := hexBytes(t, c.want)
			got, err := cdr.Marshal(c.value, c.enc)
			require.NoError(t, err)
			require.Equal(t, want, got)
			back := reflect.New(reflect.TypeOf(c.value).Elem()).Interface().(cdr.Message)
			require.NoError(t, cdr.Unmarshal(want, back))
			again, err := cdr.Marshal(back, c.enc)
			require.NoError(t, err)
			require.Equal(t, want, again)
		})
	}
}

func TestUnionKeepsItsDiscriminator(t *testing.T) {
	var m ct.Item
	n, ok := m.Number()
	require.True(t, ok, "the zero value holds what zero selects")
	require.Zero(t, n)
	m.SetReal(2.5)
	require.EqualValues(t, 1, m.Discriminator())
	require.NoError(t, m.SetDiscriminator(-1), "a label of the same member")
	r, ok := m.Real()
	require.True(t, ok)
	require.Equal(t, 2.5, r)
	require.EqualError(t, m.SetDiscriminator(2), "discriminator 2 of Item selects another member than -1")
	_, ok = m.Text()
	require.False(t, ok)
	require.NoError(t, m.SetDiscriminator(77))
	_, ok = m.Real()
	require.False(t, ok, "77 selects nothing")

	b := ct.NewItemBuilder(make([]byte, 64))
	b.SetDiscriminator(3)
	_, err := b.Finish()
	require.EqualError(t, err, "cdr: build constructs::Item.discriminator: it selects a member, which has to be set")

	for text, want := range map[string]string{
		`{"_d":-1,"real":1}`:    "",
		`{"real":1}`:            "",
		`{"_d":50}`:             "",
		`{"_d":2,"real":1}`:     `discriminator 2 of Item does not select member "real"`,
		`{"nothing":1}`:         `Item has no member "nothing"`,
		`{"real":1,"number":2}`: "a union holds one member, not 2",
		`{"real":null}`:         "real: a member of a union is not null",
	} {
		var u ct.Item
		err := json.Unmarshal([]byte(text), &u)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
		}
	}
}

func TestDefaults(t *testing.T) {
	want := ct.Newer{ID: 3, Height: 7, All: *ct.NewDefaulted(), Name: "x"}
	require.Equal(t, ct.Defaulted{Five: 5, Text: "abc", Yes: true, Ranged: 1.5, Low: 3, Color: ct.ColorGreen}, want.All)
	for _, enc := range []cdr.Encapsulation{cdr.DCDR2LE, cdr.CDRBE} {
		sample, err := cdr.Marshal(&ct.Older{ID: 3}, enc)
		require.NoError(t, err)
		got := ct.Newer{Height: 9, Name: "left", Maybe: cdr.Ptr(int32(1))}
		require.NoError(t, cdr.Unmarshal(sample, &got))
		require.Equal(t, want, got)
		v, err := ct.NewNewerView(sample)
		require.NoError(t, err)
		require.EqualValues(t, 7, v.Height())
		require.Equal(t, "x", v.Name())
		require.EqualValues(t, 5, v.All().Five())
		_, there := v.Maybe()
		require.False(t, there)
	}
	for _, enc := range []cdr.Encapsulation{cdr.PLCDR2LE, cdr.PLCDRBE} {
		sample, err := cdr.Marshal(&ct.OlderLoose{ID: 3}, enc)
		require.NoError(t, err)
		var got ct.NewerLoose
		got.Item.SetText("left")
		require.NoError(t, cdr.Unmarshal(sample, &got))
		require.Equal(t, ct.NewerLoose{Height: 7, All: *ct.NewDefaulted(), ID: 3}, got)
		// A newer sample has more than the old type knows of.
		sample, err = cdr.Marshal(&got, enc)
		require.NoError(t, err)
		var old ct.OlderLoose
		require.NoError(t, cdr.Unmarshal(sample, &old))
		require.Equal(t, ct.OlderLoose{ID: 3}, old)
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		change func(m *ct.Defaulted)
		text   string
	}{
		{func(m *ct.Defaulted) {}, ""},
		{func(m *ct.Defaulted) { m.Ranged = 10.5 }, "cdr: marshal constructs::Defaulted.ranged: 10.5 is outside of its range, -10 to 10"},
		{func(m *ct.Defaulted) { m.Low = 0 }, "cdr: marshal constructs::Defaulted.low: 0 is outside of its range, at least 1"},
		{func(m *ct.Defaulted) { m.High = 10 }, "cdr: marshal constructs::Defaulted.high: 10 is outside of its range, at most 9"},
	} {
		m := ct.NewDefaulted()
		c.change(m)
		_, err := cdr.Marshal(m, cdr.CDR2LE)
		if c.text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, cdr.ErrInvalidValue)
		require.EqualError(t, err, c.text)
		_, err = cdr.Marshal(&ct.Newer{All: *m}, cdr.DCDR2LE)
		require.ErrorContains(t, err, "constructs::Newer.all.")
	}
	b := ct.NewDefaultedBuilder(make([]byte, 64))
	b.SetFive(1)
	b.SetText("x")
	b.SetRanged(11)
	_, err := b.Finish()
	require.EqualError(t, err, "cdr: build constructs::Defaulted.ranged: 11 is outside of its range, -10 to 10")
	bits := &ct.Bitty{Bits: ct.Bits{A: 8}}
	_, err = cdr.Marshal(bits, cdr.DCDR2LE)
	require.EqualError(t, err, "cdr: marshal constructs::Bitty.bits.a: 8 does not fit into 3 bits")
	bits.Bits = ct.Bits{SignedPart: -2049}
	_, err = cdr.Marshal(bits, cdr.DCDR2LE)
	require.EqualError(t, err, "cdr: marshal constructs::Bitty.bits.signed_part: -2049 does not fit into 12 bits with its sign")
	words := &ct.Maps{Words: map[string]int32{"abcde": 1}}
	_, err = cdr.Marshal(words, cdr.DCDR2LE)
	require.EqualError(t, err, "cdr: marshal constructs::Maps.words[abcde]: string of 5 bytes exceeds its bound of 4")
}

// TestTryConstruct reads what the reader's type cannot hold.
func TestTryConstruct(t *testing.T) {
	sent := func() *ct.Sent {
		return &ct.Sent{Text: "aüb€", Wide: "ab😀", Blob: []byte{1, 2, 3}, Words: []string{"a", "abcd"}, Picks: []int32{1, 2, 3}, Named: "long",
			Strict: ct.StrictSent{Text: "long", Tail: 7}, Many: []ct.StrictSent{{Text: "ok", Color: 1, Tail: 1}, {Text: "x", Color: 9, Tail: 2}, {Text: "y"}},
			Table: map[int32]string{1: "ok", 2: "long"}, Tail: 5, Maybe: cdr.Ptr("long"), Color: 7, Last: "ok",
			Pairs: map[int32]string{1: "a", 2: "b", 3: "c"}, Firsts: []ct.StrictSent{{Text: "ok"}, {Text: "longer"}},
			Stricts: map[int16]ct.StrictSent{1: {Text: "longer"}, 2: {Text: "ok"}}, Rows: [][]int32{{1, 2, 3}, {4}},
			Loose: ct.LooseSent{A: 1, B: cdr.Ptr(int32(2))}}
	}
	want := ct.Received{Text: "aü", Wide: "ab", Blob: []byte{1, 2}, Words: []string{"a", "abc"}, Named: "no",
		Strict: ct.Strict{Color: ct.ColorBlue}, Many: []ct.Strict{{Text: "ok", Color: 1, Tail: 1}, {Color: ct.ColorBlue}, {Text: "y"}},
		Table: map[int32]string{1: "ok", 2: ""}, Tail: 5, Color: ct.ColorBlue, Last: "ok",
		Pairs: map[int32]string{1: "a", 2: "b"}, Firsts: []ct.Strict{{Text: "ok"}}, Stricts: map[int16]ct.Strict{1: {Color: ct.ColorBlue}},
		Rows: [][]int32{{1, 2}, {4}}}
	for _, enc := range []cdr.Encapsulation{cdr.DCDR2LE, cdr.DCDR2BE, cdr.CDRLE, cdr.CDRBE} {
		t.Run(enc.String(), func(t *testing.T) {
			sample, err := cdr.Marshal(sent(), enc)
			require.NoError(t, err)
			var got ct.Received
			require.NoError(t, cdr.Unmarshal(sample, &got))
			require.Equal(t, want, got)
			v, err := ct.NewReceivedView(sample)
			require.NoError(t, err)
			require.Equal(t, "aü", v.Text())
			require.Equal(t, "no", v.Named())
			require.EqualValues(t, 5, v.Tail())
			require.Equal(t, "ab", v.Wide().String())
			require.Equal(t, "abc", v.Words().At(1))
			require.Equal(t, "ok", v.Many().At(0).Text())
			require.Equal(t, "y", v.Many().At(2).Text())
			for name, read := range map[string]any{"pairs": v.Pairs(), "firsts": v.Firsts(), "stricts": v.Stricts(), "rows": v.Rows(), "words": v.Words(), "table": v.Table(), "blob": v.Blob()} {
				viewtest.Same(t, name, reflect.ValueOf(read), reflect.ValueOf(got).FieldByName(strings.ToUpper(name[:1])+name[1:]))
			}
			tabled, ok := v.Table().Get(2)
			require.True(t, ok)
			require.Equal(t, "", tabled)
			require.Equal(t, "ok", v.Last())
			bad := sent()
			bad.Last = "long"
			sample, err = cdr.Marshal(bad, enc)
			require.NoError(t, err)
			require.EqualError(t, cdr.Unmarshal(sample, &got), "cdr: unmarshal constructs::Received.last: string of 4 bytes exceeds its bound of 3")
		})
	}
}

// TestTryConstructInUnions does the same in a union; views agree with what Unmarshal makes of it.
func TestTryConstructInUnions(t *testing.T) {
	for _, enc := range []cdr.Encapsulation{cdr.DCDR2LE, cdr.CDRBE} {
		var sent ct.SentChoice
		sent.SetText("aüb")
		sample, err := cdr.Marshal(&sent, enc)
		require.NoError(t, err)
		var got ct.ReceivedChoice
		require.NoError(t, cdr.Unmarshal(sample, &got))
		text, ok := got.Text()
		require.True(t, ok)
		require.Equal(t, "aü", text)
		v, err := ct.NewReceivedChoiceView(sample)
		require.NoError(t, err)
		text, ok = v.Text()
		require.True(t, ok)
		require.Equal(t, "aü", text)

		sent.SetPicks([]int32{1, 2, 3})
		sample, err = cdr.Marshal(&sent, enc)
		require.NoError(t, err)
		require.NoError(t, cdr.Unmarshal(sample, &got))
		picks, ok := got.Picks()
		require.True(t, ok)
		require.Empty(t, picks)
		v, err = ct.NewReceivedChoiceView(sample)
		require.NoError(t, err)
		read, ok := v.Picks()
		require.True(t, ok)
		require.Zero(t, read.Len())
	}
}

func TestConstructKeys(t *testing.T) {
	choice := new(ct.Choice)
	choice.SetSmall(9)
	loose := &ct.Loose{ID: 0x01020304, Zone: "z"}
	for _, c := range []struct {
		name string
		m    cdr.Message
		key  string
	}{
		{"discriminator", choice, "00000000"},
		{"a union within", &ct.Holder{Choice: *choice}, "00000000"},
		{"mutable, by id", loose, "01020304 00000002 7a00"},
		{"bitmask and bitset", &ct.Bitty{Access: ct.AccessWrite, ID: ct.Bits{A: 1}}, "0002 0000 00000001"},
		{"fixed and long double", &ct.Numbers{Key: cdr.MustFixed("12.34"), ID: cdr.LongDoubleOf(1)}, "01234c 00 3fff0000000000000000000000000000"},
	} {
		key, err := cdr.MarshalKey(nil, c.m)
		require.NoError(t, err)
		require.Equal(t, hexBytes(t, c.key), key, c.name)
	}
}

// TestConstructsAllocateNothing encodes, builds and views.
func TestConstructsAllocateNothing(t *testing.T) {
	h := &ct.Holder{More: make([]ct.Loosely, 2), Many: make([]ct.Item, 2)}
	loose := &ct.Loose{Text: "abc", Blob: []byte{1, 2}, Height: cdr.Ptr(1.5), Labels: make([]ct.Label, 2), Names: &[]string{"a", "b"}}
	maybe := &ct.MaybeFinal{Height: cdr.Ptr(2.5), Name: cdr.Ptr("abc"), Labels: &[]ct.Label{{Text: "x"}}}
	maps := &ct.Maps{Numbers: map[int32]float64{1: 2, 3: 4}, Words: map[string]int32{"a": 1, "b": 2}, Labels: map[ct.Color]ct.Label{1: {Text: "x"}},
		Nested: map[int32]map[string]bool{1: {"x": true, "y": false}, 2: {"z": true}}}
	bitty := &ct.Bitty{List: []ct.Access{1, 2}, Packed: make([]ct.Bits, 3)}
	buf := make([]byte, 1024)
	for _, m := range []cdr.Message{h, loose, maybe, maps, bitty} {
		for _, enc := range encapsulations(m.CDRType()) {
			_, err := cdr.MarshalTo(buf, m, enc)
			require.NoError(t, err)
			require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = cdr.MarshalTo(buf, m, enc) }), "%T %s", m, enc)
			require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = cdr.Size(m, enc) }), "%T %s", m, enc)
		}
	}
	sample, err := cdr.Marshal(loose, cdr.PLCDR2LE)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		v, err := ct.NewLooseView(sample)
		if err != nil {
			t.Error(err)
		}
		height, _ := v.Height()
		names, _ := v.Names()
		sink = int(height) + len(v.Text()) + v.Labels().Len() + int(v.Labels().At(1).Weight()) + names.Len() + len(v.Label().Text())
	}))
	sample, err = cdr.Marshal(h, cdr.DCDR2LE)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		v, err := ct.NewHolderView(sample)
		if err != nil {
			t.Error(err)
		}
		n, _ := v.Item().Number()
		for _, item := range v.Many().All() {
			n += item.Discriminator()
		}
		sink = int(n)
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b := ct.NewNewerLooseBuilder(buf)
		b.SetID(1)
		b.SetHeight(2)
		b.SetAll(&defaulted)
		b.SetItem(&h.Item)
		if _, err := b.Finish(); err != nil {
			t.Error(err)
		}
		u := ct.NewItemBuilder(buf)
		u.SetText("abc")
		if _, err := u.Finish(); err != nil {
			t.Error(err)
		}
	}))
}

var defaulted = *ct.NewDefaulted()

// TestMustUnderstand refuses what an old type must not ignore.
func TestMustUnderstand(t *testing.T) {
	for _, enc := range []cdr.Encapsulation{cdr.PLCDR2LE, cdr.PLCDRLE} {
		sample, err := cdr.Marshal(&ct.Loose{}, enc)
		require.NoError(t, err)
		require.ErrorIs(t, cdr.Unmarshal(sample, &ct.Nothing{}), cdr.ErrNotUnderstood)
	}
}

// TestDeepChain stops at the depth limit, in either direction.
func TestDeepChain(t *testing.T) {
	m := &ct.Chain{}
	for range cdr.MaxDepth + 1 {
		m = &ct.Chain{Next: m}
	}
	_, err := cdr.Marshal(m, cdr.DCDR2LE)
	require.ErrorIs(t, err, cdr.ErrDepth)
	var b bytes.Buffer
	b.Write([]byte{0, 1, 0, 0}) // XCDR1 has no lengths to nest
	for range 200 {
		b.Write([]byte{1, 0, 0, 0, 0x01, 0x7f, 8, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0})
	}
	require.Error(t, cdr.Unmarshal(b.Bytes(), &ct.Chain{}))
}

// TestUnionMemberCalledDefaults keeps the setter of such a member apart from the method that sets defaults.
func TestUnionMemberCalledDefaults(t *testing.T) {
	files, report := compileText("enum E { @value(1) A }; union U switch (E) { case A: long defaults; };")
	require.False(t, report.Failed(), "%s", report)
	code := string(files[0].Content)
	require.Contains(t, code, "func (m *U) SetDefaults() ")
	require.Contains(t, code, "func (m *U) SetDefaults_(v int32) ")
}

func TestVerbatim(t *testing.T) {
	text := `@verbatim(language="go", placement=BEFORE_DECLARATION, text="const before = 1")
@verbatim(language="go", placement=AFTER_DECLARATION, text="const after = 2")
@verbatim(language="c++", placement=AFTER_DECLARATION, text="int x;")
struct S { long a; };`
	files, report := compileText(text)
	require.False(t, report.Failed(), "%s", report)
	code := string(files[0].Content)
	require.Regexp(t, `(?s)const before = 1\n.*type S struct .*const after = 2\n`, code)
	require.NotContains(t, code, "int x;")
	files, report = compileText(`struct R { long a; };
@verbatim(placement=BEFORE_DECLARATION, text="// For everybody.\nvar all = 1") @verbatim(language="*", text="#include <x.h>") @verbatim(language="go", placement=BEGIN_FILE, text="const first = 1")
@verbatim(language="Go", placement=END_FILE, text="const last = 1") @verbatim(language="go", placement=BEGIN_DECLARATION, text="x int") @verbatim(text="// A comment.")
struct S { @verbatim("x") long a; };
struct T { long a; };`)
	require.False(t, report.Failed(), "%s", report)
	require.Regexp(t, `(?s)const first = 1\n.*type R struct .*// For everybody.\nvar all = 1\n.*// A comment.\n.*type S struct .*type T struct.*const last = 1\n$`, string(files[0].Content))
	require.NotContains(t, string(files[0].Content), "x.h")
	require.Contains(t, report.String(), "warning: @verbatim of S is for all languages and no Go: it is left out; give it a language, as in language=\"c++\"")
	require.Contains(t, report.String(), "warning: @verbatim of S is left out: Go code has no place for BEGIN_DECLARATION")
	require.Contains(t, report.String(), "warning: @verbatim of member a is left out: Go code has no place for it")
	_, report = compileText(`@verbatim(language="go", text="func {") struct S { long a; };`)
	require.Contains(t, report.String(), "the Go code with the @verbatim text of S does not parse")
}

// TestMutableBuilderInSteps sets numbers, strings and sequences of a mutable struct, which have short ways of their
// own, where these do not hold: no room, a bound, a character that no string has, a second value.
func TestMutableBuilderInSteps(t *testing.T) {
	set := func(b *ct.LooseBuilder) {
		b.SetDoubles([]float64{1, 2})
		b.SetShorts([]int16{3, 4, 5})
		b.SetO(6)
		b.SetD(7)
		b.SetS(8)
		b.SetText("12345678")
		b.SetBlob(nil)
		b.SetLongs([]int32{9})
		b.SetID(10)
	}
	whole := make([]byte, 256)
	b := ct.NewLooseBuilder(whole)
	set(&b)
	_, err := b.Finish()
	require.ErrorContains(t, err, "cdr: build constructs::Loose.") // others are missing
	require.ErrorContains(t, err, "not set")

	size := 0
	for n := range 200 { // until there is room
		b := ct.NewLooseBuilder(make([]byte, n))
		set(&b)
		if _, err = b.Finish(); !errors.Is(err, cdr.ErrShortBuffer) {
			size = n
			break
		}
		require.ErrorContains(t, err, fmt.Sprintf("buffer has %d bytes", n))
	}
	require.Equal(t, 128, size, err) // by hand: §7.4.3.4.2

	height := 1.5
	for _, c := range []struct {
		set  func(b *ct.LooseBuilder)
		want string
	}{
		{func(b *ct.LooseBuilder) { b.SetText("123456789") }, "cdr: build constructs::Loose.text: string of 9 bytes exceeds its bound of 8"},
		{func(b *ct.LooseBuilder) { b.SetText("a\x00b") }, "text: "},
		{func(b *ct.LooseBuilder) { b.SetO(1); b.SetO(1) }, "o: set twice; a member is set once"},
		{func(b *ct.LooseBuilder) { b.SetShorts(nil); b.SetShorts(nil) }, "shorts: set twice; a member is set once"},
		{func(b *ct.LooseBuilder) { b.SetHeight(&height); b.SetHeight(nil) }, "height: set twice; a member is set once"},
	} {
		b := ct.NewLooseBuilder(whole)
		c.set(&b)
		_, err := b.Finish()
		require.ErrorContains(t, err, c.want)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b := ct.NewLooseBuilder(whole)
		set(&b)
	}))
}
