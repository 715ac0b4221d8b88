package dcps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// The tests of this file run over the real core: shared memory, and tcp where it says so.

func TestCorePaths(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, c := range []struct {
			name string
			w    func(*qos.DataWriter)
			r    func(*qos.DataReader)
		}{
			{"atomic", func(q *qos.DataWriter) {}, func(q *qos.DataReader) {}},
			{"unordered", func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort },
				func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }},
			{"volatile storage", func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal },
				func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }},
			{"logged", func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent }, func(q *qos.DataReader) {}},
		} {
			t.Run(transport+" "+c.name, func(t *testing.T) {
				s := Settings{Transport: transport, Dir: t.TempDir()}
				d := onCore(t, s)
				a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
				w, r := a.writer(t, writerQos(c.w, blocking(patience))), b.reader(t, readerQos(c.r))
				require.Equal(t, c.name, w.DeliveryPath().String())
				require.NoError(t, w.WaitForMatch(patiently(t), 1))
				require.NoError(t, r.WaitForMatch(patiently(t), 1))
				var want []string
				for i := range int32(100) {
					write(t, w, i%7, i)
					want = append(want, fmt.Sprintf("%d:%d", i%7, i))
				}
				require.Equal(t, strings.Join(want, " "), values(t, r, 100))
				require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
				require.NoError(t, w.Close())
				require.NoError(t, r.Close())
				require.NoError(t, a.p.Close())
				require.NoError(t, b.p.Close())
			})
		}
	}
}

func blocking(d time.Duration) func(*qos.DataWriter) {
	return func(q *qos.DataWriter) { q.Reliability.MaxBlockingTime = d }
}

// Several writers, each with several goroutines: all readers see one order, and each writer's numbers ascend.
func TestCoreTotalOrder(t *testing.T) {
	d := onCore(t, Settings{})
	nodes := []*node{d.node(t, WithName("a")), d.node(t, WithName("b")), d.node(t, WithName("c"))}
	var writers []*DataWriter[track]
	var readers []*DataReader[track]
	for _, n := range nodes {
		writers = append(writers, n.writer(t, writerQos(blocking(patience))))
		readers = append(readers, n.reader(t, readerQos()))
	}
	for i := range nodes {
		require.NoError(t, writers[i].WaitForMatch(patiently(t), 3))
		require.NoError(t, readers[i].WaitForMatch(patiently(t), 3))
	}
	const each, routines = 200, 2
	var wg sync.WaitGroup
	for i, w := range writers {
		for range routines {
			wg.Go(func() {
				for j := range int32(each) {
					if err := w.Write(patiently(t), &track{ID: int32(i), Value: j}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	total := each * routines * len(writers)
	orders := make([]string, len(readers))
	for i, r := range readers {
		wg.Go(func() {
			var order strings.Builder
			latest := make(map[InstanceHandle]uint64)
			n := 0
			for s, err := range r.Stream(patiently(t)) {
				if err != nil {
					t.Error(err)
					return
				}
				if s.Info.WriterSequence != latest[s.Info.PublicationHandle]+1 {
					t.Errorf("writer %v: %d after %d", s.Info.PublicationHandle, s.Info.WriterSequence, latest[s.Info.PublicationHandle])
				}
				latest[s.Info.PublicationHandle] = s.Info.WriterSequence
				fmt.Fprintf(&order, "%d:%d ", s.Data().ID, s.Info.WriterSequence)
				if n++; n == total {
					break
				}
			}
			orders[i] = order.String()
		})
	}
	wg.Wait()
	require.NotEmpty(t, orders[0])
	for _, o := range orders[1:] {
		require.Equal(t, orders[0], o)
	}
}

func TestCoreLateJoiner(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			d := onCore(t, Settings{Transport: transport})
			stored := func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }
			wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }
			a := d.node(t, WithName("a"))
			w := a.writer(t, writerQos(stored, blocking(patience)))
			for i := range int32(50) {
				write(t, w, i%5, i)
			}
			for i := range 3 {
				n := d.node(t, WithName(fmt.Sprint("late", i)))
				r := n.reader(t, readerQos(wants))
				require.NoError(t, r.WaitForHistoricalData(patiently(t)))
				require.Equal(t, "0:45 1:46 2:47 3:48 4:49", values(t, r, 5))
			}
		})
	}
}

// While a writer goes on writing, readers join: each gets every instance's latest value, and then no gap.
func TestCoreLateJoinerDuringTraffic(t *testing.T) {
	d := onCore(t, Settings{})
	stored := func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityTransientLocal }
	wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityTransientLocal }
	a := d.node(t, WithName("a"))
	w := a.writer(t, writerQos(stored, blocking(patience)))
	ctx, stop := context.WithCancel(patiently(t))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := int32(0); ctx.Err() == nil; i++ {
			if err := w.Write(ctx, &track{ID: 1, Value: i}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := range 3 {
		n := d.node(t, WithName(fmt.Sprint("late", i)))
		r := n.reader(t, readerQos(wants))
		last, seen := uint64(0), 0
		for s, err := range r.Stream(patiently(t)) {
			require.NoError(t, err)
			if last != 0 {
				require.Equal(t, last+1, s.Info.WriterSequence)
			}
			last = s.Info.WriterSequence
			if seen++; seen == 500 {
				break
			}
		}
		require.Equal(t, 500, seen)
	}
	stop()
	<-done
}

func TestCoreKeepAllReaderHoldsWriter(t *testing.T) {
	d := onCore(t, Settings{})
	a, b := d.node(t, WithName("a")), d.node(t, WithName("b"))
	w, patient := a.writer(t, writerQos(blocking(50*time.Millisecond))), a.writer(t, writerQos(blocking(patience)))
	r := b.reader(t, readerQos(func(q *qos.DataReader) {
		q.ResourceLimits = qos.ResourceLimits{MaxSamples: 10, MaxInstances: -1, MaxSamplesPerInstance: 10}
	}))
	require.NoError(t, w.WaitForMatch(patiently(t), 1))
	require.NoError(t, patient.WaitForMatch(patiently(t), 1))
	sent := int32(0)
	for ; ; sent++ {
		if err := w.Write(patiently(t), &track{ID: 1, Value: sent}); err != nil {
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorContains(t, err, fmt.Sprintf("no room within RELIABILITY max_blocking_time 50ms: a RELIABLE reader is full, by its RESOURCE_LIMITS, "+
				"at b (pid %d on %s): it has to take samples, or have a higher limit", os.Getpid(), b.p.host))
			break
		}
		require.Less(t, sent, int32(1e6), "the writer is never held")
	}
	require.GreaterOrEqual(t, sent, int32(10))
	var want []string
	for i := range sent {
		want = append(want, fmt.Sprintf("1:%d", i))
	}
	require.Equal(t, strings.Join(want, " "), values(t, r, int(sent)), "what was in flight is parked, not lost")
	write(t, patient, 1, sent) // that there is room is on its way
	require.Equal(t, fmt.Sprintf("1:%d", sent), values(t, r, 1))
}

// After all processes are gone, the log tells what was written.
func TestCorePersistentRestart(t *testing.T) {
	dir := t.TempDir()
	d := onCore(t, Settings{Dir: dir})
	persistent := func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityPersistent
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}
	wants := func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent }
	for run := range int32(3) {
		n := d.node(t, WithName("a"))
		r := n.reader(t, readerQos(wants))
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		if run == 0 {
			_, err := r.Take()
			require.ErrorIs(t, err, ErrNoData)
		} else {
			require.Equal(t, fmt.Sprintf("1:%d 2:%d", run*10-9, run*10-9), values(t, r, 2))
		}
		w := n.writer(t, writerQos(persistent, blocking(patience)))
		write(t, w, 1, run*10+1)
		write(t, w, 2, run*10+1)
		require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
		require.NoError(t, n.p.Close())
	}
}

