package dcps

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// PRESENTATION at the writers' side (DDS 1.4 §2.2.3.6, §2.2.2.4.1.10 and 11): which messages belong together, and in which
// order those of several writers were sent. See docs/adr/0023 for the whole, and access.go for the readers' side.
//
// Wire format. A message with flagInSet belongs to the coherent set that its writer has open; the set ends with a message
// kindSetEnd, whose payload lists the parts of the set: the numbers (Header.WriterSeq) of the first and the last message
// of each writer that has a part in it. All numbers in between are sent: what was reserved and given up is a kindNothing.
//
//	set end: number(u64) count(u16) parts; part: writer(u32) first(u64) last(u64)
//
// A part whose first number is above its last is lost: its end found no room. The first number still tells which
// readers were to get it.
//
// A message with flagOrdered ends with what its publisher had sent before it, that is the latest number of each of its
// other writers; the sample is what comes before.
//
//	trailer: entries count(u16); entry: writer(u32) latest(u64)
//
// All little endian.
//
// A kindNothing with flagMark says no more than how far its writer is, and is no sign of life. A writer of a GROUP
// sends one to a reader that it is matched with, which learns where its stream begins, also of a topic of which nothing
// else comes; and one when the end of its part has found no room in time, as those who have the other parts wait for
// what follows.
const (
	flagInSet    = 4
	flagOrdered  = 8
	flagMark     = 16
	flagSetBegin = 32 // of the first message of a part, besides flagInSet: what was before it and has no end is lost

	partBytes  = 4 + 8 + 8
	endBytes   = 8 + 2
	entryBytes = 4 + 8
	countBytes = 2
)

var errTogether = errors.New("what a peer says of the coherence or order of its samples is malformed")

// part is what a writer has in a coherent set.
type part struct {
	writer      derecho.EndpointID
	first, last uint64
}

// lost: the end of the part is not sent.
func (p part) lost() bool { return p.first > p.last }

func (p *part) lose() { p.last = p.first - 1 }

// setEnd is the payload of kindSetEnd.
type setEnd struct {
	number uint64
	parts  []part
}

func (s *setEnd) size() int { return endBytes + len(s.parts)*partBytes }

func (s *setEnd) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, s.size()), s.number)
	b = le.AppendUint16(b, uint16(len(s.parts)))
	for _, p := range s.parts {
		b = le.AppendUint32(b, uint32(p.writer))
		b = le.AppendUint64(b, p.first)
		b = le.AppendUint64(b, p.last)
	}
	return b
}

func decodeSetEnd(b []byte) (*setEnd, error) {
	le := binary.LittleEndian
	if len(b) < endBytes || len(b) != endBytes+int(le.Uint16(b[8:]))*partBytes {
		return nil, fmt.Errorf("%w: the end of a set has %d bytes", errTogether, len(b))
	}
	s := &setEnd{number: le.Uint64(b)}
	for b = b[endBytes:]; len(b) > 0; b = b[partBytes:] {
		s.parts = append(s.parts, part{derecho.EndpointID(le.Uint32(b)), le.Uint64(b[4:]), le.Uint64(b[12:])})
	}
	return s, nil
}

// losesOwn tells whether the end of a set says that its writer's own part is lost.
func losesOwn(id derecho.EndpointID, payload []byte) bool {
	end, err := decodeSetEnd(payload)
	if err != nil {
		return false
	}
	own, is := end.of(id)
	return is && own.lost()
}

// of gives the part of a writer.
func (s *setEnd) of(id derecho.EndpointID) (part, bool) {
	i := slices.IndexFunc(s.parts, func(p part) bool { return p.writer == id })
	if i < 0 {
		return part{}, false
	}
	return s.parts[i], true
}

// latest is how far a writer was.
type latest struct {
	writer derecho.EndpointID
	seq    uint64
}

// cutTrailer takes the trailer off a message.
func cutTrailer(m *derecho.Message) ([]latest, error) {
	b, le := m.Payload, binary.LittleEndian
	end := len(b) - countBytes
	if end < 0 {
		return nil, fmt.Errorf("%w: a sample of %d bytes has no trailer", errTogether, len(b))
	}
	from := end - int(le.Uint16(b[end:]))*entryBytes
	if from < 0 {
		return nil, fmt.Errorf("%w: a sample of %d bytes can not have that many entries in its trailer", errTogether, len(b))
	}
	var out []latest
	for e := b[from:end]; len(e) > 0; e = e[entryBytes:] {
		out = append(out, latest{derecho.EndpointID(le.Uint32(e)), le.Uint64(e[4:])})
	}
	m.Payload = b[:from]
	m.Flags &^= flagOrdered
	return out, nil
}

