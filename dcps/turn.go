package dcps

import (
	"context"
	"sync/atomic"
	"time"
)

// turn is a lock that a caller gives up waiting for, and the latest number that was given out under it. While nobody
// waits it costs two atomic operations, with the number.
//
// Words and their writers (all atomics are sequentially consistent):
//
//	word     twice the number, and 1 while somebody has the turn. Whoever takes the turn swaps it; the rest is stored by who has it
//	waiting  how many wait. Who waits counts itself before it tries, and who leaves looks after it has stored word: so
//	         either the one finds it free, or the other finds somebody to wake
//	wake     a token for one of those who wait, who then tries again
type turn struct {
	word    atomic.Uint64
	waiting atomic.Int32
	wake    chan struct{} // capacity 1
}

// try takes the turn if nobody has it.
func (t *turn) try() bool {
	for {
		is := t.word.Load()
		if is&1 != 0 {
			return false
		}
		if t.word.CompareAndSwap(is, is|1) {
			return true
		}
	}
}

// number is the latest one. Any goroutine.
func (t *turn) number() uint64 { return t.word.Load() >> 1 }

// another gives the next number out. Who has the turn.
func (t *turn) another() uint64 { return t.word.Add(2) >> 1 }

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
func (t *turn) leave() { t.leaveAt(t.number()) }

// leaveAt is leave, which makes n the latest number.
func (t *turn) leaveAt(n uint64) {
	t.word.Store(n << 1)
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
