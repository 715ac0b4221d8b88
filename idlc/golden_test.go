package idlc

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the expectations of the golden tests")

func corpusFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.idl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	return files
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// golden compares with the file, or writes it. Empty text stands for no file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if got == "" {
			_ = os.Remove(name)
		} else if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test -update and read the diff\ngot:\n%s", name, excerpt(got, string(want)))
	}
}

// excerpt shows the first line that differs.
func excerpt(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			line := ""
			if i < len(w) {
				line = w[i]
			}
			return fmt.Sprintf("line %d: %s\n   want: %s", i+1, g[i], line)
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestGolden compiles every file of the corpus and compares syntax tree, diagnostics and Go code.
func TestGolden(t *testing.T) {
	for _, file := range corpusFiles(t) {
		name := strings.TrimSuffix(file, ".idl")
		t.Run(filepath.Base(name), func(t *testing.T) {
			opts := Options{ReadFile: os.ReadFile, Include: []string{"testdata/include"}, ImportPath: "example.org/" + filepath.Base(name)}
			report := newReport()
			tree := parse(preprocess(file, &opts, report), report)
			var b strings.Builder
			dump(&b, reflect.ValueOf(tree), "", file)
			golden(t, name+".ast.txt", b.String())

			files, report := Compile(file, opts)
			golden(t, name+".diag.txt", strings.ReplaceAll(report.String(), "testdata/", ""))
			code := ""
			for _, f := range files {
				code += "-- " + f.Path + " --\n" + string(f.Content)
			}
			golden(t, name+".go.golden", code)
		})
	}
}

// dump prints a syntax tree: one line for each node or value, with positions as line:column. What is zero is left out, and
// so are the levels of an expression that do nothing but hold the next.
func dump(b *strings.Builder, v reflect.Value, indent, file string) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			dump(b, v.Elem(), indent, file)
		}
	case reflect.Slice:
		for i := range v.Len() {
			dump(b, v.Index(i), indent, file)
		}
	case reflect.Struct:
		dumpStruct(b, v, indent, file)
	default:
		fmt.Fprintf(b, "%s%v\n", indent, v)
	}
}

func dumpStruct(b *strings.Builder, v reflect.Value, indent, file string) {
	if v.Type() == reflect.TypeFor[ident]() {
		fmt.Fprintf(b, "%s%s\n", indent, v.FieldByName("Text"))
		return
	}
	fmt.Fprintf(b, "%s%s%s\n", indent, v.Type().Name(), position(v, file))
	var fields func(v reflect.Value)
	fields = func(v reflect.Value) {
		for i := range v.NumField() {
			f, x := v.Type().Field(i), v.Field(i)
			switch {
			case f.Name == "Pos" || f.Name == "At" || x.IsZero():
			case f.Anonymous:
				fields(x)
			case x.Kind() == reflect.String || x.Kind() == reflect.Bool:
				fmt.Fprintf(b, "%s  %s: %q\n", indent, f.Name, fmt.Sprint(x))
			default:
				fmt.Fprintf(b, "%s  %s:\n", indent, f.Name)
				dump(b, x, indent+"    ", file)
			}
		}
	}
	fields(v)
}

func position(v reflect.Value, file string) string {
	f := v.FieldByName("Pos")
	if !f.IsValid() {
		return ""
	}
	pos := f.Interface().(Pos)
	if pos.Filename != file {
		return fmt.Sprintf(" %s:%d:%d", filepath.Base(pos.Filename), pos.Line, pos.Column)
	}
	return fmt.Sprintf(" %d:%d", pos.Line, pos.Column)
}
