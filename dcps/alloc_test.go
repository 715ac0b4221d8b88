package dcps

import (
	"context"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/newer"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/older"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// batchFrom makes the messages that a writer would send.
func batchFrom(t testing.TB, w *writer, n int) []derecho.Message {
	t.Helper()
	batch := make([]derecho.Message, n)
	for i := range batch {
		payload, err := cdr.Marshal(&track{ID: int32(i), Text: "steady"}, w.enc)
		require.NoError(t, err)
		batch[i] = derecho.Message{
			Header: derecho.Header{Writer: w.id, Kind: kindData}, Sender: w.p.core.ID(), Channel: w.at.ch, Epoch: 1, Payload: payload,
		}
	}
	return batch
}

// requireNoAllocs runs f anyway when allocations can not be counted.
func requireNoAllocs(t *testing.T, runs int, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(runs, f); !raceEnabled {
		require.Zero(t, n)
	}
}

// Delivery to readers that lend, from the core's upcall to the return of the loan, allocates nothing once it is warm.
func TestDeliveryDoesNotAllocate(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	for name, durability := range map[string]qos.DurabilityKind{"atomic": qos.DurabilityVolatile, "volatile storage": qos.DurabilityTransientLocal} {
		t.Run(name, func(t *testing.T) {
			w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Durability.Kind = durability }))
			r := n.reader(t, readerQos(func(q *qos.DataReader) {
				q.Durability.Kind = durability
				q.Deadline.Period = qos.Infinite
			}))
			last := n.reader(t, readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
			d.bus.settle(t)
			batch := batchFrom(t, w.writer, 16)
			seq := uint64(0)
			step := func() {
				for i := range batch {
					seq++
					batch[i].WriterSeq, batch[i].Seq = seq, seq
				}
				n.p.hub.Deliver(w.at.sg, batch)
				l, err := r.TakeLoan(MaxSamples(100), NotRead())
				if err != nil || l.Len() != len(batch) {
					t.Fatalf("%d samples, %v", l.Len(), err)
				}
				for i := range l.Len() {
					if len(l.Encoded(i)) == 0 || l.Info(i).Sequence == 0 {
						t.Fatal("a sample without bytes")
					}
				}
				l.Close()
			}
			for range 10 {
				step()
			}
			requireNoAllocs(t, 100, step)
			require.Equal(t, 16, last.cache.samples)
			require.NoError(t, w.Close())
			require.NoError(t, r.Close())
			require.NoError(t, last.Close())
		})
	}
}

// A sample that is built in the ring, and one that is encoded into it, cost no allocation.
func TestCoreWriteDoesNotAllocate(t *testing.T) {
	d := onCore(t, Settings{})
	n := d.node(t)
	w := n.writer(t, writerQos(blocking(patience)))
	ctx := context.Background()
	sample := &track{ID: 1, Value: 2, Text: "steady"}
	encoded, err := cdr.Marshal(sample, w.enc)
	require.NoError(t, err)
	loan := func() {
		l, err := w.Loan(ctx, len(encoded))
		if err != nil {
			t.Fatal(err)
		}
		copy(l.Bytes(), encoded)
		if err := l.Publish(len(encoded)); err != nil {
			t.Fatal(err)
		}
	}
	write := func() {
		if err := w.Write(ctx, sample); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		loan()
		write()
	}
	requireNoAllocs(t, 200, loan)
	requireNoAllocs(t, 200, write)
}

