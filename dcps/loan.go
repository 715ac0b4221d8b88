package dcps

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/release"
	"github.com/omg-dds-go/dds/topic"
)

// Loan is room for one encoded sample in the ring: it is built in place and published without a copy. One goroutine
// uses it, and ends it with Publish or Discard.
//
// Until then it holds up its subgroup: what any writer of this process sends there after it, on topics that share the
// subgroup too, is not delivered anywhere, and once the ring is full writers time out. Build quickly, and defer Discard.
//
// Close of the writer discards its loans: Publish and Discard then fail with ErrAlreadyDeleted, and Bytes is nil. Once
// a loan has ended, in any of the three ways, what Bytes gave before, and a builder over it, must not be written to: the
// ring has the room again, and a sample of another writer of this process may be in it. A program that closes a writer
// while another goroutine builds makes that goroutine stop first. The memory itself stays as long as the Loan is
// referred to, also after the participant's Close: a late builder whose Loan is still to be published does not fault.
//
// A copy of a Loan is the same loan.
type Loan struct { // four words and fields: of more the compiler makes copies in memory, and each costs as much as two atomic operations
	of    *lease
	turn  uint64        // of the lease; with expired, once this copy was published or discarded
	ring  derecho.Ring  // that the room is in; none: it is lease.own
	place derecho.Place // of the room in the ring
}

// expired, in Loan.turn: a turn that no lease has.
const expired = 1 << 63

// Bytes is the room to fill; nil once the loan has ended.
func (l *Loan) Bytes() []byte {
	if l == nil || l.of == nil {
		return nil
	}
	room := l.room() // before the look at turn: it is that of this loan if it has not ended then
	if !l.lent() {
		return nil
	}
	return room
}

// room is what Bytes is until the loan has ended, and the lease was taken back.
func (l *Loan) room() []byte {
	if l.ring != (derecho.Ring{}) {
		return l.ring.At(l.place)
	}
	if own := l.of.own.Load(); own != nil {
		return *own
	}
	return nil
}

// At sets the source timestamp, which is otherwise what DataWriter.Loan gave the sample: the time of that call, or what
// At among its options said. So it is for the zero time.Time. See the option At for what is refused.
func (l *Loan) At(t time.Time) error {
	const op = "At"
	if l == nil || l.of == nil {
		return missing(op, "the loan", "DataWriter.Loan")
	}
	at, err := nanoseconds(op, l.of.w.what, t)
	if err == nil {
		l.of.stamp(l.turn, at)
	}
	return err
}

// Publish sends the first n bytes, an encoded sample. If n is not that of a sample, the loan goes on; after any other
// error it has ended, and nothing was sent. Where RESOURCE_LIMITS of a VOLATILE writer with HISTORY KEEP_ALL have no room for the
// sample it waits like Write, up to max_blocking_time; the sample then comes behind what was written meanwhile.
func (l *Loan) Publish(n int) error {
	const op = "Publish"
	if l == nil || l.of == nil {
		return missing(op, "the loan", "DataWriter.Loan")
	}
	w, room := l.of.w, l.room()
	if (n < cdr.HeaderSize || n > len(room)) && l.lent() {
		return &Error{Op: op, Entity: w.what, Code: ErrBadParameter, Detail: fmt.Sprintf("the sample has %d bytes, the loan %d", n, len(room))}
	}
	turn := l.turn
	r, err := w.loans.end(op, l)
	if err != nil {
		return err
	}
	at := l.of.timestamp(turn)
	if w.unhindered(r) {
		h := derecho.Header{Writer: w.id, WriterSeq: r.seq, Timestamp: at, Kind: kindData}
		w.publishDirectly(r, &h, n)
		w.loans.done(l.of)
		return nil
	}
	defer w.loans.done(l.of)
	// From here on the room is this goroutine's: Close waits for it, as for every slot that is reserved.
	w.takeOff(r)
	err = w.broken(op)
	if err == nil && r.node != w.p.core.ID() {
		err = &Error{
			Op: op, Entity: w.what, Code: ErrPreconditionNotMet, Err: derecho.ErrExcluded,
			Detail: "the loan is of before the group went on without this process, and was lost then; write the sample again",
		}
	}
	if err == nil && w.bySource && at != r.at {
		err = &Error{Op: op, Entity: w.what, Code: ErrBadParameter,
			Detail: "DESTINATION_ORDER is BY_SOURCE_TIMESTAMP, and the loan has another timestamp than its place; give At to DataWriter.Loan instead"}
	}
	if err != nil {
		w.waste(r)
		return err
	}
	instances := w.instances.Load()
	counted, err := instances.note(w, op, nil, room[:n], 1)
	if errors.Is(err, errNotAcked) {
		return w.publishWhenAcked(op, l.of, room[:n], at, err)
	}
	if err != nil {
		w.waste(r)
		return err
	}
	if r.sent {
		w.publish(r, w.header(kindData, r.seq, 0, at), n)
	} else {
		w.showLifeUnsent()
	}
	counted.stamp = at
	instances.wrote(w, counted)
	return nil
}

