package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// A TRANSIENT_LOCAL writer writes while the history of its topic is on its way to its process, which is excluded before it comes: what was acknowledged is sent again, whether
// the state would have had it or not.
func TestRejoinSendsWhatCameBeforeTheHistory(t *testing.T) {
	const late = 100 // above the epochs of the bus
	for name, begins := range map[string][]uint32{
		"no state":                      {0, 0},
		"the state":                     {1, 0},
		"another, as its source failed": {1, late},
		"a state that has it all":       {late, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := onBus(t)
			a, b := d.node(t), d.node(t)
			w := a.writer(t, writerQos(func(q *qos.DataWriter) {
				q.Durability.Kind, q.History = qos.DurabilityTransientLocal, qos.History{Kind: qos.HistoryKeepLast, Depth: 10}
			}))
			wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal })
			r := b.reader(t, wants)
			require.NoError(t, w.WaitForMatch(patiently(t), 1))
			d.bus.settle(t)
			for i, from := range begins {
				if from != 0 {
					at := w.untyped().at
					d.bus.mu.Lock()
					n := d.bus.of(a)
					n.do(func() { n.h.AwaitState(at.sg, at.ch, from, true) }) // and ReadState does not come
					d.bus.mu.Unlock()
				}
				write(t, w, 1, int32(i+1))
				d.bus.settle(t)
			}
			require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
			require.Equal(t, "1:1 1:2", values(t, r, 2))
			d.bus.exclude(a)
			d.bus.rejoin(a)
			require.NoError(t, a.p.WaitForDomain(patiently(t)))
			write(t, w, 1, 3)
			require.Equal(t, "1:1 1:2 1:3", values(t, b.reader(t, wants), 3))
		})
	}
}
