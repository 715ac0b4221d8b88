package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/idlc"
)

const track = `module flight {
  // An aircraft.
  struct Track { @key unsigned long icao; string<8> callsign; sequence<double> altitudes; };
};
`

// call is what a run of the command gave.
type call struct {
	status         int
	stdout, stderr string
}

// inDir makes a fresh directory with the given files the current one.
func inDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

func idlgen(args ...string) call {
	var out, errs strings.Builder
	status := run(args, &out, &errs)
	return call{status: status, stdout: out.String(), stderr: errs.String()}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		status int
		text   string // part of what is printed
	}{
		{"good", []string{"track.idl"}, 0, ""},
		{"help", []string{"-help"}, 0, "usage: idlgen"},
		{"no file", nil, 2, "no IDL file given"},
		{"unknown flag", []string{"-x", "track.idl"}, 2, "idlgen: flag provided but not defined: -x; idlgen -help explains\n"},
		{"misspelt flag", []string{"-chek", "track.idl"}, 2, "idlgen: flag provided but not defined: -chek, did you mean -check? idlgen -help explains\n"},
		{"bad map", []string{"-map", "flight", "track.idl"}, 2, "write MODULE=IMPORT/PATH"},
		{"map to two paths at once", []string{"-map", "flight=a=b", "track.idl"}, 2, `"a=b" is not the import path of a Go package`},
		{"map to a path relative to nothing", []string{"-map", "flight=./a", "track.idl"}, 2, `"./a" is not the import path of a Go package`},
		{"map of no module", []string{"-map", "fli ght=a", "track.idl"}, 2, `"fli ght" is not the name of a module`},
		{"map twice", []string{"-map", "a.b=x", "-map", "a::b=y", "track.idl"}, 2, "module a::b is mapped to x already"},
		{"map named like a keyword of Go", []string{"-map", "func=x/func", "track.idl"}, 0, ""},
		{"package named like a keyword of Go", []string{"-pkg", "func", "track.idl"}, 2, `-pkg "func" is not a Go package name: it is a keyword`},
		{"package without a name", []string{"-pkg", "_", "track.idl"}, 2, `-pkg "_" is not a Go package name`},
		{"bad package", []string{"-pkg", "a b", "track.idl"}, 2, "is not a Go package name"},
		{"missing file", []string{"none.idl"}, 1, "none.idl: cannot read: no such file"},
		{"errors", []string{"bad.idl", "track.idl"}, 1, "bad.idl:1:12: unknown type lung; did you mean long?"},
		{"flag behind a file", []string{"track.idl", "-o", "out"}, 2, "flags come before files"},
		{"twice", []string{"-o", "out", "track.idl", "sub/track.idl"}, 1, "both become"},
		{"include", []string{"-I", "sub", "-map", "flight=example.org/flight", "-pkg", "user", "user.idl"}, 0, ""},
		{"include without -I", []string{"-pkg", "user", "user.idl"}, 1, "name its directory with -I"},
		{"line and mark", []string{"bad.idl"}, 1, "    1 | struct X { lung a; };\n      |            ^~~~\n"},
		{"macro", []string{"-D", "T=long", "-D", "WITH", "macro.idl"}, 0, ""},
		{"macro that is missing", []string{"macro.idl"}, 1, "unknown type T"},
		{"bad macro", []string{"-D", "3=4", "macro.idl"}, 2, `"3" is not the name of a macro`},
		{"interface", []string{"interface.idl"}, 0, "warning: interface I is skipped"},
		{"strict", []string{"-strict", "interface.idl"}, 1, "interface.idl:1:1: interface I describes no data"},
		{"left out of XML", []string{"-to", "xml", "unit.idl"}, 0, "unit.idl: warning: X: a: DDS-XML has no @unit, and it is left out\n"},
		{"left out of XML, strict", []string{"-strict", "-to", "xml", "unit.idl"}, 1, "X: a: DDS-XML has no @unit"},
		{"extensibility", []string{"-default-extensibility", "final", "track.idl"}, 0, ""},
		{"bad extensibility", []string{"-default-extensibility", "open", "track.idl"}, 2, "write final, appendable or mutable"},
		{"empty", []string{"empty.idl"}, 0, "empty.idl: warning: defines nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inDir(t, map[string]string{"track.idl": track, "sub/track.idl": track, "bad.idl": "struct X { lung a; };",
				"user.idl": "#include <track.idl>\nstruct User { flight::Track t; };", "empty.idl": "// nothing\n",
				"macro.idl": "#ifdef WITH\nstruct X { T a; };\n#else\nstruct Y { T a; };\n#endif", "unit.idl": "struct X { @unit(\"m\") long a; };", "interface.idl": "interface I { long f(); }; struct X { long a; };"})
			if c.name == "include" {
				if err := os.Rename("track.idl", "moved.idl"); err != nil {
					t.Fatal(err)
				}
			}
			if c.name == "include without -I" {
				if err := os.Rename("track.idl", "sub/moved.idl"); err != nil {
					t.Fatal(err)
				}
			}
			got := idlgen(c.args...)
			if got.status != c.status || !strings.Contains(got.stderr, c.text) {
				t.Errorf("status %d, want %d; printed\n%s\nwant %q", got.status, c.status, got.stderr, c.text)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	inDir(t, map[string]string{"track.idl": track})
	if got := idlgen("-check", "track.idl"); got.status != 1 || !strings.Contains(got.stderr, "track_idl.go does not exist") {
		t.Errorf("before: %+v", got)
	}
	if got := idlgen("track.idl"); got.status != 0 || got.stderr != "" {
		t.Fatalf("generate: %+v", got)
	}
	if got := idlgen("-check", "track.idl"); got.status != 0 || got.stderr != "" {
		t.Errorf("up to date: %+v", got)
	}
	before, err := os.Stat("track_idl.go")
	if err != nil {
		t.Fatal(err)
	}
	idlgen("track.idl")
	if after, err := os.Stat("track_idl.go"); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Error("a file that is up to date is written again")
	}
	changed := strings.Replace(track, "string<8>", "string<9>", 1)
	if err := os.WriteFile("track.idl", []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := idlgen("-check", "track.idl"); got.status != 1 || !strings.Contains(got.stderr, "track_idl.go is not up to date (first difference in line") {
		t.Errorf("after a change: %+v", got)
	}
}