// presenting is what a Publisher knows of its coherent sets, and of the order of its writers' messages.
type presenting struct {
	coherent bool
	ordered  bool // in GROUP scope; in the others each writer's order is that of its messages
	group    bool

	open atomic.Int32 // begun and not ended; who stores it holds sets
	// parts are those that the writers have begun since the last end. Who begins one has the writer's turn, and who ends the set
	// has all turns and sets: more than it finds then are of writers that were closed meanwhile.
	parts atomic.Int32

	sets   mutex  // of BeginCoherentChanges and EndCoherentChanges
	number uint64 // of the latest set; guarded by sets

	// order makes number and trailer of a message one step: so the messages of all writers are in one order.
	order sync.Mutex
}

func (p *presenting) configure(q qos.Presentation) {
	p.coherent = q.CoherentAccess
	p.group = q.AccessScope == qos.PresentationGroup
	p.ordered = p.group && q.OrderedAccess
}

// openSet is a writer's part of the set that is open; who has the writer's turn.
type openSet struct {
	first      uint64 // its first message; 0 for none
	exclusions uint64 // doubt.exclusions from before that had its place
}

// tailRoom gives the writers of the Publisher, and how many bytes a message has after its sample to tell of them.
func (w *writer) tailRoom() ([]*writer, int) {
	all := w.pub.list()
	return all, len(all)*entryBytes + countBytes
}

// number gives a message its number, and what goes with it. The caller has the turn.
func (w *writer) number(r *reservation, all []*writer) {
	p := &w.pub.present
	w.stamped = r.at
	if !p.coherent && !p.ordered {
		r.seq = w.turn.another()
		return
	}
	if p.ordered {
		p.order.Lock()
		defer p.order.Unlock()
	}
	r.seq = w.turn.another()
	if p.coherent && (p.open.Load() > 0 || w.set.first != 0) {
		r.flags |= flagInSet
		if w.set.first == 0 {
			w.set = openSet{r.seq, r.exclusions}
			p.parts.Add(1)
			r.flags |= flagSetBegin
		}
	}
	if !p.ordered {
		return
	}
	r.flags |= flagOrdered
	le, n := binary.LittleEndian, 0
	for _, o := range all {
		if seq := o.turn.number(); o != w && seq > 0 && o.known.Load() {
			r.tail = le.AppendUint32(r.tail, uint32(o.id))
			r.tail = le.AppendUint64(r.tail, seq)
			n++
		}
	}
	r.tail = le.AppendUint16(r.tail, uint16(n))
}

// BeginCoherentChanges begins a coherent set (DDS: begin_coherent_changes): what the writers of the Publisher send
// until the matching EndCoherentChanges is seen by readers together, or not at all. Calls may be nested; the outermost
// pair counts. It has an effect if PRESENTATION of the Publisher has coherent_access, and for readers whose Subscriber
// has it too: in scope GROUP over all writers, in the other scopes for each writer by itself. It waits while another
// goroutine ends a set, as what is written until then belongs to that.
func (pub *Publisher) BeginCoherentChanges() error {
	if pub.absent() {
		return missing("BeginCoherentChanges", "the publisher", "NewPublisher")
	}
	if err := pub.usable("BeginCoherentChanges"); err != nil {
		return err
	}
	p := &pub.present
	p.sets.Lock()
	defer p.sets.Unlock()
	p.open.Add(1)
	return nil
}

