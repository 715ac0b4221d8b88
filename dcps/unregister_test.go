package dcps

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// A writer does not unregister, and so dispose of, what it has never registered, as far as it can tell.
//
// Clauses: 2.2.2.4.2.7
func TestUnregisterOfAnotherWritersInstance(t *testing.T) {
	recorded := writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Hour })
	d := onBus(t)
	n := d.node(t)
	r, owner := n.reader(t, readerQos()), n.writer(t, writerQos())
	ctx := patiently(t)
	write(t, owner, 1, 10)
	alive := func() {
		t.Helper()
		d.settle(t)
		require.Equal(t, "1:10", values(t, r, 1))
		_, err := r.Take()
		require.ErrorIs(t, err, ErrNoData)
		write(t, owner, 1, 10)
	}
	refused := func(err error) {
		t.Helper()
		require.EqualError(t, err, `dcps: Unregister (writer of topic "Track"): precondition not met: the writer has not registered or written the instance, or has unregistered it already`)
	}

	silent := n.writer(t, writerQos())
	refused(silent.Unregister(ctx, &track{ID: 1}))
	alive()

	w := n.writer(t, recorded)
	refused(w.Unregister(ctx, &track{ID: 1}))
	write(t, w, 2, 20)
	refused(w.Unregister(ctx, &track{ID: 1}))
	require.NoError(t, w.Unregister(ctx, &track{ID: 2}))
	refused(w.Unregister(ctx, &track{ID: 2}))
	_, err := w.Register(ctx, &track{ID: 3})
	require.NoError(t, err)
	require.NoError(t, w.Unregister(ctx, &track{ID: 3}))
	refused(w.Unregister(ctx, &track{ID: 3}))
	write(t, w, 4, 40)
	require.NoError(t, w.Dispose(ctx, &track{ID: 4}))
	require.NoError(t, w.Unregister(ctx, &track{ID: 4}))
	refused(w.Unregister(ctx, &track{ID: 4}))
	d.settle(t)
	require.Equal(t, InstanceAlive, stateOfInstance(t, r, owner, 1))

	// Disposing registers, and there the record ends: it holds no instances without samples.
	require.NoError(t, w.Dispose(ctx, &track{ID: 5}))
	require.NoError(t, w.Unregister(ctx, &track{ID: 5}))
	disposer := n.writer(t, writerQos())
	require.NoError(t, disposer.Dispose(ctx, &track{ID: 6}))
	require.NoError(t, disposer.Unregister(ctx, &track{ID: 6}))

	// A limit that does not count for the writer, as it keeps no history, asks for no record.
	unlimited := n.writer(t, writerQos(func(q *qos.DataWriter) { q.ResourceLimits.MaxSamples = 10 }))
	write(t, unlimited, 8, 80)
	require.NoError(t, unlimited.Unregister(ctx, &track{ID: 9}))

	// A record that begins later lacks what was written before.
	late := n.writer(t, writerQos())
	write(t, late, 7, 70)
	require.NoError(t, late.SetQos(recorded))
	require.NoError(t, late.Unregister(ctx, &track{ID: 7}))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Unregister(ctx, &track{ID: 2}), ErrAlreadyDeleted)
}

// stateOfInstance is what a reader says of an instance.
func stateOfInstance(t *testing.T, r *DataReader[track], w *DataWriter[track], id int32) InstanceState {
	t.Helper()
	h, err := w.LookupInstance(&track{ID: id})
	require.NoError(t, err)
	samples, err := r.Read(Instance(h))
	require.NoError(t, err)
	defer samples.Close()
	return samples.At(samples.Len() - 1).Info.InstanceState
}

// A topic without key has one instance, which a writer has registered that has written.
func TestUnregisterWithoutKey(t *testing.T) {
	n := onBus(t).node(t)
	tp, err := NewTopic[note](n.p, "Note")
	require.NoError(t, err)
	for _, q := range []qos.DataWriter{writerQos(), writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Hour })} {
		w, err := NewDataWriter(n.pub, tp, WithWriterQos(q))
		require.NoError(t, err)
		require.ErrorIs(t, w.Unregister(patiently(t), &note{}), ErrPreconditionNotMet)
		require.NoError(t, w.Write(patiently(t), &note{}))
		require.NoError(t, w.Unregister(patiently(t), &note{}))
		_, err = w.Register(patiently(t), &note{})
		require.NoError(t, err)
		require.NoError(t, w.Unregister(patiently(t), &note{}))
	}
}

// What a writer has registered is still so when its process has joined again, though nothing was written since.
func TestUnregisterAfterJoiningAgain(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	d.node(t)
	var writers []*DataWriter[track]
	for i, q := range []qos.DataWriter{writerQos(), writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Hour })} {
		w := n.writer(t, q)
		write(t, w, int32(i), 1)
		writers = append(writers, w)
	}
	d.bus.exclude(n)
	d.bus.rejoin(n)
	require.NoError(t, n.p.WaitForDomain(patiently(t)))
	for i, w := range writers {
		require.NoError(t, w.Unregister(patiently(t), &track{ID: int32(i)}))
	}
}
