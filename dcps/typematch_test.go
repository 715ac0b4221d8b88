package dcps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/newer"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/older"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
)

func writerOf[T any, PT cdr.Type[T]](t testing.TB, n *node, name string, q qos.DataWriter) *DataWriter[T] {
	t.Helper()
	tp, err := NewTopic[T, PT](n.p, name)
	require.NoError(t, err)
	w, err := NewDataWriter(n.pub, tp, WithWriterQos(q))
	require.NoError(t, err)
	return w
}

func readerOf[T any, PT cdr.Type[T]](t testing.TB, n *node, name string, q qos.DataReader) *DataReader[T] {
	t.Helper()
	tp, err := NewTopic[T, PT](n.p, name)
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, tp, WithReaderQos(q))
	require.NoError(t, err)
	return r
}

// next takes one sample with data.
func next[T any](t testing.TB, r *DataReader[T]) (T, SampleInfo) {
	t.Helper()
	for sample, err := range r.Stream(patiently(t), MaxSamples(1)) {
		require.NoError(t, err)
		if sample.Info.ValidData {
			v := sample.Data()
			require.NoError(t, sample.Err())
			return *v, sample.Info
		}
	}
	t.Fatal("no sample came")
	panic("not reached")
}

// readsAs writes a sample of one type, reads it as the other, and disposes it by its key.
func readsAs[W, R any, PW cdr.Type[W], PR cdr.Type[R]](t *testing.T, representation qos.DataRepresentationKind, sent *W, want R) {
	t.Helper()
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	as := func(r qos.DataRepresentationKind) qos.DataRepresentation {
		return qos.DataRepresentation{Value: []qos.DataRepresentationKind{r}}
	}
	w := writerOf[W, PW](t, a, "Evolved", writerQos(func(q *qos.DataWriter) { q.DataRepresentation = as(representation) }))
	r := readerOf[R, PR](t, b, "Evolved", readerQos(func(q *qos.DataReader) { q.DataRepresentation = as(representation) }))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	require.NoError(t, r.WaitForMatch(patiently(t), 1))
	require.NoError(t, w.Write(patiently(t), sent))
	got, info := next(t, r)
	require.Equal(t, want, got)
	same, err := r.LookupInstance(&got)
	require.NoError(t, err)
	require.Equal(t, same, info.InstanceHandle, "the handle is that of the reader's type")
	key, err := r.KeyValue(info.InstanceHandle)
	require.NoError(t, err)
	h, err := r.LookupInstance(key)
	require.NoError(t, err)
	require.Equal(t, same, h)

	require.NoError(t, w.Dispose(patiently(t), sent))
	d.bus.settle(t)
	s, err := r.Take()
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, 1, s.Len())
	require.Equal(t, same, s.At(0).Info.InstanceHandle)
	require.Equal(t, InstanceNotAliveDisposed, s.At(0).Info.InstanceState)
	require.Zero(t, w.Topic().InconsistentTopicStatus().TotalCount)
	require.Zero(t, r.Topic().InconsistentTopicStatus().TotalCount)
}

// A reader gets the samples of writers with an older and with a newer version of its type, in both encodings, as values
// of its own.
//
// Clauses: X7.6.3.1, X7.6.3.4, X7.2.4
func TestXTypes13_7_6_3_4_EvolvedTypesMatch(t *testing.T) {
	for _, enc := range []qos.DataRepresentationKind{qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2} {
		t.Run(enc.String(), func(t *testing.T) {
			readsAs(t, enc, &older.Track{ID: 1, Altitude: 300, Text: "a"}, newer.Track{ID: 1, Altitude: 300, Text: "a", Speed: 7})
			readsAs(t, enc, &newer.Track{ID: 2, Altitude: 301, Text: "b", Speed: 9, More: []int32{1, 2}}, older.Track{ID: 2, Altitude: 301, Text: "b"})
			readsAs(t, enc, &older.Ship{ID: 3, Name: "Aurora"}, newer.Ship{ID: 3, Name: "Aurora"})
			readsAs(t, enc, &newer.Ship{ID: 4, Name: "Beagle", Heading: 1.5}, older.Ship{ID: 4, Name: "Beagle"})
			readsAs(t, enc, &older.Berth{Name: "A1", Value: 5}, newer.Berth{Name: "A1", Value: 5})
		})
	}
}

