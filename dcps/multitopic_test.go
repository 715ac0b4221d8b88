package dcps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// label is what an instance of track is called: @final struct Label { @key long id; string name; };
type label struct {
	ID   int32
	Name string
}

var labelDescription = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "test::Label", Extensibility: cdr.Final,
	Members: []xtypes.Member{
		{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
		{Name: "name", AutoID: true, Type: xtypes.NewString(0)},
	},
}))

var labelType = cdr.Define(cdr.TypeInfo{
	Name: "test::Label", Keyed: true, MaxSize: -1, MaxKeySize: 4, Text: "@final struct test::Label { @key long id; string name; };",
	TypeObject: description(labelDescription),
})

func description(t *xtypes.Type) string {
	b, err := xtypes.Describe(t)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (*label) CDRType() *cdr.TypeInfo                         { return labelType }
func (m *label) MarshalKeyCDR(e *cdr.Encoder)                 { e.Int32(m.ID) }
func (m *label) UnmarshalKeyCDR(d *cdr.Decoder)               { m.ID = d.Int32("id") }
func (*label) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) { e.Int32(d.Int32("id")) }

func (m *label) MarshalCDR(e *cdr.Encoder) {
	e.Int32(m.ID)
	e.String("name", m.Name, 0)
}

func (m *label) UnmarshalCDR(d *cdr.Decoder) {
	m.ID = d.Int32("id")
	m.Name = d.String("name", 0)
}

// labelled is a row of both: @final struct Named { @key long id; long value; string name; };
type labelled struct {
	ID, Value int32
	Name      string
}

var labelledType = cdr.Define(cdr.TypeInfo{
	Name: "test::Named", Keyed: true, MaxSize: -1, MaxKeySize: 4, Text: "@final struct test::Named { @key long id; long value; string name; };",
	TypeObject: description(xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
		Kind: xtypes.TKStructure, Name: "test::Named", Extensibility: cdr.Final,
		Members: []xtypes.Member{
			{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
			{Name: "value", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
			{Name: "name", AutoID: true, Type: xtypes.NewString(0)},
		},
	}))),
})

func (*labelled) CDRType() *cdr.TypeInfo                         { return labelledType }
func (m *labelled) MarshalKeyCDR(e *cdr.Encoder)                 { e.Int32(m.ID) }
func (m *labelled) UnmarshalKeyCDR(d *cdr.Decoder)               { m.ID = d.Int32("id") }
func (*labelled) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) { e.Int32(d.Int32("id")) }

func (m *labelled) MarshalCDR(e *cdr.Encoder) {
	e.Int32(m.ID)
	e.Int32(m.Value)
	e.String("name", m.Name, 0)
}

func (m *labelled) UnmarshalCDR(d *cdr.Decoder) {
	m.ID = d.Int32("id")
	m.Value = d.Int32("value")
	m.Name = d.String("name", 0)
}

// joinedNode is a node with writers of both topics, and the topics.
type joinedNode struct {
	*node
	tracks *DataWriter[track]
	labels *DataWriter[label]
}

func (n *node) joined(t testing.TB, q qos.DataWriter) joinedNode {
	t.Helper()
	n.described(t)
	lt, err := NewTopic[label](n.p, "Label")
	require.NoError(t, err)
	lw, err := NewDataWriter(n.pub, lt, WithWriterQos(q))
	require.NoError(t, err)
	return joinedNode{n, n.writer(t, q), lw}
}

func (n *joinedNode) name(t testing.TB, id int32, name string) {
	t.Helper()
	require.NoError(t, n.labels.Write(patiently(t), &label{id, name}))
}

func takeNamed(t testing.TB, r *DataReader[labelled], opts ...ReadOption) string {
	t.Helper()
	text, err := takesNamed(r, opts...)
	require.NoError(t, err)
	return text
}

