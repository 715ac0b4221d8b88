package dcps

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
)

// MultiTopic is what a topic expression makes of several topics of the participant (DDS 1.4 §2.2.2.3.4): rows of a
// natural join, with the members that are selected, where a condition holds. Readers are made for it as for a Topic;
// nobody writes it.
//
// A row is made of one instance of each topic, with its latest sample, and exists while all of them are alive and equal
// in what the topics have in common, and the condition holds. A sample of a row comes with each new sample of one of
// its instances. Rows with the same key are one instance, which is alive while it has a row:
//
//   - It is NEW until it is read, and again when it was not alive meanwhile.
//   - It is NOT_ALIVE_DISPOSED if its last row ended because an instance in it was disposed, and otherwise NOT_ALIVE_NO_WRITERS: also when
//     the samples are not equal any more, or the condition holds no more.
//
// SampleInfo has the latest source timestamp of the samples in the row, and neither PublicationHandle nor place in the
// total order: a row has as many of them as topics. See docs/filters.md for the expressions, and for how the QoS of a
// reader is understood.
type MultiTopic[T any] struct {
	*multiTopic
	codec  *codec[T]
	ending ending // of Close
}

// multiTopic is what a MultiTopic and its readers share.
type multiTopic struct {
	p       *DomainParticipant
	name    string
	of      *topicEntity   // of the rows; nobody else knows it
	topics  []*topicEntity // in the order of the expression
	gone    atomic.Bool
	typed   any // the *MultiTopic
	handles func() func(sample []byte) (InstanceHandle, error)
	keys    func() func(*item) []byte // nil if handles hold the keys

	now atomic.Pointer[filter.Join] // with its present parameters; stored with mu held
	mu  sync.Mutex                  // taken before all locks of readers
	// Guarded by mu.
	readers map[*joiner]struct{}
}

// NewMultiTopic makes a MultiTopic whose rows are of type T (DDS: create_multitopic). The expression is a
// TopicExpression of DDS 1.4 Annex B, with the values of %0, %1 and so on in params. T has to carry its description,
// which idlgen sees to, and so do the types of the topics; what is selected goes to its members of the same names, and
// all members that are not @optional have to be selected. An error in the expression unwraps to a *filter.Error, which
// says where it is.
func NewMultiTopic[T any, PT cdr.Type[T]](p *DomainParticipant, name, expression string, params ...string) (*MultiTopic[T], error) {
	const op = "NewMultiTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	support, err := supportOf[T, PT](op, name)
	if err != nil {
		return nil, err
	}
	of := newMultiEntity(p, name, support)
	result, err := of.description(op, of.what)
	if err != nil {
		return nil, err
	}
	m := &multiTopic{p: p, name: name, of: of}
	m.handles = func() func([]byte) (InstanceHandle, error) { return topic.NewKeys(support).OfSample }
	m.keys = of.keyKeeper
	typed := &MultiTopic[T]{multiTopic: m, codec: codecOf[T, PT](support)}
	m.typed = typed
	if err := m.begin(op, expression, result, params); err != nil {
		return nil, err
	}
	return typed, nil
}

// NewDynamicMultiTopic makes a MultiTopic whose rows are of a type that is made of what is selected, and is called
// typeName: samples are values of package xtypes. Members are called as in their topics, or as AS says; those are key
// members that are so in their topics. Otherwise it is NewMultiTopic.
func NewDynamicMultiTopic(p *DomainParticipant, name, typeName, expression string, params ...string) (*MultiTopic[xtypes.Data], error) {
	const op = "NewDynamicMultiTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	info := &cdr.TypeInfo{Name: typeName, MaxSize: -1, MaxKeySize: -1}
	m := &multiTopic{p: p, name: name, of: newMultiEntity(p, name, topic.Support{Type: info})}
	typed := &MultiTopic[xtypes.Data]{multiTopic: m}
	m.typed = typed
	if typeName == "" {
		return nil, &Error{Op: op, Entity: m.of.what, Code: ErrBadParameter, Detail: "the type has no name"}
	}
	if err := m.begin(op, expression, nil, params); err != nil {
		return nil, err
	}
	return typed, nil
}

