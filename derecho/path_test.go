package derecho

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/mem"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// memLog is a Log in memory that can be made to fail and to wait.
type memLog struct {
	mu     sync.Mutex
	synced []string
	err    error
	gate   chan struct{} // if not nil, Write waits for it
	begun  atomic.Int64  // calls of Write
}

func (l *memLog) Begin(*EpochStart) error { return nil }

func (l *memLog) NewBatch() LogBatch { return &memBatch{} }

func (l *memLog) Write(b LogBatch) error {
	l.begun.Add(1)
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate != nil {
		<-gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.synced = append(l.synced, *b.(*memBatch)...)
	return l.err
}

// hang makes what is written from now on wait.
func (l *memLog) hang(gate chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = gate
}

// memBatch is payloads for a memLog.
type memBatch []string

func (b *memBatch) Append(m *Message) { *b = append(*b, string(m.Payload)) }

func (b *memBatch) Bytes() int { return len(*b) }

func (b *memBatch) Reset() { *b = nil }

func (l *memLog) Close() error { return nil }

var logged = Subgroup{ID: 6, Mode: Logged}

// emptyLog is a Config.LogState.
func emptyLog(id uint64) func(SubgroupID, ChannelID) *LogState {
	return func(SubgroupID, ChannelID) *LogState { return &LogState{ID: id} }
}

func TestLoggedIsDurableEverywhere(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		logs := []*memLog{{}, {}, {}}
		for i := range logs {
			c.cfg.OpenLog = func(SubgroupID) (Log, error) { return logs[i], nil }
			c.cfg.LogState = emptyLog(uint64(1 + i))
			c.join()
		}
		for _, n := range c.node {
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		}
		c.settle(3)
		for k := range 50 {
			c.node[k%3].mustSend(t, logged, 7, 1, fmt.Sprint(k))
			require.NoError(t, c.node[k%3].WaitDurable(ctxFor(t), logged.ID, 7))
			for i, l := range logs {
				l.mu.Lock()
				require.Len(t, l.synced, k+1, "log %d", i)
				require.Equal(t, fmt.Sprint(k), l.synced[k])
				l.mu.Unlock()
			}
		}
	})
}

// Durable means durable: with one disk that does not answer WaitDurable waits, WaitAcked does not.
func TestDurableWaitsForTheSlowestDisk(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		slow := &memLog{gate: make(chan struct{})}
		c.cfg.OpenLog = func(SubgroupID) (Log, error) { return slow, nil }
		c.cfg.LogState = emptyLog(17)
		r, _ := c.join()
		c.cfg.LogState = emptyLog(18)
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{}, nil }, emptyLog(18)
		w, _ := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		w.mustSend(t, logged, 7, 1, "x")
		require.NoError(t, w.WaitAcked(ctxFor(t), logged.ID))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		err := w.WaitDurable(ctx, logged.ID, 7)
		require.ErrorIs(t, err, ErrTimeout)
		require.NotErrorIs(t, err, ErrRecovering)
		slowest := w.Members()[0]
		require.ErrorContains(t, err, fmt.Sprintf("not on disk at node0 (pid %d on %s), log %016x", slowest.PID, slowest.Host, 17))
		require.NotContains(t, err.Error(), "node1")
		close(slow.gate)
		require.NoError(t, w.WaitDurable(ctxFor(t), logged.ID, 7))
	})
}

