package derecho

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// phase is how far a node has come.
type phase uint8

const (
	alone   phase = iota // looking for a group
	joining              // asked a member to announce it
	joined
	leaving // its endpoints go, then it does
	left
	failed
	excluded // the group goes on without it; it may join again as a new node
)

// machine is the protocol. It has no goroutine, no clock and does no I/O: events go in, Step looks
// at the tables and acts, and what it does to the outside goes through the fabric, the links and
// the handler, in order. Whoever holds life.baton drives it.
type machine struct {
	cfg    *Config
	id     NodeID
	self   rdma.PeerInfo
	fabric rdma.Fabric
	bell   *rdma.Bell
	fence  *rdma.Fence
	h      Handler
	logs   logs
	shell  shell

	controlRing int // bytes of the ring of each member of the control subgroup: all nodes of a domain have the same

	priorities map[SubgroupID]int32 // those that are not 0 (priority.go)
	marked     int                  // the DSCP that the fabric was told

	now   time.Duration // of the pass that is under way
	phase phase

	// Each of these is defined in the file of what changes it.
	looks     // visit.go
	entry     // join.go
	departure // leave.go
	commands  // control.go
	transit   // states.go

	// Other nodes:
	links     map[NodeID]rdma.Link
	statuses  map[NodeID]status   // of linked nodes
	parts     map[NodeID][]byte   // message that comes in several parts
	unsent    map[NodeID][]unsent // messages to members to which there is no link yet
	lost      map[NodeID]loss     // members whose link is down
	ending    map[NodeID]bool     // nodes whose process is about to end and whose link is not down yet
	expelled  map[NodeID]bool     // nodes that the group went on without
	asked     map[NodeID]bool     // nodes that asked this one to announce them
	welcoming []byte              // what the nodes that joined with this view need

	// The group:
	view     view
	change   viewChange // what the current control epoch has brought so far
	parted   []parting  // the groups from which it has gone over to others, the latest last
	cutOff   string     // why nothing can be agreed on, as the layer above was told
	holding  bool       // members were removed by an agreement that is not carried out here yet; data waits
	cat      *catalogue
	groups   map[SubgroupID]*subgroup
	order    []*subgroup                          // groups in the order of their creation
	receives map[SubgroupID]tree[ChannelID, bool] // what this node receives, and whether it keeps it; of a descriptor
	writers  map[endpointKey]ChannelID            // channel of every known writer
	opens    map[openKey]*epoch                   // rows that were asked for
	unproven map[openKey]answer                   // and came from who is not known to be near
	deferred []deferred                           // acts of this node that wait for a condition
	watched  time.Duration                        // when it was looked last whether the logs get on
	awaiting map[keptChannel]bool                 // a majority of whose logs is to be enough after a while
	own      map[EndpointID]*pendingEndpoint      // endpoints of this node, by what was asked

	// The layer above:
	shown      endpointList // that it knows
	shownNodes []NodeID
	unshown    []unshown // that it is told of when messages of this node reach them (reach.go)
	batch      []Message // of deliver, reused

	// For simulators; nil in a Node.
	stored func()
	yield  func() // see pause
	trace  func(Event)
}

type unsent struct {
	kind uint8
	b    []byte
}

type deferred struct {
	ready func() bool
	act   func()
}

type openKey struct {
	node NodeID
	key  rdma.Key
}

// pendingEndpoint is an AddEndpoint or RemoveEndpoint under way.
type pendingEndpoint struct {
	ep                         Endpoint
	done                       func(error) // nil when answered
	submitted, added, removing bool
	changing                   []func(error) // of each change under way
	// the node has joined again, and nobody waits for the answer to what becomes of one endpoint, or for missing logs
	rejoins  bool
	refused  bool // as another node has the log, and it lives: Handler.LogFailed was told
	logTaken bool // by that node, until it is free; the endpoint is announced then as it is by then
}

// shell is what the machine reports to the node around it.
type shell interface {
	hasJoined()
	hasLeft()
	hasFailed(error)
	// isExcluded: the group goes on without this node, and nothing can be sent any more. wasExcluded follows when the
	// layer above knows, and the machine does nothing more.
	isExcluded(error)
	wasExcluded(error)
	// isIsolated: nothing can be agreed on, because too few members are heard; nil: it can again. It tells the layer above.
	isIsolated(error)
	// isWaiting: the group can let nobody in for now, because too few of its members are heard; nil: this node has joined.
	isWaiting(error)
	isRecovering(map[keptChannel]string)
	newGroup(*subgroup)
	startLogger(*logger)
	post(func(*machine)) // an event from outside
	background(func())   // work that takes longer than a pass may
}

