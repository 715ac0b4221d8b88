package dcps

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// stage is a publisher and a subscriber with the same PRESENTATION, and a writer and a reader for each of some topics.
type stage struct {
	d       *domain
	a, b    *node
	pub     *Publisher
	sub     *Subscriber
	writers []*DataWriter[track]
	readers []*DataReader[track]
}

func present(scope qos.PresentationAccessScopeKind, coherent, ordered bool) qos.Presentation {
	return qos.Presentation{AccessScope: scope, CoherentAccess: coherent, OrderedAccess: ordered}
}

func newStage(t *testing.T, d *domain, p qos.Presentation, topics ...string) *stage {
	s := newStageOn(t, d, p, topics...)
	synctest.Wait()
	return s
}

func newStageOn(t *testing.T, d *domain, p qos.Presentation, topics ...string) *stage {
	s := newEmptyStage(t, d, p)
	s.addReaders(t, topics)
	s.addWriters(t, topics)
	return s
}

func newEmptyStage(t *testing.T, d *domain, p qos.Presentation) *stage {
	s := &stage{d: d, a: d.node(t), b: d.node(t)}
	pub, sub := qos.DefaultPublisher(), qos.DefaultSubscriber()
	pub.Presentation, sub.Presentation = p, p
	var err error
	s.pub, err = s.a.p.NewPublisher(WithPublisherQos(pub))
	require.NoError(t, err)
	s.sub, err = s.b.p.NewSubscriber(WithSubscriberQos(sub))
	require.NoError(t, err)
	return s
}

func (s *stage) addReaders(t *testing.T, topics []string) {
	for _, name := range topics {
		s.readers = append(s.readers, readerOn(t, s.b, s.sub, name, readerQos()))
	}
}

func (s *stage) addWriters(t *testing.T, topics []string) {
	for _, name := range topics {
		s.writers = append(s.writers, writerOn(t, s.a, s.pub, name, writerQos()))
	}
}

func writerOn(t *testing.T, n *node, pub *Publisher, name string, q qos.DataWriter) *DataWriter[track] {
	tp, err := NewTopic[track](n.p, name)
	require.NoError(t, err)
	w, err := NewDataWriter(pub, tp, WithWriterQos(q))
	require.NoError(t, err)
	return w
}

func readerOn(t *testing.T, n *node, sub *Subscriber, name string, q qos.DataReader) *DataReader[track] {
	tp, err := NewTopic[track](n.p, name)
	require.NoError(t, err)
	r, err := NewDataReader(sub, tp, WithReaderQos(q))
	require.NoError(t, err)
	return r
}

// seen gives what each reader has, within one access.
func (s *stage) seen(t *testing.T) string {
	t.Helper()
	synctest.Wait()
	require.NoError(t, s.sub.BeginAccess())
	var out []string
	for _, r := range s.readers {
		out = append(out, taken(t, r))
	}
	require.NoError(t, s.sub.EndAccess())
	return strings.Join(out, " | ")
}

func (s *stage) begin(t *testing.T) { require.NoError(t, s.pub.BeginCoherentChanges()) }
func (s *stage) end(t *testing.T)   { require.NoError(t, s.pub.EndCoherentChanges(patiently(t))) }

