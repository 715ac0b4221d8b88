package dcps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// writer is a DataWriter without its type.
//
// Order of its samples: the sequence number of a message and its place in this node's ring are taken together under
// turn, so that a reader sees the numbers of one writer ascend even when several goroutines write. Encoding happens
// outside: the slots of several goroutines are filled side by side.
//
// What the QoS decides may change until the writer is enabled: till then it is stored, and read, with mu held, and so are q, in
// which some policies may change later too, id and handle. What sends reads the rest without mu, as it has seen enabled before.
type writer struct {
	entity
	pub       *Publisher
	topic     *topicEntity
	id        derecho.EndpointID
	handle    InstanceHandle
	q         qos.DataWriter
	path      topic.Path
	at        channelKey
	enc       cdr.Encapsulation
	blocking  time.Duration // RELIABILITY max_blocking_time
	maxSize   int           // of a message
	status    *StatusCondition
	callbacks writerCallbacks        // guarded by mu
	listener  any                    // what SetListener got; guarded like bind
	bind      func() writerCallbacks // guarded by the participant's listening
	typed     AnyDataWriter

	turn      turn                              // who has it takes number and place
	acked     atomic.Uint64                     // WaitForAcknowledgments has seen these confirmed
	doubt     doubt                             // about samples that the group went on without
	leftOut   leftOut                           // of a history that went on
	resends   bool                              // it is owed to late readers what the group went on without; see resend.go
	owed      atomic.Pointer[[]derecho.Message] // what has to be sent again, before anything new
	resent    atomic.Pointer[[]derecho.Message] // what was sent again and has not come back yet
	sendsAs   derecho.NodeID                    // the incarnation that it has sent in; who has turn
	inFlight  atomic.Int64                      // messages that have a place and are not committed
	ended     atomic.Bool                       // nothing may be sent any more
	dropped   atomic.Uint64                     // best effort: not sent because the ring was full
	instances atomic.Pointer[writerInstances]   // nil if the QoS needs no record of the instances
	loans     leases
	ending    ending          // of Close
	lifetime  context.Context // ends when Close begins
	die       context.CancelFunc
	life      life // LIVELINESS
	stability stability
	batch     *batch       // of its subgroup; set before the writer is enabled
	budget    atomic.Int64 // LATENCY_BUDGET: how long a message may wait for others, ns
	waits     whileOpen    // what Write and its kin wait with; who has turn
	set       openSet      // PRESENTATION coherent_access; who has turn
	// known: whoever gets what is sent now was told of the writer, or will be. The polling goroutine stores true when it is told
	// itself, and false when its process is excluded, before anybody can send as another incarnation; Close stores false before
	// it withdraws the writer. Who sends loads it after the message has its place: a place in an epoch with a member that
	// joined behind the withdrawal is taken after that.
	known    atomic.Bool
	marking  atomic.Bool // somebody has asked for a mark, which takes its place only after this is false again
	bySource bool        // DESTINATION_ORDER BY_SOURCE_TIMESTAMP: its timestamps ascend
	stamped  int64       // with it, ns of the latest timestamp; who has turn
	info     []byte      // what the domain was told of the writer; guarded by entity.changing
	// direct is how most of its messages get their place; nil if the QoS asks for more than that. See direct.go.
	direct *derecho.Outlet
	usual  usualSize

	// Guarded by mu.
	readers        map[InstanceHandle]Peer   // that are matched
	registered     map[InstanceHandle][]byte // keys that handles do not hold
	matched        MatchedStatus
	incompatible   IncompatibleQosStatus
	deadlineMissed DeadlineMissedStatus
}

func (w *writer) setup() {
	w.init(w.pub.p, what("writer", w.topic.name), w)
	w.status = newStatusCondition(&w.entity)
	w.turn.init()
	w.loans.init(w)
	w.lifetime, w.die = context.WithCancel(context.Background())
	w.stamped = math.MinInt64
	w.stability.init()
	w.status.follow = w.followStability
	w.readers = make(map[InstanceHandle]Peer)
}

