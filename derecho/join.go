package derecho

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

func (m *machine) status() status {
	return status{alone: m.phase == alone, outcast: m.outcast, joined: m.phase == joined, members: uint32(len(m.view.members)),
		group: m.view.group, asks: m.asks(), before: m.view.before, cutOff: m.cutOff, parted: m.parted}
}

// asks is the group that this node has asked to let it in, 0 if it has asked none.
func (m *machine) asks() uint64 {
	if m.phase != joining {
		return 0
	}
	return m.statuses[m.sponsor].group
}

func (m *machine) broadcastStatus() {
	// In a fixed order, here and wherever a map is walked: the same events must give the same acts.
	for _, id := range slices.Sorted(maps.Keys(m.links)) {
		m.send(id, msgStatus, m.status().encode())
	}
}

// decide lets a node that is alone join or found a group, as soon as it knows enough.
//
// It founds one only if everybody whom it found is alone too and has a larger ID. Two nodes that find each other are
// linked and know each other's status, and a node tells its status when it changes, and with every lease until it has
// joined (remind); so of several nodes that start together only the one with the smallest ID founds, and the others
// join it. An outcast founds none, and nobody waits for it to. Who is joining or leaving is in a group: it is waited
// for, until it can be asked or is gone; but not who leaves and hears too few of its group, which may be for ever: it
// goes over to the group that there is then (checkGroup). Nobody who is silent is waited for, whatever it has told
// before: it may stand still, and its host may have no power. Who finds only such as run with another configuration fails.
func (m *machine) decide() {
	if m.phase != alone || !m.scanned {
		return
	}
	if m.misfit != nil && len(m.links) == 0 {
		m.fail(fmt.Errorf("%w: %v", ErrConfig, m.misfit))
		return
	}
	first := !m.outcast
	for id := range m.links {
		s, known := m.statuses[id]
		if stuck := s.group != 0 && !s.joined && s.cutOff != ""; stuck || m.silent(id) {
			continue
		}
		if !known && !m.replaced(id) {
			return // its status is on the way
		}
		first = first && s.alone && (s.outcast || m.id < id)
	}
	switch member := m.host(); {
	case member != 0:
		m.phase, m.sponsor = joining, member
		m.broadcastStatus()
		m.send(member, msgJoin, nil)
		m.tellWait()
	case first:
		m.found()
	}
}

// silentLeases is how long somebody may tell nothing before nobody waits for him to found a group, or to let somebody
// in. Whoever is that late joins the one that there is then; if he has founded one meanwhile, or is in one, the two
// become one.
const silentLeases = 4

// silent: a linked node that is to tell its status with every lease, or to answer with its own, has not done so for too
// long.
func (m *machine) silent(id NodeID) bool {
	late := m.now-m.heard[id] > silentLeases*m.cfg.Lease
	return late && !mutant.Is("founder-awaited") && (m.statuses[id].group == 0 || !mutant.Is("silent-sponsor"))
}

// remind tells all that this node still looks for a group, those that are in one answer, and looks whom of them it still
// waits for. It comes with every pass, and acts once in a lease.
func (m *machine) remind() {
	passed := m.now - m.told
	begins := m.told == 0
	if m.phase >= joined || passed < m.cfg.Lease && !begins {
		return
	}
	m.told = m.now
	if begins || passed > 2*m.cfg.Lease { // it stood still itself: what it was told meanwhile is on its way
		for id := range m.heard {
			m.heard[id] = m.now
		}
	}
	if begins || len(m.links) == 0 {
		return
	}
	if m.phase == joining && m.silent(m.sponsor) {
		m.phase = alone
	}
	m.broadcastStatus()
	m.decide()
	m.tellWait()
}

// host is the member that this node asks to let it in, 0 if there is none: one that hears enough of its group before one
// that can let nobody in, of several groups one of the largest, and of that the first.
func (m *machine) host() (member NodeID) {
	var best status
	for id := range m.links {
		s := m.statuses[id]
		if !s.joined || m.replaced(id) || m.ends(s) || m.silent(id) {
			continue
		}
		off := func(s status) int { return min(1, len(s.cutOff)) }
		if member == 0 || cmp.Or(cmp.Compare(off(s), off(best)), best.size(s), cmp.Compare(id, member)) < 0 {
			member, best = id, s
		}
	}
	return member
}

