package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/bench/peers"
)

// ours is the name of this implementation in tables.
const ours = "dds-go"

// dds compares implementations of DDS.
type dds struct {
	c        config
	perf     perf // ours
	variants map[string]peers.Variant
	list     []impl
}

func newDDS(ctx context.Context, c config, scratch string) (suite, []string, error) {
	s := &dds{c: c, variants: map[string]peers.Variant{}}
	var err error
	if s.perf, err = newPerf(ctx, c, scratch); err != nil {
		return nil, nil, err
	}
	built, err := peers.Build(ctx, filepath.Join(scratch, "peers"))
	if err != nil {
		return nil, nil, err
	}
	s.list = append(s.list, impl{name: ours, what: "dds perf, shared memory, total order (atomic); reliable, KEEP_ALL; loans at both ends"})
	for _, v := range built.Variants {
		s.variants[v.Name] = v
		s.list = append(s.list, impl{name: v.Name, what: v.What, supports: func(c cell) bool { return v.Supports(c.size) }})
	}
	if s.list, err = chosen(s.list, c.impls); err != nil {
		return nil, nil, err
	}
	return s, built.Missing, nil
}

// chosen are those that were asked for.
func chosen(list []impl, names []string) ([]impl, error) {
	if len(names) == 0 {
		return list, nil
	}
	var out []impl
	for _, n := range names {
		i := slices.IndexFunc(list, func(i impl) bool { return i.name == n })
		if i < 0 {
			var there []string
			for _, i := range list {
				there = append(there, i.name)
			}
			return nil, fmt.Errorf("-impl %s: not here; there are %q", n, there)
		}
		out = append(out, list[i])
	}
	return out, nil
}

func (s *dds) impls() []impl { return s.list }
func (s *dds) goals() []goal { return nil }

func (s *dds) title() string {
	switch s.c.mode {
	case "throughput":
		return "Samples per second at the slowest reader, from its first sample after the warm-up to its last, and never more than the writer wrote"
	case "latency":
		return fmt.Sprintf("Latency one way at %g samples per second, at the slowest reader", s.c.rate)
	default:
		return fmt.Sprintf("Round trip at %g samples per second", s.c.rate)
	}
}

func (s *dds) cells() []cell { return s.c.matrix() }

func (s *dds) run(ctx context.Context, i impl, at cell) ([]result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writes, reads := "pub", "sub"
	if s.c.mode == "roundtrip" {
		writes, reads = "ping", "pong"
	}
	if v, ok := s.variants[i.name]; ok {
		stop, err := v.StartDaemon(ctx)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	commands := []*exec.Cmd{s.command(ctx, i.name, writes, at)}
	for range at.readers {
		commands = append(commands, s.command(ctx, i.name, reads, at))
	}
	return together(cancel, commands)
}

// command is one process. All implementations are asked for the same.
func (s *dds) command(ctx context.Context, name, role string, at cell) *exec.Cmd {
	writes := role == "pub" || role == "ping"
	if name == ours {
		return s.perf.command(ctx, role, at, s.ourOptions(writes)...)
	}
	mode, rate := peers.Latency, s.c.rate
	if s.c.mode == "throughput" {
		mode, rate = peers.Throughput, 0
	}
	options := []string{"--size", strconv.Itoa(at.size), "--timeout", seconds(s.c.limit())}
	if writes {
		options = append(options, "--readers", strconv.Itoa(at.readers), "--rate", strconv.FormatFloat(rate, 'f', -1, 64),
			"--duration", seconds(s.c.duration), "--warmup", seconds(s.c.warmup))
	}
	return s.variants[name].Command(ctx, role, mode, options...)
}

func (s *dds) ourOptions(writes bool) []string {
	if !writes || s.c.mode == "throughput" {
		return nil
	}
	// The peers spin for the last stretch before a sample is due; so do we.
	return []string{"--rate", strconv.FormatFloat(s.c.rate, 'f', -1, 64), "--spin"}
}

func (s *dds) figures(_ impl, _ cell, results []result.Result) []figure {
	if s.c.mode == "roundtrip" {
		pings := of(results, "ping")
		return latencies(pings)
	}
	subs := of(results, "sub")
	if s.c.mode == "latency" {
		return latencies(subs)
	}
	return throughput(of(results, "pub")[0], subs)
}
