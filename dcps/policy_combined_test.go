package dcps

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// A callback may suspend and resume publications, write coherent sets and have GROUP access: what is written so arrives
// as if another goroutine had written it.
func TestListenerPublishesTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		together := present(qos.PresentationGroup, true, true)
		pq, sq := qos.DefaultPublisher(), qos.DefaultSubscriber()
		pq.Presentation, sq.Presentation = together, together
		pub, err := b.p.NewPublisher(WithPublisherQos(pq))
		require.NoError(t, err)
		echoes := []*DataWriter[track]{
			writerOn(t, b, pub, "EchoA", writerQos(blocking(patience))), writerOn(t, b, pub, "EchoB", writerQos(blocking(patience))),
		}
		heard := make(chan error, 16)
		answer := func(x *track) error {
			for _, step := range []func() error{
				pub.SuspendPublications, pub.SuspendPublications, pub.BeginCoherentChanges,
				func() error { return echoes[0].Write(patiently(t), x) },
				pub.ResumePublications,
				func() error { return echoes[1].Write(patiently(t), x) },
				func() error { return pub.EndCoherentChanges(patiently(t)) },
				func() error { return echoes[0].Write(patiently(t), &track{ID: x.ID, Value: -x.Value}) },
				pub.ResumePublications,
			} {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		}
		_, err = NewDataReader(b.sub, b.topic(t), WithReaderQos(readerQos()), WithReaderListener(&DataReaderListener[track]{
			OnDataAvailable: func(r *DataReader[track]) {
				samples, err := r.Take()
				if err != nil {
					heard <- err
					return
				}
				defer samples.Close()
				for _, s := range samples.All() {
					if x := s.Data(); x != nil {
						heard <- answer(x)
					}
				}
			},
		}))
		require.NoError(t, err)

		seen := make(chan string, 16)
		var sub *Subscriber
		sub, err = a.p.NewSubscriber(WithSubscriberQos(sq), WithSubscriberListener(SubscriberListener{
			OnDataOnReaders: func(sub *Subscriber) {
				if err := sub.BeginAccess(); err != nil {
					seen <- err.Error()
					return
				}
				defer sub.EndAccess()
				for _, r := range sub.Readers(AnySampleState, AnyViewState, AnyInstanceState) {
					samples, err := r.(*DataReader[track]).Take()
					if errors.Is(err, ErrAlreadyDeleted) {
						return // what its writer says when it goes comes when the test is over
					}
					if err != nil {
						seen <- err.Error()
						return
					}
					seen <- r.TopicName() + " " + text(samples)
					samples.Close()
				}
			},
		}))
		require.NoError(t, err)
		readerOn(t, a, sub, "EchoA", readerQos())
		readerOn(t, a, sub, "EchoB", readerQos())
		w := a.writer(t, writerQos(blocking(patience)))
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		for _, e := range echoes {
			require.NoError(t, e.WaitForMatch(patiently(t), 1))
		}
		next := func() string {
			select {
			case text := <-seen:
				return text[:5] + text[strings.LastIndexByte(text, ' '):]
			case <-patiently(t).Done():
				return "nothing"
			}
		}
		for v := range int32(5) {
			write(t, w, 1, v+1)
			require.NoError(t, within(t, func() error { return <-heard }))
			require.Equal(t, fmt.Sprintf("EchoA 1:%d", v+1), next())
			require.Equal(t, fmt.Sprintf("EchoB 1:%d", v+1), next())
			require.Equal(t, fmt.Sprintf("EchoA 1:%d", -v-1), next())
		}
	})
}

