package xtypes

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// Data is a value of a structure or a union that is known only at run time: DynamicData of XTypes 1.3 §7.5.2.11. It has one
// owner at a time.
//
// Values of members are Go values:
//
//	boolean bool · octet, char, uint8 uint8 · intN intN · uintN uintN · wchar uint16 · float float32 · double float64
//	long double Float128 · string, wstring string · enum int32 · bitmask, bitset uint64 · struct, union *Data
//	sequence []E · array []E, all dimensions in a row · map map[K]E · an optional member that is absent nil
//
// What Get returns belongs to the Data: it is seen by, and must not be changed behind, other users of it.
type Data struct {
	typ    *Type // resolved
	values []any // of a structure by index of the member; nil for what was not set
	label  int64 // the discriminator of a union
	chosen any   // the value of the member of a union that label selects; nil for what was not set
}

// NewData gives a value with the defaults of its type: @default or zero, @default_literal or the first enumerator, empty, absent.
func NewData(t *Type) (*Data, error) {
	r := t.Resolve()
	if r.d.Kind != TKStructure && r.d.Kind != TKUnion {
		return nil, fmt.Errorf("xtypes: %s is a %s; only structs and unions have members", t, r.d.Kind)
	}
	if missing := r.Incomplete(); len(missing) > 0 {
		return nil, fmt.Errorf("xtypes: %s refers to %v, declared but not complete", t, missing)
	}
	return newData(r), nil
}

func newData(t *Type) *Data {
	d := &Data{typ: t}
	if t.d.Kind == TKUnion {
		d.label = ordinal(defaultOf(t.disc))
	} else {
		d.values = make([]any, len(t.all))
	}
	return d
}

// Type is the type of the value, without typedefs.
func (d *Data) Type() *Type { return d.typ }

// goType is the Go type of values of t.
func goType(t *Type) reflect.Type {
	t = t.Resolve()
	switch t.d.Kind {
	case TKString8, TKString16:
		return reflect.TypeFor[string]()
	case TKStructure, TKUnion:
		return reflect.TypeFor[*Data]()
	case TKSequence, TKArray:
		return reflect.SliceOf(goType(t.d.Elem))
	case TKMap:
		return reflect.MapOf(goType(t.d.MapKey), goType(t.d.Elem))
	case TKFloat32:
		return reflect.TypeFor[float32]()
	case TKFloat64:
		return reflect.TypeFor[float64]()
	case TKFloat128:
		return reflect.TypeFor[Float128]()
	}
	return reflect.TypeOf(sized(t.d.Kind, 0))
}

// defaultOf is the value that a member has when nobody sets it. Optional members have none.
func defaultOf(m *Member) any {
	if m.Optional {
		return nil
	}
	if m.Default != nil {
		return m.Default
	}
	return zeroOf(m.Type)
}

// zeroOf is the default of a type (XTypes 1.3 §7.2.2).
func zeroOf(t *Type) any {
	t = t.Resolve()
	switch t.d.Kind {
	case TKEnum:
		return t.DefaultLiteral().Value
	case TKStructure, TKUnion:
		return newData(t)
	case TKArray:
		s := reflect.MakeSlice(goType(t), t.Len(), t.Len())
		for i := range fillable(t.d.Elem, s.Len()) {
			s.Index(i).Set(reflect.ValueOf(zeroOf(t.d.Elem)))
		}
		return s.Interface()
	case TKMap:
		return reflect.MakeMap(goType(t)).Interface()
	case TKSequence:
		return reflect.MakeSlice(goType(t), 0, 0).Interface()
	}
	return reflect.Zero(goType(t)).Interface()
}

// fillable is how many of n elements need more than Go's zero value.
func fillable(t *Type, n int) int {
	t = t.Resolve()
	if t.d.Kind.Primitive() || t.d.Kind == TKString8 || t.d.Kind == TKString16 {
		return 0
	}
	return n
}

