package dcps

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
	"github.com/stretchr/testify/require"
)

// trackDescription is what idlgen would say of track.
var trackDescription = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "test::Track", Extensibility: cdr.Final,
	Members: []xtypes.Member{
		{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
		{Name: "value", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
		{Name: "text", AutoID: true, Type: xtypes.NewString(0)},
	},
}))

// described is the topic that writer and reader use, with its description.
func (n *node) described(t testing.TB) *Topic[track] {
	t.Helper()
	tp, err := NewTopic[track](n.p, "Track", WithTypeDescription(trackDescription))
	require.NoError(t, err)
	return tp
}

// filtered makes a reader of what passes.
func (n *node) filtered(t testing.TB, q qos.DataReader, expression string, params ...string) (*DataReader[track], *ContentFilteredTopic[track]) {
	t.Helper()
	cf, err := NewContentFilteredTopic(n.described(t), "Filtered", expression, params...)
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, cf, WithReaderQos(q))
	require.NoError(t, err)
	return r, cf
}

// Clauses: 2.2.2.2.1.7-8, 2.2.2.3.3.1-4, 2.2.2.5.3.27
func TestContentFilteredTopic(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos())
	r, cf := b.filtered(t, readerQos(), "value >= %0 AND id <> 3", "10")
	all := b.reader(t, readerQos())
	d.settle(t)
	write(t, w, 1, 10)
	write(t, w, 1, 9)
	write(t, w, 2, 5)
	write(t, w, 3, 99)
	write(t, w, 1, 11)
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:10\n[NOT_READ NEW ALIVE d=0 n=0] 1:11", takeText(t, r))
	require.Equal(t, uint64(3), r.Filtered())
	require.Zero(t, all.Filtered())
	require.Equal(t, "1:10 1:9 2:5 3:99 1:11", values(t, all, 5))

	require.Equal(t, "Filtered", cf.Name())
	require.Equal(t, "test::Track", cf.TypeName())
	require.Equal(t, "Track", cf.RelatedTopic().Name())
	require.Same(t, b.p, cf.Participant())
	require.Equal(t, "value >= %0 AND id <> 3", cf.Expression())
	require.Equal(t, []string{"10"}, cf.ExpressionParameters())
	require.Same(t, cf, r.TopicDescription())
	require.Equal(t, "Track", all.TopicDescription().Name())

	require.NoError(t, cf.SetExpressionParameters("5"))
	require.Equal(t, []string{"5"}, cf.ExpressionParameters())
	write(t, w, 2, 6)
	write(t, w, 2, 4)
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 2:6", takeText(t, r))
	err := cf.SetExpressionParameters("high")
	require.ErrorIs(t, err, ErrBadParameter)
	var e *filter.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{"5"}, cf.ExpressionParameters())
	require.ErrorIs(t, cf.SetExpressionParameters(), ErrBadParameter, "%%0 needs a value")

	require.NoError(t, cf.Close())
	require.NoError(t, cf.Close())
	require.ErrorIs(t, cf.SetExpressionParameters("1"), ErrAlreadyDeleted)
	write(t, w, 2, 4)
	write(t, w, 2, 7)
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW ALIVE d=0 n=0] 2:7", takeText(t, r), "a reader outlives the ContentFilteredTopic, and filters")
}

// Disposals and unregistrations have only a key: they pass, of instances that the reader knows. An instance whose
// samples do not pass any more keeps its last one and its state.
func TestContentFilteredInstances(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos())
	r, _ := b.filtered(t, readerQos(), "value > 0")
	d.settle(t)
	write(t, w, 1, 1)
	write(t, w, 1, -1)
	write(t, w, 2, -1)
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 2}))
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:1", takeText(t, r))
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	d.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_DISPOSED d=0 n=0] -", takeText(t, r))
	write(t, w, 1, -2)
	d.settle(t)
	require.Equal(t, "no data", takeText(t, r), "still disposed, as far as the reader knows")
	write(t, w, 1, 2)
	d.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=1 n=0] 1:2", takeText(t, r))
	write(t, w, 1, -3)
	require.NoError(t, w.Unregister(patiently(t), &track{ID: 1}))
	d.settle(t)
	require.Contains(t, takeText(t, r), "NOT_ALIVE_DISPOSED", "autodispose")
}

