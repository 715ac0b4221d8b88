package dcps

import (
	"maps"
	"slices"
	"testing"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A reader does not wait for the mark of a writer that its process was handed before it knew of the match, as another
// reader of the topic was there: what was handed over by then is not the reader's.
func TestGroupOrderWhenTheMarkCameFirst(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		s := newEmptyStage(t, d, present(qos.PresentationGroup, false, true))
		s.addWriters(t, []string{"A", "B"})
		s.addReaders(t, []string{"A", "B"})
		d.settle(t)
		require.Empty(t, s.listed(t))
		w, on := s.writers[1].writer, d.bus.of(s.b)
		mark := derecho.Message{
			Header: derecho.Header{Writer: w.id, WriterSeq: w.turn.number() + 1, Kind: kindNothing, Flags: flagMark}, Sender: d.bus.of(s.a).id,
		}
		late := &delayed{d: d, at: s.b}
		late.hold(t, w)
		d.bus.mu.Lock()
		on.do(func() { on.h.Deliver(w.at.sg, []derecho.Message{mark}) })
		d.bus.mu.Unlock()
		s.addReaders(t, []string{"B"})
		d.settle(t)
		require.Equal(t, mark.WriterSeq, w.turn.number())
		late.drop()
		write(t, s.writers[0], 1, 1)
		require.Equal(t, "A1", s.listed(t))
	})
}

// Whenever the readers of a Subscriber come, and however what a Publisher writes on three topics overtakes itself on
// its way to them, marks included: what they see is in the order in which it was written, and what was written when a
// reader was there is all seen.
func TestGroupOrderOfReadersThatComeLate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := onBus(t)
		s := newEmptyStage(t, d, present(qos.PresentationGroup, rapid.Bool().Draw(rt, "coherent"), true))
		defer func() {
			for _, n := range d.nodes {
				_ = n.p.Close()
			}
		}()
		topics := []string{"A", "B", "C"}
		s.addWriters(t, topics)
		d.settle(t)
		on := d.bus.of(s.b)
		underway := make(map[derecho.EndpointID][]derecho.Message)
		d.bus.mu.Lock()
		d.bus.lose = func(m *derecho.Message, to *busNode) bool {
			if to != on {
				return false
			}
			kept := *m
			kept.Payload = append([]byte(nil), m.Payload...)
			underway[m.Writer] = append(underway[m.Writer], kept)
			return true
		}
		d.bus.mu.Unlock()
		arrive := func() bool {
			if len(underway) == 0 {
				return false
			}
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(underway))).Draw(rt, "from")
			m := underway[id][0]
			if underway[id] = underway[id][1:]; len(underway[id]) == 0 {
				delete(underway, id)
			}
			d.bus.mu.Lock()
			on.do(func() { on.h.Deliver(s.writers[0].at.sg, []derecho.Message{m}) }) // of any subgroup: what counts is the writer
			d.bus.mu.Unlock()
			d.settle(t)
			return true
		}
		due := make(map[AnyDataReader][]int32)
		got := make(map[AnyDataReader][]int32)
		var all []int32
		look := func() {
			require.NoError(t, s.sub.BeginAccess())
			for _, any := range s.sub.Readers(AnySampleState, AnyViewState, AnyInstanceState) {
				samples, err := any.(*DataReader[track]).Take(MaxSamples(1))
				require.NoError(t, err)
				x := samples.At(0)
				value := x.Data().Value
				got[any] = append(got[any], value)
				all = append(all, value)
				samples.Close()
			}
			require.NoError(t, s.sub.EndAccess())
		}
		for i := range int32(rapid.IntRange(1, 30).Draw(rt, "steps")) {
			at := rapid.IntRange(0, 2).Draw(rt, "topic")
			switch rapid.IntRange(0, 6).Draw(rt, "step") {
			case 0:
				if !slices.ContainsFunc(s.readers, func(r *DataReader[track]) bool { return r.TopicName() == topics[at] }) {
					s.addReaders(t, topics[at:at+1])
				}
			case 1, 2:
				arrive()
			case 3:
				look()
			default:
				write(t, s.writers[at], 1, i)
				for _, r := range s.readers {
					if r.TopicName() == topics[at] {
						due[r] = append(due[r], i)
					}
				}
			}
			d.settle(t)
		}
		for arrive() {
		}
		look()
		if !slices.IsSorted(all) {
			rt.Fatalf("seen in this order: %v", all)
		}
		for r, want := range due {
			if n := len(got[r]) - len(want); n < 0 || !slices.Equal(got[r][n:], want) {
				rt.Fatalf("%s was to see %v, and saw %v", r.TopicName(), want, got[r])
			}
		}
	})
}
