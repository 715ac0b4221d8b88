package dcps

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Who waits for a condition of an entity does so no longer once that is closed, whichever entity it is, and however it is closed.
func TestConditionEndsWithItsEntity(t *testing.T) {
	closers := map[string]func(*node, *DataWriter[track], *DataReader[track]) error{
		"itself":                nil,
		"its DomainParticipant": func(n *node, _ *DataWriter[track], _ *DataReader[track]) error { return n.p.Close() },
	}
	for _, c := range []struct {
		name, what string
		of         func(*node, *DataWriter[track], *DataReader[track]) (Condition, func() error)
	}{
		{"ReadCondition", "reader", func(_ *node, _ *DataWriter[track], r *DataReader[track]) (Condition, func() error) {
			return r.NewReadCondition(0, 0, 0), r.Close
		}},
		{"QueryCondition", "reader", func(n *node, _ *DataWriter[track], r *DataReader[track]) (Condition, func() error) {
			_, err := NewTopic[track](n.p, "Track", WithTypeDescription(trackDescription))
			require.NoError(t, err)
			c, err := r.NewQueryCondition(0, 0, 0, "value > 0")
			require.NoError(t, err)
			return c, r.Close
		}},
		{"StatusCondition of a DataReader", "reader", func(_ *node, _ *DataWriter[track], r *DataReader[track]) (Condition, func() error) {
			r.StatusCondition().SetEnabledStatuses(SampleLostStatusBit)
			return r.StatusCondition(), r.Close
		}},
		{"StatusCondition of a DataWriter", "writer", func(_ *node, w *DataWriter[track], _ *DataReader[track]) (Condition, func() error) {
			w.StatusCondition().SetEnabledStatuses(OfferedDeadlineMissedStatusBit)
			return w.StatusCondition(), w.Close
		}},
		{"StatusCondition of a Subscriber", "subscriber", func(n *node, _ *DataWriter[track], _ *DataReader[track]) (Condition, func() error) {
			return n.sub.StatusCondition(), n.sub.Close
		}},
		{"StatusCondition of a Publisher", "publisher", func(n *node, _ *DataWriter[track], _ *DataReader[track]) (Condition, func() error) {
			return n.pub.StatusCondition(), n.pub.Close
		}},
		{"StatusCondition of a DomainParticipant", "participant", func(n *node, _ *DataWriter[track], _ *DataReader[track]) (Condition, func() error) {
			n.p.ViewChangedStatus()
			return n.p.StatusCondition(), n.p.Close
		}},
		{"StatusCondition of a Topic", "topic", func(n *node, _ *DataWriter[track], _ *DataReader[track]) (Condition, func() error) {
			other, err := NewTopic[note](n.p, "Other")
			require.NoError(t, err)
			return other.StatusCondition(), other.Close
		}},
		{"StatusCondition of a built-in Topic", "built-in topic", func(n *node, _ *DataWriter[track], _ *DataReader[track]) (Condition, func() error) {
			return builtin[ParticipantBuiltinTopicData](t, n.p, BuiltinParticipantTopic).Topic().StatusCondition(), n.p.Close
		}},
	} {
		for how, closer := range closers {
			t.Run(c.name+", closed by "+how, func(t *testing.T) {
				virtually(t, func(t *testing.T, d *domain) {
					n := d.node(t)
					w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
					synctest.Wait()
					condition, closeIt := c.of(n, w, r)
					if closer != nil {
						closeIt = func() error { return closer(n, w, r) }
					}
					require.False(t, condition.TriggerValue())
					ready, waited := condition.Ready(), make(chan error, 1)
					ws := NewWaitSet(condition, new(GuardCondition))
					go func() {
						_, err := ws.Wait(context.Background())
						waited <- err
					}()
					synctest.Wait()
					require.NoError(t, closeIt())
					<-ready
					err := <-waited
					require.ErrorIs(t, err, ErrAlreadyDeleted)
					require.ErrorContains(t, err, "Wait ("+c.what)
					require.False(t, condition.TriggerValue())
					<-condition.Ready()
					require.ErrorIs(t, NewWaitSet().Attach(condition), ErrAlreadyDeleted)
					require.NoError(t, ws.Detach(condition))
				})
			})
		}
	}
}

// A reader that is closed with samples does not keep who waits for these awake, and the other conditions of a WaitSet go on once
// its own are detached.
func TestConditionOfReaderClosedWithSamples(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	data, status, guard := r.NewReadCondition(0, 0, 0), r.StatusCondition(), new(GuardCondition)
	ws := NewWaitSet(data, status, guard)
	write(t, w, 1, 10)
	d.bus.settle(t)
	active, err := ws.Wait(patiently(t))
	require.NoError(t, err)
	require.Len(t, active, 2)
	require.NoError(t, r.Close())
	guard.SetTriggerValue(true)
	for _, c := range []Condition{data, status} {
		_, err = ws.Wait(patiently(t))
		require.EqualError(t, err, `dcps: Wait (reader of topic "Track"): already deleted: it was closed`)
		require.False(t, c.TriggerValue())
		require.NoError(t, ws.Detach(c))
	}
	active, err = ws.Wait(patiently(t))
	require.NoError(t, err)
	require.Equal(t, []Condition{guard}, active)

	late := r.NewReadCondition(0, 0, 0)
	require.False(t, late.TriggerValue())
	<-late.Ready()
	require.EqualError(t, ws.Attach(late), `dcps: Attach (reader of topic "Track"): already deleted: it was closed`)
	_, err = NewWaitSet(late).Wait(patiently(t))
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}

// A ReadCondition that is closed by itself has ended, too.
func TestClosedReadConditionEnds(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		c := d.node(t).reader(t, readerQos()).NewReadCondition(0, 0, 0)
		ready, ws, waited := c.Ready(), NewWaitSet(c), make(chan error, 1)
		go func() {
			_, err := ws.Wait(context.Background())
			waited <- err
		}()
		synctest.Wait()
		require.NoError(t, c.Close())
		<-ready
		require.EqualError(t, <-waited, `dcps: Wait (reader of topic "Track"): already deleted: the condition is closed`)
		require.ErrorIs(t, ws.Attach(c), ErrAlreadyDeleted)
	})
}

// A condition that ends in the moment in which it is attached is told by Wait.
func TestConditionEndsWhileItIsAttached(t *testing.T) {
	d := onBus(t)
	r := d.node(t).reader(t, readerQos())
	c, ws := r.NewReadCondition(0, 0, 0), NewWaitSet(new(GuardCondition))
	require.NoError(t, c.absence())
	require.NoError(t, r.Close())
	c.attach(ws)
	require.NotEmpty(t, ws.wake)
}