// Nobody has the state of the channel, and the log that has is away: who writes is told so, whether the epoch in which
// that was sent is still there or not.
func TestNothingIsDurableWhileLogsAreAway(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{}, nil }, emptyLog(17)
		w, rw := c.join()
		r, _ := c.join()
		c.join()
		cfg := c.cfg
		cfg.LogState = emptyLog(18)
		rec := newRecorder()
		dies, err := Join(ctxFor(t), cfg, rec)
		require.NoError(t, err)
		keeps := Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true}
		dies.mustAdd(t, keeps)
		dies.mustSend(t, logged, 7, 1, "x")
		require.NoError(t, dies.WaitDurable(ctxFor(t), logged.ID, 7))
		die(t, dies)
		require.Eventually(t, func() bool { return len(w.Members()) == 3 }, patience, time.Millisecond)
		w.mustAdd(t, keeps)
		slot, err := w.Reserve(ctxFor(t), logged.ID, 7, 1, time.Time{})
		require.NoError(t, err)
		slot.Commit(Header{Writer: 1, WriterSeq: 23}, 1)
		require.NoError(t, w.WaitAcked(ctxFor(t), logged.ID))
		told := func() {
			t.Helper()
			err := w.WaitDurable(ctxFor(t), logged.ID, 7)
			require.ErrorIs(t, err, ErrRecovering)
			require.ErrorContains(t, err, "0000000000000012", "the log that is away")
			require.NoError(t, w.WaitDurable(ctxFor(t), ordered.ID, 8), "nothing was sent there")
		}
		told()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}})
		require.Eventually(t, func() bool {
			epochs := 0
			require.NoError(t, w.await(ctxFor(t), func(m *machine, done func(error)) {
				epochs = len(m.groups[logged.ID].epochs)
				done(nil)
			}))
			return epochs == 1
		}, patience, time.Millisecond)
		told()

		// The log comes back. It has x, and not what was sent while it was away: nobody waits for that any more, and
		// who sent it has been told.
		require.Empty(t, rw.leftOut)
		x := rec.got[0]
		cfg.LogState = func(SubgroupID, ChannelID) *LogState {
			return &LogState{ID: 18, Begun: x.epoch, Epoch: x.epoch, Seq: x.seq + 1, Logs: []uint64{18}, History: 18, Written: true}
		}
		back, err := Join(ctxFor(t), cfg, newRecorder())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, back.Leave(ctxFor(t))) })
		back.mustAdd(t, keeps)
		for err := ErrRecovering; errors.Is(err, ErrRecovering); {
			err = w.WaitDurable(ctxFor(t), logged.ID, 7)
			require.True(t, err == nil || errors.Is(err, ErrRecovering), "%v", err)
		}
		rw.mu.Lock()
		defer rw.mu.Unlock()
		require.Equal(t, []string{"23 of writer 1 on 7"}, rw.leftOut)
	})
}

func TestFailedLogIsToldToAll(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		full := errors.New("no space left")
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{err: full}, nil }, emptyLog(17)
		r, rr := c.join()
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{}, nil }, emptyLog(18)
		w, rw := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		w.mustSend(t, logged, 7, 1, "x")
		require.ErrorIs(t, w.WaitDurable(ctxFor(t), logged.ID, 7), ErrLog)
		rr.wait(t, "own failure", func() bool { return errors.Is(rr.failed, full) })
		rw.wait(t, "the other's failure", func() bool { return errors.Is(rw.failed, ErrLog) })
	})
}

// hungLog tells that it was closed.
type hungLog struct {
	memLog
	closed chan struct{}
}

func (l *hungLog) Close() error {
	close(l.closed)
	return nil
}

// A log is given up in time though heartbeats are minutes apart.
func TestLogThatHangsIsNoticedBetweenHeartbeats(t *testing.T) {
	hangs := &hungLog{memLog{gate: make(chan struct{})}, make(chan struct{})}
	rec := newRecorder()
	n, err := Join(ctxFor(t), Config{Domain: rand.Uint32(), Lease: time.Hour, LogTimeout: time.Millisecond,
		OpenLog: func(SubgroupID) (Log, error) { return hangs, nil }, LogState: emptyLog(17)}, rec)
	require.NoError(t, err)
	n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
	n.mustSend(t, logged, 7, 1, "x")
	rec.wait(t, "the failure of the log", func() bool { return rec.failed != nil })
	require.ErrorContains(t, rec.failed, "the disk has not answered")
	require.NoError(t, n.Leave(ctxFor(t)))
	close(hangs.gate)
	<-hangs.closed
}

// A disk that hangs is one that has failed: its node gets on, and nobody waits for it for ever.
func TestLogThatHangs(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		hangs := &hungLog{memLog{gate: make(chan struct{})}, make(chan struct{})}
		c.cfg.LogTimeout = time.Millisecond
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return hangs, nil }, emptyLog(17)
		r, rr := c.join()
		c.cfg.LogTimeout = 0
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{}, nil }, emptyLog(18)
		w, rw := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		w.mustSend(t, logged, 7, 1, "x")
		err := w.WaitDurable(ctxFor(t), logged.ID, 7)
		require.ErrorIs(t, err, ErrLog)
		require.ErrorContains(t, err, "node0")
		rr.wait(t, "own failure", func() bool { return rr.failed != nil })
		require.ErrorContains(t, rr.failed, "the disk has not answered")
		rw.wait(t, "the other's failure", func() bool { return errors.Is(rw.failed, ErrLog) })
		require.NoError(t, r.Leave(ctxFor(t)), "it does not wait for the disk")
		close(hangs.gate)
		<-hangs.closed
	})
}

