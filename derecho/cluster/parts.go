package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// A split lets the hosts fall into sets. Between two sets nothing passes, in one direction or in both, and what was cut
// first need not heal first. It concerns hosts and not processes, so that whoever starts meanwhile is cut off as those
// beside it are.

// way is from one host to another.
type way [2]uint64

// sets draws to which of some sets each host belongs.
func sets(n, hosts int, draw func(int) int) []int {
	of := make([]int, hosts+1)
	for h := range of {
		of[h] = draw(n)
	}
	return of
}

// between are all ways from one set to another that cut names.
func between(of []int, cut func(from, to int) bool) (ways []way) {
	for a := 1; a < len(of); a++ {
		for b := 1; b < len(of); b++ {
			if of[a] != of[b] && cut(of[a], of[b]) {
				ways = append(ways, way{uint64(a), uint64(b)})
			}
		}
	}
	return ways
}

// oneWay draws between which sets nothing passes: between each two in one direction, in the other, in both or in none.
func oneWay(n int, draw func(int) int) func(from, to int) bool {
	cut := make([]int, n*n)
	for i := range cut {
		cut[i] = draw(2)
	}
	return func(from, to int) bool { return cut[from*n+to] == 1 }
}

func always(int, int) bool { return true }

// wall cuts some ways, or lets them pass again.
func (r *run) wall(ways []way, on bool) {
	if len(ways) == 0 {
		return
	}
	var b strings.Builder
	for _, w := range ways {
		fmt.Fprintf(&b, " %d-%d", w[0], w[1])
		r.w.Wall(w[0], w[1], on)
	}
	text := "nothing passes from host to host:"
	if !on {
		text = "passes again:"
	}
	r.emit(Event{Kind: Fault_, Text: text + b.String()})
}

// plotBreaks schedules splits and disks that do not answer.
func (r *run) plotBreaks() {
	at := func() time.Duration { return time.Duration(r.breaks.Int64N(int64(r.plan.Length))) }
	if r.plan.Faults&Split != 0 && r.plan.Hosts > 1 {
		for range 1 + r.breaks.IntN(4) {
			r.plot(at(), r.split)
		}
	}
	if r.plan.Faults&HungDisk != 0 {
		for range 1 + r.breaks.IntN(3) {
			r.plot(at(), r.hangOne)
		}
	}
}

// split lets the hosts fall into sets for a while. Often each way heals at a time of its own.
func (r *run) split() {
	n := 2 + r.pick.IntN(3)
	of, cut := sets(n, r.plan.Hosts, r.pick.IntN), always
	if r.pick.IntN(2) == 0 {
		cut = oneWay(n, r.pick.IntN)
	}
	ways := between(of, cut)
	if len(ways) == 0 {
		return
	}
	r.faults[Split]++
	r.wall(ways, true)
	together, d := r.pick.IntN(2) == 0, r.outage()
	for _, w := range ways {
		if !together {
			d = r.outage()
		}
		r.w.After(d, func() {
			if !r.calm { // healed already
				r.wall([]way{w}, false)
			}
		})
	}
}

const (
	// upheaval is how many leases pass from one step of a storm of parts to the next; settling is after how many all
	// have to be where the rules say.
	upheaval = 45
	settling = 32
)

// parts is a script against the rule of majorities, and that of the witness: step by step the hosts fall into sets,
// between which nothing passes in both directions or in one, ways heal in any order, processes die, the witness more
// often than others, and come back with the names and logs that they had, on whichever side. After each step whoever is
// together and has a quorum must go on, and who has none must know it.
func (r *run) parts(at time.Duration) {
	r.castAll()
	for k := range r.plan.Waves {
		step := at + time.Duration(k)*upheaval*r.plan.Lease
		r.plot(step, r.upheave)
		for range 6 {
			r.plot(step+r.w.Between(0, settling*r.plan.Lease), r.scribble)
		}
	}
}

// castAll starts the processes of a plan, with endpoints.
func (r *run) castAll() []*process {
	var hosts []uint64
	for i := range r.plan.Nodes {
		hosts = append(hosts, 1+uint64(i%r.plan.Hosts))
	}
	procs := r.cast(hosts...)
	for i, p := range procs {
		p.enlist(1, i%2 == 0)
		p.enlist(3, i%2 == 1)
		if i%2 == 0 || r.rng.IntN(3) == 0 {
			p.enlist(logged, r.rng.IntN(2) == 0)
		}
		if r.rng.IntN(3) == 0 {
			p.enlist(replicated, r.rng.IntN(2) == 0)
		}
		r.rest()
	}
	return procs
}

