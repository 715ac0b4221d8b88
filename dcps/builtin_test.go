package dcps

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// builtin gives the reader of a built-in topic.
func builtin[T any](t *testing.T, p *DomainParticipant, name string) *DataReader[T] {
	t.Helper()
	r := LookupDataReader[T](p.BuiltinSubscriber(), name)
	require.NotNil(t, r)
	return r
}

// known takes what a built-in reader has: the data of what is there, and the handles of what has gone.
func known[T any](t *testing.T, r *DataReader[T]) (here []T, gone []InstanceHandle) {
	t.Helper()
	samples, err := r.Take()
	if err != nil {
		require.ErrorIs(t, err, ErrNoData)
		return nil, nil
	}
	defer samples.Close()
	for _, s := range samples.All() {
		switch data := s.Data(); {
		case s.Info.InstanceState != InstanceAlive:
			require.Equal(t, InstanceNotAliveDisposed, s.Info.InstanceState)
			gone = append(gone, s.Info.InstanceHandle)
		default:
			require.NoError(t, s.Err())
			here = append(here, *data)
		}
	}
	return here, gone
}

// The built-in readers have what there is when they are made, and follow what changes: all of it of others.
//
// Clauses: 2.2.2.2.1.13, 2.2.2.5.2.7, 2.2.3.1, 2.2.3.2, 2.2.3.3
func TestDDS14_2_2_5_BuiltinTopics(t *testing.T) {
	d := onBus(t)
	a := d.node(t, WithName("a"))
	q := qos.DefaultDomainParticipant()
	q.UserData.Value = []byte("of b")
	b := d.node(t, WithName("b"), WithParticipantQos(q))
	pub := b.pub.Qos()
	pub.GroupData.Value, pub.Partition.Name = []byte("group"), []string{"", "cabin"}
	require.NoError(t, b.pub.SetQos(pub))
	w := b.writer(t, writerQos(func(q *qos.DataWriter) { q.UserData.Value, q.OwnershipStrength.Value = []byte("user"), 7 }))
	a.writer(t, writerQos())
	d.bus.settle(t)

	participants := builtin[ParticipantBuiltinTopicData](t, a.p, BuiltinParticipantTopic)
	topics := builtin[TopicBuiltinTopicData](t, a.p, BuiltinTopicTopic)
	publications := builtin[PublicationBuiltinTopicData](t, a.p, BuiltinPublicationTopic)
	subscriptions := builtin[SubscriptionBuiltinTopicData](t, a.p, BuiltinSubscriptionTopic)
	require.Same(t, a.p.BuiltinSubscriber(), participants.Subscriber())

	ps, _ := known(t, participants)
	require.Len(t, ps, 1, "the participant itself is not among them")
	require.Equal(t, b.p.Handle(), ps[0].Key)
	require.Equal(t, "b", ps[0].Name)
	require.Equal(t, []byte("of b"), ps[0].UserData.Value)
	ts, _ := known(t, topics)
	require.Len(t, ts, 1)
	require.Equal(t, "Track", ts[0].Name)
	require.Equal(t, "test::Track", ts[0].TypeName)
	require.Equal(t, qos.DefaultTopic(), ts[0].Qos)
	ws, _ := known(t, publications)
	require.Len(t, ws, 1)
	require.Equal(t, w.Handle(), ws[0].Key)
	require.Equal(t, b.p.Handle(), ws[0].ParticipantKey)
	require.Equal(t, w.Qos(), ws[0].Qos)
	require.Equal(t, pub.Partition, ws[0].PublisherQos.Partition)
	require.Equal(t, pub.GroupData, ws[0].PublisherQos.GroupData)
	require.Equal(t, "b", ws[0].Peer.Name)
	rs, _ := known(t, subscriptions)
	require.Empty(t, rs)

	// What comes and changes.
	r := b.reader(t, readerQos())
	topicQos := w.Topic().Qos()
	topicQos.TopicData.Value = []byte("of the topic")
	require.NoError(t, w.Topic().SetQos(topicQos))
	q.UserData.Value = []byte("new")
	require.NoError(t, b.p.SetQos(q))
	d.bus.settle(t)
	rs, _ = known(t, subscriptions)
	require.Len(t, rs, 1, "KEEP_LAST 1: the latest of it")
	require.Equal(t, r.Handle(), rs[0].Key)
	require.Equal(t, topicQos.TopicData, rs[0].TopicData)
	require.Equal(t, r.Qos().History, rs[0].Qos.History)
	ws, _ = known(t, publications)
	require.Equal(t, topicQos.TopicData, ws[0].TopicData)
	ts, _ = known(t, topics)
	require.Equal(t, topicQos, ts[0].Qos)
	ps, _ = known(t, participants)
	require.Equal(t, []byte("new"), ps[0].UserData.Value)

	// The same is to be asked for.
	found, err := a.p.DiscoveredParticipants()
	require.NoError(t, err)
	require.Equal(t, ps, found)
	foundTopics, err := a.p.DiscoveredTopics()
	require.NoError(t, err)
	require.Equal(t, ts, foundTopics)

	// What goes.
	require.NoError(t, r.Close())
	d.bus.settle(t)
	_, gone := known(t, subscriptions)
	require.Equal(t, []InstanceHandle{rs[0].Key}, gone)
	require.NoError(t, b.p.Close())
	d.bus.settle(t)
	_, gone = known(t, publications)
	require.Equal(t, []InstanceHandle{ws[0].Key}, gone)
	_, gone = known(t, topics)
	require.Equal(t, []InstanceHandle{ts[0].Key}, gone)
	_, gone = known(t, participants)
	require.Equal(t, []InstanceHandle{ps[0].Key}, gone)

	// It is not the application's.
	require.ErrorIs(t, a.p.BuiltinSubscriber().Close(), ErrPreconditionNotMet)
	_, err = NewDataReader(a.p.BuiltinSubscriber(), a.topic(t))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.NoError(t, a.p.Close())
	_, err = participants.Take()
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}

