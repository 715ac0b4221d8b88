package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

const (
	fromCall = "p50 from the call"
	fromDue  = "p50"
)

// newWake compares readers that look for samples with those that sleep, and both with what the machine can do. Processes are
// pinned: the writer to one core, the reader to another.
func newWake(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	if err != nil {
		return nil, nil, err
	}
	limits, err := newLimits(ctx, scratch)
	if err != nil {
		return nil, nil, err
	}
	here, there, how := twoCores()
	s := &ways{what: fmt.Sprintf("Latency one way at %g samples per second, one reader; %s", c.rate, how)}
	for _, size := range c.sizes {
		s.at = append(s.at, cell{table: fmt.Sprintf("%d bytes", size), size: size, readers: 1})
	}
	readers := map[string]struct {
		options []string
		env     []string
	}{
		"poll":  {options: []string{"--poll"}},
		"spin":  {env: []string{"DDS_SPIN=1h"}},
		"sleep": {},
	}
	s.commands = func(ctx context.Context, i impl, at cell) []*exec.Cmd {
		reader, ok := readers[i.name]
		if !ok {
			limit := i.name
			if limit == "rare" {
				limit = "cacheline"
			}
			return []*exec.Cmd{exec.CommandContext(ctx, limits, "-duration", c.duration.String(), "-cpus", fmt.Sprintf("%d,%d", here, there), limit)}
		}
		pub := p.command(ctx, "pub", at, "--rate", strconv.FormatFloat(c.rate, 'f', -1, 64), "--spin")
		sub := p.command(ctx, "sub", at, reader.options...)
		sub.Env = append(sub.Environ(), reader.env...)
		return []*exec.Cmd{pinned(ctx, pub, here), pinned(ctx, sub, there)}
	}
	s.read = func(i impl, _ cell, r []result.Result) []figure {
		if _, ok := readers[i.name]; ok {
			sub := of(r, "sub")[0]
			return []figure{{fromCall, float64(sub.CallP50), result.Micros}, {fromDue, float64(sub.P50), result.Micros},
				{"p99", float64(sub.P99), result.Micros}}
		}
		way := 1.0
		of := r[len(r)-1] // the one for which somebody has slept for a millisecond
		if i.name == "cacheline" {
			way, of = 0.5, r[0] // it measures there and back
		}
		return []figure{{fromCall, way * float64(of.P50), result.Micros}, {"p99", way * float64(of.P99), result.Micros}}
	}
	for _, row := range []string{"poll", "spin"} {
		s.aims = append(s.aims,
			goal{what: "p50 of " + row, row: row, column: fromCall, most: 1000, print: result.Micros},
			goal{what: "p50 of " + row + ", by half a round trip of a cache line", row: row, column: fromCall,
				over: []string{"cacheline"}, overCol: fromCall, most: 3, print: times},
		)
	}
	s.aims = append(s.aims, goal{what: "p50 of sleep, by that of a bare futex", row: "sleep", column: fromCall,
		over: []string{"futex"}, overCol: fromCall, most: 1.3, print: times})
	s.list, err = chosen([]impl{
		{name: "poll", what: "the reader looks for samples itself, all the time (--poll)"},
		{name: "spin", what: "it waits in a WaitSet that looks before it would sleep, for longer than there is nothing (DDS_SPIN=1h)"},
		{name: "sleep", what: "it waits in a WaitSet as by default, which sleeps after 30 µs"},
		{name: "cacheline", what: "half a round trip of a word between two processes that spin; no middleware"},
		{name: "rare", what: "a word that a process writes once in a millisecond, and sleeps between, until one that spins sees it; no middleware"},
		{name: "futex", what: "wake-up of a process that has slept for a millisecond; no middleware"},
	}, c.impls)
	return s, nil, err
}