// askAnother: whom this node has asked to let it in can not any more, and says so, and somebody else can. It may have
// announced this node all the same, which is then welcomed twice.
func (m *machine) askAnother() {
	if m.phase != joining {
		return
	}
	s, other := m.statuses[m.sponsor], m.host()
	if others := s.cutOff != "" && other != 0 && m.statuses[other].cutOff == ""; !s.joined || others || m.replaced(m.sponsor) {
		m.phase = alone
		m.broadcastStatus()
	}
}

// replaced: a member says that the group went on without this one, which does not know that, or can not say it. Two
// views ahead is enough, as for outlived: how the last view ended tells nothing of who was removed before.
func (m *machine) replaced(id NodeID) bool {
	it, known := m.statuses[id]
	for _, s := range m.statuses {
		same := known && s.group == it.group
		newer := (!known || same) && s.before.view > it.before.view
		removed := s.before.stay != nil && !slices.Contains(s.before.stay, id)
		if s.joined && newer && (removed || same && s.before.view > it.before.view+1) {
			return true
		}
	}
	return false
}

// tellWait tells why this node is not let into the group, if the member that it asked says so: it may be for long, and
// nobody else can tell who waits in Join. It is over when the node has joined (entered), when that member hears enough
// of the others, and when it is gone.
func (m *machine) tellWait() {
	why := ""
	if m.phase == joining {
		why = m.statuses[m.sponsor].cutOff
	}
	if m.phase > joining || why == m.waits {
		return
	}
	if m.waits = why; why == "" {
		m.shell.isWaiting(nil)
		return
	}
	p := m.links[m.sponsor].Peer() // a status goes with its link
	m.shell.isWaiting(fmt.Errorf("%w: %s is in the group and lets nobody in, as %s; it goes on by itself if it hears them; if they have ended, start %s anew, too",
		ErrNoMajority, memberInfo(p), why, p.Name))
}

// found begins a group of one.
func (m *machine) found() {
	m.view = view{group: uint64(m.id), epoch: 1, members: []rdma.PeerInfo{m.self}}
	m.h.Entered(m.id)
	m.enter()
	m.entered()
}

// welcomed begins with the view that a member sent. It keeps the message: another that joins with it may
// have asked a member that is gone before its own welcome has arrived.
func (m *machine) welcomed(w welcome, b []byte) {
	if m.phase > joining {
		return
	}
	if !mutant.Is("forget-welcome") {
		m.welcoming = slices.Clone(b)
	}
	// Also if this node turned to another since: it was announced, and is waited for.
	other := m.asks() != w.group
	m.view = view{group: w.group, epoch: w.epoch, members: w.members, before: w.before}
	if !m.view.has(m.id) {
		m.fail(fmt.Errorf("%w: welcomed to a view without this node", ErrPeerLost))
		return
	}
	if other {
		m.broadcastStatus() // before it has rows there (machine.opened)
	}
	m.h.Entered(m.id)
	for _, e := range w.endpoints {
		m.cat.insert(&e)
		if e.Writes.ID != 0 {
			m.writers[endpointKey{e.Node, e.ID}] = e.Channel
		}
	}
	maps.Copy(m.cat.loading, w.loading)
	maps.Copy(m.cat.unstored, w.unstored)
	maps.Copy(m.cat.bereaved, w.bereaved)
	maps.Copy(m.cat.recovery, w.recovery)
	maps.Copy(m.cat.opened, w.opened)
	if !mutant.Is("forget-rings") {
		maps.Copy(m.cat.rings, w.rings)
	}
	for i, s := range w.subgroups {
		waiting := m.cat.unrecovered(s.ID)
		members := m.cat.members(&descriptor{Subgroup: s.ID}, w.endpoints, nil, waiting)
		m.cat.sizeRings(s.ID, members)
		m.cat.subgroups[s.ID] = &descriptor{Subgroup: s.ID, Mode: s.Mode, Epoch: w.epochs[i], Members: members, Logs: w.logs[i], Waiting: waiting}
	}
	for _, p := range w.members {
		if m.links[NodeID(p.ID)] == nil && p.ID != uint64(m.id) {
			m.fabric.Dial(p)
		}
	}
	m.enter()
	for _, p := range w.members {
		if p.ID != uint64(m.id) {
			m.showNode(NodeID(p.ID))
		}
	}
	for _, e := range w.endpoints {
		m.showEndpoint(e)
	}
	m.entered()
}

// enter makes the node a member of the view that it has.
func (m *machine) enter() {
	m.phase, m.outcast = joined, false
	if m.installControl() {
		m.showView(nil)
		m.broadcastStatus()
	}
}

