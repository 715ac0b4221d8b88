package dcps

import (
	"slices"

	"github.com/omg-dds-go/dds/qos"
)

// LIFESPAN in the histories, and in what a writer counts as kept (§2.2.3.16). What has expired is nobody's any more: it takes
// neither memory nor the room that DURABILITY_SERVICE and RESOURCE_LIMITS leave.
//
// A history forgets it by the latest source timestamp of its topic, when a message comes, so that all replicas stay the same: by
// store.clock, which travels with the state, and by what the writer has announced last, which is what readers go by who are
// given the sample. A sample that comes when it has expired already is not kept, and replaces none.

// lifespanOf is the LIFESPAN of a writer in ns.
func lifespanOf(q *qos.DataWriter) int64 {
	if q.Lifespan.Duration == qos.Infinite {
		return never
	}
	return int64(q.Lifespan.Duration)
}

// expiry is when a sample of the writer expires; never if it does not.
func (w *storedWriter) expiry(timestamp int64) int64 {
	if d := lifespanOf(&w.ann.writer); d != never {
		return after(timestamp, d)
	}
	return never
}

// watch has a record forgotten in its time. Those of an open set are watched once it has ended.
func (s *store) watch(r *record) {
	if at := r.w.expiry(r.message.Timestamp); at != never {
		s.expiries.by(r, at)
	}
}

// expire forgets what has expired by the clock.
func (s *store) expire() {
	for r, ok := s.expiries.take(s.clock); ok; r, ok = s.expiries.take(s.clock) {
		if r.w.expiry(r.message.Timestamp) > s.clock { // the writer has another LIFESPAN than it had
			s.watch(r)
		} else if in := s.instances[r.handle]; in != nil {
			s.forget(in, r)
		}
	}
}

func (s *store) forget(in *storedInstance, r *record) {
	s.touch(in)
	for _, l := range in.lines {
		i := -1
		if l.w == r.w {
			i = slices.Index(l.all(), r)
		}
		if i >= 0 {
			l.remove(i)
			s.recycle(r)
			break
		}
	}
	s.removeLines(in, func(l *storedLine) bool { return l.len() == 0 })
	if len(in.lines) > 0 { // others count that did not beside it
		s.trim(in)
		s.settle(in)
	}
}

// rewrite follows a writer that has another QoS.
func (s *store) rewrite(key endpointKey, info []byte, ann *announcement) {
	w := s.writers[key]
	if w == nil {
		return // nothing of it is kept
	}
	was := lifespanOf(&w.ann.writer)
	w.info, w.ann = info, ann
	if lifespanOf(&ann.writer) == was {
		return
	}
	for in := range s.each() {
		for _, l := range in.lines {
			for _, r := range l.all() {
				if l.w == w && !r.open {
					s.watch(r)
				}
			}
		}
	}
}

// heldSamples is when the samples of an instance expire that a writer counts as held.
type heldSamples struct {
	in    *writtenInstance
	ends  []int64 // in the order in which they were written
	alarm int32   // place in writerInstances.expiries
}

func (s *heldSamples) place() *int32 { return &s.alarm }

// hold notes when a sample expires that was written. Called with mu held.
func (t *writerInstances) hold(n noted) {
	d := t.lifespan.Load()
	s := n.in.held
	if n.samples == 0 || t.untilAcked || n.in.life != n.life || d == never {
		return
	}
	if s == nil {
		s = &heldSamples{in: n.in}
		n.in.held = s
	}
	end := after(n.stamp, d)
	if s.ends = append(s.ends, end); len(s.ends) > t.depth {
		s.ends = slices.Delete(s.ends, 0, 1)
	}
	t.expiries.by(s, end)
}

// relive follows a change of LIFESPAN: it is for what is written from now on. If there is none any more, what is held stays
// until something replaces it.
func (t *writerInstances) relive(lifespan int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lifespan.Store(lifespan); lifespan != never {
		return
	}
	for _, in := range t.byHandle {
		if in.held != nil {
			t.expiries.remove(in.held)
			in.held = nil
		}
	}
}

// expire lets go of what has expired. Called with mu held, when there is no room.
func (t *writerInstances) expire(now int64) {
	for s, ok := t.expiries.take(now); ok; s, ok = t.expiries.take(now) {
		had := len(s.ends)
		s.ends = slices.DeleteFunc(s.ends, func(end int64) bool { return end <= now })
		t.release(s.in, t.held(s.in.written)-(had-len(s.ends)))
		if len(s.ends) > 0 {
			t.expiries.by(s, slices.Min(s.ends))
		}
	}
}

// release has an instance count no more than some samples as held. Called with mu held.
func (t *writerInstances) release(in *writtenInstance, written int) {
	written = max(written, 0) // what is under way is in written, too, but with KEEP_LAST not in what is held
	t.samples -= t.held(in.written) - t.held(written)
	in.written = written
}
