package xtypes

import (
	"encoding/binary"
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
)

// fault is why a cursor stopped. It is a number so that walking over a sample allocates nothing.
type fault uint8

const (
	noFault fault = iota
	truncated
	malformed
	tooDeep
	notUnderstood
)

var faultErrors = [...]error{truncated: cdr.ErrTruncated, malformed: cdr.ErrMalformed, tooDeep: cdr.ErrDepth, notUnderstood: cdr.ErrNotUnderstood}

// cursor walks over the body of an encoded sample. The first fault sticks; what is read after it is zero.
type cursor struct {
	buf    []byte
	pos    int
	end    int // of the innermost delimited value
	origin int // of alignment: 0, or the start of the innermost XCDR1 parameter
	depth  int
	big    bool
	v2     bool
	open   bool // directly in a value that may end before its members do
	fault  fault
	id     uint32 // of the member that must be understood, for the message
}

// open starts a cursor at the body of a sample.
func (c *cursor) start(t *Type, sample []byte) error {
	if len(sample) < cdr.HeaderSize {
		return &cdr.Error{Op: "read", Type: t.d.Name, Err: cdr.ErrTruncated, Detail: fmt.Sprintf("%d bytes are no encapsulation header", len(sample))}
	}
	enc := cdr.Encapsulation(binary.BigEndian.Uint16(sample))
	body := sample[cdr.HeaderSize:]
	pad := int(sample[3] & 3)
	if want := t.Encapsulation(enc.XCDR2(), enc.BigEndian()); enc != want {
		return &cdr.Error{Op: "read", Type: t.d.Name, Err: cdr.ErrEncapsulation,
			Detail: fmt.Sprintf("%s does not carry a type that is %s; %s does", enc, t.d.Extensibility, want)}
	}
	if pad > len(body) {
		return &cdr.Error{Op: "read", Type: t.d.Name, Err: cdr.ErrMalformed,
			Detail: fmt.Sprintf("%d padding bytes announced, %d bytes present", pad, len(body))}
	}
	body = body[:len(body)-pad]
	*c = cursor{buf: body, end: len(body), big: enc.BigEndian(), v2: enc.XCDR2()}
	return nil
}

// err describes the fault.
func (c *cursor) err(t *Type, path string) error {
	if c.fault == noFault {
		return nil
	}
	e := &cdr.Error{Op: "read", Type: t.d.Name, Path: path, Err: faultErrors[c.fault]}
	switch c.fault {
	case truncated:
		e.Detail = fmt.Sprintf("input ends early, at offset %d", c.end+cdr.HeaderSize)
	case malformed:
		e.Detail = fmt.Sprintf("malformed input before offset %d", c.pos+cdr.HeaderSize)
	case tooDeep:
		e.Detail = fmt.Sprintf("nested more than %d levels deep", cdr.MaxDepth)
	case notUnderstood:
		e.Detail = fmt.Sprintf("member %d must be understood, and is not known", c.id)
	}
	return e
}

func (c *cursor) fail(f fault) {
	if c.fault == noFault {
		c.fault = f
	}
}

// align is where a value with that alignment begins. XCDR2 aligns to four bytes at most, XCDR1 to eight.
func (c *cursor) align(n int) int {
	switch {
	case c.v2 && n > 4:
		n = 4
	case n > 8:
		n = 8
	}
	return c.pos + (c.origin-c.pos)&(n-1)
}

// take skips padding and hands out n bytes; nil at the end.
func (c *cursor) take(align, n int) []byte {
	start := c.align(align)
	if c.fault != noFault || n > c.end-start {
		c.fail(truncated)
		return nil
	}
	c.pos = start + n
	return c.buf[start:c.pos:c.pos]
}

// absent tells whether the value that surrounds the next member ended before it.
func (c *cursor) absent() bool { return c.open && c.pos == c.end }

