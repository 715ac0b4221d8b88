package dcps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/internal/suggest"
	"github.com/omg-dds-go/dds/topic"
)

// FindTopic gives a Topic that this participant has, or that a writer or reader of another one uses, and waits for it until ctx
// ends (DDS: find_topic). It is to be closed like one that NewTopic made. A topic that has another type than T is an error
// (ErrPreconditionNotMet).
func FindTopic[T any, PT cdr.Type[T]](ctx context.Context, p *DomainParticipant, name string) (*Topic[T], error) {
	const op = "FindTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	support, err := supportOf[T, PT](op, name)
	if err != nil {
		return nil, err
	}
	d := &p.directory
	for {
		var found TopicBuiltinTopicData
		remote := false
		err := d.await(ctx, op, func() bool {
			if d.local[name] {
				return true
			}
			found, remote = d.topicNamed(name)
			return remote
		})
		if err != nil {
			return nil, d.notFound(err, name)
		}
		if t, err := LookupTopic[T, PT](p, name); t != nil || err != nil {
			return t, err
		}
		switch {
		case !remote: // that of this participant was closed meanwhile
		case support.Type.Name != found.TypeName:
			return nil, &Error{
				Op: op, Entity: fmt.Sprintf("topic %q", name), Code: ErrPreconditionNotMet,
				Detail: "it has type " + found.TypeName + ", asked for is " + support.Type.Name,
			}
		default:
			return NewTopic[T, PT](p, name, WithTopicQos(found.Qos))
		}
	}
}

// notFound tells of the topics that are there, and of the peers that are not, if none of a name was found in time.
func (d *directory) notFound(err error, name string) error {
	late := (*Error)(nil)
	if !errors.As(err, &late) || late.Code != ErrTimeout || late.Detail != "" {
		return err
	}
	unreached := d.p.UnreachedPeers()
	known := make(map[string]bool)
	d.lock()
	for _, f := range d.topics {
		known[f.data.Name] = true
	}
	d.unlock()
	late.Entity = fmt.Sprintf("topic %q", name)
	late.Detail = fmt.Sprintf("no other process of domain %d has a writer or reader of it, of the %d topics that they have: ", d.p.id, len(known)) +
		"see to the name and the domain, wait longer, or make it with NewTopic"
	if near := suggest.DidYouMean(name, maps.Keys(known)); near != "" {
		late.Detail += "; " + near
	}
	late.Detail += notReached(unreached)
	return err
}

// supportOf describes a type that a topic may have.
func supportOf[T any, PT cdr.Type[T]](op, name string) (topic.Support, error) {
	s := topic.SupportOf[T, PT]()
	if s.Type == nil {
		return s, isNil(op, fmt.Sprintf("topic %q", name), "what the type's CDRType returns")
	}
	return s, nil
}

// LookupTopic gives a Topic that this participant has; nil if there is none of that name (DDS: lookup_topicdescription). It is
// to be closed like one that NewTopic made. A topic that has another type than T is an error (ErrPreconditionNotMet).
func LookupTopic[T any, PT cdr.Type[T]](p *DomainParticipant, name string) (*Topic[T], error) {
	const op = "LookupTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	support, err := supportOf[T, PT](op, name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return nil, err
	}
	e, err := p.existing(op, name, support)
	if e == nil || err != nil {
		return nil, err
	}
	e.users++
	return topicOf[T, PT](e), nil
}

// LookupDataWriter gives a writer of the Publisher for a topic of type T; nil if there is none (DDS: lookup_datawriter). Of
// several it is the oldest.
func LookupDataWriter[T any](pub *Publisher, topicName string) *DataWriter[T] {
	if pub.absent() {
		return nil
	}
	for _, w := range pub.list() {
		if t, ok := w.typed.(*DataWriter[T]); ok && w.topic.name == topicName {
			return t
		}
	}
	return nil
}

// LookupDataReader gives a reader of the Subscriber for a topic of type T; nil if there is none (DDS: lookup_datareader). Of
// several it is the oldest.
func LookupDataReader[T any](sub *Subscriber, topicName string) *DataReader[T] {
	if sub.absent() {
		return nil
	}
	for _, r := range sub.list() {
		if t, ok := r.typed.(*DataReader[T]); ok && r.topic.name == topicName {
			return t
		}
	}
	return nil
}

