package idlc

import (
	"bytes"
	"fmt"
	"go/format"
	goparser "go/parser"
	gotoken "go/token"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/omg-dds-go/dds/cdr"
)

// cdrPath is the runtime of generated code.
const cdrPath = "github.com/omg-dds-go/dds/cdr"

// OutFile is a generated file; Path is below the output directory, with slashes.
type OutFile struct {
	Path    string
	Content []byte
}

// printer writes one Go file. Imports are collected as names are used.
type printer struct {
	plan    *plan
	pkg     *goPackage
	body    bytes.Buffer
	imports map[string]string // path to name
	foreign map[string]bool   // paths that -map gives: only who generated them knows the name of the package
	sizes   *sizer
	types   *typeBuilder

	collections []field // whose views are to be printed
	elements    []field // collections within others, whose writers are to be printed
}

// p writes a line; its arguments stand one after the other.
func (w *printer) p(parts ...any) {
	for _, x := range parts {
		switch x := x.(type) {
		case string:
			w.body.WriteString(x)
		case int:
			var digits [20]byte
			w.body.Write(strconv.AppendInt(digits[:0], int64(x), 10))
		default:
			fmt.Fprint(&w.body, x)
		}
	}
	w.body.WriteByte('\n')
}

// use imports a package of the standard library or the runtime, and gives the name.
func (w *printer) use(importPath string) string {
	name := path.Base(importPath)
	w.imports[importPath] = name
	return name
}

// The code of one file is bounded, in bytes: some of what is printed for a type is there again for each type that has
// it as a part. A member, an enumerator or a constant seldom takes more than 2,000.
const (
	minOutput     = 1 << 26 // any file may have as much
	outputForPart = 1 << 12 // and this for each of its parts
	maxOutput     = 1 << 30
)

// outputLimit is the bound for a package.
func (g *goPackage) outputLimit() int {
	parts := 0
	for _, d := range g.decls {
		switch d := d.(type) {
		case *Struct:
			parts += len(d.Members)
		case *Union:
			parts += len(d.Cases)
		case *Enum:
			parts += len(d.Enumerators)
		case *Bitmask:
			parts += len(d.Flags)
		}
		parts++
	}
	return min(minOutput+parts*outputForPart, maxOutput)
}

// print turns the plan into files; none after it has reported an error.
func (p *plan) print() []OutFile {
	var files []OutFile
	for _, g := range p.packages {
		for _, d := range g.decls {
			p.leftOut(d)
		}
		content, ok := p.printParts(g)
		if !ok {
			content, ok = p.printWhole(g)
		}
		if !ok {
			return nil
		}
		files = append(files, OutFile{path.Join(g.dir, outputName(p.unit.File)), content})
	}
	return files
}

func newPrinter(p *plan, g *goPackage) *printer {
	w := &printer{plan: p, pkg: g, imports: map[string]string{}, foreign: map[string]bool{},
		sizes: &sizer{known: map[sizeOf]int64{}}, types: newTypeBuilder()}
	w.use(cdrPath)
	return w
}

// printWhole prints a package from its first declaration to its last.
func (p *plan) printWhole(g *goPackage) ([]byte, bool) {
	w := newPrinter(p, g)
	limit := g.outputLimit()
	for _, d := range g.decls {
		w.verbatim(d, "BEGIN_FILE")
	}
	for _, d := range g.decls {
		w.verbatim(d, "BEFORE_DECLARATION")
		w.decl(d)
		w.verbatim(d, "AFTER_DECLARATION")
		if w.body.Len() > limit {
			p.report.errorf(d.common().Pos, "split the file", "the Go code up to %s is larger than %d bytes", d.common().Name, limit)
			return nil, false
		}
	}
	for _, d := range g.decls {
		w.verbatim(d, "END_FILE")
	}
	return w.finish()
}

