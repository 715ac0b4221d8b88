package dcps

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
	"github.com/stretchr/testify/require"
)

// tooLarge is a sample that no ring has room for: writing it fails after it was counted.
func tooLarge(id int32) *track { return &track{ID: id, Text: strings.Repeat("x", 1<<17)} }

// A write or registration that fails leaves nothing behind: its instance is not counted.
func TestFailedWriteIsNotCounted(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	w := n.writer(t, writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityTransientLocal
		q.History = qos.History{Kind: qos.HistoryKeepAll, Depth: 1}
		q.ResourceLimits = qos.ResourceLimits{MaxInstances: 2, MaxSamples: 3, MaxSamplesPerInstance: 2}
		q.Reliability.MaxBlockingTime = time.Millisecond
	}))
	ctx := patiently(t)
	for id := range int32(5) {
		require.ErrorIs(t, w.Write(ctx, tooLarge(id)), ErrOutOfResources)
		require.Empty(t, w.instances.Load().byHandle)
		require.Zero(t, w.instances.Load().samples)
	}
	d.bus.settle(t)
	d.bus.mu.Lock()
	d.bus.capacity = 0
	d.bus.mu.Unlock()
	for id := range int32(5) {
		require.ErrorIs(t, w.Write(ctx, &track{ID: id}), ErrTimeout)
		_, err := w.Register(ctx, &track{ID: id})
		require.ErrorIs(t, err, ErrTimeout)
	}
	d.bus.mu.Lock()
	d.bus.capacity = 64
	d.bus.mu.Unlock()

	write(t, w, 1, 1)
	require.ErrorIs(t, w.Write(ctx, tooLarge(1)), ErrOutOfResources)
	write(t, w, 1, 2)
	require.ErrorContains(t, w.Write(ctx, &track{ID: 1}), "max_samples_per_instance")
	require.ErrorIs(t, w.Write(ctx, tooLarge(2)), ErrOutOfResources)
	_, err := w.Register(ctx, &track{ID: 2})
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(ctx, tooLarge(2)), ErrOutOfResources)
	require.ErrorContains(t, w.Write(ctx, &track{ID: 3}), "max_instances", "a failed write does not take the registration back")
	write(t, w, 2, 1)
	require.ErrorContains(t, w.Write(ctx, &track{ID: 2}), "max_samples is 3")
}

// fickle is measured at one size and encoded at another, as a sample is that its owner changes meanwhile.
type fickle struct {
	track
	encoded int
}

var fickleType = cdr.Define(cdr.TypeInfo{
	Name: "test::Fickle", Keyed: true, MaxSize: -1, MaxKeySize: 4, Text: "@final struct test::Fickle { @key long id; string<8> text; };",
})

func (*fickle) CDRType() *cdr.TypeInfo { return fickleType }

func (m *fickle) MarshalCDR(e *cdr.Encoder) {
	m.encoded++
	e.Int32(m.ID)
	e.String("text", strings.Repeat("x", 8*max(0, m.encoded)), 8)
}

// A sample that can not be encoded after its room was taken gives room and count back.
func TestSampleThatChangesWhileWritten(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp, err := NewTopic[fickle](n.p, "Fickle")
	require.NoError(t, err)
	w, err := NewDataWriter(n.pub, tp, WithWriterQos(writerQos(func(q *qos.DataWriter) {
		q.ResourceLimits.MaxInstances = 1
		q.ResourceLimits.MaxSamples = qos.LengthUnlimited
	})))
	require.NoError(t, err)
	require.ErrorIs(t, w.Write(patiently(t), &fickle{track: track{ID: 1}}), ErrBadParameter)
	require.Empty(t, w.instances.Load().byHandle)
	require.NoError(t, w.Write(patiently(t), &fickle{track: track{ID: 2}, encoded: -2}))
	require.NoError(t, within(t, w.Close))
}

// What several goroutines have under way comes and goes without a trace, in any order.
func TestWriterInstancesUndo(t *testing.T) {
	d := onBus(t)
	w := d.node(t).writer(t, writerQos())
	q := writerQos(func(q *qos.DataWriter) {
		q.Durability.Kind = qos.DurabilityTransientLocal
		q.History.Depth = 2
		q.ResourceLimits.MaxSamples = 10
	})
	s := newWriterInstances(q, topic.Stored, w.topic.support)
	note := func(id int32) noted {
		n, err := s.note(w.writer, "Write", &track{ID: id}, nil, 1)
		require.NoError(t, err)
		return n
	}
	a, b, c := note(1), note(1), note(1)
	require.Equal(t, 2, s.samples, "KEEP_LAST 2")
	s.unwrote(a)
	require.Equal(t, 2, s.samples, "b and c may be held")
	s.unwrote(c)
	require.Equal(t, 1, s.samples)
	s.forget(&track{ID: 1}, false)
	require.Zero(t, s.samples)
	s.unwrote(b)
	require.Zero(t, s.samples, "the disposal had dropped it")
	require.Empty(t, s.byHandle)

	a = note(1)
	s.forget(&track{ID: 1}, true)
	b = note(1)
	s.unwrote(a)
	require.Equal(t, 1, s.samples, "a belongs to an instance that was unregistered")
	s.unwrote(b)
	require.Zero(t, s.samples)
	require.Empty(t, s.byHandle)
}

