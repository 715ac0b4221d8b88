package main

// waiter calls back when what was begun in some order ends in about the same order: one goroutine for all messages
// on the way, not one for each.
type waiter struct{ queue chan pending }

type pending struct {
	wait func() error
	done func(error)
}

func newWaiter(capacity int) *waiter {
	w := &waiter{make(chan pending, capacity)}
	go func() {
		for p := range w.queue {
			p.done(p.wait())
		}
	}()
	return w
}

// push adds a message. wait blocks until it is ordered. It blocks while capacity messages are on the way.
func (w *waiter) push(wait func() error, done func(error)) { w.queue <- pending{wait, done} }

// close ends the goroutine after what was pushed. Nothing may be pushed any more.
func (w *waiter) close() { close(w.queue) }
