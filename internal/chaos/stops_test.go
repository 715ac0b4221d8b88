package chaos

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stops are the times in which a processor of this machine ran no thread of ours although one was ready: the host that the
// machine is a guest of ran others, or the kernel did what it does not let be interrupted, such as giving back the memory
// of a process that died. For each processor there is a thread that nothing else can keep from running (SCHED_FIFO, on this
// processor alone) and that is to wake up every lookEvery; when it is late, that was a stop. It is what cyclictest does.
type stops struct {
	err  error // why nobody watches
	over atomic.Bool
	mu   sync.Mutex
	seen []stop
}

// stop is from when a thread was to wake up until it did, ns. The processor may have stood still for lookEvery longer.
type stop struct{ from, to int64 }

const (
	lookEvery = 500 * time.Microsecond
	// lateLeast is what is put down; waking up takes some 10 to 50 µs on a guest.
	lateLeast = 100 * time.Microsecond
	// stoodStill is what counts as a stop where pauses are told apart: half a pace.
	stoodStill = 250 * time.Microsecond
)

// watchProcessors begins, and ends with the test. It takes some 6 % of each processor.
func watchProcessors(t testing.TB) *stops {
	t.Helper()
	s := &stops{}
	var allowed unix.CPUSet
	s.err = unix.SchedGetaffinity(0, &allowed)
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(before + allowed.Count()) // each thread keeps one
	var threads sync.WaitGroup
	begun := make(chan error)
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			threads.Go(func() { s.watch(cpu, begun) })
			if err := <-begun; err != nil {
				s.err = err
			}
		}
	}
	if s.err != nil {
		t.Logf("whether processors of this machine stood still is not watched, for which threads need real-time priority: %v", s.err)
	}
	t.Cleanup(func() {
		s.over.Store(true)
		threads.Wait()
		runtime.GOMAXPROCS(before)
	})
	return s
}

func (s *stops) watch(cpu int, begun chan<- error) {
	runtime.LockOSThread() // for good: the thread, which no other goroutine is to have, ends with this
	var here unix.CPUSet
	here.Set(cpu)
	err := unix.SchedSetaffinity(0, &here)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	}
	begun <- err
	if err != nil {
		return
	}
	for due := monotonic() + int64(lookEvery); !s.over.Load(); {
		// Raw: as long as system calls take long the monitor of the Go runtime looks at them thousands of times a second.
		at := unix.NsecToTimespec(due)
		_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
		late := monotonic() - due
		if late < 0 {
			continue // a signal
		}
		if late >= int64(lateLeast) {
			now := time.Now().UnixNano()
			s.mu.Lock()
			s.seen = append(s.seen, stop{now - late, now})
			s.mu.Unlock()
		}
		due += late + int64(lookEvery)
	}
}

func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it can not fail with this clock
	return t.Nano()
}

// longest is for how long a processor stood still at a time, of what lies between two moments, ns.
func (s *stops) longest(from, to int64) (d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.seen {
		d = max(d, time.Duration(min(stop.to, to)-max(stop.from, from)))
	}
	return d
}

// watched: what longest says is known.
func (s *stops) watched() bool { return s != nil && s.err == nil }

// explain notes in the longest gap between two moments when processors stood still.
func (s *stops) explain(g *gap, from, to time.Time) {
	if g.watched = s.watched(); g.watched {
		end := g.end.UnixNano()
		g.stop, g.stopAround = s.longest(end-int64(g.long), end), s.longest(from.UnixNano(), to.UnixNano())
	}
}

// stolen is for how long this machine's processors did not run since it started, because the host that it is a guest of
// ran others, in hundredths of a second.
func stolen() int64 {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	if f := strings.Fields(line); len(f) > 8 {
		v, _ := strconv.ParseInt(f[8], 10, 64)
		return v
	}
	return 0
}
