package derecho

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
)

// commands are those that this node has for the group, and what becomes some.
type commands struct {
	queue      [][]byte   // that wait for the next control epoch
	announcing []Endpoint // of this node, that no command announces yet
	gathering  bool       // more of these follow at once
	unexecuted [][]byte   // that this node has sent in the control epoch, and that were not executed here yet
}

// submit sends a command to all members, in the current control epoch or, if that is closing, in
// the next.
func (m *machine) submit(cmd []byte) {
	m.queue = append(m.queue, cmd)
	m.flushQueue()
}

// addEndpoint announces an endpoint of this node; done is called when all that belongs to it is set up
// here.
func (m *machine) addEndpoint(ep Endpoint, done func(error)) {
	m.addEndpoints([]Endpoint{ep}, false, func(_ Endpoint, err error) { done(err) })
}

// addEndpoints announces several, together as far as nothing keeps them apart; done is called for each. rejoins: they
// are those of a node that has joined again.
func (m *machine) addEndpoints(eps []Endpoint, rejoins bool, done func(Endpoint, error)) {
	m.gathering = true
	for _, ep := range eps {
		m.gather(ep, rejoins, func(err error) { done(ep, err) })
	}
	m.gathering = false
	if len(m.announcing) > 0 {
		m.flushQueue()
	}
}

func (m *machine) gather(ep Endpoint, rejoins bool, done func(error)) {
	switch {
	case m.own[ep.ID] != nil:
		done(fmt.Errorf("%w: endpoint %d exists", ErrConfig, ep.ID))
	case m.phase != joined:
		done(ErrClosed)
	default:
		p := &pendingEndpoint{ep: ep, done: done, rejoins: rejoins}
		m.own[ep.ID] = p
		m.propose(p)
	}
}

// propose announces an endpoint of this node as soon as it may.
func (m *machine) propose(p *pendingEndpoint) {
	ep := p.ep
	m.whenReady(func() bool { return !m.replicaEnding(ep) }, func() {
		if m.own[ep.ID] != p {
			return // taken back meanwhile
		}
		p.submitted = true
		ep.Log = m.logState(ep)
		m.announcing = append(m.announcing, ep)
		if !m.gathering {
			m.flushQueue()
		}
	})
}

// maxBundle bounds a command that announces several endpoints, in bytes; so does the ring. One that is larger by itself
// goes alone.
const maxBundle = MaxInfo

// bundle makes commands of the endpoints that are to be announced. Those of one command bring at most one new epoch of
// each subgroup.
func (m *machine) bundle() {
	var w, one writer
	most := min(maxBundle, smc.MaxPayload(m.controlRing))
	for _, ep := range m.announcing {
		one.b = one.b[:0]
		one.endpoint(ep)
		if len(w.b) > 0 && len(w.b)+len(one.b) > most {
			m.queue = append(m.queue, w.b)
			w.b = nil
		}
		if len(w.b) == 0 {
			w.u8(cmdAdd)
		}
		w.b = append(w.b, one.b...)
	}
	if len(w.b) > 0 {
		m.queue = append(m.queue, w.b)
	}
	m.announcing = m.announcing[:0]
}

// logState is what the log holds that the endpoint keeps, as of now: an earlier replica of this node has ended.
func (m *machine) logState(ep Endpoint) *LogState {
	if m.cfg.LogState == nil || !ep.Replica {
		return nil
	}
	if sg := ep.logged(); sg != 0 {
		return m.cfg.LogState(sg, ep.Channel)
	}
	return nil
}

