package dcps

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// LIVELINESS (DDS 1.4 §2.2.3.11), as far as it is not AUTOMATIC, which the processes' heartbeats serve (outage.go).
//
// A writer of the kind MANUAL_BY_TOPIC is alive for its lease_duration after each message that it sends, or
// AssertLiveliness of it. One of MANUAL_BY_PARTICIPANT is so after what any writer of its participant sends, and after
// AssertLiveliness of any of these or of the participant. Both sides time the lease on their own:
//
//   - Readers, from the reception of a message. What a reader can not see by itself, as it is not of its topic, the
//     writer forwards: a message without data that says how long ago it was asserted (kindAlive). It does so at once for
//     AssertLiveliness, and within a quarter of the lease, with the age deducted, for what other writers send.
//   - The writer, from the assertion. That raises LIVELINESS_LOST.
//
// The words of an assertion, all sequentially consistent: asserted (of writer and participant) only rises, stored by
// whoever writes or asserts; sent is when the writer's readers were last told, stored by the same and by the timer.
// A writer that finds lapsed set after it has stored asserted takes the writer's lock and ends the lapse; the timer sets
// lapsed under that lock, and looks at asserted again after that.

// leaseOf is the lease within which a writer has to assert itself, in ns; 0 if it need not.
func leaseOf(l *qos.Liveliness) int64 {
	if l.Kind == qos.LivelinessAutomatic {
		return 0
	}
	return finite(l.LeaseDuration)
}

// life is a writer's own view of its LIVELINESS.
type life struct {
	lease    int64 // ns; 0 if nothing has to be asserted
	together bool  // MANUAL_BY_PARTICIPANT
	asserted atomic.Int64
	sent     atomic.Int64
	lapsed   atomic.Bool

	// Guarded by the writer's mu.
	due     int64 // when the timer looks; 0 for never
	cut     bool  // the process is cut off
	counted bool  // in the participant's asserting
	status  LivelinessLostStatus
}

// forwards is how many times within a lease a writer looks for assertions that it has to forward.
const forwards = 4

// setupLife begins the writer's first lease. Called with mu held, before anything can be sent.
func (w *writer) setupLife(at int64) {
	l := &w.life
	l.lease, l.together = leaseOf(&w.q.Liveliness), w.q.Liveliness.Kind == qos.LivelinessManualByParticipant
	if l.lease == 0 {
		return
	}
	l.asserted.Store(at)
	l.sent.Store(at)
	w.plan(at, after(at, l.lease))
	l.counted = true
	w.p.asserting.Add(1)
}

// endLife is the inverse of setupLife.
func (w *writer) endLife() {
	w.lock()
	defer w.unlock()
	if w.life.counted {
		w.life.counted, w.life.due = false, 0
		w.p.asserting.Add(-1)
	}
}

// pace is how often the timer looks at a writer that may have to forward assertions.
func (l *life) pace() int64 { return max(l.lease/forwards, 1) }

// latest is when the writer's liveliness was last asserted.
func (w *writer) latestAssertion() int64 {
	at := w.life.asserted.Load()
	if w.life.together {
		at = max(at, w.p.asserted.Load())
	}
	return at
}

// assertedByWriting notes that the writer has written: who writes asserts (§2.2.3.11), whatever becomes of the message. It
// reports false if nobody waits for assertions of the writer, and costs a load where none of the participant has to assert.
func (w *writer) assertedByWriting() (ns int64, awaited bool) {
	if w.p.asserting.Load() == 0 {
		return 0, false
	}
	ns = now()
	raise(&w.p.asserted, ns)
	if w.life.lease == 0 {
		return ns, false
	}
	raise(&w.life.asserted, ns)
	return ns, true
}

// showLife follows a message of the writer.
func (w *writer) showLife() {
	if ns, awaited := w.assertedByWriting(); awaited {
		raise(&w.life.sent, ns)
		w.revive()
	}
}

// showLifeUnsent follows a message that was not sent for want of room. The writer's readers are told when there is room.
func (w *writer) showLifeUnsent() {
	if ns, awaited := w.assertedByWriting(); awaited {
		w.lock()
		defer w.unlock()
		w.lookLife(ns)
	}
}

// raise is rise for times.
func raise(w *atomic.Int64, to int64) {
	for {
		is := w.Load()
		if is >= to || w.CompareAndSwap(is, to) {
			return
		}
	}
}

// revive ends a lapse.
func (w *writer) revive() {
	if w.life.lapsed.Load() {
		w.lock()
		defer w.unlock()
		w.lookLife(now())
	}
}

// lookLife times the lease: the timer's part, with mu held.
func (w *writer) lookLife(at int64) {
	l := &w.life
	if l.lease == 0 {
		return
	}
	ends := after(w.latestAssertion(), l.lease)
	switch lapsed := l.lapsed.Load(); {
	case lapsed && at < ends:
		l.lapsed.Store(false)
	case !lapsed && at >= ends:
		l.lapsed.Store(true)
		if after(w.latestAssertion(), l.lease) > at { // asserted meanwhile, by who may not have seen the lapse
			l.lapsed.Store(false)
		} else if !l.cut {
			w.loseLife()
		}
	}
	w.forwardLife(at)
	w.plan(at, after(w.latestAssertion(), l.lease))
}

