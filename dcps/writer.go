package dcps

import (
	"context"
	"errors"
	"fmt"
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
	callbacks writerCallbacks

	turn      chan struct{} // capacity 1: full while a goroutine takes number and place
	seq       uint64        // latest number; guarded by turn
	ended     atomic.Bool   // nothing may be sent any more
	dropped   atomic.Uint64 // best effort: not sent because the ring was full
	instances *writerInstances

	// Guarded by mu.
	matched        MatchedStatus
	incompatible   IncompatibleQosStatus
	deadlineMissed DeadlineMissedStatus
}

func (w *writer) setup() {
	w.init(w.pub.p, what("writer", w.topic.name), w)
	w.status = newStatusCondition(&w.entity)
	w.turn = make(chan struct{}, 1)
	w.blocking = w.q.Reliability.MaxBlockingTime
}

func (w *writer) apply(it *item) {
	switch it.kind {
	case itemMatched:
		w.matched.add(it.ctl.handle, it.ctl.peer)
		w.changed |= PublicationMatchedStatusBit
	case itemUnmatched:
		w.matched.remove(it.ctl.handle, it.ctl.peer)
		w.changed |= PublicationMatchedStatusBit
	case itemIncompatible:
		w.incompatible.add(it.ctl.peer, it.ctl.bad)
		w.changed |= OfferedIncompatibleQosStatusBit
	case itemFailed:
		w.failure = it.ctl.err
	}
}

func (w *writer) nextTick() int64 {
	if w.instances == nil {
		return 0
	}
	return w.instances.due()
}

func (w *writer) tick(now int64) {
	w.instances.missed(now, func(h InstanceHandle) {
		w.deadlineMissed.add(h)
		w.changed |= OfferedDeadlineMissedStatusBit
	})
}

// sendable tells why the writer can not send, if so. It takes no lock.
func (w *writer) sendable(ctx context.Context, op string) error {
	if w.ended.Load() {
		return &Error{Op: op, Entity: w.what, Code: ErrAlreadyDeleted, Detail: "it was closed"}
	}
	if err := ctx.Err(); err != nil {
		return failure(op, w.what, "", err)
	}
	if err := w.p.failed(op, w.what); err != nil {
		return err
	}
	if w.path == topic.Logged {
		if err := w.p.logFailure(w.at.sg); err != nil {
			return &Error{Op: op, Entity: w.what, Code: ErrOutOfResources, Err: err}
		}
	}
	return nil
}

// reservation is a place in the ring together with the sequence number that goes with it.
type reservation struct {
	slot slot
	seq  uint64
	sent bool // false: best effort, and there was no room
}

// reserve waits for room, until ctx is done or max_blocking_time is over. Best effort never waits: the sample is lost,
// and its number with it, so that readers count the loss.
func (w *writer) reserve(ctx context.Context, op string, size int, from time.Time) (reservation, error) {
	if size > w.maxSize {
		return reservation{}, &Error{
			Op: op, Entity: w.what, Code: ErrOutOfResources, Err: derecho.ErrTooLarge,
			Detail: fmt.Sprintf("the sample has %d bytes, the largest that fits the ring has %d; raise Settings.RingBytes (%d) at all processes",
				size, w.maxSize, w.p.settings.RingBytes),
		}
	}
	var deadline time.Time
	if w.path != topic.Unordered && w.blocking != qos.Infinite {
		deadline = from.Add(w.blocking)
	}
	if err := w.takeTurn(ctx, op, deadline); err != nil {
		return reservation{}, err
	}
	defer func() { <-w.turn }()
	if w.ended.Load() {
		return reservation{}, &Error{Op: op, Entity: w.what, Code: ErrAlreadyDeleted, Detail: "it was closed"}
	}
	s, err := w.p.core.reserve(ctx, w.at.sg, w.at.ch, size, deadline)
	if errors.Is(err, derecho.ErrWouldBlock) {
		w.seq++
		w.dropped.Add(1)
		return reservation{seq: w.seq}, nil
	}
	if err != nil {
		if failed := w.p.failed(op, w.what); failed != nil {
			return reservation{}, failed
		}
		detail := ""
		if errors.Is(err, derecho.ErrTimeout) {
			detail = fmt.Sprintf("no room within RELIABILITY max_blocking_time %v: a reader with HISTORY KEEP_ALL is full, or a process is slow", w.blocking)
		}
		return reservation{}, failure(op, w.what, detail, err)
	}
	w.seq++
	return reservation{slot: s, seq: w.seq, sent: true}, nil
}

