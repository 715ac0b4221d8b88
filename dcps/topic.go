package dcps

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
)

// Topic is a named flow of samples of type T (DDS 1.4 §2.2.2.3.2). All Topics of one name in a participant are one
// topic: they have one type and one status.
type Topic[T any] struct {
	*topicEntity
	message func(*T) cdr.Message
	codec   *codec[T]
	gone    atomic.Bool
	ending  ending // of Close
}

// topicEntity is what the Topics of one name share.
type topicEntity struct {
	entity
	name      string
	support   topic.Support
	users     int // Topics not closed; guarded by the participant's mu
	status    *StatusCondition
	listener  bound[*TopicListener]       // guarded by the participant's listening
	described atomic.Pointer[xtypes.Type] // what an option said of the type; nil for nothing
	objects   sync.Once                   // sets announced
	announced []byte                      // see announcedObjects

	// Guarded by entity.mu.
	qos          qos.Topic
	inconsistent InconsistentTopicStatus
	call         func(topicName string, s InconsistentTopicStatus) // the listener's, or its participant's
}

type topicConfig struct {
	qos         *qos.Topic
	listener    *TopicListener
	description *xtypes.Type
}

// TopicOption is an option of NewTopic.
type TopicOption func(*topicConfig)

// WithTopicQos sets the QoS of a Topic. It is where writers and readers start from that are made with FromTopicQos. A topic
// that the participant has already keeps its own, and must be asked for with the same or none.
func WithTopicQos(q qos.Topic) TopicOption {
	return func(c *topicConfig) { c.qos = &q }
}

// WithTopicListener sets the listener of a topic. Only the first Topic of a name in a participant may have one.
func WithTopicListener(l *TopicListener) TopicOption {
	return func(c *topicConfig) { c.listener = l }
}

// NewTopic makes a Topic (DDS: create_topic). A topic of that name with another type is an error
// (ErrPreconditionNotMet) if this participant has it; if another participant does, it is reported in the status
// INCONSISTENT_TOPIC once both have a writer or reader. Without a name it has the one that @topic has for its type.
func NewTopic[T any, PT cdr.Type[T]](p *DomainParticipant, name string, opts ...TopicOption) (*Topic[T], error) {
	const op = "NewTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	var c topicConfig
	if err := configure(op, &c, opts); err != nil {
		return nil, err
	}
	support, err := supportOf[T, PT](op, name)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = support.Type.Topic
	}
	entity := fmt.Sprintf("topic %q", name)
	if err := topic.CheckName(name); err != nil {
		return nil, &Error{Op: op, Code: ErrBadParameter, Err: err}
	}
	if c.qos != nil {
		if err := invalid(op, entity, c.qos.Validate()); err != nil {
			return nil, err
		}
		if err := checkTopicData(op, entity, name, *c.qos); err != nil {
			return nil, err
		}
	}
	e, err := p.topicNamed(op, name, support, &c)
	if err != nil {
		return nil, err
	}
	if err := e.describe(op, c.description); err != nil {
		e.release()
		return nil, err
	}
	p.listening.Lock()
	if c.listener != nil {
		e.listener = bound[*TopicListener]{c.listener, AnyStatus}
	}
	e.relisten()
	p.listening.Unlock()
	return topicOf[T, PT](e), nil
}

// topicOf is a Topic of an entity that has one user more by it.
func topicOf[T any, PT cdr.Type[T]](e *topicEntity) *Topic[T] {
	t := &Topic[T]{topicEntity: e, message: func(v *T) cdr.Message { return PT(v) }, codec: codecOf[T, PT](e.support)}
	e.lock()
	if e.status.of == nil {
		e.status.of = t
	}
	e.unlock()
	return t
}

// existing gives the topic of that name that the participant has, or nil. Called with mu held.
func (p *DomainParticipant) existing(op, name string, support topic.Support) (*topicEntity, error) {
	e := p.topics[name]
	if e == nil {
		return nil, nil
	}
	if t := e.support.Type; t.Signature != support.Type.Signature || t.Name != support.Type.Name {
		return nil, &Error{
			Op: op, Entity: e.what, Code: ErrPreconditionNotMet,
			Detail: fmt.Sprintf("this participant has it with type %s already, defined as %s; the new type is %s, defined as %s",
				t.Name, t.Text, support.Type.Name, support.Type.Text),
		}
	}
	return e, nil
}

