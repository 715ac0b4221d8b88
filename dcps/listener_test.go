package dcps

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// heardLog is what listeners have heard.
type heardLog struct {
	mu   sync.Mutex
	all  []string
	more chan struct{}
}

func newHeardLog() *heardLog { return &heardLog{more: make(chan struct{}, 1)} }

func (l *heardLog) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// await waits for a text and forgets all.
func (l *heardLog) await(t *testing.T, text string) {
	t.Helper()
	ctx := patiently(t)
	for {
		l.mu.Lock()
		found := slices.Contains(l.all, text)
		if found {
			l.all = nil
		}
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			t.Fatalf("%q was not heard, but %q", text, l.all)
		}
	}
}

// A status goes to the first listener that has a function for it: the entity's own, its Publisher's or Subscriber's, its
// participant's. Listeners and masks change at run time.
//
// Clauses: 2.2.2.1.1.3
func TestDDS14_2_2_4_3_1_FallBack(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	l := newHeardLog()
	matched := func(who string) AnyReaderListener {
		return AnyReaderListener{OnSubscriptionMatched: func(_ AnyDataReader, s SubscriptionMatchedStatus) { l.note(who) }}
	}
	own := &DataReaderListener[track]{OnSubscriptionMatched: func(*DataReader[track], SubscriptionMatchedStatus) { l.note("reader") }}
	r := n.reader(t, readerQos())
	match := func(who string) {
		t.Helper()
		w := n.writer(t, writerQos())
		l.await(t, who)
		require.NoError(t, w.Close())
		l.await(t, who)
	}
	require.NoError(t, n.p.SetListener(ParticipantListener{AnyReaderListener: matched("participant")}, AnyStatus))
	match("participant")
	require.NoError(t, n.sub.SetListener(SubscriberListener{AnyReaderListener: matched("subscriber")}, AnyStatus))
	match("subscriber")
	require.NoError(t, r.SetListener(own, AnyStatus))
	match("reader")
	require.NoError(t, r.SetListener(own, AnyStatus&^SubscriptionMatchedStatusBit))
	match("subscriber")
	require.NoError(t, n.sub.SetListener(SubscriberListener{AnyReaderListener: matched("subscriber")}, SampleLostStatusBit))
	match("participant")
	require.NoError(t, r.SetListener(own, SubscriptionMatchedStatusBit))
	match("reader")
	require.NoError(t, r.SetListener(nil, 0))
	match("participant")

	// The same for writers and topics.
	w := n.writer(t, writerQos())
	l.await(t, "participant")
	note := func(who string) AnyWriterListener {
		return AnyWriterListener{OnPublicationMatched: func(AnyDataWriter, PublicationMatchedStatus) { l.note(who) }}
	}
	require.NoError(t, n.p.SetListener(ParticipantListener{AnyWriterListener: note("participant")}, AnyStatus))
	l.await(t, "participant") // of the match before, which nobody had looked at
	require.NoError(t, n.pub.SetListener(PublisherListener{note("publisher")}, AnyStatus))
	n.reader(t, readerQos())
	l.await(t, "publisher")
	require.NoError(t, w.SetListener(&DataWriterListener[track]{OnPublicationMatched: func(*DataWriter[track], PublicationMatchedStatus) { l.note("writer") }}, AnyStatus))
	n.reader(t, readerQos())
	l.await(t, "writer")

	inconsistent := func(string, InconsistentTopicStatus) { l.note("topic") }
	require.NoError(t, w.Topic().SetListener(&TopicListener{inconsistent}, AnyStatus))
	other := d.node(t)
	wide, err := NewTopic[wideTrack](other.p, "Track")
	require.NoError(t, err)
	_, err = NewDataReader(other.sub, wide)
	require.NoError(t, err)
	l.await(t, "topic")
}

