package dcps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// inPieces has a node give so many samples of histories between two passes; 0: none.
func (b *bus) inPieces(t *testing.T, n *node, of int) {
	t.Helper()
	require.NoError(t, b.of(n).Upcall(patiently(t), func() { n.p.hub.atOnce = of }))
	b.settle(t)
}

// lent is how many cuts of the history of a writer's topic are not ended.
func (b *bus) lent(t *testing.T, n *node, w *DataWriter[track]) (cuts int32) {
	t.Helper()
	require.NoError(t, b.of(n).Upcall(patiently(t), func() { cuts = n.p.hub.channels[w.untyped().at].history.lent.Load() }))
	return cuts
}

// A writer that goes, or does not match any more, while a reader is given the history leaves it behind all that it has sent. Who
// has the history does not wait for that reader.
func TestMatchEndsWhileTheHistoryIsGiven(t *testing.T) {
	for name, p := range presentations {
		for _, how := range []string{"closes", "fails", "moves", "moves there and back", "joins again"} {
			t.Run(name+" "+how, func(t *testing.T) {
				d := onBus(t)
				s := newEmptyStage(t, d, p)
				keeps := durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
					q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
				})
				has := s.b.reader(t, durableReader(qos.DurabilityTransient))
				w := writerOn(t, s.a, s.pub, "Track", keeps)
				require.NoError(t, w.WaitForMatch(patiently(t), 1))
				write(t, w, 1, 1)
				d.bus.settle(t)
				d.bus.inPieces(t, s.b, 0)
				r := readerOn(t, s.b, s.sub, "Track", durableReader(qos.DurabilityTransient))
				require.NoError(t, w.WaitForMatch(patiently(t), 2))
				d.bus.settle(t)
				write(t, w, 2, 2)
				d.bus.settle(t)
				require.Equal(t, "1:1 2:2", values(t, has, 2))
				require.Empty(t, takeEach(t, s.sub, r))
				move := func(partition ...string) {
					q := s.pub.Qos()
					q.Partition.Name = partition
					require.NoError(t, s.pub.SetQos(q))
				}
				left := 0
				switch how {
				case "closes":
					require.NoError(t, w.Close())
				case "fails":
					d.crash(s.a)
				case "moves":
					move("elsewhere")
					write(t, w, 3, 3)
				case "moves there and back":
					move("elsewhere")
					move()
					left = 1
				case "joins again":
					d.bus.exclude(s.a)
					d.bus.rejoin(s.a)
					require.NoError(t, s.a.p.WaitForDomain(patiently(t)))
					left = 1
				}
				d.bus.settle(t)
				require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount, "nothing is over yet")
				d.bus.inPieces(t, s.b, 1)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				const over = "[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] "
				require.Equal(t, []string{over + "1:1", over + "2:2"}, takeEach(t, s.sub, r))
				require.Zero(t, r.SampleLostStatus().TotalCount)
				matched := r.SubscriptionMatchedStatus()
				require.Equal(t, int32(left), matched.CurrentCount)
				require.Equal(t, int32(1+left), matched.TotalCount)
				require.Zero(t, d.bus.lent(t, s.b, w))
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

// A reader that goes while it is given a history, or whose process is excluded, leaves nothing behind; in the latter case it is
// given the history when it is back.
func TestReaderGoesWhileTheHistoryIsGiven(t *testing.T) {
	for _, excluded := range []bool{false, true} {
		t.Run(fmt.Sprint("excluded ", excluded), func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			w := a.writer(t, durably(qos.DurabilityTransient, keepAll))
			b.reader(t, durableReader(qos.DurabilityTransient))
			for i := range int32(5) {
				write(t, w, 1, i)
			}
			d.bus.settle(t)
			d.bus.inPieces(t, b, 0)
			r := b.reader(t, durableReader(qos.DurabilityTransient))
			require.NoError(t, w.WaitForMatch(patiently(t), 2))
			write(t, w, 1, 5)
			d.bus.settle(t)
			require.Equal(t, int32(1), d.bus.lent(t, b, w))
			if excluded {
				d.bus.exclude(b)
				d.bus.rejoin(b)
				d.bus.inPieces(t, b, 1)
				require.NoError(t, b.p.WaitForDomain(patiently(t)))
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				require.Equal(t, "1:0 1:1 1:2 1:3 1:4 1:5", values(t, r, 6))
			} else {
				require.NoError(t, r.Close())
				d.bus.inPieces(t, b, 1)
			}
			d.bus.settle(t)
			require.Zero(t, d.bus.lent(t, b, w))
		})
	}
}

// A reader that matches another writer while it is given a history is given the one of that writer, too, and nothing twice.
func TestWriterComesWhileTheHistoryIsGiven(t *testing.T) {
	d := onBus(t)
	a, b, c := d.node(t), d.node(t), d.node(t)
	w, other := a.writer(t, durably(qos.DurabilityTransient, keepAll)), c.writer(t, durably(qos.DurabilityTransient, keepAll))
	b.reader(t, durableReader(qos.DurabilityTransient))
	q := other.untyped().pub.Qos()
	q.Partition.Name = []string{"elsewhere"}
	require.NoError(t, other.untyped().pub.SetQos(q))
	for i := range int32(3) {
		write(t, w, 1, i)
		write(t, other, 2, i)
	}
	d.settle(t)
	d.bus.inPieces(t, b, 0)
	r := b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	write(t, w, 1, 3)
	d.settle(t)
	q.Partition.Name = nil
	require.NoError(t, other.untyped().pub.SetQos(q))
	d.settle(t)
	write(t, other, 2, 3)
	write(t, w, 1, 4)
	d.settle(t)
	d.bus.inPieces(t, b, 1)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "1:0 2:0 1:1 2:1 1:2 2:2 1:3 2:3 1:4", values(t, r, 9))
	d.bus.settle(t)
	require.Equal(t, "no data", takeText(t, r))
	require.Zero(t, d.bus.lent(t, b, w))
}

