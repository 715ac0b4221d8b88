package xtypes

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf16"

	"github.com/omg-dds-go/dds/cdr"
)

// Encode writes the value as a sample, header included. The encapsulation must be one that a type of its extensibility has; see
// Type.Encapsulation.
func (d *Data) Encode(enc cdr.Encapsulation) ([]byte, error) {
	return d.AppendEncode(nil, enc)
}

// AppendEncode appends to dst what Encode gives.
func (d *Data) AppendEncode(dst []byte, enc cdr.Encapsulation) ([]byte, error) {
	if want := d.typ.Encapsulation(enc.XCDR2(), enc.BigEndian()); enc != want {
		return dst, &cdr.Error{Op: "write", Type: d.typ.d.Name, Err: cdr.ErrEncapsulation,
			Detail: fmt.Sprintf("%s does not carry a type that is %s; %s does", enc, d.typ.d.Extensibility, want)}
	}
	w := writer{buf: append(dst, byte(enc>>8), byte(enc), 0, 0), order: binary.LittleEndian, v2: enc.XCDR2(), defaults: maxDefaults}
	if enc.BigEndian() {
		w.order = binary.BigEndian
	}
	start := len(w.buf)
	w.origin = start
	w.value(d.typ, reflect.ValueOf(d))
	if w.err != nil {
		w.err.Op, w.err.Type = "write", d.typ.d.Name
		return dst, w.err
	}
	pad := -(len(w.buf) - start) & 3
	w.buf[start-1] = byte(pad)
	return append(w.buf, make([]byte, pad)...), nil
}

// byteOrder reads, writes and appends.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// writer appends values to buf.
type writer struct {
	buf    []byte
	origin int // of alignment
	order  byteOrder
	depth  int
	// defaults is what those of members that were never set may take in memory yet.
	defaults int
	v2       bool
	err      *cdr.Error
}

func (w *writer) align(n int) {
	switch {
	case w.v2 && n > 4:
		n = 4
	case n > 8:
		n = 8
	}
	for (len(w.buf)-w.origin)&(n-1) != 0 {
		w.buf = append(w.buf, 0)
	}
}

func (w *writer) uint(n int, u uint64) {
	w.align(n)
	switch n {
	case 1:
		w.buf = append(w.buf, byte(u))
	case 2:
		w.buf = w.order.AppendUint16(w.buf, uint16(u))
	case 4:
		w.buf = w.order.AppendUint32(w.buf, uint32(u))
	default:
		w.buf = w.order.AppendUint64(w.buf, u)
	}
}

func (w *writer) fail(err error, format string, args ...any) {
	if w.err == nil {
		w.err = &cdr.Error{Err: err, Detail: fmt.Sprintf(format, args...)}
	}
}

// within puts a member in front of the path of an error.
func (w *writer) within(name string) {
	switch {
	case w.err == nil:
	case w.err.Path == "":
		w.err.Path = name
	case w.err.Path[0] == '[':
		w.err.Path = name + w.err.Path
	default:
		w.err.Path = name + "." + w.err.Path
	}
}

// value writes a value that has the form of t.
func (w *writer) value(t *Type, v reflect.Value) {
	t = t.Resolve()
	if w.err != nil {
		return
	}
	if n := t.width(); n > 0 {
		w.number(t, n, v)
		return
	}
	switch t.d.Kind {
	case TKString8:
		w.string8(t, v.String())
		return
	case TKString16:
		w.string16(t, v.String())
		return
	}
	if w.depth++; w.depth > cdr.MaxDepth {
		w.fail(cdr.ErrDepth, "nested more than %d levels deep", cdr.MaxDepth)
		return
	}
	dheader := -1
	if w.v2 && t.delimited() {
		w.uint(4, 0)
		dheader = len(w.buf)
	}
	switch t.d.Kind {
	case TKSequence, TKArray:
		w.elements(t, v)
	case TKMap:
		w.mapping(t, v)
	case TKStructure:
		w.structure(v.Interface().(*Data))
	case TKUnion:
		w.union(v.Interface().(*Data))
	}
	if dheader >= 0 {
		w.order.PutUint32(w.buf[dheader-4:], uint32(len(w.buf)-dheader))
	}
	w.depth--
}

