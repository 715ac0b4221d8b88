package main

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// newLend compares readers that are lent samples where they lie with readers that get a copy at delivery (docs/adr/0018).
func newLend(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	env := map[string]string{"lent": "DDS_LEND=1", "copied": "DDS_LEND=-1"}
	s := &ways{
		what: "Samples that lie in the ring until they were read, and samples copied out of it: samples per second at the slowest reader, and the processor time that a reader takes for one",
		at:   c.matrix(),
		commands: func(ctx context.Context, i impl, at cell) []*exec.Cmd {
			commands := p.oneWriter(ctx, at)
			for _, cmd := range commands {
				cmd.Env = append(cmd.Environ(), env[i.name])
			}
			return commands
		},
		read: func(i impl, at cell, r []result.Result) []figure {
			subs := of(r, "sub")
			worst := 0.0
			for _, sub := range subs {
				worst = max(worst, (sub.CPUUser+sub.CPUSys)/float64(max(sub.Count, 1)))
			}
			return append(ofWriter(i, at, r), figure{"µs of a reader", worst * 1e6, func(v float64) string { return fmt.Sprintf("%.3g", v) }})
		},
	}
	if err == nil {
		s.list, err = chosen([]impl{
			{name: "lent", what: "of all sizes (DDS_LEND=1; by default those of 1 KB and more), with loans at both ends"},
			{name: "copied", what: "by DDS_LEND=-1: one copy into memory of each reader, as it is delivered"},
		}, c.impls)
	}
	return s, nil, err
}
