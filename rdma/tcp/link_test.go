package tcp

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// node is one end of a link in a test: it exports what it has and notes what happens.
type node struct {
	mu       sync.Mutex
	regions  map[rdma.Key]*rdma.Region
	bell     *rdma.Bell
	word     atomic.Uint32 // of the fence
	fence    *rdma.Fence
	messages chan string
	opened   chan opened
	down     chan error
	dying    chan bool // false: resumed
}

type opened struct {
	key rdma.Key
	r   *rdma.Region
	err error
}

func newNode() *node {
	n := &node{
		regions: map[rdma.Key]*rdma.Region{}, bell: rdma.NewBell(new(rdma.BellWords)), messages: make(chan string, 10000),
		opened: make(chan opened, 100), down: make(chan error, 10), dying: make(chan bool, 10),
	}
	n.fence = rdma.NewFence(&n.word)
	return n
}

// config is that of a link which does not outlive its connection.
func (n *node) config(peer string) Config {
	return Config{
		Peer: rdma.PeerInfo{Name: peer}, Bell: n.bell, Fence: n.fence, Exporter: n, Events: n,
		Redial: func(context.Context, uint64) (net.Conn, error) { return nil, ErrGone },
	}
}

func (n *node) LinkUp(rdma.Link)                      {}
func (n *node) Scanned()                              {}
func (n *node) Refused(rdma.PeerInfo, error)          {}
func (n *node) Dying(rdma.Link)                       { n.dying <- true }
func (n *node) Resumed(rdma.Link)                     { n.dying <- false }
func (n *node) Message(_ rdma.Link, msg []byte)       { n.messages <- string(msg) }
func (n *node) LinkDown(_ rdma.Link, _ bool, e error) { n.down <- e }
func (n *node) Opened(_ rdma.Link, k rdma.Key, r *rdma.Region, err error) {
	n.opened <- opened{k, r, err}
}

func (n *node) Want(l *Link, key rdma.Key, shape rdma.Shape) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.regions[key]; r != nil {
		l.Export(key, r, shape.Ring > 0, nil)
	} else {
		l.Export(key, nil, false, errors.New("nothing here"))
	}
}

func (n *node) register(k rdma.Key, s rdma.Shape) *rdma.Region {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.regions[k] = rdma.NewHeapRegion(s)
	return n.regions[k]
}

// patience bounds what a test waits for; nothing waits that long unless it fails.
const patience = time.Minute

// soon runs what has to be over within a limit, again if it was not: what else the machine does only makes it later.
func soon(t testing.TB, limit time.Duration, run func() time.Duration) {
	t.Helper()
	took := run()
	for try := 1; took >= limit && try < 10; try++ {
		took = run()
	}
	require.Less(t, took, limit)
}

func get[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("never: ", what)
		panic(0)
	}
}

// wait sleeps on a node's bell until cond holds.
func (n *node) wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	sleeper := n.bell.Poller()
	for !cond() {
		sleeper.Prepare()
		if cond() {
			sleeper.Cancel()
			return
		}
		sleeper.Sleep(time.Until(end))
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
	}
}

func loopback(t testing.TB) (a, b net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	a, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	b, err = ln.Accept()
	require.NoError(t, err)
	return a, b
}

// linked is a running link from a, which reads, to b, which has regions.
func linked(t testing.TB) (na, nb *node, la, lb *Link) {
	t.Helper()
	ca, cb := loopback(t)
	na, nb = newNode(), newNode()
	la, lb = NewLink(ca, na.config("b")), NewLink(cb, nb.config("a"))
	go la.Run()
	go lb.Run()
	t.Cleanup(func() { la.Close(); lb.Close() })
	return na, nb, la, lb
}

var (
	key   = rdma.Key{Subgroup: 3, Epoch: 4}
	shape = rdma.Shape{Cells: 24, Ring: 4096}
)

func open(t testing.TB, n *node, l *Link, k rdma.Key, s rdma.Shape) *rdma.Region {
	t.Helper()
	l.Open(k, s)
	o := get(t, "opened", n.opened)
	require.NoError(t, o.err)
	require.Equal(t, k, o.key)
	return o.r
}

