package cdr

import (
	"fmt"
	"math"
	"slices"
)

// Members of mutable types, and in XCDR1 all optional members, carry their ids in headers:
//
//	XCDR1  | flags, PID 16 | length 16 | value             ids up to 0x3f00, values up to 64 KB
//	       | flags, 0x3f01 | 8 | flags, id 32 | length 32 | value
//	       | flags, 0x3f02 | 0 |                           end of the list
//	XCDR2  | flag, length code, id 32 | [length 32] | value
//
// In XCDR1 the value begins at a new origin of alignment, which ends with the value: XTypes 1.3 §7.4.1.2.5 has the PUSH of
// the origin and not the POP, which Cyclone DDS supplies in the same way.

// MustUnderstand, added to a member id, tells readers to refuse a sample rather than to ignore the member.
const MustUnderstand uint32 = 1 << 31

const (
	memberIDMask = 0x0fff_ffff

	pidMask        = 0x3fff
	pidVendor      = 0x8000 // FLAG_IMPL_EXTENSION: the id means something to one vendor only
	pidMust        = 0x4000
	pidLargest     = 0x3f00 // of those that are member ids
	pidExtended    = 0x3f01
	pidListEnd     = 0x3f02
	pidSentinel    = 0x0001 // ends a list in RTPS, and in the XTypes drafts
	extendedMust   = 0x4000_0000
	extendedVendor = 0x8000_0000

	shortHeader = 4
	longHeader  = 12
)

// Length codes of XCDR2 (XTypes 1.3 §7.4.3.4.2). Codes 0 to 3 stand for 1, 2, 4 and 8 bytes.
const (
	lengthNext  = 4 // the length follows the header
	lengthAlso1 = 5 // the first four bytes of the value count the bytes behind them
	lengthAlso4 = 6 // or groups of four bytes
	lengthAlso8 = 7 // or groups of eight
)

// MemberMark remembers where a member with a header began.
type MemberMark struct {
	start  int // offset of the value; 0 if nothing has to be completed
	origin int
	id     uint32
}

// BeginMember writes the header of a member of a mutable type. code is the length code for XCDR2.
func (e *Encoder) BeginMember(id uint32, code int) MemberMark {
	if !e.v2 {
		return e.beginParameter(id)
	}
	e.Uint32(id | uint32(code)<<28)
	if code != lengthNext {
		return MemberMark{}
	}
	e.Uint32(0)
	return MemberMark{start: e.pos}
}

// BeginOptional begins an optional member of a type that is not mutable. If ok, the value follows, and then EndMember.
func (e *Encoder) BeginOptional(id uint32, present bool) (m MemberMark, ok bool) {
	if e.v2 {
		e.Bool(present)
		return MemberMark{}, present
	}
	m = e.beginParameter(id)
	if !present {
		e.EndMember(m)
	}
	return m, present
}

func (e *Encoder) beginParameter(id uint32) MemberMark {
	n := shortHeader
	if id&memberIDMask > pidLargest {
		n = longHeader
	}
	e.take(4, n)
	m := MemberMark{start: e.pos, origin: e.origin, id: id}
	e.origin = e.pos
	return m
}

// EndMember completes what BeginMember or BeginOptional began.
func (e *Encoder) EndMember(m MemberMark) {
	switch {
	case m.start == 0 || e.err != nil:
	case e.v2:
		if !e.only {
			e.order().PutUint32(e.buf[m.start-4:], uint32(e.pos-m.start))
		}
	default:
		e.endParameter(m)
	}
}

// endParameter writes the header in front of a value. A value that turns out too long for the short header moves: its inner
// alignment does not depend on where it lies.
func (e *Encoder) endParameter(m MemberMark) {
	e.origin = m.origin
	n, id := e.pos-m.start, m.id&memberIDMask
	if id <= pidLargest && n > math.MaxUint16 {
		if room := e.take(1, longHeader-shortHeader); room != nil {
			copy(e.buf[m.start+longHeader-shortHeader:], e.buf[m.start:m.start+n])
		}
		m.start += longHeader - shortHeader
		id |= 1 << 31 // long, too
	}
	if e.only || e.err != nil {
		return
	}
	order := e.order()
	if id <= pidLargest {
		pid := uint16(id)
		if m.id&MustUnderstand != 0 {
			pid |= pidMust
		}
		h := e.buf[m.start-shortHeader:]
		order.PutUint16(h, pid)
		order.PutUint16(h[2:], uint16(n))
		return
	}
	id &= memberIDMask
	if m.id&MustUnderstand != 0 {
		id |= extendedMust
	}
	h := e.buf[m.start-longHeader:]
	order.PutUint16(h, pidExtended|pidMust) // table 34: writers set the flag
	order.PutUint16(h[2:], 8)
	order.PutUint32(h[4:], id)
	order.PutUint32(h[8:], uint32(n))
}

func (e *Encoder) sentinel() {
	if h := e.take(4, 4); h != nil {
		e.order().PutUint16(h, pidListEnd|pidMust)
		e.order().PutUint16(h[2:], 0)
	}
}

// Position is where a member of a mutable value lies; the zero value stands for one that is absent.
type Position struct{ start, end int }

// BeginMutable finds the members of a mutable struct or union: at[i] is where the one with ids[i] lies. ids ascend. A
// member that must be understood and is not among them is an error.
func (d *Decoder) BeginMutable(ids []uint32, at []Position) Scope {
	clear(at)
	return d.list(ids, at, false)
}

// SkipMutable passes over a mutable value. ids are those of BeginMutable: where a list of XCDR1 ends can depend on them.
func (d *Decoder) SkipMutable(ids []uint32) {
	if !d.SkipDelimited("") {
		d.End(d.list(ids, nil, true))
	}
}

