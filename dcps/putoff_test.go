package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// awaitsFrom has a node wait for the history of a writer's topic as another node has it now. arrives gives it that.
func (b *bus) awaitsFrom(t *testing.T, at, from *node, w *DataWriter[track]) (arrives func()) {
	t.Helper()
	key := w.untyped().at
	state := b.saved(t, from, key)
	b.awaits(t, at, w, 1)
	return func() { b.loads(t, at, key, state) }
}

// saved is the history of a channel as a node has it.
func (b *bus) saved(t *testing.T, from *node, key channelKey) []byte {
	t.Helper()
	var encode func() []byte
	require.NoError(t, b.of(from).Upcall(patiently(t), func() { encode = from.p.hub.SaveState(key.sg, key.ch) }))
	return encode()
}

// loads has a node take over the history of a channel.
func (b *bus) loads(t *testing.T, at *node, key channelKey, state []byte) {
	t.Helper()
	load := at.p.hub.ReadState(key.sg, key.ch, state)
	b.mu.Lock()
	b.of(at).load(load)
	b.mu.Unlock()
	b.settle(t)
}

// Presentations with which samples pass a stream, and the one with which they do not.
var presentations = map[string]qos.Presentation{
	"plain":         qos.DefaultPublisher().Presentation,
	"coherent":      present(qos.PresentationTopic, true, false),
	"group":         present(qos.PresentationGroup, true, true),
	"group ordered": present(qos.PresentationGroup, false, true),
}

// takeEach takes what there is, one after the other, as GROUP ordered access gives it.
func takeEach(t *testing.T, sub *Subscriber, r *DataReader[track]) (all []string) {
	require.NoError(t, sub.BeginAccess())
	for s := takeText(t, r, MaxSamples(1)); s != "no data"; s = takeText(t, r, MaxSamples(1)) {
		all = append(all, s)
	}
	require.NoError(t, sub.EndAccess())
	return all
}

// part has the writer of a stage, w, part from its readers, and tells of how many it has matches then.
func (s *stage) part(t *testing.T, d *domain, w *DataWriter[track], how string) (left int) {
	t.Helper()
	switch how {
	case "closes":
		require.NoError(t, w.Close())
	case "fails":
		d.crash(s.a)
	case "moves":
		moves(t, w, "elsewhere")
		write(t, w, 3, 3)
	case "moves there and back":
		moves(t, w, "elsewhere")
		moves(t, w)
		left = 1
	case "joins again":
		d.bus.exclude(s.a)
		d.bus.rejoin(s.a)
		require.NoError(t, s.a.p.WaitForDomain(patiently(t)))
		left = 1
	}
	d.bus.settle(t)
	return left
}

// A writer that goes, or does not match any more, while the history of its topic is on its way leaves its readers behind what
// it has sent to them: all of that is seen, and then its instances have no writer.
func TestMatchEndsWhileTheHistoryComes(t *testing.T) {
	for name, p := range presentations {
		for _, how := range []string{"closes", "fails", "moves", "moves there and back", "joins again"} {
			t.Run(name+" "+how, func(t *testing.T) {
				d := onBus(t)
				s := newEmptyStage(t, d, p)
				other := d.node(t)
				keeps := durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
					q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
				})
				other.reader(t, durableReader(qos.DurabilityTransient)) // who has the history
				r := readerOn(t, s.b, s.sub, "Track", durableReader(qos.DurabilityTransient))
				w := writerOn(t, s.a, s.pub, "Track", keeps)
				require.NoError(t, w.WaitForMatch(patiently(t), 1))
				d.settle(t)
				d.bus.awaits(t, s.b, w, 2) // what is written now is in the history
				write(t, w, 1, 1)
				d.bus.settle(t)
				arrives := d.bus.awaitsFrom(t, s.b, other, w)
				write(t, w, 2, 2)
				d.bus.settle(t)
				left := s.part(t, d, w, how)
				require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount, "nothing is over yet")
				arrives()
				const over = "[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] "
				require.Equal(t, []string{over + "1:1", over + "2:2"}, takeEach(t, s.sub, r))
				require.Zero(t, r.SampleLostStatus().TotalCount)
				matched := r.SubscriptionMatchedStatus()
				require.Equal(t, int32(left), matched.CurrentCount)
				require.Equal(t, int32(1+left), matched.TotalCount)
				require.Len(t, r.MatchedPublications(), left)
				if left == 0 {
					return
				}
				write(t, w, 1, 4)
				d.bus.settle(t)
				require.Equal(t, []string{"[NOT_READ NEW ALIVE d=0 n=0] 1:4"}, takeEach(t, s.sub, r))
			})
		}
	}
}

// A writer's process ends while the history of its topic is on its way, and another one writes on: who waits for the history
// keeps what those keep that have it.
func TestWriterEndsWhileTheHistoryComes(t *testing.T) {
	d := onBus(t)
	first, second, has, waits := d.node(t), d.node(t), d.node(t), d.node(t)
	room := func(q *qos.DataWriter) {
		twoSamples(q)
		q.Durability.Kind = qos.DurabilityTransient
	}
	for _, n := range []*node{has, waits} {
		n.reader(t, durableReader(qos.DurabilityTransient))
	}
	old, next := first.writer(t, writerQos(blocking(patience), room)), second.writer(t, writerQos(blocking(patience), room))
	write(t, old, 1, 10)
	write(t, next, 2, 20)
	d.settle(t)
	arrives := d.bus.awaitsFrom(t, waits, has, old)
	write(t, next, 1, 11) // does not fit
	d.bus.settle(t)
	d.crash(first)
	d.bus.settle(t)
	write(t, next, 3, 33) // nor does this, as another instance
	d.bus.settle(t)
	arrives()
	for _, n := range []*node{has, waits} {
		late := n.reader(t, durableReader(qos.DurabilityTransient))
		require.NoError(t, late.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "1:10 2:20", values(t, late, 2))
	}
	sameHistories(t, d, old, has, waits)
}

// Nor does what is put off outlive a reader, or keep others of its Subscriber waiting.
func TestReaderGoesWhileAMatchIsToEnd(t *testing.T) {
	for _, excluded := range []bool{false, true} {
		d := onBus(t)
		s := newEmptyStage(t, d, present(qos.PresentationGroup, true, true))
		r := readerOn(t, s.b, s.sub, "Track", durableReader(qos.DurabilityTransient))
		s.addReaders(t, []string{"Other"})
		w := writerOn(t, s.a, s.pub, "Track", durably(qos.DurabilityTransient))
		s.addWriters(t, []string{"Other"})
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		d.settle(t)
		d.bus.awaits(t, s.b, w, 1)
		write(t, w, 1, 1)
		d.bus.settle(t)
		require.NoError(t, w.Close())
		d.bus.settle(t)
		require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount)
		if excluded {
			d.bus.exclude(s.b)
			d.bus.rejoin(s.b)
			require.NoError(t, s.b.p.WaitForDomain(patiently(t)))
			require.Zero(t, r.SubscriptionMatchedStatus().CurrentCount)
			require.Empty(t, r.MatchedPublications())
		} else {
			require.NoError(t, r.Close())
		}
		d.settle(t)
		write(t, s.writers[0], 1, 2)
		d.settle(t)
		require.Equal(t, []string{"[NOT_READ NEW ALIVE d=0 n=0] 1:2"}, takeEach(t, s.sub, s.readers[0]))
		require.Len(t, s.sub.access.all, 1)
	}
}
