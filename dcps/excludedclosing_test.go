package dcps

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// A process is excluded while it closes a writer or a reader, and goes on to keep the topic by another one: it has the
// history when it is back.
func TestExcludedWhileAnEndpointCloses(t *testing.T) {
	keeps := durably(qos.DurabilityTransient, func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false })
	for _, closing := range []string{"writer", "reader"} {
		t.Run(closing, func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			var closes *atomic.Bool
			var id derecho.EndpointID
			if closing == "writer" {
				w := a.writer(t, keeps)
				closes, id = &w.untyped().ended, w.untyped().id
				a.reader(t, durableReader(qos.DurabilityTransient))
				write(t, w, 1, 1)
			} else {
				r := a.reader(t, durableReader(qos.DurabilityTransient))
				closes, id = &r.untyped().ended, r.untyped().id
				a.reader(t, durableReader(qos.DurabilityTransient))
				w := b.writer(t, keeps)
				write(t, w, 1, 1)
				d.bus.settle(t)
				require.NoError(t, w.Close())
			}
			d.bus.settle(t)
			closes.Store(true) // Close has begun, and waits for the group
			d.bus.exclude(a)
			n := d.bus.of(a)
			d.bus.mu.Lock()
			n.endpoints = slices.DeleteFunc(n.endpoints, func(ep derecho.Endpoint) bool { return ep.ID == id })
			d.bus.mu.Unlock()
			d.bus.rejoin(a)
			require.NoError(t, a.p.WaitForDomain(patiently(t)))
			late := b.reader(t, durableReader(qos.DurabilityTransient))
			require.NoError(t, late.WaitForHistoricalData(patiently(t)))
			require.Equal(t, "1:1", values(t, late, 1))
		})
	}
}

// A writer's next incarnation is introduced before the one of before is removed, as what that had sent is not handed over
// everywhere yet: people find it.
func TestNextIncarnationIsFound(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w, r := a.writer(t, writerQos()), b.reader(t, readerQos())
	d.bus.settle(t)
	n := d.bus.of(b)
	d.bus.mu.Lock()
	i := slices.IndexFunc(d.bus.of(a).endpoints, func(ep derecho.Endpoint) bool { return ep.ID == w.untyped().id })
	before := d.bus.of(a).endpoints[i]
	next := before
	next.Node++
	n.do(func() {
		n.h.NodeFailed(before.Node)
		n.h.NodeJoined(next.Node)
		n.h.EndpointAdded(next)
		n.h.EndpointRemoved(before)
		n.h.NodeLeft(before.Node)
	})
	d.bus.mu.Unlock()
	d.bus.settle(t)
	require.Len(t, r.MatchedPublications(), 1)
	_, found := b.p.directory.publicationData(w.Handle())
	require.True(t, found)
}

// What PERSISTENT writers have announced is forgotten when they have gone, be there a log or not.
func TestCoreWritersAreForgotten(t *testing.T) {
	d := onCore(t, Settings{Dir: t.TempDir()})
	a, b := d.nodeAt(t, t.TempDir(), WithName("a")), d.node(t, WithName("b"))
	stays := a.writer(t, persistentQos())
	require.NoError(t, a.p.logs.begin("test", "writer", stays.topic))
	b.reader(t, readerQos())
	require.NoError(t, stays.WaitForMatch(patiently(t), 1))
	for range 5 {
		w := a.writer(t, persistentQos())
		write(t, w, 1, 1)
		require.NoError(t, w.Close())
	}
	write(t, stays, 2, 2)
	write(t, stays, 2, 3)
	require.NoError(t, stays.WaitForAcknowledgments(patiently(t)))
	known := func(n *node) (count int) {
		n.p.logs.announced.Range(func(any, any) bool { count++; return true })
		return count
	}
	require.Equal(t, 1, known(a))
	require.Eventually(t, func() bool { return known(b) == 1 }, patience, time.Millisecond)
}