// takeTurn is a lock that gives up when ctx or the deadline says so.
func (w *writer) takeTurn(ctx context.Context, op string, deadline time.Time) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	default:
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		late = t.C
	}
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return failure(op, w.what, "", ctx.Err())
	case <-late:
		return failure(op, w.what, fmt.Sprintf("other goroutines wait for room on the same writer, longer than RELIABILITY max_blocking_time %v", w.blocking), derecho.ErrTimeout)
	}
}

func (w *writer) header(k derecho.Kind, seq uint64, flags uint8, at time.Time) derecho.Header {
	return derecho.Header{Writer: w.id, WriterSeq: seq, Timestamp: at.UnixNano(), Kind: k, Flags: flags}
}

// write sends a sample.
func (w *writer) write(ctx context.Context, m cdr.Message, at time.Time) error {
	const op = "Write"
	if err := w.sendable(ctx, op); err != nil {
		return err
	}
	size, err := cdr.Size(m, w.enc)
	if err != nil {
		return failure(op, w.what, "", err)
	}
	from := time.Now()
	if at.IsZero() {
		at = from
	}
	counted := 0
	if w.instances != nil {
		if counted, err = w.instances.note(w, op, m, nil, from.UnixNano(), 1); err != nil {
			return err
		}
	}
	r, err := w.reserve(ctx, op, size, from)
	if err != nil || !r.sent {
		if err != nil && counted > 0 {
			w.instances.unwrote(m)
		}
		return err
	}
	n, err := cdr.MarshalTo(r.slot.bytes, m, w.enc)
	if err != nil {
		w.waste(r, at)
		if counted > 0 {
			w.instances.unwrote(m)
		}
		return failure(op, w.what, "", err)
	}
	r.slot.commit(w.header(kindData, r.seq, 0, at), n)
	return nil
}

// waste gives a reservation up. Where readers count gaps as loss, the number is sent without a sample.
func (w *writer) waste(r reservation, at time.Time) {
	switch {
	case !r.sent:
	case w.path == topic.Unordered:
		r.slot.commit(w.header(kindNothing, r.seq, 0, at), 0)
	default:
		r.slot.abort()
	}
}

// send tells about an instance: only its key travels.
func (w *writer) send(ctx context.Context, op string, k derecho.Kind, flags uint8, key cdr.Message, at time.Time) error {
	if err := w.sendable(ctx, op); err != nil {
		return err
	}
	encoded, err := keyBytes(key)
	if err != nil {
		return failure(op, w.what, "", err)
	}
	from := time.Now()
	if at.IsZero() {
		at = from
	}
	r, err := w.reserve(ctx, op, len(encoded), from)
	if err != nil || !r.sent {
		return err
	}
	copy(r.slot.bytes, encoded)
	r.slot.commit(w.header(k, r.seq, flags, at), len(encoded))
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

// autodispose is the flag that goes with unregistering.
func (w *writer) autodispose() uint8 {
	if w.q.WriterDataLifecycle.AutodisposeUnregisteredInstances {
		return flagDispose
	}
	return 0
}

// Handle names the writer in its domain (DDS: get_instance_handle).
func (w *writer) Handle() InstanceHandle { return w.handle }

// Publisher gives the writer's Publisher.
func (w *writer) Publisher() *Publisher { return w.pub }

// Qos gives the QoS that the writer was made with.
func (w *writer) Qos() qos.DataWriter { return w.q }

// TopicName is the name of the writer's topic.
func (w *writer) TopicName() string { return w.topic.name }

// DeliveryPath tells how the writer's samples travel.
func (w *writer) DeliveryPath() topic.Path { return w.path }

// MaxSampleSize is the size of the largest encoded sample that can be written.
func (w *writer) MaxSampleSize() int { return w.maxSize }

// Dropped counts the samples of a best-effort writer that were not sent because its ring was full. Its readers count
// them in SAMPLE_LOST.
func (w *writer) Dropped() uint64 { return w.dropped.Load() }

// StatusCondition gives the condition over the writer's statuses (DDS: get_statuscondition).
func (w *writer) StatusCondition() *StatusCondition { return w.status }

// StatusChanges tells which statuses changed since they were looked at (DDS: get_status_changes).
func (w *writer) StatusChanges() StatusMask {
	w.lock()
	defer w.unlock()
	return w.changed
}

// PublicationMatchedStatus gives the status and starts a new count of changes; so do the others.
func (w *writer) PublicationMatchedStatus() PublicationMatchedStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= PublicationMatchedStatusBit
	return w.matched.taken()
}

