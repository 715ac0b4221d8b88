package dcps

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// A condition that holds wakes who waits when it is attached; all that hold are given, and a condition may be attached
// to several WaitSets.
//
// Clauses: 2.2.2.1.6.1, 2.2.2.1.6.3
func TestDDS14_2_2_4_4_AttachedWhileWaiting(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		r := d.node(t).reader(t, readerQos())
		var first, second GuardCondition
		ws := NewWaitSet(&first, r.NewReadCondition(0, 0, 0))
		woken := make(chan []Condition, 1)
		go func() {
			active, err := ws.Wait(t.Context())
			if err != nil {
				t.Error(err)
			}
			woken <- active
		}()
		synctest.Wait()
		second.SetTriggerValue(true)
		synctest.Wait()
		require.Empty(t, woken, "it is not attached")
		require.NoError(t, ws.Attach(&second))
		require.Equal(t, []Condition{&second}, <-woken)

		first.SetTriggerValue(true)
		for _, ws := range []*WaitSet{ws, NewWaitSet(&first, &second)} {
			active, err := ws.Wait(t.Context())
			require.NoError(t, err)
			require.ElementsMatch(t, []Condition{&first, &second}, active)
		}
		first.SetTriggerValue(false)
		active, err := ws.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, []Condition{&second}, active)
	})
}

// A condition is for the reader that made it, as long as it is not deleted; a topic for the entities of its participant.
//
// Clauses: 2.2.2.4.1.5, 2.2.2.5.2.5
func TestDDS14_2_2_2_5_3_10_ConditionsOfOthers(t *testing.T) {
	d := onBus(t)
	n, other := d.node(t), d.node(t)
	r := n.reader(t, readerQos())
	c := n.reader(t, readerQos()).NewReadCondition(0, 0, 0)
	for _, f := range []func(...ReadOption) (*Samples[track], error){r.Read, r.Take} {
		_, err := f(When(c))
		require.ErrorIs(t, err, ErrPreconditionNotMet)
	}
	c = r.NewReadCondition(0, 0, 0)
	require.NoError(t, c.Close())
	_, err := r.Take(When(c))
	require.ErrorIs(t, err, ErrAlreadyDeleted)

	_, err = NewDataWriter(n.pub, other.topic(t))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	_, err = NewDataReader(n.sub, other.topic(t))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
}

// A StatusCondition that nobody has told which statuses it is for is for all of the entity.
func TestDDS14_2_2_2_1_9_1_AllStatusesAtFirst(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	d.bus.settle(t)
	for _, e := range []Entity{n.p, n.pub, n.sub, w.Topic(), w, r} {
		require.Equal(t, StatusMask(0x7fff), e.StatusCondition().EnabledStatuses()&0x7fff, "%T", e)
		require.Same(t, e.StatusCondition(), e.StatusCondition(), "%T", e)
	}
	require.True(t, r.StatusCondition().TriggerValue())
	r.StatusCondition().SetEnabledStatuses(0)
	require.False(t, r.StatusCondition().TriggerValue())
	require.True(t, w.StatusCondition().TriggerValue())
}

// Data without key has one instance, whose handle is nil; there is nothing to register, and nothing to tell apart.
//
// Clauses: 2.2.2.4.2.10
func TestDDS14_2_2_2_4_2_5_WithoutKey(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp, err := NewTopic[note](n.p, "Note")
	require.NoError(t, err)
	w, err := NewDataWriter(n.pub, tp)
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, tp)
	require.NoError(t, err)
	for _, f := range []func() (InstanceHandle, error){
		func() (InstanceHandle, error) { return w.Register(patiently(t), &note{}) },
		func() (InstanceHandle, error) { return w.LookupInstance(&note{}) },
	} {
		h, err := f()
		require.NoError(t, err)
		require.Equal(t, HandleNil, h)
	}
	require.NoError(t, w.Write(patiently(t), &note{}))
	d.bus.settle(t)
	samples, err := r.Read(Instance(HandleNil))
	require.NoError(t, err)
	defer samples.Close()
	require.Equal(t, HandleNil, samples.At(0).Info.InstanceHandle)
	require.Equal(t, w.Handle(), samples.At(0).Info.PublicationHandle)
}

// Who is not RELIABLE waits for no acknowledgments.
func TestDDS14_2_2_2_4_2_15_BestEffort(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
}

