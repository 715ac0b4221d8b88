package derecho

import (
	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/smc"
	"github.com/omg-dds-go/dds/sst"
)

// maxBatch bounds what one pass delivers of an epoch (epoch.most), so that no subgroup keeps the others waiting.
const maxBatch = 256

// deliverable: the epoch is the one that delivers, its log keeps up, and something is stable that
// was not delivered.
func (e *epoch) deliverable() bool {
	if e.drained || e.g.current() != e && !mutant.Is("epochs-overlap") || e.g.blocked() || !e.mayDeliver() {
		return false
	}
	e.settle()
	e.g.m.pause()
	passed := e.passed() // after the counters were read: rdma.Fence
	if passed || mutant.Is("stable-unpassed") {
		e.stable, e.settled = e.settled, e.stable
	}
	if !passed {
		return false
	}
	records, err := e.anyRecord() // skips what is no message
	if err != nil {
		return true // deliver reports it
	}
	if e.desc.Mode == Unordered {
		return records || e.unhanded()
	}
	bound := e.bound()
	if bound == sst.Forever { // every sender has closed: what is left are records, not rounds
		return records || e.unhanded()
	}
	return bound > e.delivered || e.unhanded()
}

// settle finds out what is stable, if the fence is passed after.
func (e *epoch) settle() {
	for rank, r := range e.recvs {
		stable := e.stable[rank]
		switch {
		case e.ends[rank] != sst.Forever: // all that is to be delivered is here; that was agreed on, and not read
			if stable = sst.Forever; mutant.Is("trailing-null") {
				stable = e.ends[rank]
			}
			e.stable[rank] = stable
		case r == nil || e.open[rank] && !mutant.Is("trim-late"): // as it was when the sender failed
		case e.desc.Mode == Unordered || e.whole || e.gone[e.senders[rank]] || e.agreed() || mutant.Is("unstable"):
			stable = r.Next()
		default:
			stable = r.Next()
			for _, i := range e.awaitsAck[rank] {
				stable = min(stable, e.table.Row(i).Load(e.table.Received(rank)))
			}
			if e.walks != nil && e.tellsAck[rank] {
				stable = min(stable, e.table.Row(e.me).Load(e.table.Received(rank)))
			}
		}
		e.settled[rank] = stable
	}
}

// mayDeliver: every receiver can read every row, and no agreement on a failure stands in the way.
func (e *epoch) mayDeliver() bool {
	if e.g.id == 0 {
		if e.frozen() {
			return false
		}
	} else if e.g.m.holding {
		return false
	}
	return mutant.Is("open-unwaited") || e.desc.Mode == Unordered || e.whole || e.agreed() || e.readByAll()
}

// readByAll: every receiver can read all rows.
func (e *epoch) readByAll() bool {
	if e.ready {
		return true
	}
	for _, i := range *e.receivers.Load() {
		if e.table.Row(i).Load(e.table.Opened())&readsAll == 0 {
			return false
		}
	}
	e.ready = true
	return true
}

// frozen: the view is to end, and what is executed of it is not agreed on yet.
func (e *epoch) frozen() bool { return e.agree != nil && e.agree.wedged && e.agree.decision == nil }

// agreed: the members have agreed on what is executed of the view; all of it is here.
func (e *epoch) agreed() bool { return e.agree != nil && e.agree.decision != nil }

// passed: no member on this host wants this node to look at its row before it acts.
func (e *epoch) passed() bool {
	return !e.key.Fenced() || !e.g.m.fence.Raised() || mutant.Is("fence-ignored")
}

// peek is the next record of a sender that is to be delivered.
func (e *epoch) peek(rank int) (*smc.Record, error) {
	r := e.recvs[rank]
	if r == nil {
		return nil, nil
	}
	rec, err := r.Peek()
	if rec != nil && rec.Index >= e.ends[rank] {
		return nil, nil
	}
	return rec, err
}

