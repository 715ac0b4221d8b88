package cdr

import (
	"encoding/hex"
	"strings"
	"testing"
)

// loose is written by hand in the shape that idlgen emits:
//
//	@mutable struct loose { @id(1) octet a; @id(2) @must_understand double b; @id(70000) @optional string c; sequence<long> @id(4) d; };
type loose struct {
	A uint8
	B float64
	C *string
	D []int32
}

var looseType = Define(TypeInfo{Name: "test::loose", Extensibility: Mutable, MaxSize: -1, Text: "loose"})

var looseMembers = []uint32{1, 2, 4, 70000}

func (m *loose) CDRType() *TypeInfo { return looseType }

func (m *loose) MarshalCDR(e *Encoder) {
	s := e.Begin(Mutable)
	k := e.BeginMember(1, 0)
	e.Uint8(m.A)
	e.EndMember(k)
	k = e.BeginMember(2|MustUnderstand, 3)
	e.Float64(m.B)
	e.EndMember(k)
	if m.C != nil {
		k = e.BeginMember(70000, 5)
		e.String("c", *m.C, 0)
		e.EndMember(k)
	}
	k = e.BeginMember(4, 6)
	EncodeSequence(e, "d", m.D, 0)
	e.EndMember(k)
	e.End(s)
}

func (m *loose) UnmarshalCDR(d *Decoder) {
	var at [4]Position
	s := d.BeginMutable(looseMembers, at[:])
	d.Select(at[0])
	m.A = d.Uint8("a")
	d.Select(at[1])
	m.B = d.Float64("b")
	if d.Select(at[3]) {
		c := d.String("c", 0)
		m.C = &c
	} else {
		m.C = nil
	}
	d.Select(at[2])
	m.D = DecodeSequence(d, "d", m.D, 0)
	d.End(s)
}

func (m *loose) MarshalKeyCDR(*Encoder)           {}
func (m *loose) UnmarshalKeyCDR(*Decoder)         {}
func (*loose) TranscodeKeyCDR(*Decoder, *Encoder) {}

// maybe has optional members where no header tells the members apart:
//
//	@final struct maybe { octet a; @optional double b; @optional octet c; double d; };
type maybe struct {
	A uint8
	B *float64
	C *uint8
	D float64
}

var maybeType = Define(TypeInfo{Name: "test::maybe", MaxSize: -1, Text: "maybe"})

func (m *maybe) CDRType() *TypeInfo { return maybeType }

func (m *maybe) MarshalCDR(e *Encoder) {
	e.Uint8(m.A)
	if k, ok := e.BeginOptional(1, m.B != nil); ok {
		e.Float64(*m.B)
		e.EndMember(k)
	}
	if k, ok := e.BeginOptional(2, m.C != nil); ok {
		e.Uint8(*m.C)
		e.EndMember(k)
	}
	e.Float64(m.D)
}

func (m *maybe) UnmarshalCDR(d *Decoder) {
	s := d.Begin(Final)
	m.A = d.Uint8("a")
	m.B, m.C = nil, nil
	if k, ok := d.BeginOptional("b", 1); ok {
		m.B = new(float64)
		*m.B = d.Float64("b")
		d.End(k)
	}
	if k, ok := d.BeginOptional("c", 2); ok {
		m.C = new(uint8)
		*m.C = d.Uint8("c")
		d.End(k)
	}
	m.D = d.Float64("d")
	d.End(s)
}

func (m *maybe) MarshalKeyCDR(*Encoder)           {}
func (m *maybe) UnmarshalKeyCDR(*Decoder)         {}
func (*maybe) TranscodeKeyCDR(*Decoder, *Encoder) {}

func ptr[T any](v T) *T { return &v }

// remarked strips everything of a line behind the first word that is not an even number of hexadecimal digits.
func remarked(t testing.TB, text string) []byte {
	var digits strings.Builder
	for line := range strings.Lines(text) {
		for _, word := range strings.Fields(line) {
			if strings.Trim(word, "0123456789abcdef") != "" || len(word)%2 != 0 {
				break
			}
			digits.WriteString(word)
		}
	}
	return unhex(t, digits.String())
}

