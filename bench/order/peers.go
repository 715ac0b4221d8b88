package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// peers carries messages between the nodes of etcd raft: over a connection from each to each other, which has a goroutine
// that encodes and one at its end that decodes. A message has its length before it.
type peers struct {
	listener net.Listener
	inbox    chan *raftpb.Message
	queues   map[uint64]chan *raftpb.Message // by ID of the receiver
	conns    []net.Conn                      // to them
	ctx      context.Context
	stop     context.CancelFunc
	working  sync.WaitGroup
}

// queued is how many messages may wait in either direction. The protocol bears that one is dropped.
const queued = 4096

func newPeers(ctx context.Context, c config, addresses []string) (*peers, error) {
	p := &peers{inbox: make(chan *raftpb.Message, queued), queues: map[uint64]chan *raftpb.Message{}}
	p.ctx, p.stop = context.WithCancel(ctx)
	var err error
	if p.listener, err = net.Listen("tcp", addresses[portsEach*c.replica]); err != nil {
		return nil, err
	}
	p.working.Go(p.accept)
	for i := range replicas {
		if i == c.replica {
			continue
		}
		if err := p.connect(uint64(i+1), addresses[portsEach*i]); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *peers) connect(id uint64, address string) error {
	var conn net.Conn
	err := retry(p.ctx, func() (err error) {
		conn, err = net.DialTimeout("tcp", address, time.Second)
		return err
	})
	if err != nil {
		return fmt.Errorf("node %d cannot be reached: %w", id, err)
	}
	p.conns = append(p.conns, conn)
	queue := make(chan *raftpb.Message, queued)
	p.queues[id] = queue
	p.working.Go(func() { p.write(conn, queue) })
	return nil
}

// send says whether there was room for the message.
func (p *peers) send(m *raftpb.Message) bool {
	select {
	case p.queues[m.GetTo()] <- m:
		return true
	default:
		return false
	}
}

// write flushes when nothing more waits. Who reads sees a broken connection, too, and its run fails.
func (p *peers) write(conn net.Conn, queue chan *raftpb.Message) {
	out := bufio.NewWriterSize(conn, 64<<10)
	var b []byte
	for {
		select {
		case <-p.ctx.Done():
			return
		case m := <-queue:
			var err error
			if b, err = (proto.MarshalOptions{}).MarshalAppend(append(b[:0], 0, 0, 0, 0), m); err != nil {
				return
			}
			binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
			if _, err := out.Write(b); err != nil {
				return
			}
			if len(queue) == 0 && out.Flush() != nil {
				return
			}
		}
	}
}

func (p *peers) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // it is closed
		}
		p.working.Go(func() { p.read(conn) })
	}
}

func (p *peers) read(conn net.Conn) {
	stop := context.AfterFunc(p.ctx, func() { _ = conn.Close() })
	defer stop()
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		b, err := readFrame(in)
		if err != nil {
			return // the node has gone
		}
		m := new(raftpb.Message)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		select {
		case p.inbox <- m:
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *peers) close() {
	p.stop()
	_ = p.listener.Close()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.working.Wait()
}