// unhanded: records were passed, or came back, that the table does not tell of yet.
func (e *epoch) unhanded() bool {
	own := e.table.Row(e.me)
	for rank, r := range e.recvs {
		if r == nil {
			continue
		}
		if r.Pos() != own.Load(e.table.Handed(rank)) || e.lenders[rank].needed(r.Pos()) != own.Load(e.table.Freed(rank)) {
			return true
		}
	}
	return false
}

// bound is the first sequence number that is not stable: everything below it may be delivered.
func (e *epoch) bound() uint64 {
	n := uint64(len(e.senders))
	low := sst.Forever
	for rank, stable := range e.stable {
		if stable != sst.Forever {
			low = min(low, stable*n+uint64(rank))
		}
	}
	return low
}

func (e *epoch) anyRecord() (found bool, err error) {
	for rank := range e.recvs {
		rec, bad := e.peek(rank)
		if bad != nil {
			err = bad
		}
		found = found || rec != nil
	}
	return found, err
}

// deliver hands up one batch in order, then tells the senders what they may reuse, with one push
// (Spindle: delivery batching). The push comes after the upcall has returned and with no shared
// state held.
func (e *epoch) deliver() {
	batch := e.g.m.batch[:0]
	var full bool
	var err error
	if e.desc.Mode == Unordered {
		batch, full, err = e.collectUnordered(batch)
	} else {
		batch, full, err = e.collectOrdered(batch)
	}
	if err != nil {
		e.g.m.fail(err)
		return
	}
	if len(batch) > 0 {
		if e.desc.Mode == Logged && e.g.log != nil {
			e.g.log.append(e, batch)
		}
		e.g.deliver(batch, e.upcall)
		if e.g.m.dead() {
			return
		}
		if e.desc.Mode == Logged {
			e.g.noteOwn(batch)
		}
	}
	e.advance(batch, full)
	switch {
	case e.desc.Mode != Logged:
	case e.g.log != nil:
		e.g.log.mark(e, e.delivered)
	default: // it stores nothing, so nothing is missing
		e.persisted.Store(e.delivered)
		e.written.Store(e.delivered)
	}
	clear(batch) // payloads are the senders' again
	e.handOver()
}

// advance raises delivered: to the bound if everything below it went out, else behind the batch.
func (e *epoch) advance(batch []Message, full bool) {
	if e.desc.Mode == Unordered {
		return
	}
	before := e.delivered
	if b := e.bound(); !full && b != sst.Forever {
		e.delivered = b
	} else if len(batch) > 0 {
		e.delivered = batch[len(batch)-1].Seq + 1
	}
	if e.delivered != before {
		e.table.Store(e.table.Delivered(), e.delivered)
	}
}

// collectOrdered merges the rings. From the sender whose turn it is it takes all that comes before the next message of
// another one.
func (e *epoch) collectOrdered(batch []Message) (_ []Message, full bool, err error) {
	bound, n := e.bound(), uint64(len(e.senders))
	for len(batch) < e.most {
		from, seq, next := -1, bound, bound
		for rank := range e.recvs {
			p, err := e.peek(rank)
			if err != nil {
				return batch, false, err
			}
			if p == nil {
				continue
			}
			switch s := p.Index*n + uint64(rank); {
			case s < seq && (from < 0 || !mutant.Is("order-by-rank")):
				from, seq, next = rank, s, seq
			case s < next:
				next = s
			}
		}
		if from < 0 {
			return batch, false, nil
		}
		if batch, err = e.takeRun(batch, from, next, n, uint64(from)); err != nil {
			return batch, false, err
		}
	}
	return batch, true, nil
}

func (e *epoch) collectUnordered(batch []Message) (_ []Message, full bool, err error) {
	for rank := range e.recvs {
		rec, err := e.peek(rank)
		if rec != nil && len(batch) < e.most {
			batch, err = e.takeRun(batch, rank, sst.Forever, 1, 0)
		}
		if err != nil {
			return batch, false, err
		}
	}
	return batch, len(batch) == e.most, nil
}