func newMachine(cfg *Config, id NodeID, h Handler, s shell) *machine {
	m := &machine{
		cfg: cfg, id: id, h: h, shell: s, controlRing: controlRing,
		links: map[NodeID]rdma.Link{}, statuses: map[NodeID]status{}, entry: entry{heard: map[NodeID]time.Duration{}}, parts: map[NodeID][]byte{},
		unsent: map[NodeID][]unsent{}, transit: transit{outgoing: map[NodeID]*outgoing{}, incoming: map[NodeID]*incoming{}},
		lost: map[NodeID]loss{}, ending: map[NodeID]bool{}, expelled: map[NodeID]bool{}, asked: map[NodeID]bool{}, awaiting: map[keptChannel]bool{},
		cat: newCatalogue(), groups: map[SubgroupID]*subgroup{}, receives: map[SubgroupID]tree[ChannelID, bool]{},
		shown: newEndpointList(), writers: map[endpointKey]ChannelID{}, opens: map[openKey]*epoch{},
		unproven: map[openKey]answer{}, own: map[EndpointID]*pendingEndpoint{},
		batch: make([]Message, 0, maxBatch),
	}
	return m
}

// attach gives the machine its network; nothing happens before.
func (m *machine) attach(self rdma.PeerInfo, f rdma.Fabric) {
	m.self, m.fabric, m.bell, m.fence = self, f, f.Bell(), f.Fence()
}

func (m *machine) dead() bool { return m.phase == failed || m.phase == left || m.phase == excluded }

// Step makes one pass and reports whether it found work. now never goes back.
func (m *machine) Step(now time.Duration) bool { return m.step(now, m.visit) }

// Glance is a Step that does not look at everything. Who is told that there is no work has to call Step before it sleeps.
func (m *machine) Glance(now time.Duration) bool { return m.step(now, m.glance) }

func (m *machine) step(now time.Duration, visit func() bool) bool {
	m.now = now
	m.remind()
	if m.dead() || m.phase < joined {
		return false
	}
	m.watchLogs()
	work := m.answerFence()
	work = visit() || work
	if m.dead() {
		return true
	}
	work = m.showReached() || work
	work = m.runDeferred() || work
	if m.dead() {
		return true
	}
	work = m.flushQueue() || work
	return m.tryLeave() || work
}

// Beat does what time alone brings, at a cost that does not grow with the subgroups, and reports whether a
// Step has to follow. It takes the place of a Step that is called only because it is due.
func (m *machine) Beat(now time.Duration) bool {
	m.now = now
	if m.remind(); m.dead() || m.phase < joined {
		return false
	}
	m.watchLogs()
	step := m.fence.Raised() || len(m.deferred) > 0
	for _, e := range m.groups[0].epochs {
		step = e.agree.tick() || e.agree.trouble || step
	}
	return step
}

// due is when Beat or Step has to be called again though nothing happened; 0 for never.
func (m *machine) due() time.Duration {
	due := time.Duration(0)
	if m.phase < joined && m.told != 0 && len(m.links) > 0 {
		return m.told + m.cfg.Lease
	}
	if g := m.groups[0]; g != nil && !m.dead() {
		for _, e := range g.epochs {
			if d := e.agree.due(); due == 0 || d < due {
				due = d // deferred acts that wait for a time are looked at then, too
			}
		}
	}
	return due
}

// answerFence looks at the rows of the members on this host if one of them wants it. The fence stays
// raised, and data waits, until all of them can be read and none is in a later view than this node.
func (m *machine) answerFence() bool {
	if !m.fence.Raised() {
		return false
	}
	value := m.fence.Value()
	for _, e := range m.groups[0].epochs {
		if e.drained {
			continue
		}
		e.agree.look()
		if m.dead() {
			return true
		}
		for i, member := range e.desc.Members {
			if i == e.me || e.gone[i] || !m.aliased(member.Node, m.id) || m.lost[member.Node].died {
				continue
			}
			if (!e.table.Row(i).Open() || e.table.Row(i).Load(e.table.Drained()) != 0) && !mutant.Is("fence-lowered-early") {
				return false
			}
		}
	}
	m.fabric.LowerFence(value)
	return true
}

// exclude ends the node's part in a group that goes on without it.
func (m *machine) exclude(why error) {
	if !m.dead() {
		m.outcast = m.outcast || m.phase >= joined && !mutant.Is("outcast-founds")
		m.giveWay(fmt.Errorf("%w: %w", ErrExcluded, why))
	}
}

// succeeds: this machine takes the place of one that was excluded.
func (m *machine) succeeds(before *machine) {
	m.outcast, m.parted = before.outcast, before.parted
	m.logs.succeeds(&before.logs)
}

