package dcps

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// What SetQos of a writer changes has its place among the samples: these tests look at who owns an instance, of which a reader
// goes by the strengths of writers at the time of each sample.

func owningWriter(strength int32, more ...func(*qos.DataWriter)) qos.DataWriter {
	return writerQos(append(more, func(q *qos.DataWriter) {
		q.Ownership.Kind, q.OwnershipStrength.Value = qos.OwnershipExclusive, strength
		q.History.Kind = qos.HistoryKeepAll
	})...)
}

func ownedReader(more ...func(*qos.DataReader)) qos.DataReader {
	return readerQos(append(more, func(q *qos.DataReader) {
		q.Ownership.Kind = qos.OwnershipExclusive
		q.History.Kind = qos.HistoryKeepAll
	})...)
}

func strengthen(t *testing.T, w *DataWriter[track], strength int32) {
	t.Helper()
	q := w.Qos()
	q.OwnershipStrength.Value = strength
	require.NoError(t, w.SetQos(q))
}

// Writers change their strengths while they write, in the same process and in others: all readers are shown the same samples.
func TestCoreStrengthsHaveTheirPlace(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			d := onCore(t, Settings{Transport: transport})
			nodes := []*node{d.node(t, WithName("a")), d.node(t, WithName("b"))}
			var writers []*DataWriter[track]
			var readers []*DataReader[track]
			for _, n := range nodes {
				writers = append(writers, n.writer(t, owningWriter(5, blocking(patience))))
				readers = append(readers, n.reader(t, ownedReader()))
			}
			for i := range nodes {
				require.NoError(t, writers[i].WaitForMatch(patiently(t), 2))
				require.NoError(t, readers[i].WaitForMatch(patiently(t), 2))
			}
			ctx, enough := context.WithCancel(patiently(t))
			var wg sync.WaitGroup
			for i, w := range writers {
				wg.Go(func() {
					for n := int32(1); ctx.Err() == nil; n++ {
						if err := w.Write(patiently(t), &track{ID: 1, Value: 2*n + int32(i)}); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for round := range int32(15) {
				for i, w := range writers {
					strengthen(t, w, 1+(round+int32(i))%2*5)
				}
			}
			enough()
			wg.Wait()
			var shown []string
			for i, w := range writers {
				require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
				strengthen(t, w, 10+int32(i))
				write(t, w, 1, -1-int32(i)) // both own it for that, one after the other
			}
			for _, r := range readers {
				var of strings.Builder
				for s, err := range r.Stream(patiently(t)) {
					require.NoError(t, err)
					if s.Data() == nil {
						continue
					}
					fmt.Fprintf(&of, "%d/%d:%d ", s.Info.Epoch, s.Info.Sequence, s.Data().Value)
					if s.Data().Value == -2 {
						break
					}
				}
				shown = append(shown, of.String())
			}
			require.Equal(t, shown[0], shown[1])
			require.Greater(t, strings.Count(shown[0], ":"), 15)
		})
	}
}

// SetQos does not wait until a loan is published, of which the place is before the change.
func TestCoreSetQosBesideALoan(t *testing.T) {
	d := onCore(t, Settings{})
	n := d.node(t)
	w, r := n.writer(t, owningWriter(5, blocking(patience))), n.reader(t, ownedReader())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	l, err := w.Loan(patiently(t), 64)
	require.NoError(t, err)
	strengthen(t, w, 7)
	write(t, w, 1, 2)
	require.NoError(t, l.Discard())
	require.Equal(t, "1:2", values(t, r, 1))
}

// A writer's strength changes while a history is on its way, behind which samples of before and after wait: who waits is shown
// what others are.
func TestStrengthChangesWhileTheHistoryComes(t *testing.T) {
	d := onBus(t)
	first, second, has, waits := d.node(t), d.node(t), d.node(t), d.node(t)
	transient := func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransient }
	durable := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransient }
	readers := []*DataReader[track]{has.reader(t, ownedReader(durable)), waits.reader(t, ownedReader(durable))}
	strong, weak := first.writer(t, owningWriter(5, transient)), second.writer(t, owningWriter(3, transient))
	d.settle(t)
	arrives := d.bus.awaitsFrom(t, waits, has, strong)
	write(t, strong, 1, 10)
	write(t, weak, 1, 20) // does not count
	d.bus.settle(t)
	strengthen(t, strong, 1)
	write(t, weak, 1, 21)
	write(t, strong, 1, 11) // does not count any more
	d.bus.settle(t)
	strengthen(t, strong, 7)
	write(t, strong, 1, 12)
	write(t, weak, 1, 22)
	d.bus.settle(t)
	arrives()
	for _, r := range readers {
		require.Equal(t, "1:10 1:21 1:12", values(t, r, 3))
		require.Equal(t, "no data", takeText(t, r))
	}
	sameHistories(t, d, strong, has, waits)
}