func (w *writer) apply(it *item) {
	switch it.kind {
	case itemMatched:
		w.matched.add(it.ctl.handle, it.ctl.peer)
		w.readers[it.ctl.handle] = it.ctl.peer
		w.changed |= PublicationMatchedStatusBit
	case itemUnmatched:
		w.matched.remove(it.ctl.handle, it.ctl.peer)
		delete(w.readers, it.ctl.handle)
		w.changed |= PublicationMatchedStatusBit
	case itemIncompatible:
		w.incompatible.add(it.ctl.peer, it.ctl.bad)
		w.changed |= OfferedIncompatibleQosStatusBit
	case itemOutage:
		w.cutOff(w.p.outage.Load() != nil)
		w.stability.ring()
	case itemFailed:
		w.failure = it.ctl.err
	}
}

func (w *writer) nextTick() int64 {
	at := w.life.due
	if t := w.instances.Load(); t != nil {
		at = sooner(at, t.due())
	}
	if w.batch != nil {
		at = sooner(at, w.batch.due.Load())
	}
	return at
}

// sooner is the earlier of two times, of which 0 never comes.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (w *writer) tick(now int64) {
	w.instances.Load().missed(now, func(h InstanceHandle, times int64) {
		w.deadlineMissed.add(h, times)
		w.changed |= OfferedDeadlineMissedStatusBit
	})
	if due := w.life.due; due != 0 && due <= now {
		w.lookLife(now)
	}
	if w.batch != nil {
		w.batch.end(now)
	}
}

// sendable tells why the writer can not send, if so. It takes no lock.
func (w *writer) sendable(ctx context.Context, op string) error {
	if w.ended.Load() {
		return w.deleted(op)
	}
	if !w.enabled.Load() {
		return w.notEnabled(op)
	}
	if ctx == nil {
		return isNil(op, w.what, "ctx")
	}
	if err := ctx.Err(); err != nil {
		return failure(op, w.what, "", err)
	}
	return w.broken(op)
}

// broken tells why nothing that is sent now arrives as it should, if so.
func (w *writer) broken(op string) error {
	if err := w.p.failed(op, w.what); err != nil {
		return err
	}
	if err := w.p.interrupted(op, w.what); err != nil {
		return err
	}
	if w.path == topic.Logged {
		if err := w.p.logFailure(w.at.sg); err != nil {
			return &Error{Op: op, Entity: w.what, Code: ErrOutOfResources, Err: err}
		}
		return w.refusal(op)
	}
	return nil
}

// reservation is a place in the ring together with the sequence number that goes with it.
type reservation struct {
	slot slot
	seq  uint64
	node derecho.NodeID // the incarnation of this process in whose ring it is
	sent bool           // false: best effort, and there was no room
	// direct: it is of a writer and a message that need no more than publishDirectly does.
	direct bool
	at     int64 // source timestamp, ns
	// flags and tail are what PRESENTATION adds to the message; see coherent.go.
	flags uint8
	tail  []byte
	// exclusions is doubt.exclusions from before the place was taken.
	exclusions uint64
	// inFlight: it counts in writer.inFlight.
	inFlight bool
	// waits: the message may wait for others. hurried is that of the batch from before the place was taken.
	waits   bool
	hurried uint64
}

// reserve waits for room, until ctx is done or max_blocking_time is over. Best effort never waits: the sample is lost,
// and its number with it, so that readers count the loss. at is the source timestamp that the caller asks for, or
// atCall, and from the time of the call. What was reserved is stored in r, where the caller has it: it is too large to
// be handed about for each sample.
func (w *writer) reserve(ctx context.Context, op string, size int, from, at int64, r *reservation) error {
	if w.direct != nil && w.reserveDirectly(size, from, at, r) {
		return nil
	}
	return w.reserveWaiting(ctx, op, size, from, at, r)
}

