package idlc

import (
	"errors"
	"fmt"
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
		"glue": "#define C(a, b) a##b\n#define D(a) C(a, a)\n" + "const string S = " + strings.Repeat("D(", 100) + "x" + strings.Repeat(")", 100) + ";",
		"glued macros": "#define C(a, b) a##b\n#define D(a) C(a, a)\n#define A0 x\n" + levels(100, "", func(i int) string {
			return fmt.Sprintf("#define A%d D(A%d)\n", i, i-1)
		}) + "const string S = A100;",
		"quoted macros": "#define Q(a) #a\n#define R(a) Q(a)\n#define A0 x\n" + levels(100, "", func(i int) string {
			return fmt.Sprintf("#define A%d R(A%d)\n", i, i-1)
		}) + "const long S = A100;",
		"calls in calls":   "#define F(x) x\nconst long X = " + many("F(") + "1" + many(")") + ";",
		"calls that grow":  "#define F(x) x x\nconst long X = " + strings.Repeat("F(", 60) + "1" + strings.Repeat(")", 60) + ";",
		"parameters":       "#define F(a0" + levels(3000, "", func(i int) string { return fmt.Sprintf(",a%d", i) }) + ") a0\n",
		"call without end": "#define F(x) x\n" + many("F("),
		"conditions":       "#if " + many("(") + "1\n#endif\n",
		"questions":        "#if " + many("1?") + "1\n#endif\n",
		"signs":            "#if " + many("!") + "\n#endif\n",
		"lines":            strings.Repeat("#line 5\nx\n", 3000),
		"keylist":          "struct X { long a; };\n#pragma keylist X " + many("a.a ") + "\n",
		"keylists":         "struct X { long a; };\n" + strings.Repeat("#pragma keylist Y a\n", 3000),
		"inline types":     many("struct X { struct Y { ") + many("} y;"),
		"cases":            "union U switch (long) {" + many("case 1: ") + "long a; };",
		"maps":             "struct X { " + many("map<long, ") + "long" + many(">") + " a; };",
		"bits":             "bitset B { " + many("bitfield<60> a; ") + "};",
		"annotation types": many("@annotation a { long x; }; "),
		"recursive bases":  "struct A : B { long a; }; struct B : A { long b; };",
		"interfaces":       many("interface I { "),
		"unions": "union U0 switch (long) { case 0: long a[100000]; };" + levels(12, "", func(i int) string {
			return fmt.Sprintf("union U%d switch (long) { case 0: U%d a[10]; case 1: U%d b; };", i, i-1, i-1)
		}),
		"long literals":  "const fixed F = " + many("1") + "d; const long L = " + many("9") + "; const double D = 1e" + many("9") + ";",
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
			_ = report.Explain()
			if !report.Failed() {
				t.Error("no error")
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}