func TestOpenBringsTheStateAndPostKeepsIt(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	own.Cell(5).Store(55)
	copy(own.Ring(), "first")
	own.Cell(rdma.TailCell).Store(5)
	r := open(t, na, la, key, shape)
	na.wait(t, "the state before the peer asked", func() bool { return r.Cell(5).Load() == 55 })
	require.Equal(t, uint64(5), r.Cell(rdma.TailCell).Load())
	require.Equal(t, "first", string(r.Ring()[:5]))

	own.Cell(6).Store(66)
	lb.Post(key)
	na.wait(t, "what was posted", func() bool { return r.Cell(6).Load() == 66 })
	lb.Post(rdma.Key{Subgroup: 9}) // nobody has asked: nothing

	la.Open(rdma.Key{Subgroup: 9}, shape)
	require.ErrorContains(t, get(t, "refusal", na.opened).err, "nothing here")
	require.False(t, la.Aliased())
}

// A quiet post is seen and wakes nobody; the next post wakes the peer, also if it brings nothing new.
func TestPostQuiet(t *testing.T) {
	ca, cb := loopback(t)
	na, nb := newNode(), newNode()
	words := new(rdma.BellWords)
	na.bell = rdma.NewBell(words)
	sleeper := na.bell.Poller()
	la, lb := NewLink(ca, na.config("b")), NewLink(cb, nb.config("a"))
	go la.Run()
	go lb.Run()
	t.Cleanup(func() { la.Close(); lb.Close() })
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	lb.Post(key)
	lb.Send([]byte("behind what opening sent"))
	get(t, "message", na.messages)

	for v := uint64(1); v <= 3; v++ {
		sleeper.Prepare()
		asleep := words.Asleep.Load()
		own.Cell(6).Store(v)
		lb.PostQuiet(key)
		require.Eventually(t, func() bool { return r.Cell(6).Load() == v }, patience, 10*time.Microsecond)
		lb.Send([]byte("behind it"))
		get(t, "message", na.messages)
		require.Equal(t, asleep, words.Asleep.Load(), "not rung")
		lb.Post(key)
		require.Eventually(t, func() bool { return words.Asleep.Load() != asleep }, patience, 10*time.Microsecond, "rung")
	}
}

// Rule 3: the writer stores a, then b, with a < b; who sees b sees a. And rule 2: the tail covers the
// bytes, here for many laps of a small ring, whose writer waits for the reader.
func TestOrderAndRing(t *testing.T) {
	const laps, a, b, back = 60, 7, 21, 3
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	theirs := na.register(key, rdma.Shape{Cells: 24}) // tells how far it has read
	r := open(t, na, la, key, shape)
	ack := open(t, nb, lb, key, rdma.Shape{Cells: 24})

	total := uint64(laps * shape.Ring)
	go func() {
		for pos, v := uint64(0), uint64(1); pos < total; v++ {
			n := min(v%1500, total-pos)
			nb.wait(t, "room", func() bool { return pos+n-ack.Cell(back).Load() <= uint64(shape.Ring) })
			for i := range n {
				own.Ring()[(pos+i)%uint64(shape.Ring)] = byte((pos + i) * 31)
			}
			pos += n
			own.Cell(rdma.TailCell).Store(pos)
			own.Cell(a).Store(v)
			own.Cell(b).Store(v)
			lb.Post(key)
		}
	}()
	var read uint64
	for read < total {
		na.wait(t, "more", func() bool { return r.Cell(rdma.TailCell).Load() > read })
		vb := r.Cell(b).Load()
		if va := r.Cell(a).Load(); va < vb {
			t.Fatalf("cell %d has %d, cell %d before it %d", b, vb, a, va)
		}
		tail := r.Cell(rdma.TailCell).Load()
		for ; read < tail; read++ {
			if got := r.Ring()[read%uint64(shape.Ring)]; got != byte(read*31) {
				t.Fatalf("byte %d is %d", read, got)
			}
		}
		theirs.Cell(back).Store(read)
		la.Post(key)
	}
}

// The same at full speed: the writer never waits, so captures come between its stores.
func TestOrderOfCells(t *testing.T) {
	const a, b, last = 1, 22, 100_000
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	go func() {
		for v := range uint64(last) {
			own.Cell(a).Store(v + 1)
			own.Cell(b).Store(v + 1)
			lb.Post(key)
		}
	}()
	for vb := uint64(0); vb < last; {
		vb = r.Cell(b).Load()
		if va := r.Cell(a).Load(); va < vb {
			t.Fatalf("cell %d has %d, cell %d before it %d", b, vb, a, va)
		}
		na.wait(t, "more", func() bool { return r.Cell(b).Load() > vb || vb == last })
	}
}

