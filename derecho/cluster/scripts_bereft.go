package cluster

import "time"

// barren is a script against logs: a process has nothing of a channel, as its log is empty and nobody has written since, and dies before it has given that to another, as its disk is slow. While that one is asked whether it
// has it, the log comes that holds something. Its process dies, too, and comes back.
func (r *run) barren(at time.Duration) {
	procs := r.cast(1, 2, 3, 4)
	had, empty, waits := procs[0], procs[1], procs[2]
	lease, delay := r.plan.Lease, max(r.w.MaxDelay, r.plan.Lease/200)
	had.enlist(logged, true)
	r.rest()
	r.scribble()
	r.rest()
	had.guard(func() { had.removeFrom(logged) })
	had.look()
	r.rest()
	empty.keep(logged, true)
	empty.enlist(logged2, true)
	r.rest()
	r.plot(at, func() {
		r.hang(empty, 100*delay)
		empty.guard(empty.send)
		empty.look()
	})
	r.plot(at+r.w.Between(8*delay, 12*delay), func() { waits.keep(logged, true) })
	dies := at + 20*delay
	r.plot(dies, func() { r.fell(empty.disk) })
	r.plot(dies+r.w.Between(0, 20*r.w.MaxDelay), func() { had.keep(logged, true) })
	r.plot(dies+4*lease, func() { r.fell(had.disk) })
	r.plot(dies+6*lease+r.w.Between(0, 2*lease), func() { r.raise(had.disk) })
	for range 4 {
		r.plot(dies+r.w.Between(4*lease, 10*lease), r.scribble)
	}
}