// What does not pass is not lost, takes no place of another sample, and holds no writer.
func TestContentFilterAndResources(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos(func(q *qos.DataWriter) {
		q.Reliability.MaxBlockingTime = patience
		q.History.Kind = qos.HistoryKeepAll
	}))
	fast := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	full, cf := n.filtered(t, readerQos(func(q *qos.DataReader) {
		q.ResourceLimits = qos.ResourceLimits{MaxSamples: 2, MaxInstances: qos.LengthUnlimited, MaxSamplesPerInstance: 2}
	}), "value > 0")
	last, err := NewDataReader(n.sub, cf, WithReaderQos(readerQos(func(q *qos.DataReader) {
		q.Reliability.Kind = qos.ReliabilityBestEffort
		q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1}
	})))
	require.NoError(t, err)
	d.settle(t)
	write(t, w, 1, 1)
	for range 100 {
		write(t, w, 1, -1)
	}
	for range 10 {
		write(t, fast, 2, -1)
	}
	write(t, fast, 2, 2)
	d.settle(t)
	require.Equal(t, "1:1", values(t, full, 1))
	require.Equal(t, uint64(100), full.Filtered())
	require.Equal(t, "1:1 2:2", values(t, last, 2))
	require.Equal(t, uint64(110), last.Filtered())
	require.Zero(t, last.SampleLostStatus().TotalCount)
}

// A late reader gets what passes of the history.
func TestContentFilteredHistory(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	for i := range int32(6) {
		write(t, w, i, i)
	}
	d.settle(t)
	r, _ := b.filtered(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }), "value IN (2, 4)")
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "2:2 4:4", values(t, r, 2))
	require.Equal(t, uint64(4), r.Filtered())
}

// DEADLINE is kept by samples that do not pass, and OWNERSHIP of a known instance goes to who writes it, whatever.
func TestContentFilterAndTheCache(t *testing.T) {
	q := readerQos(func(q *qos.DataReader) {
		q.Deadline.Period = 10
		q.Ownership.Kind = qos.OwnershipExclusive
	})
	c := newCache(q)
	missed := int64(0)
	c.missed = func(_ InstanceHandle, times int64) { missed += times }
	weak, strong := &source{strength: 1}, &source{strength: 2}
	h := InstanceHandle{1}
	c.filtered(h, strong, 0)
	require.Empty(t, c.instances, "an instance is known from its first sample that passes")
	require.Equal(t, accepted, c.write(&item{kind: itemData, handle: h, src: weak, refs: 1}, 0))
	c.filtered(h, strong, 9)
	c.tick(18)
	require.Zero(t, missed)
	require.Equal(t, ignored, c.write(&item{kind: itemData, handle: h, src: weak, refs: 1}, 18))
	c.tick(19)
	require.Equal(t, int64(1), missed)
}

// What is delivered and does not pass costs no allocation.
func TestContentFilterDoesNotAllocate(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos())
	r, _ := n.filtered(t, readerQos(), "id < 8 AND text LIKE '%a%'")
	d.bus.settle(t)
	batch := batchFrom(t, w.writer, 16)
	seq := uint64(0)
	step := func() {
		for i := range batch {
			seq++
			batch[i].WriterSeq, batch[i].Seq = seq, seq
		}
		n.p.hub.Deliver(w.at.sg, batch)
		l, err := r.TakeLoan()
		if err != nil || l.Len() != 8 {
			t.Fatalf("%d samples, %v", l.Len(), err)
		}
		l.Close()
	}
	for range 10 {
		step()
	}
	requireNoAllocs(t, 100, step)
}

func TestContentFilterIsAnnounced(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	r, cf := n.filtered(t, readerQos(), "value > %0", "7")
	d.settle(t)
	want := ContentFilterProperty{"Filtered", "DDSSQL", "value > %0", []string{"7"}}
	require.Equal(t, want, r.self.ann.filter)
	require.Equal(t, want, r.self.subscription().ContentFilter)
	require.NoError(t, cf.SetExpressionParameters("8"))
	d.settle(t)
	want.ExpressionParameters = []string{"8"}
	require.Equal(t, want, r.self.ann.filter)
}

