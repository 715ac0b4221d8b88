package cdr

import (
	"fmt"
	"math"
	"math/bits"
)

// Primitive are the Go types of the IDL types that are copied in bulk. Booleans are not among them: they have
// invalid encodings.
type Primitive interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// swap copies elements of width bytes from src to dst and reverses each.
func swap(dst, src []byte, width int) {
	for i := 0; i+width <= len(src); i += width {
		for j := range width {
			dst[i+j] = src[i+width-1-j]
		}
	}
}

// copyElements copies elements between memory and CDR.
func copyElements(dst, src []byte, width int, big bool) {
	if width == 1 || big != nativeLittle {
		copy(dst, src)
		return
	}
	swap(dst, src, width)
}

// EncodeArray writes an array of primitives.
func EncodeArray[T Primitive](e *Encoder, s []T) {
	if len(s) == 0 {
		return
	}
	width := sizeOf[T]()
	if b := e.take(width, width*len(s)); b != nil {
		copyElements(b, bytesOf(s), width, e.big)
	}
}

// EncodeSequence writes a sequence of primitives; bound 0 stands for none.
func EncodeSequence[T Primitive](e *Encoder, name string, s []T, bound int) {
	e.BeginSequence(name, len(s), bound, true)
	EncodeArray(e, s)
}

// EncodeBools writes an array of booleans.
func EncodeBools(e *Encoder, s []bool) {
	for _, v := range s {
		e.Bool(v)
	}
}

// EncodeBoolSequence writes a sequence of booleans; bound 0 stands for none.
func EncodeBoolSequence(e *Encoder, name string, s []bool, bound int) {
	e.BeginSequence(name, len(s), bound, true)
	EncodeBools(e, s)
}

// DecodeArray reads an array of primitives into s. An array that is absent reads as zeros.
func DecodeArray[T Primitive](d *Decoder, name string, s []T) {
	width := sizeOf[T]()
	b := d.take(name, width, width*len(s))
	if b == nil {
		clear(s)
		return
	}
	copyElements(bytesOf(s), b, width, d.big)
}

// DecodeSequence reads a sequence of primitives, into the memory of s where it is large enough.
func DecodeSequence[T Primitive](d *Decoder, name string, s []T, bound int) []T {
	width := sizeOf[T]()
	n, m := d.BeginSequence(name, bound, width, true)
	s = Grow(s, n)
	if n > 0 {
		DecodeArray(d, name, s)
	}
	d.End(m)
	return s
}

// DecodeBools reads an array of booleans into s.
func DecodeBools(d *Decoder, name string, s []bool) {
	b := d.take(name, 1, len(s))
	if b == nil {
		clear(s)
		return
	}
	for i, v := range b {
		if v > 1 {
			d.fail(&Error{Path: fmt.Sprintf("%s[%d]", name, i), Err: ErrMalformed, Detail: fmt.Sprintf("%d is no boolean", v)})
			return
		}
		s[i] = v == 1
	}
}

// DecodeBoolSequence reads a sequence of booleans, into the memory of s where it is large enough.
func DecodeBoolSequence(d *Decoder, name string, s []bool, bound int) []bool {
	n, m := d.BeginSequence(name, bound, 1, true)
	s = Grow(s, n)
	if n > 0 {
		DecodeBools(d, name, s)
	}
	d.End(m)
	return s
}

// CopyArray copies an array of n primitives from d to e.
func CopyArray[T Primitive](d *Decoder, e *Encoder, name string, n int) {
	width := sizeOf[T]()
	src := d.take(name, width, width*n)
	dst := e.take(width, width*n)
	switch {
	case dst == nil:
	case src == nil:
		clear(dst)
	case d.big == e.big || width == 1:
		copy(dst, src)
	default:
		swap(dst, src, width)
	}
}

