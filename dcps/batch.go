package dcps

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// LATENCY_BUDGET and SuspendPublications: messages that are complete in the ring and not published yet, so that many of them
// cost one wake-up of the receivers (DDS 1.4 §2.2.3.8, §2.2.2.4.1.8).
//
// A ring publishes in order. So what waits here would hold up whatever this process sends behind it in the subgroup, and the
// batch is one of the subgroup: who publishes at once publishes what waits, too. A batch ends when
//
//   - half of the smallest LATENCY_BUDGET in it is over, the other half being left for the way; or the Publisher resumes,
//   - it has become so large that the ring might fill up (batchMessages, or an eighth of the ring),
//   - a writer without budget publishes, somebody waits for acknowledgements or asserts LIVELINESS, a coherent set ends, or a
//     writer closes.
//
// Several goroutines may have reserved places, and the one with the earlier place may come to the batch last: then what
// was published behind it would wait for it. The words, all sequentially consistent, by which one of the two notices:
//
//	who may wait    stores used, reads hurried, takes its place, stores pending, and reads hurried again: if it has risen, or if
//	                there is no reason to wait any more, it publishes
//	who does not    takes its place, publishes, reads used, raises hurried, and reads pending: if something waits, it publishes that
//
// Who uses neither pays the load of used.
type batch struct {
	used    atomic.Bool   // somebody has had messages that may wait; stays
	hurried atomic.Uint64 // how often somebody was in a hurry, since used
	pending atomic.Bool   // messages wait; stored with mu held
	due     atomic.Int64  // when the batch ends; 0 for never. Stored with mu held

	mu      sync.Mutex
	waiting []deferred
	bytes   int
}

// deferred is a message that is not published yet.
type deferred struct {
	w          *writer
	slot       slot
	header     derecho.Header
	size       int
	exclusions uint64
	inFlight   bool
}

const (
	batchMessages = 256
	batchShare    = 8 // of the ring

	// longestBudget bounds what an infinite budget means: the application would rather see a sample some time.
	longestBudget = time.Second
)

// batchOf gives the batch of a subgroup.
func (p *DomainParticipant) batchOf(sg derecho.SubgroupID) *batch {
	b, _ := p.batches.LoadOrStore(sg, new(batch))
	return b.(*batch)
}

// budgetOf is how long a message may wait, in ns.
func budgetOf(q qos.LatencyBudget) int64 { return int64(min(q.Duration/2, longestBudget)) }

func (w *writer) defers() bool { return w.budget.Load() != 0 || w.pub.suspended.Load() > 0 }

// mayWait tells whether the next message of the writer may wait for others, before it has a place.
func (w *writer) mayWait(r *reservation) {
	if r.waits = w.defers(); r.waits {
		w.batch.used.Store(true)
		r.hurried = w.batch.hurried.Load()
	}
}

// dispatch publishes a message, now or with others.
func (w *writer) dispatch(r *reservation, h derecho.Header, size int) {
	b := w.batch
	if !r.waits || !w.defers() {
		w.commit(&r.slot, h, size)
		w.landed(r)
		w.doubt.sent(r.exclusions)
		b.hurry()
		return
	}
	due, suspended := int64(0), w.pub.suspended.Load() > 0
	if !suspended {
		due = after(now(), w.budget.Load())
	}
	if b.add(deferred{w, r.slot, h, size, r.exclusions, r.inFlight}, due, w.p.settings.RingBytes/batchShare) {
		w.rearm()
	}
	// Who changes one of these does so before publishing what waits, of which this message may not have been one yet.
	if b.hurried.Load() != r.hurried || w.ended.Load() || suspended && w.pub.suspended.Load() == 0 {
		b.flush()
	}
}

// hurry publishes what waits, and what is about to: the caller has published something, or waits for what it has published.
func (b *batch) hurry() {
	if b.used.Load() {
		b.hurried.Add(1)
		if b.pending.Load() {
			b.flush()
		}
	}
}

// add takes a message; true if the batch now ends earlier than the timer knows.
func (b *batch) add(d deferred, due int64, most int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, d)
	b.bytes += d.size
	b.pending.Store(true)
	if len(b.waiting) >= batchMessages || b.bytes >= most {
		b.publish()
		return false
	}
	if is := b.due.Load(); due == 0 || is != 0 && is <= due {
		return false
	}
	b.due.Store(due)
	return true
}

// flush publishes what waits.
func (b *batch) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publish()
}

// end publishes what waits if its time has come.
func (b *batch) end(now int64) {
	if due := b.due.Load(); due != 0 && due <= now {
		b.flush()
	}
}

// publish does so with mu held, in the order of the ring.
func (b *batch) publish() {
	for i := range b.waiting {
		d := &b.waiting[i]
		d.w.commit(&d.slot, d.header, d.size)
		if d.inFlight {
			d.w.inFlight.Add(-1)
		}
		d.w.doubt.sent(d.exclusions)
		b.waiting[i] = deferred{}
	}
	b.waiting, b.bytes = b.waiting[:0], 0
	b.due.Store(0)
	b.pending.Store(false)
}

// SuspendPublications tells that many samples follow, which the Publisher may send together (DDS: suspend_publications). It
// holds them until ResumePublications, or until they are so many that the ring might fill up. Calls may be nested.
func (pub *Publisher) SuspendPublications() error {
	if pub.absent() {
		return missing("SuspendPublications", "the publisher", "NewPublisher")
	}
	if err := pub.usable("SuspendPublications"); err != nil {
		return err
	}
	pub.suspended.Add(1)
	return nil
}

// ResumePublications sends what the Publisher holds (DDS: resume_publications). Without a SuspendPublications before it fails
// with ErrPreconditionNotMet.
func (pub *Publisher) ResumePublications() error {
	const op = "ResumePublications"
	if pub.absent() {
		return missing(op, "the publisher", "NewPublisher")
	}
	if err := pub.usable(op); err != nil {
		return err
	}
	for {
		n := pub.suspended.Load()
		if n == 0 {
			return &Error{Op: op, Entity: pub.what, Code: ErrPreconditionNotMet,
				Detail: "publications are not suspended: call SuspendPublications first"}
		}
		if !pub.suspended.CompareAndSwap(n, n-1) {
			continue
		}
		if n == 1 {
			for _, w := range pub.list() {
				if w.enabled.Load() {
					w.batch.hurry()
				}
			}
		}
		return nil
	}
}