// reserveWaiting is reserve for all writers, in all circumstances.
func (w *writer) reserveWaiting(ctx context.Context, op string, size int, from, at int64, r *reservation) error {
	r.direct = false
	var others []*writer
	if w.pub.present.ordered {
		var room int
		others, room = w.tailRoom()
		size += room
	}
	if size > w.maxSize {
		return &Error{
			Op: op, Entity: w.what, Code: ErrOutOfResources, Err: derecho.ErrTooLarge,
			Detail: fmt.Sprintf("the sample has %d bytes, the largest that can be written has %d, by %s", size, w.maxSize, w.sizeLimit()),
		}
	}
	var deadline time.Time
	if w.path != topic.Unordered && w.blocking != qos.Infinite {
		deadline = sampleClock.time(from).Add(w.blocking)
	}
	if err := w.takeTurn(ctx, op, deadline); err != nil {
		return err
	}
	defer w.turn.leave()
	if w.ended.Load() {
		return w.deleted(op)
	}
	at, err := w.stamp(op, from, at)
	if err != nil {
		return err
	}
	exclusions := w.doubt.exclusions.Load()
	w.mayWait(r)
	ctx = w.waits.begin(ctx, w.lifetime)
	defer w.waits.end() // before the turn is left
	node, err := w.place(ctx, w.at.ch, size, deadline, &r.slot)
	if errors.Is(err, derecho.ErrWouldBlock) {
		w.dropped.Add(1)
		*r = reservation{node: node, at: at, exclusions: exclusions}
		w.number(r, others)
		return nil
	}
	if err != nil {
		if w.ended.Load() {
			return w.deleted(op)
		}
		if known := w.broken(op); known != nil {
			return known
		}
		detail := ""
		if errors.Is(err, derecho.ErrTimeout) {
			within := fmt.Sprintf("within RELIABILITY max_blocking_time %v", w.blocking)
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
				within = "before the context ended"
			}
			detail = "no room " + within + ": " + w.p.heldUp(err) + w.p.lent(w.at.sg)
		}
		return failure(op, w.what, detail, err)
	}
	r.node, r.sent, r.at, r.flags, r.tail, r.exclusions, r.inFlight = node, true, at, 0, nil, exclusions, w.resends
	w.number(r, others)
	return nil
}

// sizeLimit names the setting from which maxSize follows.
func (w *writer) sizeLimit() string {
	if w.maxSize < w.p.core.MaxPayload(w.at.sg) {
		return fmt.Sprintf("Settings.LogSegmentBytes (%d)", w.p.settings.LogSegmentBytes)
	}
	return fmt.Sprintf("Settings.MaxRingBytes (%d)", w.p.settings.MaxRingBytes)
}

// stamp gives a message its source timestamp. With DESTINATION_ORDER BY_SOURCE_TIMESTAMP a writer's ascend, as its numbers
// do (§2.2.3.17): one that the caller asks for must not be before the latest. It is
// the latest once the message has its number: one that gets none is not sent. The caller has the turn.
func (w *writer) stamp(op string, from, at int64) (int64, error) {
	if !w.bySource {
		if at == atCall {
			at = from
		}
		return at, nil
	}
	switch {
	case at == atCall:
		at = max(from, w.stamped)
	case at < w.stamped:
		return at, &Error{
			Op: op, Entity: w.what, Code: ErrBadParameter,
			Detail: fmt.Sprintf("source timestamp %v is before %v of the writer's latest message, and DESTINATION_ORDER is BY_SOURCE_TIMESTAMP", time.Unix(0, at), time.Unix(0, w.stamped)),
		}
	}
	return at, nil
}

// publish sends what was built in a reservation.
func (w *writer) publish(r *reservation, h derecho.Header, size int) {
	if r.direct {
		w.publishDirectly(r, &h, size)
		return
	}
	h.Flags |= r.flags
	if r.tail != nil {
		size += copy(r.slot.bytes()[size:], r.tail)
	}
	w.dispatch(r, h, size)
	w.showLife()
	w.stability.sent()
}

// takeTurn waits for the other goroutines that use the writer.
func (w *writer) takeTurn(ctx context.Context, op string, deadline time.Time) error {
	expired, err := w.turn.take(ctx, deadline)
	if expired {
		return failure(op, w.what, fmt.Sprintf("other goroutines wait for room on the same writer, longer than RELIABILITY max_blocking_time %v", w.blocking)+w.p.lent(w.at.sg), derecho.ErrTimeout)
	}
	if err != nil {
		return failure(op, w.what, "", err)
	}
	return nil
}

func (w *writer) header(k derecho.Kind, seq uint64, flags uint8, at int64) derecho.Header {
	return derecho.Header{Writer: w.id, WriterSeq: seq, Timestamp: at, Kind: k, Flags: flags}
}

