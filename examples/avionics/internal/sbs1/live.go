package sbs1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// DialOptions of a live source. The zero value means the defaults.
type DialOptions struct {
	// GiveUp is how long a server may not answer before the feed counts as ended. Default 5 s.
	GiveUp time.Duration
	// Retry is the pause between attempts. Default 100 ms.
	Retry time.Duration
	// Notify, if not nil, is told of connections that begin and end.
	Notify func(text string)
}

func (o DialOptions) withDefaults() DialOptions {
	if o.GiveUp == 0 {
		o.GiveUp = 5 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 100 * time.Millisecond
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	return o
}

// liveSource reads a feed over TCP, connection after connection.
type liveSource struct {
	decoder
	splicer
	addr  string
	opts  DialOptions
	conn  net.Conn
	in    *bufio.Reader
	queue [][]byte // lines that are ready
	ended bool
}

// Dial makes a source of the feed at host:port. It connects when the first message is asked for.
func Dial(addr string, opts DialOptions) Source {
	return &liveSource{addr: addr, opts: opts.withDefaults()}
}

func (s *liveSource) Next(ctx context.Context) (*Message, error) {
	for {
		for len(s.queue) > 0 {
			line := s.queue[0]
			s.queue = s.queue[1:]
			if m := s.decode(line); m != nil {
				return m, nil
			}
		}
		if s.ended {
			return nil, io.EOF
		}
		if err := s.fill(ctx); err != nil {
			return nil, err
		}
	}
}

// fill reads one line, or changes the state of the connection.
func (s *liveSource) fill(ctx context.Context) error {
	if s.conn == nil {
		err := s.connect(ctx)
		if errors.Is(err, errNobody) {
			s.ended = true
			s.queue = s.end()
			s.nameBroken()
			return nil
		}
		return err
	}
	conn := s.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	line, err := readLine(ctx, s.in)
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.opts.Notify(fmt.Sprintf("connection to %s ended in the middle of the feed (%v); connecting again", s.addr, err))
		_ = s.conn.Close()
		s.conn = nil
		s.queue = append(s.queue, s.cut(line)...)
	} else {
		s.queue = append(s.queue, s.line(line)...)
	}
	s.nameBroken()
	return nil
}

// nameBroken counts halves that were not completed: a line each.
func (s *liveSource) nameBroken() {
	for _, half := range s.takeBroken() {
		s.stats.Lines++
		s.malformed(fmt.Sprintf("the connection ended in the middle of it, after %q, and it was not sent again", clip(bytes.TrimSpace(half))))
	}
}

var errNobody = errors.New("nobody answers")

func (s *liveSource) connect(ctx context.Context) error {
	limit := time.NewTimer(s.opts.GiveUp)
	defer limit.Stop()
	dialer := net.Dialer{Timeout: s.opts.GiveUp}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", s.addr)
		if err == nil {
			s.conn, s.in = conn, newLineReader(conn)
			s.stats.Connections++
			s.opts.Notify("connected to " + s.addr)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause := time.NewTimer(s.opts.Retry)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-limit.C:
			pause.Stop()
			s.opts.Notify(fmt.Sprintf("%s does not answer for %v (%v): the feed has ended", s.addr, s.opts.GiveUp, err))
			if s.stats.Connections == 0 {
				return fmt.Errorf("sbs1: connecting to %s: %w", s.addr, err)
			}
			return errNobody
		}
	}
}

// Stats gives the counts so far.
func (s *liveSource) Stats() Stats {
	st := s.decoder.Stats()
	st.Resent = s.resent
	return st
}

func (s *liveSource) Close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}