// ordinal gives the number behind a value of a discriminator's type.
func ordinal(v any) int64 {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int()
	case r.CanUint():
		return int64(r.Uint())
	case r.Kind() == reflect.Bool && r.Bool():
		return 1
	}
	return 0
}

// Label is the discriminator of a union; 0 for a structure.
func (d *Data) Label() int64 { return d.label }

// Selected is the member of a union that its discriminator selects; nil for none, and for a structure.
func (d *Data) Selected() *Member {
	if d.typ.d.Kind != TKUnion {
		return nil
	}
	return d.typ.Case(d.label)
}

// maxDefaults bounds what defaults take in memory that come into being in one operation. Types, which peers may have
// sent, can have arrays of billions of elements.
const maxDefaults = 1 << 26

// Member gives the value of a member; nil for an optional one that is absent, for a member of a union that is not
// selected, and for one that was never set if its default takes more than 64 MB.
func (d *Data) Member(m *Member) any {
	left := maxDefaults
	v, _ := d.value(m, &left)
	return v
}

// value is Member with an error in place of a default that takes more than what is left for defaults.
func (d *Data) value(m *Member, left *int) (any, error) {
	at := &d.chosen
	switch {
	case m == d.typ.disc:
		return sized(m.Type.Resolve().d.Kind, uint64(d.label)), nil
	case d.typ.d.Kind != TKUnion:
		at = &d.values[m.Index]
	case d.typ.Case(d.label) != m:
		return nil, nil
	}
	if *at == nil && !m.Optional {
		if *left -= m.Type.footprint(); *left < 0 {
			return nil, &cdr.Error{Op: "read", Type: d.typ.d.Name, Path: m.Name, Err: cdr.ErrBound,
				Detail: fmt.Sprintf("the defaults of members that are not set take more than %d bytes; set them", maxDefaults)}
		}
		*at = defaultOf(m)
	}
	return *at, nil
}

// SetMember sets a member. In a union, this selects the member: the discriminator keeps its value if it selects the
// member already, and else takes the first of its labels. nil makes an optional member absent, and others take their
// default again. v may have any Go type that holds the value exactly; enumerators may be named.
func (d *Data) SetMember(m *Member, v any) error {
	x, err := d.convert(m, v)
	if err != nil {
		return err
	}
	switch {
	case m == d.typ.disc:
		d.setLabel(ordinal(x))
	case d.typ.d.Kind == TKUnion:
		if d.typ.Case(d.label) != m {
			label, ok := d.typ.labelFor(m)
			if !ok {
				return fmt.Errorf("xtypes: %s.%s: no value of the discriminator is left that selects it", d.typ, m.Name)
			}
			d.label = label
		}
		d.chosen = x
	default:
		d.values[m.Index] = x
	}
	return nil
}

func (d *Data) convert(m *Member, v any) (any, error) {
	if v == nil {
		if m == d.typ.disc {
			return nil, fmt.Errorf("xtypes: %s.%s: a discriminator has a value", d.typ, m.Name)
		}
		return nil, nil
	}
	x, err := convert(m.Type, v)
	if err != nil {
		return nil, fmt.Errorf("xtypes: %s.%s: %w", d.typ, m.Name, err)
	}
	return x, nil
}

func (d *Data) setLabel(l int64) {
	if d.typ.Case(l) != d.typ.Case(d.label) {
		d.chosen = nil
	}
	d.label = l
}

// labelFor gives a discriminator that selects m: its first label, or for the default the smallest value from 0 that is no label.
func (t *Type) labelFor(m *Member) (int64, bool) {
	if len(m.Labels) > 0 {
		return m.Labels[0], true
	}
	disc := t.disc.Type.Resolve()
	if disc.d.Kind == TKEnum {
		for _, l := range disc.d.Literals {
			if t.Case(int64(l.Value)) == m {
				return int64(l.Value), true
			}
		}
		return 0, false
	}
	_, high, _ := labelRange(disc)
	for l := int64(0); l <= high; l++ {
		if t.Case(l) == m {
			return l, true
		}
	}
	return 0, false
}

