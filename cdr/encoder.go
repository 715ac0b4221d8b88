package cdr

import (
	"encoding/binary"
	"fmt"
	"math"
)

// MaxDepth is how deeply values may be nested. Only recursive types reach it.
const MaxDepth = 128

// Encoder writes the body of one sample into a buffer that never grows, or only measures it.
//
// Generated code calls it member by member. After the first error nothing more is written.
type Encoder struct {
	buf []byte // the body; its start is the origin of alignment. Emptied by an error, so that one test finds both
	pos int    // next byte, pos <= len(buf) unless measuring
	// origin is where alignment counts from: 0, or the start of the innermost XCDR1 parameter. It is a multiple of 4.
	origin int
	err    *Error
	keys   *keyScratch // nil until a map is met
	mask   int         // the largest alignment less 1: 7 (XCDR1) or 3 (XCDR2)
	depth  uint8       // MaxDepth at most
	big    bool
	v2     bool
	only   bool // measure only: buf is nil
	fast   bool // little-endian XCDR2: Run gives its bytes out
}

// start begins a body. The encoder is new, or a key's that is written again.
func (e *Encoder) start(buf []byte, enc Encapsulation) {
	e.buf, e.pos, e.origin, e.depth, e.err = buf, 0, 0, 0, nil
	e.mask, e.big, e.v2, e.only = 7, enc.BigEndian(), enc.XCDR2(), false
	if e.v2 {
		e.mask = 3
	}
	e.fast = e.v2 && !e.big
}

// Err returns the first error, nil if there is none.
func (e *Encoder) Err() error {
	if e.err == nil {
		return nil
	}
	return e.err
}

// Len is the number of bytes written or measured so far.
func (e *Encoder) Len() int { return e.pos }

func (e *Encoder) fail(err *Error) {
	if e.err == nil {
		e.err = err
		e.buf = nil
	}
}

// take pads to the alignment and claims n bytes; nil when measuring or failed.
func (e *Encoder) take(align, n int) []byte {
	pad := (e.origin - e.pos) & (align - 1) & e.mask
	end := e.pos + pad + n
	if end > len(e.buf) {
		e.takeSlow(end)
		return nil
	}
	b := e.buf[e.pos:end:end]
	e.pos = end
	if pad == 0 { // most often
		return b
	}
	if len(b) >= 8 { // at most 7 are padding; what else is cleared is the caller's to write
		binary.LittleEndian.PutUint64(b, 0)
	} else {
		clear(b[:pad])
	}
	return b[pad:]
}

func (e *Encoder) takeSlow(end int) {
	switch {
	case e.err != nil:
	case e.only:
		e.pos = end
	default:
		e.fail(&Error{Err: ErrShortBuffer, Detail: fmt.Sprintf("buffer has %d bytes, at least %d needed", len(e.buf)+HeaderSize, end+HeaderSize)})
	}
}

// Run claims size bytes for consecutive fixed-size members whose offsets the generator has computed.
// The bytes come out for little-endian XCDR2 only; when fast is false, the caller writes the members one by one.
func (e *Encoder) Run(align, size int) (b []byte, fast bool) {
	if !e.fast {
		return nil, false
	}
	return e.take(align, size), true
}

// RunBoth is Run for members whose offsets are the same in XCDR1: the bytes come out for both. align is that of XCDR1.
func (e *Encoder) RunBoth(align, size int) (b []byte, fast bool) {
	if e.big {
		return nil, false
	}
	return e.take(align, size), true
}

// Enter is called before a nested value, and Leave after it if Enter said yes.
func (e *Encoder) Enter() bool {
	if e.err != nil {
		return false
	}
	if e.depth >= MaxDepth {
		e.fail(&Error{Err: ErrDepth, Detail: fmt.Sprintf("nested more than %d levels deep", MaxDepth)})
		return false
	}
	e.depth++
	return true
}

// Leave ends what Enter began and puts the member into the path of an error.
func (e *Encoder) Leave(name string) {
	e.depth--
	if e.err != nil {
		e.err.within(name)
	}
}

// LeaveElement is Leave for element i of a sequence or an array.
func (e *Encoder) LeaveElement(name string, i int) {
	e.depth--
	if e.err != nil {
		e.err.withinElement(name, i)
	}
}

// Mark remembers where a delimited value began.
type Mark struct {
	dheader int // offset behind the DHEADER; 0 for none: a DHEADER is never at offset -4; or listMark
}

// listMark stands for an XCDR1 parameter list, which ends with a sentinel.
const listMark = -1

