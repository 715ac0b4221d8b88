package dcps

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// SetQos of all entities. Until an entity is enabled every policy may change; then those that the standard's table (DDS 1.4
// §2.2.3) calls changeable. A change is announced to the domain, and writers and readers are matched anew by it. That of a
// writer has its place among the samples, the same at every process (docs/adr/0037). If that takes too long (ErrTimeout),
// because the group can agree on nothing for now, the change is made all the same, later.

// immutable is the error of a change that is not allowed any more, or nil.
func immutable(op, entity string, changes []qos.Change) error {
	if len(changes) == 0 {
		return nil
	}
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	return &Error{
		Op: op, Entity: entity, Code: ErrImmutablePolicy,
		Detail: strings.Join(texts, "; ") + ": it can not change once the entity is enabled; make another entity",
	}
}

// SetQos changes the writer's QoS (DDS: set_qos). Policies that can not change once it is enabled give ErrImmutablePolicy. A
// DEADLINE where there was none holds for an instance from its next sample on: a writer whose QoS asks for no record of its
// instances, be it by a DEADLINE or by RESOURCE_LIMITS, has none, so that writing does not pay for one.
func (w *DataWriter[T]) SetQos(q qos.DataWriter) error { return w.untyped().setQos(q) }

func (w *writer) setQos(q qos.DataWriter) error {
	const op = "SetQos"
	if w == noWriter {
		return w.deleted(op)
	}
	w.changing.Lock()
	defer w.changing.Unlock()
	if w.ended.Load() {
		return w.deleted(op)
	}
	if !w.enabled.Load() {
		return w.configure(op, q)
	}
	if err := checkWriter(op, w.what, q); err != nil {
		return err
	}
	if err := w.checkAnnounced(op, q); err != nil {
		return err
	}
	if err := w.change(op, q); err != nil {
		return err
	}
	return w.reannounce(op)
}

// change has the writer itself follow its QoS.
func (w *writer) change(op string, q qos.DataWriter) error {
	w.lock()
	defer w.unlock()
	if err := immutable(op, w.what, w.q.ImmutableChanges(q)); err != nil {
		return err
	}
	w.q = q
	w.budget.Store(budgetOf(q.LatencyBudget))
	if t := w.instances.Load(); t != nil {
		t.relive(lifespanOf(&q))
		t.redate(finite(q.Deadline.Period), now())
	} else if t := newWriterInstances(q, w.path, w.topic.support); t != nil {
		t.partial = true
		w.instances.Store(t)
	}
	return nil
}

// reannounce tells the domain of what has changed. Called with changing held.
func (w *writer) reannounce(op string) error {
	return w.p.retell(w.lifetime, op, &w.entity, w.id, &w.info, w.announcement())
}

// retell announces an endpoint that is announced already, if there is anything new. That it fits was seen before; but what it
// belongs to may have changed at the same time.
func (p *DomainParticipant) retell(ctx context.Context, op string, e *entity, id derecho.EndpointID, told *[]byte, ann *announcement) error {
	info := ann.encode()
	if bytes.Equal(info, *told) {
		return nil
	}
	if err := ann.fits(op, e.what); err != nil {
		return err
	}
	*told = nil // until it is known
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	if err := p.core.ChangeEndpoint(ctx, id, info); err != nil {
		return p.unagreed(op, e.what, "it is so here, and the others were not told in time: do it again later, so that they surely are", err)
	}
	*told = info
	return nil
}

// SetQos changes the reader's QoS (DDS: set_qos). Policies that can not change once it is enabled give ErrImmutablePolicy.
func (r *DataReader[T]) SetQos(q qos.DataReader) error { return r.untyped().setQos(q) }

