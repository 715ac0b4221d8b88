package derecho

import (
	"cmp"
	"maps"
	"slices"
)

// members derives who sends and receives in a subgroup from who did before, when endpoints have come or gone since. An endpoint concerns
// one channel: the others are not looked at, of which there may be thousands, except those that waited for logs, or do so now: nobody sends or
// receives them meanwhile.
func (c *catalogue) members(before *descriptor, eps []Endpoint, waited, waiting []ChannelID) []memberDesc {
	sg := before.Subgroup
	m := memberList{list: slices.Clone(before.Members)}
	channels := slices.Concat(waited, waiting)
	for _, ep := range eps {
		if ep.Writes.ID == sg && c.find(ep.Node, ep.ID) == nil {
			m.setWriter(ep.Node, ep.ID, false)
		}
		if ep.names(sg) {
			channels = append(channels, ep.Channel)
		}
	}
	slices.Sort(channels)
	for _, ch := range slices.Compact(channels) {
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

// memberList is a list of members, ascending, that is changed. What the elements list that it began with stays as it is: epochs share it.
type memberList struct {
	list []memberDesc
	// writers and channels of these members are copies.
	writers, channels []NodeID
}

// at is a member, which is put into the list if it is not there.
func (m *memberList) at(id NodeID) *memberDesc {
	i, there := slices.BinarySearchFunc(m.list, id, func(d memberDesc, id NodeID) int { return cmp.Compare(d.Node, id) })
	if !there {
		m.list = slices.Insert(m.list, i, memberDesc{Node: id})
	}
	return &m.list[i]
}

func (m *memberList) setWriter(node NodeID, id EndpointID, writes bool) {
	d := m.at(node)
	i, there := slices.BinarySearch(d.Writers, id)
	if writes == there {
		return
	}
	d.Writers = owned(&m.writers, node, d.Writers)
	if writes {
		d.Writers = slices.Insert(d.Writers, i, id)
	} else {
		d.Writers = slices.Delete(d.Writers, i, i+1)
	}
}

func (m *memberList) setReceivers(ch ChannelID, keeps map[NodeID]bool) {
	for _, node := range slices.Sorted(maps.Keys(keeps)) {
		m.at(node)
	}
	for i := range m.list {
		d := &m.list[i]
		keep, receives := keeps[d.Node]
		i, there := d.position(ch)
		if receives == there && (!there || d.Channels[i].Replica == keep) {
			continue
		}
		d.Channels = owned(&m.channels, d.Node, d.Channels)
		switch {
		case !receives:
			d.Channels = slices.Delete(d.Channels, i, i+1)
		case there:
			d.Channels[i].Replica = keep
		default:
			d.Channels = slices.Insert(d.Channels, i, channelDesc{ch, keep})
		}
	}
}

// owned is a list of a member that may be changed: a copy, with room for one more, unless it is one already.
func owned[E any](copies *[]NodeID, node NodeID, list []E) []E {
	if slices.Contains(*copies, node) {
		return list
	}
	*copies = append(*copies, node)
	return append(make([]E, 0, len(list)+1), list...)
}

// position is where a channel is among those that the member receives, or would be.
func (m *memberDesc) position(ch ChannelID) (i int, there bool) {
	return slices.BinarySearchFunc(m.Channels, ch, func(c channelDesc, ch ChannelID) int { return cmp.Compare(c.ID, ch) })
}
