package idlc

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFront checks every file of testdata/front and compares the findings, as a person sees them, and the model. Files
// whose names end in _strict are read strictly.
func TestFront(t *testing.T) {
	files, err := filepath.Glob("testdata/front/*.idl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".idl")
		t.Run(filepath.Base(name), func(t *testing.T) {
			unit, report := Check(file, Options{Include: []string{"testdata/front/include"}, Strict: strings.HasSuffix(name, "_strict")})
			golden(t, name+".diag.txt", strings.ReplaceAll(report.Explain(), "testdata/front/", ""))
			golden(t, name+".model.txt", strings.ReplaceAll(describeUnit(unit), "testdata/front/", ""))
		})
	}
}

// TestVendorStyles wants Go of every file in the style of another tool, as it is, and of what it includes.
func TestVendorStyles(t *testing.T) {
	files, err := filepath.Glob("testdata/front/vendor_*.idl")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const include, base = "testdata/front/include", "github.com/omg-dds-go/dds/idlc/internal/styles/"
	modules := map[string]string{"builtin_interfaces": "builtin", "BasicTypes": "basictypes", "Common": "common", "CORBA": "corba", "stamps": "stamps"}
	dirs := map[string]string{"builtin_interfaces/msg/Time.idl": "builtin/msg", "BasicTypes/UUID.idl": "basictypes", "BasicTypes/Time.idl": "basictypes",
		"Common/Identifier.idl": "common", "Common/Command.idl": "common", "LongSeq.pidl": "corba", "stamps.idl": "stamps/msg"}
	for module, dir := range modules {
		modules[module] = base + dir
	}
	overlay := map[string]string{} // where the Go code seems to be, and where it is
	compile := func(file, dir string) {
		out, report := Compile(file, Options{Include: []string{include}, ImportPath: base + dir, Map: modules})
		if report.Failed() || len(out) == 0 {
			t.Errorf("%s: %d files\n%s", file, len(out), report.Explain())
		}
		for _, f := range out {
			real := filepath.Join(t.TempDir(), filepath.Base(f.Path))
			if err := os.WriteFile(real, f.Content, 0o666); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(root, "idlc", "internal", "styles", dir, filepath.FromSlash(f.Path))] = real
		}
	}
	for file, dir := range dirs {
		compile(filepath.Join(include, filepath.FromSlash(file)), dir)
	}
	for _, file := range files {
		compile(file, strings.TrimSuffix(filepath.Base(file), ".idl"))
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	where := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(where, list, 0o666); err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for file := range overlay {
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		packages["./"+filepath.ToSlash(dir)] = true
	}
	args := append([]string{"build", "-overlay", where}, slices.Sorted(maps.Keys(packages))...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMappedPackageOfAnotherName compiles what refers to a package whose name is not the last element of its path, and
// which holds an inner module, too.
func TestMappedPackageOfAnotherName(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("base.idl", "module base { enum Kind { A, B }; struct Point { long x; Kind kind; };\n"+
		"module inner { const long MOST = 3; enum Side { LEFT, RIGHT }; struct Speed { double v; }; }; };")
	write("user.idl", "#include \"base.idl\"\nmodule user { struct Line { base::Point from; sequence<base::Kind> kinds;\n"+
		"base::inner::Speed speed; @default(base::inner::RIGHT) base::inner::Side side; sequence<octet, base::inner::MOST> rest; }; };")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const base = "github.com/omg-dds-go/dds/idlc/internal/mapped/"
	overlay := map[string]string{}
	compile := func(file, to string, opts Options) {
		out, report := Compile(filepath.Join(dir, file), opts)
		if report.Failed() || len(out) != 1 {
			t.Fatalf("%s: %d files\n%s", file, len(out), report.Explain())
		}
		write(to+"/"+out[0].Path, string(out[0].Content))
		overlay[filepath.Join(root, "idlc", "internal", "mapped", to, out[0].Path)] = filepath.Join(dir, to, out[0].Path)
	}
	compile("base.idl", "msgs", Options{Package: "other", ImportPath: base + "msgs"})
	compile("user.idl", "user", Options{ImportPath: base + "user", Map: map[string]string{"base": base + "msgs", "base::inner": base + "msgs"}})
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	write("overlay.json", string(list))
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "./idlc/internal/mapped/msgs", "./idlc/internal/mapped/user")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// describeUnit writes a model down, in words close to IDL.
func describeUnit(u *Unit) string {
	var b strings.Builder
	for _, a := range u.Annotations {
		fmt.Fprintf(&b, "@annotation %s\n", a.Scoped())
		for _, p := range a.Params {
			typ := "any"
			if p.Type != nil {
				typ = typeName(p.Type)
			}
			fmt.Fprintf(&b, "  %s %s%s\n", typ, p.Name, given(" default ", p.Default))
		}
	}
	for _, d := range u.Decls {
		describeDecl(&b, d)
	}
	return b.String()
}

func describeDecl(b *strings.Builder, d Decl) {
	name := d.common().Scoped()
	switch d := d.(type) {
	case *Const:
		fmt.Fprintf(b, "const %s %s = %s\n", typeName(d.Type), name, d.Value.text())
	case *Alias:
		fmt.Fprintf(b, "typedef %s %s%s\n", typeName(d.Target), name, describeConstraints(d.Constraints))
	case *Enum:
		fmt.Fprintf(b, "%s enum %s, %d bits in %d bytes, default %s%s\n", d.Extensibility, name, d.BitBound, d.Width, d.Default.Name, flags("nested", d.Nested, "literal names ignored", d.IgnoreLiteralNames))
		for _, v := range d.Enumerators {
			fmt.Fprintf(b, "  %s = %d\n", v.Name, v.Value)
		}
	case *Bitmask:
		fmt.Fprintf(b, "%s bitmask %s, %d bits in %d bytes%s\n", d.Extensibility, name, d.BitBound, d.Width, flags("nested", d.Nested))
		for _, f := range d.Flags {
			fmt.Fprintf(b, "  %s at %d\n", f.Name, f.Position)
		}
	case *Bitset:
		fmt.Fprintf(b, "bitset %s, %d bits in %d bytes\n", name, d.Bits, d.Width)
		for _, f := range d.allFields() {
			fmt.Fprintf(b, "  %s %q, %d bits at %d\n", typeName(f.Type), f.Name, f.Bits, f.Position)
		}
	case *Struct:
		base := ""
		if d.Base != nil {
			base = " : " + d.Base.Scoped()
		}
		fmt.Fprintf(b, "struct %s%s%s\n", name, base, describeAggregate(d.Aggregate))
		for _, m := range d.allMembers() {
			fmt.Fprintf(b, "  %s\n", describeMember(m))
		}
	case *Union:
		fmt.Fprintf(b, "union %s switch %s%s%s%s\n", name, typeName(d.Discriminator), flags("key", d.DiscriminatorKey, "exhaustive", d.Exhaustive), given(", other ", d.Other), describeAggregate(d.Aggregate))
		for _, k := range d.Cases {
			var labels []string
			for _, l := range k.Labels {
				labels = append(labels, l.text())
			}
			if k.IsDefault {
				labels = append(labels, "default")
			}
			fmt.Fprintf(b, "  %s: %s\n", strings.Join(labels, ", "), describeMember(&k.Member))
		}
	}
	if doc := d.common().Doc; doc != "" {
		fmt.Fprintf(b, "  %q\n", doc)
	}
	for _, a := range d.common().Applied {
		if a.standard() == "" {
			fmt.Fprintf(b, "  %s\n", describeApplied(a))
		}
	}
}

func describeAggregate(a Aggregate) string {
	s := ", " + a.Extensibility.String() + flags("nested", a.Nested, "ids by hash", a.AutoID == AutoIDHash)
	if a.Topic != "" {
		s += fmt.Sprintf(", topic %q", a.Topic)
	}
	if a.Representations != 0 {
		s += fmt.Sprintf(", representations %03b", a.Representations)
	}
	return s
}

func describeMember(m *Member) string {
	s := fmt.Sprintf("%s %s, id %#x", typeName(m.Type), m.Name, m.ID)
	s += flags("key", m.Key, "optional", m.Optional, "must understand", m.MustUnderstand, "external", m.External, "non-serialized", m.NonSerialized)
	s += []string{"", ", discard", ", use default", ", trim"}[m.TryConstruct]
	s += describeConstraints(m.constraints())
	for _, v := range m.Verbatim {
		s += fmt.Sprintf(", verbatim %q", v)
	}
	switch t := m.Type.(type) {
	case *Sequence:
		s += describeElement("elements", t.Of)
	case *Map:
		s += describeElement("keys", t.OfKeys) + describeElement("elements", t.Of)
	}
	for _, a := range m.Applied {
		if a.standard() == "" {
			s += ", " + describeApplied(a)
		}
	}
	return s
}

func describeElement(what string, e Element) string {
	s := flags(what+" external", e.External)
	if e.TryConstruct != TryConstructNone {
		s += ", " + what + " " + []string{"discard", "use default", "trim"}[e.TryConstruct-1]
	}
	return s
}

func describeConstraints(c Constraints) string {
	s := given(", default ", c.Default) + given(", min ", c.Min) + given(", max ", c.Max)
	if c.Unit != "" {
		s += fmt.Sprintf(", unit %q", c.Unit)
	}
	return s
}

func describeApplied(a *Applied) string {
	s := "@" + a.Name()
	for i, p := range a.Type.Params {
		s += " " + p.Name + "=" + a.Args[i].text()
	}
	return s
}

func given(prefix string, v Value) string {
	if !v.Valid() {
		return ""
	}
	return prefix + v.text()
}

// flags lists the words that are followed by true.
func flags(list ...any) string {
	s := ""
	for i := 0; i < len(list); i += 2 {
		if list[i+1].(bool) {
			s += ", " + list[i].(string)
		}
	}
	return s
}

// TestExplainTruncates wants lines of any length to be shown around the place.
func TestExplainTruncates(t *testing.T) {
	report := newReport()
	line := strings.Repeat("é", 300) + "\tlung" + strings.Repeat("x", 300)
	report.sources["a.idl"] = "first\n" + line
	report.errorf(Pos{Filename: "a.idl", Line: 2, Column: 302}, "", "here")
	got := strings.Split(report.Explain(), "\n")
	if want := "      | " + strings.Repeat(" ", 79) + "\t^" + strings.Repeat("~", 79); got[2] != want {
		t.Errorf("got  %q\nwant %q", got[2], want)
	}
}