// takeRun makes messages of the records of a sender, where the batch has them: the one that peek shows, and those
// behind it whose sequence numbers are below limit, while there is room. The number of a record is its index * n +
// offset.
func (e *epoch) takeRun(batch []Message, rank int, limit, n, offset uint64) ([]Message, error) {
	r, from, end := e.recvs[rank], &e.lenders[rank], e.ends[rank]
	if e.off.NoLending {
		from = nil
	}
	for first := true; len(batch) < e.most; first = false {
		rec, err := r.Peek()
		if rec == nil || err != nil || rec.Index >= end {
			return batch, err
		}
		seq := rec.Index*n + offset
		if seq >= limit && !first {
			return batch, nil
		}
		batch = batch[:len(batch)+1] // most is at most maxBatch, its capacity
		m := &batch[len(batch)-1]
		e.fill(rank, rec, seq, m)
		m.from, m.at, m.loan = from, r.Pos(), nil // the layer above may keep it
		r.Take()
	}
	return batch, nil
}

// fill stores what a record says of a message, field by field: it is large for a value.
func (e *epoch) fill(rank int, rec *smc.Record, seq uint64, m *Message) {
	node := e.node(e.senders[rank])
	w := EndpointID(rec.Writer)
	h := &e.heard[rank]
	if h.writer != w || h.channel == 0 {
		h.writer, h.channel = w, e.g.m.channel(node, w) // mostly the one of the message before
	}
	m.Writer, m.WriterSeq, m.Timestamp, m.Kind, m.Flags = w, rec.WriterSeq, rec.Timestamp, Kind(rec.Kind), rec.Flags
	m.Sender, m.Channel, m.Epoch, m.Seq, m.Payload = node, h.channel, e.desc.Epoch, seq, rec.Payload
}

func (e *epoch) message(rank int, rec *smc.Record, seq uint64) (m Message) {
	e.fill(rank, rec, seq, &m)
	return m
}

// undelivered is what this node has committed in the epoch and was not handed itself. It sends nothing there any more.
// Where it only sends it can not tell what of that others were handed. Then it tells nothing, also not of what it has
// not published: a part without what went before would be of no use. Who wants to send again keeps the channel
// (Endpoint.Replica), and so receives.
func (e *epoch) undelivered() (own []Message) {
	if e.myRank < 0 || e.drained {
		return nil
	}
	var behind []Message // what is not published, and has no sequence number
	e.sender.Abandon(func(rec smc.Record) {
		behind = append(behind, e.message(e.myRank, &rec, 0))
	})
	if !e.receiving {
		return nil
	}
	r, n := e.recvs[e.myRank], uint64(len(e.senders))
	for r.Poll() {
	}
	for {
		rec, err := r.Peek()
		if rec == nil || err != nil {
			return append(own, behind...)
		}
		own = append(own, e.message(e.myRank, rec, rec.Index*n+uint64(e.myRank)))
		r.Take()
	}
}

// handOver tells senders what was handed over, gives them back what is not lent, and wakes those that wait for room.
func (e *epoch) handOver() {
	for rank, r := range e.recvs {
		if r == nil {
			continue
		}
		e.raise(e.table.Handed(rank), r.Pos())
		e.raise(e.table.Freed(rank), e.lenders[rank].needed(r.Pos()))
	}
	e.table.Push()
	for _, i := range e.senders {
		if i != e.me && e.table.Row(i).Load(sst.Wants) != 0 {
			if l := e.g.m.links[e.node(i)]; l != nil {
				l.Ring()
			}
		}
	}
}

// raise stores a cell of this node's row, if that changes it.
func (e *epoch) raise(col int, v uint64) {
	if e.table.Row(e.me).Load(col) != v {
		e.table.Store(col, v)
	}
}
