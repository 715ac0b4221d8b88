package idlc

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is printed on all processors is what is printed on one, byte by byte, and the warnings are the same.
func TestPartsAreTheWhole(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	var b strings.Builder
	b.WriteString("module parts {\n@final struct Deep { long x; double y; };\n@final struct Common { Deep deep; Deep again; };\n") // in all parts
	for i := range 50 {
		fmt.Fprintf(&b, "// Number %d.\nconst long N%[1]d = %[1]d;\nenum E%[1]d { A%[1]d, B%[1]d };\n@final struct S%[1]d { Deep deep; Common common; E%[1]d e; fixed<5, 2> f; sequence<string<4>> names; sequence<sequence<long>> rows; map<long, E%[1]d> m; };\n"+
			"typedef sequence<S%[1]d> L%[1]d;\nunion U%[1]d switch (E%[1]d) { case A%[1]d: S%[1]d s; default: L%[1]d l; };\nbitmask M%[1]d { X%[1]d };\n", i)
	}
	b.WriteString("};\n")
	read := func(string) ([]byte, error) { return []byte(b.String()), nil }
	opts := Options{ReadFile: read}
	report := newReport()
	p := makePlan(analyse("parts.idl", &opts, report), &opts, report)
	require.False(t, report.Failed(), "%s", report)
	require.Len(t, p.packages, 1)

	before := len(report.Diagnostics())
	parts, ok := p.printParts(p.packages[0])
	require.True(t, ok)
	found := report.String()
	require.Greater(t, len(report.Diagnostics()), before, "fixed has no type object")
	report.diagnostics = report.diagnostics[:0]
	whole, ok := p.printWhole(p.packages[0])
	require.True(t, ok)
	require.Equal(t, report.String(), found)
	require.True(t, bytes.Equal(whole, parts), "%d and %d bytes", len(whole), len(parts))
	wantFormatted(t, "parts", OutFile{Path: "parts_idl.go", Content: parts})

	runtime.GOMAXPROCS(1)
	_, ok = p.printParts(p.packages[0])
	require.False(t, ok, "one processor prints the whole")
}

// What is parsed on all processors is what is parsed on one: the same tree, and of too many errors the same ones.
func TestMembersParsedAtOnce(t *testing.T) {
	parseWith := func(processors int, text string) (tree, found string) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		report := newReport()
		opts := Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }}
		defs := parse(preprocess("parts.idl", &opts, report), report)
		var b strings.Builder
		dump(&b, reflect.ValueOf(defs), "", "parts.idl")
		return b.String(), report.String()
	}
	for _, wrong := range []int{0, 1, 2 * maxErrors} {
		var b strings.Builder
		for i := range 3 * maxErrors {
			member := "string<8> name"
			if i < wrong {
				member = "string<8 name"
			}
			fmt.Fprintf(&b, "struct S%d {\n  @key long a, b[2]; // both\n  %s; //@optional\n  //@Extensibility FINAL_EXTENSIBILITY\n};\n", i, member)
		}
		tree, found := parseWith(1, b.String())
		for range 3 {
			again, alike := parseWith(3, b.String())
			require.Equal(t, found, alike)
			require.True(t, tree == again, "trees of %d and %d bytes", len(tree), len(again))
		}
		require.Equal(t, min(wrong, maxErrors), strings.Count(found, "unexpected"), "%s", clip(found))
	}
}
