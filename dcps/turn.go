package dcps

import (
	"context"
	"sync/atomic"
	"time"
)

// turn is a lock that a caller gives up waiting for. While nobody waits it costs two atomic operations.
//
// Words and their writers (all atomics are sequentially consistent):
//
//	held     1 while somebody has the turn; by compare-and-swap
//	waiting  how many wait. Who waits counts itself before it tries, and who leaves looks after it has stored held: so
//	         either the one finds it free, or the other finds somebody to wake
//	wake     a token for one of those who wait, who then tries again
type turn struct {
	held    atomic.Int32
	waiting atomic.Int32
	wake    chan struct{} // capacity 1
}

// try takes the turn if nobody has it.
func (t *turn) try() bool { return t.held.CompareAndSwap(0, 1) }

func (t *turn) init() { t.wake = make(chan struct{}, 1) }

// take waits for the turn until ctx is done, or until the deadline, if there is one: then expired is true.
func (t *turn) take(ctx context.Context, deadline time.Time) (expired bool, err error) {
	if t.try() {
		return false, nil
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	for !t.try() {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-late:
			return true, nil
		}
	}
	return false, nil
}

// leave ends the turn. A token that nobody took yet is as good as another.
func (t *turn) leave() {
	t.held.Store(0)
	if t.waiting.Load() > 0 {
		t.next()
	}
}

// next wakes one of those who wait.
func (t *turn) next() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
