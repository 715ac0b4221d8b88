package smc

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

var (
	// ErrFull: the ring has no room now.
	ErrFull = errors.New("smc: ring full")
	// ErrClosed: the epoch takes no more messages.
	ErrClosed = errors.New("smc: closed")
	// ErrTooLarge: the message can never fit.
	ErrTooLarge = errors.New("smc: message too large")
)

const closedBit = 1 // of Sender.claimed; positions are multiples of SlotBytes

// The states of Sender.baton.
const (
	idle       = 0 // nobody publishes
	publishing = 1
	again      = 2 // the same, and somebody has committed what its holder may not have seen
	abandoned  = 3 // nobody publishes any more
)

// Sender is the writing end of a ring.
//
// Words and their writers (all atomics are sequentially consistent):
//
//	claimed    any goroutine, by compare-and-swap: bytes reserved so far, and closedBit
//	done[slot] the goroutine that reserved the record at position p stores p+1 when it is filled;
//	           positions never repeat, so an old lap can not be taken for a new one. It is private
//	           memory: what is in the ring may look like anything. It comes in pages, stored by compare-and-swap by the first who
//	           needs one: most epochs end before their ring has been round, and whoever commits in order needs none.
//	freed      any goroutine, upwards only: bytes that no receiver needs any more
//	baton      taken from idle to publishing by compare-and-swap; who did so alone touches published and next, until it
//	           swaps back to idle. Who finds it taken makes it again, after done was stored: the holder, which can not swap
//	           back then, looks at done anew. From Withhold to Release it is the poller's, from Abandon on nobody's
//	owed       the poller, upwards only: Next that the others are waiting for
type Sender struct {
	region *rdma.Region
	ring   []byte
	mask   uint64
	done   []atomic.Pointer[marks]
	// unneeded tells how many bytes no receiver needs any more. It only loads cells.
	unneeded func() uint64

	_       [64]byte // fields above are constant | claimed
	claimed atomic.Uint64
	_       [56]byte // claimed | freed
	freed   atomic.Uint64
	_       [56]byte // freed | what the publisher writes
	baton   atomic.Uint32
	owed    atomic.Uint64
	// Guarded by baton:
	published uint64
	real      uint64 // what Real is
	next      uint64
	withheld  bool     // the poller's
	_         [56]byte // next | whatever lies behind it
}

// NewSender makes the sender of a region's ring, which must not be empty.
func NewSender(region *rdma.Region, unneeded func() uint64) *Sender {
	ring := region.Ring()
	return &Sender{
		region: region, ring: ring, mask: uint64(len(ring) - 1),
		done: make([]atomic.Pointer[marks], (len(ring)/SlotBytes+marksPerPage-1)/marksPerPage), unneeded: unneeded,
	}
}

// Reservation is room in a ring. It is a value; it must be committed or aborted exactly once.
type Reservation struct { // small enough for registers
	s     *Sender
	pos   uint64
	slots int32
	size  int32
}

// Reserve takes room for a payload. It never waits: ErrFull, ErrClosed or ErrTooLarge.
func (s *Sender) Reserve(payload int) (Reservation, error) {
	if payload < 0 || payload > MaxPayload(len(s.ring)) {
		return Reservation{}, ErrTooLarge
	}
	slots := slotsFor(payload)
	need := uint64(slots * SlotBytes)
	size := uint64(len(s.ring))
	full := ^uint64(0) // claimed, when the ring was found full and freed refreshed
	for {
		// freed first: it never passes claimed, so the difference below is no less than zero.
		freed := s.freed.Load()
		c := s.claimed.Load()
		if c&closedBit != 0 {
			return Reservation{}, ErrClosed
		}
		pad := uint64(0)
		if left := size - c&s.mask; left < need {
			pad = left
		}
		if c+pad+need-freed > size {
			if full == c {
				return Reservation{}, ErrFull
			}
			s.refresh()
			full = c // and again, with a freed that is no older than this claim
			continue
		}
		if !s.claimed.CompareAndSwap(c, c+pad+need) {
			continue
		}
		if pad > 0 {
			putHeader(s.ring[c&s.mask:], recPad, int(pad/SlotBytes), 0, &Header{})
			s.finish(c)
		}
		return Reservation{s, c + pad, int32(slots), int32(payload)}, nil
	}
}

