package cluster

import (
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// bequest is a script against leaving: one gives the state of a channel, leaves, and dies as soon as the one that gets it
// goes on without it. All are on one host, so what the rows tell overtakes the state. Another has the state, too, or the
// log comes back. Or the one that gets it dies, leaves or has a disk that does not answer, perhaps while it is to give it
// to a third: nobody waits for that for ever.
func (r *run) bequest(at time.Duration) {
	procs := r.cast(1, 1, 1, 1)
	gives, has, gets, last := procs[0], procs[1], procs[2], procs[3]
	ch, inLog := derecho.ChannelID(replicated), r.rng.IntN(2) == 0
	if inLog {
		ch, r.plan.Memory = logged, true
	}
	gives.enlist(ch, true)
	r.rest()
	if !inLog || r.rng.IntN(2) == 0 {
		has.keep(ch, false)
		r.rest()
	}
	r.scribble()
	r.rest()
	soon := func() time.Duration { return at + r.w.Between(0, r.w.MaxDelay/2) }
	r.plot(at, func() { gets.keep(ch, inLog) })
	if r.rng.IntN(2) == 0 {
		r.plot(soon(), func() { last.keep(ch, inLog) })
	}
	r.plot(soon(), gives.leave)
	switch r.rng.IntN(6) {
	case 0:
		r.plot(at+r.w.Between(0, 4*r.w.MaxDelay), func() { r.fell(gets.disk) })
		r.plot(at+4*r.plan.Lease, func() { r.raise(gets.disk) })
	case 1:
		r.plot(at+r.w.Between(0, 4*r.w.MaxDelay), gets.leave)
	case 2:
		r.plot(at, func() { r.hang(gets, r.hungs()) })
	default:
		r.plot(at, func() { r.when(gets, installsView, 1, func() { r.fell(gives.disk) }) })
		r.plot(at+4*r.plan.Lease, func() { r.raise(gives.disk) })
	}
}