// takesNamed is takeNamed for callbacks, which may come when their test is over.
func takesNamed(r *DataReader[labelled], opts ...ReadOption) (string, error) {
	s, err := r.Take(opts...)
	if errors.Is(err, ErrNoData) {
		return "no data", nil
	}
	if err != nil {
		return "", err
	}
	defer s.Close()
	var lines []string
	for _, x := range s.All() {
		line := x.Info.String() + " -"
		if d := x.Data(); d != nil {
			line = fmt.Sprintf("%s %d:%d %s", x.Info, d.ID, d.Value, d.Name)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

const namedExpression = "SELECT id, value, name FROM Track NATURAL JOIN Label WHERE value > %0"

// Clauses: 2.2.2.2.1.9-10, 2.2.2.3.4.1-3, B.TopicExpression
func TestMultiTopic(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	n, _ := a.joined(t, writerQos()), b.joined(t, writerQos())
	m, err := NewMultiTopic[labelled](b.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	r, err := NewDataReader(b.sub, m, WithReaderQos(readerQos()))
	require.NoError(t, err)
	d.settle(t)
	require.Equal(t, int32(4), r.SubscriptionMatchedStatus().CurrentCount, "two writers of each of the two topics")
	require.Len(t, r.MatchedPublications(), 4)

	write(t, n.tracks, 1, 10)
	write(t, n.tracks, 2, 20)
	d.settle(t)
	require.Equal(t, "no data", takeNamed(t, r), "a row begins when all of its instances are there")
	n.name(t, 1, "one")
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:10 one", takeNamed(t, r))
	write(t, n.tracks, 1, 11)
	d.settle(t) // there is no order between topics
	n.name(t, 1, "uno")
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW ALIVE d=0 n=0] 1:11 one\n[NOT_READ NOT_NEW ALIVE d=0 n=0] 1:11 uno", takeNamed(t, r))
	write(t, n.tracks, 1, -1)
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", takeNamed(t, r), "the condition does not hold any more")
	write(t, n.tracks, 1, 12)
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:12 uno", takeNamed(t, r))
	require.NoError(t, n.labels.Dispose(patiently(t), &label{ID: 1}))
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_DISPOSED d=0 n=0] -", takeNamed(t, r))
	n.name(t, 1, "one")
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:12 one", takeNamed(t, r))

	require.Equal(t, "Named", m.Name())
	require.Equal(t, "Named", r.TopicName())
	require.Equal(t, "test::Named", m.TypeName())
	require.Same(t, b.p, m.Participant())
	require.Same(t, m, r.TopicDescription())
	require.Nil(t, r.Topic())
	require.Equal(t, namedExpression, m.Expression())
	require.Equal(t, []string{"0"}, m.ExpressionParameters())
	require.Equal(t, "test::Named", m.Type().Name())
	require.Zero(t, r.Filtered())

	n.name(t, 2, "two")
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 2:20 two", takeNamed(t, r))
	require.NoError(t, m.SetExpressionParameters("15"))
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", takeNamed(t, r))
	require.NoError(t, m.SetExpressionParameters("5"))
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:12 one", takeNamed(t, r), "the other row is not news")
	err = m.SetExpressionParameters("high")
	var e *filter.Error
	require.ErrorIs(t, err, ErrBadParameter)
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{"5"}, m.ExpressionParameters())

	h, err := r.LookupInstance(&labelled{ID: 2})
	require.NoError(t, err)
	require.False(t, h.IsNil())
	key, err := r.KeyValue(h)
	require.NoError(t, err)
	require.Equal(t, int32(2), key.ID)
	require.True(t, b.p.ContainsEntity(r.Handle()))
	require.False(t, a.p.ContainsEntity(r.Handle()))

	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	require.ErrorIs(t, m.SetExpressionParameters("1"), ErrAlreadyDeleted)
	_, err = NewDataReader(b.sub, m)
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	write(t, n.tracks, 2, 21)
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW ALIVE d=0 n=0] 2:21 two", takeNamed(t, r), "a reader outlives the MultiTopic")
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	d.settle(t)
	require.Empty(t, n.tracks.MatchedSubscriptions())
}

