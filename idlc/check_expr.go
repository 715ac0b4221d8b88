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
func (c *checker) eval(e *expr) Value { return fold(c, e.Pos, "|", c.evalXor, e.Left, e.Right) }

func (c *checker) evalXor(e *exprXor) Value {
	return fold(c, e.Pos, "^", c.evalAnd, e.Left, e.Right)
}

func (c *checker) evalAnd(e *exprAnd) Value {
	return fold(c, e.Pos, "&", c.evalShift, e.Left, e.Right)
}

// fold applies a bitwise operator from left to right.
func fold[E any](c *checker, pos Pos, op string, operand func(E) Value, first E, rest []E) Value {
	v := operand(first)
	for _, e := range rest {
		v = c.bitwise(pos, op, v, operand(e))
	}
	return v
}

func (c *checker) evalShift(e *exprShift) Value {
	v := c.evalSum(e.Left)
	for _, r := range e.Right {
		v = c.bitwise(e.Pos, strings.Join(r.Op, ""), v, c.evalSum(r.Term))
	}
	return v
}

func (c *checker) evalSum(e *exprSum) Value {
	v := c.evalProduct(e.Left)
	for _, r := range e.Right {
		v = c.arithmetic(r.Pos, r.Op, v, c.evalProduct(r.Term))
	}
	return v
}

func (c *checker) evalProduct(e *exprProduct) Value {
	v := c.evalUnary(e.Left)
	for _, r := range e.Right {
		v = c.arithmetic(r.Pos, r.Op, v, c.evalUnary(r.Term))
	}
	return v
}

func (c *checker) evalUnary(e *exprUnary) Value {
	v := c.evalPrimary(e.Term)
	switch {
	case e.Op == "" || !v.Valid():
		return v
	case v.Float != nil && e.Op == "-":
		f := -*v.Float
		return Value{Float: &f}
	case v.Float != nil && e.Op == "+":
		return v
	case v.Int == nil || v.Char:
		c.report.errorf(e.Pos, "", "operator %s does not apply to %s", e.Op, v.kind())
		return Value{}
	case e.Op == "-":
		return Value{Int: new(big.Int).Neg(v.Int)}
	case e.Op == "~":
		return Value{Int: new(big.Int).Not(v.Int)}
	}
	return v
}

func (c *checker) bitwise(pos Pos, op string, a, b Value) Value {
	if !a.Valid() || !b.Valid() {
		return Value{}
	}
	if a.Int == nil || b.Int == nil || a.Char || b.Char {
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
	return c.limit(pos, r)
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
	if a.Int != nil && b.Int != nil && !a.Char && !b.Char {
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
	x, okX := a.float()
	y, okY := b.float()
	if !okX || !okY || op == "%" {
		c.report.errorf(pos, "", "operator %s does not apply to %s and %s", op, a.kind(), b.kind())
		return Value{}
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

func (v Value) float() (float64, bool) {
	switch {
	case v.Float != nil:
		return *v.Float, true
	case v.Int != nil && !v.Char:
		f, _ := new(big.Float).SetInt(v.Int).Float64()
		return f, true
	}
	return 0, false
}

func (c *checker) evalPrimary(e *exprPrimary) Value {
	switch {
	case e.Paren != nil:
		return c.eval(e.Paren)
	case e.Int != nil:
		n, ok := new(big.Int).SetString(*e.Int, 0)
		if !ok {
			c.report.errorf(e.Pos, "a leading 0 makes a number octal", "%s is no number", *e.Int)
			return Value{}
		}
		return c.limit(e.Pos, n)
	case e.Float != nil:
		f, err := strconv.ParseFloat(strings.TrimRight(*e.Float, "fFdDlL"), 64)
		if err != nil {
			c.report.errorf(e.Pos, "", "%s does not fit into a double", *e.Float)
			return Value{}
		}
		return Value{Float: &f}
	case len(e.String) > 0:
		var b strings.Builder
		for _, lit := range e.String {
			s, ok := unquote(strings.TrimPrefix(lit, "L"))
			if !ok {
				c.report.errorf(e.Pos, "", "bad escape in %s", lit)
			}
			b.WriteString(s)
		}
		s := b.String()
		return Value{Str: &s}
	case e.Char != nil:
		return c.evalChar(e)
	case e.Name != nil:
		return c.evalName(e.Name)
	}
	return Value{}
}

func (c *checker) evalChar(e *exprPrimary) Value {
	s, ok := unquote(strings.TrimPrefix(*e.Char, "L"))
	units := utf16.Encode([]rune(s))
	if !ok || len(units) != 1 {
		c.report.errorf(e.Pos, "", "%s is not one character", *e.Char)
		return Value{}
	}
	return Value{Int: big.NewInt(int64(units[0])), Char: true}
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
	}
	switch found := c.lookup(n, "constant").(type) {
	case nil:
	case *Const:
		return found.Value
	case *Enumerator:
		return Value{Enum: found}
	case *unknownDef:
	default:
		c.report.errorf(n.Pos, "", "%s is not a constant", n)
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
