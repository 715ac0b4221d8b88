package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/internal/bench"
)

// perf starts processes of this implementation.
type perf struct {
	c       config
	program string
}

func newPerf(ctx context.Context, c config, scratch string) (perf, error) {
	p := perf{c, filepath.Join(scratch, "dds")}
	dir, err := root(ctx)
	if err != nil {
		return p, err
	}
	return p, build(ctx, dir, "./cmd/dds", p.program)
}

// command is dds perf in a role, with what the workload says and more.
func (p perf) command(ctx context.Context, role string, at cell, more ...string) *exec.Cmd {
	options := []string{"perf", role, "--output", "json", "--timeout", p.c.limit().String()}
	if ring := bench.RingFor(at.size); ring != 0 {
		options = append(options, "--ring", bench.FormatSize(ring))
	}
	if role == "pub" || role == "ping" || role == "peer" {
		options = append(options, "--size", strconv.Itoa(at.size), "--duration", p.c.duration.String(), "--warmup", p.c.warmup.String())
		if at.readers > 0 {
			options = append(options, "--readers", strconv.Itoa(at.readers))
		}
	}
	return exec.CommandContext(ctx, p.program, append(options, more...)...)
}

// ways is a suite whose rows are ways to use this implementation.
type ways struct {
	what     string
	list     []impl
	at       []cell
	commands func(ctx context.Context, i impl, at cell) []*exec.Cmd
	read     func(i impl, at cell, r []result.Result) []figure
	aims     []goal
}

func (s *ways) title() string { return s.what }
func (s *ways) impls() []impl { return s.list }
func (s *ways) cells() []cell { return s.at }
func (s *ways) goals() []goal { return s.aims }

func (s *ways) figures(i impl, at cell, r []result.Result) []figure { return s.read(i, at, r) }

func (s *ways) run(ctx context.Context, i impl, at cell) ([]result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return together(cancel, s.commands(ctx, i, at))
}

// matrix is each size with each number of readers.
func (c config) matrix() []cell {
	var out []cell
	for _, size := range c.sizes {
		for _, readers := range c.readers {
			out = append(out, sized(size, readers))
		}
	}
	return out
}

// oneWriter is a pub and the subs of the workload.
func (p perf) oneWriter(ctx context.Context, at cell, options ...string) []*exec.Cmd {
	commands := []*exec.Cmd{p.command(ctx, "pub", at, options...)}
	for range at.readers {
		commands = append(commands, p.command(ctx, "sub", at, options...))
	}
	return commands
}

// ofWriter are the figures of what oneWriter starts.
func ofWriter(_ impl, _ cell, r []result.Result) []figure {
	return throughput(of(r, "pub")[0], of(r, "sub"))
}

// newSubgroups lets one topic be active among some.
func newSubgroups(ctx context.Context, c config, scratch string) (suite, []string, error) {
	p, err := newPerf(ctx, c, scratch)
	subgroups := strconv.Itoa(max(64, slices.Max(c.topics)))
	s := &ways{
		what: "By number of topics: one active topic among others, each on a subgroup of its own, in which each process has a writer and a reader: samples per second of the active one",
		at:   c.matrix(),
		commands: func(ctx context.Context, i impl, at cell) []*exec.Cmd {
			return p.oneWriter(ctx, at, "--topics", i.name, "--subgroups", subgroups)
		},
		read: ofWriter,
	}
	alone := strconv.Itoa(c.topics[0])
	for _, n := range c.topics {
		name := strconv.Itoa(n)
		s.list = append(s.list, impl{name: name})
		if name != alone {
			s.aims = append(s.aims, goal{what: name + " topics, as a share of " + alone, row: name, column: "samples/s",
				over: []string{alone}, overCol: "samples/s", least: 0.9, print: share})
		}
	}
	if err == nil {
		s.list, err = chosen(s.list, c.impls)
	}
	return s, nil, err
}
