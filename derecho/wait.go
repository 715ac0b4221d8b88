package derecho

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/sst"
)

// waiters are the application threads that wait for an epoch to get on: for room in the ring, for a
// hold to end, for acknowledgements. Waiting is the slow path; the poller only tries the lock.
type waiters struct {
	waiting  atomic.Int32                  // number of threads between begin and end; stored under mu
	mu       sync.Mutex                    // among applications: Wants says whether waiting is not zero
	news     atomic.Pointer[chan struct{}] // closed to wake all; replaced before that
	progress uint64                        // what waitersMayGo saw last; the poller's
}

func (w *waiters) init() { w.renew() }

func (w *waiters) renew() (before *chan struct{}) {
	c := make(chan struct{})
	return w.news.Swap(&c)
}

// begin registers a waiter: receivers then ring this node's bell when they hand over. The channel
// is closed at the next progress; after begin the caller looks once more at what it waits for.
func (e *epoch) begin() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting.Add(1) == 1 {
		e.table.Store(sst.Wants, 1)
		e.kick() // what was lent of the ring may have come back before that: see Loan.Release
	}
	return e.again()
}

// pressAfter is how long a thread waits for room before it presses, and presses anew: longer than readers take that keep up.
const pressAfter = time.Millisecond

// press asks receivers for what they have lent of the ring.
func (e *epoch) press() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.table.Store(sst.Wants, e.table.Row(e.me).Load(sst.Wants)+1)
	e.kick()
}

// again returns the channel for the next progress; the caller then looks once more.
func (e *epoch) again() <-chan struct{} { return *e.news.Load() }

func (e *epoch) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting.Add(-1) == 0 {
		e.table.Store(sst.Wants, 0)
		e.post()
	}
}

// waitersMayGo: something changed that a waiter may wait for.
func (e *epoch) waitersMayGo() bool {
	held := uint64(0)
	if !e.readByAll() { // first: who tells that it reads all has told before what is held
		held = e.inherited
	}
	for _, i := range *e.receivers.Load() {
		held |= e.table.Row(i).Load(sst.Hold)
	}
	changed := held != e.held.Load()
	if changed {
		e.held.Store(held)
	}
	if e.waiting.Load() == 0 {
		return false
	}
	// A sum of counters that only grow changes whenever one of them does.
	sum := uint64(0)
	for _, i := range *e.receivers.Load() {
		sum += e.table.Row(i).Load(e.table.Handed(e.myRank)) + e.table.Row(i).Load(e.table.Freed(e.myRank)) + e.table.Row(i).Load(e.table.Persisted()) + e.table.Row(i).Load(e.table.LogFailed())
	}
	if sum != e.progress {
		e.progress, changed = sum, true
	}
	return changed
}

// wakeAll wakes every waiter; each looks for itself whether it can go on. Any goroutine. Who begins to
// wait later has not looked yet.
func (e *epoch) wakeAll() {
	if e.waiting.Load() > 0 {
		close(*e.renew())
	}
}
