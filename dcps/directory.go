package dcps

import (
	"maps"
	"slices"
)

// directory is what a participant has learnt of the participants, topics, writers and readers of its domain, for whoever asks.
// The polling goroutine posts to it, as to every entity. What is ignored is not in it. The built-in readers, if somebody wants
// them, are filled from it.
type directory struct {
	entity

	// Guarded by mu.
	participants map[InstanceHandle]ParticipantBuiltinTopicData // of others
	userData     map[InstanceHandle][]byte                      // of participants, as they have announced it
	publications map[InstanceHandle]*endpointFacts[PublicationBuiltinTopicData]
	subscribers  map[InstanceHandle]*endpointFacts[SubscriptionBuiltinTopicData]
	topics       map[InstanceHandle]*topicFacts // that writers or readers of others have
	local        map[string]bool                // topics of this participant, by name
	builtin      *builtinReaders                // nil until somebody asks for them
}

// endpointFacts are what is known of a writer or reader, own ones included.
type endpointFacts[D any] struct {
	data  D
	topic InstanceHandle
	own   bool
}

type topicFacts struct {
	data  TopicBuiltinTopicData
	users int // writers and readers of others
}

func (d *directory) setup(p *DomainParticipant) {
	d.init(p, "participant", d)
	d.participants = make(map[InstanceHandle]ParticipantBuiltinTopicData)
	d.userData = make(map[InstanceHandle][]byte)
	d.publications = make(map[InstanceHandle]*endpointFacts[PublicationBuiltinTopicData])
	d.subscribers = make(map[InstanceHandle]*endpointFacts[SubscriptionBuiltinTopicData])
	d.topics = make(map[InstanceHandle]*topicFacts)
	d.local = make(map[string]bool)
}

func (d *directory) apply(it *item) {
	switch it.kind {
	case itemFailed:
		d.failure = it.ctl.err
	case itemLearn:
		it.ctl.learn(d)
	}
}

func (d *directory) nextTick() int64 { return 0 }
func (d *directory) tick(int64)      {}

// learn has something noted, in the order of the calls. It never blocks.
func (d *directory) learn(f func(*directory)) {
	it := &item{kind: itemLearn, ctl: &control{learn: f}}
	d.post(it, it)
}

// members follows the view.
func (d *directory) members(members []Peer, self InstanceHandle, ignored func(InstanceHandle) bool) {
	now := make(map[InstanceHandle]bool)
	for _, m := range members {
		if m.Handle == self || ignored(m.Handle) {
			continue
		}
		now[m.Handle] = true
		if _, known := d.participants[m.Handle]; !known {
			d.participant(ParticipantBuiltinTopicData{Key: m.Handle, Name: m.Name, Host: m.Host, PID: m.PID})
		}
	}
	for h := range d.participants {
		if !now[h] {
			delete(d.participants, h)
			delete(d.userData, h)
			d.builtin.gone(builtinParticipant, h)
		}
	}
}

func (d *directory) participant(data ParticipantBuiltinTopicData) {
	data.UserData.Value = d.userData[data.Key]
	d.participants[data.Key] = data
	d.builtin.has(builtinParticipant, data.Key, &data)
}

// said notes the USER_DATA of a participant.
func (d *directory) said(h InstanceHandle, userData []byte) {
	d.userData[h] = userData
	if data, known := d.participants[h]; known {
		d.participant(data)
	}
}

// publication notes a writer, or what has changed of it.
func (d *directory) publication(data PublicationBuiltinTopicData, of TopicBuiltinTopicData, own bool) {
	f := d.publications[data.Key]
	d.topicOf(of, own, f == nil)
	d.publications[data.Key] = &endpointFacts[PublicationBuiltinTopicData]{data, of.Key, own}
	if !own {
		d.builtin.has(builtinPublication, data.Key, &data)
	}
}

