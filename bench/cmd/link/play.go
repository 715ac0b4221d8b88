package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/tcp"
)

const (
	stampBytes = 8 // at the beginning of a message: when it was written
	cells      = 8
	backCell   = 1 // of the reader's row: how far it has read
	patience   = 10 * time.Second
)

var key = rdma.Key{Subgroup: 1, Epoch: 1}

// sockets are the settings of sockets that can be compared.
var sockets = map[string]func(c *net.TCPConn) error{
	"default":  func(*net.TCPConn) error { return nil },
	"nagle":    func(c *net.TCPConn) error { return c.SetNoDelay(false) },
	"quickack": func(c *net.TCPConn) error { return set(c, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) },
	"64k":      buffers(64 << 10),
	"256k":     buffers(256 << 10),
	"1m":       buffers(1 << 20),
	"4m":       buffers(4 << 20),
}

func set(c *net.TCPConn, level, name, value int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if e := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, name, value) }); e != nil {
		return e
	}
	return err
}

func buffers(bytes int) func(*net.TCPConn) error {
	return func(c *net.TCPConn) error {
		if err := c.SetReadBuffer(bytes); err != nil {
			return err
		}
		return c.SetWriteBuffer(bytes)
	}
}

// end is one end of the link. It exports one row.
type end struct {
	bell   *rdma.Bell
	row    *rdma.Region
	ring   bool // the row has one that the peer may ask for
	opened chan *rdma.Region
	down   chan error
}

func (n *end) LinkUp(rdma.Link)                           {}
func (n *end) Scanned()                                   {}
func (n *end) Refused(rdma.PeerInfo, error)               {}
func (n *end) Dying(rdma.Link)                            {}
func (n *end) Resumed(rdma.Link)                          {}
func (n *end) Message(rdma.Link, []byte)                  {}
func (n *end) LinkDown(_ rdma.Link, _ bool, e error)      { n.down <- e }
func (n *end) Want(l *tcp.Link, k rdma.Key, _ rdma.Shape) { l.Export(k, n.row, n.ring, nil) }
func (n *end) Opened(_ rdma.Link, _ rdma.Key, r *rdma.Region, err error) {
	if err != nil {
		n.down <- err
		return
	}
	n.opened <- r
}

// connect makes the link of a connection, and opens the peer's row.
func connect(conn *net.TCPConn, own, peer rdma.Shape, t told) (*end, *tcp.Link, *rdma.Region, error) {
	if err := sockets[t.Sockets](conn); err != nil {
		return nil, nil, nil, err
	}
	n := &end{
		bell: rdma.NewBell(new(rdma.BellWords)), row: rdma.NewHeapRegion(own), ring: own.Ring > 0,
		opened: make(chan *rdma.Region, 1), down: make(chan error, 2),
	}
	l := tcp.NewLink(conn, tcp.Config{
		Peer: rdma.PeerInfo{Name: "peer"}, Bell: n.bell, Fence: rdma.NewFence(new(atomic.Uint32)), Exporter: n, Events: n,
		Redial: func(context.Context, uint64) (net.Conn, error) { return nil, tcp.ErrGone },
	})
	go l.Run()
	l.Open(key, peer)
	select {
	case r := <-n.opened:
		return n, l, r, nil
	case err := <-n.down:
		return nil, nil, nil, err
	case <-time.After(patience):
		return nil, nil, nil, fmt.Errorf("the peer's row was not opened within %v", patience)
	}
}

