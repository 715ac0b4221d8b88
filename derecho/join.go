package derecho

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// entry is how far a node has come on its way into a group.
type entry struct {
	scanned bool
	misfit  error                    // why somebody who was found can not be in one group with this node
	heard   map[NodeID]time.Duration // until this one has joined: when a linked node last told its status, or the link to it came up
	told    time.Duration            // until then: when it was due last to tell its own
	sponsor NodeID                   // whom this node asked to announce it
	barred  string                   // why that one can not, as the layer above was told
	// outcast: a group went on without the incarnation before, or one before that, and the node has been in none since.
	// It founds none: that group lives, for all it knows, also if it reaches nobody of it.
	outcast bool
}

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
	if m.phase > joining || why == m.barred {
		return
	}
	if m.barred = why; why == "" {
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
	if m.barred != "" {
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
