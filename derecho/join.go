package derecho

import (
	"fmt"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/rdma"
)

func (m *machine) status() status {
	return status{alone: m.phase == alone, joined: m.phase == joined, members: uint32(len(m.view.members)), group: m.view.group}
}

func (m *machine) broadcastStatus() {
	// In a fixed order, here and wherever a map is walked: the same events must give the same acts.
	for _, id := range slices.Sorted(maps.Keys(m.links)) {
		m.send(id, msgStatus, m.status().encode())
	}
}

// decide lets a node that is alone join or found a group, as soon as it knows enough.
//
// It founds one only if everybody whom it found is alone too and has a larger ID. Two nodes that
// find each other are linked and know each other's status, and a node tells its status when it
// changes; so of several nodes that start together only the one with the smallest ID founds, and the
// others join it. Who is joining or leaving is in a group: it is waited for, until it can be asked
// or is gone.
func (m *machine) decide() {
	if m.phase != alone || !m.scanned {
		return
	}
	first := true
	var member NodeID
	for id := range m.links {
		s, known := m.statuses[id]
		if !known {
			return // its status is on the way
		}
		if s.joined && (member == 0 || id < member) {
			member = id
		}
		first = first && s.alone && m.id < id
	}
	switch {
	case member != 0:
		m.phase, m.sponsor = joining, member
		m.broadcastStatus()
		m.send(member, msgJoin, nil)
	case first:
		m.found()
	}
}

// found begins a group of one.
func (m *machine) found() {
	m.view = view{group: uint64(m.id), epoch: 1, members: []rdma.PeerInfo{m.self}}
	m.enter()
}

// welcomed begins with the view that a member sent.
func (m *machine) welcomed(w welcome) {
	if m.phase > joining {
		return
	}
	// Also if this node turned to another since: it was announced, and is waited for.
	m.view = view{group: w.group, epoch: w.epoch, members: w.members}
	if !m.view.has(m.id) {
		m.fail(fmt.Errorf("%w: welcomed to a view without this node", ErrPeerLost))
		return
	}
	for _, e := range w.endpoints {
		m.cat.endpoints = append(m.cat.endpoints, e)
		if e.Writes.ID != 0 {
			m.writers[writerKey{e.Node, e.ID}] = e.Channel
		}
	}
	for i, s := range w.subgroups {
		m.cat.subgroups[s.ID] = &descriptor{Subgroup: s.ID, Mode: s.Mode, Epoch: w.epochs[i], Members: m.cat.members(s.ID)}
	}
	for _, p := range w.members {
		if m.links[NodeID(p.ID)] == nil && p.ID != uint64(m.id) {
			m.fabric.Dial(p)
		}
	}
	m.enter()
	for _, p := range w.members {
		if p.ID != uint64(m.id) {
			m.h.NodeJoined(NodeID(p.ID))
		}
	}
	for _, e := range w.endpoints {
		m.h.EndpointAdded(e)
	}
}

// enter makes the node a member of the view that it has.
func (m *machine) enter() {
	m.phase = joined
	if m.installControl() {
		m.broadcastStatus()
		m.shell.hasJoined()
		if m.leaveOnEntry {
			m.leave()
		}
	}
}

// checkGroup notices that there are two groups in one domain: nodes of two hosts that could not reach
// each other when they started. They are not merged; the smaller one says so and ends.
func (m *machine) checkGroup(p rdma.PeerInfo, s status) {
	mine := uint32(len(m.view.members))
	if m.phase != joined || !s.joined || s.group == m.view.group || s.members < mine || s.members == mine && p.ID > uint64(m.id) {
		return
	}
	m.fail(fmt.Errorf("%w: %s (process %d on %s) belongs to another group of this domain, with %d members; this one has %d: start the hosts with DDS_PEERS naming each other, one before the other",
		ErrConfig, p.Name, p.PID, p.Host, s.members, mine))
}

