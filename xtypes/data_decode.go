package xtypes

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/omg-dds-go/dds/cdr"
)

// What decoding may allocate: as much as allotFloor, or maxAllot times the sample's size, whichever is more.
const (
	maxAllot   = 256
	allotFloor = 16 << 20
)

// Decode reads an encoded sample, header included: XCDR1 or XCDR2 in both byte orders. A value that does not fit its
// member is handled as @try_construct says (XTypes 1.3 §7.2.4); the error names the member if the sample as a whole
// cannot be constructed.
func Decode(t *Type, sample []byte) (*Data, error) {
	if _, err := NewData(t); err != nil {
		return nil, err
	}
	t = t.Resolve()
	r := decoder{left: allotFloor + maxAllot*int64(len(sample))}
	if err := r.start(t, sample); err != nil {
		return nil, err
	}
	v, ok := r.value(t)
	switch {
	case r.fault != noFault && r.left < 0:
		return nil, &cdr.Error{Op: "read", Type: t.d.Name, Path: r.path(), Err: cdr.ErrBound,
			Detail: fmt.Sprintf("a sample of %d bytes becomes too large in memory", len(sample))}
	case r.fault != noFault:
		return nil, r.err(t, r.path())
	case !ok:
		return nil, &cdr.Error{Op: "read", Type: t.d.Name, Path: r.misfit.path, Err: r.misfit.err, Detail: r.misfit.detail}
	}
	return v.(*Data), nil
}

// decoder builds values. A value that its type cannot hold is no fault: the cursor stands behind it, and what surrounds
// it decides.
type decoder struct {
	cursor
	left   int64 // bytes that may be allocated yet
	steps  []Step
	misfit misfit
}

// misfit is why a value could not be constructed, and where.
type misfit struct {
	path, detail string
	err          error
}

// path tells where the decoder is.
func (r *decoder) path() string {
	s := ""
	for _, step := range r.steps {
		switch {
		case step.Member == nil:
			s += "[" + strconv.Itoa(step.Index) + "]"
		case s == "":
			s = step.Member.Name
		default:
			s += "." + step.Member.Name
		}
	}
	return s
}

// reject notes why the value just read cannot be constructed, unless something before it could not be.
func (r *decoder) reject(err error, format string, args ...any) {
	if r.misfit.detail == "" {
		r.misfit = misfit{r.path(), fmt.Sprintf(format, args...), err}
	}
}

func (r *decoder) allot(n int) bool {
	if r.left -= int64(n); r.left < 0 && r.fault == noFault {
		r.fail(tooDeep)
	}
	return r.fault == noFault
}

// member reads the value of a member, or an element of a collection, and applies TryConstruct.
func (r *decoder) member(m *Member, step Step) (v any, ok bool) {
	r.steps = append(r.steps, step)
	before, misfit := r.cursor, r.misfit
	v, ok = r.value(m.Type)
	if !ok && r.fault == noFault {
		after := r.cursor
		switch m.TryConstruct {
		case TryConstructUseDefault:
			if ok = r.allot(m.Type.footprint()); ok {
				v = defaultOf(m)
			}
		case TryConstructTrim:
			r.cursor = before
			v, ok = r.trimmed(m.Type.Resolve())
			r.cursor = after
		}
		if ok {
			r.misfit = misfit // it was made to fit
		}
	}
	if r.fault == noFault { // otherwise the path tells where
		r.steps = r.steps[:len(r.steps)-1]
	}
	return v, ok
}

// value reads a value. If it cannot be constructed, the cursor stands behind it all the same.
func (r *decoder) value(t *Type) (v any, ok bool) {
	t = t.Resolve()
	if r.fault != noFault {
		return nil, false
	}
	if r.absent() {
		if !r.allot(t.footprint()) {
			return nil, false
		}
		return zeroOf(t), true
	}
	if t.width() > 0 {
		return r.number(t)
	}
	switch t.d.Kind {
	case TKString8, TKString16:
		x := r.cursor.value(t)
		s := string(x.AppendText(nil))
		if err := checkString(t, s); err != nil {
			r.reject(cdr.ErrBound, "%v", err)
			return nil, false
		}
		return s, r.allot(len(s))
	}
	before := r.cursor
	if !r.deeper() {
		return nil, false
	}
	switch t.d.Kind {
	case TKSequence:
		v, ok = r.sequence(t, false)
	case TKArray:
		v, ok = r.array(t)
	case TKMap:
		v, ok = r.mapping(t, false)
	case TKStructure:
		v, ok = r.structure(t)
	case TKUnion:
		v, ok = r.union(t)
	}
	r.shallower()
	if !ok && r.fault == noFault {
		r.cursor = before
		r.skip(t)
	}
	return v, ok
}

