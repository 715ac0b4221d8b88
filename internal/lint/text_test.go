package lint

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLines bounds a file that people read: one idea each.
const maxLines = 900

func TestFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.lines > maxLines && !f.generated {
			t.Errorf("%s has %d lines, more than %d; split it by idea", f.path, f.lines, maxLines)
		}
	}
}

// maxComment bounds a line of prose. Tables, lists and code in comments, which are indented, are as wide as they are.
const maxComment = 130

func TestCommentsAreNarrow(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.generated {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "// Output:") {
					break // what follows is what an example prints
				}
				prose := strings.HasPrefix(c.Text, "// ") && !strings.HasPrefix(c.Text, "//  ")
				if n := utf8.RuneCountInString(c.Text); prose && n > maxComment {
					t.Errorf("%s: a comment of %d characters, more than %d; break the line", f.position(c), n, maxComment)
				}
			}
		}
	}
}

func TestPackagesHaveOneComment(t *testing.T) {
	comments, code := map[string][]string{}, map[string]bool{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		code[f.dir] = code[f.dir] || !f.generated // a generated package is explained by its IDL
		if f.ast.Doc != nil && strings.TrimSpace(f.ast.Doc.Text()) != "" {
			comments[f.dir] = append(comments[f.dir], f.path)
		}
	}
	for dir, own := range code {
		switch c := comments[dir]; {
		case len(c) == 0 && own:
			t.Errorf("package %s has no package comment; write %s/doc.go: purpose, use, who may call it concurrently, invariants, what it does not do", dir, dir)
		case len(c) > 1:
			t.Errorf("package %s has its comment in several files: %s; keep one", dir, strings.Join(c, ", "))
		}
	}
}

// unwanted are texts that belong to one machine, or to work that is not finished.
var unwanted = []struct {
	what *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`(^|[\s"'(=:` + "`" + `])/(work|home|root|Users)/[A-Za-z0-9._-]`), "a path of one machine; use t.TempDir, a flag, or a path relative to the repository"},
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`), "unfinished work; finish it, or open an issue and describe the limit in the package comment"},
	{regexp.MustCompile(`(?i)\b(in this|this|previous|earlier|next) (coding )?sess` + `ion\b`), "how the code came about; say what is true of the code, git keeps the rest"},
	{regexp.MustCompile(`(?i)\bas an a` + `i\b|\blanguage mo` + `del\b|\bchat` + `bot\b`), "how the code came about; say what is true of the code, git keeps the rest"},
}

// textFile: what people read or tools run, not recordings and fuzz corpora.
func textFile(p string) bool {
	parts := strings.Split(p, "/")
	if slices.Contains(parts, "fuzz") && slices.Contains(parts, "testdata") {
		return false
	}
	switch path.Ext(p) {
	case ".go", ".md", ".idl", ".xml", ".txt", ".golden", ".mod", ".yml", ".yaml", ".sh", "":
		return path.Base(p) != "LICENSE"
	}
	return false
}

func TestNothingOfOneMachineOrUnfinished(t *testing.T) {
	for _, p := range allFiles(t) {
		if !textFile(p) {
			continue
		}
		src := read(t, p)
		if !utf8.ValidString(src) {
			continue // a binary without extension, which git ignores
		}
		for i, line := range strings.Split(src, "\n") {
			for _, u := range unwanted {
				if m := u.what.FindString(line); m != "" {
					t.Errorf("%s:%d: %q is %s", p, i+1, strings.TrimSpace(m), u.why)
				}
			}
		}
	}
}

// Skipped tests say why, and names of tests say what holds.
func TestSkipsGiveAReason(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if sel.Sel.Name == "SkipNow" || sel.Sel.Name == "Skip" && len(call.Args) == 0 {
				t.Errorf("%s: a test is skipped without a reason; give one to Skip", f.position(call))
			}
			return true
		})
	}
}
