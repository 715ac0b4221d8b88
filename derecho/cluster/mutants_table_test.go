//go:build mutants

package cluster

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// The table of docs/simulation.md says of each defect what the list and the catches say.
func TestTableOfMutants(t *testing.T) {
	b, err := os.ReadFile("../../docs/simulation.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(b), "\n| defect | what it breaks | caught by | after |\n|---|---|---|---|\n")
	require.True(t, found)
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (.*?) \\| (.*?) \\| (.*) \\|$").FindAllStringSubmatch(table, -1) {
		require.Nil(t, rows[m[1]], "%s has two rows", m[1])
		rows[m[1]] = m[2:]
	}
	require.Len(t, rows, len(mutant.List))
	for _, m := range mutant.List {
		row, c := rows[m.Name], catches[m.Name]
		require.NotNil(t, row, "%s has no row", m.Name)
		require.Equal(t, m.Breaks, row[0], m.Name)
		if len(c.violates) <= 3 && c.violates != "run" { // else the row says in words what the node itself noticed
			require.Equal(t, c.violates, row[1], m.Name)
		}
		n := fmt.Sprint(c.seed)
		for at := len(n) - 3; at > 0; at -= 3 {
			n = n[:at] + "," + n[at:]
		}
		after := fmt.Sprintf("storm %s of `%s`", n, c.kind)
		switch c.kind {
		case "sweep":
			after = fmt.Sprintf("`-scenario %q`", c.scenario)
		case "script":
			after = fmt.Sprintf("`testdata/%s.txt`", c.scenario)
		case "test":
			after = fmt.Sprintf("`%s`", c.scenario)
		case "unlink":
			after = fmt.Sprintf("seed %s of `-faults unlink`", n)
		case "seed":
			after = "seed " + n
		case "any":
			after = "storm " + n
		}
		require.Equal(t, after, row[2], m.Name)
	}
}