func TestContentFilterErrors(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp := n.described(t)
	_, err := NewContentFilteredTopic(tp, "F", "valu > 1")
	require.ErrorIs(t, err, ErrBadParameter)
	require.ErrorContains(t, err, "did you mean value?\n\tvalu > 1\n\t^~~~")
	_, err = NewContentFilteredTopic(tp, "F", "value > %1", "1")
	require.ErrorIs(t, err, ErrBadParameter)
	_, err = NewContentFilteredTopic(tp, "", "value > 1")
	require.ErrorIs(t, err, ErrBadParameter)
	_, err = NewContentFilteredTopic(tp, "Track", "value > 1")
	require.ErrorIs(t, err, ErrPreconditionNotMet, "the name is taken by a topic")
	cf, err := NewContentFilteredTopic(tp, "F", "value > 1")
	require.NoError(t, err)
	_, err = NewContentFilteredTopic(tp, "F", "value > 2")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = NewTopic[track](n.p, "F")
	require.ErrorIs(t, err, ErrPreconditionNotMet, "the name is taken by a content-filtered topic")
	require.ErrorContains(t, err, `topic "F"`)
	require.NoError(t, cf.Close())
	_, err = NewDataReader(n.sub, cf)
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	_, err = NewDataReader[track](n.sub, nil)
	require.ErrorIs(t, err, ErrBadParameter)
	cf, err = NewContentFilteredTopic(tp, "F", "value > 2")
	require.NoError(t, err, "the name is free again")
	require.NoError(t, tp.Close())
	require.Equal(t, "Track", cf.RelatedTopic().Name())
	_, err = NewDataReader(n.sub, cf)
	require.NoError(t, err, "it keeps its topic")

	found, err := LookupContentFilteredTopic[track](n.p, "F")
	require.NoError(t, err)
	require.Same(t, cf, found)
	_, err = LookupContentFilteredTopic[note](n.p, "F")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	found, err = LookupContentFilteredTopic[track](n.p, "G")
	require.NoError(t, err)
	require.Nil(t, found)
	_, err = LookupContentFilteredTopic[track](nil, "F")
	require.ErrorIs(t, err, ErrBadParameter)

	notes, err := NewTopic[note](n.p, "Notes")
	require.NoError(t, err)
	_, err = NewContentFilteredTopic(notes, "N", "text = 'x'")
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "WithTypeDescription")
	_, err = NewTopic[note](n.p, "Others", WithTypeDescription(trackDescription))
	require.ErrorIs(t, err, ErrBadParameter)
	require.ErrorContains(t, err, "test::Track")
	other := d.node(t)
	_, err = NewDataReader(other.sub, cf)
	require.ErrorIs(t, err, ErrPreconditionNotMet)
}

// Clauses: 2.2.2.5.3.6, 2.2.2.5.3.10-11, 2.2.2.5.9.1-3
func TestQueryCondition(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.described(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	high, err := r.NewQueryCondition(SampleNotRead, 0, 0, "value > %0", "10")
	require.NoError(t, err)
	require.Equal(t, "value > %0", high.Query())
	require.Equal(t, []string{"10"}, high.QueryParameters())
	ready := high.Ready()
	write(t, w, 1, 5)
	d.settle(t)
	require.False(t, high.TriggerValue())
	require.False(t, isReady(high))
	_, err = r.Take(When(high))
	require.ErrorIs(t, err, ErrNoData)
	write(t, w, 2, 20)
	<-ready
	require.True(t, high.TriggerValue())
	s, err := r.Read(When(high))
	require.NoError(t, err)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 2:20", text(s))
	s.Close()
	require.False(t, high.TriggerValue(), "it is read")

	ready = high.Ready()
	require.NoError(t, high.SetQueryParameters("1"))
	<-ready
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:5", takeText(t, r, When(high)))
	require.ErrorIs(t, high.SetQueryParameters("x"), ErrBadParameter)
	require.Equal(t, []string{"1"}, high.QueryParameters())

	ws := NewWaitSet(high)
	write(t, w, 3, 0)
	write(t, w, 3, 2)
	active, err := ws.Wait(patiently(t))
	require.NoError(t, err)
	require.Equal(t, []Condition{high}, active)
	require.NoError(t, ws.Detach(high))

	require.NoError(t, high.Close())
	require.False(t, high.TriggerValue())
	_, err = r.Take(When(high))
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}

func TestQueryOrder(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.described(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	for i, v := range []int32{30, 10, 20, 10, 40} {
		write(t, w, int32(i%3), v)
	}
	d.settle(t)
	low, err := r.NewQueryCondition(0, 0, 0, "value < 40 ORDER BY value")
	require.NoError(t, err)
	s, err := r.Read(When(low), MaxSamples(3))
	require.NoError(t, err)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 0:10\n[NOT_READ NEW ALIVE d=0 n=0] 1:10\n[NOT_READ NEW ALIVE d=0 n=0] 2:20", text(s))
	s.Close()
	down, err := r.NewQueryCondition(0, 0, 0, "ORDER BY id DESC, value")
	require.NoError(t, err)
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	write(t, w, 1, 5)
	d.settle(t)
	s, err = r.Take(When(down))
	require.NoError(t, err)
	require.Equal(t, "2:20 1:5 1:10 1:40 0:10 0:30", brief(s))
	// The ranks of instance 1, whose most recent sample comes first here (§2.2.2.5.1.9).
	require.Equal(t, []int32{2, 1, 0}, []int32{s.At(1).Info.SampleRank, s.At(2).Info.SampleRank, s.At(3).Info.SampleRank})
	require.Equal(t, []int32{0, 1, 1}, []int32{s.At(1).Info.GenerationRank, s.At(2).Info.GenerationRank, s.At(3).Info.GenerationRank})
	s.Close()
}

func brief(s *Samples[track]) string {
	out := ""
	for _, x := range s.All() {
		if out != "" {
			out += " "
		}
		out += x.Data().brief()
	}
	return out
}

func TestReadConditionAsOption(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.described(t)
	w, r, other := n.writer(t, writerQos()), n.reader(t, readerQos()), n.reader(t, readerQos())
	write(t, w, 1, 1)
	d.settle(t)
	read := r.NewReadCondition(SampleRead, 0, 0)
	_, err := r.Take(When(read))
	require.ErrorIs(t, err, ErrNoData)
	_, err = other.Take(When(read))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = r.Take(When(nil))
	require.ErrorIs(t, err, ErrBadParameter)
	for range 2 {
		var none *QueryCondition
		_, err = r.TakeLoan(When(none))
		require.ErrorIs(t, err, ErrBadParameter)
	}
	for _, err := range other.Stream(context.Background(), When(read)) {
		require.ErrorIs(t, err, ErrPreconditionNotMet)
	}
	_, err = r.NewQueryCondition(0, 0, 0, "value = 'x'")
	require.True(t, errors.Is(err, ErrBadParameter))
	c, err := r.NewQueryCondition(0, 0, 0, "value = 1 ORDER BY text")
	require.NoError(t, err)
	for s, err := range r.Stream(patiently(t), When(c)) {
		require.NoError(t, err)
		require.Equal(t, int32(1), s.Data().Value)
		break
	}
}

// A stream follows the parameters of its condition, and ends with it. Where it waits it does not turn round and round.
func TestStreamFollowsItsCondition(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		n.described(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		c, err := r.NewQueryCondition(0, 0, 0, "value > %0", "10")
		require.NoError(t, err)
		got := make(chan int32, 10)
		ended := make(chan error, 1)
		go func() {
			for s, err := range r.Stream(context.Background(), When(c)) {
				if err != nil {
					ended <- err
					return
				}
				got <- s.Data().Value
			}
		}()
		write(t, w, 1, 5)
		write(t, w, 1, 11)
		synctest.Wait()
		require.Equal(t, int32(11), <-got)
		require.NoError(t, c.SetQueryParameters("20"))
		write(t, w, 1, 15)
		synctest.Wait() // not before the stream waits again
		require.Empty(t, got)
		require.NoError(t, c.SetQueryParameters("14"))
		synctest.Wait()
		require.Equal(t, int32(15), <-got)
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-ended, ErrAlreadyDeleted)
	})
}

