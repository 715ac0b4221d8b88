package cdr

import (
	"fmt"
	"math"
)

// Decoder reads the body of one sample.
//
// Members of an appendable type that the writer's version did not have are absent: their scope ends before
// them, and they read as zero, the empty string or the empty sequence.
type Decoder struct {
	buf  []byte // the body; its start is the origin of alignment
	pos  int
	end  int // of the innermost delimited value; 0 after an error, so that one test finds both
	mask int // the largest alignment less 1: 7 (XCDR1) or 3 (XCDR2)
	// origin is where alignment counts from: 0, or the start of the innermost XCDR1 parameter. It is a multiple of 4.
	origin int
	open   bool // directly in a value that may end before its members do
	big    bool
	v2     bool
	fast   bool // little-endian XCDR2: Run gives its bytes out
	depth  int
	// allotted is what was allocated for elements of sequences; see allot.
	allotted uint64
	err      *Error
}

// start begins a body. The decoder is new, or a key's whose sample is read again.
func (d *Decoder) start(body []byte, enc Encapsulation) {
	d.buf, d.pos, d.end, d.origin, d.open, d.depth, d.allotted, d.err = body, 0, len(body), 0, false, 0, 0, nil
	d.mask, d.big, d.v2 = 7, enc.BigEndian(), enc.XCDR2()
	if d.v2 {
		d.mask = 3
	}
	d.fast = d.v2 && !d.big
}

// Err returns the first error, nil if there is none.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

func (d *Decoder) fail(err *Error) {
	if d.err == nil {
		d.err = err
		d.end = 0
		d.pos = 0
		d.open = false
	}
}

// take skips padding and hands out n bytes; nil when the member is absent or the input ends. n is at most what
// a checked length allows, so the sums cannot overflow.
func (d *Decoder) take(name string, align, n int) []byte {
	start := d.pos + (d.origin-d.pos)&(align-1)&d.mask
	end := start + n
	if end > d.end {
		d.takeSlow(name, start, n)
		return nil
	}
	d.pos = end
	return d.buf[start:end:end]
}

func (d *Decoder) takeSlow(name string, start, n int) {
	if d.err != nil || d.Absent() {
		return
	}
	d.fail(&Error{Path: name, Err: ErrTruncated,
		Detail: fmt.Sprintf("%d bytes needed at offset %d, %d present", n, start+HeaderSize, max(d.end-start, 0))})
}

// Absent tells whether the value ended before the next member.
func (d *Decoder) Absent() bool { return d.open && d.pos == d.end }

// Run hands out size bytes of consecutive fixed-size members whose offsets the generator has computed. It does so for
// little-endian XCDR2 only, and if all are present; otherwise the caller reads the members one by one.
func (d *Decoder) Run(align, size int) []byte {
	if !d.fast {
		return nil
	}
	start := (d.pos + align - 1) &^ (align - 1)
	end := start + size
	if end > d.end {
		return nil
	}
	d.pos = end
	return d.buf[start:end:end]
}

// RunBoth is Run for members whose offsets are the same in XCDR1: it hands them out for both. align is that of XCDR1.
func (d *Decoder) RunBoth(align, size int) []byte {
	start := d.pos + (d.origin-d.pos)&(align-1)&d.mask
	end := start + size
	if d.big || end > d.end {
		return nil
	}
	d.pos = end
	return d.buf[start:end:end]
}

// Enter is called before a nested value, and Leave after it if Enter said yes.
func (d *Decoder) Enter() bool {
	if d.err != nil {
		return false
	}
	if d.depth >= MaxDepth {
		d.fail(&Error{Err: ErrDepth, Detail: fmt.Sprintf("nested more than %d levels deep", MaxDepth)})
		return false
	}
	d.depth++
	return true
}

// EnterPresent is Enter for a value that is only passed over. It says no where the value is absent as well, for then so is
// all that is within: a type may have very many parts, and a sample without it few bytes.
func (d *Decoder) EnterPresent() bool { return !d.Absent() && d.Enter() }