// Begin starts a struct or a union.
func (e *Encoder) Begin(x Extensibility) Mark {
	switch {
	case x == Final:
		return Mark{}
	case e.v2:
		return e.beginDelimited()
	}
	if x == Mutable {
		return Mark{dheader: listMark}
	}
	return Mark{}
}

func (e *Encoder) beginDelimited() Mark {
	e.Uint32(0)
	return Mark{dheader: e.pos}
}

// End completes what Begin, BeginSequence, BeginMap or BeginArray started.
func (e *Encoder) End(m Mark) {
	if m.dheader == listMark {
		e.sentinel()
		return
	}
	if m.dheader == 0 || e.only || e.err != nil {
		return
	}
	e.order().PutUint32(e.buf[m.dheader-4:], uint32(e.pos-m.dheader))
}

// BeginSequence starts a sequence of n elements; bound 0 stands for none. Sequences of primitives have no DHEADER.
func (e *Encoder) BeginSequence(name string, n, bound int, primitive bool) Mark {
	return e.beginCollection("sequence", name, n, bound, primitive)
}

func (e *Encoder) beginCollection(kind, name string, n, bound int, primitive bool) Mark {
	var m Mark
	if e.v2 && !primitive {
		m = e.beginDelimited()
	}
	if bound > 0 && n > bound {
		e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("%s of %d elements exceeds its bound of %d", kind, n, bound)})
	}
	if n < 0 || uint64(n) > math.MaxUint32 {
		e.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("%s of %d elements exceeds %d", kind, n, uint32(math.MaxUint32))})
	}
	e.Uint32(uint32(n))
	return m
}

// BeginArray starts an array of elements that are not primitive.
func (e *Encoder) BeginArray() Mark {
	if !e.v2 {
		return Mark{}
	}
	return e.beginDelimited()
}

func (e *Encoder) order() binary.ByteOrder {
	if e.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Bool writes a boolean.
func (e *Encoder) Bool(v bool) {
	var u uint8
	if v {
		u = 1
	}
	e.Uint8(u)
}

// Uint8 writes an octet, a char or a uint8.
func (e *Encoder) Uint8(v uint8) {
	if b := e.take(1, 1); b != nil {
		b[0] = v
	}
}

// Int8 writes an int8.
func (e *Encoder) Int8(v int8) { e.Uint8(uint8(v)) }

// Uint16 writes an unsigned short or a wchar.
func (e *Encoder) Uint16(v uint16) {
	if b := e.take(2, 2); b != nil {
		if e.big {
			binary.BigEndian.PutUint16(b, v)
		} else {
			binary.LittleEndian.PutUint16(b, v)
		}
	}
}

// Int16 writes a short.
func (e *Encoder) Int16(v int16) { e.Uint16(uint16(v)) }

// Uint32 writes an unsigned long.
func (e *Encoder) Uint32(v uint32) {
	if b := e.take(4, 4); b != nil {
		if e.big {
			binary.BigEndian.PutUint32(b, v)
		} else {
			binary.LittleEndian.PutUint32(b, v)
		}
	}
}

// Int32 writes a long.
func (e *Encoder) Int32(v int32) { e.Uint32(uint32(v)) }

// Uint64 writes an unsigned long long.
func (e *Encoder) Uint64(v uint64) {
	if b := e.take(8, 8); b != nil {
		if e.big {
			binary.BigEndian.PutUint64(b, v)
		} else {
			binary.LittleEndian.PutUint64(b, v)
		}
	}
}

// Int64 writes a long long.
func (e *Encoder) Int64(v int64) { e.Uint64(uint64(v)) }

// Float32 writes a float.
func (e *Encoder) Float32(v float32) { e.Uint32(math.Float32bits(v)) }

// Float64 writes a double.
func (e *Encoder) Float64(v float64) { e.Uint64(math.Float64bits(v)) }

// NotEnumerator fails the encoding for an enumeration's value that the type does not know.
func (e *Encoder) NotEnumerator(name string, v int32) {
	e.fail(&Error{Path: name, Err: ErrInvalidValue, Detail: fmt.Sprintf("%d is not an enumerator", v)})
}

// Enum writes an enumeration of the given width in bytes (1, 2, 4). valid says whether v is one of its enumerators.
func (e *Encoder) Enum(name string, v int32, width int, valid bool) {
	if !valid {
		e.NotEnumerator(name, v)
		return
	}
	switch width {
	case 1:
		e.Uint8(uint8(v))
	case 2:
		e.Uint16(uint16(v))
	default:
		e.Uint32(uint32(v))
	}
}