// refresh raises freed to what nobody needs. Receivers free what was published and nothing
// else, so the tail bounds what a damaged cell, or no receiver at all, makes of it: records that are
// reserved or filled are never free.
func (s *Sender) refresh() {
	h := min(s.unneeded(), s.region.Cell(sst.Tail).Load())
	if mutant.Is("ring-overrun") {
		h = s.region.Cell(sst.Tail).Load()
	}
	for {
		f := s.freed.Load()
		if h <= f || s.freed.CompareAndSwap(f, h) {
			return
		}
	}
}

// finish marks the record at pos as ready to be published.
func (s *Sender) finish(pos uint64) {
	slot := pos & s.mask / SlotBytes
	page := &s.done[slot/marksPerPage]
	if page.Load() == nil {
		page.CompareAndSwap(nil, new(marks))
	}
	page.Load()[slot%marksPerPage].Store(pos + 1)
}

// finished tells whether the record at pos is marked so.
func (s *Sender) finished(pos uint64) bool {
	slot := pos & s.mask / SlotBytes
	page := s.done[slot/marksPerPage].Load()
	return page != nil && page[slot%marksPerPage].Load() == pos+1
}

// marksPerPage is so many that a page takes 4 KiB.
const marksPerPage = 512

type marks [marksPerPage]atomic.Uint64

// Bytes is the room for the payload.
func (r Reservation) Bytes() []byte {
	at := r.pos&r.s.mask + HeaderBytes
	return r.s.ring[at : at+uint64(r.size) : at+uint64(r.size)]
}

// Place is where in the ring of its sender the Bytes of a reservation are, and how many: a word. It keeps nothing mapped.
type Place uint64 // where they begin, which is below 2³¹ in any ring, and in the low half how many

// Place is that of Bytes.
func (r Reservation) Place() Place {
	return Place((r.pos&r.s.mask+HeaderBytes)<<32 | uint64(uint32(r.size)))
}

// Len is how many bytes there are.
func (p Place) Len() int { return int(uint32(p)) }

// Cut is the first n bytes of a place.
func (p Place) Cut(n int) Place { return p>>32<<32 | Place(uint32(n)) }

// At is the room at a place of a reservation.
func (s *Sender) At(p Place) []byte {
	from, n := uint64(p>>32), uint64(uint32(p))
	return s.ring[from : from+n : from+n]
}

// Commit makes the first n bytes of the reservation a message; Flush publishes it.
func (r Reservation) Commit(h Header, n int) {
	if n < 0 || n > int(r.size) {
		n = int(r.size)
	}
	putHeader(r.s.ring[r.pos&r.s.mask:], recMessage, int(r.slots), n, &h)
	r.s.finish(r.pos)
}

// Publish is Commit and Flush. A message that is the next in the ring, as most are, is not marked as done first: who has the
// baton knows of it.
func (r Reservation) Publish(h Header, n int) (changed bool) {
	s := r.s
	if n < 0 || n > int(r.size) {
		n = int(r.size)
	}
	putHeader(s.ring[r.pos&s.mask:], recMessage, int(r.slots), n, &h)
	if !s.baton.CompareAndSwap(idle, publishing) {
		s.finish(r.pos)
		return s.Flush()
	}
	if s.published != r.pos {
		s.finish(r.pos) // what is before it is not done
	}
	return s.giveBack(s.publish(r.pos, false))
}

// Abort gives the reservation up. Flush lets receivers skip it.
func (r Reservation) Abort() {
	putHeader(r.s.ring[r.pos&r.s.mask:], recVoid, int(r.slots), 0, &Header{})
	r.s.finish(r.pos)
}

// Sender is the one whose ring the room is in.
func (r Reservation) Sender() *Sender { return r.s }

// Abandoned is Sender.Abandoned, of the reservation's.
func (r Reservation) Abandoned() bool { return r.s.Abandoned() }

// Withhold has nothing published before Release. It is called by the poller, before anything is reserved. The poller has
// the baton so long, so whoever commits finds it taken, as if somebody were about to publish.
func (s *Sender) Withhold() {
	s.withheld = true
	s.baton.Store(publishing)
}

// Release publishes what was withheld, and reports whether any cell changed.
func (s *Sender) Release() bool {
	s.withheld = false
	return s.giveBack(s.publish(nowhere, false))
}

// Withheld: Release was not called yet. The poller's.
func (s *Sender) Withheld() bool { return s.withheld }

// Flush publishes what is committed, raises Next to what was promised, and reports whether any cell
// changed. If another goroutine is at it, that one does it.
func (s *Sender) Flush() bool {
	if !s.take() {
		return false
	}
	return s.giveBack(s.publish(nowhere, false))
}

