package derecho

import (
	"cmp"
	"slices"
)

// memberDesc is a member of an epoch: what it sends and what it receives.
type memberDesc struct {
	Node     NodeID
	Writers  []EndpointID // ascending; not empty for a sender
	Channels []channelDesc
}

// channelDesc is a channel that a member receives, and whether it keeps its state.
type channelDesc struct {
	ID      ChannelID
	Replica bool
}

// descriptor is everything that members must agree on about an epoch.
type descriptor struct {
	Subgroup  SubgroupID
	Mode      Mode
	Epoch     uint32
	Members   []memberDesc // ascending by node
	Transfers []transfer
}

// transfer says that From hands the state of a channel, as of the end of the epoch before, to To.
type transfer struct {
	From, To NodeID
	Channel  ChannelID
}

func (m *memberDesc) sends() bool    { return len(m.Writers) > 0 }
func (m *memberDesc) receives() bool { return len(m.Channels) > 0 }

func (d *descriptor) member(id NodeID) int {
	return slices.IndexFunc(d.Members, func(m memberDesc) bool { return m.Node == id })
}

// channels lists all channels of the epoch, ascending: the position is the bit in the hold cell.
func (d *descriptor) channels() []ChannelID {
	var all []ChannelID
	for _, m := range d.Members {
		for _, c := range m.Channels {
			all = append(all, c.ID)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func sameMembers(a, b []memberDesc) bool {
	return slices.EqualFunc(a, b, func(x, y memberDesc) bool {
		return x.Node == y.Node && slices.Equal(x.Writers, y.Writers) && slices.Equal(x.Channels, y.Channels)
	})
}

// catalogue is the replicated state of the control subgroup: which endpoints there are, and which
// epoch each subgroup is in. It is a value that all members fold from the same commands.
type catalogue struct {
	endpoints []Endpoint // in the order of their announcement
	subgroups map[SubgroupID]*descriptor
}

func newCatalogue() *catalogue { return &catalogue{subgroups: map[SubgroupID]*descriptor{}} }

func (c *catalogue) find(node NodeID, id EndpointID) int {
	return slices.IndexFunc(c.endpoints, func(e Endpoint) bool { return e.Node == node && e.ID == id })
}

// add announces an endpoint and returns the subgroups that thereby change, as new descriptors.
func (c *catalogue) add(ep Endpoint) []*descriptor {
	if c.find(ep.Node, ep.ID) >= 0 {
		return nil
	}
	c.endpoints = append(c.endpoints, ep)
	return c.refresh(ep)
}

// remove withdraws an endpoint. ok is false if there is none.
func (c *catalogue) remove(node NodeID, id EndpointID) (ep Endpoint, changed []*descriptor, ok bool) {
	i := c.find(node, id)
	if i < 0 {
		return ep, nil, false
	}
	ep = c.endpoints[i]
	c.endpoints = slices.Delete(c.endpoints, i, i+1)
	return ep, c.refresh(ep), true
}

// refresh computes anew the subgroups that ep names.
func (c *catalogue) refresh(ep Endpoint) (changed []*descriptor) {
	named := slices.Clone(ep.Reads)
	if ep.Writes.ID != 0 {
		named = append(named, ep.Writes)
	}
	slices.SortFunc(named, func(a, b Subgroup) int { return cmp.Compare(a.ID, b.ID) })
	named = slices.CompactFunc(named, func(a, b Subgroup) bool { return a.ID == b.ID })
	for _, sg := range named {
		before := c.subgroups[sg.ID]
		if before == nil {
			before = &descriptor{Subgroup: sg.ID, Mode: sg.Mode}
		}
		members := c.members(sg.ID)
		if sameMembers(before.Members, members) {
			continue
		}
		next := &descriptor{Subgroup: sg.ID, Mode: before.Mode, Epoch: before.Epoch + 1, Members: members}
		next.Transfers = transfers(before.Members, members)
		c.subgroups[sg.ID] = next
		changed = append(changed, next)
	}
	return changed
}

// members derives who sends and receives in a subgroup from the endpoints.
func (c *catalogue) members(sg SubgroupID) []memberDesc {
	byNode := map[NodeID]*memberDesc{}
	member := func(id NodeID) *memberDesc {
		if byNode[id] == nil {
			byNode[id] = &memberDesc{Node: id}
		}
		return byNode[id]
	}
	written := map[ChannelID]bool{}
	for _, e := range c.endpoints {
		if e.Writes.ID == sg {
			m := member(e.Node)
			m.Writers = append(m.Writers, e.ID)
			written[e.Channel] = true
		}
	}
	for _, e := range c.endpoints {
		reads := slices.ContainsFunc(e.Reads, func(s Subgroup) bool { return s.ID == sg })
		if !reads || !written[e.Channel] && !e.Replica {
			continue
		}
		m := member(e.Node)
		i := slices.IndexFunc(m.Channels, func(d channelDesc) bool { return d.ID == e.Channel })
		if i < 0 {
			m.Channels = append(m.Channels, channelDesc{e.Channel, e.Replica})
		} else if e.Replica {
			m.Channels[i].Replica = true
		}
	}
	members := make([]memberDesc, 0, len(byNode))
	for _, m := range byNode {
		slices.Sort(m.Writers)
		slices.SortFunc(m.Channels, func(a, b channelDesc) int { return cmp.Compare(a.ID, b.ID) })
		members = append(members, *m)
	}
	slices.SortFunc(members, func(a, b memberDesc) int { return cmp.Compare(a.Node, b.Node) })
	return members
}

// transfers finds the replicas that are new, and for each the first that there was before.
func transfers(before, after []memberDesc) (ts []transfer) {
	replica := func(members []memberDesc, node NodeID, ch ChannelID) bool {
		return slices.ContainsFunc(members, func(m memberDesc) bool {
			return m.Node == node && slices.Contains(m.Channels, channelDesc{ch, true})
		})
	}
	for _, m := range after {
		for _, c := range m.Channels {
			if !c.Replica || replica(before, m.Node, c.ID) {
				continue
			}
			source := slices.IndexFunc(before, func(b memberDesc) bool {
				return slices.Contains(b.Channels, channelDesc{c.ID, true})
			})
			if source >= 0 {
				ts = append(ts, transfer{From: before[source].Node, To: m.Node, Channel: c.ID})
			}
		}
	}
	return ts
}
