package main

import (
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// Lines of the memory of both measurements.
const (
	pingLine  = 0 // the parent writes
	pongLine  = 2 // the child writes; not adjacent, since processors fetch lines in pairs
	stampLine = 4 // who wakes writes, before it wakes
	pageBytes = 4096
)

const stop = -1

// spins is how often one looks before one yields.
const spins = 1000

func spinUntil(w *atomic.Int64, value int64) (got int64) {
	for i := 1; ; i++ {
		if got = w.Load(); got == value || got == stop {
			return got
		}
		if i%spins == 0 {
			yield()
		}
	}
}

// withChild runs parent while the child of this name runs with the same memory, each on its processor.
func withChild(o options, name string, size int, parent func(memory) error, args ...string) error {
	m, f, err := newMemory(size)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := child(f, append([]string{name}, args...)...)
	if err != nil {
		return err
	}
	if o.cpus == nil {
		return meanwhile(c, func() error { return parent(m) })
	}
	// A child begins where this thread is. It is the main one, to which the measurement is locked.
	var before unix.CPUSet
	if err := errors.Join(unix.SchedGetaffinity(0, &before), moveTo(o.cpus[0]), moveTo(o.cpus[1])); err != nil {
		return err
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // where it was allowed to be before
	// The child waits for the parent, whatever happens.
	return meanwhile(c, func() error { return errors.Join(moveTo(o.cpus[0]), parent(m)) })
}

func moveTo(cpu int) error {
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("processor %d: %w", cpu, err)
	}
	return nil
}

// meanwhile runs parent while c runs.
func meanwhile(c *exec.Cmd, parent func() error) error {
	wait, err := start(c)
	if err != nil {
		return err
	}
	err = parent()
	wait()
	return err
}

// cacheline bounces a number between two processes that spin, and then has one of them look for what the other one writes once in
// a millisecond.
func cacheline(o options) ([]result.Result, error) {
	bounced, err := bounce(o)
	if err != nil {
		return nil, err
	}
	rare, err := cachelineAfter(o, rested)
	return []result.Result{bounced, rare}, err
}

func bounce(o options) (result.Result, error) {
	r := result.Result{Size: 8, Readers: 1, What: "round trip of a word between two processes that spin; percentiles of means over 100"}
	err := withChild(o, "cacheline", pageBytes, func(m memory) error {
		ping, pong := m.counter(pingLine), m.counter(pongLine)
		defer ping.Store(stop)
		h, n := result.NewHistogram(), int64(0)
		const batch = 100
		bounce := func() {
			for range batch {
				n++
				ping.Store(n)
				spinUntil(pong, n)
			}
		}
		bounce() // the child is there
		start := time.Now()
		for time.Since(start) < o.duration {
			sent := monotonic()
			bounce()
			if err := h.RecordValue((monotonic() - sent) / batch); err != nil {
				return err
			}
		}
		r.SetThroughput(h.TotalCount()*batch, time.Since(start))
		r.SetLatency(h)
		return nil
	}, "0s")
	return r, err
}

// cachelineAfter is one way: the parent looks all the time, and the child, which has slept before, writes. It is what a
// reader that polls can have of a writer on schedule: the caches of a processor that was idle, or somebody else's, are
// cold.
func cachelineAfter(o options, pause time.Duration) (result.Result, error) {
	r := result.Result{Size: 8, Readers: 1, What: fmt.Sprintf("one way, by a writer that has slept for %v: from before the store until a process that spins sees it", pause)}
	err := withChild(o, "cacheline", pageBytes, func(m memory) error {
		ping, pong := m.counter(pingLine), m.counter(pongLine)
		defer ping.Store(stop)
		n := int64(0)
		return oneWay(&r, m, o.duration, func() {
			n++
			ping.Store(n)
			spinUntil(pong, n)
		})
	}, pause.String())
	return r, err
}

// cachelineChild answers, at once or some time after it was asked.
func cachelineChild(args []string) error {
	pause, err := pauseOf(args)
	if err != nil {
		return err
	}
	m, err := inherited()
	if err != nil {
		return err
	}
	ping, pong := m.counter(pingLine), m.counter(pongLine)
	for n := int64(1); spinUntil(ping, n) != stop; n++ {
		if pause > 0 {
			rest(pause)
			m.counter(stampLine).Store(monotonic()) // visible to who sees the number
		}
		pong.Store(n)
	}
	return nil
}

// pauseOf is how long a child is to wait.
func pauseOf(args []string) (time.Duration, error) {
	if len(args) != 1 {
		return 0, errors.New("needs the time to wait")
	}
	return time.ParseDuration(args[0])
}

// A turn is a futex word: whose turn it is. Both store it, each only when it is its own turn.
const (
	parentsTurn = 0
	childsTurn  = 1
	over        = 2
)

// await sleeps until the word is one of two values, and returns it.
func await(turn *atomic.Uint32, value uint32) uint32 {
	for {
		t := turn.Load()
		if t == value || t == over {
			return t
		}
		sleepWhile(turn, t)
	}
}

// pass gives the turn to the other, and wakes it. The stamp is visible to who sees the turn.
func pass(m memory, turn *atomic.Uint32, to uint32) {
	m.counter(stampLine).Store(monotonic())
	turn.Store(to)
	wakeAll(turn)
}

// rested is how long the second measurement lets the other one sleep before it wakes it: as long as a reader of 1000
// samples a second does. Its processor is idle by then, and takes longer to begin.
const rested = time.Millisecond

// awakeFor is how long before that the one who wakes is awake, as who writes on schedule is (dds perf --spin).
const awakeFor = 60 * time.Microsecond

// futexWakeUp measures from before one process wakes another until that one runs.
func futexWakeUp(o options) ([]result.Result, error) {
	var results []result.Result
	for _, pause := range []time.Duration{0, rested} {
		r, err := futexAfter(o, pause)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// futexAfter is the process that sleeps.
func futexAfter(o options, pause time.Duration) (result.Result, error) {
	r := result.Result{Size: 4, Readers: 1, What: "one way: from before FUTEX_WAKE in one process until the other, which slept, runs"}
	if pause > 0 {
		r.What = fmt.Sprintf("one way, after %v of sleep: from before FUTEX_WAKE in one process until the other runs", pause)
	}
	err := withChild(o, "futex", pageBytes, func(m memory) error {
		turn := m.word(pingLine)
		defer wakeAll(turn)
		defer turn.Store(over)
		return oneWay(&r, m, o.duration, func() {
			pass(m, turn, childsTurn)
			await(turn, parentsTurn)
		})
	}, pause.String())
	return r, err
}

// oneWay measures from the child's stamp until turn, which has the child make one, returns.
func oneWay(r *result.Result, m memory, d time.Duration, turn func()) error {
	turn() // the child is there
	h := result.NewHistogram()
	start := time.Now()
	for time.Since(start) < d {
		turn()
		if err := h.RecordValue(monotonic() - m.counter(stampLine).Load()); err != nil {
			return err
		}
	}
	r.SetThroughput(h.TotalCount(), time.Since(start))
	r.SetLatency(h)
	return nil
}

// futexChild is the one that wakes, some time after it was woken.
func futexChild(args []string) error {
	pause, err := pauseOf(args)
	if err != nil {
		return err
	}
	m, err := inherited()
	if err != nil {
		return err
	}
	turn := m.word(pingLine)
	for await(turn, childsTurn) != over {
		rest(pause)
		pass(m, turn, parentsTurn)
	}
	return nil
}

// rest sleeps for a time, and is awake for the end of it.
func rest(d time.Duration) {
	until := monotonic() + d.Nanoseconds()
	if d > awakeFor {
		t := unix.NsecToTimespec((d - awakeFor).Nanoseconds())
		_ = unix.Nanosleep(&t, nil) // one that is interrupted spins for longer
	}
	for monotonic() < until {
		yield()
	}
}