// Coherent changes of a writer become visible together, in the scopes INSTANCE and TOPIC for each writer by itself.
//
// Clauses: 2.2.2.4.1.10, 2.2.2.4.1.11
func TestDDS14_2_2_3_6_CoherentChangesOfAWriter(t *testing.T) {
	for _, scope := range []qos.PresentationAccessScopeKind{qos.PresentationInstance, qos.PresentationTopic} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newStage(t, d, present(scope, true, false), "A", "B")
			plain := readerOn(t, s.b, s.b.sub, "A", readerQos())
			write(t, s.writers[0], 1, 0)
			require.Equal(t, "1:0 | data", s.seen(t), "outside of a set all is seen at once")
			s.begin(t)
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[0], 2, 1)
			write(t, s.writers[1], 1, 1)
			s.end(t)
			require.Equal(t, "data | data", s.seen(t), "the outermost end counts")
			require.Equal(t, "1:0 1:1 2:1", taken(t, plain), "a Subscriber that does not ask for it sees changes as they come")
			require.NoError(t, s.writers[0].Dispose(patiently(t), &track{ID: 2}))
			s.end(t)
			require.Equal(t, "1:1 2:1 | 1:1", s.seen(t))
			require.ErrorIs(t, s.pub.EndCoherentChanges(patiently(t)), ErrPreconditionNotMet)
			write(t, s.writers[0], 1, 2)
			require.Equal(t, "1:2 | data", s.seen(t))
		})
	}
}

// A set of which a part can not come any more, because its writer died, is never seen, and counts as lost.
func TestDDS14_2_2_3_6_IncompleteSetIsNeverSeen(t *testing.T) {
	for _, scope := range []qos.PresentationAccessScopeKind{qos.PresentationTopic, qos.PresentationGroup} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newStage(t, d, present(scope, true, true), "A", "B")
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[1], 2, 1)
			s.end(t)
			s.begin(t)
			write(t, s.writers[0], 1, 2)
			write(t, s.writers[1], 2, 2)
			synctest.Wait()
			d.crash(s.a)
			require.Equal(t, "1:1 | 2:1", s.seen(t))
			require.Equal(t, "data | data", s.seen(t))
			for _, r := range s.readers {
				require.Equal(t, int32(1), r.SampleLostStatus().TotalCount)
			}
		})
	}
}

// GROUP: a set of several topics is seen when all its parts are there. The parts of the topics come in any order, as each
// topic may have a subgroup of its own.
func TestDDS14_2_2_3_6_GroupCoherentSet(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B", "C")
		late := &delayed{d: d, at: s.b}
		late.hold(t, s.writers[1].writer) // what comes of topic B is on its way for long
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		s.end(t)
		write(t, s.writers[2], 3, 3)
		require.Equal(t, "data | data | 3:3", s.seen(t), "A has its part, but B has not")
		late.release()
		require.Equal(t, "1:1 | 2:1 | data", s.seen(t))
	})
}

// A set of which one topic's part is lost is not seen on the other topics either.
func TestDDS14_2_2_3_6_GroupSetIsAllOrNothing(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B")
		late := &delayed{d: d, at: s.b}
		late.hold(t, s.writers[1].writer)
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		s.end(t)
		synctest.Wait()
		late.drop()
		d.crash(s.a)
		require.Equal(t, "data | data", s.seen(t))
	})
}

// Nor is it when what comes of the other topics comes after the writer of the lost part is gone for good.
func TestGroupSetOfAWriterThatIsGone(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B")
		late := &delayed{d: d, at: s.b}
		late.hold(t, s.writers[0].writer)
		d.bus.mu.Lock()
		of, at, hold := s.writers[1].writer.id, d.bus.of(s.b), d.bus.lose
		d.bus.lose = func(m *derecho.Message, to *busNode) bool { return to == at && m.Writer == of || hold(m, to) }
		d.bus.mu.Unlock()
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		s.end(t)
		require.NoError(t, s.writers[1].Close())
		require.Equal(t, "data | data", s.seen(t))
		late.release()
		require.Equal(t, "data | data", s.seen(t))
		require.Equal(t, int32(1), s.readers[0].SampleLostStatus().TotalCount)
		write(t, s.writers[0], 1, 2)
		require.Equal(t, "1:2 | data", s.seen(t))
	})
}

