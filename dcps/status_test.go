package dcps

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/storage"
	"github.com/stretchr/testify/require"
)

func TestIncompatibleQosNamesBothSides(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t, WithName("sensor")), d.node(t, WithName("display"))
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := b.reader(t, readerQos())
	d.bus.settle(t)
	offered, requested := w.OfferedIncompatibleQosStatus(), r.RequestedIncompatibleQosStatus()
	for _, s := range []IncompatibleQosStatus{offered, requested} {
		require.Equal(t, int32(1), s.TotalCount)
		require.Equal(t, qos.PolicyReliability, s.LastPolicyID)
		require.Equal(t, []PolicyCount{{qos.PolicyReliability, 1}}, s.Policies)
		require.Len(t, s.Details, 1)
		require.Equal(t, "BEST_EFFORT", s.Details[0].Offered)
		require.Equal(t, "RELIABLE", s.Details[0].Requested)
	}
	require.Equal(t, "display", offered.Details[0].Peer.Name)
	require.Equal(t, "sensor", requested.Details[0].Peer.Name)
	require.Contains(t, requested.Details[0].String(), "RELIABILITY: offered BEST_EFFORT, requested RELIABLE; peer sensor (pid")
	require.Zero(t, w.OfferedIncompatibleQosStatus().TotalCountChange, "the change was looked at")
}

// Clauses: 2.2.2.3.2.1, 2.2.2.2.1.5-6
func TestTypeMismatch(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
	r := a.reader(t, readerQos())
	other, err := NewTopic[wideTrack](b.p, "Track")
	require.NoError(t, err)
	heard := make(chan InconsistentTopicStatus, 1)
	named, err := NewTopic[note](b.p, "Other", WithTopicListener(&TopicListener{OnInconsistentTopic: func(_ string, s InconsistentTopicStatus) { heard <- s }}))
	require.NoError(t, err)
	r2, err := NewDataReader(b.sub, other)
	require.NoError(t, err)
	d.bus.settle(t)

	here, there := r.Topic().InconsistentTopicStatus(), other.InconsistentTopicStatus()
	require.Equal(t, int32(1), here.TotalCount)
	require.Equal(t, int32(1), there.TotalCount)
	require.Contains(t, here.Explanation, "double extra")
	require.Contains(t, here.Explanation, "defined differently here and at b (pid")
	require.Equal(t, "a", there.LastPeer.Name)

	w := a.writer(t, writerQos())
	d.bus.settle(t)
	require.Zero(t, r2.SubscriptionMatchedStatus().TotalCount, "different types do not match")
	require.Equal(t, int32(1), w.PublicationMatchedStatus().TotalCount)

	_, err = NewTopic[wideTrack](a.p, "Track")
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, "double extra")
	again, err := NewTopic[track](a.p, "Track")
	require.NoError(t, err)
	require.NoError(t, again.Close())
	require.NoError(t, again.Close())

	wrong, err := NewTopic[track](a.p, "Other")
	require.NoError(t, err)
	_, err = NewDataWriter(a.pub, wrong)
	require.NoError(t, err)
	_, err = NewDataReader(b.sub, named)
	require.NoError(t, err)
	s := <-heard
	require.Contains(t, s.Explanation, "has type test::Note here and type test::Track at a")
}

// Clauses: 2.2.2.5.2.12, 2.2.2.5.3.24
func TestSampleLostOnGap(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	d.bus.lose = func(m *derecho.Message, _ *busNode) bool { return m.WriterSeq == 3 || m.WriterSeq == 4 }
	for i := range int32(6) {
		write(t, w, 1, i)
	}
	l, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	require.NoError(t, l.Discard()) // no sample, and no loss
	write(t, w, 1, 6)
	require.Equal(t, "1:0 1:1 1:4 1:5 1:6", values(t, r, 5))
	require.Equal(t, SampleLostStatus{2, 2}, r.SampleLostStatus())
	require.Equal(t, SampleLostStatus{2, 0}, r.SampleLostStatus())
}

// The samples of a writer that does not own the instance are not shown, and not lost either.
func TestWeakerWriterLosesNothing(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	of := func(strength int32) qos.DataWriter {
		return writerQos(func(q *qos.DataWriter) {
			q.Reliability.Kind = qos.ReliabilityBestEffort
			q.Ownership.Kind, q.OwnershipStrength.Value = qos.OwnershipExclusive, strength
		})
	}
	strong, weak := a.writer(t, of(2)), a.writer(t, of(1))
	r := b.reader(t, readerQos(func(q *qos.DataReader) {
		q.Reliability.Kind, q.Ownership.Kind = qos.ReliabilityBestEffort, qos.OwnershipExclusive
	}))
	for i := range int32(20) {
		write(t, strong, 1, 2*i)
		write(t, weak, 1, 2*i+1)
	}
	write(t, strong, 1, 99)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("1:", 2*i))
	}
	require.Equal(t, strings.Join(append(want, "1:99"), " "), values(t, r, 21))
	require.Zero(t, r.SampleLostStatus().TotalCount)
}