// A callback may make a MultiTopic and a reader of it, and the reader's own callback may take what is joined, change
// the parameters, and make another.
func TestMultiTopicFromCallbacks(t *testing.T) {
	onBoth(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		n, _ := a.joined(t, writerQos(blocking(patience))), b.joined(t, writerQos(blocking(patience)))
		type step struct {
			text string
			err  error
		}
		steps := make(chan step, 16)
		var joins []*MultiTopic[labelled] // of the callbacks of b, which come one after the other
		join := func(sub *Subscriber, listener *DataReaderListener[labelled]) error {
			m, err := NewMultiTopic[labelled](b.p, fmt.Sprintf("Named%d", len(joins)), namedExpression, "0")
			if err != nil {
				return err
			}
			joins = append(joins, m)
			_, err = NewDataReader(sub, m, WithReaderQos(readerQos()), WithReaderListener(listener))
			return err
		}
		second := &DataReaderListener[labelled]{OnDataAvailable: func(r *DataReader[labelled]) {
			if text, err := takesNamed(r); !errors.Is(err, ErrAlreadyDeleted) {
				steps <- step{"second " + text, err}
			}
		}}
		first := &DataReaderListener[labelled]{OnDataAvailable: func(r *DataReader[labelled]) {
			text, err := takesNamed(r)
			if errors.Is(err, ErrAlreadyDeleted) {
				return
			}
			if err == nil && len(joins) == 1 {
				err = join(r.Subscriber(), second)
			}
			if err == nil {
				err = joins[0].SetExpressionParameters("100")
			}
			steps <- step{"first " + text, err}
		}}
		_, err := NewDataReader(b.sub, b.topic(t), WithReaderQos(readerQos()), WithReaderListener(&DataReaderListener[track]{
			OnSubscriptionMatched: func(r *DataReader[track], _ SubscriptionMatchedStatus) {
				if len(joins) == 0 {
					steps <- step{"made", join(r.Subscriber(), first)}
				}
			},
		}))
		require.NoError(t, err)
		next := func() string {
			select {
			case s := <-steps:
				require.NoError(t, s.err)
				return s.text
			case <-patiently(t).Done():
				return "nothing"
			}
		}
		require.Equal(t, "made", next())
		require.NoError(t, n.tracks.WaitForMatch(patiently(t), 2))
		require.NoError(t, n.labels.WaitForMatch(patiently(t), 1))
		n.name(t, 1, "one")
		write(t, n.tracks, 1, 10)
		require.Equal(t, "first [NOT_READ NEW ALIVE d=0 n=0] 1:10 one", next())
		require.Equal(t, "first [NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", next(), "it wants more than 100 by now")
		require.NoError(t, n.tracks.WaitForMatch(patiently(t), 3))
		require.NoError(t, n.labels.WaitForMatch(patiently(t), 2))
		n.name(t, 2, "two")
		write(t, n.tracks, 2, 20)
		require.Equal(t, "second [NOT_READ NEW ALIVE d=0 n=0] 2:20 two", next())
	})
}

// A topic that is ignored has no part in the sets of a GROUP any more, and those of the others are not held up by it:
// between sets, and in the midst of one. It is so for whoever asks, and for nobody else.
func TestIgnoreTopicBesideCoherentSets(t *testing.T) {
	for _, midst := range []bool{false, true} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B", "C")
			all := &stage{d: d, a: s.a, b: d.node(t)}
			sq := qos.DefaultSubscriber()
			sq.Presentation = present(qos.PresentationGroup, true, false)
			var err error
			all.sub, err = all.b.p.NewSubscriber(WithSubscriberQos(sq))
			require.NoError(t, err)
			all.addReaders(t, []string{"A", "B", "C"})
			synctest.Wait()
			ignore := func() { require.NoError(t, s.b.p.IgnoreTopic(handleOfTopic("B", "test::Track"))) }
			set := func(value int32, midst func()) {
				s.begin(t)
				write(t, s.writers[0], 1, value)
				write(t, s.writers[1], 1, value)
				synctest.Wait()
				midst()
				write(t, s.writers[1], 2, value)
				write(t, s.writers[2], 1, value)
				s.end(t)
			}
			set(1, func() {})
			require.Equal(t, "1:1 | 1:1 2:1 | 1:1", s.seen(t))
			require.Equal(t, "1:1 | 1:1 2:1 | 1:1", all.seen(t))
			if midst {
				set(2, ignore)
			} else {
				ignore()
				set(2, func() {})
			}
			require.Equal(t, "1:2 | - - | 1:2", s.seen(t), "its instances have no writers any more")
			require.Equal(t, "1:2 | 1:2 2:2 | 1:2", all.seen(t))
			set(3, func() {})
			require.Equal(t, "1:3 | data | 1:3", s.seen(t))
			require.Equal(t, "1:3 | 1:3 2:3 | 1:3", all.seen(t))
			require.Zero(t, s.readers[1].SubscriptionMatchedStatus().CurrentCount)
			require.Equal(t, int32(1), all.readers[1].SubscriptionMatchedStatus().CurrentCount)
		})
	}
}

// A Publisher's process that the others went on without in the midst of a set of a GROUP, and that joins again, has the
// readers see nothing of that set, and is told; those that it writes then they see as a whole.
func TestGroupSetWhenTheWriterIsExcluded(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, true), "A", "B")
		set := func(value int32, midst func()) error {
			s.begin(t)
			write(t, s.writers[0], 1, value)
			synctest.Wait()
			midst()
			err := s.writers[1].Write(patiently(t), &track{ID: 1, Value: value})
			return errors.Join(err, s.pub.EndCoherentChanges(patiently(t)))
		}
		require.NoError(t, set(1, func() {}))
		require.Equal(t, "1:1 | 1:1", s.seen(t))
		err := set(2, func() {
			d.bus.exclude(s.a)
			d.bus.rejoin(s.a)
			require.NoError(t, s.a.p.WaitForDomain(patiently(t)))
		})
		require.ErrorIs(t, err, derecho.ErrExcluded)
		checkTold(t, err)
		require.Equal(t, "- | -", s.seen(t), "only that the writers of before are gone")
		require.NoError(t, set(3, func() {}))
		require.Equal(t, "1:3 | 1:3", s.seen(t))
	})
}

