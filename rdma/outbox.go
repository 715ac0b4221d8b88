package rdma

import "sync"

// Outbox is the queue of control messages that wait for a link's writer goroutine. Put never
// blocks; control traffic is small and what is large (state transfer) is bounded by its sender.
type Outbox[T any] struct {
	mu     sync.Mutex
	items  []T
	closed bool
	wake   chan struct{} // capacity 1: a wake-up for any number of items
}

// NewOutbox makes an empty outbox.
func NewOutbox[T any]() *Outbox[T] { return &Outbox[T]{wake: make(chan struct{}, 1)} }

// Put queues an item. It reports false, and drops the item, if the outbox is closed.
func (o *Outbox[T]) Put(item T) bool {
	o.mu.Lock()
	open := !o.closed
	if open {
		o.items = append(o.items, item)
	}
	o.mu.Unlock()
	o.Nudge()
	return open
}

// Nudge wakes the writer though there may be no item.
func (o *Outbox[T]) Nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Wait waits for a nudge.
func (o *Outbox[T]) Wait() { <-o.wake }

// Empty reports whether nothing is queued.
func (o *Outbox[T]) Empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.items) == 0
}

// Take waits for a nudge, then returns all items and whether the outbox was closed. into is reused.
// What it returns besides closed is the last: nothing is ever added to a closed outbox.
func (o *Outbox[T]) Take(into []T) (items []T, closed bool) {
	o.Wait()
	return o.Drain(into)
}

// Drain is Take without the wait: what is left for a writer that gives up.
func (o *Outbox[T]) Drain(into []T) (items []T, closed bool) {
	clear(into)
	o.mu.Lock()
	defer o.mu.Unlock()
	items = append(into[:0], o.items...)
	clear(o.items)
	o.items = o.items[:0]
	return items, o.closed
}

// Close makes Take return what is left, and closed.
func (o *Outbox[T]) Close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.Nudge()
}
