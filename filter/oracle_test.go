package filter

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The oracle draws a type, a value of it and an expression over it, evaluates the expression by walking the value, and compares
// with what the program makes of the encoded bytes. It shares no code with the package: numbers are big.Rat, LIKE is a regular
// expression.

// leaf is a scalar part of the drawn value.
type leaf struct {
	path string
	typ  *xtypes.Type
	v    any // nil: an element that the sequence does not have
}

var scalarKinds = []xtypes.Kind{
	xtypes.TKBoolean, xtypes.TKByte, xtypes.TKInt8, xtypes.TKUint8, xtypes.TKInt16, xtypes.TKUint16, xtypes.TKInt32, xtypes.TKUint32, xtypes.TKInt64,
	xtypes.TKUint64, xtypes.TKFloat32, xtypes.TKFloat64, xtypes.TKChar8, xtypes.TKChar16, xtypes.TKString8, xtypes.TKString16, xtypes.TKEnum, xtypes.TKBitmask,
}

type drawer struct {
	*rapid.T
	types int
}

func (d *drawer) typ(depth int) *xtypes.Type {
	n := rapid.IntRange(0, 9).Draw(d.T, "shape")
	switch {
	case depth == 0 || n == 9:
		return d.structure(depth)
	case n == 8 && depth < 3:
		return xtypes.Must(xtypes.NewSequence(d.typ(depth+1), 0))
	case n == 7 && depth < 3:
		return xtypes.Must(xtypes.NewArray(d.typ(depth+1), uint32(rapid.IntRange(1, 3).Draw(d.T, "len"))))
	case n == 6:
		d.types++
		return xtypes.Must(xtypes.NewAlias(fmt.Sprintf("Alias%d", d.types), d.typ(depth+1)))
	}
	switch k := rapid.SampledFrom(scalarKinds).Draw(d.T, "kind"); k {
	case xtypes.TKString8:
		return xtypes.NewString(0)
	case xtypes.TKString16:
		return xtypes.NewWString(0)
	case xtypes.TKEnum:
		d.types++
		return xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
			Kind: k, Name: fmt.Sprintf("m::Enum%d", d.types), BitBound: rapid.SampledFrom([]uint16{4, 8, 12, 16, 32}).Draw(d.T, "bits"),
			Literals: []xtypes.Literal{{Name: "A", Value: 0}, {Name: "B", Value: 1}, {Name: "C", Value: 7}},
		}))
	case xtypes.TKBitmask:
		d.types++
		return xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
			Kind: k, Name: fmt.Sprintf("m::Mask%d", d.types), BitBound: rapid.SampledFrom([]uint16{8, 16, 32, 64}).Draw(d.T, "bits"),
			Bitflags: []xtypes.Bitflag{{Name: "F", Position: 1}},
		}))
	default:
		return xtypes.Primitive(k)
	}
}

func (d *drawer) structure(depth int) *xtypes.Type {
	most := 5
	if depth >= 3 {
		most = 1
	}
	desc := xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Extensibility: rapid.SampledFrom([]cdr.Extensibility{cdr.Final, cdr.Appendable}).Draw(d.T, "ext")}
	for i := range rapid.IntRange(1, most).Draw(d.T, "members") {
		desc.Members = append(desc.Members, xtypes.Member{Name: fmt.Sprintf("m%d", i), AutoID: true, Type: d.typ(depth + 1)})
	}
	d.types++
	desc.Name = fmt.Sprintf("m::Struct%d", d.types)
	return xtypes.Must(xtypes.Build(desc))
}

// value draws a value, and lists its scalars.
func (d *drawer) value(t *xtypes.Type, path string, leaves *[]leaf) any {
	t = t.Resolve()
	switch t.Kind() {
	case xtypes.TKStructure:
		var parts []any
		for m := range t.Members() {
			parts = append(parts, d.value(m.Type, strings.TrimPrefix(path+"."+m.Name, "."), leaves))
		}
		return parts
	case xtypes.TKSequence, xtypes.TKArray:
		n := t.Len()
		if t.Kind() == xtypes.TKSequence {
			n = rapid.IntRange(0, 2).Draw(d.T, "n")
		}
		parts := []any{}
		for i := range n {
			parts = append(parts, d.value(t.Elem(), fmt.Sprintf("%s[%d]", path, i), leaves))
		}
		if t.Kind() == xtypes.TKSequence {
			if e := t.Elem().Resolve(); e.Kind() != xtypes.TKStructure && e.Kind() != xtypes.TKSequence && e.Kind() != xtypes.TKArray {
				*leaves = append(*leaves, leaf{fmt.Sprintf("%s[%d]", path, n), e, nil})
			}
		}
		return parts
	}
	v := d.scalar(t)
	*leaves = append(*leaves, leaf{path, t, v})
	return v
}