// upheave is a step of parts.
func (r *run) upheave() {
	f := r.plan.Faults
	for range 1 + r.pick.IntN(3) {
		switch k := r.pick.IntN(10); {
		case k < 3 && f&Partition != 0:
			r.mend(false)
			n := 2 + r.pick.IntN(2)
			r.rewall(between(sets(n, r.plan.Hosts, r.pick.IntN), always), Partition)
		case k == 3 && f&Partition != 0: // one host, that of the witness if there is one
			of := make([]int, r.plan.Hosts+1)
			of[r.seat()] = 1
			r.mend(false)
			r.rewall(between(of, always), Partition)
		case k == 4 && f&OneWay != 0:
			n := 2 + r.pick.IntN(2)
			r.mend(r.pick.IntN(2) == 0)
			r.rewall(between(sets(n, r.plan.Hosts, r.pick.IntN), oneWay(n, r.pick.IntN)), OneWay)
		case k == 5: // what was cut first need not heal first
			r.mend(true)
		case k == 6:
			r.mend(false)
		case k == 7 && f&CrashNode != 0:
			p := r.any()
			if i := slices.IndexFunc(r.procs, func(p *process) bool { return p.name == "p1" && !p.gone }); i >= 0 && r.pick.IntN(2) == 0 {
				p = r.procs[i]
			}
			if !p.gone {
				r.faults[CrashNode]++
				p.crash("at rest")
			}
		case k > 7 && f&Restart != 0:
			all := r.pick.IntN(2) == 0
			for _, p := range slices.Clone(r.procs) {
				if p.crashed && (all || p.name == "p1") {
					r.faults[Restart]++
					r.restart(p)
				}
			}
		}
	}
	for _, s := range r.sides() {
		r.w.After(settling*r.plan.Lease, func() { r.hold(s) })
	}
}

// seat is the host on which the witness is, was last, or some other.
func (r *run) seat() uint64 {
	for _, p := range slices.Backward(r.procs) {
		if p.name == "p1" && r.pick.IntN(4) > 0 {
			return p.host
		}
	}
	return 1 + uint64(r.pick.IntN(r.plan.Hosts))
}

// rewall cuts more ways.
func (r *run) rewall(ways []way, f Fault) {
	if len(ways) > 0 {
		r.faults[f]++
		r.wall(ways, true)
		r.walls = append(r.walls, ways...)
	}
}

// mend lets pass again what was cut: some of it, or all.
func (r *run) mend(some bool) {
	var whole []way
	r.walls = slices.DeleteFunc(r.walls, func(w way) bool {
		if some && r.pick.IntN(2) == 0 {
			return false
		}
		whole = append(whole, w)
		return true
	})
	r.wall(whole, false)
}

// mutual: what either of two sends the other gets.
func (r *run) mutual(p, q *process) bool { return r.w.Passes(p.f, q.f) && r.w.Passes(q.f, p.f) }

// sides are those of which it is known what must become of them: each two hear each other, and with nobody else is that
// so. If there are several groups nothing is known: the smaller ones end as soon as they hear of a larger.
func (r *run) sides() (all [][]*process) {
	var alive []*process
	groups := map[uint64]bool{}
	for _, p := range r.procs {
		if !p.gone {
			alive = append(alive, p)
			if p.joined {
				groups[p.d.Standing().Group] = true
			}
		}
	}
	if len(groups) != 1 {
		return nil
	}
	taken := map[*process]bool{}
	for _, p := range alive {
		if taken[p] {
			continue
		}
		var side []*process
		for _, q := range alive {
			if p == q || r.mutual(p, q) {
				side = append(side, q)
				taken[q] = true
			}
		}
		if r.apart(side, alive) {
			all = append(all, side)
		}
	}
	return all
}

// apart: some processes hear each other, and of them and the rest nobody hears who hears him.
func (r *run) apart(some, all []*process) bool {
	for _, p := range some {
		for _, q := range all {
			if p != q && slices.Contains(some, q) != r.mutual(p, q) {
				return false
			}
		}
	}
	return true
}