// Leave ends what Enter or EnterPresent began and puts the member into the path of an error.
func (d *Decoder) Leave(name string) {
	d.depth--
	if d.err != nil {
		d.err.within(name)
	}
}

// LeaveElement is Leave for element i of a sequence or an array.
func (d *Decoder) LeaveElement(name string, i int) {
	d.depth--
	if d.err != nil {
		d.err.withinElement(name, i)
	}
}

// Scope remembers what surrounds a value.
type Scope struct {
	end       int
	origin    int
	resume    int // where the next value is, if that is known; else 0, which is never behind a value
	open      bool
	delimited bool
}

func (d *Decoder) scope() Scope { return Scope{end: d.end, origin: d.origin, open: d.open} }

// Begin starts a struct or a union that is not mutable; see BeginMutable.
func (d *Decoder) Begin(x Extensibility) Scope {
	s := d.scope()
	switch {
	case d.Absent(): // and so are all of its members
	case d.v2 && x != Final:
		s.delimited = d.delimit("")
	case x != Final && d.depth == 0:
		d.open = true // XCDR1: the end of the sample delimits
	default:
		d.open = false
	}
	return s
}

// delimit reads a DHEADER and narrows the scope to what it covers.
func (d *Decoder) delimit(name string) bool {
	n := d.Uint32(name)
	if d.err != nil {
		return false
	}
	if uint64(n) > uint64(d.end-d.pos) {
		d.fail(&Error{Path: name, Err: ErrTruncated,
			Detail: fmt.Sprintf("delimiter announces %d bytes at offset %d, %d present", n, d.pos+HeaderSize, d.end-d.pos)})
		return false
	}
	d.end = d.pos + int(n)
	d.open = true
	return true
}

// End ends what a method called Begin... started, and skips what the writer's type has in addition.
func (d *Decoder) End(s Scope) {
	if d.err != nil {
		return
	}
	switch {
	case s.resume > 0:
		d.pos = s.resume
	case s.delimited:
		d.pos = d.end
	}
	d.end, d.origin, d.open = s.end, s.origin, s.open
}

// BeginSequence reads the length of a sequence. bound 0 stands for none; minSize is the smallest encoding of an
// element in bytes, 0 for an empty struct: a length that the remaining bytes cannot hold is refused before anything is allocated.
func (d *Decoder) BeginSequence(name string, bound, minSize int, primitive bool) (n int, s Scope) {
	return d.beginCollection("sequence", name, bound, minSize, primitive)
}

func (d *Decoder) beginCollection(kind, name string, bound, minSize int, primitive bool) (n int, s Scope) {
	s = d.scope()
	if d.Absent() {
		return 0, s
	}
	if d.v2 && !primitive {
		s.delimited = d.delimit(name)
	}
	d.open = false
	u := d.Uint32(name)
	left := d.end - d.pos
	switch {
	case d.err != nil:
		return 0, s
	case bound > 0 && uint64(u) > uint64(bound):
		d.fail(&Error{Path: name, Err: ErrBound, Detail: fmt.Sprintf("%s of %d elements exceeds its bound of %d", kind, u, bound)})
		return 0, s
	case uint64(u)*uint64(minSize) > uint64(left) || u > maxElements:
		d.fail(&Error{Path: name, Err: ErrTruncated,
			Detail: fmt.Sprintf("%s of %d elements needs at least %d bytes, %d present", kind, u, uint64(u)*uint64(minSize), left)})
		return 0, s
	case minSize == 0 && !d.allot(kind, name, int(u), bodilessCost):
		return 0, s
	}
	return int(u), s
}

// BeginArray starts an array of elements that are not primitive.
func (d *Decoder) BeginArray(name string) Scope {
	s := d.scope()
	if d.Absent() {
		return s
	}
	if d.v2 {
		s.delimited = d.delimit(name)
	}
	d.open = false
	return s
}

