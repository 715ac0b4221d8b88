package dcps

import (
	"slices"
	"testing"
	"testing/synctest"

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

// What was sent before the subscriber's process knew its writer may name one that had ended by then, and does not wait for it.
func TestGroupSetOfAWriterThatHadEnded(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, false))
		s.addWriters(t, []string{"A"})
		synctest.Wait()
		mark := &delayed{d: d, at: s.b}
		mark.hold(t, s.writers[0].writer)
		s.addReaders(t, []string{"A"})
		synctest.Wait()
		require.NotEmpty(t, mark.kept)
		w := s.writers[0].writer
		const ended = derecho.EndpointID(99)
		seq := uint64(1)
		send := func(number uint64, value int32) {
			end := &setEnd{number: number, parts: []part{{w.id, seq, seq}, {ended, 1, 1}}}
			sample := *sampleMessage(t, &track{ID: 1, Value: value}, seq)
			sample.Flags = flagInSet | flagSetBegin
			last := derecho.Message{Header: derecho.Header{Kind: kindSetEnd, WriterSeq: seq + 1}, Payload: end.encode()}
			seq += 3
			on, from := d.bus.of(s.b), s.a.p.core.ID()
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			for _, m := range []derecho.Message{sample, last} {
				m.Sender, m.Writer = from, w.id
				on.do(func() { on.h.Deliver(w.at.sg, []derecho.Message{m}) })
			}
		}
		send(1, 1)
		require.Equal(t, "1:1", s.seen(t))
		mark.kept[0].WriterSeq = seq
		seq++
		mark.release()
		send(2, 2)
		require.Equal(t, "data", s.seen(t), "it had not ended when this was sent")
	})
}

// When the publisher's process has joined again, and one of its writers is refused, the others are not held up by it. Of a set
// that was begun before no part is seen.
func TestGroupSetsBesideAWriterThatIsRefused(t *testing.T) {
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
		refused := s.writers[1].writer.id
		d.bus.conceal = func(ep derecho.Endpoint, _ *busNode) bool { return ep.ID == refused }
		d.bus.rejoin(s.a)
		synctest.Wait()
		require.Equal(t, "B-", s.listed(t), "there is no writer")
		write(t, s.writers[0], 1, 3)
		s.end(t)
		require.Empty(t, s.listed(t))
		require.Equal(t, int32(1), s.readers[0].SampleLostStatus().TotalCount)
		write(t, s.writers[0], 1, 4)
		s.begin(t)
		write(t, s.writers[0], 1, 5)
		s.end(t)
		require.Equal(t, "A4 A5", s.listed(t))
	})
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