// reaches tells whether those of some processes that are in the latest view of them have a quorum of it by the rules of
// design.md §6, and else who they are. This is another reading of the rules than that of the nodes: weights by name,
// who is dead by what the simulator knows.
func (r *run) reaches(some []*process) (quorum bool, none []derecho.NodeID) {
	last := derecho.Standing{}
	for _, p := range some {
		if s := p.d.Standing(); p.joined && s.View > last.View {
			last = s
		}
	}
	var in []*process
	for _, p := range some {
		if s := p.d.Standing(); p.joined && s.Group == last.Group && s.View == last.View { // a subgroup may be between two epochs
			in = append(in, p)
			none = append(none, p.id)
		}
	}
	for _, p := range in {
		state := p.d.State()
		have, all, tie, named := 0, 0, false, false
		for _, id := range state.Members {
			w, q := 2, r.process(id)
			if r.plan.Witness && !named && q.name == "p1" {
				w, named = 3, true
			}
			switch certified := q.died && q.id == id && q.host == p.host; {
			case slices.Contains(none, id):
				have, all = have+w, all+w
			case certified && slices.Contains(state.Readable, id): // does not count at all
			default:
				all, tie = all+w, tie || certified
			}
		}
		if 2*have > all || 2*have == all && tie {
			return true, nil
		}
	}
	return false, none
}

// hold: a side with a quorum has gone on, in one view with all who are there; what it writes it is handed. Who has no
// quorum has been told so.
func (r *run) hold(side []*process) {
	if r.calm || r.err != nil {
		return
	}
	// As it is now: who had asked to be let in and is cut off counts as soon as it is a member, and what the others had
	// decided before may make a quorum of those who are left.
	quorum, none := r.reaches(side)
	if !quorum {
		for _, p := range side {
			if !p.gone && p.joined && slices.Contains(none, p.id) && !p.isolated {
				r.failf("M9: %s hears no quorum, and was not told so: %s", p.id, p.d.Describe())
			}
		}
		return
	}
	if k := slices.IndexFunc(side, func(p *process) bool { return !p.joined && !p.gone }); k >= 0 {
		r.failf("M9: %s hears %d processes that have a quorum, and is not let in\n%s", side[k].id, len(side)-1, side[k].d.Describe())
		return
	}
	side = slices.DeleteFunc(side, func(p *process) bool { return !p.joined })
	first := side[0].d.Standing()
	for _, p := range side {
		now := p.d.Standing()
		if p.isolated || now.Group != first.Group || now.View != first.View || now.Members != len(side) {
			var b strings.Builder
			for _, s := range side {
				now := s.d.Standing()
				fmt.Fprintf(&b, "\n%s %s on host %d: isolated %v, view %d of %d members", s.id, s.name, s.host, s.isolated, now.View, now.Members)
			}
			r.failf("M9: %d processes hear each other and a quorum, and have not gone on:%s\n%s", len(side), b.String(), p.d.Describe())
			return
		}
	}
	r.probe(side, 4*r.plan.Lease)
}

// probe lets some processes write, and looks after a while whether those of them that read it have got it. What waits for
// logs, or may wait for a disk that does not answer, has no limit.
func (r *run) probe(procs []*process, within time.Duration) {
	type message struct {
		text string
		to   *process
		id   derecho.NodeID
	}
	var due []message
	since := len(r.events)
	for _, p := range procs {
		if p.gone || !p.joined {
			continue
		}
		p.guard(func() {
			for _, id := range slices.Sorted(maps.Keys(p.ready)) {
				ep := p.ready[id]
				if ep.Writes.ID == 0 || stored(ep.Channel) && (r.plan.Faults&HungDisk != 0 || p.d.State().Waiting[ep.Channel] != "") {
					continue
				}
				p.nextMsg++
				text := fmt.Sprintf("%s:%d:probe", p.id, p.nextMsg)
				if p.say(ep, text) != nil {
					continue // there is no room
				}
				for _, q := range procs {
					if !q.gone && q.joined && q.reads(ep.Channel) {
						due = append(due, message{text, q, q.id})
					}
				}
			}
		})
		p.look()
	}
	r.w.After(within, func() {
		got := map[derecho.NodeID]map[string]bool{}
		for _, e := range r.events[since:] {
			if e.Kind == Deliver {
				if got[e.Node] == nil {
					got[e.Node] = map[string]bool{}
				}
				got[e.Node][e.Text] = true
			}
		}
		for _, m := range due {
			if !r.calm && !m.to.gone && m.to.id == m.id && !got[m.id][m.text] {
				r.failf("M9: %s has not got %s %v after it was written, and both hear each other and a quorum\n%s", m.id, m.text,
					within, m.to.d.Describe())
			}
		}
	})
}

// reads: the process has been told that it gets what is written to the channel.
func (p *process) reads(ch derecho.ChannelID) bool {
	for _, ep := range p.ready {
		if ep.Channel == ch && len(ep.Reads) > 0 {
			return true
		}
	}
	return false
}