// minParts is the number of declarations from which printing them at the same time is worth it, and declsInPart how
// many of them are taken at a time: few enough that no processor is left alone at the end.
const (
	minParts    = 64
	declsInPart = 32
)

// printParts prints the declarations of a large package on all processors, some at a time, and puts the code together.
// The bytes are those of printWhole. It gives up, without a report, where what is printed for one declaration depends
// on those before it: on the names of other packages, on an author's text, and where the code becomes too large.
func (p *plan) printParts(g *goPackage) ([]byte, bool) {
	n := runtime.GOMAXPROCS(0)
	if n < 2 || len(g.decls) < minParts || len(g.decls) != len(p.unit.Decls) || g.verbatim() != nil {
		return nil, false
	}
	printers := make([]*printer, n)
	parts := slices.Collect(slices.Chunk(g.decls, declsInPart))
	code := make([][]byte, len(parts))
	var next, size atomic.Int64 // part to print; bytes of code. Nothing is read through them: Wait orders the rest.
	limit := int64(g.outputLimit())
	var wg sync.WaitGroup
	for i := range n {
		own := *p
		own.report = p.report.part()
		w := newPrinter(&own, g)
		printers[i] = w
		wg.Go(func() {
			room := 0
			for {
				k := int(next.Add(1)) - 1
				if k >= len(parts) || size.Load() > limit {
					return
				}
				code[k] = w.part(parts[k], room) // nil if it fails
				room = len(code[k]) + len(code[k])/4
				size.Add(int64(len(code[k])))
			}
		})
	}
	wg.Wait()
	if size.Load() > limit || slices.ContainsFunc(code, func(c []byte) bool { return c == nil }) {
		return nil, false
	}
	first := printers[0]
	for _, w := range printers {
		if w.plan.report.Failed() {
			return nil, false
		}
		maps.Copy(first.imports, w.imports)
	}
	for _, w := range printers {
		p.report.take(w.plan.report)
	}
	head, ok := layout(first.head())
	return slices.Concat(append([][]byte{head}, code...)...), ok
}

// part gives the code of some declarations as it is behind others; nil if it cannot be laid out. room is the size to begin with.
func (w *printer) part(decls []Decl, room int) []byte {
	l := newLayouter(false, room)
	for _, d := range decls {
		w.body.Reset()
		w.decl(d)
		l.text(w.body.String())
	}
	code, ok := l.end()
	if !ok {
		return nil
	}
	return code
}

// finish gives the file in the form of gofmt. Text that an author wants in it may be anything: gofmt itself reads such files.
func (w *printer) finish() ([]byte, bool) {
	src := w.head() + w.body.String()
	if v := w.pkg.verbatim(); v != nil {
		content, err := format.Source([]byte(src))
		if err != nil {
			_, err = goparser.ParseFile(gotoken.NewFileSet(), "", src, 0)
			w.plan.report.errorf(v.common().Pos, "check its text for Go",
				"the Go code with the @verbatim text of %s does not parse: %v", v.common().Name, err)
			return nil, false
		}
		return content, true
	}
	content, ok := layout(src)
	if !ok {
		w.plan.report.errorf(Pos{Filename: w.plan.unit.File}, "report it with this file",
			"internal error: brackets or strings of the generated code are not closed")
	}
	return content, ok
}

// verbatim gives the first declaration with text of its author in the code.
func (g *goPackage) verbatim() Decl {
	for _, d := range g.decls {
		for _, v := range d.common().Verbatim {
			if v.printed() {
				return d
			}
		}
	}
	return nil
}

// forGo tells whether text is meant for Go, or for all languages. What is for all but no Go is left out with a warning.
func (v *Verbatim) forGo() bool {
	if v.Language != "*" {
		return strings.EqualFold(v.Language, "go")
	}
	_, err := goparser.ParseFile(gotoken.NewFileSet(), "", "package p\nconst _ = 0\n"+v.Text+"\n", goparser.SkipObjectResolution)
	return err == nil
}

