package dcps

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// A reader that keeps a topic in memory only is about to be announced as the log of its subgroup is opened, for the sake of
// another topic: it does not have what the log holds of its own, and must not be announced with that. Others were given
// nothing in the place of it, and so was the log itself.
func TestCoreLogBeginsAsAReaderInMemoryIsAnnounced(t *testing.T) {
	d := onCore(t, Settings{})
	dir := t.TempDir()
	a := d.nodeAt(t, dir)
	a.store(t)
	require.NoError(t, a.p.Close())

	hook := new(beforeCore)
	b := d.nodeAt(t, dir, wrapCore(func(c core) core { hook.core = c; return hook }))
	hook.before = func() {
		sg := derecho.SubgroupID(b.p.hub.placement.Subgroup(topic.Logged, "Track"))
		require.NoError(t, b.p.logs.start(sg, b.p.logDir(sg))) // the first thing that is done for a PERSISTENT topic
	}
	local := b.reader(t, readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }))
	require.Nil(t, hook.before)
	require.NoError(t, local.WaitForHistoricalData(patiently(t)))
	c := d.nodeAt(t, t.TempDir())
	wants := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	require.NoError(t, c.reader(t, wants).WaitForHistoricalData(patiently(t)))
	require.NoError(t, b.p.Close())
	require.NoError(t, c.p.Close())

	again := d.nodeAt(t, dir)
	r := again.reader(t, wants)
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	require.Equal(t, "0:0 1:1 2:2", values(t, r, 3))
	require.NoError(t, again.p.Close())
}

// beforeCore does something before it announces the next endpoint.
type beforeCore struct {
	core
	before func()
}

func (c *beforeCore) AddEndpoint(ctx context.Context, ep derecho.Endpoint) error {
	if f := c.before; f != nil {
		c.before = nil
		f()
	}
	return c.core.AddEndpoint(ctx, ep)
}
