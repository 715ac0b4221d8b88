package derecho

import (
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/smc"
	"github.com/omg-dds-go/dds/sst"
)

// Loan is a message that is read where it lies: in the ring of its sender, who can not use that room, nor any behind it,
// before the loan is released. The memory stays mapped, and what lies there unchanged, for as long as somebody has the loan, also
// when its epoch, its sender or this node are gone.
type Loan struct {
	of   *lender // constant
	at   uint64  // where the message begins in the ring; the poller's
	refs atomic.Int32
}

// lender has the loans of one sender's ring, in the order of the ring. It is the poller's, except for Loan.refs.
type lender struct {
	e           *epoch
	rank        int
	size        int    // of loans, once there are any: a power of two
	loans       []Loan // those from first to next are out, or have come back behind one that is
	first, next uint64
	pressed     uint64 // Wants of the sender when loans were called back last
}

// minLoan is the size of a message for each of which there is a loan in a ring full of them. Where more of smaller ones
// are out, those that come are copied.
const minLoan = 512

// maxLoans bounds them in a ring that has grown for messages that are far larger: they take memory.
const maxLoans = 1 << 15

func newLenders(e *epoch) []lender {
	l := make([]lender, len(e.senders))
	for rank, i := range e.senders {
		l[rank] = lender{e: e, rank: rank, size: min(max(e.ring(i)/minLoan, 1), maxLoans)}
	}
	return l
}

// Lend keeps Payload as it is beyond the upcall until Loan.Release is called once for each call of Lend. It is nil if
// it has to be copied instead. Only for the upcall that hands the message over.
func (m *Message) Lend() *Loan {
	switch {
	case m.loan != nil:
		m.loan.refs.Add(1)
	case m.from != nil:
		m.loan = m.from.lend(m.at)
	}
	return m.loan
}

// RingBytes is what a message with a payload of that size takes of its sender's ring, which a Loan holds up.
func RingBytes(payload int) int { return smc.RecordBytes(payload) }

// With is the message with a payload that is the caller's own. A mere copy of a Message keeps the memory of its epoch mapped.
func (m *Message) With(payload []byte) Message {
	c := *m
	c.Payload, c.from, c.loan = payload, nil, nil
	return c
}

func (l *lender) lend(at uint64) *Loan {
	if l.loans == nil {
		l.loans = make([]Loan, l.size)
		for i := range l.loans {
			l.loans[i].of = l
		}
	}
	if l.next-l.first == uint64(l.size) {
		return nil
	}
	n := &l.loans[l.next&uint64(l.size-1)]
	l.next++
	n.at = at
	n.refs.Store(1)
	return n
}

// needed is the position in the ring below which nothing is needed; pos is that of the next message.
func (l *lender) needed(pos uint64) uint64 {
	for ; l.first < l.next; l.first++ {
		if n := &l.loans[l.first&uint64(l.size-1)]; n.refs.Load() > 0 && !mutant.Is("free-lent") {
			return n.at
		}
	}
	return pos
}

// wants is what the sender tells of its threads that wait for room. Any goroutine.
func (l *lender) wants() uint64 { return l.e.table.Row(l.e.senders[l.rank]).Load(sst.Wants) }

// Share is Lend for one more who gives it back: the loan of a message keeps those behind it in their place, too. Only
// for who has the loan.
func (n *Loan) Share() *Loan {
	n.refs.Add(1)
	return n
}

// Release gives the message back. Any goroutine. The poller passes that on when it passes next; it is woken for a sender that
// waits. No wake-up is lost: refs is stored before Wants is loaded here, and who waits stores Wants before it
// rings the poller, which loads refs then.
func (n *Loan) Release() {
	if n.refs.Add(-1) == 0 && n.of.wants() != 0 {
		n.of.e.g.m.bell.Ring()
	}
}

// pressed: a sender has waited for a while, and some of its ring is lent.
func (e *epoch) pressed() bool {
	for i := range e.lenders {
		if l := &e.lenders[i]; l.first < l.next {
			if w := l.wants(); w > 1 && w != l.pressed {
				return true
			}
		}
	}
	return false
}

// reclaim asks the layer above for what it can do without.
func (e *epoch) reclaim() {
	for i := range e.lenders {
		e.lenders[i].pressed = e.lenders[i].wants()
	}
	e.g.m.h.Reclaim(e.g.id)
}

// lends: some message of the epoch is lent, or came back since the table was told.
func (e *epoch) lends() bool {
	return slices.ContainsFunc(e.lenders, func(l lender) bool { return l.first < l.next })
}
