package cluster

import (
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// barren is a script against logs: a process has nothing of a channel, as its log is empty and nobody has written
// since, and dies before it has given that to another, as its disk is slow. While that one is asked whether it has it,
// the log comes that holds something. Its process dies, too, and comes back.
func (r *run) barren(at time.Duration) {
	procs := r.cast(1, 2, 3, 4)
	had, empty, waits := procs[0], procs[1], procs[2]
	lease, delay := r.plan.Lease, r.pace()
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

// lorn is a script against logs: a process waits for the state of a channel, and who was to give it dies; it waits for
// that as of a later epoch from another, which dies, too. The logs of both come back soon, and it is given the state as
// of a third epoch. All the while disks are slow, so that it has told of none of these epochs that they are stored; of
// the first two it never may. It may wait for another channel of the subgroup as well.
func (r *run) lorn(at time.Duration) {
	procs := r.cast(1, 2, 3, 4)
	first, second, waits, slow := procs[0], procs[1], procs[2], procs[3]
	if r.rng.IntN(2) == 0 {
		first, second = second, first
	}
	lease, delay := r.plan.Lease, r.pace()
	draw := func() bool { return r.rng.IntN(2) == 0 }
	keep := func(p *process, ch derecho.ChannelID) {
		p.keep(ch, true)
		r.rest()
	}
	first.enlist(logged, true)
	r.rest()
	second.enlist(logged, true)
	r.rest()
	if draw() {
		keep(slow, logged2)
	}
	for _, p := range []*process{first, second} {
		if draw() {
			p.enlist(logged2, true)
			r.rest()
		}
	}
	if draw() {
		keep(waits, logged2)
	}
	r.scribble()
	r.rest()
	next := at
	step := r.inSteps(&next, 4*delay, 4*delay)
	step(func() {
		for _, p := range []*process{first, second} {
			r.hang(p, 100*delay)
		}
		for _, p := range []*process{waits, slow} {
			if draw() {
				r.hang(p, 80*delay+r.w.Between(0, 100*delay))
			}
		}
		r.scribble()
	})
	step(func() { waits.keep(logged, true) })
	step(func() {
		if draw() {
			waits.keep(logged2, true)
		}
	})
	step(r.scribble)
	step(func() { r.fell(first.disk) })
	step(r.scribble)
	step(r.scribble)
	step(func() { r.fell(second.disk) })
	step(func() {})
	for _, p := range []*process{first, second} {
		step(func() { r.raise(p.disk) })
	}
	for range 6 {
		r.plot(next+r.w.Between(0, 8*lease), r.scribble)
	}
}
