package derecho

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/smc"
)

// Slot is room for one message in this node's ring. Fill Bytes, then Commit or Abort, once.
type Slot struct {
	e   *epoch
	res smc.Reservation
}

// Bytes is the room, in shared memory: what is built here is what the others read.
func (s Slot) Bytes() []byte { return s.res.Bytes() }

// Ring keeps the memory mapped that the Bytes of a Slot are in, for as long as it is referred to. The zero Ring is none.
type Ring struct{ s *smc.Sender }

// Place is where in its Ring the Bytes of a Slot are.
type Place = smc.Place

// At is the room at a place.
func (r Ring) At(p Place) []byte { return r.s.At(p) }

// Place is that of Bytes.
func (s Slot) Place() Place { return s.res.Place() }

// Ring is that of Bytes.
func (s Slot) Ring() Ring { return Ring{s.res.Sender()} }

// Node is the incarnation of this process in whose ring the room is.
func (s Slot) Node() NodeID { return s.e.g.m.id }

// Commit publishes the first size bytes. It reports false if the group has gone on without this node: then the message may or
// may not be among those that Handler.Undelivered tells of, and Bytes are still what was committed.
func (s Slot) Commit(h Header, size int) bool { return s.CommitAs(&h, size) }

// CommitAs is Commit. A header is too large for registers, and what was stored in pieces and is copied as a whole keeps
// the processor waiting.
func (s Slot) CommitAs(h *Header, size int) bool {
	head := smc.Header{
		Writer: uint32(h.Writer), WriterSeq: h.WriterSeq, Timestamp: h.Timestamp,
		Kind: uint8(h.Kind), Flags: h.Flags,
	}
	switch e := s.e; {
	case e.writersMu != nil || e.off.NoSendBatching || e.off.NoLatePosting:
		s.res.Commit(head, size)
		s.flush()
	case s.res.Publish(head, size):
		e.tell()
	}
	return !s.res.Abandoned()
}

// Abort gives the slot up: nothing is sent.
func (s Slot) Abort() {
	s.res.Abort()
	s.flush()
}

func (s Slot) flush() {
	if s.e.writersMu != nil {
		s.e.flushAndUnlock()
		return
	}
	s.e.flush()
}

// MaxPayload is the largest message that fits, if the ring has to grow for it then when it has grown.
func (n *Node) MaxPayload(SubgroupID) int { return smc.MaxPayload(n.cfg.MaxRing) }

// sendingEpoch is the epoch that takes messages of this node. The node may join again meanwhile: that there is none counts
// only if it was the same incarnation all the time, and not cut off when that was looked at.
func (n *Node) sendingEpoch(sg SubgroupID, ch ChannelID) (*epoch, error) {
	for {
		l := n.life.Load() // before the outage: a new incarnation is there before that ends
		outage := n.outage.Load()
		if outage == nil {
			if groups := l.groups.Load(); groups != nil {
				if g := (*groups)[sg]; g != nil {
					if e := g.sending.Load(); e != nil {
						return e, nil
					}
				}
			}
		}
		if err := n.down(); err != nil {
			return nil, err
		}
		if outage != nil || l != n.life.Load() {
			continue // it is over by now
		}
		if why := l.waitsFor(sg, ch); why != "" {
			return nil, fmt.Errorf("%w: %s", ErrRecovering, why)
		}
		return nil, fmt.Errorf("%w: subgroup %d", ErrNotSender, sg)
	}
}

// waitsFor tells which logs a channel waits for, "" if it does for none.
func (l *life) waitsFor(sg SubgroupID, ch ChannelID) string {
	if p := l.recovering.Load(); p != nil {
		return (*p)[keptChannel{sg, ch}]
	}
	return ""
}

// spinRounds is how often Reserve looks for room before it waits: receivers that are at work free a
// ring within microseconds, while a wake-up takes tens of them.
const spinRounds = 64

// quietRounds is how often it lets only other processes have the processor first, as those who wait for messages do (quietTime).
const quietRounds = 4

