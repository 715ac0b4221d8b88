package dcps

import (
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// builtinKind numbers the built-in topics.
type builtinKind uint8

const (
	builtinParticipant builtinKind = iota
	builtinTopic
	builtinPublication
	builtinSubscription
	builtinKinds = 4
)

// builtinReaders are the readers of the built-in topics of a participant. The methods of nil do nothing.
type builtinReaders struct {
	sub     *Subscriber
	readers [builtinKinds]*reader
	sources [builtinKinds]*source // who seems to write
}

// has shows a reader what is known of an instance. Called with the directory's lock held.
func (b *builtinReaders) has(of builtinKind, h InstanceHandle, data cdr.Message) {
	if b == nil {
		return
	}
	buf, err := cdr.Marshal(data, cdr.CDRLE)
	if err != nil {
		b.sub.p.problem(err)
		return
	}
	b.post(of, &item{kind: itemData, handle: h, own: buf, buf: buf})
}

// gone disposes of an instance.
func (b *builtinReaders) gone(of builtinKind, h InstanceHandle) {
	if b != nil {
		b.post(of, &item{kind: itemUnregister, handle: h, flags: flagDispose})
	}
}

func (b *builtinReaders) post(of builtinKind, it *item) {
	it.refs, it.src, it.receiveNs = 1, b.sources[of], now()
	it.sourceNs = it.receiveNs
	b.readers[of].post(it, it)
}

// BuiltinSubscriber gives the Subscriber whose readers tell of the domain's other participants, of their topics, writers and
// readers (DDS: get_builtin_subscriber): LookupDataReader finds them by the names of their topics. What is known already they
// have at once, and what goes they see disposed. Entities of the participant itself, and what is ignored, are not among it.
// The Subscriber is closed with its participant. The participant's listener hears nothing of its readers, until SetListener gives
// the Subscriber a listener: then of the statuses that are not in its mask, as usual.
//
//	r, err := dcps.LookupDataReader[dcps.PublicationBuiltinTopicData](p.BuiltinSubscriber(), dcps.BuiltinPublicationTopic)
//
// It is nil until the participant is enabled.
func (p *DomainParticipant) BuiltinSubscriber() *Subscriber {
	if p.absent() || !p.enabled() {
		return nil
	}
	p.builtinMaking.Lock()
	defer p.builtinMaking.Unlock()
	d := &p.directory
	d.lock()
	have := d.builtin
	d.unlock()
	if have == nil {
		have = p.newBuiltin()
		if have == nil {
			return nil
		}
		d.lock()
		defer d.unlock()
		d.builtin = have
		d.showAll()
	}
	return have.sub
}

// showAll fills new built-in readers.
func (d *directory) showAll() {
	for h, data := range d.participants {
		d.builtin.has(builtinParticipant, h, &data)
	}
	for h, f := range d.topics {
		d.builtin.has(builtinTopic, h, &f.data)
	}
	for h, f := range d.publications {
		if !f.own {
			d.builtin.has(builtinPublication, h, &f.data)
		}
	}
	for h, f := range d.subscribers {
		if !f.own {
			d.builtin.has(builtinSubscription, h, &f.data)
		}
	}
}

// newBuiltin makes the built-in Subscriber and its readers, with the QoS that the standard gives them; nil if the participant is
// closed.
func (p *DomainParticipant) newBuiltin() *builtinReaders {
	q := qos.DefaultSubscriber()
	q.Presentation.AccessScope = qos.PresentationTopic
	sub := newSubscriber(p, subscriberConfig{qos: q})
	sub.builtin, sub.stops = true, AnyStatus
	p.mu.Lock()
	err := p.usable("BuiltinSubscriber")
	if err == nil {
		sub.state.enabled.Store(true)
		p.subs = append(p.subs, sub)
		p.enlist(&sub.state.entity)
	}
	p.mu.Unlock()
	if err != nil {
		return nil
	}
	b := &builtinReaders{sub: sub}
	addBuiltin[ParticipantBuiltinTopicData](b, builtinParticipant, BuiltinParticipantTopic)
	addBuiltin[TopicBuiltinTopicData](b, builtinTopic, BuiltinTopicTopic)
	addBuiltin[PublicationBuiltinTopicData](b, builtinPublication, BuiltinPublicationTopic)
	addBuiltin[SubscriptionBuiltinTopicData](b, builtinSubscription, BuiltinSubscriptionTopic)
	return b
}

func addBuiltin[T any, PT cdr.Type[T]](b *builtinReaders, of builtinKind, name string) {
	p := b.sub.p
	t := &topicEntity{name: name, support: topic.SupportOf[T, PT](), users: 1, qos: qos.DefaultTopic()}
	t.init(p, fmt.Sprintf("built-in topic %q", name), t)
	t.status = newStatusCondition(&t.entity)
	t.enabled.Store(true)
	q := qos.DefaultDataReader()
	q.Reliability.Kind, q.Durability.Kind = qos.ReliabilityReliable, qos.DurabilityTransientLocal
	r := &reader{sub: b.sub, topic: t, q: q, builtin: true, complete: true}
	r.setup()
	r.newCache()
	tp := topicOf[T, PT](t)
	typed := &DataReader[T]{reader: r, of: tp, codec: tp.codec}
	r.typed, r.status.of = typed, typed
	r.enabled.Store(true)
	b.readers[of], b.sources[of] = r, &source{handle: handleOfTopic(name, t.support.Type.Name)}
	_ = b.sub.adopt("BuiltinSubscriber", r) // it is closed only with the participant, which closes what it has
	typed.setListener(nil, 0)
	p.mu.Lock()
	p.enlist(&r.entity)
	p.mu.Unlock()
}
