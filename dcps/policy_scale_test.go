package dcps

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// bytesPerInstance is what an instance costs in a writer and a reader together that have n of them.
func bytesPerInstance(t *testing.T, n int) (bytes float64, took time.Duration) {
	d := onBus(t)
	node := d.node(t)
	w := node.writer(t, writerQos(blocking(patience), func(q *qos.DataWriter) { q.Deadline.Period = time.Hour }))
	r := node.reader(t, readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Hour }))
	d.bus.settle(t)
	before, start := heap(), time.Now()
	ctx := patiently(t)
	for id := range int32(n) {
		if err := w.Write(ctx, &track{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	d.bus.settle(t)
	took = time.Since(start)
	after := heap()
	require.Equal(t, n, cached(r.reader))
	seen := 0
	for h := HandleNil; ; seen++ {
		s, err := r.Take(NextInstance(h))
		if errors.Is(err, ErrNoData) {
			break
		}
		require.NoError(t, err)
		h = s.At(0).Info.InstanceHandle
		s.Close()
	}
	require.Equal(t, n, seen, "one after the other")
	require.NoError(t, node.p.Close())
	return float64(after-before) / float64(n), took
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Twice as many instances need twice the memory. To read them all one after the other, which would take five thousand million
// comparisons if each step looked at all of them, is part of it.
func TestManyInstances(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 instances")
	}
	half, soon := bytesPerInstance(t, 50_000)
	full, late := bytesPerInstance(t, 100_000)
	t.Logf("bytes for an instance in writer and reader, with one sample: %.0f of 50,000, written in %v, %.0f of 100,000 in %v", half, soon, full, late)
	require.Less(t, full, 1.5*half)
}

// A sample that is kept takes an item, whose memory comes in sizes of which 288 bytes are one and 320 the one after the next.
func TestSizeOfAnItem(t *testing.T) {
	require.LessOrEqual(t, reflect.TypeFor[item]().Size(), uintptr(288))
}

// grown is what something cost: bytes that live, objects and bytes that were allocated, and how long it took.
type grown struct {
	bytes, objects, allocated float64
	took                      time.Duration
}

func grows(do func()) grown {
	var before, after runtime.MemStats
	live, start := heap(), time.Now()
	runtime.ReadMemStats(&before)
	do()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return grown{float64(heap() - live), float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc), took}
}

// topicsCost is what n topics cost, each with a writer and a reader, in a domain of the real core; what it costs a second
// participant to join a domain that has them, and to use each; and what it costs to close all of them, one after the other.
func topicsCost(t testing.TB, n int) (first, second, closed grown) {
	d := onCore(t, Settings{})
	a := d.node(t)
	var readers []*DataReader[track]
	use := func(at *node) {
		for i := range n {
			tp, err := NewTopic[track](at.p, fmt.Sprintf("Topic%d", i))
			require.NoError(t, err)
			_, err = NewDataWriter(at.pub, tp, WithWriterQos(writerQos(blocking(patience))))
			require.NoError(t, err)
			r, err := NewDataReader(at.sub, tp, WithReaderQos(readerQos()))
			require.NoError(t, err)
			readers = append(readers, r)
		}
	}
	first = grows(func() { use(a) })
	second = grows(func() { use(d.node(t)) })
	for _, r := range readers {
		require.NoError(t, r.WaitForMatch(patiently(t), 2))
	}
	closed = grows(func() {
		for _, node := range d.nodes {
			require.NoError(t, node.p.Close())
		}
	})
	return first, second, closed
}

// Four times as many topics need four times the memory, and four times the objects and bytes on the way: nothing that
// is done for a topic is done for all others, too.
func TestManyTopics(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("2,000 topics, and what the race detector allocates")
	}
	few, fewMore, fewLess := topicsCost(t, 500)
	many, manyMore, manyLess := topicsCost(t, 2000)
	for _, c := range []struct {
		what      string
		few, many grown
	}{{"first participant", few, many}, {"second participant", fewMore, manyMore}, {"both closed", fewLess, manyLess}} {
		t.Logf("%s: %.1f KB for a topic of 500 and %.1f of 2,000; %.0f and %.0f objects of %.1f and %.1f KB on the way; in %v and %v", c.what,
			c.few.bytes/500e3, c.many.bytes/2000e3, c.few.objects/500, c.many.objects/2000, c.few.allocated/500e3, c.many.allocated/2000e3, c.few.took, c.many.took)
		require.Less(t, c.many.bytes, 6*max(c.few.bytes, 0), c.what)
		require.Less(t, c.many.objects, 4.4*c.few.objects, c.what)
		require.Less(t, c.many.allocated, 4.4*c.few.allocated, c.what)
	}
}

