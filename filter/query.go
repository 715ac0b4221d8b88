package filter

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/omg-dds-go/dds/xtypes"
)

// Query is a compiled query expression (DDS 1.4 Annex B, QueryExpression): a condition, which may be missing, and an order. It
// does not change, and any number of goroutines may use it. A nil or zero Query matches nothing.
type Query struct {
	text    string
	params  []string
	typ     *xtypes.Type
	tree    *querySyntax
	program *program // nil: everything matches
	order   []orderKey
}

// orderKey is one member of ORDER BY.
type orderKey struct {
	operand
	down bool
}

// NewQuery compiles a query expression for samples of type t. An error is an *Error.
func NewQuery(t *xtypes.Type, expression string, params ...string) (*Query, error) {
	if t == nil {
		return nil, noType(expression)
	}
	tree, err := queryLanguage.parse(expression)
	if err != nil {
		return nil, err
	}
	q := &Query{text: expression, typ: t, tree: tree}
	return q.With(params...)
}

// With gives the query with other parameters.
func (q *Query) With(params ...string) (*Query, error) {
	if q.absent() {
		return nil, notMade("the Query", "NewQuery")
	}
	if err := checkParameters(q.text, params); err != nil {
		return nil, err
	}
	out := *q
	out.params, out.order = slices.Clone(params), nil
	c := checker{text: q.text, params: out.params, schema: schemaOf(q.typ)}
	if q.tree.Condition != nil {
		root, err := c.condition(q.tree.Condition)
		if err != nil {
			return nil, err
		}
		out.program = newProgram(root)
	}
	for _, o := range q.tree.Order {
		m, err := c.schema.find(o.Member, c.text)
		if err != nil {
			return nil, err
		}
		out.order = append(out.order, orderKey{m.operand, o.Down})
	}
	return &out, nil
}

// Expression is the text that the query was made of.
func (q *Query) Expression() string {
	if q == nil {
		return ""
	}
	return q.text
}

func (q *Query) absent() bool { return q == nil || q.tree == nil }

// Parameters are the values of %0, %1 and so on.
func (q *Query) Parameters() []string {
	if q == nil {
		return nil
	}
	return slices.Clone(q.params)
}

// Match tells whether an encoded sample, encapsulation header included, passes.
func (q *Query) Match(sample []byte) bool {
	return !q.absent() && (q.program == nil || q.program.matches(sample))
}

// Ordered tells whether the query has ORDER BY.
func (q *Query) Ordered() bool { return q != nil && len(q.order) > 0 }

// Compare orders two encoded samples by ORDER BY, as cmp.Compare does. What a sample does not have comes first, and what can not
// be ordered (NaN) next.
func (q *Query) Compare(a, b []byte) int {
	if !q.Ordered() {
		return 0
	}
	ca, cb := cursorOf(a), cursorOf(b)
	defer ca.release()
	defer cb.release()
	for i := range q.order {
		k := &q.order[i]
		if c := k.compare(ca, cb); c != 0 {
			if k.down {
				return -c
			}
			return c
		}
	}
	return 0
}

func (k *orderKey) compare(a, b *cursor) int {
	switch k.class {
	case classInteger:
		x, okX := k.asInteger(a)
		y, okY := k.asInteger(b)
		if okX && okY {
			return x.compare(y)
		}
		return compareBools(okX, okY)
	case classReal:
		x, okX := k.asReal(a)
		y, okY := k.asReal(b)
		if okX && okY {
			return cmp.Compare(x, y)
		}
		return compareBools(okX, okY)
	}
	x, okX := k.asText(a)
	y, okY := k.asText(b)
	if okX && okY {
		return bytes.Compare(x, y)
	}
	return compareBools(okX, okY)
}

// compareBools has false first.
func compareBools(a, b bool) int { return int(truthOf(a)-truthOf(b)) / 2 }
