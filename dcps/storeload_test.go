package dcps

import (
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// aWriter is the endpoint of a TRANSIENT writer.
func aWriter(node derecho.NodeID, change func(*qos.DataWriter)) *endpoint {
	ann := announced()[0]
	ann.writer = durably(qos.DurabilityTransient, change)
	return &endpoint{key: endpointKey{node, 1}, info: ann.encode(), ann: ann}
}

// sending numbers messages.
type sending struct{ seq uint64 }

func (s *sending) message(kind derecho.Kind, flags uint8, at int64) *derecho.Message {
	s.seq++
	return &derecho.Message{Header: derecho.Header{Kind: kind, WriterSeq: s.seq, Flags: flags, Timestamp: at}, Seq: s.seq, Epoch: 1,
		Payload: []byte{byte(s.seq)}}
}

// Who takes over a state keeps what who gave it keeps, whichever writers had the last word on an instance meanwhile, and
// whatever their limits.
func TestLoadedStateIsWhatWasSaved(t *testing.T) {
	same := func(t *testing.T, s *store) {
		t.Helper()
		got, err := loadStore(s.save())
		require.NoError(t, err)
		require.Equal(t, s.count, got.count)
		require.Equal(t, s.save(), got.save())
	}
	t.Run("an intermediate writer with less depth", func(t *testing.T) {
		s, m := newStore(), sending{}
		depth := func(n int32) func(*qos.DataWriter) { return func(q *qos.DataWriter) { q.History.Depth = n } }
		first, second, third := aWriter(1, depth(5)), aWriter(2, depth(1)), aWriter(3, depth(10))
		for range 5 {
			s.add(first, m.message(kindData, 0, 0), instanceHandle(1))
		}
		s.add(second, m.message(kindData, 0, 0), instanceHandle(1))
		s.add(third, m.message(kindData, 0, 0), instanceHandle(1))
		s.end(first.key)
		require.Equal(t, 7, s.count)
		same(t, s)
	})
	t.Run("a writer with less room", func(t *testing.T) {
		s, m := newStore(), sending{}
		wide := aWriter(1, func(q *qos.DataWriter) { q.History.Depth = 5 })
		narrow := aWriter(2, func(q *qos.DataWriter) { q.DurabilityService.MaxSamples = 2 })
		s.add(narrow, m.message(kindData, 0, 0), instanceHandle(1))
		for range 5 {
			s.add(wide, m.message(kindData, 0, 0), instanceHandle(2))
		}
		s.add(narrow, m.message(kindData, 0, 0), instanceHandle(1)) // it replaces the one before
		require.Equal(t, 6, s.count)
		same(t, s)
	})
}

// Who disposed an instance counts for when it is forgotten, and for whom the disposal is: also for who takes over the state, and
// when another writer has the latest sample, and that of the disposal has ended.
func TestLoadedStateHasWhoDisposed(t *testing.T) {
	s, m := newStore(), sending{}
	stays, goes := aWriter(1, keepAll), aWriter(2, func(q *qos.DataWriter) { q.DurabilityService.ServiceCleanupDelay = 10 })
	s.add(stays, m.message(kindData, 0, 0), instanceHandle(1))
	s.add(goes, m.message(kindDispose, 0, 1), instanceHandle(1))
	s.end(goes.key)
	got, err := loadStore(s.save())
	require.NoError(t, err)
	for _, s := range []*store{s, got} {
		s.add(stays, m.message(kindUnregister, 0, 2), instanceHandle(1))
		by := s.instances[instanceHandle(1)].disposed
		require.Equal(t, goes.key, by.w.key)
		require.Equal(t, int64(12), by.end)
	}
	require.Equal(t, s.save(), got.save())
}

// drawnHistory draws what comes of some writers.
type drawnHistory struct {
	sending
	writers []*endpoint
	gone    map[*endpoint]bool
}

func drawWriters(t *rapid.T, change func(*qos.DataWriter)) *drawnHistory {
	d := &drawnHistory{gone: make(map[*endpoint]bool)}
	for i := range 3 {
		d.writers = append(d.writers, aWriter(derecho.NodeID(i+1), func(q *qos.DataWriter) {
			if rapid.Bool().Draw(t, "keep all") {
				keepAll(q)
			} else {
				q.History.Depth = int32(rapid.IntRange(1, 4).Draw(t, "depth"))
			}
			q.DurabilityService.MaxSamples = int32(rapid.SampledFrom([]int{qos.LengthUnlimited, 3, 6}).Draw(t, "max_samples"))
			q.DurabilityService.ServiceCleanupDelay = rapid.SampledFrom([]time.Duration{0, 10, 25}).Draw(t, "service_cleanup_delay")
			q.Lifespan.Duration = rapid.SampledFrom([]time.Duration{qos.Infinite, 5, 20}).Draw(t, "lifespan")
			change(q)
		}))
	}
	return d
}

// message draws one, of one of so many instances; false if its writer has gone.
func (d *drawnHistory) message(t *rapid.T, instances int32) (w *endpoint, m *derecho.Message, h InstanceHandle, ok bool) {
	w = rapid.SampledFrom(d.writers).Draw(t, "writer")
	if d.gone[w] {
		return nil, nil, h, false
	}
	kind, flags := kindData, uint8(0)
	switch rapid.IntRange(0, 12).Draw(t, "what") {
	case 0:
		kind = kindDispose
	case 1:
		kind = kindUnregister
	case 2, 3, 4:
		flags = flagInSet | uint8(rapid.SampledFrom([]int{0, flagSetBegin}).Draw(t, "begins"))
	case 5:
		kind = kindSetEnd
	case 6:
		kind = kindNothing
		d.gone[w] = true
	}
	at := int64(d.seq) + rapid.Int64Range(-10, 5).Draw(t, "at")
	h = instanceHandle(rapid.Int32Range(1, instances).Draw(t, "instance"))
	return w, d.sending.message(kind, flags, at), h, true
}

// follow has a history follow it.
func (d *drawnHistory) follow(s *store, w *endpoint, m *derecho.Message, h InstanceHandle) {
	s.add(w, m, h)
	if d.gone[w] {
		s.end(w.key)
	}
}

// Whatever was kept, who takes over the state goes on like who gave it.
func TestLoadedStateGoesOnAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := newStore(), drawWriters(t, func(*qos.DataWriter) {})
		var loaded *store
		for range rapid.IntRange(1, 60).Draw(t, "messages") {
			if loaded == nil && rapid.IntRange(0, 9).Draw(t, "take over") == 0 {
				var err error
				loaded, err = loadStore(s.save())
				require.NoError(t, err)
			}
			w, m, h, ok := d.message(t, 3)
			if !ok {
				continue
			}
			for _, s := range []*store{s, loaded} {
				if s != nil {
					d.follow(s, w, m, h)
				}
			}
			if loaded != nil {
				require.Equal(t, s.count, loaded.count)
				require.Equal(t, s.save(), loaded.save())
			}
			n := 0
			for _, in := range s.instances {
				require.NotEmpty(t, in.lines)
				for _, l := range in.lines {
					n += l.len()
				}
			}
			require.Equal(t, n, s.count)
		}
	})
}

// To keep one sample more costs the same however many are kept, whoever has written the instance.
func TestKeepingAllCostsTheSame(t *testing.T) {
	took := func(n int) time.Duration {
		s, m := newStore(), sending{}
		first, second := aWriter(1, keepAll), aWriter(2, keepAll)
		s.add(first, m.message(kindData, 0, 0), instanceHandle(1))
		begun := time.Now()
		for range n {
			s.add(second, m.message(kindData, 0, 0), instanceHandle(1))
		}
		return time.Since(begun)
	}
	took(1000)
	few, many := took(30_000), min(took(300_000), took(300_000))
	require.Less(t, many, 40*few, "10 times as many")
}