// publishWhenAcked is Publish of a writer that holds as many samples as RESOURCE_LIMITS let it until they are acknowledged. The
// loan itself is in the way of that: so the sample leaves the ring, waits like one of Write, and gets another place.
func (w *writer) publishWhenAcked(op string, of *lease, room []byte, at int64, full error) error {
	sample, from := slices.Clone(room), sampleClock.now()
	w.waste(&of.r)
	ctx, instances := w.lifetime, w.instances.Load()
	counted, err := w.noteWhenAcked(ctx, op, nil, sample, instances, from, full)
	if err != nil {
		return err
	}
	if w.bySource && !of.asked {
		at = atCall // the place is another one, and its timestamp goes with it
	}
	var again reservation
	if err := w.reserve(ctx, op, len(sample), from, at, &again); err != nil {
		instances.unwrote(counted)
		return err
	}
	copy(again.slot.bytes(), sample) // the path is Ordered, which never gives a number without a place
	w.publish(&again, w.header(kindData, again.seq, 0, again.at), len(sample))
	instances.wrote(w, counted)
	return nil
}

// Discard gives the room back; nothing is sent. It has no effect on a loan that ended already.
func (l *Loan) Discard() error {
	const op = "Discard"
	if l == nil || l.of == nil {
		return missing(op, "the loan", "DataWriter.Loan")
	}
	w := l.of.w
	r, err := w.loans.end(op, l)
	switch {
	case err == nil:
		w.waste(r)
		w.loans.done(l.of)
	case errors.Is(err, ErrPreconditionNotMet):
		return nil
	}
	return err
}

// lease is the writer's side of a loan. Leases are used again: turn tells the loans of one from each other.
type lease struct {
	w     *writer
	r     reservation // of who lends, and then of who has ended the loan
	asked bool        // At among the options of DataWriter.Loan gave r its timestamp
	// turn modulo leaseStates is the state. Who makes it leaseEnded, by compare-and-swap, has the reservation: one of the
	// copies of the loan, or Close. A copy makes it leaseFree when it has done with r.
	// It is made leaseFree, and that of leases.first leaseLent, by a store that does not wait to be seen (package
	// release): what went before is seen by who finds it so, and no load that follows depends on it but the one of
	// closed, before which who lends first leaves the writer's turn.
	turn atomic.Uint64
	// own is the room of a loan that has none in a ring. Who lends stores it before it makes turn leaseLent, done takes it away.
	own atomic.Pointer[[]byte]

	// What Loan.At said: of the loan with the turn stamped the source timestamp, in ns. Both are stored with stamping
	// held, at first, while that loan is lent; so that what is found with the turn of a loan that one has ended is what
	// At said of it, and no later than that.
	stamping sync.Mutex
	at       atomic.Int64
	stamped  atomic.Uint64
}

// keep makes memory the room of the next loan.
func (l *lease) keep(room []byte) { l.own.Store(&room) }

// stamp is Loan.At of a loan with such a turn, unless it has ended.
func (l *lease) stamp(turn uint64, at int64) {
	l.stamping.Lock()
	defer l.stamping.Unlock()
	if l.turn.Load() == turn {
		l.at.Store(at)
		l.stamped.Store(turn)
	}
}

// timestamp is that of a loan that the caller has ended, and which had such a turn.
func (l *lease) timestamp(turn uint64) int64 {
	if l.stamped.Load() == turn {
		if at := l.at.Load(); at != atCall {
			return at
		}
	}
	return l.r.at
}

// The states of a lease, one after the other.
const (
	leaseFree  = 0
	leaseLent  = 1
	leaseEnded = 2

	leaseStates = 3
)

func (l *lease) state() uint64 { return l.turn.Load() % leaseStates }

func (l *lease) take(turn uint64) bool { return l.turn.CompareAndSwap(turn, turn+leaseEnded-leaseLent) }

// leases are those of a writer. They are at most as many as there were loans at once, and one.
//
// A writer that goes directly and lends one at a time uses first and takes no lock. Words and their writers (all
// atomics are sequentially consistent):
//
//	first   its turn is made leaseLent by who has the writer's turn, if it is leaseFree
//	closed  set by close, before it looks at the turns. Who lends makes its turn leaseLent and looks at closed after that: so either
//	        close finds the lease lent, or the lender finds that it is closed. Both may; then the turn tells whose it is
type leases struct {
	first  lease
	closed atomic.Bool

	mu   sync.Mutex
	all  []*lease // besides first
	free []*lease
}