// Rest tells whether the members behind those that were wanted must be passed over, because another value follows and
// there is no DHEADER to find it with.
func (d *Decoder) Rest(s Scope) bool { return d.depth > 0 && !s.delimited && d.err == nil }

// Skip passes over n bytes.
func (d *Decoder) Skip(name string, align, n int) { d.take(name, align, n) }

// SkipDelimited passes over a value with a DHEADER, or returns false if the encoding has none there.
func (d *Decoder) SkipDelimited(name string) bool {
	if !d.v2 {
		return false
	}
	if d.Absent() {
		return true
	}
	s := d.scope()
	s.delimited = d.delimit(name)
	d.End(s)
	return true
}

// SkipString passes over a string.
func (d *Decoder) SkipString(name string) { d.stringBytes(name, 0) }

// SkipWString passes over a wstring.
func (d *Decoder) SkipWString(name string) { d.wstringBytes(name, 0) }

// SkipSequence passes over a sequence of primitives that are width bytes wide.
func (d *Decoder) SkipSequence(name string, width int) {
	n, s := d.BeginSequence(name, 0, width, true)
	if n > 0 {
		d.take(name, width, width*n)
	}
	d.End(s)
}

// Pos is the offset of the next byte, for Rewind.
func (d *Decoder) Pos() int { return d.pos }

// Rewind goes back to where Pos was in the same value: members are wanted in another order than they are encoded in.
func (d *Decoder) Rewind(pos int) {
	if d.err == nil {
		d.pos = min(pos, d.end)
	}
}

// Bool reads a boolean.
func (d *Decoder) Bool(name string) bool {
	return d.ToBool(name, d.Uint8(name))
}

// ToBool turns an encoded boolean into one.
func (d *Decoder) ToBool(name string, u uint8) bool {
	if u > 1 {
		d.notBool(name, u)
	}
	return u == 1
}

func (d *Decoder) notBool(name string, u uint8) {
	d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("%d is no boolean", u)})
}

// Uint8 reads an octet, a char or a uint8.
func (d *Decoder) Uint8(name string) uint8 {
	if b := d.take(name, 1, 1); b != nil {
		return b[0]
	}
	return 0
}

// Int8 reads an int8.
func (d *Decoder) Int8(name string) int8 { return int8(d.Uint8(name)) }

// Uint16 reads an unsigned short or a wchar.
func (d *Decoder) Uint16(name string) uint16 { return loadUint16(d.take(name, 2, 2), d.big) }

// Int16 reads a short.
func (d *Decoder) Int16(name string) int16 { return int16(d.Uint16(name)) }

// Uint32 reads an unsigned long.
func (d *Decoder) Uint32(name string) uint32 { return loadUint32(d.take(name, 4, 4), d.big) }

// Int32 reads a long.
func (d *Decoder) Int32(name string) int32 { return int32(d.Uint32(name)) }

// Uint64 reads an unsigned long long.
func (d *Decoder) Uint64(name string) uint64 { return loadUint64(d.take(name, 8, 8), d.big) }

// Int64 reads a long long.
func (d *Decoder) Int64(name string) int64 { return int64(d.Uint64(name)) }

// Float32 reads a float.
func (d *Decoder) Float32(name string) float32 { return math.Float32frombits(d.Uint32(name)) }

// Float64 reads a double.
func (d *Decoder) Float64(name string) float64 { return math.Float64frombits(d.Uint64(name)) }

// Enum reads an enumeration of the given width in bytes; absent gives def. The caller checks the value.
func (d *Decoder) Enum(name string, width int, def int32) int32 {
	if d.err != nil || d.Absent() {
		return def
	}
	switch width {
	case 1:
		return int32(d.Int8(name))
	case 2:
		return int32(d.Int16(name))
	}
	return d.Int32(name)
}

// NotEnumerator fails the decoding for an enumeration's value that the type does not know.
func (d *Decoder) NotEnumerator(name string, v int32) {
	d.fail(&Error{Path: name, Err: ErrInvalidValue, Detail: fmt.Sprintf("%d is not an enumerator", v)})
}
