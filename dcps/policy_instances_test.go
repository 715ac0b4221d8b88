package dcps

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func exclusively(strength int32, more ...func(*qos.DataWriter)) qos.DataWriter {
	q := writerQos(more...)
	q.Ownership.Kind, q.OwnershipStrength.Value = qos.OwnershipExclusive, strength
	return q
}

func exclusiveReader(q *qos.DataReader) { q.Ownership.Kind = qos.OwnershipExclusive }

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

// OWNERSHIP is per instance: each goes to the strongest that writes it, and on to the next when that unregisters it, is not
// alive, or is deleted; of equals the same one at every reader.
func TestDDS14_2_2_3_9_ExclusiveOwnershipFailsOver(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		strong := a.writer(t, exclusively(2, leaseOffer(qos.LivelinessManualByTopic, time.Second)))
		weak := a.writer(t, exclusively(1))
		equal := a.writer(t, exclusively(1))
		r, other := b.reader(t, readerQos(exclusiveReader)), a.reader(t, readerQos(exclusiveReader))
		write(t, weak, 2, 10) // instance 2 is written by the weak one only
		write(t, strong, 1, 20)
		write(t, weak, 1, 11)
		require.Equal(t, "2:10 1:20", taken(t, r), "the stronger one owns instance 1, nobody else writes 2")

		require.NoError(t, strong.Unregister(patiently(t), &track{ID: 1}))
		write(t, weak, 1, 12)
		write(t, equal, 1, 13)
		got := taken(t, r)
		require.Contains(t, got, "1:12", "a writer that unregistered is not the owner")
		if handle, o := weak.Handle(), equal.Handle(); string(handle[:]) < string(o[:]) {
			require.NotContains(t, got, "1:13", "of equals the smaller handle wins")
		}

		write(t, strong, 1, 21)
		write(t, weak, 1, 14)
		require.Equal(t, "1:21", taken(t, r))
		pass(time.Second) // its lease is over
		write(t, weak, 1, 15)
		require.Contains(t, taken(t, r), "1:15")
		write(t, strong, 1, 22)
		write(t, weak, 1, 16)
		require.Equal(t, "1:22", taken(t, r), "it lives, and takes the instance back")
		require.NoError(t, strong.Close())
		write(t, weak, 1, 17)
		require.Contains(t, taken(t, r), "1:17")
		require.NotContains(t, taken(t, other), "1:16", "all readers agree")
	})
}

// TIME_BASED_FILTER: of each instance at most one sample in minimum_separation. To a RELIABLE reader the last one is given
// when its time has come; a best-effort one does without.
func TestDDS14_2_2_3_12_TimeBasedFilter(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		filtered := func(q *qos.DataReader) { q.TimeBasedFilter.MinimumSeparation = time.Second }
		w := n.writer(t, writerQos())
		reliable := n.reader(t, readerQos(filtered))
		best := n.reader(t, readerQos(filtered, func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
		for i := range int32(4) { // 0, 0.3, 0.6, 0.9 s
			write(t, w, 1, i)
			pass(300 * time.Millisecond)
		}
		write(t, w, 2, 0)
		require.Equal(t, "1:0 1:3 2:0", taken(t, reliable), "the last one came in after a second; instance 2 has its own time")
		require.Equal(t, "1:0 2:0", taken(t, best))
		pass(time.Hour)
		require.Equal(t, "data", taken(t, reliable), "no data: nothing was held back for 2")
		write(t, w, 1, 4)
		write(t, w, 1, 5)
		require.NoError(t, w.Unregister(patiently(t), &track{ID: 1}))
		require.Equal(t, "1:4 1:5", taken(t, reliable), "the last value is not lost with its writer")
	})
}

// A sample that TIME_BASED_FILTER holds back obeys RESOURCE_LIMITS when its time has come: it waits for room.
func TestDDS14_2_2_3_12_HeldSampleWaitsForRoom(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos())
		r := n.reader(t, readerQos(func(q *qos.DataReader) {
			q.TimeBasedFilter.MinimumSeparation = time.Second
			q.ResourceLimits.MaxSamples, q.ResourceLimits.MaxSamplesPerInstance = 1, 1
		}))
		write(t, w, 1, 1)
		write(t, w, 1, 2)
		pass(time.Minute)
		require.Equal(t, "1:1", taken(t, r))
		pass(time.Second)
		require.Equal(t, "1:2", taken(t, r))
	})
}

func bySource(q *qos.DataWriter) { q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp }

func bySourceReader(q *qos.DataReader) {
	q.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp
}

// DESTINATION_ORDER BY_SOURCE_TIMESTAMP: whatever came first, the sample with the latest source timestamp is the final value
// of an instance at every reader.
func TestDDS14_2_2_3_17_BySourceTimestamp(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		first, second := n.writer(t, writerQos(bySource)), n.writer(t, writerQos(bySource))
		all := n.reader(t, readerQos(bySourceReader))
		last := n.reader(t, readerQos(bySourceReader, func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
		byReception := n.reader(t, readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
		start := time.Now()
		at := func(w *DataWriter[track], value int32, seconds int) {
			t.Helper()
			require.NoError(t, w.Write(patiently(t), &track{ID: 1, Value: value}, At(start.Add(time.Duration(seconds)*time.Second))))
		}
		at(first, 10, 10)
		at(second, 5, 5)
		at(second, 12, 12)
		at(first, 11, 11)
		require.Equal(t, "1:5 1:10 1:11 1:12", taken(t, all))
		require.Equal(t, "1:12", taken(t, last))
		require.Equal(t, "1:11", taken(t, byReception))
		at(first, 11, 11)
		require.Equal(t, "data", taken(t, all), "what is older than what was taken is dropped")
		require.NoError(t, second.Dispose(patiently(t), &track{ID: 1}, At(start.Add(20*time.Second))))
		at(first, 19, 19)
		require.Equal(t, "-", taken(t, all), "the disposal is later")
		at(first, 21, 21)
		require.NoError(t, second.Dispose(patiently(t), &track{ID: 1}, At(start.Add(20*time.Second))))
		synctest.Wait()
		require.Equal(t, "[NOT_READ NEW ALIVE d=1 n=0] 1:21", takeText(t, all), "the sample is later")
	})
}

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
		l.At(now.Add(3 * time.Hour))
		require.ErrorIs(t, l.Publish(8), ErrBadParameter)
		require.NoError(t, l.Discard())
	})
}

