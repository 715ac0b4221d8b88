package dcps

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

var createdDisabled = qos.EntityFactory{AutoenableCreatedEntities: false}

// disabled makes a participant that has not joined, and one of each entity below it.
func disabled(t *testing.T, d *domain) (*node, *Topic[track], *DataWriter[track], *DataReader[track]) {
	f := NewDomainParticipantFactory(d.bus.join())
	require.NoError(t, f.SetQos(createdDisabled))
	p, err := f.NewDomainParticipant(patiently(t), d.id)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	n := &node{p: p}
	n.pub, err = p.NewPublisher()
	require.NoError(t, err)
	n.sub, err = p.NewSubscriber()
	require.NoError(t, err)
	return n, n.topic(t), n.writer(t, writerQos()), n.reader(t, readerQos())
}

// Until it is enabled an entity does what the standard lists, and nothing else.
func TestDDS14_2_2_2_1_1_7_BeforeEnable(t *testing.T) {
	d := onBus(t)
	n, tp, w, r := disabled(t, d)
	for _, enabled := range []bool{n.p.Enabled(), n.pub.Enabled(), n.sub.Enabled(), tp.Enabled(), w.Enabled(), r.Enabled()} {
		require.False(t, enabled)
	}

	// Allowed: QoS, listeners, conditions, statuses, making and looking up other entities.
	require.NoError(t, n.p.SetQos(n.p.Qos()))
	require.NoError(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.History.Depth = 7 })), "what can not change later can now")
	require.NoError(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal })))
	require.NoError(t, r.SetQos(readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal })))
	require.NoError(t, w.SetListener(&DataWriterListener[track]{}, AnyStatus))
	require.NoError(t, r.SetListener(&DataReaderListener[track]{}, AnyStatus))
	require.False(t, r.StatusCondition().TriggerValue())
	require.Zero(t, w.StatusChanges())
	require.Zero(t, w.PublicationMatchedStatus())
	require.NotNil(t, r.NewReadCondition(0, 0, 0))
	described, err := NewTopic[track](n.p, "Described", WithTypeDescription(trackDescription))
	require.NoError(t, err)
	_, err = NewContentFilteredTopic(described, "Filtered", "value > 1")
	require.NoError(t, err)

	// Not allowed.
	require.Equal(t, HandleNil, n.p.Handle())
	require.Equal(t, HandleNil, w.Handle())
	require.Equal(t, HandleNil, r.Handle())
	ctx := context.Background()
	second := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"Write":                      w.Write(ctx, &track{}),
		"Register":                   second(w.Register(ctx, &track{})),
		"Dispose":                    w.Dispose(ctx, &track{}),
		"Unregister":                 w.Unregister(ctx, &track{}),
		"Loan":                       second(w.Loan(ctx, 100)),
		"WaitForAcknowledgments":     w.WaitForAcknowledgments(ctx),
		"WaitForMatch":               w.WaitForMatch(ctx, 1),
		"AssertLiveliness":           w.AssertLiveliness(),
		"Read":                       second(r.Read()),
		"Take":                       second(r.Take()),
		"TakeLoan":                   second(r.TakeLoan()),
		"WaitForHistoricalData":      r.WaitForHistoricalData(ctx),
		"Publisher acknowledgements": n.pub.WaitForAcknowledgments(ctx),
		"NotifyDataReaders":          n.sub.NotifyDataReaders(),
		"BeginAccess":                n.sub.BeginAccess(),
		"EndAccess":                  n.sub.EndAccess(),
		"BeginCoherentChanges":       n.pub.BeginCoherentChanges(),
		"EndCoherentChanges":         n.pub.EndCoherentChanges(ctx),
		"SuspendPublications":        n.pub.SuspendPublications(),
		"ResumePublications":         n.pub.ResumePublications(),
		"participant's liveliness":   n.p.AssertLiveliness(),
		"WaitForDomain":              n.p.WaitForDomain(ctx),
	} {
		require.ErrorIs(t, err, ErrNotEnabled, name)
		require.ErrorContains(t, err, "Enable", name)
	}

	// One after the other, and not before what made it.
	require.ErrorIs(t, n.pub.Enable(), ErrPreconditionNotMet)
	require.ErrorIs(t, w.Enable(), ErrPreconditionNotMet)
	require.ErrorIs(t, r.Enable(), ErrPreconditionNotMet)
	require.ErrorIs(t, tp.Enable(), ErrPreconditionNotMet)
	require.NoError(t, n.p.Enable(patiently(t)))
	for _, enabled := range []bool{n.p.Enabled(), n.pub.Enabled(), n.sub.Enabled(), tp.Enabled(), w.Enabled(), r.Enabled()} {
		require.True(t, enabled, "ENTITY_FACTORY of the participant and its parts is true")
	}
	require.NoError(t, n.p.Enable(patiently(t)), "again: no effect")
	require.NoError(t, w.Enable())
	require.ErrorIs(t, w.SetQos(writerQos()), ErrImmutablePolicy)
	d.bus.settle(t)
	require.Equal(t, int32(1), w.PublicationMatchedStatus().CurrentCount)
	write(t, w, 1, 10)
	require.Equal(t, "1:10", values(t, r, 1))
}

