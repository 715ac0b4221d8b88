package derecho

import (
	"cmp"
	"maps"
	"slices"
)

// members derives who sends and receives in a subgroup from who did before, when endpoints have come or gone since. An
// endpoint concerns one channel: the others are not looked at, of which there may be thousands, except those that
// waited for logs, or do so now: nobody sends or receives them meanwhile.
func (c *catalogue) members(before *descriptor, eps []Endpoint, waited, waiting []ChannelID) []memberDesc {
	sg := before.Subgroup
	m := memberList{list: slices.Clone(before.Members)}
	for _, ep := range eps {
		if ep.Writes.ID == sg && c.find(ep.Node, ep.ID) == nil {
			m.setWriter(ep.Node, ep.ID, false)
		}
	}
	for _, ch := range touched(sg, eps, waited, waiting) {
		k := keptChannel{sg, ch}
		_, waits := slices.BinarySearch(waiting, ch)
		for _, e := range c.onChannel[k] {
			if e.Writes.ID == sg {
				m.setWriter(e.Node, e.ID, !waits)
			}
		}
		if waits {
			m.setReceivers(ch, nil) // before it is known what was sent of a channel nobody sends or receives
		} else {
			m.setReceivers(ch, c.receivers(k))
		}
	}
	return slices.DeleteFunc(m.list, func(d memberDesc) bool { return !d.sends() && !d.receives() })
}

// receivers are the nodes that receive a channel, and whether they keep its state. One that nobody sends or keeps has none.
func (c *catalogue) receivers(k keptChannel) map[NodeID]bool {
	written := slices.ContainsFunc(c.onChannel[k], func(e *Endpoint) bool { return e.Writes.ID == k.subgroup })
	keeps := map[NodeID]bool{}
	for _, e := range c.onChannel[k] {
		reads := slices.ContainsFunc(e.Reads, func(s Subgroup) bool { return s.ID == k.subgroup })
		if reads && (written || e.Replica) {
			keeps[e.Node] = keeps[e.Node] || e.Replica
		}
	}
	return keeps
}

// memberList is a list of members, ascending, that is changed. What the elements hold is shared with the list that it began with.
type memberList struct{ list []memberDesc }

// at is a member, which is put into the list if it is not there.
func (m *memberList) at(id NodeID) *memberDesc {
	i, there := slices.BinarySearchFunc(m.list, id, func(d memberDesc, id NodeID) int { return cmp.Compare(d.Node, id) })
	if !there {
		m.list = slices.Insert(m.list, i, memberDesc{Node: id})
	}
	return &m.list[i]
}

func (m *memberList) setWriter(node NodeID, id EndpointID, writes bool) {
	if d := m.at(node); writes {
		d.Writers = d.Writers.with(id, struct{}{})
	} else {
		d.Writers = d.Writers.without(id)
	}
}

func (m *memberList) setReceivers(ch ChannelID, keeps map[NodeID]bool) {
	for _, node := range slices.Sorted(maps.Keys(keeps)) {
		m.at(node)
	}
	for i := range m.list {
		d := &m.list[i]
		if keep, receives := keeps[d.Node]; receives {
			d.Channels = d.Channels.with(ch, keep)
		} else {
			d.Channels = d.Channels.without(ch)
		}
	}
}
