package dcps

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// concealed keeps the announcements of writers from the subscriber's process of a stage: each member is told of endpoints in
// its own time.
type concealed struct {
	b   *bus
	to  *busNode
	eps []derecho.Endpoint
}

func conceal(s *stage) *concealed {
	c := &concealed{b: s.d.bus, to: s.d.bus.of(s.b)}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.b.conceal = func(ep derecho.Endpoint, to *busNode) bool {
		if to != c.to || ep.Writes.ID == 0 {
			return false
		}
		c.eps = append(c.eps, ep)
		return true
	}
	return c
}

func (c *concealed) has(id derecho.EndpointID) bool {
	return slices.ContainsFunc(c.eps, func(ep derecho.Endpoint) bool { return ep.ID == id })
}

// next is the writer that is to be introduced next, 0 for none.
func (c *concealed) next() derecho.EndpointID {
	if len(c.eps) == 0 {
		return 0
	}
	return c.eps[0].ID
}

func (c *concealed) introduce() {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	ep := c.eps[0]
	c.eps = c.eps[1:]
	c.to.do(func() { c.to.h.EndpointAdded(ep) })
}

// newStrangeStage has a reader for each of A and B, the writer of A, and that of B, of which the subscriber's process has not
// been told: what it sends there is kept as well. If late, the writer of A is there before the readers.
func newStrangeStage(t *testing.T, d *domain, late bool) (*stage, *concealed, *delayed) {
	s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
	if late {
		s.addWriters(t, []string{"A"})
	}
	s.addReaders(t, []string{"A", "B"})
	if !late {
		s.addWriters(t, []string{"A"})
	}
	synctest.Wait()
	unknown := conceal(s)
	s.addWriters(t, []string{"B"})
	synctest.Wait()
	behind := &delayed{d: d, at: s.b}
	behind.hold(t, s.writers[1].writer)
	return s, unknown, behind
}

// A coherent set waits for a writer that has a part in it and that the subscriber's process is told of later; so does what is
// behind a sample of such a writer.
func TestGroupSetOfAWriterThatIsNotKnownYet(t *testing.T) {
	for _, late := range []bool{false, true} {
		virtually(t, func(t *testing.T, d *domain) {
			s, unknown, behind := newStrangeStage(t, d, late)
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[1], 2, 2)
			s.end(t)
			require.Empty(t, s.listed(t))
			unknown.introduce()
			require.Empty(t, s.listed(t))
			behind.release()
			require.Equal(t, "A1 B2", s.listed(t))
		})
		virtually(t, func(t *testing.T, d *domain) {
			s, unknown, behind := newStrangeStage(t, d, late)
			write(t, s.writers[1], 1, 1)
			write(t, s.writers[0], 2, 2)
			require.Empty(t, s.listed(t))
			unknown.introduce()
			require.Empty(t, s.listed(t))
			behind.release()
			require.Equal(t, "B1 A2", s.listed(t))
		})
	}
}

// Of a publisher that is gone before all its writers were introduced no part of such a set is seen.
func TestGroupSetOfAWriterThatIsNeverKnown(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s, _, behind := newStrangeStage(t, d, false)
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 1)
		s.end(t)
		require.Empty(t, s.listed(t))
		behind.drop()
		d.crash(s.a)
		require.Equal(t, "data | data", s.seen(t))
		require.Equal(t, int32(1), s.readers[0].SampleLostStatus().TotalCount)
	})
}

