package idlc

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/xtypes"
)

// typeOf gives the last type of an IDL file.
func typeOf(t *testing.T, idl string) *xtypes.Type {
	t.Helper()
	unit, report := Check("t.idl", Options{ReadFile: func(string) ([]byte, error) { return []byte(idl), nil }})
	require.False(t, report.Failed(), "%s", report)
	types, err := unit.Types(true)
	require.NoError(t, err)
	return types[len(types)-1]
}

// A reader's type can hold all values of a writer's type, or there are some that it can not. Of those that it can hold, values
// decode as the reader's.
func TestConstructible(t *testing.T) {
	const ab = "enum E { A, B }; "
	const abc = "enum E { A, B, C }; "
	for _, c := range []struct {
		name, reader, writer string
		want                 bool
	}{
		{"the same", abc + "struct S { E e; string<4> s; };", abc + "struct S { E e; string<4> s; };", true},
		{"members of one only", "struct S { long a; @default(7) long b; };", "struct S { long a; };", true},
		{"members that are not read", "struct S { long a; };", "struct S { long a; string b; };", true},
		{"members that have to be understood", "@mutable struct S { long a; };", "@mutable struct S { long a; @must_understand long b; };", false},
		{"optional members", "@mutable struct S { long a; };", "@mutable struct S { @optional long a; };", false},
		{"more enumerators", ab + "struct S { E e; };", abc + "struct S { E e; };", false},
		{"fewer enumerators", abc + "struct S { E e; };", ab + "struct S { E e; };", true},
		{"below an alias and elements", ab + "typedef sequence<E> L; struct S { L e[2]; };", abc + "typedef sequence<E> L; struct S { L e[2]; };", false},
		{"longer strings", "struct S { string<4> s; };", "struct S { string<5> s; };", false},
		{"unbounded strings", "struct S { string<4> s; };", "struct S { string s; };", false},
		{"shorter strings", "struct S { string<5> s; };", "struct S { string<4> s; };", true},
		{"longer sequences", "struct S { sequence<long, 4> s; };", "struct S { sequence<long, 5> s; };", false},
		{"longer maps", "struct S { map<long, long, 4> s; };", "struct S { map<long, long> s; };", false},
		{"values of maps", ab + "struct S { map<long, E> s; };", abc + "struct S { map<long, E> s; };", false},
		{"more flags", "bitmask B { X }; struct S { B b; };", "bitmask B { X, Y }; struct S { B b; };", false},
		{"more cases", "union U switch (long) { case 1: long a; }; struct S { U u; };", "union U switch (long) { case 1: long a; case 2: long b; }; struct S { U u; };", false},
		{"fewer cases", "union U switch (long) { case 1: long a; case 2: long b; }; struct S { U u; };", "union U switch (long) { case 1: long a; }; struct S { U u; };", false},
		{"the same cases", "union U switch (long) { case 1: long a; default: string b; }; struct S { U u; };", "union U switch (long) { case 1: long a; default: string<3> b; }; struct S { U u; long more; };", true},
		{"longer default", "union U switch (long) { case 1: long a; default: string<2> b; }; struct S { U u; };", "union U switch (long) { case 1: long a; default: string<3> b; }; struct S { U u; };", false},
		{"recursion", "struct N { long a; sequence<N> next; };", "struct N { long a; sequence<N> next; long b; };", true},
		{"recursion over another enum", ab + "struct N { E e; sequence<N> next; };", abc + "struct N { E e; sequence<N> next; };", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := typeOf(t, c.reader), typeOf(t, c.writer)
			require.Equal(t, c.want, xtypes.Constructible(r, w))
			if !c.want {
				return
			}
			draw := rand.New(rand.NewPCG(1, 2)).Uint64
			for range 200 {
				sample, err := xtypes.Random(draw, w).Encode(w.Encapsulation(true, true))
				require.NoError(t, err)
				_, err = xtypes.Decode(r, sample)
				require.NoError(t, err)
			}
		})
	}
}