func (d *drawer) scalar(t *xtypes.Type) any {
	texts := []string{"", "a", "ab", "b", "äb", "a%", "_", "it's", "ab\tc", "𝄞a"}
	switch k := t.Kind(); k {
	case xtypes.TKBoolean:
		return rapid.Bool().Draw(d.T, "bool")
	case xtypes.TKEnum:
		return rapid.SampledFrom([]int64{0, 1, 7}).Draw(d.T, "enum")
	case xtypes.TKFloat32, xtypes.TKFloat64:
		v := rapid.SampledFrom([]float64{0, 0.1, -0.1, 1, 7, 1e10, -128, 1 << 53, 1 << 63, 1 << 64, math.Inf(1), math.NaN()}).Draw(d.T, "real")
		if k == xtypes.TKFloat32 {
			v = float64(float32(v))
		}
		return v
	case xtypes.TKChar8:
		return rapid.SampledFrom([]string{"a", "b", "%", "ä"}).Draw(d.T, "char")
	case xtypes.TKChar16:
		return rapid.SampledFrom([]string{"a", "b", "%", "€"}).Draw(d.T, "wchar")
	case xtypes.TKString8, xtypes.TKString16:
		return rapid.SampledFrom(texts).Draw(d.T, "text")
	default:
		bits := 8 * sizeOf(t)
		if k.Signed() {
			return rapid.OneOf(rapid.Int64Range(-1<<(bits-1), 1<<(bits-1)-1), rapid.Int64Range(-2, 8)).Draw(d.T, "int")
		}
		return rapid.OneOf(rapid.Uint64Range(0, math.MaxUint64>>(64-bits)), rapid.Uint64Range(0, 8)).Draw(d.T, "uint")
	}
}

// known is what a condition says: true, false, or nothing.
type known struct{ is, of bool }

func (d *drawer) condition(leaves []leaf, depth int) (string, known) {
	if depth < 3 {
		switch rapid.IntRange(0, 5).Draw(d.T, "condition") {
		case 0, 1:
			a, ka := d.condition(leaves, depth+1)
			b, kb := d.condition(leaves, depth+1)
			if rapid.Bool().Draw(d.T, "and") {
				return "(" + a + ") AND (" + b + ")", both(ka, kb, true)
			}
			return "(" + a + ") OR (" + b + ")", both(ka, kb, false)
		case 2:
			a, k := d.condition(leaves, depth+1)
			k.is = !k.is
			return "NOT (" + a + ")", k
		}
	}
	l := rapid.SampledFrom(leaves).Draw(d.T, "leaf")
	return d.predicate(l, leaves)
}

// both is AND, or OR, of SQL's three values.
func both(a, b known, and bool) known {
	decided := !and // the value that decides alone
	for _, k := range []known{a, b} {
		if k.of && k.is == decided {
			return known{is: decided, of: true}
		}
	}
	return known{is: !decided, of: a.of && b.of}
}

func isText(t *xtypes.Type) bool {
	switch t.Kind() {
	case xtypes.TKChar8, xtypes.TKChar16, xtypes.TKString8, xtypes.TKString16:
		return true
	}
	return false
}

