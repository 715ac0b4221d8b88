package dcps

import (
	"context"
	"fmt"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// DataWriter writes samples of type T (DDS 1.4 §2.2.2.4.2).
type DataWriter[T any] struct {
	*writer
	of *Topic[T]
}

// WriterOption is an option of NewDataWriter.
type WriterOption interface{ applyWriter(*writerOptions) }

type writerOptions struct {
	qos      *qos.DataWriter
	fromQos  bool
	listener any
}

type writerOption func(*writerOptions)

func (o writerOption) applyWriter(c *writerOptions) { o(c) }

// WithWriterQos sets the QoS of a DataWriter.
func WithWriterQos(q qos.DataWriter) WriterOption {
	return writerOption(func(c *writerOptions) { c.qos = &q })
}

// WithWriterListener sets the listener of a DataWriter.
func WithWriterListener[T any](l *DataWriterListener[T]) WriterOption {
	return writerOption(func(c *writerOptions) { c.listener = l })
}

// FromTopicQos starts from the QoS of the topic (DDS: copy_from_topic_qos). It is an option of NewDataWriter and of
// NewDataReader.
func FromTopicQos() interface {
	WriterOption
	ReaderOption
} {
	return fromTopic{}
}

type fromTopic struct{}

func (fromTopic) applyWriter(c *writerOptions) { c.fromQos = true }
func (fromTopic) applyReader(c *readerOptions) { c.fromQos = true }

// NewDataWriter makes a DataWriter (DDS: create_datawriter). It returns once all processes of the domain are told of it,
// or on their way of being told.
func NewDataWriter[T any](pub *Publisher, t *Topic[T], opts ...WriterOption) (*DataWriter[T], error) {
	const op = "NewDataWriter"
	if pub.absent() {
		return nil, missing(op, "the publisher", "NewPublisher")
	}
	of, err := t.offered(op)
	if err != nil {
		return nil, err
	}
	var o writerOptions
	for i, opt := range opts {
		if opt == nil {
			return nil, isNil(op, "", fmt.Sprintf("option %d", i+1))
		}
		opt.applyWriter(&o)
	}
	q := pub.DefaultDataWriterQos()
	if o.fromQos {
		q = q.CopyFromTopic(t.Qos())
	}
	if o.qos != nil {
		q = *o.qos
	}
	w, err := newWriter(op, pub, of, q)
	if err != nil {
		return nil, err
	}
	typed := &DataWriter[T]{writer: w, of: t}
	w.typed, w.status.of = typed, typed
	var l *DataWriterListener[T]
	if o.listener != nil {
		var ok bool
		if l, ok = o.listener.(*DataWriterListener[T]); !ok {
			return nil, &Error{Op: op, Entity: w.what, Code: ErrBadParameter, Detail: fmt.Sprintf("the listener is a %T", o.listener)}
		}
	}
	of.retain() // first: the Publisher may close what it has, which releases the topic
	if err := pub.add(op, w); err != nil {
		of.release()
		return nil, err
	}
	typed.setListener(l, maskFor(l != nil))
	if pub.enables() {
		if err := w.enable(op); err != nil {
			_ = w.Close() // what counts is the error before
			return nil, err
		}
	}
	return typed, nil
}

// newWriter makes the untyped writer, not enabled yet.
func newWriter(op string, pub *Publisher, t *topicEntity, q qos.DataWriter) (*writer, error) {
	entity := what("writer", t.name)
	if pub.p != t.p {
		return nil, &Error{Op: op, Entity: entity, Code: ErrPreconditionNotMet, Detail: "the topic belongs to another participant than the publisher"}
	}
	w := &writer{pub: pub, topic: t}
	w.setup()
	if err := w.configure(op, q); err != nil {
		return nil, err
	}
	return w, nil
}

// configure checks a QoS and derives from it what the writer is. It may be done again until the writer is enabled. Called
// with changing held, or before anybody else knows the writer.
func (w *writer) configure(op string, q qos.DataWriter) error {
	if err := checkWriter(op, w.what, q); err != nil {
		return err
	}
	if err := w.checkAnnounced(op, q); err != nil {
		return err
	}
	offered, err := w.offered(op, q.DataRepresentation)
	if err != nil {
		return err
	}
	path, err := topic.PathOf(q)
	if err != nil {
		return failure(op, w.what, "", err)
	}
	if path == topic.Logged {
		if err := w.p.logs.begin(op, w.what, w.topic); err != nil {
			return err
		}
	}
	w.lock()
	defer w.unlock()
	w.q, w.path, w.blocking = q, path, q.Reliability.MaxBlockingTime
	w.bySource = q.DestinationOrder.Kind == qos.DestinationOrderBySourceTimestamp
	w.enc = encapsulationOf(w.topic.support.Type, offered)
	w.at = channelKey{
		derecho.SubgroupID(w.p.hub.placement.Subgroup(path, w.topic.name)),
		derecho.ChannelID(topic.ChannelOf(w.topic.name)),
	}
	w.instances.Store(newWriterInstances(q, path, w.topic.support))
	w.batch = w.p.batchOf(w.at.sg)
	w.budget.Store(budgetOf(q.LatencyBudget))
	return nil
}

// offered is how a writer with DATA_REPRESENTATION p may send.
func (w *writer) offered(op string, p qos.DataRepresentation) (qos.DataRepresentation, error) {
	t := w.topic.support.Type
	if err := checkRepresentations(op, w.what, t, p); err != nil {
		return p, err
	}
	p = representationsFor(t, p)
	return p, checkSent(op, w.what, p)
}

// checkWriter refuses what is inconsistent, and what is not enforced, so that nothing is silently ignored.
func checkWriter(op, entity string, q qos.DataWriter) error {
	if err := invalid(op, entity, q.Validate()); err != nil {
		return err
	}
	if q.Durability.Kind > qos.DurabilityTransientLocal && q.DurabilityService.ServiceCleanupDelay > 0 && q.Ownership.Kind == qos.OwnershipExclusive {
		return &Error{Op: op, Entity: entity, Code: ErrUnsupported,
			Detail: fmt.Sprintf("DURABILITY_SERVICE service_cleanup_delay %v with OWNERSHIP EXCLUSIVE and DURABILITY %v: whose disposal counts is known to readers only, not to "+
				"the history for late ones; set service_cleanup_delay to 0, or OWNERSHIP to SHARED", q.DurabilityService.ServiceCleanupDelay, q.Durability.Kind)}
	}
	return checkSent(op, entity, q.DataRepresentation)
}

// checkSent refuses a representation in which no writer sends.
func checkSent(op, entity string, p qos.DataRepresentation) error {
	if len(p.Value) > 0 && p.Value[0] == qos.DataRepresentationXML {
		return unsupported(op, entity, qos.PolicyDataRepresentation, p.String())
	}
	return nil
}

// enable tells the domain of the writer.
func (w *writer) enable(op string) error {
	w.changing.Lock()
	defer w.changing.Unlock()
	if w.ended.Load() {
		return w.deleted(op)
	}
	if w.enabled.Load() {
		return nil
	}
	p := w.p
	p.mu.Lock()
	if err := p.usable(op); err != nil {
		p.mu.Unlock()
		return err
	}
	w.lock()
	w.id = p.nextID()
	w.handle = p.handleOfEndpoint(w.id)
	w.setupLife(now())
	w.unlock()
	p.writers.add(w.id, w)
	p.enlist(&w.entity)
	p.mu.Unlock()
	ann := w.announcement()
	w.info = ann.encode()
	ep := derecho.Endpoint{ID: w.id, Channel: w.at.ch, Info: w.info, Writes: derecho.Subgroup{ID: w.at.sg, Mode: modeOf(w.path)}}
	if w.path.Keeps() {
		ep.Reads = []derecho.Subgroup{ep.Writes}
		ep.Replica = true
	}
	err := ann.fits(op, w.what)
	if err == nil {
		err = p.logs.beginAgain(op, w.what, w.topic, w.path == topic.Logged, false)
	}
	if err == nil {
		if err = p.introduce(w.lifetime, ep); err != nil {
			err = p.unagreed(op, w.what, "", err)
		}
	}
	if err != nil {
		w.endLife()
		p.retire(w.id)
		p.delist(&w.entity)
		if w.ended.Load() {
			return w.deleted(op)
		}
		return err
	}
	w.maxSize = p.core.MaxPayload(w.at.sg)
	if w.path == topic.Logged {
		w.maxSize = min(w.maxSize, p.logs.maxPayload(w.at.sg))
	}
	w.resends = w.q.Durability.Kind == qos.DurabilityTransientLocal
	if n, ok := p.core.(nodeCore); ok && w.mayGoDirectly() {
		w.direct = n.Outlet(w.at.sg)
	}
	w.enabled.Store(true)
	w.stability.ring()
	if w.alarm.at.Load() != 0 {
		p.timers.ring() // its first lease runs; what rang then came before the timers knew the writer
	}
	return nil
}

// announcement is what the domain is told of the writer.
func (w *writer) announcement() *announcement {
	ann := w.topic.announcement()
	ann.writes, ann.pub, ann.writer = true, w.pub.Qos(), w.qosNow()
	ann.writer.DataRepresentation = representationsFor(w.topic.support.Type, ann.writer.DataRepresentation)
	return ann
}

func modeOf(p topic.Path) derecho.Mode {
	switch p {
	case topic.Unordered:
		return derecho.Unordered
	case topic.Logged:
		return derecho.Logged
	}
	return derecho.Ordered
}

// announcement begins the announcement of an endpoint of the topic.
func (t *topicEntity) announcement() *announcement {
	info := t.support.Type
	objects, text := t.announcedObjects(), info.Text
	if objects != nil {
		text = ""
	}
	return &announcement{
		signature: info.Signature, topic: t.name, typeName: info.Name, typeText: text, objects: objects,
		host: t.p.host, pid: processID, name: t.p.name, topicQos: t.qosNow(),
		pub: qos.DefaultPublisher(), sub: qos.DefaultSubscriber(),
		writer: qos.DefaultDataWriter(), reader: qos.DefaultDataReader(),
	}
}

// WriteOption is an option of Write and of what else sends something.
type WriteOption struct{ at time.Time }

// At sets the source timestamp, which is otherwise the time of the call (DDS: write_w_timestamp); so it is for the zero
// time.Time. One that does not fit 64 bits of nanoseconds since 1970, which go to the year 2262, is refused with
// ErrBadParameter.
func At(t time.Time) WriteOption { return WriteOption{at: t} }

// Write sends a sample (DDS: write). It returns once the sample is on its way. RELIABLE waits for room up to
// max_blocking_time or the end of ctx, whichever comes first, and then fails with ErrTimeout; best effort does not
// wait. For a sample larger than half the ring (Settings.RingBytes) the room is there when the ring has grown.
// PERSISTENT fails with ErrOutOfResources while a process whose log failed, say because its disk is full, is in the
// domain. While nothing can be sent (DomainParticipant.Err) Write fails at once, with ErrPreconditionNotMet.
func (w *DataWriter[T]) Write(ctx context.Context, data *T, opts ...WriteOption) error {
	const op = "Write"
	if w.untyped() == noWriter {
		return noWriter.deleted(op)
	}
	if data == nil {
		return isNil(op, w.what, "the sample")
	}
	at, err := w.timestampOf(op, opts)
	if err != nil {
		return err
	}
	return w.write(ctx, w.of.message(data), at)
}

// Register announces that the writer will write an instance, and gives its handle (DDS: register_instance).
func (w *DataWriter[T]) Register(ctx context.Context, key *T, opts ...WriteOption) (InstanceHandle, error) {
	const op = "Register"
	h, err := w.handleOf(op, key)
	if err != nil {
		return HandleNil, err
	}
	at, err := w.timestampOf(op, opts)
	if err != nil {
		return HandleNil, err
	}
	m := w.of.message(key)
	if err := w.sendable(ctx, op); err != nil {
		return HandleNil, err
	}
	instances := w.instances.Load()
	counted, err := instances.note(w.writer, op, m, nil, 0)
	if err != nil {
		return HandleNil, err
	}
	if err := w.send(ctx, op, kindRegister, 0, m, at); err != nil {
		instances.unwrote(counted)
		return HandleNil, err
	}
	instances.wrote(w.writer, counted)
	w.register(h, m)
	return h, nil
}

// Dispose says that an instance does not exist any more (DDS: dispose). Only the key members of key count.
func (w *DataWriter[T]) Dispose(ctx context.Context, key *T, opts ...WriteOption) error {
	return w.tell(ctx, "Dispose", kindDispose, 0, key, opts)
}

// Unregister says that the writer has no more to say about an instance (DDS: unregister_instance). With
// WRITER_DATA_LIFECYCLE autodispose_unregistered_instances, which is the default, it disposes it too, whoever else writes it.
//
// An instance that the writer has not registered, written or disposed of, or has unregistered since, is refused with
// ErrPreconditionNotMet by a writer that has sent nothing yet, and by one that has a record of its instances, until it disposes
// of one that it has not written. It has if its QoS has, from the start, a DEADLINE, or a limit of RESOURCE_LIMITS that counts
// for it: max_instances, or another one where it keeps samples, for late readers or until they are acknowledged. Others have
// none, for writing not to pay for it: do not unregister there what the writer has not written.
func (w *DataWriter[T]) Unregister(ctx context.Context, key *T, opts ...WriteOption) error {
	return w.tell(ctx, "Unregister", kindUnregister, w.untyped().autodispose(), key, opts)
}

func (w *DataWriter[T]) tell(ctx context.Context, op string, k derecho.Kind, flags uint8, key *T, opts []WriteOption) error {
	if w.untyped() == noWriter {
		return noWriter.deleted(op)
	}
	if key == nil {
		return isNil(op, w.what, "the key")
	}
	at, err := w.timestampOf(op, opts)
	if err != nil {
		return err
	}
	m := w.of.message(key)
	if k == kindUnregister {
		if err := w.sendable(ctx, op); err != nil {
			return err
		}
		if err := w.registers(op, m); err != nil {
			return err
		}
	}
	if err := w.send(ctx, op, k, flags, m, at); err != nil {
		return err
	}
	w.instances.Load().forget(m, k == kindUnregister)
	if k == kindUnregister {
		w.deregister(m)
	}
	return nil
}

// LookupInstance gives the handle of the instance that the key members of key name (DDS: lookup_instance).
func (w *DataWriter[T]) LookupInstance(key *T) (InstanceHandle, error) {
	return w.handleOf("LookupInstance", key)
}

func (w *DataWriter[T]) handleOf(op string, key *T) (InstanceHandle, error) {
	if w.untyped() == noWriter {
		return HandleNil, noWriter.deleted(op)
	}
	if key == nil {
		return HandleNil, isNil(op, w.what, "the key")
	}
	h, err := topic.NewKeys(w.topic.support).Of(w.of.message(key))
	if err != nil {
		return HandleNil, failure(op, w.what, "", err)
	}
	return h, nil
}

// Loan reserves room for a sample of at most maxBytes, encapsulation header included. It waits like Write. The
// generated Builder fills it in:
//
//	l, err := w.Loan(ctx, 256)
//	defer l.Discard() // if Publish is not reached
//	b := avionics.NewAirDataBuilder(l.Bytes())
//	b.SetAltitude(31000)
//	n, err := b.Finish()
//	err = l.Publish(n)
//
// A loan that is not returned holds its subgroup up; see Loan. With DESTINATION_ORDER BY_SOURCE_TIMESTAMP its source
// timestamp is that of the call, or of At among the options: it goes with the place in the ring.
func (w *DataWriter[T]) Loan(ctx context.Context, maxBytes int, opts ...WriteOption) (Loan, error) {
	const op = "Loan"
	u := w.untyped()
	if err := u.sendable(ctx, op); err != nil {
		return Loan{}, err
	}
	if maxBytes < cdr.HeaderSize {
		return Loan{}, &Error{Op: op, Entity: u.what, Code: ErrBadParameter,
			Detail: fmt.Sprintf("%d bytes are no room for a sample: its header alone has %d", maxBytes, cdr.HeaderSize)}
	}
	at, err := u.timestampOf(op, opts)
	if err != nil {
		return Loan{}, err
	}
	if u.direct != nil {
		if l, ok := u.lendDirectly(maxBytes, at); ok {
			return l, nil
		}
	}
	of := u.loans.get(u)
	of.asked = at != atCall
	r := &of.r
	if err := u.reserve(ctx, op, maxBytes, sampleClock.now(), at, r); err != nil {
		u.loans.put(of)
		return Loan{}, err
	}
	u.landed(r) // until Publish, which looks whether the process is still what it was
	l := Loan{of: of}
	switch {
	case !r.sent: // it stands in for the ring that a best-effort writer found full
		of.keep(make([]byte, maxBytes))
	case r.slot.other != nil:
		of.keep(r.slot.bytes()[:maxBytes])
	default:
		l.ring, l.place = r.slot.node.Ring(), r.slot.node.Place().Cut(maxBytes)
	}
	if l.turn = u.loans.lend(of); l.turn == 0 {
		return Loan{}, u.deleted(op)
	}
	return l, nil
}
