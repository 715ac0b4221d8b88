package dcps

import (
	"crypto/sha256"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// The names of the built-in topics (DDS 1.4 §2.2.5).
const (
	BuiltinParticipantTopic  = "DCPSParticipant"
	BuiltinTopicTopic        = "DCPSTopic"
	BuiltinPublicationTopic  = "DCPSPublication"
	BuiltinSubscriptionTopic = "DCPSSubscription"
)

// ParticipantBuiltinTopicData describes a participant (DCPSParticipant). Key is its handle, as for the others.
type ParticipantBuiltinTopicData struct {
	Key      InstanceHandle
	UserData qos.UserData
	// Extensions: where it lives.
	Name string
	Host string
	PID  int
}

// TopicBuiltinTopicData describes a topic (DCPSTopic): a name with a type.
type TopicBuiltinTopicData struct {
	Key      InstanceHandle
	Name     string
	TypeName string
	Qos      qos.Topic // that of the latest writer or reader that was announced
}

// PublicationBuiltinTopicData describes a DataWriter (DCPSPublication).
type PublicationBuiltinTopicData struct {
	Key            InstanceHandle
	ParticipantKey InstanceHandle
	TopicName      string
	TypeName       string
	Qos            qos.DataWriter
	PublisherQos   qos.Publisher // PRESENTATION, PARTITION and GROUP_DATA are announced
	TopicData      qos.TopicData
	Peer           Peer // extension: where it lives
}

// SubscriptionBuiltinTopicData describes a DataReader (DCPSSubscription).
type SubscriptionBuiltinTopicData struct {
	Key            InstanceHandle
	ParticipantKey InstanceHandle
	TopicName      string
	TypeName       string
	Qos            qos.DataReader // RELIABILITY max_blocking_time and READER_DATA_LIFECYCLE are not announced
	SubscriberQos  qos.Subscriber // PRESENTATION, PARTITION and GROUP_DATA are announced
	TopicData      qos.TopicData
	ContentFilter  ContentFilterProperty // as RTPS announces it
	Peer           Peer                  // extension: where it lives
}

// handleOfTopic names a topic: a name with a type.
func handleOfTopic(name, typeName string) InstanceHandle {
	sum := sha256.Sum256([]byte(name + "\x00" + typeName))
	return InstanceHandle(sum[:16])
}

// handleOfParticipant names the participant that a writer or reader belongs to.
func handleOfParticipant(k endpointKey) InstanceHandle {
	return topic.HandleOfEntity(uint64(k.origin().node), 0)
}

func (e *endpoint) topicData() TopicBuiltinTopicData {
	return TopicBuiltinTopicData{
		Key: handleOfTopic(e.ann.topic, e.ann.typeName), Name: e.ann.topic, TypeName: e.ann.typeName, Qos: e.ann.topicQos,
	}
}

func (e *endpoint) publication() PublicationBuiltinTopicData {
	n := e.ann
	return PublicationBuiltinTopicData{
		Key: e.handle, ParticipantKey: handleOfParticipant(e.key), TopicName: n.topic, TypeName: n.typeName,
		Qos: n.writer, PublisherQos: n.pub, TopicData: n.topicQos.TopicData, Peer: e.peer,
	}
}

func (e *endpoint) subscription() SubscriptionBuiltinTopicData {
	n := e.ann
	return SubscriptionBuiltinTopicData{
		Key: e.handle, ParticipantKey: handleOfParticipant(e.key), TopicName: n.topic, TypeName: n.typeName,
		Qos: n.reader, SubscriberQos: n.sub, TopicData: n.topicQos.TopicData, ContentFilter: n.filter, Peer: e.peer,
	}
}

// The samples of built-in topics do not travel: each participant makes them of what it has learnt, for its own readers. Their
// encoding is the key, and then the fields in the form of announcements, as a sequence of octets.

var (
	participantDataType  = builtinType("DDS::ParticipantBuiltinTopicData")
	topicDataType        = builtinType("DDS::TopicBuiltinTopicData")
	publicationDataType  = builtinType("DDS::PublicationBuiltinTopicData")
	subscriptionDataType = builtinType("DDS::SubscriptionBuiltinTopicData")
)

func builtinType(name string) *cdr.TypeInfo {
	return cdr.Define(cdr.TypeInfo{Name: name, Keyed: true, MaxSize: -1, MaxKeySize: len(InstanceHandle{}), Text: "built-in " + name})
}

func marshalKey(e *cdr.Encoder, h InstanceHandle) {
	for _, b := range h {
		e.Uint8(b)
	}
}

func unmarshalKey(d *cdr.Decoder) (h InstanceHandle) {
	for i := range h {
		h[i] = d.Uint8("key")
	}
	return h
}

func marshalBuiltin(e *cdr.Encoder, key InstanceHandle, walk func(*archive)) {
	var a archive
	walk(&a)
	marshalKey(e, key)
	e.Uint32(uint32(len(a.buf)))
	for _, b := range a.buf {
		e.Uint8(b)
	}
}

func unmarshalBuiltin(d *cdr.Decoder, walk func(*archive)) InstanceHandle {
	key := unmarshalKey(d)
	a := archive{dec: true}
	for n := d.Uint32("length"); n > 0 && d.Err() == nil; n-- {
		a.buf = append(a.buf, d.Uint8("octet"))
	}
	walk(&a)
	return key
}

func transcodeKey(d *cdr.Decoder, e *cdr.Encoder) { marshalKey(e, unmarshalKey(d)) }

func (a *archive) handle(h *InstanceHandle) {
	if b := a.take(len(h)); a.dec {
		copy(h[:], b)
	} else {
		copy(b, h[:])
	}
}

func (a *archive) peer(p *Peer) {
	a.handle(&p.Handle)
	a.string(&p.Name)
	a.string(&p.Host)
	a.int(&p.PID)
}

func (a *archive) int(v *int) {
	i := int64(*v)
	a.i64(&i)
	*v = int(i)
}

func (m *ParticipantBuiltinTopicData) walk(a *archive) {
	a.octets(&m.UserData.Value)
	a.string(&m.Name)
	a.string(&m.Host)
	a.int(&m.PID)
}

func (m *TopicBuiltinTopicData) walk(a *archive) {
	a.string(&m.Name)
	a.string(&m.TypeName)
	a.topicQos(&m.Qos)
}

func (m *PublicationBuiltinTopicData) walk(a *archive) {
	n := announcement{writes: true, pub: m.PublisherQos, writer: m.Qos}
	a.handle(&m.ParticipantKey)
	a.string(&m.TopicName)
	a.string(&m.TypeName)
	a.octets(&m.TopicData.Value)
	a.peer(&m.Peer)
	n.walkWriter(a)
	m.PublisherQos, m.Qos = n.pub, n.writer
}

func (m *SubscriptionBuiltinTopicData) walk(a *archive) {
	n := announcement{sub: m.SubscriberQos, reader: m.Qos, filter: m.ContentFilter}
	a.handle(&m.ParticipantKey)
	a.string(&m.TopicName)
	a.string(&m.TypeName)
	a.octets(&m.TopicData.Value)
	a.peer(&m.Peer)
	n.walkReader(a)
	m.SubscriberQos, m.Qos, m.ContentFilter = n.sub, n.reader, n.filter
}

// CDRType and the methods below implement cdr.Message.
func (*ParticipantBuiltinTopicData) CDRType() *cdr.TypeInfo      { return participantDataType }
func (m *ParticipantBuiltinTopicData) MarshalCDR(e *cdr.Encoder) { marshalBuiltin(e, m.Key, m.walk) }
func (m *ParticipantBuiltinTopicData) UnmarshalCDR(d *cdr.Decoder) {
	m.Key = unmarshalBuiltin(d, m.walk)
}
func (m *ParticipantBuiltinTopicData) MarshalKeyCDR(e *cdr.Encoder)   { marshalKey(e, m.Key) }
func (m *ParticipantBuiltinTopicData) UnmarshalKeyCDR(d *cdr.Decoder) { m.Key = unmarshalKey(d) }
func (*ParticipantBuiltinTopicData) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {
	transcodeKey(d, e)
}

// CDRType and the methods below implement cdr.Message.
func (*TopicBuiltinTopicData) CDRType() *cdr.TypeInfo                         { return topicDataType }
func (m *TopicBuiltinTopicData) MarshalCDR(e *cdr.Encoder)                    { marshalBuiltin(e, m.Key, m.walk) }
func (m *TopicBuiltinTopicData) UnmarshalCDR(d *cdr.Decoder)                  { m.Key = unmarshalBuiltin(d, m.walk) }
func (m *TopicBuiltinTopicData) MarshalKeyCDR(e *cdr.Encoder)                 { marshalKey(e, m.Key) }
func (m *TopicBuiltinTopicData) UnmarshalKeyCDR(d *cdr.Decoder)               { m.Key = unmarshalKey(d) }
func (*TopicBuiltinTopicData) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) { transcodeKey(d, e) }