// A WaitSet waits for participants, writers and readers as for any data.
func TestBuiltinReaderTriggers(t *testing.T) {
	d := onBus(t)
	a := d.node(t)
	r := builtin[ParticipantBuiltinTopicData](t, a.p, BuiltinParticipantTopic)
	c := r.NewReadCondition(SampleNotRead, ViewNew, InstanceAlive)
	ws := NewWaitSet(c)
	b := d.node(t)
	active, err := ws.Wait(patiently(t))
	require.NoError(t, err)
	require.Equal(t, []Condition{c}, active)
	samples, err := r.Read(Instance(b.p.Handle()))
	require.NoError(t, err)
	samples.Close()
	h, err := r.LookupInstance(&ParticipantBuiltinTopicData{Key: b.p.Handle()})
	require.NoError(t, err)
	require.Equal(t, b.p.Handle(), h)
}

// What is ignored is not there any more, and does not come back.
//
// Clauses: 2.2.2.2.1.14-17, 2.2.2.2.1.27-30
func TestIgnore(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, r := a.writer(t, writerQos()), a.reader(t, readerQos())
	w2, r2 := b.writer(t, writerQos()), b.reader(t, readerQos())
	d.bus.settle(t)
	count := func() [2]int32 {
		d.bus.settle(t)
		return [2]int32{w.PublicationMatchedStatus().CurrentCount, r.SubscriptionMatchedStatus().CurrentCount}
	}
	require.Equal(t, [2]int32{2, 2}, count())
	publications := builtin[PublicationBuiltinTopicData](t, a.p, BuiltinPublicationTopic)
	_, _ = known(t, publications)

	require.NoError(t, a.p.IgnorePublication(w2.Handle()))
	require.Equal(t, [2]int32{2, 1}, count())
	require.NoError(t, a.p.IgnorePublication(w2.Handle()), "again: no effect")
	_, gone := known(t, publications)
	require.Equal(t, []InstanceHandle{w2.Handle()}, gone)
	write(t, w2, 1, 10)
	write(t, w, 2, 20)
	d.bus.settle(t)
	require.Equal(t, "2:20", values(t, r, 1))
	require.Equal(t, "1:10 2:20", values(t, r2, 2), "others go on")
	q := w2.Qos()
	q.UserData.Value = []byte("changed")
	require.NoError(t, w2.SetQos(q))
	require.Equal(t, [2]int32{2, 1}, count(), "a change does not bring it back")

	require.NoError(t, a.p.IgnoreSubscription(r2.Handle()))
	require.Equal(t, [2]int32{1, 1}, count())
	w3 := b.writer(t, writerQos())
	require.Equal(t, [2]int32{1, 2}, count())
	require.NoError(t, a.p.IgnoreTopic(handleOfTopic("Track", "test::Track")))
	require.Equal(t, [2]int32{1, 1}, count())
	found, err := a.p.DiscoveredTopics()
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, w3.Close())
	b.writer(t, writerQos())
	require.Equal(t, [2]int32{1, 1}, count(), "nor does a new one of the topic")

	c := d.node(t)
	cw, err := NewDataWriter(c.pub, func() *Topic[note] { tp, _ := NewTopic[note](c.p, "Note"); return tp }())
	require.NoError(t, err)
	note1, err := NewTopic[note](a.p, "Note")
	require.NoError(t, err)
	nr, err := NewDataReader(a.sub, note1)
	require.NoError(t, err)
	d.bus.settle(t)
	require.Equal(t, int32(1), nr.SubscriptionMatchedStatus().CurrentCount)
	require.NoError(t, a.p.IgnoreParticipant(c.p.Handle()))
	d.bus.settle(t)
	require.Zero(t, nr.SubscriptionMatchedStatus().CurrentCount)
	ps, err := a.p.DiscoveredParticipants()
	require.NoError(t, err)
	require.Len(t, ps, 1)
	require.Equal(t, b.p.Handle(), ps[0].Key)

	for _, err := range []error{
		a.p.IgnorePublication(w.Handle()), a.p.IgnoreSubscription(r.Handle()), a.p.IgnoreParticipant(a.p.Handle()),
		a.p.IgnoreTopic(HandleNil), a.p.IgnoreSubscription(cw.Handle()),
	} {
		require.ErrorIs(t, err, ErrBadParameter)
	}
}

