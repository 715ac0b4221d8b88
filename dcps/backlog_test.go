package dcps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
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
	for _, how := range []string{"closes", "fails", "moves", "moves there and back", "joins again"} {
		t.Run(how, func(t *testing.T) {
			d := onBus(t)
			s := newEmptyStage(t, d, presentations["plain"])
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
			require.Equal(t, "no data", takeText(t, r))
			left := s.part(t, d, w, how)
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
	require.Equal(t, "1:0 1:1 1:2 1:3 2:0 2:1 2:2 2:3 1:4", values(t, r, 9))
	d.bus.settle(t)
	require.Equal(t, "no data", takeText(t, r))
	require.Zero(t, d.bus.lent(t, b, w))
}

// part gives so many pieces of what is owed to readers of a writer's topic, of so many samples each, and no more.
func (b *bus) part(t *testing.T, n *node, w *DataWriter[track], pieces, of int) {
	t.Helper()
	for range pieces {
		require.NoError(t, b.of(n).Upcall(patiently(t), func() {
			h := n.p.hub
			h.atOnce = of
			for _, owes := range slices.Clone(h.channels[w.untyped().at].backlogs) {
				for p, _ := h.giveSome(owes); p != nil; p, _ = h.giveSome(owes) {
					p.prepare()
					p.drop()
				}
			}
			h.atOnce = 0
		}))
	}
}

// moves has a writer be in a partition, alone with who is there; in none it is where the others are.
func moves(t *testing.T, w *DataWriter[track], partition ...string) {
	t.Helper()
	q := w.untyped().pub.Qos()
	q.Partition.Name = partition
	require.NoError(t, w.untyped().pub.SetQos(q))
}

// A writer that matches when a part of the history is given, with or without samples of its own behind that: the reader is given
// all of its, and none of them in vain before.
func TestWriterMatchesBehindAPartOfTheHistory(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after int32
		parts         int
	}{{"its samples are in the history", 4, 0, 4}, {"and behind it", 2, 8, 6}} {
		t.Run(c.name, func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			w := a.writer(t, durably(qos.DurabilityTransient, keepAll))
			b.reader(t, durableReader(qos.DurabilityTransient))
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			var want []string
			next := func(n int32) {
				for range n {
					write(t, w, 2, int32(len(want)))
					want = append(want, fmt.Sprintf("2:%d", len(want)))
				}
			}
			next(c.before)
			d.settle(t)
			moves(t, w, "elsewhere")
			d.settle(t)
			d.bus.inPieces(t, b, 0)
			r := b.reader(t, durableReader(qos.DurabilityTransient))
			next(c.after)
			d.bus.part(t, b, w, c.parts, 1)
			moves(t, w)
			require.NoError(t, w.WaitForMatch(patiently(t), 2))
			d.bus.inPieces(t, b, 1)
			require.NoError(t, r.WaitForHistoricalData(patiently(t)))
			require.Equal(t, strings.Join(want, " "), values(t, r, len(want)))
		})
	}
}

// The instances of a writer that is gone have none, also if the reader has another QoS, the writer is back, or the time after
// which they are forgotten is over, when a part of the history is given.
func TestInstancesEndBehindAPartOfTheHistory(t *testing.T) {
	for _, what := range []string{"nothing happens", "the reader changes", "the writer joins again", "its instances are forgotten"} {
		t.Run(what, func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			w := a.writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
				q.WriterDataLifecycle.AutodisposeUnregisteredInstances = what == "its instances are forgotten"
				q.DurabilityService.ServiceCleanupDelay = 300 * time.Millisecond
			}))
			b.reader(t, durableReader(qos.DurabilityTransient))
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			for i := range int32(4) {
				write(t, w, i, i)
			}
			d.settle(t)
			switch what {
			case "the writer joins again":
				d.bus.exclude(a)
			case "its instances are forgotten":
				require.NoError(t, w.Close())
			default:
				d.crash(a)
			}
			d.bus.settle(t)
			d.bus.inPieces(t, b, 0)
			r := b.reader(t, durableReader(qos.DurabilityTransient))
			d.bus.part(t, b, w, 3, 2)
			switch what {
			case "the reader changes":
				q := r.Qos()
				q.UserData.Value = []byte("x")
				require.NoError(t, r.SetQos(q))
			case "the writer joins again":
				d.bus.rejoin(a)
				require.NoError(t, a.p.WaitForDomain(patiently(t)))
			case "its instances are forgotten":
				<-time.After(400 * time.Millisecond)
			}
			d.bus.inPieces(t, b, 1)
			require.NoError(t, r.WaitForHistoricalData(patiently(t)))
			if what == "the writer joins again" {
				require.NoError(t, w.Close())
				d.bus.settle(t)
			}
			got := takeText(t, r)
			require.NotContains(t, got, " ALIVE")
			require.Contains(t, got, "0:0")
		})
	}
}

// A sample that can not be read has its place behind the history, like others.
func TestBadSampleBehindTheHistory(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, durably(qos.DurabilityTransient, keepAll))
	b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	for i := range int32(4) {
		write(t, w, 1, i)
	}
	d.settle(t)
	d.bus.inPieces(t, b, 0)
	r := b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	at := w.untyped().at
	s, err := a.p.core.reserve(patiently(t), at.sg, at.ch, 1, time.Time{})
	require.NoError(t, err)
	s.commit(derecho.Header{Kind: kindData, Writer: w.untyped().id, WriterSeq: 5, Timestamp: now()}, 1)
	d.bus.settle(t)
	d.bus.inPieces(t, b, 1)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "1:0 1:1 1:2 1:3", values(t, r, 4))
	require.Equal(t, int32(1), r.SampleLostStatus().TotalCount)
}