// ContainsEntity tells whether a Publisher, Subscriber, writer, reader or topic of the participant has the handle (DDS:
// contains_entity).
func (p *DomainParticipant) ContainsEntity(h InstanceHandle) bool {
	if p.absent() || h == HandleNil {
		return false
	}
	for w := range p.writers.all() {
		if w.handle == h {
			return true
		}
	}
	for r := range p.readers.all() {
		if r.handle == h && r.whole == nil {
			return true
		}
	}
	if p.joins(h) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.publishers, func(pub *Publisher) bool { return pub.handle() == h }) ||
		slices.ContainsFunc(p.subs, func(sub *Subscriber) bool { return sub.handle() == h }) {
		return true
	}
	for _, t := range p.topics {
		if handleOfTopic(t.name, t.support.Type.Name) == h {
			return true
		}
	}
	return false
}

// joins tells whether the reader of a MultiTopic has the handle.
func (p *DomainParticipant) joins(h InstanceHandle) bool {
	p.mu.Lock()
	subs := slices.Clone(p.subs)
	p.mu.Unlock()
	for _, sub := range subs {
		if slices.ContainsFunc(sub.list(), func(r *reader) bool { return r.join != nil && r.handleNow() == h }) {
			return true
		}
	}
	return false
}

// CurrentTime is the time that samples written now get as their source timestamp (DDS: get_current_time).
func (p *DomainParticipant) CurrentTime() time.Time {
	if p.absent() {
		return time.Time{}
	}
	return timeOf(sampleClock.now())
}

// MatchedSubscriptions lists the readers that the writer is matched with (DDS: get_matched_subscriptions). Peer.Handle is
// for MatchedSubscriptionData.
func (w *DataWriter[T]) MatchedSubscriptions() []Peer { return w.untyped().matchedSubscriptions() }

func (w *writer) matchedSubscriptions() []Peer {
	w.lock()
	defer w.unlock()
	return byKey(w.readers, func(p Peer) Peer { return p })
}

// MatchedSubscriptionData describes a reader that the writer is matched with (DDS: get_matched_subscription_data). A handle that
// is not one of MatchedSubscriptions gives ErrBadParameter.
func (w *DataWriter[T]) MatchedSubscriptionData(h InstanceHandle) (SubscriptionBuiltinTopicData, error) {
	const op = "MatchedSubscriptionData"
	u := w.untyped()
	if u == noWriter {
		return SubscriptionBuiltinTopicData{}, u.deleted(op)
	}
	u.lock()
	_, matched := u.readers[h]
	err := u.usable(op)
	u.unlock()
	if err != nil {
		return SubscriptionBuiltinTopicData{}, err
	}
	data, known := u.p.directory.subscriptionData(h)
	if !matched || !known {
		return SubscriptionBuiltinTopicData{}, notMatched(op, u.what, h)
	}
	return data, nil
}

// MatchedPublicationData describes a writer that the reader is matched with (DDS: get_matched_publication_data). A handle that is
// not one of MatchedPublications gives ErrBadParameter.
func (r *DataReader[T]) MatchedPublicationData(h InstanceHandle) (PublicationBuiltinTopicData, error) {
	const op = "MatchedPublicationData"
	u := r.untyped()
	if u == noReader {
		return PublicationBuiltinTopicData{}, u.deleted(op)
	}
	matched := slices.ContainsFunc(u.matchedPublications(), func(p Peer) bool { return p.Handle == h })
	u.lock()
	err := u.usable(op)
	u.unlock()
	if err != nil {
		return PublicationBuiltinTopicData{}, err
	}
	data, known := u.p.directory.publicationData(h)
	if !matched || !known {
		return PublicationBuiltinTopicData{}, notMatched(op, u.what, h)
	}
	return data, nil
}

func notMatched(op, entity string, h InstanceHandle) error {
	return &Error{Op: op, Entity: entity, Code: ErrBadParameter, Detail: "it is not matched with " + h.String()}
}