func (m *track) brief() string { return fmt.Sprintf("%d:%d", m.ID, m.Value) }

// A type that idlgen made carries its description.
func TestTypeCarriesItsDescription(t *testing.T) {
	b, err := xtypes.Describe(trackDescription)
	require.NoError(t, err)
	e := &topicEntity{support: topic.Support{Type: &cdr.TypeInfo{Name: "test::Track", TypeObject: string(b)}}}
	d, err := e.description("op", "entity")
	require.NoError(t, err)
	require.NotNil(t, d.MemberByName("value"))
	again, err := e.description("op", "entity")
	require.NoError(t, err)
	require.Same(t, d, again)
	e = &topicEntity{support: topic.Support{Type: &cdr.TypeInfo{Name: "test::Track", TypeObject: "nonsense"}}}
	_, err = e.description("op", "entity")
	require.ErrorContains(t, err, "test::Track")
}

// BenchmarkDeliverFiltered is BenchmarkDeliver with a filter: from one that lets everything pass to one that keeps
// everything out.
func BenchmarkDeliverFiltered(b *testing.B) {
	for _, c := range []struct {
		name, expression string
		passes           int
	}{
		{"none", "", 64},
		{"all-pass", "id >= 0", 64},
		{"a-third-passes", "id < 21 AND text LIKE 's%'", 21},
		{"none-passes", "text = 'other'", 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			d := onBus(b)
			n := d.node(b)
			w := n.writer(b, writerQos())
			var r *DataReader[track]
			if c.expression == "" {
				r = n.reader(b, readerQos())
			} else {
				r, _ = n.filtered(b, readerQos(), c.expression)
			}
			d.bus.settle(b)
			batch := batchFrom(b, w.writer, 64)
			seq := uint64(0)
			b.ReportAllocs()
			for i := 0; i < b.N; i += len(batch) {
				for j := range batch {
					seq++
					batch[j].WriterSeq, batch[j].Seq = seq, seq
				}
				n.p.hub.Deliver(w.at.sg, batch)
				l, err := r.TakeLoan()
				if l.Len() != c.passes {
					b.Fatalf("%d samples, %v", l.Len(), err)
				}
				l.Close()
			}
		})
	}
}