// So it is if the end of a part is lost: what follows it tells.
func TestGroupSetWhoseEndIsLost(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B")
		lose := func(f func(*derecho.Message, *busNode) bool) {
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			d.bus.lose = f
		}
		of, at := s.writers[1].writer.id, d.bus.of(s.b)
		lose(func(m *derecho.Message, to *busNode) bool { return to == at && m.Writer == of && m.Kind == kindSetEnd })
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		s.end(t)
		require.Equal(t, "data | data", s.seen(t))
		lose(nil)
		write(t, s.writers[1], 3, 3)
		require.Equal(t, "data | 3:3", s.seen(t))
		for _, r := range s.readers {
			require.Equal(t, int32(1), r.SampleLostStatus().TotalCount)
		}
		s.begin(t)
		write(t, s.writers[0], 1, 2)
		write(t, s.writers[1], 2, 2)
		s.end(t)
		require.Equal(t, "1:2 | 2:2", s.seen(t))
	})
}

// Nor does a set wait for a part whose end found no room on the unordered path, where nothing may ever follow: the
// other ends say so.
func TestGroupSetOfASilentLossyWriter(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStageOn(t, d, present(qos.PresentationGroup, true, false), "A")
		s.readers = append(s.readers, readerOn(t, s.b, s.sub, "B", readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort })))
		s.writers = append(s.writers, writerOn(t, s.a, s.pub, "B", writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort })))
		synctest.Wait()
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		synctest.Wait()
		full := func(by int) {
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			d.bus.of(s.a).inFlight[s.writers[1].writer.at.sg] += by
		}
		full(d.bus.capacity)
		s.end(t)
		full(-d.bus.capacity)
		require.Equal(t, "data | data", s.seen(t))
		write(t, s.writers[0], 1, 2)
		require.Equal(t, "1:2 | data", s.seen(t))
		require.Equal(t, int32(1), s.readers[0].SampleLostStatus().TotalCount)
		s.begin(t)
		write(t, s.writers[0], 1, 3)
		write(t, s.writers[1], 2, 3)
		s.end(t)
		require.Equal(t, "1:3 | 2:3", s.seen(t))
	})
}

// A set that comes during an access is seen in the next one, also if its writer dies in the midst of another set
// meanwhile: what is lost of that comes behind it.
func TestSetBeforeALostOneWhileAReaderStandsStill(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B", "C")
		write(t, s.writers[0], 1, 1)
		require.Equal(t, "1:1 | data | data", s.seen(t))
		require.NoError(t, s.sub.BeginAccess())
		s.begin(t)
		for _, w := range s.writers {
			write(t, w, 1, 2)
		}
		s.end(t)
		s.begin(t)
		write(t, s.writers[1], 1, 3)
		synctest.Wait()
		d.crash(s.a)
		synctest.Wait()
		require.NoError(t, s.sub.EndAccess())
		require.Equal(t, "1:2 | 1:2 | 1:2", s.seen(t))
		require.Equal(t, int32(1), s.readers[1].SampleLostStatus().TotalCount)
	})
}

// Sets that wait in the stream of a writer that is gone leave it one after the other: for the second one the first is
// not in the way.
func TestGroupSetsOfAWriterThatIsGoneWait(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B", "C")
		late := &delayed{d: d, at: s.b}
		late.hold(t, s.writers[2].writer)
		for value := range int32(3) {
			s.begin(t)
			for _, w := range s.writers {
				write(t, w, 1, value)
			}
			s.end(t)
		}
		require.NoError(t, s.writers[1].Close())
		require.Equal(t, "data | data | data", s.seen(t))
		late.release()
		require.Equal(t, "1:0 1:1 1:2 | 1:0 1:1 1:2 | 1:0 1:1 1:2", s.seen(t))
		for _, r := range s.readers {
			require.Zero(t, r.SampleLostStatus().TotalCount)
		}
	})
}

