package idlc

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
)

func itoa(n int) string { return strconv.Itoa(n) }

// maxShift bounds what a shift can build before it is checked against its type.
const maxShift = 63

// eval computes a constant expression; an invalid value after it has reported why.
func (c *checker) eval(e *expr) Value {
	switch {
	case e.Op == "":
		return c.evalOperand(e)
	case e.Left == nil:
		return c.evalUnary(e)
	}
	left, right := c.eval(e.Left), c.eval(e.Right)
	switch e.Op {
	case "+", "-", "*", "/", "%":
		return c.arithmetic(e.At, e.Op, left, right)
	}
	return c.bitwise(e.At, e.Op, left, right)
}

// evalFor computes a value that a type is wanted for: the enumerators and flags of that type need no scope in front, as other
// compilers have it.
func (c *checker) evalFor(e *expr, t Type) Value {
	extra, bits := c.extra, c.unsigned
	c.unsigned = 0
	switch t := resolve(t).(type) {
	case *Enum:
		c.extra = t.names
	case *Bitmask:
		c.extra, c.unsigned = t.names, t.BitBound
	case Primitive:
		if info := primitives[t]; info.integer && !info.signed {
			c.unsigned = 8 * info.size
		}
	}
	v := c.eval(e)
	c.extra, c.unsigned = extra, bits
	return v
}

func (c *checker) evalUnary(e *expr) Value {
	v := c.eval(e.Right)
	switch {
	case !v.Valid():
		return v
	case v.Float != nil && e.Op == "-":
		f := -*v.Float
		return Value{Float: &f}
	case v.Fixed != nil && e.Op == "-":
		return Value{Fixed: new(big.Rat).Neg(v.Fixed)}
	case (v.Float != nil || v.Fixed != nil) && e.Op == "+":
		return v
	case !v.integer() && !(v.Mask != nil && e.Op == "~"):
		c.report.errorf(e.Pos, "", "operator %s does not apply to %s", e.Op, v.kind())
		return Value{}
	case e.Op == "-":
		return Value{Int: new(big.Int).Neg(v.Int)}
	case e.Op == "~" && (c.unsigned > 0 || v.Mask != nil) && v.Int.Sign() >= 0: // (2**32-1) - value, of what has no sign (IDL 4.2 §7.4.1.4.3)
		bits := c.unsigned
		if v.Mask != nil {
			bits = v.Mask.BitBound
		}
		most := new(big.Int).Lsh(big.NewInt(1), uint(bits))
		return Value{Int: most.Sub(most, big.NewInt(1)).Sub(most, v.Int), Mask: v.Mask}
	case e.Op == "~":
		return Value{Int: new(big.Int).Not(v.Int)}
	}
	return v
}

func (c *checker) bitwise(pos Pos, op string, a, b Value) Value {
	if !a.Valid() || !b.Valid() {
		return Value{}
	}
	shift := op == "<<" || op == ">>"
	mask := a.Mask
	if mask == nil {
		mask = b.Mask
	}
	if a.Int == nil || b.Int == nil || a.Char || b.Char || shift && mask != nil || a.Mask != nil && b.Mask != nil && a.Mask != b.Mask {
		c.report.errorf(pos, "", "operator %s needs integers, not %s and %s", op, a.kind(), b.kind())
		return Value{}
	}
	r := new(big.Int)
	switch op {
	case "|":
		r.Or(a.Int, b.Int)
	case "^":
		r.Xor(a.Int, b.Int)
	case "&":
		r.And(a.Int, b.Int)
	default:
		if b.Int.Sign() < 0 || b.Int.Cmp(big.NewInt(maxShift)) > 0 {
			c.report.errorf(pos, "", "shift by %s, not by 0 to %d", b.Int, maxShift)
			return Value{}
		}
		if op == "<<" {
			r.Lsh(a.Int, uint(b.Int.Int64()))
		} else {
			r.Rsh(a.Int, uint(b.Int.Int64()))
		}
	}
	v := c.limit(pos, r)
	v.Mask = mask
	return v
}

// limit keeps intermediate results within what 64-bit types and their complements can use.
func (c *checker) limit(pos Pos, r *big.Int) Value {
	if r.BitLen() > 128 {
		c.report.errorf(pos, "", "constant expression overflows")
		return Value{}
	}
	return Value{Int: r}
}