// typeRule is a policy of a reader under which it takes a writer's samples, or does not.
type typeRule struct {
	name   string
	policy func(*qos.TypeConsistencyEnforcement)
	// join makes a writer and a reader.
	join func(*testing.T, typeRule, *node, *node) (typed, typed)
	want string // of the explanation; empty if they match
}

// typed is what the test looks at of an endpoint.
type typed struct {
	topic        func() InconsistentTopicStatus
	incompatible func() IncompatibleQosStatus
	matched      func() int32
}

func endpoints[W, R any, PW cdr.Type[W], PR cdr.Type[R]](t *testing.T, c typeRule, a, b *node) (typed, typed) {
	w := writerOf[W, PW](t, a, "Evolved", writerQos())
	r := readerOf[R, PR](t, b, "Evolved", readerQos(func(q *qos.DataReader) { c.policy(&q.TypeConsistencyEnforcement) }))
	return typed{w.Topic().InconsistentTopicStatus, w.OfferedIncompatibleQosStatus, func() int32 { return w.PublicationMatchedStatus().TotalCount }},
		typed{r.Topic().InconsistentTopicStatus, r.RequestedIncompatibleQosStatus, func() int32 { return r.SubscriptionMatchedStatus().TotalCount }}
}

// The policy of the reader decides. Who is refused is told on both sides, by INCONSISTENT_TOPIC and by the
// incompatible-QoS statuses, with the member where the types part.
//
// Clauses: X7.6.3.4, X7.6.3.4.2, 2.2.2.3.2.1
func TestXTypes13_7_6_3_4_ReaderDecides(t *testing.T) {
	byDefault := func(*qos.TypeConsistencyEnforcement) {}
	disallow := func(p *qos.TypeConsistencyEnforcement) { p.Kind = qos.TypeConsistencyDisallowTypeCoercion }
	widening := func(p *qos.TypeConsistencyEnforcement) { p.PreventTypeWidening = true }
	bounds := func(p *qos.TypeConsistencyEnforcement) { p.IgnoreStringBounds = false }
	names := func(p *qos.TypeConsistencyEnforcement) { p.IgnoreMemberNames = true }
	force := func(p *qos.TypeConsistencyEnforcement) { p.ForceTypeValidation = true }
	trackUp, trackDown := endpoints[older.Track, newer.Track], endpoints[newer.Track, older.Track]
	for _, c := range []typeRule{
		{"DISALLOW_TYPE_COERCION", disallow, trackUp, "type coercion is disallowed"},
		{"DISALLOW_TYPE_COERCION of one type", disallow, endpoints[older.Track, older.Track], ""},
		{"prevent_type_widening against more members", widening, trackDown, "speed: prevent_type_widening is set"},
		{"prevent_type_widening against fewer members", widening, trackUp, ""},
		{"string bounds that count", bounds, trackDown, "text: the reader's string has a bound of 8, the writer's of 32"},
		{"string bounds that count, in a larger one", bounds, trackUp, ""},
		{"bounds of keys count always", byDefault, endpoints[newer.Berth, older.Berth], "name: the reader's string has a bound of 4, the writer's of 64"},
		{"final types do not grow", byDefault, endpoints[older.Sealed, newer.Sealed], "they are final and have 3 and 2 members"},
		{"final types do not shrink", byDefault, endpoints[newer.Sealed, older.Sealed], "they are final and have 2 and 3 members"},
		{"keys are the same", byDefault, endpoints[older.Slip, newer.Slip], "part: is a key in one of the types only, and instances would not be the same"},
		{"keys are the same, from the other side", byDefault, endpoints[newer.Slip, older.Slip], "part: is a key in one of the types only"},
		{"member names count", byDefault, endpoints[older.Gauge, newer.Gauge], "depth: has id 2, which is that of level in the writer's type"},
		{"ignore_member_names", names, endpoints[older.Gauge, newer.Gauge], ""},
		{"force_type_validation of known types", force, trackUp, ""},
		{"another type", byDefault, endpoints[older.Ship, newer.Track], "fleet::Track is appendable, fleet::Ship is mutable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t, WithName("writes")), d.node(t, WithName("reads"))
			w, r := c.join(t, c, a, b)
			d.bus.settle(t)
			for peer, side := range map[string]typed{"reads": w, "writes": r} {
				inconsistent, bad := side.topic(), side.incompatible()
				if c.want == "" {
					require.Equal(t, int32(1), side.matched())
					require.Zero(t, inconsistent.TotalCount)
					require.Zero(t, bad.TotalCount)
					continue
				}
				require.Zero(t, side.matched())
				require.Equal(t, int32(1), inconsistent.TotalCount)
				require.Equal(t, peer, inconsistent.LastPeer.Name)
				require.Contains(t, inconsistent.Explanation, c.want)
				require.Equal(t, int32(1), bad.TotalCount)
				require.Equal(t, qos.PolicyTypeConsistencyEnforcement, bad.LastPolicyID)
				require.Equal(t, peer, bad.Details[0].Peer.Name)
				require.Contains(t, bad.Details[0].Requested, c.want)
			}
		})
	}
}

