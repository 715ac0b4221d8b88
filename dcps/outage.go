package dcps

import (
	"errors"
	"fmt"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/sequence"
	"github.com/omg-dds-go/dds/topic"
)

// What the core tells of members that are silent or fail, and of this node being cut off.

// member is a process of the domain as this one hears it. The polling goroutine's.
type member struct {
	writers sequence.Set[*endpoint]
	silence time.Duration // at the latest heartbeat of this process
	failed  bool          // the domain goes on without it
	left    bool
	met     idSet     // its endpoints that this process was told of, also those that have ended
	awaited []*access // with something that waits for another one (stream.awaits)
}

// origin is the process of a node, whichever of its incarnations that is. Handles, and what a reader remembers of a
// writer, go by it.
func origin(id derecho.NodeID) derecho.NodeID { return id - derecho.NodeID(id.Incarnation()) }

func (k endpointKey) origin() endpointKey { return endpointKey{origin(k.node), k.id} }

func (h *hub) member(id derecho.NodeID) *member {
	m := h.members[id]
	if m == nil {
		m = new(member)
		h.members[id] = m
	}
	return m
}

// lives tells whether a writer is alive (LIVELINESS AUTOMATIC). Those of this process are.
func (h *hub) lives(w *endpoint, m *member) bool {
	if w.writer != nil {
		return true
	}
	return !m.failed && !h.isolated && m.silence <= max(w.ann.writer.Liveliness.LeaseDuration, h.shortestLease)
}

// look tells the readers of this process which writers of a member have died, or are alive again.
func (h *hub) look(m *member) {
	for w := range m.writers.All() {
		alive := h.lives(w, m)
		if alive == w.alive {
			continue
		}
		w.alive = alive
		for _, t := range w.matches {
			h.tellLife(w, t)
		}
	}
}

func (h *hub) tellLife(w *endpoint, t match) {
	kind := itemNotAlive
	if w.alive {
		kind = itemAlive
	}
	m := h.members[w.key.node]
	it := &item{kind: kind, src: t.src, receiveNs: now(), ctl: &control{handle: w.handle, failed: !w.alive && m != nil && m.failed}}
	h.inform(w, t, it)
}

// Entered implements derecho.Handler.
func (h *hub) Entered(id derecho.NodeID) { h.self.Store(uint64(id)) }

// Silence implements derecho.Handler: it is what lease_duration is compared with.
func (h *hub) Silence(id derecho.NodeID, d time.Duration) {
	if m := h.members[id]; m != nil {
		m.silence = d
		h.look(m)
	}
}

// NodeFailed implements derecho.Handler: the writers of the node are not alive from now on; its endpoints are removed
// when all that they sent before is delivered.
func (h *hub) NodeFailed(id derecho.NodeID) {
	if m := h.members[id]; m != nil {
		m.failed = true
		h.look(m)
	}
}

// Isolated implements derecho.Handler: nothing can be sent, and the writers of all other processes are not alive, until
// it is over.
func (h *hub) Isolated(err error) {
	h.isolated = err != nil && !h.view.excluded
	if err != nil && h.view.excluded { // it joins again, and is not let in
		err = fmt.Errorf("%w; %w", h.view.exclusion, err)
	}
	for _, m := range h.members {
		h.look(m)
	}
	h.p.interrupt(err) // first: who is told that the process is back may write
	h.cutOff(err, false)
}

// Excluded implements derecho.Handler. All endpoints were removed before; those that are there when the node has joined
// again are added then, and Isolated(nil) ends the outage. What was kept for late readers is kept like what a log holds:
// it counts if nobody else knows more.
func (h *hub) Excluded(err error) {
	for key, c := range h.channels {
		if !c.awaiting && h.p.replicates(key.ch) {
			c.history.endAll()
			h.p.logs.recovered.Store(key, recovered{store: c.history})
		}
		delete(h.channels, key)
	}
	for r := range h.p.readers.all() {
		if r.durable { // it is owed what comes meanwhile, from when it is announced again
			it := &item{kind: itemHistoryOwed}
			r.post(it, it)
		}
	}
	for len(h.veiled) > 0 {
		h.abandon(h.veiled[0])
	}
	h.flush()
	clear(h.members)
	h.isolated, h.excluding = false, false
	h.failed = nil
	h.p.logErrs.Clear()
	h.p.problems.end(func(of any) bool {
		_, is := of.(logOf)
		return is
	})
	h.view.exclusion = err
	h.cutOff(err, true)
	h.p.interrupt(err)
}

// interrupt notes why nothing can be sent for now, or that it can again.
func (p *DomainParticipant) interrupt(err error) {
	if err == nil {
		p.outage.Store(nil)
	} else {
		p.outage.Store(&err)
	}
	if err == nil {
		p.sendOwedSoon()
	}
	for e := range p.entities.all() {
		it := &item{kind: itemOutage}
		e.post(it, it)
	}
}

// interrupted gives the error of an operation that can not be done for now, or nil.
func (p *DomainParticipant) interrupted(op, entity string) error {
	if err := p.outage.Load(); err != nil {
		if !p.enabled() {
			return &Error{Op: op, Entity: entity, Code: ErrPreconditionNotMet, Detail: outsideDetail, Err: *err}
		}
		return failure(op, entity, "", *err)
	}
	return nil
}

// replicates tells whether an endpoint of this process keeps the history of a channel.
func (p *DomainParticipant) replicates(ch derecho.ChannelID) bool {
	for w := range p.writers.all() {
		if w.at.ch == ch && w.path.Keeps() && !w.ended.Load() {
			return true
		}
	}
	for r := range p.readers.all() {
		if r.channel == ch && r.durable && !r.ended.Load() {
			return true
		}
	}
	return false
}

// stores tells whether a PERSISTENT endpoint of this process, announced or about to be, is a replica of a channel.
func (p *DomainParticipant) stores(ch derecho.ChannelID) bool {
	for w := range p.writers.all() {
		if w.at.ch == ch && w.path == topic.Logged {
			return true
		}
	}
	for r := range p.readers.all() {
		if r.channel == ch && r.stored {
			return true
		}
	}
	return false
}

const (
	isolatedDetail = "this process hears too few of the others to go on without them. It goes on by itself once it hears them: " +
		"look after the network, and after the processes that are named here. One that has ended is not heard again, also if it was started anew: " +
		"then start this one anew, too"
	outsideDetail = "the processes that are left of the domain can let nobody in, because they hear too few of the others. This one joins by itself " +
		"once they do: look after the network, and after the processes that are named here"
	excludedDetail = "the others went on without this process, because they did not hear it for longer than Settings.Lease. It is joining again " +
		"by itself as soon as it reaches a process of the domain: if none is left, start one, or this one anew. Try again once DomainParticipant.Err is nil"
	otherGroupDetail = "the processes of the domain had not reached each other, and formed more than one group. This one left the smaller one, " +
		"and is joining the other by itself: look after the network, or after the addresses of the peers. Try again once DomainParticipant.Err is nil"
)

// outageDetail says what an outage means and what to do.
func outageDetail(outage error, more string) string {
	text := isolatedDetail
	switch {
	case errors.Is(outage, derecho.ErrOtherGroup):
		text = otherGroupDetail
	case errors.Is(outage, derecho.ErrExcluded):
		text = excludedDetail
	}
	if more != "" {
		text = fmt.Sprintf("%s; %s", more, text)
	}
	return text
}
