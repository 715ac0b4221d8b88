package derecho

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unswept has nothing that was slept over made good: neither heartbeats nor sweeps come while the test lasts.
func (c *cluster) unswept() {
	spare := func(d time.Duration) {
		thePoller.mu.Lock()
		defer thePoller.mu.Unlock()
		thePoller.spare = d
	}
	c.cfg.Lease = time.Hour
	spare(time.Hour)
	c.t.Cleanup(func() { spare(0) })
}

// Threads that lend themselves and the poller take turns, and nothing that rings is slept over by all of them: a lost wake-up
// costs the test.
func TestLendAndPollerLoseNothing(t *testing.T) {
	for _, away := range []time.Duration{0, 10 * time.Microsecond, 200 * time.Microsecond} {
		t.Run(fmt.Sprint("away ", away), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.unswept()
				w, _, rec := c.pair(nil)
				const n = 300
				var lent atomic.Int32
				stop := make(chan struct{})
				var wg sync.WaitGroup
				for range 2 { // one has the seat, the other tries
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							before := len(rec.snapshot())
							if Lend(func() bool { return len(rec.snapshot()) > before || len(rec.snapshot()) >= n }) {
								lent.Add(1)
							}
							for begin := time.Now(); time.Since(begin) < away; {
								Look()
							}
						}
					})
				}
				for k := range n {
					w.mustSend(t, ordered, 7, 1, fmt.Sprint(k))
					if k%10 == 0 {
						rec.wait(t, "what was sent", func() bool { return len(rec.got) == k+1 })
					}
				}
				rec.wait(t, "all", func() bool { return len(rec.got) == n })
				require.Eventually(t, func() bool { return lent.Load() > 0 }, patience, time.Millisecond, "nobody ever drives")
				close(stop)
				Nudge()
				wg.Wait()
			})
		})
	}
}

// A thread that only ever looks, for a while and then not, and the poller lose nothing either: a bell that it leaves to nobody is
// attended again.
func TestLookAndPollerLoseNothing(t *testing.T) {
	for _, turns := range []struct {
		looks   int
		lasting time.Duration // or more of them, as long as this
	}{{looks: 1}, {looks: pollingLooks + 1}, {pollingLooks + 1, 5 * time.Millisecond}} {
		t.Run(fmt.Sprint(turns.looks, " looks in ", turns.lasting), func(t *testing.T) {
			eachFabric(t, func(t *testing.T, c *cluster) {
				c.unswept()
				w, _, rec := c.pair(nil)
				const n = 100
				turn, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					for range turn {
						for k, begin := 0, time.Now(); k < turns.looks || time.Since(begin) < turns.lasting; k++ {
							Look()
						}
					}
				}()
				for k := range n {
					turn <- struct{}{}
					w.mustSend(t, ordered, 7, 1, fmt.Sprint(k))
					rec.wait(t, "what was sent", func() bool { return len(rec.got) == k+1 })
				}
				close(turn)
				<-done
			})
		})
	}
}

// Readers that take until there is nothing left, look then, and wait for news lose nothing either, though each pass
// brings a part of what is there, and what has come is all there is.
func TestReadersThatLookLoseNothing(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.unswept()
		w, _, rec := c.pair(nil)
		const rounds, burst = 50, 3 * maxBatch
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for taken := 0; ; {
					rec.mu.Lock()
					n := len(rec.got)
					news := rec.changed
					rec.mu.Unlock()
					if n > taken {
						taken = n
						Look()
						continue
					}
					select {
					case <-news:
					case <-stop:
						return
					}
				}
			})
		}
		for k := range rounds {
			for range burst {
				w.mustSend(t, ordered, 7, 1, "x")
			}
			rec.wait(t, "a burst", func() bool { return len(rec.got) == (k+1)*burst })
		}
		close(stop)
		wg.Wait()
	})
}

// Whoever lends itself looks again when it is told to.
func TestNudge(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.join()
		for range 200 {
			var ready atomic.Bool
			go func() {
				ready.Store(true)
				Nudge()
			}()
			begin := time.Now()
			for !ready.Load() {
				Lend(ready.Load)
			}
			require.Less(t, time.Since(begin), sleepLimit)
		}
	})
}

// Whoever drives when the last node goes is let go: nothing rings for it any more.
func TestLendEndsWithTheLastNode(t *testing.T) {
	n, err := Join(ctxFor(t), Config{Domain: rand.Uint32()}, newRecorder())
	require.NoError(t, err)
	gone := make(chan struct{})
	go func() {
		for thePoller.lives.Load() > 0 { // a Nudge of the test before may let it go once
			Lend(func() bool { return false })
			runtime.Gosched()
		}
		close(gone)
	}()
	for thePoller.seat.TryLock() { // until the other one has it, for good
		thePoller.seat.Unlock()
		runtime.Gosched()
	}
	require.NoError(t, n.Leave(ctxFor(t)))
	select {
	case <-gone:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Fatalf("it still waits, with %d nodes left\n%s", thePoller.lives.Load(), stacks[:runtime.Stack(stacks, true)])
	}
	Nudge() // there is nobody to be told
}