func newMultiEntity(p *DomainParticipant, name string, support topic.Support) *topicEntity {
	e := &topicEntity{name: name, support: support, users: 1, qos: qos.DefaultTopic()}
	e.init(p, fmt.Sprintf("multitopic %q", name), e)
	e.status = newStatusCondition(&e.entity)
	e.enabled.Store(true)
	return e
}

// begin compiles the expression, and gives the MultiTopic its name in the participant.
func (m *multiTopic) begin(op, expression string, result *xtypes.Type, params []string) (err error) {
	if err := topic.CheckName(m.name); err != nil {
		return &Error{Op: op, Entity: m.of.what, Code: ErrBadParameter, Err: err}
	}
	defer func() {
		if err != nil {
			m.release()
		}
	}()
	p := m.p
	p.mu.Lock()
	err = p.closedOrFailed(op)
	p.mu.Unlock()
	if err != nil {
		return err // not that the topics of the expression are gone, too
	}
	join, err := filter.NewJoin(expression, m.typeOf, result, m.of.support.Type.Name, params...)
	if err != nil {
		return &Error{Op: op, Entity: m.of.what, Code: ErrBadParameter, Err: err}
	}
	m.now.Store(join)
	m.of.described.Store(join.Type())
	if result == nil {
		m.dynamic(join.Type())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return err
	}
	if err := p.nameFree(op, m.of.what, m.name); err != nil {
		return err
	}
	if p.multis == nil {
		p.multis = make(map[string]*multiTopic)
	}
	p.multis[m.name] = m
	return nil
}

// dynamic sees to a type that is known only now.
func (m *multiTopic) dynamic(t *xtypes.Type) {
	m.of.support.Type.Keyed = t.Keyed()
	m.of.support.Type.Extensibility = t.Extensibility()
	c := dynamicCodec(t)
	m.typed.(*MultiTopic[xtypes.Data]).codec = c
	m.handles = func() func([]byte) (InstanceHandle, error) {
		return func(sample []byte) (InstanceHandle, error) {
			var d xtypes.Data
			if err := c.decode(sample, &d); err != nil {
				return HandleNil, err
			}
			return c.handle(&d)
		}
	}
	m.keys = func() func(*item) []byte {
		return func(it *item) []byte {
			var d xtypes.Data
			if c.decode(it.buf, &d) != nil {
				return nil // its handle was made of the same bytes
			}
			key, err := dynamicKey(&d)
			if err != nil {
				return nil
			}
			return key
		}
	}
}

// typeOf gives the type of a topic that the expression names, which has one user more by it.
func (m *multiTopic) typeOf(name string) (*xtypes.Type, error) {
	p := m.p
	p.mu.Lock()
	e := p.topics[name]
	if e != nil {
		e.users++
	}
	known := slices.Sorted(maps.Keys(p.topics))
	p.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("this participant has no topic %q; it has %q", name, known)
	}
	m.topics = append(m.topics, e)
	t, err := e.description("", e.what)
	if ours := (*Error)(nil); errors.As(err, &ours) {
		err = errors.New(ours.Detail)
	}
	return t, err
}

// retain counts the parts of a reader, each of which releases its topic.
func (m *multiTopic) retain() {
	for _, t := range m.topics {
		t.retain()
	}
}

// release gives the topics back.
func (m *multiTopic) release() {
	for _, t := range m.topics {
		t.release()
	}
}

