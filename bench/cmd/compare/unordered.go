package main

import (
	"context"
	"os/exec"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// newUnordered compares the path that has one order with the one that has none. Through DDS that is what is best
// effort, whose writer waits for nobody and drops what finds no room: it says what is lost, and nothing of what order
// costs. Therefore both are there in the core, too, where the sender tries again, so that either brings every message
// to every reader.
func newUnordered(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	if err != nil {
		return nil, nil, err
	}
	limits, err := newLimits(ctx, scratch)
	if err != nil {
		return nil, nil, err
	}
	levels := map[string]string{"atomic": "atomic", "unordered, lossy": "unordered"}
	bare := map[string]string{coreAtomic: "core", coreUnordered: "unordered"}
	s := &ways{
		what: "With one order at all readers, and without: samples per second at the slowest reader",
		at:   c.matrix(),
		commands: func(ctx context.Context, i impl, at cell) []*exec.Cmd {
			if level, ok := levels[i.name]; ok {
				return p.oneWriter(ctx, at, "--qos", level)
			}
			return []*exec.Cmd{exec.CommandContext(ctx, limits, "-duration", c.duration.String(), "-size", strconv.Itoa(at.size),
				"-readers", strconv.Itoa(at.readers), bare[i.name])}
		},
		read: func(i impl, at cell, r []result.Result) []figure {
			if _, ok := levels[i.name]; ok {
				return ofWriter(i, at, r)
			}
			return throughput(r[0], r)
		},
		aims: []goal{{what: "atomic, as a share of unordered, nothing lost (core)", row: coreAtomic, column: "samples/s",
			over: []string{coreUnordered}, overCol: "samples/s", least: 0.9, print: share}},
	}
	s.list, err = chosen([]impl{
		{name: coreAtomic, what: "derecho without the DDS on it: one order, stable at all readers, copied in and out (bench/baseline core)"},
		{name: coreUnordered, what: "the same messages and ring, each reader has a message when it is there; a sender that finds no room tries again, so nothing is lost (bench/baseline unordered)"},
		{name: "atomic", what: "RELIABLE: one order at all readers, nothing lost; KEEP_ALL"},
		{name: "unordered, lossy", what: "BEST_EFFORT: a writer drops what finds no room, and its rate is not slowed down for that: no reference for the cost of order; KEEP_ALL"},
	}, c.impls)
	return s, nil, err
}

const (
	coreAtomic    = "core, atomic"
	coreUnordered = "core, unordered"
)
