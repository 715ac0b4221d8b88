package derecho

import (
	"cmp"
	"maps"
	"slices"
)

// members derives who sends and receives in a subgroup from who did before, when endpoints have come or gone since. An endpoint concerns
// one channel: the others are not looked at, of which there may be thousands. In a Logged subgroup channels also come and go with
// their logs, and all are looked at.
func (c *catalogue) members(before *descriptor, eps []Endpoint) []memberDesc {
	sg := before.Subgroup
	if before.Mode == Logged {
		return c.allMembers(sg)
	}
	m := memberList{slices.Clone(before.Members)}
	var channels []ChannelID
	for _, ep := range eps {
		if ep.Writes.ID == sg {
			m.setWriter(ep.Node, ep.ID, c.find(ep.Node, ep.ID) != nil)
		}
		if ep.names(sg) {
			channels = append(channels, ep.Channel)
		}
	}
	slices.Sort(channels)
	for _, ch := range slices.Compact(channels) {
		m.setReceivers(ch, c.receivers(keptChannel{sg, ch}))
	}
	return slices.DeleteFunc(m.list, func(d memberDesc) bool { return !d.sends() && !d.receives() })
}

// allMembers derives the same from all endpoints.
func (c *catalogue) allMembers(sg SubgroupID) []memberDesc {
	waiting := c.unrecovered(sg)
	var m memberList
	var channels []ChannelID
	for _, e := range c.naming[sg] {
		if slices.Contains(waiting, e.Channel) {
			continue // before it is known what was sent of a channel nobody sends or receives
		}
		if e.Writes.ID == sg {
			m.setWriter(e.Node, e.ID, true)
		}
		channels = append(channels, e.Channel)
	}
	slices.Sort(channels)
	for _, ch := range slices.Compact(channels) {
		m.setReceivers(ch, c.receivers(keptChannel{sg, ch}))
	}
	return m.list
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

// memberList is a list of members, ascending, that is changed. What its elements list stays as it is: epochs share it.
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
	d := m.at(node)
	switch i, there := slices.BinarySearch(d.Writers, id); {
	case writes && !there:
		d.Writers = slices.Concat(d.Writers[:i], []EndpointID{id}, d.Writers[i:])
	case !writes && there:
		d.Writers = slices.Concat(d.Writers[:i], d.Writers[i+1:])
	}
}

func (m *memberList) setReceivers(ch ChannelID, keeps map[NodeID]bool) {
	for _, node := range slices.Sorted(maps.Keys(keeps)) {
		m.at(node)
	}
	for i := range m.list {
		d := &m.list[i]
		keep, receives := keeps[d.Node]
		switch i, there := d.position(ch); {
		case receives && !(there && d.Channels[i].Replica == keep):
			rest := d.Channels[i:]
			if there {
				rest = rest[1:]
			}
			d.Channels = slices.Concat(d.Channels[:i], []channelDesc{{ch, keep}}, rest)
		case !receives && there:
			d.Channels = slices.Concat(d.Channels[:i], d.Channels[i+1:])
		}
	}
}

// position is where a channel is among those that the member receives, or would be.
func (m *memberDesc) position(ch ChannelID) (i int, there bool) {
	return slices.BinarySearchFunc(m.Channels, ch, func(c channelDesc, ch ChannelID) int { return cmp.Compare(c.ID, ch) })
}
