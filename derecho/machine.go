package derecho

import (
	"fmt"
	"maps"
	"slices"
	"time"

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
)

// view is the membership of the top-level group: the members of one epoch of the control subgroup,
// in the order in which they joined.
type view struct {
	group   uint64 // drawn by the founder: two groups of one domain differ in it
	epoch   uint32
	members []rdma.PeerInfo
}

func (v *view) has(id NodeID) bool {
	return slices.ContainsFunc(v.members, func(p rdma.PeerInfo) bool { return p.ID == uint64(id) })
}

// machine is the protocol. It has no goroutine, no clock and does no I/O: events go in, Step looks
// at the tables and acts, and what it does to the outside goes through the fabric, the links and
// the handler, in order. Whoever holds Node.baton drives it.
type machine struct {
	cfg    *Config
	id     NodeID
	self   rdma.PeerInfo
	fabric rdma.Fabric
	bell   *rdma.Bell
	h      Handler
	logs   logs
	shell  shell

	phase    phase
	scanned  bool
	links    map[NodeID]rdma.Link
	statuses map[NodeID]status   // of linked nodes
	parts    map[NodeID][]byte   // message that comes in several parts
	unsent   map[NodeID][]unsent // messages to members to which there is no link yet
	sponsor  NodeID              // whom this node asked to announce it

	view     view
	cat      *catalogue
	groups   map[SubgroupID]*subgroup
	order    []*subgroup                       // groups in the order of their creation
	receives map[SubgroupID]map[ChannelID]bool // what this node receives
	writers  map[writerKey]ChannelID           // channel of every known writer
	opens    map[openKey]*epoch                // rows that were asked for
	early    []channelState                    // states that came before their epoch was known here
	change   viewChange                        // what the current control epoch has brought so far
	deferred []deferred                        // acts of this node that wait for a condition
	queue    [][]byte                          // commands that wait for the next control epoch
	own      map[EndpointID]*pendingEndpoint   // endpoints of this node, by what was asked
	// leaveOnEntry: whoever waited for this node to join has given up; it leaves as soon as it can.
	leaveOnEntry bool
	// announcedLeave: the leave command was submitted; departed: it was executed here.
	announcedLeave, departed bool
	batch                    []Message // of deliver, reused
}

type unsent struct {
	kind uint8
	b    []byte
}

type deferred struct {
	ready func() bool
	act   func()
}

type writerKey struct {
	node NodeID
	id   EndpointID
}

type openKey struct {
	node NodeID
	key  rdma.Key
}

// viewChange is what will differ in the next view.
type viewChange struct {
	joins   []rdma.PeerInfo
	sponsor []NodeID // of joins
	leaves  []NodeID
}

// pendingEndpoint is an AddEndpoint or RemoveEndpoint under way.
type pendingEndpoint struct {
	ep                         Endpoint
	done                       func(error) // nil when answered
	submitted, added, removing bool
}

// shell is what the machine reports to the node around it.
type shell interface {
	hasJoined()
	hasLeft()
	hasFailed(error)
	newGroup(*subgroup)
	post(func(*machine)) // an event from outside
}

func newMachine(cfg *Config, id NodeID, h Handler, s shell) *machine {
	m := &machine{
		cfg: cfg, id: id, h: h, shell: s,
		links: map[NodeID]rdma.Link{}, statuses: map[NodeID]status{}, parts: map[NodeID][]byte{},
		unsent: map[NodeID][]unsent{},
		cat:    newCatalogue(), groups: map[SubgroupID]*subgroup{}, receives: map[SubgroupID]map[ChannelID]bool{},
		writers: map[writerKey]ChannelID{}, opens: map[openKey]*epoch{}, own: map[EndpointID]*pendingEndpoint{},
		batch: make([]Message, 0, maxBatch),
	}
	return m
}

// attach gives the machine its network; nothing happens before.
func (m *machine) attach(self rdma.PeerInfo, f rdma.Fabric) {
	m.self, m.fabric, m.bell = self, f, f.Bell()
}

func (m *machine) dead() bool { return m.phase == failed || m.phase == left }

// Step makes one pass and reports whether it found work.
func (m *machine) Step(time.Time) bool {
	if m.dead() || m.phase < joined {
		return false
	}
	work := false
	for _, g := range m.order {
		work = g.step() || work
		if m.dead() {
			return true
		}
	}
	work = m.runDeferred() || work
	work = m.flushQueue() || work
	return m.tryLeave() || work
}

// fail ends the node's part in the group.
func (m *machine) fail(err error) {
	if m.dead() {
		return
	}
	m.phase = failed
	m.shell.hasFailed(err) // first: whoever finds no epoch to send in asks why
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
	m.h.Failed(err)
}

func (p *pendingEndpoint) answer(err error) {
	if p.done != nil {
		p.done(err)
		p.done = nil
	}
}

// logFailed may be called by any goroutine.
func (m *machine) logFailed(sg SubgroupID, err error) {
	m.shell.post(func(m *machine) { m.h.LogFailed(sg, m.id, err) })
}

