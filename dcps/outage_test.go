package dcps

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func leasing(d time.Duration) func(*qos.DataWriter) {
	return func(q *qos.DataWriter) { q.Liveliness.LeaseDuration = d }
}

// counts gives LIVELINESS_CHANGED as "alive not-alive changes".
func counts(r *DataReader[track]) string {
	s := r.LivelinessChangedStatus()
	return fmt.Sprintf("%d %d %+d %+d", s.AliveCount, s.NotAliveCount, s.AliveCountChange, s.NotAliveCountChange)
}

func TestLivelinessLease(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(leasing(450*time.Millisecond)))
	brief := a.writer(t, writerQos(leasing(time.Millisecond)))
	r := b.reader(t, readerQos())
	write(t, w, 1, 1)
	write(t, brief, 2, 1)
	silent := func(d2 time.Duration) {
		d.bus.silence(b, a, d2)
		d.bus.settle(t)
	}
	d.bus.settle(t)
	require.Equal(t, "2 0 +2 +0", counts(r))
	require.Equal(t, "1:1 2:1", values(t, r, 2))

	silent(time.Second / 3) // two heartbeats: the least that a lease can be
	require.Equal(t, "2 0 +0 +0", counts(r))
	silent(334 * time.Millisecond)
	require.Equal(t, "1 1 -1 +1", counts(r))
	require.Equal(t, "[NOT_READ NOT_NEW NOT_ALIVE_NO_WRITERS d=0 n=0] -", takeText(t, r))
	silent(451 * time.Millisecond)
	require.Equal(t, "0 2 -1 +1", counts(r))
	require.Equal(t, w.Handle(), r.LivelinessChangedStatus().LastPublicationHandle)
	takeText(t, r)

	silent(0)
	require.Equal(t, "2 0 +2 -2", counts(r))
	require.Equal(t, "no data", takeText(t, r), "an instance is alive with its next sample")
	write(t, w, 1, 2)
	d.bus.settle(t)
	require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:2", takeText(t, r), "it was forgotten meanwhile")

	silent(time.Second)
	require.NoError(t, w.Close())
	d.bus.settle(t)
	require.Equal(t, "0 1 -2 +1", counts(r), "a writer that is not alive and goes is counted no more")
	require.EqualValues(t, 1, r.SubscriptionMatchedStatus().CurrentCount)

	late := b.reader(t, readerQos())
	d.bus.settle(t)
	require.Equal(t, "0 1 +0 +1", counts(late), "matched while it is silent")
}

func TestSilentOwnerLosesInstance(t *testing.T) {
	d := onBus(t)
	exclusive := func(strength int32) qos.DataWriter {
		return writerQos(leasing(300*time.Millisecond), func(q *qos.DataWriter) {
			q.Ownership.Kind, q.OwnershipStrength.Value = qos.OwnershipExclusive, strength
		})
	}
	a, b := d.node(t), d.node(t)
	strong, weak := a.writer(t, exclusive(2)), b.writer(t, exclusive(1))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Ownership.Kind = qos.OwnershipExclusive }))
	write(t, strong, 1, 20)
	write(t, weak, 1, 10)
	d.bus.silence(b, a, time.Second)
	d.bus.settle(t)
	write(t, weak, 1, 11)
	write(t, strong, 1, 21) // sent before, delivered now
	d.bus.silence(b, a, 0)
	d.bus.settle(t)
	write(t, strong, 1, 22)
	write(t, weak, 1, 12)
	require.Equal(t, "1:20 1:11 1:22", values(t, r, 3))
	require.Equal(t, "no data", takeText(t, r))
}

func TestFailedNode(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, r := a.writer(t, writerQos()), b.reader(t, readerQos())
	write(t, w, 1, 1)
	d.bus.settle(t)
	require.Equal(t, "1 0 +1 +0", counts(r))
	b.p.hub.NodeFailed(d.bus.of(a).id)
	require.Equal(t, "0 1 -1 +1", counts(r))
	require.EqualValues(t, 1, r.SubscriptionMatchedStatus().CurrentCount)
	b.p.hub.Silence(d.bus.of(a).id, 0)
	require.Equal(t, "0 1 +0 +0", counts(r), "it does not come back")
	b.p.hub.EndpointRemoved(derecho.Endpoint{Node: d.bus.of(a).id, ID: w.id})
	require.Equal(t, "0 0 +0 -1", counts(r))
	require.EqualValues(t, 0, r.SubscriptionMatchedStatus().CurrentCount)
	require.Equal(t, "[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] 1:1", takeText(t, r))
}