// BenchmarkTopics tells what a topic costs where there are many, with a writer and a reader at each of two
// participants: made, matched and closed. The time is that of the processor, of the process as a whole.
func BenchmarkTopics(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var made, allocated float64
			start := processorTime(b)
			for range b.N {
				first, second, closed := topicsCost(b, n)
				made += first.objects + second.objects + closed.objects
				allocated += first.allocated + second.allocated + closed.allocated
			}
			topics := float64(n * b.N)
			b.ReportMetric(float64((processorTime(b)-start).Microseconds())/topics, "µs-of-processor/topic")
			b.ReportMetric(made/topics, "objects/topic")
			b.ReportMetric(allocated/topics/1e3, "KB/topic")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// counted is an element of a dueQueue that counts how often it was moved.
type counted struct {
	at    int32
	moves *int
}

func (c *counted) place() *int32 { *c.moves++; return &c.at }

// With n elements an alarm costs in the order of log n steps, and with all of them set anew once, n log n.
func TestDueQueueSteps(t *testing.T) {
	const n = 100_000
	moves := 0
	var q dueQueue[*counted]
	for i := range n {
		q.by(&counted{moves: &moves}, int64(i*7919%n)+1)
	}
	last := int64(0)
	for range n {
		at := q.next()
		require.GreaterOrEqual(t, at, last)
		last = at
		e, ok := q.take(at)
		require.True(t, ok)
		q.by(e, at+n)
	}
	t.Logf("%d elements set and set again: %d steps", n, moves)
	require.Less(t, moves, 60*n)
}

// A KEEP_LAST reader that stops taking slows nobody: not its writers, not other readers.
//
// Clauses: 2.2.3.18
func TestDDS14_2_2_3_14_StoppedKeepLastReaderSlowsNobody(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(blocking(time.Second)))
		stopped := b.reader(t, readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
		taking := b.reader(t, readerQos())
		start := time.Now()
		for i := range int32(1000) {
			write(t, w, 1, i)
			if i%50 == 49 {
				require.Equal(t, 50, countTaken(t, taking))
			}
		}
		require.Zero(t, time.Since(start), "nobody waited") // virtual time: it passes only while all wait
		require.Equal(t, "1:999", taken(t, stopped))
	})
}

func countTaken(t *testing.T, r *DataReader[track]) int {
	synctest.Wait()
	s, err := r.Take()
	require.NoError(t, err)
	defer s.Close()
	return s.Len()
}