// announceJoin tells the group of a node that asked for it.
func (m *machine) announceJoin(p rdma.PeerInfo) {
	if m.phase != joined {
		m.send(NodeID(p.ID), msgStatus, m.status().encode())
		return
	}
	w := writer{}
	w.u8(cmdJoin)
	w.peer(p)
	m.submit(w.b)
}

// installControl begins the epoch of the control subgroup that belongs to the view.
func (m *machine) installControl() bool {
	d := &descriptor{Mode: Ordered, Epoch: m.view.epoch}
	for _, p := range m.view.members {
		// Everybody writes and receives; the endpoint stands for the node itself.
		d.Members = append(d.Members, memberDesc{Node: NodeID(p.ID), Writers: []EndpointID{0}, Channels: []channelDesc{{ID: 0}}})
	}
	slices.SortFunc(d.Members, func(a, b memberDesc) int {
		if a.Node < b.Node {
			return -1
		}
		return 1
	})
	if err := m.group(0).install(d); err != nil {
		m.fail(err)
		return false
	}
	return true
}

// controlDrained: all commands of the view were executed, the same at every member; the next view
// follows from them.
func (m *machine) controlDrained() {
	change := m.change
	m.change = viewChange{}
	// Also at a node that leaves: another that leaves with it may be gone before it.
	m.view.members = slices.DeleteFunc(slices.Clone(m.view.members), func(p rdma.PeerInfo) bool {
		return slices.Contains(change.leaves, NodeID(p.ID))
	})
	next := view{group: m.view.group, epoch: m.view.epoch + 1, members: slices.Concat(m.view.members, change.joins)}
	for i, p := range change.joins {
		if change.sponsor[i] == m.id { // also if it leaves itself: nobody else will
			m.send(NodeID(p.ID), msgWelcome, m.welcome(next).encode())
		}
	}
	if slices.Contains(change.leaves, m.id) {
		m.departed = true
		return // tryLeave ends it when the others have drained too
	}
	m.view = next
	for _, id := range change.leaves {
		delete(m.unsent, id)
		m.h.NodeLeft(id)
	}
	for _, p := range change.joins {
		if m.links[NodeID(p.ID)] == nil {
			m.fabric.Dial(p)
		}
		m.h.NodeJoined(NodeID(p.ID))
	}
	if m.installControl() {
		m.broadcastStatus()
	}
}

func (m *machine) welcome(v view) welcome {
	w := welcome{group: v.group, epoch: v.epoch, members: v.members, endpoints: m.cat.endpoints}
	for _, id := range slices.Sorted(maps.Keys(m.cat.subgroups)) {
		d := m.cat.subgroups[id]
		w.subgroups = append(w.subgroups, Subgroup{ID: d.Subgroup, Mode: d.Mode})
		w.epochs = append(w.epochs, d.Epoch)
	}
	return w
}

// leave begins to leave: first the endpoints go.
func (m *machine) leave() {
	for _, id := range slices.Sorted(maps.Keys(m.own)) {
		if !m.own[id].removing {
			m.removeEndpoint(id, func(error) {})
		}
	}
	switch m.phase {
	case alone:
		m.phase = left
		m.shell.hasLeft()
		return
	case joining: // it was announced: to go now would look like a death to the others
		m.leaveOnEntry = true
		return
	case joined:
	default:
		return
	}
	m.phase = leaving
	m.broadcastStatus()
}

// tryLeave goes on with leaving as far as it can: the epochs of the data subgroups must be released
// before the leave is announced, and those of the control subgroup before the node is gone.
func (m *machine) tryLeave() bool {
	if m.phase != leaving || len(m.own) > 0 {
		return false
	}
	for _, g := range m.order {
		if g.id != 0 && len(g.epochs) > 0 {
			return false
		}
	}
	if !slices.Contains(m.change.leaves, m.id) && !m.announcedLeave {
		m.announcedLeave = true
		m.submit([]byte{cmdLeave})
		return true
	}
	if len(m.groups[0].epochs) > 0 {
		return false
	}
	m.phase = left
	m.shell.hasLeft()
	return true
}