func TestIsolated(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, own, r := a.writer(t, writerQos()), b.writer(t, writerQos()), b.reader(t, readerQos())
	write(t, w, 1, 1)
	d.bus.settle(t)
	require.Equal(t, "2 0 +2 +0", counts(r))
	require.NoError(t, b.p.WaitForDomain(patiently(t)))
	cause := fmt.Errorf("%w: not heard: sensor", derecho.ErrNoMajority)
	d.bus.isolate(b, cause)
	d.bus.settle(t)
	require.Equal(t, "1 1 -1 +1", counts(r), "the writer of the own process is alive")
	_, err := own.Loan(context.Background(), 100)
	for _, err := range []error{
		own.Write(context.Background(), &track{}), own.Dispose(context.Background(), &track{}), b.p.Err(), err,
		own.WaitForAcknowledgments(context.Background()),
	} {
		require.ErrorIs(t, err, ErrPreconditionNotMet)
		require.ErrorIs(t, err, derecho.ErrNoMajority)
		require.ErrorContains(t, err, "not heard: sensor")
		require.ErrorContains(t, err, "look after the network")
		require.ErrorContains(t, err, "One that has ended is not heard again, also if it was started anew: then start this one anew, too")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.p.WaitForDomain(ctx), ErrTimeout)
	waited := make(chan error)
	go func() { waited <- b.p.WaitForDomain(patiently(t)) }()
	d.bus.isolate(b, nil)
	require.NoError(t, <-waited)
	d.bus.settle(t)
	require.Equal(t, "2 0 +1 -1", counts(r))
	require.NoError(t, b.p.Err())
	write(t, own, 2, 2)
	require.NoError(t, own.WaitForAcknowledgments(patiently(t)))
}

func TestRejoin(t *testing.T) {
	for _, c := range []struct {
		name string
		w    func(*qos.DataWriter)
		r    func(*qos.DataReader)
		want string // what the reader that was cut off gets of what was written meanwhile
	}{
		{"volatile", func(*qos.DataWriter) {}, func(*qos.DataReader) {}, ""},
		{"transient local", func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal },
			func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }, "1:2 "},
		{"transient", func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransient },
			func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransient }, "1:2 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := onBus(t)
			keep := func(q *qos.DataWriter) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 10} }
			a, b, third := d.node(t), d.node(t), d.node(t)
			wa, wb := a.writer(t, writerQos(c.w, keep)), b.writer(t, writerQos(c.w, keep))
			ra, rb, rc := a.reader(t, readerQos(c.r)), b.reader(t, readerQos(c.r)), third.reader(t, readerQos(c.r))
			readers := []*DataReader[track]{ra, rb, rc}
			require.NoError(t, wa.WaitForMatch(patiently(t), 3))
			handles := []InstanceHandle{a.p.Handle(), wa.Handle(), ra.Handle()}
			write(t, wa, 1, 1)
			write(t, wb, 2, 1)
			d.bus.settle(t)
			require.Equal(t, "1:1 2:1", values(t, ra, 2), "read before; the others read after")

			before := d.bus.of(b).id
			d.bus.exclude(b)
			write(t, wa, 1, 2)
			d.bus.settle(t)
			err := wb.Write(context.Background(), &track{ID: 2, Value: -1})
			require.ErrorIs(t, err, derecho.ErrExcluded)
			require.ErrorIs(t, err, ErrPreconditionNotMet)
			require.ErrorIs(t, b.p.Err(), derecho.ErrExcluded)
			for _, err := range []error{err, b.p.Err()} {
				require.ErrorContains(t, err, "did not hear it for longer than Settings.Lease", "why")
				require.ErrorContains(t, err, "as soon as it reaches a process of the domain: if none is left, start one, or this one anew", "and what ends it")
			}
			b.p.hub.Isolated(derecho.ErrNoMajority) // it joins again, and is not let in
			require.ErrorIs(t, b.p.Err(), derecho.ErrExcluded)
			require.ErrorIs(t, b.p.Err(), derecho.ErrNoMajority)
			d.bus.rejoin(b)
			require.NoError(t, b.p.WaitForDomain(patiently(t)))
			for _, w := range []*DataWriter[track]{wa, wb} {
				require.NoError(t, w.WaitForMatch(patiently(t), 3))
			}
			for _, r := range readers {
				require.NoError(t, r.WaitForMatch(patiently(t), 2))
			}
			d.bus.settle(t)
			require.NoError(t, b.p.Err())
			require.NotEqual(t, before, d.bus.of(b).id)
			require.Equal(t, handles, []InstanceHandle{a.p.Handle(), wa.Handle(), ra.Handle()})
			write(t, wa, 1, 3)
			write(t, wb, 2, 2)
			d.bus.settle(t)
			require.Equal(t, "1:2 1:3 2:2", values(t, ra, 3))
			require.Equal(t, "1:1 2:1 "+c.want+"1:3 2:2", values(t, rb, 4+len(c.want)/4), "the reader keeps its samples, and none comes twice")
			require.Equal(t, "1:1 2:1 1:2 1:3 2:2", values(t, rc, 5))
			for _, r := range readers {
				require.Equal(t, "no data", takeText(t, r))
				require.Zero(t, r.SampleLostStatus().TotalCount)
			}
			s := ra.SubscriptionMatchedStatus()
			require.EqualValues(t, 2, s.CurrentCount)
			require.Equal(t, wb.Handle(), s.LastHandle, "the same handle as before")

			// A reader that comes now gets the history of both: also of the writer whose endpoint was away.
			late := d.node(t).reader(t, readerQos(c.r))
			require.NoError(t, late.WaitForHistoricalData(patiently(t)))
			d.bus.settle(t)
			got := 0
			if samples, err := late.Take(); err == nil {
				got = samples.Len()
				for _, s := range samples.All() {
					require.Equal(t, InstanceAlive, s.Info.InstanceState, s.Info.WriterSequence)
				}
				samples.Close()
			}
			require.Equal(t, map[string]int{"volatile": 0, "transient local": 5, "transient": 5}[c.name], got)
		})
	}
}