// OfferedIncompatibleQosStatus tells of readers that ask for more than the writer offers.
func (w *writer) OfferedIncompatibleQosStatus() OfferedIncompatibleQosStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= OfferedIncompatibleQosStatusBit
	return w.incompatible.taken()
}

// OfferedDeadlineMissedStatus tells of instances that were not written within DEADLINE.
func (w *writer) OfferedDeadlineMissedStatus() OfferedDeadlineMissedStatus {
	w.lock()
	defer w.unlock()
	w.changed &^= OfferedDeadlineMissedStatusBit
	return w.deadlineMissed.taken()
}

// LivelinessLostStatus stays zero: LIVELINESS AUTOMATIC is not lost while the process lives.
func (w *writer) LivelinessLostStatus() LivelinessLostStatus { return LivelinessLostStatus{} }

// WaitForMatch waits until at least n readers are matched (extension).
func (w *writer) WaitForMatch(ctx context.Context, n int) error {
	return w.await("WaitForMatch", ctx.Done(), ctx.Err, func() (bool, error) {
		return int(w.matched.CurrentCount) >= n, nil
	})
}

// WaitForAcknowledgments waits until all that was written before has been handed over at every receiving process, and
// with DURABILITY PERSISTENT is on disk at every process that stores it (DDS: wait_for_acknowledgments).
func (w *writer) WaitForAcknowledgments(ctx context.Context) error {
	const op = "WaitForAcknowledgments"
	if err := w.sendable(ctx, op); err != nil {
		return err
	}
	wait := w.p.core.WaitAcked
	if w.path == topic.Logged {
		wait = w.p.core.WaitDurable
	}
	if err := wait(ctx, w.at.sg); err != nil {
		if failed := w.p.failed(op, w.what); failed != nil {
			return failed
		}
		return failure(op, w.what, "", err)
	}
	return nil
}

