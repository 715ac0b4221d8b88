package dcps

import (
	"sync"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// What an entity says of itself may be asked for while another goroutine changes or enables it. The race detector judges.
func TestAskedWhileItChanges(t *testing.T) {
	d := onBus(t)
	ctx := patiently(t)
	n, tp, w, r := disabled(t, d)
	pub, sub := n.pub.Qos(), n.sub.Qos()
	pub.Presentation = qos.Presentation{AccessScope: qos.PresentationGroup, CoherentAccess: true}
	sub.Presentation = pub.Presentation
	require.NoError(t, n.pub.SetQos(pub))
	require.NoError(t, n.sub.SetQos(sub))
	require.NoError(t, n.p.Enable(ctx))
	pub.EntityFactory, sub.EntityFactory = createdDisabled, createdDisabled
	require.NoError(t, n.pub.SetQos(pub))
	require.NoError(t, n.sub.SetQos(sub))
	w2, r2 := n.writer(t, writerQos()), n.reader(t, readerQos())

	var asking sync.WaitGroup
	stop := make(chan struct{})
	asking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, w := range []*DataWriter[track]{w, w2} {
				_, _, _, _ = w.Qos(), w.Handle(), w.DeliveryPath(), w.MaxSampleSize()
			}
			for _, r := range []*DataReader[track]{r, r2} {
				_, _ = r.Qos(), r.Handle()
				if s, err := r.Take(); err == nil {
					s.Close()
				}
			}
			_ = n.sub.BeginAccess()
			_ = n.sub.EndAccess()
			_ = n.pub.BeginCoherentChanges()
			_ = n.pub.EndCoherentChanges(ctx)
			_ = tp.Qos()
		}
	})
	for i := range 20 {
		late := func(q *qos.DataWriter) { q.Deadline.Period = time.Duration(20-i) * time.Second }
		require.NoError(t, w.SetQos(writerQos(late)))
		require.NoError(t, w2.SetQos(writerQos(late, func(q *qos.DataWriter) { q.Durability.Kind = qos.DurabilityKind(i%2 + 1) })))
		require.NoError(t, r.SetQos(readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Duration(20+i) * time.Second })))
	}
	require.Equal(t, HandleNil, w2.Handle())
	require.Zero(t, w2.MaxSampleSize())
	require.NoError(t, w2.Enable())
	require.NoError(t, r2.Enable())
	close(stop)
	asking.Wait()
	require.Equal(t, time.Second, w.Qos().Deadline.Period)
	require.NotEqual(t, HandleNil, w2.Handle())
	require.NotZero(t, w2.MaxSampleSize())
}
