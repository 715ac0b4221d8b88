package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// writer writes samples of either type. One goroutine uses it.
type writer interface {
	write(ctx context.Context, h *header) error
	matched() int
	waitForMatch(ctx context.Context, n int) error
	waitForAcknowledgments(ctx context.Context) error
	dropped() uint64
}

// sink is given what a reader took.
type sink interface {
	begin(batch int) // a batch has been taken
	add(h *header) error
}

// reader reads samples of either type. One goroutine uses it.
type reader interface {
	// take gives the samples that are there to s; errEmpty if there are none.
	take(s sink) error
	// wait returns when there may be samples, or when writers came or went. Polling, it does not wait.
	wait(ctx context.Context) error
	matched() (now, most int)
	waitForMatch(ctx context.Context, n int) error
	// upcalls are those of the listener, with Options.Listener.
	upcalls() *upcalls
	// rematched has something in it after writers came or went.
	rematched() <-chan struct{}
	// sameClock tells whether all matched writers read the clock of this host.
	sameClock() bool
}

var errEmpty = errors.New("no samples")

// participant joins the domain under a name that tells whose clock is read here.
func participant(ctx context.Context, role Role, o *Options) (*dcps.DomainParticipant, error) {
	trim := int64(0) // the middleware's default
	if o.KeepLog {
		trim = -1
	}
	return dcps.NewDomainParticipant(ctx, dcps.DomainID(o.Domain),
		dcps.WithName(fmt.Sprintf("dds perf %s@%s", role, clockName())),
		dcps.WithSettings(dcps.Settings{Transport: o.Transport, Peers: o.Peers, Listen: o.Listen, Dir: o.Dir, RingBytes: o.Ring,
			Subgroups: o.Subgroups, LogTrimBytes: trim}))
}

func newWriter(p *dcps.DomainParticipant, topic string, o *Options) (writer, error) {
	if o.Keyed || o.Instances > 1 {
		return newWriterOf(p, topic, keyed, o)
	}
	return newWriterOf(p, topic, plain, o)
}

func newReader(p *dcps.DomainParticipant, topic string, o *Options) (reader, error) {
	if o.Keyed || o.Instances > 1 {
		return newReaderOf(p, topic, keyed, o)
	}
	return newReaderOf(p, topic, plain, o)
}

func durability(l Level) qos.Durability {
	switch l {
	case Stored:
		return qos.Durability{Kind: qos.DurabilityTransientLocal}
	case Logged:
		return qos.Durability{Kind: qos.DurabilityPersistent}
	}
	return qos.Durability{Kind: qos.DurabilityVolatile}
}

func reliability(l Level) qos.Reliability {
	if l == Unordered {
		return qos.Reliability{Kind: qos.ReliabilityBestEffort, MaxBlockingTime: qos.Infinite}
	}
	return qos.Reliability{Kind: qos.ReliabilityReliable, MaxBlockingTime: qos.Infinite}
}

// writerQos bounds what is kept for late readers to one sample of an instance: a benchmark that keeps all fills the
// memory. No reader is late, and what is not read yet is not dropped for that.
func writerQos(o *Options) qos.DataWriter {
	q := qos.DefaultDataWriter()
	q.Reliability = reliability(o.Level)
	q.Durability = durability(o.Level)
	if o.Level != Stored && o.Level != Logged {
		q.History.Kind = qos.HistoryKeepAll
	}
	return q
}

func readerQos(o *Options) qos.DataReader {
	q := qos.DefaultDataReader()
	q.Reliability = reliability(o.Level)
	q.Durability = durability(o.Level)
	if o.Keep > 0 {
		q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: int32(o.Keep)}
	} else {
		q.History.Kind = qos.HistoryKeepAll
		q.ResourceLimits.MaxSamples = int32(o.MaxSamples)
	}
	return q
}

type writerOf[T any] struct {
	w       *dcps.DataWriter[T]
	form    form[T]
	loan    bool
	payload []byte
	sample  T
	stream  cdr.Stream // of what is built in place
}

func newWriterOf[T any, PT cdr.Type[T]](p *dcps.DomainParticipant, topic string, f form[T], o *Options) (*writerOf[T], error) {
	t, err := dcps.NewTopic[T, PT](p, topic+f.name)
	if err != nil {
		return nil, err
	}
	pub, err := p.NewPublisher()
	if err != nil {
		return nil, err
	}
	w, err := dcps.NewDataWriter(pub, t, dcps.WithWriterQos(writerQos(o)))
	if err != nil {
		return nil, err
	}
	if most := w.MaxSampleSize(); room(o.Size) > most {
		return nil, fmt.Errorf("a sample of %s does not fit: the ring of a writer takes samples of up to %d bytes", FormatSize(o.Size), most)
	}
	return &writerOf[T]{w: w, form: f, loan: o.Write == Loan}, nil
}

func (w *writerOf[T]) write(ctx context.Context, h *header) error {
	if h.payload != len(w.payload) {
		w.payload = make([]byte, h.payload)
	}
	seal(w.payload, h.number)
	if !w.loan {
		w.form.set(&w.sample, h, w.payload)
		return w.w.Write(ctx, &w.sample)
	}
	l, err := w.w.Loan(ctx, room(MinSize+h.payload))
	if err != nil {
		return err
	}
	n, err := w.form.build(&w.stream, l.Bytes(), h, w.payload)
	if err != nil {
		return errors.Join(err, l.Discard())
	}
	return l.Publish(n)
}