// A history is received at one moment, in however many pieces it is given.
func TestHistoryIsReceivedAtOneMoment(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, durably(qos.DurabilityTransient, keepAll))
	for i := range int32(20) {
		write(t, w, i%3, i)
	}
	d.settle(t)
	d.bus.inPieces(t, n, 1)
	r := n.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	s, err := r.Take()
	require.NoError(t, err)
	defer s.Close()
	for _, sample := range s.All() {
		require.Equal(t, s.At(0).Info.ReceptionTimestamp, sample.Info.ReceptionTimestamp)
	}
}

// What a state covers is not given behind it, though it was put off.
func TestWhatTheHistoryCoversIsNotGiven(t *testing.T) {
	d := onBus(t)
	a, b, has := d.node(t), d.node(t), d.node(t)
	has.reader(t, durableReader(qos.DurabilityTransient))
	r := b.reader(t, durableReader(qos.DurabilityTransient))
	w := a.writer(t, durably(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	d.settle(t)
	d.bus.awaits(t, b, w, 2) // what is written now is in the history
	write(t, w, 1, 1)
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	d.bus.settle(t)
	d.bus.loads(t, b, w.untyped().at, d.bus.saved(t, has, w.untyped().at)) // nothing is kept
	d.settle(t)
	require.Equal(t, "no data", takeText(t, r))
}

// What was put off while a history was on its way is taken over, and given, in pieces, too.
func TestWhatWasPutOffIsTakenOverInPieces(t *testing.T) {
	d := onBus(t)
	a, b, has := d.node(t), d.node(t), d.node(t)
	has.reader(t, durableReader(qos.DurabilityTransient))
	b.reader(t, durableReader(qos.DurabilityTransient))
	w := a.writer(t, durably(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	d.settle(t)
	state := d.bus.saved(t, has, w.untyped().at)
	d.bus.awaits(t, b, w, 1)
	for i := range int32(1000) {
		write(t, w, 1, i)
	}
	d.bus.settle(t)
	d.bus.inPieces(t, b, 300)
	load := b.p.hub.ReadState(w.untyped().at.sg, w.untyped().at.ch, state)
	passes, left := 0, 0
	for done := false; !done; passes++ {
		require.NoError(t, d.bus.of(b).Upcall(patiently(t), func() {
			done = load()
			for _, owes := range b.p.hub.channels[w.untyped().at].backlogs {
				left = max(left, len(owes.putOff))
			}
		}))
	}
	require.Equal(t, 4, passes)
	require.GreaterOrEqual(t, left, 700, "behind the first piece")
	d.bus.settle(t)
}

// A writer that says that it is alive is, though what it says is put off.
func TestWriterLivesWhileTheHistoryIsGiven(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	live := qos.Liveliness{Kind: qos.LivelinessManualByTopic, LeaseDuration: 300 * time.Millisecond}
	w := a.writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) { q.Liveliness = live }))
	b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	write(t, w, 1, 1)
	d.settle(t)
	d.bus.inPieces(t, b, 0)
	q := durableReader(qos.DurabilityTransient)
	q.Liveliness = live
	r := b.reader(t, q)
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	for until := time.Now().Add(3 * live.LeaseDuration); time.Now().Before(until); {
		<-time.After(10 * time.Millisecond)
		require.NoError(t, w.AssertLiveliness())
	}
	require.Zero(t, r.LivelinessChangedStatus().NotAliveCount)
}

// Nothing that a cut has is used again while a history is prepared for a reader that has gone meanwhile.
func TestReaderGoesWhileTheHistoryIsPrepared(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, durably(qos.DurabilityTransient))
	b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	for i := range int32(10) {
		write(t, w, i, i)
	}
	d.settle(t)
	d.bus.inPieces(t, b, 0)
	r := b.reader(t, durableReader(qos.DurabilityTransient))
	var p *past
	require.NoError(t, d.bus.of(b).Upcall(patiently(t), func() {
		h := b.p.hub
		h.atOnce = 5
		for p == nil {
			p, _ = h.giveSome(h.channels[w.untyped().at].backlogs[0])
		}
		h.atOnce = 0
	}))
	require.NoError(t, r.Close())
	require.Equal(t, int32(1), d.bus.lent(t, b, w))
	p.prepare()
	p.drop()
	require.Zero(t, d.bus.lent(t, b, w))
	d.bus.inPieces(t, b, 1)
}

// Who leaves while it owes a history gives it first, in as many pieces as that has.
func TestCoreLeaverGivesALargeHistory(t *testing.T) {
	d := onCore(t, Settings{})
	a, b := d.node(t), d.node(t)
	const many = 100 * 500
	w := a.writer(t, durably(qos.DurabilityTransient, blocking(patience), func(q *qos.DataWriter) {
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}))
	for i := range int32(many) {
		write(t, w, i, i)
	}
	key := w.untyped().at
	closed := make(chan error, 1)
	go func() {
		for asked := false; !asked; {
			_ = a.p.core.Upcall(context.Background(), func() {
				c := a.p.hub.channels[key]
				asked = c != nil && c.history.lent.Load() > 0
			})
		}
		closed <- a.p.Close()
	}()
	r := b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.NoError(t, <-closed)
	n := 0
	for s, err := r.Take(); err == nil; s, err = r.Take() {
		n += s.Len()
		s.Close()
	}
	require.Equal(t, many, n)
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