// take takes the baton, or sees to it that its holder looks again.
func (s *Sender) take() bool {
	for {
		if s.baton.CompareAndSwap(idle, publishing) {
			return true
		}
		if s.baton.CompareAndSwap(publishing, again) || s.baton.Load() >= again {
			return false
		}
	}
}

// giveBack gives the baton back, after it has published what was committed meanwhile.
func (s *Sender) giveBack(changed bool) bool {
	if s.baton.CompareAndSwap(publishing, idle) {
		return changed
	}
	return s.lookAgain(changed)
}

func (s *Sender) lookAgain(changed bool) bool {
	for {
		s.baton.Store(publishing) // before done is looked at; nobody else changes it from again
		changed = s.publish(nowhere, false) || changed
		if s.baton.CompareAndSwap(publishing, idle) {
			return changed
		}
	}
}

// nowhere is no position of a record.
const nowhere = ^uint64(0)

// publish does so for all that is committed in a row, or for one message of it. The record at done, if that is the next
// one, is committed whether it is marked so or not. The caller has the baton.
func (s *Sender) publish(done uint64, one bool) bool {
	// closedBit first: if it is set, no claim can follow the one that is seen here. What is claimed later is not looked at: who
	// commits it finds the baton taken, or takes it.
	claimed := s.claimed.Load()
	pos, next := s.published, s.next
	if mutant.Is("index-promised") {
		next = s.region.Cell(sst.Real).Load()
	}
	first := next
	for end := claimed &^ closedBit; pos != end && (pos == done || s.finished(pos)); {
		head := s.ring[pos&s.mask:]
		message := head[32] == recMessage
		if message {
			putIndex(head, next)
			next++
		}
		pos += uint64(binary.LittleEndian.Uint32(head[36:])) * SlotBytes
		if one && message {
			break
		}
	}
	if next != first { // else there is no message among them
		s.real = next
	}
	if owed := s.owed.Load(); owed > next {
		next = owed
	}
	if claimed == pos|closedBit {
		next = sst.Forever
	}
	if pos == s.published && next == s.next {
		return false
	}
	s.published, s.next = pos, next
	// Tail covers the bytes below pos; Real and Next come after it: who sees Next sees them. What is loaded after that,
	// the bells of those who may sleep, is loaded after the baton was swapped.
	s.region.StoreInTurn(sst.Tail, pos, s.real, next)
	return true
}

// Promise asks that Next be at least next: what is not published by then is null. The following
// Flush does it.
func (s *Sender) Promise(next uint64) {
	for {
		o := s.owed.Load()
		if next <= o || s.owed.CompareAndSwap(o, next) {
			return
		}
	}
}

// Close lets no more reservations in. When all that were made are committed or aborted, a Flush
// publishes that nothing follows.
func (s *Sender) Close() { s.claimed.Or(closedBit) }

// Abandon lets nothing be published any more, and calls f for each message that is committed and was not published, in
// order: what follows a reservation that somebody still fills, for example. The sender is closed. The payload lies in
// the ring, and Index is not set.
//
// It takes the baton for good. A goroutine commits (done) before it looks at the baton, and this one looks at done after it
// took it: so a message whose commit does not find the sender abandoned was published, or is seen here.
func (s *Sender) Abandon(f func(Record)) {
	if s.withheld {
		s.withheld = false
		s.baton.Store(abandoned)
	} else {
		for !s.baton.CompareAndSwap(idle, abandoned) {
			runtime.Gosched() // who has it gives it back without waiting for anything
		}
	}
	for pos, end := s.published, s.Sent(); pos < end; {
		at := pos & s.mask
		if !s.finished(pos) {
			pos += SlotBytes // of a reservation: where the next record begins is known by its own done
			continue
		}
		var rec Record
		kind, size, err := parse(s.ring[at:], &rec)
		if err != nil {
			return // not by this process's doing
		}
		if pos += uint64(size); kind == recMessage {
			rec.Index = 0
			f(rec)
		}
	}
}

// Abandoned tells whether Abandon was called.
func (s *Sender) Abandoned() bool { return s.baton.Load() == abandoned }

// Closed tells whether Close was called.
func (s *Sender) Closed() bool { return s.claimed.Load()&closedBit != 0 }

// Sent is the position behind the last reservation.
func (s *Sender) Sent() uint64 { return s.claimed.Load() &^ closedBit }

// Region is the row that the sender writes.
func (s *Sender) Region() *rdma.Region { return s.region }