// write sends a sample.
func (w *writer) write(ctx context.Context, m cdr.Message, at int64) error {
	const op = "Write"
	if err := w.sendable(ctx, op); err != nil {
		return err
	}
	if w.direct != nil {
		if done, err := w.writeAsUsual(op, m, at); done {
			return err
		}
	}
	size, err := cdr.Size(m, w.enc)
	if err != nil {
		return failure(op, w.what, "", err)
	}
	w.usual.note(size)
	from := sampleClock.now()
	instances := w.instances.Load()
	counted, err := instances.note(w, op, m, nil, 1)
	if errors.Is(err, errNotAcked) {
		counted, err = w.noteWhenAcked(ctx, op, m, nil, instances, from, err)
	}
	if err != nil {
		return err
	}
	var r reservation
	if err := w.reserve(ctx, op, size, from, at, &r); err != nil {
		instances.unwrote(counted)
		return err
	}
	if r.sent {
		n, err := cdr.MarshalTo(r.slot.bytes(), m, w.enc)
		if err != nil {
			w.waste(&r)
			instances.unwrote(counted)
			return failure(op, w.what, "", err)
		}
		w.publish(&r, w.header(kindData, r.seq, 0, r.at), n)
	} else {
		w.showLifeUnsent()
	}
	counted.stamp = r.at
	instances.wrote(w, counted)
	return nil
}

// waste gives a reservation up. Where readers count gaps as loss, or have to know what belongs together, the number is sent
// without a sample.
func (w *writer) waste(r *reservation) {
	switch {
	case !r.sent:
	case w.path == topic.Unordered || r.flags != 0:
		w.commit(&r.slot, w.header(kindNothing, r.seq, r.flags, r.at), copy(r.slot.bytes(), r.tail))
		w.landed(r)
	default:
		r.slot.abort()
		w.landed(r)
	}
}

// send tells about an instance: only its key travels.
func (w *writer) send(ctx context.Context, op string, k derecho.Kind, flags uint8, key cdr.Message, at int64) error {
	if err := w.sendable(ctx, op); err != nil {
		return err
	}
	encoded, err := keyBytes(key)
	if err != nil {
		return failure(op, w.what, "", err)
	}
	from := sampleClock.now()
	var r reservation
	if err := w.reserve(ctx, op, len(encoded), from, at, &r); err != nil {
		return err
	}
	if !r.sent {
		w.showLifeUnsent()
		return nil
	}
	copy(r.slot.bytes(), encoded)
	w.publish(&r, w.header(k, r.seq, flags, r.at), len(encoded))
	return nil
}

// keyBytes encodes a key. It is not the hot path: the buffer grows until the key fits.
func keyBytes(key cdr.Message) ([]byte, error) {
	for size := 64; ; size *= 4 {
		buf := make([]byte, size)
		n, err := cdr.MarshalKeyTo(buf, key)
		if errors.Is(err, cdr.ErrShortBuffer) && size < 1<<30 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

func (w *writer) PublicationMatchedStatus() PublicationMatchedStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= PublicationMatchedStatusBit
	return w.matched.taken()
}

func (w *writer) OfferedIncompatibleQosStatus() OfferedIncompatibleQosStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= OfferedIncompatibleQosStatusBit
	return w.incompatible.taken()
}

func (w *writer) OfferedDeadlineMissedStatus() OfferedDeadlineMissedStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= OfferedDeadlineMissedStatusBit
	return w.deadlineMissed.taken()
}

// unknown is the error of who waits for acknowledgements that this process can not get any more.
func (w *writer) unknown(op string, cause error) error {
	return &Error{
		Op: op, Entity: w.what, Code: ErrPreconditionNotMet, Err: cause,
		Detail: outageDetail(cause, "which of the samples up to now have reached their readers, or a log, is not known"),
	}
}

// outlived notes that the group went on without this process. The polling goroutine's.
func (w *writer) outlived() {
	w.doubt.exclusions.Add(1)
	if w.acked.Load() < w.turn.number() {
		w.doubt.raised.Add(1)
	}
}

// Close discards the loans first: a slot that is reserved and never ended holds up all that follows it, also the
// farewell.
func (w *writer) Close() error {
	if w.p == nil {
		return w.deleted("Close")
	}
	return w.ending.do(func() error {
		w.ended.Store(true)
		w.die()
		w.changing.Lock() // an Enable that is under way comes to its end first
		defer w.changing.Unlock()
		if !w.enabled.Load() {
			w.dismantle()
			return nil
		}
		w.endLoans()
		err := w.farewell()
		w.dismantle()
		return err
	})
}

// endLoans discards what is lent, and has the writer lend no more.
func (w *writer) endLoans() {
	for _, r := range w.loans.close() {
		w.waste(&r)
	}
}

