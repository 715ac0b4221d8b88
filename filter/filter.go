package filter

import (
	"slices"

	"github.com/omg-dds-go/dds/xtypes"
)

// Filter is a compiled filter expression (DDS 1.4 Annex B, FilterExpression). It does not change, and any number of goroutines
// may use it. A nil or zero Filter lets nothing pass.
type Filter struct {
	text    string
	params  []string
	typ     *xtypes.Type
	tree    *filterSyntax
	program *program
}

// New compiles a filter expression for samples of type t. An error is an *Error.
func New(t *xtypes.Type, expression string, params ...string) (*Filter, error) {
	if t == nil {
		return nil, noType(expression)
	}
	tree, err := filterLanguage.parse(expression)
	if err != nil {
		return nil, err
	}
	f := &Filter{text: expression, typ: t, tree: tree}
	return f.With(params...)
}

// With gives the filter with other parameters.
func (f *Filter) With(params ...string) (*Filter, error) {
	if f.absent() {
		return nil, notMade("the Filter", "New")
	}
	if err := checkParameters(f.text, params); err != nil {
		return nil, err
	}
	out := *f
	out.params = slices.Clone(params)
	c := checker{text: f.text, params: out.params, schema: schemaOf(f.typ)}
	root, err := c.condition(f.tree.Condition)
	if err != nil {
		return nil, err
	}
	out.program = newProgram(root)
	return &out, nil
}

func (f *Filter) absent() bool { return f == nil || f.tree == nil }

func noType(expression string) error {
	return &Error{Expression: expression, Detail: "the type is nil"}
}

// notMade is the error about a value that is nil, or that no constructor made.
func notMade(what, by string) error {
	return &Error{Detail: what + " is nil, or was not made by " + by}
}

func checkParameters(text string, params []string) error {
	if len(params) > maxParameters {
		return &Error{Expression: text, Detail: "more than 100 parameters are given"}
	}
	return nil
}

// Expression is the text that the filter was made of.
func (f *Filter) Expression() string {
	if f == nil {
		return ""
	}
	return f.text
}

// Parameters are the values of %0, %1 and so on.
func (f *Filter) Parameters() []string {
	if f == nil {
		return nil
	}
	return slices.Clone(f.params)
}

// Match tells whether an encoded sample, encapsulation header included, passes. It allocates nothing in the steady state. A
// sample that can not be read does not pass.
func (f *Filter) Match(sample []byte) bool {
	return f != nil && f.program != nil && f.program.matches(sample)
}
