package derecho

import (
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// view is the membership of the top-level group: the members of one epoch of the control subgroup,
// in the order in which they joined.
type view struct {
	group   uint64 // drawn by the founder: two groups of one domain differ in it
	epoch   uint32
	members []rdma.PeerInfo
	before  ending // of the view before
}

// find is the member with this ID, if there is one.
func (v *view) find(id NodeID) (rdma.PeerInfo, bool) {
	for _, p := range v.members {
		if p.ID == uint64(id) {
			return p, true
		}
	}
	return rdma.PeerInfo{}, false
}

func (v *view) has(id NodeID) bool {
	_, is := v.find(id)
	return is
}

// viewChange is what will differ in the next view.
type viewChange struct {
	joins  []rdma.PeerInfo
	leaves []NodeID
}

// installControl begins the epoch of the control subgroup that belongs to the view.
func (m *machine) installControl() bool {
	d := &descriptor{Mode: Ordered, Epoch: m.view.epoch}
	for _, p := range m.view.members {
		// Everybody writes and receives; the endpoint stands for the node itself.
		d.Members = append(d.Members, memberDesc{
			Node: NodeID(p.ID), Writers: tree[EndpointID, struct{}]{}.with(0, struct{}{}), Channels: tree[ChannelID, bool]{}.with(0, false),
		})
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
	epochs := m.groups[0].epochs
	epochs[len(epochs)-1].agree.inherit()
	return true
}

// controlDrained: all commands of the view were executed, the same at every member; the next view
// follows from them, and from what was agreed on if members failed.
func (m *machine) controlDrained(e *epoch) {
	if !mutant.Is("isolated-stays") {
		e.agree.reachable() // all are heard again, also if nobody had to agree on how the view ends
	}
	change := m.change
	m.change = viewChange{}
	failed := func(NodeID) bool { return false }
	cut := e.agree.removes()
	if cut {
		stay := e.agree.decision.stay
		failed = func(id NodeID) bool { i := e.desc.member(id); return i >= 0 && !stay.has(i) }
	}
	if cut || len(change.leaves) > 0 {
		m.catchUp() // the layer above knows all of whoever goes
	}
	before := m.view.members
	// Also at a node that leaves: another that leaves with it may be gone before it.
	m.view.members = slices.DeleteFunc(slices.Clone(before), func(p rdma.PeerInfo) bool {
		return slices.Contains(change.leaves, NodeID(p.ID)) || failed(NodeID(p.ID))
	})
	next := view{group: m.view.group, epoch: m.view.epoch + 1, members: slices.Concat(m.view.members, change.joins), before: e.agree.ending()}
	leaving := slices.Contains(change.leaves, m.id)
	m.departed = leaving
	if !leaving {
		m.view = next
	}
	// What this node sent and nobody executed is sent again, before anything else.
	if mutant.Is("lose-removals") {
		m.unexecuted = slices.DeleteFunc(m.unexecuted, func(cmd []byte) bool { return cmd[0] == cmdRemove })
	}
	if !mutant.Is("lose-unexecuted") {
		m.queue = append(m.unexecuted, m.queue...)
	}
	m.unexecuted = nil
	m.forgetJoins(before)
	if mutant.Is("welcome-early") {
		m.greet(next, change)
	}
	if cut {
		m.removeFailed(before, failed)
		m.holding = false
	}
	m.greet(next, change)
	if leaving {
		// tryLeave ends it when the others have drained too. Who was told the end of the view by a message has no
		// ballot in its row from which the others could learn it, and who told it may be gone.
		if m.view.before = next.before; cut {
			m.broadcastStatus()
		}
		return
	}
	m.forgetLeft(change.leaves)
	for _, id := range change.leaves {
		delete(m.unsent, id)
		delete(m.outgoing, id)
		if !failed(id) {
			m.hideNode(id)
		}
		if l, lost := m.lost[id]; lost {
			m.lost[id] = loss{died: l.died} // it reads nothing any more, and what it shared may go
		}
		if l := m.links[id]; l != nil && m.ending[id] && !mutant.Is("leaver-linked") {
			m.dying(l) // again: it is no member any more
		}
	}
	for _, p := range change.joins {
		if m.links[NodeID(p.ID)] == nil && NodeID(p.ID) != m.id {
			m.fabric.Dial(p)
		}
		m.showNode(NodeID(p.ID))
	}
	if m.installControl() {
		m.showView(slices.DeleteFunc(before, func(p rdma.PeerInfo) bool { return !failed(NodeID(p.ID)) }))
		m.broadcastStatus()
		if len(next.members) < len(before) { // another group may be the larger one now, whatever it was when it was met
			m.checkGroupsSoon()
		}
	}
}

// forgetLeft: who leaves has given up all its epochs (tryLeave), so it has read that this node is done with them, and is
// itself. That it is this node need not have heard, if the link over which it reads the other's rows has ended.
func (m *machine) forgetLeft(leaves []NodeID) {
	for _, g := range m.order {
		for _, e := range g.epochs {
			if g.id != 0 && !mutant.Is("left-awaited") {
				e.forget(func(i int) bool { return slices.Contains(leaves, e.node(i)) })
			}
		}
	}
}

// forgetJoins takes back what this node wanted to say of the joining of members of the view that has ended. Another has
// said it too; and who is no member any more has failed or left, and would become one again that is not there.
func (m *machine) forgetJoins(members []rdma.PeerInfo) {
	m.queue = slices.DeleteFunc(m.queue, func(command []byte) bool {
		r := reader{b: command}
		if r.u8() != cmdJoin {
			return false
		}
		p := r.peer()
		return slices.ContainsFunc(members, func(q rdma.PeerInfo) bool { return q.ID == p.ID })
	})
}

// member describes a member of the view; one that is none any more by its ID alone.
func (m *machine) member(id NodeID) MemberInfo {
	if p, is := m.view.find(id); is {
		return memberInfo(p)
	}
	return MemberInfo{ID: id}
}

func memberInfo(p rdma.PeerInfo) MemberInfo {
	return MemberInfo{ID: NodeID(p.ID), Host: p.Host, PID: int(p.PID), Name: p.Name}
}

// showView tells the layer above of the view that has begun, and which members of the one before have failed.
func (m *machine) showView(failed []rdma.PeerInfo) {
	v := View{Epoch: m.view.epoch}
	for _, p := range m.view.members {
		v.Members = append(v.Members, memberInfo(p))
	}
	for _, p := range failed {
		v.Failed = append(v.Failed, NodeID(p.ID))
	}
	m.h.Viewed(v)
}

// removeFailed goes on without members that failed: their endpoints are withdrawn, as if they had done
// it themselves with the last command of the view.
func (m *machine) removeFailed(before []rdma.PeerInfo, failed func(NodeID) bool) {
	for _, g := range m.order {
		for _, e := range g.epochs {
			if g.id == 0 {
				e.forget(func(i int) bool { return failed(e.node(i)) })
			} else {
				e.removeMembers(failed)
			}
		}
	}
	// Where reports that this node waits for will never come.
	for _, g := range m.order {
		if g.id != 0 {
			for _, e := range g.epochs {
				e.trim()
			}
		}
	}
	waits := map[*Endpoint][]*epoch{}
	var list []*Endpoint
	for ep := range m.cat.all.All() {
		if failed(ep.Node) {
			list = append(list, ep)
			waits[ep] = m.lastEpochsOf(*ep)
		}
	}
	changed, asked := m.cat.removeNodes(failed)
	err := m.installHere(changed, true)
	m.announce(changed)
	m.ask(asked)
	left := map[NodeID]int{}
	for _, ep := range list {
		left[ep.Node]++
	}
	for _, p := range before {
		id := NodeID(p.ID)
		if !failed(id) {
			continue
		}
		m.expel(id)
		m.h.NodeFailed(id)
		if left[id] == 0 {
			m.hideNode(id)
		}
	}
	for _, ep := range list {
		m.whenDrained(waits[ep], func() {
			m.gone(*ep, err)
			if left[ep.Node]--; left[ep.Node] == 0 {
				m.hideNode(ep.Node)
			}
		})
	}
}