// What a writer sends again after its process was away is no news to a VOLATILE reader.
// Who left a smaller group for a larger one was not silent, and is not told that it was.
func TestGivesWayToAnotherGroup(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := b.writer(t, writerQos())
	r := a.reader(t, readerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	d.bus.excludeFor(b, derecho.ErrOtherGroup)
	d.bus.settle(t)
	for _, err := range []error{w.Write(patiently(t), &track{}), w.WaitForAcknowledgments(patiently(t)), b.p.Err()} {
		require.ErrorIs(t, err, ErrPreconditionNotMet)
		require.ErrorIs(t, err, derecho.ErrExcluded)
		require.ErrorIs(t, err, derecho.ErrOtherGroup)
		require.ErrorContains(t, err, "formed more than one group")
		require.NotContains(t, err.Error(), "Settings.Lease")
	}
	s := b.p.ViewChangedStatus()
	last := s.Changes[len(s.Changes)-1]
	require.Equal(t, ViewExcluded, last.Why)
	require.ErrorIs(t, last.Err, derecho.ErrOtherGroup)
	d.bus.rejoin(b)
	require.NoError(t, b.p.WaitForDomain(patiently(t)))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	write(t, w, 1, 1)
	require.Equal(t, "1:1", values(t, r, 1))
}

func TestRejoinVolatileReaderOfStoredTopic(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	write(t, w, 1, 1)
	write(t, w, 2, 2)
	d.bus.settle(t)
	d.bus.exclude(a)
	r := b.reader(t, readerQos())
	d.bus.rejoin(a)
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	write(t, w, 1, 3)
	require.Equal(t, "1:3", values(t, r, 1))
	late := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	require.Equal(t, "2:2 1:3", values(t, late, 2))
}

// A TRANSIENT_LOCAL writer whose process was away sends again what it was not handed itself, too: what all others had been
// handed, and what nobody had. Nobody takes anything twice, and who comes late gets all of it.
func TestRejoinSendsWhatWasOnItsWay(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	keep := func(q *qos.DataWriter) {
		q.Durability.Kind, q.History = qos.DurabilityTransientLocal, qos.History{Kind: qos.HistoryKeepLast, Depth: 10}
	}
	wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }
	w := a.writer(t, writerQos(keep))
	r, volatile := b.reader(t, readerQos(wants)), b.reader(t, readerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 2))
	loses := func(who func(to *busNode) bool) {
		d.bus.mu.Lock()
		defer d.bus.mu.Unlock()
		d.bus.lose = func(_ *derecho.Message, to *busNode) bool { return who(to) }
	}
	self := d.bus.of(a)
	write(t, w, 1, 1)
	loses(func(to *busNode) bool { return to == self })
	write(t, w, 1, 2) // only the others had it
	loses(func(*busNode) bool { return true })
	write(t, w, 1, 3) // nobody had it
	write(t, w, 2, 4)
	require.NoError(t, w.Dispose(patiently(t), &track{ID: 2}))
	loses(func(*busNode) bool { return false })
	away := func() {
		d.bus.exclude(a)
		d.bus.rejoin(a)
	}
	again := make(chan struct{})
	d.bus.during(&d.bus.committing, func() { // what is sent again is lost once more
		away()
		close(again)
	})
	away()
	<-again
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	write(t, w, 1, 5)
	require.Equal(t, "1:1 1:2 1:3 2:4 1:5", values(t, r, 5))
	require.Equal(t, "1:1 1:2 1:5", values(t, volatile, 3), "it is no news to those who want none")
	late := b.reader(t, readerQos(wants))
	require.Equal(t, "1:1 1:2 1:3 1:5", values(t, late, 4), "what was disposed of is over")
	d.bus.settle(t)
	require.Nil(t, w.resent.Load(), "it has arrived")
	require.ErrorIs(t, w.WaitForAcknowledgments(patiently(t)), derecho.ErrExcluded, "VOLATILE readers lack some")
}