// A best-effort writer never waits: what finds its ring full is lost, and its readers count it.
func TestBestEffortNeverWaits(t *testing.T) {
	d := onBus(t)
	d.bus.capacity = 2
	a := d.node(t)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := a.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	write(t, w, 1, 0)
	d.bus.settle(t)
	hold, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	for i := range int32(4) {
		write(t, w, 1, i)
	}
	l, err := w.Loan(patiently(t), 100)
	require.NoError(t, err)
	require.Len(t, l.Bytes(), 100)
	require.NoError(t, l.Publish(50))
	require.NoError(t, hold.Discard())
	d.bus.settle(t)
	write(t, w, 1, 9)
	require.Equal(t, "1:0 1:0 1:9", values(t, r, 3))
	require.Equal(t, uint64(4), w.Dropped())
	require.Equal(t, int32(4), r.SampleLostStatus().TotalCount)
}

func TestDamagedSampleIsLost(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	d.bus.settle(t)
	batch := batchFrom(t, w.writer, 3)
	for i := range batch {
		batch[i].WriterSeq = uint64(i + 1)
	}
	batch[1].Payload = batch[1].Payload[:5]
	n.p.hub.Deliver(w.at.sg, batch)
	require.Equal(t, "0:0 2:0", values(t, r, 2))
	require.Equal(t, int32(1), r.SampleLostStatus().TotalCount)
}

func TestUnsupportedPoliciesAreRefused(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp := n.topic(t)
	for name, change := range map[string]func(*qos.DataWriter){
		"DURABILITY TRANSIENT_LOCAL": func(q *qos.DataWriter) {
			q.Durability.Kind, q.Reliability.Kind = qos.DurabilityTransientLocal, qos.ReliabilityBestEffort
		},
		"DURABILITY_SERVICE service_cleanup_delay 1s with OWNERSHIP EXCLUSIVE and DURABILITY TRANSIENT: whose disposal counts is known to readers only, " +
			"not to the history for late ones; set service_cleanup_delay to 0, or OWNERSHIP to SHARED": func(q *qos.DataWriter) {
			q.Durability.Kind, q.DurabilityService.ServiceCleanupDelay = qos.DurabilityTransient, time.Second
			q.Ownership.Kind = qos.OwnershipExclusive
		},
	} {
		_, err := NewDataWriter(n.pub, tp, WithWriterQos(writerQos(change)))
		require.ErrorIs(t, err, ErrUnsupported, name)
		require.ErrorContains(t, err, name)
	}
	_, err := NewDataWriter(n.pub, tp, WithWriterQos(writerQos(func(q *qos.DataWriter) {
		q.History.Depth, q.ResourceLimits.MaxSamplesPerInstance = 8, 4
	})))
	require.ErrorIs(t, err, ErrInconsistentPolicy)
	require.ErrorContains(t, err, "8")
	require.ErrorContains(t, err, "4")
}

func TestBoundedMember(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp, err := NewTopic[note](n.p, "Note")
	require.NoError(t, err)
	w, err := NewDataWriter(n.pub, tp)
	require.NoError(t, err)
	err = w.Write(patiently(t), &note{Text: "longer than 8"})
	require.ErrorIs(t, err, ErrBadParameter)
	require.ErrorContains(t, err, "text")
	require.ErrorContains(t, err, "8")
	require.ErrorIs(t, w.Write(patiently(t), nil), ErrBadParameter)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = w.Write(ctx, &note{Text: "short"})
	require.ErrorIs(t, err, ErrTimeout)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, w.Write(patiently(t), &note{Text: "short"}))
}

// Clauses: 2.2.2.2.1.2, 2.2.2.2.1.4, 2.2.2.2.1.18, 2.2.2.4.1.14, 2.2.2.5.2.14
func TestClosedEntities(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	tp := n.topic(t)
	require.NoError(t, n.p.Close())
	require.NoError(t, n.p.Close())
	_, err := r.Read()
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	require.ErrorIs(t, w.Write(patiently(t), &track{}), ErrAlreadyDeleted)
	require.ErrorIs(t, w.WaitForMatch(patiently(t), 9), ErrAlreadyDeleted)
	_, err = w.Loan(patiently(t), 100)
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	_, err = n.p.NewPublisher()
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	_, err = NewDataWriter(n.pub, tp)
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	for _, err := range r.Stream(patiently(t)) {
		require.ErrorIs(t, err, ErrAlreadyDeleted)
	}
	require.Equal(t, ErrAlreadyDeleted, ReturnCodeOf(err))
}

