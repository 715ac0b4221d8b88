package dcps

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/topic"
)

// What is known of the samples of a writer: who waits for it, and the status that follows it.

// WaitForStable waits until all that was written before has been handed over at every receiving process (extension):
// the caches of all matched readers have it, and it lasts as long as one of these processes does, whatever becomes of
// this one. A reader that came late, and is still being given a large history, has it behind that
// (DataReader.WaitForHistoricalData). Unlike WaitForAcknowledgments it does not wait for disks, nor fail with a log. What
// the others did without this process is told in the same way.
func (w *DataWriter[T]) WaitForStable(ctx context.Context) error {
	return w.untyped().WaitForStable(ctx)
}

// WaitForDurable waits until all that was written before is on disk at every process that stores it (extension): it
// outlasts all processes. A writer whose DURABILITY is not PERSISTENT is refused with ErrPreconditionNotMet, where
// WaitForAcknowledgments would wait for readers only; otherwise the two are the same. What is written while all logs
// that have the topic are away is delivered, and is not in the history with which the topic goes on when they are back:
// of that one call, or those that wait at once, fails with ErrPreconditionNotMet.
func (w *DataWriter[T]) WaitForDurable(ctx context.Context) error {
	return w.untyped().WaitForDurable(ctx)
}

// StableStatus tells how far what the writer has sent is known to be safe, and starts a new count of changes
// (extension). The status is followed from the first call on, or from when somebody listens, or enables StableStatusBit
// at the StatusCondition, which AnyStatus there does not do unless it is set.
func (w *DataWriter[T]) StableStatus() StableStatus { return w.untyped().StableStatus() }

// StableStatus is the writer's (STABLE, extension). Numbers are those of SampleInfo.WriterSequence, which count disposals too.
type StableStatus struct {
	// Stable: up to it, all has been handed over at every receiving process; see WaitForStable.
	Stable       uint64
	StableChange uint64
	// Durable: up to it, all is on disk; 0 of a writer that is not PERSISTENT. See WaitForDurable.
	Durable       uint64
	DurableChange uint64
	// DoubtCount is how often the others went on without this process while samples were on their way: of some that the
	// numbers cover, it is not known whether they arrived. See WaitForAcknowledgments. It also counts how often a
	// history went on without samples that were written while all logs that have it were away, though the numbers cover
	// them. See WaitForDurable.
	DoubtCount       int32
	DoubtCountChange int32
}

func (w *writer) WaitForAcknowledgments(ctx context.Context) error {
	return w.confirmed(ctx, "WaitForAcknowledgments", w.pathNow() == topic.Logged)
}

func (w *writer) WaitForStable(ctx context.Context) error {
	return w.confirmed(ctx, "WaitForStable", false)
}

func (w *writer) WaitForDurable(ctx context.Context) error {
	const op = "WaitForDurable"
	if w.enabled.Load() && !w.ended.Load() && w.path != topic.Logged {
		return &Error{Op: op, Entity: w.what, Code: ErrPreconditionNotMet,
			Detail: "DURABILITY is " + w.qosNow().Durability.Kind.String() +
				", so nothing of it comes to a disk; ask for PERSISTENT, or use WaitForStable"}
	}
	return w.confirmed(ctx, op, true)
}

// confirmed waits until all that was sent before is stable, or durable.
func (w *writer) confirmed(ctx context.Context, op string, durable bool) error {
	told, leftOut := w.doubt.told.Load(), w.leftOut.told.Load()
	if ctx != nil && !w.ended.Load() && w.doubt.tell(told) {
		return w.unknown(op, derecho.ErrExcluded)
	}
	if err := w.reachable(ctx, op, durable); err != nil {
		return err
	}
	w.batch.hurry()
	upTo := w.turn.number()
	waiting, end := until(ctx, w.lifetime)
	defer end()
	err := w.wait(waiting, durable)
	switch {
	case w.doubt.tell(told), errors.Is(err, derecho.ErrExcluded):
		return w.unknown(op, cmp.Or(err, error(derecho.ErrExcluded)))
	case err == nil && durable && w.leftOut.tell(leftOut):
		return w.missing(op)
	case err == nil && durable && w.ended.Load():
		return w.deleted(op) // it may be withdrawn by now, and nobody tells of it what is left out
	case err == nil:
		if durable || w.path != topic.Logged {
			rise(&w.acked, upTo)
		}
		return nil
	}
	if known := w.reachable(ctx, op, durable); known != nil && ctx.Err() == nil {
		return known
	}
	return failure(op, w.what, "not all was acknowledged"+w.p.lent(w.at.sg), err)
}

