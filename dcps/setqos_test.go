package dcps

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Policies that may change do so at both sides, and writers and readers are matched anew.
//
// Clauses: 2.2.2.1.1.1, 2.2.2.1.1.2, 2.2.3.7
func TestSetQosMatchesAnew(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t, WithName("sensor")), d.node(t, WithName("display"))
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Deadline.Period = 2 * time.Second }))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
	d.bus.settle(t)
	require.Equal(t, int32(1), r.RequestedIncompatibleQosStatus().TotalCount)

	q := w.Qos()
	q.Deadline.Period = time.Second
	require.NoError(t, w.SetQos(q))
	d.bus.settle(t)
	require.Equal(t, q, w.Qos())
	require.Equal(t, int32(1), w.PublicationMatchedStatus().CurrentCount)
	require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount)
	write(t, w, 1, 10)
	require.Equal(t, "1:10", values(t, r, 1))

	q.Deadline.Period = 3 * time.Second
	require.NoError(t, w.SetQos(q))
	d.bus.settle(t)
	for _, m := range []MatchedStatus{w.PublicationMatchedStatus(), r.SubscriptionMatchedStatus()} {
		require.Equal(t, int32(0), m.CurrentCount)
		require.Equal(t, int32(-1), m.CurrentCountChange)
		require.Equal(t, int32(1), m.TotalCount)
	}
	for _, s := range []IncompatibleQosStatus{w.OfferedIncompatibleQosStatus(), r.RequestedIncompatibleQosStatus()} {
		require.Equal(t, int32(2), s.TotalCount)
		require.Equal(t, "3s", s.Details[1].Offered)
		require.Equal(t, "1s", s.Details[1].Requested)
	}
	q.UserData.Value = []byte("nothing that matters")
	require.NoError(t, w.SetQos(q))
	d.bus.settle(t)
	require.Equal(t, int32(2), r.RequestedIncompatibleQosStatus().TotalCount, "the same incompatibility is told once")
}

// PARTITION is changed at run time: matches come and go, and a reader that wants history gets it with the match.
//
// Clauses: 2.2.3.13, 2.2.3.4
func TestSetPartition(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	local := func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }
	w := a.writer(t, writerQos(local))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	write(t, w, 1, 10)
	require.Equal(t, "1:10", values(t, r, 1))

	sub := b.sub.Qos()
	sub.Partition.Name = []string{"cabin"}
	require.NoError(t, b.sub.SetQos(sub))
	d.bus.settle(t)
	require.Zero(t, r.SubscriptionMatchedStatus().CurrentCount)
	require.Zero(t, w.PublicationMatchedStatus().CurrentCount)
	write(t, w, 2, 20)
	d.bus.settle(t)
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", takeText(t, r))

	pub := a.pub.Qos()
	pub.Partition.Name = []string{"c*"}
	require.NoError(t, a.pub.SetQos(pub))
	d.bus.settle(t)
	require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount)
	require.Equal(t, int32(1), w.PublicationMatchedStatus().CurrentCount)
	write(t, w, 3, 30)
	require.Equal(t, "2:20 3:30", values(t, r, 2), "what it has is not taken twice")
}

// OWNERSHIP_STRENGTH is changed at run time: the instance goes to who is stronger now.
//
// Clauses: 2.2.3.10
func TestSetStrength(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	exclusive := func(strength int32) qos.DataWriter {
		return writerQos(func(q *qos.DataWriter) {
			q.Ownership.Kind, q.OwnershipStrength.Value = qos.OwnershipExclusive, strength
		})
	}
	x, y := n.writer(t, exclusive(2)), n.writer(t, exclusive(1))
	r := n.reader(t, readerQos(func(q *qos.DataReader) { q.Ownership.Kind = qos.OwnershipExclusive }))
	write(t, x, 1, 20)
	write(t, y, 1, 10)
	require.NoError(t, y.SetQos(exclusive(3)))
	write(t, y, 1, 30)
	write(t, x, 1, 21)
	d.bus.settle(t)
	require.Equal(t, "1:20 1:30", values(t, r, 2))
	require.Equal(t, "no data", takeText(t, r))
}

