package dcps

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/qos"
)

// Publisher groups DataWriters (DDS 1.4 §2.2.2.4.1).
type Publisher struct {
	p        *DomainParticipant
	qos      qos.Publisher
	listener PublisherListener

	mu      sync.Mutex
	closed  bool
	writers []*writer
}

type publisherConfig struct {
	qos      qos.Publisher
	listener PublisherListener
}

// PublisherOption is an option of NewPublisher.
type PublisherOption func(*publisherConfig)

// WithPublisherQos sets the QoS of a Publisher.
func WithPublisherQos(q qos.Publisher) PublisherOption {
	return func(c *publisherConfig) { c.qos = q }
}

// WithPublisherListener sets the listener that hears what the writers' own do not handle.
func WithPublisherListener(l PublisherListener) PublisherOption {
	return func(c *publisherConfig) { c.listener = l }
}

// NewPublisher makes a Publisher (DDS: create_publisher).
func (p *DomainParticipant) NewPublisher(opts ...PublisherOption) (*Publisher, error) {
	const op = "NewPublisher"
	c := publisherConfig{qos: qos.DefaultPublisher()}
	for _, o := range opts {
		o(&c)
	}
	if err := invalid(op, "", c.qos.Validate()); err != nil {
		return nil, err
	}
	if err := checkFactory(op, "", c.qos.EntityFactory); err != nil {
		return nil, err
	}
	if err := checkPresentation(op, c.qos.Presentation); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.usable(op); err != nil {
		return nil, err
	}
	pub := &Publisher{p: p, qos: c.qos, listener: c.listener}
	p.publishers = append(p.publishers, pub)
	return pub, nil
}

// checkPresentation refuses what is not enforced: coherent sets, and order over several topics.
func checkPresentation(op string, q qos.Presentation) error {
	if q.CoherentAccess || (q.AccessScope == qos.PresentationGroup && q.OrderedAccess) {
		return unsupported(op, "", qos.PolicyPresentation, q.String())
	}
	return nil
}

// Participant gives the Publisher's participant.
func (pub *Publisher) Participant() *DomainParticipant { return pub.p }

// Qos gives the QoS that the Publisher was made with.
func (pub *Publisher) Qos() qos.Publisher { return pub.qos }

// WaitForAcknowledgments waits for all writers of the Publisher; see DataWriter.WaitForAcknowledgments.
func (pub *Publisher) WaitForAcknowledgments(ctx context.Context) error {
	pub.mu.Lock()
	writers := slices.Clone(pub.writers)
	pub.mu.Unlock()
	for _, w := range writers {
		if err := w.WaitForAcknowledgments(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the writers and the Publisher. Closing again has no effect.
func (pub *Publisher) Close() error {
	pub.mu.Lock()
	writers := slices.Clone(pub.writers)
	pub.closed = true
	pub.mu.Unlock()
	var errs []error
	for _, w := range writers {
		errs = append(errs, w.Close())
	}
	pub.p.mu.Lock()
	pub.p.publishers = slices.DeleteFunc(pub.p.publishers, func(o *Publisher) bool { return o == pub })
	pub.p.mu.Unlock()
	return errors.Join(errs...)
}

func (pub *Publisher) add(op string, w *writer) error {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	if pub.closed {
		return &Error{Op: op, Entity: "publisher", Code: ErrAlreadyDeleted, Detail: "it was closed"}
	}
	pub.writers = append(pub.writers, w)
	return nil
}

func (pub *Publisher) remove(w *writer) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.writers = slices.DeleteFunc(pub.writers, func(o *writer) bool { return o == w })
}

// Subscriber groups DataReaders (DDS 1.4 §2.2.2.5.2).
type Subscriber struct {
	p        *DomainParticipant
	qos      qos.Subscriber
	listener SubscriberListener
	onData   chan struct{} // nil without OnDataOnReaders; capacity 1
	stop     chan struct{}

	mu      sync.Mutex
	closed  bool
	readers []*reader
}

type subscriberConfig struct {
	qos      qos.Subscriber
	listener SubscriberListener
}

// SubscriberOption is an option of NewSubscriber.
type SubscriberOption func(*subscriberConfig)

// WithSubscriberQos sets the QoS of a Subscriber.
func WithSubscriberQos(q qos.Subscriber) SubscriberOption {
	return func(c *subscriberConfig) { c.qos = q }
}

// WithSubscriberListener sets the listener that hears what the readers' own do not handle.
func WithSubscriberListener(l SubscriberListener) SubscriberOption {
	return func(c *subscriberConfig) { c.listener = l }
}

// NewSubscriber makes a Subscriber (DDS: create_subscriber).
func (p *DomainParticipant) NewSubscriber(opts ...SubscriberOption) (*Subscriber, error) {
	const op = "NewSubscriber"
	c := subscriberConfig{qos: qos.DefaultSubscriber()}
	for _, o := range opts {
		o(&c)
	}
	if err := invalid(op, "", c.qos.Validate()); err != nil {
		return nil, err
	}
	if err := checkFactory(op, "", c.qos.EntityFactory); err != nil {
		return nil, err
	}
	if err := checkPresentation(op, c.qos.Presentation); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.usable(op); err != nil {
		return nil, err
	}
	sub := &Subscriber{p: p, qos: c.qos, listener: c.listener, stop: make(chan struct{})}
	sub.listen()
	p.subs = append(p.subs, sub)
	return sub, nil
}

// Participant gives the Subscriber's participant.
func (sub *Subscriber) Participant() *DomainParticipant { return sub.p }

// Qos gives the QoS that the Subscriber was made with.
func (sub *Subscriber) Qos() qos.Subscriber { return sub.qos }

// Readers lists the readers that have samples in the given states (DDS: get_datareaders).
func (sub *Subscriber) Readers(samples SampleState, views ViewState, instances InstanceState) []AnyDataReader {
	sub.mu.Lock()
	readers := slices.Clone(sub.readers)
	sub.mu.Unlock()
	s := selection{samples: samples, views: views, instances: instances}
	var out []AnyDataReader
	for _, r := range readers {
		r.lock()
		found := r.cache.any(&s)
		r.unlock()
		if found {
			out = append(out, r.typed)
		}
	}
	return out
}

// Close closes the readers and the Subscriber. Closing again has no effect.
func (sub *Subscriber) Close() error {
	sub.mu.Lock()
	readers := slices.Clone(sub.readers)
	if !sub.closed {
		close(sub.stop)
	}
	sub.closed = true
	sub.mu.Unlock()
	var errs []error
	for _, r := range readers {
		errs = append(errs, r.Close())
	}
	sub.p.mu.Lock()
	sub.p.subs = slices.DeleteFunc(sub.p.subs, func(o *Subscriber) bool { return o == sub })
	sub.p.mu.Unlock()
	return errors.Join(errs...)
}

func (sub *Subscriber) add(op string, r *reader) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.closed {
		return &Error{Op: op, Entity: "subscriber", Code: ErrAlreadyDeleted, Detail: "it was closed"}
	}
	sub.readers = append(sub.readers, r)
	return nil
}

func (sub *Subscriber) remove(r *reader) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.readers = slices.DeleteFunc(sub.readers, func(o *reader) bool { return o == r })
}