// Nor does a set that waits for room go for one that is lost behind it.
func TestSetBeforeALostOneWaitsForRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStageOn(t, d, present(qos.PresentationTopic, true, false))
		r := readerOn(t, s.b, s.sub, "A", readerQos(func(q *qos.DataReader) { q.ResourceLimits.MaxSamples = 1 }))
		w := writerOn(t, s.a, s.pub, "A", writerQos())
		synctest.Wait()
		late := &delayed{d: d, at: s.b}
		late.hold(t, w.writer) // all is on its way when the reader makes the writer wait
		write(t, w, 1, 1)
		s.begin(t)
		write(t, w, 1, 2)
		s.end(t)
		s.begin(t)
		write(t, w, 1, 3)
		synctest.Wait()
		late.release()
		d.crash(s.a)
		synctest.Wait()
		require.Equal(t, int32(1), r.SampleLostStatus().TotalCount)
		require.Equal(t, "1:1", taken(t, r))
		require.Equal(t, "1:2", taken(t, r))
	})
}

// When a Subscriber's process is cut off from the domain its readers lose the writers one after the other: of a set
// that waits for a part nothing is seen by that. When it is back, a reader that is closed is not waited for.
func TestGroupSetWhenTheReadersAreExcluded(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B")
		set := func(value int32) {
			s.begin(t)
			for _, w := range s.writers {
				write(t, w, 1, value)
			}
			s.end(t)
		}
		set(1)
		require.Equal(t, "1:1 | 1:1", s.seen(t))
		late := &delayed{d: d, at: s.b}
		late.hold(t, s.writers[1].writer) // whose reader loses it first
		set(2)
		require.Equal(t, "data | data", s.seen(t))
		d.bus.exclude(s.b)
		require.Equal(t, "- | -", s.seen(t), "only that there are no writers")
		late.drop()
		d.bus.rejoin(s.b)
		synctest.Wait()
		set(3)
		require.Equal(t, "1:3 | 1:3", s.seen(t))
		require.NoError(t, s.readers[0].Close())
		s.readers = s.readers[1:]
		set(4)
		require.Equal(t, "1:4", s.seen(t))
	})
}

// A part that found no room matters to those only who were to get it: a Subscriber without a reader of its topic, or
// whose reader came after the set had begun, sees the others.
func TestGroupSetWithoutWhoWasSilent(t *testing.T) {
	for _, late := range []bool{false, true} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newStageOn(t, d, present(qos.PresentationGroup, true, false), "A")
			s.writers = append(s.writers, writerOn(t, s.a, s.pub, "B", writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort })))
			synctest.Wait()
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[1], 2, 1)
			synctest.Wait()
			want := "1:1"
			if late {
				s.readers = append(s.readers, readerOn(t, s.b, s.sub, "B", readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort })))
				synctest.Wait()
				want = "1:1 | data"
			}
			full := func(by int) {
				d.bus.mu.Lock()
				defer d.bus.mu.Unlock()
				d.bus.of(s.a).inFlight[s.writers[1].writer.at.sg] += by
			}
			full(d.bus.capacity)
			s.end(t)
			full(-d.bus.capacity)
			require.Equal(t, want, s.seen(t))
		})
	}
}

// While the end of a reliable part waits for room, what other best-effort writers of the process send goes its way.
func TestEndOfASetThatWaitsForRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		lossy := writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort })
		wants := readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort })
		s := newStageOn(t, d, present(qos.PresentationGroup, true, false), "A")
		s.readers = append(s.readers, readerOn(t, s.b, s.sub, "B", wants))
		s.writers = append(s.writers, writerOn(t, s.a, s.pub, "B", lossy))
		plain, other := readerOn(t, s.b, s.b.sub, "B", wants), writerOn(t, s.a, s.a.pub, "B", lossy)
		synctest.Wait()
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		synctest.Wait()
		full := func(by int) {
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			d.bus.of(s.a).inFlight[s.writers[0].writer.at.sg] += by
			d.bus.news()
		}
		full(d.bus.capacity)
		ended := make(chan error, 1)
		go func() { ended <- s.pub.EndCoherentChanges(patiently(t)) }()
		synctest.Wait()
		require.Empty(t, ended, "it waits for room")
		write(t, other, 3, 1)
		synctest.Wait()
		require.Equal(t, "2:1 3:1", taken(t, plain))
		full(-d.bus.capacity)
		require.NoError(t, <-ended)
		require.Equal(t, "1:1 | 2:1", s.seen(t))
	})
}

