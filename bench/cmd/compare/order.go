package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
	"github.com/omg-dds-go/dds/bench/internal/result"
)

// Columns of order.
const (
	messages  = "messages/s"
	oneByOne  = "one at a time, p50"
	bare      = "tcp" // the bare stream
	orderSize = 3     // replicas, which are also writers
)

// order compares implementations of total order: bench/order, a module of its own.
type order struct {
	c       config
	program string
	hosts   string // as the program takes them
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
	if s.list, err = chosen([]impl{
		{name: ours, what: "one RELIABLE topic over TCP, three processes; a message is ordered when its writer reads it, and then stable at all three"},
		{name: "nats", what: "NATS JetStream, R3, memory storage, three processes"},
		{name: "raft", what: "hashicorp/raft, log in memory, three processes, TCP"},
		{name: "etcd", what: "etcd raft, log in memory, three processes, TCP"},
		{name: "etcd-in-process", what: "etcd raft, three nodes in ONE process, NO network: a bound, not a system"},
		{name: bare, what: "one TCP stream between two of the hosts, in writes of 64 KiB, divided by the copies that have to be sent of a message"},
	}, c.impls); err != nil {
		return nil, nil, err
	}
	hosts, err := isolate.Hosts(orderSize)
	if err != nil {
		return nil, nil, err
	}
	var words []string
	for _, h := range hosts {
		words = append(words, h.Namespace+"="+h.Address)
	}
	s.hosts = strings.Join(words, ",")
	return s, nil, nil
}

func (s *order) title() string {
	return "Total order: three writers, which are also the replicas, on three hosts (network namespaces on a bridge); the slowest replica"
}
func (s *order) impls() []impl { return s.list }

func (s *order) goals() (list []goal) {
	for _, g := range []struct {
		than  string
		least float64
		print func(float64) string
	}{{"nats", 5, times}, {"raft", 5, times}, {"etcd", 2, times}, {"etcd-in-process", 2, times}, {bare, 0.4, share}} {
		list = append(list, goal{what: ours + " by " + g.than, row: ours, column: messages, over: []string{g.than},
			overCol: messages, least: g.least, print: g.print})
	}
	return list
}

func (s *order) cells() []cell {
	var out []cell
	for _, size := range s.c.sizes {
		for _, inflight := range s.c.inflight {
			out = append(out, cell{table: fmt.Sprintf("%d bytes, %d in flight", size, inflight), size: size, readers: orderSize, inflight: inflight})
		}
	}
	return out
}

func (s *order) run(ctx context.Context, i impl, at cell) ([]result.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return together(cancel, []*exec.Cmd{exec.CommandContext(ctx, s.program, "-impl", i.name, "-size", strconv.Itoa(at.size),
		"-inflight", strconv.Itoa(at.inflight), "-duration", s.c.duration.String(), "-warmup", s.c.warmup.String(), "-hosts", s.hosts)})
}

func (s *order) figures(_ impl, _ cell, results []result.Result) []figure {
	replicas := of(results, "replica")
	slowest := replicas[0].Rate
	for _, r := range replicas {
		slowest = min(slowest, r.Rate)
	}
	out := []figure{{messages, slowest, result.PerSecond}}
	if alone := of(results, "one-at-a-time"); len(alone) > 0 {
		out = append(out, figure{oneByOne, latencies(alone)[0].value, result.Micros})
	}
	return out
}