// Get gives the value at a path, as in Type.Path: nil for what is absent.
func (d *Data) Get(path string) (any, error) {
	p, err := d.typ.Path(path)
	if err != nil {
		return nil, err
	}
	var at any = d
	t, left := d.typ, maxDefaults
	for _, s := range p.steps {
		if s.Member != nil {
			if at, err = at.(*Data).value(s.Member, &left); err != nil {
				return nil, err
			}
		} else {
			list := reflect.ValueOf(at)
			if s.Index >= list.Len() {
				return nil, nil
			}
			at = list.Index(s.Index).Interface()
		}
		if at == nil {
			return nil, nil
		}
		t = p.next(t, s).Resolve()
	}
	return at, nil
}

// Set sets the value at a path. Optional members on the way come into being, and unions select the members that the
// path names. An element of a sequence must exist already.
func (d *Data) Set(path string, v any) error {
	p, err := d.typ.Path(path)
	if err != nil {
		return err
	}
	if len(p.steps) == 0 {
		return fmt.Errorf("xtypes: the path is empty: name a member of %s", d.typ)
	}
	return set(reflect.ValueOf(d), p, p.steps, v)
}

func set(at reflect.Value, p Path, steps []Step, v any) error {
	s, last := steps[0], len(steps) == 1
	if s.Member == nil {
		if s.Index >= at.Len() {
			return fmt.Errorf("xtypes: path %q: the sequence has %d elements, none at index %d", p.text, at.Len(), s.Index)
		}
		if !last {
			return set(at.Index(s.Index), p, steps[1:], v)
		}
		if v == nil {
			v = zeroOf(p.typ)
		}
		x, err := convert(p.typ, v)
		if err != nil {
			return fmt.Errorf("xtypes: path %q: %w", p.text, err)
		}
		at.Index(s.Index).Set(reflect.ValueOf(x))
		return nil
	}
	d := at.Interface().(*Data)
	if last {
		return d.SetMember(s.Member, v)
	}
	left := maxDefaults
	x, err := d.value(s.Member, &left)
	if err != nil {
		return err
	}
	if x == nil {
		if s.Member.Type.footprint() > maxDefaults {
			return fmt.Errorf("xtypes: path %q: the default of %s takes more than %d bytes; set it as a whole", p.text, s.Member.Name, maxDefaults)
		}
		if err := d.SetMember(s.Member, zeroOf(s.Member.Type)); err != nil {
			return err
		}
		x = d.Member(s.Member)
	}
	return set(reflect.ValueOf(x), p, steps[1:], v)
}

// convert gives v as the Go value that t has, checked against the bounds of t. What has the right form already is taken as it is.
func convert(t *Type, v any) (any, error) {
	t = t.Resolve()
	switch t.d.Kind {
	case TKStructure, TKUnion:
		d, ok := v.(*Data)
		if !ok || d == nil {
			return nil, mismatch(t, v)
		}
		if d.typ != t {
			return nil, fmt.Errorf("a %s is no %s", d.typ, t)
		}
		return d, nil
	case TKSequence, TKArray:
		return convertList(t, v)
	case TKMap:
		return convertMap(t, v)
	}
	return scalar(t, v)
}