// DEADLINE runs from what was sent: a write that fails neither arms nor postpones it.
func TestFailedWriteArmsNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopTicks(t)
		d := onBus(t)
		n := d.node(t)
		w := n.writer(t, writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Second }))
		ctx := context.Background()
		require.ErrorIs(t, w.Write(ctx, tooLarge(1)), ErrOutOfResources)
		time.Sleep(3 * time.Second)
		require.Zero(t, w.OfferedDeadlineMissedStatus().TotalCount)
		write(t, w, 1, 1)
		time.Sleep(600 * time.Millisecond)
		require.ErrorIs(t, w.Write(ctx, tooLarge(1)), ErrOutOfResources)
		time.Sleep(600 * time.Millisecond)
		require.Equal(t, int32(1), w.OfferedDeadlineMissedStatus().TotalCount)
		require.NoError(t, n.p.Close())
	})
}

// The buffers that a reader keeps for reuse are bounded by their bytes too.
func TestItemPoolIsBounded(t *testing.T) {
	var p itemPool
	var lent []*item
	for range 20 {
		lent = append(lent, p.get(1<<20))
	}
	for _, it := range lent {
		p.drop(it)
	}
	require.Nil(t, p.returned.Load())
	p.flush()
	require.EqualValues(t, maxPooledBytes, p.returned.Load().bytes)
	require.EqualValues(t, maxPooledBytes>>20, p.returned.Load().count)
	reused := 0
	for range 20 {
		if cap(p.get(10).own) == 1<<20 {
			reused++
		}
	}
	require.Equal(t, maxPooledBytes>>20, reused)
	require.Nil(t, p.returned.Load())
	for range maxPooled + 10 {
		p.drop(&item{pooled: true, own: make([]byte, 1)})
	}
	p.flush()
	require.EqualValues(t, maxPooled, p.returned.Load().count)
}

// What was given back last is taken first; what lies below is not forgotten.
func TestItemPoolTakesTheLatest(t *testing.T) {
	var p itemPool
	items := []*item{p.get(0), p.get(0), p.get(0), p.get(0)}
	for _, it := range items {
		p.drop(it)
		p.flush()
	}
	require.EqualValues(t, 4, p.returned.Load().count)
	require.Same(t, items[3], p.get(0))
	require.Same(t, items[2], p.get(0))
	p.drop(items[3])
	p.flush()
	require.Same(t, items[3], p.get(0))
	require.EqualValues(t, 2, p.returned.Load().count)
	require.Same(t, items[1], p.get(0))
	require.Same(t, items[0], p.get(0))
	require.Nil(t, p.returned.Load())
}

// One goroutine takes while another gives back: nobody gets an item that somebody has.
func TestItemPoolBetweenTwo(t *testing.T) {
	var p itemPool
	lent := make(chan *item, 100)
	go func() {
		defer close(lent)
		for range 20_000 {
			it := p.get(0)
			if it.seq != 0 {
				t.Error("an item that is in use, or was not cleared")
			}
			it.seq = 1
			lent <- it
		}
	}()
	for it := range lent {
		if it.seq != 1 {
			t.Error("two have an item")
		}
		p.drop(it)
		if len(lent)%3 == 0 {
			p.flush()
		}
	}
}

// A best-effort writer shows its liveliness by what it writes, also while there is no room for that. Its readers are told of it
// when there is.
func TestWriterThatHasNoRoomIsAlive(t *testing.T) {
	for _, kind := range []qos.LivelinessKind{qos.LivelinessManualByTopic, qos.LivelinessManualByParticipant} {
		t.Run(kind.String(), func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				d.bus.capacity = 1
				n := d.node(t)
				lossy := func(q *qos.DataWriter) { q.Reliability.Kind = qos.ReliabilityBestEffort }
				w := n.writer(t, writerQos(lossy, func(q *qos.DataWriter) {
					q.Liveliness = qos.Liveliness{Kind: kind, LeaseDuration: time.Second}
				}))
				r := n.reader(t, readerQos(func(q *qos.DataReader) { q.Reliability.Kind = qos.ReliabilityBestEffort }))
				d.settle(t)
				l, err := n.writer(t, writerQos(lossy)).Loan(context.Background(), 10)
				require.NoError(t, err)
				own, err := w.Loan(context.Background(), 10)
				require.NoError(t, err)
				for range 4 {
					write(t, w, 1, 1)
					pass(time.Second / 2)
				}
				require.Equal(t, uint64(5), w.Dropped())
				require.Zero(t, w.LivelinessLostStatus().TotalCount)
				require.NoError(t, own.Publish(10))
				pass(600 * time.Millisecond)
				require.Zero(t, w.LivelinessLostStatus().TotalCount)
				require.Equal(t, int32(1), r.LivelinessChangedStatus().NotAliveCount, "nothing has come of it")
				require.NoError(t, l.Discard())
				pass(200 * time.Millisecond)
				require.Zero(t, r.LivelinessChangedStatus().NotAliveCount)
				require.Zero(t, w.LivelinessLostStatus().TotalCount)
				pass(time.Second)
				require.Equal(t, int32(1), w.LivelinessLostStatus().TotalCount)
			})
		})
	}
}