func TestLogThatCanNotBeOpened(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		denied := errors.New("permission denied")
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return nil, denied }, emptyLog(17)
		n, _ := c.join()
		err := n.AddEndpoint(ctxFor(t), Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		require.ErrorIs(t, err, denied)
	})
}

// A node joins again, and its log can not be opened any more. Its other endpoints are announced, and what is wrong is told.
func TestLogThatCanNotBeOpenedAgain(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{}, nil }, emptyLog(17)
		a, ra := c.join()
		c.join() // a majority goes on
		full := errors.New("no space left")
		opened := false
		c.cfg.LogState = emptyLog(18)
		c.cfg.OpenLog = func(SubgroupID) (Log, error) {
			if opened {
				return nil, full
			}
			opened = true
			return &memLog{}, nil
		}
		b, rb := c.join()
		a.mustAdd(t, Endpoint{ID: 1, Channel: 8, Reads: []Subgroup{ordered}})
		b.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		b.mustAdd(t, Endpoint{ID: 2, Channel: 8, Writes: ordered})
		rb.Isolated(ErrExcluded) // until it is told that this is over
		b.life.Load().post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
		rb.wait(t, "the end of the outage", func() bool { return rb.isolated == nil })
		rb.wait(t, "what is wrong", func() bool { return errors.Is(rb.failed, full) })
		b.mustSend(t, ordered, 8, 2, "again")
		ra.wait(t, "the message", func() bool { return len(ra.got) == 1 })
	})
}

// awaitHold waits until a writer knows that a channel is held, and returns the epoch in which it sends. That Reserve
// times out does not say so: the ring is full for as long as the poller is not let run.
func (n *Node) awaitHold(t testing.TB, sg Subgroup, ch ChannelID) *epoch {
	t.Helper()
	for limit := time.Now().Add(patience); ; runtime.Gosched() {
		require.True(t, time.Now().Before(limit), "never held")
		e, err := n.sendingEpoch(sg.ID, ch)
		require.NoError(t, err)
		if bit, ok := e.bit(ch); ok && e.held.Load()&(1<<bit) != 0 {
			return e
		}
	}
}

// A held channel stops its writers, not those of another channel of the same subgroup.
func TestHold(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, _ := c.join()
		r, rr := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		r.mustAdd(t, Endpoint{ID: 2, Channel: 8, Reads: []Subgroup{ordered}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		w.mustAdd(t, Endpoint{ID: 2, Channel: 8, Writes: ordered})
		r.Hold(ordered.ID, 7, true)
		short := func() error {
			s, err := w.Reserve(context.Background(), ordered.ID, 7, 1, time.Now().Add(5*time.Millisecond))
			if err == nil {
				s.Abort()
			}
			return err
		}
		w.awaitHold(t, ordered, 7)
		err := short()
		require.ErrorIs(t, err, ErrTimeout)
		full := (*FullError)(nil)
		require.ErrorAs(t, err, &full)
		require.True(t, full.Held)
		require.Equal(t, []NodeID{r.ID()}, full.Members)
		w.mustSend(t, ordered, 8, 2, "other")
		rr.wait(t, "the other channel", func() bool { return len(rr.got) == 1 })
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.mustSend(t, ordered, 7, 1, "after")
		}()
		r.Hold(ordered.ID, 7, false)
		<-done
		rr.wait(t, "the held message", func() bool { return len(rr.got) == 2 })
	})
}

// Who waits because of a reader that goes, full to the end, goes on in the next epoch.
func TestHolderGoes(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, _ := c.join()
		r, _ := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		r.Hold(ordered.ID, 7, true)
		e := w.awaitHold(t, ordered, 7)
		sent := make(chan error, 1)
		go func() {
			s, err := w.Reserve(ctxFor(t), ordered.ID, 7, 1, time.Time{})
			if err == nil {
				s.Abort()
			}
			sent <- err
		}()
		for e.waiting.Load() == 0 {
			runtime.Gosched()
		}
		require.NoError(t, r.RemoveEndpoint(ctxFor(t), 1))
		require.NoError(t, <-sent)
	})
}