// Of a topic with histories on several subgroups a reader has all when it has the last one, be one given at once and the
// other not.
func TestSeveralHistoriesAreGiven(t *testing.T) {
	kinds := []qos.DurabilityKind{qos.DurabilityTransientLocal, qos.DurabilityPersistent}
	for _, samples := range [][2]int32{{3, 100}, {100, 3}} {
		d := onCore(t, Settings{})
		n := d.nodeAt(t, t.TempDir())
		for i, kind := range kinds {
			w := n.writer(t, durably(kind, blocking(patience), keepAll, func(q *qos.DataWriter) { q.DurabilityService.HistoryKind = qos.HistoryKeepAll }))
			for v := range samples[i] {
				write(t, w, int32(i), v)
			}
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		}
		require.NoError(t, n.p.core.Upcall(patiently(t), func() { n.p.hub.atOnce = 20 }))
		wants := durableReader(qos.DurabilityTransientLocal)
		wants.History.Kind = qos.HistoryKeepAll
		for range 20 {
			r := n.reader(t, wants)
			require.NoError(t, r.WaitForHistoricalData(patiently(t)))
			s, err := r.Take()
			require.NoError(t, err)
			require.Equal(t, 103, s.Len())
			s.Close()
			require.NoError(t, r.Close())
		}
	}
}

// While a writer goes on, readers come to a history that is given in many pieces, in a process that has it and in one that has
// not: each gets all of it, in order, and nothing twice.
func TestCoreLargeHistoryIsGivenInPieces(t *testing.T) {
	for _, kind := range []qos.DurabilityKind{qos.DurabilityTransientLocal, qos.DurabilityPersistent} {
		t.Run(strings.ToLower(fmt.Sprint(kind)), func(t *testing.T) {
			d := onCore(t, Settings{})
			a := d.nodeAt(t, t.TempDir())
			w := a.writer(t, durably(kind, keepAll, blocking(patience), func(q *qos.DataWriter) { q.DurabilityService.HistoryKind = qos.HistoryKeepAll }))
			number := int32(0)
			next := func() {
				write(t, w, number%7, number)
				number++
			}
			for range 20_000 {
				next()
			}
			wants := durableReader(kind)
			wants.History.Kind = qos.HistoryKeepAll
			stop, stopped := make(chan struct{}), make(chan struct{})
			readers := make(chan *DataReader[track], 3)
			go func() {
				defer close(stopped)
				for number < 60_000 {
					select {
					case <-stop:
						return
					default:
						next()
					}
				}
			}()
			b := d.nodeAt(t, t.TempDir())
			for _, n := range []*node{b, b, a} {
				r := n.reader(t, wants)
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				readers <- r
			}
			close(stop)
			<-stopped
			close(readers)
			for r := range readers {
				got := int32(0)
				for s, err := range r.Stream(patiently(t)) {
					require.NoError(t, err)
					if s.Data().Value != got {
						require.Equal(t, got, s.Data().Value)
					}
					if got++; got == number {
						break
					}
				}
			}
			require.NoError(t, a.p.Err())
			require.NoError(t, b.p.Err())
		})
	}
}