// Select goes to a member that BeginMutable has found. The member may be read also if it says no: it is absent.
func (d *Decoder) Select(at Position) bool {
	switch {
	case d.err != nil:
		return false
	case at.end == 0:
		d.end, d.open = d.pos, true
		return false
	}
	d.pos, d.end, d.open = at.start, at.end, true
	if !d.v2 {
		d.origin = at.start
	}
	return true
}

// list passes over the members of a mutable value. One that is skipped needs no at, and nothing in it has to be understood.
func (d *Decoder) list(ids []uint32, at []Position, skip bool) Scope {
	s := d.scope()
	if d.err != nil || d.Absent() {
		return s
	}
	if d.v2 {
		if s.delimited = d.delimit(""); !s.delimited {
			return s
		}
		s.resume = d.end
	}
	d.open = false
	next := 0                                // members mostly come in the order of their ids
	for !d.v2 || AlignUp(d.pos, 4) < d.end { // what is left of four bytes is padding
		id, n, must, more := d.header(ids)
		switch {
		case !more:
			if d.err == nil && !d.v2 {
				s.resume = d.pos
			}
			return s
		case n > uint64(d.end-d.pos):
			d.fail(&Error{Err: ErrTruncated, Detail: fmt.Sprintf("member %d announces %d bytes at offset %d, %d present", id, n,
				d.pos+HeaderSize, d.end-d.pos)})
			return s
		}
		start := d.pos
		d.pos += int(n)
		if skip {
			continue
		}
		if next >= len(ids) || ids[next] != id {
			i, known := slices.BinarySearch(ids, id)
			if !known {
				if must {
					d.fail(&Error{Err: ErrNotUnderstood, Detail: fmt.Sprintf("member %d must be understood, and is not known", id)})
					return s
				}
				continue
			}
			next = i
		}
		at[next] = Position{start, d.pos}
		next++
	}
	return s
}

// header reads the header of a member. There are no more when it says so, or after an error. In XCDR1, ids that belong to a
// vendor or are reserved come out as no member's.
func (d *Decoder) header(ids []uint32) (id uint32, n uint64, must, more bool) {
	if !d.v2 {
		return d.parameter(hasID(ids, pidSentinel) && AlignUp(d.pos, 4)+shortHeader < d.end)
	}
	h := d.Uint32("")
	id, must = h&memberIDMask, h&MustUnderstand != 0
	code := h >> 28 & 7
	switch {
	case code < lengthNext:
		return id, 1 << code, must, d.err == nil
	case code == lengthNext:
		n = uint64(d.Uint32(""))
		return id, n, must, d.err == nil
	}
	at := d.pos
	n = uint64(d.Uint32(""))
	if d.err != nil {
		return 0, 0, false, false
	}
	d.pos = at
	if code > lengthAlso1 {
		n <<= code - lengthNext
	}
	return id, n + 4, must, true
}

// parameter reads the header of an XCDR1 parameter. one tells that the id 1, with which RTPS ends its lists, may be a member's
// that is absent.
func (d *Decoder) parameter(one bool) (id uint32, n uint64, must, more bool) {
	h := d.take("", 4, shortHeader)
	if h == nil {
		return 0, 0, false, false
	}
	pid, length := loadUint16(h, d.big), loadUint16(h[2:], d.big)
	must = pid&pidMust != 0
	switch p := pid & pidMask; {
	case pid&pidVendor != 0:
		return math.MaxUint32, uint64(length), must, true
	case p == pidListEnd:
		return 0, 0, false, false
	case p == pidExtended:
		if length != 8 {
			d.fail(&Error{Err: ErrMalformed, Detail: fmt.Sprintf("extended header of %d bytes at offset %d, not 8", length, d.pos-4+HeaderSize)})
			return 0, 0, false, false
		}
		if h = d.take("", 4, 8); h == nil {
			return 0, 0, false, false
		}
		id = loadUint32(h, d.big)
		must = id&extendedMust != 0
		n = uint64(loadUint32(h[4:], d.big))
		if id&extendedVendor != 0 {
			return math.MaxUint32, n, must, true
		}
		return id & memberIDMask, n, must, true
	case p > pidLargest: // PID_IGNORE and reserved ones
		return math.MaxUint32, uint64(length), false, true
	case p == pidSentinel && length == 0 && !one:
		return 0, 0, false, false
	default:
		return uint32(p), uint64(length), must, true
	}
}

func hasID(ids []uint32, id uint32) bool {
	_, found := slices.BinarySearch(ids, id)
	return found
}

// BeginOptional begins an optional member of a type that is not mutable. If ok, the value follows, and then End.
func (d *Decoder) BeginOptional(name string, id uint32) (s Scope, ok bool) {
	s = d.scope()
	if d.err != nil || d.Absent() {
		return s, false
	}
	if d.v2 {
		ok = d.Bool(name)
		if ok {
			d.open = false
		}
		return s, ok && d.err == nil
	}
	got, n, _, more := d.parameter(true)
	switch {
	case d.err != nil:
		d.err.within(name)
		return s, false
	case !more || got != id&memberIDMask:
		d.fail(&Error{Path: name, Err: ErrMalformed, Detail: fmt.Sprintf("header of member %d where member %d is", got, id&memberIDMask)})
		return s, false
	case n > uint64(d.end-d.pos):
		d.fail(&Error{Path: name, Err: ErrTruncated,
			Detail: fmt.Sprintf("member announces %d bytes at offset %d, %d present", n, d.pos+HeaderSize, d.end-d.pos)})
		return s, false
	case n == 0:
		return s, false
	}
	s.resume = d.pos + int(n)
	d.origin, d.end, d.open = d.pos, s.resume, false
	return s, true
}