// Where many want the processor, each look at a full ring may take long: the deadline counts from the first one on.
func TestDeadlineAmongManyThatCompute(t *testing.T) {
	var net mem.Network
	c := &cluster{t: t, cfg: Config{fabric: func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
		return net.Attach(rdma.PeerInfo{ID: id, PID: uint32(os.Getpid()), Name: cfg.Name, Fingerprint: cfg.Fingerprint}, bell.Bell(), ev), nil
	}}}
	w, _ := c.join()
	w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
	w.Hold(ordered.ID, 7, true)
	try := func() error {
		s, err := w.Reserve(context.Background(), ordered.ID, 7, 1, time.Now().Add(5*time.Millisecond))
		if err == nil {
			s.Abort()
		}
		return err
	}
	w.awaitHold(t, ordered, 7)
	var stop atomic.Bool
	var hogs, begun sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		begun.Add(1)
		hogs.Go(func() {
			begun.Done()
			for !stop.Load() {
			}
		})
	}
	begun.Wait()
	looks := func() time.Duration {
		const n = 4
		start := time.Now()
		for range n {
			runtime.Gosched()
		}
		return time.Since(start) / n
	}
	var took, most time.Duration
	for range 10 { // a process that stands still for a while only makes it later
		look := looks()
		start := time.Now()
		err := try()
		took = time.Since(start)
		look = max(look, looks())
		if !assert.ErrorIs(t, err, ErrTimeout) {
			break
		}
		t.Logf("a look takes %v; Reserve with a deadline of 5ms took %v", look, took)
		if most = 5*time.Millisecond + spinRounds/3*look; took < most {
			break
		}
	}
	stop.Store(true)
	hogs.Wait()
	require.Less(t, took, most)
}

// An Outlet gives what Reserve would give at once, and otherwise nothing: before the node is a sender, while the
// channel is held, and after it has left.
func TestOutlet(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		w, _ := c.join()
		r, rr := c.join()
		out := w.Outlet(ordered.ID)
		_, ok := out.Try(1)
		require.False(t, ok, "no writer")
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		s, ok := out.Try(3)
		require.True(t, ok)
		require.Equal(t, w.ID(), s.Node())
		copy(s.Bytes(), "abc")
		require.True(t, s.Commit(Header{Writer: 1}, 3))
		rr.wait(t, "the message", func() bool { return len(rr.got) == 1 })
		_, ok = out.Try(w.MaxPayload(ordered.ID) + 1)
		require.False(t, ok, "too large")
		r.Hold(ordered.ID, 7, true)
		w.awaitHold(t, ordered, 7)
		_, ok = out.Try(1)
		require.False(t, ok, "held")
		r.Hold(ordered.ID, 7, false)
		require.NoError(t, w.Leave(ctxFor(t)))
		_, ok = out.Try(1)
		require.False(t, ok, "it has left")
	})
}

// A receiver that does not come back from its upcall keeps what was sent: exactly a ring of it is taken, then Reserve
// times out, or would block, and goes on when it does.
func TestFullRing(t *testing.T) {
	const ring, size, fit = 1 << 16, 1024 - 40, 1 << 16 / 1024 // a message and its header take 1 KiB
	for _, mode := range []Mode{Ordered, Unordered} {
		sg := Subgroup{ID: 8, Mode: mode}
		full := map[Mode]error{Ordered: ErrTimeout, Unordered: ErrWouldBlock}[mode]
		eachFabric(t, func(t *testing.T, c *cluster) {
			c.cfg.RingBytes = ring
			w, _ := c.join()
			r, rr := c.join()
			gate := make(chan struct{})
			open := sync.OnceFunc(func() { close(gate) })
			defer open()
			rr.onDeliver = func([]Message) { <-gate } // the one poller of the process waits: neither node is driven
			r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{sg}})
			w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: sg})
			send := func() error {
				s, err := w.Reserve(context.Background(), sg.ID, 7, size, time.Now().Add(5*time.Millisecond))
				if err == nil {
					s.Commit(Header{Writer: 1}, size)
				}
				return err
			}
			require.NoError(t, send())
			rr.wait(t, "the upcall", func() bool { return len(rr.got) == 1 })
			sent := 1
			var err error
			for err = send(); err == nil && sent <= 2*fit; err = send() {
				sent++
			}
			require.ErrorIs(t, err, full)
			require.Equal(t, fit, sent)
			require.ErrorIs(t, send(), full)
			if mode == Unordered {
				open()
			} else {
				e, err := w.sendingEpoch(sg.ID, 7)
				require.NoError(t, err)
				went := make(chan error, 1)
				go func() {
					s, err := w.Reserve(ctxFor(t), sg.ID, 7, size, time.Time{})
					if err == nil {
						s.Commit(Header{Writer: 1}, size)
					}
					went <- err
				}()
				for e.waiting.Load() == 0 {
					runtime.Gosched()
				}
				open()
				require.NoError(t, <-went)
				sent++
			}
			rr.wait(t, "all", func() bool { return len(rr.got) == sent })
			require.NoError(t, w.WaitAcked(ctxFor(t), sg.ID))
			require.NoError(t, send(), "there is room again")
			largest := w.MaxPayload(sg.ID)
			_, err = w.Reserve(ctxFor(t), sg.ID, 7, largest+1, time.Time{})
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, fmt.Sprint(largest+1))
			_, err = w.Reserve(ctxFor(t), sg.ID, 7, -1, time.Time{})
			require.ErrorIs(t, err, ErrTooLarge, "no ring grows for that, and who waits for it waits for ever")
		})
	}
}

