package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/internal/bench"
)

// Columns of growth.
const (
	live     = "MB live"
	resident = "MB in the end"
	mapped   = "MB shared"
)

// growth measures what a process costs, by how many there are and how many topics they have.
type growth struct {
	ways
	c config
}

// newGrowth has processes that all have a writer and a reader for each topic; one of them writes one topic, all read it.
func newGrowth(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	s := &growth{c: c, ways: ways{
		what: "By number of topics: processes that have a writer and a reader for each topic, one of which writes one topic; the process that has most memory (live: in RAM after a collection, shared memory included; shared: mapped, touched or not), and the slowest reader",
		commands: func(ctx context.Context, i impl, at cell) []*exec.Cmd {
			commands := []*exec.Cmd{p.command(ctx, "peer", at, "--topics", i.name)}
			for range at.processes - 1 {
				commands = append(commands, p.command(ctx, "peer", at, "--topics", i.name, "--silent"))
			}
			return commands
		},
		read: func(_ impl, _ cell, r []result.Result) []figure {
			var most result.Result
			slowest := r[0].Rate
			for _, p := range r {
				most.Live, most.RSS, most.Mapped = max(most.Live, p.Live), max(most.RSS, p.RSS), max(most.Mapped, p.Mapped)
				slowest = min(slowest, p.Rate)
			}
			return []figure{
				{live, float64(most.Live) / 1024, megabytes},
				{resident, float64(most.RSS) / 1024, megabytes},
				{mapped, float64(most.Mapped) / 1024, megabytes},
				{"samples/s", slowest, result.PerSecond},
			}
		},
	}}
	for _, size := range c.sizes {
		for _, n := range c.processes {
			s.at = append(s.at, cell{table: fmt.Sprintf("%d bytes, processes: %d", size, n), size: size, readers: n, processes: n})
		}
	}
	for _, n := range c.topics {
		s.list = append(s.list, impl{name: strconv.Itoa(n)})
	}
	if err == nil {
		s.list, err = chosen(s.list, c.impls)
	}
	return s, nil, err
}

func megabytes(v float64) string { return fmt.Sprintf("%.3g", v) }

// conclude prints formulas.
func (s *growth) conclude(all *collected) string {
	var b strings.Builder
	for _, column := range []string{live, mapped} {
		var points []point
		for _, i := range s.list {
			for _, at := range s.at {
				topics, err := strconv.Atoi(i.name)
				if spread, ok := all.spread(key{i.name, column, at}); ok && err == nil {
					points = append(points, point{float64(at.processes), float64(topics), spread.Median})
				}
			}
		}
		fmt.Fprintf(&b, "- %s in a process: %s\n", column, formula(points, bench.DefaultOptions().Subgroups))
	}
	return b.String()
}
