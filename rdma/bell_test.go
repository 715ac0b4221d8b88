package rdma

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// waitFor sleeps until done; it is the poller of package derecho in small.
func waitFor(s *Sleeper, limit time.Duration, done func() bool) (slept int) {
	for !done() {
		s.Prepare()
		if done() {
			s.Cancel()
			return slept
		}
		s.Sleep(limit)
		slept++
	}
	return slept
}

// Two goroutines hand a counter to and fro, each sleeping until it is its turn. A wake-up that is
// lost would cost the limit of the sleep, which is longer than the test may take.
func TestBellLosesNoWakeUp(t *testing.T) {
	t.Run("shared", func(t *testing.T) { handToAndFro(t, func(*Bell, uint64) {}) })
	t.Run("local", func(t *testing.T) { handToAndFro(t, func(b *Bell, _ uint64) { b.SetLocal(true) }) })
	t.Run("both in turns", func(t *testing.T) { handToAndFro(t, func(b *Bell, turn uint64) { b.SetLocal(turn%14 < 7) }) })
}

func handToAndFro(t *testing.T, each func(b *Bell, turn uint64)) {
	const rounds, limit = 3000, time.Minute
	begin := time.Now()
	bells := [2]*Bell{NewBell(new(BellWords)), NewBell(new(BellWords))}
	var turn atomic.Uint64
	done := make(chan struct{})
	play := func(me uint64, sleeper *Sleeper) {
		for turn.Load() < rounds {
			waitFor(sleeper, limit, func() bool { v := turn.Load(); return v%2 == me || v >= rounds })
			if v := turn.Load(); v < rounds {
				each(bells[1-me], v)
				turn.Store(v + 1)
			}
			bells[1-me].Ring()
		}
		bells[1-me].Ring()
	}
	go func() { defer close(done); play(1, bells[1].Waiter()) }()
	play(0, bells[0].Poller())
	<-done
	require.Less(t, time.Since(begin), limit, "a wake-up was lost")
}

// Many ring, one sleeps: after the last store the sleeper sees it.
func TestBellManyRingers(t *testing.T) {
	const ringers, each, limit = 4, 1000, time.Minute
	begin := time.Now()
	words := new(BellWords)
	b := NewBell(words)
	s := b.Poller()
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
	waitFor(s, limit, func() bool { return sum.Load() == ringers*each })
	require.Less(t, time.Since(begin), limit, "a wake-up was lost")
	wg.Wait()
	require.Equal(t, uint32(awake), words.Asleep.Load())
}

func TestBellRungBeforeSleep(t *testing.T) {
	words := new(BellWords)
	b := NewBell(words)
	s := b.Poller()
	b.Ring()
	require.Equal(t, uint32(awake), words.Asleep.Load(), "nobody sleeps: ringing leaves no trace")
	s.Prepare()
	b.Ring()
	begin := time.Now()
	s.Sleep(time.Minute)
	require.Less(t, time.Since(begin), time.Minute)
	s.Prepare()
	s.Sleep(time.Millisecond) // nobody rings: the limit ends it
}

// The poller sleeps on while a waiter takes its place, and is woken again from then on that it is named.
func TestBellWakesTheOneWhoIsNamed(t *testing.T) {
	b := NewBell(new(BellWords))
	p, w := b.Poller(), b.Waiter()
	p.Prepare()
	woken := make(chan struct{})
	go func() {
		p.Sleep(time.Minute)
		close(woken)
	}()
	for range 100 {
		w.Prepare()
		go b.Ring()
		begin := time.Now()
		w.Sleep(time.Minute)
		require.Less(t, time.Since(begin), time.Minute)
		w.Cancel()
		b.Ring() // nobody sleeps who is named
		select {
		case <-woken:
			t.Fatal("the poller was woken")
		default:
		}
	}
	p.Name()
	b.Ring()
	<-woken

	p.Settle()
	p.Wake() // whoever is named
	begin := time.Now()
	p.Sleep(time.Minute)
	require.Less(t, time.Since(begin), time.Minute)
}

// However many ring, and however often, a sleep that was announced is ended by one wake-up, of the one who is named;
// who is awake is not woken.
func TestOneWakeUpForASleep(t *testing.T) {
	words := new(BellWords)
	b := NewBell(words)
	sleepers := []*Sleeper{b.Poller(), b.Waiter()}
	wakeUps := func() [2]uint32 { return [2]uint32{words.rung[0].Load(), words.rung[1].Load()} }
	ring := func() {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 1000 {
					b.Ring()
				}
			})
		}
		all.Wait()
	}
	var want [2]uint32
	for range 20 {
		for i, s := range sleepers {
			ring()
			require.Equal(t, want, wakeUps(), "nobody sleeps")
			s.Prepare()
			s.Cancel()
			ring()
			require.Equal(t, want, wakeUps(), "it has thought better of it")
			s.Prepare()
			ring()
			want[i]++
			require.Equal(t, want, wakeUps())
			s.Sleep(time.Minute)
		}
	}
}

// What is loaded at each ring has a cache line, and what changes at each wake-up has the other.
func TestBellWords(t *testing.T) {
	var w BellWords
	require.Zero(t, unsafe.Offsetof(w.Asleep))
	require.EqualValues(t, 64, unsafe.Offsetof(w.rung))
	require.EqualValues(t, 128, unsafe.Sizeof(w), "nothing of what follows is on its lines")
}

// A peer that writes anything into the word costs a wake-up at most.
func TestBellWithForeignValue(t *testing.T) {
	words := new(BellWords)
	b := NewBell(words)
	s := b.Poller()
	s.Prepare()
	words.Asleep.Store(77)
	b.Ring()
	begin := time.Now()
	s.Sleep(time.Minute)
	require.Less(t, time.Since(begin), time.Minute)
}