// What only the process that was away has kept is not forgotten.
func TestRejoinKeepsHistoryOfItsOwn(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	transient := func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityTransient
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}
	wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransient }
	w := b.writer(t, writerQos(transient))
	r := a.reader(t, readerQos(wants))
	write(t, w, 1, 1)
	require.NoError(t, w.Close())
	require.Equal(t, "1:1", values(t, r, 1))
	d.bus.exclude(a)
	d.bus.rejoin(a)
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	late := b.reader(t, readerQos(wants))
	require.Equal(t, "1:1", values(t, late, 1))
	d.bus.settle(t)
	for _, s := range []string{takeText(t, r)} {
		require.NotContains(t, s, "1:1", "no sample twice")
	}
}

func TestRejoinUnorderedCountsNoLoss(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	write(t, w, 1, 1)
	d.bus.settle(t)
	d.bus.exclude(b)
	write(t, w, 1, 2)
	write(t, w, 1, 3)
	d.bus.rejoin(b)
	require.NoError(t, b.p.WaitForDomain(patiently(t)))
	write(t, w, 1, 4)
	require.Equal(t, "1:1 1:4", values(t, r, 2))
	require.Zero(t, r.SampleLostStatus().TotalCount, "they were written while it was not matched")
}

// A full reader makes writers wait also after its process has joined again, until it has room.
func TestRejoinHoldsAgain(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(blocking(20*time.Millisecond)))
	r := b.reader(t, readerQos(func(q *qos.DataReader) {
		q.ResourceLimits = qos.ResourceLimits{MaxSamples: 1, MaxInstances: -1, MaxSamplesPerInstance: 1}
	}))
	write(t, w, 1, 1)
	write(t, w, 1, 2)
	d.bus.settle(t)
	require.ErrorIs(t, w.Write(patiently(t), &track{}), ErrTimeout)
	d.bus.exclude(b)
	write(t, w, 1, 3) // nobody holds it
	d.bus.rejoin(b)
	require.NoError(t, b.p.WaitForDomain(patiently(t)))
	require.ErrorIs(t, w.Write(patiently(t), &track{}), ErrTimeout)
	require.Equal(t, "1:1 1:2", values(t, r, 2))
	d.bus.settle(t)
	write(t, w, 1, 4)
	require.Equal(t, "1:4", values(t, r, 1))
}

