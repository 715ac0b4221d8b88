package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// Rows of lend without middleware.
const (
	bareRing = "bare ring"
	barePool = "bare pool"
)

// newLend compares readers that are lent samples where they lie with readers that get a copy at delivery, and a ring
// that messages are lent from with a pool of chunks (docs/adr/0018).
func newLend(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	if err != nil {
		return nil, nil, err
	}
	limits, err := newLimits(ctx, scratch)
	if err != nil {
		return nil, nil, err
	}
	bare := map[string]string{bareRing: "lent", barePool: "pool"}
	env := map[string]string{"lent": "DDS_LEND=1", "copied": "DDS_LEND=-1"}
	s := &ways{
		what: "Samples that lie in the ring until they were read, and samples copied out of it: samples per second at the slowest reader, and the processor time that a reader takes for one",
		at:   c.matrix(),
		commands: func(ctx context.Context, i impl, at cell) []*exec.Cmd {
			if limit, ok := bare[i.name]; ok {
				return []*exec.Cmd{exec.CommandContext(ctx, limits, "-duration", c.duration.String(), "-size",
					strconv.Itoa(at.size), "-readers", strconv.Itoa(at.readers), limit)}
			}
			commands := p.oneWriter(ctx, at)
			for _, cmd := range commands {
				cmd.Env = append(cmd.Environ(), env[i.name])
			}
			return commands
		},
		read: func(i impl, at cell, r []result.Result) []figure {
			if _, ok := bare[i.name]; ok { // both ends looked at, and then all of it read
				ends, whole := r[:at.readers], r[at.readers:]
				return append(throughput(ends[0], ends), figure{readWhole, throughput(whole[0], whole)[0].value, result.PerSecond})
			}
			subs := of(r, "sub")
			worst := 0.0
			for _, sub := range subs {
				worst = max(worst, (sub.CPUUser+sub.CPUSys)/float64(max(sub.Count, 1)))
			}
			return append(ofWriter(i, at, r), figure{"µs of a reader", worst * 1e6, func(v float64) string { return fmt.Sprintf("%.3g", v) }})
		},
	}
	for _, column := range []string{"samples/s", readWhole} {
		s.aims = append(s.aims, goal{what: "ring by pool, " + column, row: bareRing, column: column, over: []string{barePool},
			overCol: column, least: 1, print: times})
	}
	s.list, err = chosen([]impl{
		{name: "lent", what: "of all sizes (DDS_LEND=1; by default those of 1 KB and more), with loans at both ends"},
		{name: "copied", what: "by DDS_LEND=-1: one copy into memory of each reader, as it is delivered"},
		{name: bareRing, what: "messages built in a ring in shared memory and looked at there, by a program without middleware (bench/baseline lent)"},
		{name: barePool, what: "messages built in chunks of a pool of as many bytes, the one that was freed last first, their numbers in a ring (bench/baseline pool)"},
	}, c.impls)
	return s, nil, err
}

// readWhole is the column of readers that read a word of each cache line; otherwise they look at both ends of a sample.
const readWhole = "samples/s, read whole"