// An end that found no room in time is not waited for by the readers of the parts that are ended after it.
func TestGroupSetWhoseEndFindsNoRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStageOn(t, d, present(qos.PresentationGroup, true, false), "A")
		s.readers = append(s.readers, readerOn(t, s.b, s.sub, "B", readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal })))
		s.writers = append(s.writers, writerOn(t, s.a, s.pub, "B", durably(qos.DurabilityTransientLocal)))
		require.NotEqual(t, s.writers[0].writer.at.sg, s.writers[1].writer.at.sg)
		synctest.Wait()
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		synctest.Wait()
		full := func(by int) {
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			d.bus.of(s.a).inFlight[s.writers[0].writer.at.sg] += by
		}
		full(d.bus.capacity)
		require.ErrorIs(t, s.pub.EndCoherentChanges(patiently(t)), ErrTimeout)
		full(-d.bus.capacity)
		write(t, s.writers[1], 2, 2)
		require.Equal(t, "data | 2:2", s.seen(t))
		write(t, s.writers[0], 1, 2)
		require.Equal(t, "1:2 | data", s.seen(t))
	})
}

// A set of which the end of a later part finds no room in time does not hold up the parts before it, though that writer
// writes nothing more.
func TestGroupSetWhoseLaterEndFindsNoRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B")
		require.NotEqual(t, s.writers[0].writer.at.sg, s.writers[1].writer.at.sg)
		full := func(by int) {
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			d.bus.of(s.a).inFlight[s.writers[1].writer.at.sg] += by
			d.bus.news()
		}
		lose := func() {
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[1], 2, 1)
			synctest.Wait()
			full(d.bus.capacity)
			require.ErrorIs(t, s.pub.EndCoherentChanges(patiently(t)), ErrTimeout)
			write(t, s.writers[0], 1, 2)
			require.Equal(t, "data | data", s.seen(t))
		}
		lose()
		full(-d.bus.capacity)
		pass(2 * markRetry)
		require.Equal(t, "1:2 | data", s.seen(t))

		s.writers[1].writer.marking.Store(true) // the next set begins before there is room, and before the mark
		lose()
		s.begin(t)
		full(-d.bus.capacity)
		write(t, s.writers[1], 2, 3)
		require.Equal(t, "1:2 | data", s.seen(t))
		write(t, s.writers[0], 1, 3)
		s.end(t)
		require.Equal(t, "1:3 | 2:3", s.seen(t))
	})
}

// A set that can not be ended in time, as a writer is busy, goes on: it is not cut to the parts of the others.
func TestEndOfASetWithABusyWriter(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, false), "A", "B")
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		busy := &s.writers[1].writer.turn
		_, err := busy.take(patiently(t), time.Time{})
		require.NoError(t, err)
		require.ErrorIs(t, s.pub.EndCoherentChanges(patiently(t)), ErrTimeout)
		busy.leave()
		require.Equal(t, "data | data", s.seen(t))
		write(t, s.writers[0], 1, 2)
		s.end(t)
		require.Equal(t, "1:1 1:2 | 2:1", s.seen(t))
	})
}

// GROUP with ordered_access: get_datareaders lists the readers in the order of the changes of the Publisher, over all its
// topics, in whatever order they came.
//
// Clauses: 2.2.2.5.2.10
func TestDDS14_2_2_3_6_GroupOrderedAccess(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, false, true), "A", "B", "C")
		late := &delayed{d: d, at: s.b}
		late.hold(t, s.writers[0].writer)
		var want []string
		for i := range int32(9) {
			topic := int(i*i) % 3
			write(t, s.writers[topic], 1, i)
			want = append(want, fmt.Sprintf("%c%d", 'A'+topic, i))
		}
		synctest.Wait()
		require.Empty(t, s.listed(t), "the first one is of topic A, and on its way")
		late.release()
		require.Equal(t, strings.Join(want, " "), s.listed(t))
	})
}