func TestErrorsOfReserve(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		n, _ := c.join()
		_, err := n.Reserve(ctxFor(t), 99, 7, 1, time.Time{})
		require.ErrorIs(t, err, ErrNotSender)
		n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		require.NoError(t, n.Leave(ctxFor(t)))
		_, err = n.Reserve(ctxFor(t), ordered.ID, 7, 1, time.Time{})
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, n.AddEndpoint(ctxFor(t), Endpoint{ID: 2, Channel: 7, Writes: ordered}), ErrClosed)
	})
}

func TestDifferentConfigurationIsRefused(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.join()
		cfg := c.cfg
		cfg.RingBytes = 1 << 14
		_, err := Join(ctxFor(t), cfg, newRecorder())
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "ring=16384")
		require.ErrorContains(t, err, "ring=1048576")
	})
}

// A member that dies without leaving: the others go on without it, and what it had sent before is
// delivered by all or by none.
func TestDeathOfAMember(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.Lease = 100 * time.Millisecond
		w, rw := c.join()
		v, rv := c.join()
		cfg := c.cfg
		r, err := Join(ctxFor(t), cfg, newRecorder())
		require.NoError(t, err)
		require.NoError(t, r.AddEndpoint(ctxFor(t), Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}}))
		v.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		for k := range 10 {
			r.mustSend(t, ordered, 7, 1, fmt.Sprint("r", k))
			w.mustSend(t, ordered, 7, 1, fmt.Sprint("w", k))
		}
		die(t, r)
		for _, rec := range []*recorder{rw, rv} {
			rec.wait(t, "the failure", func() bool { return slices.Contains(rec.lost, r.ID()) })
			rec.wait(t, "its endpoints to go", func() bool { return slices.Contains(rec.endpoints, fmt.Sprintf("-%s/1", r.ID())) })
		}
		for k := range 10 {
			w.mustSend(t, ordered, 7, 1, fmt.Sprint("after", k))
		}
		for _, rec := range []*recorder{rw, rv} {
			rec.wait(t, "what came after", func() bool { return len(rec.got) > 0 && rec.got[len(rec.got)-1].text == "after9" })
		}
		got, other := rw.snapshot(), rv.snapshot()
		require.Equal(t, got, other[len(other)-len(got):], "the one that read later saw the same, to the end")
		require.NoError(t, w.WaitAcked(ctxFor(t), ordered.ID))
		require.Len(t, w.Members(), 2)
	})
}

// Several goroutines write through one ring: nothing is lost and each one's messages keep order.
func TestConcurrentWriters(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.RingBytes = 1 << 14
		w, _ := c.join()
		r, rr := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
		const writers, each = 4, 2000
		var wg sync.WaitGroup
		ctx := ctxFor(t)
		for i := range writers {
			wg.Go(func() {
				for k := range each {
					text := fmt.Sprintf("%d:%d", i, k)
					s, err := w.Reserve(ctx, ordered.ID, 7, len(text), time.Time{})
					if err != nil {
						t.Error(err)
						return
					}
					copy(s.Bytes(), text)
					s.Commit(Header{Writer: 1}, len(text))
				}
			})
		}
		wg.Wait()
		rr.wait(t, "all", func() bool { return len(rr.got) == writers*each })
		var next [writers]int
		for _, g := range rr.snapshot() {
			var i, k int
			_, err := fmt.Sscanf(g.text, "%d:%d", &i, &k)
			require.NoError(t, err)
			require.Equal(t, next[i], k)
			next[i]++
		}
	})
}