func convertList(t *Type, list any) (any, error) {
	v := reflect.ValueOf(list)
	if k := v.Kind(); k != reflect.Slice && k != reflect.Array {
		return nil, mismatch(t, list)
	}
	switch n := v.Len(); {
	case t.d.Kind == TKArray && n != t.Len():
		return nil, fmt.Errorf("%d elements are not the %d of %s", n, t.Len(), t)
	case t.d.Kind == TKSequence && t.sequenceBound() > 0 && n > int(t.sequenceBound()):
		return nil, fmt.Errorf("sequence of %d elements exceeds its bound of %d", n, t.sequenceBound())
	}
	if v.Type() == goType(t) && t.d.Elem.Resolve().d.Kind.Primitive() {
		return list, nil
	}
	out := reflect.MakeSlice(goType(t), v.Len(), v.Len())
	for i := range v.Len() {
		x, err := convert(t.d.Elem, v.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out.Index(i).Set(reflect.ValueOf(x))
	}
	return out.Interface(), nil
}

func convertMap(t *Type, pairs any) (any, error) {
	v := reflect.ValueOf(pairs)
	if v.Kind() != reflect.Map {
		return nil, mismatch(t, pairs)
	}
	if t.d.Bound > 0 && v.Len() > int(t.d.Bound) {
		return nil, fmt.Errorf("map of %d pairs exceeds its bound of %d", v.Len(), t.d.Bound)
	}
	m := reflect.MakeMapWithSize(goType(t), v.Len())
	for it := v.MapRange(); it.Next(); {
		key, err := convert(t.d.MapKey, it.Key().Interface())
		if err != nil {
			return nil, fmt.Errorf("key %v: %w", it.Key(), err)
		}
		x, err := convert(t.d.Elem, it.Value().Interface())
		if err != nil {
			return nil, fmt.Errorf("key %v: %w", it.Key(), err)
		}
		m.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(x))
	}
	return m.Interface(), nil
}

// Equal tells whether two values are of the same type and alike in every member. NaN equals itself.
func (d *Data) Equal(o *Data) bool {
	if d.typ != o.typ || d.label != o.label {
		return false
	}
	if d.typ.d.Kind == TKUnion {
		m := d.typ.Case(d.label)
		return m == nil || d.chosen == nil && o.chosen == nil || equal(reflect.ValueOf(d.Member(m)), reflect.ValueOf(o.Member(m)))
	}
	for i, m := range d.typ.all {
		if d.values[i] == nil && o.values[i] == nil {
			continue // both have the default
		}
		if !equal(reflect.ValueOf(d.Member(m)), reflect.ValueOf(o.Member(m))) {
			return false
		}
	}
	return true
}

func equal(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	switch a.Kind() {
	case reflect.Pointer:
		return a.Interface().(*Data).Equal(b.Interface().(*Data))
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.MapRange(); it.Next(); {
			if !equal(it.Value(), b.MapIndex(it.Key())) {
				return false
			}
		}
		return true
	case reflect.Float32, reflect.Float64:
		return a.Float() == b.Float() || a.Float() != a.Float() && b.Float() != b.Float()
	}
	return a.Interface() == b.Interface()
}

// Clone gives a copy that shares nothing with d.
func (d *Data) Clone() *Data {
	c := &Data{typ: d.typ, label: d.label, chosen: clone(d.chosen)}
	if d.values != nil {
		c.values = make([]any, len(d.values))
		for i, v := range d.values {
			c.values[i] = clone(v)
		}
	}
	return c
}

func clone(v any) any {
	if v == nil {
		return nil
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer:
		return v.(*Data).Clone()
	case reflect.Slice:
		c := reflect.MakeSlice(r.Type(), r.Len(), r.Len())
		if k := r.Type().Elem().Kind(); k != reflect.Pointer && k != reflect.Slice && k != reflect.Map {
			reflect.Copy(c, r)
			return c.Interface()
		}
		for i := range r.Len() {
			c.Index(i).Set(reflect.ValueOf(clone(r.Index(i).Interface())))
		}
		return c.Interface()
	case reflect.Map:
		c := reflect.MakeMapWithSize(r.Type(), r.Len())
		for it := r.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), reflect.ValueOf(clone(it.Value().Interface())))
		}
		return c.Interface()
	}
	return v
}

// sortedKeys gives the keys of a map in ascending order, so that equal maps look alike.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		case a.Kind() == reflect.Bool:
			return cmp.Compare(ordinal(a.Bool()), ordinal(b.Bool()))
		}
		return cmp.Compare(a.String(), b.String())
	})
	return keys
}
