package lint

import (
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const idlgen = module + "/cmd/idlgen"

// directive is a go:generate line that runs idlgen.
type directive struct {
	where string
	dir   string
	args  []string
}

func directives(t *testing.T) []directive {
	t.Helper()
	var list []directive
	for _, f := range goFiles(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				text, ok := strings.CutPrefix(c.Text, "//go:generate ")
				if !ok {
					continue
				}
				words := strings.Fields(text)
				i := slices.Index(words, idlgen)
				if i < 0 || !slices.Equal(words[:i], []string{"go", "run"}) {
					t.Errorf("%s: go:generate runs %q; write: //go:generate go run %s [flags] FILE.idl", f.position(c), text, idlgen)
					continue
				}
				list = append(list, directive{f.position(c), f.dir, words[i+1:]})
			}
		}
	}
	return list
}

// The output of idlgen is committed, so that users need no generator to build; this test is what keeps it honest.
func TestGeneratedFilesAreUpToDate(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command, which is not in the path")
	}
	bin := filepath.Join(t.TempDir(), "idlgen")
	build := exec.Command("go", "build", "-o", bin, "./cmd/idlgen")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/idlgen: %v\n%s", err, out)
	}
	for _, d := range directives(t) {
		check := exec.Command(bin, append([]string{"-check"}, d.args...)...)
		check.Dir = filepath.Join(root, filepath.FromSlash(d.dir))
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: the generated files are not up to date; run go generate ./%s and commit what it writes\n%s", d.where, d.dir, out)
		}
	}
}

// Every file that looks generated says so in the way that Go tools understand, and comes from a go:generate line of
// its own directory or one above it: nobody may have to guess how to make it again.
func TestGeneratedFilesHaveHeaderAndDirective(t *testing.T) {
	from := map[string][]string{} // directory of a directive to the IDL files that it names
	for _, d := range directives(t) {
		for _, a := range d.args {
			if strings.HasSuffix(a, ".idl") {
				from[d.dir] = append(from[d.dir], path.Base(a))
			}
		}
	}
	for _, f := range goFiles(t) {
		named := strings.HasSuffix(f.path, "_idl.go")
		if named != strings.HasPrefix(read(t, f.path), generatedHeader) {
			t.Errorf("%s: a file ends in _idl.go if and only if its first line is %q; generate it again", f.path, strings.TrimSpace(generatedHeader))
			continue
		}
		if !named {
			continue
		}
		idl := strings.TrimSuffix(path.Base(f.path), "_idl.go") + ".idl"
		found := false
		for dir := f.dir; !found; dir = path.Dir(dir) {
			found = slices.Contains(from[dir], idl)
			if dir == "." {
				break
			}
		}
		if !found {
			t.Errorf("%s: no go:generate line in its directory or above it names %s; add //go:generate go run %s ... %s", f.path, idl, idlgen, idl)
		}
	}
}