// listed takes one sample after the other, as get_datareaders says.
func (s *stage) listed(t *testing.T) string {
	t.Helper()
	synctest.Wait()
	return s.list(t)
}

func (s *stage) list(t *testing.T) string {
	t.Helper()
	require.NoError(t, s.sub.BeginAccess())
	defer func() { require.NoError(t, s.sub.EndAccess()) }()
	var out []string
	for _, any := range s.sub.Readers(AnySampleState, AnyViewState, AnyInstanceState) {
		samples, err := any.(*DataReader[track]).Take(MaxSamples(1))
		require.NoError(t, err)
		x := samples.At(0)
		if d := x.Data(); d != nil {
			out = append(out, fmt.Sprintf("%s%d", any.TopicName(), d.Value))
		} else {
			out = append(out, any.TopicName()+"-")
		}
		samples.Close()
	}
	return strings.Join(out, " ")
}

// Between begin_access and end_access the readers of a Subscriber with GROUP access stand still; outside they can not be
// read.
//
// Clauses: 2.2.2.5.2.9
func TestDDS14_2_2_2_5_2_8_Access(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationGroup, true, true), "A", "B")
		write(t, s.writers[0], 1, 1)
		synctest.Wait()
		_, err := s.readers[0].Take()
		require.ErrorIs(t, err, ErrPreconditionNotMet)
		require.ErrorContains(t, err, "BeginAccess")
		require.ErrorIs(t, s.sub.EndAccess(), ErrPreconditionNotMet)

		require.NoError(t, s.sub.BeginAccess())
		require.NoError(t, s.sub.BeginAccess())
		write(t, s.writers[0], 1, 2)
		require.Equal(t, "1:1", taken(t, s.readers[0]))
		require.NoError(t, s.sub.EndAccess())
		require.Equal(t, "data", taken(t, s.readers[0]), "nested")
		require.NoError(t, s.sub.EndAccess())
		require.Equal(t, "1:2 | data", s.seen(t))
		require.NoError(t, s.b.sub.BeginAccess(), "has no effect in other scopes")
		require.NoError(t, s.b.sub.EndAccess())
	})
}

// A reader that comes in the midst of a set sees nothing of it, or all if it asks for history; one that comes late gets from the
// history what was complete.
func TestDDS14_2_2_3_6_LateReaderSeesWholeSets(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newStage(t, d, present(qos.PresentationTopic, true, false))
		w := writerOn(t, s.a, s.pub, "A", writerQos(func(q *qos.DataWriter) {
			q.Durability.Kind, q.History = qos.DurabilityTransient, qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
		}))
		durable := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransient })
		keeper := readerOn(t, s.b, s.sub, "A", durable)
		s.begin(t)
		write(t, w, 1, 1)
		write(t, w, 2, 1)
		s.end(t)
		s.begin(t)
		write(t, w, 1, 2)
		synctest.Wait()
		c := d.node(t)
		sub, err := c.p.NewSubscriber(WithSubscriberQos(s.sub.Qos()))
		require.NoError(t, err)
		late := readerOn(t, c, sub, "A", durable)
		volatile := readerOn(t, c, sub, "A", readerQos())
		require.NoError(t, late.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "1:1 2:1", taken(t, late))
		write(t, w, 2, 2)
		s.end(t)
		require.Equal(t, "1:1 1:2 2:1 2:2", taken(t, keeper))
		require.Equal(t, "1:2 2:2", taken(t, late))
		require.Equal(t, "data", taken(t, volatile))
		require.Zero(t, late.SampleLostStatus().TotalCount)
		require.EqualValues(t, 1, volatile.SampleLostStatus().TotalCount, "what came of it to the reader")
		s.begin(t)
		write(t, w, 3, 3)
		synctest.Wait()
		d.crash(s.a)
		synctest.Wait()
		after := readerOn(t, c, sub, "A", durable)
		require.NoError(t, after.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "1:1 1:2 2:1 2:2", taken(t, after), "the set that did not end is not part of the history")
	})
}