// ENTITY_FACTORY at each level: what is made is enabled only if that says so, and who made it is.
func TestDDS14_2_2_3_20_EntityFactory(t *testing.T) {
	d := onBus(t)
	q := qos.DefaultDomainParticipant()
	q.EntityFactory = createdDisabled
	n := d.node(t, WithParticipantQos(q))
	require.True(t, n.p.Enabled())
	require.False(t, n.pub.Enabled())
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	require.False(t, w.Enabled(), "its Publisher is not enabled")

	pub := n.pub.Qos()
	pub.EntityFactory = createdDisabled
	require.NoError(t, n.pub.SetQos(pub))
	require.NoError(t, n.pub.Enable())
	require.False(t, w.Enabled(), "the Publisher enables nothing by itself")
	require.NoError(t, w.Enable())
	require.NoError(t, n.sub.Enable())
	require.True(t, r.Enabled(), "the Subscriber does")
	d.bus.settle(t)
	require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount)
	require.False(t, n.writer(t, writerQos()).Enabled())
	pub.EntityFactory.AutoenableCreatedEntities = true
	require.NoError(t, n.pub.SetQos(pub))
	require.True(t, n.writer(t, writerQos()).Enabled())
}

// To enable what is enabled has no effect, on what it made neither: an entity that was made disabled by the
// ENTITY_FACTORY of the time stays so until it is enabled itself.
func TestDDS14_2_2_2_1_1_7_EnableAgain(t *testing.T) {
	d := onBus(t)
	q := qos.DefaultDomainParticipant()
	q.EntityFactory = createdDisabled
	n := d.node(t, WithParticipantQos(q))
	tp := n.topic(t)
	require.NoError(t, n.p.SetQos(qos.DefaultDomainParticipant()))
	require.NoError(t, n.p.Enable(patiently(t)))
	for _, enabled := range []bool{n.pub.Enabled(), n.sub.Enabled(), tp.Enabled()} {
		require.False(t, enabled, "made before ENTITY_FACTORY was changed, and the participant was enabled all the while")
	}
	require.NoError(t, tp.Enable())
	require.NoError(t, n.pub.Enable())
	require.NoError(t, n.sub.Enable())

	pub, sub := n.pub.Qos(), n.sub.Qos()
	pub.EntityFactory, sub.EntityFactory = createdDisabled, createdDisabled
	require.NoError(t, n.pub.SetQos(pub))
	require.NoError(t, n.sub.SetQos(sub))
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	pub.EntityFactory.AutoenableCreatedEntities, sub.EntityFactory.AutoenableCreatedEntities = true, true
	require.NoError(t, n.pub.SetQos(pub))
	require.NoError(t, n.sub.SetQos(sub))
	require.NoError(t, n.p.Enable(patiently(t)))
	require.NoError(t, n.pub.Enable())
	require.NoError(t, n.sub.Enable())
	require.False(t, w.Enabled())
	require.False(t, r.Enabled())
	require.NoError(t, w.Enable())
	require.NoError(t, r.Enable())
	require.True(t, w.Enabled())
	require.True(t, r.Enabled())
}

// What could not be enabled with the entity that made it is enabled by the next call, and nothing else is, nor what was
// closed meanwhile.
func TestEnableGoesOn(t *testing.T) {
	d := onBus(t)
	mute := &hushedCore{mute: true}
	f := NewDomainParticipantFactory(d.bus.join(), wrapCore(func(c core) core { mute.core = c; return mute }))
	require.NoError(t, f.SetQos(createdDisabled))
	p, err := f.NewDomainParticipant(patiently(t), d.id)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	n := &node{p: p}
	n.pub, err = p.NewPublisher()
	require.NoError(t, err)
	n.topic(t)
	w, closed := n.writer(t, writerQos()), n.writer(t, writerQos())
	require.ErrorIs(t, p.Enable(patiently(t)), ErrTimeout)
	require.True(t, n.pub.Enabled())
	require.False(t, w.Enabled())
	q := n.pub.Qos()
	q.EntityFactory = createdDisabled
	require.NoError(t, n.pub.SetQos(q))
	later := n.writer(t, writerQos())
	require.NoError(t, n.pub.SetQos(qos.DefaultPublisher()))
	require.ErrorIs(t, n.pub.Enable(), ErrTimeout)
	require.NoError(t, closed.Close())
	mute.mute = false
	require.NoError(t, p.Enable(patiently(t)))
	require.True(t, w.Enabled())
	require.False(t, later.Enabled(), "it was made disabled afterwards")
}

