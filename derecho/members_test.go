package derecho

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// allMembers is a naive twin of members: it derives them from all endpoints.
func (c *catalogue) allMembers(sg SubgroupID) []memberDesc {
	waiting := c.unrecovered(sg)
	var m memberList
	for e := range c.all.All() {
		if !e.names(sg) || slices.Contains(waiting, e.Channel) {
			continue
		}
		if e.Writes.ID == sg {
			m.setWriter(e.Node, e.ID, true)
		}
		m.setReceivers(e.Channel, c.receivers(keptChannel{sg, e.Channel}))
	}
	return m.list
}

// membersByNode is a naive twin of the catalogue: it derives who sends and receives in a subgroup from all endpoints.
func membersByNode(eps []*Endpoint, sg SubgroupID) map[NodeID]map[ChannelID]bool {
	written := map[ChannelID]bool{}
	for _, e := range eps {
		written[e.Channel] = written[e.Channel] || e.Writes.ID == sg
	}
	received := map[NodeID]map[ChannelID]bool{}
	for _, e := range eps {
		for _, s := range e.Reads {
			if s.ID != sg || !written[e.Channel] && !e.Replica {
				continue
			}
			if received[e.Node] == nil {
				received[e.Node] = map[ChannelID]bool{}
			}
			received[e.Node][e.Channel] = received[e.Node][e.Channel] || e.Replica
		}
	}
	return received
}

// However endpoints come, go and fail, by ones and by many, the members that follow from what changed are those that
// follow from all endpoints, and an epoch that has begun stays what it was.
func TestMembersFollowFromWhatChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	c := newCatalogue()
	id := EndpointID(0)
	make1 := func() Endpoint {
		id++
		e := Endpoint{Node: NodeID(1 + random.IntN(4)), ID: id, Channel: ChannelID(1 + random.IntN(6)), Replica: random.IntN(4) == 0}
		for sg := SubgroupID(1); sg <= 2; sg++ {
			if random.IntN(2) == 0 {
				e.Reads = append(e.Reads, Subgroup{sg, Ordered})
			}
		}
		if random.IntN(2) == 0 {
			e.Writes = Subgroup{SubgroupID(1 + random.IntN(2)), Ordered}
		}
		return e
	}
	begun := map[*descriptor][]memberDesc{}
	epochs := 0
	for range 4000 {
		var changed []*descriptor
		switch pick := random.IntN(100); {
		case pick < 50:
			eps := make([]Endpoint, 1+random.IntN(3))
			for i := range eps {
				eps[i] = make1()
			}
			changed = c.add(eps...)
		case pick < 99 && c.all.Len() > 0:
			for range min(2, c.all.Len()) {
				e := slices.Collect(c.all.All())[random.IntN(c.all.Len())]
				_, more, _, ok := c.remove(e.Node, e.ID)
				require.True(t, ok)
				changed = append(changed, more...)
			}
		case pick == 99:
			node := NodeID(1 + random.IntN(4))
			changed, _ = c.removeNodes(func(id NodeID) bool { return id == node })
		}
		epochs += len(changed)
		for d, was := range begun {
			require.True(t, sameMembers(was, d.Members))
		}
		clear(begun)
		for _, d := range changed {
			begun[d] = cloneMembers(d.Members)
		}
		for sg := SubgroupID(1); sg <= 2; sg++ {
			d := c.subgroups[sg]
			if d == nil {
				continue
			}
			require.True(t, sameMembers(c.allMembers(sg), d.Members))
			received, writers := map[NodeID]map[ChannelID]bool{}, 0
			for _, m := range d.Members {
				for ch, keeps := range m.Channels.all() {
					if received[m.Node] == nil {
						received[m.Node] = map[ChannelID]bool{}
					}
					received[m.Node][ch] = keeps
				}
				for w := range m.Writers.all() {
					writers++
					require.Equal(t, sg, c.find(m.Node, w).Writes.ID)
				}
			}
			require.Equal(t, membersByNode(slices.Collect(c.all.All()), sg), received)
			for e := range c.all.All() {
				if e.Writes.ID == sg {
					writers--
				}
			}
			require.Zero(t, writers)
		}
	}
	require.Greater(t, epochs, 1000)
}