// Types that no type object tells of are the same, or they are not; only a reader that insists on knowing says so by its policy.
//
// Clauses: X7.6.3.4
func TestXTypes13_7_6_3_4_ForceTypeValidation(t *testing.T) {
	for _, force := range []bool{false, true} {
		c := typeRule{policy: func(p *qos.TypeConsistencyEnforcement) { p.ForceTypeValidation = force }}
		d := onBus(t)
		a, b := d.node(t), d.node(t)
		w, r := endpoints[track, wideTrack](t, c, a, b)
		d.bus.settle(t)
		for _, side := range []typed{w, r} {
			require.Equal(t, int32(1), side.topic().TotalCount)
			bad := side.incompatible()
			if !force {
				require.Zero(t, bad.TotalCount)
				continue
			}
			require.Equal(t, int32(1), bad.TotalCount)
			require.Contains(t, bad.Details[0].Requested, "its endpoint announces no type object")
		}
	}
}

// wideDescription is what idlgen would say of wideTrack.
var wideDescription = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "test::Track", Extensibility: cdr.Final,
	Members: []xtypes.Member{
		{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
		{Name: "value", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
		{Name: "text", AutoID: true, Type: xtypes.NewString(0)},
		{Name: "extra", AutoID: true, Type: xtypes.Primitive(xtypes.TKFloat64)},
	},
}))

// A type written by hand is compared by the description that goes with it.
//
// Clauses: X7.6.3.4
func TestDescribedTypesAreCompared(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	here, err := NewTopic[track](a.p, "Track", WithTypeDescription(trackDescription))
	require.NoError(t, err)
	there, err := NewTopic[wideTrack](b.p, "Track", WithTypeDescription(wideDescription))
	require.NoError(t, err)
	w, err := NewDataWriter(a.pub, here)
	require.NoError(t, err)
	_, err = NewDataReader(b.sub, there)
	require.NoError(t, err)
	d.bus.settle(t)
	require.Zero(t, w.PublicationMatchedStatus().TotalCount)
	require.Contains(t, here.InconsistentTopicStatus().Explanation, "they are final and have 4 and 3 members")
}

