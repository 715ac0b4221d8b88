package idlc

import (
	"errors"
	"fmt"
	"go/format"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
)

// compileText compiles one file that lies in no directory.
func compileText(text string) ([]OutFile, *Report) {
	read := func(name string) ([]byte, error) {
		if name != "fuzz.idl" {
			return nil, errors.New("no such file")
		}
		return []byte(text), nil
	}
	return Compile("fuzz.idl", Options{ReadFile: read, ImportPath: "example.org/fuzz"})
}

// levels joins n declarations, each of which may refer to the one before.
func levels(n int, first string, next func(i int) string) string {
	var b strings.Builder
	b.WriteString(first)
	for i := 1; i <= n; i++ {
		b.WriteString(next(i))
	}
	return b.String()
}

// doubled is a type in which each level has the one below twice.
func doubled(n int, annotation, member string) string {
	return levels(n, annotation+" struct T0 { long a; };\n", func(i int) string {
		return fmt.Sprintf("%s struct T%d { %s T%d a; %s T%d b; };\n", annotation, i, member, i-1, member, i-1)
	})
}

// TestScale compiles types whose parts, counted as often as they occur, are too many to visit.
func TestScale(t *testing.T) {
	for name, text := range map[string]string{
		"appendable": doubled(20, "", ""),
		"final":      doubled(20, "@final", ""),
		"keys":       doubled(20, "@final", "@key"),
		"sequences": levels(100, "struct T0 { string<7> a; };", func(i int) string {
			return fmt.Sprintf("struct T%d { sequence<T%d, 9> a; sequence<T%d, 9> b; };", i, i-1, i-1)
		}),
		"sequences of sequences": levels(31, "typedef sequence<string<7>, 9> T0;", func(i int) string {
			return fmt.Sprintf("typedef sequence<T%d, 9> T%d;", i-1, i)
		}) + "struct X { T31 a; };",
		"each within the other": "struct A; struct B { sequence<A, 3> a; sequence<A, 3> b; }; struct A { sequence<B, 3> a; sequence<B, 3> b; };",
		"typedefs":              levels(10_000, "typedef long T0;", func(i int) string { return fmt.Sprintf("typedef T%d T%d;", i-1, i) }),
		"bases":                 levels(60, "struct T0 { long a; };", func(i int) string { return fmt.Sprintf("struct T%d : T%d { long a%d; };", i, i-1, i) }),
		"inherited members":     "struct B { long x; }; struct X : B {" + levels(3_000, "", func(i int) string { return fmt.Sprintf("long a%d;", i) }) + "};",
		"enumerators": "enum E { " + levels(3_000, "z", func(i int) string { return fmt.Sprintf(", a%d", i) }) + " };" +
			levels(3_000, "", func(i int) string { return fmt.Sprintf("const E c%d = E::a%d;", i, i) }),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			files, report := compileText(text)
			if report.Failed() || len(files) != 1 {
				t.Fatalf("%d files, %s", len(files), report)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestLimits wants one error for what is too large or too deep, where it first is.
func TestLimits(t *testing.T) {
	chain := func(n int) string {
		return levels(n, "struct T0 { long a; };\n", func(i int) string { return fmt.Sprintf("struct T%d { T%d a; };\n", i, i-1) })
	}
	for _, c := range []struct{ name, text, want string }{
		{"doubled", doubled(40, "", ""), "fuzz.idl:22:9: struct T21 has 2097152 members with those of its members, more than 1048576; use arrays or sequences\n"},
		{"doubled arrays", strings.Replace(doubled(25, "", ""), "a;", "a[256];", 1), "fuzz.idl:20:9: struct T19 takes 536870912 bytes, more than 268435456; use sequences for its arrays\n"},
		{"chain", chain(129), "fuzz.idl:130:8: struct T129 has values nested more than 128 deep; nest fewer structs and arrays\n"},
		{"chain at the limit", chain(128), ""},
		{"dimensions", "struct X { long a" + strings.Repeat("[1]", 129) + "; };", "fuzz.idl:1:17: a has values nested more than 128 deep; nest fewer arrays and sequences\n"},
		{"sequences of sequences", levels(40, "typedef sequence<string> T0;\n", func(i int) string { return fmt.Sprintf("typedef sequence<T%d> T%d;\n", i-1, i) }),
			"fuzz.idl:33:23: T32 has sequences nested more than 32 deep; put structs between them\n"},
		{"bases", levels(64, "struct T0 { long a; };\n", func(i int) string { return fmt.Sprintf("struct T%d : T%d { long a%d; };\n", i, i-1, i) }),
			"fuzz.idl:65:14: struct T64 has more than 63 bases above it; make the bases members\n"},
		{"typedef of what comes later", "struct N;\ntypedef N A[100000];\nstruct N { long a[1000]; };\nstruct X { sequence<A> a; };",
			"fuzz.idl:2:11: array A takes 400000000 bytes, more than 268435456; use a sequence\n"},
		{"dimensions that overflow", "struct N; typedef N A[2147483647][2147483647][2147483647]; struct N { long a; };",
			"fuzz.idl:1:21: array A takes 9903520300447984143910830080 bytes, more than 268435456; use a sequence\n"},
		{"nested sequences", "struct X {" + strings.Repeat("sequence<", 70) + "long" + strings.Repeat(">", 70) + " a; };",
			"fuzz.idl:1:299: sequences nested more than 32 deep; put structs between them\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, report := compileText(c.text); report.String() != c.want {
				t.Errorf("got  %s\nwant %s", report, c.want)
			}
		})
	}
}

// TestOutputLimit prints a large part again for each type that has it.
func TestOutputLimit(t *testing.T) {
	files, report := compileText("struct S {" + levels(3000, "", func(i int) string { return fmt.Sprintf("long a%d;", i) }) + "};\n" +
		levels(3000, "", func(i int) string { return fmt.Sprintf("struct M%d { S s; };\n", i) }))
	if len(files) != 0 || !strings.Contains(report.String(), fmt.Sprintf("is larger than %d bytes; split the file", minOutput+9001*outputForPart)) {
		t.Errorf("%d files, %s", len(files), report)
	}
}

// TestTooManyErrors wants the line that says so behind all others.
func TestTooManyErrors(t *testing.T) {
	_, report := compileText(levels(3_000, "", func(i int) string { return fmt.Sprintf("struct A%d { Unknown%d a; };\n", i, i) }))
	got := report.Diagnostics()
	if len(got) != maxErrors+1 {
		t.Fatalf("%d lines, want %d", len(got), maxErrors+1)
	}
	if last := got[maxErrors].String(); last != "fuzz.idl:1001:16: too many errors: those above 1000 are not shown" {
		t.Error(last)
	}
}

// naiveEnd walks over every value of the largest encoding.
func naiveEnd(t Type, at int, key bool) int {
	switch t := resolve(t).(type) {
	case Primitive:
		n := primitives[t].size
		return alignUp(at, min(n, 4)) + n
	case *Enum:
		return alignUp(at, t.Width) + t.Width
	case *String:
		if t.Wide {
			return alignUp(at, 4) + 4 + 2*t.Bound
		}
		return alignUp(at, 4) + 4 + t.Bound + 1
	case *Sequence:
		if !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		at = alignUp(at, 4) + 4
		for range t.Bound {
			at = naiveEnd(t.Elem, at, key)
		}
	case *Array:
		if !isPrimitive(t.Elem) {
			at = alignUp(at, 4) + 4
		}
		for range t.count() {
			at = naiveEnd(t.Elem, at, key)
		}
	case *Struct:
		members := t.Members
		if key {
			members = keyOrder(t)
		} else if t.Extensibility != cdr.Final {
			at = alignUp(at, 4) + 4
		}
		for _, m := range members {
			at = naiveEnd(m.Type, at, key)
		}
	}
	return at
}

// randomFile declares structs at random, with their bounds so small that a walk over all values ends.
func randomFile(rnd *rand.Rand) string {
	var b strings.Builder
	b.WriteString("@bit_bound(8) enum E8 { A }; @bit_bound(16) enum E16 { B };\n")
	kinds := []string{"octet", "short", "long", "double", "E8", "E16", "string<2>", "wstring<3>"}
	for i := range 6 {
		if rnd.IntN(2) == 0 {
			b.WriteString("@final ")
		}
		fmt.Fprintf(&b, "struct S%d {", i)
		for j := range 1 + rnd.IntN(4) {
			kind, dims := kinds[rnd.IntN(len(kinds))], ""
			switch rnd.IntN(4) {
			case 0:
				kind = fmt.Sprintf("sequence<%s, %d>", kind, 1+rnd.IntN(14))
			case 1:
				dims = fmt.Sprintf("[%d]", 1+rnd.IntN(14))
			}
			key := ""
			if rnd.IntN(3) == 0 && !strings.HasPrefix(kind, "sequence") && !strings.HasPrefix(kind, "S") {
				key = "@key "
			}
			fmt.Fprintf(&b, " %s%s m%d%s;", key, kind, j, dims)
		}
		b.WriteString(" };\n")
		kinds = append(kinds, fmt.Sprintf("S%d", i))
	}
	return b.String()
}

// TestSizesAgainstWalk compares the sizes that are computed once for each type with a walk over all values.
func TestSizesAgainstWalk(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := randomFile(rnd)
		report := newReport()
		read := func(string) ([]byte, error) { return []byte(text), nil }
		unit := analyse("fuzz.idl", &Options{ReadFile: read}, report)
		if report.Failed() {
			t.Fatalf("%s\n%s", report, text)
		}
		sizes := &sizer{known: map[sizeOf]int64{}}
		for _, d := range unit.Decls {
			s, ok := d.(*Struct)
			if !ok {
				continue
			}
			if got, want := sizes.maxSize(s), naiveEnd(s, 0, false); got != want {
				t.Fatalf("%s: size %d, want %d\n%s", s.Name, got, want, text)
			}
			if want := naiveEnd(s, 0, true); s.keyed() && sizes.maxKeySize(s) != want {
				t.Fatalf("%s: key size %d, want %d\n%s", s.Name, sizes.maxKeySize(s), want, text)
			}
		}
	}
}

