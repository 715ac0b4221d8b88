package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Which writers take the short way: those whose QoS asks for nothing that it leaves out.
func TestWhoGoesDirectly(t *testing.T) {
	d := onCore(t, Settings{Dir: t.TempDir()})
	n := d.node(t)
	for _, c := range []struct {
		name string
		pub  func(*qos.Publisher)
		w    func(*qos.DataWriter)
		want bool
	}{
		{"defaults", nil, nil, true},
		{"KEEP_ALL", nil, func(q *qos.DataWriter) { q.History.Kind = qos.HistoryKeepAll }, true},
		{"best effort", nil, func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }, false},
		{"TRANSIENT_LOCAL", nil, func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }, false},
		{"PERSISTENT", nil, func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent }, false},
		{"by source timestamp", nil, func(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }, false},
		{"coherent", func(q *qos.Publisher) { q.Presentation.CoherentAccess = true }, nil, false},
		{"GROUP order", func(q *qos.Publisher) {
			q.Presentation = qos.Presentation{AccessScope: qos.PresentationGroup, OrderedAccess: true}
		}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pq, wq := qos.DefaultPublisher(), qos.DefaultDataWriter()
			if c.pub != nil {
				c.pub(&pq)
			}
			if c.w != nil {
				c.w(&wq)
			}
			w := n.writerOf(t, pq, wq)
			require.Equal(t, c.want, w.untyped().direct != nil)
			write(t, w, 1, 1)
			require.Equal(t, uint64(1), w.untyped().seq.Load())
			require.NoError(t, w.Close())
		})
	}
}