// After traffic everything goes quiet: no cell changes, no push, and epochs that ended are released.
func TestQuiescence(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		for range 3 {
			c.join()
		}
		for _, n := range c.node {
			n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
		}
		c.settle(3)
		for k := range 30 {
			c.node[k%3].mustSend(t, ordered, 7, 1, fmt.Sprint(k))
		}
		for _, r := range c.recs {
			r.wait(t, "all", func() bool { return len(r.got) == 30 })
		}
		for _, n := range c.node {
			// The machine reports no work, pass after pass, once it has caught up, and keeps
			// no epoch but the newest.
			limit := time.Now().Add(patience)
			for quiet := 0; quiet < 1000; runtime.Gosched() {
				require.True(t, time.Now().Before(limit), "never quiet")
				n.life.Load().baton.Lock()
				work := n.life.Load().m.Step(time.Since(clockStart))
				data, control := len(n.life.Load().m.groups[ordered.ID].epochs), len(n.life.Load().m.groups[0].epochs)
				n.life.Load().baton.Unlock()
				if quiet++; work || data != 1 || control != 1 {
					quiet = 0
				}
			}
		}
	})
}

func TestSteadyStateAllocatesNothing(t *testing.T) { eachFabric(t, steadyState) }

func steadyState(t *testing.T, c *cluster) {
	w, _ := c.join()
	counting := &counter{news: make(chan struct{}, 1)}
	cfg := c.cfg
	cfg.Name = "reader"
	r, err := Join(ctxFor(t), cfg, counting)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Leave(ctxFor(t)) })
	require.NoError(t, r.AddEndpoint(ctxFor(t), Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}}))
	w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered})
	ctx := context.Background()
	sent, runs := int64(0), 2000
	if cfg.Transport == TransportTCP {
		runs = 200 // on one processor, as AllocsPerRun has it, the runtime may look at the network each 10 ms only
	}
	allocs := testing.AllocsPerRun(runs, func() {
		s, err := w.Reserve(ctx, ordered.ID, 7, 128, time.Time{})
		if err != nil {
			panic(err)
		}
		s.Bytes()[0] = 1
		s.Commit(Header{Writer: 1}, 128)
		sent++
		for counting.n.Load() < sent {
			<-counting.news
		}
	})
	require.Zero(t, allocs, "Reserve, Commit and delivery")
}

// A sender that looks for its epoch while an outage ends is told of the outage, or sends: never that it is no sender.
func TestSenderWhileAnOutageEnds(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	n, _ := c.join()
	ordered := Subgroup{ID: 3, Mode: Ordered}
	n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
	c.settle(1)
	stop := make(chan struct{})
	var outages sync.WaitGroup
	outages.Go(func() {
		for {
			select {
			case <-stop:
				n.outage.Store(nil)
				return
			default:
				n.outage.Store(&ErrExcluded)
				n.outage.Store(nil)
			}
		}
	})
	for told := 0; told < 200_000; {
		_, err := n.sendingEpoch(ordered.ID, 1)
		if err != nil && !errors.Is(err, ErrExcluded) {
			t.Error(err)
			break
		}
		if err != nil {
			told++
		}
	}
	close(stop)
	outages.Wait()
}

// A sender that comes while an exclusion is carried out is told of it.
func TestSenderWhileExcluded(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	n, r := c.join()
	ordered := Subgroup{ID: 3, Mode: Ordered}
	n.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: ordered, Reads: []Subgroup{ordered}})
	c.settle(1)
	told := make(chan error, 1)
	n.life.Load().post(func(m *machine) {
		r.onRemoved = func(Endpoint) {
			r.onRemoved = nil
			_, err := n.sendingEpoch(ordered.ID, 1)
			told <- err
		}
		m.exclude(errors.New("for this test"))
	})
	require.ErrorIs(t, <-told, ErrExcluded)
}

func TestLogThatCanNotBeAnnounced(t *testing.T) {
	_, err := NewDriven(Config{OpenLog: func(SubgroupID) (Log, error) { return &memLog{}, nil }}, 1, nil, Callbacks{})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "LogState")
}
