package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clock reads CLOCK_MONOTONIC, which all processes of a host share, at the price of the runtime's own clock: package time
// does not show that clock's value, so the distance to it is measured once.
type clock struct {
	base   time.Time
	offset int64 // CLOCK_MONOTONIC at base, ns
}

func newClock() (clock, error) {
	c := clock{base: time.Now()}
	best := time.Duration(math.MaxInt64)
	for range 100 { // the reading that was disturbed least
		var ts unix.Timespec
		before := time.Since(c.base)
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return clock{}, os.NewSyscallError("clock_gettime", err)
		}
		after := time.Since(c.base)
		if after-before < best {
			best = after - before
			c.offset = ts.Nano() - int64(before+best/2)
		}
	}
	return c, nil
}

func (c clock) now() int64 { return c.offset + int64(time.Since(c.base)) }

// clockName tells whose clock it is: that of this boot of this host. Empty if that is not known.
func clockName() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(b), "-")
	return name
}

// pacer spreads samples evenly in time: sample n is due at start + n/rate.
type pacer struct {
	clock clock
	start int64
	rate  float64
	spin  bool
	turns uint // of the spin
	// silent: short sleeps are not the Go runtime's business; see sleepSilently. Other goroutines of this process may
	// then wait for shortSleep.
	silent bool
}

func (p *pacer) due(n uint64) int64 { return p.start + int64(float64(n)*1e9/p.rate) }

// spinFor is how long before its time a pacer that spins wakes up: sleeping ends late by about as much. To spin all the
// time would take a core from those who are measured.
const spinFor = int64(60 * time.Microsecond)

// stepAside is after how many turns a goroutine that spins lets others of its process run: about 50 µs. To do so each
// time would keep a second thread busy with looking for work.
const stepAside = 256

// wait returns at the time t, or soon after ctx ends. It sleeps in the kernel, since timers of the runtime are as coarse as
// a millisecond.
func (p *pacer) wait(ctx context.Context, t int64) error {
	const slice = int64(20 * time.Millisecond) // between two looks at ctx
	for {
		left := t - p.clock.now()
		if left <= 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.spin && left <= spinFor {
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			if p.turns++; p.turns%stepAside == 0 {
				runtime.Gosched() // or no other goroutine of this process ever runs
			}
			continue
		}
		if p.spin {
			left -= spinFor
		}
		if err := p.sleep(min(left, slice)); err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("nanosleep", err)
		}
	}
}

// shortSleep is up to how long a silent sleep takes.
const shortSleep = int64(2 * time.Millisecond)

// sleep sleeps for so many ns, or less.
func (p *pacer) sleep(ns int64) error {
	ts := unix.NsecToTimespec(ns)
	if p.silent && ns <= shortSleep {
		if runtime.GOMAXPROCS(0) == 1 {
			runtime.Gosched() // who is ready goes first; with more processors another one has it, and this would wake a thread for each sample
		}
		return sleepSilently(&ts)
	}
	return unix.Nanosleep(&ts, nil)
}