func TestExclusionLeavesOutcomeUnknown(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(blocking(patience)))
		b.reader(t, readerQos())
		unknown := func(err error) {
			t.Helper()
			require.ErrorIs(t, err, ErrPreconditionNotMet)
			require.ErrorIs(t, err, derecho.ErrExcluded)
			require.ErrorContains(t, err, "is not known")
		}
		write(t, w, 1, 1)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)), "all was acknowledged before")

		loan, err := w.Loan(patiently(t), 100) // reserved, so that the wait does not end
		require.NoError(t, err)
		waiting := make(chan error)
		go func() { waiting <- w.WaitForAcknowledgments(patiently(t)) }()
		synctest.Wait()
		d.bus.exclude(a)
		unknown(<-waiting)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
		err = loan.Publish(50)
		require.ErrorIs(t, err, derecho.ErrExcluded)
		require.ErrorContains(t, err, "write the sample again")
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)), "it was told once")

		write(t, w, 1, 2)
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
		unknown(w.WaitForAcknowledgments(patiently(t)))
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	})
}

// The others go on without the process at each moment of a Write, which does not know it yet: the sample is accepted, it
// reaches nobody, and who waits for it to be acknowledged is told.
func TestExcludedWhileWriting(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(blocking(patience)))
	r := b.reader(t, readerQos())
	away := func() {
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
	}
	told := func() {
		t.Helper()
		err := w.WaitForAcknowledgments(patiently(t))
		require.ErrorIs(t, err, derecho.ErrExcluded)
		require.ErrorIs(t, err, ErrPreconditionNotMet)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	}
	d.bus.during(&d.bus.reserved, away)
	write(t, w, 1, 1) // it had its place, but no number
	told()

	d.bus.during(&d.bus.committing, away)
	write(t, w, 1, 2) // it had both
	told()

	// So it is if somebody was told meanwhile of what was written before.
	d.bus.during(&d.bus.committing, func() { away(); told() })
	write(t, w, 1, 3)
	told()

	write(t, w, 1, 4)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.Equal(t, "1:4", values(t, r, 1))
}

// What a TRANSIENT_LOCAL writer accepts at such a moment is not lost: it is sent again, before what is written when the process
// has joined again, even if its own goroutine is late.
func TestRejoinSendsWhatIsAcceptedMeanwhile(t *testing.T) {
	moments := map[string]func(b *bus) *func(){
		"it has a place":        func(b *bus) *func() { return &b.reserved },
		"it is being committed": func(b *bus) *func() { return &b.committing },
	}
	writes := map[string]func(t *testing.T, n *node, w *DataWriter[track]){
		"write": func(t *testing.T, _ *node, w *DataWriter[track]) { write(t, w, 1, 2) },
		"loan": func(t *testing.T, _ *node, w *DataWriter[track]) {
			l, err := w.Loan(patiently(t), 100)
			require.NoError(t, err)
			size, err := cdr.MarshalTo(l.Bytes(), &track{ID: 1, Value: 2}, w.untyped().enc)
			require.NoError(t, err)
			require.NoError(t, l.Publish(size))
		},
		"batch": func(t *testing.T, n *node, w *DataWriter[track]) {
			require.NoError(t, n.pub.SuspendPublications())
			write(t, w, 1, 2)
			require.NoError(t, n.pub.ResumePublications())
		},
	}
	for what, does := range writes {
		for when, at := range moments {
			if what == "loan" && when == "it has a place" {
				continue // it is refused: TestExclusionLeavesOutcomeUnknown
			}
			t.Run(what+", "+when, func(t *testing.T) {
				virtually(t, func(t *testing.T, d *domain) {
					a, b := d.node(t), d.node(t)
					transient := func(q *qos.DataWriter) {
						q.Durability.Kind, q.History = qos.DurabilityTransientLocal, qos.History{Kind: qos.HistoryKeepLast, Depth: 10}
					}
					w := a.writer(t, writerQos(blocking(patience), transient))
					r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
					write(t, w, 1, 1)
					require.Equal(t, "1:1", values(t, r, 1))
					later := make(chan error, 1)
					d.bus.during(at(d.bus), func() {
						d.bus.exclude(a)
						d.bus.rejoin(a)
						require.NoError(t, a.p.WaitForDomain(patiently(t)))
						go func() { later <- w.Write(patiently(t), &track{ID: 1, Value: 3}) }()
						if what != "batch" { // whose lock the bubble does not know as a reason to wait
							synctest.Wait() // it waits for the one before, if it got its turn at all
						}
					})
					does(t, a, w)
					require.NoError(t, <-later)
					require.Equal(t, "1:2 1:3", values(t, r, 2))
					late := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
					require.Equal(t, "1:1 1:2 1:3", values(t, late, 3))
				})
			})
		}
	}
}