// Ignored is forever, also when the process was cut off and all are announced anew.
func TestIgnoreAfterRejoin(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	r, w := a.reader(t, readerQos()), b.writer(t, writerQos())
	d.bus.settle(t)
	require.NoError(t, a.p.IgnorePublication(w.Handle()))
	d.bus.exclude(b)
	d.bus.rejoin(b)
	d.bus.settle(t)
	require.Zero(t, r.SubscriptionMatchedStatus().CurrentCount)
}

// What somebody has left behind who is ignored is ignored too.
func TestIgnoredHistory(t *testing.T) {
	d := onBus(t)
	a, b, c := d.node(t), d.node(t), d.node(t)
	durable := durableReader(qos.DurabilityTransient)
	b.reader(t, durable) // a process that keeps
	left := func(n *node) *DataWriter[track] {
		return n.writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }))
	}
	w, own := left(c), left(a)
	write(t, w, 1, 10)
	write(t, own, 2, 20)
	d.bus.settle(t)
	require.NoError(t, w.Close())
	require.NoError(t, own.Close())
	d.bus.settle(t)
	require.Equal(t, "1:10 2:20", values(t, a.reader(t, durable), 2))
	require.NoError(t, a.p.IgnoreParticipant(c.p.Handle()))
	r := a.reader(t, durable)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "2:20", values(t, r, 1))
	require.Equal(t, "no data", takeText(t, r))
	require.Equal(t, "1:10 2:20", values(t, b.reader(t, durable), 2), "others go on")
}

