package idlc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A struct behind a pointer may be the struct around it, whose front would have no end.
func TestFrontsEndAtPointersToStructs(t *testing.T) {
	unit, report := checkText(`
		@final struct A { long x; @external A a; long y; };
		struct B; @final struct C { long x; @external B b; }; @final struct B { @external long y; @external C c; };`)
	require.False(t, report.Failed(), "%s", report)
	for _, d := range unit.Decls {
		if s, ok := d.(*Struct); ok {
			require.Equal(t, 4, s.front().size, s.Name)
			require.Equal(t, 1, s.front().len(), s.Name)
		}
	}
}

// Whether a struct is empty is found in time though the paths to the struct without members double with each struct above it.
func TestManyPathsToAnEmptyStruct(t *testing.T) {
	var b strings.Builder
	b.WriteString("@final struct S0 {};\n")
	for i := range 40 {
		fmt.Fprintf(&b, "@final struct S%d { S%[2]d a; S%[2]d b; };\n", i+1, i)
	}
	_, report := checkText(b.String())
	require.Contains(t, report.String(), "struct S21 has 2097152 members with those of its members, more than 1048576")
}

func checkText(text string) (*Unit, *Report) {
	return Check("test.idl", Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
}