// TestRandomFiles wants formatted Go of everything that is declared.
func TestRandomFiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		text := randomFile(rnd)
		files, report := compileText(text)
		if report.Failed() || len(files) != 1 {
			t.Fatalf("%s\n%s", report, text)
		}
		if formatted, err := format.Source(files[0].Content); err != nil || string(formatted) != string(files[0].Content) {
			t.Fatalf("%v\n%s", err, text)
		}
	}
}

// TestAbsentCostsNothing gives the reader of a very large type samples that end before it: what only passes over them must
// not visit its parts.
func TestAbsentCostsNothing(t *testing.T) {
	id := hexBytes(t, "0009 0000 04000000 07000000") // Vast without cells
	empty := hexBytes(t, "0009 0000 00000000")       // Outside without anything
	xcdr1 := hexBytes(t, "0001 0000 07000000")       // Vast in XCDR1, where the end of the sample delimits
	for name, walk := range map[string]func() error{
		"view":           func() error { _, err := tt.NewVastView(id); return err },
		"view in XCDR1":  func() error { _, err := tt.NewVastView(xcdr1); return err },
		"view of nested": func() error { _, err := tt.NewOutsideView(empty); return err },
		"key":            func() error { _, err := cdr.KeyFromSample(nil, (*tt.Vast)(nil), id); return err },
	} {
		t.Run(name, func(t *testing.T) {
			took := time.Hour
			for range 3 {
				start := time.Now()
				if err := walk(); err != nil {
					t.Fatal(err)
				}
				took = min(took, time.Since(start))
			}
			if took > 50*time.Millisecond {
				t.Errorf("took %s", took)
			}
		})
	}
}
