package dcps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// A process keeps a stored topic in memory, for a TRANSIENT_LOCAL reader, and then gets a PERSISTENT one: its log,
// which begins then, has what came before, too. When all have gone, and its directory is the only one that is left of
// the two, nothing is missing.
func TestCoreLogThatBeginsLateHasWhatCameBefore(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	start := func(name, dir string) *node {
		return d.nodeAt(t, dir, WithName(name))
	}
	a, b := start("a", t.TempDir()), start("b", dir)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, blocking(patience)))
	local := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	var want []string
	put := func(from, to int32) {
		for i := from; i < to; i++ {
			write(t, w, i, i)
			want = append(want, fmt.Sprintf("%d:%d", i, i))
		}
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	}
	put(0, 10)
	require.Equal(t, strings.Join(want, " "), values(t, local, 10))
	wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	stored := b.reader(t, wants)
	require.NoError(t, stored.WaitForHistoricalData(patiently(t)))
	require.Equal(t, strings.Join(want, " "), values(t, stored, 10))
	put(10, 20)
	require.NoError(t, a.p.Close()) // b's log belongs to an epoch without it
	require.NoError(t, b.p.Close())

	again := start("b", dir)
	r := again.reader(t, wants)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, strings.Join(want, " "), values(t, r, 20))
	require.NoError(t, again.p.Close())
}

// A process that stores nothing waits with a TRANSIENT_LOCAL reader when the one with the log comes back: what the log
// holds is not given up for the nothing that the other has.
func TestCoreLogComesBackToReadersWithoutLogs(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	start := func(name, dir string) *node {
		return d.nodeAt(t, dir, WithName(name))
	}
	persistent := writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, blocking(patience))
	a := start("a", dir)
	w := a.writer(t, persistent)
	for i := range int32(10) {
		write(t, w, i, i)
	}
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	require.NoError(t, a.p.Close())

	b := start("b", "")
	local := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	again := start("a", dir)
	r := again.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9", values(t, r, 10))
	require.Equal(t, "0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9", values(t, local, 10))
	require.NoError(t, again.p.Close())
	require.NoError(t, b.p.Close())
}

// b keeps the topic in memory, and has an older run's log of it. Between the reading of its disk for a PERSISTENT
// reader and the announcement of that a reader elsewhere gets the state of b: what was read from the disk is still
// there.
func TestCoreStateThatIsGivenWhileALogBegins(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	start := func(name, dir string) *node {
		return d.nodeAt(t, dir, WithName(name))
	}
	a := start("a", dir)
	a.store(t)
	require.NoError(t, a.p.Close())

	b, c := start("b", dir), start("c", "")
	local := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal })
	mine := b.reader(t, local)
	require.NoError(t, mine.WaitForHistoricalData(patiently(t)))
	require.NoError(t, b.p.logs.begin("op", "reader", mine.topic)) // the first thing that the creation of a PERSISTENT reader does
	other := c.reader(t, local)                                    // and this comes between
	require.NoError(t, other.WaitForHistoricalData(patiently(t)))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2", values(t, r, 3))
}

// store makes a PERSISTENT writer whose samples outlive it, and stores one each of three instances: 0:0 1:1 2:2.
func (n *node) store(t *testing.T) *DataWriter[track] {
	t.Helper()
	w := n.writer(t, writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}, blocking(patience)))
	for i := range int32(3) {
		write(t, w, i, i)
	}
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	return w
}
