package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// order compares implementations of total order: bench/order, a module of its own.
type order struct {
	c       config
	program string
	list    []impl
}

func newOrder(ctx context.Context, c config, scratch string) (suite, []string, error) {
	dir, err := root(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &order{c: c, program: filepath.Join(scratch, "order")}
	if err := build(ctx, filepath.Join(dir, "bench", "order"), ".", s.program); err != nil {
		return nil, nil, err
	}
	s.list, err = chosen([]impl{
		{name: "nats", what: "NATS JetStream, R3, memory storage, three processes"},
		{name: "raft", what: "hashicorp/raft, log in memory, three processes, TCP"},
		{name: "etcd", what: "etcd raft, three nodes in ONE process, NO network: a bound, not a system"},
	}, c.impls)
	return s, nil, err
}

func (s *order) title() string {
	return "Total order: three replicas, three writers; the slowest replica"
}
func (s *order) impls() []impl { return s.list }
func (s *order) goals() []goal { return nil }

func (s *order) cells() []cell {
	var out []cell
	for _, size := range s.c.sizes {
		out = append(out, cell{table: fmt.Sprintf("%d bytes", size), size: size, readers: 3})
	}
	return out
}

func (s *order) run(ctx context.Context, i impl, at cell) ([]result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return together(cancel, []*exec.Cmd{exec.CommandContext(ctx, s.program, "-impl", i.name, "-size", strconv.Itoa(at.size),
		"-duration", s.c.duration.String(), "-warmup", s.c.warmup.String())})
}

func (s *order) figures(_ impl, _ cell, results []result.Result) []figure {
	replicas := of(results, "replica")
	slowest := replicas[0].Rate
	for _, r := range replicas {
		slowest = min(slowest, r.Rate)
	}
	alone := latencies(of(results, "one-at-a-time"))
	return []figure{
		{"messages/s", slowest, result.PerSecond},
		{"one at a time, p50", alone[0].value, result.Micros},
	}
}
