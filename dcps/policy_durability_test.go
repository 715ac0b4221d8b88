package dcps

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func durably(k qos.DurabilityKind, more ...func(*qos.DataWriter)) qos.DataWriter {
	return writerQos(append([]func(*qos.DataWriter){func(q *qos.DataWriter) { q.Durability.Kind = k }}, more...)...)
}

func durableReader(k qos.DurabilityKind) qos.DataReader {
	return readerQos(func(q *qos.DataReader) { q.Durability.Kind = k })
}

// late is what a reader gets that comes now, and has been given the history.
func late(t *testing.T, d *domain, k qos.DurabilityKind) string {
	t.Helper()
	r := d.node(t).reader(t, durableReader(k))
	require.NoError(t, r.WaitForHistoricalData(patiently(t)))
	synctest.Wait()
	return takeText(t, r)
}

// The kinds of DURABILITY: a VOLATILE writer's samples are for those who are there, those of TRANSIENT_LOCAL for those who come
// while it lives, those of TRANSIENT for those who come after it, too. (PERSISTENT: TestRestart.)
func TestDDS14_2_2_3_4_DurabilityKinds(t *testing.T) {
	for _, c := range []struct {
		kind           qos.DurabilityKind
		living, closed string
	}{
		{qos.DurabilityVolatile, "no data", "no data"},
		{qos.DurabilityTransientLocal, "[NOT_READ NEW ALIVE d=0 n=0] 1:1", "no data"},
		{qos.DurabilityTransient, "[NOT_READ NEW ALIVE d=0 n=0] 1:1", "[NOT_READ NEW NOT_ALIVE_NO_WRITERS d=0 n=0] 1:1"},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			virtually(t, func(t *testing.T, d *domain) {
				w := d.node(t).writer(t, durably(c.kind, func(q *qos.DataWriter) { q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false }))
				d.node(t).reader(t, durableReader(c.kind)) // a process that keeps
				write(t, w, 1, 1)
				synctest.Wait()
				require.Equal(t, c.living, late(t, d, c.kind))
				require.NoError(t, w.Close())
				synctest.Wait()
				require.Equal(t, c.closed, late(t, d, c.kind))
			})
		})
	}
}

// DURABILITY_SERVICE: its history and its limits say what is kept for those who come late.
func TestDDS14_2_2_3_5_HistoryAndLimits(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		w := d.node(t).writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
			s := &q.DurabilityService
			s.HistoryKind, s.HistoryDepth, s.MaxSamples, s.MaxInstances, s.MaxSamplesPerInstance = qos.HistoryKeepLast, 2, 3, 2, 2
		}))
		r := d.node(t).reader(t, durableReader(qos.DurabilityTransient))
		for i := range int32(3) {
			write(t, w, 1, i)
		}
		write(t, w, 2, 7)
		write(t, w, 2, 8)
		write(t, w, 3, 9)
		require.Equal(t, 6, countTaken(t, r), "who is there gets all")
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:1\n[NOT_READ NEW ALIVE d=0 n=0] 1:2\n[NOT_READ NEW ALIVE d=0 n=0] 2:7",
			late(t, d, qos.DurabilityTransient), "two of an instance, three of all, two instances")
	})
}

// service_cleanup_delay: a disposed instance that nobody writes any more is forgotten when the delay is over; until then who
// comes late learns of it, and that it is disposed.
func TestDDS14_2_2_3_5_ServiceCleanupDelay(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		w := d.node(t).writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
			q.DurabilityService.ServiceCleanupDelay = time.Second
			q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
		}))
		d.node(t).reader(t, durableReader(qos.DurabilityTransient))
		const disposed = "[NOT_READ NEW NOT_ALIVE_DISPOSED d=0 n=0] 1:1"
		write(t, w, 1, 1)
		require.NoError(t, w.Dispose(patiently(t), &track{ID: 1}))
		pass(time.Hour)
		require.Equal(t, disposed, late(t, d, qos.DurabilityTransient), "its writer is still registered")
		require.NoError(t, w.Unregister(patiently(t), &track{ID: 1}))
		pass(900 * time.Millisecond)
		require.Equal(t, disposed, late(t, d, qos.DurabilityTransient))
		pass(200 * time.Millisecond)
		require.Equal(t, "no data", late(t, d, qos.DurabilityTransient))
		write(t, w, 1, 2)
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:2", late(t, d, qos.DurabilityTransient))
	})
}

// What comes after a disposal begins the instance anew, also if that was not forgotten yet.
func TestDDS14_2_2_3_5_WrittenAgainBeforeTheCleanup(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationTopic, true, false))
		w := writerOn(t, s.a, s.pub, "Track", durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
			q.History.Depth = 4
			q.DurabilityService.ServiceCleanupDelay = time.Hour
		}))
		s.b.reader(t, durableReader(qos.DurabilityTransient))
		dispose := func() { require.NoError(t, w.Dispose(patiently(t), &track{ID: 1})) }
		write(t, w, 1, 1)
		dispose()
		write(t, w, 1, 2)
		write(t, w, 1, 3)
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:2\n[NOT_READ NEW ALIVE d=0 n=0] 1:3", late(t, d, qos.DurabilityTransient))
		dispose()
		s.begin(t)
		write(t, w, 1, 4)
		dispose()
		write(t, w, 1, 5)
		s.end(t)
		require.Equal(t, "[NOT_READ NEW ALIVE d=0 n=0] 1:5", late(t, d, qos.DurabilityTransient))
		require.Equal(t, 1, kept(t, s.b, w))
	})
}

// Time alone changes no history: a process at which somebody came late keeps what the others keep.
func TestReplicasStayTheSame(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		w := d.node(t).writer(t, durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
			q.DurabilityService.ServiceCleanupDelay = time.Second
		}))
		a, b := d.node(t), d.node(t)
		for _, n := range []*node{a, b} {
			n.reader(t, durableReader(qos.DurabilityTransient))
		}
		kept := func(n *node) (state []byte) {
			require.NoError(t, n.p.core.Upcall(patiently(t), func() { state = n.p.hub.channels[w.at].history.save() }))
			return state
		}
		write(t, w, 1, 1)
		write(t, w, 2, 1)
		require.NoError(t, w.Unregister(patiently(t), &track{ID: 1}))
		pass(time.Hour)
		r := b.reader(t, durableReader(qos.DurabilityTransient))
		require.NoError(t, r.WaitForHistoricalData(patiently(t)))
		require.Equal(t, "2:1", taken(t, r))
		require.Equal(t, kept(a), kept(b))
		write(t, w, 2, 2)
		synctest.Wait()
		require.Equal(t, kept(a), kept(b))
	})
}
