package main

import (
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// kind is what operations have to be to be compared with each other.
type kind string

const (
	write  kind = "write"  // values into bytes
	read   kind = "read"   // bytes into values, or checked so that values can be read where they are
	access kind = "access" // values out of bytes that are checked already
)

// operation is what one codec does with one case.
type operation struct {
	Case  string `json:"case"`
	Kind  kind   `json:"kind"`
	Codec string `json:"codec"`
	How   string `json:"how"`   // "encode", "view", ...
	Bytes int    `json:"bytes"` // of the sample
	run   func(n int) (cost, error)
}

// cost is what n operations took.
type cost struct {
	cpu         time.Duration
	allocations uint64
	allocated   uint64 // bytes
}

// inGo makes the run of an operation that is in Go.
func inGo(op func() error) func(n int) (cost, error) {
	return func(n int) (cost, error) {
		var before, after runtime.MemStats
		runtime.GC() // so that no garbage of others is collected in op's time
		runtime.ReadMemStats(&before)
		start := cpuTime()
		for range n {
			if err := op(); err != nil {
				return cost{}, err
			}
		}
		c := cost{cpu: cpuTime() - start}
		runtime.ReadMemStats(&after)
		c.allocations, c.allocated = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
		return c, nil
	}
}

// cpuTime is what all threads of the process have used.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // it exists since Linux 2.6
	}
	return time.Duration(t.Nano())
}

// result is the best of an operation's rounds.
type result struct {
	operation
	NS          float64 `json:"ns_per_op"`
	Allocated   float64 `json:"bytes_per_op"`
	Allocations float64 `json:"allocs_per_op"`
	Worst       float64 `json:"worst_ns_per_op"` // of the rounds

	n int // operations in a round
}

// calibrate finds how many operations take so long.
func (r *result) calibrate(each time.Duration) error {
	for r.n = 1; ; {
		c, err := r.run(r.n)
		if err != nil {
			return err
		}
		if c.cpu >= each/2 || r.n > math.MaxInt32/16 {
			r.n = max(1, int(float64(r.n)*float64(each)/float64(max(c.cpu, 1))))
			r.NS = math.Inf(1)
			return nil
		}
		r.n *= 4
	}
}

// measure is one round.
func (r *result) measure() error {
	c, err := r.run(r.n)
	if err != nil {
		return err
	}
	n := float64(r.n)
	r.Worst = max(r.Worst, float64(c.cpu)/n)
	if ns := float64(c.cpu) / n; ns < r.NS {
		// What the runtime allocates for itself now and then is not op's.
		r.NS, r.Allocations, r.Allocated = ns, float64(c.allocations/uint64(r.n)), float64(c.allocated/uint64(r.n))
	}
	return nil
}