func TestCellsOnly(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, rdma.Shape{Cells: 24})
	require.Empty(t, r.Ring())
	own.Cell(rdma.TailCell).Store(1 << 40) // far beyond the ring: its owner does not wait for this peer
	own.Cell(9).Store(1)
	lb.Post(key)
	na.wait(t, "the cells", func() bool { return r.Cell(9).Load() == 1 })
	require.Equal(t, uint64(1<<40), r.Cell(rdma.TailCell).Load())
}

// A peer that asks for a ring of which bytes are gone is a peer in error, not a crash.
func TestRingThatIsGone(t *testing.T) {
	na, nb, la, _ := linked(t)
	nb.register(key, shape).Cell(rdma.TailCell).Store(uint64(shape.Ring) + 1)
	la.Open(key, shape)
	require.ErrorContains(t, get(t, "down", nb.down), "4097 bytes from 0 on were asked for, the ring keeps 4096")
	get(t, "down", na.down)
}

func TestWithdrawSendsTheLastState(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	for i := range uint64(50) {
		own.Cell(8).Store(i + 1)
	}
	copy(own.Ring(), "end")
	own.Cell(rdma.TailCell).Store(3)
	lb.Withdraw(key)
	na.wait(t, "the last state", func() bool { return r.Cell(8).Load() == 50 })
	require.Equal(t, "end", string(r.Ring()[:3]))

	lb.Send([]byte("behind"))
	require.Equal(t, "behind", get(t, "message", na.messages))
	la.Send([]byte("behind the confirmation"))
	get(t, "message", nb.messages)
	lb.Send([]byte("turn")) // the turn that finds that confirmed
	require.Equal(t, "turn", get(t, "message", na.messages))
	require.Empty(t, *lb.exports.Load(), "the export is gone")
	own.Cell(8).Store(99)
	lb.Post(key)
	lb.Send([]byte("later"))
	require.Equal(t, "later", get(t, "message", na.messages))
	require.Equal(t, uint64(50), r.Cell(8).Load())
}

func TestReleasedCopyIsNotWritten(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	la.Release(key)
	own.Ring()[0] = 1
	own.Cell(rdma.TailCell).Store(1)
	lb.Post(key)
	lb.Send([]byte("behind"))
	require.Equal(t, "behind", get(t, "message", na.messages))
	require.Zero(t, r.Cell(rdma.TailCell).Load())

	nb.mu.Lock()                          // it does not answer yet
	la.Open(rdma.Key{Subgroup: 5}, shape) // not registered there: an error is on its way
	la.Release(rdma.Key{Subgroup: 5})
	nb.mu.Unlock()
	la.Send([]byte("x"))
	require.Equal(t, "x", get(t, "message", nb.messages))
	lb.Send([]byte("y"))
	require.Equal(t, "y", get(t, "message", na.messages))
	require.Empty(t, na.opened, "what was released is not answered")
}

func TestCloseSendsWhatWasPosted(t *testing.T) {
	for done, try := 0, 0; done < 20; try++ {
		require.Less(t, try, 40, "it takes its time")
		na, nb, la, lb := linked(t)
		own := nb.register(key, shape)
		r := open(t, na, la, key, shape)
		own.Cell(4).Store(44)
		lb.Post(key)
		lb.Send([]byte("last"))
		if closes(lb) >= lingerTime {
			continue // it waits no longer for a peer, which a busy machine may not run
		}
		require.ErrorContains(t, get(t, "down", na.down), "connection closed")
		require.Equal(t, "last", get(t, "message", na.messages))
		require.Equal(t, uint64(44), r.Cell(4).Load())
		get(t, "down", nb.down)
		lb.Close()
		require.Empty(t, nb.down, "down once")
		done++
	}
}

// closes closes a link, and says how long that takes.
func closes(l *Link) time.Duration {
	begin := time.Now()
	l.Close()
	return time.Since(begin)
}

// A peer that reads nothing costs what its ring costs, however much is posted, and does not keep Close.
func TestSlowPeer(t *testing.T) {
	soon(t, 4*lingerTime, func() time.Duration { return closeToSlowPeer(t) })
}