func (r *reader) setQos(q qos.DataReader) error {
	const op = "SetQos"
	if r == noReader {
		return r.deleted(op)
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.ended.Load() {
		return r.deleted(op)
	}
	if !r.enabled.Load() {
		return r.configure(op, q)
	}
	if err := checkReader(op, r.what, q); err != nil {
		return err
	}
	if err := r.checkAnnounced(op, q); err != nil {
		return err
	}
	if err := r.change(op, q); err != nil {
		return err
	}
	if r.join != nil {
		return r.join.setQos(q)
	}
	return r.reannounce(op)
}

// change has the reader itself follow its QoS.
func (r *reader) change(op string, q qos.DataReader) error {
	r.lock()
	defer r.unlock()
	if err := immutable(op, r.what, r.q.ImmutableChanges(q)); err != nil {
		return err
	}
	r.q = q
	if r.join != nil {
		q = wholeQos(q)
	}
	r.cache.retune(&q, now())
	return nil
}

func (r *reader) reannounce(op string) error {
	switch {
	case r.builtin:
		return nil // the domain knows nothing of it
	case r.join != nil:
		return r.join.again(op)
	}
	return r.p.retell(r.lifetime, op, &r.entity, r.id, &r.info, r.announcement())
}

// again announces a writer or reader once more because of what it belongs to. One that is not enabled is announced later; one
// that is closed is not missed.
func (w *writer) again(op string) error {
	w.changing.Lock()
	defer w.changing.Unlock()
	if w.ended.Load() || !w.enabled.Load() {
		return nil
	}
	return w.reannounce(op)
}

func (r *reader) again(op string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.ended.Load() || !r.enabled.Load() {
		return nil
	}
	return r.reannounce(op)
}

// SetQos changes the Publisher's QoS (DDS: set_qos). Another PARTITION matches its writers anew.
func (pub *Publisher) SetQos(q qos.Publisher) error {
	const op = "SetQos"
	if pub.absent() {
		return missing(op, "the publisher", "NewPublisher")
	}
	if err := invalid(op, "", q.Validate()); err != nil {
		return err
	}
	if err := pub.checkAnnounced(op, q); err != nil {
		return err
	}
	pub.mu.Lock()
	var err error
	switch {
	case pub.closed:
		err = pub.state.deleted(op)
	case pub.state.enabled.Load():
		err = immutable(op, pub.what, pub.qos.ImmutableChanges(q))
	}
	if err == nil {
		pub.qos = q
		if !pub.state.enabled.Load() {
			pub.present.configure(q.Presentation) // no writer is enabled yet
		}
	}
	pub.mu.Unlock()
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range pub.list() {
		errs = append(errs, w.again(op))
	}
	return errors.Join(errs...)
}

// SetQos changes the Subscriber's QoS (DDS: set_qos). Another PARTITION matches its readers anew.
func (sub *Subscriber) SetQos(q qos.Subscriber) error {
	const op = "SetQos"
	if sub.absent() {
		return missing(op, "the subscriber", "NewSubscriber")
	}
	if err := invalid(op, "", q.Validate()); err != nil {
		return err
	}
	if err := sub.checkAnnounced(op, q); err != nil {
		return err
	}
	sub.mu.Lock()
	var err error
	switch {
	case sub.closed:
		err = sub.state.deleted(op)
	case sub.state.enabled.Load():
		err = immutable(op, sub.what, sub.qos.ImmutableChanges(q))
	}
	if err == nil {
		if !sub.state.enabled.Load() {
			sub.access = newAccess(q.Presentation) // no reader is enabled yet
		}
		sub.qos = q
	}
	sub.mu.Unlock()
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range sub.list() {
		errs = append(errs, r.again(op))
	}
	return errors.Join(errs...)
}

// SetQos changes the topic's QoS (DDS: set_qos), that of all Topics of its name in the participant. Writers and readers keep
// theirs, which FromTopicQos copied.
func (t *Topic[T]) SetQos(q qos.Topic) error {
	const op = "SetQos"
	s := t.shared()
	if s == noTopic {
		return s.deleted(op)
	}
	if err := invalid(op, s.what, q.Validate()); err != nil {
		return err
	}
	if err := s.checkAnnounced(op, q); err != nil {
		return err
	}
	s.lock()
	err := error(nil)
	switch {
	case s.closed:
		err = s.deleted(op)
	case s.enabled.Load():
		err = immutable(op, s.what, s.qos.ImmutableChanges(q))
	}
	if err == nil {
		s.qos = q
	}
	s.unlock()
	if err != nil {
		return err
	}
	var errs []error
	for w := range s.p.writers.all() {
		if w.topic == s {
			errs = append(errs, w.again(op))
		}
	}
	for r := range s.p.readers.all() {
		if r.topic == s {
			errs = append(errs, r.again(op))
		}
	}
	return errors.Join(errs...)
}

// SetQos changes the participant's QoS (DDS: set_qos).
func (p *DomainParticipant) SetQos(q qos.DomainParticipant) error {
	const op = "SetQos"
	if p.absent() {
		return noParticipant(op)
	}
	if err := invalid(op, "participant", q.Validate()); err != nil {
		return err
	}
	if err := checkUserData(op, "participant", q); err != nil {
		return err
	}
	p.domain.changing.Lock()
	defer p.domain.changing.Unlock()
	p.mu.Lock()
	err := p.closedOrFailed(op)
	if err == nil {
		p.qos = q
	}
	p.mu.Unlock()
	if err != nil || !p.enabled() {
		return err
	}
	return p.tellUserData(p.lifetime, op)
}
