package tcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// frayed is a connection that breaks when a number of bytes went through it in either direction.
type frayed struct {
	*net.TCPConn
	left  *atomic.Int64
	reset bool // what is under way is lost too
}

func (c *frayed) cut() error {
	if c.reset {
		_ = c.SetLinger(0)
	}
	c.Close()
	return errors.New("the cable is cut")
}

func (c *frayed) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if c.left.Add(-int64(n)) < 0 {
		return max(0, n-1), c.cut()
	}
	return n, err
}

// scatter is Read for the ranges of rings.
func (c *frayed) scatter() scatterer {
	return &frayedScatter{c, rdma.SocketOf(c.TCPConn).Scatter()}
}

type frayedScatter struct {
	c    *frayed
	real *rdma.Scatter
}

func (s *frayedScatter) Read(into [3][]byte) (int, error) {
	n, err := s.real.Read(into)
	if s.c.left.Add(-int64(n)) < 0 {
		return max(0, n-1), s.c.cut()
	}
	return n, err
}

func (c *frayed) Write(b []byte) (int, error) {
	if left := c.left.Add(-int64(len(b))); left < 0 {
		n, _ := c.TCPConn.Write(b[:max(0, int64(len(b))+left)])
		return n, c.cut()
	}
	return c.TCPConn.Write(b)
}

// session is a pair of links, a the initiator, that resume over a listener as the fabric makes them.
type session struct {
	na, nb *node
	la, lb *Link
	ln     net.Listener

	mu       sync.Mutex
	rng      *rand.Rand
	cuts     int          // connections that will break
	gap      int          // after how many bytes at most
	mode     atomic.Int32 // of redialling
	attempts atomic.Int64
}

const (
	modeReachable = iota
	modeSilent
	modeRefused
	modeGone
)

func newSession(t testing.TB, seed uint64, cuts, gap int) *session {
	t.Helper()
	s := &session{na: newNode(), nb: newNode(), rng: rand.New(rand.NewPCG(seed, 1)), cuts: cuts, gap: gap}
	var err error
	s.ln, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { s.ln.Close() })
	ca, cb := loopback(t)
	conf := s.na.config("b")
	conf.Initiator, conf.Redial = true, s.redial
	s.la = NewLink(s.fray(ca), conf)
	conf = s.nb.config("a")
	conf.Redial = func(_ context.Context, generation uint64) (net.Conn, error) {
		if err := s.turnedAway(); err != nil {
			return nil, err
		}
		s.la.Asked(generation)
		return nil, errors.New("asked")
	}
	s.lb = NewLink(s.fray(cb), conf)
	if seed%2 == 0 { // small pieces: what is ahead of the tail is lost with most connections
		s.la.pace = pace{least: 700, most: 700, whole: 50}
		s.lb.pace = s.la.pace
	}
	go s.accept()
	go s.la.Run()
	go s.lb.Run()
	t.Cleanup(func() {
		s.mode.Store(modeGone)
		s.la.Close()
		s.lb.Close()
	})
	return s
}

func (s *session) fray(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cuts == 0 {
		return c
	}
	s.cuts--
	left := new(atomic.Int64)
	left.Store(s.rng.Int64N(int64(s.gap)))
	return &frayed{c.(*net.TCPConn), left, s.rng.IntN(2) == 0}
}

// turnedAway is what a dial meets, nil if it gets through.
func (s *session) turnedAway() error {
	switch s.mode.Load() {
	case modeSilent:
		return errors.New("i/o timeout")
	case modeRefused:
		return ErrRefused
	case modeGone:
		return ErrGone
	}
	return nil
}

func (s *session) redial(_ context.Context, generation uint64) (net.Conn, error) {
	s.attempts.Add(1)
	if err := s.turnedAway(); err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", s.ln.Addr().String())
	if err != nil {
		return nil, err
	}
	verdict := make([]byte, 1)
	_, err = c.Write(binary.LittleEndian.AppendUint64(nil, generation))
	if err == nil {
		_, err = io.ReadFull(c, verdict)
	}
	if err == nil && verdict[0] == 0 {
		err = errors.New("overtaken")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return s.fray(c), nil
}

func (s *session) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		b := make([]byte, 8)
		if _, err := io.ReadFull(c, b); err != nil {
			c.Close()
			continue
		}
		generation, verdict := binary.LittleEndian.Uint64(b), []byte{0}
		s.mu.Lock()
		late := s.rng.IntN(20) == 0 // it says yes, and then nothing
		s.mu.Unlock()
		if s.lb.Resumable(generation) {
			verdict[0] = 1
		}
		_, _ = c.Write(verdict)
		if late || verdict[0] == 0 || !s.lb.Resume(s.fray(c), generation) {
			c.Close()
		}
	}
}

