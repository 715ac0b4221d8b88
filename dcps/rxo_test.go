package dcps

import (
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// sides is the QoS of a writer with its Publisher and of a reader with its Subscriber.
type sides struct {
	w   qos.DataWriter
	pub qos.Publisher
	r   qos.DataReader
	sub qos.Subscriber
}

// rxoCase is a policy with two values of which the weaker, offered, does not serve the stronger, requested.
type rxoCase struct {
	policy             qos.PolicyID
	offered, requested string
	offer, request     func(*sides)
	// better makes the offer good enough.
	better func(*sides)
}

var rxoCases = []rxoCase{
	{
		qos.PolicyDurability, "VOLATILE", "TRANSIENT_LOCAL",
		func(*sides) {}, func(s *sides) { s.r.Durability.Kind = qos.DurabilityTransientLocal },
		func(s *sides) { s.w.Durability.Kind = qos.DurabilityTransientLocal },
	},
	{
		qos.PolicyDurability, "TRANSIENT_LOCAL", "TRANSIENT",
		func(s *sides) { s.w.Durability.Kind = qos.DurabilityTransientLocal }, func(s *sides) { s.r.Durability.Kind = qos.DurabilityTransient },
		func(s *sides) { s.w.Durability.Kind = qos.DurabilityTransient },
	},
	{
		qos.PolicyPresentation, "INSTANCE coherent_access false ordered_access false", "TOPIC coherent_access false ordered_access false",
		func(*sides) {}, func(s *sides) { s.sub.Presentation.AccessScope = qos.PresentationTopic },
		func(s *sides) { s.pub.Presentation.AccessScope = qos.PresentationGroup },
	},
	{
		qos.PolicyPresentation, "INSTANCE coherent_access false ordered_access false", "INSTANCE coherent_access false ordered_access true",
		func(*sides) {}, func(s *sides) { s.sub.Presentation.OrderedAccess = true },
		func(s *sides) { s.pub.Presentation.OrderedAccess = true },
	},
	{
		qos.PolicyDeadline, "2s", "1s",
		func(s *sides) { s.w.Deadline.Period = 2 * time.Second }, func(s *sides) { s.r.Deadline.Period = time.Second },
		func(s *sides) { s.w.Deadline.Period = time.Second },
	},
	{
		qos.PolicyLatencyBudget, "2ms", "1ms",
		func(s *sides) { s.w.LatencyBudget.Duration = 2 * time.Millisecond }, func(s *sides) { s.r.LatencyBudget.Duration = time.Millisecond },
		func(s *sides) { s.w.LatencyBudget.Duration = 0 },
	},
	{
		qos.PolicyOwnership, "EXCLUSIVE", "SHARED",
		func(s *sides) { s.w.Ownership.Kind = qos.OwnershipExclusive }, func(*sides) {},
		func(s *sides) { s.w.Ownership.Kind = qos.OwnershipShared },
	},
	{
		qos.PolicyLiveliness, "AUTOMATIC lease_duration INFINITE", "MANUAL_BY_TOPIC lease_duration INFINITE",
		func(*sides) {}, func(s *sides) { s.r.Liveliness.Kind = qos.LivelinessManualByTopic },
		func(s *sides) { s.w.Liveliness.Kind = qos.LivelinessManualByTopic },
	},
	{
		qos.PolicyLiveliness, "AUTOMATIC lease_duration 20s", "AUTOMATIC lease_duration 10s",
		func(s *sides) { s.w.Liveliness.LeaseDuration = 20 * time.Second }, func(s *sides) { s.r.Liveliness.LeaseDuration = 10 * time.Second },
		func(s *sides) { s.w.Liveliness.LeaseDuration = 10 * time.Second },
	},
	{
		qos.PolicyReliability, "BEST_EFFORT", "RELIABLE",
		func(s *sides) { s.w.Reliability.Kind = qos.ReliabilityBestEffort }, func(s *sides) { s.r.Reliability.Kind = qos.ReliabilityReliable },
		func(s *sides) { s.w.Reliability.Kind = qos.ReliabilityReliable },
	},
	{
		qos.PolicyDestinationOrder, "BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP",
		func(*sides) {}, func(s *sides) { s.r.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp },
		func(s *sides) { s.w.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp },
	},
	{
		qos.PolicyDataRepresentation, "XCDR2", "[XCDR]",
		func(s *sides) {
			s.w.DataRepresentation.Value = []qos.DataRepresentationKind{qos.DataRepresentationXCDR2}
		},
		func(s *sides) {
			s.r.DataRepresentation.Value = []qos.DataRepresentationKind{qos.DataRepresentationXCDR1}
		},
		func(s *sides) { s.w.DataRepresentation.Value = nil },
	},
	{
		qos.PolicyConsistency, "PER_WRITER", "TOTAL_ORDER",
		func(s *sides) { s.w.Consistency.Kind = qos.ConsistencyPerWriter },
		func(s *sides) {
			s.r.Reliability.Kind, s.r.Consistency.Kind = qos.ReliabilityReliable, qos.ConsistencyTotalOrder
		},
		func(s *sides) { s.w.Consistency.Kind = qos.ConsistencyTotalOrder },
	},
}

// An offer that does not do raises both sides' statuses, with the peer, the policy and both values, once, whichever side comes
// first; one that does matches them. All policies of the standard's RxO column, and the extensions.
//
// Clauses: 2.2.3, 2.2.2.4.2.18, 2.2.2.4.2.19, 2.2.2.5.3.23, 2.2.2.5.3.26, 2.2.4.1, 2.2.4.2.1, 2.2.4.4.1
func TestDDS14_2_2_3_RxO_BothSides(t *testing.T) {
	for _, c := range rxoCases {
		for _, writerFirst := range []bool{true, false} {
			t.Run(c.policy.String()+" "+c.offered+" "+c.requested, func(t *testing.T) { c.run(t, writerFirst) })
		}
	}
}

func (c *rxoCase) run(t *testing.T, writerFirst bool) {
	s := sides{writerQos(), qos.DefaultPublisher(), qos.DefaultDataReader(), qos.DefaultSubscriber()}
	c.offer(&s)
	c.request(&s)
	d := onBus(t)
	a, b := d.node(t, WithName("offers")), d.node(t, WithName("requests"))
	var w *DataWriter[track]
	var r *DataReader[track]
	write := func() { w = a.writerOf(t, s.pub, s.w) }
	if writerFirst {
		write()
	}
	sub, err := b.p.NewSubscriber(WithSubscriberQos(s.sub))
	require.NoError(t, err)
	r, err = NewDataReader(sub, b.topic(t), WithReaderQos(s.r))
	require.NoError(t, err)
	if !writerFirst {
		write()
	}
	d.bus.settle(t)

	w.StatusCondition().SetEnabledStatuses(OfferedIncompatibleQosStatusBit)
	r.StatusCondition().SetEnabledStatuses(RequestedIncompatibleQosStatusBit)
	require.True(t, w.StatusCondition().TriggerValue())
	require.True(t, r.StatusCondition().TriggerValue())
	for peer, status := range map[string]func() IncompatibleQosStatus{"requests": w.OfferedIncompatibleQosStatus, "offers": r.RequestedIncompatibleQosStatus} {
		got := status()
		require.Equal(t, []int32{1, 1}, []int32{got.TotalCount, got.TotalCountChange})
		require.Equal(t, c.policy, got.LastPolicyID)
		require.Equal(t, []PolicyCount{{c.policy, 1}}, got.Policies)
		require.Len(t, got.Details, 1)
		require.Equal(t, peer, got.Details[0].Peer.Name)
		require.Equal(t, c.offered, got.Details[0].Offered)
		require.Equal(t, c.requested, got.Details[0].Requested)
		again := status()
		require.Equal(t, []int32{1, 0}, []int32{again.TotalCount, again.TotalCountChange}, "it was looked at")
	}
	require.False(t, w.StatusCondition().TriggerValue())
	require.False(t, r.StatusCondition().TriggerValue())
	require.Zero(t, w.PublicationMatchedStatus())
	require.Zero(t, r.SubscriptionMatchedStatus())

	c.better(&s)
	good := a.writerOf(t, s.pub, s.w)
	d.bus.settle(t)
	offered, requested := good.PublicationMatchedStatus(), r.SubscriptionMatchedStatus()
	require.Equal(t, MatchedStatus{1, 1, 1, 1, r.Handle(), offered.LastPeer}, offered)
	require.Equal(t, MatchedStatus{1, 1, 1, 1, good.Handle(), requested.LastPeer}, requested)
	require.Equal(t, "requests", offered.LastPeer.Name)
	require.Equal(t, "offers", requested.LastPeer.Name)
	require.Equal(t, MatchedStatus{1, 0, 1, 0, r.Handle(), offered.LastPeer}, good.PublicationMatchedStatus())
	require.Zero(t, good.OfferedIncompatibleQosStatus())
}

// writerOf makes a writer with a Publisher of its own.
func (n *node) writerOf(t *testing.T, pq qos.Publisher, wq qos.DataWriter) *DataWriter[track] {
	t.Helper()
	pub, err := n.p.NewPublisher(WithPublisherQos(pq))
	require.NoError(t, err)
	w, err := NewDataWriter(pub, n.topic(t), WithWriterQos(wq))
	require.NoError(t, err)
	return w
}