// play is one process of a run. It prints its outcome, and ends when its standard input does.
func play(role, words string) error {
	var t told
	if err := json.Unmarshal([]byte(words), &t); err != nil {
		return err
	}
	runtime.LockOSThread() // as the poller of a node
	var o outcome
	var err error
	if role == readerMark {
		o, err = read(t)
	} else {
		o, err = write(t)
	}
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func read(t told) (outcome, error) {
	ln, err := net.Listen("tcp", t.Address)
	if err != nil {
		return outcome{}, err
	}
	fmt.Println(ln.Addr())
	conn, err := ln.Accept()
	if err != nil {
		return outcome{}, err
	}
	n, l, row, err := connect(conn.(*net.TCPConn), rdma.Shape{Cells: cells}, rdma.Shape{Cells: cells, Ring: t.Ring}, t)
	if err != nil {
		return outcome{}, err
	}
	var (
		m       meter
		at      uint64 // up to which it has read
		told    uint64 // and has told that
		sleeper = n.bell.Poller()
		ring    = row.Ring()
		lags    = result.NewHistogram()
		begin   = time.Now()
	)
	for {
		if m.from == (counts{}) && time.Since(begin) > t.Warmup {
			m.begin("syscr:", at)
			lags.Reset()
		}
		if time.Since(begin) > t.Duration {
			o, err := m.end("syscr:", at)
			o.P50, o.P99 = lags.ValueAtQuantile(50), lags.ValueAtQuantile(99)
			return o, err
		}
		tail := row.Cell(rdma.TailCell).Load()
		if tail == at {
			sleeper.Prepare()
			if row.Cell(rdma.TailCell).Load() == at {
				sleeper.Sleep(20 * time.Millisecond)
			} else {
				sleeper.Cancel()
			}
			continue
		}
		if t.Rate > 0 {
			for now := clock(); at < tail; at += uint64(t.Size) {
				_ = lags.RecordValue(now - int64(stamp(ring, at)))
			}
		}
		at = tail
		if at-told >= uint64(t.Tell) {
			told = at
			n.row.Cell(backCell).Store(at)
			l.Post(key)
		}
	}
}

// stamp is when the message at a position was written. Messages may go over the end of the ring, also by parts of the stamp.
func stamp(ring []byte, at uint64) uint64 {
	var b [stampBytes]byte
	for i := range b {
		b[i] = ring[(at+uint64(i))&uint64(len(ring)-1)]
	}
	return binary.LittleEndian.Uint64(b[:])
}

func write(t told) (outcome, error) {
	conn, err := net.DialTimeout("tcp", t.Address, patience)
	if err != nil {
		return outcome{}, err
	}
	n, l, back, err := connect(conn.(*net.TCPConn), rdma.Shape{Cells: cells, Ring: t.Ring}, rdma.Shape{Cells: cells}, t)
	if err != nil {
		return outcome{}, err
	}
	var (
		m       meter
		at      uint64
		sleeper = n.bell.Poller()
		ring    = n.row.Ring()
		message = make([]byte, t.Size)
		begin   = time.Now()
		due     = begin
	)
	for i := 0; ; i++ {
		if i&15 == 0 || t.Rate > 0 || t.Size > 64<<10 { // not for each small message
			if m.from == (counts{}) && time.Since(begin) > t.Warmup {
				m.begin("syscw:", at)
			}
			if time.Since(begin) > t.Duration {
				return m.end("syscw:", at)
			}
		}
		if t.Rate > 0 {
			due = due.Add(time.Duration(1e9 / t.Rate))
			if rest := time.Until(due); rest > 0 {
				<-time.After(rest)
			}
		}
		for at+uint64(t.Size)-back.Cell(backCell).Load() > uint64(t.Window) {
			sleeper.Prepare()
			if at+uint64(t.Size)-back.Cell(backCell).Load() > uint64(t.Window) {
				sleeper.Sleep(20 * time.Millisecond)
			} else {
				sleeper.Cancel()
			}
			if time.Since(begin) > t.Duration {
				return m.end("syscw:", at)
			}
		}
		binary.LittleEndian.PutUint64(message, uint64(clock()))
		k := copy(ring[at&uint64(len(ring)-1):], message)
		copy(ring, message[k:])
		at += uint64(t.Size)
		n.row.Cell(rdma.TailCell).Store(at)
		l.Post(key)
	}
}

// clock is one of all processes of the machine.
func clock() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

// meter counts what the process does between begin and end.
type meter struct{ from counts }

type counts struct {
	at       int64 // clock
	bytes    uint64
	cpu      int64 // ns
	calls    int64
	switches int64
}

func (m *meter) begin(calls string, bytes uint64) { m.from, _ = count(calls, bytes) }

func (m *meter) end(calls string, bytes uint64) (outcome, error) {
	to, err := count(calls, bytes)
	return outcome{
		Seconds: float64(to.at-m.from.at) / 1e9, Bytes: to.bytes - m.from.bytes, CPU: float64(to.cpu-m.from.cpu) / 1e9,
		Calls: to.calls - m.from.calls, Switches: to.switches - m.from.switches,
	}, err
}

func count(calls string, bytes uint64) (counts, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return counts{}, err
	}
	c := counts{at: clock(), bytes: bytes, cpu: u.Utime.Nano() + u.Stime.Nano(), switches: u.Nvcsw + u.Nivcsw}
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return counts{}, err
	}
	_, rest, _ := strings.Cut(string(b), calls)
	_, err = fmt.Sscan(rest, &c.calls)
	return c, err
}