// So it is if it is committed only when the process has joined again, and nothing is written after it.
func TestRejoinSendsWhatIsCommittedLate(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, durably(qos.DurabilityTransientLocal))
		r := b.reader(t, durableReader(qos.DurabilityTransientLocal))
		require.NoError(t, a.pub.SuspendPublications())
		write(t, w, 1, 1)
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
		synctest.Wait() // who sends what is owed by then has looked
		require.NoError(t, a.pub.ResumePublications())
		require.Equal(t, "1:1", values(t, r, 1))
	})
}

// Nor does it wait for a next sample if the writer can not send it at once.
func TestRejoinSendsWhatIsOwedLater(t *testing.T) {
	// Each keeps a writer of a process that is excluded from sending, until it is called back.
	hindrances := map[string]func(d *domain, at, other *node, w *writer) (end func()){
		"it is no sender": func(d *domain, at, _ *node, _ *writer) func() {
			d.bus.mu.Lock()
			defer d.bus.mu.Unlock()
			n := d.bus.of(at)
			endpoints := n.endpoints
			n.endpoints = nil
			return func() {
				d.bus.mu.Lock()
				defer d.bus.mu.Unlock()
				for _, ep := range endpoints {
					ep.Node = n.id
					n.endpoints = append(n.endpoints, ep)
					n.announce(ep)
				}
			}
		},
		"a reader is full": func(_ *domain, _, other *node, w *writer) func() {
			other.p.core.Hold(w.at.sg, w.at.ch, true)
			return func() { other.p.core.Hold(w.at.sg, w.at.ch, false) }
		},
	}
	for why, hinder := range hindrances {
		t.Run(why, func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				a, b := d.node(t), d.node(t)
				w := a.writer(t, durably(qos.DurabilityTransientLocal))
				write(t, w, 1, 1)
				d.bus.settle(t)
				d.bus.exclude(a)
				end := hinder(d, a, b, w.untyped())
				d.bus.rejoin(a)
				require.NoError(t, a.p.WaitForDomain(patiently(t)))
				<-time.After(2 * operationTimeout)
				end()
				late := b.reader(t, durableReader(qos.DurabilityTransientLocal))
				require.Equal(t, "1:1", values(t, late, 1))
			})
		})
	}
}

// Nor is it lost if the writer is closed before anybody has sent it.
func TestCloseSendsWhatIsOwed(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, durably(qos.DurabilityTransientLocal))
		r := b.reader(t, durableReader(qos.DurabilityTransientLocal))
		d.bus.mu.Lock()
		d.bus.lose = func(*derecho.Message, *busNode) bool { return true }
		d.bus.mu.Unlock()
		write(t, w, 1, 1)
		d.bus.mu.Lock()
		d.bus.lose = nil
		d.bus.mu.Unlock()
		_, err := w.untyped().turn.take(patiently(t), time.Time{}) // another goroutine is about to write
		require.NoError(t, err)
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- w.Close() }()
		synctest.Wait() // who was to send what is owed has given up
		w.untyped().turn.leave()
		require.NoError(t, <-closed)
		require.Equal(t, "1:1", values(t, r, 1))
	})
}

// Even if the process leaves and joins once more while Close is about to send it.
func TestCloseSendsWhatIsOwedByTheNextIncarnation(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		dw := a.writer(t, durably(qos.DurabilityTransientLocal))
		r := b.reader(t, durableReader(qos.DurabilityTransientLocal))
		w := dw.untyped()
		again := func() {
			d.bus.exclude(a)
			d.bus.rejoin(a)
			require.NoError(t, a.p.WaitForDomain(patiently(t)))
		}
		var late reservation // whoever closes waits for it
		require.NoError(t, w.reserve(patiently(t), "Write", 64, now(), atCall, &late))
		again()
		closed := make(chan error, 1)
		go func() { closed <- w.sayClosing(patiently(t)) }()
		synctest.Wait()
		again()
		n, err := cdr.MarshalTo(late.slot.bytes(), &track{ID: 1, Value: 1}, w.enc)
		require.NoError(t, err)
		w.publish(&late, w.header(kindData, late.seq, 0, late.at), n)
		require.NoError(t, <-closed)
		require.Nil(t, w.owed.Load(), "nobody sends it any more")
		require.Equal(t, "1:1", values(t, r, 1))
	})
}

