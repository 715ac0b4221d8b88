package main

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// forever is the delay of a process that never sends.
const forever = time.Duration(math.MaxInt64)

// workload is what the processes do. All of them are in all subgroups, send and receive.
type workload struct {
	Processes int
	Transport string
	Size      int           // bytes of a message
	Subgroups int           // that the processes are in
	Active    int           // of those, in which they send, in turn
	Threads   int           // that send, at each process
	Slow      int           // processes that wait for Delay after each message
	Delay     time.Duration // forever: they never send
	Rate      int           // if not 0, only the first process sends, so many messages a second
	Upcall    time.Duration // that the application takes in the upcall for each message
	Copies    bool          // the receivers copy each message out
	Keeps     bool          // the receivers have each message lent, and give it back behind the upcall; what is not lent they copy out
	Window    int           // messages that a ring holds at least
	Ring      int           // bytes of a ring
}

// paperWindow is the one that the paper uses, in messages.
const paperWindow = 100

// overhead is what a message takes in a ring besides its bytes, at most.
const overhead = 64

// among is the workload from which all others differ in something.
func among(processes int, transport string) workload {
	return workload{Processes: processes, Transport: transport, Subgroups: 1, Active: 1, Threads: 1, Window: paperWindow}.size(10 << 10)
}

func (w workload) size(n int) workload {
	w.Size = n
	return w.fitRing()
}
func (w workload) window(n int) workload {
	w.Window = n
	return w.fitRing()
}

// fitRing is the least ring, a power of two, that holds the window.
func (w workload) fitRing() workload {
	const least = 1 << 12 // of the core
	w.Ring = max(least, 1<<bits.Len(uint(w.Window*(w.Size+overhead)-1)))
	return w
}
func (w workload) threads(n int) workload          { w.Threads = n; return w }
func (w workload) rate(perSecond int) workload     { w.Rate = perSecond; return w }
func (w workload) upcall(d time.Duration) workload { w.Upcall = d; return w }
func (w workload) copied() workload                { w.Copies = true; return w }
func (w workload) kept() workload                  { w.Keeps = true; return w }
func (w workload) subgroups(n, active int) workload {
	w.Subgroups, w.Active = n, active
	w.Ring = 256 << 10 // 50 times what is on its way to each peer has to get there within the warm-up
	return w
}
func (w workload) slow(n int, d time.Duration) workload {
	w.Slow, w.Delay = n, d
	return w
}

func (w workload) String() string {
	parts := []string{fmt.Sprintf("%d × %s", w.Processes, w.Transport), fmt.Sprintf("%d B", w.Size)}
	if w.Subgroups > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d subgroups active", w.Active, w.Subgroups))
	}
	if w.Window != paperWindow {
		parts = append(parts, fmt.Sprintf("window %d", w.Window))
	}
	if w.Threads > 1 {
		parts = append(parts, fmt.Sprintf("%d threads", w.Threads))
	}
	switch {
	case w.Slow > 0 && w.Delay == forever:
		parts = append(parts, fmt.Sprintf("%d never sends", w.Slow))
	case w.Slow > 0:
		parts = append(parts, fmt.Sprintf("%d waits %v", w.Slow, w.Delay))
	}
	if w.Rate > 0 {
		parts = append(parts, fmt.Sprintf("one sends %d/s", w.Rate))
	}
	if w.Upcall > 0 {
		parts = append(parts, fmt.Sprintf("upcalls of %v", w.Upcall))
	}
	if w.Copies {
		parts = append(parts, "copied out")
	}
	if w.Keeps {
		parts = append(parts, "lent")
	}
	return strings.Join(parts, ", ")
}

// member is what one process is told.
type member struct {
	workload
	Index            int
	Domain           uint32
	Off              string // as derecho.ParseSpindle reads it
	Warmup, Duration time.Duration
}

// outcome is what one process tells.
type outcome struct {
	Messages int64   `json:"messages"` // delivered
	Upcalls  int64   `json:"upcalls"`
	Writes   int64   `json:"writes"` // system calls: over tcp, what a post of RDMA writes is in the paper
	Reads    int64   `json:"reads"`  // likewise
	Mapped   int64   `json:"mapped"` // bytes of memory that it shares with others, or could
	Seconds  float64 `json:"seconds"`
	P50      int64   `json:"p50_ns"` // from before Reserve to the upcall at another process
	P99      int64   `json:"p99_ns"`
}
