package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const corpusFiles = 1000

// corpus is a set of IDL files.
type corpus struct {
	name  string
	dir   string
	files []string
	bytes int
}

// writeCorpora writes one large file, and as many lines in small ones.
func writeCorpora(dir string, lines int) ([]corpus, error) {
	one := corpus{name: fmt.Sprintf("1 file of %d lines", lines), dir: filepath.Join(dir, "one")}
	many := corpus{name: fmt.Sprintf("%d files of %d lines", corpusFiles, lines/corpusFiles), dir: filepath.Join(dir, "many")}
	if err := one.write("corpus.idl", module("corpus", lines)); err != nil {
		return nil, err
	}
	if err := many.write("base.idl", "module base {\n  typedef long Id;\n};\n"); err != nil {
		return nil, err
	}
	many.files = nil // it is only included
	for i := range corpusFiles {
		name := fmt.Sprintf("corpus%d", i)
		if err := many.write(name+".idl", "#include \"base.idl\"\n"+module(name, lines/corpusFiles-1)); err != nil {
			return nil, err
		}
	}
	return []corpus{one, many}, nil
}

func (c *corpus) write(name, text string) error {
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return err
	}
	c.files = append(c.files, name)
	c.bytes += len(text)
	return os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o666)
}

// module is in the style of a large interface definition: a struct of ten members every thirteen lines, with
// annotations, comments and constants between them.
func module(name string, lines int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %s {\n  enum Kind { KIND_A, KIND_B, KIND_C };\n", name)
	n := 3
	for i := 0; n+13 <= lines; i++ {
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
		n += 13
	}
	for ; n < lines; n++ {
		b.WriteString("  // The end is near.\n")
	}
	b.WriteString("};\n")
	return b.String()
}