// Of a set one reader may get its part from a history, and another one, whose topic is slower, when it is sent: that
// one is seen then, too.
func TestGroupSetOfWhichAPartIsHistory(t *testing.T) {
	for _, history := range []qos.History{{Kind: qos.HistoryKeepAll, Depth: 1}, {Kind: qos.HistoryKeepLast, Depth: 1}} {
		t.Run(history.Kind.String(), func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				s := newEmptyStage(t, d, present(qos.PresentationGroup, true, false))
				for _, name := range []string{"A", "B"} {
					s.writers = append(s.writers, writerOn(t, s.a, s.pub, name, writerQos(func(q *qos.DataWriter) {
						q.Durability.Kind, q.History = qos.DurabilityTransient, history
					})))
				}
				durable := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransient })
				s.readers = append(s.readers, readerOn(t, s.b, s.sub, "A", durable))
				synctest.Wait()
				late := &delayed{d: d, at: s.b}
				late.hold(t, s.writers[0].writer)
				s.begin(t)
				for _, w := range s.writers {
					write(t, w, 1, 1)
					write(t, w, 1, 2)
				}
				s.end(t)
				synctest.Wait()
				s.readers = append(s.readers, readerOn(t, s.b, s.sub, "B", durable))
				require.NoError(t, s.readers[1].WaitForHistoricalData(patiently(t)))
				synctest.Wait()
				late.release()
				past := "1:1 1:2"
				if history.Kind == qos.HistoryKeepLast {
					past = "1:2"
				}
				require.Equal(t, "1:1 1:2 | "+past, s.seen(t))
				require.Zero(t, s.readers[0].SampleLostStatus().TotalCount)
				s.begin(t)
				for _, w := range s.writers {
					write(t, w, 1, 3)
				}
				s.end(t)
				require.Equal(t, "1:3 | 1:3", s.seen(t))
			})
		})
	}
}

// delayed keeps what comes of a writer at a node, as another subgroup may be slower.
type delayed struct {
	d    *domain
	at   *node
	sg   derecho.SubgroupID
	from derecho.EndpointID
	kept []derecho.Message
}

func (l *delayed) hold(t *testing.T, w *writer) {
	l.sg, l.from = w.at.sg, w.id
	b := l.d.bus
	node := b.of(l.at)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lose = func(m *derecho.Message, to *busNode) bool {
		if to != node || m.Writer != l.from {
			return false
		}
		kept := *m
		kept.Payload = append([]byte(nil), m.Payload...)
		l.kept = append(l.kept, kept)
		return true
	}
}

func (l *delayed) drop() {
	l.d.bus.mu.Lock()
	defer l.d.bus.mu.Unlock()
	l.d.bus.lose, l.kept = nil, nil
}

func (l *delayed) release() {
	b := l.d.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lose = nil
	node := b.of(l.at)
	for _, m := range l.kept {
		node.do(func() { node.h.Deliver(l.sg, []derecho.Message{m}) })
	}
	l.kept = nil
}

