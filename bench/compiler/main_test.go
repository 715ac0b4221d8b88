package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/idlc"
)

// TestCorpora wants as many lines as are said, without an error or a warning.
func TestCorpora(t *testing.T) {
	corpora, err := writeCorpora(t.TempDir(), 100_000)
	require.NoError(t, err)
	require.Len(t, corpora, 2)
	for i, want := range []int{1, corpusFiles} {
		require.Len(t, corpora[i].files, want)
		for _, f := range corpora[i].files[:1] {
			_, report := idlc.Check(filepath.Join(corpora[i].dir, f), idlc.Options{})
			require.Empty(t, report.Explain())
		}
	}
	require.Equal(t, 100_000, strings.Count(module("m", 100_000), "\n"))
	require.Equal(t, 99, strings.Count(module("m", 99), "\n"))
}

// TestOneRound compiles the smallest corpora once, with what is installed.
func TestOneRound(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(config{rounds: 1, lines: 20 * corpusFiles, limit: time.Minute, only: []string{"idlgen"}}, &out))
	require.Equal(t, 2, strings.Count(out.String(), "| idlgen |"), out.String())
	require.Error(t, run(config{rounds: 1, lines: 20 * corpusFiles, only: []string{"another"}}, &out))
	require.Error(t, run(config{rounds: 0}, &out))
}