func (c *cursor) u8() uint8 {
	if b := c.take(1, 1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	b := c.take(2, 2)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (c *cursor) u32() uint32 {
	b := c.take(4, 4)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (c *cursor) u64() uint64 {
	b := c.take(8, 8)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// uint reads an unsigned number of n bytes.
func (c *cursor) uint(n int) uint64 {
	switch n {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	}
	return c.u64()
}

// length reads a length in bytes that the input can hold.
func (c *cursor) length() int {
	n := c.u32()
	if int64(n) > int64(c.end-c.pos) {
		c.fail(truncated)
		return 0
	}
	return int(n)
}

// scope remembers what surrounds a value.
type scope struct {
	end, origin int
	open        bool
	resume      int // where the next value is, if that is known; 0 otherwise
}

func (c *cursor) scope() scope { return scope{end: c.end, origin: c.origin, open: c.open} }

// leave ends what delimit, begin or param entered.
func (c *cursor) leave(s scope) {
	if c.fault != noFault {
		return
	}
	if s.resume > 0 {
		c.pos = s.resume
	}
	c.end, c.origin, c.open = s.end, s.origin, s.open
}

// narrow makes the next n bytes all there is until leave.
func (c *cursor) narrow(s *scope, n int) {
	if n > c.end-c.pos {
		c.fail(truncated)
		return
	}
	c.end = c.pos + n
	s.resume = c.end
}

// delimit enters a collection: behind its DHEADER, if it has one.
func (c *cursor) delimit(t *Type) scope {
	s := c.scope()
	if c.v2 && t.delimited() {
		c.narrow(&s, c.length())
	}
	c.open = false
	return s
}

// begin enters a structure or a union that is not mutable. The end of a sample delimits an appendable type at the top in XCDR1.
func (c *cursor) begin(x cdr.Extensibility) scope {
	s := c.scope()
	switch {
	case c.absent(): // and so are all of its members
	case c.v2 && x != cdr.Final:
		c.narrow(&s, c.length())
		c.open = true
	default:
		c.open = x != cdr.Final && c.depth == 1
	}
	return s
}

// deeper is called before the parts of a structure or a union, shallower after them if it said yes.
func (c *cursor) deeper() bool {
	if c.depth >= cdr.MaxDepth {
		c.fail(tooDeep)
	}
	c.depth++
	return c.fault == noFault
}

func (c *cursor) shallower() { c.depth-- }

// hasMemberID tells whether a mutable structure or union has a member with an id. A type that is not known, nil, has none.
func (t *Type) hasMemberID(id uint32) bool {
	return t != nil && (t.byID[id] != nil || t.disc != nil && id == t.disc.ID)
}

// header reads the header of a member of the mutable type t, nil if its members do not matter. more is false at the end
// of the list, and after a fault.
func (c *cursor) header(t *Type) (id uint32, n int, must, more bool) {
	if !c.v2 {
		return c.parameter(t.hasMemberID(pidSentinel) && c.align(4)+shortHeader < c.end)
	}
	if c.align(4) >= c.end {
		c.pos = c.end
		return 0, 0, false, false
	}
	h := c.u32()
	id, must = h&maxID, h&memberMust != 0
	switch code := h >> 28 & 7; code {
	case 0, 1, 2, 3:
		n = 1 << code
	case lengthNext:
		n = c.length()
	default:
		size := uint64(c.u32())
		c.pos -= 4 // the length is part of the value
		if code > lengthAlso1 {
			size <<= code - lengthNext
		}
		if c.fault == noFault && size+4 > uint64(c.end-c.pos) {
			c.fail(truncated)
		}
		n = int(size + 4)
	}
	if n > c.end-c.pos {
		c.fail(truncated)
	}
	return id, n, must, c.fault == noFault
}

// vendorID stands for parameters that are not members: their ids belong to vendors, or are reserved.
const vendorID = 1 << 31

// parameter reads the header of an XCDR1 parameter. one tells that the id 1, with which RTPS ends its lists, may be a
// member's that is absent.
func (c *cursor) parameter(one bool) (id uint32, n int, must, more bool) {
	c.take(4, 0)
	pid, length := c.u16(), int(c.u16())
	must = pid&pidMust != 0
	switch p := pid & pidMask; {
	case pid&pidVendor != 0:
		id = vendorID
	case p == pidListEnd, p == pidSentinel && length == 0 && !one:
		return 0, 0, false, false
	case p == pidExtended:
		if length != 8 {
			c.fail(malformed)
			return 0, 0, false, false
		}
		id = c.u32()
		must = id&extendedMust != 0
		if id&extendedVend != 0 {
			id = vendorID
		} else {
			id &= maxID
		}
		length = c.length()
	case p > pidLargest:
		id, must = vendorID, false
	default:
		id = uint32(p)
	}
	if length > c.end-c.pos {
		c.fail(truncated)
	}
	return id, length, must, c.fault == noFault
}

// enterMember makes the n bytes of a member all there is until leave. A value in an XCDR1 parameter has its own origin.
func (c *cursor) enterMember(n int) scope {
	s := c.scope()
	c.narrow(&s, n)
	c.open = true
	if !c.v2 {
		c.origin = c.pos
	}
	return s
}

// optional enters an optional member of a type that is not mutable, if it is there.
func (c *cursor) optional(id uint32) (s scope, present bool) {
	s = c.scope()
	if c.absent() {
		return s, false
	}
	if c.v2 {
		switch c.u8() {
		case 0:
		case 1:
			c.open = false
			return s, c.fault == noFault
		default:
			c.fail(malformed)
		}
		return s, false
	}
	got, n, _, more := c.parameter(true)
	switch {
	case !more || got != id:
		c.fail(malformed)
		return s, false
	case n == 0:
		return s, false
	}
	s = c.enterMember(n)
	c.open = false
	return s, c.fault == noFault
}

// skip passes over a value of type t.
func (c *cursor) skip(t *Type) {
	t = t.Resolve()
	if c.fault != noFault || c.absent() {
		return
	}
	if w := t.width(); w > 0 {
		c.take(w, w)
		return
	}
	switch t.d.Kind {
	case TKString8, TKString16:
		c.take(1, c.length())
		return
	}
	if c.v2 && t.delimited() {
		c.take(1, c.length())
		return
	}
	if !c.deeper() {
		return
	}
	defer c.shallower()
	switch t.d.Kind {
	case TKSequence:
		s := c.delimit(t)
		c.skipElements(t.d.Elem.Resolve(), uint64(c.u32()))
		c.leave(s)
	case TKArray:
		s := c.delimit(t)
		c.skipElements(t.d.Elem.Resolve(), uint64(t.Len()))
		c.leave(s)
	case TKMap:
		s := c.delimit(t)
		// A key takes at least a byte: what is announced beyond the input ends the loop.
		for n := c.u32(); n > 0 && c.fault == noFault; n-- {
			c.skip(t.d.MapKey)
			c.skip(t.d.Elem)
		}
		c.leave(s)
	case TKStructure:
		c.skipStructure(t)
	case TKUnion:
		c.skipUnion(t)
	default:
		c.fail(malformed) // a type that is not complete
	}
}

func (c *cursor) skipElements(t *Type, n uint64) {
	if w := t.width(); w > 0 {
		if n*uint64(w) > uint64(c.end) {
			c.fail(truncated)
			return
		}
		if n > 0 {
			c.take(w, int(n)*w)
		}
		return
	}
	for ; n > 0 && c.fault == noFault; n-- {
		at := c.pos
		c.skip(t)
		if c.pos == at {
			return // elements take no room, however many there are
		}
	}
}

func (c *cursor) skipStructure(t *Type) {
	if t.d.Extensibility == cdr.Mutable {
		c.skipList()
		return
	}
	s := c.begin(t.d.Extensibility)
	for _, m := range t.all {
		c.skipMember(m)
	}
	c.leave(s)
}

// skipMember passes over a member of a structure that is not mutable.
func (c *cursor) skipMember(m *Member) {
	if !m.Optional {
		c.skip(m.Type)
		return
	}
	s, present := c.optional(m.ID)
	if present && s.resume == 0 {
		c.skip(m.Type)
	}
	c.leave(s)
}

// skipList passes over the parameters of a mutable value in XCDR1.
func (c *cursor) skipList() {
	for {
		_, n, _, more := c.header(nil)
		if !more {
			return
		}
		c.pos += n
	}
}

func (c *cursor) skipUnion(t *Type) {
	if t.d.Extensibility == cdr.Mutable {
		c.skipList()
		return
	}
	s := c.begin(t.d.Extensibility)
	if !c.absent() {
		if m := t.Case(c.discriminator(t)); m != nil {
			c.skip(m.Type)
		}
	}
	c.leave(s)
}

// discriminator reads the discriminator of a union.
func (c *cursor) discriminator(t *Type) int64 {
	d := t.disc.Type.Resolve()
	return signExtend(d, c.uint(d.width()))
}

// signExtend gives a number of t's width its sign.
func signExtend(t *Type, u uint64) int64 {
	if t.d.Kind.Signed() || t.d.Kind == TKEnum {
		shift := 64 - 8*t.width()
		return int64(u<<shift) >> shift
	}
	return int64(u)
}
