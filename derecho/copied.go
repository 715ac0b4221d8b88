package derecho

import (
	"fmt"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// A log is one process's at a time: the lock on its directory sees to that. A directory that was copied has the
// identity of the original and a lock of its own. Two such logs would count as one, for the majority of the logs and
// for whose state is known to be stored, and what only one of them has could be lost. So an endpoint is not taken while
// another node has announced one with a log of this identity. All members see that alike, by the commands that they
// execute.
//
// The other node may be dead, and this process be the one that was started in its place: then the group goes on without the
// other before long, and the endpoint is announced again. If the other lives, one of the two directories is a copy (ErrCopied).

// livingBeats is how many heartbeats of the other node prove that it lives: two leases. What a dead one has sent may
// still be on its way, but is less.
const livingBeats = 2 * Heartbeats

// twin is a node that has announced the log of an endpoint as its own.
func (c *catalogue) twin(ep *Endpoint) (node NodeID, is bool) {
	if ep.Log == nil || mutant.Is("copied-unnoticed") {
		return 0, false
	}
	for _, e := range c.onLog[ep.Log.ID] { // all of one node
		return e.Node, e.Node != ep.Node
	}
	return 0, false
}

// pulse counts the heartbeats of another node, from the first look at it in a view.
type pulse struct {
	of    *agreement // of the view, in which the heartbeats are counted
	node  NodeID
	since uint64
}

// lives is told a heartbeat and reports whether there were enough of that node in that view.
func (p *pulse) lives(of *agreement, node NodeID, beat uint64) bool {
	if p.of != of || p.node != node {
		*p = pulse{of, node, beat}
	}
	return beat >= p.since+livingBeats
}

// postpone keeps an endpoint of this node that was not taken, as another node has its log, until the log is free or the
// other is known to live. Then AddEndpoint fails. Nobody waits for an answer when a node has joined again and announces
// what its application has: its endpoint goes on to wait, as the process that goes may as well be the other.
func (m *machine) postpone(ep Endpoint) {
	p := m.own[ep.ID]
	if p == nil || ep.Node != m.id {
		return
	}
	var other NodeID
	var heard pulse
	lives := func() bool {
		views := m.groups[0].epochs
		e := views[len(views)-1]
		i := e.desc.member(other)
		return i >= 0 && heard.lives(e.agree, other, e.agree.load(i, e.table.Beat()))
	}
	free := func() (is bool) {
		other, is = m.cat.twin(&ep)
		return !is
	}
	again := func() {
		p.logTaken = false
		if p.removing {
			m.withdraw(p)
			m.unrefuse(p)
			p.answer(nil)
		} else {
			m.propose(p)
		}
	}
	m.whenReady(func() bool { return p.removing || p.refused || free() || lives() }, func() {
		if p.removing || !p.refused && free() {
			again()
			return
		}
		if !p.refused {
			err := fmt.Errorf("%w: this node, %s, and %s have the log %016x, so the directory of one is a copy of the other's: "+
				"stop one of the two, and give it a directory of its own; what is stored is sent to it",
				ErrCopied, m.member(m.id), m.member(other), ep.Log.ID)
			if !p.rejoins {
				m.withdraw(p)
				p.answer(err)
				return
			}
			p.refused = true
			m.leftOut(ep.logged(), err)
			p.answer(nil)
		}
		p.logTaken = true
		m.whenReady(func() bool { return p.removing || free() }, again)
	})
}

// unrefuse: an endpoint does not wait for its log any more. If no other does, the layer above is told.
func (m *machine) unrefuse(p *pendingEndpoint) {
	if !p.refused {
		return
	}
	p.refused = false
	for _, other := range m.own {
		if other.refused && other.ep.logged() == p.ep.logged() {
			return
		}
	}
	m.h.LogFailed(p.ep.logged(), m.id, nil)
}
