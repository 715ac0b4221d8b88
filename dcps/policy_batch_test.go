package dcps

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func budget(d time.Duration) func(*qos.DataWriter) {
	return func(q *qos.DataWriter) { q.LatencyBudget.Duration = d }
}

// patient is a reader that accepts any LATENCY_BUDGET.
func patient(q *qos.DataReader) { q.LatencyBudget.Duration = qos.Infinite }

// However much a writer sends within its budget, it does not fill the ring with what waits.
func TestDDS14_2_2_3_8_BatchesAreBounded(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		d.bus.capacity = 2 * batchMessages
		n := d.node(t)
		w := n.writer(t, writerQos(budget(qos.Infinite)))
		r := n.reader(t, readerQos(patient))
		for i := range int32(batchMessages + 10) {
			write(t, w, 1, i)
		}
		require.Equal(t, batchMessages, countTaken(t, r))
		require.NoError(t, w.Close())
		require.Equal(t, 10, countTaken(t, r), "closing sends the rest; the disposal is told of by the samples")
	})
}

// A write that is under way when its writer is closed does not stay behind in the batch.
func TestClosedWhileSuspended(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
		require.NoError(t, n.pub.SuspendPublications())
		closed := make(chan error)
		d.bus.during(&d.bus.reserved, func() {
			go func() { closed <- w.Close() }()
			synctest.Wait() // it waits for its turn
		})
		write(t, w, 1, 1)
		require.NoError(t, <-closed)
		require.Equal(t, "1:1", taken(t, r))
	})
}

// Who is in a hurry does not wait for a message that has an earlier place in the ring, and comes to the batch later.
func TestHurryBehindAnEarlierPlace(t *testing.T) {
	for name, c := range map[string]struct {
		writer func(*qos.DataWriter)
		before func(*node) error
	}{
		"budget":    {budget(qos.Infinite), func(*node) error { return nil }},
		"suspended": {budget(0), func(n *node) error { return n.pub.SuspendPublications() }},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				n := d.node(t)
				other, err := n.p.NewPublisher()
				require.NoError(t, err)
				w, r := n.writer(t, writerQos(c.writer)), n.reader(t, readerQos(patient))
				hasty, err := NewDataWriter(other, n.topic(t), WithWriterQos(writerQos()))
				require.NoError(t, err)
				require.NoError(t, c.before(n))
				d.bus.during(&d.bus.reserved, func() { write(t, hasty, 2, 2) })
				write(t, w, 1, 1)
				require.Equal(t, "1:1 2:2", taken(t, r))
				write(t, w, 1, 3)
				require.Equal(t, "data", taken(t, r), "the next one waits")
			})
		})
	}
}
