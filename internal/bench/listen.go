package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// upcalls lets samples be read in a listener. The listener is there before who reads is, so it waits for that.
type upcalls struct {
	begun chan struct{} // closed when read and over are set

	mu   sync.Mutex // guards over and what read uses
	read func() (more bool)
	over bool // no sample is wanted any more
	done chan struct{}
}

func newUpcalls() *upcalls { return &upcalls{begun: make(chan struct{}), done: make(chan struct{})} }

// onData is called by the middleware, on the goroutine of the reader's listener.
func (u *upcalls) onData() {
	<-u.begun
	u.call()
}

func (u *upcalls) call() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.over && !u.read() {
		u.over = true
		close(u.done)
	}
}

// end returns when no upcall reads any more, nor will.
func (u *upcalls) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
}

// listen is drain for a reader with a listener.
func (r *run) listen(ctx context.Context, s sink, done func() bool) error {
	u := r.in.upcalls()
	var failed error
	u.read = func() bool {
		for !done() {
			switch err := r.in.take(s); {
			case errors.Is(err, errEmpty):
				return true
			case err != nil:
				failed = err
				return false
			case ctx.Err() != nil:
				failed = ctx.Err()
				return false
			}
		}
		return false
	}
	close(u.begun)
	err := r.watch(ctx, u)
	u.end()
	return errors.Join(err, failed)
}

// watch returns when what was wanted has been read, or no writer is left.
func (r *run) watch(ctx context.Context, u *upcalls) error {
	for {
		now, most := r.in.matched()
		r.result.Matched = most
		if most > 0 && now == 0 {
			u.call() // what no upcall has taken yet; writers are unmatched once all they sent has been delivered
			return nil
		}
		select {
		case <-u.done:
			return nil
		case <-r.in.rematched():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// toil is what a reader does with a sample. Short work keeps its core, as computing would; longer work sleeps, since on a
// machine with few cores it would be theirs that who reads quickly misses.
func (r *run) toil() {
	const short = 50 * time.Microsecond
	switch {
	case r.Work == 0:
	case r.Work < short:
		for until := r.clock.now() + int64(r.Work); r.clock.now() < until; {
		}
	default:
		// A signal may cut it short; the next sample makes up for that.
		ts := unix.NsecToTimespec(int64(r.Work))
		_ = unix.Nanosleep(&ts, nil)
	}
}
