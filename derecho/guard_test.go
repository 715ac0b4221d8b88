package derecho

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parkedPoller is a poller that has ceded the driving to a reader, and waits. woken is closed when it is called back.
func parkedPoller(t *testing.T) (p *poller, woken chan struct{}) {
	t.Helper()
	p = new(poller)
	_, err := p.doorbell()
	require.NoError(t, err)
	p.replace(nil)
	p.run.Wake()
	p.run.Park() // what was told before, if anything, is taken
	p.parked = true
	woken = make(chan struct{})
	go func() {
		defer close(woken)
		p.run.Park()
	}()
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		p.run.Wake()
		p.alarm.Set(0, 0)
	})
	go p.beats(stop)
	return p, woken
}

func requireWoken(t *testing.T, woken chan struct{}) {
	t.Helper()
	select {
	case <-woken:
	case <-time.After(patience):
		require.Fail(t, "nobody attends to the bell for ever")
	}
}

// A guard that is over is seen to, though a reader had the seat when beat came for it, and nothing else is due for a long time.
func TestGuardIsOverWhileAReaderHasTheSeat(t *testing.T) {
	p, woken := parkedPoller(t)
	p.seat.Lock()
	p.guard.Store(int64(sinceStart()))
	p.beat()
	p.seat.Unlock()
	requireWoken(t, woken)
}

// Neither is one that was over before it was announced: the thread that left the bell was stopped between.
func TestGuardThatIsOverAtOnce(t *testing.T) {
	p, woken := parkedPoller(t)
	p.seat.Lock()
	p.unattend(sinceStart()-time.Second, guardTime)
	p.seat.Unlock()
	requireWoken(t, woken)
}

// Who is kept from what is due asks less and less often, but what is due at its time does not wait for that.
func TestBeatIsKeptOutForLong(t *testing.T) {
	p := new(poller)
	_, err := p.doorbell()
	require.NoError(t, err)
	p.replace(nil)
	t.Cleanup(func() { p.alarm.Set(0, 0) })
	again := func() time.Duration { // until the alarm goes off, at least
		began := sinceStart()
		p.at.Store(0) // it has gone off
		p.beat()
		return time.Duration(p.at.Load()) - began
	}
	p.seat.Lock()
	p.guard.Store(int64(sinceStart()))
	for _, wait := range []time.Duration{moment, 2 * moment, 4 * moment, 8 * moment, longMoment, longMoment} {
		require.GreaterOrEqual(t, again(), wait)
		require.Equal(t, wait, p.pause)
	}
	p.guard.Store(0)
	p.seat.Unlock()
	again()
	require.Zero(t, p.pause, "it is kept from nothing any more")

	n := &life{n: &Node{cfg: Config{Lease: time.Minute}}}
	n.due.Store(10)
	p.nodes.Store(&[]*life{n})
	p.guard.Store(30)
	for _, c := range []struct{ now, again, next time.Duration }{{5, 0, 10}, {10, 20, 20}, {10, 50, 30}, {30, 50, 50}} {
		p.mu.Lock()
		next, _ := p.next(c.now, c.again)
		p.mu.Unlock()
		require.Equal(t, c.next, next, "%+v", c)
	}
}

// Somebody drove between beat's look at the guard and its getting the seat, and left the driving to beat, as it had the seat.
func TestGuardOfWhoDroveMeanwhile(t *testing.T) {
	p, woken := parkedPoller(t)
	p.seat.Lock()
	p.takeOver(sinceStart())
	requireWoken(t, woken)
	require.True(t, p.seat.TryLock())
}

// The poller is woken for what the one before has left, while a reader has the seat already, and comes in vain. It is
// the one named on the bell, and nobody rings for what is there: the reader, which may not have done all of it, wakes
// it again.
func TestPollerIsRefusedByAReader(t *testing.T) {
	p, woken := parkedPoller(t)
	p.parked = false
	p.run.Name()
	p.seat.Lock()
	require.False(t, p.claim())
	p.look(sinceStart())
	requireWoken(t, woken)
	require.True(t, p.claim())
	require.False(t, p.missedSeat.Load(), "what it was refused before counts no more")
}

// What waits for a time does not wait for a heartbeat: those of a long lease are minutes apart.
func TestSweepsDoNotWaitForHeartbeats(t *testing.T) {
	n, err := Join(ctxFor(t), Config{Domain: rand.Uint32(), Lease: time.Hour}, newRecorder())
	require.NoError(t, err)
	over := make(chan struct{})
	n.life.Load().post(func(m *machine) {
		until := m.now + 50*time.Millisecond
		m.whenReady(func() bool { return m.now >= until }, func() { close(over) })
	})
	select {
	case <-over:
	case <-time.After(patience):
		require.Fail(t, "its time has come, and nobody looks")
	}
	require.NoError(t, n.Leave(ctxFor(t)))
}
