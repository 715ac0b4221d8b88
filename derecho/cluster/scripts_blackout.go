package cluster

import (
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// relit is how many leases after a host has fallen silent the others have gone on.
const relit = 100

// blackout is a script against a host that falls silent, for good or for long, just as the members change: some come,
// one leaves, groups meet. No link to it ends, unless it is cut off and its connections are refused. All others go on,
// but for those of a view that has lost half of its members.
func (r *run) blackout(at time.Duration) {
	few := 10 * r.w.MaxDelay
	size := 1 + r.rng.IntN(r.plan.Nodes-1)
	apart := r.rng.IntN(3) == 0 // those that come are there before, and do not reach the group yet
	var group, camp []*process
	for i := range r.plan.Nodes {
		if i >= size && !apart {
			break
		}
		p := r.start(uint64(i+1), r.newDisk())
		if i < size {
			group = append(group, p)
		} else {
			camp = append(camp, p)
			r.partOf(p, group, true)
		}
		r.runFor(8*r.plan.Lease, 3_000_000)
	}
	for _, p := range r.procs {
		p.enlist(derecho.ChannelID(1+r.rng.IntN(len(channels))), r.rng.IntN(2) == 0)
	}
	r.runFor(2*r.plan.Lease, 3_000_000)
	if r.rng.IntN(6) == 0 && size > 1 { // what is left of the group waits, and says so to those who ask
		for _, p := range group[1:] {
			p.crash("for good")
		}
	}
	begin := func() time.Duration { return at + r.w.Between(0, few) }
	for _, p := range camp {
		r.plot(begin(), func() { r.partOf(p, group, false) })
	}
	late := r.rng.IntN(2) // who starts when all has settled
	if apart {
		late++
	}
	for i := len(r.procs); i < r.plan.Nodes+late; i++ {
		starts := begin()
		if i >= r.plan.Nodes {
			starts += 10 * r.plan.Lease
		}
		r.plot(starts, func() { r.start(uint64(i+1), r.newDisk()) })
	}
	victim := group[r.rng.IntN(size)]
	if goes := group[r.rng.IntN(size)]; r.rng.IntN(4) == 0 && (size > 3 || goes == victim) {
		r.plot(begin(), func() { goes.guard(goes.leave) })
	}
	lasts := r.w.Between(r.plan.Lease, 40*r.plan.Lease)
	forGood := r.rng.IntN(3) > 0
	fall := func() {
		if !victim.gone {
			r.fallSilent(victim, lasts, forGood)
		}
	}
	if r.rng.IntN(2) == 0 {
		r.plot(begin(), fall)
	} else {
		spring := group[r.rng.IntN(size)]
		on := []moment{executes, drains, installsView, installsEpoch, decides, promises}[r.rng.IntN(6)]
		nth, after := 1+r.rng.IntN(2), r.w.Between(0, 500*time.Microsecond)
		r.plot(at, func() { r.when(spring, on, nth, func() { r.w.After(after, fall) }) })
	}
	r.plot(at+relit*r.plan.Lease, r.relit)
}

// fallSilent has a process hear nobody, and be heard by nobody, for a while; or for good, and it stands still.
func (r *run) fallSilent(p *process, d time.Duration, forGood bool) {
	var ways []way
	for h := range uint64(r.plan.Hosts) {
		if h+1 != p.host {
			ways = append(ways, way{p.host, h + 1}, way{h + 1, p.host})
		}
	}
	r.faults[Partition]++
	r.wall(ways, true)
	if forGood {
		r.faults[Pause]++
		r.emit(Event{Kind: Fault_, Node: p.id, Text: "pause"})
		p.f.Pause(true)
		return
	}
	r.w.After(d, func() {
		if !r.calm {
			r.wall(ways, false)
		}
	})
}

// relit requires that all who are there have gone on, in one group. Excused is who is in a view that has lost half of
// its members, and who waits for such a one and was told so.
func (r *run) relit() {
	var lost []derecho.NodeID
	for _, p := range r.procs {
		if p.gone || p.f.Paused() {
			lost = append(lost, p.id)
		}
	}
	waited := slices.ContainsFunc(r.procs, func(p *process) bool { return !p.gone && p.isolated && !p.f.Paused() })
	group := uint64(0)
	for _, p := range r.procs {
		if p.gone || p.f.Paused() {
			continue
		}
		s := p.d.State()
		gone := 0
		for _, id := range s.Members {
			if slices.Contains(lost, id) {
				gone++
			}
		}
		switch {
		case !p.joined && p.waits && waited:
		case p.isolated && 2*gone >= len(s.Members):
		case !p.joined || p.isolated:
			r.failf("M9: %s does not go on %d leases after a host fell silent\n%s", p.id, relit, p.d.Describe())
		case group == 0:
			group = s.Group
		case group != s.Group:
			r.failf("M9: two groups are there %d leases after a host fell silent, %x and %x", relit, group, s.Group)
		}
	}
}
