//go:build mutants

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// A violation is told with a smaller run that replays it.
func TestViolation(t *testing.T) {
	mutant.Set("no-quorum")
	defer mutant.Set("")
	code, out, errs := command("-seeds", "100", "-nodes", "3..4", "-duration", "20ms")
	require.Equal(t, exitViolation, code, errs)
	for _, want := range []string{"VIOLATION in seed", "M4: ", "smaller: ", "replay: go run ./cmd/ddssim -from", " -keep ", "\n>> "} {
		require.Contains(t, out, want)
	}
	// The command that is printed last runs the smaller run again, event for event.
	_, smaller, _ := strings.Cut(out, "\nsmaller: ")
	_, rest, _ := strings.Cut(smaller, "\n")
	violation, rest, _ := strings.Cut(rest, "\nreplay: go run ./cmd/ddssim ")
	replay, around, _ := strings.Cut(rest, "\n")
	code, again, errs := command(append(strings.Fields(replay), "-workers", "2")...)
	require.Equal(t, exitViolation, code, again+errs)
	require.Contains(t, again, "\n"+violation+"\nreplay: ")
	require.True(t, strings.HasSuffix(again, around), again)
	code, _, _ = command("-sweep", "3", "-pairs", "0", "-workers", "2")
	require.Equal(t, exitViolation, code)
}