// Rows of a type that is made of the expression.
func TestDynamicMultiTopic(t *testing.T) {
	d := onBus(t)
	a := d.node(t)
	n := a.joined(t, writerQos())
	m, err := NewDynamicMultiTopic(a.p, "Named", "test::Joined", "SELECT id AS number, name, value FROM Label NATURAL JOIN Track;")
	require.NoError(t, err)
	r, err := NewDataReader(a.sub, m, WithReaderQos(readerQos()))
	require.NoError(t, err)
	d.settle(t)
	for id := range int32(3) {
		write(t, n.tracks, id, 10*id)
		n.name(t, id, fmt.Sprint("n", id))
	}
	d.settle(t)
	high, err := r.NewQueryCondition(0, 0, 0, "value > 0 ORDER BY number DESC")
	require.NoError(t, err)
	samples, err := r.Take(When(high))
	require.NoError(t, err)
	var got []string
	for _, s := range samples.All() {
		text, err := s.Data().MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, s.Err())
		got = append(got, string(text))
	}
	require.Equal(t, []string{`{"number":2,"name":"n2","value":20}`, `{"number":1,"name":"n1","value":10}`}, got)
	s := samples.At(0)
	h, err := r.LookupInstance(s.Data())
	require.NoError(t, err)
	require.Equal(t, s.Info.InstanceHandle, h)
	require.True(t, s.Info.PublicationHandle.IsNil())
	key, err := r.KeyValue(h)
	require.NoError(t, err)
	number, err := key.Get("number")
	require.NoError(t, err)
	require.Equal(t, int32(2), number)
	samples.Close()
	other, err := xtypes.NewData(trackDescription)
	require.NoError(t, err)
	_, err = r.LookupInstance(other)
	require.ErrorContains(t, err, "test::Track")
	require.Same(t, r, LookupDataReader[xtypes.Data](a.sub, "Named"))
	again, err := LookupMultiTopic[xtypes.Data](a.p, "Named")
	require.NoError(t, err)
	require.Same(t, m, again)
	_, err = LookupMultiTopic[labelled](a.p, "Named")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.NoError(t, m.Close())
	again, err = LookupMultiTopic[xtypes.Data](a.p, "Named")
	require.NoError(t, err)
	require.Nil(t, again)
}

// What can not be made, and why.
func TestMultiTopicErrors(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	a.joined(t, writerQos())
	_, err := NewTopic[note](a.p, "Note")
	require.NoError(t, err)
	for expression, want := range map[string]string{
		"SELECT * FROM Boat":                                           `this participant has no topic "Boat"; it has ["Label" "Note" "Track"]`,
		"SELECT * FROM Note":                                           "test::Note does not carry its description",
		"SELECT id, value FROM Track":                                  "nothing is selected for name",
		"SELECT id, value, name FROM Track":                            "name is no member of test::Track",
		"SELECT id, text AS value, name FROM Track NATURAL JOIN Label": "text has type string, and value of the result has int32",
	} {
		_, err := NewMultiTopic[labelled](a.p, "Named", expression)
		var e *filter.Error
		require.ErrorAs(t, err, &e, expression)
		require.ErrorIs(t, err, ErrBadParameter)
		require.ErrorContains(t, err, want)
	}
	_, err = NewMultiTopic[track](a.p, "Tracks", "SELECT * FROM Track")
	require.ErrorIs(t, err, ErrUnsupported, "the result has no description")
	for _, name := range []string{"Track", ""} {
		_, err = NewDynamicMultiTopic(a.p, name, "test::T", "SELECT * FROM Track")
		require.Error(t, err)
	}
	_, err = NewDynamicMultiTopic(a.p, "Named", "", "SELECT * FROM Track")
	require.ErrorIs(t, err, ErrBadParameter)
	m, err := NewDynamicMultiTopic(a.p, "Named", "test::T", "SELECT * FROM Track")
	require.NoError(t, err)
	_, err = NewTopic[note](a.p, "Named")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = NewContentFilteredTopic(a.described(t), "Named", "id = 1")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = NewDynamicMultiTopic(a.p, "Named", "test::T", "SELECT * FROM Track")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = NewDataReader(b.sub, m)
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	sub, err := a.p.NewSubscriber(WithSubscriberQos(qos.Subscriber{
		Presentation: qos.Presentation{AccessScope: qos.PresentationGroup, CoherentAccess: true}, EntityFactory: qos.EntityFactory{AutoenableCreatedEntities: true},
	}))
	require.NoError(t, err)
	_, err = NewDataReader(sub, m)
	require.ErrorIs(t, err, ErrUnsupported)
	var none *MultiTopic[labelled]
	require.ErrorIs(t, none.Close(), ErrBadParameter)
	require.ErrorIs(t, none.SetExpressionParameters(), ErrBadParameter)
	require.Empty(t, none.Expression())
	require.Nil(t, none.Type())
	_, err = NewDataReader[labelled](a.sub, none)
	require.ErrorIs(t, err, ErrBadParameter)
	_, err = NewMultiTopic[labelled](nil, "N", "SELECT * FROM Track")
	require.ErrorIs(t, err, ErrBadParameter)
	require.NoError(t, m.Close())
	require.NoError(t, a.p.Close())
	_, err = NewDynamicMultiTopic(a.p, "Named", "test::T", "SELECT * FROM Track")
	require.Error(t, err)
}