// When the domain fails, everything that waits ends, and says why.
func TestDomainFails(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, err := range r.Stream(patiently(t)) {
			require.ErrorIs(t, err, derecho.ErrPeerLost)
		}
	})
	wg.Go(func() { require.ErrorIs(t, w.WaitForMatch(patiently(t), 9), derecho.ErrPeerLost) })
	n.p.hub.Failed(derecho.ErrPeerLost)
	wg.Wait()
	<-n.p.Done()
	require.ErrorIs(t, n.p.Err(), derecho.ErrPeerLost)
	require.ErrorIs(t, w.Write(patiently(t), &track{}), derecho.ErrPeerLost)
	_, err := n.p.NewSubscriber()
	require.ErrorIs(t, err, derecho.ErrPeerLost)
}

func TestLogFailure(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent }))
	n.p.hub.LogFailed(w.at.sg, 99, derecho.ErrLog)
	require.ErrorIs(t, n.p.Err(), derecho.ErrLog)
	require.ErrorContains(t, n.p.Err(), "node 0000000000000063")
	write(t, w, 1, 1)
	n.p.hub.LogFailed(w.at.sg, n.p.core.ID(), derecho.ErrLog)
	err := w.Write(patiently(t), &track{})
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorIs(t, err, derecho.ErrLog)
	n.p.hub.LogFailed(w.at.sg, n.p.core.ID(), nil)
	require.ErrorIs(t, w.Write(patiently(t), &track{}), derecho.ErrLog, "nothing of it was left out, and it has failed all the same")
}

// A process joins again, and what needs its log is left out. It is told, and so is who waits; another writer of the
// process works. It is over when the endpoints are announced.
func TestRefusedLog(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithSettings(Settings{Dir: t.TempDir()}))
	persistent, wants := persistentQos(), readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	w, r, other := n.writer(t, persistent), n.reader(t, wants), n.writer(t, writerQos())
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	for _, c := range []struct {
		err  error
		says string
	}{
		{derecho.ErrCopied, "the directory of this process is " + n.p.logDir(w.at.sg)},
		{derecho.ErrHistory, "decide which of the two is to go on; this log is " + n.p.logDir(w.at.sg)},
		{storage.ErrLocked, "see to the log, " + n.p.logDir(w.at.sg)},
	} {
		d.bus.exclude(n)
		d.bus.settle(t)
		waits := make(chan error)
		go func() { waits <- r.WaitForHistoricalData(patiently(t)) }()
		refused := &derecho.LogError{Member: derecho.MemberInfo{Name: "display", PID: 4, Host: "cockpit"}, Err: c.err, Refused: true}
		n.p.hub.LogFailed(w.at.sg, n.p.core.ID(), refused)
		n.p.hub.Isolated(nil)
		for what, err := range map[string]error{
			"history": <-waits, "match": r.WaitForMatch(patiently(t), 1), "writer's match": w.WaitForMatch(patiently(t), 1),
			"write": w.Write(patiently(t), &track{}), "acks": w.WaitForAcknowledgments(patiently(t)), "err": n.p.Err(),
		} {
			require.ErrorIs(t, err, ErrPreconditionNotMet, what)
			require.ErrorIs(t, err, c.err, what)
			require.ErrorContains(t, err, c.says, what)
		}
		require.ErrorContains(t, n.p.Err(), `reader of topic "Track", writer of topic "Track" are away`)
		require.NotErrorIs(t, other.Write(patiently(t), &track{}), c.err)

		d.bus.rejoin(n)
		d.bus.settle(t)
		require.NoError(t, w.WaitForMatch(patiently(t), 1))
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		require.NoError(t, n.p.Err())
		write(t, w, 1, 1)
		require.Equal(t, "1:1", values(t, r, 1))
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)), "else it is in doubt after the next exclusion")
	}
}

func TestMalformedAnnouncementIsReported(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	n.p.hub.EndpointAdded(derecho.Endpoint{Node: 9, ID: 1, Info: []byte("nonsense")})
	require.ErrorIs(t, n.p.Err(), errAnnouncement)
	n.p.hub.EndpointRemoved(derecho.Endpoint{Node: 9, ID: 1})
	require.NoError(t, n.p.Err(), "it is over")
}

func cached(r *reader) int {
	r.lock()
	defer r.unlock()
	return r.cache.samples
}