// giveWay ends this incarnation of the node, for an ErrExcluded; another one begins.
func (m *machine) giveWay(err error) {
	was := m.phase
	m.phase = excluded
	if errors.Is(err, ErrOtherGroup) {
		m.parted = append(slices.Clone(m.parted), parting{m.view.group, m.id, m.cutOff == "", m.view.epoch})
		m.parted = m.parted[max(0, len(m.parted)-maxPartings):]
	}
	m.shell.isExcluded(err) // first: whoever finds no epoch to send in asks why
	m.end(err)
	m.showUndelivered()
	for _, own := range []bool{true, false} { // first: no reader here loses a writer that goes on for the others
		for _, ep := range slices.Backward(m.shown.values()) {
			if (ep.Node == m.id) == own {
				m.hideEndpoint(ep)
			}
		}
	}
	for len(m.shownNodes) > 0 {
		m.hideNode(m.shownNodes[len(m.shownNodes)-1])
	}
	if was >= joined {
		m.h.Excluded(err)
	}
	m.shell.wasExcluded(err)
}

// showUndelivered hands the layer above what this node has published in vain, perhaps. The rings are closed.
func (m *machine) showUndelivered() {
	for _, g := range m.order {
		for _, e := range g.epochs {
			if own := e.undelivered(); g.id != 0 && len(own) > 0 {
				m.h.Undelivered(g.id, own)
			}
		}
	}
}

// What the layer above knows of endpoints and nodes goes through these, so that it can be taken back.

func (m *machine) showEndpoint(ep Endpoint) {
	m.shown.insert(&ep)
	m.h.EndpointAdded(ep)
	m.prioritize(ep.Writes.ID)
}

// reshowEndpoint tells of another Info of an endpoint that the layer above knows.
func (m *machine) reshowEndpoint(ep Endpoint) {
	if s := m.shown.find(ep.Node, ep.ID); s != nil {
		s.Info = ep.Info
		m.h.EndpointChanged(ep)
		m.prioritize(ep.Writes.ID)
	}
}

func (m *machine) hideEndpoint(ep Endpoint) {
	if s := m.shown.find(ep.Node, ep.ID); s != nil {
		m.shown.delete(s)
	}
	m.h.EndpointRemoved(ep)
	m.prioritize(ep.Writes.ID)
}

func (m *machine) showNode(id NodeID) {
	m.shownNodes = append(m.shownNodes, id)
	m.h.NodeJoined(id)
}

func (m *machine) hideNode(id NodeID) {
	m.shownNodes = slices.DeleteFunc(m.shownNodes, func(s NodeID) bool { return s == id })
	m.h.NodeLeft(id)
}

// isolate tells that nothing can be agreed on any more, as some text says, or can be again. Those who have asked to
// join are told, too; who asks later has it from the status of this node.
func (m *machine) isolate(why string) {
	var err error
	if why != "" {
		err = fmt.Errorf("%w: %s", ErrNoMajority, why)
	}
	changed := (why == "") != (m.cutOff == "")
	m.cutOff = why
	m.shell.isIsolated(err)
	if why != "" {
		m.checkGroupsSoon()
	}
	for _, id := range slices.Sorted(maps.Keys(m.links)) {
		if !m.view.has(id) && (changed || m.asked[id]) {
			m.send(id, msgStatus, m.status().encode())
		}
	}
	for _, g := range m.order {
		for _, e := range g.epochs {
			e.wakeAll()
		}
	}
}

// expel ends the connection to a node that the group goes on without. One that never was in it, as it is in another, keeps
// its link: one of the two groups goes over to the other.
func (m *machine) expel(id NodeID) {
	m.expelled[id] = true
	delete(m.unsent, id)
	delete(m.outgoing, id)
	delete(m.lost, id)
	if l := m.links[id]; l != nil {
		l.Send(append([]byte{msgRemoved, 0}, m.removal()...))
		if in := m.statuses[id].group; in == 0 || in == m.view.group || m.ending[id] {
			l.Drop(ErrExcluded)
		}
	}
	delete(m.ending, id)
}

// pause marks a place between what is looked at and what is done: a simulator lets other nodes act there.
func (m *machine) pause() {
	if m.yield != nil {
		m.yield()
	}
}