// WaitSet, listener, history and statuses work as for every reader.
//
// Clauses: 2.2.2.3.4.1
func TestMultiTopicTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopTicks(t)
		d := onBus(t)
		a, b := d.node(t), d.node(t)
		n := a.joined(t, writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }))
		b.described(t)
		_, err := NewTopic[label](b.p, "Label")
		require.NoError(t, err)
		write(t, n.tracks, 1, 10)
		n.name(t, 1, "one")
		m, err := NewMultiTopic[labelled](b.p, "Named", namedExpression, "0")
		require.NoError(t, err)
		matched := make(chan int32, 16)
		r, err := NewDataReader(b.sub, m, WithReaderListener(&DataReaderListener[labelled]{
			OnSubscriptionMatched: func(_ *DataReader[labelled], s SubscriptionMatchedStatus) { matched <- s.CurrentCount },
		}), WithReaderQos(readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal })))
		require.NoError(t, err)
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:10 one", takeNamed(t, r))
		synctest.Wait()
		last := int32(0)
		for len(matched) > 0 {
			last = <-matched
		}
		require.Equal(t, int32(2), last)
		require.Equal(t, int32(2), r.LivelinessChangedStatus().AliveCount)
		hasty, err := NewDataReader(b.sub, m, WithReaderQos(readerQos(func(q *qos.DataReader) { q.Deadline.Period = patience })))
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, hasty.SubscriptionMatchedStatus().CurrentCount)
		require.Equal(t, int32(2), hasty.RequestedIncompatibleQosStatus().TotalCount, "the writers offer no DEADLINE")
		require.NoError(t, n.labels.Close())
		require.NoError(t, r.WaitForMatch(patiently(t), 1))
		synctest.Wait()
		require.Equal(t, int32(1), r.LivelinessChangedStatus().AliveCount)
		require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_DISPOSED d=0 n=0] -", takeNamed(t, r))
	})
}

// A goroutine of its own joins: who waits for data hears of rows without reading, and a full reader holds the writers.
func TestMultiTopicWaits(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	j := n.joined(t, writerQos(func(q *qos.DataWriter) { q.Reliability.MaxBlockingTime = patience }))
	m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, m, WithReaderQos(readerQos(func(q *qos.DataReader) {
		q.ResourceLimits = qos.ResourceLimits{MaxSamples: 3, MaxInstances: 3, MaxSamplesPerInstance: 3}
	})))
	require.NoError(t, err)
	require.NoError(t, r.WaitForMatch(patiently(t), 2))
	ws := NewWaitSet(r.NewReadCondition(SampleNotRead, 0, InstanceAlive))
	write(t, j.tracks, 1, 1)
	j.name(t, 1, "one")
	_, err = ws.Wait(patiently(t))
	require.NoError(t, err)
	const more = 40
	done := make(chan error, 1)
	go func() {
		for v := range int32(more) {
			if err := j.tracks.Write(patiently(t), &track{ID: 1, Value: v + 2}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var got []int32
	for s, err := range r.Stream(patiently(t)) {
		require.NoError(t, err)
		got = append(got, s.Data().Value)
		if len(got) == more+1 {
			break
		}
	}
	require.NoError(t, <-done)
	require.True(t, slices.IsSorted(got), "%v", got)
	require.Equal(t, int32(more+1), got[more])
}

// SetQos reaches the parts.
func TestMultiTopicSetQos(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	j := n.joined(t, writerQos())
	m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, m, WithReaderQos(readerQos()))
	require.NoError(t, err)
	d.settle(t)
	q := r.Qos()
	q.Deadline.Period = patience
	require.NoError(t, r.SetQos(q))
	d.settle(t)
	require.Equal(t, int32(0), r.SubscriptionMatchedStatus().CurrentCount)
	q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1}
	require.ErrorIs(t, r.SetQos(q), ErrImmutablePolicy)
	require.NoError(t, r.SetQos(readerQos()))
	sq := n.sub.Qos()
	sq.Partition.Name = []string{"elsewhere"}
	require.NoError(t, n.sub.SetQos(sq))
	d.settle(t)
	require.Empty(t, j.tracks.MatchedSubscriptions())
	sq.Partition.Name = nil
	require.NoError(t, n.sub.SetQos(sq))
	d.settle(t)
	require.Len(t, j.tracks.MatchedSubscriptions(), 1)
	asleep := qos.DefaultSubscriber()
	asleep.EntityFactory.AutoenableCreatedEntities = false
	late, err := n.p.NewSubscriber(WithSubscriberQos(asleep))
	require.NoError(t, err)
	lazy, err := NewDataReader(late, m, WithReaderQos(readerQos()))
	require.NoError(t, err)
	require.False(t, lazy.Enabled())
	_, err = lazy.Take()
	require.ErrorIs(t, err, ErrNotEnabled)
	require.NoError(t, lazy.Enable())
	d.settle(t)
	require.Len(t, j.tracks.MatchedSubscriptions(), 2)
}

