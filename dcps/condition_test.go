package dcps

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func isReady(c Condition) bool {
	select {
	case <-c.Ready():
		return true
	default:
		return false
	}
}

// Clauses: 2.2.4.5, 2.2.2.1.7.1
func TestReadCondition(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	fresh := r.NewReadCondition(SampleNotRead, 0, 0)
	gone := r.NewReadCondition(0, 0, InstanceNotAlive)
	require.False(t, fresh.TriggerValue())
	ready := fresh.Ready()
	require.False(t, isReady(fresh))
	write(t, w, 1, 10)
	<-ready
	require.True(t, fresh.TriggerValue())
	require.True(t, isReady(fresh))
	require.False(t, isReady(gone))
	s, err := r.Read()
	require.NoError(t, err)
	s.Close()
	require.False(t, isReady(fresh), "nothing is unread")
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
	<-gone.Ready()
	<-fresh.Ready()
	require.NoError(t, gone.Close())
	require.False(t, gone.TriggerValue())
}

// Clauses: 2.2.2.1.1.5, 2.2.2.1.9.1-2, 2.2.4.4.1
func TestStatusCondition(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	r := n.reader(t, readerQos())
	c := r.StatusCondition()
	c.SetEnabledStatuses(SubscriptionMatchedStatusBit)
	require.Equal(t, SubscriptionMatchedStatusBit, c.EnabledStatuses())
	require.False(t, c.TriggerValue())
	ready := c.Ready()
	w := n.writer(t, writerQos())
	<-ready
	require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount)
	require.False(t, isReady(c))
	write(t, w, 1, 1)
	d.bus.settle(t)
	require.False(t, isReady(c), "DATA_AVAILABLE is not enabled")
	require.NotZero(t, r.StatusChanges()&DataAvailableStatusBit)
	c.SetEnabledStatuses(DataAvailableStatusBit)
	require.True(t, isReady(c))
	require.Equal(t, "1:1", values(t, r, 1))
	require.False(t, isReady(c), "reading resets DATA_AVAILABLE")
	require.NotNil(t, w.StatusCondition())
	require.NotZero(t, w.StatusChanges()&PublicationMatchedStatusBit)
}

// Clauses: 2.2.2.1.6.1-4, 2.2.2.1.8.1, 2.2.4.4, 2.2.4.5.1
func TestWaitSet(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	data := r.NewReadCondition(0, 0, 0)
	var guard GuardCondition
	ws := NewWaitSet(data, &guard)
	ws.Attach(data)
	require.Len(t, ws.Conditions(), 2)

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := ws.Wait(ctx)
	require.ErrorIs(t, err, ErrTimeout)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	for i := range int32(20) {
		if i%2 == 0 {
			go func() { _ = w.Write(context.Background(), &track{ID: i}) }()
		} else {
			go guard.SetTriggerValue(true)
		}
		active, err := ws.Wait(patiently(t))
		require.NoError(t, err)
		require.Len(t, active, 1)
		if i%2 == 0 {
			require.Same(t, data, active[0])
			takeText(t, r)
		} else {
			require.Same(t, &guard, active[0])
			<-guard.Ready()
			guard.SetTriggerValue(false)
			require.False(t, isReady(&guard))
		}
	}
	require.NoError(t, ws.Detach(data))
	require.ErrorIs(t, ws.Detach(data), ErrPreconditionNotMet)
	write(t, w, 1, 1)
	d.bus.settle(t)
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = ws.Wait(ctx)
	require.ErrorIs(t, err, ErrTimeout)
}

// A second goroutine that waits on a WaitSet is refused.
func TestWaitSetHasOneWaiter(t *testing.T) {
	var guard GuardCondition
	ws := NewWaitSet(&guard)
	ws.waiting = true
	_, err := ws.Wait(context.Background())
	require.ErrorIs(t, err, ErrPreconditionNotMet)
}

// A listener may call anything, also close what it listens to, and hears everything in the end.
func TestListenerMayCallAnything(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(blocking(patience)))
	var got atomic.Int32
	done := make(chan struct{})
	const total = 200
	r := b.reader(t, readerQos(), WithReaderListener(&DataReaderListener[track]{
		OnDataAvailable: func(r *DataReader[track]) {
			s, err := r.Take()
			if err != nil {
				return
			}
			defer s.Close()
			for range s.All() {
				if got.Add(1) == total {
					_, _ = NewTopic[note](r.Topic().Participant(), "FromListener")
					if err := r.Close(); err != nil {
						t.Error(err)
					}
					close(done)
				}
			}
		},
	}))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	for i := range int32(total) {
		write(t, w, i, i)
	}
	<-done
	_, err := r.Take()
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}

// What a listener leaves out falls to its parents.
//
// Clauses: 2.2.4.3.1
func TestListenersOfParents(t *testing.T) {
	d := onBus(t)
	calls := make(chan string, 100)
	n := d.node(t, WithParticipantListener(ParticipantListener{
		AnyReaderListener: AnyReaderListener{
			OnSubscriptionMatched: func(r AnyDataReader, _ SubscriptionMatchedStatus) { calls <- "participant: matched " + r.TopicName() },
			OnDataAvailable:       func(AnyDataReader) { calls <- "participant: data" },
		},
		AnyWriterListener: AnyWriterListener{
			OnPublicationMatched: func(w AnyDataWriter, _ PublicationMatchedStatus) {
				calls <- "participant: writer matched " + w.TopicName()
			},
		},
	}))
	sub, err := n.p.NewSubscriber(WithSubscriberListener(SubscriberListener{AnyReaderListener: AnyReaderListener{
		OnDataAvailable: func(AnyDataReader) { calls <- "subscriber: data" },
	}}))
	require.NoError(t, err)
	_, err = NewDataReader(sub, n.topic(t), WithReaderQos(readerQos()))
	require.NoError(t, err)
	w := n.writer(t, writerQos())
	write(t, w, 1, 1)
	want := map[string]bool{"participant: matched Track": true, "participant: writer matched Track": true, "subscriber: data": true}
	for len(want) > 0 {
		got := <-calls
		require.Contains(t, want, got)
		delete(want, got)
	}
}

