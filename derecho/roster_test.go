package derecho

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// However endpoints come and go, what the roster finds by subgroup and channel is what a look at all of them finds, in
// the same order.
func TestRosterFindsWhatIsThere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := newRoster()
	var there []*Endpoint // in the order of announcement
	filter := func(keep func(*Endpoint) bool) (found []*Endpoint) {
		for _, e := range there {
			if keep(e) {
				found = append(found, e)
			}
		}
		return found
	}
	for i := range 3000 {
		switch pick := random.IntN(100); {
		case pick < 55:
			e := &Endpoint{Node: NodeID(1 + random.IntN(4)), ID: EndpointID(i + 1), Channel: ChannelID(random.IntN(5))}
			if random.IntN(2) == 0 {
				e.Log = &LogState{ID: uint64(e.Node)}
			}
			for range random.IntN(3) {
				e.Reads = append(e.Reads, Subgroup{SubgroupID(1 + random.IntN(3)), Ordered})
			}
			if random.IntN(2) == 0 {
				e.Writes = Subgroup{SubgroupID(1 + random.IntN(3)), Ordered} // perhaps one that it reads, too
			}
			r.insert(e)
			there = append(there, e)
		case pick < 99 && len(there) > 0:
			e := there[random.IntN(len(there))]
			r.delete(e)
			there = slices.DeleteFunc(there, func(x *Endpoint) bool { return x == e })
		case pick == 99:
			node := NodeID(1 + random.IntN(4))
			r.deleteNodes(func(id NodeID) bool { return id == node })
			there = slices.DeleteFunc(there, func(e *Endpoint) bool { return e.Node == node })
		}
		require.True(t, slices.Equal(there, slices.Collect(r.all.All())))
		require.Equal(t, len(there), r.all.Len())
		for sg := range SubgroupID(5) {
			require.Equal(t, filter(func(e *Endpoint) bool { return sg != 0 && e.Log != nil && e.names(sg) }), r.storing[sg])
			for ch := range ChannelID(6) {
				k := keptChannel{sg, ch}
				require.Equal(t, filter(func(e *Endpoint) bool { return sg != 0 && e.names(sg) && e.Channel == ch }), r.onChannel[k])
			}
		}
	}
	for _, e := range there {
		require.Same(t, e, r.find(e.Node, e.ID))
		r.delete(e)
		require.Nil(t, r.find(e.Node, e.ID))
	}
	require.Zero(t, r.all.Len())
	require.Empty(t, r.byID)
	require.Empty(t, r.storing)
	require.Empty(t, r.onLog)
	require.Empty(t, r.onChannel)
}
