package rdma

import (
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The versions of Go for which sleep.go was checked end with the one that builds this. With a later one nothing is
// wrong, only slower: so it fails where a change is checked (.ci/run), and says so elsewhere.
func TestSleepKnowsThisGo(t *testing.T) {
	if sleepsApart {
		return
	}
	say := t.Skipf
	if os.Getenv("CI") != "" {
		say = t.Errorf
	}
	say("%s: look whether runtime.entersyscallblock and runtime.exitsyscall are what they were in Go 1.26, and whether the tests pass with them, then name the version in sleep.go and sleep_plain.go (or this is a build with the tag ddsplainsleep)", runtime.Version())
}

// Who sleeps on a bell leaves its processor to others at once. If it kept it, another goroutine would begin when the
// monitor of the Go runtime has looked twice, which is 20 µs apart at least, and 70 with the slack that timers of a
// thread mostly have. The shortest times of many are looked at, which hardly any load of the machine lengthens; if one
// does, it is looked again.
func TestSleepLeavesItsProcessorToOthers(t *testing.T) {
	const quick = 20 * time.Microsecond
	took := shortSleeps()
	for try := 1; took >= quick && try < 10; try++ {
		took = shortSleeps()
	}
	t.Logf("the other began after %v in one of ten", took)
	require.Less(t, took, quick)
}

// shortSleeps says how long it takes in one of ten until another goroutine begins.
func shortSleeps() time.Duration {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bell := NewBell(new(BellWords))
	var waits []time.Duration
	for range 200 {
		s := bell.Poller() // in no train
		var ran atomic.Int64
		go func() { // there is no processor for it until this goroutine sleeps
			at := clock()
			s.Wake()
			ran.Store(int64(at))
		}()
		s.Prepare()
		began := clock()
		for ran.Load() == 0 {
			s.Sleep(time.Millisecond)
		}
		waits = append(waits, time.Duration(ran.Load())-began)
	}
	slices.Sort(waits)
	return waits[len(waits)/10]
}

// One that is woken every now and then keeps its processor, until a sleep is longer. A thread that is not let run for
// long has slept for long: its train begins anew.
func TestSleepInATrain(t *testing.T) {
	s := NewBell(new(BellWords)).Poller()
	briefly := func() bool {
		s.Settle()
		s.Wake()
		return s.Sleep(time.Minute)
	}
	for range 2 {
		sleeps, most := 0, 1000*trainLength
		for ; s.short < trainLength; sleeps++ {
			require.Less(t, sleeps, most, "never a train")
			require.Equal(t, sleepsApart, briefly())
		}
		require.GreaterOrEqual(t, sleeps, trainLength)
		require.False(t, briefly())
		s.Settle()
		require.False(t, s.Sleep(shortSleep), "short, though nobody woke it")
		s.Settle()
		require.Equal(t, sleepsApart, s.Sleep(2*shortSleep))
		require.Zero(t, s.short, "the train has ended")
	}
}

func clock() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// What stops or looks at all goroutines finds those that sleep apart in order: the collector, which shrinks stacks,
// dumps of stacks, profiles, the tracer.
func TestSleepIsSeenByTheRuntime(t *testing.T) {
	require.NoError(t, pprof.StartCPUProfile(io.Discard))
	defer pprof.StopCPUProfile()
	require.NoError(t, trace.Start(io.Discard))
	defer trace.Stop()
	bell := NewBell(new(BellWords))
	var rounds atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		var deep func(n int) int
		deep = func(n int) int { // a stack to be shrunk
			if n == 0 {
				return 0
			}
			var pad [256]byte
			return deep(n-1) + int(pad[n%256])
		}
		for rounds.Load() < 300 {
			deep(100)
			s := bell.Poller() // in no train
			s.Prepare()
			s.Sleep(200 * time.Microsecond)
			rounds.Add(1)
		}
	})
	dump := make([]byte, 1<<20)
	for rounds.Load() < 300 {
		runtime.GC()
		require.Contains(t, string(dump[:runtime.Stack(dump, true)]), "TestSleepIsSeenByTheRuntime")
		bell.Ring()
	}
	wg.Wait()
}
