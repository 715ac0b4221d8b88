package dcps

import (
	"slices"

	"github.com/omg-dds-go/dds/qos"
)

// Subscriber groups DataReaders (DDS 1.4 §2.2.2.5.2).
type Subscriber struct {
	group[*reader]
	qos      qos.Subscriber
	listener SubscriberListener
	onData   chan struct{} // nil without OnDataOnReaders; capacity 1
	stop     chan struct{}
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
	if err := configure(op, &c, opts); err != nil {
		return nil, err
	}
	if err := checkGroup(op, c.qos.Validate(), c.qos.EntityFactory, c.qos.Presentation); err != nil {
		return nil, err
	}
	sub := &Subscriber{qos: c.qos, listener: c.listener, stop: make(chan struct{})}
	sub.p, sub.what = p, "subscriber"
	if err := p.adopt(op, func() { p.subs = append(p.subs, sub) }); err != nil {
		return nil, err
	}
	sub.listen()
	return sub, nil
}

func (sub *Subscriber) absent() bool { return sub == nil || sub.p == nil }

// Participant gives the Subscriber's participant.
func (sub *Subscriber) Participant() *DomainParticipant {
	if sub.absent() {
		return nil
	}
	return sub.p
}

// Qos gives the QoS that the Subscriber was made with.
func (sub *Subscriber) Qos() qos.Subscriber {
	if sub.absent() {
		return qos.Subscriber{}
	}
	return sub.qos
}

// Readers lists the readers that have samples in the given states (DDS: get_datareaders).
func (sub *Subscriber) Readers(samples SampleState, views ViewState, instances InstanceState) []AnyDataReader {
	if sub.absent() {
		return nil
	}
	s := selection{samples: samples, views: views, instances: instances}
	var out []AnyDataReader
	for _, r := range sub.list() {
		r.lock()
		found := r.cache.any(&s)
		r.unlock()
		if found {
			out = append(out, r.typed)
		}
	}
	return out
}

// Close closes the readers and the Subscriber. Closing again gives the same result; see DomainParticipant.Close.
func (sub *Subscriber) Close() error {
	if sub.absent() {
		return missing("Close", "the subscriber", "NewSubscriber")
	}
	return sub.ending.do(func() error {
		close(sub.stop)
		err := sub.close()
		sub.p.mu.Lock()
		defer sub.p.mu.Unlock()
		sub.p.subs = slices.DeleteFunc(sub.p.subs, func(o *Subscriber) bool { return o == sub })
		return err
	})
}
