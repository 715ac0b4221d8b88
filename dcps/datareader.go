package dcps

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

var processID = uint32(os.Getpid())

// DataReader receives samples of type T (DDS 1.4 §2.2.2.5.3).
type DataReader[T any] struct {
	*reader
	of          *Topic[T] // nil for a MultiTopic
	description TopicDescription[T]
	codec       *codec[T]
}

// AnyDataReader is a DataReader of any type, as the listeners of its parents get it.
type AnyDataReader interface {
	TopicName() string
	Handle() InstanceHandle
	Subscriber() *Subscriber
	StatusCondition() *StatusCondition
	Close() error
}

// AnyDataWriter is a DataWriter of any type, as the listeners of its parents get it.
type AnyDataWriter interface {
	TopicName() string
	Handle() InstanceHandle
	Publisher() *Publisher
	StatusCondition() *StatusCondition
	Close() error
}

// ReaderOption is an option of NewDataReader.
type ReaderOption interface{ applyReader(*readerOptions) }

type readerOptions struct {
	qos      *qos.DataReader
	fromQos  bool
	listener any
}

type readerOption func(*readerOptions)

func (o readerOption) applyReader(c *readerOptions) { o(c) }

// WithReaderQos sets the QoS of a DataReader.
func WithReaderQos(q qos.DataReader) ReaderOption {
	return readerOption(func(c *readerOptions) { c.qos = &q })
}

// WithReaderListener sets the listener of a DataReader.
func WithReaderListener[T any](l *DataReaderListener[T]) ReaderOption {
	return readerOption(func(c *readerOptions) { c.listener = l })
}

// NewDataReader makes a DataReader for a Topic, a ContentFilteredTopic or a MultiTopic (DDS: create_datareader).
func NewDataReader[T any](sub *Subscriber, of TopicDescription[T], opts ...ReaderOption) (*DataReader[T], error) {
	const op = "NewDataReader"
	if sub.absent() {
		return nil, missing(op, "the subscriber", "NewSubscriber")
	}
	if of == nil {
		return nil, isNil(op, "", "the topic")
	}
	to, err := of.subscribed(op)
	if err != nil {
		return nil, err
	}
	var o readerOptions
	for i, opt := range opts {
		if opt == nil {
			return nil, isNil(op, "", fmt.Sprintf("option %d", i+1))
		}
		opt.applyReader(&o)
	}
	q := sub.DefaultDataReaderQos()
	if o.fromQos {
		q = q.CopyFromTopic(to.entity.qosNow())
	}
	if o.qos != nil {
		q = *o.qos
	}
	var r *reader
	if to.multi != nil {
		r, err = newJoinedReader(op, sub, to.multi, q)
	} else {
		r, err = newReader(op, sub, to.entity, q)
	}
	if err != nil {
		return nil, err
	}
	r.content = to.content
	typed := &DataReader[T]{reader: r, of: to.of, description: of, codec: to.codec}
	r.typed, r.status.of = typed, typed
	var l *DataReaderListener[T]
	if o.listener != nil {
		var ok bool
		if l, ok = o.listener.(*DataReaderListener[T]); !ok {
			return nil, &Error{Op: op, Entity: r.what, Code: ErrBadParameter, Detail: fmt.Sprintf("the listener is a %T", o.listener)}
		}
	}
	to.retain() // first: the Subscriber may close what it has, which releases the topic
	if err := sub.adopt(op, r); err != nil {
		to.release()
		return nil, err
	}
	typed.setListener(l, maskFor(l != nil))
	if sub.enables() {
		if err := r.enable(op); err != nil {
			_ = r.Close() // what counts is the error before
			return nil, err
		}
	}
	return typed, nil
}

// retain counts a reader of what is subscribed to.
func (s subscription[T]) retain() {
	s.entity.retain()
	if s.multi != nil {
		s.multi.retain()
	}
}

// release is the inverse of retain, for a reader that came to nothing.
func (s subscription[T]) release() {
	if s.multi != nil {
		s.multi.release()
	}
	s.entity.release()
}

