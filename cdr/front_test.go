package cdr

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// frontType begins with an octet, an unsigned long, two doubles of a nested struct, the first of which has a default,
// and an array.
var frontType = Define(TypeInfo{Name: "Front", Extensibility: Appendable, Front: FrontOf(
	Part{Name: "kind", Width: 1, Count: 1},
	Part{Name: "id", Width: 4, Count: 1, Default: 0x01020304},
	Part{Name: "point.x", Width: 8, Count: 1},
	Part{Name: "point.y", Width: 8, Count: 1, Inner: true},
	Part{Name: "codes", Width: 2, Count: 3},
)})

func encodeFront(e *Encoder, parts int) {
	for i, put := range []func(){
		func() { e.Uint8(7) },
		func() { e.Uint32(0x0a0b0c0d) },
		func() { e.Float64(1.5); e.Float64(-2.5) },
		func() { EncodeArray(e, []uint16{1, 2, 3}) },
	} {
		if i < parts {
			put()
		}
	}
}

// frontNumbers are those of frontType, as encodeFront writes them, and the defaults.
var frontNumbers, frontDefaults = []uint64{7, 0x0a0b0c0d, math.Float64bits(1.5), math.Float64bits(-2.5), 1}, []uint64{0, 0x01020304, 0, 0, 0}

// TestFront: whatever the encoding and however much is there, the numbers are read, and those that are missing are defaults.
func TestFront(t *testing.T) {
	var le Encoder
	whole := make([]byte, 64)
	le.start(whole, CDR2LE)
	encodeFront(&le, 4)
	want := whole[:le.pos]
	require.Equal(t, frontType.Front.size, len(want))
	for _, enc := range []Encapsulation{CDRBE, CDRLE, DCDR2BE, DCDR2LE} {
		for parts := range 5 {
			sample := bytes.Repeat([]byte{0xee}, 128)
			var e Encoder
			e.start(sample[HeaderSize:], enc)
			m := e.Begin(Appendable)
			encodeFront(&e, parts)
			e.End(m)
			n, err := e.finish(sample, enc, "marshal", frontType)
			require.NoError(t, err)
			var d Decoder
			require.NoError(t, d.Open(sample[:n], frontType))
			s := d.Begin(Appendable)
			if !enc.BigEndian() && parts == 4 { // the same offsets in XCDR1
				got := d.Front(frontType)
				require.Equal(t, want, got)
				require.Same(t, &sample[HeaderSize+4*version(enc.XCDR2())], &got[0])
				d.End(s)
				require.NoError(t, d.Close(frontType))
				continue
			}
			require.Nil(t, d.Front(frontType))
			far := d.FarFront(frontType)
			d.End(s)
			require.NoError(t, d.Close(frontType))
			there := []int{0, 1, 2, 4, 5}[parts]
			for i := range frontNumbers {
				expect := frontDefaults[i]
				if i < there {
					expect = frontNumbers[i]
				}
				require.Equal(t, expect, far.Uint64(frontType, i), "%v, %d parts: %s", enc, parts, frontType.Front.parts[i].Name)
				require.Equal(t, i < there, far.At(frontType, i) != Missing)
				require.Equal(t, i < there, far.Inner(frontType, i) != FarFront{})
			}
			codes := ArrayValues[uint16](far.Sample(), far.At(frontType, 4), 3)
			if parts == 4 {
				require.EqualValues(t, 3, codes.At(2))
			} else {
				require.Zero(t, codes.Len())
			}
		}
	}
	var none FarFront
	for i, number := range frontDefaults {
		require.Equal(t, number, none.Uint64(frontType, i))
	}
}

// TestFrontIsCut: a nested struct is there or not, but not in part.
func TestFrontIsCut(t *testing.T) {
	sample := make([]byte, 128)
	var e Encoder
	e.start(sample[HeaderSize:], DCDR2LE)
	m := e.Begin(Appendable)
	e.Uint8(7)
	e.Uint32(1)
	e.Float64(1.5)
	e.End(m)
	n, err := e.finish(sample, DCDR2LE, "marshal", frontType)
	require.NoError(t, err)
	var d Decoder
	require.NoError(t, d.Open(sample[:n], frontType))
	d.Begin(Appendable)
	require.Nil(t, d.Front(frontType))
	require.Zero(t, d.FarFront(frontType))
	require.EqualError(t, d.Close(frontType), "cdr: view Front.point.y: 8 bytes needed at offset 24, 0 present")
}

// TestFarFrontsTakeNoMemory: they are read where they are, and checked when they are found.
func TestFarFrontsTakeNoMemory(t *testing.T) {
	sample := make([]byte, 64)
	var e Encoder
	e.start(sample, CDR2BE)
	encodeFront(&e, 4)
	var d Decoder
	require.Zero(t, testing.AllocsPerRun(5, func() {
		d.start(sample[:e.pos], CDR2BE)
		if d.Front(frontType) != nil || d.FarFront(frontType).Uint64(frontType, 1) != 0x0a0b0c0d {
			panic("another front")
		}
	}))
	require.Nil(t, d.err)
	require.Equal(t, e.pos, d.pos)
	d.start(sample[:e.pos-1], CDR2BE)
	require.Zero(t, d.FarFront(frontType))
	require.ErrorIs(t, d.err, ErrTruncated)
}
