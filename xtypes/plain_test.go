package xtypes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
)

// What is absent is written as an empty value, and is absent again when it is read.
func TestPlainTypeObjectsSurvive(t *testing.T) {
	color := Must(Build(TypeDescriptor{Kind: TKEnum, Name: "m::Color", Literals: []Literal{{Name: "RED"}, {Name: "GREEN", Value: 1, Default: true}}}))
	shape := Must(Build(TypeDescriptor{Kind: TKStructure, Name: "m::S", Extensibility: cdr.Appendable, Verbatim: &Verbatim{Placement: "BEFORE_DECLARATION", Language: "c", Text: "x"},
		Members: []Member{{Name: "b", ID: 5, Type: sequence(long, 300), Optional: true, Unit: "m"}, {Name: "a", ID: 2, Type: NewString(0), Key: true}}}))
	for _, typ := range []*Type{color, shape, union("m::U", cdr.Final, color, kase("x", array(octet, 2, 3), 1, 0))} {
		for _, ek := range []EquivalenceKind{Minimal, Complete} {
			o, err := typ.Object(ek)
			require.NoError(t, err)
			before := o.Marshal()
			b := o.MarshalPlain()
			got, err := UnmarshalPlainTypeObject(b)
			require.NoError(t, err, "%s %s", typ, ek)
			require.Equal(t, b, got.MarshalPlain())
			got.raw, got.plain = nil, false
			require.Equal(t, before, got.Marshal(), "%s %s: nothing is lost", typ, ek)
			require.Equal(t, before, o.Marshal(), "the object is what it was")
		}
	}
}
