package dcps

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// A process that is started on a copy of the directory of another one that lives is told of both. Nothing is written to
// the copy, and when the original has gone it may go on with it.
func TestCoreCopiedLogIsRefused(t *testing.T) {
	d := onCore(t, Settings{})
	original, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	start := func(name, dir string) *node {
		return d.nodeAt(t, dir, WithName(name))
	}
	persistent := writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, blocking(patience))
	wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })

	a := start("original", original)
	w := a.writer(t, persistent)
	write(t, w, 0, 0)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.NoError(t, os.CopyFS(copied, os.DirFS(original)))
	write(t, w, 1, 1)

	b := start("copy", copied)
	_, err := NewDataReader(b.sub, b.topic(t), WithReaderQos(wants))
	require.ErrorIs(t, err, derecho.ErrCopied)
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	for _, says := range []string{"original (pid ", "copy (pid ", b.topic(t).LogDir(), "stop one of the two"} {
		require.ErrorContains(t, err, says)
	}
	write(t, w, 2, 2)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.NoError(t, a.p.Close())

	r := b.reader(t, wants)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0", values(t, r, 1))
	require.NoError(t, b.p.Close())

	again := start("original", original)
	defer func() { require.NoError(t, again.p.Close()) }()
	back := again.reader(t, wants)
	require.NoError(t, back.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2", values(t, back, 3))
}