func (d *drawer) predicate(l leaf, leaves []leaf) (string, known) {
	var partners []leaf
	for _, o := range leaves {
		boolean := l.typ.Kind() == xtypes.TKBoolean || o.typ.Kind() == xtypes.TKBoolean
		enums := l.typ.Kind() == xtypes.TKEnum && o.typ.Kind() == xtypes.TKEnum && l.typ.Name() != o.typ.Name()
		if isText(o.typ) == isText(l.typ) && (!boolean || o.typ.Kind() == l.typ.Kind()) && !enums {
			partners = append(partners, o)
		}
	}
	word := rapid.SampledFrom([]string{"=", "<>", "!=", "<", "<=", ">", ">=", "BETWEEN", "LIKE", "IN", "mirror", "member"}).Draw(d.T, "operator")
	switch {
	case word == "LIKE" && isText(l.typ):
		p := rapid.SampledFrom([]string{"%", "a%", "_b", "%b", "_", "%a%b%", "a\\%", "", "__%"}).Draw(d.T, "pattern")
		if l.v == nil {
			return l.path + " LIKE '" + p + "'", known{}
		}
		re := regexp.MustCompile("(?s)^" + strings.NewReplacer("%", ".*", "_", ".").Replace(regexp.QuoteMeta(p)) + "$")
		return l.path + " like '" + p + "'", known{re.MatchString(l.v.(string)), true}
	case word == "BETWEEN":
		low, lv := d.literal(l.typ)
		high, hv := d.literal(l.typ)
		not := rapid.SampledFrom([]string{"", "NOT "}).Draw(d.T, "not")
		text := fmt.Sprintf("%s %sBETWEEN %s AND %s", l.path, not, low, high)
		if l.v == nil {
			return text, known{}
		}
		in := holds(">=", l.v, lv) && holds("<=", l.v, hv)
		return text, known{in == (not == ""), true}
	case word == "IN":
		text, in := "", false
		for i := range rapid.IntRange(1, 3).Draw(d.T, "n") {
			lit, v := d.literal(l.typ)
			if i > 0 {
				text += ", "
			}
			text += lit
			in = in || l.v != nil && holds("=", l.v, v)
		}
		return fmt.Sprintf("%s IN (%s)", l.path, text), known{in, l.v != nil}
	case word == "member":
		o := rapid.SampledFrom(partners).Draw(d.T, "partner")
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(d.T, "op")
		if l.v == nil || o.v == nil {
			return l.path + op + o.path, known{}
		}
		return l.path + op + o.path, known{holds(op, l.v, o.v), true}
	case word == "mirror":
		lit, v := d.literal(l.typ)
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(d.T, "op")
		if l.v == nil {
			return lit + op + l.path, known{}
		}
		return lit + op + l.path, known{holds(op, v, l.v), true}
	case word == "LIKE":
		word = "="
	}
	lit, v := d.literal(l.typ)
	if l.v == nil {
		return l.path + " " + word + " " + lit, known{}
	}
	return l.path + " " + word + " " + lit, known{holds(word, l.v, v), true}
}

// literal draws a literal for a type, and what it means.
func (d *drawer) literal(t *xtypes.Type) (string, any) {
	switch k := t.Kind(); {
	case k == xtypes.TKEnum:
		if rapid.Bool().Draw(d.T, "number") {
			return "7", int64(7)
		}
		return rapid.SampledFrom([]string{"'B'", "B", "m::B", strings.TrimPrefix(t.Name(), "m::") + "::B"}).Draw(d.T, "name"), int64(1)
	case isText(t):
		v := d.scalar(xtypes.NewString(0)).(string)
		return "'" + strings.ReplaceAll(v, "'", "''") + "'", v
	}
	v := d.scalar(t)
	switch v := v.(type) {
	case bool:
		return strings.ToUpper(strconv.FormatBool(v)), v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			v = 1
		}
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if t.Kind() == xtypes.TKFloat32 && v == float64(float32(0.1)) {
			text = "0.1"
		}
		return text, v
	case uint64:
		if rapid.Bool().Draw(d.T, "hex") {
			return fmt.Sprintf("0x%X", v), v
		}
		if rapid.Bool().Draw(d.T, "half") {
			return fmt.Sprintf("%d.5", v>>12), float64(v>>12) + 0.5
		}
	}
	return fmt.Sprint(v), v
}

// holds compares two values, exactly.
func holds(op string, a, b any) bool {
	var c int
	switch x := a.(type) {
	case bool:
		c = cmp.Compare(bits(x), bits(b))
	case string:
		c = strings.Compare(x, b.(string))
	default:
		x1, inf1, ok1 := exact(a)
		x2, inf2, ok2 := exact(b)
		if !ok1 || !ok2 {
			return op == "<>" || op == "!="
		}
		if c = cmp.Compare(inf1, inf2); c == 0 && inf1 == 0 {
			c = x1.Cmp(x2)
		}
	}
	switch op {
	case "=":
		return c == 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	return c != 0
}

func exact(v any) (r *big.Rat, inf int, ok bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), 0, true
	case uint64:
		return new(big.Rat).SetUint64(v), 0, true
	}
	f := v.(float64)
	switch {
	case math.IsNaN(f):
		return nil, 0, false
	case math.IsInf(f, 1):
		return nil, 1, true
	}
	return new(big.Rat).SetFloat64(f), 0, true
}

func TestOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &drawer{T: rt}
		typ := d.typ(0)
		var leaves []leaf
		v := d.value(typ, "", &leaves)
		if len(leaves) == 0 {
			return
		}
		text, want := d.condition(leaves, 0)
		f, err := New(typ, text)
		require.NoError(rt, err, text)
		for i, sample := range encodeAll(typ, v) {
			if got := f.Match(sample); got != (want.of && want.is) {
				rt.Fatalf("%s is %v in encoding %d of %v", text, got, i, v)
			}
		}
	})
}
