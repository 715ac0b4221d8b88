package idlc

import (
	"fmt"
	"strings"
	"testing"
)

// TestFindings wants exactly these findings.
func TestFindings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"byte order mark", "\uFEFFstruct X { lung a; };", "fuzz.idl:1:12: unknown type lung; did you mean long?\n"},
		{"byte order mark alone", "\uFEFFstruct X { long a; };", ""},
		{"@topic for platforms", `@topic(name = "a", platform = "DDS") @topic(name = "b", platform = "*") @topic("c", "CORBA") struct S { long x; }; @topic("d", "*") @topic("e", "*") struct T { long x; };`,
			"fuzz.idl:1:73: warning: @topic of S is for platform \"CORBA\", and ignored\nfuzz.idl:1:133: @topic of T is given twice: (\"e\", \"*\"), and before it (\"d\", \"*\")\n"},
		{"@data_representation of none", "@data_representation(0) struct S { long x; }; @data_representation(XCDR3) struct T { long x; };",
			"fuzz.idl:1:22: @data_representation allows none; write XCDR1, XCDR2 or XML, or some of them with | between\nfuzz.idl:1:68: unknown constant XCDR3; DataRepresentationMask has XCDR, XCDR1, XCDR2, XML\n"},
		{"byte order mark elsewhere", "struct X { long \uFEFFa; };", "fuzz.idl:1:17: unexpected character \"\\ufeff\"\n"},
		{"type of another language", "struct X { int32_t a; bool b; };",
			"fuzz.idl:1:12: unknown type int32_t; IDL calls it int32\nfuzz.idl:1:23: unknown type bool; IDL calls it boolean\n"},
		{"type of another language that exists", "typedef long int; struct X { int a; };", ""},
		{"type of XTypes", "struct X { char16 a; sequence<char16, 3> b; };", ""},
		{"type of XTypes that exists", "typedef long char16; struct X { @default(70000) char16 a; };", ""},
		{"comma behind the last enumerator", "enum E { A, B, }; bitmask M { C, };", ""},
		{"one error for the use of what did not parse", "struct X { lung a; }; typedef sequence<X, 3 Y; struct Z { Y y; X x; };",
			"fuzz.idl:1:12: unknown type lung; did you mean long?\nfuzz.idl:1:45: unexpected \"Y\", expected \">\"\n"},
		{"string without end", "const string A = \"abc;  \nconst long B = somethingElse;\n",
			"fuzz.idl:1:18: string does not end; close it with \" on the line it begins on\nfuzz.idl:2:16: unknown constant somethingElse\n"},
		{"string without end in a macro", "#define M \"abc\nconst string A = M;",
			"fuzz.idl:2:18: string does not end; close it with \" on the line it begins on\n"},
		{"string without end that is left out", "#if 0\nconst string A = \"abc;\n#endif\nstruct X { long a; };", ""},
		{"long name", "struct X { " + strings.Repeat("y", 1000) + " a; };",
			"fuzz.idl:1:12: unknown type " + strings.Repeat("y", 97) + "..." + strings.Repeat("y", 60) + "\n"},
		{"types whose variables have one name", "struct AB_c { long x; }; struct Abc { long y; };",
			"fuzz.idl:1:33: AB_c and Abc both need the Go name abcType; rename one of them\n"},
		{"bitmasks whose variables have one name", "bitmask AB_c { x }; bitmask Abc { y };",
			"fuzz.idl:1:29: AB_c and Abc both need the Go name abcFlags; rename one of them\n"},
		{"members whose variables have one name", "struct S { sequence<string> AB_c; sequence<string> Abc; };",
			"fuzz.idl:1:52: members AB_c and Abc of S both need the Go name abc; rename one of them\n"},
		{"members without variables", "struct S { long AB_c; string Abc; };", ""},
		{"members of a union whose fields have one name", "union U switch (long) { case 1: long AB_c; case 2: long Abc; };",
			"fuzz.idl:1:57: members AB_c and Abc of U both need the Go name abc; rename one of them\n"},
		{"values beyond @bit_bound", "@bit_bound(3) enum E { A = -4, B = 7, C }; @bit_bound(3) enum F { D = -5 }; @bit_bound(8) enum G { H = 128 }; @bit_bound(8) enum I { J = -128, K = 127 };",
			"fuzz.idl:1:39: value 8 of C does not fit into 3 bits\nfuzz.idl:1:67: value -5 of D does not fit into 3 bits\nfuzz.idl:1:100: value 128 of H does not fit into 8 bits\n"},
		{"flags beyond @bit_bound", "@bit_bound(2) bitmask M { A, @position(2) B };", "fuzz.idl:1:40: position 2 of flag B is not within 0 to 1, those of the 2 bits of M; raise its @bit_bound\n"},
		{"more flags than bits", "@bit_bound(2) bitmask M { A, B, C };", "fuzz.idl:1:33: position 2 of flag C is not within 0 to 1, those of the 2 bits of M; raise its @bit_bound\n"},
		{"positions that there are not", "bitmask M { @position(-1) A, @position(70000) B, @position(0xffffffffffff) C, D };",
			"fuzz.idl:1:23: position -1 of flag A is not within 0 to 31, those of the 32 bits of M; a bitmask has 64 bits at most\n" +
				"fuzz.idl:1:40: position 70000 of flag B is not within 0 to 31, those of the 32 bits of M; a bitmask has 64 bits at most\n" +
				"fuzz.idl:1:60: position 281474976710655 of flag C is not within 0 to 31, those of the 32 bits of M; a bitmask has 64 bits at most\n"},
		{"numbers of bits that there are not", "@bit_bound(65) bitmask A { a1 }; @bit_bound(0) bitmask B { b1 }; @bit_bound(9999999) bitmask C { c1 }; @bit_bound(33) enum D { D1 }; @bit_bound(-1) enum E { E1 };",
			"fuzz.idl:1:12: @bit_bound of a bitmask is an integer within 1 to 64, not 65\nfuzz.idl:1:45: @bit_bound of a bitmask is an integer within 1 to 64, not 0\n" +
				"fuzz.idl:1:77: @bit_bound of a bitmask is an integer within 1 to 64, not 9999999\nfuzz.idl:1:115: @bit_bound of an enum is an integer within 1 to 32, not 33\n" +
				"fuzz.idl:1:145: @bit_bound of an enum is an integer within 1 to 32, not -1\n"},
		{"complements of what has no sign", "const unsigned long A = ~0; const octet B = ~1; const uint64 C = ~0 >> 60; const long D = ~0; @bit_bound(3) bitmask M { X, Y, Z }; const M E = ~X; const octet F = 300 - ~0; struct S { octet a[F - 44]; };", ""},
		{"complements that do not fit", "const short A = ~40000; const octet B = ~256;", "fuzz.idl:1:17: -40001 does not fit into int16, which holds -32768 to 32767\nfuzz.idl:1:41: -1 does not fit into octet, which holds 0 to 255\n"},
		{"constants beyond @bit_bound", "@bit_bound(3) bitmask M { A }; const M B = 8; const M C = -1; struct S { @default(9) M m; };",
			"fuzz.idl:1:44: 8 does not fit into the 3 bits of M\nfuzz.idl:1:59: -1 does not fit into the 3 bits of M\nfuzz.idl:1:83: 9 does not fit into the 3 bits of M\n"},
		{"module with an escaped name, opened again", "module _m { struct A { long a; }; }; module m { struct B { A a; }; }; module _m { struct C { B b; }; };", ""},
		{"macros", levels(200, "#define A0 long\n", func(i int) string { return fmt.Sprintf("#define A%d A%d\n", i, i-1) }) + "A200",
			"fuzz.idl:202:1: macros are nested more than 128 deep; look for macros that stand for one another\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, report := compileText(c.text); report.String() != c.want {
				t.Errorf("got  %s\nwant %s", report, c.want)
			}
		})
	}
}

// TestOddFileNames wants the name of the file in one line of the code.
func TestOddFileNames(t *testing.T) {
	for name, want := range map[string]string{"a b.idl": "// Source: a b.idl\n", "a\nfunc init() { panic(1) }.idl": `// Source: "a\nfunc init() { panic(1) }.idl"` + "\n", `"q".idl`: `// Source: "\"q\".idl"` + "\n"} {
		files, report := Compile(name, Options{ReadFile: func(string) ([]byte, error) { return []byte("struct S { long a; };"), nil }})
		if report.Failed() || len(files) != 1 || !strings.Contains(string(files[0].Content), want) {
			t.Errorf("%q: %s", name, report)
			continue
		}
		wantFormatted(t, name, files[0])
	}
}
