package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/internal/suggest"
)

const (
	exitOK    = 0
	exitError = 1 // the input has errors, or -check found differences
	exitUsage = 2
)

// settings are the command line.
type settings struct {
	out      string
	pkg      string
	includes []string
	defines  []string
	modules  map[string]string
	strict   bool
	missing  string // the extensibility of types that do not say
	check    bool
	from     string // idl, xml or ros2
	to       string // a key of formats
	typ      string // the only type to convert
	files    []string
}

func parseFlags(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{modules: map[string]string{}, to: "go", from: "idl"}
	fs := flag.NewFlagSet("idlgen", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // what is wrong fits one line, and need not come with all the help
	fs.StringVar(&s.out, "o", "", "write into directory `DIR` (default: that of the IDL file)")
	fs.StringVar(&s.pkg, "pkg", "", "put everything into one Go package called `NAME`")
	fs.BoolVar(&s.check, "check", false, "write nothing; exit with 1 if the generated files are not up to date")
	fs.Func("I", "look for included files in `DIR`; may be repeated", func(v string) error {
		s.includes = append(s.includes, v)
		return nil
	})
	fs.Func("D", "begin with the macro `NAME[=VALUE]` defined, as 1 without a value; may be repeated", s.define)
	fs.BoolVar(&s.strict, "strict", false, "refuse what describes no data (interfaces, any...) and what only other compilers accept")
	fs.Func("default-extensibility", "of types without an annotation: `KIND` is final, appendable (the default) or mutable", s.defaultExtensibility)
	fs.Func("map", "the Go package of a module of included files, as `MODULE=IMPORT/PATH`; may be repeated", s.mapModule)
	fs.Func("to", "write `FORMAT`: go (the default), idl, xml (DDS-XML), jsonschema or typeobject; all but go go to standard output without -o", s.setTo)
	fs.Func("from", "read `FORMAT`: idl (the default); xml: the <types> of DDS-XML, also as RTI Connext and Fast DDS write it; ros2: .msg, .srv and .action files", s.setFrom)
	fs.StringVar(&s.typ, "type", "", "with -to, convert the type `NAME` and what it needs, as in module::Track")
	fs.Usage = func() {}
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(stderr)
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
		fmt.Fprint(stderr, rules)
		return nil, err
	case err != nil:
		fmt.Fprintf(stderr, "idlgen: %v%s idlgen -help explains\n", err, cmp.Or(suggest.Flag(fs, err), ";"))
		return nil, err
	}
	s.files = fs.Args()
	if len(s.files) == 0 {
		fmt.Fprintln(stderr, "idlgen: no IDL file given; idlgen -help explains")
		return nil, errors.New("no file")
	}
	for _, f := range s.files {
		if strings.HasPrefix(f, "-") {
			fmt.Fprintf(stderr, "idlgen: %s: flags come before files\n", f)
			return nil, errors.New("flag behind a file")
		}
	}
	if s.pkg != "" && (!token.IsIdentifier(s.pkg) || s.pkg == "_") {
		why := ""
		if token.IsKeyword(s.pkg) {
			why = ": it is a keyword"
		}
		fmt.Fprintf(stderr, "idlgen: -pkg %q is not a Go package name%s\n", s.pkg, why)
		return nil, errors.New("bad package name")
	}
	return s, nil
}

const usage = `idlgen turns OMG IDL into Go: types, their CDR encoding, in-place builders and views.

usage: idlgen [flags] FILE...

A file that begins

    module flight {
      struct Track {                  // a topic type: appendable, if nothing else is said
        @key unsigned long icao;      // instances are told apart by their keys
        string<8> callsign;
        @optional double altitude;    // a pointer in Go: nil is absent
        sequence<double> history;
      };
    };

gives package flight with type Track, which a DataWriter and a DataReader can be made for.

`

const rules = `
FILE.idl becomes FILE_idl.go. One IDL module becomes one Go package: the innermost module that holds everything
of a file goes into DIR, modules within it into directories below, by name. -pkg puts everything into one package.
Definitions of included files are not generated: generate them on their own, and name their package with -map
unless they are in a module of the file itself; if it was made with -pkg, name it for each inner module, too.

In Go code: //go:generate go run github.com/omg-dds-go/dds/cmd/idlgen types.idl

What is read: IDL 4.2 with the annotations of XTypes 1.3, the preprocessor of C, and what others have written for older
compilers: //@key comments, #pragma keylist. Interfaces, valuetypes and any are skipped with a warning; -strict makes
that an error. Types without @final, @appendable or @mutable are appendable, as XTypes 1.3 has it and RTI Connext, Fast
DDS and OpenDDS do; Cyclone DDS takes them as final: give -default-extensibility final for files written for it.

-from ros2 reads PACKAGE/msg/X.msg and the like. Files of other packages are looked for beside PACKAGE and, for each -I DIR, in DIR and
DIR/share: -I /opt/ros/DISTRO. -map PACKAGE=IMPORT/PATH says where their Go is. Types are called as in ROS 2: PACKAGE::msg::dds_::X_.

-to xml leaves annotations out that DDS-XML has no place for, with a warning for each; -strict makes that an error. Ids are written as numbers.

Errors look like this, all of them in one run:

    track.idl:3:8: unknown type lung; did you mean long?
        3 |        lung altitude;
          |        ^~~~

Exit status: 0 done, 1 errors in the input or files not up to date (-check), 2 wrong use.
`