// dismantle takes the writer out of what its participant knows.
func (w *writer) dismantle() {
	w.pub.remove(w)
	w.endLife()
	w.p.retire(w.id)
	w.p.delist(&w.entity)
	w.close()
	w.topic.release()
}

// qosNow is the writer's QoS.
func (w *writer) qosNow() qos.DataWriter {
	w.lock()
	defer w.unlock()
	return w.q
}

func (w *writer) handleNow() InstanceHandle {
	w.lock()
	defer w.unlock()
	return w.handle
}

func (w *writer) pathNow() topic.Path {
	w.lock()
	defer w.unlock()
	return w.path
}

// farewell sends the writer's last message and withdraws its endpoint. A writer that can not say farewell is withdrawn
// all the same: that tells its readers that it is gone. Its ring stays full, say; in an outage, or while its log is
// refused, there is nobody to say it to. So each of the two has its own time: what waits with a context that is over may
// not so much as begin.
func (w *writer) farewell() error {
	saying, cancel := w.p.parting()
	if w.sayClosing(saying) == nil {
		_ = w.p.core.WaitAcked(saying, w.at.sg)
	}
	cancel()
	w.known.Store(false) // first: who joins behind the removal is not told of the writer
	leaving, cancel := w.p.parting()
	defer cancel()
	gone := w.p.core.RemoveEndpoint(leaving, w.id)
	if gone == nil || errors.Is(gone, derecho.ErrClosed) || w.p.failure.Load() != nil {
		return nil
	}
	return w.p.unagreed("Close", w.what, withdrawnDetail, gone)
}

func (w *writer) sayClosing(ctx context.Context) error {
	w.batch.hurry()
	deadline := time.Now().Add(w.farewellTimeout())
	if err := w.takeTurn(ctx, "Close", deadline); err != nil {
		return err
	}
	defer w.turn.leave()
	for w.resends { // nobody else sends it any more; what a full reader does not take in time is lost with the writer
		if sent, err := w.sendOwed(ctx, w.p.core.ID(), deadline); sent || err != nil {
			break
		}
	}
	w.set = openSet{} // what comes behind the farewell ends no set
	seq := w.turn.another()
	// Without channel: a full reader does not hold the farewell up, which takes no room there.
	s, err := w.p.core.reserve(ctx, w.at.sg, 0, 0, deadline)
	if errors.Is(err, derecho.ErrWouldBlock) {
		return nil
	}
	if err == nil {
		s.commit(w.header(kindClosing, seq, w.autodispose(), now()), 0)
		w.batch.hurry()
	}
	return err
}

// farewellTimeout bounds how long closing waits for room in the ring.
func (w *writer) farewellTimeout() time.Duration {
	return min(max(w.blocking, 100*time.Millisecond), 5*time.Second)
}

// writerInstances is what a writer knows of its instances. Only writers have it whose QoS needs it: DEADLINE, or a
// limit of RESOURCE_LIMITS. It has a lock of its own, as writing goes on while the entity's is held.
type writerInstances struct {
	deadline     atomic.Int64 // ns, 0 for none; stored with mu held
	maxInstances int
	maxSamples   int // of all instances, on a path that keeps samples
	maxPer       int // of an instance, with KEEP_ALL on such a path
	depth        int // of an instance, with KEEP_LAST: the latest replaces the oldest
	// untilAcked: samples are held until they are acknowledged (KEEP_ALL, VOLATILE), not for late readers.
	untilAcked bool
	lifespan   atomic.Int64 // ns

	mu       sync.Mutex
	keys     *topic.Keys
	byHandle map[InstanceHandle]*writtenInstance
	partial  bool                       // it lacks instances: it began later than the writer, or they were disposed of unknown
	samples  int                        // held of all instances
	round    int                        // with untilAcked: how often all was acknowledged that was held
	alarms   dueQueue[*writtenInstance] // of those with a deadline
	expiries dueQueue[*heldSamples]     // of those that hold samples with a LIFESPAN
}

type writtenInstance struct {
	handle  InstanceHandle
	due     int64 // when DEADLINE is missed; 0 for never
	uses    int   // registered and written since it is known, also under way; a failure takes its own back
	written int   // samples since it was disposed of, also under way: as many are held as depth lets
	life    int   // rises when it is disposed of
	round   int   // writerInstances.round that written is of
	alarm   int32 // place in writerInstances.alarms
	held    *heldSamples
}