// Reserve claims room for a message of size bytes on channel ch in this node's ring of sg. Any goroutine, several at
// once, without a lock. It waits only while the ring is full, or grows for a message that does not fit, or the channel
// is held, until ctx ends or the deadline (zero: none) has passed: ErrTimeout, mostly a FullError. On an Unordered
// subgroup it never waits: ErrWouldBlock. Errors besides: ErrTooLarge, ErrNotSender, ErrClosed, ErrPeerLost.
func (n *Node) Reserve(ctx context.Context, sg SubgroupID, ch ChannelID, size int, deadline time.Time) (Slot, error) {
	if e, err := n.sendingEpoch(sg, ch); err == nil {
		if r, err := e.tryReserve(ch, size); err == nil {
			return Slot{e, r}, nil
		}
	}
	return n.reserve(ctx, sg, ch, size, deadline)
}

func (n *Node) reserve(ctx context.Context, sg SubgroupID, ch ChannelID, size int, deadline time.Time) (Slot, error) {
	for round := 0; ; round++ {
		e, err := n.sendingEpoch(sg, ch)
		if err != nil {
			return Slot{}, err
		}
		r, err := e.tryReserve(ch, size)
		switch {
		case err == nil:
			return Slot{e, r}, nil
		case errors.Is(err, smc.ErrClosed): // a new epoch has begun
			runtime.Gosched()
			continue
		case errors.Is(err, ErrRecovering):
			return Slot{}, fmt.Errorf("%w: %s", err, e.life().waitsFor(sg, ch))
		case errors.Is(err, smc.ErrTooLarge):
			if err := n.awaitRing(ctx, e, size, deadline); err != nil {
				return Slot{}, err
			}
			continue
		}
		// Where many want the processor a round takes long.
		looks := round < spinRounds && ctx.Err() == nil && (deadline.IsZero() || time.Now().Before(deadline))
		switch {
		case e.desc.Mode == Unordered && (!errors.Is(err, errBusy) || !looks):
			return Slot{}, ErrWouldBlock
		case looks:
			if round >= quietRounds {
				runtime.Gosched()
			}
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			continue
		}
		press := time.NewTicker(pressAfter)
		waited := n.waitFor(ctx, e, deadline, press.C, func() bool {
			r, err = e.tryReserve(ch, size)
			return !errors.Is(err, smc.ErrFull) || n.outage.Load() != nil
		})
		press.Stop()
		if errors.Is(waited, ErrTimeout) {
			waited = e.full(ch, waited)
		}
		if waited != nil {
			return Slot{}, waited
		}
		if err == nil {
			return Slot{e, r}, nil
		}
		round = 0
	}
}

// tryReserve takes room unless the channel is held, which counts as full, or nobody receives it before its logs are there.
//
// A hold of an epoch that is closed counts no more: whoever is full may be a receiver that has gone, and an epoch that
// is released is not told that it has room. Who waits sees that it is closed: close stores that before it wakes all,
// and who waits takes the channel that is closed then before it looks.
func (e *epoch) tryReserve(ch ChannelID, size int) (smc.Reservation, error) {
	if len(e.desc.Waiting) > 0 && slices.Contains(e.desc.Waiting, ch) {
		return smc.Reservation{}, ErrRecovering
	}
	if held := e.held.Load(); held != 0 && !e.sender.Closed() {
		if bit, ok := e.bit(ch); ok && held&(1<<bit) != 0 {
			return smc.Reservation{}, smc.ErrFull
		}
	}
	if e.writersMu != nil {
		return e.lockAndReserve(size)
	}
	return e.sender.Reserve(size)
}

// life is the incarnation that the epoch belongs to; of a Node only.
func (e *epoch) life() *life { return e.g.m.shell.(*life) }

// waitFor waits on an epoch until ready reports true, and presses for room at each tick of press.
func (n *Node) waitFor(ctx context.Context, e *epoch, deadline time.Time, press <-chan time.Time, ready func() bool) error {
	news := e.begin()
	defer e.end()
	var expired <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		expired = t.C
	}
	for !ready() {
		select {
		case <-news:
			news = e.again()
		case <-press:
			e.press()
		case <-expired:
			return ErrTimeout
		case <-e.life().over:
			return *e.life().err.Load()
		case <-ctx.Done():
			return timedOut(ctx)
		}
	}
	return nil
}

// Hold tells the writers of a channel whether they must wait, because a reader of this node is full.
// Any goroutine, and from a Handler.
func (n *Node) Hold(sg SubgroupID, ch ChannelID, held bool) {
	n.life.Load().post(func(m *machine) {
		if g := m.groups[sg]; g != nil {
			g.setHold(ch, held)
		}
	})
}
