package mutant

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every defect of the list is somewhere in the code, and every switch in the code is in the list.
func TestListIsTheCode(t *testing.T) {
	var names []string
	for _, m := range List {
		if slices.Contains(names, m.Name) || m.Breaks == "" {
			t.Errorf("%q is listed twice, or breaks nothing", m.Name)
		}
		names = append(names, m.Name)
	}
	in := map[string]bool{}
	for _, dir := range []string{"derecho", "smc", "sst", "rdma", "rdma/sim"} {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`mutant\.Is\("([^"]*)"\)`).FindAllStringSubmatch(string(b), -1) {
				in[m[1]] = true
				if !slices.Contains(names, m[1]) {
					t.Errorf("%s asks for %q, which is not in the list", strings.TrimPrefix(f, "../../"), m[1])
				}
			}
		}
	}
	for _, n := range names {
		if !in[n] {
			t.Errorf("no code asks for %q", n)
		}
	}
}
