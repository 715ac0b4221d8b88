package dcps

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// What becomes of items that came long before they were let in: time counts from when somebody could see them.

func oneSample(more ...func(*qos.DataReader)) qos.DataReader {
	return readerQos(append(more, func(q *qos.DataReader) {
		q.ResourceLimits = qos.ResourceLimits{MaxSamples: 1, MaxInstances: qos.LengthUnlimited, MaxSamplesPerInstance: 1}
	})...)
}

func TestAutopurgeAfterWaitingForRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, n := d.node(t), d.node(t)
		w := a.writer(t, writerQos())
		r := n.reader(t, oneSample(func(q *qos.DataReader) { q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = time.Minute }))
		synctest.Wait()
		write(t, w, 1, 1)
		write(t, w, 1, 2) // waits at the reader, and so does the end
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		require.NoError(t, w.Close())
		pass(2 * time.Minute)
		require.Contains(t, takeText(t, r), "1:1")
		require.Contains(t, takeText(t, r), "1:2")
		pass(2 * time.Minute)
		r.lock()
		defer r.unlock()
		require.Empty(t, r.cache.instances)
	})
}

func TestAutopurgeAfterAnAccess(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		pq, sq := qos.DefaultPublisher(), qos.DefaultSubscriber()
		pq.Presentation = qos.Presentation{AccessScope: qos.PresentationGroup, OrderedAccess: true}
		sq.Presentation = pq.Presentation
		pub, err := n.p.NewPublisher(WithPublisherQos(pq))
		require.NoError(t, err)
		sub, err := n.p.NewSubscriber(WithSubscriberQos(sq))
		require.NoError(t, err)
		w, err := NewDataWriter(pub, n.topic(t), WithWriterQos(writerQos()))
		require.NoError(t, err)
		r, err := NewDataReader(sub, n.topic(t), WithReaderQos(readerQos(func(q *qos.DataReader) {
			q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = time.Second
		})))
		require.NoError(t, err)
		pass(time.Second)
		require.NoError(t, sub.BeginAccess())
		write(t, w, 1, 1)
		require.NoError(t, w.Dispose(context.Background(), &track{ID: 1}))
		pass(2 * time.Second)
		require.NoError(t, sub.EndAccess())
		require.NoError(t, sub.BeginAccess())
		require.Contains(t, takeText(t, r), "1:1")
		require.NoError(t, sub.EndAccess())
	})
}

func TestDeadlineAfterWaitingForRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Second }))
		r := n.reader(t, oneSample(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
		synctest.Wait()
		write(t, w, 1, 1)
		write(t, w, 1, 2) // waits
		pass(3*time.Second + 500*time.Millisecond)
		require.EqualValues(t, 3, r.RequestedDeadlineMissedStatus().TotalCount)
		takeText(t, r)
		pass(900 * time.Millisecond)
		require.EqualValues(t, 3, r.RequestedDeadlineMissedStatus().TotalCount)
		pass(200 * time.Millisecond)
		require.EqualValues(t, 4, r.RequestedDeadlineMissedStatus().TotalCount)
	})
}

// A sign of life that waited does not revive a writer whose lease has ended since.
func TestLeaseAndASetThatWaited(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos(func(q *qos.DataWriter) {
			q.Liveliness = qos.Liveliness{Kind: qos.LivelinessManualByTopic, LeaseDuration: time.Second}
		}))
		r := n.reader(t, readerQos())
		synctest.Wait()
		write(t, w, 1, 1)
		synctest.Wait()
		r.lock()
		var src *source
		for _, s := range r.writers {
			src = s
		}
		r.unlock()
		h, err := w.LookupInstance(&track{ID: 1})
		require.NoError(t, err)
		came := now()
		pass(2 * time.Second)
		require.EqualValues(t, 1, r.LivelinessChangedStatus().NotAliveCount)
		member := &item{kind: itemData, refs: 1, src: src, handle: h, writerSeq: 2, receiveNs: came, sourceNs: came}
		set := &item{kind: itemSet, refs: 1, src: src, receiveNs: came, set: &[]*item{member}}
		r.post(set, set)
		single := &item{kind: itemData, refs: 1, src: src, handle: h, writerSeq: 3, receiveNs: came, sourceNs: came}
		r.post(single, single)
		pass(time.Second)
		require.Zero(t, r.StatusChanges()&LivelinessChangedStatusBit)
	})
}

// What LIFESPAN makes room for is let in also when a read finds it out, and not the timer.
func TestReadMakesRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		short := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Lifespan.Duration = time.Second }))
		w := n.writer(t, writerQos())
		r := n.reader(t, oneSample())
		synctest.Wait()
		write(t, short, 1, 1)
		write(t, w, 2, 2) // waits
		synctest.Wait()
		r.alarm.set(0) // the timer is late
		pass(2 * time.Second)
		s, err := r.Read()
		require.NoError(t, err)
		require.Equal(t, 1, s.Len())
		s.Close()
		require.Contains(t, takeText(t, r), "2:2")
		require.NoError(t, w.Write(patiently(t), &track{ID: 3}))
	})
}

// RELIABLE waits for room that taking makes. Room for an instance is not made so while all are alive: the sample is rejected,
// and nobody is held up.
func TestTooManyInstances(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos())
		r := b.reader(t, readerQos(func(q *qos.DataReader) { q.ResourceLimits.MaxInstances = 1 }))
		synctest.Wait()
		write(t, w, 1, 1)
		write(t, w, 2, 2)
		synctest.Wait()
		status := r.SampleRejectedStatus()
		require.EqualValues(t, 1, status.TotalCount)
		require.Equal(t, RejectedByInstancesLimit, status.LastReason)
		require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
		write(t, w, 2, 3) // waits until the one that has ended is taken
		synctest.Wait()
		require.Contains(t, takeText(t, r), "1:1")
		synctest.Wait()
		require.Contains(t, takeText(t, r), "2:3")
		require.Zero(t, r.SampleRejectedStatus().TotalCountChange)
		require.Zero(t, r.SampleLostStatus().TotalCount)
	})
}
