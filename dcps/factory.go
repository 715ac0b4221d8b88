package dcps

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/qos"
)

// DomainParticipantFactory makes participants and keeps them (DDS 1.4 §2.2.2.2.2, DomainParticipantFactory). It is a value like
// others: a program may have several, which know nothing of each other, or none, as NewDomainParticipant needs none. The zero
// value has the standard's defaults.
type DomainParticipantFactory struct {
	mu           sync.Mutex
	qos          *qos.EntityFactory
	defaults     *qos.DomainParticipant
	options      []ParticipantOption
	participants []*DomainParticipant
}

// NewDomainParticipantFactory makes a factory whose participants all have some options, before those of
// DomainParticipantFactory.NewDomainParticipant (DDS: get_instance).
func NewDomainParticipantFactory(opts ...ParticipantOption) *DomainParticipantFactory {
	return &DomainParticipantFactory{options: slices.Clone(opts)}
}

func noFactory(op string) error { return isNil(op, "", "the factory") }

// NewDomainParticipant joins a domain (DDS: create_participant); see the function of that name. If ENTITY_FACTORY of the factory
// says that entities are not enabled when they are made, DomainParticipant.Enable joins it.
func (f *DomainParticipantFactory) NewDomainParticipant(ctx context.Context, id DomainID, opts ...ParticipantOption) (*DomainParticipant, error) {
	if f == nil {
		return nil, noFactory("NewDomainParticipant")
	}
	return newParticipant(ctx, f, id, slices.Concat(f.options, opts))
}

// LookupParticipant gives a participant of the factory in a domain, or nil (DDS: lookup_participant). Of several it is the
// oldest.
func (f *DomainParticipantFactory) LookupParticipant(id DomainID) *DomainParticipant {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.participants {
		if p.id == id {
			return p
		}
	}
	return nil
}

// Qos gives the factory's QoS, whose only policy is ENTITY_FACTORY (DDS: get_qos).
func (f *DomainParticipantFactory) Qos() qos.EntityFactory {
	if f == nil {
		return qos.EntityFactory{AutoenableCreatedEntities: true}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.qos == nil {
		return qos.EntityFactory{AutoenableCreatedEntities: true}
	}
	return *f.qos
}

// SetQos sets the factory's QoS (DDS: set_qos). Participants that there are stay as they are.
func (f *DomainParticipantFactory) SetQos(q qos.EntityFactory) error {
	if f == nil {
		return noFactory("SetQos")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.qos = &q
	return nil
}

// DefaultParticipantQos gives the QoS that participants are made with unless they are given another (DDS:
// get_default_participant_qos).
func (f *DomainParticipantFactory) DefaultParticipantQos() qos.DomainParticipant {
	if f == nil {
		return qos.DefaultDomainParticipant()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.defaults == nil {
		return qos.DefaultDomainParticipant()
	}
	return *f.defaults
}

// SetDefaultParticipantQos sets the QoS that participants are made with from now on (DDS: set_default_participant_qos).
func (f *DomainParticipantFactory) SetDefaultParticipantQos(q qos.DomainParticipant) error {
	const op = "SetDefaultParticipantQos"
	if f == nil {
		return noFactory(op)
	}
	if err := invalid(op, "factory", q.Validate()); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.defaults = &q
	return nil
}

// Close closes all participants of the factory (DDS: delete_participant of each). The factory can make others.
func (f *DomainParticipantFactory) Close() error {
	if f == nil {
		return noFactory("Close")
	}
	f.mu.Lock()
	all := slices.Clone(f.participants)
	f.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// The rest is for participants that may have no factory.

func (f *DomainParticipantFactory) enables() bool { return f.Qos().AutoenableCreatedEntities }

// keep makes a participant known to LookupParticipant.
func (f *DomainParticipantFactory) keep(p *DomainParticipant) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.participants = append(f.participants, p)
}

func (f *DomainParticipantFactory) forget(p *DomainParticipant) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.participants = slices.DeleteFunc(f.participants, func(o *DomainParticipant) bool { return o == p })
}

// defaults are the QoS that a participant makes its parts with.
type defaults struct {
	publisher  qos.Publisher
	subscriber qos.Subscriber
	topic      qos.Topic
}

func standardDefaults() defaults {
	return defaults{qos.DefaultPublisher(), qos.DefaultSubscriber(), qos.DefaultTopic()}
}

// DefaultPublisherQos gives the QoS that Publishers are made with unless they are given another (DDS:
// get_default_publisher_qos).
func (p *DomainParticipant) DefaultPublisherQos() qos.Publisher { return p.defaultsNow().publisher }

// DefaultSubscriberQos does so for Subscribers (DDS: get_default_subscriber_qos).
func (p *DomainParticipant) DefaultSubscriberQos() qos.Subscriber { return p.defaultsNow().subscriber }

// DefaultTopicQos does so for Topics (DDS: get_default_topic_qos).
func (p *DomainParticipant) DefaultTopicQos() qos.Topic { return p.defaultsNow().topic }

func (p *DomainParticipant) defaultsNow() defaults {
	if p.absent() {
		return defaults{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.defaults
}

// SetDefaultPublisherQos sets the QoS that Publishers are made with from now on (DDS: set_default_publisher_qos).
func (p *DomainParticipant) SetDefaultPublisherQos(q qos.Publisher) error {
	const op = "SetDefaultPublisherQos"
	return p.setDefault(op, func() error { return invalid(op, "", q.Validate()) }, func(d *defaults) { d.publisher = q })
}

// SetDefaultSubscriberQos does so for Subscribers (DDS: set_default_subscriber_qos).
func (p *DomainParticipant) SetDefaultSubscriberQos(q qos.Subscriber) error {
	const op = "SetDefaultSubscriberQos"
	return p.setDefault(op, func() error { return invalid(op, "", q.Validate()) }, func(d *defaults) { d.subscriber = q })
}

// SetDefaultTopicQos does so for Topics (DDS: set_default_topic_qos).
func (p *DomainParticipant) SetDefaultTopicQos(q qos.Topic) error {
	const op = "SetDefaultTopicQos"
	return p.setDefault(op, func() error { return invalid(op, "participant", q.Validate()) }, func(d *defaults) { d.topic = q })
}

func (p *DomainParticipant) setDefault(op string, check func() error, set func(*defaults)) error {
	if p.absent() {
		return noParticipant(op)
	}
	if err := check(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.closedError(op)
	}
	set(&p.defaults)
	return nil
}