// Sets and the order of a GROUP are the same over topics that are stored: for who is there, for who comes late, and
// after all have gone and come back.
func TestCoreGroupOfStoredTopics(t *testing.T) {
	d := onCore(t, Settings{})
	start := func(name, dir string) *node {
		return d.nodeAt(t, dir, WithName(name))
	}
	keepsAll := qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
	stored := writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind, q.History = qos.DurabilityPersistent, keepsAll
		q.DurabilityService.HistoryKind = qos.HistoryKeepAll
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, blocking(patience))
	wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	topics := []string{"A", "B", "C"}
	play := func(a, b *node) *stage {
		s := &stage{d: d, a: a, b: b}
		p := present(qos.PresentationGroup, true, true)
		pq, sq := qos.DefaultPublisher(), qos.DefaultSubscriber()
		pq.Presentation, sq.Presentation = p, p
		var err error
		s.pub, err = a.p.NewPublisher(WithPublisherQos(pq))
		require.NoError(t, err)
		s.sub, err = b.p.NewSubscriber(WithSubscriberQos(sq))
		require.NoError(t, err)
		failed := make(chan error, 1)
		go func() { failed <- s.addStored(b.p, topics, wants) }() // at the same time: a process waits for the log of the other
		for i, name := range topics {
			q := stored
			if i == 2 {
				q = writerQos(blocking(patience)) // which is on a subgroup without a log
			}
			s.writers = append(s.writers, writerOn(t, a, s.pub, name, q))
		}
		require.NoError(t, <-failed)
		for i := range topics {
			require.NoError(t, s.writers[i].WaitForMatch(patiently(t), 1))
			require.NoError(t, s.readers[i].WaitForMatch(patiently(t), 1))
			if i < 2 {
				require.NoError(t, s.readers[i].WaitForHistoricalData(patiently(t)))
			}
		}
		return s
	}
	// await takes until n samples were there.
	await := func(s *stage, n int) string {
		var all []string
		ctx := patiently(t)
		for len(all) < n && ctx.Err() == nil {
			if text := s.list(t); text != "" {
				all = append(all, strings.Fields(text)...)
			}
		}
		return strings.Join(all, " ")
	}
	dirs := [2]string{t.TempDir(), t.TempDir()}
	a, b := start("a", dirs[0]), start("b", dirs[1])
	s := play(a, b)
	value := int32(0)
	put := func(s *stage, to int) string {
		value++
		write(t, s.writers[to], 1, value)
		return fmt.Sprintf("%s%d", topics[to], value)
	}
	var want []string
	for range 3 {
		s.begin(t)
		for _, to := range []int{1, 0, 2, 0, 1} {
			want = append(want, put(s, to))
		}
		s.end(t)
		want = append(want, put(s, 2), put(s, 0))
	}
	require.Equal(t, strings.Join(want, " "), await(s, len(want)))
	s.begin(t)
	put(s, 0) // a set that never ends is not part of what is stored
	require.NoError(t, s.writers[1].WaitForAcknowledgments(patiently(t)))

	late, err := b.p.NewSubscriber(WithSubscriberQos(s.sub.Qos()))
	require.NoError(t, err)
	again := &stage{d: d, sub: late, readers: []*DataReader[track]{readerOn(t, b, late, "A", wants), readerOn(t, b, late, "B", wants)}}
	for _, r := range again.readers {
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	}
	var kept []string
	for _, x := range want {
		if x[0] != 'C' {
			kept = append(kept, x)
		}
	}
	require.ElementsMatch(t, kept, strings.Fields(await(again, len(kept))))

	require.NoError(t, a.p.Close())
	require.NoError(t, b.p.Close())
	a, b = start("a", dirs[0]), start("b", dirs[1])
	s = play(a, b)
	require.ElementsMatch(t, kept, strings.Fields(await(s, len(kept))))
	want = want[:0]
	s.begin(t)
	for _, to := range []int{2, 1, 0, 1} {
		want = append(want, put(s, to))
	}
	s.end(t)
	want = append(want, put(s, 1))
	require.Equal(t, strings.Join(want, " "), await(s, len(want)))
	require.NoError(t, a.p.Close())
	require.NoError(t, b.p.Close())
}

// addStored adds readers of topics of which all but the last are stored.
func (s *stage) addStored(p *DomainParticipant, topics []string, q qos.DataReader) error {
	for i, name := range topics {
		if i == len(topics)-1 {
			q = readerQos()
		}
		tp, err := NewTopic[track](p, name)
		if err != nil {
			return err
		}
		r, err := NewDataReader(s.sub, tp, WithReaderQos(q))
		if err != nil {
			return err
		}
		s.readers = append(s.readers, r)
	}
	return nil
}