// A KEEP_ALL reader that is full makes exactly the writers of its topic wait, and no longer than max_blocking_time.
//
// Clauses: 2.2.3.19
func TestDDS14_2_2_3_14_FullKeepAllReaderBlocksItsWritersOnly(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(blocking(2*time.Second)))
		full := b.reader(t, readerQos(func(q *qos.DataReader) { q.ResourceLimits.MaxSamples = 10 }))
		other, err := NewTopic[track](a.p, "Other")
		require.NoError(t, err)
		free, err := NewDataWriter(a.pub, other, WithWriterQos(writerQos(blocking(2*time.Second))))
		require.NoError(t, err)
		there, err := NewTopic[track](b.p, "Other")
		require.NoError(t, err)
		freeReader, err := NewDataReader(b.sub, there, WithReaderQos(readerQos()))
		require.NoError(t, err)
		var blocked error
		start := time.Now()
		for i := range int32(100) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			blocked = w.Write(ctx, &track{ID: i})
			cancel()
			synctest.Wait()
			if blocked != nil {
				break
			}
		}
		require.ErrorIs(t, blocked, ErrTimeout)
		require.ErrorIs(t, blocked, derecho.ErrTimeout)
		require.Equal(t, 2*time.Second, time.Since(start), "virtual time")
		for i := range int32(100) {
			write(t, free, 1, i)
			require.Equal(t, 1, countTaken(t, freeReader))
		}
		require.Equal(t, 2*time.Second, time.Since(start), "another topic does not wait")
		require.Equal(t, 10, countTaken(t, full))
		write(t, w, 1, 1)
		require.Equal(t, 2*time.Second, time.Since(start), "there is room again")
	})
}

// RESOURCE_LIMITS of a VOLATILE writer with KEEP_ALL bound the samples that are not acknowledged: it waits for that, up to
// max_blocking_time. What waiting does not help fails at once.
//
// Clauses: 2.2.3.14
func TestDDS14_2_2_3_19_WriterWaitsForAcknowledgements(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(blocking(time.Second), func(q *qos.DataWriter) {
			q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
			q.ResourceLimits = qos.ResourceLimits{MaxSamples: 4, MaxInstances: 3, MaxSamplesPerInstance: 2}
		}))
		r := b.reader(t, readerQos())
		gate := make(chan struct{})
		d.bus.mu.Lock()
		d.bus.of(b).do(func() { <-gate }) // its process stands still
		d.bus.mu.Unlock()
		write(t, w, 1, 1)
		write(t, w, 1, 2)
		start := time.Now()
		err := w.Write(patiently(t), &track{ID: 1, Value: 3})
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "max_samples_per_instance is 2")
		require.Equal(t, time.Second, time.Since(start), "virtual time")
		write(t, w, 2, 1)
		write(t, w, 2, 2)
		err = w.Write(patiently(t), &track{ID: 3, Value: 1})
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "max_samples is 4")
		close(gate)
		synctest.Wait()
		for i := range int32(5) {
			write(t, w, 3, i)
		}
		require.Equal(t, 9, countTaken(t, r))
		err = w.Write(patiently(t), &track{ID: 4})
		require.ErrorIs(t, err, ErrOutOfResources)
		require.ErrorContains(t, err, "max_instances is 3")
	})
}

// A loan that RESOURCE_LIMITS have no room for waits like a sample that is written, and does not hold up what it waits for.
//
// Clauses: 2.2.3.19
func TestDDS14_2_2_3_19_LoanWaitsForAcknowledgements(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		a, b := d.node(t), d.node(t)
		w := a.writer(t, writerQos(blocking(time.Second), func(q *qos.DataWriter) {
			q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
			q.ResourceLimits.MaxSamples = 1
		}))
		r := b.reader(t, readerQos())
		publish := func(value int32) error {
			l, err := w.Loan(patiently(t), 100)
			require.NoError(t, err)
			n, err := cdr.MarshalTo(l.Bytes(), &track{ID: 1, Value: value}, cdr.CDR2LE)
			require.NoError(t, err)
			return l.Publish(n)
		}
		gate := make(chan struct{})
		d.bus.mu.Lock()
		d.bus.of(b).do(func() { <-gate }) // its process stands still
		d.bus.mu.Unlock()
		require.NoError(t, publish(1))
		start := time.Now()
		err := publish(2)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "max_samples is 1")
		require.Equal(t, time.Second, time.Since(start), "virtual time")
		published := make(chan error, 1)
		go func() { published <- publish(3) }()
		synctest.Wait()
		require.Empty(t, published)
		close(gate)
		require.NoError(t, <-published)
		require.NoError(t, publish(4))
		synctest.Wait()
		require.Equal(t, "1:1 1:3 1:4", values(t, r, 3))
	})
}