// EndCoherentChanges ends a coherent set (DDS: end_coherent_changes). Without a BeginCoherentChanges before it fails
// with ErrPreconditionNotMet. It waits for other goroutines that write, and for room, like Write. If a writer stays
// busy (ErrTimeout), the set goes on, and can be ended again; if there is no room for its end, readers do not see the
// set. Nor do they if the domain went on without this process in the midst of it, which is told as
// derecho.ErrExcluded (ErrPreconditionNotMet): in scope GROUP nothing of the set is seen, in the others nothing of what the
// writers have sent in it that had begun before. A writer that was closed in the midst of the set has not ended its part: the
// call fails with ErrPreconditionNotMet, in scope GROUP nothing of the set is seen, and in the others nothing of that part.
func (pub *Publisher) EndCoherentChanges(ctx context.Context) error {
	const op = "EndCoherentChanges"
	if pub.absent() {
		return missing(op, "the publisher", "NewPublisher")
	}
	if ctx == nil {
		return isNil(op, pub.what, "ctx")
	}
	if err := pub.usable(op); err != nil {
		return err
	}
	p := &pub.present
	if err := p.sets.lockUntil(ctx); err != nil {
		return failure(op, pub.what, "another goroutine ends the coherent set, and waits for room or for who writes", err)
	}
	defer p.sets.Unlock()
	if p.open.Load() == 0 {
		return &Error{Op: op, Entity: pub.what, Code: ErrPreconditionNotMet, Detail: "no coherent set is open: call BeginCoherentChanges first"}
	}
	if p.open.Add(-1) > 0 || !p.coherent {
		return nil
	}
	return pub.endSet(ctx, op)
}

// endSet sends the ends of all parts. It has the turns of all writers meanwhile, so that each part is all that its writer
// has sent before.
func (pub *Publisher) endSet(ctx context.Context, op string) error {
	writers := slices.DeleteFunc(pub.list(), func(w *writer) bool { return !w.enabled.Load() })
	slices.SortFunc(writers, func(a, b *writer) int { return int(a.id) - int(b.id) })
	for _, w := range writers {
		if err := w.takeTurn(ctx, op, w.deadlineFrom(time.Now())); err != nil {
			pub.present.open.Add(1) // a set without the part of this writer would be another one
			return err
		}
		defer w.turn.leave()
	}
	pub.present.number++
	end := &setEnd{number: pub.present.number}
	var in []*writer
	var began []uint64
	var errs []error
	for _, w := range writers {
		if w.set.first != 0 {
			in = append(in, w)
			end.parts = append(end.parts, part{w.id, w.set.first, w.turn.number()})
			began = append(began, w.set.exclusions)
			w.set = openSet{}
		}
	}
	// A part in the midst of which this process was excluded is lost, and so is one whose writer was closed, which nobody can
	// end any more; in scope GROUP with it all of the set.
	closed := int(pub.present.parts.Swap(0)) - len(in)
	cut := false
	lose := func() {
		torn := make([]bool, len(in))
		for i, w := range in {
			torn[i] = w.doubt.exclusions.Load() != began[i]
			cut = cut || torn[i]
		}
		for i, w := range in {
			if torn[i] || (cut || closed > 0) && pub.present.group || !w.known.Load() {
				end.parts[i].lose()
			}
		}
	}
	// What waits for no room has its place first, and is gone before anybody waits: all that the process sends on the
	// unordered path comes behind it. So the ends tell which parts are lost by then, and who gets such an end does not
	// wait for one that never comes.
	place := func(i int, w *writer) (e setEndSlot) {
		e, err := w.placeSetEnd(ctx, op, pub.present.own(end, i).size())
		if err != nil {
			errs = append(errs, err)
		}
		if !e.placed {
			end.parts[i].lose()
		}
		lose() // by now: it may have waited
		return e
	}
	lossy := make([]setEndSlot, len(in))
	for i, w := range in {
		if w.path == topic.Unordered {
			lossy[i] = place(i, w)
		}
	}
	for i, w := range in {
		w.sendSetEnd(&lossy[i], pub.present.own(end, i))
	}
	for i, w := range in {
		if w.path != topic.Unordered {
			e := place(i, w)
			w.sendSetEnd(&e, pub.present.own(end, i))
			if !e.placed {
				w.mark()
			}
		}
	}
	if cut && len(errs) == 0 {
		errs = append(errs, failure(op, pub.what, "the coherent set is lost, or the parts of it that began before: begin another one", derecho.ErrExcluded))
	}
	if closed > 0 && len(errs) == 0 {
		lost := "what they have sent in it is"
		if pub.present.group {
			lost = "all of it is"
		}
		errs = append(errs, &Error{Op: op, Entity: pub.what, Code: ErrPreconditionNotMet, Detail: fmt.Sprintf(
			"writers were closed in the midst of the coherent set (%d), so %s lost: end a set before its writers are closed", closed, lost)})
	}
	return errors.Join(errs...)
}