// Who sends first when the process has joined again does not wait for the end of a batch: not even for a message that has its
// place, and comes to the batch only then.
func TestRejoinHurriesBatches(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a := d.node(t)
		w := a.writer(t, durably(qos.DurabilityTransientLocal)).untyped()
		require.NoError(t, a.pub.SuspendPublications())
		var r reservation
		require.NoError(t, w.reserve(patiently(t), "Write", 64, now(), atCall, &r))
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
		settled := make(chan error, 1)
		go func() { settled <- w.settle(patiently(t), time.Time{}) }()
		synctest.Wait()
		n, err := cdr.MarshalTo(r.slot.bytes(), &track{ID: 1}, w.enc)
		require.NoError(t, err)
		w.publish(&r, w.header(kindData, r.seq, 0, r.at), n)
		require.NoError(t, <-settled)
	})
}

// That goes for the end of a coherent set, too, though nothing else of it is in doubt.
func TestExclusionAtTheEndOfASet(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	pq := qos.DefaultPublisher()
	pq.Presentation = present(qos.PresentationTopic, true, false)
	w := a.writerOf(t, pq, writerQos(blocking(patience)))
	b.reader(t, readerQos())
	require.NoError(t, w.Publisher().BeginCoherentChanges())
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	d.bus.during(&d.bus.reserved, func() {
		d.bus.exclude(a)
		d.bus.rejoin(a)
		require.NoError(t, a.p.WaitForDomain(patiently(t)))
	})
	require.ErrorIs(t, w.Publisher().EndCoherentChanges(patiently(t)), derecho.ErrExcluded)
	require.ErrorIs(t, w.WaitForAcknowledgments(patiently(t)), derecho.ErrExcluded)
}

// Of several that wait at once each is told.
func TestExclusionIsToldToAllWhoWait(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(blocking(patience)))
	b.reader(t, readerQos())
	loan, err := w.Loan(patiently(t), 100) // reserved, so that no wait ends
	require.NoError(t, err)
	const waiters = 3
	waiting := make(chan error)
	for range waiters {
		go func() { waiting <- w.WaitForAcknowledgments(patiently(t)) }()
	}
	d.bus.waiting(waiters)
	d.bus.exclude(a)
	for range waiters {
		require.ErrorIs(t, <-waiting, derecho.ErrExcluded)
	}
	d.bus.rejoin(a)
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	require.NoError(t, loan.Discard())
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
}

// So it is for those who begin to wait before the first of them was told.
func TestDoubt(t *testing.T) {
	var d doubt
	one, other := d.told.Load(), d.told.Load()
	require.False(t, d.tell(one))
	d.raised.Add(1)
	d.sent(d.exclusions.Load())
	require.True(t, d.tell(one))
	require.True(t, d.tell(other))
	require.False(t, d.tell(d.told.Load()), "it was told")
	before := d.exclusions.Load()
	d.exclusions.Add(1)
	d.sent(before)
	require.True(t, d.tell(d.told.Load()))
	require.True(t, d.tell(one))
	rise(&d.told, 1)
	require.EqualValues(t, 2, d.told.Load(), "it does not fall")
}

// What is closed while the process is away does not come back.
func TestCloseWhileExcluded(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, stays, r := a.writer(t, writerQos()), a.writer(t, writerQos()), b.reader(t, readerQos())
	d.bus.settle(t)
	d.bus.exclude(a)
	d.bus.settle(t)
	require.NoError(t, w.Close())
	d.bus.rejoin(a)
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	d.bus.settle(t)
	require.Equal(t, []Peer{{Handle: stays.Handle(), Name: a.p.name, Host: a.p.host, PID: int(processID)}}, r.MatchedPublications())
	require.NoError(t, a.p.Close())
	require.True(t, errors.Is(a.p.WaitForDomain(patiently(t)), ErrAlreadyDeleted))
}

