package cdr

import (
	"encoding/hex"
	"strings"
	"testing"
)

func sampleTrack() *track {
	return &track{Kind: 7, Icao: "ab", At: fix{1.5, 3}, Past: []fix{{-2, 4}, {0.5, 5}}, Raw: []int32{1, -2}}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(s))
	noError(t, err)
	return b
}

// vectors are worked out by hand from XTypes 1.3 §7.4.3.
var vectors = map[Encapsulation]string{
	DCDR2LE: `0009 0000
		44000000               DHEADER 68
		07 000000              kind, padding to 4
		03000000 616200        icao
		00                     padding to 4
		000000000000f83f 03    at
		000000                 padding
		19000000               DHEADER of past: 25
		02000000
		00000000000000c0 04 000000
		000000000000e03f 05
		000000                 padding
		02000000 01000000 feffffff`,
	DCDR2BE: `0008 0000
		00000044
		07 000000
		00000003 616200
		00
		3ff8000000000000 03
		000000
		00000019
		00000002
		c000000000000000 04 000000
		3fe0000000000000 05
		000000
		00000002 00000001 fffffffe`,
	CDRLE: `0001 0000
		07 000000
		03000000 616200
		0000000000             padding to 8
		000000000000f83f 03
		000000
		02000000
		00000000000000c0 04 00000000000000
		000000000000e03f 05
		000000
		02000000 01000000 feffffff`,
	CDRBE: `0000 0000
		07 000000
		00000003 616200
		0000000000
		3ff8000000000000 03
		000000
		00000002
		c000000000000000 04 00000000000000
		3fe0000000000000 05
		000000
		00000002 00000001 fffffffe`,
}

// vector strips the remarks.
func vector(t testing.TB, enc Encapsulation) []byte {
	var digits strings.Builder
	for line := range strings.Lines(vectors[enc]) {
		for _, word := range strings.Fields(line) {
			if strings.Trim(word, "0123456789abcdef") != "" || len(word)%2 != 0 {
				break
			}
			digits.WriteString(word)
		}
	}
	return unhex(t, digits.String())
}

func TestVectors(t *testing.T) {
	for enc := range vectors {
		t.Run(enc.String(), func(t *testing.T) {
			want := vector(t, enc)
			n, err := Size(sampleTrack(), enc)
			noError(t, err)
			equal(t, len(want), n)
			buf := make([]byte, n+5)
			for i := range buf {
				buf[i] = 0xee
			}
			n, err = MarshalTo(buf, sampleTrack(), enc)
			noError(t, err)
			equal(t, hex.EncodeToString(want), hex.EncodeToString(buf[:n]))
			equal(t, byte(0xee), buf[n]) // nothing behind the sample is touched

			var got track
			noError(t, Unmarshal(want, &got))
			equal(t, sampleTrack(), &got)

			key, err := KeyFromSample(nil, (*track)(nil), want)
			noError(t, err)
			equal(t, unhex(t, "00000003 616200"), key)
			key, err = MarshalKey(nil, &got)
			noError(t, err)
			equal(t, unhex(t, "00000003 616200"), key)
		})
	}
}

func TestCutAtEveryByte(t *testing.T) {
	for enc := range vectors {
		whole := vector(t, enc)
		for n := range whole {
			var got track
			err := Unmarshal(whole[:n], &got)
			if !enc.XCDR2() && err == nil {
				continue // XCDR1 has no DHEADER: cut between members is an older version
			}
			if err == nil {
				t.Errorf("%s cut at %d", enc, n)
			}
		}
		for n := range whole {
			buf := make([]byte, n)
			_, err := MarshalTo(buf, sampleTrack(), enc)
			fails(t, err, ErrShortBuffer, "")
		}
	}
}

func TestKeyHash(t *testing.T) {
	key, err := MarshalKey(nil, sampleTrack())
	noError(t, err)
	equal(t, KeyHash(unhex(t, "00000003616200 000000000000000000")), HashKey(trackType, key))
	long := *trackType
	long.MaxKeySize = 17
	// echo -n 00000003616200 | xxd -r -p | md5sum
	equal(t, "186594b7205d08ac2ff8e1ac47fb4b2a", hex.EncodeToString(func() []byte { h := HashKey(&long, key); return h[:] }()))
}

func TestKeyMessage(t *testing.T) {
	buf := make([]byte, 32)
	n, err := MarshalKeyTo(buf, sampleTrack())
	noError(t, err)
	equal(t, unhex(t, "0007 0001 03000000 616200 00"), buf[:n])
	got := track{Kind: 9}
	noError(t, UnmarshalKey(buf[:n], &got))
	equal(t, track{Kind: 9, Icao: "ab"}, got)
}

func TestAppendable(t *testing.T) {
	t.Run("missing members are zero, extra ones skipped", func(t *testing.T) {
		got := track{Raw: []int32{9}, Past: []fix{{1, 1}}, At: fix{3, 4}}
		noError(t, Unmarshal(unhex(t, "0009 0000 0b000000 07 000000 03000000 616200 00"), &got))
		equal(t, track{Kind: 7, Icao: "ab", Past: []fix{}, Raw: []int32{}}, got)

		whole := vector(t, DCDR2LE)
		longer := append(append([]byte{}, whole...), 1, 2, 3, 4)
		longer[4] += 4
		noError(t, Unmarshal(longer, &got))
		equal(t, *sampleTrack(), got)
	})
	t.Run("but not in the middle of a member", func(t *testing.T) {
		var got track
		err := Unmarshal(unhex(t, "0009 0000 14000000 07 000000 03000000 616200 00 000000000000f83f"), &got)
		fails(t, err, ErrTruncated, "test::track.at.quality")
	})
}

