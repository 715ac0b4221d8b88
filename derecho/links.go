package derecho

import (
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// What becomes of the group when a link to another node comes up or ends, and of the rows that were asked for over it.

// loss is how the link to a member ended.
type loss struct {
	died bool      // the kernel certifies the death of its process
	link rdma.Link // of one that lives, for all that is known, and is a member; else nil
}

func (m *machine) linkUp(l rdma.Link) {
	id := NodeID(l.Peer().ID)
	if shares := rdma.Aliased(l.Peer(), m.self); l.Aliased() != shares {
		// All members conclude from who shares memory what need not be acknowledged, and whose death is certain.
		l.Drop(fmt.Errorf("%w: %s on %s shares memory: %t, the link to it: %t", ErrPeerLost, l.Peer().Name, l.Peer().Host, shares, l.Aliased()))
		return
	}
	m.links[id] = l
	m.heard[id] = m.now
	if m.expelled[id] {
		m.send(id, msgRemoved, m.removal())
		m.send(id, msgStatus, m.status().encode()) // it may be in another group by now
		return
	}
	if !m.stale(l) {
		delete(m.lost, id)
	}
	delete(m.ending, id)
	m.send(id, msgStatus, m.status().encode())
	waiting := m.unsent[id]
	delete(m.unsent, id)
	for _, u := range waiting {
		m.send(id, u.kind, u.b)
	}
	m.pushStates(id)
	for _, g := range m.order {
		for _, e := range g.epochs {
			if e.desc.member(id) >= 0 {
				e.openRows()
			}
		}
	}
}

// stale: what this node reads of a peer are copies that another link has brought up to date, which has ended. Nothing follows
// in them. So the peer is as good as silent as long as they are needed, also in a later view, in which it is heard.
func (m *machine) stale(l rdma.Link) bool {
	id := NodeID(l.Peer().ID)
	return !l.Aliased() && !mutant.Is("stale-heard") && slices.ContainsFunc(m.order, func(g *subgroup) bool {
		return slices.ContainsFunc(g.epochs, func(e *epoch) bool {
			i := e.desc.member(id)
			return i >= 0 && !e.gone[i] && e.table.Row(i).Open()
		})
	})
}

// severed: it is so of a member.
func (m *machine) severed(id NodeID) bool {
	l, lost := m.lost[id]
	return lost && !l.died && m.links[id] != nil
}

// linkDown: the peer is gone for certain, or one end has given up the other. A network that is only silent
// does not end a link; the heartbeats tell.
func (m *machine) linkDown(l rdma.Link, died bool) {
	id := NodeID(l.Peer().ID)
	if m.links[id] != l {
		return
	}
	delete(m.links, id)
	delete(m.ending, id)
	delete(m.statuses, id)
	delete(m.heard, id)
	delete(m.parts, id)
	delete(m.incoming, id)
	m.rewindStates(id)
	for k := range m.opens {
		if k.node == id { // asked for, and not answered any more
			delete(m.opens, k)
			delete(m.unproven, k)
		}
	}
	if m.phase == joining && m.sponsor == id {
		m.phase = alone
		m.broadcastStatus()
	}
	if m.phase >= joined && !m.expelled[id] {
		how := loss{died: died}
		if !died && m.view.has(id) {
			how.link = l
		}
		m.lose(id, how)
	}
	m.decide()
	m.tellWait()
}

// lose takes note that there is no link to a node. One that has ended is no death: to others its ends may be there, and
// only one of the two may have to go, or none if there is another link soon.
func (m *machine) lose(id NodeID, how loss) {
	m.lost[id] = how
	for _, e := range m.groups[0].epochs {
		i := e.desc.member(id)
		switch {
		case i < 0 || e.gone[i]:
		case how.died || mutant.Is("link-certain"):
			e.agree.died(i)
		default:
			e.agree.dying(i)
		}
	}
}

// dying: the peer is as good as lost, but its death is not certain. What the members agree on meanwhile is what they would if
// it was only silent: it may store and publish on.
func (m *machine) dying(l rdma.Link) {
	id := NodeID(l.Peer().ID)
	if m.links[id] != l {
		return
	}
	if member := m.phase >= joined && m.view.has(id); !member && !l.Aliased() {
		// Nobody is going to agree that it failed. If it lives it makes a new link.
		l.Drop(fmt.Errorf("%w: %s refuses connections", ErrPeerLost, l.Peer().Name))
		return
	}
	if m.phase < joined || m.expelled[id] {
		return
	}
	m.ending[id] = true
	for _, e := range m.groups[0].epochs {
		if i := e.desc.member(id); i >= 0 && !e.gone[i] {
			e.agree.dying(i)
		}
	}
}

// resumed: the peer was not dying after all. Its heartbeats tell the rest.
func (m *machine) resumed(l rdma.Link) {
	if id := NodeID(l.Peer().ID); m.links[id] == l && !mutant.Is("refusal-final") {
		delete(m.ending, id)
	}
}

// answer is what came of asking for a row.
type answer struct {
	row *rdma.Region
	err error
}

// opened takes the row of a member. Epochs of two groups may have one number, and who was to join this one may have
// joined another instead, with the same incarnation. So the row is taken once the member tells that it is in this
// group, or about to be: before it is in another it tells that it is not.
func (m *machine) opened(l rdma.Link, key rdma.Key, r *rdma.Region, err error) {
	k := openKey{NodeID(l.Peer().ID), key}
	if m.opens[k] == nil {
		return
	}
	if m.unproven[k] = (answer{r, err}); m.near(k.node) {
		m.take(l, k)
	}
}

// near: a node has told that it is in the group, or asks to be let in.
func (m *machine) near(id NodeID) bool {
	s := m.statuses[id]
	return s.group == m.view.group || s.group == 0 && s.asks == m.view.group
}

// proven takes the rows of a member that is near.
func (m *machine) proven(l rdma.Link) {
	for k := range m.unproven {
		if k.node == NodeID(l.Peer().ID) {
			m.take(l, k)
		}
	}
}

func (m *machine) take(l rdma.Link, k openKey) {
	e, a := m.opens[k], m.unproven[k]
	delete(m.opens, k)
	delete(m.unproven, k)
	if a.err != nil {
		l.Drop(fmt.Errorf("%w: the row of %s can not be opened: %w", ErrPeerLost, l.Peer().Name, a.err))
		return
	}
	e.rowOpened(k.node, a.row)
}

// refused: somebody who was found runs with another configuration. That concerns who looks for the group, for the first time, and
// finds nobody else (decide). For others it is a stranger: a node that joins again knows its group, and waits for it.
func (m *machine) refused(err error) {
	if m.phase < joined && m.id.Incarnation() == 1 {
		m.misfit = err
		m.decide()
	}
}
