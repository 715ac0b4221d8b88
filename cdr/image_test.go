package cdr

import (
	"math"
	"testing"
)

type inner struct{ a, b int16 }

// numbered is an image; the others below are not.
type numbered struct {
	x    float64
	pair [2]inner
}

func layout(align, size int) Layout {
	return Layout{Align: [2]int{align, min(align, 4)}, Size: [2]int{size, size}, Stride: [2]int{size, size}}
}

func TestOnlyNumbersWithoutPaddingAreImages(t *testing.T) {
	is := func(l *Layout) bool { return l.image != nil }
	equal(t, true, is(ImageOf[numbered](layout(8, 16))))
	equal(t, false, is(ImageOf[numbered](layout(8, 20)))) // not the size of the encoding
	equal(t, false, is(ImageOf[struct {
		x float32
		b bool // not every byte is one
		_ [3]uint8
	}](layout(4, 8))))
	equal(t, false, is(ImageOf[struct {
		a int32
		x float64
	}](layout(8, 16)))) // padding
	equal(t, false, is(ImageOf[struct{ p *int64 }](layout(8, 8))))
	equal(t, false, is(ImageOf[struct{ s string }](layout(8, 16))))
	equal(t, false, is(ImageOf[struct {
		n int64
		i int
	}](layout(8, 16)))) // int is as wide as the machine's words
	wide := layout(8, 16)
	wide.Stride[0] = 24
	equal(t, false, is(ImageOf[numbered](wide)))
}

func TestImagesAreCopiedAtOnce(t *testing.T) {
	l := ImageOf[numbered](layout(8, 16))
	values := []numbered{{1.5, [2]inner{{1, -2}, {3, 4}}}, {-2.5, [2]inner{{5, 6}, {7, -8}}}}
	for _, enc := range []Encapsulation{CDRLE, CDR2LE} {
		one, all := make([]byte, 64), make([]byte, 64)
		var e Encoder
		e.start(one, enc)
		e.Uint32(7)
		for _, v := range values {
			e.Float64(v.x)
			for _, p := range v.pair {
				e.Int16(p.a)
				e.Int16(p.b)
			}
		}
		end := e.Len()
		e.start(all, enc)
		e.Uint32(7)
		equal(t, true, EncodeImages(&e, l, values))
		equal(t, end, e.Len())
		equal(t, one, all)

		var d Decoder
		d.start(all[:end], enc)
		d.Uint32("")
		got := make([]numbered, 2)
		equal(t, true, DecodeImages(&d, l, got))
		equal(t, values, got)
		equal(t, end, d.Pos())

		// What is cut off, of another type or in the other byte order is left to the caller.
		d.start(all[:end-1], enc)
		d.Uint32("")
		equal(t, false, DecodeImages(&d, l, got))
		equal(t, 4, d.Pos())
		equal(t, false, EncodeImages(&e, l, make([][2]uint64, 1)))
		equal(t, false, EncodeImages(&e, nil, values))
		e.start(one, enc-1)
		equal(t, false, EncodeImages(&e, l, values))
		d.start(all[:end], enc-1)
		equal(t, false, DecodeImages(&d, l, got))

		e.start(all[:end-1], enc)
		e.Uint32(7)
		EncodeImages(&e, l, values)
		fails(t, e.Err(), ErrShortBuffer, "")
	}
}

func TestMemoryIsEncodedAtOnce(t *testing.T) {
	type flags struct {
		x    float64
		pair inner
		on   [2]bool
		kind int16
	}
	m := MemoryOf[flags](8, 16)
	equal(t, true, m.same)
	equal(t, false, MemoryOf[flags](8, 12).same)
	equal(t, false, MemoryOf[struct {
		x float64
		b bool
	}](8, 9).same) // padding behind
	equal(t, false, MemoryOf[struct {
		b bool
		x float64
	}](8, 16).same) // and between
	equal(t, false, MemoryOf[struct{ p *int64 }](8, 8).same)

	v := flags{math.Float64frombits(0x7ff4_0000_0000_0001), inner{-1, 2}, [2]bool{true, false}, 3} // a signalling NaN stays one
	for _, enc := range []Encapsulation{CDRLE, CDR2LE, CDRBE, CDR2BE} {
		one, all := make([]byte, 32), make([]byte, 32)
		var e Encoder
		e.start(one, enc)
		e.Uint32(7)
		e.Uint64(math.Float64bits(v.x))
		e.Int16(v.pair.a)
		e.Int16(v.pair.b)
		e.Bool(v.on[0])
		e.Bool(v.on[1])
		e.Int16(v.kind)
		end := e.Len()
		e.start(all, enc)
		e.Uint32(7)
		if !m.Encode(&e, &v) {
			equal(t, true, enc.BigEndian() == nativeLittle)
			continue
		}
		equal(t, false, enc.BigEndian() == nativeLittle)
		equal(t, end, e.Len())
		equal(t, one, all)
		e.start(all[:end-1], enc)
		e.Uint32(7)
		equal(t, true, m.Encode(&e, &v))
		fails(t, e.Err(), ErrShortBuffer, "")
	}
}
