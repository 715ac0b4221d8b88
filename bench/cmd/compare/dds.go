package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/bench/peers"
)

// ours is the name of this implementation in tables.
const ours = "dds-go"

// dds compares implementations of DDS.
type dds struct {
	c        config
	perf     perf // ours
	limits   string
	variants map[string]peers.Variant
	list     []impl
}

func newDDS(ctx context.Context, c config, scratch string) (suite, []string, error) {
	s := &dds{c: c, variants: map[string]peers.Variant{}}
	var err error
	if s.perf, err = newPerf(ctx, c, scratch); err != nil {
		return nil, nil, err
	}
	if s.limits, err = newLimits(ctx, scratch); err != nil {
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
	if c.mode == "throughput" {
		s.list = append(s.list,
			impl{name: memcpy, what: "one core, messages of the size from one buffer into successive places of 64 MiB: what the memory takes; no middleware"},
			impl{name: memcpyCached, what: "one core, between the same two buffers, in its cache as far as they fit there; no middleware"})
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

// Rows without middleware.
const (
	memcpy       = "memcpy"
	memcpyCached = "memcpy, cached"
)

// large is where samples are so large that moving their bytes is what they cost.
const large = 1 << 20

func (s *dds) goals() (list []goal) {
	rivals := slices.Sorted(maps.Keys(s.variants))
	if s.c.mode != "throughput" {
		return []goal{
			{what: "p50, by that of the best peer of the round", row: ours, column: "p50", over: rivals, overCol: "p50", most: 1, print: times},
			{what: "p99, by that of the best peer of the round", row: ours, column: "p99", over: rivals, overCol: "p99", most: 0.5, print: times},
		}
	}
	for _, name := range rivals {
		g := goal{what: ours + " by " + name, row: ours, column: "samples/s", over: []string{name}, overCol: "samples/s", print: times}
		small, big := g, g
		small.least, small.in = 10, func(c cell) bool { return c.size < large }
		if s.variants[name].MayLose { // those with shared memory and loans, which have no KEEP_ALL
			small.least = 5
		}
		big.least, big.in = 3, func(c cell) bool { return c.size >= large }
		list = append(list, small, big)
	}
	return append(list, goal{what: "bytes that all readers together get, by memcpy of one core", row: ours,
		column: deliveredBytes, over: []string{memcpy}, overCol: deliveredBytes,
		least: 1, in: func(c cell) bool { return c.size == 10<<10 && c.readers == 8 }, print: times})
}

// conclude says what of the machine decides what peers can do, and is left as it is.
func (s *dds) conclude(*collected) string {
	most := "can not be read here"
	if b, err := os.ReadFile("/proc/sys/net/core/rmem_max"); err == nil {
		most = strings.TrimSpace(string(b)) + " bytes"
	}
	return "net.core.rmem_max, up to which sockets may have buffers: " + most +
		". Cyclone DDS's guide advises to raise it for large samples and high rates; it is left as it is.\n"
}

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
	if i.name == memcpy || i.name == memcpyCached {
		// Half a run for both of its ways.
		return together(cancel, []*exec.Cmd{exec.CommandContext(ctx, s.limits, "-duration", (s.c.duration / 4).String(), "-size",
			strconv.Itoa(at.size), "memcpy")})
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
	if writes && s.c.beside > 0 {
		options = append(options, "--sleep")
	}
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
	options := []string{"--rate", strconv.FormatFloat(s.c.rate, 'f', -1, 64)}
	if s.c.beside == 0 {
		// The peers spin for the last stretch before a sample is due; so do we. Beside others that compute nobody does:
		// who spins is late for having spun.
		options = append(options, "--spin")
	}
	return options
}

func (s *dds) figures(i impl, at cell, results []result.Result) []figure {
	subs := of(results, "sub")
	switch {
	case i.name == memcpyCached:
		return []figure{{deliveredBytes, results[0].Rate * float64(at.size), gigabytes}}
	case i.name == memcpy:
		return []figure{{deliveredBytes, results[1].Rate * float64(at.size), gigabytes}}
	case s.c.mode == "roundtrip":
		pings := of(results, "ping")
		return append(latencies(pings), loss(pings))
	case s.c.mode == "latency":
		return append(latencies(subs), loss(subs))
	}
	pub := of(results, "pub")[0]
	return append(throughput(pub, subs), delivered(at.size, pub, subs))
}