// The built-in Subscriber and its readers have the QoS of the table of §2.2.5.
func TestDDS14_2_2_5_QosOfTheBuiltinReaders(t *testing.T) {
	n := onBus(t).node(t)
	sub := qos.DefaultSubscriber()
	sub.Presentation.AccessScope = qos.PresentationTopic
	require.Equal(t, sub, n.p.BuiltinSubscriber().Qos())
	q := qos.DefaultDataReader()
	q.Durability.Kind = qos.DurabilityTransientLocal
	q.Reliability.Kind = qos.ReliabilityReliable
	for _, got := range []qos.DataReader{
		builtin[ParticipantBuiltinTopicData](t, n.p, BuiltinParticipantTopic).Qos(),
		builtin[TopicBuiltinTopicData](t, n.p, BuiltinTopicTopic).Qos(),
		builtin[PublicationBuiltinTopicData](t, n.p, BuiltinPublicationTopic).Qos(),
		builtin[SubscriptionBuiltinTopicData](t, n.p, BuiltinSubscriptionTopic).Qos(),
	} {
		require.Equal(t, q, got)
	}
}

// Each status names the entity or the instance that changed it last.
func TestDDS14_2_2_4_1_WhoChangedItLast(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n, m := d.node(t), d.node(t)
		lively := func(q *qos.DataWriter) {
			q.Liveliness = qos.Liveliness{Kind: qos.LivelinessManualByTopic, LeaseDuration: time.Second}
			q.Deadline.Period = time.Minute
		}
		bestEffort := func(q *qos.DataReader) {
			q.Reliability.Kind = qos.ReliabilityBestEffort
			q.ResourceLimits.MaxInstances = 1
			q.Deadline.Period = time.Minute
		}
		first := n.writer(t, writerQos(lively))
		r := m.reader(t, readerQos(bestEffort))
		other := m.reader(t, readerQos())
		second := n.writer(t, writerQos(lively))
		synctest.Wait()
		require.Equal(t, other.Handle(), first.PublicationMatchedStatus().LastHandle)
		require.Equal(t, second.Handle(), r.SubscriptionMatchedStatus().LastHandle)
		require.Equal(t, second.Handle(), r.LivelinessChangedStatus().LastPublicationHandle)

		handle := func(id int32) InstanceHandle {
			h, err := first.LookupInstance(&track{ID: id})
			require.NoError(t, err)
			return h
		}
		pass(500 * time.Millisecond)
		write(t, second, 7, 1)
		write(t, second, 8, 1)
		pass(600 * time.Millisecond)
		require.Equal(t, first.Handle(), r.LivelinessChangedStatus().LastPublicationHandle)
		rejected := r.SampleRejectedStatus()
		require.Equal(t, RejectedByInstancesLimit, rejected.LastReason)
		require.Equal(t, handle(8), rejected.LastInstanceHandle)
		pass(20 * time.Second)
		write(t, second, 8, 2)
		pass(39*time.Second + 500*time.Millisecond)
		require.Equal(t, DeadlineMissedStatus{1, 1, handle(7)}, second.OfferedDeadlineMissedStatus())
		require.Equal(t, DeadlineMissedStatus{1, 0, handle(7)}, second.OfferedDeadlineMissedStatus(), "looked at")

		require.NoError(t, r.Close())
		synctest.Wait()
		matched := first.PublicationMatchedStatus()
		matched.LastPeer = Peer{}
		require.Equal(t, MatchedStatus{TotalCount: 2, CurrentCount: 1, CurrentCountChange: -1, LastHandle: r.Handle()}, matched)

		// Of a policy it is counted how often it was the reason, of the status how often there was one.
		for _, change := range []func(*qos.DataReader){
			func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal },
			func(q *qos.DataReader) {
				q.Durability.Kind = qos.DurabilityTransientLocal
				q.Deadline.Period = time.Second
			},
		} {
			m.reader(t, readerQos(change))
		}
		synctest.Wait()
		refused := first.OfferedIncompatibleQosStatus()
		require.Equal(t, int32(2), refused.TotalCount)
		require.ElementsMatch(t, []PolicyCount{{qos.PolicyDurability, 2}, {qos.PolicyDeadline, 1}}, refused.Policies)
		require.Contains(t, []qos.PolicyID{qos.PolicyDurability, qos.PolicyDeadline}, refused.LastPolicyID)
	})
}