// DEADLINE is changed at run time at a writer and a reader that had none.
func TestSetDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := onBus(t)
		n := d.node(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		write(t, w, 1, 10)
		d.bus.settle(t)
		require.NoError(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Second })))
		require.NoError(t, r.SetQos(readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second })))
		write(t, w, 2, 20)
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, int32(1), w.OfferedDeadlineMissedStatus().TotalCount, "it knows what was written since")
		require.Equal(t, int32(2), r.RequestedDeadlineMissedStatus().TotalCount)
		require.NoError(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.Deadline.Period = 5 * time.Second })))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, int32(1), w.OfferedDeadlineMissedStatus().TotalCount)
		require.Equal(t, int32(1), r.RequestedIncompatibleQosStatus().TotalCount)
		require.NoError(t, n.p.Close())
	})
}

// What can not change says which policy it is, and both values; all of them at once.
//
// Clauses: 2.2.2.1.1.1
func TestImmutablePolicies(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r, tp := n.writer(t, writerQos()), n.reader(t, readerQos()), n.topic(t)
	for _, c := range []struct {
		policy string
		err    error
	}{
		{"DURABILITY from VOLATILE to TRANSIENT_LOCAL", w.SetQos(writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }))},
		{"RELIABILITY from RELIABLE", w.SetQos(writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))},
		{"HISTORY from KEEP_ALL to KEEP_LAST 3", r.SetQos(readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 3} }))},
		{"OWNERSHIP from SHARED to EXCLUSIVE", r.SetQos(readerQos(func(q *qos.DataReader) { q.Ownership.Kind = qos.OwnershipExclusive }))},
		{"PRESENTATION from INSTANCE", n.pub.SetQos(qos.Publisher{Presentation: qos.Presentation{AccessScope: qos.PresentationTopic}})},
		{"PRESENTATION from INSTANCE", n.sub.SetQos(qos.Subscriber{Presentation: qos.Presentation{AccessScope: qos.PresentationTopic}})},
		{"OWNERSHIP from SHARED to EXCLUSIVE", tp.SetQos(func() qos.Topic {
			q := qos.DefaultTopic()
			q.Ownership.Kind = qos.OwnershipExclusive
			return q
		}())},
	} {
		require.ErrorIs(t, c.err, ErrImmutablePolicy, c.policy)
		require.ErrorContains(t, c.err, c.policy)
	}
	require.Equal(t, writerQos(), w.Qos())
	err := w.SetQos(writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind, q.Ownership.Kind = qos.DurabilityTransientLocal, qos.OwnershipExclusive
	}))
	require.ErrorContains(t, err, "DURABILITY")
	require.ErrorContains(t, err, "OWNERSHIP")
	require.ErrorIs(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.History.Depth = 0 })), ErrInconsistentPolicy)
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.SetQos(writerQos()), ErrAlreadyDeleted)
}

// deafCore takes no change of an endpoint while it is deaf.
type deafCore struct {
	core
	deaf error
}

func (c *deafCore) ChangeEndpoint(ctx context.Context, id derecho.EndpointID, info []byte) error {
	if c.deaf != nil {
		return c.deaf
	}
	return c.core.ChangeEndpoint(ctx, id, info)
}

// What the domain could not be told is told when the same QoS is set again.
func TestSetQosAgainAfterAFailure(t *testing.T) {
	d := onBus(t)
	deaf := &deafCore{deaf: derecho.ErrTimeout}
	a, b := d.node(t, wrapCore(func(c core) core { deaf.core = c; return deaf })), d.node(t)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Deadline.Period = 2 * time.Second }))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
	q := writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Second })
	require.ErrorIs(t, w.SetQos(q), ErrTimeout)
	require.Equal(t, q, w.Qos())
	deaf.deaf = nil
	require.NoError(t, w.SetQos(q))
	d.bus.settle(t)
	require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount)
}