// await is wait for one of many goroutines; a bell wakes but one.
func (n *node) await(t testing.TB, what string, cond func() bool) {
	sleeper := n.bell.Poller()
	for end := time.Now().Add(patience); !cond(); sleeper.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			t.Error("never: ", what)
			return
		}
		sleeper.Prepare()
	}
}

// stream publishes total bytes in a region of from, and checks at to that each comes once, in order,
// and that cells come in theirs.
func stream(t testing.TB, k rdma.Key, total uint64, from, to *node, there, here *Link, own, ack, r, back *rdma.Region) {
	const a, b, read = 7, 21, 3
	size := uint64(shape.Ring)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for pos, v := uint64(0), uint64(1); pos < total; v++ {
			n := min(v*37%1500, total-pos)
			from.await(t, "room", func() bool { return pos+n-back.Cell(read).Load() <= size })
			for i := range n {
				own.Ring()[(pos+i)%size] = byte((pos+i)*31>>3) ^ byte(k.Subgroup)
			}
			pos += n
			own.Cell(rdma.TailCell).Store(pos)
			own.Cell(a).Store(v)
			own.Cell(b).Store(v)
			there.Post(k)
		}
	}()
	for pos := uint64(0); pos < total; {
		to.await(t, "more", func() bool { return r.Cell(rdma.TailCell).Load() > pos })
		vb := r.Cell(b).Load()
		if va := r.Cell(a).Load(); va < vb {
			t.Errorf("cell %d has %d, cell %d before it %d", b, vb, a, va)
		}
		for tail := r.Cell(rdma.TailCell).Load(); pos < tail; pos++ {
			if got := r.Ring()[pos%size]; got != byte(pos*31>>3)^byte(k.Subgroup) {
				t.Errorf("byte %d of %s is %d", pos, k, got)
				return
			}
		}
		ack.Cell(read).Store(pos)
		here.Post(k)
	}
	<-sent
}

// Connections break at any byte, in both directions, with and without a loss of what is under way, and
// resumptions fail half-way. Nothing is lost, nothing comes twice, and the link stays.
func TestResumeAfterBreaks(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			const regions, messages, total = 3, 400, 200_000
			s := newSession(t, seed, 120, []int{300, 6_000, 40_000}[seed%3])
			var wg sync.WaitGroup
			talk := func(l *Link, n *node) {
				wg.Go(func() {
					for i := range messages {
						l.Send([]byte(strconv.Itoa(i)))
					}
				})
				wg.Go(func() {
					for i := range messages {
						if got := get(t, "message", n.messages); got != strconv.Itoa(i) {
							t.Errorf("message %d is %s", i, got)
							return
						}
					}
				})
			}
			talk(s.la, s.nb)
			talk(s.lb, s.na)
			for i := range uint32(regions) {
				k := rdma.Key{Subgroup: i + 1, Epoch: 1}
				ownA, ownB := s.na.register(k, shape), s.nb.register(k, shape)
				r, q := open(t, s.na, s.la, k, shape), open(t, s.nb, s.lb, k, shape)
				wg.Go(func() { stream(t, k, total, s.nb, s.na, s.lb, s.la, ownB, ownA, r, q) })
				wg.Go(func() { stream(t, k, total, s.na, s.nb, s.la, s.lb, ownA, ownB, q, r) })
				// A region that nobody has, and one whose last state comes when it is withdrawn.
				s.la.Open(rdma.Key{Subgroup: 100 + i}, shape)
				require.ErrorContains(t, get(t, "refusal", s.na.opened).err, "nothing here")
				once := rdma.Key{Subgroup: 200 + i}
				own := s.nb.register(once, shape)
				last := open(t, s.na, s.la, once, shape)
				copy(own.Ring(), "end")
				own.Cell(rdma.TailCell).Store(3)
				own.Cell(9).Store(99)
				s.lb.Withdraw(once)
				s.na.await(t, "the last state", func() bool { return last.Cell(9).Load() == 99 })
				require.Equal(t, uint64(3), last.Cell(rdma.TailCell).Load())
				require.Equal(t, "end", string(last.Ring()[:3]))
				wg.Go(func() {
					s.na.await(t, "all cells", func() bool { return r.Cell(21).Load() == ownB.Cell(21).Load() && r.Cell(rdma.TailCell).Load() == total })
				})
			}
			wg.Wait()
			if t.Failed() {
				return
			}
			require.Empty(t, s.na.down)
			require.Empty(t, s.nb.down)
			require.Empty(t, s.na.messages, "a message twice")
			require.Empty(t, s.na.opened, "an answer twice")
			require.Positive(t, s.attempts.Load())
			t.Logf("%d connections", s.attempts.Load())

			// What was confirmed is forgotten.
			s.lb.Send([]byte("x"))
			get(t, "message", s.na.messages)
			s.la.Send([]byte("behind the confirmation"))
			get(t, "message", s.nb.messages)
			s.lb.Close()
			require.ErrorContains(t, get(t, "down", s.na.down), "connection closed")
			require.ErrorContains(t, get(t, "down", s.nb.down), "connection closed")
			require.Len(t, *s.lb.exports.Load(), regions, "what was withdrawn is gone")
			require.LessOrEqual(t, len(s.lb.sender.kept), 1)
		})
	}
}