// printed tells whether text is printed: Go has no place for it within a declaration.
func (v *Verbatim) printed() bool {
	return v.Placement != "BEGIN_DECLARATION" && v.Placement != "END_DECLARATION" && v.forGo()
}

// leftOut warns of text for Go, or for all languages, that is not printed.
func (p *plan) leftOut(d Decl) {
	c := d.common()
	for _, v := range c.Verbatim {
		switch {
		case v.Language != "*" && !strings.EqualFold(v.Language, "go"):
		case !v.forGo():
			p.report.warnf(c.Pos, `give it a language, as in language="c++"`,
				"@verbatim of %s is for all languages and no Go: it is left out", c.Name)
		case !v.printed():
			p.report.warnf(c.Pos, "", "@verbatim of %s is left out: Go code has no place for %s", c.Name, v.Placement)
		}
	}
	var members []*Member
	switch d := d.(type) {
	case *Struct:
		members = d.Members
	case *Union:
		for _, k := range d.Cases {
			members = append(members, &k.Member)
		}
	}
	for _, m := range members {
		for _, v := range m.Verbatim {
			if v.Language == "*" || strings.EqualFold(v.Language, "go") {
				p.report.warnf(m.Pos, "put it in front of the declaration", "@verbatim of member %s is left out: Go code has no place for it", m.Name)
			}
		}
	}
}

