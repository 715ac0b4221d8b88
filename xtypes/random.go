package xtypes

import (
	"reflect"
	"strings"
)

// Random gives a value of a structure or union with something of its type in every member: for tests, and to try out
// who reads it. draw gives random bits, as rand.Uint64 does. Strings and collections are short, optional members are
// there half of the time, and values that contain themselves end.
// Members with @range are within it.
func Random(draw func() uint64, t *Type) *Data {
	return randomValue(draw, t, 0).(*Data)
}

// randomValue draws a value; depth is how many collections and structures it is in.
func randomValue(draw func() uint64, t *Type, depth int) any {
	t = t.Resolve()
	bits := draw()
	switch t.d.Kind {
	case TKBoolean:
		return bits&1 == 1
	case TKFloat32:
		return float32(int32(bits)) / 1024
	case TKFloat64:
		return float64(int64(bits)) / (1 << 33)
	case TKFloat128:
		return Float128From(float64(int64(bits)) / (1 << 33))
	case TKString8, TKString16:
		s := strings.Repeat("aé😀"[:1+int(bits%2)*2], int(bits%4))
		if t.d.Bound > 0 && len(s) > int(t.d.Bound) {
			s = strings.ToValidUTF8(s[:t.d.Bound], "")
		}
		return s
	case TKEnum:
		return t.d.Literals[draw()%uint64(len(t.d.Literals))].Value
	case TKBitmask:
		declared := uint64(0)
		for _, f := range t.d.Bitflags {
			declared |= 1 << f.Position
		}
		return bits & declared
	case TKBitset:
		return bits & t.fieldBits()
	case TKSequence, TKArray:
		n := few(draw, t, depth)
		if t.d.Kind == TKArray {
			n = t.Len()
		}
		list := reflect.MakeSlice(goType(t), n, n)
		for i := range n {
			list.Index(i).Set(reflect.ValueOf(randomValue(draw, t.d.Elem, depth+1)))
		}
		return list.Interface()
	case TKMap:
		m := reflect.MakeMap(goType(t))
		for range few(draw, t, depth) {
			m.SetMapIndex(reflect.ValueOf(randomValue(draw, t.d.MapKey, depth+1)), reflect.ValueOf(randomValue(draw, t.d.Elem, depth+1)))
		}
		return m.Interface()
	case TKStructure, TKUnion:
		d := newData(t)
		if t.d.Kind == TKUnion && depth > deep {
			return d
		}
		if t.d.Kind == TKUnion {
			d.setLabel(ordinal(randomValue(draw, t.disc.Type, depth+1)))
			if m := d.Selected(); m != nil {
				d.chosen = within(m, randomValue(draw, m.Type, depth+1))
			}
			return d
		}
		for _, m := range t.all {
			if !m.Optional || draw()&1 == 0 && depth <= deep {
				d.values[m.Index] = within(m, randomValue(draw, m.Type, depth+1))
			}
		}
		return d
	}
	return sized(t.d.Kind, bits)
}

// deep is how many levels down collections are empty and unions have their default, so that values of recursive types end.
const deep = 4

// few is a number of elements.
func few(draw func() uint64, t *Type, depth int) int {
	if depth > deep {
		return 0
	}
	n := int(draw() % 4)
	if t.d.Bound > 0 {
		n = min(n, int(t.d.Bound))
	}
	return n
}

// within gives v, or the bound of the member's @range that it exceeds.
func within(m *Member, v any) any {
	if m.Min != nil && below(v, m.Min) {
		return m.Min
	}
	if m.Max != nil && below(m.Max, v) {
		return m.Max
	}
	return v
}

// below compares two numbers of one type.
func below(a, b any) bool {
	switch a, b := reflect.ValueOf(a), reflect.ValueOf(b); {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	case a.CanFloat():
		return a.Float() < b.Float()
	}
	return false
}
