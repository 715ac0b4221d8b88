package lint

import (
	"encoding/json"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, p := range allFiles(t) {
		if path.Ext(p) == ".md" && !slices.Contains(strings.Split(p, "/"), "testdata") {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		t.Fatal("no documents found: the rules look at nothing")
	}
	return list
}

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	fileName = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|md|idl|xml))`")
	inFile   = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.go)` `([A-Za-z0-9_.]+)`")
)

// Documents that name a file, or a function in it, are wrong as soon as it moves, and nobody notices.
func TestDocumentsNameWhatExists(t *testing.T) {
	all := map[string]bool{}
	base := map[string]bool{}
	for _, p := range allFiles(t) {
		all[p], base[path.Base(p)] = true, true
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	declared := declarations(t)
	for _, doc := range documents(t) {
		for i, line := range strings.Split(read(t, doc), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				if target := path.Join(path.Dir(doc), m[1]); !all[target] {
					t.Errorf("%s:%d: links to %s, which does not exist; correct the link", doc, i+1, target)
				}
			}
			if doc == "CHANGELOG.md" {
				continue // speaks of the past
			}
			for _, m := range fileName.FindAllStringSubmatch(line, -1) {
				if name := m[1]; !all[path.Clean(name)] && !all[path.Join(path.Dir(doc), name)] && (strings.Contains(name, "/") || !base[name]) && !placeholder[name] {
					t.Errorf("%s:%d: names the file %s, which does not exist; say where its content is now", doc, i+1, name)
				}
			}
			for _, m := range inFile.FindAllStringSubmatch(line, -1) {
				if all[m[1]] && !declared[m[1]][m[2]] {
					t.Errorf("%s:%d: %s declares no %s; say where it is now (the document follows the code in the same commit)", doc, i+1, m[1], m[2])
				}
			}
		}
	}
}

// placeholder are names that documents use for files of the reader.
var placeholder = map[string]bool{"chat/chat.idl": true, "chat/chat_idl.go": true, "main.go": true, "qos.xml": true, "USER_QOS_PROFILES.xml": true, "types.idl": true}

// declarations are the functions, methods (Type.Method) and types that each file declares.
func declarations(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, f := range goFiles(t) {
		names := map[string]bool{}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type) + "." + name
				}
				names[name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						names[s.Name.Name] = true
					}
				}
			}
		}
		all[f.path] = names
	}
	return all
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// The first program that people see must compile and do what README says. It is built as if it were a package of this
// module, with files that exist for the compiler only (go build -overlay).
func TestReadmeProgramRuns(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command, which is not in the path")
	}
	readme := read(t, "README.md")
	idl, program := codeBlock(readme, "idl"), codeBlock(readme, "go")
	if idl == "" || program == "" {
		t.Fatal("README.md has no idl block, or no go block; it shows a first program")
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	put := func(name, content string) string {
		p := filepath.Join(tmp, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	goTool := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	goTool(top, "run", "./cmd/idlgen", put("chat.idl", idl))
	virtual := filepath.Join(top, "internal", "lint", "readme")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(virtual, "main.go"):             put("main.go", strings.Replace(program, `"hello/chat"`, `"`+module+`/internal/lint/readme/chat"`, 1)),
		filepath.Join(virtual, "chat", "chat_idl.go"): filepath.Join(tmp, "chat_idl.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(tmp, "hello")
	goTool(top, "build", "-overlay", put("overlay.json", string(overlay)), "-o", bin, "./internal/lint/readme")
	out, err := exec.Command(bin).CombinedOutput()
	if err != nil {
		t.Fatalf("the program of README.md: %v\n%s", err, out)
	}
	if want := codeBlock(readme, "output"); strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
		t.Errorf("the program of README.md prints %q, README.md says %q", out, want)
	}
}

// codeBlock is the first fenced block of a language.
func codeBlock(doc, language string) string {
	_, rest, found := strings.Cut(doc, "```"+language+"\n")
	if !found {
		return ""
	}
	block, _, _ := strings.Cut(rest, "```")
	return block
}