// maxFootprint stands for all that is larger.
const maxFootprint = 1 << 30

// footprint is about what a default value of t takes in memory.
func (t *Type) footprint() int {
	t = t.Resolve()
	switch t.d.Kind {
	case TKArray:
		size := t.d.Elem.Resolve().elementSize()
		if t.Len() > maxFootprint/size {
			return maxFootprint
		}
		return 24 + t.Len()*size
	case TKStructure:
		return 64 + 16*len(t.all)
	}
	return 64
}

func (t *Type) elementSize() int {
	if w := t.width(); w > 0 {
		return w
	}
	return t.footprint()
}

func (r *decoder) number(t *Type) (any, bool) {
	v := r.cursor.value(t)
	if r.fault != noFault {
		return nil, false
	}
	switch t.d.Kind {
	case TKEnum:
		if _, known := t.LiteralByValue(int32(v.bits)); !known {
			r.reject(cdr.ErrInvalidValue, "%d is no enumerator of %s", int32(v.bits), t.d.Name)
			return nil, false
		}
	case TKBitmask: // bits beyond its bound have no meaning
		v.bits &= 1<<(t.d.BitBound-1)<<1 - 1
	case TKBitset:
		v.bits &= t.fieldBits() // the others have no meaning
	}
	return v.Any(), true
}

// trimmed reads a value that exceeds its bound, up to the bound.
func (r *decoder) trimmed(t *Type) (v any, ok bool) {
	switch t.d.Kind {
	case TKString8, TKString16:
		x := r.cursor.value(t)
		return trimString(t, string(x.AppendText(nil))), r.fault == noFault
	case TKSequence:
		return r.sequence(t, true)
	case TKMap:
		return r.mapping(t, true)
	}
	return nil, false
}

// trimString cuts a string where its bound ends, and not within a character: as generated code does.
func trimString(t *Type, s string) string {
	if t.d.Kind == TKString8 {
		return cdr.TrimString(s, int(t.d.Bound))
	}
	return cdr.TrimWString(s, int(t.d.Bound))
}

func (r *decoder) sequence(t *Type, trim bool) (any, bool) {
	s := r.delimit(t)
	n := r.u32()
	if bound := t.sequenceBound(); bound > 0 && n > bound {
		if !trim {
			r.reject(cdr.ErrBound, "sequence of %d elements exceeds its bound of %d", n, bound)
			return nil, false
		}
		n = bound
	}
	v, ok := r.elements(t, n)
	r.leave(s)
	return v, ok
}

func (r *decoder) array(t *Type) (any, bool) {
	s := r.delimit(t)
	v, ok := r.elements(t, uint32(t.Len()))
	r.leave(s)
	return v, ok
}

// elements reads n elements. What they take in memory is allotted piece by piece, for n may be a lie.
func (r *decoder) elements(t *Type, n uint32) (any, bool) {
	e := t.d.Elem.Resolve()
	if w := e.width(); w > 0 && uint64(n)*uint64(w) > uint64(r.end-r.pos) {
		r.fail(truncated)
	}
	if r.fault != noFault {
		return nil, false
	}
	if e.d.Kind == TKByte || e.d.Kind == TKUint8 || e.d.Kind == TKChar8 {
		return append(make([]byte, 0, n), r.take(1, int(n))...), r.allot(int(n))
	}
	list := reflect.MakeSlice(goType(t), 0, int(min(n, 64)))
	ok := true
	for i := 0; i < int(n) && r.fault == noFault; i++ {
		v, good := r.member(t.elem, Step{Index: i})
		if ok = ok && good && r.allot(24); ok {
			list = reflect.Append(list, reflect.ValueOf(v))
		}
	}
	return list.Interface(), ok && r.fault == noFault
}

func (r *decoder) mapping(t *Type, trim bool) (any, bool) {
	s := r.delimit(t)
	n := r.u32()
	if t.d.Bound > 0 && n > t.d.Bound {
		if !trim {
			r.reject(cdr.ErrBound, "map of %d pairs exceeds its bound of %d", n, t.d.Bound)
			return nil, false
		}
		n = t.d.Bound
	}
	m := reflect.MakeMap(goType(t))
	ok := true
	for i := 0; i < int(n) && r.fault == noFault; i++ {
		key, goodKey := r.member(t.mapKey, Step{Index: i})
		v, good := r.member(t.elem, Step{Index: i})
		if ok = ok && good && goodKey && r.allot(64); ok {
			m.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(v))
		}
	}
	r.leave(s)
	return m.Interface(), ok && r.fault == noFault
}