// Clauses: 2.2.4.3.2
func TestOnDataOnReaders(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	calls := make(chan []AnyDataReader, 100)
	sub, err := n.p.NewSubscriber(WithSubscriberListener(SubscriberListener{
		OnDataOnReaders: func(s *Subscriber) { calls <- s.Readers(SampleNotRead, AnyViewState, AnyInstanceState) },
	}))
	require.NoError(t, err)
	r, err := NewDataReader(sub, n.topic(t), WithReaderQos(readerQos()))
	require.NoError(t, err)
	write(t, n.writer(t, writerQos()), 1, 1)
	readers := <-calls
	require.Len(t, readers, 1)
	require.Same(t, r, readers[0])
}

// Many goroutines write, read, listen and close at once; the race detector and the counts judge.
func TestConcurrentUse(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(blocking(patience)))
	const routines, each = 4, 100
	r := b.reader(t, readerQos(func(q *qos.DataReader) {
		q.ResourceLimits = qos.ResourceLimits{MaxSamples: 16, MaxInstances: -1, MaxSamplesPerInstance: 16}
	}))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	var wg sync.WaitGroup
	for i := range int32(routines) {
		wg.Go(func() {
			for j := range int32(each) {
				if err := w.Write(patiently(t), &track{ID: i, Value: j}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var taken atomic.Int32
	ctx, stop := context.WithCancel(patiently(t))
	defer stop()
	for range 3 {
		wg.Go(func() {
			c := r.NewReadCondition(0, 0, 0)
			for ctx.Err() == nil {
				select {
				case <-c.Ready():
				case <-ctx.Done():
				}
				s, err := r.Take(MaxSamples(5))
				if err != nil {
					continue
				}
				if taken.Add(int32(s.Len())) == routines*each {
					stop()
				}
				s.Close()
				r.SubscriptionMatchedStatus()
			}
		})
	}
	wg.Go(func() {
		for i := 0; ctx.Err() == nil && i < 20; i++ {
			n := b.reader(t, readerQos())
			_ = n.Close()
		}
	})
	wg.Wait()
	require.Equal(t, int32(routines*each), taken.Load())
}

// A condition that nothing in a full cache satisfies looks at an entry once, however many come after it.
func TestConditionLooksAtEachEntryOnce(t *testing.T) {
	c := newCache(readerQos())
	src := &source{}
	s := selection{samples: AnySampleState, views: AnyViewState, instances: InstanceNotAliveDisposed}
	var seen sighting
	put := func(n int) {
		for range n {
			it := &item{kind: itemData, refs: 1, src: src, handle: instanceHandle(int32(c.links % 7))}
			require.Equal(t, accepted, c.write(it, 1))
		}
	}
	put(100)
	require.False(t, c.anySince(&s, &seen))
	require.EqualValues(t, 100, seen.links)
	put(1)
	c.first.inst.state = InstanceNotAliveDisposed // unseen, as nothing says that the first entries have changed
	require.False(t, c.anySince(&s, &seen), "it looks at the last only")
	require.EqualValues(t, 101, seen.links)
	c.shifts++
	c.first.inst.state = InstanceNotAliveDisposed
	require.True(t, c.anySince(&s, &seen))
	require.NotNil(t, seen.hit)
	c.unlink(seen.hit)
	c.shifts++
	for c.first != nil {
		c.unlink(c.first)
	}
	require.False(t, c.anySince(&s, &seen))
}

// Who waits is told whoever else asks in the moment in which the condition begins to hold.
func TestConditionThatOthersLookAt(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		synctest.Wait()
		waiting := func(c *ReadCondition) (<-chan struct{}, *WaitSet) {
			ws := NewWaitSet(c)
			require.False(t, c.TriggerValue())
			return c.Ready(), ws
		}
		told := func(ready <-chan struct{}, ws *WaitSet) {
			t.Helper()
			select {
			case <-ready:
			default:
				require.Fail(t, "the channel is not closed")
			}
			require.NotEmpty(t, ws.wake)
		}
		// A call has locked the reader, and before it is done something comes.
		during := func(c *ReadCondition, look func()) {
			c.e.mu.Lock()
			write(t, w, 1, 1)
			synctest.Wait()
			c.e.drain()
			look()
			c.e.unlock()
			takeText(t, r)
		}
		c := r.NewReadCondition(0, 0, 0)
		ready, ws := waiting(c)
		during(c, func() { c.t.readyLocked() })
		told(ready, ws)

		// It holds, does not while TriggerValue looks, and does again before that is done.
		alive := r.NewReadCondition(SampleNotRead, 0, InstanceAlive)
		_, ws = waiting(alive)
		write(t, w, 1, 1)
		synctest.Wait()
		<-ws.wake
		alive.e.mu.Lock()
		require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
		synctest.Wait()
		alive.e.drain()
		require.False(t, alive.look())
		write(t, w, 2, 2)
		synctest.Wait()
		alive.e.unlock()
		require.NotEmpty(t, ws.wake)
		takeText(t, r)

		guard := new(GuardCondition)
		first := guard.Ready()
		guard.SetTriggerValue(true)
		require.NoError(t, NewWaitSet().Attach(guard))
		<-first
	})
}
