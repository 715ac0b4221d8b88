package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// A reader is made while another one keeps the topic, and enabled when that has been closed. It has what the log has.
func TestCoreReaderEnabledAfterTheLastWasClosed(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	start := func() *node {
		return d.nodeAt(t, dir)
	}
	a := start()
	w := a.store(t)
	wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	sub, err := a.p.NewSubscriber(WithSubscriberQos(func() qos.Subscriber { q := qos.DefaultSubscriber(); q.EntityFactory = createdDisabled; return q }()))
	require.NoError(t, err)
	r, err := NewDataReader(sub, w.Topic(), WithReaderQos(wants))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, r.Enable())
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2", values(t, r, 3))
	require.NoError(t, a.p.Close())

	b := start()
	again := b.reader(t, wants)
	require.NoError(t, again.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2", values(t, again, 3))
	require.NoError(t, b.p.Close())
}

// A process keeps a topic in memory only, and has the log of it open: it is announced with what that holds, and others
// are to get this from it. They got nothing, and had that in their logs.
func TestCoreReaderInMemoryBesideALog(t *testing.T) {
	d := onCore(t, Settings{})
	start := func() *node {
		return d.nodeAt(t, t.TempDir())
	}
	a := start()
	w := a.store(t)
	require.NoError(t, w.Close())
	local := a.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	require.NoError(t, local.WaitForHistoricalData(patiently(t)))
	b := start()
	other := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }))
	require.NoError(t, other.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2", values(t, local, 3))
	require.Equal(t, "0:0 1:1 2:2", values(t, other, 3))
	require.NoError(t, b.p.Close())
	require.NoError(t, a.p.Close())
}
