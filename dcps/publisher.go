package dcps

import (
	"context"
	"slices"

	"github.com/omg-dds-go/dds/qos"
)

// Publisher groups DataWriters (DDS 1.4 §2.2.2.4.1).
type Publisher struct {
	group[*writer]
	qos      qos.Publisher
	listener PublisherListener
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
	if err := configure(op, &c, opts); err != nil {
		return nil, err
	}
	if err := checkGroup(op, c.qos.Validate(), c.qos.EntityFactory, c.qos.Presentation); err != nil {
		return nil, err
	}
	pub := &Publisher{qos: c.qos, listener: c.listener}
	pub.p, pub.what = p, "publisher"
	if err := p.adopt(op, func() { p.publishers = append(p.publishers, pub) }); err != nil {
		return nil, err
	}
	return pub, nil
}

func (pub *Publisher) absent() bool { return pub == nil || pub.p == nil }

// Participant gives the Publisher's participant.
func (pub *Publisher) Participant() *DomainParticipant {
	if pub.absent() {
		return nil
	}
	return pub.p
}

// Qos gives the QoS that the Publisher was made with.
func (pub *Publisher) Qos() qos.Publisher {
	if pub.absent() {
		return qos.Publisher{}
	}
	return pub.qos
}

// WaitForAcknowledgments waits for all writers of the Publisher; see DataWriter.WaitForAcknowledgments.
func (pub *Publisher) WaitForAcknowledgments(ctx context.Context) error {
	const op = "WaitForAcknowledgments"
	if pub.absent() {
		return missing(op, "the publisher", "NewPublisher")
	}
	if ctx == nil {
		return isNil(op, pub.what, "ctx")
	}
	for _, w := range pub.list() {
		if err := w.WaitForAcknowledgments(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the writers and the Publisher. Closing again gives the same result; see DomainParticipant.Close.
func (pub *Publisher) Close() error {
	if pub.absent() {
		return missing("Close", "the publisher", "NewPublisher")
	}
	return pub.ending.do(func() error {
		err := pub.close()
		pub.p.mu.Lock()
		defer pub.p.mu.Unlock()
		pub.p.publishers = slices.DeleteFunc(pub.p.publishers, func(o *Publisher) bool { return o == pub })
		return err
	})
}
