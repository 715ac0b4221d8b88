package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/idlc"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/omg-dds-go/dds/xtypes/notation"
)

// formats are the values of -to, with the ends of the files that are written.
var formats = map[string]string{"go": "", "idl": ".idl", "xml": ".xml", "jsonschema": ".schema.json", "typeobject": ".typeobject.txt"}

// setTo reads the value of -to.
func (s *settings) setTo(v string) error {
	if _, ok := formats[v]; !ok {
		return fmt.Errorf("write go, idl, xml, jsonschema or typeobject")
	}
	s.to = v
	return nil
}

// setFrom reads the value of -from.
func (s *settings) setFrom(v string) error {
	if v != "idl" && v != "xml" && v != "ros2" {
		return fmt.Errorf("write idl, xml or ros2")
	}
	s.from = v
	return nil
}

// options are what the compiler needs for a file. One in XML is turned into IDL first; what follows reads it under its
// name with .idl.
func (s *settings) options(file, dir string) (idl string, opts idlc.Options, err error) {
	opts = idlc.Options{Include: s.includes, Define: s.defines, Strict: s.strict, Extensibility: s.missing, Package: s.pkg,
		Map: s.modules, ImportPath: importPath(dir)}
	if ros := slices.Contains([]string{".msg", ".srv", ".action"}, filepath.Ext(file)); ros != (s.from == "ros2") {
		return "", opts, fmt.Errorf("%s: -from ros2 reads .msg, .srv and .action files, and only it does", file)
	}
	if s.from != "xml" {
		return file, opts, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", opts, err
	}
	types, err := notation.ParseXML(text)
	if wrong := (notation.XMLErrors)(nil); errors.As(err, &wrong) {
		return "", opts, &xmlErrors{file, string(text), wrong}
	} else if err != nil {
		return "", opts, fmt.Errorf("%s: %w", file, err)
	}
	text, err = notation.IDL(types)
	if err != nil {
		return "", opts, fmt.Errorf("%s: %w", file, err)
	}
	idl = strings.TrimSuffix(file, filepath.Ext(file)) + ".idl"
	opts.ReadFile = func(name string) ([]byte, error) {
		if name == idl {
			return text, nil
		}
		return os.ReadFile(name)
	}
	return idl, opts, nil
}

// xmlErrors are all that is wrong with a file in XML.
type xmlErrors struct {
	file, text string
	list       notation.XMLErrors
}

// Error gives each with its line and a mark under the place.
func (e *xmlErrors) Error() string {
	var b strings.Builder
	lines := strings.Split(e.text, "\n")
	for _, x := range e.list {
		fmt.Fprintf(&b, "%s:%s\n", e.file, x)
		if x.Line <= len(lines) {
			line := []rune(strings.TrimRight(lines[x.Line-1], "\r"))
			const most = 160 // characters of a line
			at := min(x.Column-1, len(line))
			from := max(0, min(at-most/2, len(line)-most))
			pad := strings.Map(func(c rune) rune {
				if c == '\t' {
					return c
				}
				return ' '
			}, string(line[from:at]))
			fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", x.Line, string(line[from:min(len(line), from+most)]), pad)
		}
	}
	return b.String()
}

// complain reports why a file could not be read.
func complain(stderr io.Writer, err error) {
	if wrong := (*xmlErrors)(nil); errors.As(err, &wrong) {
		fmt.Fprint(stderr, wrong)
		return
	}
	fmt.Fprintf(stderr, "idlgen: %v\n", err)
}

// convert writes the types of a file in another notation: to standard output, or into the directory of -o.
func (s *settings) convert(file string, stdout, stderr io.Writer) bool {
	idl, opts, err := s.options(file, filepath.Dir(file))
	if err != nil {
		complain(stderr, err)
		return false
	}
	unit, report := idlc.Check(idl, opts)
	fmt.Fprint(stderr, report.Explain())
	if report.Failed() {
		return false
	}
	types, err := unit.Types(false)
	var text []byte
	if err == nil {
		var lost []string
		text, lost, err = s.write(types)
		for _, what := range lost {
			fmt.Fprintf(stderr, "%s: warning: %s, and it is left out\n", file, what)
		}
	}
	if err == nil && s.out == "" {
		_, err = stdout.Write(text)
	} else if err == nil {
		base := filepath.Base(file)
		err = s.deliver(filepath.Join(s.out, strings.TrimSuffix(base, filepath.Ext(base))+formats[s.to]), text)
	}
	if err != nil {
		fmt.Fprintf(stderr, "idlgen: %s: %v\n", file, err)
	}
	return err == nil
}

// write gives the types in the notation of -to; those of -type only, if it is given. What is lost in it is an error with -strict.
func (s *settings) write(types []*xtypes.Type) (text []byte, lost []string, err error) {
	if s.typ != "" {
		i := slices.IndexFunc(types, func(t *xtypes.Type) bool { return t.Name() == s.typ })
		if i < 0 {
			return nil, nil, fmt.Errorf("there is no type %s; there are %s", s.typ, names(types))
		}
		types = types[i : i+1]
	}
	switch s.to {
	case "idl":
		text, err = notation.IDL(types)
		return text, nil, err
	case "xml":
		if !s.strict {
			return notation.XMLWithout(types)
		}
		text, err = notation.XML(types)
		return text, nil, err
	case "typeobject":
		text, err = typeObjects(types)
		return text, nil, err
	}
	topics := slices.DeleteFunc(slices.Clone(types), func(t *xtypes.Type) bool {
		k := t.Kind()
		return k != xtypes.TKStructure && k != xtypes.TKUnion || t.Nested() && s.typ == ""
	})
	if len(topics) != 1 {
		return nil, nil, fmt.Errorf("a JSON Schema is of one type; name it with -type: %s", names(topics))
	}
	text, err = notation.JSONSchema(topics[0])
	return text, nil, err
}

func names(types []*xtypes.Type) string {
	if len(types) == 0 {
		return "none"
	}
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = t.Name()
	}
	return strings.Join(list, ", ")
}

// typeObjects writes identifiers and serialized type objects for people.
func typeObjects(types []*xtypes.Type) ([]byte, error) {
	var b bytes.Buffer
	for _, t := range types {
		fmt.Fprintf(&b, "%s %s\n", t.Kind(), t.Name())
		for _, ek := range []xtypes.EquivalenceKind{xtypes.Minimal, xtypes.Complete} {
			all, err := xtypes.Identify(t, ek)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "  %s, %d bytes, refers to %d types\n", &all[0].ID, all[0].Size, len(all)-1)
			for line := range strings.Lines(all[0].Object.Text()) {
				fmt.Fprintf(&b, "    %s", line)
			}
			for line := range strings.Lines(hex.Dump(all[0].Object.Marshal())) {
				fmt.Fprintf(&b, "    %s", line)
			}
		}
	}
	return b.Bytes(), nil
}
