package dcps

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// What is kept of a TRANSIENT_LOCAL writer for late readers ends, in all histories, with its endpoint. When the domain
// went on without the writer's process, which then joins again, the writer lives on and owes late readers what it has
// written: it sends it again, under the numbers that it had, before anything new. Readers take what they have not seen;
// those that are VOLATILE nothing of it (flagAgain).
//
// Everything that is owed goes before anything new, in the order of its numbers: so a reader lacks exactly what is above the
// greatest number that it has seen, and takes nothing twice.
//
// What was sent again is lost if the process is excluded again before it is delivered, and by then nobody else has it. It stays
// in writer.resent until it is in the history of this process:
//
//	the sender          reads doubt.exclusions, stores resent, takes owed, sends, reads exclusions again: owes it all if they differ
//	the polling one     at an exclusion owes what is in resent, then raises exclusions; clears resent when the last is in the history
//
// A message may be committed after the group went on without the process, or be behind one that is: then whoever
// commits it owes it (writer.commit), or the polling goroutine (Undelivered). The first that is sent by another
// incarnation waits until all that were in flight are committed, so that they go before it. What is committed when the
// process has joined again already is sent at once, as maybe nothing new follows. All words are sequentially
// consistent:
//
//	who sends            counts its message in inFlight while it has the turn, commits it, owes it if need be, and counts it out
//	who publishes a loan counts it in, then looks whether the process is still the incarnation that the loan is of
//	the first            finds another incarnation, then waits for inFlight to be 0, then takes what is owed
//	who commits          owes, then looks whether there is an outage; who ends that stores so, then looks for what is owed
//	who could not send   does the same, and tries again if there is none

// keepOwn takes what is kept of a writer of this process out of the history that ends now. The polling goroutine's.
func (h *hub) keepOwn(w *endpoint) {
	c := h.channels[w.at]
	if c != nil && c.awaiting { // the state does not come any more, and nothing was kept yet
		c.from = 0
		for i := range c.putOff {
			if d := c.putOff[i]; d.kind != putOffEnd {
				c.enter(c.history, d).all()
				d.kept()
			}
		}
		c.putOff = nil
	}
	if resent := w.writer.resent.Swap(nil); resent != nil {
		w.writer.owe(*resent)
	}
	if c == nil || w.ann.writer.Durability.Kind != qos.DurabilityTransientLocal {
		return
	}
	over := make(map[InstanceHandle]bool) // instances that the writer has unregistered
	for _, l := range c.history.ended() {
		if l.w.key == w.key && l.unregistered {
			over[l.latest().handle] = true
		}
	}
	var kept []derecho.Message
	for _, r := range c.history.history() {
		if r.w.key == w.key && !over[r.handle] {
			kept = append(kept, r.message.With(slices.Clone(r.message.Payload)))
		}
	}
	w.writer.owe(kept)
}

// Undelivered implements derecho.Handler. The others have it all, or nothing from some number on: readers take what is new to
// them. A disposal among it is sent again like a sample.
func (h *hub) Undelivered(_ derecho.SubgroupID, own []derecho.Message) {
	for i := range own {
		m := &own[i]
		w := h.writerOf(m)
		if w == nil || w.writer == nil || w.withdrawn() || w.ann.writer.Durability.Kind != qos.DurabilityTransientLocal || m.Kind == kindClosing {
			continue
		}
		w.writer.owe([]derecho.Message{m.With(slices.Clone(m.Payload))})
	}
}

// owe adds to what has to be sent again, and tells whether there was nothing before.
func (w *writer) owe(more []derecho.Message) (first bool) {
	for len(more) > 0 {
		all := more
		before := w.owed.Load()
		if before != nil {
			all = append(slices.Clone(*before), more...)
			slices.SortFunc(all, func(a, b derecho.Message) int { return cmp.Compare(a.WriterSeq, b.WriterSeq) })
			all = slices.CompactFunc(all, func(a, b derecho.Message) bool { return a.WriterSeq == b.WriterSeq })
		}
		if w.owed.CompareAndSwap(before, &all) {
			return before == nil
		}
	}
	return false
}

// place takes a place in the ring, behind all that is owed, stores it, and tells in the ring of which incarnation it
// is. The caller has the turn, and, if the writer sends again, ends what it counts in inFlight with landed.
func (w *writer) place(ctx context.Context, ch derecho.ChannelID, size int, deadline time.Time, into *slot) (derecho.NodeID, error) {
	for {
		node := w.p.core.ID()
		if w.resends {
			if ok, err := w.sendOwed(ctx, node, deadline); err != nil {
				return node, err
			} else if !ok {
				continue
			}
		}
		s, err := w.p.core.reserve(ctx, w.at.sg, ch, size, deadline)
		switch {
		case err != nil:
			return node, err
		case !w.resends:
			*into = s
			return node, nil
		case s.incarnation() == node:
			w.inFlight.Add(1)
			*into = s
			return node, nil
		}
		s.abort() // the process has joined again meanwhile, and what it owes by now goes first
	}
}

