package dcps

import "github.com/omg-dds-go/dds/topic"

// Entity is what DomainParticipant, Topic, Publisher, Subscriber, DataWriter and DataReader have in common (DDS 1.4 §2.2.2.1.1).
type Entity interface {
	// Enabled tells whether the entity is enabled.
	Enabled() bool
	// Handle names the entity (DDS: get_instance_handle).
	Handle() InstanceHandle
	// StatusCondition gives the condition over the entity's statuses (DDS: get_statuscondition).
	StatusCondition() *StatusCondition
	// StatusChanges tells which statuses changed since they were looked at (DDS: get_status_changes).
	StatusChanges() StatusMask
	// Close deletes the entity with all that it contains.
	Close() error
}

// Entity gives the entity whose statuses the condition is over (DDS: get_entity). Of a topic it is a Topic that was made with
// NewTopic, FindTopic or LookupTopic, whichever came first.
func (c *StatusCondition) Entity() Entity {
	if c.base().absent() {
		return nil
	}
	return c.of
}

// DataReader gives the reader whose samples the condition is about (DDS: get_datareader).
func (c *ReadCondition) DataReader() AnyDataReader {
	if c.base().absent() {
		return nil
	}
	return c.reader.typed
}

// DataReader gives the reader whose samples the condition is about (DDS: get_datareader).
func (c *QueryCondition) DataReader() AnyDataReader { return c.condition().DataReader() }

// Listener gives what SetListener, or WithReaderListener, set; nil for none (DDS: get_listener).
func (r *DataReader[T]) Listener() *DataReaderListener[T] {
	u := r.untyped()
	if u == noReader {
		return nil
	}
	u.p.listening.Lock()
	defer u.p.listening.Unlock()
	l, _ := u.listener.(*DataReaderListener[T])
	return l
}

// Listener gives what SetListener, or WithWriterListener, set; nil for none (DDS: get_listener).
func (w *DataWriter[T]) Listener() *DataWriterListener[T] {
	u := w.untyped()
	if u == noWriter {
		return nil
	}
	u.p.listening.Lock()
	defer u.p.listening.Unlock()
	l, _ := u.listener.(*DataWriterListener[T])
	return l
}

// Listener gives what SetListener, or WithTopicListener, set; nil for none (DDS: get_listener).
func (t *Topic[T]) Listener() *TopicListener {
	s := t.shared()
	if s == noTopic {
		return nil
	}
	s.p.listening.Lock()
	defer s.p.listening.Unlock()
	return s.listener.l
}

// Listener gives what SetListener, or WithPublisherListener, set (DDS: get_listener).
func (pub *Publisher) Listener() PublisherListener {
	if pub.absent() {
		return PublisherListener{}
	}
	pub.p.listening.Lock()
	defer pub.p.listening.Unlock()
	return pub.listener.l
}

// Listener gives what SetListener, or WithSubscriberListener, set (DDS: get_listener).
func (sub *Subscriber) Listener() SubscriberListener {
	if sub.absent() {
		return SubscriberListener{}
	}
	sub.p.listening.Lock()
	defer sub.p.listening.Unlock()
	return sub.listener.l
}

// Listener gives what SetListener, or WithParticipantListener, set (DDS: get_listener).
func (p *DomainParticipant) Listener() ParticipantListener {
	if p.absent() {
		return ParticipantListener{}
	}
	p.listening.Lock()
	defer p.listening.Unlock()
	return p.listener.l
}

// Handle names the Publisher (DDS: get_instance_handle). It is HandleNil until the participant is enabled. Nothing else in the
// domain is found by it: a Publisher is announced with its writers only.
func (pub *Publisher) Handle() InstanceHandle {
	if pub.absent() {
		return HandleNil
	}
	return pub.handle()
}

// Handle names the Subscriber (DDS: get_instance_handle); see Publisher.Handle.
func (sub *Subscriber) Handle() InstanceHandle {
	if sub.absent() {
		return HandleNil
	}
	return sub.handle()
}

// Handle names the topic (DDS: get_instance_handle), at every participant alike: it is its key in DCPSTopic.
func (t *Topic[T]) Handle() InstanceHandle {
	s := t.shared()
	if s == noTopic {
		return HandleNil
	}
	return handleOfTopic(s.name, s.support.Type.Name)
}

// StatusChanges is 0: no status is the Publisher's own (DDS: get_status_changes).
func (pub *Publisher) StatusChanges() StatusMask {
	if pub.absent() {
		return 0
	}
	return pub.state.statusChanges()
}

// StatusChanges tells whether INCONSISTENT_TOPIC changed since it was looked at (DDS: get_status_changes).
func (t *Topic[T]) StatusChanges() StatusMask { return t.shared().statusChanges() }

// handle is that of a Publisher or Subscriber.
func (g *group[E]) handle() InstanceHandle {
	if !g.p.enabled() {
		return HandleNil
	}
	return topic.HandleOfGroup(uint64(origin(g.p.core.ID())), g.number)
}