// CopySequence copies a sequence of primitives from d to e; bound 0 stands for none.
func CopySequence[T Primitive](d *Decoder, e *Encoder, name string, bound int) {
	n, scope := d.BeginSequence(name, bound, sizeOf[T](), true)
	e.BeginSequence(name, n, bound, true)
	if n > 0 {
		CopyArray[T](d, e, name, n)
	}
	d.End(scope)
}

// CopyString copies a string from d to e.
func CopyString(d *Decoder, e *Encoder, name string, bound int) {
	e.String(name, aliasString(d.stringBytes(name, bound)), bound)
}

// CopyWString copies a wstring from d to e.
func CopyWString(d *Decoder, e *Encoder, name string, bound int) {
	b := d.wstringBytes(name, bound)
	e.Uint32(uint32(len(b)))
	if len(b) == 0 {
		return
	}
	dst := e.take(2, len(b))
	switch {
	case dst == nil:
	case d.big == e.big:
		copy(dst, b)
	default:
		swap(dst, b, 2)
	}
}

// Grow gives s the length n, in its own memory if that is large enough. Elements keep what they held, so that
// decoding can use their memory again.
func Grow[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	grown := make([]T, n) // and not a bit more, which slices.Grow would allocate
	copy(grown, s[:cap(s)])
	return grown
}

// An element may take far less room in a sample than in memory: of an appendable type it may be encoded in four bytes,
// which say that all its members are absent. What decoding allocates for elements is therefore bounded by the size of the
// sample: as much as allotFactor times that, which no value exceeds whose members are all there, unless its elements are
// unions with branches of very different sizes; and for those, and for small samples of a version with fewer members,
// allotFloor.
const (
	allotFactor = 256
	allotFloor  = 16 << 20
)

// allot takes n elements of size bytes out of what may be allocated.
func (d *Decoder) allot(kind, name string, n, size int) bool {
	limit := allotFloor + allotFactor*uint64(len(d.buf))
	want := uint64(n) * uint64(size) // n is at most maxElements
	if want > limit-d.allotted {
		d.fail(&Error{Path: name, Err: ErrBound, final: true, Detail: fmt.Sprintf(
			"%s of %d elements of %d bytes in memory: the sample, of %d bytes, would take more than %d", kind, n, size, len(d.buf), limit)})
		return false
	}
	d.allotted += want
	return true
}

// GrowSequence is Grow for the elements of a sequence that d is about to read. It is empty if they would take too much
// memory for so small a sample.
func GrowSequence[T any](d *Decoder, name string, s []T, n int) []T {
	if n > cap(s) && !d.allot("sequence", name, n, sizeOf[T]()) {
		return s[:0]
	}
	return Grow(s, n)
}

// AllotSequence gives the n elements of a sequence that is about to be copied from d to a key, none if they would take
// too much memory for so small a sample: those that are absent in it are not in the key.
func AllotSequence[T any](d *Decoder, name string, n int) int {
	if !d.allot("sequence", name, n, sizeOf[T]()) {
		return 0
	}
	return n
}

// MaxBodiless bounds sequences of values that take no bytes, empty structs, where IDL gives no smaller bound: a few
// bytes that announce billions of them would keep their reader busy for long.
const MaxBodiless = 1 << 14

// bodilessCost is what an element that takes no bytes counts for in what may be allotted: all of them together are then
// bounded, too.
const bodilessCost = 16

// maxElements bounds a length so that products with element sizes cannot overflow.
const maxElements = math.MaxInt32

// Primitives is the memory of a slice of primitives, without their type: methods have no type parameters, and of
// functions that have some the compiler does not know where their arguments go.
type Primitives struct {
	b     []byte
	shift uint8 // of 1, to the size of an element
}

// PrimitivesOf gives the memory of s.
func PrimitivesOf[T Primitive](s []T) Primitives {
	return Primitives{bytesOf(s), uint8(bits.TrailingZeros8(uint8(sizeOf[T]())))}
}
