package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// A process fails whose writer owns an instance: it is not alive at once, but owns the instance up to its last sample, for all
// readers alike, and whatever a weaker writer has sent before that they do not see.
func TestOwnerOfAFailedProcess(t *testing.T) {
	d := onBus(t)
	owner, weaker, n := d.node(t), d.node(t), d.node(t)
	exclusive := func(strength int32) func(*qos.DataWriter) {
		return func(q *qos.DataWriter) {
			q.Ownership.Kind, q.OwnershipStrength.Value = qos.OwnershipExclusive, strength
		}
	}
	strong, weak := owner.writer(t, writerQos(exclusive(2))), weaker.writer(t, writerQos(exclusive(1)))
	r := n.reader(t, readerQos(func(q *qos.DataReader) { q.Ownership.Kind = qos.OwnershipExclusive }))
	d.bus.settle(t)
	write(t, strong, 1, 1)
	d.bus.settle(t)
	d.bus.mu.Lock()
	d.bus.of(n).do(func() { d.bus.of(n).h.NodeFailed(d.bus.of(owner).id) })
	d.bus.mu.Unlock()
	require.NoError(t, r.await(patiently(t), "test", func() bool { return r.liveliness.AliveCount == 1 }))
	write(t, weak, 1, 2)
	write(t, strong, 1, 3) // was under way
	write(t, weak, 1, 4)
	d.bus.settle(t)
	d.bus.exclude(owner)
	d.bus.settle(t)
	write(t, weak, 1, 5)
	require.Equal(t, "1:1 1:3 1:5", values(t, r, 3))
	require.Equal(t, LivelinessChangedStatus{AliveCount: 1}, steady(r.LivelinessChangedStatus()))
}