func (w *writerOf[T]) matched() int    { return int(w.w.PublicationMatchedStatus().CurrentCount) }
func (w *writerOf[T]) dropped() uint64 { return w.w.Dropped() }

func (w *writerOf[T]) waitForMatch(ctx context.Context, n int) error { return w.w.WaitForMatch(ctx, n) }

func (w *writerOf[T]) waitForAcknowledgments(ctx context.Context) error {
	return w.w.WaitForAcknowledgments(ctx)
}

type readerOf[T any] struct {
	r       *dcps.DataReader[T]
	form    form[T]
	lend    bool
	poll    bool
	turns   uint // of polling
	options []dcps.ReadOption
	ready   *dcps.WaitSet
	changed dcps.GuardCondition // set by the listener when writers came or went
	came    chan struct{}       // has a place for one; filled by the listener at the same time
	calls   *upcalls            // nil without a listener for samples
	// Matched writers, now and the most so far: stored by the listener, loaded by whoever reads.
	current, most atomic.Int32
}

func newReaderOf[T any, PT cdr.Type[T]](p *dcps.DomainParticipant, topic string, f form[T], o *Options) (*readerOf[T], error) {
	t, err := dcps.NewTopic[T, PT](p, topic+f.name)
	if err != nil {
		return nil, err
	}
	sub, err := p.NewSubscriber()
	if err != nil {
		return nil, err
	}
	r := &readerOf[T]{form: f, lend: o.Read == Loan, poll: o.Poll, came: make(chan struct{}, 1)}
	l := &dcps.DataReaderListener[T]{
		OnSubscriptionMatched: func(_ *dcps.DataReader[T], s dcps.SubscriptionMatchedStatus) {
			r.most.Store(max(r.most.Load(), s.CurrentCount))
			r.current.Store(s.CurrentCount)
			r.changed.SetTriggerValue(true)
			select {
			case r.came <- struct{}{}:
			default: // nobody has looked since
			}
		},
	}
	if o.Listener {
		r.calls = newUpcalls()
		l.OnDataAvailable = func(*dcps.DataReader[T]) { r.calls.onData() }
	}
	// In order, or the samples of an instance come together and those of a writer do not.
	r.options = []dcps.ReadOption{dcps.InOrder(), dcps.MaxSamples(o.Batch)}
	r.r, err = dcps.NewDataReader(sub, t, dcps.WithReaderQos(readerQos(o)), dcps.WithReaderListener(l))
	if err != nil {
		return nil, err
	}
	r.ready = dcps.NewWaitSet(r.r.NewReadCondition(0, 0, 0), &r.changed)
	return r, nil
}

func (r *readerOf[T]) take(s sink) error {
	if r.lend {
		return r.takeLoan(s)
	}
	batch, err := r.r.Take(r.options...)
	if err != nil {
		return none(err)
	}
	defer batch.Close()
	s.begin(batch.Len())
	var h header
	for i := range batch.Len() {
		sample := batch.At(i)
		m := sample.Data()
		if m == nil {
			if err := sample.Err(); err != nil {
				return err
			}
			continue // tells of a state
		}
		payload := r.form.get(m, &h)
		if err := checkSeal(payload, &h); err != nil {
			return err
		}
		if err := s.add(&h); err != nil {
			return err
		}
	}
	return nil
}

func (r *readerOf[T]) takeLoan(s sink) error {
	batch, err := r.r.TakeLoan(r.options...)
	if err != nil {
		return none(err)
	}
	defer batch.Close()
	s.begin(batch.Len())
	var h header
	for i := range batch.Len() {
		b := batch.Encoded(i)
		if b == nil {
			continue // tells of a state
		}
		payload, err := r.form.parse(b, &h)
		if err != nil {
			return err
		}
		if err := checkSeal(payload, &h); err != nil {
			return err
		}
		if err := s.add(&h); err != nil {
			return err
		}
	}
	return nil
}

func none(err error) error {
	if errors.Is(err, dcps.ErrNoData) {
		return errEmpty
	}
	return err
}

func (r *readerOf[T]) wait(ctx context.Context) error {
	if r.poll {
		if r.turns++; r.turns%stepAside == 0 {
			runtime.Gosched() // or no other goroutine of this process ever runs
		}
		return ctx.Err()
	}
	if _, err := r.ready.Wait(ctx); err != nil {
		return err
	}
	r.changed.SetTriggerValue(false)
	return nil
}

func (r *readerOf[T]) upcalls() *upcalls          { return r.calls }
func (r *readerOf[T]) rematched() <-chan struct{} { return r.came }

func (r *readerOf[T]) matched() (now, most int) { return int(r.current.Load()), int(r.most.Load()) }

func (r *readerOf[T]) waitForMatch(ctx context.Context, n int) error { return r.r.WaitForMatch(ctx, n) }

func (r *readerOf[T]) sameClock() bool {
	mine := clockName()
	for _, p := range r.r.MatchedPublications() {
		if _, theirs, _ := strings.Cut(p.Name, "@"); theirs == "" || theirs != mine {
			return false
		}
	}
	return mine != ""
}