func TestLoans(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	encoded, err := cdr.Marshal(&track{ID: 1, Value: 2}, w.enc)
	require.NoError(t, err)

	l, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	require.Len(t, l.Bytes(), 100)
	require.ErrorIs(t, l.Publish(101), ErrBadParameter)
	require.NoError(t, l.Publish(copy(l.Bytes(), encoded)))
	require.ErrorIs(t, l.Publish(4), ErrPreconditionNotMet, "a loan ends once")
	require.NoError(t, l.Discard())

	l, err = w.Loan(patiently(t), 100)
	require.NoError(t, err)
	require.NoError(t, l.Discard())
	_, err = w.Loan(patiently(t), 1)
	require.ErrorIs(t, err, ErrBadParameter)
	require.Equal(t, "1:2", values(t, r, 1))

	write(t, w, 1, 3)
	d.bus.settle(t)
	a, err := r.TakeLoan()
	require.NoError(t, err)
	b := a
	a.Close()
	require.Zero(t, b.Len(), "a copy of a loan that ended sees nothing")
	b.Close()
	write(t, w, 1, 4)
	d.bus.settle(t)
	c, err := r.TakeLoan()
	require.NoError(t, err)
	b.Close()
	require.Equal(t, 1, c.Len(), "closing a stale copy does not end another loan")
	c.Close()
}

// What a reader lends stays as it is while samples come, are replaced and are taken.
func TestLentBytesAreStable(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos())
	r := n.reader(t, readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
	write(t, w, 1, 1)
	d.bus.settle(t)
	lent, err := r.Read()
	require.NoError(t, err)
	for i := range int32(50) {
		write(t, w, 1, 100+i)
		d.bus.settle(t)
		if i%3 == 0 {
			s, err := r.Take()
			require.NoError(t, err)
			s.Close()
		}
	}
	first := lent.At(0)
	require.Equal(t, &track{ID: 1, Value: 1}, first.Data())
	lent.Close()
	require.Zero(t, lent.Len())
}

// Who waits again and again for the same allocates nothing; a list that its caller has changed is not given again.
func TestWaitDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var a, b GuardCondition
	ws := NewWaitSet(&a, &b)
	a.SetTriggerValue(true)
	ctx := patiently(t)
	wait := func() []Condition {
		held, err := ws.Wait(ctx)
		require.NoError(t, err)
		return held
	}
	require.Equal(t, []Condition{&a}, wait())
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = ws.Wait(ctx) }))
	first := wait()
	b.SetTriggerValue(true)
	require.Equal(t, []Condition{&a, &b}, wait())
	require.Equal(t, []Condition{&a}, first)
	wait()[0] = &b
	require.Equal(t, []Condition{&a, &b}, wait())
	require.NoError(t, ws.Detach(&a))
	require.Equal(t, []Condition{&b}, wait())
}

// Views of what a loan gives allocate nothing either, in either byte order and version of CDR, nor of what an older
// version of the type has written.
func TestViewsOfLoansDoNotAllocate(t *testing.T) {
	d := onBus(t)
	from, to := d.node(t), d.node(t)
	for _, enc := range []cdr.Encapsulation{cdr.DCDR2LE, cdr.DCDR2BE, cdr.CDRLE, cdr.CDRBE} {
		t.Run(enc.String(), func(t *testing.T) {
			const samples = 64
			w := writerOf[older.Track](t, from, "Track", writerQos())
			r := readerOf[newer.Track](t, to, "Track", readerQos())
			d.bus.settle(t)
			for i := range int32(samples) {
				l, err := w.Loan(t.Context(), 64)
				require.NoError(t, err)
				sample, err := cdr.Marshal(&older.Track{ID: i, Altitude: 300, Text: "a"}, enc)
				require.NoError(t, err)
				require.NoError(t, l.Publish(copy(l.Bytes(), sample)))
			}
			d.bus.settle(t)
			sum := func(l LoanedSamples, err error) (total int) {
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				for _, encoded := range l.All() {
					v, err := newer.NewTrackView(encoded)
					if err != nil {
						t.Fatal(err)
					}
					total += int(v.Altitude()) + int(v.Speed()) + len(v.Text()) + v.More().Len()
				}
				return total
			}
			requireNoAllocs(t, 20, func() {
				if got := sum(r.ReadLoan()); got != samples*308 {
					t.Fatal(got)
				}
			})
			requireNoAllocs(t, samples-2, func() {
				if got := sum(r.TakeLoan(MaxSamples(1))); got != 308 {
					t.Fatal(got)
				}
			})
			require.NoError(t, r.Close())
			require.NoError(t, w.Close())
		})
	}
}