// nameFree tells that a name is one of a topic, a ContentFilteredTopic or a MultiTopic already. Called with mu held.
func (p *DomainParticipant) nameFree(op, entity, name string) error {
	if p.topics[name] != nil || p.filters[name] != nil || p.multis[name] != nil {
		return &Error{Op: op, Entity: entity, Code: ErrPreconditionNotMet,
			Detail: "this participant has a topic of that name already; choose another one"}
	}
	return nil
}

// noMulti stands in for a MultiTopic that does not exist.
var noMulti = &multiTopic{of: noTopic}

func (t *MultiTopic[T]) shared() *multiTopic {
	if t == nil || t.multiTopic == nil {
		return noMulti
	}
	return t.multiTopic
}

func (m *multiTopic) deleted(op string) error {
	if m == noMulti {
		return missing(op, "the multitopic", "NewMultiTopic")
	}
	return &Error{Op: op, Entity: m.of.what, Code: ErrAlreadyDeleted, Detail: "it is closed"}
}

func (t *MultiTopic[T]) subscribed(op string) (subscription[T], error) {
	s := t.shared()
	if s == noMulti || s.gone.Load() {
		return subscription[T]{}, s.deleted(op)
	}
	return subscription[T]{entity: s.of, multi: s, codec: t.codec}, nil
}

// Name is the name of the MultiTopic.
func (t *MultiTopic[T]) Name() string { return t.shared().name }

// TypeName is the name of the type of its rows.
func (t *MultiTopic[T]) TypeName() string { return t.shared().of.support.Type.Name }

// Participant gives the participant of its topics.
func (t *MultiTopic[T]) Participant() *DomainParticipant { return t.shared().p }

// Expression gives the topic expression (DDS: get_subscription_expression).
func (t *MultiTopic[T]) Expression() string { return t.shared().now.Load().Expression() }

// ExpressionParameters gives the values of %0, %1 and so on (DDS: get_expression_parameters).
func (t *MultiTopic[T]) ExpressionParameters() []string { return t.shared().now.Load().Parameters() }

// Type describes the rows.
func (t *MultiTopic[T]) Type() *xtypes.Type { return t.shared().now.Load().Type() }

// SetExpressionParameters changes the values of %0, %1 and so on (DDS: set_expression_parameters). Rows for which the
// condition holds by it begin, and those for which it holds no more end, as if their samples had come then. After an
// error the old values count.
func (t *MultiTopic[T]) SetExpressionParameters(params ...string) error {
	const op = "SetExpressionParameters"
	s := t.shared()
	if s == noMulti || s.gone.Load() {
		return s.deleted(op)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	join, err := s.now.Load().With(params...)
	if err != nil {
		return &Error{Op: op, Entity: s.of.what, Code: ErrBadParameter, Err: err}
	}
	s.now.Store(join)
	for j := range s.readers {
		j.follow(join)
	}
	return nil
}

// Close gives the MultiTopic up (DDS: delete_multitopic). Readers that were made with it live on.
func (t *MultiTopic[T]) Close() error {
	s := t.shared()
	if s == noMulti {
		return s.deleted("Close")
	}
	return t.ending.do(func() error {
		s.gone.Store(true)
		s.p.mu.Lock()
		if s.p.multis[s.name] == s {
			delete(s.p.multis, s.name)
		}
		s.p.mu.Unlock()
		s.release()
		return nil
	})
}

// LookupMultiTopic gives a MultiTopic that this participant has; nil if there is none of that name (DDS:
// lookup_topicdescription). One of another type than T is an error (ErrPreconditionNotMet).
func LookupMultiTopic[T any](p *DomainParticipant, name string) (*MultiTopic[T], error) {
	const op = "LookupMultiTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return nil, err
	}
	m := p.multis[name]
	if m == nil {
		return nil, nil
	}
	t, ok := m.typed.(*MultiTopic[T])
	if !ok {
		return nil, &Error{Op: op, Entity: m.of.what, Code: ErrPreconditionNotMet, Detail: "its rows have type " + m.of.support.Type.Name}
	}
	return t, nil
}
