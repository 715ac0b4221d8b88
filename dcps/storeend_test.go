package dcps

import (
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The end of a writer that is followed little by little leaves what one leaves that is followed at once, also while there is a
// cut of what was before.
func TestWriterEndsInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawWriters(t, func(q *qos.DataWriter) {
			q.Durability.Kind = rapid.SampledFrom([]qos.DurabilityKind{qos.DurabilityTransientLocal, qos.DurabilityTransient}).Draw(t, "durability")
		})
		s, twin := newStore(), newStore()
		var last *endpoint
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			w, m, h, ok := d.message(t, 6)
			if !ok {
				continue
			}
			d.follow(s, w, m, h)
			d.follow(twin, w, m, h)
			last = w
		}
		if last == nil {
			return
		}
		before, was := s.cut(), twin.save()
		var e *writerEnd
		if rapid.Bool().Draw(t, "closes") {
			m := (&sending{}).message(kindClosing, uint8(rapid.SampledFrom([]int{0, flagDispose}).Draw(t, "disposes")), s.clock+1)
			e = s.follow(last, m, HandleNil)
			twin.add(last, m, HandleNil)
		} else {
			e = s.ending(last.key)
			require.Equal(t, e != nil, twin.end(last.key))
		}
		for e != nil && e.some(rapid.IntRange(1, 3).Draw(t, "n")) == 0 {
			before.take(rapid.IntRange(0, 2).Draw(t, "take"))
		}
		before.take(1000)
		require.Equal(t, was, before.encode())
		require.Equal(t, twin.save(), s.save())
		require.Equal(t, twin.keys(), s.keys())
	})
}
