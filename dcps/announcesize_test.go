package dcps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// What is too large to be told is refused when an entity is made, before and after it is enabled, and names the policy, how large
// it is, and the bound. Nothing of it is in force then.
//
// Clauses: 2.2.3.1, 2.2.3.2, 2.2.3.3
func TestOversizedAnnouncements(t *testing.T) {
	big := make([]byte, 40_000)
	refused := func(t *testing.T, err error, policy string) {
		t.Helper()
		require.ErrorIs(t, err, ErrOutOfResources)
		require.ErrorIs(t, err, derecho.ErrTooLarge)
		require.ErrorContains(t, err, policy+" 40000")
		require.ErrorContains(t, err, "room for at most 32768")
		require.NotContains(t, err.Error(), "later")
	}
	wq, rq := writerQos(), readerQos()
	wq.UserData.Value, rq.UserData.Value = big, big
	pq, sq, tq, dq := qos.DefaultPublisher(), qos.DefaultSubscriber(), qos.DefaultTopic(), qos.DefaultDomainParticipant()
	pq.GroupData.Value, sq.GroupData.Value, tq.TopicData.Value, dq.UserData.Value = big, big, big, big
	partition := qos.DefaultPublisher()
	partition.Partition.Name = []string{strings.Repeat("a", 20_000), strings.Repeat("b", 20_000)}

	d := onBus(t)
	n := d.node(t)
	w, r, tp := n.writer(t, writerQos()), n.reader(t, readerQos()), n.topic(t)
	require.NoError(t, w.WaitForMatch(patiently(t), 1))

	refused(t, w.SetQos(wq), "USER_DATA")
	refused(t, r.SetQos(rq), "USER_DATA")
	refused(t, n.pub.SetQos(pq), "GROUP_DATA")
	refused(t, n.pub.SetQos(partition), "PARTITION")
	refused(t, n.sub.SetQos(sq), "GROUP_DATA")
	refused(t, tp.SetQos(tq), "TOPIC_DATA")
	refused(t, n.p.SetQos(dq), "USER_DATA")
	require.Empty(t, w.Qos().UserData.Value)
	require.Empty(t, r.Qos().UserData.Value)
	require.Empty(t, n.pub.Qos().GroupData.Value)
	require.Empty(t, n.pub.Qos().Partition.Name)
	require.Empty(t, n.sub.Qos().GroupData.Value)
	require.Empty(t, tp.Qos().TopicData.Value)
	require.Empty(t, n.p.Qos().UserData.Value)

	_, err := NewDataWriter(n.pub, tp, WithWriterQos(wq))
	refused(t, err, "USER_DATA")
	_, err = NewDataReader(n.sub, tp, WithReaderQos(rq))
	refused(t, err, "USER_DATA")
	_, err = n.p.NewPublisher(WithPublisherQos(pq))
	refused(t, err, "GROUP_DATA")
	_, err = n.p.NewSubscriber(WithSubscriberQos(sq))
	refused(t, err, "GROUP_DATA")
	_, err = NewTopic[note](n.p, "Notes", WithTopicQos(tq))
	refused(t, err, "TOPIC_DATA")
	_, err = NewDomainParticipant(t.Context(), 0, WithParticipantQos(dq))
	refused(t, err, "USER_DATA")

	later := qos.DefaultPublisher()
	later.EntityFactory.AutoenableCreatedEntities = false
	pub, err := n.p.NewPublisher(WithPublisherQos(later))
	require.NoError(t, err)
	disabled, err := NewDataWriter(pub, tp)
	require.NoError(t, err)
	refused(t, disabled.SetQos(wq), "USER_DATA")
	require.NoError(t, disabled.Enable())

	// What is changed after that is told.
	sq = n.sub.Qos()
	sq.Partition.Name = []string{"elsewhere"}
	require.NoError(t, n.sub.SetQos(sq))
	d.settle(t)
	require.Zero(t, w.PublicationMatchedStatus().CurrentCount)
}

// The bound is that of all together, and what is as large as it is told.
func TestAnnouncementsShareTheBound(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos())
	q := w.Qos()
	q.UserData.Value = make([]byte, 20_000)
	require.NoError(t, w.SetQos(q))
	pq := n.pub.Qos()
	pq.GroupData.Value = make([]byte, 15_000)
	err := n.pub.SetQos(pq)
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorContains(t, err, `SetQos (writer of topic "Track")`)
	require.ErrorContains(t, err, "USER_DATA 20000, GROUP_DATA 15000, the type ")
	require.Empty(t, n.pub.Qos().GroupData.Value)

	left := derecho.MaxInfo - len(w.untyped().announcement().encode())
	q.UserData.Value = make([]byte, 20_000+left+1)
	require.ErrorIs(t, w.SetQos(q), ErrOutOfResources)
	q.UserData.Value = q.UserData.Value[1:]
	require.NoError(t, w.SetQos(q))

	dq := n.p.Qos()
	dq.UserData.Value = make([]byte, derecho.MaxInfo-1)
	require.ErrorIs(t, n.p.SetQos(dq), ErrOutOfResources)
	dq.UserData.Value = dq.UserData.Value[1:]
	require.NoError(t, n.p.SetQos(dq))
}

// So are the parameters of a content filter, and the parts of a MultiTopic's reader.
func TestOversizedAnnouncementsOfReaders(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp, err := NewTopic[track](n.p, "Track", WithTypeDescription(trackDescription))
	require.NoError(t, err)
	named, err := NewContentFilteredTopic(tp, "NamedSo", "text = %0", "'a'")
	require.NoError(t, err)
	r, err := NewDataReader(n.sub, named)
	require.NoError(t, err)
	err = named.SetExpressionParameters("'" + strings.Repeat("a", 40_000) + "'")
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorContains(t, err, "the content filter 40011")
	require.Equal(t, []string{"'a'"}, named.ExpressionParameters())
	require.NoError(t, r.Close())

	_, err = NewTopic[label](n.p, "Label")
	require.NoError(t, err)
	m, err := NewMultiTopic[labelled](n.p, "Named", namedExpression, "0")
	require.NoError(t, err)
	joined, err := NewDataReader(n.sub, m)
	require.NoError(t, err)
	q := joined.Qos()
	q.UserData.Value = make([]byte, 40_000)
	err = joined.SetQos(q)
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorContains(t, err, "USER_DATA 40000")
	require.Empty(t, joined.Qos().UserData.Value)
}
