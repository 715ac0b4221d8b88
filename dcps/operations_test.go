package dcps

import (
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Every operation that has a variant with a timestamp takes it as an option, and readers see it.
//
// Clauses: 2.2.2.4.2.5-8, 2.2.2.4.2.11-14
func TestTimestamps(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }))
	r := n.reader(t, readerQos())
	ctx := patiently(t)
	at := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	key := &track{ID: 1}
	take := func(state InstanceState, stamp time.Time) {
		t.Helper()
		d.bus.settle(t)
		samples, err := r.Take()
		require.NoError(t, err)
		defer samples.Close()
		require.Equal(t, 1, samples.Len())
		require.Equal(t, state, samples.At(0).Info.InstanceState)
		require.True(t, stamp.Equal(samples.At(0).Info.SourceTimestamp), samples.At(0).Info.SourceTimestamp)
	}
	h, err := w.Register(ctx, key, At(at))
	require.NoError(t, err)
	again, err := w.Register(ctx, key)
	require.NoError(t, err)
	require.Equal(t, h, again, "registering again gives the same handle")
	require.NoError(t, w.Write(ctx, key, At(at)))
	take(InstanceAlive, at)
	require.NoError(t, w.Dispose(ctx, key, At(at.Add(time.Second))))
	take(InstanceNotAliveDisposed, at.Add(time.Second))
	require.NoError(t, w.Write(ctx, key, At(at.Add(2*time.Second))))
	take(InstanceAlive, at.Add(2*time.Second))
	require.NoError(t, w.Unregister(ctx, key, At(at.Add(3*time.Second))))
	take(InstanceNotAliveNoWriters, at.Add(3*time.Second))

	before := time.Now().Add(-time.Second)
	require.NoError(t, w.Write(ctx, key))
	d.bus.settle(t)
	samples, err := r.Take()
	require.NoError(t, err)
	defer samples.Close()
	require.True(t, samples.At(0).Info.SourceTimestamp.After(before), "without, it is the time of the call")
}

// All variants of read and take, by options.
//
// Clauses: 2.2.2.5.3.8-9, 2.2.2.5.3.12-17, 2.2.2.5.3.20
func TestReadVariants(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	for i := range int32(6) {
		write(t, w, i%3, i)
	}
	d.bus.settle(t)
	handle := func(id int32) InstanceHandle {
		h, err := r.LookupInstance(&track{ID: id})
		require.NoError(t, err)
		return h
	}
	get := func(f func(...ReadOption) (*Samples[track], error), opts ...ReadOption) (out []int32) {
		t.Helper()
		samples, err := f(opts...)
		if err != nil {
			require.ErrorIs(t, err, ErrNoData)
			return nil
		}
		defer samples.Close()
		for _, s := range samples.All() {
			out = append(out, s.Data().Value)
		}
		return out
	}
	require.Equal(t, []int32{0}, get(r.Read, MaxSamples(1), NotRead()), "read_next_sample")
	require.Equal(t, []int32{3}, get(r.Read, MaxSamples(1), NotRead()))
	require.Equal(t, []int32{1}, get(r.Take, MaxSamples(1), NotRead()), "take_next_sample")
	require.Equal(t, []int32{2, 5}, get(r.Read, Instance(handle(2))), "read_instance")
	require.Equal(t, []int32{0, 3}, get(r.Read, NextInstance(HandleNil)), "read_next_instance")
	require.Equal(t, []int32{4}, get(r.Read, NextInstance(handle(0))))
	require.Equal(t, []int32{2, 5}, get(r.Take, NextInstance(handle(1))), "take_next_instance")
	require.Nil(t, get(r.Take, NextInstance(handle(1))), "there is none after it any more")
	require.Equal(t, []int32{0, 3}, get(r.Take, Instance(handle(0))), "take_instance")
	_, err := r.Read(Instance(InstanceHandle{9}))
	require.ErrorIs(t, err, ErrBadParameter)
	require.Equal(t, []int32{4}, get(r.Read))
	require.Nil(t, get(r.Take, NotRead()))
	require.Equal(t, []int32{4}, get(r.Take, States(SampleRead, ViewNotNew, InstanceAlive)))
	require.Nil(t, get(r.Take))
}

// Entities know what they belong to, and their names.
//
// Clauses: 2.2.2.2.1.26, 2.2.2.4.1.13, 2.2.2.4.2.20-21, 2.2.2.5.2.13, 2.2.2.5.3.27-28, 2.2.2.3.6.1-2, 2.2.2.1.1.6
func TestBelongings(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	require.Equal(t, d.id, n.p.ID())
	require.Same(t, n.p, n.pub.Participant())
	require.Same(t, n.p, n.sub.Participant())
	require.Same(t, n.pub, w.Publisher())
	require.Same(t, n.sub, r.Subscriber())
	require.Equal(t, "Track", w.Topic().Name())
	require.Equal(t, "test::Track", r.Topic().TypeName())
	require.Same(t, n.p, r.Topic().Participant())
	d.bus.settle(t)
	require.Equal(t, PublicationMatchedStatusBit, w.StatusChanges())
	_ = w.PublicationMatchedStatus()
	require.Zero(t, w.StatusChanges())
	require.Equal(t, SubscriptionMatchedStatusBit|LivelinessChangedStatusBit, r.StatusChanges())
}

// Who waits for acknowledgements waits for all writers of a Publisher.
//
// Clauses: 2.2.2.4.1.12, 2.2.2.4.2.15
func TestWaitForAcknowledgmentsOfAll(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, _ := n.writer(t, writerQos()), n.reader(t, readerQos())
	loan, err := n.writer(t, writerQos()).Loan(patiently(t), 100)
	require.NoError(t, err)
	waits := make(chan error, 2)
	go func() { waits <- n.pub.WaitForAcknowledgments(patiently(t)) }()
	d.bus.waiting(1)
	require.Empty(t, waits, "a sample of the other writer is under way")
	require.NoError(t, loan.Discard())
	require.NoError(t, <-waits)
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
}

// The next instance that has what a condition is about.
//
// Clauses: 2.2.2.5.3.10-11, 2.2.2.5.3.18-19
func TestNextInstanceWithCondition(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	for id := range int32(4) {
		write(t, w, id, id)
	}
	d.bus.settle(t)
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 2}))
	d.bus.settle(t)
	c := r.NewReadCondition(SampleNotRead, 0, InstanceAlive)
	next := func(f func(...ReadOption) (*Samples[track], error), h InstanceHandle) (InstanceHandle, int32) {
		samples, err := f(NextInstance(h), When(c))
		if err != nil {
			require.ErrorIs(t, err, ErrNoData)
			return HandleNil, -1
		}
		defer samples.Close()
		s := samples.At(0)
		return s.Info.InstanceHandle, s.Data().ID
	}
	var got []int32
	for h, id := next(r.Read, HandleNil); id >= 0; h, id = next(r.Take, h) {
		got = append(got, id)
	}
	_, id := next(r.Read, HandleNil)
	require.Equal(t, int32(-1), id, "0 was read, 2 is disposed, the others are taken")
	require.ElementsMatch(t, []int32{0, 1, 3}, got)
}