// entered ends the wait of Join: the layer above knows all that there is.
func (m *machine) entered() {
	if m.dead() {
		return
	}
	if m.waits != "" {
		m.shell.isWaiting(nil)
	}
	m.shell.hasJoined()
	if m.leaveOnEntry {
		m.leave()
	}
	// Members of another group may have told their status while this node was on its way into this one. It goes on from
	// the next pass.
	for _, s := range m.statuses {
		if s.joined && s.group != m.view.group {
			m.checkGroupsSoon()
			return
		}
	}
}

// checkGroupsSoon has it looked with the next pass whether other groups are met.
func (m *machine) checkGroupsSoon() {
	m.deferred = append(m.deferred, deferred{func() bool { return true }, m.checkGroups})
}

// checkGroups looks at all whose status is known.
func (m *machine) checkGroups() {
	for _, id := range slices.Sorted(maps.Keys(m.statuses)) {
		if l := m.links[id]; l != nil {
			m.checkGroup(l.Peer(), m.statuses[id], false)
		}
	}
}

// parting: an incarnation of this process has been in a group, and has gone over to another. whole: it had a majority.
type parting struct {
	group uint64
	node  NodeID
	whole bool
	view  uint32 // in which it was then
}

// maxPartings is how many a node tells of. Whoever has not heard of one when that many more have followed is told
// nothing of it.
const maxPartings = 8

// size orders groups. Of two with as many members the larger one has the larger number: that is no matter of the two
// members that meet, else nodes of both might go over, and the rest of either would have no majority.
func (s status) size(o status) int {
	return cmp.Or(cmp.Compare(s.members, o.members), cmp.Compare(s.group, o.group))
}

// outranks: nodes of another group go over to that of this status, if it is the larger one. A member that hears too few
// of its group can let nobody in.
func (s status) outranks(o status) bool {
	return s.cutOff == "" && (s.size(o) > 0 || o.cutOff != "" && s.members == o.members)
}

// checkGroup notices that there are two groups in one domain: of nodes that could not reach each other when they
// started. One of them ends, and its nodes join the other.
//
// What a member knows of the sizes of both groups may be old, so not all of a group come to the same end. Whoever goes
// over tells the rest in its next incarnation, and they follow. Should both groups end, one that all are in begins
// anew. If a group had no majority when a member of it went over, the others may have gone on, or do: only those follow
// that have none either.
//
// That a group has lost its majority is told late, by up to three leases. So nobody goes over before a member of the
// other one has vouched for it: it sends its status again when a command has been executed that it sent when it was
// asked to.
func (m *machine) checkGroup(p rdma.PeerInfo, s status, vouched bool) {
	own := m.status()
	leaves := m.phase == leaving && !m.departed && !mutant.Is("leaver-stays") // and waits for a majority of its group
	if m.phase != joined && !leaves {
		return
	}
	if m.leads(s) {
		m.giveWay(fmt.Errorf("%w: %s (process %d on %s) has left this one", ErrOtherGroup, p.Name, p.PID, p.Host))
		return
	}
	if !s.joined || s.group == own.group || mutant.Is("remnant-stays") && m.cutOff != "" && !leaves {
		return
	}
	if m.cutOff != "" && m.view.has(NodeID(p.ID)) && !mutant.Is("phantom-awaited") {
		// It was let in here, and never heard so: it will have no part in this view.
		m.giveWay(fmt.Errorf("%w: %s (process %d on %s) was let into this one, and is in another", ErrOtherGroup, p.Name, p.PID, p.Host))
		return
	}
	why := ""
	switch {
	case leaves && m.cutOff != "": // nobody goes over to it, and some of its own group may have
		why = " and no majority"
	case !s.outranks(own):
		return
	case !vouched && !mutant.Is("unvouched"):
		m.send(NodeID(p.ID), msgVouch, nil)
		return
	}
	m.giveWay(fmt.Errorf("%w: that of %s (process %d on %s) has %d members, this one %d%s", ErrOtherGroup, p.Name, p.PID,
		p.Host, s.members, own.members, why))
}

// leads: a process says that it was a member of this view, and has gone over to another group. It may not have known
// that it was: of two groups that were to let it in it was in one. Or it was in a later view of this group: then this
// one has ended, and it can not tell how.
func (m *machine) leads(s status) bool {
	return !mutant.Is("parted-alone") && slices.ContainsFunc(s.parted, func(p parting) bool {
		same, ahead := p.group == m.view.group, p.view > m.view.epoch
		return m.view.has(p.node) && (p.whole && same || m.cutOff != "") || m.cutOff != "" && same && ahead && !mutant.Is("behind-stays")
	})
}