// removeEndpoint withdraws an endpoint of this node; done is called when its last message was
// delivered here.
func (m *machine) removeEndpoint(id EndpointID, done func(error)) {
	p := m.own[id]
	switch {
	case p == nil:
		done(fmt.Errorf("%w: no endpoint %d", ErrConfig, id))
	case p.removing:
		done(fmt.Errorf("%w: endpoint %d is being removed", ErrConfig, id))
	case !p.submitted:
		p.answer(ErrClosed)
		delete(m.own, id)
		done(nil)
	default:
		p.answer(ErrClosed)
		p.done, p.removing = done, true
		m.whenReady(func() bool { return p.added && !m.replicaLoading(p.ep) }, func() {
			for _, sg := range p.ep.Reads {
				if g := m.groups[sg.ID]; g != nil && p.ep.Replica {
					delete(g.untold, p.ep.Channel)
				}
			}
			var w writer
			w.u8(cmdRemove)
			w.u32(uint32(id))
			m.submit(w.b)
		})
	}
}

// changeEndpoint announces another Info of an endpoint of this node; done is called when what this node sends comes behind it.
func (m *machine) changeEndpoint(id EndpointID, info []byte, done func(error)) {
	p := m.own[id]
	if p == nil || p.removing {
		done(fmt.Errorf("%w: no endpoint %d", ErrConfig, id))
		return
	}
	m.whenReady(func() bool { return p.added || p.removing || p.logTaken }, func() {
		if m.own[id] != p || p.removing {
			done(ErrClosed)
			return
		}
		if p.logTaken { // nobody knows it; perhaps for long
			p.ep.Info = info
			done(nil)
			return
		}
		p.changing = append(p.changing, done)
		var w writer
		w.u8(cmdChange)
		w.u32(uint32(id))
		w.bytes(info)
		m.submit(w.b)
	})
}

// maxBacklog is with how many epochs of a subgroup that are not drained this node says that a change is made. Each has rings:
// who changes something again and again waits, if the first of them is held up.
const maxBacklog = 4

// changed: an endpoint has another Info. That of a writer begins an epoch of its subgroup, with the same members as a rule: so
// it has its place among the messages, and all that are handed one know the same of its writer (docs/adr/0037).
func (m *machine) changed(node NodeID, id EndpointID, info []byte) {
	ep := m.cat.find(node, id)
	if ep == nil {
		return
	}
	now := *ep
	if now.Info = info; !mutant.Is("stale-info") {
		*ep = now
	}
	var answer func(error)
	if p := m.own[id]; p != nil && node == m.id && len(p.changing) > 0 {
		answer = p.changing[0] // a node's commands are executed in the order of their submission
		p.changing = p.changing[1:]
	}
	var before []*epoch
	begins := func() bool { return true } // what this node writes from now on comes behind the change
	if sg := now.Writes; sg.ID != 0 {
		before = m.lastEpochs(sg)
		m.renew(m.cat.part(sg, node, id))
		if g := m.groups[sg.ID]; g != nil && answer != nil {
			epoch := g.newest.Epoch
			begins = func() bool {
				return g.reached(epoch) && g.backlog() <= maxBacklog || mutant.Is("change-answered-early")
			}
		}
	}
	if mutant.Is("change-at-once") {
		before = nil
	}
	m.whenDrained(before, func() {
		if m.unshownOf(now) != nil {
			m.catchUp() // it is told of first
		}
		m.reshowEndpoint(now)
	})
	if answer != nil {
		m.whenReady(begins, func() { answer(nil) })
	}
}

// The life of a replica of a channel at a node is one thing after the other: it gets the state, it
// gives the state to others, it ends; only then it may begin again. So a node withdraws a replica
// only when it has its state, and announces one only when the one before it has ended here. Neither
// keeps anybody else waiting.

// replicaLoading: the state of the endpoint's channel is on its way. Who lacks it has nothing to give, and need not wait:
// perhaps until logs come.
func (m *machine) replicaLoading(ep Endpoint) bool {
	return ep.Replica && slices.ContainsFunc(ep.Reads, func(sg Subgroup) bool {
		g := m.groups[sg.ID]
		return g != nil && (g.loading[ep.Channel] != 0 && !g.lacks[ep.Channel] || g.untold[ep.Channel] != 0 && !mutant.Is("announce-unbegun"))
	})
}