// What was never enabled is closed without a word to the domain, and what it belongs to as well.
func TestCloseBeforeEnable(t *testing.T) {
	d := onBus(t)
	n, tp, w, r := disabled(t, d)
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Enable(), ErrPreconditionNotMet)
	require.ErrorIs(t, w.Write(context.Background(), &track{}), ErrAlreadyDeleted)
	require.NoError(t, n.p.Close())
	require.ErrorIs(t, n.p.Enable(patiently(t)), ErrAlreadyDeleted)
	_, err := r.Read()
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	_, err = NewDataWriter(n.pub, tp)
	require.Error(t, err)
}

// The factory knows its participants, and makes them as it is told.
//
// Clauses: 2.2.2.2.2.1-8
func TestFactory(t *testing.T) {
	d := onBus(t)
	f := NewDomainParticipantFactory(d.bus.join(), WithName("made by f"))
	require.Nil(t, f.LookupParticipant(3))
	require.Equal(t, qos.EntityFactory{AutoenableCreatedEntities: true}, f.Qos())
	require.Equal(t, qos.DefaultDomainParticipant(), f.DefaultParticipantQos())
	q := qos.DefaultDomainParticipant()
	q.UserData.Value = []byte("of all")
	require.NoError(t, f.SetDefaultParticipantQos(q))

	p, err := f.NewDomainParticipant(patiently(t), 3)
	require.NoError(t, err)
	require.Equal(t, q, p.Qos())
	require.Equal(t, "made by f", p.Name())
	require.Equal(t, DomainID(3), p.ID())
	require.Same(t, p, f.LookupParticipant(3))
	require.Nil(t, f.LookupParticipant(4))
	require.Nil(t, new(DomainParticipantFactory).LookupParticipant(3), "factories know nothing of each other")
	require.NoError(t, p.Close())
	require.Nil(t, f.LookupParticipant(3))
	_, err = f.NewDomainParticipant(patiently(t), 5)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Nil(t, f.LookupParticipant(5))
}

// New entities start from the defaults of what makes them.
//
// Clauses: 2.2.2.2.1.20-25, 2.2.2.4.1.15-17, 2.2.2.5.2.15-17
func TestDefaultQos(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	pubQos, subQos, topicQos := n.p.DefaultPublisherQos(), n.p.DefaultSubscriberQos(), n.p.DefaultTopicQos()
	pubQos.Partition.Name, subQos.Partition.Name = []string{"a"}, []string{"b"}
	topicQos.Deadline.Period = 7
	require.NoError(t, n.p.SetDefaultPublisherQos(pubQos))
	require.NoError(t, n.p.SetDefaultSubscriberQos(subQos))
	require.NoError(t, n.p.SetDefaultTopicQos(topicQos))
	pub, err := n.p.NewPublisher()
	require.NoError(t, err)
	sub, err := n.p.NewSubscriber()
	require.NoError(t, err)
	require.Equal(t, pubQos, pub.Qos())
	require.Equal(t, subQos, sub.Qos())
	tp := n.topic(t)
	require.Equal(t, topicQos, tp.Qos())

	wq, rq := writerQos(func(q *qos.DataWriter) { q.OwnershipStrength.Value = 5 }), readerQos()
	require.NoError(t, pub.SetDefaultDataWriterQos(wq))
	require.NoError(t, sub.SetDefaultDataReaderQos(rq))
	require.Equal(t, wq, pub.DefaultDataWriterQos())
	require.Equal(t, rq, sub.DefaultDataReaderQos())
	w, err := NewDataWriter(pub, tp)
	require.NoError(t, err)
	require.Equal(t, wq, w.Qos())
	copied, err := NewDataWriter(pub, tp, FromTopicQos())
	require.NoError(t, err)
	require.Equal(t, wq.CopyFromTopic(topicQos), copied.Qos())
	require.Equal(t, int32(5), copied.Qos().OwnershipStrength.Value, "what a topic does not have stays")
	r, err := NewDataReader(sub, tp, FromTopicQos())
	require.NoError(t, err)
	require.Equal(t, rq.CopyFromTopic(topicQos), r.Qos())

	require.ErrorIs(t, pub.SetDefaultDataWriterQos(qos.DataWriter{}), ErrInconsistentPolicy)
	require.ErrorIs(t, n.p.SetDefaultTopicQos(qos.Topic{}), ErrInconsistentPolicy)
	require.Equal(t, topicQos, n.p.DefaultTopicQos())
}

