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

// LATENCY_BUDGET: the samples of a writer that grants one wait for each other for half of it, and then are published
// together. They wait for nobody who is in a hurry.
func TestDDS14_2_2_3_8_LatencyBudgetBatches(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos(budget(time.Second)))
		r := n.reader(t, readerQos(patient))
		hasty := n.writer(t, writerQos())
		write(t, w, 1, 1)
		pass(400 * time.Millisecond)
		write(t, w, 1, 2)
		require.Equal(t, "data", taken(t, r))
		pass(99 * time.Millisecond)
		require.Equal(t, "data", taken(t, r))
		pass(2 * time.Millisecond)
		require.Equal(t, "1:1 1:2", taken(t, r), "the budget of the first one counts for all")
		write(t, w, 1, 3)
		write(t, hasty, 1, 4)
		require.Equal(t, "1:3 1:4", taken(t, r), "who has no budget takes along what waits")
		write(t, w, 1, 5)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		require.Equal(t, "1:5", taken(t, r))
		write(t, w, 1, 6)
		require.NoError(t, w.SetQos(writerQos()))
		write(t, w, 1, 7)
		require.Equal(t, "1:6 1:7", taken(t, r), "the budget may change")
	})
}

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

// What a suspended Publisher sends is published when it resumes, by all its writers.
//
// Clauses: 2.2.2.4.1.9
func TestDDS14_2_2_2_4_1_8_SuspendAndResumePublications(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos())
		r := n.reader(t, readerQos())
		require.NoError(t, n.pub.SuspendPublications())
		require.NoError(t, n.pub.SuspendPublications())
		write(t, w, 1, 1)
		require.NoError(t, n.pub.ResumePublications())
		write(t, w, 1, 2)
		pass(time.Hour)
		require.Equal(t, "data", taken(t, r))
		require.NoError(t, n.pub.ResumePublications())
		require.Equal(t, "1:1 1:2", taken(t, r))
		write(t, w, 1, 3)
		require.Equal(t, "1:3", taken(t, r))
		require.ErrorIs(t, n.pub.ResumePublications(), ErrPreconditionNotMet)
		synctest.Wait()
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
