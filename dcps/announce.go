package dcps

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// announcement is what the participants of a domain tell each other about a DataWriter or DataReader: it travels in
// derecho.Endpoint.Info.
//
// Wire format, version 3, little endian: the byte 'D', the version, a byte that is 1 for a writer, the 32 bytes of
// the type's signature, and then the fields in the order of walk and walkType. Strings and octets are preceded by their length
// (u32), lists by their count (u16). A reader of the format ignores what follows the fields it knows. Version 2, which logs may
// have, ends before walkType.
type announcement struct {
	writes    bool
	signature [32]byte
	topic     string
	typeName  string
	typeText  string  // definition of the type, if objects does not tell it
	objects   []byte  // its type objects (xtypes.CompleteObjects); nil if it has none, or too large ones
	typ       typeKey // of all that is said of the type
	host      string
	pid       uint32
	name      string
	pub       qos.Publisher
	sub       qos.Subscriber
	writer    qos.DataWriter
	reader    qos.DataReader
	topicQos  qos.Topic
	filter    ContentFilterProperty
}

const (
	announceMagic   = 'D'
	announceVersion = 3
	withoutTypes    = 2 // the version before type objects
	// maxAnnounced bounds the text of a type, which is cut to it: an announcement has to fit a message of the control
	// subgroup. maxObjects bounds its type objects, which are left out if they are larger.
	maxAnnounced = 8 << 10
	maxObjects   = 16 << 10
)

var errAnnouncement = errors.New("announcement of a peer is malformed")

// archive writes fields when dec is false, and reads them when it is true: one walk serves both directions, so that
// they can not drift apart.
type archive struct {
	buf []byte
	pos int
	dec bool
	err error
}

func (a *archive) take(n int) []byte {
	if !a.dec {
		a.buf = append(a.buf, make([]byte, n)...)
		return a.buf[len(a.buf)-n:]
	}
	if a.err != nil || n > len(a.buf)-a.pos {
		if a.err == nil {
			a.err = fmt.Errorf("%w: it ends at byte %d of %d", errAnnouncement, a.pos, len(a.buf))
		}
		return nil
	}
	a.pos += n
	return a.buf[a.pos-n : a.pos]
}

// unsigned carries an unsigned number in so many bytes, little endian.
func unsigned[N ~uint8 | ~uint32 | ~uint64](a *archive, v *N, size int) {
	b := a.take(size)
	if b == nil {
		return
	}
	if a.dec {
		*v = 0
	}
	for i := range b {
		if a.dec {
			*v |= N(b[i]) << (8 * i)
		} else {
			b[i] = byte(*v >> (8 * i))
		}
	}
}

func (a *archive) u8(v *uint8)   { unsigned(a, v, 1) }
func (a *archive) u32(v *uint32) { unsigned(a, v, 4) }
func (a *archive) u64(v *uint64) { unsigned(a, v, 8) }

func (a *archive) i32(v *int32) {
	u := uint32(*v)
	a.u32(&u)
	*v = int32(u)
}

func (a *archive) i64(v *int64) {
	u := uint64(*v)
	a.u64(&u)
	*v = int64(u)
}

func (a *archive) bool(v *bool) {
	u := uint8(0)
	if *v {
		u = 1
	}
	a.u8(&u)
	*v = u != 0
}

func (a *archive) duration(v *time.Duration) {
	i := int64(*v)
	a.i64(&i)
	*v = time.Duration(i)
}

func (a *archive) octets(v *[]byte) {
	n := uint32(len(*v))
	a.u32(&n)
	if !a.dec {
		a.buf = append(a.buf, *v...)
		return
	}
	if b := a.take(boundedLen(n)); len(b) > 0 {
		*v = append([]byte(nil), b...)
	} else {
		*v = nil
	}
}

func (a *archive) string(v *string) {
	n := uint32(len(*v))
	a.u32(&n)
	if !a.dec {
		a.buf = append(a.buf, *v...)
		return
	}
	*v = string(a.take(boundedLen(n)))
}

// boundedLen makes a length that no buffer has out of one that an int can not hold.
func boundedLen(n uint32) int {
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(n)
}

func (a *archive) strings(v *[]string) {
	n := uint32(len(*v))
	a.u32(&n)
	if !a.dec {
		for i := range *v {
			a.string(&(*v)[i])
		}
		return
	}
	*v = nil
	for range n {
		var s string
		a.string(&s)
		if a.err != nil {
			return
		}
		*v = append(*v, s)
	}
}