// takeOff counts a message that has a place as one in flight.
func (w *writer) takeOff(r *reservation) {
	if w.resends && r.sent {
		w.inFlight.Add(1)
		r.inFlight = true
	}
}

// landed ends that, when the message is committed or given up.
func (w *writer) landed(r *reservation) {
	if r.inFlight {
		r.inFlight = false
		w.inFlight.Add(-1)
	}
}

// commit makes a message of a place. What the group has gone on without is owed.
func (w *writer) commit(s *slot, h derecho.Header, size int) {
	if s.commit(h, size) || !w.resends {
		return
	}
	// What was owed before has somebody who sends it, or else goes with the next sample; so does this with it.
	if w.owe([]derecho.Message{{Header: h, Payload: slices.Clone(s.bytes()[:size])}}) && w.p.outage.Load() == nil {
		w.sendOwedSoon()
	}
	runtime.KeepAlive(s) // and with it the ring that bytes are in
}

// sendOwed sends what is owed, as the incarnation node of this process; false if it is another one by now. The caller holds the
// writer's turn.
func (w *writer) sendOwed(ctx context.Context, node derecho.NodeID, deadline time.Time) (bool, error) {
	if w.sendsAs != node {
		if err := w.settle(ctx, deadline); err != nil {
			return false, err
		}
		w.sendsAs = node
	}
	if w.owed.Load() == nil {
		return true, nil
	}
	exclusions := w.doubt.exclusions.Load()
	owed := w.owed.Load()
	for w.resent.Store(owed); !w.owed.CompareAndSwap(owed, nil); w.resent.Store(owed) { // there is more by now
		owed = w.owed.Load()
	}
	for i, m := range *owed {
		s, err := w.p.core.reserve(ctx, w.at.sg, w.at.ch, len(m.Payload), deadline)
		if err != nil {
			w.owe((*owed)[i:])
			return false, err
		}
		if s.incarnation() != node {
			s.abort()
			w.owe(*owed)
			return false, nil
		}
		copy(s.bytes(), m.Payload)
		header := m.Header
		header.Flags |= flagAgain
		s.commit(header, len(m.Payload)) // the polling goroutine owes what is lost: it is in resent
	}
	if w.doubt.exclusions.Load() != exclusions {
		w.owe(*owed)
	}
	return true, nil
}

// settle waits until the messages that were in flight when the process was excluded are committed, and owed. Their goroutines
// encode them, and wait for nothing.
func (w *writer) settle(ctx context.Context, deadline time.Time) error {
	w.batch.hurry() // also those that are about to wait there
	for pause := time.Microsecond; w.inFlight.Load() != 0; pause = min(2*pause, time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			return derecho.ErrTimeout
		}
	}
	return nil
}

// kept notes that a sample which was sent again is in the history of this process. The polling goroutine's.
func (w *writer) kept(number uint64) {
	if resent := w.resent.Load(); resent != nil && (*resent)[len(*resent)-1].WriterSeq <= number {
		w.resent.CompareAndSwap(resent, nil)
	}
}

// sendOwedSoon sends what writers owe, now that they can send again.
func (p *DomainParticipant) sendOwedSoon() {
	for w := range p.writers.all() {
		if w.owed.Load() != nil {
			w.sendOwedSoon()
		}
	}
}

// resendPause is the longest time after which a writer tries again to send what it owes.
const resendPause = time.Second

// sendOwedSoon sends what the writer owes, on a goroutine of its own. It tries until that gets through: a reader may be
// full, or the writer be no sender for a while, as its log is refused say, nobody tells when that is over, and the
// writer may have no next sample with which it would go. The end of an outage, which is told, is left to who tells it.
func (w *writer) sendOwedSoon() {
	w.p.spawn("dcps resend", func() {
		for pause := time.Millisecond; !w.trySendOwed() && w.p.outage.Load() == nil; pause = min(2*pause, resendPause) {
			select {
			case <-time.After(pause):
			case <-w.p.failedCh:
				return
			case <-w.lifetime.Done():
				return
			}
		}
	})
}

// trySendOwed reports whether nothing is owed any more.
func (w *writer) trySendOwed() bool {
	ctx, cancel := context.WithTimeout(w.lifetime, operationTimeout)
	defer cancel()
	if w.takeTurn(ctx, "resend", time.Time{}) == nil {
		defer w.turn.leave()
		_, _ = w.sendOwed(ctx, w.p.core.ID(), time.Time{})
	}
	return w.owed.Load() == nil
}