// closeToSlowPeer says how long Close takes.
func closeToSlowPeer(t *testing.T) time.Duration {
	ca, cb := loopback(t)
	defer ca.Close()
	n := newNode()
	l := NewLink(cb, n.config("slow"))
	go l.Run()
	own := n.register(key, rdma.Shape{Cells: 1 << 12, Ring: 4096})
	_, err := ca.Write(rdma.Shape{Cells: 1 << 12}.Append(key.Append(frame(frameOpen, 16))))
	require.NoError(t, err)
	_, err = io.ReadFull(ca, make([]byte, 5))
	require.NoError(t, err, "it is exported")

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 3000 // of 48 KiB each, were they queued
	for v := range uint64(rounds) {
		for i := range 1 << 12 {
			own.Cell(i).Store(v + 1)
		}
		l.Post(key)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))

	took := closes(l)
	require.ErrorContains(t, get(t, "down", n.down), "slow")
	return took
}

func TestPostAllocatesNothing(t *testing.T) {
	na, nb, la, lb := linked(t)
	own := nb.register(key, shape)
	r := open(t, na, la, key, shape)
	v := uint64(0)
	sleeper := na.bell.Poller()
	round := func() {
		v++
		own.Ring()[v%4096] = byte(v)
		own.Cell(rdma.TailCell).Store(v * 3000) // more than comes with a head
		own.Cell(20).Store(v)
		lb.Post(key)
		for r.Cell(20).Load() != v {
			sleeper.Prepare()
			if r.Cell(20).Load() != v {
				sleeper.Sleep(time.Minute)
			}
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(500, round))
	lb.sending.Lock()
	lb.pace = pace{least: 1000, most: 1000, whole: 50, room: 1000} // three turns for each
	lb.sending.Unlock()
	round()
	require.Zero(t, testing.AllocsPerRun(500, round))
}

// --- frames made by hand

func write(pos uint64, cells [][2]uint64, data string) []byte {
	b := key.Append(frame(frameWrite, writeHeader-5+len(cells)*cellBytes+len(data)))
	b = binary.LittleEndian.AppendUint64(b, pos)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(cells)))
	for _, c := range cells {
		b = binary.LittleEndian.AppendUint32(b, uint32(c[0]))
		b = binary.LittleEndian.AppendUint64(b, c[1])
	}
	return append(b, data...)
}

// reader is a link that has opened key with a ring, and reads from what the test writes.
func reader(here net.Conn) (*node, *Link) {
	n := newNode()
	l := NewLink(here, n.config("hostile"))
	l.opening[key] = shape
	go l.Run()
	return n, l
}

// pairs are connections that can not read into several buffers at once, and such that can.
var pairs = map[string]func(t testing.TB) (here, there net.Conn){
	"pipe": func(testing.TB) (net.Conn, net.Conn) {
		here, there := net.Pipe()
		return halfPipe{here}, there
	},
	"socket": func(t testing.TB) (net.Conn, net.Conn) {
		ln, err := net.Listen("unix", "") // fuzzing would use up the ports of TCP
		require.NoError(t, err)
		defer ln.Close()
		there, err := net.Dial("unix", ln.Addr().String())
		require.NoError(t, err)
		here, err := ln.Accept()
		require.NoError(t, err)
		return here, there
	},
}

// halfPipe is a pipe of which a writer that failed does not take the end, which is still to be read, from the reader.
type halfPipe struct{ net.Conn }

func (halfPipe) CloseRead() error { return nil }