// So it is if the publisher's process has joined again before, or if nothing can be sent as the readers come: what comes of a
// writer may be ahead of its mark.
func TestGroupSetBeforeTheMark(t *testing.T) {
	behindStranger := func(t *testing.T, d *domain, s *stage) {
		unknown := conceal(s)
		s.addWriters(t, []string{"B"})
		behind := &delayed{d: d, at: s.b}
		behind.hold(t, s.writers[1].writer)
		s.begin(t)
		write(t, s.writers[0], 1, 1)
		write(t, s.writers[1], 2, 2)
		s.end(t)
		require.Empty(t, s.listed(t))
		unknown.introduce()
		behind.release()
		require.Equal(t, "A1 B2", s.listed(t))
	}
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		s.addReaders(t, []string{"A", "B"})
		d.bus.exclude(s.a)
		d.bus.rejoin(s.a)
		s.addWriters(t, []string{"A"})
		behindStranger(t, d, s)
	})
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		s.addWriters(t, []string{"A"})
		synctest.Wait()
		d.bus.isolate(s.a, derecho.ErrNoMajority)
		s.addReaders(t, []string{"A", "B"})
		time.Sleep(markRetry / 5)
		d.bus.isolate(s.a, nil)
		time.Sleep(markRetry / 5)
		behindStranger(t, d, s)
	})
}

// joins adds a process with a reader of A, which takes the place of the stage's subscriber.
func (s *stage) joins(t *testing.T) {
	q := qos.DefaultSubscriber()
	q.Presentation = present(qos.PresentationGroup, true, true)
	s.b = s.d.node(t)
	sub, err := s.b.p.NewSubscriber(WithSubscriberQos(q))
	require.NoError(t, err)
	s.sub, s.readers = sub, nil
	s.addReaders(t, []string{"A"})
	synctest.Wait()
}

// withdraws has a writer closed and its process not be told that it is gone, until that is finished.
func (s *stage) withdraws(t *testing.T, w *DataWriter[track]) (finish func()) {
	gone, closed := make(chan struct{}), make(chan error)
	s.d.bus.mu.Lock()
	s.d.bus.undrained = gone
	s.d.bus.mu.Unlock()
	go func() { closed <- w.Close() }()
	synctest.Wait()
	return func() {
		close(gone)
		require.NoError(t, <-closed)
	}
}

// A process that joins when a writer has been withdrawn is never told of it, and waits for nothing of it: not while its own
// process has not heard yet that it is gone, nor for what was about to be written before it was closed.
func TestGroupOrderBesideAWriterThatHasEnded(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		s.addWriters(t, []string{"A", "B"})
		synctest.Wait()
		write(t, s.writers[1], 1, 1)
		finish := s.withdraws(t, s.writers[1])
		s.joins(t)
		write(t, s.writers[0], 1, 2)
		require.Equal(t, "A2", s.listed(t))
		finish()
		write(t, s.writers[0], 1, 3)
		require.Equal(t, "A3", s.listed(t))
	})
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		s.addWriters(t, []string{"A", "B"})
		synctest.Wait()
		write(t, s.writers[1], 1, 1)
		a := s.writers[0].writer
		require.NoError(t, a.takeTurn(patiently(t), "test", time.Time{}))
		written := make(chan error)
		go func() { written <- s.writers[0].Write(patiently(t), &track{ID: 1, Value: 2}) }()
		synctest.Wait() // it knows of B, and waits for its turn
		require.NoError(t, s.writers[1].Close())
		s.joins(t)
		a.turn.leave()
		require.NoError(t, <-written)
		require.Equal(t, "A2", s.listed(t))
	})
}

// So it is with a set in the midst of which a writer was closed.
func TestGroupSetInTheMidstOfWhichAWriterIsClosed(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		s.addWriters(t, []string{"A", "B"})
		synctest.Wait()
		s.begin(t)
		write(t, s.writers[1], 1, 1)
		finish := s.withdraws(t, s.writers[1])
		s.joins(t)
		write(t, s.writers[0], 1, 2)
		_ = s.pub.EndCoherentChanges(patiently(t)) // whether there is room for the end of the writer that is closed depends
		finish()
		require.Empty(t, s.listed(t))
		require.Equal(t, int32(1), s.readers[0].SampleLostStatus().TotalCount)
		write(t, s.writers[0], 1, 3)
		require.Equal(t, "A3", s.listed(t))
	})
}

