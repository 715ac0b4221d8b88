package idlc

import (
	"math"
	"math/big"
	"unicode/utf16"
)

func (c *checker) constDef(d *constDef) {
	v, t := Value{}, Type(nil)
	if d.Type.Fixed != nil && d.Type.Fixed.Digits == nil { // its digits are those of the value
		v = c.eval(d.Value)
		if t = fixedFor(v); t == nil && v.Valid() {
			t = &Fixed{Digits: maxDigits}
		}
	} else if t = c.typeOf(d.Type, false); t != nil {
		v = c.evalFor(d.Value, t)
	} else {
		c.eval(d.Value)
	}
	if t != nil && v.Valid() {
		v = c.convert(d.Value.Pos, v, t)
	}
	if t == nil || !v.Valid() {
		c.declare(d.Name, &unknownDef{d.Name.Pos, d.Name.Text})
		return
	}
	k := &Const{Common: c.common(d.Name, d.Doc), Type: t, Value: v}
	k.Applied = c.annotations(d.Annotations, subject{on: onConst, name: k.Name, typ: t})
	k.Verbatim = verbatims(k.Applied)
	k.Doc = documented(k.Doc, k.Verbatim)
	var said Constraints
	c.constrain(&said, k.Applied, subject{on: onConst, name: k.Name, typ: t})
	k.Unit = said.Unit
	if c.declare(d.Name, k) {
		c.unit.Decls = append(c.unit.Decls, k)
	}
}

// fixedFor gives the type that a fixed-point value has by itself.
func fixedFor(v Value) Type {
	if v.Fixed == nil {
		return nil
	}
	scale := 0
	for ; scale < maxDigits; scale++ {
		if new(big.Rat).Mul(v.Fixed, powerOfTen(scale)).IsInt() {
			break
		}
	}
	whole := new(big.Int).Quo(v.Fixed.Num(), v.Fixed.Denom())
	digits := len(whole.Abs(whole).String()) + scale
	if whole.Sign() == 0 {
		digits = max(1, scale)
	}
	return &Fixed{Digits: min(digits, maxDigits), Scale: scale}
}

func powerOfTen(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

// convert checks that a value is one of type t and gives it the form of t.
func (c *checker) convert(pos Pos, v Value, t Type) Value {
	wrong := func() Value {
		c.report.errorf(pos, conversionHint(v, t), "%s is no value of type %s", v.kind(), typeName(t))
		return Value{}
	}
	switch r := resolve(t).(type) {
	case Primitive:
		return c.convertPrimitive(pos, v, r, wrong)
	case *Fixed:
		return c.convertFixed(pos, v, r, wrong)
	case *String:
		if v.Str == nil || v.Wide && !r.Wide || c.strict && r.Wide && !v.Wide {
			return wrong()
		}
		n, unit := len(*v.Str), "bytes"
		if r.Wide {
			n, unit = len(utf16.Encode([]rune(*v.Str))), "UTF-16 code units"
		}
		if r.Bound > 0 && n > r.Bound {
			c.report.errorf(pos, "", "string of %d %s exceeds its bound of %d", n, unit, r.Bound)
			return Value{}
		}
		v.Wide = r.Wide
		return v
	case *Enum:
		if v.Enum == nil || v.Enum.Enum != r {
			return wrong()
		}
		return v
	case *Bitmask:
		if v.Mask != r && !v.integer() {
			return wrong()
		}
		if v.Int.Sign() < 0 || v.Int.BitLen() > r.BitBound {
			c.report.errorf(pos, "", "%s does not fit into the %d bits of %s", v.Int, r.BitBound, r.Name)
			return Value{}
		}
		return Value{Int: v.Int, Mask: r}
	}
	c.report.errorf(pos, "", "a constant cannot be of type %s", typeName(t))
	return Value{}
}

// conversionHint says how a literal of a type is written.
func conversionHint(v Value, t Type) string {
	switch resolve(t) {
	case Boolean:
		if v.integer() {
			return "write TRUE or FALSE"
		}
	case Char:
		if v.Str != nil {
			return "write it between single quotes"
		}
		if v.Wide {
			return "leave out the L, or use wchar"
		}
	}
	if _, ok := resolve(t).(*Fixed); ok && v.Float != nil {
		return "write a d behind it"
	}
	if s, ok := resolve(t).(*String); ok && v.Str != nil && v.Wide != s.Wide {
		if s.Wide {
			return `write L"..."`
		}
		return "leave out the L, or use wstring"
	}
	return ""
}

func (c *checker) convertPrimitive(pos Pos, v Value, r Primitive, wrong func() Value) Value {
	info := primitives[r]
	switch {
	case r == Boolean:
		if v.Bool == nil {
			return wrong()
		}
	case r == Char || r == WChar:
		if !v.Char || v.Wide && r == Char {
			return wrong()
		}
		if r == Char && v.Int.Cmp(big.NewInt(255)) > 0 {
			c.report.errorf(pos, "use wchar", "character %s does not fit into a char", v.Int)
			return Value{}
		}
		v.Wide = r == WChar
	case info.integer:
		if !v.integer() {
			return wrong()
		}
		lo, hi := integerRange(info)
		if v.Int.Cmp(lo) < 0 || v.Int.Cmp(hi) > 0 {
			c.report.errorf(pos, "", "%s does not fit into %s, which holds %s to %s", v.Int, info.idl, lo, hi)
			return Value{}
		}
	default:
		f, ok := v.float()
		if v.Fixed != nil {
			f, _ = v.Fixed.Float64()
			ok = true
		}
		if !ok {
			return wrong()
		}
		if r == Float32 && math.Abs(f) > math.MaxFloat32 {
			c.report.errorf(pos, "use double", "%g does not fit into float", f)
			return Value{}
		}
		return Value{Float: &f}
	}
	return v
}

func (c *checker) convertFixed(pos Pos, v Value, r *Fixed, wrong func() Value) Value {
	switch {
	case v.integer():
		v = Value{Fixed: new(big.Rat).SetInt(v.Int)}
	case v.Fixed == nil:
		return wrong()
	}
	scaled := new(big.Rat).Mul(v.Fixed, powerOfTen(r.Scale))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom()) // digits behind the scale are cut off
	if len(new(big.Int).Abs(whole).String()) > r.Digits {
		c.report.errorf(pos, "", "%s has more than the digits of %s", v.text(), typeName(r))
		return Value{}
	}
	return Value{Fixed: new(big.Rat).Quo(new(big.Rat).SetInt(whole), powerOfTen(r.Scale))}
}

func integerRange(info primitiveInfo) (lo, hi *big.Int) {
	bits := uint(8 * info.size)
	one := big.NewInt(1)
	if info.signed {
		hi = new(big.Int).Lsh(one, bits-1)
		return new(big.Int).Neg(hi), new(big.Int).Sub(hi, one)
	}
	return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, bits), one)
}