func TestMalformedFrames(t *testing.T) {
	openedFrame := key.Append(frame(frameOpened, 8))
	open := func(cells, ring uint32) []byte {
		b := key.Append(frame(frameOpen, 16))
		b = binary.LittleEndian.AppendUint32(b, cells)
		return binary.LittleEndian.AppendUint32(b, ring)
	}
	patched := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"unknown", frame(77, 8)[:5:5], "closed"},
		{"unknown whole", append(frame(77, 8), make([]byte, 8)...), "unknown frame 77"},
		{"no length", []byte{0, 0, 0, 0, frameControl}, "frame of -1 bytes"},
		{"endless control", []byte{0xff, 0xff, 0xff, 0xff, frameControl}, "frame of 4294967294 bytes"},
		{"short key", append(frame(frameOpen, 3), 1, 2, 3), "short frame"},
		{"open without shape", key.Append(frame(frameOpen, 8)), "short frame"},
		{"open of no cells", open(0, 0), "0 cells"},
		{"open of a huge ring", open(1, 1<<31), "ring of"},
		{"short write", append(frame(frameWrite, 3), 1, 2, 3), "short write frame"},
		{"write that does not add up", patched(write(0, [][2]uint64{{0, 3}}, "abc"), 0, 60), "does not add up"},
		{"tail without bytes", write(0, [][2]uint64{{0, 8}}, ""), "tail 0 to 8 does not fit"},
		{"bytes without tail", write(0, [][2]uint64{{1, 8}}, "abc"), "tail 0 to 0 does not fit"},
		{"more than the ring", write(0, [][2]uint64{{0, 5000}}, string(make([]byte, 5000))), "does not fit"},
		{"bytes elsewhere", write(64, [][2]uint64{{0, 3}}, "abc"), "at 64"},
		{"cells out of order", write(0, [][2]uint64{{2, 1}, {1, 1}}, ""), "cell 1 after 2"},
		{"cell twice", write(0, [][2]uint64{{2, 1}, {2, 1}}, ""), "cell 2 after 2"},
		{"cell out of range", write(0, [][2]uint64{{24, 1}}, ""), "cell 24 after -1, of 24"},
		{"position on a first connection", position{}.frame(), "position expected: false"},
		{"short confirmation", append(frame(frameConfirm, 2), 1, 2), "short frame"},
		{"confirmation of what was not sent", append(frame(frameConfirm, 8), 9, 0, 0, 0, 0, 0, 0, 0), "9 numbered frames confirmed"},
		{"end after goodbye", frame(frameBye, 0), "connection closed"},
		{"cells ahead", patched(write(0, [][2]uint64{{0, 3}}, "abc"), 4, frameAhead), "does not add up"},
		{"nothing ahead", ahead(0, ""), "does not add up"},
		{"ahead elsewhere", ahead(64, "abc"), "at 64"},
		{"again what was ahead", append(ahead(0, "abc"), write(0, [][2]uint64{{0, 3}}, "abc")...), "does not fit"},
		{"tail behind what was ahead", append(ahead(0, "abc"), write(3, [][2]uint64{{0, 2}}, "")...), "does not fit"},
		{"more ahead than the ring", append(ahead(0, string(make([]byte, 4000))), ahead(4000, string(make([]byte, 97)))...), "does not fit"},
		{"cut off", write(0, [][2]uint64{{0, 3}}, "abc")[:20], "EOF"},
		{"torn range", write(0, [][2]uint64{{0, 3000}, {1, 1}}, string(make([]byte, 3000)))[:1000], "EOF"},
	} {
		for kind, pair := range pairs {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				here, conn := pair(t)
				defer conn.Close()
				n, l := reader(here)
				_, err := conn.Write(openedFrame)
				require.NoError(t, err)
				r := get(t, "opened", n.opened).r
				go func() {
					_, _ = conn.Write(c.b)
					if half, ok := conn.(interface{ CloseWrite() error }); ok { // to close with unread input would reset it
						_ = half.CloseWrite()
						return
					}
					conn.Close()
				}()
				err = get(t, "down", n.down)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, "hostile", "the text names the peer")
				for i := range shape.Cells {
					require.Zero(t, r.Cell(i).Load(), "nothing of a bad frame is applied")
				}
				l.Close()
			})
		}
	}
}

func FuzzFrames(f *testing.F) {
	openedFrame := key.Append(frame(frameOpened, 8))
	f.Add(openedFrame)
	f.Add(append(append([]byte(nil), openedFrame...), write(0, [][2]uint64{{0, 3}, {7, 1}}, "abc")...))
	f.Add(write(0, nil, ""))
	f.Add(append(append(append([]byte(nil), openedFrame...), ahead(0, "abc")...), write(3, [][2]uint64{{0, 5}, {7, 1}}, "de")...))
	f.Add(append(frame(frameControl, 2), "hi"...))
	f.Add(append(frame(frameConfirm, 8), 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(append(frame(frameBye, 0), key.Append(frame(frameWithdrawn, 8))...))
	f.Add(append(key.Append(frame(frameOpenFail, 10)), "no"...))
	f.Add(append(append([]byte(nil), openedFrame...), write(0, [][2]uint64{{0, 4096}, {7, 1}}, string(make([]byte, 4096)))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for kind, pair := range pairs {
			here, conn := pair(t)
			n, l := reader(here)
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, _ = conn.Write(b)
			conn.Close()
			select {
			case err := <-n.down:
				if err == nil {
					t.Fatal("down without a reason")
				}
			case <-time.After(patience):
				t.Fatalf("%s: still up after % x", kind, b)
			}
			l.Close()
		}
	})
}