// A participant that could not be made leaves nothing behind: neither a member of the domain nor a goroutine of its listener.
func TestParticipantThatCanNotJoin(t *testing.T) {
	silent := errors.New("the core does not work")
	q := qos.DefaultDomainParticipant()
	q.UserData.Value = []byte("to be announced")
	hears := WithParticipantListener(ParticipantListener{OnViewChanged: func(*DomainParticipant, ViewChangedStatus) {}})
	var made *DomainParticipant
	noCore := ParticipantOption(func(c *participantConfig) {
		c.core = func(h handler, _ participantConfig) (core, error) {
			made = h.(*hub).p
			return nil, silent
		}
	})
	_, err := NewDomainParticipant(patiently(t), 0, noCore, hears)
	require.ErrorIs(t, err, silent)
	require.True(t, isClosed(made.domain.stop))

	d := onBus(t)
	mute := wrapCore(func(c core) core {
		made = c.(*busNode).h.(*hub).p
		return &muteCore{core: c}
	})
	_, err = NewDomainParticipant(patiently(t), 0, d.bus.join(), mute, hears, WithParticipantQos(q))
	require.ErrorIs(t, err, errMute)
	require.True(t, isClosed(made.domain.stop))
	require.True(t, d.bus.nodes[0].left)
}

func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// muteCore announces nothing.
type muteCore struct{ core }

var errMute = errors.New("nothing is announced")

func (*muteCore) AddEndpoint(context.Context, derecho.Endpoint) error { return errMute }

// hushedCore announces nothing while it is mute.
type hushedCore struct {
	core
	mute bool
}

func (c *hushedCore) AddEndpoint(ctx context.Context, ep derecho.Endpoint) error {
	if c.mute {
		return derecho.ErrTimeout
	}
	return c.core.AddEndpoint(ctx, ep)
}

// USER_DATA that could not be announced when the participant joined is announced when it is enabled again.
func TestEnableAgainTellsUserData(t *testing.T) {
	d := onBus(t)
	mute := &hushedCore{mute: true}
	f := NewDomainParticipantFactory(d.bus.join(), wrapCore(func(c core) core { mute.core = c; return mute }))
	require.NoError(t, f.SetQos(createdDisabled))
	p, err := f.NewDomainParticipant(patiently(t), d.id)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	q := p.Qos()
	q.UserData.Value = []byte("told")
	require.NoError(t, p.SetQos(q))
	require.ErrorIs(t, p.Enable(patiently(t)), ErrTimeout)
	mute.mute = false
	require.NoError(t, p.Enable(patiently(t)))
	other := d.node(t)
	d.bus.settle(t)
	found, err := other.p.DiscoveredParticipants()
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, []byte("told"), found[0].UserData.Value)
	require.NoError(t, p.Enable(patiently(t)), "and no more than once")
}

// A participant whose Enable ended early is as it was, and can be enabled.
func TestEnableAgainAfterTimeout(t *testing.T) {
	d := onCore(t, Settings{Lease: testLease})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var p *DomainParticipant
	for err := error(nil); err == nil; { // joining may be over before anybody looks at the context
		f := NewDomainParticipantFactory()
		require.NoError(t, f.SetQos(createdDisabled))
		p, err = f.NewDomainParticipant(patiently(t), d.id, WithSettings(d.settings))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		if err = p.Enable(ended); err == nil {
			require.NoError(t, f.Close())
			continue
		}
		require.ErrorIs(t, err, ErrTimeout)
	}
	require.NoError(t, p.Err())
	require.False(t, p.Enabled())
	require.NoError(t, p.Enable(patiently(t)))
	require.NoError(t, p.Err())
	other := d.node(t)
	require.NoError(t, other.p.WaitForDomain(patiently(t)))
	require.Eventually(t, func() bool { return len(p.ViewChangedStatus().Members) == 2 }, patience, time.Millisecond)
}