// Under random operations of two writers, a reader ends up with what nested loops over the latest samples give, its instances are
// alive exactly while they have a row, and their states are those that the standard computes from the parts.
func TestMultiTopicOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := onBus(t)
		n := d.node(t)
		defer n.p.Close()
		j := n.joined(t, writerQos(func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }))
		m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
		require.NoError(rt, err)
		r, err := NewDataReader(n.sub, m, WithReaderQos(readerQos()))
		require.NoError(rt, err)
		d.settle(t)
		ctx := context.Background()
		values, names, limit := map[int32]int32{}, map[int32]string{}, int32(0)
		ids := map[InstanceHandle]int32{}
		for id := range int32(3) {
			h, err := r.codec.handle(&labelled{ID: id})
			require.NoError(rt, err)
			ids[h] = id
		}
		state := map[int32]InstanceState{} // of what was a row
		seen := map[int32]string{}
		row := func(id int32) (string, bool) {
			v, hasValue := values[id]
			name, hasName := names[id]
			return fmt.Sprintf("%d %s", v, name), hasValue && hasName && v > limit
		}
		ended := func(id int32, by InstanceState) {
			if state[id] == InstanceAlive {
				state[id] = by
			}
		}
		eager := rapid.Bool().Draw(rt, "eager") // each change is joined before the next
		look := func() {
			if eager {
				d.settle(t)
				r.join.pull()
			}
			for id := range int32(3) {
				if _, in := row(id); in {
					state[id] = InstanceAlive
				} else {
					ended(id, InstanceNotAliveNoWriters)
				}
			}
		}
		id := func() int32 { return int32(rapid.IntRange(0, 2).Draw(rt, "id")) }
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(*rapid.T) {
				i, v := id(), int32(rapid.IntRange(-1, 3).Draw(rt, "v"))
				values[i] = v
				require.NoError(rt, j.tracks.Write(ctx, &track{ID: i, Value: v}))
				look()
			},
			"name": func(*rapid.T) {
				i, v := id(), rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "name")
				names[i] = v
				require.NoError(rt, j.labels.Write(ctx, &label{i, v}))
				look()
			},
			"dispose": func(*rapid.T) {
				i := id()
				if _, known := values[i]; known {
					if _, in := row(i); in {
						ended(i, InstanceNotAliveDisposed)
					}
					delete(values, i)
					require.NoError(rt, j.tracks.Dispose(ctx, &track{ID: i}))
					look()
				}
			},
			"unregister": func(*rapid.T) {
				i := id()
				if _, known := names[i]; known {
					delete(names, i)
					require.NoError(rt, j.labels.Unregister(ctx, &label{ID: i}))
					look()
				}
			},
			"parameter": func(*rapid.T) {
				d.settle(t)
				limit = int32(rapid.IntRange(0, 2).Draw(rt, "limit"))
				require.NoError(rt, m.SetExpressionParameters(fmt.Sprint(limit)))
				look()
			},
			"": func(*rapid.T) {
				if !rapid.Bool().Draw(rt, "take") {
					return // several changes are taken together
				}
				d.settle(t)
				samples, err := r.Take()
				if err == nil {
					for _, s := range samples.All() {
						id := ids[s.Info.InstanceHandle]
						_, in := row(id)
						require.Equal(rt, in, s.Info.InstanceState == InstanceAlive, "instance %d", id)
						require.True(rt, !eager || state[id] == s.Info.InstanceState, "instance %d: %v, not %v", id, s.Info.InstanceState, state[id])
						if x := s.Data(); x != nil {
							seen[x.ID] = fmt.Sprintf("%d %s", x.Value, x.Name)
						}
					}
					samples.Close()
				}
				for i := range int32(3) {
					if want, in := row(i); in {
						require.Equal(rt, want, seen[i])
					}
				}
			},
		})
	})
}