// Two writers are no inconsistency as long as one reader can have to do with both.
func TestTypesOfTwoWriters(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	up := writerOf[older.Berth](t, a, "Berth", writerQos())
	writerOf[newer.Berth](t, b, "Berth", writerQos())
	grown := writerOf[newer.Sealed](t, a, "Sealed", writerQos())
	writerOf[older.Sealed](t, b, "Sealed", writerQos())
	d.bus.settle(t)
	require.Zero(t, up.Topic().InconsistentTopicStatus().TotalCount)
	require.Equal(t, int32(1), grown.Topic().InconsistentTopicStatus().TotalCount)
}

// A reader of a newer type gets the history of an older one, from a process that has the newer type, too: handles are
// of another form there than where the samples come from, and right.
//
// Clauses: X7.6.3.4, 2.2.3.4
func TestXTypes13_HistoryOfAnOlderType(t *testing.T) {
	d := onBus(t)
	durable := func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityTransient
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}
	wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransient }
	a, b := d.node(t), d.node(t)
	w := writerOf[older.Berth](t, a, "Berth", writerQos(durable))
	kept := readerOf[older.Berth](t, b, "Berth", readerQos(wants))
	d.bus.settle(t)
	for i := range int32(3) {
		require.NoError(t, w.Write(patiently(t), &older.Berth{Name: fmt.Sprint(i), Value: i}))
	}
	d.bus.settle(t)
	require.NoError(t, a.p.Close())
	require.Equal(t, "0 1 2", berths(t, kept, 3))

	c := d.node(t)
	r := readerOf[newer.Berth](t, c, "Berth", readerQos(wants))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	for i := range int32(3) {
		got, info := next(t, r)
		require.Equal(t, newer.Berth{Name: fmt.Sprint(i), Value: i}, got)
		h, err := topic.NewKeys(topic.SupportOf[newer.Berth]()).Of(&got)
		require.NoError(t, err)
		require.Equal(t, h, info.InstanceHandle)
	}
	// What comes next is of the same instances, for the history as well: one sample is kept of each.
	w2 := writerOf[newer.Berth](t, c, "Berth", writerQos(durable))
	require.NoError(t, w2.Write(patiently(t), &newer.Berth{Name: "1", Value: 10}))
	d.bus.settle(t)
	got, _ := next(t, r)
	require.Equal(t, int32(10), got.Value)
	late := readerOf[newer.Berth](t, c, "Berth", readerQos(wants))
	require.NoError(t, late.WaitForHistoricalData(patiently(t)))
	var values []string
	for range 3 {
		got, _ := next(t, late)
		values = append(values, fmt.Sprintf("%s:%d", got.Name, got.Value))
	}
	require.Equal(t, "0:0 2:2 1:10", strings.Join(values, " "))
}

func berths(t *testing.T, r *DataReader[older.Berth], n int) string {
	var out []string
	for range n {
		got, _ := next(t, r)
		out = append(out, got.Name)
	}
	return strings.Join(out, " ")
}

// A process that starts again with a newer type takes up what its log has of the older one.
//
// Clauses: X7.6.3.4, 2.2.3.4
func TestXTypes13_LogOfAnOlderType(t *testing.T) {
	d := onCore(t, Settings{Dir: t.TempDir()})
	persistent := func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}
	a := d.node(t)
	w := writerOf[older.Berth](t, a, "Berth", writerQos(persistent, blocking(patience)))
	for i := range int32(3) {
		require.NoError(t, w.Write(patiently(t), &older.Berth{Name: fmt.Sprint(i), Value: i}))
	}
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.NoError(t, a.p.Close())

	b := d.node(t)
	r := readerOf[newer.Berth](t, b, "Berth", readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	for i := range int32(3) {
		got, info := next(t, r)
		require.Equal(t, newer.Berth{Name: fmt.Sprint(i), Value: i}, got)
		h, err := topic.NewKeys(topic.SupportOf[newer.Berth]()).Of(&got)
		require.NoError(t, err)
		require.Equal(t, h, info.InstanceHandle)
	}
}