// LIFESPAN counts from the source timestamp: at a reader that has the sample, at one that gets it late, and for what is kept
// for late readers.
func TestDDS14_2_2_3_16_LifespanBySourceTimestamp(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		durable := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }
		w := a.writer(t, writerQos(func(q *qos.DataWriter) {
			q.Lifespan.Duration, q.Durability.Kind = time.Second, qos.DurabilityTransientLocal
			q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
		}))
		r := b.reader(t, readerQos(durable))
		require.NoError(t, w.Write(patiently(t), &track{ID: 1, Value: 1}, At(time.Now().Add(-600*time.Millisecond))))
		require.NoError(t, w.Write(patiently(t), &track{ID: 1, Value: 2}))
		require.NoError(t, w.Write(patiently(t), &track{ID: 1, Value: 3}, At(time.Now().Add(-time.Hour))))
		pass(399 * time.Millisecond)
		require.Equal(t, 2, cached(r.reader), "3 was dead when it came")
		pass(2 * time.Millisecond)
		require.Equal(t, 1, cached(r.reader))
		late := b.reader(t, readerQos(durable))
		require.Equal(t, "1:2", taken(t, late))
		pass(time.Second)
		require.Zero(t, cached(r.reader))
	})
}

// DEADLINE is per instance, for the writer as for the reader, and counted once for each period that passes.
func TestDDS14_2_2_3_7_DeadlinePerInstance(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Second }))
		r := n.reader(t, readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
		write(t, w, 1, 1)
		write(t, w, 2, 2)
		for range 3 {
			pass(800 * time.Millisecond)
			write(t, w, 1, 1)
		}
		pass(100 * time.Millisecond)
		offered, requested := w.OfferedDeadlineMissedStatus(), r.RequestedDeadlineMissedStatus()
		require.Equal(t, int32(2), offered.TotalCount, "instance 2, after one and after two seconds")
		require.Equal(t, int32(2), requested.TotalCount)
		require.Equal(t, instanceOfID(t, r, 2), requested.LastInstanceHandle)
		require.Equal(t, instanceOfID(t, r, 2), offered.LastInstanceHandle)
		require.NoError(t, w.Unregister(patiently(t), &track{ID: 2}))
		pass(500 * time.Millisecond)
		require.Zero(t, w.OfferedDeadlineMissedStatus().TotalCountChange, "who has unregistered an instance owes nothing")
	})
}

// READER_DATA_LIFECYCLE: after the delay all is gone that the reader has of the instance, samples that nobody took included,
// and it is unknown.
func TestDDS14_2_2_3_22_Autopurge(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }))
		r := n.reader(t, readerQos(func(q *qos.DataReader) {
			q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = time.Second
			q.ReaderDataLifecycle.AutopurgeNowriterSamplesDelay = 2 * time.Second
		}))
		for id := range int32(3) {
			write(t, w, id, id)
		}
		require.NoError(t, w.Dispose(patiently(t), &track{ID: 0}))
		require.NoError(t, w.Unregister(patiently(t), &track{ID: 1}))
		known := func() (out []bool) {
			for id := range int32(3) {
				out = append(out, instanceOfID(t, r, id) != HandleNil)
			}
			return out
		}
		pass(999 * time.Millisecond)
		require.Equal(t, []bool{true, true, true}, known())
		pass(2 * time.Millisecond)
		require.Equal(t, []bool{false, true, true}, known(), "disposed, although its writer is still registered")
		pass(time.Second)
		require.Equal(t, []bool{false, false, true}, known())
		write(t, w, 0, 7)
		synctest.Wait()
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 0:7", takeText(t, r, Instance(instanceOfID(t, r, 0))), "it begins anew")
	})
}

// WRITER_DATA_LIFECYCLE: to unregister disposes or does not, as the policy says; so does deleting the writer.
func TestDDS14_2_2_3_21_Autodispose(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		n := d.node(t)
		r := n.reader(t, readerQos())
		for _, c := range []struct {
			dispose bool
			state   InstanceState
		}{{true, InstanceNotAliveDisposed}, {false, InstanceNotAliveNoWriters}} {
			w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = c.dispose }))
			write(t, w, 1, 1)
			require.NoError(t, w.Unregister(patiently(t), &track{ID: 1}))
			write(t, w, 2, 2)
			require.NoError(t, w.Close())
			synctest.Wait()
			s, err := r.Take()
			require.NoError(t, err)
			require.Equal(t, 2, s.Len())
			for _, x := range s.All() {
				require.Equal(t, c.state, x.Info.InstanceState)
			}
			s.Close()
		}
	})
}
