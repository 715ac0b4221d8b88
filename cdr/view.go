package cdr

import (
	"fmt"
	"math"
	"reflect"
)

// A generated view holds the offsets of its members in the encoded bytes, found by one walk that checks all lengths. Its
// accessors read at these offsets. Everything here stays within the bytes whatever the offsets are.

// Missing is the offset of a member that the sample does not have.
const Missing int32 = -1

// Sample is the body of an encoded sample, for reading at known offsets.
type Sample struct {
	body []byte
	big  bool
	v2   bool
}

// Open prepares d for a view of an encoded sample of type t.
func (d *Decoder) Open(sample []byte, t *TypeInfo) error {
	enc, body, err := splitSample(sample)
	if err == nil {
		err = checkFit(enc, t)
	}
	if err == nil && len(body) >= int(shifted) {
		err = &Error{Err: ErrMalformed, Detail: fmt.Sprintf("sample of %d bytes is too large for a view", len(body))}
	}
	if err != nil {
		return describe(err.(*Error), "view", t.Name)
	}
	d.start(body, enc)
	return nil
}

// Close gives the error that the walk has met.
func (d *Decoder) Close(t *TypeInfo) error { return describe(d.err, "view", t.Name) }

// Sample gives the bytes that d walks over.
func (d *Decoder) Sample() Sample { return Sample{d.buf, d.big, d.v2} }

// shifted marks the offset of a value within an XCDR1 parameter that begins in the middle of eight bytes: what it aligns to
// eight lies there, too.
const shifted int32 = 1 << 30

// split takes the mark off an offset that is not Missing, and gives the origin of alignment, as far as it matters.
func split(at int32) (offset, origin int) {
	return int(at &^ shifted), int(at&shifted) >> 28
}

// Here is the offset of the next value, Missing if it is absent.
func (d *Decoder) Here(align int) int32 {
	if d.err != nil || d.Absent() {
		return Missing
	}
	return int32(d.pos+(d.origin-d.pos)&(align-1)&d.mask) | int32(d.origin&4)<<28
}

// HereArray is Here for an array of values that are not primitive, whose elements are aligned to align.
func (d *Decoder) HereArray(align int) int32 {
	if d.v2 {
		align = 4 // of the DHEADER
	}
	return d.Here(align)
}

// RunAt is Run for views: the offset of the run, Missing if the caller has to go member by member.
func (d *Decoder) RunAt(align, size int) int32 {
	if d.Run(align, size) == nil {
		return Missing
	}
	return int32(d.pos - size)
}

// Locate passes over n bytes and gives their offset.
func (d *Decoder) Locate(name string, align, n int) int32 {
	if d.take(name, align, n) == nil {
		return Missing
	}
	return int32(d.pos - n)
}

// LocateString passes over a string and gives the offset of its length.
func (d *Decoder) LocateString(name string, bound int) int32 {
	at := d.Here(4)
	d.stringBytes(name, bound)
	return at
}

// LocateWString passes over a wstring and gives the offset of its length.
func (d *Decoder) LocateWString(name string, bound int) int32 {
	at := d.Here(4)
	d.wstringBytes(name, bound)
	return at
}

// LocateSequence passes over a sequence of primitives and gives the offset of its length.
func (d *Decoder) LocateSequence(name string, bound, width int) int32 {
	at := d.Here(4)
	n, s := d.BeginSequence(name, bound, width, true)
	if n > 0 {
		d.take(name, width, width*n)
	}
	d.End(s)
	return at
}

// Layout says where equal elements of fixed size lie, for XCDR1 and XCDR2: Size bytes each, starting every Stride bytes,
// the first aligned to Align.
type Layout struct {
	Align, Size, Stride [2]int

	image reflect.Type // of elements that are copied as they are; nil for others
}

func version(v2 bool) int {
	if v2 {
		return 1
	}
	return 0
}

// SkipElements passes over n elements at once.
func (d *Decoder) SkipElements(name string, n int, l *Layout) {
	if n > 0 {
		v := version(d.v2)
		d.take(name, l.Align[v], (n-1)*l.Stride[v]+l.Size[v])
	}
}