// memberVectors are worked out by hand from XTypes 1.3 §7.4.1 and §7.4.3.
var memberVectors = []struct {
	name  string
	value Message
	enc   Encapsulation
	want  string
}{
	{"mutable", &loose{A: 1, B: 1.5, C: ptr("xy"), D: []int32{7}}, PLCDR2LE, `000b 0000
		2c000000               DHEADER 44
		01000000 01            A: length code 0
		000000                 padding to 4
		020000b0               B: must understand, length code 3
		000000000000f83f
		70110150               C: id 0x11170, length code 5
		03000000 787900
		00
		04000060               D: length code 6
		01000000 07000000`},
	{"mutable without its optional member", &loose{A: 1, B: 1.5, D: []int32{}}, PLCDR2BE, `000a 0000
		0000001c
		00000001 01
		000000
		b0000002
		3ff8000000000000
		60000004
		00000000`},
	{"parameter list", &loose{A: 1, B: 1.5, C: ptr("xy"), D: []int32{7}}, PLCDRLE, `0003 0000
		0100 0100 01
		000000                 padding to 4
		0240 0800              B: must understand
		000000000000f83f       at offset 12: a parameter begins at an origin of its own
		017f 0800 70110100 07000000
		03000000 787900
		00
		0400 0800
		01000000 07000000
		027f 0000`},
	{"parameter list", &loose{A: 1, B: 1.5, D: []int32{}}, PLCDRBE, `0002 0000
		0001 0001 01
		000000
		4002 0008
		3ff8000000000000
		0004 0004
		00000000
		7f02 0000`},
	{"optional", &maybe{A: 1, B: ptr(1.5), D: 2}, CDR2LE, `0007 0003
		01 01
		0000                   padding to 4
		000000000000f83f
		00
		000000
		0000000000000040
		000000`},
	{"optional", &maybe{A: 1, B: ptr(1.5), C: ptr[uint8](9), D: 2}, CDRLE, `0001 0000
		01
		000000
		0100 0800
		000000000000f83f       at offset 8
		0200 0100
		09
		00 0000                padding to 8: the origin of the value has gone with it
		0000000000000040`},
	{"optional", &maybe{A: 1, D: 2}, CDRBE, `0000 0000
		01
		000000
		0001 0000
		0002 0000
		00000000
		4000000000000000`},
}

func TestMemberVectors(t *testing.T) {
	for _, c := range memberVectors {
		t.Run(c.name+" "+c.enc.String(), func(t *testing.T) {
			want := remarked(t, c.want)
			if c.enc == CDR2LE {
				want = want[:len(want)-3]
				want[3] = 0
			}
			got, err := Marshal(c.value, c.enc)
			noError(t, err)
			equal(t, hex.EncodeToString(want), hex.EncodeToString(got))
			back := Message(&loose{A: 9, B: 9, C: ptr("old"), D: []int32{1, 2, 3}})
			if _, ok := c.value.(*maybe); ok {
				back = &maybe{B: ptr(9.0), C: ptr[uint8](9)}
			}
			noError(t, Unmarshal(got, back))
			equal(t, c.value, back)
			for n := range got {
				if err := Unmarshal(got[:n], back); err == nil {
					t.Errorf("cut at %d of %d", n, len(got))
				}
				_, err := MarshalTo(make([]byte, n), c.value, c.enc)
				fails(t, err, ErrShortBuffer, "")
			}
		})
	}
}

// TestForeignHeaders reads what other implementations write for the same values.
func TestForeignHeaders(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{"length codes that share nothing", "000b 0000 3c000000" +
			"01000040 01000000 01 000000" + "020000c0 08000000 000000000000f83f" +
			"70110140 07000000 03000000 787900 00" + "04000040 08000000 01000000 07000000"},
		{"members in another order", "000b 0000 2c000000 04000060 01000000 07000000" +
			"70110150 03000000 787900 00" + "020000b0 000000000000f83f" + "01000000 01 000000"},
		{"extended headers throughout", "0003 0000" +
			"017f 0800 01000000 01000000 01 000000" + "017f 0800 02000040 08000000 000000000000f83f" +
			"013f 0800 70110100 07000000 03000000 787900 00" + "017f 0800 04000000 08000000 01000000 07000000" + "023f 0000"},
		{"lengths padded to four", "0003 0000 0100 0400 01 000000 0200 0800 000000000000f83f" +
			"013f 0800 70110100 08000000 03000000 787900 00 0400 0800 01000000 07000000 027f 0000"},
		{"ignored and unknown parameters", "0003 0000 033f 0400 ffffffff 0100 0100 01 000000 0200 0800 000000000000f83f 0500 0400 ffffffff 0481 0400 ffffffff" +
			"013f 0800 70110100 07000000 03000000 787900 00 0400 0800 01000000 07000000 027f 0000"},
		{"unknown members", "000b 0000 3c000000 05000000 ff 000000 04000060 01000000 07000000 06000010 ffff 0000" +
			"70110150 03000000 787900 00" + "020000b0 000000000000f83f" + "01000000 01 000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := unhex(t, c.in)
			var got loose
			noError(t, Unmarshal(in, &got))
			equal(t, loose{A: 1, B: 1.5, C: ptr("xy"), D: []int32{7}}, got)
		})
	}
	for _, c := range []struct {
		name, in string
		is       error
		text     string
	}{
		{"unknown and to be understood", "000b 0000 08000000 05000080 00 000000", ErrNotUnderstood, "unmarshal test::loose: member 5 must be understood, and is not known"},
		{"unknown and to be understood", "0003 0000 0540 0400 00000000 027f 0000", ErrNotUnderstood, "member 5 must be understood"},
		{"longer than the list", "000b 0000 08000000 05000040 05000000", ErrTruncated, "member 5 announces 5 bytes at offset 16, 0 present"},
		{"no end", "0003 0000 0100 0100 01 000000", ErrTruncated, "4 bytes needed at offset 12, 0 present"},
		{"odd extended header", "0003 0000 017f 0900 0100000001000000 01", ErrMalformed, "extended header of 9 bytes at offset 4, not 8"},
		{"too short a member", "000b 0000 08000000 02000000 00 000000", ErrTruncated, "test::loose.b: 8 bytes needed at offset 12, 1 present"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fails(t, Unmarshal(unhex(t, c.in), &loose{}), c.is, c.text)
		})
	}
	t.Run("the sentinel of RTPS", func(t *testing.T) {
		for _, one := range []bool{false, true} { // where 1 is no member's id, it ends the list
			var d Decoder
			d.start(unhex(t, "0100 0000 0300 0000 027f 0000"), PLCDRLE)
			_, _, _, more := d.parameter(one)
			equal(t, one, more)
		}
	})
	t.Run("another optional member", func(t *testing.T) {
		fails(t, Unmarshal(unhex(t, "0001 0000 01 000000 0300 0000"), &maybe{}), ErrMalformed, "test::maybe.b: header of member 3 where member 1 is")
	})
}