// CDRType and the methods below implement cdr.Message.
func (*PublicationBuiltinTopicData) CDRType() *cdr.TypeInfo      { return publicationDataType }
func (m *PublicationBuiltinTopicData) MarshalCDR(e *cdr.Encoder) { marshalBuiltin(e, m.Key, m.walk) }
func (m *PublicationBuiltinTopicData) UnmarshalCDR(d *cdr.Decoder) {
	m.Key = unmarshalBuiltin(d, m.walk)
}
func (m *PublicationBuiltinTopicData) MarshalKeyCDR(e *cdr.Encoder)   { marshalKey(e, m.Key) }
func (m *PublicationBuiltinTopicData) UnmarshalKeyCDR(d *cdr.Decoder) { m.Key = unmarshalKey(d) }
func (*PublicationBuiltinTopicData) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {
	transcodeKey(d, e)
}

// CDRType and the methods below implement cdr.Message.
func (*SubscriptionBuiltinTopicData) CDRType() *cdr.TypeInfo      { return subscriptionDataType }
func (m *SubscriptionBuiltinTopicData) MarshalCDR(e *cdr.Encoder) { marshalBuiltin(e, m.Key, m.walk) }
func (m *SubscriptionBuiltinTopicData) UnmarshalCDR(d *cdr.Decoder) {
	m.Key = unmarshalBuiltin(d, m.walk)
}
func (m *SubscriptionBuiltinTopicData) MarshalKeyCDR(e *cdr.Encoder)   { marshalKey(e, m.Key) }
func (m *SubscriptionBuiltinTopicData) UnmarshalKeyCDR(d *cdr.Decoder) { m.Key = unmarshalKey(d) }
func (*SubscriptionBuiltinTopicData) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {
	transcodeKey(d, e)
}