// Close does not wait until a SetQos of the parts has timed out.
func TestCloseEndsSetQosOfAMultiTopicReader(t *testing.T) {
	d := onBus(t)
	stuck := &stuckCore{entered: make(chan struct{})}
	n := d.node(t, wrapCore(func(c core) core { stuck.core = c; return stuck }))
	n.joined(t, writerQos())
	m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, m, WithReaderQos(readerQos()))
	require.NoError(t, err)
	stuck.slow = true
	done := make(chan error)
	go func() {
		done <- r.SetQos(readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
	}()
	<-stuck.entered
	require.NoError(t, r.Close())
	require.Error(t, <-done)
	require.ErrorIs(t, stuck.gaveUp, context.Canceled, "and not its deadline")
}

// A reader that was not made does not keep the topics.
func TestMultiTopicReaderThatIsNotMade(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.described(t)
	labels, err := NewTopic[label](n.p, "Label")
	require.NoError(t, err)
	m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	_, err = NewDataReader(n.sub, m, WithReaderListener(new(DataReaderListener[track])))
	require.ErrorIs(t, err, ErrBadParameter)
	require.NoError(t, m.Close())
	require.NoError(t, labels.Close())
	_, err = NewTopic[note](n.p, "Label")
	require.NoError(t, err, "the name is free")
}

// When the process of one side is cut off from the domain the rows lose their writers, and are there again when it is
// back; so it is when one side's writer is another one.
func TestMultiTopicWhenOneSideIsCutOff(t *testing.T) {
	d := onBus(t)
	a, b, c := d.node(t), d.node(t), d.node(t)
	lasting := func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }
	tracks, labels := a.joined(t, writerQos(lasting)), b.joined(t, writerQos(lasting))
	c.described(t)
	_, err := NewTopic[label](c.p, "Label")
	require.NoError(t, err)
	m, err := NewMultiTopic[labelled](c.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	r, err := NewDataReader(c.sub, m, WithReaderQos(readerQos()))
	require.NoError(t, err)
	d.settle(t)
	for id := range int32(2) {
		write(t, tracks.tracks, id, 10+id)
		labels.name(t, id, fmt.Sprint("n", id))
	}
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 0:10 n0\n[NOT_READ NEW ALIVE d=0 n=0] 1:11 n1", takeNamed(t, r))

	d.bus.exclude(b)
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -\n[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", takeNamed(t, r))
	write(t, tracks.tracks, 0, 20)
	d.settle(t)
	require.Equal(t, "no data", takeNamed(t, r), "the other side is missing")
	d.bus.rejoin(b)
	d.settle(t)
	labels.name(t, 0, "again")
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 0:20 again", takeNamed(t, r))

	other := c.joined(t, writerQos(lasting))
	other.name(t, 1, "other")
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:11 other", takeNamed(t, r))
	require.NoError(t, labels.labels.Dispose(patiently(t), &label{ID: 1}))
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_DISPOSED d=0 n=0] -", takeNamed(t, r), "the instance is, whoever disposes it")
	require.NoError(t, labels.p.Close())
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", takeNamed(t, r), "the other row")
	other.name(t, 1, "back")
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:11 back", takeNamed(t, r))
}