func TestErrors(t *testing.T) {
	deep := chain{}
	for range MaxDepth + 1 {
		deep = chain{Next: []chain{deep}}
	}
	long := sampleTrack()
	long.Icao = "123456789"
	many := sampleTrack()
	many.Past = make([]fix, 5)
	nul := sampleTrack()
	nul.Icao = "a\x00b"
	for _, c := range []struct {
		name string
		m    Message
		enc  Encapsulation
		is   error
		text string
	}{
		{"string bound", long, DCDR2LE, ErrBound, "cdr: marshal test::track.icao: string of 9 bytes exceeds its bound of 8"},
		{"sequence bound", many, CDRLE, ErrBound, "cdr: marshal test::track.past: sequence of 5 elements exceeds its bound of 4"},
		{"NUL", nul, CDRLE, ErrInvalidValue, "cdr: marshal test::track.icao: string has a NUL at byte 1 of 3"},
		{"encapsulation", long, CDR2LE, ErrEncapsulation, "cdr: test::track: CDR2_LE does not carry a type that is appendable"},
		{"depth", &deep, CDR2LE, ErrDepth, "nested more than 128 levels deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Marshal(c.m, c.enc)
			fails(t, err, c.is, c.text)
		})
	}
	for _, c := range []struct {
		name, in string
		m        Message
		is       error
		text     string
	}{
		{"header", "0009", &track{}, ErrTruncated, "2 bytes are no encapsulation header"},
		{"padding", "0009 0003 0000", &track{}, ErrMalformed, "3 padding bytes announced, 2 bytes present"},
		{"mutable", "000b 0000", &track{}, ErrEncapsulation, "PL_CDR2_LE does not carry a type that is appendable"},
		{"delimiter", "0009 0000 05000000 07000000", &track{}, ErrTruncated, "delimiter announces 5 bytes at offset 8, 4 present"},
		{"no NUL", "0001 0000 07000000 02000000 6161", &track{}, ErrMalformed, "track.icao: string of length 2 does not end in NUL"},
		{"NUL inside", "0001 0000 07000000 03000000 610000", &track{}, ErrMalformed, "track.icao: string of length 3 has a NUL at byte 1"},
		{"string too long", "0001 0000 07000000 0a000000 31323334353637383900", &track{}, ErrBound, "track.icao: string of 9 bytes exceeds its bound of 8"},
		{"string longer than input", "0001 0000 07000000 ffffffff 3132", &track{}, ErrTruncated, "track.icao: length 4294967295 at offset 8, 2 bytes present"},
		{"huge sequence", "0007 0000 00000000 00000000", &fix{}, ErrTruncated, "test::fix.quality: 1 bytes needed at offset 12, 0 present"},
		{"more elements than input", "0007 0000 04000000 ffffffff", &chain{}, ErrTruncated, "chain.next: sequence of 4294967295 elements needs at least 17179869180 bytes, 0 present"},
		{"in an element", "0001 0000 01000000 01000000 02000000", &chain{}, ErrTruncated, "chain.next[0].next[0].next: sequence of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Unmarshal(unhex(t, c.in), c.m)
			fails(t, err, c.is, c.text)
		})
	}
}

func TestWString(t *testing.T) {
	for _, s := range []string{"", "abc", "Zürich", "雲", "a😀b", "�"} {
		for _, enc := range []Encapsulation{CDR2LE, CDR2BE} {
			var e Encoder
			e.start(make([]byte, 64), enc)
			e.WString("s", s, 0)
			noError(t, e.Err())
			var d Decoder
			d.start(e.buf[:e.pos], enc)
			equal(t, s, d.WString("s", 0))
			noError(t, d.Err())
		}
	}
	var e Encoder
	e.start(make([]byte, 64), CDR2LE)
	e.WString("s", "a\xff", 0)
	fails(t, e.Err(), ErrInvalidValue, "")
	e.start(make([]byte, 64), CDR2LE)
	e.WString("s", "😀😀", 3)
	fails(t, e.Err(), ErrBound, "")
	for _, in := range []string{"02000000 3dd8", "04000000 3dd8 3dd8", "02000000 00de", "03000000 414243"} {
		var d Decoder
		b := unhex(t, in)
		d.start(b, CDR2LE)
		equal(t, "", d.WString("s", 0))
		fails(t, d.Err(), ErrMalformed, "")
	}
}

func TestNoAllocation(t *testing.T) {
	m := sampleTrack()
	buf := make([]byte, 256)
	n, err := MarshalTo(buf, m, DCDR2LE)
	noError(t, err)
	key, scratch := make([]byte, 0, 64), make([]byte, 64)
	for name, f := range map[string]func(){
		"Size":          func() { _, _ = Size(m, DCDR2LE) },
		"MarshalTo":     func() { _, _ = MarshalTo(buf, m, DCDR2LE) },
		"MarshalKey":    func() { _, _ = MarshalKey(key, m) },
		"MarshalKeyTo":  func() { _, _ = MarshalKeyTo(scratch, m) },
		"KeyFromSample": func() { _, _ = KeyFromSample(key, (*track)(nil), buf[:n]) },
	} {
		noAllocation(t, name, f)
	}
}
