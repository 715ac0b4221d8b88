package dcps

import (
	"fmt"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A cut is what the store held when it was made, however little of it is taken at a time and whatever comes in between, also
// while others are made of the same store and are read; and the store sees nothing of that.
func TestCutIsWhatWasThen(t *testing.T) {
	type begun struct {
		cut   *cut
		want  []byte
		reads chan []byte
	}
	rapid.Check(t, func(t *rapid.T) {
		kinds := []qos.DurabilityKind{qos.DurabilityTransientLocal, qos.DurabilityTransient}
		d := drawWriters(t, func(q *qos.DataWriter) {
			q.Durability.Kind = rapid.SampledFrom(kinds).Draw(t, "durability")
			q.Ownership.Kind = rapid.SampledFrom([]qos.OwnershipKind{qos.OwnershipShared, qos.OwnershipExclusive}).Draw(t, "ownership")
			q.DestinationOrder.Kind = rapid.SampledFrom([]qos.DestinationOrderKind{qos.DestinationOrderByReceptionTimestamp,
				qos.DestinationOrderBySourceTimestamp}).Draw(t, "order")
		})
		s, twin := newStore(), newStore()
		var all, taking []*begun
		for range rapid.IntRange(1, 80).Draw(t, "messages") {
			if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				b := &begun{cut: s.cut(), want: twin.save(), reads: make(chan []byte, 1)}
				all, taking = append(all, b), append(taking, b)
			}
			if len(taking) > 0 && rapid.Bool().Draw(t, "take") {
				i := rapid.IntRange(0, len(taking)-1).Draw(t, "of")
				b := taking[i]
				switch rapid.IntRange(0, 9).Draw(t, "end") {
				case 0:
					b.cut.end()
					all, taking = without(all, b), without(taking, b)
				default:
					if b.cut.take(rapid.IntRange(1, 3).Draw(t, "n")); b.cut.whole {
						taking = without(taking, b)
						go func() { b.reads <- b.cut.encode() }()
					}
				}
			}
			w, m, h, ok := d.message(t, 6)
			if !ok {
				continue
			}
			switch rapid.IntRange(0, 19).Draw(t, "other") {
			case 0: // another QoS
				a := *w.ann
				a.writer.Lifespan.Duration = rapid.SampledFrom([]time.Duration{qos.Infinite, 5, 20}).Draw(t, "lifespan")
				w.ann, w.info = &a, a.encode()
				s.rewrite(w.key, w.info, w.ann)
				twin.rewrite(w.key, w.info, w.ann)
			case 1: // it is closed
				d.gone[w] = true
				m.Kind, m.Flags = kindClosing, uint8(rapid.SampledFrom([]int{0, flagDispose}).Draw(t, "disposes"))
			case 2:
				m.Kind, m.Flags = kindDispose, flagAgain
			}
			d.follow(s, w, m, h)
			d.follow(twin, w, m, h)
		}
		for _, b := range taking {
			b.cut.take(1000)
			go func() { b.reads <- b.cut.encode() }()
		}
		for i, b := range all {
			require.Equal(t, b.want, <-b.reads, "cut %d", i)
		}
		require.Equal(t, twin.save(), s.save())
		require.Zero(t, s.lent.Load())
		require.Empty(t, s.cutting)
	})
}

// An instance that is forgotten with its writer, while another one had disposed it, is forgotten once.
func TestInstanceIsForgottenOnce(t *testing.T) {
	s, m := newStore(), sending{}
	slow, quick := aWriter(1, func(q *qos.DataWriter) { q.DurabilityService.ServiceCleanupDelay = 10 }), aWriter(2, func(*qos.DataWriter) {})
	s.add(slow, m.message(kindData, 0, 1), instanceHandle(1))
	s.add(quick, m.message(kindData, 0, 2), instanceHandle(1))
	s.add(slow, m.message(kindDispose, 0, 3), instanceHandle(1))
	s.add(quick, m.message(kindClosing, flagDispose, 4), instanceHandle(1))
	require.Empty(t, s.instances)
	s.add(slow, m.message(kindData, 0, 5), instanceHandle(1))
	s.add(slow, m.message(kindData, 0, 100), instanceHandle(2))
	require.Len(t, s.instances, 2)
	require.Len(t, s.all, 2)
}

// Taking a part of a cut costs what is taken, however much is kept.
func TestCutIsTakenInPieces(t *testing.T) {
	s, w, m := newStore(), aWriter(1, keepAll), sending{}
	for i := range int32(10_000) {
		h := InstanceHandle{byte(i), byte(i >> 8)}
		s.add(w, m.message(kindData, 0, 0), h)
	}
	c := s.cut()
	for i := range 10 {
		require.Zero(t, c.take(1000))
		require.Equal(t, 1000*(i+1), c.taken)
	}
	require.False(t, c.whole)
	require.Equal(t, 7, c.take(7))
	require.True(t, c.whole)
	require.Empty(t, s.cutting)
	c.end()
}

// A list gives what was put into it and not removed, and what was lent stays as it was.
func TestRecordList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l recordList
		var want []*record
		type lent struct{ got, want []*record }
		var lends []lent
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 7).Draw(t, "what"); {
			case what < 3 || len(want) == 0:
				r := &record{arrival: uint64(i)}
				l.push(r)
				want = append(want, r)
			case what < 5:
				l.removeFirst()
				want = want[1:]
			case what == 5:
				j := rapid.IntRange(0, len(want)-1).Draw(t, "i")
				l.remove(j)
				want = append(want[:j:j], want[j+1:]...)
			case what == 6:
				n := uint64(rapid.IntRange(1, 4).Draw(t, "of"))
				var left []*record
				for _, r := range want {
					if r.arrival%n != 0 {
						left = append(left, r)
					}
				}
				l.removeAll(func(r *record) bool { return r.arrival%n == 0 })
				want = left
			default:
				lends = append(lends, lent{l.lend(), append([]*record(nil), want...)})
			}
			require.Equal(t, len(want), l.len())
			for i, r := range l.all() {
				require.Same(t, want[i], r)
			}
			for _, o := range lends {
				require.Equal(t, o.want, o.got)
			}
		}
	})
}

// A list that is pushed to as often as something is removed from its front, as one of KEEP_LAST is, keeps its array.
func TestRecordListDoesNotGrow(t *testing.T) {
	for _, depth := range []int{1, 2, 10, 1000} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			var l recordList
			r := new(record)
			for range depth {
				l.push(r)
			}
			turn := func() {
				l.removeFirst()
				l.push(r)
			}
			for range 2 * depth {
				turn()
			}
			require.Zero(t, testing.AllocsPerRun(5*depth, turn))
			require.LessOrEqual(t, cap(l.array), 4*depth)
		})
	}
}