// wait waits until all that was sent before is stable, or durable.
func (w *writer) wait(ctx context.Context, durable bool) error {
	if durable {
		return w.p.core.WaitDurable(ctx, w.at.sg, w.at.ch)
	}
	return w.p.core.WaitAcked(ctx, w.at.sg)
}

// reachable tells why nothing can be confirmed, if so. A log that has failed does not keep samples from being stable.
func (w *writer) reachable(ctx context.Context, op string, durable bool) error {
	err := w.sendable(ctx, op)
	if !durable && errors.Is(err, derecho.ErrLog) {
		return nil
	}
	return err
}

// stability follows what becomes of a writer's samples, for the status STABLE. Nobody does unless somebody wants to
// know: then a goroutine waits for all that was sent, and after that for the next message; for a PERSISTENT writer,
// another one waits for the disks.
//
//	wanted  stored true, for good, before the goroutines look at the latest number. Who sends has raised that before it looks at wanted: so
//	        either it rings, or they see its number
type stability struct {
	wanted          atomic.Bool
	stable, durable chan struct{} // capacity 1: something was sent, or can be again

	// Guarded by the writer's mu.
	now   StableStatus
	doubt uint64 // doubt.raised and leftOut.raised, as the status has them
}

func (s *stability) init() {
	s.stable, s.durable = make(chan struct{}, 1), make(chan struct{}, 1)
}

// sent notes that a message is on its way. It costs a load where nobody wants to know.
func (s *stability) sent() {
	if s.wanted.Load() {
		s.ring()
	}
}

// ring has the goroutines look again. It never blocks.
func (s *stability) ring() {
	for _, bell := range []chan struct{}{s.stable, s.durable} {
		select {
		case bell <- struct{}{}:
		default:
		}
	}
}

// followStability begins to follow the status. Called with mu held.
func (w *writer) followStability() {
	if w.closed || w.stability.wanted.Swap(true) {
		return
	}
	w.stability.ring()
	w.p.spawn("dcps stable", func() {
		w.advance(w.stability.stable, false, func(s *StableStatus, upTo uint64) {
			s.StableChange += upTo - s.Stable
			s.Stable = upTo
		})
	})
	w.p.spawn("dcps durable", func() {
		w.advance(w.stability.durable, true, func(s *StableStatus, upTo uint64) {
			s.DurableChange += upTo - s.Durable
			s.Durable = upTo
		})
	})
}

// advance moves one number of the status, until the writer is closed.
func (w *writer) advance(bell chan struct{}, durable bool, move func(s *StableStatus, upTo uint64)) {
	reached := uint64(0)
	for {
		select {
		case <-bell:
		case <-w.lifetime.Done():
			return
		}
		if !w.enabled.Load() || durable && w.path != topic.Logged {
			continue // enable rings
		}
		for {
			upTo := w.turn.number()
			if upTo > reached && w.wait(w.lifetime, durable) != nil {
				upTo = reached // the end of the outage rings, or the next message
			}
			raised := w.doubt.raised.Load() + w.leftOut.raised.Load()
			if !w.moved(raised, upTo > reached, func(s *StableStatus) { move(s, upTo) }) {
				break
			}
			reached = max(reached, upTo)
		}
	}
}

// moved brings the status up to date, and tells whether anything was new.
func (w *writer) moved(raised uint64, further bool, move func(*StableStatus)) bool {
	w.lock()
	defer w.unlock()
	s := &w.stability
	more := raised > s.doubt
	if more {
		s.now.DoubtCount += int32(raised - s.doubt)
		s.now.DoubtCountChange += int32(raised - s.doubt)
		s.doubt = raised
	}
	if further {
		move(&s.now)
	}
	if further || more {
		w.changed |= StableStatusBit
	}
	return further
}

func (w *writer) StableStatus() StableStatus {
	if w == noWriter {
		return StableStatus{}
	}
	w.lock()
	defer w.unlock()
	w.followStability()
	w.changed &^= StableStatusBit
	s := &w.stability.now
	out := *s
	s.StableChange, s.DurableChange, s.DoubtCountChange = 0, 0, 0
	return out
}
