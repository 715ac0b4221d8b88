package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// tcp receives one stream over the loopback interface from another process, which writes in pieces of one size.
func tcp(o options) ([]result.Result, error) {
	var results []result.Result
	for _, size := range []int{1 << 10, 10 << 10, 64 << 10} {
		r, err := tcpOf(size, o.duration)
		if err != nil {
			return nil, fmt.Errorf("writes of %d bytes: %w", size, err)
		}
		results = append(results, r)
	}
	return results, nil
}

func tcpOf(size int, d time.Duration) (result.Result, error) {
	r := result.Result{Size: size, Readers: 1, What: "one TCP stream over loopback, Go at both ends; counted in writes, by the receiver"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, err
	}
	defer l.Close()
	c, err := child(nil, "tcp", l.Addr().String(), strconv.Itoa(size))
	if err != nil {
		return r, err
	}
	wait, err := start(c)
	if err != nil {
		return r, err
	}
	// Not on the main goroutine, whose thread is locked: waiting for the network would cost it two switches.
	received := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = drain(conn, d, &r)
			err = errors.Join(err, conn.Close()) // which the child sees as its end
		}
		received <- err
	}()
	err = <-received
	wait()
	return r, err
}

// drain reads for a fifth of the time without counting, then counts.
func drain(conn net.Conn, d time.Duration, r *result.Result) error {
	buffer := make([]byte, 1<<20)
	var received int64
	begin, start := time.Now(), time.Time{}
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		now := time.Now()
		switch {
		case start.IsZero() && now.Sub(begin) >= d/5:
			start = now
		case !start.IsZero():
			received += int64(n)
			if now.Sub(start) >= d {
				r.SetThroughput(received/int64(r.Size), now.Sub(start))
				return nil
			}
		}
	}
}

func tcpChild(args []string) error {
	if len(args) != 2 {
		return errors.New("needs an address and the size of a write")
	}
	size, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	b := make([]byte, size)
	for {
		if _, err := conn.Write(b); err != nil {
			return nil // the receiver has measured enough
		}
	}
}
