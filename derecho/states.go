package derecho

import (
	"fmt"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// States travel over the link that heartbeats, commands and data use, so a large one goes in pieces, of which only some are
// under way at a time: what else there is for that node waits for these and no more, however large the state, and the
// memory of a link is bounded. The receiver asks for another piece when it has taken one that is not the last.
//
// A link may end while both live, and what was on its way is lost. So a state is kept until the members know that it has
// arrived, and goes again over the next link. Who has got it already drops it (subgroup.awaits).
//
// A pass copies as much as is asked for. States are encoded before that and put together after it on other goroutines
// (subgroup.serve, subgroup.came).

const (
	// stateWindow is how many pieces may be under way to a node, besides the last ones of states.
	stateWindow = 8
	// statePiece is the most that fits a message, behind the head of a first piece.
	statePiece = rdma.MaxMessage - 64
	// maxState bounds what a node takes as one state.
	maxState = 1 << 34
)

// transit is what is under way of states.
type transit struct {
	outgoing map[NodeID]*outgoing // that have not arrived, by who gets them
	incoming map[NodeID]*incoming // pieces of one, by who sends it; what one sent who is gone for the group may still come
	early    []channelState       // that came before their epoch was known here, or the group
	encoding int                  // that are being encoded; a node that leaves waits for them
}

// outgoing are the states that a node owes to another one, in the order in which they go.
type outgoing struct {
	states     []channelState // that are not known to have arrived
	next       int            // the first of them that is not sent to its end
	sent       int            // bytes of that one
	unanswered int            // pieces
}

// incoming is what has come of the state that another node is sending.
type incoming struct {
	channelState
	size int
}

// sendState sends a state. To a member to which the link is still being made it goes when that is up.
func (m *machine) sendState(to NodeID, s channelState) {
	if m.links[to] == nil && !m.view.has(to) {
		return
	}
	o := m.outgoing[to]
	if o == nil {
		o = &outgoing{}
		m.outgoing[to] = o
	}
	o.states = append(o.states, s)
	m.pushStates(to)
}

// rewindStates begins anew with what is not known to have arrived: the link has ended. It goes over the next one.
func (m *machine) rewindStates(to NodeID) {
	if o := m.outgoing[to]; o != nil {
		if o.next, o.sent, o.unanswered = 0, 0, 0; o.done() || mutant.Is("state-sent-once") {
			delete(m.outgoing, to)
		}
	}
}

// forgetStates forgets those that have arrived, or that nobody waits for any more. Of one that has gone in part the rest
// follows all the same: the receiver takes what comes for that.
func (m *machine) forgetStates() {
	for to, o := range m.outgoing {
		left, next := o.states[:0], o.next
		for i, s := range o.states {
			a := m.cat.loading[replica{s.subgroup, s.channel, to}]
			if a.from == m.id && a.epoch == s.epoch || i == o.next && o.sent > 0 {
				left = append(left, s)
			} else if i < o.next {
				next--
			}
		}
		clear(o.states[len(left):])
		if o.states, o.next = left, next; o.done() {
			delete(m.outgoing, to)
		}
	}
}

// pushStates sends as many pieces as may be under way.
func (m *machine) pushStates(to NodeID) {
	o, l := m.outgoing[to], m.links[to]
	if o == nil || l == nil {
		return
	}
	for o.next < len(o.states) && o.unanswered < stateWindow {
		s := &o.states[o.next]
		n := min(len(s.state)-o.sent, m.cfg.StatePiece)
		w := writer{b: make([]byte, 0, 2+stateHead+n)}
		w.b = append(w.b, msgState, 0)
		if o.sent == 0 {
			s.encodeHead(&w)
		}
		w.b = append(w.b, s.state[o.sent:o.sent+n]...)
		if o.sent += n; o.sent < len(s.state) {
			w.b[1] = 1
			o.unanswered++
		} else {
			o.next, o.sent = o.next+1, 0
		}
		l.Send(w.b)
	}
	if o.done() {
		delete(m.outgoing, to)
	}
}

// done: nothing is left to be sent, or to be answered.
func (o *outgoing) done() bool { return len(o.states) == 0 && o.unanswered == 0 }

// owesStates reports whether a state is not sent to its end.
func (m *machine) owesStates() bool {
	for _, o := range m.outgoing {
		if o.next < len(o.states) {
			return true
		}
	}
	return false
}

func (m *machine) stateMessage(l rdma.Link, kind uint8, more bool, b []byte) error {
	if kind == msgStateMore {
		return m.stateTaken(l)
	}
	return m.statePiece(l, more, b)
}

// statePiece takes a piece of a state.
func (m *machine) statePiece(l rdma.Link, more bool, b []byte) error {
	from := NodeID(l.Peer().ID)
	in := m.incoming[from]
	if in == nil {
		s, rest, err := parseStateHead(b)
		if err != nil {
			return err
		}
		in, b = &incoming{channelState: s}, rest
	}
	if in.size += len(b); in.size > maxState {
		return fmt.Errorf("state of more than %d bytes", maxState)
	}
	in.pieces = append(in.pieces, b)
	if !more {
		delete(m.incoming, from)
		m.stateCame(in.channelState)
		return nil
	}
	m.incoming[from] = in
	l.Send([]byte{msgStateMore, 0})
	return nil
}

// stateTaken: a piece has arrived.
func (m *machine) stateTaken(l rdma.Link) error {
	to := NodeID(l.Peer().ID)
	o := m.outgoing[to]
	if o == nil || o.unanswered == 0 {
		return fmt.Errorf("an answer to a piece of a state that was not sent")
	}
	o.unanswered--
	m.pushStates(to)
	return nil
}