// Nor is what had expired when it came kept by a LIFESPAN that the writer has got since.
func TestLifespanChangesWhileTheHistoryComes(t *testing.T) {
	d := onBus(t)
	first, second, has, waits := d.node(t), d.node(t), d.node(t), d.node(t)
	transient := func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransient }
	for _, n := range []*node{has, waits} {
		n.reader(t, durableReader(qos.DurabilityTransient))
	}
	brief := first.writer(t, writerQos(transient, func(q *qos.DataWriter) { q.Lifespan.Duration = time.Second }))
	other := second.writer(t, writerQos(transient))
	write(t, other, 2, 20) // it is that late
	d.settle(t)
	arrives := d.bus.awaitsFrom(t, waits, has, brief)
	require.NoError(t, brief.Write(patiently(t), &track{ID: 1, Value: 10}, At(time.Now().Add(-time.Minute))))
	q := brief.Qos()
	q.Lifespan.Duration = qos.Infinite
	require.NoError(t, brief.SetQos(q))
	d.bus.settle(t)
	arrives()
	sameHistories(t, d, brief, has, waits)
}

// sameHistories checks that nodes keep the same of the topic of a writer.
func sameHistories(t *testing.T, d *domain, w *DataWriter[track], nodes ...*node) {
	t.Helper()
	var states [][]byte
	for _, n := range nodes {
		states = append(states, d.bus.saved(t, n, w.untyped().at))
	}
	require.Equal(t, states[0], states[1])
}

// A writer's strength changes in the midst of a coherent set: the set counts by what the writer is when it ends, as a whole.
func TestStrengthChangesInACoherentSet(t *testing.T) {
	for _, c := range []struct {
		strength int32
		shown    string
	}{{7, "1:10 1:11 1:12 1:13"}, {1, "1:10 1:20 1:21"}} {
		d := onBus(t)
		s := newEmptyStage(t, d, present(qos.PresentationTopic, true, false))
		other := d.node(t)
		pub, err := other.p.NewPublisher(WithPublisherQos(s.pub.Qos()))
		require.NoError(t, err)
		w, weak := writerOn(t, s.a, s.pub, "Track", owningWriter(5)), writerOn(t, other, pub, "Track", owningWriter(3))
		r := readerOn(t, s.b, s.sub, "Track", ownedReader())
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		d.settle(t)
		write(t, w, 1, 10)
		require.NoError(t, s.pub.BeginCoherentChanges())
		write(t, w, 1, 11)
		strengthen(t, w, c.strength)
		write(t, w, 1, 12)
		d.settle(t)
		write(t, weak, 1, 20)
		d.settle(t)
		require.NoError(t, s.pub.EndCoherentChanges(patiently(t)))
		write(t, weak, 1, 21)
		write(t, w, 1, 13)
		d.settle(t)
		require.Equal(t, c.shown, values(t, r, strings.Count(c.shown, ":")))
		require.Equal(t, "no data", takeText(t, r))
		require.Zero(t, r.SampleLostStatus().TotalCount)
	}
}
