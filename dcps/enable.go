package dcps

import (
	"context"
	"errors"
)

// An entity that is not enabled does what DDS 1.4 §2.2.2.1.1.7 allows: its QoS and listener may be set and read, its conditions
// and statuses looked at, other entities made from it, looked up and closed. All else fails with ErrNotEnabled. What is made
// from an entity that is not enabled is not enabled either.

// notYet is the error of enabling an entity before what made it.
func notYet(entity, factory string) error {
	return &Error{Op: "Enable", Entity: entity, Code: ErrPreconditionNotMet, Detail: "the " + factory + " is not enabled; enable it first"}
}

// Enable joins the domain, if the factory did not do so (DDS: enable), and enables all that was made by the
// participant, unless its ENTITY_FACTORY says otherwise. Enabling an entity again has no effect, but that it goes on
// with what a call before failed to enable. It gives up when the participant is closed meanwhile.
func (p *DomainParticipant) Enable(ctx context.Context) error {
	const op = "Enable"
	if p.absent() {
		return noParticipant(op)
	}
	if ctx == nil {
		return isNil(op, "participant", "ctx")
	}
	if err := p.enable(ctx, op); err != nil {
		return err
	}
	p.mu.Lock()
	left := p.toEnable
	p.toEnable = nil
	p.mu.Unlock()
	var errs []error
	for i, enable := range left {
		if err := enable(); err != nil {
			errs = append(errs, err)
			p.mu.Lock()
			p.toEnable = append(p.toEnable, left[i])
			p.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// parts are what the participant contains, to be enabled with it, if its ENTITY_FACTORY says so. Called with mu held.
func (p *DomainParticipant) parts() (enable []func() error) {
	if !p.qos.EntityFactory.AutoenableCreatedEntities {
		return nil
	}
	for _, t := range p.topics {
		enable = append(enable, func() error { _ = t.enable(); return nil }) // one that is closed is not missed
	}
	for _, sub := range p.subs {
		enable = append(enable, sub.Enable)
	}
	for _, pub := range p.publishers {
		enable = append(enable, pub.Enable)
	}
	return enable
}

// Enabled tells whether the participant is enabled.
func (p *DomainParticipant) Enabled() bool { return !p.absent() && p.enabled() }

// Enable enables the Publisher (DDS: enable), and its writers unless its ENTITY_FACTORY says otherwise.
func (pub *Publisher) Enable() error {
	if pub.absent() {
		return missing("Enable", "the publisher", "NewPublisher")
	}
	if !pub.p.enabled() {
		return notYet(pub.what, "participant")
	}
	return pub.enable(func() bool { return pub.qos.EntityFactory.AutoenableCreatedEntities }, func(w *writer) error { return w.enable("Enable") })
}

// Enabled tells whether the Publisher is enabled.
func (pub *Publisher) Enabled() bool { return !pub.absent() && pub.state.enabled.Load() }

// Enable enables the Subscriber (DDS: enable), and its readers unless its ENTITY_FACTORY says otherwise.
func (sub *Subscriber) Enable() error {
	if sub.absent() {
		return missing("Enable", "the subscriber", "NewSubscriber")
	}
	if !sub.p.enabled() {
		return notYet(sub.what, "participant")
	}
	return sub.enable(func() bool { return sub.qos.EntityFactory.AutoenableCreatedEntities }, func(r *reader) error { return r.enable("Enable") })
}

// Enabled tells whether the Subscriber is enabled.
func (sub *Subscriber) Enabled() bool { return !sub.absent() && sub.state.enabled.Load() }

// Enable enables the topic (DDS: enable): from then on policies that can not change do not.
func (t *Topic[T]) Enable() error {
	s := t.shared()
	if s == noTopic {
		return s.deleted("Enable")
	}
	if !s.p.enabled() {
		return notYet(s.what, "participant")
	}
	return s.enable()
}

// enable is done under the lock that SetQos decides by what may change.
func (t *topicEntity) enable() error {
	t.lock()
	defer t.unlock()
	if t.closed {
		return t.deleted("Enable")
	}
	t.enabled.Store(true)
	return nil
}

// Enabled tells whether the topic is enabled.
func (t *Topic[T]) Enabled() bool { return t.shared().enabled.Load() }

// Enable tells the domain of the writer (DDS: enable). Writers of a Publisher that is enabled are so from the start, unless its
// ENTITY_FACTORY says otherwise.
func (w *DataWriter[T]) Enable() error {
	u := w.untyped()
	switch {
	case u == noWriter:
		return u.deleted("Enable")
	case !u.pub.Enabled():
		return notYet(u.what, "publisher")
	}
	return u.enable("Enable")
}

// Enabled tells whether the writer is enabled.
func (w *DataWriter[T]) Enabled() bool { return w.untyped().enabled.Load() }

// Enable tells the domain of the reader (DDS: enable). Readers of a Subscriber that is enabled are so from the start, unless its
// ENTITY_FACTORY says otherwise.
func (r *DataReader[T]) Enable() error {
	u := r.untyped()
	switch {
	case u == noReader:
		return u.deleted("Enable")
	case !u.sub.Enabled():
		return notYet(u.what, "subscriber")
	}
	return u.enable("Enable")
}

// Enabled tells whether the reader is enabled.
func (r *DataReader[T]) Enabled() bool { return r.untyped().enabled.Load() }