// newReader makes the untyped reader, not enabled yet.
func newReader(op string, sub *Subscriber, t *topicEntity, q qos.DataReader) (*reader, error) {
	if sub.p != t.p {
		return nil, &Error{Op: op, Entity: what("reader", t.name), Code: ErrPreconditionNotMet,
			Detail: "the topic belongs to another participant than the subscriber"}
	}
	r := &reader{sub: sub, topic: t}
	r.setup()
	if err := r.configure(op, q); err != nil {
		return nil, err
	}
	return r, nil
}

// configure checks a QoS and derives from it what the reader is. It may be done again until the reader is enabled. Called
// with changing held, or before anybody else knows the reader.
func (r *reader) configure(op string, q qos.DataReader) error {
	if r.join != nil {
		return r.join.configure(op, q)
	}
	if err := checkReader(op, r.what, q); err != nil {
		return err
	}
	if err := r.checkAnnounced(op, q); err != nil {
		return err
	}
	t := r.topic.support.Type
	if err := checkRepresentations(op, r.what, t, q.DataRepresentation); err != nil {
		return err
	}
	if err := checkTaken(op, r.what, representationsFor(t, q.DataRepresentation)); err != nil {
		return err
	}
	if q.Durability.Kind == qos.DurabilityPersistent {
		if err := r.p.logs.begin(op, r.what, r.topic); err != nil {
			return err
		}
	}
	r.lock()
	defer r.unlock()
	r.q, r.durable, r.stored = q, q.Durability.Kind > qos.DurabilityVolatile, q.Durability.Kind == qos.DurabilityPersistent
	r.channel = derecho.ChannelID(topic.ChannelOf(r.topic.name))
	r.subgroups = nil
	for _, path := range topic.PathsFor(q) {
		sg := derecho.SubgroupID(r.p.hub.placement.Subgroup(path, r.topic.name))
		r.subgroups = append(r.subgroups, sg)
		r.p.holds.prepare(sg, r.channel)
	}
	r.newCache()
	return nil
}

// checkReader is checkWriter for readers.
func checkReader(op, entity string, q qos.DataReader) error {
	if err := invalid(op, entity, q.Validate()); err != nil {
		return err
	}
	return checkTaken(op, entity, q.DataRepresentation)
}

// checkTaken refuses representations in none of which a writer sends. XML beside others is an offer that nobody takes up.
func checkTaken(op, entity string, p qos.DataRepresentation) error {
	if len(p.Value) > 0 && !slices.ContainsFunc(p.Value, func(k qos.DataRepresentationKind) bool { return k != qos.DataRepresentationXML }) {
		return unsupported(op, entity, qos.PolicyDataRepresentation, p.String())
	}
	return nil
}

// enable tells the domain of the reader.
func (r *reader) enable(op string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.ended.Load() {
		return r.deleted(op)
	}
	if r.enabled.Load() {
		return nil
	}
	if r.join != nil {
		return r.join.enable(op)
	}
	p := r.p
	p.mu.Lock()
	if err := p.usable(op); err != nil {
		p.mu.Unlock()
		return err
	}
	order := r.sub.Qos().Presentation
	r.lock()
	r.id = p.nextID()
	r.handle = p.handleOfEndpoint(r.id)
	r.inOrder, r.oneByOne = orderOf(order)
	r.unlock()
	p.readers.add(r.id, r)
	p.enlist(&r.entity)
	p.mu.Unlock()
	ann := r.announcement()
	r.info = ann.encode()
	ep := derecho.Endpoint{ID: r.id, Channel: r.channel, Info: r.info, Replica: r.durable}
	for _, sg := range r.subgroups {
		path, _ := p.hub.placement.PathOf(uint32(sg))
		ep.Reads = append(ep.Reads, derecho.Subgroup{ID: sg, Mode: modeOf(path)})
	}
	err := ann.fits(op, r.what)
	if err == nil {
		err = p.logs.beginAgain(op, r.what, r.topic, r.q.Durability.Kind == qos.DurabilityPersistent, r.durable)
	}
	if err == nil {
		if err = p.introduce(r.lifetime, ep); err != nil {
			err = p.unagreed(op, r.what, "", err)
		}
	}
	if err != nil {
		p.retire(r.id)
		p.delist(&r.entity)
		if r.ended.Load() || r.lifetime.Err() != nil {
			return r.deleted(op)
		}
		return err
	}
	r.enabled.Store(true)
	return nil
}