func cloneMembers(list []memberDesc) []memberDesc {
	clone := append([]memberDesc{}, list...)
	for i, m := range list {
		clone[i].Writers, clone[i].Channels = tree[EndpointID, struct{}]{}, tree[ChannelID, bool]{}
		for w := range m.Writers.all() {
			clone[i].Writers = clone[i].Writers.with(w, struct{}{})
		}
		for ch, keeps := range m.Channels.all() {
			clone[i].Channels = clone[i].Channels.with(ch, keeps)
		}
	}
	return clone
}

// The same holds where channels wait for logs, begin with some of them, and begin anew when more come.
func TestMembersFollowFromLogs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	c := newCatalogue()
	sg := Subgroup{1, Logged}
	logOf := func(node NodeID) uint64 { return 0x10 + uint64(node) }
	waited, begun := 0, 0
	id := EndpointID(0)
	for range 20000 {
		node, ch := NodeID(1+random.IntN(4)), ChannelID(1+random.IntN(5))
		switch pick := random.IntN(100); {
		case pick < 40:
			id++
			e := Endpoint{Node: node, ID: id, Channel: ch}
			if random.IntN(3) > 0 {
				e.Reads = []Subgroup{sg}
			}
			if random.IntN(3) == 0 || e.Reads == nil {
				e.Writes = sg
			}
			if e.Reads != nil && random.IntN(2) == 0 {
				log := &LogState{ID: logOf(node)}
				if random.IntN(2) == 0 { // it was with others
					log.Epoch, log.Begun, log.Seq, log.History = 1+uint32(random.IntN(3)), 3, uint64(random.IntN(9)), 0x11
					log.Written = random.IntN(2) == 0
					for other := NodeID(1); other <= 4; other++ {
						if other == node || random.IntN(2) == 0 {
							log.Logs = append(log.Logs, logOf(other))
						}
					}
				}
				e.Replica, e.Log = true, log
			}
			if _, foreign := c.foreign(&e); !foreign {
				c.add(e)
			}
		case pick < 80 && c.all.Len() > 0:
			e := slices.Collect(c.all.All())[random.IntN(c.all.Len())]
			c.remove(e.Node, e.ID)
		case pick < 84:
			c.removeNodes(func(id NodeID) bool { return id == node })
		case pick < 90:
			for r, a := range c.loading {
				c.loaded(r, a.epoch)
				break
			}
		case pick < 95:
			for r, a := range c.loading {
				c.lacks(r, a.epoch)
				break
			}
		default:
			c.hurry(keptChannel{sg.ID, ch})
		}
		waited += len(c.unrecovered(sg.ID))
		if d := c.subgroups[sg.ID]; d != nil {
			require.True(t, sameMembers(c.allMembers(sg.ID), d.Members), "%v, and from all endpoints %v", d.Members, c.allMembers(sg.ID))
			begun = int(d.Epoch)
		}
	}
	t.Logf("%d epochs; on average %.1f of 5 channels wait for logs", begun, float64(waited)/20000)
	require.Greater(t, begun, 5000)
	require.Greater(t, waited, 2000)
}

// What an endpoint costs the catalogue grows with the logarithm of how many there are, in objects and in bytes.
func TestEndpointAmongMany(t *testing.T) {
	for _, mode := range []Mode{Ordered, Logged} {
		endpointAmongMany(t, Subgroup{1, mode})
	}
}

func endpointAmongMany(t *testing.T, sg Subgroup) {
	cost := func(n int) (objects, bytes float64) {
		c := newCatalogue()
		for i := range n {
			c.add(Endpoint{Node: NodeID(1 + i%2), ID: EndpointID(i + 1), Channel: ChannelID(i/4 + 1), Writes: sg, Reads: []Subgroup{sg}})
		}
		const times = 200
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range times {
			e := Endpoint{Node: 1, ID: EndpointID(n + 1 + i), Channel: ChannelID(n + i), Writes: sg, Reads: []Subgroup{sg}}
			if len(c.add(e)) != 1 {
				t.Fatal("nothing changed")
			}
			if _, changed, _, ok := c.remove(e.Node, e.ID); !ok || len(changed) != 1 {
				t.Fatal("nothing changed")
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / times, float64(after.TotalAlloc-before.TotalAlloc) / times
	}
	fewObjects, fewBytes := cost(1000)
	manyObjects, manyBytes := cost(16000)
	t.Logf("mode %d: %.0f objects of %.0f bytes with 1,000 endpoints of the subgroup, %.0f of %.0f with 16,000", sg.Mode, fewObjects, fewBytes, manyObjects, manyBytes)
	require.Less(t, manyObjects, 1.5*fewObjects)
	require.Less(t, manyBytes, 1.5*fewBytes)
}
