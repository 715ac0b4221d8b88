package dcps

import (
	"context"
	"sync"
	"testing"
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

// stuckCore takes a change of an endpoint and does not come to an end with it.
type stuckCore struct {
	core
	slow    bool
	once    sync.Once
	entered chan struct{}
	gaveUp  error
}

func (c *stuckCore) ChangeEndpoint(ctx context.Context, id derecho.EndpointID, info []byte) error {
	if !c.slow {
		return c.core.ChangeEndpoint(ctx, id, info)
	}
	c.once.Do(func() { close(c.entered) })
	<-ctx.Done()
	c.gaveUp = ctx.Err()
	return c.gaveUp
}

// Close does not wait until a SetQos that the domain does not answer has timed out.
func TestCloseEndsSetQos(t *testing.T) {
	d := onBus(t)
	stuck := &stuckCore{entered: make(chan struct{})}
	n := d.node(t, wrapCore(func(c core) core { stuck.core = c; return stuck }))
	r := n.reader(t, readerQos())
	stuck.slow = true
	done := make(chan error)
	go func() {
		done <- r.SetQos(readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
	}()
	<-stuck.entered
	require.NoError(t, r.Close())
	require.Error(t, <-done)
	require.ErrorIs(t, stuck.gaveUp, context.Canceled, "and not its deadline")
}

// A DEADLINE that comes later holds from the next sample of an instance, and at once where the writer keeps account of its
// instances already.
func TestDeadlineThatComesLater(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		plain := n.writer(t, writerQos())
		limited := n.writer(t, writerQos(func(q *qos.DataWriter) { q.ResourceLimits.MaxInstances = 10 }))
		for _, w := range []*DataWriter[track]{plain, limited} {
			write(t, w, 1, 1)
			q := w.Qos()
			q.Deadline.Period = time.Second
			require.NoError(t, w.SetQos(q))
		}
		pass(2*time.Second + time.Millisecond)
		require.Equal(t, int32(2), limited.OfferedDeadlineMissedStatus().TotalCount)
		require.Zero(t, plain.OfferedDeadlineMissedStatus().TotalCount)
		write(t, plain, 1, 2)
		pass(2*time.Second + time.Millisecond)
		require.Equal(t, int32(2), plain.OfferedDeadlineMissedStatus().TotalCount)
	})
}
