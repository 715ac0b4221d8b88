package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is asked of every entity: its condition leads back to it, its handle is its own, its listener is what was set.
//
// Clauses: 2.2.2.1.1.4-6, 2.2.2.1.1.8, 2.2.2.1.9.3, 2.2.2.2.1.31, 2.2.2.5.8.1
func TestDDS14_2_2_2_1_1_5_EveryEntity(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	d.bus.settle(t)
	_, _ = w.PublicationMatchedStatus(), r.SubscriptionMatchedStatus()
	_, _ = r.LivelinessChangedStatus(), n.p.ViewChangedStatus()
	handles := map[InstanceHandle]bool{}
	for _, e := range []Entity{n.p, n.pub, n.sub, w.Topic(), w, r} {
		require.True(t, e.Enabled())
		require.Zero(t, e.StatusChanges())
		if e != w.Topic() {
			require.Same(t, e, e.StatusCondition().Entity())
		}
		h := e.Handle()
		require.NotEqual(t, HandleNil, h)
		require.False(t, handles[h], "%T has the handle of another entity", e)
		handles[h] = true
		require.Equal(t, e != n.p, n.p.ContainsEntity(h))
	}
	require.Equal(t, w.Topic().Handle(), w.Topic().StatusCondition().Entity().Handle())
	other, err := n.p.NewPublisher()
	require.NoError(t, err)
	require.False(t, handles[other.Handle()])
	require.NoError(t, other.Close())
	require.False(t, n.p.ContainsEntity(other.Handle()))

	require.Same(t, r, r.NewReadCondition(0, 0, 0).DataReader())

	readers := &DataReaderListener[track]{OnDataAvailable: func(*DataReader[track]) {}}
	writers := &DataWriterListener[track]{}
	topics := &TopicListener{}
	require.Nil(t, r.Listener())
	require.NoError(t, r.SetListener(readers, AnyStatus))
	require.NoError(t, w.SetListener(writers, AnyStatus))
	require.NoError(t, w.Topic().SetListener(topics, AnyStatus))
	require.Same(t, readers, r.Listener())
	require.Same(t, writers, w.Listener())
	require.Same(t, topics, r.Topic().Listener())
	require.NoError(t, r.SetListener(nil, 0))
	require.Nil(t, r.Listener())
	onData := func(*Subscriber) {}
	require.NoError(t, n.sub.SetListener(SubscriberListener{OnDataOnReaders: onData}, AnyStatus))
	require.NoError(t, n.p.SetListener(ParticipantListener{OnDataOnReaders: onData}, AnyStatus))
	require.NotNil(t, n.sub.Listener().OnDataOnReaders)
	require.NotNil(t, n.p.Listener().OnDataOnReaders)
	require.Nil(t, n.pub.Listener().OnPublicationMatched)
}

// Nil is a listener that does nothing: a status in its mask is not told to the parents either.
//
// Clauses: 2.2.2.1.1.3
func TestDDS14_2_2_4_3_1_NilListenerDoesNothing(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		l := newHeardLog()
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		pass(1)
		require.NoError(t, n.p.SetListener(ParticipantListener{
			AnyReaderListener: AnyReaderListener{
				OnSubscriptionMatched: func(AnyDataReader, SubscriptionMatchedStatus) { l.note("reader") },
				OnDataAvailable:       func(AnyDataReader) { l.note("data") },
			},
			AnyWriterListener:   AnyWriterListener{OnPublicationMatched: func(AnyDataWriter, PublicationMatchedStatus) { l.note("writer") }},
			OnInconsistentTopic: func(string, InconsistentTopicStatus) { l.note("topic") },
		}, AnyStatus))
		pass(1)
		l.forget()
		require.NoError(t, r.SetListener(nil, SubscriptionMatchedStatusBit))
		require.NoError(t, w.SetListener(nil, AnyStatus))
		require.NoError(t, w.Topic().SetListener(nil, AnyStatus))
		a := n.writer(t, writerQos())
		b := n.reader(t, readerQos())
		write(t, a, 1, 1)
		pass(1)
		require.NoError(t, b.Close())
		pass(1)
		require.NotZero(t, w.StatusChanges()&PublicationMatchedStatusBit, "conditions see it")
		require.Equal(t, map[string]bool{"reader": true, "writer": true, "data": true}, l.kinds())

		l.forget()
		require.NoError(t, a.SetListener(nil, AnyStatus))
		require.NoError(t, n.reader(t, readerQos()).SetListener(nil, AnyStatus))
		require.NoError(t, r.SetListener(nil, AnyStatus))
		pass(1)
		l.forget()
		n2 := d.node(t)
		wide, err := NewTopic[wideTrack](n2.p, "Track")
		require.NoError(t, err)
		_, err = NewDataWriter(n2.pub, wide)
		require.NoError(t, err)
		write(t, a, 1, 2)
		pass(1)
		require.Empty(t, l.kinds())
		require.NoError(t, w.Topic().SetListener(nil, 0))
		pass(1)
		require.Equal(t, map[string]bool{"topic": true}, l.kinds())
	})
}

// The readers of the built-in topics tell their own listeners and the built-in Subscriber's, and not the participant's:
// the built-in Subscriber has a nil listener at first, with all statuses in its mask. Of what is not in the mask of
// another one the participant's hears.
//
// Clauses: 2.2.5
func TestDDS14_2_2_5_ListenersOfTheParticipantHearNoDiscovery(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		l := newHeardLog()
		require.NoError(t, n.p.SetListener(ParticipantListener{
			AnyReaderListener: AnyReaderListener{OnDataAvailable: func(AnyDataReader) { l.note("data") }},
			OnDataOnReaders:   func(*Subscriber) { l.note("readers") },
		}, AnyStatus))
		sub := n.p.BuiltinSubscriber()
		d.node(t).writer(t, writerQos())
		pass(1)
		require.Empty(t, l.kinds())
		require.NoError(t, sub.SetListener(SubscriberListener{AnyReaderListener: AnyReaderListener{
			OnDataAvailable: func(r AnyDataReader) { l.note(r.TopicName()) },
		}}, AnyStatus))
		pass(1)
		require.Equal(t, map[string]bool{BuiltinParticipantTopic: true, BuiltinTopicTopic: true, BuiltinPublicationTopic: true}, l.kinds())
		l.forget()
		require.NoError(t, sub.SetListener(SubscriberListener{}, DataOnReadersStatusBit))
		d.node(t)
		pass(1)
		require.Equal(t, map[string]bool{"data": true}, l.kinds())
	})
}

func (l *heardLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = nil
}

func (l *heardLog) kinds() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	kinds := map[string]bool{}
	for _, text := range l.all {
		kinds[text] = true
	}
	return kinds
}
