package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// CONSISTENCY, an extension, is offered and requested: both sides hear of it where it does not fit, and of nothing else.
func TestConsistencyIsMatched(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	durable := readerQos(func(q *qos.DataReader) {
		q.Reliability.Kind = qos.ReliabilityReliable
		q.Consistency.Kind = qos.ConsistencyTotalOrderDurable
	})
	total := readerQos(func(q *qos.DataReader) {
		q.Reliability.Kind = qos.ReliabilityReliable
		q.Consistency.Kind = qos.ConsistencyTotalOrder
	})
	w := a.writer(t, writerQos()) // RELIABLE and VOLATILE: atomic, and forgotten
	refused, matched := b.reader(t, durable), b.reader(t, total)
	d.bus.settle(t)
	require.Equal(t, int32(1), matched.SubscriptionMatchedStatus().CurrentCount)
	require.Zero(t, refused.SubscriptionMatchedStatus().CurrentCount)
	for _, s := range []IncompatibleQosStatus{w.OfferedIncompatibleQosStatus(), refused.RequestedIncompatibleQosStatus()} {
		require.Equal(t, int32(1), s.TotalCount)
		require.Equal(t, qos.PolicyConsistency, s.LastPolicyID)
		require.Len(t, s.Details, 1)
		require.Equal(t, "TOTAL_ORDER", s.Details[0].Offered)
		require.Equal(t, "TOTAL_ORDER_DURABLE", s.Details[0].Requested)
	}
}