// note tells a simulator what this node has decided.
func (m *machine) note(k EventKind, e *epoch) {
	if m.trace == nil {
		return
	}
	ev := Event{Kind: k, Group: m.view.group, Subgroup: e.g.id, Epoch: e.desc.Epoch}
	switch k {
	case Drained:
		ev.Stored = e.receiving && e.g.log != nil && e.g.log.failed() == nil && !e.uncounted
	case Installed:
		for _, l := range e.desc.Logs {
			ev.Logs = append(ev.Logs, EventLogs{l.Channel, l.Logs, l.Openings, e.desc.fresh(l.Channel)})
		}
		for _, c := range e.start.channels {
			ev.Stores = append(ev.Stores, c.Channel)
		}
		ev.Kept = map[NodeID][]ChannelID{}
		for i, d := range e.desc.Members {
			ev.Members = append(ev.Members, d.Node)
			if slices.Contains(e.senders, i) {
				ev.Senders = append(ev.Senders, d.Node)
			}
			if d.receives() {
				ev.Receivers = append(ev.Receivers, d.Node)
			}
			ev.Kept[d.Node] = e.desc.keptBy(d.Node)
		}
	case Decided:
		for i, d := range e.desc.Members {
			if e.agree.decision.stay.has(i) {
				ev.Members = append(ev.Members, d.Node)
			}
		}
		ev.Ends = e.agree.decision.ends
	case Trimmed:
		ev.Ends = slices.Clone(e.ends)
	}
	m.trace(ev)
}

// fail ends the node's part in the group.
func (m *machine) fail(err error) {
	if m.dead() {
		return
	}
	m.phase = failed
	m.shell.hasFailed(err) // first: whoever finds no epoch to send in asks why
	m.end(err)
	m.h.Failed(err)
}

// end lets everybody go who waits for the group.
func (m *machine) end(err error) {
	m.unshown = nil
	for _, id := range slices.Sorted(maps.Keys(m.own)) {
		m.own[id].answer(err)
	}
	for _, g := range m.order {
		g.sending.Store(nil)
		for _, e := range g.epochs {
			if e.sender != nil {
				e.sender.Close()
			}
			e.wakeAll()
		}
	}
}

func (p *pendingEndpoint) answer(err error) {
	if p.done != nil {
		p.done(err)
		p.done = nil
	}
}

// watchLogs looks whether the logs get on: with every heartbeat, and if those are far apart with sweeps.
func (m *machine) watchLogs() {
	every := min(m.cfg.Lease/Heartbeats, sweepTime)
	passed := m.now - m.watched
	if passed < every {
		return
	}
	m.watched = m.now
	passed = min(passed, 2*every) // this node itself may have been stopped, or starved
	for _, g := range m.order {
		if g.log != nil {
			g.log.watch(passed, m.cfg.LogTimeout)
		}
	}
}

// logFailed may be called by any goroutine.
func (m *machine) logFailed(sg SubgroupID, err error) {
	m.shell.post(func(m *machine) { m.h.LogFailed(sg, m.id, err) })
}

func (m *machine) group(id SubgroupID) *subgroup {
	g := m.groups[id]
	if g == nil {
		g = &subgroup{m: m, id: id, loading: map[ChannelID]uint32{}, awaiting: map[ChannelID]uint32{},
			lacks: map[ChannelID]bool{}, barren: map[ChannelID]uint32{}, holds: map[ChannelID]bool{},
			ownStates: map[ChannelID]uint32{}, untold: map[ChannelID]uint32{}, unsure: map[ChannelID][]ownMessage{},
			resumed: map[ChannelID]resumption{}}
		m.groups[id] = g
		m.shell.newGroup(g)
		m.order = append(m.order, g)
		if len(m.priorities) > 0 {
			m.arrange()
		}
	}
	return g
}

func (m *machine) channel(node NodeID, w EndpointID) ChannelID {
	return m.writers[endpointKey{node, w}]
}

// aliased: node a reads the memory of node b directly.
func (m *machine) aliased(a, b NodeID) bool {
	pa, oka := m.view.find(a)
	pb, okb := m.view.find(b)
	return oka && okb && rdma.Aliased(pa, pb)
}

// opening notes that a row is about to be asked for; false if it was already.
func (m *machine) opening(l rdma.Link, e *epoch, i int) bool {
	k := openKey{NodeID(l.Peer().ID), e.key}
	if m.opens[k] == e || e.table.Row(i).Open() {
		return false
	}
	m.opens[k] = e
	return true
}

// --- events

// handle takes an event. Any subgroup may wait for what it brings.
func (m *machine) handle(ev func(*machine)) {
	if !m.dead() {
		m.roused = true
		ev(m)
	}
}

// maxParts bounds a message that comes in several parts: a welcome, mostly.
const maxParts = 1 << 30