// kind carries an enumerated policy value; zero and values above last are refused.
func kind[K ~uint8](a *archive, v *K, last K) {
	u := uint8(*v)
	a.u8(&u)
	if a.dec && a.err == nil && (u == 0 || K(u) > last) {
		a.err = fmt.Errorf("%w: kind %d at byte %d is not known", errAnnouncement, u, a.pos-1)
	}
	*v = K(u)
}

func (a *archive) presentation(v *qos.Presentation) {
	kind(a, &v.AccessScope, qos.PresentationGroup)
	a.bool(&v.CoherentAccess)
	a.bool(&v.OrderedAccess)
}

func (a *archive) representation(v *qos.DataRepresentation) {
	n := uint8(len(v.Value))
	a.u8(&n)
	if a.dec {
		v.Value = nil
	}
	for i := range int(n) {
		if a.dec {
			v.Value = append(v.Value, 0)
		}
		kind(a, &v.Value[i], qos.DataRepresentationAuto)
		if a.err != nil {
			return
		}
	}
}

func (a *archive) history(v *qos.History) {
	kind(a, &v.Kind, qos.HistoryKeepAll)
	a.i32(&v.Depth)
}

func (a *archive) limits(v *qos.ResourceLimits) {
	a.i32(&v.MaxSamples)
	a.i32(&v.MaxInstances)
	a.i32(&v.MaxSamplesPerInstance)
}

func (a *archive) service(d *qos.DurabilityService) {
	a.duration(&d.ServiceCleanupDelay)
	kind(a, &d.HistoryKind, qos.HistoryKeepAll)
	a.i32(&d.HistoryDepth)
	a.i32(&d.MaxSamples)
	a.i32(&d.MaxInstances)
	a.i32(&d.MaxSamplesPerInstance)
}

func (a *archive) topicQos(q *qos.Topic) {
	a.octets(&q.TopicData.Value)
	kind(a, &q.Durability.Kind, qos.DurabilityPersistent)
	a.service(&q.DurabilityService)
	a.duration(&q.Deadline.Period)
	a.duration(&q.LatencyBudget.Duration)
	kind(a, &q.Liveliness.Kind, qos.LivelinessManualByTopic)
	a.duration(&q.Liveliness.LeaseDuration)
	kind(a, &q.Reliability.Kind, qos.ReliabilityReliable)
	a.duration(&q.Reliability.MaxBlockingTime)
	kind(a, &q.DestinationOrder.Kind, qos.DestinationOrderBySourceTimestamp)
	a.history(&q.History)
	a.limits(&q.ResourceLimits)
	a.i32(&q.TransportPriority.Value)
	a.duration(&q.Lifespan.Duration)
	kind(a, &q.Ownership.Kind, qos.OwnershipExclusive)
	a.representation(&q.DataRepresentation)
	kind(a, &q.Consistency.Kind, qos.ConsistencyTotalOrderDurable)
}

// walk is the order of the fields on the wire. New ones go to the end of their side.
func (n *announcement) walk(a *archive) {
	a.string(&n.topic)
	a.string(&n.typeName)
	a.string(&n.typeText)
	a.string(&n.host)
	a.u32(&n.pid)
	a.string(&n.name)
	a.topicQos(&n.topicQos)
	if n.writes {
		n.walkWriter(a)
	} else {
		n.walkReader(a)
	}
}

func (n *announcement) walkWriter(a *archive) {
	a.presentation(&n.pub.Presentation)
	a.strings(&n.pub.Partition.Name)
	a.octets(&n.pub.GroupData.Value)
	q := &n.writer
	kind(a, &q.Durability.Kind, qos.DurabilityPersistent)
	a.duration(&q.Deadline.Period)
	a.duration(&q.LatencyBudget.Duration)
	kind(a, &q.Liveliness.Kind, qos.LivelinessManualByTopic)
	a.duration(&q.Liveliness.LeaseDuration)
	kind(a, &q.Reliability.Kind, qos.ReliabilityReliable)
	a.duration(&q.Reliability.MaxBlockingTime)
	kind(a, &q.DestinationOrder.Kind, qos.DestinationOrderBySourceTimestamp)
	a.history(&q.History)
	a.limits(&q.ResourceLimits)
	a.i32(&q.TransportPriority.Value)
	a.duration(&q.Lifespan.Duration)
	a.octets(&q.UserData.Value)
	kind(a, &q.Ownership.Kind, qos.OwnershipExclusive)
	a.i32(&q.OwnershipStrength.Value)
	a.bool(&q.WriterDataLifecycle.AutodisposeUnregisteredInstances)
	a.representation(&q.DataRepresentation)
	a.service(&q.DurabilityService)
	kind(a, &q.Consistency.Kind, qos.ConsistencyTotalOrderDurable)
}

