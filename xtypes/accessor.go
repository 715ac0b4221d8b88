package xtypes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/cdr"
)

// Accessor finds one value in encoded samples of a type, without decoding what is around it. It is immutable and safe for
// concurrent use.
//
// Where everything in front of the value has a fixed size, it lies at an offset that is known beforehand: then Get is a few
// loads. Otherwise Get walks: delimited values are stepped over at once, and strings and sequences by their length.
type Accessor struct {
	path Path
	leaf *Type // resolved
	// fixed are the offsets in XCDR1 and XCDR2 if nothing but a DHEADER can move the value.
	fixed [2]fixedOffset
	quick quick
}

// fixedOffset is where a value lies in the body. A DHEADER at each of headers tells whether the value is there.
type fixedOffset struct {
	at      int
	known   bool
	headers []int
}

// NewAccessor compiles a path. It must lead to a number, a boolean, a character, a string, an enumeration, a bitmask or a bitset.
func NewAccessor(p Path) (*Accessor, error) {
	if p.root == nil {
		return nil, fmt.Errorf("xtypes: the path is of no type; get one with Type.Path")
	}
	if missing := p.root.Incomplete(); len(missing) > 0 {
		return nil, fmt.Errorf("xtypes: %s refers to %v, declared but not complete", p.root, missing)
	}
	leaf := p.typ.Resolve()
	if leaf.width() == 0 && leaf.d.Kind != TKString8 && leaf.d.Kind != TKString16 {
		return nil, &PathError{Path: p.text, At: p.text, Type: p.typ.String(), Detail: "it is no single value; name one of its parts"}
	}
	a := &Accessor{path: p, leaf: leaf}
	for v := range a.fixed {
		a.fixed[v] = layoutOf(p, v == 1)
	}
	a.quick = quickOf(p.root.Resolve(), leaf, &a.fixed[1])
	return a, nil
}

// Path is the path that was compiled.
func (a *Accessor) Path() Path { return a.path }

// Type is the type of the value, without typedefs.
func (a *Accessor) Type() *Type { return a.leaf }

// Value is a value where it lies in a sample; strings alias the sample.
type Value struct {
	typ  *Type
	bits uint64 // of a number
	raw  []byte // of a string or a long double
	big  bool
}

// Get finds the value in a sample, header included. It is not present if an optional member, an element of a sequence
// or the case of a union on the path is not there, or if the writer's version of an appendable or mutable type lacks
// it. Nothing is allocated unless there is an error.
func (a *Accessor) Get(sample []byte) (v Value, present bool, err error) {
	var c cursor
	root := a.path.root.Resolve()
	if err := c.start(root, sample); err != nil {
		return Value{}, false, err
	}
	if f := &a.fixed[b2i(c.v2)]; f.known && f.seek(&c, a.leaf) {
		present = true
	} else {
		present = a.walk(&c, root)
	}
	if present {
		v = c.value(a.leaf)
	}
	if c.fault != noFault {
		return Value{}, false, c.err(root, a.path.text)
	}
	return v, present, nil
}

// quick is how a number is read from samples in little-endian XCDR2, which writers mostly send, at a fixed offset.
type quick struct {
	width   int    // of the number; 0 if it is none, or lies somewhere else in each sample
	at      int    // in the sample, header included
	headers []int  // DHEADERs around it, likewise
	enc     uint16 // the first bytes of such a sample
	shift   uint8  // of sign extension
	boolean bool
}

func quickOf(root, leaf *Type, f *fixedOffset) quick {
	w := leaf.width()
	if !f.known || w == 0 || w > 8 {
		return quick{}
	}
	q := quick{width: w, at: f.at + cdr.HeaderSize, enc: uint16(root.Encapsulation(true, false)), boolean: leaf.d.Kind == TKBoolean}
	for _, h := range f.headers {
		q.headers = append(q.headers, h+cdr.HeaderSize)
	}
	if leaf.d.Kind.Signed() || leaf.d.Kind == TKEnum {
		q.shift = uint8(64 - 8*w)
	}
	return q
}

