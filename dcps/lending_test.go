package dcps

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// The ring of these tests holds six samples.
func onSmallRing(t *testing.T, transport string) (Settings, string) {
	return Settings{Transport: transport, RingBytes: 16 << 10, LendBytes: 1}, strings.Repeat("x", 2400)
}

func eachTransport(t *testing.T, f func(t *testing.T, transport string)) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) { f(t, transport) })
	}
}

// A reader that does not take, or keeps what it took, holds nobody up: it has copies by then.
func TestIdleReadersHoldNobodyUp(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport string) {
		settings, text := onSmallRing(t, transport)
		d := onCore(t, settings)
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w := a.writer(t, writerQos(blocking(patience)))
		all := b.reader(t, readerQos())
		last := b.reader(t, readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
		own := a.reader(t, readerQos())
		require.NoError(t, w.WaitForMatch(patiently(t), 3))
		var kept []*Samples[track]
		for i := range int32(60) {
			require.NoError(t, w.Write(patiently(t), &track{ID: 1, Value: i, Text: text}))
			if i%20 == 0 {
				awaitData(t, last)
				l, err := last.TakeLoan() // not closed
				require.NoError(t, err)
				defer l.Close()
				s, err := all.Read(NotRead())
				if err == nil {
					kept = append(kept, s)
				}
			}
		}
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		for _, r := range []*DataReader[track]{all, own} {
			s, err := r.Take()
			require.NoError(t, err)
			require.Equal(t, 60, s.Len())
			for i, sample := range s.All() {
				require.Equal(t, &track{ID: 1, Value: int32(i), Text: text}, sample.Data())
			}
			s.Close()
		}
		for _, s := range kept {
			for _, sample := range s.All() {
				require.Equal(t, text, sample.Data().Text)
			}
			s.Close()
		}
	})
}

// What is lent by TakeLoan stays until it is closed, and writers wait for that; so do those who close the reader instead.
func TestLoanHoldsWriter(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport string) {
		settings, text := onSmallRing(t, transport)
		d := onCore(t, settings)
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w, patient := a.writer(t, writerQos(blocking(20*time.Millisecond))), a.writer(t, writerQos(blocking(patience)))
		r := b.reader(t, readerQos())
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, patient.WaitForMatch(patiently(t), 1))
		require.NoError(t, w.Write(patiently(t), &track{ID: 1, Text: text}))
		awaitData(t, r)
		l, err := r.TakeLoan()
		require.NoError(t, err)
		before := fmt.Sprintf("%x", l.Encoded(0))
		n := int32(1)
		for ; err == nil; n++ {
			require.Less(t, n, int32(10), "the writer is never held")
			err = w.Write(patiently(t), &track{ID: 1, Value: n, Text: text})
		}
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "the ring is full of what was not handed over, or is lent to readers, at b (pid ")
		require.Equal(t, before, fmt.Sprintf("%x", l.Encoded(0)))
		l.Close()
		require.NoError(t, patient.Write(patiently(t), &track{ID: 1, Value: n, Text: text}))
		awaitData(t, r)
		require.NoError(t, r.Close())
		other := b.reader(t, readerQos())
		require.NoError(t, other.WaitForMatch(patiently(t), 1))
		for i := range int32(20) {
			require.NoError(t, patient.Write(patiently(t), &track{ID: 1, Value: i, Text: text}))
		}
	})
}

// A loan can be read after everything around it was closed.
func TestLoanOutlivesParticipants(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport string) {
		settings, text := onSmallRing(t, transport)
		d := onCore(t, settings)
		a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
		w, r := a.writer(t, writerQos(blocking(patience))), b.reader(t, readerQos())
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, w.Write(patiently(t), &track{ID: 1, Text: text}))
		awaitData(t, r)
		l, err := r.TakeLoan()
		require.NoError(t, err)
		before := fmt.Sprintf("%x", l.Encoded(0))
		require.NoError(t, a.p.Close())
		require.NoError(t, b.p.Close())
		require.Equal(t, before, fmt.Sprintf("%x", l.Encoded(0)))
		l.Close()
	})
}

// A sample that is lent costs no allocation, from Loan to Close.
func TestLendingDoesNotAllocate(t *testing.T) {
	d := onCore(t, Settings{LendBytes: 1})
	a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
	w, r := a.writer(t, writerQos(blocking(patience))), b.reader(t, readerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	sample := &track{ID: 1, Text: strings.Repeat("x", 5000)}
	ctx := context.Background()
	lent := 0
	step := func() {
		if err := w.Write(ctx, sample); err != nil {
			t.Fatal(err)
		}
		for {
			l, err := r.TakeLoan()
			if err == nil {
				if r.lending.count.Load() > 0 {
					lent++
				}
				l.Close()
				return
			}
			if err != ErrNoData {
				t.Fatal(err)
			}
		}
	}
	for range 100 {
		step()
	}
	requireNoAllocs(t, 200, step)
	require.Positive(t, lent)
}

func awaitData(t *testing.T, r *DataReader[track]) {
	t.Helper()
	require.NoError(t, r.await(patiently(t), "awaitData", func() bool { return r.cache.unread > 0 }))
}

// What somebody reads by loan stays where it is, also when it has left the cache meanwhile and a writer wants the room,
// or the reader is closed.
//
// Clauses: 2.2.2.5.3.20
func TestReadLoanOutlivesItsEntry(t *testing.T) {
	for _, end := range []string{"expired and reclaimed", "expired and closed"} {
		t.Run(end, func(t *testing.T) {
			settings, text := onSmallRing(t, "shm")
			d := onCore(t, settings)
			n := d.node(t)
			w := n.writer(t, writerQos(blocking(patience), func(q *qos.DataWriter) { q.Lifespan.Duration = time.Hour }))
			r := n.reader(t, readerQos())
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			require.NoError(t, w.Write(patiently(t), &track{ID: 1, Text: text}))
			awaitData(t, r)
			l, err := r.ReadLoan()
			require.NoError(t, err)
			lent, before := l.Encoded(0), fmt.Sprintf("%x", l.Encoded(0))
			r.lock()
			r.cache.tick(time.Now().Add(2 * time.Hour).UnixNano())
			require.Zero(t, r.cache.samples)
			r.unlock()
			if end == "expired and closed" {
				require.NoError(t, r.Close())
			} else {
				it := &item{kind: itemReclaim}
				r.post(it, it)
			}
			require.Positive(t, r.lending.count.Load(), "it is lent still")
			require.Same(t, &lent[0], &l.Encoded(0)[0])
			require.Equal(t, before, fmt.Sprintf("%x", lent))
			l.Close()
			require.Zero(t, r.lending.count.Load())
		})
	}
}