func (in *writtenInstance) place() *int32 { return &in.alarm }

// noted is what note changed, for wrote to confirm or unwrote to take back.
type noted struct {
	in      *writtenInstance
	samples int
	life    int
	at      int64 // ns
	stamp   int64 // source timestamp; who has written it sets it
}

// newWriterInstances gives nil if the QoS needs no record of the instances; the methods of nil do nothing.
func newWriterInstances(q qos.DataWriter, path topic.Path, support topic.Support) *writerInstances {
	t := &writerInstances{
		maxInstances: limit(q.ResourceLimits.MaxInstances),
		maxSamples:   limit(qos.LengthUnlimited),
		maxPer:       limit(qos.LengthUnlimited),
	}
	t.deadline.Store(finite(q.Deadline.Period))
	t.lifespan.Store(lifespanOf(&q))
	t.depth = t.maxPer
	if q.History.Kind == qos.HistoryKeepLast {
		t.depth = int(q.History.Depth)
	}
	t.untilAcked = path == topic.Ordered && q.History.Kind == qos.HistoryKeepAll
	if path.Keeps() || t.untilAcked {
		t.maxSamples = limit(q.ResourceLimits.MaxSamples)
		if q.History.Kind == qos.HistoryKeepAll {
			t.maxPer = limit(q.ResourceLimits.MaxSamplesPerInstance)
		}
	}
	unlimited := limit(qos.LengthUnlimited)
	if t.deadline.Load() == 0 && t.maxInstances == unlimited && t.maxSamples == unlimited && t.maxPer == unlimited {
		return nil
	}
	t.keys = topic.NewKeys(support)
	t.byHandle = make(map[InstanceHandle]*writtenInstance)
	return t
}