func (w *writer) number(t *Type, n int, v reflect.Value) {
	switch {
	case v.CanInt():
		if t.d.Kind == TKEnum {
			if _, known := t.LiteralByValue(int32(v.Int())); !known {
				w.fail(cdr.ErrInvalidValue, "%d is not an enumerator", v.Int())
				return
			}
		}
		w.uint(n, uint64(v.Int()))
	case v.CanUint():
		if _, high, _ := integerRange(t); v.Uint() > high {
			w.fail(cdr.ErrInvalidValue, "%d has bits that %s does not have", v.Uint(), t)
			return
		}
		w.uint(n, v.Uint())
	case v.Kind() == reflect.Bool:
		w.uint(1, uint64(ordinal(v.Bool())))
	case v.Kind() == reflect.Float32:
		w.uint(4, uint64(math.Float32bits(float32Of(v))))
	case v.Kind() == reflect.Float64:
		w.uint(8, math.Float64bits(v.Float()))
	default:
		f := v.Interface().(Float128)
		if w.order == byteOrder(binary.BigEndian) {
			slices.Reverse(f[:])
		}
		w.align(16)
		w.buf = append(w.buf, f[:]...)
	}
}

// float32Of is the value bit by bit: by way of a float64, as reflect gives it, a signalling NaN becomes a quiet one.
func float32Of(v reflect.Value) float32 {
	if v.CanAddr() {
		return *v.Addr().Interface().(*float32) // allocates nothing
	}
	return v.Interface().(float32)
}

func (w *writer) string8(t *Type, s string) {
	if err := checkString(t, s); err != nil {
		w.fail(cdr.ErrBound, "%v", err)
		return
	}
	for i := range len(s) {
		if s[i] == 0 {
			w.fail(cdr.ErrInvalidValue, "string has a NUL at byte %d of %d", i, len(s))
			return
		}
	}
	w.uint(4, uint64(len(s)+1))
	w.buf = append(append(w.buf, s...), 0)
}

func (w *writer) string16(t *Type, s string) {
	if err := checkString(t, s); err != nil {
		w.fail(cdr.ErrBound, "%v", err)
		return
	}
	w.uint(4, uint64(2*utf16Len(s)))
	for _, u := range utf16.Encode([]rune(s)) {
		w.buf = w.order.AppendUint16(w.buf, u)
	}
}

func (w *writer) elements(t *Type, v reflect.Value) {
	n := v.Len()
	switch {
	case t.d.Kind == TKArray && n != t.Len():
		w.fail(cdr.ErrBound, "array of %d elements in place of %d", n, t.Len())
		return
	case t.d.Kind == TKSequence && t.sequenceBound() > 0 && n > int(t.sequenceBound()):
		w.fail(cdr.ErrBound, "sequence of %d elements exceeds its bound of %d", n, t.sequenceBound())
		return
	case t.d.Kind == TKSequence:
		w.uint(4, uint64(n))
	}
	if b, ok := v.Interface().([]byte); ok {
		w.buf = append(w.buf, b...)
		return
	}
	for i := range n {
		if w.value(t.d.Elem, v.Index(i)); w.err != nil {
			w.within(fmt.Sprintf("[%d]", i))
			return
		}
	}
}

func (w *writer) mapping(t *Type, v reflect.Value) {
	if t.d.Bound > 0 && v.Len() > int(t.d.Bound) {
		w.fail(cdr.ErrBound, "map of %d pairs exceeds its bound of %d", v.Len(), t.d.Bound)
		return
	}
	w.uint(4, uint64(v.Len()))
	for _, key := range sortedKeys(v) {
		w.value(t.d.MapKey, key)
		if w.value(t.d.Elem, v.MapIndex(key)); w.err != nil {
			w.within(fmt.Sprintf("[%v]", key))
			return
		}
	}
}

