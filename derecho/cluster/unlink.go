package cluster

import (
	"errors"
	"time"
)

// The link between two processes may end though both live: one can not write to it, or not map what came over it, and
// drops it; or it is given up. On one host they share their memory all the same. They make another link.

var errUnlinked = errors.New("the link can not be used any more")

// unlink ends the link between two processes, from the side of the first.
func (r *run) unlink(p, q *process) {
	r.emit(Event{Kind: Fault_, Node: p.id, Text: "its link to " + q.id.String() + " ends"})
	p.f.Unlink(q.f, errUnlinked)
}

// plotUnlinks schedules the ends of links.
func (r *run) plotUnlinks() {
	for range 1 + r.breaks.IntN(6) {
		r.plot(time.Duration(r.breaks.Int64N(int64(r.plan.Length))), func() { r.fault(Unlink) })
	}
}

// unlinkFrom ends a link of a process, from one end or from both at once; as often as any other one to a process on its host,
// if there is one.
func (r *run) unlinkFrom(p *process) bool {
	nearby := r.pick.IntN(2) == 0
	for _, i := range r.pick.Perm(len(r.procs)) {
		q := r.procs[i]
		if q == p || q.gone || nearby && q.host != p.host || !p.f.Linked(q.f) {
			continue
		}
		both := r.pick.IntN(3) == 0
		r.unlink(p, q)
		if both {
			r.unlink(q, p)
		}
		return true
	}
	return false
}
