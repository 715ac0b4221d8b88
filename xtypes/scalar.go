package xtypes

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"
)

// scalar gives v in the form that values of t have in Data:
//
//	boolean bool · octet, char, uint8 uint8 · intN intN · uintN uintN · wchar uint16 · float float32 · double float64
//	long double Float128 · string, wstring string · enum int32 · bitmask, bitset uint64
//
// Numbers of other types are taken where nothing is lost, enumerators by name as well, and characters as strings of one
// character.
func scalar(t *Type, v any) (any, error) {
	t = t.Resolve()
	switch t.d.Kind {
	case TKBoolean:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case TKString8, TKString16:
		if s, ok := v.(string); ok {
			return s, checkString(t, s)
		}
	case TKChar8, TKChar16:
		if s, ok := v.(string); ok {
			return character(t, s)
		}
		return integer(t, v)
	case TKEnum:
		if s, ok := v.(string); ok {
			l, known := t.LiteralByName(s)
			if !known {
				return nil, fmt.Errorf("%q is no enumerator of %s", s, t.d.Name)
			}
			return l.Value, nil
		}
		x, err := integer(t, v)
		if err != nil {
			return nil, err
		}
		if _, known := t.LiteralByValue(x.(int32)); !known {
			return nil, fmt.Errorf("%d is no enumerator of %s", x, t.d.Name)
		}
		return x, nil
	case TKFloat32, TKFloat64:
		return float(t, v)
	case TKFloat128:
		if f, ok := v.(Float128); ok {
			return f, nil
		}
		return float(t, v)
	case TKNone, TKStructure, TKUnion, TKSequence, TKArray, TKMap, TKAnnotation:
		return nil, fmt.Errorf("%s has parts; it is no single value", t)
	default:
		return integer(t, v)
	}
	return nil, mismatch(t, v)
}

func mismatch(t *Type, v any) error { return fmt.Errorf("%T is no value of %s", v, t) }

func checkString(t *Type, s string) error {
	n, unit := len(s), "bytes"
	if t.d.Kind == TKString16 {
		if !utf8.ValidString(s) {
			return errors.New("wstring is not UTF-8")
		}
		n, unit = utf16Len(s), "UTF-16 code units"
	}
	if t.d.Bound > 0 && n > int(t.d.Bound) {
		return fmt.Errorf("string of %d %s exceeds its bound of %d", n, unit, t.d.Bound)
	}
	return nil
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// character takes a string of one character. Bytes that are not ASCII are Latin-1, as in IDL.
func character(t *Type, s string) (any, error) {
	r, n := utf8.DecodeRuneInString(s)
	most := rune(math.MaxUint8)
	if t.d.Kind == TKChar16 {
		most = math.MaxUint16
	}
	if n == 0 || n != len(s) || r > most || r == utf8.RuneError && n == 1 {
		return nil, fmt.Errorf("%q is not one character of %s", s, t)
	}
	return integer(t, uint16(r))
}

// integer converts between integers when the value fits.
func integer(t *Type, v any) (any, error) {
	var (
		neg bool
		u   uint64 // magnitude, or the value itself
		i   int64
	)
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		i = r.Int()
		neg, u = i < 0, uint64(i)
	case r.CanUint():
		u = r.Uint()
		i = int64(u)
	default:
		return nil, mismatch(t, v)
	}
	low, high, signed := integerRange(t)
	if signed && (neg && i < low || !neg && u > high) || !signed && (neg || u > high) {
		return nil, fmt.Errorf("%v is not in the range of %s", v, t)
	}
	if t.d.Kind == TKBitset {
		if stray := u &^ t.fieldBits(); stray != 0 { // it would be there when compared, and neither in JSON nor after decoding
			return nil, fmt.Errorf("%v has bits %#x, which no field of %s has", v, stray, t)
		}
	}
	return sized(t.d.Kind, u), nil
}

// integerRange gives the range of a type whose values are integers.
func integerRange(t *Type) (low int64, high uint64, signed bool) {
	bits := 8 * t.d.Kind.Size()
	switch t.d.Kind {
	case TKEnum:
		return math.MinInt32, math.MaxInt32, true
	case TKBitmask:
		bits = int(t.d.BitBound)
	case TKBitset:
		bits = t.bitsetBits()
	}
	if t.d.Kind.Signed() {
		return -1 << (bits - 1), 1<<(bits-1) - 1, true
	}
	return 0, math.MaxUint64 >> (64 - bits), false
}

// bitsetBits is the number of bits of a bitset with those of its bases; at least one.
func (t *Type) bitsetBits() int {
	n := 1
	for _, f := range t.allBitfields() {
		n = max(n, int(f.Position)+int(f.Bits))
	}
	return n
}

// fieldBits are the bits of a bitset that belong to fields with a name.
func (t *Type) fieldBits() uint64 {
	var bits uint64
	for _, f := range t.allBitfields() {
		if f.Name != "" {
			bits |= uint64(math.MaxUint64) >> (64 - uint(f.Bits)) << f.Position
		}
	}
	return bits
}

// sized gives the bits of u as the Go type of a kind.
func sized(k Kind, u uint64) any {
	switch k {
	case TKInt8:
		return int8(u)
	case TKInt16:
		return int16(u)
	case TKInt32, TKEnum:
		return int32(u)
	case TKInt64:
		return int64(u)
	case TKByte, TKUint8, TKChar8:
		return uint8(u)
	case TKUint16, TKChar16:
		return uint16(u)
	case TKUint32:
		return uint32(u)
	case TKBoolean:
		return u != 0
	}
	return u
}

// float takes floating-point numbers, and integers that they hold exactly.
func float(t *Type, v any) (any, error) {
	r := reflect.ValueOf(v)
	var f float64
	exact := true
	switch {
	case r.CanFloat():
		f = r.Float()
	case r.CanInt():
		f = float64(r.Int())
		exact = f < math.MaxInt64 && int64(f) == r.Int()
	case r.CanUint():
		f = float64(r.Uint())
		exact = f < math.MaxUint64 && uint64(f) == r.Uint()
	default:
		return nil, mismatch(t, v)
	}
	if !exact {
		return nil, fmt.Errorf("%v is not exact in %s", v, t)
	}
	switch t.d.Kind {
	case TKFloat64:
		return f, nil
	case TKFloat128:
		return Float128From(f), nil
	}
	g := float32(f)
	if math.IsInf(float64(g), 0) && !math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not in the range of %s", v, t)
	}
	return g, nil
}