// TestDefaultExtensibility wants the flag to reach the generated code.
func TestDefaultExtensibility(t *testing.T) {
	inDir(t, map[string]string{"track.idl": track})
	for kind, want := range map[string]string{"final": "Extensibility: cdr.Final", "appendable": "Extensibility: cdr.Appendable", "mutable": "Extensibility: cdr.Mutable"} {
		if got := idlgen("-default-extensibility", kind, "track.idl"); got.status != 0 {
			t.Fatalf("%s: %s", kind, got.stderr)
		}
		if code, err := os.ReadFile("track_idl.go"); err != nil || !strings.Contains(string(code), want) {
			t.Errorf("%s: no %q in the code, %v", kind, want, err)
		}
	}
}

// TestManyFiles wants findings and files of many IDL files in the order in which they are given.
func TestManyFiles(t *testing.T) {
	files, args := map[string]string{}, []string{"-pkg", "many"}
	for i := range 40 {
		name := fmt.Sprintf("f%02d.idl", i)
		files[name] = fmt.Sprintf("interface I%d { }; struct S%d { long a; };", i, i)
		args = append(args, name)
	}
	inDir(t, files)
	got := idlgen(args...)
	var order []string
	for line := range strings.Lines(got.stderr) {
		if strings.Contains(line, "warning") {
			order = append(order, line[:3])
		}
	}
	if got.status != 0 || len(order) != 40 || !slices.IsSorted(order) {
		t.Errorf("status %d, %v", got.status, order)
	}
	if made, err := filepath.Glob("*_idl.go"); err != nil || len(made) != 40 {
		t.Errorf("%d files, %v", len(made), err)
	}
}

func TestImportPath(t *testing.T) {
	dir := inDir(t, map[string]string{"go.mod": "module example.org/air // remark\n\ngo 1.26\n", "types/track.idl": track})
	if got := importPath(filepath.Join(dir, "types")); got != "example.org/air/types" {
		t.Errorf("got %q", got)
	}
}

// TestDeterministic wants the same bytes from every run.
func TestDeterministic(t *testing.T) {
	inDir(t, map[string]string{"track.idl": track})
	var first []byte
	for i := range 5 {
		idlgen("-o", "out", "track.idl")
		got, err := os.ReadFile("out/track_idl.go")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		} else if string(first) != string(got) {
			t.Fatal("output differs between runs")
		}
		if err := os.Remove("out/track_idl.go"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpToDate checks the generated packages of this repository with the command itself.
func TestUpToDate(t *testing.T) {
	t.Chdir("../../idlc/internal/testtypes")
	if got := idlgen("-check", "-o", "shared", "shared.idl"); got.status != 0 {
		t.Error(got.stderr)
	}
	if got := idlgen("-check", "-o", "constructs", "constructs.idl"); got.status != 0 {
		t.Error(got.stderr)
	}
	if got := idlgen("-check", "-map", "shared=github.com/omg-dds-go/dds/idlc/internal/testtypes/shared", "testtypes.idl"); got.status != 0 {
		t.Error(got.stderr)
	}
}

// TestCompiles builds and runs a program around freshly generated code of several modules.
func TestCompiles(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The program lies in a temporary directory; an overlay puts it into this module for the build.
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("types.idl", `module a { struct X { @key long v; }; module b { struct Y { a::X x; }; }; module c { struct Z { sequence<b::Y> ys; }; }; };`)
	base := "github.com/omg-dds-go/dds/cmd/idlgen/internal/testprogram"
	files, report := idlc.Compile(filepath.Join(dir, "types.idl"), idlc.Options{ImportPath: base + "/a"})
	if report.Failed() {
		t.Fatal(report)
	}
	write("main.go", `package main

import (
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
	"`+base+`/a"
	"`+base+`/a/b"
	"`+base+`/a/c"
)

func main() {
	z := c.Z{Ys: []b.Y{{X: a.X{V: 7}}}}
	sample, err := cdr.Marshal(&z, cdr.DCDR2LE)
	for i := 0; i < len(sample); i += 4 {
		fmt.Printf("%x ", sample[i:i+4])
	}
	fmt.Println(err)
	v, err := c.NewZView(sample)
	fmt.Println(v.Ys().At(0).X().V(), err)
}
`)
	place := filepath.Join(root, "cmd", "idlgen", "internal", "testprogram")
	overlay := map[string]string{filepath.Join(place, "main.go"): filepath.Join(dir, "main.go")}
	for i, f := range files {
		name := fmt.Sprintf("types%d.go", i)
		write(name, string(f.Content))
		overlay[filepath.Join(place, "a", filepath.FromSlash(f.Path))] = filepath.Join(dir, name)
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	write("overlay.json", string(replace))
	cmd := exec.Command("go", "run", "-overlay", filepath.Join(dir, "overlay.json"), base)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	want := "00090000 14000000 10000000 01000000 08000000 04000000 07000000 <nil>\n7 <nil>\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
