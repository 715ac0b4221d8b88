package idlc

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestHostile compiles inputs made to exhaust the compiler. None may take long, crash, or pass without an error.
func TestHostile(t *testing.T) {
	many := func(s string) string { return strings.Repeat(s, 3_000) }
	for name, text := range map[string]string{
		"parentheses":      "const long X = " + many("(") + "1" + many(")") + ";",
		"brackets":         "struct X { long a" + many("[") + "; };",
		"sequences":        "struct X { " + many("sequence<") + "long" + many(">") + " a; };",
		"modules":          many("module m {"),
		"closing braces":   many("}"),
		"structs":          many("struct X {"),
		"enums":            many("enum E {"),
		"annotations":      "@a(" + many("@a(") + ") struct X { long a; };",
		"annotation names": many("@a ") + "struct X { long a; };",
		"minus":            "const long X = " + many("-") + "1;",
		"sum":              "const long X = 1" + many(" + 1") + ";",
		"shifts":           "const long X = 1" + strings.Repeat(" << 63", 2000) + ";",
		"products":         "const unsigned long long X = 9999999999" + many(" * 9999999999") + ";",
		"long names":       "struct " + many("a") + " { " + many("b") + " " + many("b") + "; };",
		"scopes":           "struct X { " + many("a::") + "b c; };",
		"open comment":     many("/*"),
		"open strings":     many("\""),
		"quotes":           "struct X { long " + strings.Repeat("\"\\", 300_000) + " a; };",
		"apostrophes":      "struct X { long " + strings.Repeat("'\\", 30_000) + " a; };",
		"directives":       many("#if\n"),
		"else":             "#if 0\n" + many("#else\n"),
		"itself":           "#include \"fuzz.idl\"\n#include \"fuzz.idl\"\n",
		"macros": "#define A0 x x x x x x x x\n" + strings.Join([]string{"#define A1 A0 A0 A0 A0 A0 A0 A0 A0\n", "#define A2 A1 A1 A1 A1 A1 A1 A1 A1\n",
			"#define A3 A2 A2 A2 A2 A2 A2 A2 A2\n", "#define A4 A3 A3 A3 A3 A3 A3 A3 A3\n", "#define A5 A4 A4 A4 A4 A4 A4 A4 A4\n",
			"#define A6 A5 A5 A5 A5 A5 A5 A5 A5\n", "#define A7 A6 A6 A6 A6 A6 A6 A6 A6\n", "A7 A7 A7\n"}, ""),
		"empty macros": "#define A0\n" + strings.Join([]string{"#define A1 A0 A0 A0 A0 A0 A0 A0 A0\n", "#define A2 A1 A1 A1 A1 A1 A1 A1 A1\n",
			"#define A3 A2 A2 A2 A2 A2 A2 A2 A2\n", "#define A4 A3 A3 A3 A3 A3 A3 A3 A3\n", "#define A5 A4 A4 A4 A4 A4 A4 A4 A4\n",
			"#define A6 A5 A5 A5 A5 A5 A5 A5 A5\n", "#define A7 A6 A6 A6 A6 A6 A6 A6 A6\n", "A7 A7 A7 A7 A7 A7 A7 A7\n"}, ""),
		"nested arrays":  "typedef long A[1000000]; typedef A B[1000000]; typedef B C[1000000]; struct X { C c; C d; };",
		"nested structs": "struct A { long a[67108864]; }; struct B { A a[67108864]; }; struct C { B b[67108864]; long x; };",
		"binary zeros":   many("\x00"),
		"not UTF-8":      many("\xff"),
		"enumerators":    "enum E {" + many("A,") + "};",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			read := func(name string) ([]byte, error) {
				if name == "fuzz.idl" {
					return []byte(text), nil
				}
				return nil, errors.New("no such file")
			}
			_, report := Compile("fuzz.idl", Options{ReadFile: read})
			if !report.Failed() {
				t.Error("no error")
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}
