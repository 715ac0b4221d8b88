package dcps

import (
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// lending is how a reader has samples without a copy: they stay in the ring of their writer, which can not be used
// again from there on. So nobody may keep them for long: those in the cache are copied when a writer is short of room,
// and those that are handed out are copied unless the writers keep the reader's pace anyway. See docs/adr/0018.
type lending struct {
	from int  // least bytes; 0: never
	pins bool // also what is handed out by loan

	count atomic.Int32 // items that are lent; raised by the polling goroutine, and by the holder of the lock for what it has already
	// cold is how often the reader has to take before samples are lent to it again: it did not do so in time, and a writer
	// has waited. Stored by the holder of the lock, the polling goroutine looks.
	cold atomic.Int32

	// Guarded by the reader's lock: those in the cache or parked, by arrival. What has left the cache is not among them: who has
	// it then reads it.
	first, last *item
}

// coldTakes bounds what slow readers cost: a writer waits for them for a millisecond (derecho.Handler.Reclaim), and then not
// before they have taken so often.
const coldTakes = 64

func (l *lending) init(q qos.DataReader, from int) {
	l.from = max(from, 0)
	l.pins = q.Reliability.Kind == qos.ReliabilityReliable && q.History.Kind == qos.HistoryKeepAll
}

// lends tells whether the reader takes samples in time.
func (l *lending) lends() bool { return l.from > 0 && l.cold.Load() == 0 }

// receive makes an item with the bytes of a message, for the polling goroutine: lent if that is worth it, otherwise a copy.
// It is not lent if it may be held back for long.
func (r *reader) receive(m *derecho.Message, soon bool) *item {
	l := &r.lending
	if soon && len(m.Payload) >= l.from && l.lends() {
		if loan := m.Lend(); loan != nil {
			it := r.pool.get(0)
			it.loan, it.buf = loan, m.Payload
			l.count.Add(1)
			return it
		}
	}
	it := r.pool.get(len(m.Payload))
	it.own = append(it.own[:0], m.Payload...)
	it.buf = it.own
	return it
}

// admit takes note of an item that comes to the cache.
func (l *lending) admit(it *item) {
	if it.loan == nil {
		return
	}
	if it.lentBefore = l.last; l.last == nil {
		l.first = it
	} else {
		l.last.lentAfter = it
	}
	l.last = it
}

func (l *lending) listed(it *item) bool { return it.lentBefore != nil || l.first == it }

func (l *lending) unlist(it *item) {
	if !l.listed(it) {
		return
	}
	if it.lentBefore == nil {
		l.first = it.lentAfter
	} else {
		it.lentBefore.lentAfter = it.lentAfter
	}
	if it.lentAfter == nil {
		l.last = it.lentBefore
	} else {
		it.lentAfter.lentBefore = it.lentBefore
	}
	it.lentBefore, it.lentAfter = nil, nil
}

// end gives the sample back to its writer: nobody needs it any more, or it was copied.
func (l *lending) end(it *item) {
	if it.loan == nil {
		return
	}
	l.unlist(it)
	it.loan.Release()
	it.loan = nil
	l.count.Add(-1)
}

// keep makes the item's bytes its own. Nobody else may have them.
func (l *lending) keep(it *item) {
	it.own = append(it.own[:0], it.buf...)
	it.buf = it.own
	l.end(it)
}

// reclaim copies what lies in the cache, or is parked, unless somebody reads it now.
func (l *lending) reclaim() {
	for it := l.first; it != nil; {
		next := it.lentAfter
		if it.refs == 1 {
			if it.kind == itemRun {
				l.keepRun(it)
			} else {
				l.keep(it)
			}
			l.cold.Store(coldTakes)
		}
		it = next
	}
}

// handOver sees to samples that go out of the reader's hands.
func (l *lending) handOver(s *selection, c *collection) {
	if cold := l.cold.Load(); cold > 0 && s.take && c.count() > 0 {
		l.cold.Store(cold - 1)
	}
	others := int32(2) // the cache, and this collection
	if s.take {
		others = 1
	}
	for _, it := range c.items {
		switch {
		case it.loan == nil, s.lend && l.pins, it.refs > others:
		default:
			l.keep(it)
		}
	}
}

// dropLent empties the cache of what is lent.
func (r *reader) dropLent() {
	for r.lending.first != nil {
		r.cache.drop(r.lending.first)
	}
}

// Reclaim has the readers of a subgroup copy what is lent to them.
func (h *hub) Reclaim(sg derecho.SubgroupID) {
	for _, e := range h.endpoints {
		if r := e.reader; r != nil && r.lending.count.Load() > 0 && slices.Contains(r.subgroups, sg) {
			it := &item{kind: itemReclaim}
			r.post(it, it)
		}
	}
}