// announcement is what the domain is told of the reader.
func (r *reader) announcement() *announcement {
	ann := r.topic.announcement()
	ann.sub, ann.reader = r.sub.Qos(), r.qosNow()
	ann.reader.DataRepresentation = representationsFor(r.topic.support.Type, ann.reader.DataRepresentation)
	ann.filter = r.content.announced()
	return ann
}

// ReadOption narrows what Read, Take and their kin return. It is a value, so that options cost nothing.
type ReadOption struct {
	kind      readOptionKind
	n         int
	samples   SampleState
	views     ViewState
	instances InstanceState
	handle    InstanceHandle
	condition *ReadCondition
}

type readOptionKind uint8

const (
	readMax readOptionKind = iota + 1
	readStates
	readInstance
	readNextInstance
	readInOrder
	readCondition
)

// MaxSamples limits how many samples are returned; n below 1 is no limit.
func MaxSamples(n int) ReadOption { return ReadOption{kind: readMax, n: n} }

// States selects samples by state; a zero mask means any.
func States(s SampleState, v ViewState, i InstanceState) ReadOption {
	return ReadOption{kind: readStates, samples: s, views: v, instances: i}
}

// NotRead selects what was not read before.
func NotRead() ReadOption { return States(SampleNotRead, 0, 0) }

// Instance selects the samples of one instance (DDS: read_instance).
func Instance(h InstanceHandle) ReadOption { return ReadOption{kind: readInstance, handle: h} }

// NextInstance selects the samples of the next instance after h, in the order of handles, that has any to give; HandleNil
// begins (DDS: read_next_instance).
func NextInstance(h InstanceHandle) ReadOption { return ReadOption{kind: readNextInstance, handle: h} }

// InOrder gives samples in the order of their reception over all instances, which on the reliable paths is the total
// order that all readers see. Without it the samples of an instance come together, as the standard wants it unless
// PRESENTATION asks for ordered access to the TOPIC.
func InOrder() ReadOption { return ReadOption{kind: readInOrder} }

func (r *reader) selectionOf(opts []ReadOption, take bool) selection {
	s := everything
	s.take = take
	for i := range opts {
		o := &opts[i]
		switch o.kind {
		case readMax:
			s.max = max(o.n, 0)
		case readStates:
			if o.samples != 0 {
				s.samples = o.samples
			}
			if o.views != 0 {
				s.views = o.views
			}
			if o.instances != 0 {
				s.instances = o.instances
			}
		case readInstance:
			s.only, s.handle = onlyThis, o.handle
		case readNextInstance:
			s.only, s.handle = onlyNext, o.handle
		case readInOrder:
			s.inOrder = true
		case readCondition:
			r.adopt(&s, o.condition)
		}
	}
	return s
}

// Read returns samples and leaves them with the reader, marked as read (DDS: read). Without any it fails with ErrNoData.
func (r *DataReader[T]) Read(opts ...ReadOption) (*Samples[T], error) {
	return r.samples("Read", opts, false)
}

// Take returns samples and removes them from the reader (DDS: take). Without any it fails with ErrNoData.
func (r *DataReader[T]) Take(opts ...ReadOption) (*Samples[T], error) {
	return r.samples("Take", opts, true)
}

func (r *DataReader[T]) samples(op string, opts []ReadOption, take bool) (*Samples[T], error) {
	u := r.untyped()
	s := u.selectionOf(opts, take)
	c, err := u.collect(op, &s)
	if err != nil {
		return nil, err
	}
	return &Samples[T]{r: r.reader, c: c, codec: r.codec}, nil
}

