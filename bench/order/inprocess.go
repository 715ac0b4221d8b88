package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// inProcess is three raft nodes that one goroutine drives in turn: what the protocol costs without threads, sockets and disks.
// Node 0 leads, and the three writers write there.
type inProcess struct {
	nodes   [replicas]*raft.RawNode
	stores  [replicas]*raft.MemoryStorage
	counts  [replicas]*workload
	inbox   [replicas][]*raftpb.Message
	writer  int // whose turn it is to write
	written int
	ordered int // delivered at node 0
}

func newInProcess(c config) (*inProcess, error) {
	g := &inProcess{}
	for i := range replicas {
		c.replica = i
		g.counts[i] = newWorkload(c)
		g.counts[i].keeps = g.keeps()
		var err error
		if g.nodes[i], g.stores[i], err = newNode(i); err != nil {
			return nil, err
		}
	}
	if err := g.nodes[0].Campaign(); err != nil {
		return nil, err
	}
	for g.nodes[0].BasicStatus().RaftState != raft.StateLeader {
		if err := g.turn(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// turn lets every node act once.
func (g *inProcess) turn() error {
	for i := range g.nodes {
		if err := g.act(i); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

func (g *inProcess) act(i int) error {
	node, store := g.nodes[i], g.stores[i]
	received := g.inbox[i]
	g.inbox[i] = nil
	for _, m := range received {
		if err := node.Step(m); err != nil {
			return err
		}
	}
	for node.HasReady() {
		ready := node.Ready()
		if err := keep(store, ready); err != nil {
			return err
		}
		for _, m := range ready.Messages {
			to := m.GetTo() - 1
			g.inbox[to] = append(g.inbox[to], m)
		}
		if err := g.apply(i, ready.CommittedEntries); err != nil {
			return err
		}
		node.Advance(ready)
	}
	return nil
}

func (g *inProcess) apply(i int, entries []*raftpb.Entry) error {
	for _, e := range entries {
		if len(e.Data) == 0 {
			continue // of the protocol itself
		}
		g.counts[i].deliver(e.Data)
		if i == 0 {
			g.ordered++
		}
	}
	return cut(g.stores[i], entries)
}

// propose writes a message of the writer whose turn it is.
func (g *inProcess) propose(p phase) error {
	w := g.counts[g.writer]
	g.writer = (g.writer + 1) % replicas
	g.written++
	return g.nodes[0].Propose(w.message(p))
}

// settle goes on until what was written is ordered, and every node knows it.
func (g *inProcess) settle(ctx context.Context) error {
	for g.ordered < g.written || g.busy() {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d messages are ordered: %w", g.ordered, g.written, ctx.Err())
		}
		if err := g.turn(); err != nil {
			return err
		}
	}
	return nil
}

func (g *inProcess) busy() bool {
	for i, n := range g.nodes {
		if len(g.inbox[i]) > 0 || n.HasReady() {
			return true
		}
	}
	return false
}

func (g *inProcess) flood(ctx context.Context, c config) error {
	start := time.Now()
	for {
		p, elapsed := warm, time.Since(start)
		switch {
		case elapsed >= c.warmup+c.duration:
			for range replicas {
				if err := g.propose(drained); err != nil {
					return err
				}
			}
			return g.settle(ctx)
		case elapsed >= c.warmup:
			p = measure
		}
		for g.written-g.ordered < c.inflight {
			if err := g.propose(p); err != nil {
				return err
			}
		}
		if err := g.turn(); err != nil {
			return err
		}
	}
}

// write makes the group an engine with one message in flight.
func (g *inProcess) write(message []byte, done func(error)) {
	g.written++
	err := g.nodes[0].Propose(message)
	for err == nil && g.ordered < g.written {
		err = g.turn()
	}
	done(err)
}

func (*inProcess) keeps() bool { return true }
func (*inProcess) close()      {}

func runInProcess(ctx context.Context, c config) error {
	g, err := newInProcess(c)
	if err != nil {
		return fmt.Errorf("etcd-in-process: %w", err)
	}
	if err := g.flood(ctx, c); err != nil {
		return fmt.Errorf("etcd-in-process: %w", err)
	}
	for i, w := range g.counts {
		if err := errors.Join(w.report(ctx, g), w.oneAtATime(ctx, g)); err != nil {
			return fmt.Errorf("etcd-in-process: node %d: %w", i, err)
		}
		if err := result.Write(os.Stdout, w.results...); err != nil {
			return err
		}
	}
	return nil
}
