package idlc

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// idlFiles are all IDL files of this module.
func idlFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".idl" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// TestFormatted wants of every IDL file the code that gofmt would leave alone, since it is not run when code is generated.
func TestFormatted(t *testing.T) {
	compiled := 0
	for _, file := range idlFiles(t) {
		opts := Options{Include: []string{"testdata/include", "testdata/front/include", filepath.Dir(file)}}
		for _, pkg := range []string{"", "p"} { // long names, and packages that import each other
			opts.Package = pkg
			opts.ImportPath = "example.org/formatted"
			files, _ := Compile(file, opts)
			for _, f := range files {
				compiled++
				wantFormatted(t, file, f)
			}
		}
	}
	if compiled < 60 {
		t.Errorf("%d files of Go", compiled)
	}
}

func wantFormatted(t testing.TB, file string, f OutFile) {
	t.Helper()
	want, err := format.Source(f.Content)
	if err != nil {
		t.Errorf("%s: %s: %v", file, f.Path, err)
	} else if string(want) != string(f.Content) {
		t.Errorf("%s: %s is not as gofmt has it: %s", file, f.Path, excerpt(string(f.Content), string(want)))
	}
}

// TestLayout lays out code of every form that printers write, beside what gofmt makes of the same.
func TestLayout(t *testing.T) {
	for name, code := range map[string]string{
		"fields":     "type T struct {\nBase\nA int `json:\"a\"`\nLonger []string `json:\"longer\"`\n// A comment parts the columns.\nB map[string]int `json:\"b\"`\n}",
		"comments":   "type T struct {\nat [3]int32 // offsets\nlonger int\nx []byte // the bytes\n}",
		"one field":  "type T struct {\nX int // alone\n}",
		"empty":      "type T struct {\n}\n\nfunc (t *T) F() {\n}",
		"constants":  "const (\nA T = 1\nLonger T = 2\n\nB T = 1 << 3\n// C is last.\nC T = 4\n)",
		"literal":    "var t = F(T{\nA: 1,\nLonger: \"a: b // c\",\nRaw: `x {\n  y\n`,\nB: 2,\nInner: U{\nA: 1,\nBcd: '}',\n},\nC: 3,\n})",
		"elements":   "var t = []T{\n{A: 1, B: \"{\"},\n{A: 22, B: \"\\\"\"},\n}",
		"nested":     "var t = [][]T{\n{\n{\nA: 1,\nBcd: 2,\n},\n},\n}",
		"blanks":     "\n\n\nfunc f() {\nx()\n\n\n\ny()\n}\n\n\n\nfunc g() {\n}\n\n",
		"switch":     "func f() {\nswitch x {\ncase 1, 2:\ny()\ndefault:\nfor i := range 3 {\nz(i)\n}\n}\n}",
		"goes on":    "func f() bool {\nreturn a == b &&\nc.Equal(d, func(a, b T) bool {\nreturn a.x == b.x &&\na.y == b.y\n}) &&\ne\n}\n\nfunc g() {\nh()\n}",
		"long":       "func F(first, second, third int) int { return first*second + third*second + first*third + 1234567890 }",
		"short":      "func F(first, second, third int) int { return first*second + third*second + first*third + 12345678 }",
		"limit":      "func Abcdefghij(first, second, third int) int { return first*second + third*second + first*third - 100 }",
		"limit + 1":  "func Abcdefghijk(first, second, third int) int { return first*second + third*second + first*third - 100 }",
		"statements": "func F(first, second, third int) { first = second + third; second = third + first; third = f(\";\", first, second) }",
		"in a row":   "func (t T) Len() int { return t.n }\nfunc (t T) At(i int) int { return t.x[i] }\n\nfunc (t T) Other() int { return 1 }",
		"literal in a call": "func f() {\nx := equal(aaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbb, func(a, b []T) bool { return equal(a, b, " +
			"func(a, b T) bool { return a == b }) && equal(b, a, func(a, b T) bool { return a == b }) })\n}",
		"two literals in a call": "func f() {\nx := equal(func(a, b T) bool { return a == b }, func(a, b T) bool { return aaaaaaaaaaaaaaaaaaaaaaaaaaaa == bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb })\n}",
		"range":                  "func f() {\nfor i := range (*m.X) {\ng(i)\n}\nfor i := range (*m.X)[:] {\ng(i)\n}\n}",
		"prose":                  "// F does it,\n// and more.\n//\n// Well.\nfunc F() {\n}",
		"list":                   "// F does\n// - this\n// - that\n//\n// 1) one\n//    block\nfunc F() {\n}",
		"heading":                "// # Heading\n// [link]: http://example.org\n// ``quoted''\ntype T int",
		"at the front":           "type S int\n\n// One.\n//\n// Two.\ntype T int",
		"no documentation":       "// - item\n\n//   code\n\ntype T int",
	} {
		t.Run(name, func(t *testing.T) {
			code = "package p\n\n" + code + "\n"
			got, ok := layout(code)
			want, err := format.Source([]byte(code))
			if err != nil || !ok {
				t.Fatalf("%t, %v", ok, err)
			}
			if string(got) != string(want) {
				t.Errorf("%s\ngot\n%s\nwant\n%s", excerpt(string(got), string(want)), got, want)
			}
		})
	}
}

// TestDirectives wants comments that go build or gofmt would act on to stay comments.
func TestDirectives(t *testing.T) {
	files, report := compileText("// +build linux\nstruct A { long a; }; //go:embed x\n// \t+build linux\nconst long C = 1; // line 1\n//export f\nconst long D = 1;")
	if report.Failed() {
		t.Fatal(report)
	}
	wantFormatted(t, "fuzz.idl", files[0])
	if code := strings.ReplaceAll(string(files[0].Content), noInline+"\nfunc", "func"); strings.Contains(code, "+build") || strings.Contains(code, "//go:") || strings.Contains(code, "//export") {
		t.Error(code)
	}
}

// TestLayoutAtBraces takes blank lines away that gofmt would leave.
func TestLayoutAtBraces(t *testing.T) {
	got, ok := layout("package p\n\nfunc f() {\n\nx()\n\n}\n")
	if want := "package p\n\nfunc f() {\n\tx()\n}\n"; !ok || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLayoutRefuses wants the one error that a layout can see: something is not closed.
func TestLayoutRefuses(t *testing.T) {
	for _, code := range []string{"f(", "f)", "f(]", "x := \"a", "x := `a", "}"} {
		if _, ok := layout("package p\n\n" + code + "\n"); ok {
			t.Errorf("%s: no error", code)
		}
	}
}
