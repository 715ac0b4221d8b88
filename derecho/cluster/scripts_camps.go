package cluster

import (
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// camps is a script against groups that meet: sets of processes that do not reach each other found a group each, and
// then hear each other, one here and one there first. Just then some leave, die, or stand still, and others start.
func (r *run) camps(at time.Duration) {
	lease, delay := r.plan.Lease, r.pace()
	sets := make([][]*process, 2+r.rng.IntN(2))
	camp := func() int { return r.rng.IntN(len(sets)) }
	for i := range r.plan.Nodes {
		set := i
		if i >= len(sets) { // none is empty
			set = camp()
		}
		p := r.start(1+uint64(2*set+r.rng.IntN(2)), r.newDisk())
		for other, procs := range sets {
			if other != set {
				r.partOf(p, procs, true)
			}
		}
		sets[set] = append(sets[set], p)
		r.runFor(8*lease, 3_000_000)
	}
	for _, p := range r.procs {
		p.guard(func() {
			for range 1 + r.rng.IntN(3) {
				p.addTo(derecho.ChannelID(1 + r.rng.IntN(len(channels))))
			}
		})
		p.look()
	}
	r.runFor(2*lease, 3_000_000)
	r.stormy = true
	far := 6 * delay // how much later the last hear each other
	if r.rng.IntN(3) == 0 {
		far = 3 * lease
	}
	for i, one := range sets {
		for _, two := range sets[:i] {
			for _, p := range one {
				r.plot(at+r.w.Between(0, far), func() { r.partOf(p, two, false) })
			}
		}
	}
	for range r.rng.IntN(4) {
		p, set := r.procs[r.rng.IntN(len(r.procs))], camp()
		begin := at + r.w.Between(0, far)
		switch r.rng.IntN(5) {
		case 0, 1:
			r.plot(begin, p.leave)
		case 2:
			r.plot(begin, func() {
				if !p.gone && r.plan.Faults&CrashNode != 0 {
					r.faults[CrashNode]++
					p.crash("as groups meet")
				}
			})
		case 3:
			r.plot(begin, func() { r.strike(p) })
		default: // it reaches one camp first
			r.plot(begin, func() {
				q := r.start(9, r.newDisk())
				for other, procs := range sets {
					if other != set {
						r.partOf(q, procs, true)
						r.w.After(r.w.Between(0, far), func() { r.partOf(q, procs, false) })
					}
				}
			})
		}
	}
}

// partOf lets nothing pass between a process and some others, or lets it pass again.
func (r *run) partOf(p *process, others []*process, on bool) {
	for _, q := range others {
		if !p.gone && !q.gone {
			r.bar(p, on, q)
			r.bar(q, on, p)
		}
	}
}