// What a writer left behind that had joined again comes from the writer that its readers knew.
func TestHistoryOfAWriterThatRejoined(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	b.reader(t, durableReader(qos.DurabilityTransient)) // a process that keeps
	w := a.writer(t, durably(qos.DurabilityTransient))
	d.bus.settle(t)
	d.bus.exclude(a)
	d.bus.rejoin(a)
	d.bus.settle(t)
	handle := w.Handle()
	write(t, w, 1, 10)
	d.bus.settle(t)
	d.crash(a)
	d.bus.settle(t)
	r := b.reader(t, durableReader(qos.DurabilityTransient))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	samples, err := r.Take()
	require.NoError(t, err)
	defer samples.Close()
	require.Equal(t, handle, samples.At(0).Info.PublicationHandle)
}

// Who joins again is owed what came meanwhile, and can wait for it: that it can send again comes before the history.
func TestHistoryIsOwedAnew(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, durably(qos.DurabilityTransientLocal))
	r, volatile := b.reader(t, durableReader(qos.DurabilityTransientLocal)), b.reader(t, readerQos())
	write(t, w, 1, 1)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.NoError(t, volatile.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "1:1", values(t, r, 1))
	d.bus.exclude(b)
	write(t, w, 1, 2)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Error(t, r.WaitForHistoricalData(over), "nobody can have given it")
	require.NoError(t, volatile.WaitForHistoricalData(over))
	has := make(chan string)
	go func() {
		if err := r.WaitForHistoricalData(patiently(t)); err != nil {
			has <- err.Error()
			return
		}
		has <- takeText(t, r)
	}()
	d.bus.rejoin(b)
	require.Contains(t, <-has, "1:2")
}

// An operation fails as soon as the core is cut off. Who waits for the domain then waits, though nobody else was told
// yet: to try again would be in vain.
func TestWaitForDomainBeforeTheHubIsTold(t *testing.T) {
	d := onBus(t)
	cut := new(cutCore)
	n := d.node(t, wrapCore(func(c core) core { cut.core = c; return cut }))
	require.NoError(t, n.p.WaitForDomain(patiently(t)))
	why := error(derecho.ErrExcluded)
	cut.why.Store(&why)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.Error(t, n.p.WaitForDomain(over))
	waits := make(chan error)
	go func() { waits <- n.p.WaitForDomain(patiently(t)) }()
	tell := func(err error) {
		d.bus.mu.Lock()
		defer d.bus.mu.Unlock()
		at := cut.core.(*busNode)
		at.do(func() { at.h.Isolated(err) })
	}
	tell(why)
	cut.why.Store(nil)
	tell(nil)
	require.NoError(t, <-waits)
}

// Who has waited for the domain finds in the status that it is back.
func TestWaitForDomainBeforeTheStatusTells(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		d.bus.isolate(n, derecho.ErrNoMajority)
		synctest.Wait()
		waits := make(chan error, 1)
		go func() { waits <- n.p.WaitForDomain(patiently(t)) }()
		n.p.interrupt(nil) // as the hub does first when it is over
		synctest.Wait()
		require.Empty(t, waits)
		d.bus.isolate(n, nil)
		require.NoError(t, <-waits)
		s := n.p.ViewChangedStatus()
		require.Equal(t, ViewResumed, s.Why())
		require.False(t, s.Away)
	})
}

// cutCore is a core that is cut off when the test says so.
type cutCore struct {
	core
	why atomic.Pointer[error]
}

func (c *cutCore) Outage() error {
	if why := c.why.Load(); why != nil {
		return *why
	}
	return nil
}

// A writer whose process is excluded while it closes is closed: there is nobody to say farewell to.
func TestExcludedWhileClosing(t *testing.T) {
	d := onBus(t)
	n := d.node(t, wrapCore(func(c core) core { return excludedCore{c} }))
	w := n.writer(t, writerQos())
	write(t, w, 1, 1)
	require.NoError(t, w.Close())
}

// excludedCore is a core whose group goes on without it as soon as it waits for the others.
type excludedCore struct{ core }

func (excludedCore) WaitAcked(context.Context, derecho.SubgroupID) error {
	return derecho.ErrExcluded
}
