package shm

import (
	"runtime"
	"sync/atomic"
)

// pacer has the collector run when mapped memory has doubled since it ran: it does not see that memory, and mappings
// end with the last reference (docs/adr/0009). A process whose readers come and go, and that allocates next to nothing,
// would keep the rings of all epochs that there were.
//
// Words and their writers: mapped, whoever maps and the cleanups; limit, the goroutine that collects, of which collecting lets
// only one in.
type pacer struct {
	mapped     atomic.Int64
	limit      atomic.Int64 // mapped beyond which it is time
	collecting atomic.Bool
	collect    func() // returns when memory that nothing refers to was unmapped, or is about to be
}

// paceFloor is how much may be mapped without any collection for its sake.
const paceFloor = 64 << 20

var pace = newPacer(runtime.GC)

func newPacer(collect func()) *pacer {
	p := &pacer{collect: collect}
	p.limit.Store(paceFloor)
	return p
}

func (p *pacer) grow(size int) {
	if p.mapped.Add(int64(size)) <= p.limit.Load() || !p.collecting.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer p.collecting.Store(false)
		p.collect()
		// Cleanups run after the collection, on a goroutine of the runtime: what is still counted here may be gone
		// soon, which makes the next limit too high by as much, once.
		p.limit.Store(max(2*p.mapped.Load(), paceFloor))
	}()
}

func (p *pacer) shrink(size int) { p.mapped.Add(-int64(size)) }
