package dcps

import "sync/atomic"

// itemPool recycles the items of one reader. The polling goroutine takes, whoever holds the reader's lock gives back:
// first into a chain of its own (drop), then, some at a time, to a lock-free stack of chains (flush). The taker takes
// the chain that came last: its items are in the processor's caches, while those at the bottom, of a burst long ago,
// are not.
//
// Only the polling goroutine takes from the stack, so what is below a chain does not change while that is on top.
type itemPool struct {
	dropped chain // of the holder of the reader's lock
	// the first of a chain; it knows the chain below, and how many items there are with those below, and the bytes of
	// their buffers
	returned atomic.Pointer[item]
	ready    *item // the polling goroutine's
}

// chain is a list of items that are not used.
type chain struct {
	first, last *item
	n, bytes    int
}

// flushAt is how many items wait for flush at most.
const flushAt = 64

// maxPooled and maxPooledBytes bound the items that a reader keeps for reuse after a burst, and their buffers. What is
// given back beyond is left to the garbage collector.
const (
	maxPooled      = 8192
	maxPooledBytes = 8 << 20
)

// get gives an item with room for size bytes, for the polling goroutine.
func (p *itemPool) get(size int) *item {
	if p.ready == nil {
		p.ready = p.take()
	}
	it := p.ready
	if it == nil {
		it = &item{pooled: true}
	} else {
		p.ready = it.next
	}
	if cap(it.own) < size {
		it.own = make([]byte, 0, roundUp(size))
	}
	it.next, it.refs = nil, 1
	return it
}

// take takes the chain that was given back last; nil if there is none.
func (p *itemPool) take() *item {
	for {
		top := p.returned.Load()
		if top == nil {
			return nil
		}
		if p.returned.CompareAndSwap(top, top.after) {
			top.after = nil
			return top
		}
	}
}

// roundUp gives sizes in steps, so that samples whose size varies a little share buffers.
func roundUp(size int) int {
	const step = 64
	return (size + step - 1) / step * step
}

// memory is the size of the buffers that an item keeps.
func (it *item) memory() int { return cap(it.own) + cap(it.run)*sampleOfRunBytes }

// reset makes an item as new, but for its buffers.
func (it *item) reset() {
	clear(it.run)
	*it = item{own: it.own[:0], run: it.run[:0], pooled: true}
}

// drop takes an item back that nobody refers to. Items that were not made by get are left to the garbage collector.
func (p *itemPool) drop(it *item) {
	if !it.pooled {
		return
	}
	it.reset()
	if it.next = p.dropped.first; it.next == nil {
		p.dropped.last = it
	}
	p.dropped.first = it
	p.dropped.n++
	p.dropped.bytes += it.memory()
	if p.dropped.n == flushAt {
		p.flush()
	}
}

// flush gives back what was dropped.
func (p *itemPool) flush() {
	c := p.dropped
	p.dropped = chain{}
	for c.first != nil {
		old := p.returned.Load() // what is there, or less by now: only the holder of the lock adds to it
		have, haveBytes := 0, 0
		if old != nil {
			have, haveBytes = int(old.count), int(old.bytes)
		}
		for c.first != nil && (have+c.n > maxPooled || haveBytes+c.bytes > maxPooledBytes) {
			c.n--
			c.bytes -= c.first.memory()
			c.first = c.first.next
		}
		if c.first == nil {
			return
		}
		c.first.count, c.first.bytes = int32(have+c.n), int32(haveBytes+c.bytes)
		c.first.after = old
		if p.returned.CompareAndSwap(old, c.first) {
			return
		}
	}
}
