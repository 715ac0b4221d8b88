package conformance

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write docs/conformance.md instead of comparing")

const (
	root     = ".."
	document = root + "/docs/conformance.md"
	intro    = `# Conformance to DDS 1.4

Made by ` + "`go test ./conformance -run TestMatrix -rewrite`" + ` from ` + "`conformance/matrix.txt`" + ` and from the tests: a row is a "yes" when a test names its clause, in its own name
(TestDDS14_2_2_3_7_DeadlinePerInstance) or in a line "Clauses:" of its comment. What differs from the standard on purpose is in the last column.
`
)

// row is an operation or policy of the standard.
type row struct{ clause, name, api, deviation string }

// readRows reads matrix.txt; headings have a name only.
func readRows(t *testing.T) []row {
	text, err := os.ReadFile("matrix.txt")
	require.NoError(t, err)
	var rows []row
	for i, line := range strings.Split(string(text), "\n") {
		switch heading, is := strings.CutPrefix(line, "## "); {
		case is:
			rows = append(rows, row{name: heading})
			continue
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
			continue
		}
		f := strings.Split(line, "|")
		require.Len(t, f, 4, "matrix.txt:%d", i+1)
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		rows = append(rows, row{f[0], f[1], f[2], f[3]})
	}
	return rows
}

var (
	testName = regexp.MustCompile(`^TestDDS14((?:_\d+)+)(?:_|$)`)
	clauses  = regexp.MustCompile(`(?m)^(?:# )?Clauses: (.*)$`)
	span     = regexp.MustCompile(`^([\d.]+\.)(\d+)-(\d+)$`)
)

// expand lists the clauses of "2.2.2.1.6.1-3, 2.2.3.7".
func expand(list string) (out []string) {
	for _, c := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		m := span.FindStringSubmatch(c)
		if m == nil {
			out = append(out, strings.TrimSuffix(c, "."))
			continue
		}
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		for i := from; i <= to; i++ {
			out = append(out, m[1]+strconv.Itoa(i))
		}
	}
	return out
}

// testsByClause finds the tests of the whole tree that name a clause.
func testsByClause(t *testing.T) map[string][]string {
	found := map[string][]string{}
	note := func(test string, names ...string) {
		for _, c := range names {
			if !slices.Contains(found[c], test) {
				found[c] = append(found[c], test)
			}
		}
	}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return filepath.SkipDir
		}
		script := strings.HasSuffix(path, ".txt") && strings.Contains(path, "testdata")
		if d.IsDir() || !script && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		if script {
			for _, m := range clauses.FindAllStringSubmatch(string(text), -1) {
				note(filepath.ToSlash(dir)+"/"+filepath.Base(path), expand(m[1])...)
			}
			return nil
		}
		if !strings.Contains(string(text), "TestDDS14") && !clauses.MatchString(strings.ReplaceAll(string(text), "// ", "")) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			test := filepath.ToSlash(dir) + "." + f.Name.Name
			if m := testName.FindStringSubmatch(f.Name.Name); m != nil {
				note(test, strings.ReplaceAll(m[1][1:], "_", "."))
			}
			if m := clauses.FindStringSubmatch(f.Doc.Text()); m != nil {
				note(test, expand(m[1])...)
			}
		}
		return nil
	}))
	return found
}

// matrix is the document.
func matrix(rows []row, tests map[string][]string) string {
	var b strings.Builder
	b.WriteString(intro)
	yes, all := 0, 0
	var body strings.Builder
	for _, r := range rows {
		if r.clause == "" {
			fmt.Fprintf(&body, "\n## %s\n\n| clause | standard | Go | tested | tests | deviation |\n| --- | --- | --- | --- | --- | --- |\n", r.name)
			continue
		}
		all++
		found := slices.Sorted(slices.Values(tests[r.clause]))
		tested := "no"
		switch {
		case len(found) > 0:
			tested = "yes"
			yes++
		case r.api == "":
			tested = "-"
			all--
		}
		const shown = 3
		text := strings.Join(found[:min(len(found), shown)], ", ")
		if more := len(found) - shown; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		fmt.Fprintf(&body, "| %s | %s | %s | %s | %s | %s |\n", r.clause, r.name, r.api, tested, text, r.deviation)
	}
	fmt.Fprintf(&b, "\n%d of %d rows are tested.\n", yes, all)
	return b.String() + body.String()
}

// The document is what the tests say. A test that names a clause which is not in the table names it wrongly.
func TestMatrix(t *testing.T) {
	rows, tests := readRows(t), testsByClause(t)
	for clause, of := range tests {
		require.True(t, slices.ContainsFunc(rows, func(r row) bool { return r.clause == clause }),
			"clause %s of %v is not in matrix.txt; correct the test, or add a row", clause, of)
	}
	now := matrix(rows, tests)
	if *rewrite {
		require.NoError(t, os.WriteFile(document, []byte(now), 0o644))
		return
	}
	was, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, string(was), now, "run go test ./conformance -run TestMatrix -rewrite, and look at what has changed")
}