// Number gives the bits of a number, as Value.Int or Value.Uint of what Get finds, if that takes but a few loads; ok is
// false if it does not, which says nothing of the sample.
func (a *Accessor) Number(sample []byte) (bits uint64, ok bool) {
	q := &a.quick
	if q.width == 0 || len(sample) < cdr.HeaderSize || binary.BigEndian.Uint16(sample) != q.enc {
		return 0, false
	}
	end := len(sample) - int(sample[3]&3)
	for _, h := range q.headers {
		if h+4 > end {
			return 0, false
		}
		size := binary.LittleEndian.Uint32(sample[h:])
		if uint64(size) > uint64(end-h-4) {
			return 0, false
		}
		end = h + 4 + int(size)
	}
	if q.at+q.width > end {
		return 0, false
	}
	switch b := sample[q.at:]; q.width {
	case 1:
		bits = uint64(b[0])
	case 2:
		bits = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		bits = uint64(binary.LittleEndian.Uint32(b))
	default:
		bits = binary.LittleEndian.Uint64(b)
	}
	if q.boolean && bits > 1 {
		return 0, false
	}
	if q.shift != 0 {
		bits = uint64(int64(bits<<q.shift) >> q.shift)
	}
	return bits, true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// seek goes to the value if all DHEADERs around it cover it.
func (f *fixedOffset) seek(c *cursor, leaf *Type) bool {
	n := max(4, leaf.width()) // the length of a string
	if leaf.width() > 0 {
		n = leaf.width()
	}
	for _, h := range f.headers {
		if h+4 > c.end {
			return false
		}
		size := binary.LittleEndian.Uint32(c.buf[h:])
		if c.big {
			size = binary.BigEndian.Uint32(c.buf[h:])
		}
		if uint64(size) > uint64(c.end-h-4) || h+4+int(size) < f.at+n {
			return false
		}
		c.end = h + 4 + int(size)
	}
	if f.at+n > c.end {
		return false
	}
	c.pos = f.at
	return true
}

// layoutOf computes where a path leads if everything in front of it has a fixed size.
func layoutOf(p Path, v2 bool) fixedOffset {
	l := layouter{v2: v2}
	t := p.root.Resolve()
	for _, s := range p.steps {
		switch t.d.Kind {
		case TKStructure:
			if !l.structure(t, s.Member) {
				return fixedOffset{}
			}
		case TKArray:
			if v2 && t.delimited() {
				l.header()
			}
			for range min(s.Index, maxUnrolled+1) {
				if !l.skip(t.d.Elem.Resolve(), 0) {
					return fixedOffset{}
				}
			}
			if s.Index > maxUnrolled {
				return fixedOffset{}
			}
		default:
			return fixedOffset{}
		}
		t = p.next(t, s).Resolve()
	}
	l.align(max(1, alignment(t)))
	return fixedOffset{at: l.at, known: true, headers: l.headers}
}

// Bounds on the work of NewAccessor: elements of one array, and values in front of what is looked for. Types that
// double at each level have very many of these.
const (
	maxUnrolled = 1024
	maxPassed   = 1 << 16
)

// next is the type behind a step.
func (p Path) next(t *Type, s Step) *Type {
	if s.Member != nil {
		return s.Member.Type
	}
	return t.d.Elem
}

// alignment is what the first bytes of a single value align to.
func alignment(t *Type) int {
	if w := t.width(); w > 0 {
		return w
	}
	return 4
}

type layouter struct {
	at      int
	passed  int // values so far
	v2      bool
	headers []int
}

func (l *layouter) align(n int) {
	c := cursor{pos: l.at, v2: l.v2}
	l.at = c.align(n)
}

func (l *layouter) header() {
	l.align(4)
	l.headers = append(l.headers, l.at)
	l.at += 4
}

// structure goes to a member of t.
func (l *layouter) structure(t *Type, m *Member) bool {
	if t.d.Extensibility == cdr.Mutable || m.Optional {
		return false
	}
	if l.v2 && t.d.Extensibility == cdr.Appendable {
		l.header()
	}
	for _, before := range t.all[:m.Index] {
		if before.Optional || !l.skip(before.Type.Resolve(), 0) {
			return false
		}
	}
	return true
}

// skip passes over a value of fixed size. What is delimited may be longer in a sample than this version of the type knows.
func (l *layouter) skip(t *Type, depth int) bool {
	if l.passed++; l.passed > maxPassed {
		return false
	}
	if w := t.width(); w > 0 {
		l.align(w)
		l.at += w
		return true
	}
	if depth > cdr.MaxDepth || l.v2 && t.delimited() && t.d.Kind == TKStructure {
		return false
	}
	switch t.d.Kind {
	case TKArray:
		e := t.d.Elem.Resolve()
		if w := e.width(); w > 0 {
			if l.v2 && t.delimited() {
				l.align(4)
				l.at += 4
			}
			l.align(w)
			l.at += w * t.Len()
			return l.at <= math.MaxInt32
		}
		if t.Len() > maxUnrolled || l.v2 && t.delimited() {
			return false
		}
		for range t.Len() {
			if !l.skip(e, depth+1) {
				return false
			}
		}
		return true
	case TKStructure:
		if t.d.Extensibility == cdr.Mutable {
			return false
		}
		for _, m := range t.all {
			if m.Optional || !l.skip(m.Type.Resolve(), depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// walk goes to the value step by step.
func (a *Accessor) walk(c *cursor, t *Type) bool {
	for _, s := range a.path.steps {
		if c.fault != noFault || c.absent() || !c.deeper() {
			return false
		}
		found := false
		switch t.d.Kind {
		case TKStructure:
			found = c.toMember(t, s.Member)
		case TKUnion:
			found = c.toCase(t, s.Member)
		default:
			found = c.toElement(t, s.Index)
		}
		if !found {
			return false
		}
		t = a.path.next(t, s).Resolve()
	}
	return c.fault == noFault && !c.absent()
}

func (c *cursor) toMember(t *Type, m *Member) bool {
	if t.d.Extensibility == cdr.Mutable {
		return c.toParameter(t, m.ID)
	}
	c.begin(t.d.Extensibility)
	for _, before := range t.all[:m.Index] {
		c.skipMember(before)
	}
	if !m.Optional {
		return c.fault == noFault && !c.absent()
	}
	_, present := c.optional(m.ID)
	return present
}

// toParameter goes to a member of a mutable value: to the last one with that id, as decoding does.
func (c *cursor) toParameter(t *Type, want uint32) bool {
	if c.v2 {
		var s scope
		c.narrow(&s, c.length())
	}
	c.open = false
	var found place
	for {
		id, n, must, more := c.header(t)
		switch {
		case !more && (c.fault != noFault || found.start == 0):
			return false
		case !more:
			c.pos = found.start
			c.enterMember(found.n)
			return c.fault == noFault
		case id == want:
			found = place{c.pos, n}
		case must && !t.hasMemberID(id):
			c.id = id
			c.fail(notUnderstood)
			return false
		}
		c.pos += n
	}
}

func (c *cursor) toCase(t *Type, m *Member) bool {
	if m == t.disc {
		if t.d.Extensibility == cdr.Mutable {
			return c.toParameter(t, m.ID)
		}
		c.begin(t.d.Extensibility)
		return !c.absent()
	}
	if t.d.Extensibility != cdr.Mutable {
		c.begin(t.d.Extensibility)
		return !c.absent() && t.Case(c.discriminator(t)) == m && c.fault == noFault
	}
	list := *c
	if !c.toParameter(t, t.disc.ID) || t.Case(c.discriminator(t)) != m || c.fault != noFault {
		return false
	}
	*c = list
	return c.toParameter(t, m.ID)
}

func (c *cursor) toElement(t *Type, index int) bool {
	c.delimit(t)
	n := t.Len()
	if t.d.Kind == TKSequence {
		n = int(c.u32())
	}
	if index >= n || c.fault != noFault {
		return false
	}
	c.skipElements(t.d.Elem.Resolve(), uint64(index))
	return c.fault == noFault
}

// value reads a single value.
func (c *cursor) value(t *Type) Value {
	v := Value{typ: t, big: c.big}
	switch t.d.Kind {
	case TKString8:
		v.raw = c.string8()
	case TKString16:
		v.raw = c.string16()
	case TKFloat128:
		v.raw = c.take(16, 16)
	default:
		v.bits = c.uint(t.width())
		if t.d.Kind.Signed() || t.d.Kind == TKEnum {
			v.bits = uint64(signExtend(t, v.bits))
		}
		if t.d.Kind == TKBoolean && v.bits > 1 {
			c.fail(malformed)
		}
	}
	return v
}

// string8 reads a string without its NUL. A length of 0, which some implementations send for the empty string, is accepted.
func (c *cursor) string8() []byte {
	n := c.length()
	if n == 0 {
		return nil
	}
	b := c.take(1, n)
	if i := bytes.IndexByte(b, 0); b != nil && i != n-1 {
		c.fail(malformed)
		return nil
	}
	return b[:max(0, len(b)-1)]
}

// string16 reads the code units of a wstring and checks that they pair up.
func (c *cursor) string16() []byte {
	b := c.take(1, c.length())
	if len(b)%2 != 0 {
		c.fail(malformed)
		return nil
	}
	for i := 0; i < len(b); i += 2 {
		u := rune(unit(b[i:], c.big))
		if !utf16.IsSurrogate(u) {
			continue
		}
		if i+4 > len(b) || utf16.DecodeRune(u, rune(unit(b[i+2:], c.big))) == utf8.RuneError {
			c.fail(malformed)
			return nil
		}
		i += 2
	}
	return b
}

func unit(b []byte, big bool) uint16 {
	if big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// Type is the type of the value, without typedefs.
func (v Value) Type() *Type { return v.typ }

// Int gives the value of a signed integer or an enumeration, and that of other numbers below 1<<63.
func (v Value) Int() int64 { return int64(v.bits) }

// Uint gives the value of an unsigned integer, an octet, a character, a bitmask, a bitset or a boolean.
func (v Value) Uint() uint64 { return v.bits }

// Bool gives the value of a boolean.
func (v Value) Bool() bool { return v.bits != 0 }

// Float gives the value of a float, a double, or a long double, which is rounded.
func (v Value) Float() float64 {
	switch v.typ.d.Kind {
	case TKFloat32:
		return float64(math.Float32frombits(uint32(v.bits)))
	case TKFloat128:
		return v.float128().Float64()
	}
	return math.Float64frombits(v.bits)
}

func (v Value) float128() Float128 {
	var f Float128
	copy(f[:], v.raw)
	if v.big {
		slices.Reverse(f[:])
	}
	return f
}

// Bytes gives the bytes of a string. They are those of the sample: they end when it does.
func (v Value) Bytes() []byte { return v.raw }

// AppendText appends a string or a wstring in UTF-8.
func (v Value) AppendText(dst []byte) []byte {
	if v.typ.d.Kind != TKString16 {
		return append(dst, v.raw...)
	}
	for b := v.raw; len(b) >= 2; b = b[2:] {
		r := rune(unit(b, v.big))
		if utf16.IsSurrogate(r) && len(b) >= 4 {
			b = b[2:]
			r = utf16.DecodeRune(r, rune(unit(b, v.big)))
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// Any gives the value as Data has it.
func (v Value) Any() any {
	switch v.typ.d.Kind {
	case TKString8, TKString16:
		return string(v.AppendText(nil))
	case TKFloat32:
		return math.Float32frombits(uint32(v.bits)) // a signalling NaN stays one
	case TKFloat64:
		return v.Float()
	case TKFloat128:
		return v.float128()
	}
	return sized(v.typ.d.Kind, v.bits)
}
