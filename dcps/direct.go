package dcps

import (
	"errors"
	"sync/atomic"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/release"
	"github.com/omg-dds-go/dds/topic"
)

// Most writers ask for nothing that has to be looked at for each message: no place in an order of timestamps, or of a
// Publisher's writers, no history that is owed, no log, no loss that has to be counted. Their messages take a short
// way, decided when the writer is enabled, as long as nothing stands in the way of a message: the turn is free, the
// ring has room, no reader holds the writers, the message need not wait for others. What is done is what
// writer.reserveWaiting and dispatch do then, in the same order.

// mayGoDirectly tells whether the QoS lets messages take the short way. Of what it depends on nothing changes once the
// writer is enabled.
func (w *writer) mayGoDirectly() bool {
	p := &w.pub.present
	return w.path != topic.Logged && w.path != topic.Unordered && !w.resends && !w.bySource && !p.coherent && !p.ordered
}

// reserveDirectly is reserve that does not wait. If it reports false it has done nothing.
func (w *writer) reserveDirectly(size int, from, at int64, r *reservation) bool {
	if size > w.maxSize || w.defers() || !w.turn.try() {
		return false
	}
	exclusions := w.doubt.exclusions.Load() // before the place is taken: see doubt
	s, ok := derecho.Slot{}, false
	if !w.ended.Load() {
		s, ok = w.direct.Try(size)
	}
	if !ok {
		w.turn.leave()
		return false
	}
	r.seq = w.turn.number() + 1
	w.turn.leaveAt(r.seq)
	if at == atCall {
		at = from
	}
	r.slot.node, r.node, r.at, r.exclusions = s, s.Node(), at, exclusions
	r.sent, r.direct, r.waits, r.inFlight, r.flags, r.tail = true, true, false, false, 0, nil
	return true
}

// lendDirectly is DataWriter.Loan of such a writer, if it has no other loan like that: the turn that guards the place guards
// leases.first, too. If it reports false the writer has no such loan.
func (w *writer) lendDirectly(room int, at int64) (l Loan, ok bool) {
	from := sampleClock.now()
	if room > w.maxSize || w.defers() || !w.turn.try() {
		return Loan{}, false
	}
	exclusions := w.doubt.exclusions.Load() // before the place is taken: see doubt
	first, s := &w.loans.first, derecho.Slot{}
	turn := first.turn.Load()
	if turn%leaseStates == leaseFree && !w.ended.Load() {
		s, ok = w.direct.Try(room)
	}
	if !ok {
		w.turn.leave()
		return Loan{}, false
	}
	if first.asked = at != atCall; !first.asked {
		at = from
	}
	seq := w.turn.number() + 1
	r := &first.r // whose other fields are those of all that go directly
	r.slot.node, r.node, r.seq, r.at, r.exclusions = s, s.Node(), seq, at, exclusions
	turn++                           // leaseLent
	release.Store(&first.turn, turn) // the turn's own store comes before open looks whether the writer is closed
	w.turn.leaveAt(seq)
	if !w.loans.open(first, turn) {
		return Loan{}, false
	}
	return Loan{of: first, turn: turn, ring: s.Ring(), place: s.Place()}, true
}

// unhindered tells whether what was lent can be published directly: nothing has happened to the process, and nobody
// counts samples.
func (w *writer) unhindered(r *reservation) bool {
	return r.direct && w.p.failure.Load() == nil && w.p.outage.Load() == nil && w.instances.Load() == nil && r.node == w.direct.Node()
}

// publishDirectly publishes a message with such a place.
func (w *writer) publishDirectly(r *reservation, h *derecho.Header, size int) {
	r.slot.node.CommitAs(h, size)
	w.doubt.sent(r.exclusions)
	w.batch.hurry()
	w.showLife()
	w.stability.sent()
}

// usualSize is the size that the latest samples of a writer had, if it was the same for all of them. Where it was,
// Write takes as much room for the next one, and looks at a sample only to encode it.
//
// The word is the size and in its low byte how many had it, up to usualAfter. Any goroutine that writes stores it; of
// two that do at once one may be lost, as it is a guess anyway. While it does not change it is only read.
type usualSize struct{ word atomic.Uint64 }

// usualAfter is so many that a sample which is larger, and is encoded twice and leaves as much of the ring empty, costs
// little by comparison.
const usualAfter = 64

// get is the size to be expected; 0 if none is.
func (u *usualSize) get() int {
	word := u.word.Load()
	if word&0xff < usualAfter {
		return 0
	}
	return int(word >> 8)
}

// note follows a sample.
func (u *usualSize) note(size int) {
	word := u.word.Load()
	switch {
	case word>>8 != uint64(size):
		u.word.Store(uint64(size)<<8 | 1)
	case word&0xff < usualAfter:
		u.word.Store(word + 1)
	}
}

// writeAsUsual is write of a sample that has the usual size. If it reports false nothing was sent: the sample is
// larger, or there is more to do than to send it.
func (w *writer) writeAsUsual(op string, m cdr.Message, at int64) (done bool, err error) {
	size := w.usual.get()
	if size == 0 || w.instances.Load() != nil {
		return false, nil
	}
	var r reservation
	if !w.reserveDirectly(size, sampleClock.now(), at, &r) {
		return false, nil
	}
	n, err := cdr.MarshalTo(r.slot.node.Bytes(), m, w.enc)
	if err != nil {
		w.waste(&r)
		if errors.Is(err, cdr.ErrShortBuffer) {
			return false, nil
		}
		return true, failure(op, w.what, "", err)
	}
	w.usual.note(n)
	h := derecho.Header{Writer: w.id, WriterSeq: r.seq, Timestamp: r.at, Kind: kindData}
	w.publishDirectly(&r, &h, n)
	return true, nil
}
