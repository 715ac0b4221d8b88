package cdr

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// frontType begins with an octet, an unsigned long, two doubles of a nested struct, the first of which has a default, and an array.
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

// TestFront: whatever the encoding and however much is there, the front is that of little-endian XCDR2.
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
			got := d.Front(frontType)
			d.End(s)
			require.NoError(t, d.Close(frontType))
			expect := bytes.Clone(want)
			for i, end := range []int{0, 4, 8, 24} {
				if parts <= i {
					clear(expect[end:])
				}
			}
			if parts < 2 {
				copy(expect[4:8], []byte{4, 3, 2, 1})
			}
			if parts == 0 {
				require.Nil(t, got)
				continue
			}
			require.Equal(t, expect, got, "%v, %d parts", enc, parts)
			if enc == DCDR2LE && parts == 4 {
				require.Same(t, &sample[HeaderSize+4], &got[0])
			}
		}
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
	require.EqualError(t, d.Close(frontType), "cdr: view Front.point.y: 8 bytes needed at offset 24, 0 present")
}

// TestFrontsWithinAreChecked: the front of a value within the one that a view is made of takes no memory.
func TestFrontsWithinAreChecked(t *testing.T) {
	sample := make([]byte, 64)
	var e Encoder
	e.start(sample, CDR2BE)
	encodeFront(&e, 4)
	var d Decoder
	require.Zero(t, testing.AllocsPerRun(5, func() {
		d.start(sample[:e.pos], CDR2BE)
		d.Enter()
		if d.Front(frontType) != nil {
			panic("kept")
		}
	}))
	require.Nil(t, d.err)
	require.Equal(t, e.pos, d.pos)
	d.start(sample[:e.pos-1], CDR2BE)
	d.Enter()
	d.Front(frontType)
	require.ErrorIs(t, d.err, ErrTruncated)
}