// subscription notes a reader, or what has changed of it.
func (d *directory) subscription(data SubscriptionBuiltinTopicData, of TopicBuiltinTopicData, own bool) {
	f := d.subscribers[data.Key]
	d.topicOf(of, own, f == nil)
	d.subscribers[data.Key] = &endpointFacts[SubscriptionBuiltinTopicData]{data, of.Key, own}
	if !own {
		d.builtin.has(builtinSubscription, data.Key, &data)
	}
}

// topicOf notes the topic of a writer or reader.
func (d *directory) topicOf(data TopicBuiltinTopicData, own, added bool) {
	if own {
		return
	}
	f := d.topics[data.Key]
	if f == nil {
		f = new(topicFacts)
		d.topics[data.Key] = f
	}
	if added {
		f.users++
	}
	f.data = data
	d.builtin.has(builtinTopic, data.Key, &data)
}

// forget notes that a writer or reader is gone.
func (d *directory) forget(h InstanceHandle) {
	if f := d.publications[h]; f != nil {
		delete(d.publications, h)
		d.left(builtinPublication, h, f.topic, f.own)
	}
	if f := d.subscribers[h]; f != nil {
		delete(d.subscribers, h)
		d.left(builtinSubscription, h, f.topic, f.own)
	}
}

func (d *directory) left(of builtinKind, h, topic InstanceHandle, own bool) {
	if own {
		return
	}
	d.builtin.gone(of, h)
	if f := d.topics[topic]; f != nil {
		if f.users--; f.users == 0 {
			delete(d.topics, topic)
			d.builtin.gone(builtinTopic, topic)
		}
	}
}

// topicNamed finds a topic of others by its name, of several the one with the smallest key.
func (d *directory) topicNamed(name string) (TopicBuiltinTopicData, bool) {
	var found *topicFacts
	for _, f := range d.topics {
		if f.data.Name == name && (found == nil || string(f.data.Key[:]) < string(found.data.Key[:])) {
			found = f
		}
	}
	if found == nil {
		return TopicBuiltinTopicData{}, false
	}
	return found.data, true
}

// DiscoveredParticipants describes the other participants of the domain that are not ignored (DDS:
// get_discovered_participants, get_discovered_participant_data), in the order of their keys.
func (p *DomainParticipant) DiscoveredParticipants() ([]ParticipantBuiltinTopicData, error) {
	if p.absent() {
		return nil, noParticipant("DiscoveredParticipants")
	}
	d := &p.directory
	d.lock()
	defer d.unlock()
	if err := d.usable("DiscoveredParticipants"); err != nil {
		return nil, err
	}
	return byKey(d.participants, func(v ParticipantBuiltinTopicData) ParticipantBuiltinTopicData { return v }), nil
}

// DiscoveredTopics describes the topics that writers and readers of the other participants have, as far as they are not ignored
// (DDS: get_discovered_topics, get_discovered_topic_data), in the order of their keys.
func (p *DomainParticipant) DiscoveredTopics() ([]TopicBuiltinTopicData, error) {
	if p.absent() {
		return nil, noParticipant("DiscoveredTopics")
	}
	d := &p.directory
	d.lock()
	defer d.unlock()
	if err := d.usable("DiscoveredTopics"); err != nil {
		return nil, err
	}
	return byKey(d.topics, func(f *topicFacts) TopicBuiltinTopicData { return f.data }), nil
}

func byKey[F, D any](m map[InstanceHandle]F, data func(F) D) []D {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b InstanceHandle) int { return slices.Compare(a[:], b[:]) })
	out := make([]D, len(keys))
	for i, k := range keys {
		out[i] = data(m[k])
	}
	return out
}

// publicationData describes a writer.
func (d *directory) publicationData(h InstanceHandle) (data PublicationBuiltinTopicData, ok bool) {
	d.lock()
	defer d.unlock()
	if f := d.publications[h]; f != nil {
		return f.data, true
	}
	return data, false
}

// subscriptionData describes a reader.
func (d *directory) subscriptionData(h InstanceHandle) (data SubscriptionBuiltinTopicData, ok bool) {
	d.lock()
	defer d.unlock()
	if f := d.subscribers[h]; f != nil {
		return f.data, true
	}
	return data, false
}