// own is what the end of the i-th part says.
func (p *presenting) own(end *setEnd, i int) *setEnd {
	if p.group {
		return end
	}
	return &setEnd{number: end.number, parts: end.parts[i : i+1]}
}

// setEndSlot is where the end of a part goes.
type setEndSlot struct {
	slot       slot
	placed     bool
	exclusions uint64
}

// placeSetEnd finds room for the end of a set. Without room on the unordered path it is not placed, and that is no
// error. The caller has the turn.
func (w *writer) placeSetEnd(ctx context.Context, op string, size int) (e setEndSlot, err error) {
	w.batch.hurry()
	e.exclusions = w.doubt.exclusions.Load()
	// Without channel: a full reader does not hold the end up, which takes no room there.
	_, err = w.place(ctx, 0, size, w.deadlineFrom(time.Now()), &e.slot)
	if errors.Is(err, derecho.ErrWouldBlock) {
		w.dropped.Add(1) // and so is the set, which readers count as lost
		w.turn.another()
		return e, nil
	}
	if err != nil {
		if w.ended.Load() {
			return e, w.deleted(op)
		}
		if known := w.broken(op); known != nil {
			return e, known
		}
		return e, failure(op, w.what, "the coherent set is lost: begin another one", err)
	}
	e.placed = true
	return e, nil
}

// sendSetEnd sends the end of a set, if it was placed. The caller has the turn.
func (w *writer) sendSetEnd(e *setEndSlot, end *setEnd) {
	if !e.placed {
		return
	}
	payload := end.encode()
	copy(e.slot.bytes(), payload)
	w.commit(&e.slot, w.header(kindSetEnd, w.turn.another(), 0, now()), len(payload))
	if w.resends {
		w.inFlight.Add(-1)
	}
	w.doubt.sent(e.exclusions)
	w.batch.hurry()
}

// markRetry is how long a mark waits for room, with the writer's turn, and how long it lets others go on then before it
// tries again.
const markRetry = 50 * time.Millisecond

// mark has the writer send, as soon as there is room, a message that tells no more than how far it is. All that the
// writer sends after that comes behind it.
func (w *writer) mark() {
	if !w.marking.CompareAndSwap(false, true) {
		return // another is about to take its place
	}
	w.p.spawn("dcps mark", func() {
		for !w.sendMark() {
			select {
			case <-time.After(markRetry):
			case <-w.lifetime.Done():
				return
			}
			if !w.marking.CompareAndSwap(false, true) {
				return
			}
		}
	})
}

// sendMark reports true when the mark is sent, or will never be.
func (w *writer) sendMark() bool {
	w.changing.Lock() // until the writer is enabled; Close waits for what is under way
	defer w.changing.Unlock()
	expired, err := true, error(nil)
	for expired {
		expired, err = w.turn.take(w.lifetime, time.Now().Add(markRetry))
		if expired {
			w.changing.Unlock() // who has the turn may wait for room as long as it likes: SetQos and Close go first
			w.changing.Lock()
		}
	}
	w.marking.Store(false)
	if err != nil {
		return true
	}
	defer w.turn.leave()
	if w.ended.Load() || !w.enabled.Load() {
		return true
	}
	exclusions := w.doubt.exclusions.Load()
	var s slot
	if _, err := w.place(w.lifetime, 0, 0, time.Now().Add(markRetry), &s); err != nil {
		return errors.Is(err, derecho.ErrClosed) || w.p.failure.Load() != nil
	}
	flags := uint8(flagMark)
	if w.set.first != 0 {
		flags |= flagInSet // all numbers of a part are
	}
	w.commit(&s, w.header(kindNothing, w.turn.another(), flags, now()), 0)
	if w.resends {
		w.inFlight.Add(-1)
	}
	w.doubt.sent(exclusions)
	w.batch.hurry()
	return true
}

// deadlineFrom is when max_blocking_time is over; zero for never.
func (w *writer) deadlineFrom(from time.Time) time.Time {
	if w.path == topic.Unordered || w.blocking == qos.Infinite {
		return time.Time{}
	}
	return from.Add(w.blocking)
}