// Whatever a Publisher writes on three topics, in and out of coherent sets, and however the topics' messages overtake each
// other on their way, and the announcements of their writers: a Subscriber with GROUP access sees all of it, in the order in
// which it was written, and every set in one access. The twin is the list of what was written.
func TestGroupAccessUnderAnyInterleaving(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := onBus(t)
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		topics := []string{"A", "B", "C"}
		late := rapid.IntRange(0, len(topics)).Draw(rt, "writers that are there before the readers")
		s.addWriters(t, topics[:late])
		s.addReaders(t, topics)
		concealed := conceal(s)
		s.addWriters(t, topics[late:])
		defer func() {
			for _, n := range d.nodes {
				_ = n.p.Close()
			}
		}()
		d.settle(t)
		on := d.bus.of(s.b)
		underway := make(map[derecho.EndpointID][]derecho.Message)
		d.bus.mu.Lock()
		d.bus.lose = func(m *derecho.Message, to *busNode) bool {
			if to != on {
				return false
			}
			kept := *m
			kept.Payload = append([]byte(nil), m.Payload...)
			underway[m.Writer] = append(underway[m.Writer], kept)
			return true
		}
		d.bus.mu.Unlock()
		var written, got []string
		set := make(map[string]int) // by sample
		sets, open := 0, false
		for i := range int32(rapid.IntRange(1, 25).Draw(rt, "samples")) {
			switch {
			case open && rapid.IntRange(0, 3).Draw(rt, "end") == 0:
				s.end(t)
				open = false
			case !open && rapid.IntRange(0, 3).Draw(rt, "begin") == 0:
				s.begin(t)
				open = true
				sets++
			}
			w := rapid.IntRange(0, 2).Draw(rt, "topic")
			write(t, s.writers[w], 1, i)
			name := fmt.Sprintf("%c%d", 'A'+w, i)
			written = append(written, name)
			if open {
				set[name] = sets
			}
		}
		if open {
			s.end(t)
		}
		d.settle(t)
		look := func() {
			var here []string
			if text := s.list(t); text != "" {
				here = strings.Split(text, " ")
			}
			got = append(got, here...)
			for _, of := range set {
				members := 0
				for _, name := range here {
					if set[name] == of {
						members++
					}
				}
				all := 0
				for _, o := range set {
					if o == of {
						all++
					}
				}
				if members != 0 && members != all {
					rt.Fatalf("%d of %d samples of set %d were seen: %v", members, all, of, here)
				}
			}
		}
		for len(underway) > 0 {
			var from []derecho.EndpointID
			for id := range underway {
				if !concealed.has(id) {
					from = append(from, id)
				}
			}
			slices.Sort(from)
			if next := concealed.next(); next != 0 {
				from = append(from, next)
			}
			id := rapid.SampledFrom(from).Draw(rt, "from")
			if concealed.has(id) {
				concealed.introduce()
				d.bus.settle(t)
				continue
			}
			m := underway[id][0]
			if underway[id] = underway[id][1:]; len(underway[id]) == 0 {
				delete(underway, id)
			}
			sg := s.writers[0].at.sg // that of any topic: what counts is the writer
			d.bus.mu.Lock()
			on.do(func() { on.h.Deliver(sg, []derecho.Message{m}) })
			d.bus.mu.Unlock()
			d.bus.settle(t)
			if rapid.Bool().Draw(rt, "look") {
				look()
			}
		}
		look()
		if !slices.Equal(got, written) {
			rt.Fatalf("written %v\nseen    %v", written, got)
		}
	})
}

// A process that makes and closes writers for ever leaves a bounded trace at a Subscriber with GROUP access.
func TestBuriedWritersAreBounded(t *testing.T) {
	a := newAccess(qos.Presentation{AccessScope: qos.PresentationGroup, CoherentAccess: true})
	key := func(i int) endpointKey { return endpointKey{node: derecho.NodeID(i % 2), id: derecho.EndpointID(i)} }
	for i := range 3 * maxBuried {
		a.bury(key(i))
		a.bury(key(i))
	}
	require.Len(t, a.buried, maxBuried)
	require.True(t, a.buried[key(2*maxBuried)])
	require.False(t, a.buried[key(2*maxBuried-1)], "the oldest give way")
	a.exhume(1)
	require.Len(t, a.buried, maxBuried/2)
	require.Len(t, a.graves, maxBuried/2)
}
