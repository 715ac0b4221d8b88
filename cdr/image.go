package cdr

import "reflect"

// A struct of numbers without padding has the same bytes in memory and in CDR, on a machine with the byte order of the
// sample. A sequence or an array of such structs is then copied at once, whatever they are made of.

// ImageOf completes the layout of T. The generator calls it where the members of T follow each other without padding in both
// versions of CDR, in the order of the fields; here is checked what the memory of T is.
func ImageOf[T any](l Layout) *Layout {
	t := reflect.TypeFor[T]()
	if size := int(t.Size()); numbers(t, false) == size && l.Size == [2]int{size, size} && l.Stride == l.Size {
		l.image = t
	}
	return &l
}

// numbers is how many bytes the numbers of a type take, and its booleans where these are asked for; -1 if there is
// anything else, for which not all bits are valid.
func numbers(t reflect.Type, bools bool) int {
	switch t.Kind() {
	case reflect.Bool:
		if bools {
			return 1
		}
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return int(t.Size())
	case reflect.Array:
		if n := numbers(t.Elem(), bools); n >= 0 {
			return n * t.Len()
		}
	case reflect.Struct:
		sum := 0
		for i := range t.NumField() {
			n := numbers(t.Field(i).Type, bools)
			if n < 0 {
				return -1
			}
			sum += n
		}
		return sum
	}
	return -1
}

// Memory tells whether the members of T lie in memory as they are encoded: in their order, without padding. A boolean
// is a byte that is 0 or 1 in both; since others could come in, a Memory is for encoding only.
type Memory[T any] struct {
	align int
	same  bool
}

// MemoryOf is called by generated code for a struct whose members are encoded in size bytes without padding, in the order of the
// fields, the first being the most strictly aligned one. Here is checked what the memory of T is.
func MemoryOf[T any](align, size int) Memory[T] {
	t := reflect.TypeFor[T]()
	return Memory[T]{align: align, same: int(t.Size()) == size && numbers(t, true) == size}
}

// Encode writes the members of v at once, or returns false if the caller has to write one by one.
func (m Memory[T]) Encode(e *Encoder, v *T) bool {
	if !m.same || e.big == nativeLittle {
		return false
	}
	if b := e.take(m.align, sizeOf[T]()); b != nil {
		copy(b, memoryOf(v))
	}
	return true
}

// imageOf tells whether elements of type T are copied as they are.
func imageOf[T any](l *Layout, big bool) bool {
	return l != nil && l.image != nil && big != nativeLittle && l.image == reflect.TypeFor[T]()
}

// EncodeImages writes the elements of a sequence or an array at once, or returns false if the caller has to write one by one.
func EncodeImages[T any](e *Encoder, l *Layout, s []T) bool {
	if !imageOf[T](l, e.big) {
		return false
	}
	if len(s) == 0 {
		return true
	}
	if b := e.take(l.Align[version(e.v2)], l.Size[0]*len(s)); b != nil {
		copy(b, imagesOf(l, s))
	}
	return true
}

// DecodeImages reads the elements of a sequence or an array at once, or returns false if the caller has to read one by
// one: also if not all of them are there.
func DecodeImages[T any](d *Decoder, l *Layout, s []T) bool {
	if !imageOf[T](l, d.big) || len(s) == 0 {
		return len(s) == 0
	}
	size := l.Size[0] * len(s)
	start := d.pos + (d.origin-d.pos)&(l.Align[version(d.v2)]-1)&d.mask
	if size > d.end-start {
		return false
	}
	d.pos = start + size
	copy(imagesOf(l, s), d.buf[start:d.pos])
	return true
}
