package idlc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// corpusLines writes a file in the style of a large interface definition: a struct of ten members every twelve lines, with
// annotations, comments and constants between them.
func corpusLines(lines int) string {
	var b strings.Builder
	b.WriteString("module corpus {\n  enum Kind { KIND_A, KIND_B, KIND_C };\n")
	for n, i := 2, 0; n < lines-2; n, i = n+13, i+1 {
		fmt.Fprintf(&b, `  // Record %[1]d of the corpus.
  const long SIZE_%[1]d = %[1]d + 4 * 2;
  struct Record%[1]d {
    @key long id;          // of the record
    unsigned long long stamp;
    double position[3];
    string<32> name;
    sequence<octet, 64> payload;
    Kind kind;
    boolean valid; // until the next one
    sequence<float> values;
    short a, b;
  };
`, i)
	}
	b.WriteString("};\n")
	return b.String()
}

// BenchmarkCheck reads 100,000 lines in one file.
func BenchmarkCheck(b *testing.B) {
	text := corpusLines(100_000)
	read := func(string) ([]byte, error) { return []byte(text), nil }
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, report := Check("corpus.idl", Options{ReadFile: read}); report.Failed() {
			b.Fatal(report)
		}
	}
}

// BenchmarkCompile makes Go of 1,000 files of 100 lines, each with an include. The goal is 2 s for all of them.
func BenchmarkCompile(b *testing.B) {
	const files = 1000
	text := corpusLines(100)
	read := func(name string) ([]byte, error) {
		if name == "base.idl" {
			return []byte("#pragma once\nmodule base { typedef long Id; };\n"), nil
		}
		if strings.HasPrefix(name, "corpus") {
			return []byte("#include \"base.idl\"\n" + text), nil
		}
		return nil, errors.New("no such file")
	}
	b.SetBytes(int64(files * len(text)))
	for b.Loop() {
		for i := range files {
			if _, report := Compile(fmt.Sprintf("corpus%d.idl", i), Options{ReadFile: read}); report.Failed() {
				b.Fatal(report)
			}
		}
	}
}
