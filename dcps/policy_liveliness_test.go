package dcps

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func leaseOffer(kind qos.LivelinessKind, d time.Duration) func(*qos.DataWriter) {
	return func(q *qos.DataWriter) { q.Liveliness = qos.Liveliness{Kind: kind, LeaseDuration: d} }
}

// virtually runs a test on a bus of its own, in virtual time.
func virtually(t *testing.T, test func(t *testing.T, d *domain)) {
	synctest.Test(t, func(t *testing.T) {
		d := onBus(t)
		test(t, d)
		for _, n := range d.nodes {
			require.NoError(t, n.p.Close())
		}
	})
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func alive(r *DataReader[track]) [2]int32 {
	s := r.LivelinessChangedStatus()
	return [2]int32{s.AliveCount, s.NotAliveCount}
}

// MANUAL_BY_TOPIC: the writer itself has to assert, be it by writing, within each lease_duration. When it does not, both
// sides notice, once, and its instances have no writers.
//
// Clauses: 2.2.2.4.2.22, 2.2.2.4.2.16, 2.2.2.5.3.21, 2.2.2.4.2.22
func TestDDS14_2_2_3_11_ManualByTopic(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(leaseOffer(qos.LivelinessManualByTopic, time.Second)))
		other := a.writer(t, writerQos(leaseOffer(qos.LivelinessManualByTopic, time.Hour)))
		r := b.reader(t, readerQos())
		write(t, w, 1, 1)
		pass(900 * time.Millisecond)
		require.NoError(t, w.AssertLiveliness())
		pass(900 * time.Millisecond)
		write(t, w, 1, 2)
		write(t, other, 9, 9)
		pass(999 * time.Millisecond)
		require.Equal(t, [2]int32{2, 0}, alive(r))
		require.Zero(t, w.LivelinessLostStatus().TotalCount)
		write(t, other, 9, 9)
		require.NoError(t, a.p.AssertLiveliness(), "it is not for this kind")
		pass(2 * time.Millisecond)
		require.Equal(t, [2]int32{1, 1}, alive(r))
		require.Equal(t, LivelinessLostStatus{TotalCount: 1, TotalCountChange: 1}, w.LivelinessLostStatus())
		require.Equal(t, "[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] 1:1\n[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] 1:2",
			takeText(t, r, States(0, 0, InstanceNotAlive)))
		pass(time.Minute)
		require.Equal(t, LivelinessLostStatus{TotalCount: 1}, w.LivelinessLostStatus(), "who is not alive does not lose it again")

		require.NoError(t, w.AssertLiveliness())
		synctest.Wait()
		require.Equal(t, [2]int32{2, 0}, alive(r))
		pass(time.Second)
		require.Equal(t, [2]int32{1, 1}, alive(r))
		require.Equal(t, int32(2), w.LivelinessLostStatus().TotalCount)
		write(t, w, 1, 3)
		synctest.Wait()
		require.Equal(t, [2]int32{2, 0}, alive(r))
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:3", takeText(t, r, Instance(instanceOfID(t, r, 1))))
	})
}

// An assertion does not wait with the samples that a suspended Publisher holds: it takes them along.
func TestAssertedWhileSuspended(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(leaseOffer(qos.LivelinessManualByTopic, time.Second)))
		r := b.reader(t, readerQos())
		require.NoError(t, a.pub.SuspendPublications())
		write(t, w, 1, 1)
		for range 3 {
			pass(600 * time.Millisecond)
			require.NoError(t, w.AssertLiveliness())
			synctest.Wait()
			require.Equal(t, [2]int32{1, 0}, alive(r))
		}
		require.Equal(t, "1:1", taken(t, r))
		require.NoError(t, a.pub.ResumePublications())
	})
}

func instanceOfID(t *testing.T, r *DataReader[track], id int32) InstanceHandle {
	h, err := r.LookupInstance(&track{ID: id})
	require.NoError(t, err)
	return h
}