// OnDataOnReaders goes before OnDataAvailable, which NotifyDataReaders calls then; the status is a flag that reading resets.
//
// Clauses: 2.2.2.5.2.10, 2.2.2.5.2.11, 2.2.4.2.2
func TestDDS14_2_2_4_3_2_DataOnReaders(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		l := newHeardLog()
		w := n.writer(t, writerQos())
		listener := &DataReaderListener[track]{OnDataAvailable: func(*DataReader[track]) { l.note("reader") }}
		r := n.reader(t, readerQos(), WithReaderListener(listener))
		quiet := n.reader(t, readerQos())
		onReaders := func(s *Subscriber) { l.note("subscriber") }
		wrote := func(v int32) { // and both readers have it
			t.Helper()
			write(t, w, 1, v)
			synctest.Wait()
		}
		haveData := func(ss SampleState, vs ViewState, is InstanceState) []InstanceHandle {
			var handles []InstanceHandle
			for _, r := range n.sub.Readers(ss, vs, is) {
				handles = append(handles, r.Handle())
			}
			return handles
		}

		require.NoError(t, n.p.SetListener(ParticipantListener{OnDataOnReaders: onReaders}, AnyStatus))
		wrote(10)
		l.await(t, "subscriber")
		require.Zero(t, n.sub.StatusChanges(), "the listener was told")
		require.NotZero(t, r.StatusChanges()&DataAvailableStatusBit, "the reader's was not")
		both := []InstanceHandle{r.Handle(), quiet.Handle()}
		require.ElementsMatch(t, both, haveData(SampleNotRead, AnyViewState, AnyInstanceState))
		require.ElementsMatch(t, both, haveData(0, 0, 0), "a zero mask means any")
		require.NoError(t, n.sub.NotifyDataReaders())
		l.await(t, "reader")
		require.Zero(t, r.StatusChanges()&DataAvailableStatusBit)
		require.NoError(t, n.sub.NotifyDataReaders(), "there is nothing to tell any more")

		require.NoError(t, n.p.SetListener(ParticipantListener{}, AnyStatus))
		wrote(11)
		l.await(t, "reader")
		require.NoError(t, r.SetListener(nil, AnyStatus))
		wrote(12)
		require.Equal(t, DataOnReadersStatusBit, n.sub.StatusChanges())
		c := n.sub.StatusCondition()
		require.True(t, c.TriggerValue())
		_, err := quiet.Read()
		require.NoError(t, err)
		require.Zero(t, n.sub.StatusChanges(), "read resets it")
		require.False(t, c.TriggerValue())

		ws := NewWaitSet(c)
		for i := range int32(3) { // again and again: what reading resets must be noticed anew
			wrote(13 + i)
			active, err := ws.Wait(patiently(t))
			require.NoError(t, err)
			require.Len(t, active, 1)
			require.Same(t, c, active[0])
			_, err = quiet.Take()
			require.NoError(t, err)
		}
		c.SetEnabledStatuses(0)
		wrote(20)
		require.False(t, c.TriggerValue())
	})
}

// A callback may do anything, also close its own entity, the entity's parents, or take its listener away.
func TestListenerClosesItsEntity(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos())
	closed := make(chan error, 3)
	for _, what := range []func(*DataReader[track]) error{
		func(r *DataReader[track]) error { return r.Close() },
		func(r *DataReader[track]) error { return r.SetListener(nil, AnyStatus) },
		func(r *DataReader[track]) error { return r.Subscriber().Close() },
	} {
		sub, err := n.p.NewSubscriber()
		require.NoError(t, err)
		_, err = NewDataReader(sub, n.topic(t), WithReaderQos(readerQos()), WithReaderListener(&DataReaderListener[track]{
			OnDataAvailable: func(r *DataReader[track]) { closed <- what(r) },
		}))
		require.NoError(t, err)
	}
	write(t, w, 1, 1)
	for range 3 {
		require.NoError(t, <-closed)
	}
	require.NoError(t, n.p.SetQos(qos.DefaultDomainParticipant()))
}

// What a callback does counts at once: of what changed together with what it is told of, a listener that it takes away,
// or that of a reader that it closes, hears no more.
func TestListenerEndsInACallback(t *testing.T) {
	for name, end := range map[string]func(*DataReader[track]) error{
		"closed":     (*DataReader[track]).Close,
		"taken away": func(r *DataReader[track]) error { return r.SetListener(nil, AnyStatus) },
		"looked at":  func(r *DataReader[track]) error { r.LivelinessChangedStatus(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := onBus(t)
			n := d.node(t)
			n.writer(t, writerQos())
			made, ended, after := make(chan struct{}), make(chan error, 1), false
			r, err := NewDataReader(n.sub, n.topic(t), WithReaderQos(readerQos()), WithReaderListener(&DataReaderListener[track]{
				OnSubscriptionMatched: func(r *DataReader[track], _ SubscriptionMatchedStatus) {
					<-made // who closes a reader that is still being made has NewDataReader fail
					ended <- end(r)
				},
				OnLivelinessChanged: func(*DataReader[track], LivelinessChangedStatus) { after = true },
			}))
			close(made)
			require.NoError(t, err)
			require.NoError(t, <-ended)
			if name == "taken away" {
				require.Equal(t, LivelinessChangedStatusBit, r.StatusChanges(), "nobody has looked at it")
			}
			require.NoError(t, n.p.Close()) // waits for the callbacks
			require.False(t, after)
		})
	}
}

// What is made while the participant's listener is set has that listener: what there is is looked up under the lock that those
// take which are made.
func TestListenerOfWhatIsMadeMeanwhile(t *testing.T) {
	n := onBus(t).node(t)
	n.p.mu.Lock() // SetListener stands still where it looks up what there is
	set := make(chan error)
	go func() { set <- n.p.SetListener(ParticipantListener{}, AnyStatus) }()
	locked, late := false, time.Now().Add(patience/6)
	for !locked && time.Now().Before(late) {
		runtime.Gosched()
		if locked = !n.p.listening.TryLock(); !locked {
			n.p.listening.Unlock()
		}
	}
	n.p.mu.Unlock()
	require.NoError(t, <-set)
	require.True(t, locked, "listening is locked first")
}