// define reads the value of -D.
func (s *settings) define(v string) error {
	name, _, _ := strings.Cut(v, "=")
	if !token.IsIdentifier(name) && !token.IsKeyword(name) {
		return fmt.Errorf("%q is not the name of a macro", name)
	}
	s.defines = append(s.defines, v)
	return nil
}

// defaultExtensibility reads the value of -default-extensibility.
func (s *settings) defaultExtensibility(v string) error {
	switch v {
	case "final", "appendable", "mutable":
		s.missing = v
		return nil
	}
	return errors.New("write final, appendable or mutable")
}

// mapModule reads the value of -map.
func (s *settings) mapModule(v string) error {
	module, importPath, ok := strings.Cut(v, "=")
	module = strings.ReplaceAll(module, ".", "::")
	if !ok || module == "" || importPath == "" {
		return errors.New("write MODULE=IMPORT/PATH")
	}
	for part := range strings.SplitSeq(module, "::") {
		if !token.IsIdentifier(part) && !token.IsKeyword(part) { // Go's keywords are names in IDL
			return fmt.Errorf("%q is not the name of a module, as in a::b", module)
		}
	}
	// What Go lets compilers refuse in an import path, most do.
	if strings.ContainsAny(importPath, "!\"#$%&'()*,:;<=>?[]^`{|}\\ \uFFFD") || path.Clean(importPath) != importPath ||
		strings.ContainsAny(importPath[:1], "./") {
		return fmt.Errorf("%q is not the import path of a Go package", importPath)
	}
	if old, twice := s.modules[module]; twice && old != importPath {
		return fmt.Errorf("module %s is mapped to %s already", module, old)
	}
	s.modules[module] = importPath
	return nil
}

func run(args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	status := exitOK
	if s.to != "go" {
		for _, file := range s.files {
			if !s.convert(file, stdout, stderr) {
				status = exitError
			}
		}
		return status
	}
	written := map[string]string{} // path to the IDL file it came from
	for t := range s.translations() {
		if !s.deliverAll(<-t, written, stderr) {
			status = exitError
		}
	}
	return status
}

// translation is what became of a file.
type translation struct {
	file, dir string
	out       []idlc.OutFile
	report    *idlc.Report
	err       error // the file could not be read at all
}

// translations translates the files at the same time and gives the results in the order of the files. At most one more
// than there are processors is under way or waits to be taken.
func (s *settings) translations() <-chan chan translation {
	all := make(chan chan translation, runtime.GOMAXPROCS(0))
	go func() {
		defer close(all)
		for _, file := range s.files {
			t := make(chan translation, 1)
			all <- t
			go func() { t <- s.translate(file) }()
		}
	}()
	return all
}

func (s *settings) translate(file string) translation {
	dir := s.out
	if dir == "" {
		dir = filepath.Dir(file)
	}
	idl, opts, err := s.options(file, dir)
	if err != nil {
		return translation{file: file, err: err}
	}
	out, report := idlc.Compile(idl, opts)
	return translation{file: file, dir: dir, out: out, report: report}
}

// deliverAll writes or checks what came out of one file.
func (s *settings) deliverAll(t translation, written map[string]string, stderr io.Writer) bool {
	if t.err != nil {
		complain(stderr, t.err)
		return false
	}
	fmt.Fprint(stderr, t.report.Explain())
	if t.report.Failed() {
		return false
	}
	ok := true
	for _, f := range t.out {
		target := filepath.Join(t.dir, filepath.FromSlash(f.Path))
		if other, twice := written[target]; twice {
			fmt.Fprintf(stderr, "idlgen: %s and %s both become %s; rename one of them\n", other, t.file, target)
			ok = false
			continue
		}
		written[target] = t.file
		if err := s.deliver(target, f.Content); err != nil {
			fmt.Fprintf(stderr, "idlgen: %v\n", err)
			ok = false
		}
	}
	return ok
}

// deliver writes a file if it differs, or reports that it does.
func (s *settings) deliver(target string, content []byte) error {
	old, err := os.ReadFile(target)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	if s.check {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s does not exist; run idlgen without -check", target)
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("%s is not up to date (first difference in line %d); run idlgen without -check", target, firstDifference(old, content))
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o666)
}

func firstDifference(a, b []byte) int {
	line := 1
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

// importPath derives the import path of a directory from the go.mod above it; "" if there is none.
func importPath(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for rel := ""; ; {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			for line := range strings.Lines(string(mod)) {
				line, _, _ = strings.Cut(line, "//")
				if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
					return path.Join(strings.Trim(strings.TrimSpace(name), `"`), rel)
				}
			}
			return ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		rel = path.Join(filepath.Base(dir), rel)
		dir = parent
	}
}
