package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// etcdReplica is a node of etcd raft, which is a protocol without threads, sockets and disks. They are these: one goroutine that
// drives the node, a connection to each of the others (peers.go), and a log in memory. A follower's proposals go to the leader
// as the protocol has it.
type etcdReplica struct {
	id        uint64
	node      *raft.RawNode
	store     *raft.MemoryStorage
	peers     *peers
	proposals chan []byte
	own       *ownMessages
	deliver   func([]byte)
	stop      context.CancelFunc
	stopped   sync.WaitGroup
}

// tick is the clock of the protocol; an election begins after ten.
const tick = 100 * time.Millisecond

func newEtcd(ctx context.Context, c config, addresses []string, deliver func([]byte)) (engine, error) {
	node, store, err := newNode(c.replica)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	e := &etcdReplica{
		id: uint64(c.replica + 1), node: node, store: store, proposals: make(chan []byte, c.inflight),
		own: newOwnMessages(c), deliver: deliver, stop: stop,
	}
	if e.peers, err = newPeers(ctx, c, addresses); err != nil {
		e.close()
		return nil, err
	}
	if c.replica == 0 {
		if err := node.Campaign(); err != nil {
			e.close()
			return nil, err
		}
	}
	led := make(chan struct{})
	e.stopped.Go(func() {
		if err := e.drive(ctx, led); err != nil && ctx.Err() == nil {
			e.own.fail(err)
		}
	})
	select {
	case <-led:
		return e, nil
	case <-ctx.Done():
		e.close()
		return nil, fmt.Errorf("no leader: %w", ctx.Err())
	}
}

// drive is the loop of the node: what has come, then what follows from it. led is closed when there is a leader.
func (e *etcdReplica) drive(ctx context.Context, led chan struct{}) error {
	clock := time.NewTicker(tick)
	defer clock.Stop()
	known := sync.OnceFunc(func() { close(led) })
	for {
		if err := e.perform(); err != nil {
			return err
		}
		if e.node.BasicStatus().Lead != raft.None {
			known()
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-clock.C:
			e.node.Tick()
		case m := <-e.peers.inbox:
			err = e.node.Step(m)
		case p := <-e.proposals:
			err = e.node.Propose(p)
		}
		if err == nil {
			err = e.rest()
		}
		if err != nil {
			return err
		}
	}
}

// rest takes what else is there, so that it goes in one batch.
func (e *etcdReplica) rest() error {
	const most = 256
	for range most {
		var err error
		select {
		case m := <-e.peers.inbox:
			err = e.node.Step(m)
		case p := <-e.proposals:
			err = e.node.Propose(p)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *etcdReplica) perform() error {
	for e.node.HasReady() {
		ready := e.node.Ready()
		if err := keep(e.store, ready); err != nil {
			return err
		}
		for _, m := range ready.Messages {
			if !e.peers.send(m) {
				e.node.ReportUnreachable(m.GetTo())
			}
		}
		for _, entry := range ready.CommittedEntries {
			if len(entry.Data) > 0 { // others are of the protocol itself
				e.deliver(entry.Data)
				e.own.delivered(entry.Data)
			}
		}
		if err := cut(e.store, ready.CommittedEntries); err != nil {
			return err
		}
		e.node.Advance(ready)
	}
	return nil
}

func (e *etcdReplica) write(message []byte, done func(error)) {
	e.own.written(done)
	e.proposals <- message
}

func (*etcdReplica) keeps() bool { return true }

func (e *etcdReplica) close() {
	e.stop()
	e.stopped.Wait()
	if e.peers != nil {
		e.peers.close()
	}
}

// newNode makes a node of a group whose members all know each other.
func newNode(replica int) (*raft.RawNode, *raft.MemoryStorage, error) {
	var voters []uint64
	for i := range replicas {
		voters = append(voters, uint64(i+1))
	}
	store := raft.NewMemoryStorage()
	// Index 1 of the log is the group itself.
	first, term := uint64(1), uint64(1)
	err := store.ApplySnapshot(&raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		ConfState: &raftpb.ConfState{Voters: voters}, Index: &first, Term: &term,
	}})
	if err != nil {
		return nil, nil, err
	}
	node, err := raft.NewRawNode(&raft.Config{
		ID: voters[replica], ElectionTick: 10, HeartbeatTick: 1, Storage: store, Applied: first,
		MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256, Logger: &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)},
	})
	return node, store, err
}

// keep stores what a node wants to be stored before anything else happens.
func keep(store *raft.MemoryStorage, ready raft.Ready) error {
	if err := store.Append(ready.Entries); err != nil {
		return err
	}
	if raft.IsEmptyHardState(ready.HardState) {
		return nil
	}
	return store.SetHardState(ready.HardState)
}

// keepEntries is how many applied entries stay in a log, and how many more there are before it is cut again.
const keepEntries = 10000

// cut lets go of old entries after some have been applied.
func cut(store *raft.MemoryStorage, applied []*raftpb.Entry) error {
	if len(applied) == 0 {
		return nil
	}
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	if last := applied[len(applied)-1].GetIndex(); last > first+2*keepEntries {
		return store.Compact(last - keepEntries)
	}
	return nil
}
