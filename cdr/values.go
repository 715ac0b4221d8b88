package cdr

import (
	"iter"
	"math"
)

// Values is a sequence or an array of primitives within an encoded sample. An array of several dimensions comes row by row.
type Values[T Primitive] struct {
	bytes []byte
	big   bool
}

// SequenceValues gives the sequence whose length is at an offset.
func SequenceValues[T Primitive](s Sample, at int32) Values[T] {
	return Values[T]{s.sequenceBytes(at, sizeOf[T]()), s.big}
}

// ArrayValues gives the array of n elements at an offset; it is empty if the array is missing.
func ArrayValues[T Primitive](s Sample, at int32, n int) Values[T] {
	return Values[T]{s.at(at, n*sizeOf[T]()), s.big}
}

// Len is the number of elements.
func (v Values[T]) Len() int { return len(v.bytes) / sizeOf[T]() }

// At gives element i, zero if there is none.
func (v Values[T]) At(i int) T {
	width := sizeOf[T]()
	if i < 0 || i >= len(v.bytes)/width {
		return 0
	}
	b := v.bytes[i*width : (i+1)*width]
	switch width {
	case 2:
		return reinterpret[T](loadUint16(b, v.big))
	case 4:
		return reinterpret[T](loadUint32(b, v.big))
	case 8:
		return reinterpret[T](loadUint64(b, v.big))
	}
	return reinterpret[T](b[0])
}

// First gives the first n elements, or all if there are fewer.
func (v Values[T]) First(n int) Values[T] {
	v.bytes = v.bytes[:min(len(v.bytes), n*sizeOf[T]())]
	return v
}

// All iterates over the elements.
func (v Values[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i := range v.Len() {
			if !yield(i, v.At(i)) {
				return
			}
		}
	}
}

// AppendTo appends the elements to dst in one copy.
func (v Values[T]) AppendTo(dst []T) []T {
	old := len(dst)
	dst = append(dst, make([]T, v.Len())...)
	copyElements(bytesOf(dst[old:]), v.bytes, sizeOf[T](), v.big)
	return dst
}

// Bools is a sequence or an array of booleans within an encoded sample.
type Bools struct{ bytes []byte }

// SequenceBools gives the sequence whose length is at an offset.
func SequenceBools(s Sample, at int32) Bools { return Bools{s.sequenceBytes(at, 1)} }

// ArrayBools gives the array of n elements at an offset; it is empty if the array is missing.
func ArrayBools(s Sample, at int32, n int) Bools { return Bools{s.at(at, n)} }

// Len is the number of elements.
func (v Bools) Len() int { return len(v.bytes) }

// At gives element i, false if there is none.
func (v Bools) At(i int) bool { return i >= 0 && i < len(v.bytes) && v.bytes[i] != 0 }

// First gives the first n elements, or all if there are fewer.
func (v Bools) First(n int) Bools {
	return Bools{FirstBytes(v.bytes, n)}
}

// All iterates over the elements.
func (v Bools) All() iter.Seq2[int, bool] {
	return func(yield func(int, bool) bool) {
		for i := range v.bytes {
			if !yield(i, v.At(i)) {
				return
			}
		}
	}
}

// LongDoubles is a sequence or an array of long doubles within an encoded sample.
type LongDoubles struct {
	bytes []byte
	big   bool
}

// SequenceLongDoubles gives the sequence whose length is at an offset.
func SequenceLongDoubles(s Sample, at int32) LongDoubles {
	return LongDoubles{s.sequenceBytes(at, len(LongDouble{})), s.big}
}

// ArrayLongDoubles gives the array of n elements at an offset; it is empty if the array is missing.
func ArrayLongDoubles(s Sample, at int32, n int) LongDoubles {
	return LongDoubles{s.at(at, n*len(LongDouble{})), s.big}
}

// Len is the number of elements.
func (v LongDoubles) Len() int { return len(v.bytes) / len(LongDouble{}) }

// At gives element i, zero if there is none.
func (v LongDoubles) At(i int) LongDouble {
	const width = len(LongDouble{})
	if i < 0 || i >= v.Len() {
		return LongDouble{}
	}
	return longDouble(v.bytes[i*width:(i+1)*width], v.big)
}

// First gives the first n elements, or all if there are fewer.
func (v LongDoubles) First(n int) LongDoubles {
	v.bytes = v.bytes[:min(len(v.bytes), n*len(LongDouble{}))]
	return v
}

// All iterates over the elements.
func (v LongDoubles) All() iter.Seq2[int, LongDouble] {
	return func(yield func(int, LongDouble) bool) {
		for i := range v.Len() {
			if !yield(i, v.At(i)) {
				return
			}
		}
	}
}

// Enums is a sequence or an array of enumerators within an encoded sample; they may have values that E does not know.
type Enums[E ~int32] struct {
	s     Sample
	first int32
	n     int
	width int
}

