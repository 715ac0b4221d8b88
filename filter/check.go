package filter

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/xtypes"
)

// maxParameters is how many parameters an expression can have: %0 to %99.
const maxParameters = 100

// checker turns the tree of an expression into a program, and finds what is wrong with it on the way.
type checker struct {
	text   string
	params []string
	schema schema
}

func (c *checker) errorf(at span, hint, format string, args ...any) error {
	return &Error{Expression: c.text, Offset: at.from, Length: at.to - at.from, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

func (c *checker) condition(s *conditionSyntax) (*node, error) {
	return gather(opOr, s.Any, c.conjunction)
}

func (c *checker) conjunction(s *conjunctionSyntax) (*node, error) {
	return gather(opAnd, s.All, c.term)
}

// gather joins conditions by an operator; one alone needs none.
func gather[S any](op operation, parts []S, check func(S) (*node, error)) (*node, error) {
	n := &node{op: op}
	for _, p := range parts {
		k, err := check(p)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, k)
	}
	if len(n.kids) == 1 {
		return n.kids[0], nil
	}
	return n, nil
}

func (c *checker) term(s *termSyntax) (*node, error) {
	var n *node
	var err error
	if s.Group != nil {
		n, err = c.condition(s.Group)
	} else {
		n, err = c.predicate(s.Predicate)
	}
	if err != nil || len(s.Nots)%2 == 0 {
		return n, err
	}
	return &node{op: opNot, kids: []*node{n}}, nil
}

// side is one side of a predicate: a member, or a value.
type side struct {
	span
	member *member
	value  *value
}

func (c *checker) side(s *operandSyntax) (side, error) {
	at := span{s.Pos.Offset, s.EndPos.Offset}
	switch {
	case s.Parameter != "":
		v, err := c.parameter(s.Parameter, at)
		return side{span: at, value: v}, err
	case s.Literal != nil:
		v := literalOf(s.Literal)
		return side{span: at, value: &v}, nil
	case s.Scoped != "":
		return side{span: at, value: &value{form: formName, text: s.Scoped, err: c.errorf(at, "", "%s is no member", s.Scoped)}}, nil
	}
	m, err := c.schema.find(s.Member, c.text)
	if err != nil && len(s.Member.Steps) == 0 && !c.schema.knows(plain(s.Member.Name)) {
		return side{span: at, value: &value{form: formName, text: plain(s.Member.Name), err: err}}, nil
	}
	return side{span: at, member: m}, err
}

// parameter looks up %n.
func (c *checker) parameter(token string, at span) (*value, error) {
	n, err := strconv.Atoi(token[1:])
	if err != nil || n >= maxParameters {
		return nil, c.errorf(at, "parameters are %0 to %99", "%s is no parameter", token)
	}
	if n >= len(c.params) {
		return nil, c.errorf(at, "", "%s has no value: %d parameters are given", token, len(c.params))
	}
	v := parameterValue(c.params[n])
	v.param = token
	return &v, nil
}

func (c *checker) predicate(s *predicateSyntax) (*node, error) {
	left, err := c.side(s.Left)
	if err != nil {
		return nil, err
	}
	var n *node
	switch {
	case s.Operator != "":
		return c.compare(left, s.Operator, s.Right)
	case s.Low != nil:
		n, err = c.between(left, s)
	case s.Like != nil:
		n, err = c.like(left, s.Like)
	case s.Match != nil:
		n, err = c.match(left, s.Match)
	default:
		n, err = gather(opOr, s.In, func(o *operandSyntax) (*node, error) { return c.compareValue(left, "=", o, "IN") })
	}
	if err != nil || !s.Not {
		return n, err
	}
	return &node{op: opNot, kids: []*node{n}}, nil
}

func (c *checker) between(left side, s *predicateSyntax) (*node, error) {
	low, err := c.compareValue(left, ">=", s.Low, "BETWEEN")
	if err != nil {
		return nil, err
	}
	high, err := c.compareValue(left, "<=", s.High, "BETWEEN")
	if err != nil {
		return nil, err
	}
	return &node{op: opAnd, kids: []*node{low, high}}, nil
}

// compareValue compares a member with what has to be a value.
func (c *checker) compareValue(left side, operator string, s *operandSyntax, word string) (*node, error) {
	if left.member == nil {
		return nil, c.notMember(left, word)
	}
	right, err := c.side(s)
	if err != nil {
		return nil, err
	}
	if right.member != nil {
		return nil, c.errorf(right.span, "write two comparisons to compare members", "%s takes values, and %s is a member", word, right.text(c.text))
	}
	return c.relate(left, operators[operator], right)
}

// notMember says that a predicate lacks the member that it is about.
func (c *checker) notMember(s side, word string) error {
	if s.value.err != nil {
		return s.value.err
	}
	return c.errorf(s.span, "", "%s needs a member on its left side", word)
}

func (c *checker) compare(left side, operator string, s *operandSyntax) (*node, error) {
	right, err := c.side(s)
	if err != nil {
		return nil, err
	}
	holds := operators[operator]
	if left.member == nil && right.member != nil {
		left, right, holds = right, left, holds.mirrored()
	}
	if left.member == nil {
		for _, s := range []side{left, right} {
			if s.value.err != nil {
				return nil, s.value.err
			}
		}
		return nil, c.errorf(span{left.from, right.to}, "", "a comparison needs a member on one side")
	}
	return c.relate(left, holds, right)
}

// relate compares a member with a member or a value.
func (c *checker) relate(left side, holds ordering, right side) (*node, error) {
	m := left.member
	if v := right.value; v != nil && v.form == formNull {
		return c.null(left, holds, right)
	}
	if v := right.value; v != nil {
		if v.err != nil && m.typ.Kind() != xtypes.TKEnum {
			return nil, v.err
		}
		b, ok, hint := constant(v, m)
		if !ok {
			return nil, c.errorf(right.span, hint, "%s does not go with %s, which has type %s", v.describe(), left.text(c.text), m.name)
		}
		return comparison(m.operand, holds, b), nil
	}
	o := right.member
	if !comparable(m.typ, o.typ) {
		return nil, c.errorf(span{min(left.from, right.from), max(left.to, right.to)}, "",
			"%s has type %s and %s has type %s, which can not be compared", left.text(c.text), m.name, right.text(c.text), o.name)
	}
	return comparison(m.operand, holds, o.operand), nil
}

// null asks whether a member is there (extension).
func (c *checker) null(left side, holds ordering, right side) (*node, error) {
	n := &node{op: opPresent, a: left.member.operand}
	switch holds {
	case operators["<>"]:
		return n, nil
	case operators["="]:
		return &node{op: opNot, kids: []*node{n}}, nil
	}
	return nil, c.errorf(right.span, "", "NULL is compared with = or <>")
}

// comparison picks the operation for two operands that may be compared.
func comparison(a operand, holds ordering, b operand) *node {
	n := &node{op: opIntegers, holds: holds, a: a, b: b}
	switch {
	case a.class == classText:
		n.op = opTexts
	case a.class == classReal && b.class == classReal:
		n.op = opReals
	case a.class == classInteger && b.class == classReal:
		n.op = opIntegerReal
	case a.class == classReal:
		n.op, n.a, n.b, n.holds = opIntegerReal, b, a, holds.mirrored()
	case b.field == nil:
		if limit, ok := a.field.limit(b.integer); ok {
			n.op, n.limit = opLimit, limit
		}
	}
	return n
}

func classOf(t *xtypes.Type) (class, bool) {
	switch k := t.Kind(); {
	case textKind(k):
		return classText, true
	case realKind(k):
		return classReal, true
	case k == xtypes.TKBoolean, k == xtypes.TKByte, k == xtypes.TKEnum, k == xtypes.TKBitmask, k.Integer():
		return classInteger, true
	}
	return 0, false
}

// comparable is the table of DDS 1.4 Annex B for two members: numbers with numbers and enumerations, text with text,
// booleans with booleans, and enumerations of one type.
func comparable(a, b *xtypes.Type) bool {
	if a.Kind() == xtypes.TKBoolean || b.Kind() == xtypes.TKBoolean {
		return a.Kind() == b.Kind()
	}
	if a.Kind() == xtypes.TKEnum && b.Kind() == xtypes.TKEnum {
		return a.Name() == b.Name()
	}
	for _, t := range []*xtypes.Type{a, b} {
		if t.Kind() == xtypes.TKEnum && (textKind(a.Kind()) || textKind(b.Kind())) {
			return false
		}
	}
	return textKind(a.Kind()) == textKind(b.Kind())
}

// texts checks the operands of LIKE and MATCH.
func (c *checker) texts(left side, s *operandSyntax, word string) (a, b operand, right side, err error) {
	if right, err = c.side(s); err != nil {
		return a, b, right, err
	}
	if left.member == nil && right.member == nil {
		return a, b, right, c.notMember(left, word)
	}
	ops := [2]operand{}
	for i, s := range []side{left, right} {
		switch {
		case s.member != nil && !textKind(s.member.typ.Kind()):
			return a, b, right, c.errorf(s.span, "", "%s compares strings, and %s has type %s", word, s.text(c.text), s.member.name)
		case s.member != nil:
			ops[i] = s.member.operand
		case s.value.err != nil:
			return a, b, right, s.value.err
		default:
			var ok bool
			var hint string
			if ops[i], ok, hint = textConstant(s.value); !ok {
				return a, b, right, c.errorf(s.span, hint, "%s compares strings, and %s is none", word, s.value.describe())
			}
		}
	}
	return ops[0], ops[1], right, nil
}

func (c *checker) like(left side, s *operandSyntax) (*node, error) {
	a, b, _, err := c.texts(left, s, "LIKE")
	return &node{op: opLike, a: a, b: b}, err
}

func (c *checker) match(left side, s *operandSyntax) (*node, error) {
	a, b, right, err := c.texts(left, s, "MATCH")
	if err != nil {
		return nil, err
	}
	if b.field != nil {
		return nil, c.errorf(right.span, "", "MATCH takes a pattern, and %s is a member", right.text(c.text))
	}
	n := &node{op: opMatch, a: a}
	for p := range strings.SplitSeq(string(b.text), ",") {
		p = strings.ReplaceAll(p, "[!", "[^")
		if _, err := path.Match(p, ""); err != nil {
			return nil, c.errorf(right.span, "patterns have *, ?, [a-z], [!a-z] and \\", "%q is no pattern", p)
		}
		n.patterns = append(n.patterns, p)
	}
	return n, nil
}