// MANUAL_BY_PARTICIPANT: one writer that writes, or one assertion, keeps all of the participant alive, also for readers
// that get nothing of it.
//
// Clauses: 2.2.2.2.1.19, 2.2.2.2.1.19
func TestDDS14_2_2_3_11_ManualByParticipant(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(leaseOffer(qos.LivelinessManualByParticipant, time.Second)))
		r := b.reader(t, readerQos())
		elsewhere, err := NewTopic[track](a.p, "Elsewhere")
		require.NoError(t, err)
		busy, err := NewDataWriter(a.pub, elsewhere)
		require.NoError(t, err)
		for range 10 {
			write(t, busy, 1, 1)
			pass(600 * time.Millisecond)
			require.Equal(t, [2]int32{1, 0}, alive(r))
		}
		pass(399 * time.Millisecond)
		require.Equal(t, [2]int32{1, 0}, alive(r))
		pass(2 * time.Millisecond)
		require.Equal(t, [2]int32{0, 1}, alive(r), "the lease begins with the write, not when readers were told of it")
		require.Equal(t, int32(1), w.LivelinessLostStatus().TotalCount)

		for range 3 {
			require.NoError(t, a.p.AssertLiveliness())
			synctest.Wait()
			require.Equal(t, [2]int32{1, 0}, alive(r))
			pass(900 * time.Millisecond)
			require.NoError(t, w.AssertLiveliness())
			pass(900 * time.Millisecond)
			require.Equal(t, [2]int32{1, 0}, alive(r))
		}
		require.Equal(t, int32(1), w.LivelinessLostStatus().TotalCount)
	})
}

// AUTOMATIC: the middleware of a process asserts. Of one that hangs it comes no more, whatever its writers meant to do, and
// that it was taken for not alive the process learns when it goes on.
func TestDDS14_2_2_3_11_Automatic(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(leaseOffer(qos.LivelinessAutomatic, time.Second)))
		r := b.reader(t, readerQos())
		synctest.Wait()
		pass(time.Hour)
		require.Equal(t, [2]int32{1, 0}, alive(r), "the application need not do anything")
		d.bus.silence(b, a, 999*time.Millisecond)
		synctest.Wait()
		require.Equal(t, [2]int32{1, 0}, alive(r))
		d.bus.silence(b, a, 1001*time.Millisecond)
		synctest.Wait()
		require.Equal(t, [2]int32{0, 1}, alive(r))
		require.NoError(t, w.AssertLiveliness(), "has no effect")
		d.bus.silence(b, a, 0)
		synctest.Wait()
		require.Equal(t, [2]int32{1, 0}, alive(r))

		d.bus.isolate(a, derecho.ErrNoMajority)
		synctest.Wait()
		require.Equal(t, int32(1), w.LivelinessLostStatus().TotalCount)
		d.bus.isolate(a, nil)
		synctest.Wait()
		require.Equal(t, LivelinessLostStatus{TotalCount: 1}, w.LivelinessLostStatus())
	})
}

// OnLivelinessLost is called, and so is that of the Publisher.
func TestDDS14_2_2_4_1_LivelinessLostListener(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		heard := make(chan LivelinessLostStatus, 4)
		n.writer(t, writerQos(leaseOffer(qos.LivelinessManualByTopic, time.Second)),
			WithWriterListener(&DataWriterListener[track]{OnLivelinessLost: func(_ *DataWriter[track], s LivelinessLostStatus) { heard <- s }}))
		pass(time.Second)
		require.Equal(t, LivelinessLostStatus{TotalCount: 1, TotalCountChange: 1}, <-heard)
	})
}

// What a history brings of a writer is no sign of life.
func TestDDS14_2_2_3_11_HistoryIsNoAssertion(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(leaseOffer(qos.LivelinessManualByTopic, time.Second), func(q *qos.DataWriter) {
			q.Durability.Kind = qos.DurabilityTransientLocal
		}))
		write(t, w, 1, 1)
		pass(time.Hour)
		r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
		pass(999 * time.Millisecond)
		require.Equal(t, [2]int32{1, 0}, alive(r))
		pass(2 * time.Millisecond)
		require.Equal(t, [2]int32{0, 1}, alive(r))
	})
}