// note counts an instance that is about to be registered, or to get a sample; an error says which limit forbids it.
// The instance is that of m, or of an encoded sample.
func (t *writerInstances) note(w *writer, op string, m cdr.Message, encoded []byte, samples int) (noted, error) {
	if t == nil {
		return noted{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var h InstanceHandle
	var err error
	if m != nil {
		h, err = t.keys.Of(m)
	} else {
		h, err = t.keys.OfSample(encoded)
	}
	if err != nil {
		return noted{}, failure(op, w.what, "", err)
	}
	in := t.byHandle[h]
	if in == nil {
		if len(t.byHandle) >= t.maxInstances {
			return noted{}, t.full(w, op, "max_instances", t.maxInstances, "a new instance")
		}
		in = &writtenInstance{handle: h}
	}
	t.current(in)
	more := t.held(in.written+samples) - t.held(in.written)
	if t.held(in.written)+more > t.maxPer || t.samples+more > t.maxSamples {
		t.expire(now())
		more = t.held(in.written+samples) - t.held(in.written)
	}
	if t.held(in.written)+more > t.maxPer {
		return noted{}, t.full(w, op, "max_samples_per_instance", t.maxPer, "another sample of the instance")
	}
	if t.samples+more > t.maxSamples {
		return noted{}, t.full(w, op, "max_samples", t.maxSamples, "another sample")
	}
	t.byHandle[h] = in
	in.uses++
	in.written += samples
	t.samples += more
	return noted{in, samples, in.life, now(), 0}, nil
}

// current lets go of what an instance held before all was acknowledged.
func (t *writerInstances) current(in *writtenInstance) {
	if in.round != t.round {
		in.round, in.written = t.round, 0
		in.life++ // a sample of before that fails is not counted any more
	}
}

// ackedUpTo notes that all is acknowledged that was counted up to a round.
func (t *writerInstances) ackedUpTo(round int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.round == round {
		t.round++
		t.samples = 0
	}
}

func (t *writerInstances) atRound() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.round
}

// noteWhenAcked is note for a writer that holds as many samples as RESOURCE_LIMITS let it until they are acknowledged: it
// waits for that, up to max_blocking_time (§2.2.3.14). full is what note has said.
func (w *writer) noteWhenAcked(ctx context.Context, op string, m cdr.Message, encoded []byte, t *writerInstances, from int64,
	full error) (noted, error) {
	if deadline := w.deadlineFrom(sampleClock.time(from)); !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	ctx, end := until(ctx, w.lifetime)
	defer end()
	for {
		round := t.atRound()
		w.batch.hurry()
		if err := w.p.core.WaitAcked(ctx, w.at.sg); err != nil {
			if w.ended.Load() {
				return noted{}, w.deleted(op)
			}
			if known := w.broken(op); known != nil {
				return noted{}, known
			}
			return noted{}, failure(op, w.what, full.Error(), err)
		}
		t.ackedUpTo(round)
		counted, err := t.note(w, op, m, encoded, 1)
		if !errors.Is(err, errNotAcked) {
			return counted, err
		}
	}
}

// held is how many of an instance's samples are kept.
func (t *writerInstances) held(written int) int { return min(written, t.depth) }

// wrote confirms what note counted: from now on DEADLINE runs anew.
func (t *writerInstances) wrote(w *writer, n noted) {
	if t == nil || t.deadline.Load() == 0 && t.lifespan.Load() == never {
		return
	}
	t.mu.Lock()
	t.hold(n)
	rearm := false
	if d := t.deadline.Load(); d != 0 && t.byHandle[n.in.handle] == n.in && n.in.life == n.life {
		n.in.due = max(n.in.due, after(n.at, d))
		next := t.alarms.next()
		t.alarms.by(n.in, n.in.due)
		rearm = next == 0 || next > n.in.due
	}
	t.mu.Unlock()
	if rearm {
		w.rearm()
	}
}

// rearm has the timer look at the writer's deadlines.
func (w *writer) rearm() {
	w.lock()
	defer w.unlock()
}

// unwrote takes back what note counted, as nothing was sent.
func (t *writerInstances) unwrote(n noted) {
	if t == nil || n.in == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHandle[n.in.handle] != n.in {
		return // unregistered meanwhile
	}
	if n.in.life == n.life {
		t.release(n.in, n.in.written-n.samples)
	}
	if n.in.uses--; n.in.uses == 0 {
		delete(t.byHandle, n.in.handle)
		t.alarms.remove(n.in)
	}
}

// errNotAcked is why a writer holds samples that nobody may ask for later.
var errNotAcked = errors.New("they are not acknowledged yet")

func (t *writerInstances) full(w *writer, op, limit string, n int, what string) error {
	var cause error
	if t.untilAcked && limit != "max_instances" {
		cause = errNotAcked
	}
	return &Error{
		Err: cause, Op: op, Entity: w.what, Code: ErrOutOfResources,
		Detail: fmt.Sprintf("%s does not fit: RESOURCE_LIMITS %s is %d, and as many are held; unregister or dispose instances, or raise the limit", what, limit, n),
	}
}

// forget follows an instance that is unregistered, or of which a disposal drops what was kept.
func (t *writerInstances) forget(key cdr.Message, unregister bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h, err := t.keys.Of(key)
	in := t.byHandle[h]
	if err != nil || in == nil {
		t.partial = t.partial || !unregister // registered by that, and no place of max_instances taken
		return
	}
	t.current(in)
	t.samples -= t.held(in.written)
	in.written, in.due = 0, 0
	if in.held != nil {
		t.expiries.remove(in.held)
		in.held = nil
	}
	in.life++
	t.alarms.remove(in)
	if unregister {
		delete(t.byHandle, h)
	}
}

// redate follows a change of DEADLINE: the period that runs for an instance becomes the new one, and begins now where there
// was none.
func (t *writerInstances) redate(deadline, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.deadline.Swap(deadline)
	for _, in := range t.byHandle {
		t.alarms.remove(in)
		switch {
		case deadline == 0:
			in.due = 0
		case in.due != 0:
			in.due = after(in.due-was, deadline)
		case was == 0 && in.written > 0:
			in.due = after(now, deadline)
		}
		if in.due != 0 {
			t.alarms.by(in, in.due)
		}
	}
}

func (t *writerInstances) due() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.alarms.next()
}

// missed reports the instances whose deadline passed, and how many periods that were.
func (t *writerInstances) missed(now int64, report func(h InstanceHandle, times int64)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		in, ok := t.alarms.take(now)
		if !ok {
			return
		}
		if d := t.deadline.Load(); d != 0 && in.due <= now {
			times := (now-in.due)/d + 1
			in.due = after(in.due, times*d)
			report(in.handle, times)
		}
		t.alarms.by(in, in.due)
	}
}
