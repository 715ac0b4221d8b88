package dcps

import (
	"context"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Who waits for a match in vain is told what there is.
func TestWaitForMatchSaysWhatIsMissing(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithName("tower"))
	w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	wait := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := w.WaitForMatch(ctx, 2)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return err.Error()
	}
	require.Contains(t, wait(), "0 of 2 readers are matched; none was refused for its QoS or type, so the others are not there, or in another domain or partition")
	n.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
	r := n.reader(t, readerQos())
	d.settle(t)
	require.Contains(t, wait(), "1 of 2 readers are matched; refused were 1, the latest for RELIABILITY: offered BEST_EFFORT, requested RELIABLE; peer tower")
	require.NoError(t, w.WaitForMatch(patiently(t), 1))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, r.WaitForMatch(ctx, 1), "0 of 1 writers are matched; refused were 1, the latest for RELIABILITY")
}