// Seek prepares d to read the value at an offset that a walk has found. If it is missing, Seek says no, and all that d reads is
// absent.
func (s Sample) Seek(d *Decoder, at int32) bool {
	offset, origin := split(at)
	if at < 0 || s.body == nil || offset > len(s.body) {
		*d = Decoder{open: true, v2: s.v2, mask: 7, depth: 1}
		return false
	}
	*d = Decoder{buf: s.body, pos: offset, end: len(s.body), origin: origin, mask: 7, big: s.big, v2: s.v2, fast: s.v2 && !s.big, depth: 1}
	if s.v2 {
		d.mask = 3
	}
	return true
}

func (s Sample) at(at int32, n int) []byte {
	if at < 0 {
		return nil
	}
	offset := int(at &^ shifted)
	if offset > len(s.body)-n {
		return nil
	}
	return s.body[offset : offset+n]
}

// Bool reads a boolean: anything but zero is true.
func (s Sample) Bool(at int32) bool { return s.Uint8(at) != 0 }

// Uint8 reads an octet, a char or a uint8.
func (s Sample) Uint8(at int32) uint8 {
	if b := s.at(at, 1); b != nil {
		return b[0]
	}
	return 0
}

// Int8 reads an int8.
func (s Sample) Int8(at int32) int8 { return int8(s.Uint8(at)) }

// Uint16 reads an unsigned short or a wchar.
func (s Sample) Uint16(at int32) uint16 { return loadUint16(s.at(at, 2), s.big) }

// Int16 reads a short.
func (s Sample) Int16(at int32) int16 { return int16(s.Uint16(at)) }

// Uint32 reads an unsigned long.
func (s Sample) Uint32(at int32) uint32 { return loadUint32(s.at(at, 4), s.big) }

// Int32 reads a long.
func (s Sample) Int32(at int32) int32 { return int32(s.Uint32(at)) }

// Uint64 reads an unsigned long long.
func (s Sample) Uint64(at int32) uint64 { return loadUint64(s.at(at, 8), s.big) }

// Int64 reads a long long.
func (s Sample) Int64(at int32) int64 { return int64(s.Uint64(at)) }

// Float32 reads a float.
func (s Sample) Float32(at int32) float32 { return math.Float32frombits(s.Uint32(at)) }

// Float64 reads a double.
func (s Sample) Float64(at int32) float64 { return math.Float64frombits(s.Uint64(at)) }

// Enum reads an enumeration of the given width; it may have a value that the type does not know. Missing gives def.
func (s Sample) Enum(at int32, width int, def int32) int32 {
	if s.at(at, width) == nil {
		return def
	}
	switch width {
	case 1:
		return int32(s.Int8(at))
	case 2:
		return int32(s.Int16(at))
	}
	return s.Int32(at)
}

// String gives a string that aliases the sample: it lives, and stays the same, as long as the sample does.
func (s Sample) String(at int32) string {
	n := s.Uint32(at)
	if n == 0 || uint64(n) > math.MaxInt32 {
		return ""
	}
	b := s.at(at+4, int(n))
	if b == nil {
		return ""
	}
	return aliasString(b[:n-1])
}

// Bytes gives a sequence of octets that aliases the sample. It is not inlined, so that the accessors of views are,
// which would be given a copy of the view otherwise.
//
//go:noinline
func (s Sample) Bytes(at int32) []byte {
	start := int(at&^shifted) + 4
	if at < 0 || start > len(s.body) {
		return nil
	}
	n := int(loadUint32(s.body[start-4:start], s.big))
	if n > len(s.body)-start {
		return nil
	}
	return s.body[start : start+n]
}

// ArrayBytes gives an array of n octets that aliases the sample; nil if it is missing.
func (s Sample) ArrayBytes(at int32, n int) []byte { return s.at(at, n) }

// sequenceBytes gives the elements of a sequence of primitives. Those of 8 bytes may be aligned to 8.
func (s Sample) sequenceBytes(at int32, width int) []byte {
	n := s.Uint32(at)
	if at < 0 || n > maxElements || uint64(n)*uint64(width) > uint64(len(s.body)) {
		return nil
	}
	start, origin := split(at)
	start += 4
	if width >= 8 && !s.v2 {
		start += (origin - start) & 7
	}
	if start > len(s.body) {
		return nil
	}
	return s.at(int32(start), int(n)*width)
}