// cutNow breaks the connection in use.
func (s *session) cutNow() {
	s.lb.mu.Lock()
	defer s.lb.mu.Unlock()
	if s.lb.conn != nil {
		s.lb.conn.Close()
	}
}

// A peer that can not be reached is waited for; what was sent meanwhile comes when it is there again.
func TestSilenceSuspends(t *testing.T) {
	s := newSession(t, 1, 0, 1)
	own := s.nb.register(key, shape)
	r := open(t, s.na, s.la, key, shape)
	s.mode.Store(modeSilent)
	s.cutNow()
	for v := range uint64(20) {
		own.Cell(5).Store(v + 1)
		s.lb.Post(key)
		s.lb.Send([]byte(strconv.Itoa(int(v))))
	}
	s.na.await(t, "it goes on dialling", func() bool { return s.attempts.Load() > 5 })
	require.Empty(t, s.na.down)
	require.Empty(t, s.nb.down)
	require.Zero(t, r.Cell(5).Load())
	s.mode.Store(modeReachable)
	s.na.wait(t, "the state", func() bool { return r.Cell(5).Load() == 20 })
	for v := range 20 {
		require.Equal(t, strconv.Itoa(v), get(t, "message", s.na.messages))
	}
}

// A peer that refuses connections is dying, once, until it answers; then the link goes on where it was.
func TestRefusedMayLive(t *testing.T) {
	s := newSession(t, 1, 0, 1)
	for i := range 2 {
		s.mode.Store(modeRefused)
		s.cutNow()
		require.True(t, get(t, "dying", s.na.dying))
		require.True(t, get(t, "dying", s.nb.dying))
		tries := s.attempts.Load()
		s.na.await(t, "it goes on dialling", func() bool { return s.attempts.Load() > tries+3 })
		s.lb.Send([]byte(strconv.Itoa(i)))
		require.Empty(t, s.na.dying)
		require.Empty(t, s.na.messages)
		s.mode.Store(modeReachable)
		require.False(t, get(t, "resumed", s.na.dying))
		require.False(t, get(t, "resumed", s.nb.dying))
		require.Equal(t, strconv.Itoa(i), get(t, "message", s.na.messages))
	}
	require.Empty(t, s.na.down)
	require.Empty(t, s.nb.down)
}

// Whoever closes a link does not wait for a peer that refuses connections to take what is left.
func TestCloseWhileRefused(t *testing.T) {
	soon(t, lingerTime/2, func() time.Duration {
		s := newSession(t, 1, 0, 1)
		s.mode.Store(modeRefused)
		s.cutNow()
		require.True(t, get(t, "dying", s.na.dying))
		s.la.Send([]byte("never"))
		begin := time.Now()
		s.la.Close()
		return time.Since(begin)
	})
}

func TestGone(t *testing.T) {
	soon(t, time.Second, func() time.Duration {
		s := newSession(t, 1, 0, 1)
		s.mode.Store(modeGone)
		begin := time.Now()
		s.cutNow()
		require.ErrorIs(t, get(t, "down", s.na.down), ErrGone)
		require.ErrorIs(t, get(t, "down", s.nb.down), ErrGone)
		return time.Since(begin)
	})
}

func TestDrop(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		t.Run(fmt.Sprint("suspended=", suspended), func(t *testing.T) {
			s := newSession(t, 1, 0, 1)
			if suspended {
				s.mode.Store(modeSilent)
				s.cutNow()
			}
			why := errors.New("silent for too long")
			s.la.Drop(why)
			s.la.Drop(errors.New("once more"))
			require.ErrorIs(t, get(t, "down", s.na.down), why)
			require.False(t, s.la.Resumable(99))
			s.la.Send([]byte("lost"))
			s.la.Close()
			require.Empty(t, s.na.down, "down once")
			s.lb.Drop(why)
			get(t, "down", s.nb.down)
			require.False(t, s.lb.Resume(nil, 99))
		})
	}
}