// replicaEnding: an earlier replica of the endpoint's channel is being withdrawn, or its log has not written yet that
// it began. What the log is announced to hold must not be less than what it will: it could be given the history of
// others beside its own.
func (m *machine) replicaEnding(ep Endpoint) bool {
	if !ep.Replica {
		return false
	}
	if g := m.groups[ep.logged()]; g != nil && g.log != nil && g.log.owes(ep.Channel) && !mutant.Is("announce-unbegun") {
		return true
	}
	for _, p := range m.own {
		if p.removing && p.ep.Replica && p.ep.Channel == ep.Channel {
			return true
		}
	}
	return false
}

// whenReady acts as soon as a condition holds; it is looked at on every pass.
func (m *machine) whenReady(ready func() bool, act func()) {
	if ready() {
		act()
		return
	}
	m.deferred = append(m.deferred, deferred{ready, act})
}

func (m *machine) runDeferred() bool {
	if len(m.deferred) == 0 {
		return false
	}
	list := m.deferred
	m.deferred = nil
	ran := false
	for _, d := range list {
		if d.ready() {
			d.act()
			ran = true
		} else {
			m.deferred = append(m.deferred, d)
		}
	}
	return ran
}

func (m *machine) flushQueue() bool {
	m.bundle()
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
				m.fail(fmt.Errorf("%w: a command of %d bytes, at most %d", ErrTooLarge, len(m.queue[0]), smc.MaxPayload(m.controlRing)))
				return false
			}
			break // full or closing: later
		}
		copy(r.Bytes(), m.queue[0])
		r.Commit(smc.Header{}, len(m.queue[0]))
		m.unexecuted = append(m.unexecuted, m.queue[0])
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
	if from == m.id && len(m.unexecuted) > 0 && !mutant.Is("repeat-executed") {
		m.unexecuted = m.unexecuted[1:]
	}
	r := reader{b: b}
	switch r.u8() {
	case cmdJoin:
		p := r.peer()
		if r.bad || m.view.has(NodeID(p.ID)) || slices.ContainsFunc(m.change.joins, func(q rdma.PeerInfo) bool { return p.ID == q.ID }) {
			return
		}
		m.change.joins = append(m.change.joins, p)
		m.closeView()
	case cmdLeave:
		if !slices.Contains(m.change.leaves, from) {
			m.change.leaves = append(m.change.leaves, from)
			m.closeView()
		}
	case cmdAdd:
		if eps := r.endpoints(from); !r.bad {
			m.added(eps)
		}
	case cmdRemove:
		if id := EndpointID(r.u32()); !r.bad {
			m.removed(from, id)
		}
	case cmdChange:
		id, info := EndpointID(r.u32()), slices.Clone(r.bytes())
		if !r.bad {
			m.changed(from, id, info)
		}
	case cmdTrim:
		t := r.trimReport()
		if g := m.groups[t.subgroup]; g != nil && !r.bad {
			for _, e := range g.epochs {
				if e.desc.Epoch == t.epoch {
					e.reported(from, t)
				}
			}
		}
	case cmdLoaded:
		to := replica{subgroup: SubgroupID(r.u32()), channel: ChannelID(r.u64()), node: from}
		if epoch := r.u32(); !r.bad {
			m.renew(m.cat.loaded(to, epoch))
		}
	case cmdHas:
		to := replica{subgroup: SubgroupID(r.u32()), channel: ChannelID(r.u64()), node: from}
		if epoch := r.u32(); !r.bad {
			m.renew(m.cat.has(to, epoch))
		}
	case cmdLacks:
		orphan := replica{subgroup: SubgroupID(r.u32()), channel: ChannelID(r.u64()), node: from}
		if epoch := r.u32(); !r.bad {
			m.renew(m.cat.lacks(orphan, epoch))
		}
	case cmdHurry:
		if k := r.kept(); !r.bad {
			m.renew(m.cat.hurry(k))
			m.awaitLogs(k) // one of the majority may have gone meanwhile
		}
	case cmdVouch:
		if to := NodeID(r.u64()); from == m.id && !r.bad {
			m.send(to, msgVouched, m.status().encode())
		}
	case cmdGrow:
		sg, ring := SubgroupID(r.u32()), r.u32()
		if !r.bad {
			m.grown(from, sg, ring)
		}
	}
}

