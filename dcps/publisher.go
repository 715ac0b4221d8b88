package dcps

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/qos"
)

// Publisher groups DataWriters (DDS 1.4 §2.2.2.4.1).
type Publisher struct {
	group[*writer]
	listener bound[PublisherListener] // guarded by the participant's listening

	// Guarded by group.mu.
	qos      qos.Publisher
	defaults qos.DataWriter

	suspended atomic.Int32 // SuspendPublications without ResumePublications
	present   presenting   // set up before the Publisher is enabled
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
	if p.absent() {
		return nil, noParticipant(op)
	}
	c := publisherConfig{qos: p.DefaultPublisherQos()}
	if err := configure(op, &c, opts); err != nil {
		return nil, err
	}
	if err := invalid(op, "", c.qos.Validate()); err != nil {
		return nil, err
	}
	if err := (&announcement{writes: true, pub: c.qos}).fits(op, "publisher"); err != nil {
		return nil, err
	}
	pub := &Publisher{qos: c.qos, defaults: qos.DefaultDataWriter(), listener: bound[PublisherListener]{c.listener, AnyStatus}}
	pub.begin(p, "publisher", pub)
	pub.present.sets = newMutex()
	pub.present.configure(c.qos.Presentation)
	if err := p.adopt(op, &pub.state, func() { p.publishers = append(p.publishers, pub) }); err != nil {
		return nil, err
	}
	return pub, nil
}

func (pub *Publisher) absent() bool { return pub == nil || pub.p == nil }

// enables tells whether writers are enabled when they are made (ENTITY_FACTORY).
func (pub *Publisher) enables() bool {
	return pub.state.enabled.Load() && pub.Qos().EntityFactory.AutoenableCreatedEntities
}

// Participant gives the Publisher's participant (DDS: get_participant).
func (pub *Publisher) Participant() *DomainParticipant {
	if pub.absent() {
		return nil
	}
	return pub.p
}

// Qos gives the Publisher's QoS (DDS: get_qos).
func (pub *Publisher) Qos() qos.Publisher {
	if pub.absent() {
		return qos.Publisher{}
	}
	pub.mu.Lock()
	defer pub.mu.Unlock()
	return pub.qos
}

// DefaultDataWriterQos gives the QoS that writers are made with unless they are given another (DDS:
// get_default_datawriter_qos).
func (pub *Publisher) DefaultDataWriterQos() qos.DataWriter {
	if pub.absent() {
		return qos.DataWriter{}
	}
	pub.mu.Lock()
	defer pub.mu.Unlock()
	return pub.defaults
}

// SetDefaultDataWriterQos sets the QoS that writers are made with from now on (DDS: set_default_datawriter_qos).
func (pub *Publisher) SetDefaultDataWriterQos(q qos.DataWriter) error {
	const op = "SetDefaultDataWriterQos"
	if pub.absent() {
		return missing(op, "the publisher", "NewPublisher")
	}
	if err := checkWriter(op, pub.what, q); err != nil {
		return err
	}
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.defaults = q
	return nil
}

// StatusCondition gives the Publisher's condition (DDS: get_statuscondition). No status is its own.
func (pub *Publisher) StatusCondition() *StatusCondition {
	if pub.absent() {
		return nil
	}
	return pub.state.status
}

// WaitForAcknowledgments waits for all writers of the Publisher (DDS: wait_for_acknowledgments); see
// DataWriter.WaitForAcknowledgments. Writers that are not enabled have nothing to wait for, and those that are closed meanwhile
// have no longer.
func (pub *Publisher) WaitForAcknowledgments(ctx context.Context) error {
	const op = "WaitForAcknowledgments"
	if pub.absent() {
		return missing(op, "the publisher", "NewPublisher")
	}
	if ctx == nil {
		return isNil(op, pub.what, "ctx")
	}
	if err := pub.usable(op); err != nil {
		return err
	}
	for _, w := range pub.list() {
		if !w.enabled.Load() {
			continue
		}
		err := w.WaitForAcknowledgments(ctx)
		if errors.Is(err, ErrAlreadyDeleted) && !pub.isShut() {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close closes the writers and the Publisher (DDS: delete_contained_entities, delete_publisher). Closing again gives the same
// result; see DomainParticipant.Close.
func (pub *Publisher) Close() error {
	if pub.absent() {
		return missing("Close", "the publisher", "NewPublisher")
	}
	return pub.ending.do(func() error {
		pub.shut()
		pub.endLoans()
		err := pub.close()
		pub.state.close()
		pub.p.mu.Lock()
		defer pub.p.mu.Unlock()
		pub.p.publishers = slices.DeleteFunc(pub.p.publishers, func(o *Publisher) bool { return o == pub })
		pub.p.entities.remove(&pub.state.entity)
		return err
	})
}

// endLoans discards the loans of all writers, before any of them is closed: each of them would wait for those of the others.
func (pub *Publisher) endLoans() {
	for _, w := range pub.list() {
		w.endLoans()
	}
}