func (s *leases) init(w *writer) {
	s.first.w = w
	s.first.r.sent, s.first.r.direct = true, true
}

// lend makes a loan of a lease from get, which has a reservation, and gives its turn; 0 if the writer is closed.
func (s *leases) lend(l *lease) (turn uint64) {
	turn = l.turn.Add(leaseLent - leaseFree)
	if !s.open(l, turn) {
		return 0
	}
	return turn
}

// open tells whether a lease that was lent just now may be. If not, its reservation is given up.
func (s *leases) open(l *lease, turn uint64) bool {
	if !s.closed.Load() {
		return true
	}
	if l.take(turn) {
		l.w.waste(&l.r)
	} // else close has it
	return false
}

func (s *leases) get(w *writer) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free) - 1; n >= 0 {
		l := s.free[n]
		s.free = s.free[:n]
		return l
	}
	l := &lease{w: w}
	s.all = append(s.all, l)
	return l
}

// done takes back a lease that end gave. It does not keep the ring of its reservation mapped.
func (s *leases) done(l *lease) {
	l.r.slot, l.r.tail = slot{}, nil
	if l.own.Load() != nil {
		l.own.Store(nil)
	}
	release.Store(&l.turn, l.turn.Load()+leaseStates-leaseEnded) // nobody else changes it, and who finds it free has that loaded
	if l != &s.first {
		s.put(l)
	}
}

// put takes back a lease of get that is not lent.
func (s *leases) put(l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, l)
}

// each goes through all, with mu held.
func (s *leases) each(f func(l *lease)) {
	f(&s.first)
	for _, l := range s.all {
		f(l)
	}
}

// lent tells whether a loan has not ended.
func (l *Loan) lent() bool { return l.of.turn.Load() == l.turn }

// end takes the reservation of a loan: one caller gets it, and puts the lease back when it has done with it.
func (s *leases) end(op string, l *Loan) (*reservation, error) {
	if !l.of.take(l.turn) {
		if s.closed.Load() && l.turn&expired == 0 {
			return nil, l.of.w.deleted(op)
		}
		return nil, &Error{Op: op, Entity: l.of.w.what, Code: ErrPreconditionNotMet, Detail: "the loan was published or discarded already"}
	}
	l.turn |= expired
	return &l.of.r, nil
}

// close ends all loans and lends no more. It gives the reservations that nobody will end.
func (s *leases) close() []reservation {
	s.closed.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []reservation
	s.each(func(l *lease) {
		if turn := l.turn.Load(); turn%leaseStates == leaseLent && l.take(turn) {
			left = append(left, l.r)
			l.r = reservation{}
		}
	})
	return left
}

// out counts the loans that have not ended.
func (s *leases) out() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	s.each(func(l *lease) {
		if l.state() == leaseLent {
			n++
		}
	})
	return n
}

// heldUp names those for whom there was no room in a ring. What is known of them is not in the core's error, but here.
func (p *DomainParticipant) heldUp(err error) string {
	full := (*derecho.FullError)(nil)
	if !errors.As(err, &full) {
		return "a reader with HISTORY KEEP_ALL is full, or a process is slow"
	}
	names := make([]string, len(full.Members))
	for i, id := range full.Members {
		names[i] = p.nameOf(id)
	}
	at := strings.Join(names, ", ")
	if full.Held {
		return "a RELIABLE reader is full, by its RESOURCE_LIMITS, at " + at + ": it has to take samples, or have a higher limit"
	}
	return "the ring is full of what was not handed over, or is lent to readers, at " + at + ": that is slow, or stands still, or keeps its loans"
}

// nameOf is that of a process.
func (p *DomainParticipant) nameOf(id derecho.NodeID) string {
	if own := p.core.ID(); origin(id) == origin(own) {
		return Peer{Name: p.name, Host: p.host, PID: os.Getpid()}.String()
	}
	d := &p.directory
	d.lock()
	defer d.unlock()
	if data, known := d.participants[topic.HandleOfEntity(uint64(origin(id)), 0)]; known {
		return Peer{Name: data.Name, Host: data.Host, PID: data.PID}.String()
	}
	return "node " + id.String() // it is ignored, or gone
}

// lent names the loans of this process that hold up a subgroup, for errors of those who wait for it; "" for none.
func (p *DomainParticipant) lent(sg derecho.SubgroupID) string {
	var text []string
	for w := range p.writers.all() {
		if n := w.loans.out(); n > 0 && w.at.sg == sg {
			text = append(text, fmt.Sprintf("%d of the %s", n, w.what))
		}
	}
	if text == nil {
		return ""
	}
	slices.Sort(text)
	return "; loans that were not published or discarded hold up what follows them: " + strings.Join(text, ", ")
}
