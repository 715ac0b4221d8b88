package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// progressEvery is how often a long run says on stderr how far it is.
const progressEvery = 10 * time.Second

// progress counts what workers have done.
type progress struct {
	what string // a run is called
	jobs int
	done atomic.Int64 // jobs
	runs atomic.Int64 // of which a job of a sweep has many
}

func (p *progress) String() string {
	if p.what == seeds {
		return fmt.Sprintf("%d of %d seeds", p.done.Load(), p.jobs)
	}
	return fmt.Sprintf("%d of %d lines of the sweep, %d %s", p.done.Load(), p.jobs, p.runs.Load(), p.what)
}

// tell writes a line at each tick until stop is closed.
func (p *progress) tell(w io.Writer, ticks <-chan time.Time, stop <-chan struct{}) {
	began := time.Now()
	for {
		select {
		case now := <-ticks:
			fmt.Fprintf(w, "ddssim: %v after %.0f s\n", p, now.Sub(began).Seconds())
		case <-stop:
			return
		}
	}
}
