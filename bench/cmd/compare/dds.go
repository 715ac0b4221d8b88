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
	"github.com/omg-dds-go/dds/internal/bench"
)

// ours is the name of this implementation in tables.
const ours = "dds-go"

// dds compares implementations of DDS.
type dds struct {
	c        config
	program  string // of ours
	variants map[string]peers.Variant
	list     []impl
}

func newDDS(ctx context.Context, c config, scratch string) (*dds, []string, error) {
	s := &dds{c: c, program: filepath.Join(scratch, "dds"), variants: map[string]peers.Variant{}}
	dir, err := root(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := build(ctx, dir, "./cmd/dds", s.program); err != nil {
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

func (s *dds) impls() []impl   { return s.list }
func (s *dds) oneWriter() bool { return true }

func (s *dds) cells() []cell {
	var out []cell
	for _, size := range s.c.sizes {
		for _, readers := range s.c.readers {
			out = append(out, cell{size, readers})
		}
	}
	return out
}

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
		return exec.CommandContext(ctx, s.program, s.ourOptions(role, writes, at)...)
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

func (s *dds) ourOptions(role string, writes bool, at cell) []string {
	options := []string{"perf", role, "--output", "json", "--timeout", s.c.limit().String()}
	if ring := bench.RingFor(at.size); ring != 0 {
		options = append(options, "--ring", bench.FormatSize(ring))
	}
	if !writes {
		return options
	}
	options = append(options, "--size", strconv.Itoa(at.size), "--readers", strconv.Itoa(at.readers),
		"--duration", s.c.duration.String(), "--warmup", s.c.warmup.String())
	if s.c.mode != "throughput" {
		// The peers spin for the last stretch before a sample is due; so do we.
		options = append(options, "--rate", strconv.FormatFloat(s.c.rate, 'f', -1, 64), "--spin")
	}
	return options
}

func (s *dds) figures(_ cell, results []result.Result) []figure {
	if s.c.mode == "roundtrip" {
		pings := of(results, "ping")
		return latencies(pings)
	}
	subs := of(results, "sub")
	if s.c.mode == "latency" {
		return latencies(subs)
	}
	// A reader that gets everything in a burst at the end is not faster than its writer.
	slowest, lost, sent := of(results, "pub")[0].Rate, int64(0), int64(0)
	for _, r := range subs {
		slowest = min(slowest, r.Rate)
		lost += r.Lost
		sent += r.Count + r.Lost
	}
	return []figure{
		{"samples/s", slowest, result.PerSecond},
		{"lost", 100 * float64(lost) / float64(max(sent, 1)), percent},
	}
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " %" }
