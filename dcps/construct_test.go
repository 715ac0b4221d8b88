package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps/internal/evolved/newer"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/older"
	"github.com/omg-dds-go/dds/qos"
)

// A sample that the reader's type can not hold, as its writer's has another enumerator, is discarded: it counts as lost, and
// takes no place of one that can be read. The other samples of the writer come as ever.
func TestSampleThatTheTypeCanNotHold(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := writerOf[newer.Sensor](t, a, "Sensor", writerQos())
	r := readerOf[older.Sensor](t, b, "Sensor", readerQos(func(q *qos.DataReader) { q.History = qos.History{Kind: qos.HistoryKeepLast, Depth: 1} }))
	cf, err := NewContentFilteredTopic(r.Topic(), "IDs", "id < 10")
	require.NoError(t, err)
	few, err := NewDataReader(b.sub, cf, WithReaderQos(readerQos()))
	require.NoError(t, err)
	d.settle(t)
	send := func(id int32, k newer.Kind, echo bool) {
		s := newer.Sensor{ID: id, Kind: k}
		s.Reading.SetRange(3)
		if echo {
			s.Reading.SetEcho(5)
		}
		require.NoError(t, w.Write(patiently(t), &s))
		d.settle(t)
	}
	lost := func(n int32) {
		require.Equal(t, n, r.SampleLostStatus().TotalCount)
		require.Zero(t, r.SampleRejectedStatus().TotalCount)
	}
	send(1, newer.KindImu, false)
	send(1, newer.KindRadar, false)
	lost(1)
	send(1, newer.KindImu, true) // the discriminator of a member
	lost(2)
	got, info := next(t, r)
	require.Equal(t, older.KindImu, got.Kind)
	require.EqualValues(t, 1, info.WriterSequence)
	send(1, newer.KindLidar, false)
	got, _ = next(t, r)
	require.Equal(t, older.KindLidar, got.Kind)
	send(11, newer.KindRadar, false)
	lost(3)
	require.EqualValues(t, 2, few.SampleLostStatus().TotalCount, "what does not pass the filter is not lost")
	require.EqualValues(t, 1, few.Filtered())
}

// So it is with samples that come in runs, and with those of a history whose writer is gone.
func TestRunsAndHistoriesOfWhatTheTypeCanNotHold(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := writerOf[newer.Beat](t, a, "Beat", writerQos())
	r := readerOf[older.Beat](t, b, "Beat", readerQos())
	d.settle(t)
	const rounds = 2 * runsAfter
	for range rounds {
		for _, k := range []newer.Kind{newer.KindImu, newer.KindRadar, newer.KindLidar} {
			require.NoError(t, w.Write(patiently(t), &newer.Beat{Kind: k}))
		}
		d.settle(t)
		loan, err := r.TakeLoan()
		require.NoError(t, err)
		require.Equal(t, 2, loan.Len())
		loan.Close()
	}
	require.EqualValues(t, rounds, r.SampleLostStatus().TotalCount)

	kept := writerOf[newer.Sensor](t, a, "Kept", durably(qos.DurabilityTransient, func(q *qos.DataWriter) {
		q.WriterDataLifecycle.AutodisposeUnregisteredInstances = false
	}))
	first := readerOf[older.Sensor](t, b, "Kept", durableReader(qos.DurabilityTransient)) // which keeps the history
	d.settle(t)
	require.NoError(t, kept.Write(patiently(t), &newer.Sensor{ID: 1, Kind: newer.KindRadar}))
	require.NoError(t, kept.Write(patiently(t), &newer.Sensor{ID: 2, Kind: newer.KindImu}))
	require.NoError(t, kept.Close())
	d.settle(t)
	late := readerOf[older.Sensor](t, b, "Kept", durableReader(qos.DurabilityTransient))
	require.NoError(t, late.WaitForHistoricalData(patiently(t)))
	for _, r := range []*DataReader[older.Sensor]{first, late} {
		got, _ := next(t, r)
		require.Equal(t, older.Sensor{ID: 2, Kind: older.KindImu}, got)
		require.EqualValues(t, 1, r.SampleLostStatus().TotalCount)
	}
}

// A coherent set is seen without such a sample, as it is without one that a filter keeps out.
func TestSetWithWhatTheTypeCanNotHold(t *testing.T) {
	for _, scope := range []qos.PresentationAccessScopeKind{qos.PresentationTopic, qos.PresentationGroup} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newEmptyStage(t, d, present(scope, true, false))
			sensors, err := NewTopic[newer.Sensor](s.a.p, "Sensor")
			require.NoError(t, err)
			w, err := NewDataWriter(s.pub, sensors, WithWriterQos(writerQos()))
			require.NoError(t, err)
			read, err := NewTopic[older.Sensor](s.b.p, "Sensor")
			require.NoError(t, err)
			r, err := NewDataReader(s.sub, read, WithReaderQos(readerQos()))
			require.NoError(t, err)
			d.settle(t)
			s.begin(t)
			for _, k := range []newer.Kind{newer.KindRadar, newer.KindImu, newer.KindLidar, newer.KindRadar} {
				require.NoError(t, w.Write(patiently(t), &newer.Sensor{ID: 1, Kind: k}))
			}
			d.settle(t)
			s.end(t)
			d.settle(t)
			require.NoError(t, s.sub.BeginAccess())
			samples, err := r.Take()
			require.NoError(t, err)
			require.Equal(t, 2, samples.Len())
			samples.Close()
			require.NoError(t, s.sub.EndAccess())
			require.EqualValues(t, 2, r.SampleLostStatus().TotalCount)
		})
	}
}