func (c *checker) arithmetic(pos Pos, op string, a, b Value) Value {
	if !a.Valid() || !b.Valid() {
		return Value{}
	}
	if a.integer() && b.integer() {
		r := new(big.Int)
		switch op {
		case "+":
			r.Add(a.Int, b.Int)
		case "-":
			r.Sub(a.Int, b.Int)
		case "*":
			r.Mul(a.Int, b.Int)
		default:
			if b.Int.Sign() == 0 {
				c.report.errorf(pos, "", "division by zero")
				return Value{}
			}
			if op == "/" {
				r.Quo(a.Int, b.Int)
			} else {
				r.Rem(a.Int, b.Int)
			}
		}
		return c.limit(pos, r)
	}
	if a.Fixed != nil && b.Fixed != nil && op != "%" {
		return c.fixedArithmetic(pos, op, a.Fixed, b.Fixed)
	}
	x, okX := a.float()
	y, okY := b.float()
	switch {
	case !okX || !okY || op == "%":
		c.report.errorf(pos, "", "operator %s does not apply to %s and %s", op, a.kind(), b.kind())
		return Value{}
	case (a.Int != nil || b.Int != nil) && c.strict: // IDL 4.2 §7.4.1.4.3 forbids it, and other compilers compute it
		c.report.errorf(pos, "write the integer with a decimal point", "operator %s mixes %s and %s", op, a.kind(), b.kind())
		return Value{}
	case a.Int != nil || b.Int != nil:
		c.report.warnf(pos, "write the integer with a decimal point", "operator %s mixes %s and %s", op, a.kind(), b.kind())
	}
	var f float64
	switch op {
	case "+":
		f = x + y
	case "-":
		f = x - y
	case "*":
		f = x * y
	default:
		f = x / y
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		c.report.errorf(pos, "", "constant expression has no finite value")
		return Value{}
	}
	return Value{Float: &f}
}

// fixedArithmetic computes with decimal fractions. A quotient that does not end is cut off behind as many digits as a
// type can have.
func (c *checker) fixedArithmetic(pos Pos, op string, a, b *big.Rat) Value {
	r := new(big.Rat)
	switch op {
	case "+":
		r.Add(a, b)
	case "-":
		r.Sub(a, b)
	case "*":
		r.Mul(a, b)
	default:
		if b.Sign() == 0 {
			c.report.errorf(pos, "", "division by zero")
			return Value{}
		}
		r.Quo(a, b)
	}
	scaled := r.Mul(r, powerOfTen(maxDigits))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	if len(whole.String()) > 2*maxDigits+1 {
		c.report.errorf(pos, "", "constant expression overflows")
		return Value{}
	}
	return Value{Fixed: r.Quo(new(big.Rat).SetInt(whole), powerOfTen(maxDigits))}
}

func (v Value) float() (float64, bool) {
	switch {
	case v.Float != nil:
		return *v.Float, true
	case v.integer():
		f, _ := new(big.Float).SetInt(v.Int).Float64()
		return f, true
	}
	return 0, false
}

func (c *checker) evalOperand(e *expr) Value {
	switch {
	case e.Int != nil:
		return c.evalInt(e)
	case e.Float != nil:
		return c.evalFloat(e)
	case len(e.String) > 0:
		return c.evalString(e)
	case e.Char != nil:
		return c.evalChar(e)
	case e.Name != nil:
		return c.evalName(e.Name)
	}
	return Value{}
}

// maxLiteral bounds a number as it is written: none of a type is longer.
const maxLiteral = 1 << 10

func (c *checker) evalInt(e *expr) Value {
	text := strings.TrimRight(*e.Int, "uUlL")
	if c.strict && text != *e.Int {
		c.report.errorf(e.Pos, "leave out "+(*e.Int)[len(text):], "%s has a suffix, as in C", *e.Int)
	}
	if len(text) > maxLiteral {
		c.report.errorf(e.Pos, "", "constant expression overflows")
		return Value{}
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		c.report.errorf(e.Pos, "a leading 0 makes a number octal", "%s is no number", *e.Int)
		return Value{}
	}
	return c.limit(e.Pos, n)
}

