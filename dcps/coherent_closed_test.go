package dcps

import (
	"testing"
	"testing/synctest"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// A writer that is closed in the midst of a coherent set can not end its part. The part is lost, and in scope GROUP the set: the
// others' parts were seen there without it. EndCoherentChanges says so, and the next set is whole.
func TestSetWhoseWriterIsClosed(t *testing.T) {
	for _, c := range []struct {
		scope        qos.PresentationAccessScopeKind
		ordered      bool
		seen         string
		lostA, lostB int32
		kept         string
	}{
		{qos.PresentationTopic, false, "1:1 | data", 0, 1, "1:1"},
		{qos.PresentationGroup, false, "data | data", 1, 1, "data"},
		{qos.PresentationGroup, true, "data | data", 1, 1, "data"},
	} {
		virtually(t, func(t *testing.T, d *domain) {
			s := newEmptyStage(t, d, present(c.scope, true, c.ordered))
			wq := writerQos()
			wq.Durability.Kind = qos.DurabilityTransient
			topics := []string{"A", "B"}
			s.addReaders(t, topics)
			for _, name := range topics {
				s.writers = append(s.writers, writerOn(t, s.a, s.pub, name, wq))
			}
			synctest.Wait()
			s.begin(t)
			write(t, s.writers[0], 1, 1)
			write(t, s.writers[1], 2, 1)
			require.NoError(t, s.writers[1].Close())
			require.ErrorIs(t, s.pub.EndCoherentChanges(patiently(t)), ErrPreconditionNotMet)
			require.Equal(t, c.seen, s.seen(t))
			require.Equal(t, c.lostA, s.readers[0].SampleLostStatus().TotalCount)
			require.Equal(t, c.lostB, s.readers[1].SampleLostStatus().TotalCount)

			rq := readerQos()
			rq.Durability.Kind = qos.DurabilityTransient
			late := readerOn(t, s.b, s.b.sub, "A", rq)
			require.NoError(t, late.WaitForHistoricalData(patiently(t)))
			require.Equal(t, c.kept, taken(t, late), "nor does a history keep what is lost")
			lateB := readerOn(t, s.b, s.b.sub, "B", rq)
			require.NoError(t, lateB.WaitForHistoricalData(patiently(t)))
			require.Equal(t, "data", taken(t, lateB))

			s.begin(t)
			write(t, s.writers[0], 1, 2)
			s.end(t)
			require.Equal(t, "1:2 | data", s.seen(t))
		})
	}
}