// SequenceEnums gives the sequence at an offset.
func SequenceEnums[E ~int32](s Sample, at int32, width int) Enums[E] {
	c := s.Elements(at, nil)
	return Enums[E]{s, c.first, c.n, width}
}

// ArrayEnums gives the array of n elements at an offset; it is empty if the array is missing.
func ArrayEnums[E ~int32](s Sample, at int32, n, width int) Enums[E] {
	c := s.ArrayElements(at, n, nil)
	return Enums[E]{s, c.first, c.n, width}
}

// Len is the number of elements.
func (v Enums[E]) Len() int { return v.n }

// At gives element i, zero if there is none.
func (v Enums[E]) At(i int) E {
	if i < 0 || i >= v.n {
		return 0
	}
	return E(v.s.Enum(v.first+int32(i*v.width), v.width, 0))
}

// First gives the first n elements, or all if there are fewer.
func (v Enums[E]) First(n int) Enums[E] {
	v.n = min(v.n, n)
	return v
}

// All iterates over the elements.
func (v Enums[E]) All() iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		for i := range v.n {
			if !yield(i, v.At(i)) {
				return
			}
		}
	}
}

// Strings is a sequence or an array of strings within an encoded sample. The strings alias the sample.
type Strings struct{ c Elements }

// SequenceStrings gives the sequence at an offset.
func SequenceStrings(s Sample, at int32) Strings { return Strings{s.Elements(at, nil)} }

// ArrayStrings gives the array of n elements at an offset; it is empty if the array is missing.
func ArrayStrings(s Sample, at int32, n int) Strings { return Strings{s.ArrayElements(at, n, nil)} }

// Len is the number of elements.
func (v Strings) Len() int { return v.c.n }

// At gives element i, the empty string if there is none. It walks over those before.
func (v Strings) At(i int) string {
	for j, s := range v.All() {
		if j == i {
			return s
		}
	}
	return ""
}

// First gives the first n elements, or all if there are fewer.
func (v Strings) First(n int) Strings {
	return Strings{v.c.First(n)}
}

// All iterates over the elements.
func (v Strings) All() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var d Decoder
		if v.c.Seek(&d, 0) < 0 {
			return
		}
		for i := range v.c.n {
			if !yield(i, aliasString(d.stringBytes("", 0))) {
				return
			}
		}
	}
}

// Elements is a sequence or an array of values that are not primitive, within an encoded sample.
type Elements struct {
	s      Sample
	first  int32
	n      int
	stride int // 0 where elements differ in size
}

// Elements gives the sequence at an offset. layout is nil where elements differ in size.
func (s Sample) Elements(at int32, layout *Layout) Elements {
	if s.v2 && at >= 0 {
		at += 4 // DHEADER
	}
	return s.counted(at, layout)
}

// Pairs gives the map at an offset, whose elements are a key and a value each. Maps of primitives to primitives have no DHEADER.
func (s Sample) Pairs(at int32, primitive bool) Elements {
	if primitive {
		return s.counted(at, nil)
	}
	return s.Elements(at, nil)
}

// counted gives the elements whose number is at an offset.
func (s Sample) counted(at int32, layout *Layout) Elements {
	n := s.Uint32(at)
	if s.at(at, 4) == nil || n > maxElements {
		return Elements{}
	}
	return s.elements(at+4, int(n), layout)
}

// ArrayElements gives the array at an offset.
func (s Sample) ArrayElements(at int32, n int, layout *Layout) Elements {
	if at < 0 || s.body == nil {
		return Elements{}
	}
	if s.v2 {
		at += 4
	}
	return s.elements(at, n, layout)
}

func (s Sample) elements(first int32, n int, layout *Layout) Elements {
	c := Elements{s: s, first: first, n: n}
	if layout != nil {
		v := version(s.v2)
		_, origin := split(first)
		c.first += (int32(origin) - first) & int32(layout.Align[v]-1)
		c.stride = layout.Stride[v]
	}
	return c
}

// Sample gives the bytes that the elements lie in.
func (c Elements) Sample() Sample { return c.s }

// Len is the number of elements.
func (c Elements) Len() int { return c.n }

// First gives the first n elements, or all if there are fewer.
func (c Elements) First(n int) Elements {
	c.n = min(c.n, n)
	return c
}

// FirstBytes gives the first n bytes, or all if there are fewer.
func FirstBytes(b []byte, n int) []byte { return b[:min(len(b), n)] }

// Seek prepares d to read element i, or one before it: as many values are to be passed over as it returns; negative if there is
// no such element.
func (c Elements) Seek(d *Decoder, i int) int {
	if i < 0 || i >= c.n {
		return -1
	}
	at, skip := int(c.first), i
	if c.stride > 0 {
		at, skip = at+i*c.stride, 0
	}
	if at > math.MaxInt32 || !c.s.Seek(d, int32(at)) {
		return -1
	}
	return skip
}