// Who waits for rows hears that the reader, its Subscriber or the participant is closed, and nobody hangs, while the
// writers go on.
func TestMultiTopicClosedWhileSomebodyWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		j := a.joined(t, writerQos(blocking(patience)))
		b.described(t)
		_, err := NewTopic[label](b.p, "Label")
		require.NoError(t, err)
		m, err := NewMultiTopic[labelled](b.p, "Named", namedExpression, "0")
		require.NoError(t, err)
		done := make(chan struct{})
		var writing sync.WaitGroup
		writing.Go(func() {
			for i := int32(0); ; i++ {
				select {
				case <-done:
					return
				default:
				}
				write(t, j.tracks, i%4, i+1)
				j.name(t, i%4, "x")
			}
		})
		for _, end := range []func(*DataReader[labelled]) error{
			func(r *DataReader[labelled]) error { return r.Close() },
			func(r *DataReader[labelled]) error { return r.Subscriber().Close() },
			func(*DataReader[labelled]) error { return b.p.Close() },
		} {
			sub, err := b.p.NewSubscriber()
			require.NoError(t, err)
			r, err := NewDataReader(sub, m, WithReaderQos(readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} })))
			require.NoError(t, err)
			streamed, first := make(chan error, 1), make(chan struct{})
			go func() {
				n := 0
				for _, err := range r.Stream(patiently(t)) {
					if err != nil {
						streamed <- err
						return
					}
					if n++; n == 1 {
						close(first)
					}
				}
				streamed <- nil
			}()
			waited := make(chan error, 1)
			go func() { waited <- r.WaitForMatch(patiently(t), 100) }()
			select {
			case <-first:
			case <-patiently(t).Done():
				require.Fail(t, "no row has come")
			}
			require.NoError(t, within(t, func() error { return end(r) }))
			require.ErrorIs(t, within(t, func() error { return <-streamed }), ErrAlreadyDeleted)
			require.ErrorIs(t, within(t, func() error { return <-waited }), ErrAlreadyDeleted)
			_, err = r.Take()
			require.ErrorIs(t, err, ErrAlreadyDeleted)
		}
		close(done)
		writing.Wait()
	})
}

// What no expression is, is told with the place in it; nothing is left of it, neither the name nor a hold on the topics.
func TestMultiTopicBadExpressions(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.joined(t, writerQos())
	for _, expression := range []string{
		"", " ", ";", "SELECT", "SELECT *", "SELECT * FROM", "SELECT FROM Track", "SELECT , FROM Track", "SELECT id, FROM Track", "SELECT * FROM Track NATURAL",
		"SELECT * FROM Track NATURAL JOIN", "SELECT * FROM Track JOIN Label", "SELECT * FROM Track INNER NATURAL JOIN Label NATURAL", "SELECT * FROM Track, Label",
		"SELECT * FROM Track NATURAL JOIN Track", "SELECT * FROM (Track NATURAL JOIN Label", "SELECT id, id, value, name FROM Track NATURAL JOIN Label",
		"SELECT id, value, name, more FROM Track NATURAL JOIN Label", "SELECT id AS, value, name FROM Track NATURAL JOIN Label",
		"SELECT id, value, name FROM Track NATURAL JOIN Label WHERE", "SELECT id, value, name FROM Track NATURAL JOIN Label WHERE value >",
		"SELECT id, value, name FROM Track NATURAL JOIN Label WHERE value > %100", "SELECT id, value, name FROM Track NATURAL JOIN Label WHERE value > 'x'",
		"SELECT id, value, name FROM Track NATURAL JOIN Label WHERE altitude > 1", "SELECT id, value, name FROM Track NATURAL JOIN Label ORDER BY id",
		"SELECT id, value, name FROM Track NATURAL JOIN Label WHERE value > %0", // without its parameter
		"SELECT id, value, name FROM Track NATURAL JOIN Label; SELECT * FROM Track", "SELECT \x00 FROM Track", "SELECT id\xff FROM Track",
		"SELECT " + strings.Repeat("(", 5000) + "id FROM Track", "SELECT id, value, name FROM Track NATURAL JOIN Label WHERE " + strings.Repeat("NOT ", 100_000) + "id = 1",
		"SELECT id, value, name FROM " + strings.Repeat("(", 100_000) + "Track",
	} {
		m, err := NewMultiTopic[labelled](n.p, "Named", expression)
		require.ErrorIs(t, err, ErrBadParameter, "%.80q", expression)
		require.Nil(t, m)
	}
	for _, params := range [][]string{nil, {"x"}, {"'1'"}, {"0 OR 1 = 1"}} {
		m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, params...)
		require.ErrorIs(t, err, ErrBadParameter, "%q", params)
		require.Nil(t, m)
	}
	m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
	require.NoError(t, err, "the name is free")
	require.NoError(t, m.Close())
}
