package derecho

import "fmt"

// A log is one process's at a time: the lock on its directory sees to that. A directory that was copied has the identity of the
// original and a lock of its own. Two such logs would count as one, for the majority of the logs and for whose state is known to be
// stored, and what only one of them has could be lost. So an endpoint is not taken while another node has announced one with a log
// of this identity. All members see that alike, by the commands that they execute.
//
// The other node may be dead, and this process be the one that was started in its place: then the group goes on without the
// other before long, and the endpoint is announced again. If the other lives, one of the two directories is a copy (ErrCopied).

// livingBeats is how many heartbeats of the other node prove that it lives: two leases. What a dead one has sent may still be on its way, but
// is less.
const livingBeats = 2 * Heartbeats

// twin is a node that has announced the log of an endpoint as its own.
func (c *catalogue) twin(ep *Endpoint) (node NodeID, is bool) {
	if ep.Log == nil {
		return 0, false
	}
	for _, e := range c.onLog[ep.Log.ID] { // all of one node
		return e.Node, e.Node != ep.Node
	}
	return 0, false
}

// postpone keeps an endpoint of this node that was not taken, as another node has its log, until the log is free or the other is known to live.
func (m *machine) postpone(ep Endpoint) {
	p := m.own[ep.ID]
	if p == nil || ep.Node != m.id {
		return
	}
	var other NodeID
	var of *agreement // in which the heartbeats are counted
	var since uint64
	lives := func() bool {
		views := m.groups[0].epochs
		e := views[len(views)-1]
		i := e.desc.member(other)
		if i < 0 {
			return false
		}
		beat := e.agree.load(i, e.table.Beat())
		if of != e.agree {
			of, since = e.agree, beat
		}
		return beat >= since+livingBeats
	}
	free := func() (is bool) {
		other, is = m.cat.twin(&ep)
		return !is
	}
	m.whenReady(func() bool { return p.removing || free() || lives() }, func() {
		switch {
		case p.removing:
			m.withdraw(p)
			p.answer(nil)
		case free():
			m.propose(p)
		default:
			m.withdraw(p)
			p.answer(fmt.Errorf("%w: this node, %s, and %s have the log %016x, so the directory of one is a copy of the other's: "+
				"stop one of the two, and give it a directory of its own; what is stored is sent to it",
				ErrCopied, m.member(m.id), m.member(other), ep.Log.ID))
		}
	})
}
