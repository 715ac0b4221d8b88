package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// cacheOf makes a cache of which a test calls the moments itself.
func cacheOf(set func(*qos.DataReader)) *cache { return newCache(readerQos(set)) }

func sampleAt(s *source, h InstanceHandle, at int64) *item {
	return &item{kind: itemData, refs: 1, src: s, handle: h, sourceNs: at, receiveNs: at}
}

func disposalAt(s *source, h InstanceHandle, at int64) *item {
	return &item{kind: itemDispose, refs: 1, src: s, handle: h, sourceNs: at, receiveNs: at}
}

func takeFrom(c *cache) []SampleInfo {
	s := everything
	s.take = true
	var out collection
	c.collect(&s, &out)
	return out.infos
}

// The strongest writer owns the instance also if TIME_BASED_FILTER keeps what it writes out (§2.2.3.9.2).
func TestOwnershipWithSeparation(t *testing.T) {
	h := InstanceHandle{1}
	for _, kind := range []qos.ReliabilityKind{qos.ReliabilityBestEffort, qos.ReliabilityReliable} {
		c := cacheOf(func(q *qos.DataReader) {
			q.Reliability.Kind = kind
			q.Ownership.Kind = qos.OwnershipExclusive
			q.TimeBasedFilter.MinimumSeparation = 10
		})
		weak, strong := &source{strength: 1, handle: InstanceHandle{1}}, &source{strength: 2, handle: InstanceHandle{2}}
		c.write(sampleAt(weak, h, 100), 100)
		c.write(sampleAt(strong, h, 105), 105) // too soon
		c.write(sampleAt(weak, h, 107), 107)   // from who owns it no more
		c.tick(111)
		c.write(sampleAt(weak, h, 112), 112)
		c.write(sampleAt(strong, h, 125), 125)
		var from []InstanceHandle
		for _, i := range takeFrom(c) {
			from = append(from, i.PublicationHandle)
		}
		want := []InstanceHandle{weak.handle, strong.handle}
		if kind == qos.ReliabilityReliable {
			want = append(want, strong.handle)
		}
		require.Equal(t, want, from, kind)
	}
}

// A sample that TIME_BASED_FILTER keeps out has come within DEADLINE.
func TestDeadlineWithSeparation(t *testing.T) {
	c := cacheOf(func(q *qos.DataReader) {
		q.Reliability.Kind = qos.ReliabilityBestEffort
		q.TimeBasedFilter.MinimumSeparation = 100
		q.Deadline.Period = 100
	})
	missed := int64(0)
	c.missed = func(_ InstanceHandle, times int64) { missed += times }
	for at := int64(1000); at < 2000; at += 90 {
		c.tick(at)
		c.write(sampleAt(&source{}, InstanceHandle{1}, at), at)
	}
	require.Zero(t, missed)
}

// Of a minimum_separation INFINITE the first sample of an instance passes, and the last once the instance ends.
func TestInfiniteSeparation(t *testing.T) {
	c := cacheOf(func(q *qos.DataReader) { q.TimeBasedFilter.MinimumSeparation = qos.Infinite })
	s, h := &source{}, InstanceHandle{1}
	for at := int64(10); at < 15; at++ {
		c.write(sampleAt(s, h, at), at)
		c.tick(at)
	}
	require.Len(t, takeFrom(c), 1)
	c.dispose(h, disposalAt(s, h, 20), 20)
	require.Len(t, takeFrom(c), 1)
}

// What ends with LIFESPAN does not take along that its instance has ended.
func TestLifespanAndAnEnd(t *testing.T) {
	c := cacheOf(func(*qos.DataReader) {})
	s, h := &source{lifespan: 100}, InstanceHandle{1}
	c.write(sampleAt(s, h, 10), 10)
	require.Len(t, takeFrom(c), 1)
	c.write(sampleAt(s, h, 20), 20)
	c.dispose(h, disposalAt(s, h, 30), 30)
	c.tick(200)
	infos := takeFrom(c)
	require.Len(t, infos, 1)
	require.False(t, infos[0].ValidData)
	require.Equal(t, InstanceNotAliveDisposed, infos[0].InstanceState)

	// Who has seen it is not told again.
	c.write(sampleAt(s, h, 210), 210)
	c.write(sampleAt(s, h, 220), 220)
	c.dispose(h, disposalAt(s, h, 230), 230)
	one := everything
	one.take, one.max = true, 1
	var out collection
	c.collect(&one, &out)
	require.Equal(t, InstanceNotAliveDisposed, out.infos[0].InstanceState)
	c.tick(400)
	require.Empty(t, takeFrom(c))
}

// DESTINATION_ORDER BY_SOURCE_TIMESTAMP: whatever came in whatever order, the end is the same.
func TestSecondDisposalBySource(t *testing.T) {
	h := InstanceHandle{1}
	after := func(disposals ...int64) InstanceState {
		c := cacheOf(func(q *qos.DataReader) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp })
		a, b := &source{handle: InstanceHandle{1}}, &source{handle: InstanceHandle{2}}
		c.write(sampleAt(a, h, 1), 1)
		for _, at := range disposals {
			c.dispose(h, disposalAt(b, h, at), 20)
		}
		c.write(sampleAt(a, h, 7), 21)
		return c.instances[h].state
	}
	require.Equal(t, InstanceNotAliveDisposed, after(10, 5))
	require.Equal(t, InstanceNotAliveDisposed, after(5, 10))
}

func TestSeparationBySource(t *testing.T) {
	a, b, h := &source{handle: InstanceHandle{1}}, &source{handle: InstanceHandle{2}}, InstanceHandle{1}
	make := func() *cache {
		return cacheOf(func(q *qos.DataReader) {
			q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp
			q.TimeBasedFilter.MinimumSeparation = 100
		})
	}
	at := func(s *source, stamp, came int64) *item {
		it := sampleAt(s, h, stamp)
		it.receiveNs = came
		return it
	}
	t.Run("a sample that waits is older than one that was seen meanwhile", func(t *testing.T) {
		c := make()
		c.write(at(a, 10, 1000), 1000)
		c.write(at(b, 8, 1010), 1010) // too soon
		require.Len(t, takeFrom(c), 1)
		c.tick(1100)
		require.Empty(t, takeFrom(c))
	})
	t.Run("a disposal is older than the sample that waits", func(t *testing.T) {
		c := make()
		c.write(at(a, 5, 1000), 1000)
		c.write(at(a, 10, 1001), 1001)
		c.dispose(h, disposalAt(a, h, 8), 1002)
		c.tick(5000)
		require.Equal(t, InstanceAlive, c.instances[h].state)
		require.Len(t, takeFrom(c), 2)
	})
	t.Run("a disposal does not take the last value along", func(t *testing.T) {
		c := make()
		c.write(at(a, 5, 1000), 1000)
		c.write(at(a, 10, 1001), 1001)
		c.dispose(h, disposalAt(a, h, 11), 1002)
		require.Len(t, takeFrom(c), 2)
	})
}