func TestCoreUnwritableLogDirectory(t *testing.T) {
	d := onCore(t, Settings{})
	n := d.node(t, WithName("a"))
	q := writerQos(func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityPersistent })
	_, err := NewDataWriter(n.pub, n.topic(t), WithWriterQos(q))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, "DDS_DIR")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d.settings.Dir = filepath.Join(filepath.Dir(file), "logs")
	n = d.node(t, WithName("b"))
	require.NoError(t, os.WriteFile(d.settings.Dir, nil, 0o600), "which was not there when the participant was made")
	_, err = NewDataWriter(n.pub, n.topic(t), WithWriterQos(q))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, d.settings.Dir)
	rq := readerQos(func(q *qos.DataReader) { q.Durability.Kind = qos.DurabilityPersistent })
	_, err = NewDataReader(n.sub, n.topic(t), WithReaderQos(rq))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
}

func TestCoreOtherConfiguration(t *testing.T) {
	d := onCore(t, Settings{})
	d.node(t, WithName("a"))
	d.settings.Subgroups = 3
	_, err := NewDomainParticipant(patiently(t), d.id, WithSettings(d.settings))
	require.ErrorIs(t, err, ErrPreconditionNotMet)
	require.ErrorContains(t, err, "subgroups=8")
	require.ErrorContains(t, err, "subgroups=3")
}

func TestCoreSampleTooLarge(t *testing.T) {
	d := onCore(t, Settings{RingBytes: 1 << 12, MaxRingBytes: 1 << 14})
	n := d.node(t, WithName("a"))
	w := n.writer(t, writerQos())
	err := w.Write(patiently(t), &track{Text: strings.Repeat("x", 1<<14)})
	require.ErrorIs(t, err, ErrOutOfResources)
	require.ErrorContains(t, err, fmt.Sprint(w.MaxSampleSize()))
	require.ErrorContains(t, err, "16404")
	var e *Error
	require.True(t, errors.As(err, &e))
}