func (c *checker) evalFloat(e *expr) Value {
	if text := strings.TrimRight(*e.Float, "dD"); text != *e.Float {
		r, ok := new(big.Rat), len(text) <= maxLiteral && !strings.ContainsAny(text, "eE")
		if ok {
			r, ok = r.SetString(text)
		}
		if !ok || len(strings.Replace(text, ".", "", 1)) > maxDigits {
			c.report.errorf(e.Pos, "", "%s is no fixed-point number of at most %d digits", *e.Float, maxDigits)
			return Value{}
		}
		return Value{Fixed: r}
	}
	f, err := strconv.ParseFloat(strings.TrimRight(*e.Float, "fFlL"), 64)
	if err != nil {
		c.report.errorf(e.Pos, "", "%s does not fit into a double", *e.Float)
		return Value{}
	}
	return Value{Float: &f}
}

// evalString joins literals that follow one another.
func (c *checker) evalString(e *expr) Value {
	var b strings.Builder
	wide := e.String[0][0] == 'L'
	for _, lit := range e.String {
		if (lit[0] == 'L') != wide {
			c.report.errorf(e.Pos, "write L in front of all or none", "a string is joined from wide and other literals")
			return Value{}
		}
		s, ok := unquote(strings.TrimPrefix(lit, "L"))
		if !ok {
			c.report.errorf(e.Pos, "", "bad escape in %s", lit)
		}
		b.WriteString(s)
	}
	s := b.String()
	if strings.Contains(s, "\x00") { // IDL 4.2 §7.2.6.3
		c.report.errorf(e.Pos, "", "a string cannot hold the character \\0, which ends it")
		return Value{}
	}
	return Value{Str: &s, Wide: wide}
}

func (c *checker) evalChar(e *expr) Value {
	s, ok := unquote(strings.TrimPrefix(*e.Char, "L"))
	units := utf16.Encode([]rune(s))
	if !ok || len(units) != 1 {
		c.report.errorf(e.Pos, "", "%s is not one character", *e.Char)
		return Value{}
	}
	return Value{Int: big.NewInt(int64(units[0])), Char: true, Wide: (*e.Char)[0] == 'L'}
}

func (c *checker) evalName(n *scopedName) Value {
	if !n.Global && len(n.Parts) == 1 {
		switch n.Parts[0].Text {
		case "TRUE", "true":
			v := true
			return Value{Bool: &v}
		case "FALSE", "false":
			v := false
			return Value{Bool: &v}
		}
		if c.extra != nil {
			if e := c.extra.get(n.Parts[0].Text); e != nil && e.name == n.Parts[0].Text {
				if v := valueOf(e.what); v.Valid() {
					return v
				}
			}
		}
	}
	found := c.lookup(n, "constant")
	switch found.(type) {
	case nil, *unknownDef, *skippedDef:
		return Value{}
	}
	v := valueOf(found)
	if !v.Valid() {
		c.report.errorf(n.Pos, "", "%s is not a constant", n)
	}
	return v
}

// valueOf gives what a name stands for in an expression.
func valueOf(what any) Value {
	switch w := what.(type) {
	case *Const:
		return w.Value
	case *Enumerator:
		return Value{Enum: w}
	case *Flag:
		return Value{Int: new(big.Int).Lsh(big.NewInt(1), uint(w.Position)), Mask: w.Mask}
	}
	return Value{}
}

// unquote reads a literal in its quotes with the escapes of IDL.
func unquote(lit string) (string, bool) {
	s := lit[1 : len(lit)-1]
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	simple := map[byte]byte{'n': '\n', 't': '\t', 'v': '\v', 'b': '\b', 'r': '\r', 'f': '\f', 'a': '\a', '\\': '\\', '?': '?', '\'': '\'', '"': '"'}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return b.String(), false
		}
		if c, ok := simple[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		start, base, most := i, 8, 3
		switch s[i] {
		case 'x':
			start, base, most = i+1, 16, 2
		case 'u':
			start, base, most = i+1, 16, 4
		}
		end := start
		for end < len(s) && end-start < most {
			if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
				break
			}
			end++
		}
		n, err := strconv.ParseUint(s[start:end], base, 32)
		if err != nil {
			return b.String(), false
		}
		b.WriteRune(rune(n))
		i = end - 1
	}
	return b.String(), true
}

// literalText writes text as a literal of IDL.
func literalText(s string, mark byte) string {
	q := strconv.QuoteToASCII(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	return string(mark) + strings.ReplaceAll(q, string(mark), `\`+string(mark)) + string(mark)
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