// The QoS of a built-in reader is set like that of any; nobody else is told.
func TestBuiltinQos(t *testing.T) {
	d := onBus(t)
	a := d.node(t)
	r := builtin[ParticipantBuiltinTopicData](t, a.p, BuiltinParticipantTopic)
	q := r.Qos()
	q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = 0
	require.NoError(t, r.SetQos(q))
	require.Equal(t, q, r.Qos())
	sub := a.p.BuiltinSubscriber().Qos()
	sub.GroupData.Value = []byte("of nobody's business")
	require.NoError(t, a.p.BuiltinSubscriber().SetQos(sub))
	b := d.node(t)
	require.NoError(t, b.p.Close())
	d.bus.settle(t)
	here, gone := known(t, r)
	require.Empty(t, here)
	require.Empty(t, gone, "it is purged at once")
}

// Clauses: 2.2.2.2.1.11, 2.2.2.2.1.12, 2.2.2.4.1.7, 2.2.2.5.2.7, 2.2.2.3.1.1-3
func TestFindAndLookup(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	none, err := LookupTopic[track](a.p, "Track")
	require.NoError(t, err)
	require.Nil(t, none)
	soon, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = FindTopic[track](soon, a.p, "Track")
	require.ErrorIs(t, err, ErrTimeout)
	require.EqualError(t, err, fmt.Sprintf(`dcps: FindTopic (topic "Track"): timeout: no other process of domain %d has a writer or reader of it, of the 0 topics that they have: `+
		"see to the name and the domain, wait longer, or make it with NewTopic: context deadline exceeded", a.p.ID()))

	q := qos.DefaultTopic()
	q.Lifespan.Duration = time.Minute
	found := make(chan *Topic[track])
	go func() {
		tp, err := FindTopic[track](patiently(t), a.p, "Track")
		if err != nil {
			t.Error(err)
		}
		found <- tp
	}()
	remote, err := NewTopic[track](b.p, "Track", WithTopicQos(q))
	require.NoError(t, err)
	w, err := NewDataWriter(b.pub, remote)
	require.NoError(t, err)
	tp := <-found
	require.Equal(t, "Track", tp.Name())
	require.Equal(t, "test::Track", tp.TypeName())
	_, err = FindTopic[track](soon, a.p, "Trakc")
	require.ErrorContains(t, err, "of the 1 topics that they have: see to the name and the domain, wait longer, or make it with NewTopic; did you mean Track?: context")
	require.Same(t, a.p, tp.Participant())
	require.Equal(t, q, tp.Qos(), "that of the topic that was found")

	_, err = LookupTopic[note](a.p, "Track")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	again, err := LookupTopic[track](a.p, "Track")
	require.NoError(t, err)
	require.NoError(t, again.Close())
	r, err := NewDataReader(a.sub, tp)
	require.NoError(t, err)
	require.Same(t, r, LookupDataReader[track](a.sub, "Track"))
	require.Nil(t, LookupDataReader[note](a.sub, "Track"))
	require.Nil(t, LookupDataReader[track](b.sub, "Track"))
	require.Same(t, w, LookupDataWriter[track](b.pub, "Track"))
	require.Nil(t, LookupDataWriter[track](b.pub, "Other"))
	require.Nil(t, LookupDataWriter[track](nil, "Track"))
	require.Nil(t, LookupDataReader[track](nil, "Track"))

	_, err = NewTopic[note](b.p, "Note")
	require.NoError(t, err)
	_, err = FindTopic[track](patiently(t), b.p, "Note")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = FindTopic[shapeless](patiently(t), a.p, "Track")
	require.ErrorIs(t, err, ErrBadParameter)
	_, err = LookupTopic[shapeless](a.p, "Track")
	require.ErrorIs(t, err, ErrBadParameter)
	_, err = FindTopic[note](patiently(t), a.p, "Track")
	require.ErrorContains(t, err, `topic "Track"`)

	require.NoError(t, a.p.Close())
	_, err = LookupTopic[track](a.p, "Track")
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	_, err = FindTopic[track](patiently(t), a.p, "Track")
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}

