package dcps

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// taken gives what a reader has, in the order in which it would give it, without its states.
func taken(t *testing.T, r *DataReader[track]) string {
	t.Helper()
	synctest.Wait()
	var out []string
	for _, line := range strings.Split(takeText(t, r), "\n") {
		out = append(out, line[strings.LastIndexByte(line, ' ')+1:])
	}
	return strings.Join(out, " ")
}

func bySource(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }

// The source timestamps of a writer that orders by them must not go back.
func TestDDS14_2_2_3_17_SourceTimestampsAscend(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos(bySource))
		now := time.Now()
		require.NoError(t, w.Write(patiently(t), &track{ID: 1}, At(now.Add(time.Hour))))
		err := w.Write(patiently(t), &track{ID: 1}, At(now.Add(time.Minute)))
		require.ErrorIs(t, err, ErrBadParameter)
		require.ErrorIs(t, w.Dispose(patiently(t), &track{ID: 1}, At(now)), ErrBadParameter)
		require.NoError(t, w.Write(patiently(t), &track{ID: 1}), "without one it gets the latest")
		r := n.writer(t, writerQos())
		require.NoError(t, r.Write(patiently(t), &track{ID: 2}, At(now.Add(time.Hour))))
		require.NoError(t, r.Write(patiently(t), &track{ID: 2}, At(now)), "by reception the order does not matter")
		l, err := w.Loan(patiently(t), 100, At(now.Add(2*time.Hour)))
		require.NoError(t, err)
		require.NoError(t, l.At(now.Add(3*time.Hour)))
		require.ErrorIs(t, l.Publish(8), ErrBadParameter)
		require.NoError(t, l.Discard())
	})
}