// TakeLoan is Take without decoding: it lends the encoded samples until Close, and allocates nothing in the steady
// state. See LoanedSamples for who may use it. To a RELIABLE reader with KEEP_ALL, whose pace writers keep anyway,
// large samples are lent where their writer put them (Settings.LendBytes): close soon, since a writer whose ring is
// full waits for that, and so do all that share the subgroup with it.
func (r *DataReader[T]) TakeLoan(opts ...ReadOption) (LoanedSamples, error) {
	return r.untyped().loan("TakeLoan", opts, true)
}

// ReadLoan is Read without decoding; see TakeLoan.
func (r *DataReader[T]) ReadLoan(opts ...ReadOption) (LoanedSamples, error) {
	return r.untyped().loan("ReadLoan", opts, false)
}

func (r *reader) loan(op string, opts []ReadOption, take bool) (LoanedSamples, error) {
	s := r.selectionOf(opts, take)
	s.lend = true
	c, err := r.collect(op, &s)
	if err != nil {
		return LoanedSamples{}, err
	}
	return LoanedSamples{r: r, c: c, turn: c.turn}, nil
}

// Stream takes samples one by one, in the order of their reception, and waits for more, until ctx is done or the loop
// ends: what the loop has not come to stays with the reader. A sample is valid during its turn of the loop. The last pair
// has the error that ended the stream, if it was not ctx that did; Instance ends it so once the reader does not know the
// instance any more.
func (r *DataReader[T]) Stream(ctx context.Context, opts ...ReadOption) iter.Seq2[*Sample[T], error] {
	return func(yield func(*Sample[T], error) bool) {
		u := r.untyped()
		s := u.selectionOf(opts, true)
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		next := append(opts[:len(opts):len(opts)], InOrder(), MaxSamples(1))
		for {
			err := u.await(ctx, "Stream", func() bool { return u.offers(&s) })
			if ctx != nil && ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			samples, err := r.Take(next...)
			if errors.Is(err, ErrNoData) {
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !samples.stream(yield) {
				return
			}
		}
	}
}

// stream has the loop see the one sample of s.
func (s *Samples[T]) stream(yield func(*Sample[T], error) bool) bool {
	defer s.Close()
	sample := s.At(0)
	return yield(&sample, nil)
}

// NewReadCondition makes a condition that holds while there are samples in the given states (DDS:
// create_readcondition). A zero mask means any. It is nil, as at create_readcondition's failure, if there is no reader; that of
// a reader that is closed has ended, which Attach and Wait tell.
func (r *DataReader[T]) NewReadCondition(samples SampleState, views ViewState, instances InstanceState) *ReadCondition {
	u := r.untyped()
	if u == noReader {
		return nil
	}
	c := new(ReadCondition)
	c.init(u, samples, views, instances)
	return c
}

func (c *ReadCondition) init(r *reader, samples SampleState, views ViewState, instances InstanceState) {
	c.selection = r.selectionOf([]ReadOption{States(samples, views, instances)}, false)
	c.reader = r
	c.begin(&r.entity, func() bool { return r.cache.anySince(&c.selection, &c.seen) })
}

// LookupInstance gives the handle of the instance that the key members of key name, or HandleNil if the reader does not
// know it (DDS: lookup_instance).
func (r *DataReader[T]) LookupInstance(key *T) (InstanceHandle, error) {
	const op = "LookupInstance"
	if r.untyped() == noReader {
		return HandleNil, noReader.deleted(op)
	}
	if key == nil {
		return HandleNil, isNil(op, r.what, "the key")
	}
	h, err := r.codec.handle(key)
	if err != nil {
		return HandleNil, failure(op, r.what, "", err)
	}
	r.lock()
	defer r.unlock()
	if r.cache.instances[h] == nil {
		return HandleNil, nil
	}
	return h, nil
}

// Samples is what Read or Take returned. Close it: it lends memory of the reader.
type Samples[T any] struct {
	r     *reader
	c     *collection // nil once closed
	codec *codec[T]
}

// Len is the number of samples.
func (s *Samples[T]) Len() int {
	if s == nil || s.c == nil {
		return 0
	}
	return len(s.c.items)
}

// At gives the sample with index i, 0 <= i < Len(); any other index gives a sample without data.
func (s *Samples[T]) At(i int) Sample[T] {
	if i < 0 || i >= s.Len() {
		return Sample[T]{}
	}
	return Sample[T]{Info: s.c.infos[i], encoded: s.c.items[i].buf, codec: s.codec}
}

// All iterates over the samples.
func (s *Samples[T]) All() iter.Seq2[int, Sample[T]] {
	return func(yield func(int, Sample[T]) bool) {
		for i := range s.Len() {
			if !yield(i, s.At(i)) {
				return
			}
		}
	}
}

// Close gives the memory back to the reader (DDS: return_loan). Closing again has no effect.
func (s *Samples[T]) Close() {
	if s == nil || s.c == nil {
		return
	}
	c := s.c
	s.c = nil
	s.r.giveBack(c)
}

// Sample is one sample with its SampleInfo.
type Sample[T any] struct {
	Info    SampleInfo
	encoded []byte
	codec   *codec[T]
	data    *T
	err     error
}

// Data decodes the sample, once: nil if !Info.ValidData, or if the bytes are malformed, which Err tells. What it
// returns is the caller's, also after Close.
func (s *Sample[T]) Data() *T {
	if s == nil {
		return nil
	}
	if !s.Info.ValidData || s.codec == nil || s.data != nil || s.err != nil {
		return s.data
	}
	v := new(T)
	if s.err = s.codec.decode(s.encoded, v); s.err == nil {
		s.data = v
	}
	return s.data
}

// Err tells why Data could not decode the sample.
func (s *Sample[T]) Err() error {
	if s == nil {
		return isNil("Err", "", "the sample")
	}
	return s.err
}

// Encoded gives the sample as it travelled, for the generated View; nil if !Info.ValidData. It is valid until Close of
// the Samples.
func (s *Sample[T]) Encoded() []byte {
	if s == nil || !s.Info.ValidData {
		return nil
	}
	return s.encoded
}

// LoanedSamples lends encoded samples. It is a handle for one goroutine; a copy of it that is used after Close of
// another copy is noticed, and sees nothing.
type LoanedSamples struct {
	r    *reader
	c    *collection
	turn uint32
}

func (l LoanedSamples) live() bool { return l.c != nil && l.c.turn == l.turn }

// Len is the number of samples; 0 once closed.
func (l LoanedSamples) Len() int {
	if !l.live() {
		return 0
	}
	return l.c.count()
}

// Info gives the SampleInfo of the sample with index i, 0 <= i < Len(), until Close.
func (l LoanedSamples) Info(i int) *SampleInfo {
	if i < 0 || i >= l.Len() {
		return new(SampleInfo)
	}
	if len(l.c.samples) > 0 {
		return l.c.info(i)
	}
	return &l.c.infos[i]
}

// Encoded gives the bytes of the sample with index i, for the generated View; nil if it has no valid data. They are
// valid until Close.
func (l LoanedSamples) Encoded(i int) []byte {
	if l.live() && uint(i) < uint(len(l.c.samples)) {
		return l.c.samples[i].buf
	}
	if i < 0 || i >= l.Len() || !l.c.infos[i].ValidData {
		return nil
	}
	return l.c.items[i].buf
}

// All iterates over infos and bytes.
func (l LoanedSamples) All() iter.Seq2[*SampleInfo, []byte] {
	return func(yield func(*SampleInfo, []byte) bool) {
		for i := range l.Len() {
			if !yield(l.Info(i), l.Encoded(i)) {
				return
			}
		}
	}
}

// Close gives the samples back to the reader (DDS: return_loan). Closing again has no effect.
func (l LoanedSamples) Close() {
	if l.live() {
		l.r.giveBack(l.c)
	}
}