func (w *writer) structure(d *Data) {
	t := d.typ
	for _, m := range t.all {
		v := w.memberOf(d, m)
		switch {
		case w.err != nil:
		case t.d.Extensibility == cdr.Mutable:
			if v != nil {
				w.member(m, reflect.ValueOf(v))
			}
		case m.Optional && w.v2:
			w.uint(1, uint64(ordinal(v != nil)))
			if v != nil {
				w.value(m.Type, reflect.ValueOf(v))
			}
		case m.Optional:
			w.parameter(m, reflect.ValueOf(v))
		default:
			w.value(m.Type, reflect.ValueOf(v))
		}
		if w.err != nil {
			w.within(m.Name)
			return
		}
	}
	if t.d.Extensibility == cdr.Mutable {
		w.endList()
	}
}

// memberOf gives the value of a member as Data.Member does.
func (w *writer) memberOf(d *Data, m *Member) any {
	v, err := d.value(m, &w.defaults)
	if err != nil {
		w.fail(cdr.ErrBound, "the defaults of members that are not set take more than %d bytes; set them", maxDefaults)
	}
	return v
}

func (w *writer) union(d *Data) {
	t := d.typ
	label := reflect.ValueOf(sized(t.disc.Type.Resolve().d.Kind, uint64(d.label)))
	put := func(m *Member, v reflect.Value) {
		if t.d.Extensibility == cdr.Mutable {
			w.member(m, v)
		} else {
			w.value(m.Type, v)
		}
		if w.err != nil {
			w.within(m.Name)
		}
	}
	put(t.disc, label)
	if m := t.Case(d.label); m != nil && w.err == nil {
		if v := w.memberOf(d, m); w.err == nil {
			put(m, reflect.ValueOf(v))
		} else {
			w.within(m.Name)
		}
	}
	if t.d.Extensibility == cdr.Mutable {
		w.endList()
	}
}

func (w *writer) endList() {
	if !w.v2 {
		w.align(4)
		w.uint(2, pidListEnd|pidMust)
		w.uint(2, 0)
	}
}

// must tells whether readers must understand a member: keys are part of the identity (XTypes 1.3 §7.2.2.4), and nothing
// of a union can be understood without its discriminator.
func (m *Member) must() bool {
	return m.MustUnderstand || m.Key || m.Name == Discriminator && m.Index < 0
}

// member writes a member of a mutable value.
func (w *writer) member(m *Member, v reflect.Value) {
	if !w.v2 {
		w.parameter(m, v)
		return
	}
	code := m.Type.lengthCode()
	h := m.ID | code<<28
	if m.must() {
		h |= memberMust
	}
	w.uint(4, uint64(h))
	if code != lengthNext {
		w.value(m.Type, v)
		return
	}
	w.uint(4, 0)
	start := len(w.buf)
	w.value(m.Type, v)
	w.order.PutUint32(w.buf[start-4:], uint32(len(w.buf)-start))
}

// parameter writes a member with its XCDR1 header; v is not valid for an optional member that is absent. The long
// header is for what the short one cannot hold, which is known only behind the value: that moves then. Its inner
// alignment does not depend on where it lies.
func (w *writer) parameter(m *Member, v reflect.Value) {
	w.align(4)
	before, long := len(w.buf), m.ID > pidLargest
	n := 4
	if long {
		n = 12
	}
	w.buf = append(w.buf, make([]byte, n)...)
	outer, start := w.origin, len(w.buf)
	w.origin = start
	if v.IsValid() {
		w.value(m.Type, v)
	}
	w.origin = outer
	size := len(w.buf) - start
	if !long && size > math.MaxUint16 {
		w.buf = slices.Insert(w.buf, start, make([]byte, 8)...)
		long = true
	}
	h, must := w.buf[before:], uint16(0)
	if m.must() {
		must = pidMust
	}
	if !long {
		w.order.PutUint16(h, uint16(m.ID)|must)
		w.order.PutUint16(h[2:], uint16(size))
		return
	}
	w.order.PutUint16(h, pidExtended|pidMust)
	w.order.PutUint16(h[2:], 8)
	w.order.PutUint32(h[4:], m.ID|uint32(must)<<16)
	w.order.PutUint32(h[8:], uint32(size))
}