func sampleMessage(t *testing.T, m cdr.Message, seq uint64) *derecho.Message {
	payload, err := cdr.Marshal(m, cdr.DefaultEncapsulation(m.CDRType()))
	require.NoError(t, err)
	return &derecho.Message{Header: derecho.Header{Kind: kindData, WriterSeq: seq, Timestamp: int64(seq)}, Seq: seq, Epoch: 1, Payload: payload}
}

// Handles of a saved state are of the form that the process has which saved it.
func TestStateOfAnotherForm(t *testing.T) {
	s := newStore()
	ann := announced()[0]
	ann.writer.Durability.Kind = qos.DurabilityTransient
	ann.writer.History.Depth = 2
	from, to := topic.NewKeys(topic.SupportOf[older.Berth]()), topic.NewKeys(topic.SupportOf[newer.Berth]())
	w := &endpoint{key: endpointKey{1, 1}, info: ann.encode(), ann: ann, keys: from}
	for i, name := range []string{"a", "b", "a", "a"} {
		m := sampleMessage(t, &older.Berth{Name: name}, uint64(i+1))
		h, ok := instanceOf(from, m)
		require.True(t, ok)
		s.add(w, m, h)
	}
	got, err := loadStore(s.save())
	require.NoError(t, err)
	require.Equal(t, topic.FormKey, got.form)
	require.Equal(t, s.clock, got.clock)
	for r := got.rekeying(to); r.some(1) == 0; { // little by little
	}
	require.Nil(t, got.rekeying(to))
	require.Equal(t, topic.FormHash, got.form)
	require.Len(t, got.instances, 2)
	for _, rec := range got.history() {
		want, err := to.OfSample(rec.message.Payload)
		require.NoError(t, err)
		require.Equal(t, want, rec.handle)
		require.Equal(t, want, got.instances[want].handle)
	}
	require.Len(t, got.history(), 3)
	got.add(&endpoint{key: w.key, info: w.info, ann: w.ann, keys: to}, sampleMessage(t, &older.Berth{Name: "b"}, 5), got.history()[0].handle)
	require.Len(t, got.history(), 4)
}

// Samples of another version cost no more than those of the reader's own: types are compared when writers and readers meet.
func TestDeliveryOfAnOlderTypeDoesNotAllocate(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := writerOf[older.Berth](t, a, "Berth", writerQos())
	r := readerOf[newer.Berth](t, b, "Berth", readerQos())
	d.bus.settle(t)
	batch := make([]derecho.Message, 16)
	for i := range batch {
		batch[i] = *sampleMessage(t, &older.Berth{Name: fmt.Sprint(i)}, 0)
		batch[i].Writer, batch[i].Sender, batch[i].Channel = w.id, a.p.core.ID(), w.at.ch
	}
	seq := uint64(0)
	step := func() {
		for i := range batch {
			seq++
			batch[i].WriterSeq, batch[i].Seq = seq, seq
		}
		b.p.hub.Deliver(w.at.sg, batch)
		l, err := r.TakeLoan()
		if err != nil || l.Len() != len(batch) {
			t.Fatalf("%d samples, %v", l.Len(), err)
		}
		l.Close()
	}
	for range 10 {
		step()
	}
	requireNoAllocs(t, 100, step)
}

// Types that are not announced any more do not stay for ever.
func TestTypesAreForgotten(t *testing.T) {
	var m typeMatcher
	ann := announced()[0]
	for i := range 2 * maxTypes {
		other := *ann
		other.typeName = fmt.Sprint("test::Other", i)
		other.typ = other.keyOfType()
		require.False(t, m.match(&other, ann, xtypes.Consistency{}).ok(), "nothing is known of it")
		require.LessOrEqual(t, len(m.types), maxTypes)
	}
}
