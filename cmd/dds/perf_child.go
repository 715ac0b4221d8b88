package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/omg-dds-go/dds/internal/bench"
)

// newPerfChild is what dds perf run starts.
func newPerfChild() *cobra.Command {
	return &cobra.Command{
		Use:    "child",
		Short:  "Play a role for dds perf run",
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The parent is gone, or has what it wants: nothing that waits for a peer may keep this process.
			const grace = 3 * time.Second
			gone := func() { time.AfterFunc(grace, func() { os.Exit(exitFailure) }) }
			return bench.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), gone)
		},
	}
}

// childCommand starts this program as a child.
func childCommand() ([]string, error) {
	self, err := os.Executable()
	return []string{self, "perf", "child"}, err
}