// Clauses: 2.2.2.4.2.23, 2.2.2.4.2.24, 2.2.2.5.3.33, 2.2.2.5.3.34, 2.2.2.2.1.31, 2.2.2.2.1.32, 2.2.2.1.1.8
func TestMatchedData(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
	w, r, own := a.writer(t, writerQos()), b.reader(t, readerQos()), a.reader(t, readerQos())
	d.bus.settle(t)
	var names []string
	for _, peer := range w.MatchedSubscriptions() {
		data, err := w.MatchedSubscriptionData(peer.Handle)
		require.NoError(t, err)
		require.Equal(t, peer, data.Peer)
		require.Equal(t, "Track", data.TopicName)
		names = append(names, peer.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"a", "b"}, names, "readers of the own participant count")
	data, err := r.MatchedPublicationData(w.Handle())
	require.NoError(t, err)
	require.Equal(t, w.Qos(), data.Qos)
	require.Equal(t, w.Handle(), r.MatchedPublications()[0].Handle)
	_, err = r.MatchedPublicationData(own.Handle())
	require.ErrorIs(t, err, ErrBadParameter)
	require.NoError(t, r.Close())
	d.bus.settle(t)
	_, err = w.MatchedSubscriptionData(r.Handle())
	require.ErrorIs(t, err, ErrBadParameter)
	require.Len(t, w.MatchedSubscriptions(), 1)

	require.True(t, a.p.ContainsEntity(w.Handle()))
	require.True(t, a.p.ContainsEntity(own.Handle()))
	require.True(t, a.p.ContainsEntity(handleOfTopic("Track", "test::Track")))
	require.False(t, b.p.ContainsEntity(w.Handle()))
	require.False(t, a.p.ContainsEntity(HandleNil))

	before := a.p.CurrentTime()
	write(t, w, 1, 1)
	d.bus.settle(t)
	samples, err := own.Take()
	require.NoError(t, err)
	defer samples.Close()
	at := samples.At(0).Info.SourceTimestamp
	require.False(t, at.Before(before))
	require.False(t, a.p.CurrentTime().Before(at))
}

// Each kind of built-in data is what it was after it was encoded and decoded.
func TestBuiltinDataRoundTrip(t *testing.T) {
	key := InstanceHandle{1, 2, 15: 3}
	w, r := announced()[0], announced()[1]
	peer := Peer{Handle: key, Name: "n", Host: "h", PID: 7}
	filter := ContentFilterProperty{"F", "DDSSQL", "x > %0", []string{"1"}}
	for _, c := range []struct{ in, out cdr.Message }{
		{&ParticipantBuiltinTopicData{Key: key, UserData: qos.UserData{Value: []byte("u")}, Name: "n", Host: "h", PID: 7}, new(ParticipantBuiltinTopicData)},
		{&TopicBuiltinTopicData{Key: key, Name: "T", TypeName: "X", Qos: w.topicQos}, new(TopicBuiltinTopicData)},
		{&PublicationBuiltinTopicData{key, key, "T", "X", w.writer, w.pub, w.topicQos.TopicData, peer}, new(PublicationBuiltinTopicData)},
		{&SubscriptionBuiltinTopicData{key, key, "T", "X", r.reader, r.sub, w.topicQos.TopicData, filter, peer}, new(SubscriptionBuiltinTopicData)},
	} {
		b, err := cdr.Marshal(c.in, cdr.CDRLE)
		require.NoError(t, err)
		require.NoError(t, cdr.Unmarshal(b, c.out))
		switch in := c.in.(type) {
		case *PublicationBuiltinTopicData: // not announced
			in.PublisherQos.EntityFactory = c.out.(*PublicationBuiltinTopicData).PublisherQos.EntityFactory
		case *SubscriptionBuiltinTopicData:
			out := c.out.(*SubscriptionBuiltinTopicData)
			in.SubscriberQos.EntityFactory, in.Qos.ReaderDataLifecycle = out.SubscriberQos.EntityFactory, out.Qos.ReaderDataLifecycle
			in.Qos.Reliability.MaxBlockingTime, in.Qos.TypeConsistencyEnforcement = out.Qos.Reliability.MaxBlockingTime, out.Qos.TypeConsistencyEnforcement
		}
		require.Equal(t, c.in, c.out)
	}
}