// TestLongParameter moves a value that is too long for the short header it began with.
func TestLongParameter(t *testing.T) {
	for _, n := range []int{16382, 16383, 16384, 20000} {
		m := &loose{A: 1, B: 2, D: make([]int32, n)}
		m.D[0], m.D[n-1] = 3, 4
		for _, enc := range []Encapsulation{PLCDRLE, PLCDRBE} {
			size, err := Size(m, enc)
			noError(t, err)
			sample, err := Marshal(m, enc)
			noError(t, err)
			equal(t, size, len(sample))
			equal(t, n > 16382, sample[20+HeaderSize]|sample[21+HeaderSize] == 0x7f)
			var back loose
			noError(t, Unmarshal(sample, &back))
			equal(t, m, &back)
			_, err = MarshalTo(make([]byte, size-9), m, enc)
			fails(t, err, ErrShortBuffer, "")
		}
	}
}

func TestMembersAllocateNothing(t *testing.T) {
	buf := make([]byte, 256)
	m := &loose{A: 1, B: 1.5, C: ptr("xy"), D: []int32{7}}
	o := &maybe{A: 1, B: ptr(1.5), D: 2}
	for _, enc := range []Encapsulation{PLCDR2LE, PLCDRLE} {
		noAllocation(t, enc.String(), func() { _, _ = MarshalTo(buf, m, enc) })
	}
	for _, enc := range []Encapsulation{CDR2LE, CDRLE} {
		noAllocation(t, enc.String(), func() { _, _ = MarshalTo(buf, o, enc) })
	}
}

// TestMapKeys sorts, nests, and leaves nothing of a message behind.
func TestMapKeys(t *testing.T) {
	var e Encoder
	e.start(make([]byte, 64), CDR2LE)
	e.keys = new(keyScratch) // not one that another test has left
	numbers := map[int32]string{3: "c", -1: "a", 2: "b"}
	words := map[string]bool{"y": true, "x": false}
	run := func() {
		k := SortedKeys(&e, numbers)
		equal(t, []int32{-1, 2, 3}, *k)
		inner := SortedKeys(&e, map[int32]bool{5: true, 4: true})
		equal(t, []int32{4, 5}, *inner)
		w := SortedKeys(&e, words)
		equal(t, []string{"x", "y"}, *w)
		ReleaseKeys(&e, w)
		equal(t, "", (*w)[:1][0])
		ReleaseKeys(&e, inner)
		ReleaseKeys(&e, k)
	}
	run()
	run()
	equal(t, 3, len(*e.keys))
	noAllocation(t, "sorting again", func() { ReleaseKeys(&e, SortedKeys(&e, words)) })
}

// TestSkippingEndsWhereDecodingDoes: an empty parameter with id 1 ends a list as in RTPS, unless 1 is the id of a member.
func TestSkippingEndsWhereDecodingDoes(t *testing.T) {
	for _, c := range []struct {
		name   string
		ids    []uint32
		sample string
	}{
		{"a member that is absent", []uint32{1, 2}, "0100 0000 0200 0400 00000007 027f 0000 0b"},
		{"the end of RTPS", []uint32{2, 3}, "0200 0400 00000007 0100 0000 0b"},
		{"the end of XTypes", []uint32{2, 3}, "0200 0400 00000007 027f 0000 0b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := remarked(t, c.sample)
			var d Decoder
			d.start(body, PLCDRLE)
			d.SkipMutable(c.ids)
			noError(t, d.Err())
			equal(t, len(body)-1, d.Pos())
			d.start(body, PLCDRLE)
			d.End(d.BeginMutable(c.ids, make([]Position, len(c.ids))))
			noError(t, d.Err())
			equal(t, len(body)-1, d.Pos())
		})
	}
	var d Decoder
	d.start(remarked(t, "0940 0400 00000007 027f 0000"), PLCDRLE)
	d.SkipMutable([]uint32{2})
	noError(t, d.Err()) // what must be understood matters to those who read the value
}
