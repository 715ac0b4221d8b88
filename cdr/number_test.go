package cdr

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func TestLongDouble(t *testing.T) {
	for _, c := range []struct {
		f    float64
		text string
	}{
		{0, "0x00000000000000000000000000000000"},
		{1, "0x3fff0000000000000000000000000000"},
		{-2.5, "0xc0004000000000000000000000000000"},
		{math.Inf(1), "0x7fff0000000000000000000000000000"},
		{math.MaxFloat64, "0x43fefffffffffffff000000000000000"},
		{math.SmallestNonzeroFloat64, "0x3bcd0000000000000000000000000000"},
	} {
		v := LongDoubleOf(c.f)
		text, err := v.MarshalText()
		noError(t, err)
		equal(t, c.text, string(text))
		equal(t, c.f, v.Float64())
		var back LongDouble
		noError(t, back.UnmarshalText(text))
		equal(t, v, back)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		f := math.Float64frombits(rnd.Uint64())
		if back := LongDoubleOf(f).Float64(); math.Float64bits(back) != math.Float64bits(f) && !math.IsNaN(f) {
			t.Fatalf("%g became %g", f, back)
		}
	}
	if !math.IsNaN(LongDoubleOf(math.NaN()).Float64()) {
		t.Error("NaN is none")
	}
	// One third in binary128 is nearest to one third in binary64.
	var third LongDouble
	noError(t, third.UnmarshalText([]byte("0x3ffd5555555555555555555555555555")))
	equal(t, 1.0/3, third.Float64())
	for text, want := range map[string]uint64{ // subnormal numbers, in units of the smallest
		"0x3bcd7fffffffffffffffffffffffffff": 1, // a little less than one and a half
		"0x3bcd8000000000000000000000000000": 2, // a tie: to even
		"0x3bcc0000000000000000000000000000": 0, // a half
		"0x3bcc0000000000000000000000000001": 1,
		"0x3bcbffffffffffffffffffffffffffff": 0,
		"0x3c00ffffffffffffffffffffffffffff": 1 << 52, // the smallest normal number, rounded up
	} {
		var v LongDouble
		noError(t, v.UnmarshalText([]byte(text)))
		equal(t, want, math.Float64bits(v.Float64()))
	}
	for _, enc := range []Encapsulation{CDRLE, CDRBE, CDR2LE, CDR2BE} {
		var e Encoder
		e.start(make([]byte, 32), enc)
		e.Uint8(1)
		e.LongDouble(third)
		equal(t, map[bool]int{true: 20, false: 24}[enc.XCDR2()], e.Len())
		var d Decoder
		d.start(e.buf[:e.pos], enc)
		d.Uint8("")
		equal(t, third, d.LongDouble(""))
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		in, text      string
		digits, scale int
		wire          string // packed, as in CORBA 3.1 part 2 §9.3.2.8
	}{
		{"12.5", "12.5", 5, 2, "01250c"},
		{"-12.50", "-12.5", 4, 2, "01250d"},
		{"0", "0", 1, 0, "0c"},
		{"-0.0", "0", 2, 1, "000c"},
		{"123", "123", 3, 0, "123c"},
		{".25", "0.25", 2, 2, "025c"},
		{"1234567890123456789012345678901", "1234567890123456789012345678901", 31, 0, "1234567890123456789012345678901c"},
		{"0.1234567890123456789012345678901", "0.1234567890123456789012345678901", 31, 31, "1234567890123456789012345678901c"},
	} {
		v, err := ParseFixed(c.in)
		noError(t, err)
		equal(t, c.text, v.String())
		var e Encoder
		e.start(make([]byte, 16), CDR2LE)
		e.Fixed("f", v, c.digits, c.scale)
		noError(t, e.Err())
		equal(t, unhex(t, c.wire), e.buf[:e.pos])
		var d Decoder
		d.start(e.buf[:e.pos], CDR2LE)
		equal(t, v, d.Fixed("f", c.digits, c.scale))
		noError(t, d.Err())
		data, err := json.Marshal(v)
		noError(t, err)
		var back Fixed
		noError(t, json.Unmarshal(data, &back))
		equal(t, v, back)
	}
	for _, s := range []string{"", "-", ".", "1e3", "12345678901234567890123456789012", "1.2.3"} {
		if v, err := ParseFixed(s); err == nil {
			t.Errorf("%q is %v", s, v)
		}
	}
	for _, c := range []struct {
		in            string
		digits, scale int
	}{{"100", 2, 0}, {"0.001", 4, 2}, {"12.5", 3, 2}} {
		var e Encoder
		e.start(make([]byte, 16), CDR2LE)
		e.Fixed("f", MustFixed(c.in), c.digits, c.scale)
		fails(t, e.Err(), ErrBound, "does not fit into fixed<")
	}
	for _, in := range []string{"0120", "01ac", "912c"} {
		var d Decoder
		b := unhex(t, in)
		d.start(b, CDR2LE)
		d.Fixed("f", 2, 0)
		fails(t, d.Err(), ErrMalformed, in+" is no packed decimal number of 2 digits")
	}
	equal(t, "1/8", MustFixed("0.125").Rat().String())
	equal(t, 0.125, MustFixed("0.125").Float64())
}

func TestFlags(t *testing.T) {
	flags := []Flag{{"A", 0}, {"B", 3}}
	for v, text := range map[uint64]string{0: "0x0", 1: "A", 9: "A|B", 8: "B", 0x19: "A|B|0x10", 4: "0x4"} {
		equal(t, text, FormatFlags(v, flags))
		back, err := ParseFlags(text, flags, 8)
		noError(t, err)
		equal(t, v, back)
		data, err := MarshalFlagsJSON(v, flags)
		noError(t, err)
		back, err = UnmarshalFlagsJSON(data, flags, 8)
		noError(t, err)
		equal(t, v, back)
	}
	for _, in := range []string{"C", "A|256", ""} {
		if _, err := ParseFlags(in, flags, 8); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
	v, err := UnmarshalFlagsJSON([]byte("9"), flags, 8)
	noError(t, err)
	equal(t, uint64(9), v)
}
