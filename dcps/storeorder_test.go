package dcps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// timesIn are the source timestamps of what a store has.
func timesIn(s *store) string {
	var all []string
	for _, r := range s.history() {
		all = append(all, fmt.Sprint(r.message.Timestamp))
	}
	return strings.Join(all, " ")
}

// Where DESTINATION_ORDER goes by source timestamps, what writers have left that have ended gives way by these, too, also in
// a history that is full: what readers have been shown last is kept.
func TestHistoryBySourceTimestamp(t *testing.T) {
	for _, limit := range []int32{qos.LengthUnlimited, 2} {
		var writers []*endpoint
		for node := range derecho.NodeID(3) {
			writers = append(writers, aWriter(node+1, func(q *qos.DataWriter) {
				q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp
				q.DurabilityService.MaxSamples = limit
			}))
		}
		s, m, h := newStore(), sending{}, instanceHandle(1)
		s.add(writers[0], m.message(kindData, 0, 10), h)
		s.add(writers[1], m.message(kindData, 0, 7), h)
		require.Equal(t, "10 7", timesIn(s))
		s.end(writers[0].key)
		require.Equal(t, "10 7", timesIn(s), "who lives keeps its own")
		s.add(writers[2], m.message(kindData, 0, 8), h)
		if limit == 2 {
			require.Equal(t, "10 7", timesIn(s), "it takes no place of a later one")
		} else {
			require.Equal(t, "10 7 8", timesIn(s))
		}
		s.endAll()
		require.Equal(t, "10", timesIn(s))
		s.add(aWriter(4, func(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }), m.message(kindData, 0, 12), h)
		require.Equal(t, "12", timesIn(s))
	}
}

// A disposal that is sent again after an exclusion comes for the second time, or late: what was written since stays.
func TestDisposalThatIsSentAgain(t *testing.T) {
	for _, kind := range []derecho.Kind{kindDispose, kindUnregister} {
		s, m, h := newStore(), sending{}, instanceHandle(1)
		a, b := aWriter(1, keepAll), aWriter(2, keepAll)
		s.add(a, m.message(kindData, 0, 1), h)
		s.add(b, m.message(kindData, 0, 2), h)
		s.add(b, m.message(kindData, 0, 4), h)
		s.add(a, m.message(kind, flagAgain|flagDispose, 3), h)
		require.Equal(t, "4", timesIn(s))
		require.Equal(t, 1, s.count)
		s.add(a, m.message(kind, flagAgain|flagDispose, 5), h)
		require.Empty(t, timesIn(s))
		require.Zero(t, s.count)
		require.Empty(t, s.instances)
	}
}

// So it is at a reader, and there the instance is alive.
func TestDisposalThatIsSentAgainToReaders(t *testing.T) {
	d := onBus(t)
	a, b, c := d.node(t), d.node(t), d.node(t)
	keeps := durably(qos.DurabilityTransientLocal)
	first, second := a.writer(t, keeps), b.writer(t, keeps)
	r, own := c.reader(t, durableReader(qos.DurabilityTransientLocal)), a.reader(t, durableReader(qos.DurabilityTransientLocal))
	write(t, first, 1, 1)
	d.bus.settle(t)
	d.bus.mu.Lock()
	d.bus.lose = func(m *derecho.Message, to *busNode) bool { return m.Kind == kindDispose && to == d.bus.of(a) } // it is excluded before it has it
	d.bus.mu.Unlock()
	require.NoError(t, first.Dispose(patiently(t), &track{ID: 1}))
	d.bus.exclude(a)
	write(t, second, 1, 2)
	d.bus.mu.Lock()
	d.bus.lose = nil
	d.bus.mu.Unlock()
	d.bus.rejoin(a)
	require.NoError(t, a.p.WaitForDomain(patiently(t)))
	write(t, first, 2, 3) // behind what is sent again
	d.bus.settle(t)
	for _, r := range []*DataReader[track]{r, own, c.reader(t, durableReader(qos.DurabilityTransientLocal))} {
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		require.Regexp(t, `NEW ALIVE d=\d n=\d\] 1:2`, takeText(t, r))
	}
}
