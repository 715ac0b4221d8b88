package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// The examples of docs/qos.md compile, each as the body of a function that has what the text speaks of.
func TestQosExamplesCompile(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command, which is not in the path")
	}
	var b strings.Builder
	b.WriteString("package examples\n\nimport (\n\t\"context\"\n\t\"log\"\n\t\"time\"\n\n\t\"" + module + "/dcps\"\n\t\"" + module + "/qos\"\n)\n\n")
	b.WriteString("var (\n\t_ = log.Print\n\t_ context.Context\n\t_ time.Duration\n\t_ qos.DataWriter\n)\n\n")
	b.WriteString("func use(...any) {}\n\n")
	blocks := goBlock.FindAllStringSubmatch(read(t, "docs/qos.md"), -1)
	if len(blocks) < 25 {
		t.Fatalf("docs/qos.md has %d examples in Go; it has one for each policy", len(blocks))
	}
	for i, m := range blocks {
		used := "nil"
		for _, name := range []string{"q", "w", "stop", "err"} {
			if regexp.MustCompile(`(?m)^(\w+, )*` + name + `(, \w+)* :=`).MatchString(m[1]) {
				used += ", " + name
			}
		}
		fmt.Fprintf(&b, "func _%d[T any](ctx context.Context, pub *dcps.Publisher, squares *dcps.Topic[T], w *dcps.DataWriter[T], profiles *qos.Provider) error {\n", i)
		fmt.Fprintf(&b, "\t{\n%s\t\tuse(%s)\n\t}\n\treturn nil\n}\n\n", m[1], used)
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
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(top, "internal", "lint", "qosexamples", "main.go"): put("main.go", b.String()),
	}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-overlay", put("overlay.json", string(overlay)), "./internal/lint/qosexamples")
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the examples of docs/qos.md: %v\n%s", err, out)
	}
}