// When the publisher's process has joined again, and one of its writers is refused, the others are not held up by it. Of a set
// that was begun before no part is seen, also if what the others send then comes before their marks.
func TestGroupSetsBesideAWriterThatIsRefused(t *testing.T) {
	for _, late := range []bool{false, true} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
			s.addReaders(t, []string{"A", "B"})
			s.addWriters(t, []string{"A", "B"})
			synctest.Wait()
			write(t, s.writers[1], 2, 1)
			require.Equal(t, "B1", s.listed(t))
			s.begin(t)
			write(t, s.writers[1], 2, 2)
			synctest.Wait()
			d.bus.exclude(s.a)
			refused, publisher := s.writers[1].writer.id, d.bus.of(s.a)
			d.bus.conceal = func(ep derecho.Endpoint, to *busNode) bool {
				if ep.ID == refused && to == publisher && late {
					to.do(func() { time.Sleep(markRetry / 5) }) // the others have been announced, and can not send yet
				}
				return ep.ID == refused
			}
			d.bus.rejoin(s.a)
			time.Sleep(markRetry * 2 / 5)
			require.Equal(t, "B-", s.listed(t), "there is no writer")
			write(t, s.writers[0], 1, 3)
			require.ErrorIs(t, s.pub.EndCoherentChanges(patiently(t)), ErrPreconditionNotMet)
			require.Empty(t, s.listed(t))
			require.Equal(t, int32(1), s.readers[0].SampleLostStatus().TotalCount)
			write(t, s.writers[0], 1, 4)
			s.begin(t)
			write(t, s.writers[0], 1, 5)
			s.end(t)
			require.Equal(t, "A4 A5", s.listed(t))
		})
	}
}

// Of a set that is open when the publisher's process is excluded no part is seen, also if all its writers are back and send again
// what they keep. EndCoherentChanges says so.
func TestGroupSetInTheMidstOfWhichThePublisherIsExcluded(t *testing.T) {
	for _, kind := range []qos.DurabilityKind{qos.DurabilityVolatile, qos.DurabilityTransientLocal} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
			for _, name := range []string{"A", "B"} {
				s.readers = append(s.readers, readerOn(t, s.b, s.sub, name, readerQos(func(q *qos.DataReader) { q.Durability.Kind = kind })))
				s.writers = append(s.writers, writerOn(t, s.a, s.pub, name, writerQos(func(q *qos.DataWriter) { q.Durability.Kind = kind })))
			}
			synctest.Wait()
			write(t, s.writers[0], 1, 0)
			require.Equal(t, "A0", s.listed(t))
			s.begin(t)
			write(t, s.writers[1], 2, 1)
			synctest.Wait()
			d.bus.exclude(s.a)
			d.bus.rejoin(s.a)
			time.Sleep(time.Second)
			require.Equal(t, "A-", s.listed(t))
			write(t, s.writers[0], 1, 3)
			err := s.pub.EndCoherentChanges(patiently(t))
			require.ErrorIs(t, err, derecho.ErrExcluded)
			checkTold(t, err)
			require.Empty(t, s.listed(t))
			require.Positive(t, s.readers[0].SampleLostStatus().TotalCount)
			s.begin(t)
			write(t, s.writers[0], 1, 4)
			write(t, s.writers[1], 2, 5)
			s.end(t)
			require.Equal(t, "A4 B5", s.listed(t))
		})
	}
}

// A set of IDs holds what was added to it, in as few ranges as can be.
func TestIDSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s idSet
		twin := map[derecho.EndpointID]bool{}
		for _, id := range rapid.SliceOf(rapid.Uint32Range(1, 40)).Draw(t, "ids") {
			s.add(derecho.EndpointID(id))
			twin[derecho.EndpointID(id)] = true
		}
		ranges := 0
		for id := range derecho.EndpointID(42) {
			if s.has(id) != twin[id] {
				t.Fatalf("%d: %t in %v", id, s.has(id), s)
			}
			if twin[id] && !twin[id-1] {
				ranges++
			}
		}
		if len(s) != ranges {
			t.Fatalf("%d ranges, of %d: %v", len(s), ranges, s)
		}
	})
}
