package dcps

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// The zero time is the time of the call, of a loan as of a sample; what a sample can not carry is refused.
func TestTimestampsAtTheLimits(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	stampOf := func() time.Time {
		d.bus.settle(t)
		s, err := r.Take()
		require.NoError(t, err)
		defer s.Close()
		require.Equal(t, 1, s.Len())
		return s.At(0).Info.SourceTimestamp
	}
	loan := func(opts ...WriteOption) *Loan {
		l, err := w.Loan(patiently(t), 100, opts...)
		require.NoError(t, err)
		return &l
	}
	publish := func(l *Loan) {
		size, err := cdr.MarshalTo(l.Bytes(), &track{ID: 1}, w.enc)
		require.NoError(t, err)
		require.NoError(t, l.Publish(size))
	}
	before := time.Now().Add(-time.Minute)
	require.NoError(t, w.Write(patiently(t), &track{ID: 1}, At(time.Time{})))
	require.WithinRange(t, stampOf(), before, time.Now().Add(time.Minute))
	l := loan()
	require.NoError(t, l.At(time.Unix(5, 0)))
	require.NoError(t, l.At(time.Time{}))
	publish(l)
	require.WithinRange(t, stampOf(), before, time.Now().Add(time.Minute))
	l = loan(At(time.Unix(7, 0)))
	require.NoError(t, l.At(time.Time{}))
	publish(l)
	require.True(t, stampOf().Equal(time.Unix(7, 0)), "what the loan was made with")

	for _, at := range []time.Time{firstStamp, lastStamp} {
		require.NoError(t, w.Write(patiently(t), &track{ID: 1}, At(at)))
		require.True(t, stampOf().Equal(at))
		l := loan()
		require.NoError(t, l.At(at))
		publish(l)
		require.True(t, stampOf().Equal(at))
	}
	l = loan()
	for _, at := range []time.Time{
		time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64).Add(1),
	} {
		_, registering := w.Register(patiently(t), &track{ID: 1}, At(at))
		_, lending := w.Loan(patiently(t), 100, At(at))
		for _, err := range []error{
			w.Write(patiently(t), &track{ID: 1}, At(at)), registering, lending, l.At(at),
			w.Dispose(patiently(t), &track{ID: 1}, At(at)), w.Unregister(patiently(t), &track{ID: 1}, At(at)),
		} {
			require.ErrorIs(t, err, ErrBadParameter)
			require.ErrorContains(t, err, at.String())
			require.ErrorContains(t, err, "2262-04-11 23:47:16.854775807")
		}
	}
	publish(l)
	require.WithinRange(t, stampOf(), before, time.Now().Add(time.Minute), "a time that was refused changes nothing")
}

// By source timestamp a loan that waited for room, and so comes behind what was written meanwhile, has a timestamp of
// that place, unless it asked for one.
func TestTimestampOfALoanThatWaited(t *testing.T) {
	for _, asked := range []bool{false, true} {
		virtually(t, func(t *testing.T, d *domain) {
			a, b := d.node(t), d.node(t)
			w := a.writer(t, writerQos(blocking(time.Second), func(q *qos.DataWriter) {
				q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp
				q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
				q.ResourceLimits.MaxSamples = 1
			}))
			r := b.reader(t, readerQos())
			var opts []WriteOption
			if asked {
				opts = append(opts, At(time.Now()))
			}
			l, err := w.Loan(patiently(t), 100, opts...)
			require.NoError(t, err)
			size, err := cdr.MarshalTo(l.Bytes(), &track{ID: 1, Value: 2}, w.enc)
			require.NoError(t, err)
			require.NoError(t, w.Write(patiently(t), &track{ID: 1, Value: 1}, At(time.Now().Add(time.Hour))))
			if asked {
				require.ErrorIs(t, l.Publish(size), ErrBadParameter)
				return
			}
			require.NoError(t, l.Publish(size))
			synctest.Wait()
			require.Equal(t, "1:1 1:2", values(t, r, 2))
		})
	}
}

// A message that is not sent leaves no source timestamp behind, before which none of the writer's may be.
func TestStampOfAMessageThatIsNotSent(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		d.bus.capacity = 1
		n := d.node(t)
		w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }))
		r := n.reader(t, readerQos())
		l, err := n.writer(t, writerQos()).Loan(context.Background(), 10) // the ring is full
		require.NoError(t, err)
		require.ErrorIs(t, w.Write(context.Background(), &track{ID: 1}, At(time.Now().Add(time.Hour))), ErrTimeout)
		require.NoError(t, l.Discard())
		require.NoError(t, w.Write(context.Background(), &track{ID: 1}))
		d.settle(t)
		s, err := r.Take()
		require.NoError(t, err)
		require.True(t, time.Now().Equal(s.At(0).Info.SourceTimestamp))
		s.Close()
		require.NoError(t, w.Write(context.Background(), &track{ID: 1}, At(time.Now().Add(time.Minute))))
		d.settle(t)
		require.ErrorIs(t, w.Write(context.Background(), &track{ID: 1}, At(time.Now())), ErrBadParameter)
	})
}