func (r *decoder) structure(t *Type) (any, bool) {
	d := &Data{typ: t, values: make([]any, len(t.all))}
	if !r.allot(t.footprint()) {
		return nil, false
	}
	if t.d.Extensibility == cdr.Mutable {
		return d, r.parameters(t, d)
	}
	ok := true
	s := r.begin(t.d.Extensibility)
	for _, m := range t.all {
		switch {
		case r.fault != noFault:
		case r.absent(): // takes its default
		case m.Optional:
			o, present := r.optional(m.ID)
			if present {
				v, good := r.member(m, Step{Member: m})
				d.values[m.Index], ok = v, ok && good
			}
			r.leave(o)
		default:
			v, good := r.member(m, Step{Member: m})
			d.values[m.Index], ok = v, ok && good
		}
	}
	r.leave(s)
	return d, ok && r.fault == noFault
}

// place is where the value of a member of a mutable type lies.
type place struct{ start, n int }

// list finds the members of a mutable value of type t, in the order of their indexes, or the other parts for which
// index says where to note them. What is there twice counts as it is the last time. understood is false if a member is
// not known that must be understood: then the value cannot be constructed.
func (r *decoder) list(t *Type, places []place, index func(id uint32) int) (s scope, understood bool) {
	s = r.scope()
	if r.v2 {
		r.narrow(&s, r.length())
	}
	r.open = false
	understood = true
	for {
		id, n, must, more := r.header(t)
		if !more {
			if !r.v2 {
				s.resume = r.pos
			}
			return s, understood
		}
		if i := index(id); i >= 0 {
			places[i] = place{r.pos, n}
		} else if must && understood {
			r.reject(cdr.ErrNotUnderstood, "member %d must be understood, and is not known", id)
			understood = false
		}
		r.pos += n
	}
}

// placed reads a member that list has found.
func (r *decoder) placed(m *Member, p place) (any, bool) {
	r.pos, r.end = p.start, p.start+p.n
	r.open = true
	if !r.v2 {
		r.origin = r.pos
	}
	return r.member(m, Step{Member: m})
}

func (r *decoder) parameters(t *Type, d *Data) bool {
	places := make([]place, len(t.all))
	s, ok := r.list(t, places, func(id uint32) int {
		if m := t.byID[id]; m != nil {
			return m.Index
		}
		return -1
	})
	for _, m := range t.all {
		if p := places[m.Index]; p.start > 0 && r.fault == noFault {
			v, good := r.placed(m, p)
			d.values[m.Index], ok = v, ok && good
		}
	}
	r.leave(s)
	return ok && r.fault == noFault
}

func (r *decoder) union(t *Type) (any, bool) {
	d := &Data{typ: t}
	if !r.allot(t.footprint()) {
		return nil, false
	}
	if t.d.Extensibility == cdr.Mutable {
		return r.mutableUnion(t, d)
	}
	s := r.begin(t.d.Extensibility)
	if r.absent() {
		d.label = newData(t).label
		r.leave(s)
		return d, r.fault == noFault
	}
	ok := r.label(t, d)
	if m := t.Case(d.label); ok && m != nil {
		d.chosen, ok = r.member(m, Step{Member: m})
	}
	if ok {
		r.leave(s)
	}
	return d, ok && r.fault == noFault
}

// label reads a discriminator. A value that is no enumerator cannot be constructed.
func (r *decoder) label(t *Type, d *Data) bool {
	v, ok := r.member(t.disc, Step{Member: t.disc})
	d.label = ordinal(v)
	return ok
}

// mutableUnion reads the discriminator, wherever in the list it is, and then the member that it selects.
func (r *decoder) mutableUnion(t *Type, d *Data) (any, bool) {
	places := make([]place, 1+len(t.all))
	s, ok := r.list(t, places, func(id uint32) int {
		if id == t.disc.ID {
			return 0
		}
		if m := t.byID[id]; m != nil {
			return 1 + m.Index
		}
		return -1
	})
	d.label = newData(t).label
	if p := places[0]; p.start > 0 && r.fault == noFault {
		v, good := r.placed(t.disc, p)
		d.label, ok = ordinal(v), ok && good
	}
	if m := t.Case(d.label); ok && m != nil {
		if p := places[1+m.Index]; p.start > 0 && r.fault == noFault {
			d.chosen, ok = r.placed(m, p)
		}
	}
	r.leave(s)
	return d, ok && r.fault == noFault
}
