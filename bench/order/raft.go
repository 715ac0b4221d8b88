package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// applyTimeout bounds how long a message waits to be taken by the leader.
const applyTimeout = 10 * time.Second

// raftReplica is a member of the raft group. Replica 0 alone knows the group at first, so it is the one that becomes leader; the
// others send their messages to it.
type raftReplica struct {
	raft      *raft.Raft
	transport *raft.NetworkTransport
	acks      *waiter
	forward   *forwarder   // not at the leader
	listener  net.Listener // at the leader
}

func newRaft(ctx context.Context, c config, addresses []string, deliver func([]byte)) (engine, error) {
	r := &raftReplica{acks: newWaiter(c.inflight)}
	if err := r.start(ctx, c, addresses, deliver); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *raftReplica) start(ctx context.Context, c config, addresses []string, deliver func([]byte)) error {
	own := addresses[portsEach*c.replica]
	tcp, err := net.ResolveTCPAddr("tcp", own)
	if err != nil {
		return err
	}
	if r.transport, err = raft.NewTCPTransport(own, tcp, replicas, 10*time.Second, io.Discard); err != nil {
		return err
	}
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(own)
	conf.LogOutput = io.Discard
	conf.BatchApplyCh, conf.MaxAppendEntries = true, 1024 // what its documentation offers for throughput
	conf.SnapshotInterval = time.Hour                     // the log of a run fits memory
	store := raft.NewInmemStore()
	if r.raft, err = raft.NewRaft(conf, deliverer{deliver: deliver}, store, store, raft.NewInmemSnapshotStore(), r.transport); err != nil {
		return err
	}
	leader := addresses[1]
	if c.replica > 0 {
		r.forward, err = newForwarder(ctx, leader, c.inflight)
		return err
	}
	var servers []raft.Server
	for i := range replicas {
		a := addresses[portsEach*i]
		servers = append(servers, raft.Server{ID: raft.ServerID(a), Address: raft.ServerAddress(a)})
	}
	if err := r.raft.BootstrapCluster(raft.Configuration{Servers: servers}).Error(); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	select {
	case <-r.raft.LeaderCh():
	case <-ctx.Done():
		return fmt.Errorf("no leader: %w", ctx.Err())
	}
	if r.listener, err = net.Listen("tcp", leader); err != nil {
		return err
	}
	go serveForwarded(r.listener, c.inflight, r.apply)
	return nil
}

// apply hands a message to the group. At the leader only.
func (r *raftReplica) apply(message []byte) (wait func() error) {
	return r.raft.Apply(message, applyTimeout).Error
}

func (r *raftReplica) write(message []byte, done func(error)) {
	if r.forward != nil {
		r.forward.write(message, done)
		return
	}
	r.acks.push(r.apply(message), done)
}

func (*raftReplica) keeps() bool { return true }

func (r *raftReplica) close() {
	r.acks.close()
	if r.forward != nil {
		r.forward.close()
	}
	if r.listener != nil {
		_ = r.listener.Close() // the process ends
	}
	if r.raft != nil {
		_ = r.raft.Shutdown().Error()
	}
	if r.transport != nil {
		_ = r.transport.Close()
	}
}

// deliverer is the state machine: it only counts.
type deliverer struct{ deliver func([]byte) }

func (d deliverer) Apply(l *raft.Log) any {
	d.deliver(l.Data)
	return nil
}

var errNoSnapshot = errors.New("a run is too short for snapshots")

func (deliverer) Snapshot() (raft.FSMSnapshot, error) { return nil, errNoSnapshot }
func (deliverer) Restore(io.ReadCloser) error         { return errNoSnapshot }