// commentName is the name of a file on a line of a comment: in quotes if it would not stay there as it is.
func commentName(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// head is what stands before the declarations.
func (w *printer) head() string {
	var b strings.Builder
	b.WriteString("// Code generated by idlgen. DO NOT EDIT.\n")
	fmt.Fprintf(&b, "// Source: %s\n\n", commentName(path.Base(strings.ReplaceAll(w.plan.unit.File, "\\", "/"))))
	fmt.Fprintf(&b, "package %s\n\nimport (\n", w.pkg.name)
	paths := make([]string, 0, len(w.imports))
	for p := range w.imports {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, std := range []bool{true, false} {
		for _, p := range paths {
			if std != strings.Contains(strings.Split(p, "/")[0], ".") {
				if path.Base(p) == w.imports[p] && !w.foreign[p] {
					fmt.Fprintf(&b, "\t%q\n", p)
				} else {
					fmt.Fprintf(&b, "\t%s %q\n", w.imports[p], p)
				}
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(")\n\n// This file was written for this version of the runtime.\nconst _ = cdr.GeneratedVersion8\n\n")
	return b.String()
}

// comment prints documentation; without any, the IDL name.
func (w *printer) comment(doc, otherwise string) {
	if doc == "" {
		doc = otherwise
	}
	if doc == "" {
		return
	}
	for line := range strings.SplitSeq(doc, "\n") {
		line = strings.Map(printable, line)
		switch {
		case strings.HasPrefix(line, "go:"):
			line = " " + line // not a directive to the compiler
		case strings.HasPrefix(strings.TrimLeft(line, " \t"), "+build"):
			line = strings.Replace(line, "+", "+ ", 1) // not a constraint for the whole file
		}
		w.p(strings.TrimRight("// "+line, " "))
	}
}

// printable replaces what a Go source must not hold (NUL, a byte order mark) or gofmt would take away.
func printable(r rune) rune {
	if r == '\uFEFF' || r != '\t' && unicode.IsControl(r) {
		return unicode.ReplacementChar
	}
	return r
}

// verbatim prints what an author wants in the Go code at some place.
func (w *printer) verbatim(d Decl, placement string) {
	for _, v := range d.common().Verbatim {
		if v.Placement == placement && v.printed() {
			w.p(v.Text)
			w.p()
		}
	}
}

func (w *printer) decl(d Decl) {
	switch d := d.(type) {
	case *Const:
		w.constant(d)
	case *Alias:
		w.comment(d.Doc, w.plan.goName(d)+" is the IDL typedef "+d.Scoped()+".")
		w.p("type ", w.plan.goName(d), " = ", w.goType(d.Target))
		w.aliasView(d)
	case *Enum:
		w.enum(d)
	case *Bitmask:
		w.bitmask(d)
	case *Bitset:
		w.bitset(d)
	case *Struct:
		w.structure(d)
	case *Union:
		w.union(d)
	}
	w.p()
}

// ref is a declaration's name where this package uses it.
func (w *printer) ref(d Decl) string {
	g, known := w.plan.packageOf(d)
	if !known || g == w.pkg {
		return w.plan.goName(d)
	}
	return w.importPackage(g) + "." + w.plan.goName(d)
}

// refName is a name next to a declaration: its view, its enumerators.
func (w *printer) refName(d Decl, name string) string {
	qualified := w.ref(d)
	if dot := strings.IndexByte(qualified, '.'); dot >= 0 {
		return qualified[:dot+1] + name
	}
	return name
}

// importPackage gives the name of another package in this file. Packages of one name get a number.
func (w *printer) importPackage(g *goPackage) string {
	if name, ok := w.imports[g.path]; ok {
		return name
	}
	name := g.name
	for n := 2; w.nameTaken(name); n++ {
		name = g.name + itoa(n)
	}
	w.imports[g.path] = name
	w.foreign[g.path] = !slices.Contains(w.plan.packages, g)
	return name
}

func (w *printer) nameTaken(name string) bool {
	for _, n := range w.imports {
		if n == name {
			return true
		}
	}
	return len(name) == 1 || reservedPackages[name] // local variables have one letter
}

// reservedPackages are those of the standard library that generated code may come to use.
var reservedPackages = map[string]bool{"binary": true, "fmt": true, "iter": true, "json": true, "maps": true, "math": true,
	"slices": true, "strconv": true}

// goType is the Go form of a type.
func (w *printer) goType(t Type) string {
	switch t := t.(type) {
	case Primitive:
		return primitives[t].goType
	case *String:
		return "string"
	case *Fixed:
		return "cdr.Fixed"
	case *Map:
		return "map[" + w.goType(t.Key) + "]" + w.goType(t.Elem)
	case *Sequence:
		return "[]" + w.goType(t.Elem)
	case *Array:
		s := ""
		for _, d := range t.Dims {
			s += "[" + itoa(d) + "]"
		}
		return s + w.goType(t.Elem)
	case Decl:
		return w.ref(t)
	}
	return "struct{}"
}

func (w *printer) constant(c *Const) {
	name := w.plan.goName(c)
	w.comment(c.Doc, name+" is the IDL constant "+c.Scoped()+".")
	keyword := "const "
	if _, fixed := resolve(c.Type).(*Fixed); fixed || resolve(c.Type) == Type(Float128) {
		keyword = "var " // Go has no constants of these
	}
	w.p(keyword, name, " ", w.goType(c.Type), " = ", w.literal(c.Value, c.Type))
}

func (w *printer) literal(v Value, t Type) string {
	switch {
	case resolve(t) == Type(Float128):
		return "cdr.LongDoubleOf(" + w.literal(v, Float64) + ")"
	case v.Fixed != nil:
		return "cdr.MustFixed(" + quote(v.Fixed.FloatString(cdr.MaxFixedDigits)) + ")"
	case v.Enum != nil:
		return w.refName(v.Enum.Enum, w.plan.enumeratorName(v.Enum))
	case v.Bool != nil:
		return fmt.Sprint(*v.Bool)
	case v.Str != nil:
		return fmt.Sprintf("%q", *v.Str)
	case v.Float != nil:
		return fmt.Sprint(*v.Float)
	case v.Char && v.Int.Int64() >= ' ' && v.Int.Int64() < 127:
		return fmt.Sprintf("%q", rune(v.Int.Int64()))
	}
	return v.Int.String()
}