func (p *DomainParticipant) topicNamed(op, name string, support topic.Support, c *topicConfig) (*topicEntity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return nil, err
	}
	e, err := p.existing(op, name, support)
	if err != nil {
		return nil, err
	}
	if e != nil {
		if c.listener != nil {
			return nil, &Error{Op: op, Entity: e.what, Code: ErrPreconditionNotMet,
				Detail: "the topic exists; its listener is set where it is made first, or with SetListener"}
		}
		if q := e.qosNow(); c.qos != nil && c.qos.String() != q.String() {
			return nil, &Error{
				Op: op, Entity: e.what, Code: ErrPreconditionNotMet,
				Detail: fmt.Sprintf("the topic exists with another QoS, which SetQos changes; it has %v, asked for is %v", q, *c.qos),
			}
		}
		e.users++
		return e, nil
	}
	if p.filters[name] != nil {
		return nil, &Error{Op: op, Entity: fmt.Sprintf("topic %q", name), Code: ErrPreconditionNotMet,
			Detail: "this participant has a content-filtered topic of that name already; choose another one"}
	}
	if p.multis[name] != nil {
		return nil, &Error{Op: op, Entity: fmt.Sprintf("topic %q", name), Code: ErrPreconditionNotMet,
			Detail: "this participant has a multitopic of that name already; choose another one"}
	}
	e = &topicEntity{name: name, support: support, users: 1, qos: p.defaults.topic}
	if c.qos != nil {
		e.qos = *c.qos
	}
	e.init(p, fmt.Sprintf("topic %q", name), e)
	e.status = newStatusCondition(&e.entity)
	e.enabled.Store(p.enabled() && p.qos.EntityFactory.AutoenableCreatedEntities)
	p.topics[name] = e
	p.directory.learn(func(d *directory) { d.local[name] = true })
	p.enlist(&e.entity)
	return e, nil
}

func (t *topicEntity) apply(it *item) {
	switch it.kind {
	case itemInconsistent:
		t.inconsistent.TotalCount++
		t.inconsistent.TotalCountChange++
		t.inconsistent.Explanation, t.inconsistent.LastPeer = it.ctl.text, it.ctl.peer
		t.changed |= InconsistentTopicStatusBit
	case itemFailed:
		t.failure = it.ctl.err
	}
}

func (t *topicEntity) nextTick() int64 { return 0 }
func (t *topicEntity) tick(int64)      {}

// shared is the topic, or what stands in for one that does not exist.
func (t *Topic[T]) shared() *topicEntity {
	if t == nil || t.topicEntity == nil {
		return noTopic
	}
	return t.topicEntity
}

// offered gives the topic for a new writer or reader.
func (t *Topic[T]) offered(op string) (*topicEntity, error) {
	s := t.shared()
	if s == noTopic || t.gone.Load() {
		return nil, s.deleted(op)
	}
	return s, nil
}

// Name is the topic's name.
func (t *Topic[T]) Name() string { return t.shared().name }

// TypeName is the name of the topic's type.
func (t *Topic[T]) TypeName() string { return t.shared().support.Type.Name }

// Participant gives the topic's participant.
func (t *Topic[T]) Participant() *DomainParticipant { return t.shared().p }

// StatusCondition gives the condition over the topic's status.
func (t *Topic[T]) StatusCondition() *StatusCondition { return t.shared().status }

// InconsistentTopicStatus tells of endpoints that use the name with another type, and starts a new count of changes.
func (t *Topic[T]) InconsistentTopicStatus() InconsistentTopicStatus {
	return t.shared().inconsistentStatus()
}

func (t *topicEntity) inconsistentStatus() InconsistentTopicStatus {
	t.lock()
	defer t.unlock()
	out := t.inconsistent
	t.inconsistent.TotalCountChange = 0
	t.changed &^= InconsistentTopicStatusBit
	return out
}

// Qos gives the topic's QoS (DDS: get_qos).
func (t *Topic[T]) Qos() qos.Topic { return t.shared().qosNow() }

func (t *topicEntity) qosNow() qos.Topic {
	t.lock()
	defer t.unlock()
	return t.qos
}

// LogDir is the directory where this process keeps the log of the topic's subgroup, which other topics may share, if
// the topic is PERSISTENT and Settings.Dir is set. Package storage reads it.
func (t *Topic[T]) LogDir() string { return t.shared().logDir() }

// Close gives the Topic up (DDS: delete_topic). Writers and readers that were made with it live on.
func (t *Topic[T]) Close() error {
	s := t.shared()
	if s == noTopic {
		return s.deleted("Close")
	}
	return t.ending.do(func() error {
		t.gone.Store(true)
		s.release()
		return nil
	})
}

// retain counts a writer or reader of the topic.
func (t *topicEntity) retain() {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.users++
}

// release ends the topic with its last user.
func (t *topicEntity) release() {
	p := t.p
	p.mu.Lock()
	defer p.mu.Unlock()
	t.users--
	if t.users > 0 {
		return
	}
	if p.topics[t.name] == t { // not that of a built-in reader or a MultiTopic
		delete(p.topics, t.name)
		p.directory.learn(func(d *directory) { delete(d.local, t.name) })
		p.entities.remove(&t.entity)
	}
	t.close()
}