func (m *machine) group(id SubgroupID) *subgroup {
	g := m.groups[id]
	if g == nil {
		g = &subgroup{m: m, id: id, loading: map[ChannelID]uint32{}, holds: map[ChannelID]bool{}}
		m.groups[id] = g
		m.shell.newGroup(g)
		m.order = append(m.order, g)
	}
	return g
}

func (m *machine) channel(node NodeID, w EndpointID) ChannelID { return m.writers[writerKey{node, w}] }

// aliased: node a reads the memory of node b directly.
func (m *machine) aliased(a, b NodeID) bool {
	pa, oka := m.info(a)
	pb, okb := m.info(b)
	return oka && okb && rdma.Aliased(pa, pb)
}

func (m *machine) info(id NodeID) (rdma.PeerInfo, bool) {
	for _, p := range m.view.members {
		if p.ID == uint64(id) {
			return p, true
		}
	}
	return rdma.PeerInfo{}, false
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

func (m *machine) linkUp(l rdma.Link) {
	id := NodeID(l.Peer().ID)
	m.links[id] = l
	m.send(id, msgStatus, m.status().encode())
	waiting := m.unsent[id]
	delete(m.unsent, id)
	for _, u := range waiting {
		m.send(id, u.kind, u.b)
	}
	for _, g := range m.order {
		for _, e := range g.epochs {
			if e.desc.member(id) >= 0 {
				e.openRows(g.ring())
			}
		}
	}
}

func (m *machine) linkDown(l rdma.Link, died bool, err error) {
	id := NodeID(l.Peer().ID)
	if m.links[id] != l {
		return
	}
	// What the peer wrote last may be what lets this node go: look before judging.
	for m.Step(time.Time{}) {
	}
	delete(m.links, id)
	delete(m.statuses, id)
	delete(m.parts, id)
	if m.phase == joining && m.sponsor == id {
		m.phase = alone
	}
	if m.phase >= joined && m.needs(id) && !m.dead() {
		what := "was lost"
		if died {
			what = "died"
		}
		p := l.Peer()
		m.fail(fmt.Errorf("%w: %s (process %d on %s) %s without leaving: %v", ErrPeerLost, p.Name, p.PID, p.Host, what, err))
		return
	}
	m.decide()
}

// needs: a member without which this node can not go on. A node that has executed its own leave needs
// another only until that has drained the epochs that they share: it may well be gone first.
func (m *machine) needs(id NodeID) bool {
	if !m.departed {
		return m.view.has(id)
	}
	for _, g := range m.order {
		for _, e := range g.epochs {
			if i := e.desc.member(id); i >= 0 && e.table.Row(i).Load(e.table.Drained()) == 0 {
				return true
			}
		}
	}
	return false
}

func (m *machine) opened(l rdma.Link, key rdma.Key, r *rdma.Region, err error) {
	id := NodeID(l.Peer().ID)
	e := m.opens[openKey{id, key}]
	delete(m.opens, openKey{id, key})
	if e == nil {
		return
	}
	if err != nil {
		m.fail(err)
		return
	}
	e.rowOpened(id, r)
}

func (m *machine) refused(err error) {
	if m.phase < joined {
		m.fail(fmt.Errorf("%w: %v", ErrConfig, err))
	}
}

// maxParts bounds a message that comes in several parts: the state of a channel, mostly.
const maxParts = 1 << 30

func (m *machine) message(l rdma.Link, b []byte) {
	id := NodeID(l.Peer().ID)
	if len(b) < 2 {
		m.badPeer(l, errWire)
		return
	}
	kind, more, b := b[0], b[1] != 0, b[2:]
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
	case msgStatus:
		var s status
		if s, err = parseStatus(b); err == nil {
			m.statuses[id] = s
			if m.phase == joining && m.sponsor == id && !s.joined {
				m.phase = alone // it leaves; ask another
				m.broadcastStatus()
			}
			m.decide()
			m.checkGroup(l.Peer(), s)
		}
	case msgJoin:
		m.announceJoin(l.Peer())
	case msgWelcome:
		var w welcome
		if w, err = parseWelcome(b); err == nil {
			m.welcomed(w)
		}
	case msgState:
		var s channelState
		if s, err = parseChannelState(b); err == nil {
			m.stateCame(s)
		}
	default:
		err = fmt.Errorf("unknown message %d", kind)
	}
	if err != nil {
		m.badPeer(l, err)
	}
}

// stateCame takes the state of a channel. The source may be ahead of this node, which then has not
// executed the command yet that begins the epoch.
func (m *machine) stateCame(s channelState) {
	s.state = slices.Clone(s.state)
	if g := m.groups[s.subgroup]; g != nil && g.newest.Epoch >= s.epoch {
		g.loaded(s)
		return
	}
	m.early = append(m.early, s)
}

// takeEarly loads what came before the newest epoch of g was known.
func (m *machine) takeEarly(g *subgroup) {
	early := m.early
	m.early = nil
	for _, s := range early {
		if s.subgroup == g.id && s.epoch <= g.newest.Epoch {
			g.loaded(s)
		} else {
			m.early = append(m.early, s)
		}
	}
}

func (m *machine) badPeer(l rdma.Link, err error) {
	m.fail(fmt.Errorf("%w: %s sent what this version does not understand: %v", ErrPeerLost, l.Peer().Name, err))
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
