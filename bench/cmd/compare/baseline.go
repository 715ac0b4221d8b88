package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// baseline measures the limits, each of which is an implementation here, so that they are rows of one table.
type baseline struct {
	c       config
	program string
	list    []impl
}

func newBaseline(ctx context.Context, c config, scratch string) (suite, []string, error) {
	program, err := newLimits(ctx, scratch)
	if err != nil {
		return nil, nil, err
	}
	s := &baseline{c: c, program: program}
	s.list, err = chosen([]impl{
		{name: "memcpy", what: "one core; the same two buffers, or into 64 MiB"},
		{name: "cacheline", what: "round trip of a word between two processes that spin"},
		{name: "futex", what: "wake-up of another process, one way"},
		{name: "ring", what: "shared memory, one producer, 128 bytes, a copy on both sides; the slowest reader"},
		{name: "core", what: "the same messages over the core of this implementation (derecho), without the DDS on it: in total order, stable at all readers"},
		{name: "tcp", what: "one loopback stream from Go to Go"},
		{name: "file", what: "sync after each MB of 10 KiB writes; latency is that of a sync"},
		{name: "sync", what: "p50 of a batch that is written into reserved space with O_DIRECT and synced, three ways in turns (docs/adr/0026)"},
	}, c.impls)
	return s, nil, err
}

func (s *baseline) title() string { return "Limits" }
func (s *baseline) impls() []impl { return s.list }
func (s *baseline) cells() []cell { return []cell{{heading: "the limits of this machine"}} }

// goals: the ring has what any such design needs, and nothing else.
func (s *baseline) goals() []goal {
	var goals []goal
	for _, readers := range []int{1, 4} {
		column := ringColumn(128, readers)
		goals = append(goals, goal{what: fmt.Sprintf("core by ring, 1→%d", readers), row: "core", column: column,
			over: []string{"ring"}, overCol: column, least: 0.6, print: share})
	}
	return goals
}

func ringColumn(size, readers int) string {
	return fmt.Sprintf("%d bytes: one producer, 1→%d", size, readers)
}

func (s *baseline) run(ctx context.Context, i impl, _ cell) ([]result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return together(cancel, []*exec.Cmd{exec.CommandContext(ctx, s.program, "-duration", s.c.duration.String(), i.name)})
}

// figures are one for each variant of a limit: its latency if it has one, otherwise its rate of bytes.
func (s *baseline) figures(_ impl, _ cell, results []result.Result) []figure {
	var out []figure
	for _, r := range results {
		f := figureOf(r)
		// Readers of one ring have a result each; the slowest is the figure.
		if i := slices.IndexFunc(out, func(g figure) bool { return g.column == f.column }); i >= 0 {
			out[i].value = min(out[i].value, f.value)
			continue
		}
		out = append(out, f)
	}
	return out
}

func figureOf(r result.Result) figure {
	what, _, _ := strings.Cut(r.What, ";")
	name := fmt.Sprintf("%d bytes: %s", r.Size, what)
	if r.Role == "cacheline" || r.Role == "futex" || r.Role == "sync" {
		return figure{name, float64(r.P50), result.Micros}
	}
	if r.Role == "ring" || r.Role == "core" {
		name = ringColumn(r.Size, r.Readers)
	}
	return figure{name, r.Mbps / 8, byteRate}
}

// byteRate prints MB/s, from a thousand of them as GB/s.
func byteRate(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.3g GB/s", v/1000)
	}
	return fmt.Sprintf("%.3g MB/s", v)
}