// plan says when the timer looks again: when the lease ends, and before that if there may be something to forward.
func (w *writer) plan(at, ends int64) {
	l := &w.life
	l.due = 0
	if !l.lapsed.Load() {
		l.due = ends
	}
	if l.together || w.latestAssertion() > l.sent.Load() {
		if look := after(at, l.pace()); l.due == 0 || look < l.due {
			l.due = look
		}
	}
}

func (w *writer) loseLife() {
	w.life.status.TotalCount++
	w.life.status.TotalCountChange++
	w.changed |= LivelinessLostStatusBit
}

// cutOff follows that readers take all writers of this process for not alive, or do not any more.
func (w *writer) cutOff(cut bool) {
	if l := &w.life; l.cut != cut {
		l.cut = cut
		if cut && !l.lapsed.Load() {
			w.loseLife()
		}
	}
}

// forwardLife tells the writer's readers of an assertion that they have not been told of. It does not wait for room: the
// timer looks again.
func (w *writer) forwardLife(at int64) {
	l := &w.life
	told := l.sent.Load()
	asserted := w.latestAssertion()
	if asserted <= told || w.ended.Load() || w.p.core == nil {
		return
	}
	s, err := w.p.core.reserve(context.Background(), w.at.sg, 0, 0, time.Unix(0, at))
	if err != nil {
		return
	}
	raise(&l.sent, asserted)
	s.commit(derecho.Header{Writer: w.id, Timestamp: max(at-asserted, 0), Kind: kindAlive}, 0)
	w.batch.hurry() // behind messages that wait it would wait with them
}

// AssertLiveliness says that the writer is alive, without writing (DDS: assert_liveliness). It has an effect with
// LIVELINESS MANUAL_BY_TOPIC and MANUAL_BY_PARTICIPANT, where it counts for all writers of the participant that are of that
// kind. It does not wait: if there is no room to tell the readers at once, they are told when there is.
func (w *DataWriter[T]) AssertLiveliness() error {
	u := w.untyped()
	if u.ended.Load() {
		return u.deleted("AssertLiveliness")
	}
	if !u.enabled.Load() {
		return u.notEnabled("AssertLiveliness")
	}
	if u.life.lease == 0 {
		return nil
	}
	at := now()
	if u.life.together {
		return u.p.AssertLiveliness()
	}
	raise(&u.life.asserted, at)
	u.lock()
	defer u.unlock()
	u.lookLife(at)
	return nil
}

// AssertLiveliness says that the writers of the participant with LIVELINESS MANUAL_BY_PARTICIPANT are alive (DDS:
// assert_liveliness). See DataWriter.AssertLiveliness.
func (p *DomainParticipant) AssertLiveliness() error {
	const op = "AssertLiveliness"
	if p.absent() {
		return noParticipant(op)
	}
	p.mu.Lock()
	err := p.usable(op)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	at := now()
	raise(&p.asserted, at)
	for w := range p.writers.all() {
		if w.life.lease != 0 && w.life.together && !w.ended.Load() {
			w.lock()
			w.lookLife(at)
			w.unlock()
		}
	}
	return nil
}

// LivelinessLostStatus tells how often the writer came to be taken for not alive, and starts a new count of changes.
func (w *DataWriter[T]) LivelinessLostStatus() LivelinessLostStatus {
	return w.untyped().LivelinessLostStatus()
}

func (w *writer) LivelinessLostStatus() LivelinessLostStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= LivelinessLostStatusBit
	out := w.life.status
	w.life.status.TotalCountChange = 0
	return out
}

// The reader's side.

// startLease begins to time a writer that is matched.
func (r *reader) startLease(s *source, at int64) {
	if s.lease != 0 {
		s.shownNs = at
		r.leases.by(s, after(at, s.lease))
	}
}

// shown follows a sign of life.
func (r *reader) shown(it *item) {
	s, at := it.src, it.receiveNs
	if it.kind == itemShown {
		at -= it.sourceNs // its age
	}
	s.shownNs = max(s.shownNs, at)
	// It may have waited for so long that the lease is over again.
	if s.lapsed && now() < after(s.shownNs, s.lease) && r.writers[s.key] == s {
		s.lapsed = false
		r.life(s, it.receiveNs)
		r.leases.by(s, after(s.shownNs, s.lease))
	}
}

// endLeases finds the writers that have not shown life for as long as their lease.
func (r *reader) endLeases(now int64) {
	for {
		s, ok := r.leases.take(now)
		if !ok {
			return
		}
		if ends := after(s.shownNs, s.lease); now < ends {
			r.leases.by(s, ends)
			continue
		}
		s.lapsed = true
		r.life(s, now)
	}
}
