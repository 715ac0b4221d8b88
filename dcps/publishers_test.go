package dcps

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// The sets of several Publishers that become whole at one moment are listed one after the other, each in its order.
//
// Clauses: 2.2.2.5.2.10
func TestDDS14_2_2_2_5_2_10_SetsOfSeveralPublishers(t *testing.T) {
	virtually(t, func(t *testing.T, d *domain) {
		p := present(qos.PresentationGroup, true, true)
		s := newStage(t, d, p, "A", "B")
		other := newEmptyStage(t, d, p)
		other.addWriters(t, []string{"A", "B"})
		synctest.Wait()
		b, node := d.bus, d.bus.of(s.b)
		var kept []derecho.Message
		b.mu.Lock()
		b.lose = func(m *derecho.Message, to *busNode) bool {
			of := to == node && (m.Writer == s.writers[1].untyped().id && m.Sender == b.of(s.a).id ||
				m.Writer == other.writers[1].untyped().id && m.Sender == b.of(other.a).id)
			if of {
				kept = append(kept, m.With(slices.Clone(m.Payload)))
			}
			return of
		}
		b.mu.Unlock()
		for k, s := range []*stage{s, other} {
			s.begin(t)
			for i := range int32(8) {
				write(t, s.writers[i%2], 1, int32(10*k)+i)
			}
			s.end(t)
		}
		synctest.Wait()
		require.Empty(t, s.list(t))
		b.mu.Lock()
		b.lose = nil
		node.do(func() { node.h.Deliver(s.writers[1].untyped().at.sg, kept) })
		b.mu.Unlock()
		require.Equal(t, "A0 B1 A2 B3 A4 B5 A6 B7 A10 B11 A12 B13 A14 B15 A16 B17", s.listed(t))
	})
}
