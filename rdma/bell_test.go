package rdma

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waitFor sleeps on the bell until done; it is the poller of package derecho in small.
func waitFor(b *Bell, limit time.Duration, done func() bool) (slept int) {
	for !done() {
		b.Prepare()
		if done() {
			b.Cancel()
			return slept
		}
		b.Sleep(limit)
		slept++
	}
	return slept
}

// Two goroutines hand a counter to and fro, each sleeping until it is its turn. A wake-up that is
// lost would cost the limit of the sleep, which is longer than the test may take.
func TestBellLosesNoWakeUp(t *testing.T) {
	const rounds, limit = 3000, time.Minute
	begin := time.Now()
	var words [2]uint32
	bells := [2]*Bell{NewBell(&words[0]), NewBell(&words[1])}
	var turn atomic.Uint64
	done := make(chan struct{})
	play := func(me uint64) {
		for turn.Load() < rounds {
			waitFor(bells[me], limit, func() bool { v := turn.Load(); return v%2 == me || v >= rounds })
			if v := turn.Load(); v < rounds {
				turn.Store(v + 1)
			}
			bells[1-me].Ring()
		}
		bells[1-me].Ring()
	}
	go func() { defer close(done); play(1) }()
	play(0)
	<-done
	require.Less(t, time.Since(begin), limit, "a wake-up was lost")
}

// Many ring, one sleeps: after the last store the sleeper sees it.
func TestBellManyRingers(t *testing.T) {
	const ringers, each, limit = 4, 1000, time.Minute
	begin := time.Now()
	var word uint32
	b := NewBell(&word)
	var sum atomic.Uint64
	var wg sync.WaitGroup
	for range ringers {
		wg.Go(func() {
			for range each {
				sum.Add(1)
				b.Ring()
			}
		})
	}
	waitFor(b, limit, func() bool { return sum.Load() == ringers*each })
	require.Less(t, time.Since(begin), limit, "a wake-up was lost")
	wg.Wait()
	require.Equal(t, uint32(bellAwake), word)
}

func TestBellRungBeforeSleep(t *testing.T) {
	var word uint32
	b := NewBell(&word)
	b.Ring()
	require.Equal(t, uint32(bellAwake), word, "nobody sleeps: ringing leaves no trace")
	b.Prepare()
	b.Ring()
	begin := time.Now()
	b.Sleep(time.Minute)
	require.Less(t, time.Since(begin), time.Minute)
	b.Prepare()
	b.Sleep(time.Millisecond) // nobody rings: the limit ends it
	require.Equal(t, uint32(bellAwake), word)
}

// A peer that writes anything into the word costs a wake-up at most.
func TestBellWithForeignValue(t *testing.T) {
	var word uint32
	b := NewBell(&word)
	b.Prepare()
	word = 77
	b.Ring()
	begin := time.Now()
	b.Sleep(time.Minute)
	require.Less(t, time.Since(begin), time.Minute)
}