// ends: a member of a group from which this process has gone over to another will follow. In a later view the group may
// have gone on without this process.
func (m *machine) ends(s status) bool {
	return slices.ContainsFunc(m.parted, func(p parting) bool { return p.whole && p.group == s.group && s.before.view < p.view })
}

// outlived: of this group the view has ended that follows the one of this node, and whoever knows of the first of the
// two ends may be gone. A view does not end with a member that has no part in it: neither can it have acknowledged all,
// nor promised.
func (m *machine) outlived(s status) bool {
	return m.phase >= joined && !m.departed && s.joined && s.group == m.view.group && s.before.view > m.view.epoch
}

// announceJoin tells the group of a node that asked for it.
func (m *machine) announceJoin(p rdma.PeerInfo) {
	id := NodeID(p.ID)
	switch {
	case m.expelled[id]:
		m.send(id, msgRemoved, m.removal())
		return
	case m.view.has(id):
		m.welcomeAgain(id)
		return
	case m.phase != joined:
		m.send(id, msgStatus, m.status().encode())
		return
	}
	m.asked[id] = true
	if m.cutOff != "" { // which was told to those only that had asked by then
		m.send(id, msgStatus, m.status().encode())
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
				e.forget(func(i int) bool { return slices.Contains(leaves, e.desc.Members[i].Node) })
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
	for _, p := range m.view.members {
		if NodeID(p.ID) == id {
			return memberInfo(p)
		}
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
				e.forget(func(i int) bool { return failed(e.desc.Members[i].Node) })
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

// strays: a node is in no group, and waits for nobody of this one to let it in.
func (m *machine) strays(id NodeID) bool {
	s := m.statuses[id]
	return s.alone || s.asks != 0 && s.asks != m.view.group
}

// welcomeAgain welcomes a member that does not know yet that it is one: whom it asked has failed.
func (m *machine) welcomeAgain(id NodeID) {
	if m.welcoming != nil && !mutant.Is("no-second-welcome") {
		m.send(id, msgWelcome, m.welcoming)
	}
}

// greet welcomes those who join. It is the task of all whom they asked: of several welcomes the first
// counts.
func (m *machine) greet(next view, change viewChange) {
	m.welcoming = nil
	if len(change.joins) == 0 {
		return
	}
	if mutant.Is("welcome-wrong-view") {
		next.epoch--
	}
	b := m.welcome(next).encode()
	m.welcoming = b
	for _, p := range change.joins {
		// Also if it leaves itself: nobody else may. And whom nobody will welcome: whoever it asked was gone
		// before it knew of this node, and a node that leaves is not asked.
		if id := NodeID(p.ID); m.asked[id] || m.strays(id) {
			delete(m.asked, id)
			m.send(id, msgWelcome, b)
		}
	}
}

func (m *machine) welcome(v view) welcome {
	w := welcome{group: v.group, epoch: v.epoch, members: v.members, endpoints: m.cat.values(), loading: m.cat.loading,
		unstored: m.cat.unstored, bereaved: m.cat.bereaved, recovery: m.cat.recovery, opened: m.cat.opened, rings: m.cat.rings, before: v.before}
	for _, id := range slices.Sorted(maps.Keys(m.cat.subgroups)) {
		d := m.cat.subgroups[id]
		w.subgroups = append(w.subgroups, Subgroup{ID: d.Subgroup, Mode: d.Mode})
		w.epochs = append(w.epochs, d.Epoch)
		w.logs = append(w.logs, d.Logs)
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
	if m.phase != leaving || len(m.own) > 0 || m.encoding > 0 || m.owesStates() {
		return false
	}
	for _, g := range m.order {
		if g.id != 0 && len(g.epochs) > 0 {
			return false
		}
	}
	if !slices.Contains(m.change.leaves, m.id) && !m.announcedLeave {
		// Who has left can not fail: nobody would ask for its states anew if it died with the last piece under way.
		// They are told to have come when they are on disk, or the disk of who gets them is given up; who fails or
		// withdraws gets none.
		if m.cat.owes(m.id) && !mutant.Is("leaver-owes") {
			return false
		}
		m.announcedLeave = true
		m.submit([]byte{cmdLeave})
		return true
	}
	for _, e := range m.groups[0].epochs {
		if m.departed { // who is silent now is removed by the others, and this node will not hear of it
			e.forget(func(i int) bool { return e.agree.watches[i].accused != 0 })
		}
	}
	if len(m.groups[0].epochs) > 0 && !mutant.Is("leave-early") {
		return false
	}
	m.phase = left
	m.shell.hasLeft()
	return true
}
