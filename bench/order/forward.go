package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// forwarder carries a follower's messages to the leader: each with its length before it, and one byte back when it is
// ordered, in the same order.
type forwarder struct {
	conn  net.Conn
	queue chan []byte
	dones chan func(error)
}

// Answers of the leader.
const (
	ordered = 0
	refused = 1
)

func newForwarder(ctx context.Context, leader string, inflight int) (*forwarder, error) {
	f := &forwarder{queue: make(chan []byte, inflight), dones: make(chan func(error), inflight)}
	err := retry(ctx, func() (err error) {
		f.conn, err = net.DialTimeout("tcp", leader, time.Second)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the leader cannot be reached: %w", err)
	}
	go f.send()
	go f.receive()
	return f, nil
}

func (f *forwarder) write(message []byte, done func(error)) {
	f.dones <- done
	f.queue <- message
}

func (f *forwarder) close() { _ = f.conn.Close() }

// send flushes when nothing more waits.
func (f *forwarder) send() {
	out := bufio.NewWriterSize(f.conn, 64<<10)
	var length [4]byte
	for m := range f.queue {
		binary.LittleEndian.PutUint32(length[:], uint32(len(m)))
		_, _ = out.Write(length[:])
		_, _ = out.Write(m)
		if len(f.queue) == 0 && out.Flush() != nil {
			return // receive sees the broken connection too, and tells the writer
		}
	}
}

func (f *forwarder) receive() {
	in := bufio.NewReader(f.conn)
	for {
		answer, err := in.ReadByte()
		if err == nil && answer != ordered {
			err = fmt.Errorf("the leader answered %d, not %d", answer, ordered)
		}
		(<-f.dones)(err)
		if err != nil {
			return
		}
	}
}

// serveForwarded takes the messages of followers until the listener is closed.
func serveForwarded(l net.Listener, inflight int, apply func([]byte) func() error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go serveFollower(conn, inflight, apply)
	}
}

func serveFollower(conn net.Conn, inflight int, apply func([]byte) func() error) {
	acks := newWaiter(inflight)
	defer acks.close()
	in, out := bufio.NewReaderSize(conn, 64<<10), bufio.NewWriter(conn)
	for {
		m, err := readFrame(in)
		if err != nil {
			return // the follower has gone
		}
		acks.push(apply(m), func(err error) { // on the one goroutine of acks
			answer := byte(ordered)
			if err != nil {
				answer = refused
			}
			_ = out.WriteByte(answer)
			if len(acks.queue) == 0 {
				_ = out.Flush()
			}
		})
	}
}