// Close unregisters all instances of the writer, waits until its samples were handed over, and deletes it (DDS:
// delete_datawriter). Closing again has no effect.
func (w *writer) Close() error {
	if !w.ended.CompareAndSwap(false, true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
	defer cancel()
	err := w.farewell(ctx)
	w.pub.remove(w)
	w.p.retire(w.id)
	w.p.delist(&w.entity)
	w.close()
	w.topic.release()
	return err
}

// farewell sends the writer's last message and withdraws its endpoint. A writer that can not say farewell, because its
// ring stays full, is withdrawn all the same: that tells its readers that it is gone.
func (w *writer) farewell(ctx context.Context) error {
	err := w.sayClosing(ctx)
	if err == nil {
		err = w.p.core.WaitAcked(ctx, w.at.sg)
	}
	if gone := w.p.core.RemoveEndpoint(ctx, w.id); gone != nil {
		err = gone
	} else if errors.Is(err, derecho.ErrTimeout) {
		err = nil
	}
	if err == nil || errors.Is(err, derecho.ErrClosed) || w.p.failure.Load() != nil {
		return nil
	}
	return failure("Close", w.what, "", err)
}

func (w *writer) sayClosing(ctx context.Context) error {
	deadline := time.Now().Add(w.farewellTimeout())
	if err := w.takeTurn(ctx, "Close", deadline); err != nil {
		return err
	}
	defer func() { <-w.turn }()
	w.seq++
	// Without channel: a full reader does not hold the farewell up, which takes no room there.
	s, err := w.p.core.reserve(ctx, w.at.sg, 0, 0, deadline)
	if errors.Is(err, derecho.ErrWouldBlock) {
		return nil
	}
	if err == nil {
		s.commit(w.header(kindClosing, w.seq, w.autodispose(), time.Now()), 0)
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
	deadline     int64 // ns, 0 for none
	maxInstances int
	maxSamples   int // of all instances, on a path that keeps samples
	maxPer       int // of an instance, with KEEP_ALL on such a path
	depth        int // of an instance, with KEEP_LAST: the latest replaces the oldest

	mu       sync.Mutex
	keys     *topic.Keys
	byHandle map[InstanceHandle]*writtenInstance
	samples  int
	next     int64 // when the earliest deadline is missed; 0 for none
}

type writtenInstance struct {
	due     int64
	samples int
}

// newWriterInstances gives nil if the QoS needs no record of the instances.
func newWriterInstances(q qos.DataWriter, path topic.Path, support topic.Support) *writerInstances {
	t := &writerInstances{
		deadline:     finite(q.Deadline.Period),
		maxInstances: limit(q.ResourceLimits.MaxInstances),
		maxSamples:   limit(qos.LengthUnlimited),
		maxPer:       limit(qos.LengthUnlimited),
	}
	t.depth = t.maxPer
	if q.History.Kind == qos.HistoryKeepLast {
		t.depth = int(q.History.Depth)
	}
	if path.Keeps() {
		t.maxSamples = limit(q.ResourceLimits.MaxSamples)
		if q.History.Kind == qos.HistoryKeepAll {
			t.maxPer = limit(q.ResourceLimits.MaxSamplesPerInstance)
		}
	}
	unlimited := limit(qos.LengthUnlimited)
	if t.deadline == 0 && t.maxInstances == unlimited && t.maxSamples == unlimited && t.maxPer == unlimited {
		return nil
	}
	t.keys = topic.NewKeys(support)
	t.byHandle = make(map[InstanceHandle]*writtenInstance)
	return t
}

// note follows an instance that is about to be registered, or to get a sample; an error says which limit forbids it. The
// instance is that of m, or of an encoded sample. It gives how many samples more are held.
func (t *writerInstances) note(w *writer, op string, m cdr.Message, encoded []byte, now int64, samples int) (int, error) {
	rearm := false
	err := func() error {
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
			return failure(op, w.what, "", err)
		}
		in := t.byHandle[h]
		if in == nil {
			if len(t.byHandle) >= t.maxInstances {
				return t.full(w, op, "max_instances", t.maxInstances, "a new instance")
			}
			in = new(writtenInstance)
		}
		samples = min(samples, t.depth-in.samples)
		if in.samples+samples > t.maxPer {
			return t.full(w, op, "max_samples_per_instance", t.maxPer, "another sample of the instance")
		}
		if t.samples+samples > t.maxSamples {
			return t.full(w, op, "max_samples", t.maxSamples, "another sample")
		}
		t.byHandle[h] = in
		in.samples += samples
		t.samples += samples
		if t.deadline > 0 {
			in.due = now + t.deadline
			if t.next == 0 {
				t.next, rearm = in.due, true
			}
		}
		return nil
	}()
	if rearm {
		w.rearm()
	}
	return samples, err
}

// rearm has the timer look at the writer's deadlines.
func (w *writer) rearm() {
	w.lock()
	defer w.unlock()
}

// unwrote takes back a sample that note counted, and that was not sent.
func (t *writerInstances) unwrote(m cdr.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h, err := t.keys.Of(m); err == nil {
		if in := t.byHandle[h]; in != nil && in.samples > 0 {
			in.samples--
			t.samples--
		}
	}
}

func (t *writerInstances) full(w *writer, op, limit string, n int, what string) error {
	return &Error{
		Op: op, Entity: w.what, Code: ErrOutOfResources,
		Detail: fmt.Sprintf("%s does not fit: RESOURCE_LIMITS %s is %d, and as many are held; unregister or dispose instances, or raise the limit", what, limit, n),
	}
}

// forget follows an instance that is unregistered, or of which a disposal drops what was kept.
func (t *writerInstances) forget(key cdr.Message, unregister bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, err := t.keys.Of(key)
	in := t.byHandle[h]
	if err != nil || in == nil {
		return
	}
	t.samples -= in.samples
	in.samples, in.due = 0, 0
	if unregister {
		delete(t.byHandle, h)
	}
}

func (t *writerInstances) due() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// missed reports the instances whose deadline passed, once a period.
func (t *writerInstances) missed(now int64, report func(InstanceHandle)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = 0
	for h, in := range t.byHandle {
		if in.due == 0 {
			continue
		}
		for in.due <= now {
			in.due += t.deadline
			report(h)
		}
		if t.next == 0 || in.due < t.next {
			t.next = in.due
		}
	}
}
