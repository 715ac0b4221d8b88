package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// The two replicas between which the bare stream runs.
const (
	streamTo   = 0
	streamFrom = 1
)

// stream is what one TCP connection carries from one host to another, in large writes, and with nothing done to it: each
// message has to be sent to each other replica, so it is divided by their number. The third replica is silent.
func stream(ctx context.Context, c config, addresses []string) error {
	switch c.replica {
	case streamTo:
		r := result.Result{Role: "replica", Impl: c.impl, What: notes[c.impl], Size: c.size, Readers: replicas}
		if err := receive(ctx, c, addresses[portsEach*streamTo], &r); err != nil {
			return err
		}
		if err := result.Write(os.Stdout, r); err != nil {
			return err
		}
	case streamFrom:
		if err := send(ctx, addresses[portsEach*streamTo]); err != nil {
			return err
		}
	}
	return awaitOthers()
}

func send(ctx context.Context, to string) error {
	var conn net.Conn
	err := retry(ctx, func() (err error) {
		conn, err = net.DialTimeout("tcp", to, time.Second)
		return err
	})
	if err != nil {
		return fmt.Errorf("the receiver cannot be reached: %w", err)
	}
	defer conn.Close()
	const piece = 64 << 10
	for b := make([]byte, piece); ; {
		if _, err := conn.Write(b); err != nil {
			return nil // the receiver has measured enough
		}
	}
}

func receive(ctx context.Context, c config, at string, r *result.Result) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	defer conn.Close()
	deadline := time.Now().Add(c.warmup + c.duration)
	if err := conn.SetReadDeadline(deadline.Add(time.Minute)); err != nil {
		return err
	}
	var received int64
	var start time.Time
	begin := time.Now()
	for buffer := make([]byte, 1<<20); ; {
		n, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		now := time.Now()
		if start.IsZero() {
			if now.Sub(begin) >= c.warmup {
				start = now
			}
			continue
		}
		if received += int64(n); now.Sub(start) >= c.duration {
			r.SetThroughput(received/int64(c.size)/(replicas-1), now.Sub(start))
			return nil
		}
	}
}