func (m *machine) message(l rdma.Link, b []byte) {
	id := NodeID(l.Peer().ID)
	if len(b) < 2 {
		m.badPeer(l, errWire)
		return
	}
	kind, more, b := b[0], b[1] != 0, b[2:]
	if kind == msgState || kind == msgStateMore {
		// Pieces of states do not follow each other without anything between them.
		if err := m.stateMessage(l, kind, more, b); err != nil {
			m.badPeer(l, err)
		}
		return
	}
	if more || m.parts[id] != nil {
		b = append(m.parts[id], b...)
		if len(b) > maxParts {
			m.badPeer(l, fmt.Errorf("message of more than %d bytes", maxParts))
			return
		}
		m.parts[id] = b
		if more {
			return
		}
		delete(m.parts, id)
	}
	var err error
	switch kind {
	case msgStatus, msgVouched:
		var s status
		if s, err = parseStatus(b); err == nil {
			m.statuses[id], m.heard[id] = s, m.now
			if m.phase >= joined && s.group == 0 { // it looks for one, and whether this node can still be asked
				m.send(id, msgStatus, m.status().encode())
			}
			if m.near(id) {
				m.proven(l)
			}
			m.askAnother()
			m.decide()
			m.tellWait()
			if m.phase >= joined && m.strays(id) && m.view.has(id) {
				m.welcomeAgain(id)
			}
			if m.phase >= joined && s.group == m.view.group && s.before.view == m.view.epoch {
				for _, e := range m.groups[0].epochs {
					e.agree.hear(s.before)
				}
			}
			if m.outlived(s) {
				m.exclude(errors.New("the other members went on without it"))
				return
			}
			m.checkGroup(l.Peer(), s, kind == msgVouched)
		}
	case msgRemoved:
		r := reader{b: b}
		group := r.u64()
		if err = r.err(); err == nil {
			m.wasRemoved(l.Peer(), group)
		}
	case msgVouch:
		if m.phase == joined {
			var w writer
			w.u8(cmdVouch)
			w.u64(uint64(id))
			m.submit(w.b)
		}
	case msgJoin:
		m.announceJoin(l.Peer())
	case msgWelcome:
		var w welcome
		if w, err = parseWelcome(b); err == nil {
			m.welcomed(w, b)
		}
	default:
		err = fmt.Errorf("unknown message %d", kind)
	}
	if err != nil {
		m.badPeer(l, err)
	}
}

// removal tells a node that this group goes on without it.
func (m *machine) removal() []byte {
	var w writer
	w.u64(m.view.group)
	return w.b
}

// wasRemoved: a group goes on without this node. It may be one that this node has asked to let it in, and has turned
// away from since; that is no matter of the group that it is in.
func (m *machine) wasRemoved(p rdma.PeerInfo, group uint64) {
	switch {
	case m.phase >= joined && group == m.view.group:
		m.exclude(fmt.Errorf("%s says so", p.Name))
	case m.phase < joined && group == m.asks():
		m.exclude(errors.New("the group gave up waiting for it"))
	}
}

// stateCame takes the state of a channel. The source may be ahead of this node, which then has not
// executed the command yet that begins the epoch.
func (m *machine) stateCame(s channelState) {
	if m.phase >= joined && s.group != m.view.group {
		return
	}
	if g := m.groups[s.subgroup]; g != nil && g.newest.Epoch >= s.epoch {
		g.came(s)
		return
	}
	m.early = append(m.early, s)
}

// takeEarly loads what came before the newest epoch of g was known.
func (m *machine) takeEarly(g *subgroup) {
	early := m.early
	m.early = nil
	for _, s := range early {
		switch {
		case s.group != m.view.group:
		case s.subgroup == g.id && s.epoch <= g.newest.Epoch:
			g.came(s)
		default:
			m.early = append(m.early, s)
		}
	}
}

// badPeer gives up a peer that does not keep to the protocol: to this node it is lost.
func (m *machine) badPeer(l rdma.Link, err error) {
	l.Drop(fmt.Errorf("%w: %s sent what this version does not understand: %w", ErrPeerLost, l.Peer().Name, err))
}

// send sends a message over the link to a node, in parts if it is large. To a member to which the
// link is still being made it goes when that is up.
func (m *machine) send(to NodeID, kind uint8, b []byte) {
	l := m.links[to]
	if l == nil {
		if m.view.has(to) {
			m.unsent[to] = append(m.unsent[to], unsent{kind, b})
		}
		return
	}
	for {
		n := min(len(b), rdma.MaxMessage-16)
		part := append([]byte{kind, 0}, b[:n]...)
		if b = b[n:]; len(b) > 0 {
			part[1] = 1
		}
		l.Send(part)
		if len(b) == 0 {
			return
		}
	}
}
