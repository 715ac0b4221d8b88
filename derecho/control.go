package derecho

import (
	"errors"
	"slices"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
)

// submit sends a command to all members, in the current control epoch or, if that is closing, in
// the next.
func (m *machine) submit(cmd []byte) {
	m.queue = append(m.queue, cmd)
	m.flushQueue()
}

func (m *machine) flushQueue() bool {
	g := m.groups[0]
	if len(m.queue) == 0 || g == nil {
		return false
	}
	e := g.sending.Load()
	sent := false
	for len(m.queue) > 0 && e != nil {
		r, err := e.sender.Reserve(len(m.queue[0]))
		if err != nil {
			if errors.Is(err, smc.ErrTooLarge) { // refused by AddEndpoint before; nothing else is large
				m.queue = m.queue[1:]
				continue
			}
			break // full or closing: later
		}
		copy(r.Bytes(), m.queue[0])
		r.Commit(smc.Header{}, len(m.queue[0]))
		m.queue = m.queue[1:]
		sent = true
	}
	if sent && e.sender.Flush() {
		e.kick()
	}
	return sent
}

// command executes a command of the control subgroup. All members execute the same commands in the
// same order.
func (m *machine) command(from NodeID, b []byte) {
	r := reader{b: b}
	switch r.u8() {
	case cmdJoin:
		p := r.peer()
		if r.bad || m.view.has(NodeID(p.ID)) || slices.ContainsFunc(m.change.joins, func(q rdma.PeerInfo) bool { return p.ID == q.ID }) {
			return
		}
		m.change.joins = append(m.change.joins, p)
		m.change.sponsor = append(m.change.sponsor, from)
		m.closeView()
	case cmdLeave:
		if !slices.Contains(m.change.leaves, from) {
			m.change.leaves = append(m.change.leaves, from)
			m.closeView()
		}
	case cmdAdd:
		ep := r.endpoint()
		ep.Node = from
		if !r.bad {
			m.added(ep)
		}
	case cmdRemove:
		if id := EndpointID(r.u32()); !r.bad {
			m.removed(from, id)
		}
	}
}

// closeView ends the control epoch: commands that come later go to the next.
func (m *machine) closeView() {
	g := m.groups[0]
	if e := g.sending.Load(); e != nil {
		g.sending.Store(nil)
		e.close()
	}
}

func (m *machine) added(ep Endpoint) {
	changed := m.cat.add(ep)
	if ep.Writes.ID != 0 {
		m.writers[writerKey{ep.Node, ep.ID}] = ep.Channel
	}
	// The new epochs first: what is written after the layer above knows of a reader reaches it.
	err := m.install(changed)
	m.h.EndpointAdded(ep)
	m.announce(changed)
	if p := m.own[ep.ID]; p != nil && ep.Node == m.id {
		p.answer(err)
	}
}

func (m *machine) removed(node NodeID, id EndpointID) {
	ep, changed, ok := m.cat.remove(node, id)
	if !ok {
		return
	}
	// A writer is gone for the layer above when its last message was delivered here.
	last := m.lastEpochOf(ep)
	err := m.install(changed)
	m.announce(changed)
	gone := func() {
		delete(m.writers, writerKey{node, id})
		m.h.EndpointRemoved(ep)
		if p := m.own[id]; p != nil && node == m.id {
			delete(m.own, id)
			p.answer(err)
		}
	}
	if last != nil {
		last.afterDrain = append(last.afterDrain, gone)
	} else {
		gone()
	}
}

// lastEpochOf is the epoch at whose end a writer's messages end here, nil if they have.
func (m *machine) lastEpochOf(ep Endpoint) *epoch {
	g := m.groups[ep.Writes.ID]
	if ep.Writes.ID == 0 || g == nil || len(g.epochs) == 0 {
		return nil
	}
	e := g.epochs[len(g.epochs)-1]
	if e.drained || !e.receiving {
		return nil
	}
	return e
}

// announce tells the layer above of channels that this node begins to receive.
func (m *machine) announce(changed []*descriptor) {
	for _, d := range changed {
		if g := m.groups[d.Subgroup]; g != nil && d.member(m.id) >= 0 && !m.dead() {
			g.announce(d)
		}
	}
}

func (m *machine) install(changed []*descriptor) error {
	for _, d := range changed {
		g := m.groups[d.Subgroup]
		if g == nil && d.member(m.id) < 0 {
			continue
		}
		if d.member(m.id) < 0 {
			delete(m.receives, d.Subgroup)
		}
		if err := m.group(d.Subgroup).install(d); err != nil {
			m.fail(err)
			return err
		}
	}
	return nil
}
