package cluster

import "errors"

// The link between two processes may end though both live: one can not write to it, or not map what came over it, and
// drops it. On one host they share their memory all the same. They make another link.

var errUnlinked = errors.New("the link can not be used any more")

// unlink ends the link between two processes, from the side of the first.
func (r *run) unlink(p, q *process) {
	r.emit(Event{Kind: Fault_, Node: p.id, Text: "its link to " + q.id.String() + " ends"})
	p.f.Unlink(q.f, errUnlinked)
}