// The peer may have seen a break of which this end knows nothing yet, and an old request may come late.
func TestReplacedConnection(t *testing.T) {
	s := newSession(t, 1, 0, 1)
	s.la.Asked(0) // the connection of generation 0 is broken at the other end
	s.la.Asked(0)
	s.la.Send([]byte("a"))
	require.Equal(t, "a", get(t, "message", s.nb.messages))
	require.False(t, s.lb.Resumable(0), "overtaken")
	require.False(t, s.la.Resumable(99), "the initiator makes the connections")

	here, there := loopback(t)
	defer here.Close()
	require.True(t, s.lb.Resume(there, 50))
	require.False(t, s.lb.Resume(nil, 50))
	p := position{received: 1}
	_, err := here.Write(p.frame())
	require.NoError(t, err)
	_, err = io.ReadFull(here, make([]byte, 5))
	require.NoError(t, err, "it went over to the new connection, though the old one was alive")
}

// A position that can not be is the peer's error.
func TestImpossiblePositions(t *testing.T) {
	for name, b := range map[string][]byte{
		"more than was sent": position{received: 1000}.frame(),
		"short frame":        frame(framePosition, 0),
		"position expected":  append(frame(frameControl, 1), 1),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, 1, 0, 1)
			here, there := loopback(t)
			defer here.Close()
			require.True(t, s.lb.Resume(there, 50))
			_, err := here.Write(b)
			require.NoError(t, err)
			require.Error(t, get(t, "down", s.nb.down))
		})
	}
}

// A peer confirms frames of which its position says that it has not got them. The reader takes its word for both, one beside
// the other; the writer, which makes some of the frames anew, ends the link.
func TestConfirmedBesideThePosition(t *testing.T) {
	here, _ := net.Pipe()
	l := NewLink(here, newNode().config("b"))
	for i := range 10 {
		l.sender.kept = append(l.sender.kept, keptFrame{derived: i >= 5})
	}
	l.sender.next = 10
	require.NoError(t, l.goBack(position{}))
	for _, n := range []uint64{10, 1, 1 << 63} { // of 5 that are left, and none is sent
		require.NoError(t, l.confirm(binary.LittleEndian.AppendUint64(nil, n)))
		require.ErrorContains(t, l.trim(), "numbered frames confirmed after 0, of 0 sent")
	}
}

// Nothing of a fenced region that was posted after the fence was raised leaves before it is lowered;
// messages, and the region of subgroup 0, pass.
func TestFenceHoldsWhatIsPosted(t *testing.T) {
	na, nb, la, lb := linked(t)
	fenced, free := rdma.Key{Subgroup: 1, Epoch: 1}, rdma.Key{Epoch: 1}
	own, other := nb.register(fenced, shape), nb.register(free, shape)
	r, f := open(t, na, la, fenced, shape), open(t, na, la, free, shape)
	for v := range uint64(1000) {
		nb.word.Add(1)
		own.Cell(5).Store(v + 1)
		lb.Post(fenced)
		other.Cell(5).Store(v + 1)
		lb.Post(free)
		na.wait(t, "the cell that passes", func() bool { return f.Cell(5).Load() == v+1 })
		lb.Send([]byte("m"))
		get(t, "message", na.messages) // sent behind the posts
		require.Equal(t, v, r.Cell(5).Load())
		nb.fence.Lower(nb.fence.Value())
		lb.FenceLowered()
		na.wait(t, "the cell that was held", func() bool { return r.Cell(5).Load() == v+1 })
	}
}

// Close takes its time for what is left, and no more: also when there is nobody to take it, or the fence
// keeps it.
func TestCloseEndsInTime(t *testing.T) {
	for name, prepare := range map[string]func(s *session){
		"suspended": func(s *session) {
			s.mode.Store(modeSilent)
			s.cutNow()
		},
		"fence raised": func(s *session) {
			s.na.word.Add(1)
			s.nb.word.Add(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			soon(t, 3*lingerTime, func() time.Duration {
				s := newSession(t, 1, 0, 1)
				prepare(s)
				if name == "suspended" {
					s.lb.Send([]byte("held"))
				}
				took := closes(s.lb)
				require.GreaterOrEqual(t, took, lingerTime)
				require.ErrorContains(t, get(t, "down", s.nb.down), "did not take the rest")
				require.Empty(t, s.na.messages)
				return took
			})
		})
	}
}

// What was sent while the link was suspended is sent by a Close that comes before it is resumed.
func TestCloseResumes(t *testing.T) {
	var s *session
	for took, try := lingerTime, 0; took >= lingerTime; try++ { // it waits no longer for a peer, which a busy machine may not run
		require.Less(t, try, 10, "it takes its time")
		s = newSession(t, 1, 0, 1)
		s.mode.Store(modeSilent)
		s.cutNow()
		s.na.await(t, "it dials", func() bool { return s.attempts.Load() > 0 })
		s.la.Send([]byte("last"))
		s.mode.Store(modeReachable)
		took = closes(s.la)
	}
	require.Equal(t, "last", get(t, "message", s.nb.messages))
	require.ErrorContains(t, get(t, "down", s.nb.down), "connection closed")
}
