package dcps

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// promptly gives what a call returns that has nothing to wait for.
func promptly(t *testing.T, call func() error) error {
	t.Helper()
	result := make(chan error, 1)
	go func() { result <- call() }()
	select {
	case err := <-result:
		return err
	case <-time.After(patience / 6):
		t.Fatal("it does not return")
		return nil
	}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Enable ends with its context while another Enable joins the domain.
func TestEnableBehindEnable(t *testing.T) {
	joining := make(chan struct{})
	f := NewDomainParticipantFactory(func(c *participantConfig) {
		c.core = func(_ handler, c participantConfig) (core, error) {
			close(joining)
			<-c.ctx.Done()
			return nil, c.ctx.Err()
		}
	})
	require.NoError(t, f.SetQos(createdDisabled))
	p, err := f.NewDomainParticipant(context.Background(), 0)
	require.NoError(t, err)
	first, third := make(chan error), make(chan error)
	go func() { first <- p.Enable(context.Background()) }()
	<-joining
	require.ErrorIs(t, promptly(t, func() error { return p.Enable(ended()) }), ErrTimeout)
	go func() { third <- p.Enable(context.Background()) }()
	require.NoError(t, p.Close())
	require.ErrorIs(t, <-first, ErrAlreadyDeleted)
	require.ErrorIs(t, <-third, ErrAlreadyDeleted)
}

// mutedCore announces nothing.
type mutedCore struct{ core }

func (c *mutedCore) AddEndpoint(ctx context.Context, _ derecho.Endpoint) error {
	<-ctx.Done()
	return derecho.ErrTimeout
}

// NewDomainParticipant ends with its context while USER_DATA can not be announced.
func TestUserDataIsNotAnnouncedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopTicks(t)
		q := qos.DefaultDomainParticipant()
		q.UserData.Value = []byte{1}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := NewDomainParticipant(ctx, 0, onBus(t).bus.join(), wrapCore(func(c core) core { return &mutedCore{c} }), WithParticipantQos(q))
		require.ErrorIs(t, err, ErrTimeout)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

// fullGroup makes a writer of a Publisher whose ring is full for as long as the loan is out, and has it write.
func fullGroup(t *testing.T, d *domain, n *node) (*Publisher, *DataWriter[track], Loan) {
	d.bus.capacity = 1
	q := qos.DefaultPublisher()
	q.Presentation = qos.Presentation{AccessScope: qos.PresentationGroup, CoherentAccess: true}
	pub, err := n.p.NewPublisher(WithPublisherQos(q))
	require.NoError(t, err)
	w, err := NewDataWriter(pub, n.topic(t), WithWriterQos(writerQos(blocking(qos.Infinite))))
	require.NoError(t, err)
	require.NoError(t, pub.BeginCoherentChanges())
	l, err := n.writer(t, writerQos()).Loan(context.Background(), 10)
	require.NoError(t, err)
	written := make(chan error)
	go func() { written <- w.Write(context.Background(), &track{ID: 1}) }()
	for w.turn.try() {
		w.turn.leave()
		runtime.Gosched()
	}
	t.Cleanup(func() {
		_ = l.Discard()
		require.NoError(t, <-written)
	})
	return pub, w, l
}

// waited waits until somebody waits for the writer's turn.
func (w *writer) waited() {
	for w.turn.waiting.Load() == 0 {
		runtime.Gosched()
	}
}

// EndCoherentChanges ends with its context behind another one, which waits for a Write that waits for room.
func TestEndCoherentChangesBehindAnother(t *testing.T) {
	d := onBus(t)
	pub, w, l := fullGroup(t, d, d.node(t))
	first := make(chan error)
	go func() { first <- pub.EndCoherentChanges(context.Background()) }()
	w.waited()
	require.ErrorIs(t, promptly(t, func() error { return pub.EndCoherentChanges(ended()) }), ErrTimeout)
	require.NoError(t, l.Discard())
	require.NoError(t, <-first)
}

// SetQos does not wait for a mark, which waits for a Write that waits for room.
func TestSetQosBehindAMark(t *testing.T) {
	d := onBus(t)
	n, o := d.node(t), d.node(t)
	_, w, _ := fullGroup(t, d, n)
	q := qos.DefaultSubscriber()
	q.Presentation = qos.Presentation{AccessScope: qos.PresentationGroup, CoherentAccess: true}
	sub, err := o.p.NewSubscriber(WithSubscriberQos(q))
	require.NoError(t, err)
	_, err = NewDataReader(sub, o.topic(t), WithReaderQos(readerQos()))
	require.NoError(t, err)
	w.waited()
	require.NoError(t, promptly(t, func() error {
		q := w.Qos()
		q.TransportPriority.Value = 7
		return w.SetQos(q)
	}))
	require.True(t, w.marking.Load(), "the mark is still asked for")
}