func (n *announcement) walkReader(a *archive) {
	a.presentation(&n.sub.Presentation)
	a.strings(&n.sub.Partition.Name)
	a.octets(&n.sub.GroupData.Value)
	q := &n.reader
	kind(a, &q.Durability.Kind, qos.DurabilityPersistent)
	a.duration(&q.Deadline.Period)
	a.duration(&q.LatencyBudget.Duration)
	kind(a, &q.Liveliness.Kind, qos.LivelinessManualByTopic)
	a.duration(&q.Liveliness.LeaseDuration)
	kind(a, &q.Reliability.Kind, qos.ReliabilityReliable)
	kind(a, &q.DestinationOrder.Kind, qos.DestinationOrderBySourceTimestamp)
	a.history(&q.History)
	a.limits(&q.ResourceLimits)
	a.octets(&q.UserData.Value)
	kind(a, &q.Ownership.Kind, qos.OwnershipExclusive)
	a.duration(&q.TimeBasedFilter.MinimumSeparation)
	a.representation(&q.DataRepresentation)
	kind(a, &q.TypeConsistencyEnforcement.Kind, qos.TypeConsistencyAutoTypeCoercion)
	kind(a, &q.Consistency.Kind, qos.ConsistencyTotalOrderDurable)
	n.filter.walk(a)
}

// walkType carries what readers and writers that have different types are compared by.
func (n *announcement) walkType(a *archive) {
	if !n.writes {
		p := &n.reader.TypeConsistencyEnforcement
		for _, flag := range []*bool{&p.IgnoreSequenceBounds, &p.IgnoreStringBounds, &p.IgnoreMemberNames, &p.PreventTypeWidening,
			&p.ForceTypeValidation} {
			a.bool(flag)
		}
	}
	a.octets(&n.objects)
}

// encode gives the bytes of the announcement. A text of the type that is too long to travel is cut: it serves
// explanations only.
func (n *announcement) encode() []byte {
	c := *n
	if len(c.typeText) > maxAnnounced {
		c.typeText = c.typeText[:maxAnnounced]
	}
	a := archive{buf: []byte{announceMagic, announceVersion, 0}}
	if c.writes {
		a.buf[2] = 1
	}
	a.buf = append(a.buf, c.signature[:]...)
	c.walk(&a)
	c.walkType(&a)
	return a.buf
}

// decodeAnnouncement reads what a peer sent: anything may come.
func decodeAnnouncement(b []byte) (*announcement, error) {
	if len(b) < 3+32 || b[0] != announceMagic {
		return nil, fmt.Errorf("%w: %d bytes without its header", errAnnouncement, len(b))
	}
	if b[1] != announceVersion && b[1] != withoutTypes {
		return nil, fmt.Errorf("%w: version %d, this process knows versions %d and %d", errAnnouncement, b[1], withoutTypes, announceVersion)
	}
	if b[2] > 1 {
		return nil, fmt.Errorf("%w: %d is neither reader nor writer", errAnnouncement, b[2])
	}
	n := &announcement{
		writes: b[2] == 1, topicQos: qos.DefaultTopic(), pub: qos.DefaultPublisher(), sub: qos.DefaultSubscriber(),
		writer: qos.DefaultDataWriter(), reader: qos.DefaultDataReader(),
	}
	copy(n.signature[:], b[3:])
	a := archive{buf: b, pos: 3 + 32, dec: true}
	n.walk(&a)
	if b[1] != withoutTypes {
		n.walkType(&a)
	}
	if a.err != nil {
		return nil, a.err
	}
	n.typ = n.keyOfType()
	if err := n.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", errAnnouncement, err)
	}
	return n, nil
}

// validate refuses what no process of this version announces, so that what follows can rely on it.
func (n *announcement) validate() error {
	if err := topic.CheckName(n.topic); err != nil {
		return err
	}
	if n.writes {
		return n.writer.Validate()
	}
	return n.reader.Validate()
}

// peer tells where the endpoint lives.
func (n *announcement) peer(h InstanceHandle) Peer {
	return Peer{Handle: h, Name: n.name, Host: n.host, PID: int(n.pid)}
}

// incompatible lists the policies that keep writer w and reader r from matching.
func incompatible(w, r *announcement) []qos.Incompatibility {
	return qos.Compatible(w.writer, r.reader, w.pub, r.sub)
}