// renew begins the epochs that a command has brought without an endpoint of its own.
func (m *machine) renew(next []*descriptor) {
	if m.installHere(next, false) == nil {
		m.announce(next)
	}
}

// ask has the replicas of this node among these tell whether they have the state that they waited for.
func (m *machine) ask(orphans []replica) {
	for _, r := range orphans {
		if g := m.groups[r.subgroup]; g != nil && r.node == m.id && !m.dead() {
			g.asked(r.channel)
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

// withdraw forgets an endpoint of this node that the members have not taken.
func (m *machine) withdraw(p *pendingEndpoint) {
	delete(m.own, p.ep.ID)
	p.added = true
}

// refuse gives up an endpoint of this node whose log holds another history of its channel.
func (m *machine) refuse(ep Endpoint, history uint64) {
	p := m.own[ep.ID]
	if p == nil || ep.Node != m.id {
		return
	}
	m.withdraw(p)
	waited := p.refused
	m.unrefuse(p)
	if p.removing {
		p.answer(nil)
		return
	}
	err := otherHistory(&ep, history)
	if waited { // for its log; who announced it has had an answer
		m.leftOut(ep.logged(), err)
	}
	p.answer(err)
}

// otherHistory: the log of an endpoint of this node holds another history of its channel than the one that the members
// go on with, or has parted from their line.
func otherHistory(ep *Endpoint, history uint64) error {
	if ep.Log.History == history {
		return fmt.Errorf("%w: the log of this node, %016x, has epoch %d of channel %016x, of which the members were never told, as they went on without those who stored in it: "+
			"stop those to go on with this one, or move this log away", ErrHistory, ep.Log.ID, ep.Log.Epoch, uint64(ep.Channel))
	}
	return fmt.Errorf("%w: the log of this node, %016x, holds history %016x of channel %016x, up to epoch %d, and the members go on with history %016x: "+
		"stop those to go on with this one, or move this log away", ErrHistory, ep.Log.ID, ep.Log.History, uint64(ep.Channel), ep.Log.Epoch, history)
}

func (m *machine) added(eps []Endpoint) {
	eps = slices.DeleteFunc(eps, func(ep Endpoint) bool {
		if _, twin := m.cat.twin(&ep); twin {
			m.postpone(ep)
			return true
		}
		history, foreign := m.cat.foreign(&ep)
		if foreign {
			m.refuse(ep, history)
		}
		return foreign
	})
	changed := m.cat.add(eps...)
	for i := range eps {
		if ep := &eps[i]; ep.Writes.ID != 0 {
			m.writers[ep.key()] = ep.Channel
		}
	}
	// The new epochs first: what is written after the layer above knows of a reader reaches it.
	err := m.installHere(changed, slices.ContainsFunc(eps, func(ep Endpoint) bool { return ep.Node == m.id }))
	for _, ep := range eps {
		m.introduce(ep)
	}
	m.announce(changed)
	for _, ep := range eps {
		if p := m.own[ep.ID]; p != nil && ep.Node == m.id {
			p.added = true
			m.unrefuse(p)
			// A node that joins again has an outage until all its endpoints are there. Missing logs of one channel do
			// not make it longer for the others: who writes to that one is told which they are, as at every other
			// member.
			m.whenReady(func() bool { return p.removing || p.rejoins || m.cat.recovered(ep) }, func() {
				reached := m.reachedBy(ep)
				m.whenReady(func() bool { return p.removing || reached() }, func() {
					if !p.removing {
						p.answer(err)
					}
				})
			})
		}
	}
}

// awaitLogs has the members told to do with a majority of the logs of a channel, if some of them do not
// come in time. Every node that keeps one of them does it.
func (m *machine) awaitLogs(k keptChannel) {
	if m.awaiting[k] || m.cat.logOf(replica{k.subgroup, k.channel, m.id}) == 0 {
		return
	}
	over := func() bool { return !m.cat.patient(k) }
	if over() {
		return // they have been told
	}
	m.awaiting[k] = true
	// Counted from when there is a majority: who waits for the second log of three for an hour leaves the third its
	// time all the same.
	since, next := m.now, m.now
	waited := func() bool {
		if m.now < next {
			return false // with many logs it takes long to tell
		}
		if next = m.now + m.cfg.RestartWait/64; !m.cat.majority(k) {
			since = m.now
			return false
		}
		return m.now-since >= m.cfg.RestartWait
	}
	m.whenReady(func() bool { return waited() || over() }, func() {
		delete(m.awaiting, k)
		if !over() {
			var w writer
			w.u8(cmdHurry)
			w.kept(k)
			m.submit(w.b)
		}
	})
}

func (m *machine) removed(node NodeID, id EndpointID) {
	if e := m.cat.find(node, id); e != nil {
		waits := m.lastEpochsOf(*e)
		ep, changed, asked, _ := m.cat.remove(node, id)
		err := m.installHere(changed, node == m.id)
		m.announce(changed)
		m.ask(asked)
		m.whenDrained(waits, func() { m.gone(ep, err) })
	}
}

// gone: an endpoint has ended here.
func (m *machine) gone(ep Endpoint, err error) {
	delete(m.writers, endpointKey{ep.Node, ep.ID})
	if u := m.unshownOf(ep); u != nil {
		u.gone = true
	} else {
		m.hideEndpoint(ep)
	}
	if p := m.own[ep.ID]; p != nil && ep.Node == m.id {
		delete(m.own, ep.ID)
		p.answer(err)
	}
}

// whenDrained acts when the epochs are drained here. Those that go on, because another endpoint of the
// node does the same, are not waited for.
func (m *machine) whenDrained(waits []*epoch, act func()) {
	waits = slices.DeleteFunc(waits, func(e *epoch) bool { return !e.superseded() })
	open := len(waits)
	for _, e := range waits {
		e.afterDrain = append(e.afterDrain, func() {
			if open--; open == 0 {
				act()
			}
		})
	}
	if open == 0 {
		act()
	}
}

// lastEpochsOf are the epochs at whose end an endpoint is really gone here: a writer when its last
// message was delivered, a replica of this node also when it can not be asked for the state any
// more.
func (m *machine) lastEpochsOf(ep Endpoint) []*epoch {
	var from []Subgroup
	if ep.Writes.ID != 0 {
		from = append(from, ep.Writes)
	}
	if ep.Replica && ep.Node == m.id {
		from = append(from, ep.Reads...)
	}
	return m.lastEpochs(from...)
}

// lastEpochs are the last of which this node is still handed messages, of each of some subgroups.
func (m *machine) lastEpochs(of ...Subgroup) (last []*epoch) {
	for _, sg := range eachOnce(of) {
		g := m.groups[sg.ID]
		if g == nil {
			continue
		}
		// This node need not receive in the newest epoch to have messages of an older one to come.
		for _, e := range slices.Backward(g.epochs) {
			if e.receiving && !e.drained {
				last = append(last, e)
				break
			}
		}
	}
	return last
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
	if len(m.cat.recovery) > 0 || len(m.cat.bereaved) > 0 {
		waiting := m.cat.missingLogs()
		m.shell.isRecovering(waiting)
		for _, k := range slices.SortedFunc(maps.Keys(waiting), keptChannel.compare) {
			m.awaitLogs(k)
		}
	}
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
