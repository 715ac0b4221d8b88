package cluster

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// Some defects show only when several things come together, each in a window of its own, and no drawing of times hits
// all of them. So a scripted storm is a cast of processes and a schedule: who does what after whom. The seed draws what
// the script leaves open: delays, identifiers, which variant is played.

// script shapes the plan of a scripted storm: nothing happens but what the script says, in a group of the size that it needs.
func (p *Plan) script(rng *rand.Rand) {
	p.Witness, p.MaxPause, p.Burst, p.Waves, p.Acts = false, 0, 1, 1, 0
	all := p.Faults
	p.Faults &= CrashNode | Pause | OneWay | CrashSync
	switch p.Storm {
	case "heir":
		p.Nodes = 5 + 2*rng.IntN(2)
		p.Hosts, p.Length = p.Nodes, 10*p.Lease
	case "widow":
		p.Nodes, p.Hosts, p.Length = 4, 1, 16*p.Lease
	case "halves":
		p.Nodes, p.Hosts, p.Length = 7, 5, 16*p.Lease
	case "ghost":
		p.Nodes, p.Hosts, p.Length = 7, 7, 10*p.Lease
	case "stranger":
		p.Nodes, p.Hosts, p.Length = 5, 5, 18*p.Lease
	case "mover":
		p.Nodes, p.Hosts, p.Revive, p.Length = 2, 2, true, 14*p.Lease
	case "twin":
		p.Nodes, p.Hosts, p.Revive, p.Length = 3+rng.IntN(3), 1+rng.IntN(3), false, 30*p.Lease
	case "cross":
		p.Faults = all & (CrashNode | Restart | HungDisk)
		p.Nodes, p.Hosts, p.Revive, p.Length = 4, 4, true, 20*p.Lease
	case "hasty":
		p.Faults = all & (CrashNode | Restart | HungDisk)
		p.Nodes, p.Hosts, p.Revive, p.Length = 3, 3, true, 16*p.Lease
	case "barren":
		p.Faults = all & (CrashNode | Restart | HungDisk)
		p.Nodes, p.Hosts, p.Revive, p.Length = 4, 4, true, 20*p.Lease
	case "hollow":
		p.Nodes, p.Hosts, p.Revive, p.Length = 5, 5, rng.IntN(2) == 0, 30*p.Lease
	case "novice":
		p.Nodes, p.Hosts, p.Revive, p.Length = 5, 5, true, 25*p.Lease
	case "orphan":
		p.Nodes, p.Hosts, p.Revive, p.Length = 5, 5, true, 20*p.Lease
	case "parts", "witness":
		p.Faults, p.Names, p.Revive = all&(CrashNode|OneWay|Partition|Restart), true, true
		p.Waves = 3 + rng.IntN(4)
		p.Hosts = p.Nodes
		if p.Storm == "witness" { // sides that are alike without it
			p.Witness, p.Nodes = true, 2+2*rng.IntN(3)
			p.Hosts = p.Nodes
			if rng.IntN(2) == 0 {
				p.Hosts = 2
			}
		} else if rng.IntN(2) == 0 {
			p.Hosts = max(2, p.Nodes-rng.IntN(p.Nodes))
		}
		p.Length = time.Duration(p.Waves*upheaval+1) * p.Lease
	case "stuck":
		p.Faults = all & (CrashNode | Restart | HungDisk)
		p.Hosts, p.Revive, p.Length = p.Nodes, true, 60*p.Lease
	case "lorn":
		p.Faults = all & (CrashNode | Restart | HungDisk)
		p.Nodes, p.Hosts, p.Revive, p.Length = 4, 4, true, 20*p.Lease
	case "parting":
		p.Nodes, p.Hosts, p.Length = 4, 2, 8*p.Lease
	case "bequest":
		p.Faults = all & (CrashNode | Restart | HungDisk)
		p.Nodes, p.Hosts, p.Revive, p.MaxDelay, p.Length = 4, 1, true, 5*time.Millisecond, 12*p.Lease
	case "camps":
		p.Nodes, p.Hosts, p.Length = 3+rng.IntN(5), 9, 12*p.Lease
		p.Witness = rng.IntN(4) == 0
	case "blackout":
		p.Nodes, p.Hosts, p.Revive, p.Length = 2+rng.IntN(6), 12, rng.IntN(2) == 0, (relit+20)*p.Lease
	case "outrun":
		p.Faults = all & (CrashNode | Pause | OneWay | Restart)
		p.Nodes, p.Hosts, p.Revive, p.Length = 5, 5, true, 8*p.Lease
	case "dawn":
		p.Hosts, p.Length = p.Nodes, 60*p.Lease
	case "restart":
		p.Nodes, p.Hosts, p.Waves, p.Revive = 3+rng.IntN(3), 1+rng.IntN(3), 2+rng.IntN(2), true
		p.Length = time.Duration(p.Waves) * outbreak * p.Lease
	}
}

// script makes a group and plays.
func (r *run) script() {
	switch r.plan.Storm {
	case "heir":
		r.heir(r.plan.Lease)
	case "widow":
		r.widow(r.plan.Lease)
	case "halves":
		r.halves(r.plan.Lease)
	case "ghost":
		r.ghost(r.plan.Lease)
	case "stranger":
		r.stranger(r.plan.Lease)
	case "mover":
		r.mover(r.plan.Lease)
	case "twin":
		r.twin(r.plan.Lease)
	case "cross":
		r.cross(r.plan.Lease)
	case "hasty":
		r.hasty(r.plan.Lease)
	case "barren":
		r.barren(r.plan.Lease)
	case "hollow":
		r.hollow(r.plan.Lease)
	case "novice":
		r.novice(r.plan.Lease)
	case "orphan":
		r.orphan(r.plan.Lease)
	case "parts", "witness":
		r.parts(r.plan.Lease)
	case "stuck":
		r.stuck(r.plan.Lease)
	case "lorn":
		r.lorn(r.plan.Lease)
	case "parting":
		r.parting(r.plan.Lease)
	case "bequest":
		r.bequest(r.plan.Lease)
	case "camps":
		r.camps(r.plan.Lease)
	case "blackout":
		r.blackout(r.plan.Lease)
	case "outrun":
		r.outrun(r.plan.Lease)
	case "dawn":
		r.dawn()
	case "restart":
		r.outbreaks()
	}
}

// cast starts a process on each of some hosts, in this order.
func (r *run) cast(hosts ...uint64) []*process {
	for _, h := range hosts {
		r.start(h, r.newDisk())
		r.rest()
	}
	return slices.Clone(r.procs)
}

// when something happens at a process for the n-th time from now on, something else does.
func (r *run) when(p *process, m moment, n int, do func()) {
	r.ambushes = append(r.ambushes, &ambush{on: m, after: n - 1, victim: p, do: do})
}

// bar lets nothing pass from one process to others, or lets it pass again.
func (r *run) bar(from *process, on bool, to ...*process) {
	for _, q := range to {
		if q == from {
			continue
		}
		text := "is heard by " + q.id.String() + " again"
		if on {
			text = "is not heard by " + q.id.String()
		}
		r.emit(Event{Kind: Fault_, Node: from.id, Text: text})
		r.w.Block(from.f, q.f, on)
	}
}

// dawning is after how many leases those that are there have joined, whoever else was there when they started.
const dawning = 45

// dawn is a script against the beginning: processes start, and some of them stand still, or die, before they have
// joined. The others found a group without them; or they wait for one that was let in before it stood still, and say
// so.
func (r *run) dawn() {
	n, lease := r.plan.Nodes, r.plan.Lease
	still := r.rng.Perm(n)[:1+r.rng.IntN(n-1)]
	for i := range n {
		begin := r.w.Between(0, lease)
		if r.rng.IntN(2) == 0 {
			begin = r.w.Between(0, 2*r.w.MaxDelay)
		}
		stop, dies := begin+r.w.Between(0, 6*r.w.MaxDelay), r.rng.IntN(4) == 0
		r.w.After(begin, func() {
			p := r.start(uint64(i+1), r.newDisk())
			r.plot(stop-begin, func() {
				switch {
				case !slices.Contains(still, i) || p.joined:
				case dies:
					r.faults[CrashNode]++
					p.crash("before it has joined")
				default:
					r.faults[Pause]++
					r.emit(Event{Kind: Fault_, Node: p.id, Text: paused})
					p.f.Pause(true)
				}
			})
		})
	}
	r.w.After((1+dawning)*lease, func() {
		for _, p := range r.procs {
			if !p.gone && !p.f.Paused() && !p.joined && !p.waits {
				r.failf("M9: %s has not joined %v after the last has started\n%s", p.id, dawning*lease, p.d.Describe())
			}
		}
	})
}

// outrun is a script against epochs that overlap: a reader is withdrawn, and another one comes. A sender is heard late by
// some of them, also across epochs, sends all the time, and fails.
func (r *run) outrun(at time.Duration) {
	few := 10 * r.w.MaxDelay
	procs := r.cast([][]uint64{{1, 2, 3, 4, 5}, {1, 1, 2, 3, 3}, {1, 2, 1, 1, 3}}[r.rng.IntN(3)]...)
	sender, stays, goes, comes := procs[0], procs[1], procs[2], procs[3]
	ch := []derecho.ChannelID{1, 3, replicated, logged}[r.rng.IntN(4)]
	sender.enlist(ch, true)
	stays.enlist(ch, false)
	goes.enlist(ch, false)
	r.rest()
	r.plot(at, func() {
		goes.guard(func() { goes.removeFrom(ch) })
		goes.look()
	})
	if r.rng.IntN(2) == 0 {
		r.plot(at+r.w.Between(0, few), func() { comes.enlist(ch, false) })
	}
	for _, p := range procs[1:4] {
		if p == goes || r.rng.IntN(4) == 0 {
			r.plot(at+r.w.Between(0, few), func() { r.slow(sender, p, few+r.tail(r.plan.Lease), r.plan.Length) })
		}
	}
	for range 20 {
		r.plot(at+r.w.Between(0, 2*few), func() {
			if !sender.gone && !sender.f.Paused() {
				sender.guard(sender.send)
				sender.look()
			}
		})
	}
	r.plot(at+r.w.Between(few/2, 3*few), func() {
		if sender.gone || sender.f.Paused() {
			return
		}
		if r.plan.Seed%4 != 0 {
			r.faults[CrashNode]++
			sender.crash("while it sends")
			return
		}
		r.faults[Pause]++
		r.emit(Event{Kind: Fault_, Node: sender.id, Text: paused})
		sender.f.Pause(true)
		r.w.After(3*r.plan.Lease, func() { r.resume(sender) })
	})
}

// parting is a script against the end of a view: one leaves, and another dies meanwhile. Who decides how the view ends
// tells the leaver by a message, and dies before the last hears so, on the other host.
func (r *run) parting(at time.Duration) {
	// or it is the leaver that dies, before the view ends or after, on a host of its own; or stands still until the
	// others have gone on without it, and given up its links
	if r.plan.Seed%2 == 0 {
		leaver := r.cast(1, 2, 3, 4)[r.rng.IntN(4)]
		r.plot(at, leaver.leave)
		r.plot(at+r.w.Between(0, 10*r.w.MaxDelay), func() {
			switch {
			case leaver.gone:
			case r.plan.Seed%4 == 0:
				r.faults[Pause]++
				r.emit(Event{Kind: Fault_, Node: leaver.id, Text: paused})
				leaver.f.Pause(true)
			default:
				r.faults[CrashNode]++
				leaver.crash("while it leaves")
			}
		})
		return
	}
	procs := r.cast(1, 1, 2, 2)
	leaver, decider, dies, last := procs[0], procs[1], procs[2], procs[3]
	r.plot(at, leaver.leave)
	r.plot(at+r.w.Between(0, 10*r.w.MaxDelay), func() {
		if dies.gone {
			return
		}
		r.faults[CrashNode]++
		dies.crash("while one leaves")
		r.when(decider, decides, 1, func() {
			r.bar(decider, true, last)
			r.faults[CrashNode]++
			decider.f.CrashAt = decider.f.Pushes + 1 + r.rng.IntN(30)
			r.w.After(10*r.w.MaxDelay, func() {
				r.w.Lose(decider.f, last.f)
				r.bar(decider, false, last)
			})
		})
	})
}

// heir is a script against the agreement: the oldest dies, and who proposes to go on without it dies when it has decided,
// and nobody else has. The next, its heir, has not heard the proposal; those who have accepted it do not hear each other.
//
// With seven processes there is one more proposer before that. It accepts its own proposal and dies, and nobody hears
// of it for so long that the others go on without it; then the heir does. So the heir finds two proposals that were
// accepted, and must take up the later.
func (r *run) heir(at time.Duration) {
	hosts := make([]uint64, r.plan.Nodes)
	for i := range hosts {
		hosts[i] = uint64(i + 1)
	}
	procs := r.cast(hosts...)
	depth := (len(procs) - 3) / 2 // how many propose before the heir does
	proposer, heir, accepting := procs[depth], procs[depth+1], procs[depth+2:]
	r.plot(at, func() {
		unheard := procs[1]
		if depth > 1 {
			r.when(unheard, accepts, 1, func() {
				r.bar(unheard, true, procs...)
				r.w.After(3*r.w.MaxDelay, func() {
					r.faults[CrashNode]++
					unheard.crash("after it was not heard any more")
				})
			})
		}
		r.when(heir, promises, depth, func() {
			r.bar(proposer, true, heir)
			for _, p := range accepting {
				r.bar(p, true, accepting...)
			}
			if depth > 1 {
				r.bar(unheard, false, heir)
			}
		})
		r.when(proposer, decides, 1, func() {
			r.dieNow(proposer)
			r.w.After(2*r.w.MaxDelay, func() { // it finds that the proposer is dead, and not what it has said
				r.w.Lose(proposer.f, heir.f)
				r.bar(proposer, false, heir)
			})
			r.w.After(r.plan.Lease/2, func() {
				for _, p := range accepting {
					r.bar(p, false, accepting...)
				}
			})
		})
		r.faults[CrashNode]++
		procs[0].crash("at rest")
	})
}

// dieNow ends a process in the step that it is in.
func (r *run) dieNow(p *process) {
	r.faults[CrashNode]++
	p.f.CrashAt = p.f.Pushes + 1
}

// widow is a script against certified deaths: in a new view one can not read the rows of the others, on its own host, and
// they not its. They go on without it and die at once. It knows for certain that they are dead, and not what they decided.
func (r *run) widow(at time.Duration) {
	procs := r.cast(1, 1, 1, 1)
	roles := r.rng.Perm(len(procs))
	widow, leaver := procs[roles[0]], procs[roles[1]]
	r.plot(at, func() {
		for _, p := range procs {
			if p != widow && p != leaver {
				r.slow(widow, p, r.plan.Length, r.plan.Length)
				r.when(p, decides, 1, func() { r.dieNow(p) })
			}
		}
		leaver.leave()
	})
}

// halves is a script against the tie rule. In a new view of six, of each half the one that would propose can not read
// the row of a process on its own host, which is of the other half. The halves do not hear each other, and promise to
// one proposer each; then the unread one of the second half dies, so the first decides by the tie rule; one of it, that
// has accepted, does not hear so. Then the unread one of the first half dies, and that one hears the second half.
func (r *run) halves(at time.Duration) {
	procs := r.cast(1, 2, 1, 2, 3, 4, 5)
	first, second, dies, diesLater, late, other, leaver := procs[0], procs[1], procs[2], procs[3], procs[4], procs[5], procs[6]
	one, two := []*process{first, diesLater, late}, []*process{second, dies, other}
	crash := func(p *process, how string) {
		r.faults[CrashNode]++
		p.crash(how)
	}
	decided := false
	betray := func() {
		r.bar(dies, true, two...) // its death is not heard there
		r.bar(late, true, diesLater)
		r.bar(diesLater, true, late)
		for _, p := range []*process{late, diesLater} {
			r.when(p, accepts, 1, func() { r.bar(first, true, p) })
		}
		r.when(first, decides, 1, func() {
			decided = true
			crash(diesLater, "after it has accepted")
		})
		r.when(second, accepts, 1, func() {
			if decided {
				r.w.After(r.w.MaxDelay, func() {
					r.bar(late, false, two...)
					r.bar(second, false, late)
					r.bar(other, false, late)
				})
			}
		})
		crash(dies, "after it has promised")
	}
	r.plot(at, func() {
		r.slow(first, dies, r.plan.Length, r.plan.Length)
		r.slow(second, diesLater, r.plan.Length, r.plan.Length)
		waits := 4
		for _, p := range []*process{dies, diesLater, late, other} {
			r.when(p, promises, 1, func() {
				if waits--; waits == 0 {
					r.w.After(3*r.w.MaxDelay, betray)
				}
			})
		}
		leaver.leave()
	})
	r.plot(at+20*r.w.MaxDelay, func() {
		for _, p := range one {
			for _, q := range two {
				if p == first && q == dies || p == diesLater && q == second {
					continue // on one host: they can not read each other, and hear of a death
				}
				r.bar(p, true, q)
				r.bar(q, true, p)
			}
		}
	})
}

// ghosts are the variants of ghost.
var ghosts = []string{"distant", "unreadable", "unfinished", "asleep"}

// ghost is a script against the rule of one host: a process stands still and is removed, while its application goes on
// to write into memory that others read. There are others on its host; the first of them learns that it was removed,
// and reports what it has of it. The second must not deliver what was written after that. It does not know because
//
//   - distant: it is on another host, and hears nobody but the ghost;
//   - unreadable: it can not read the first in a view that is new, and does not hear the other hosts;
//   - unfinished: it does know, but can not go on to the next view, for it can not read one that stays;
//   - asleep: it hears nobody on other hosts, and the first stands still until they have decided.
func (r *run) ghost(at time.Duration) {
	variant := ghosts[r.rng.IntN(len(ghosts))]
	second := uint64(1)
	if variant == "distant" {
		second = 7
	}
	procs := r.cast(1, 2, 3, 4, 5, 1, second)
	ghost, others, first, last := procs[0], procs[1:5], procs[5], procs[6]
	ghost.enlist(1, true)
	first.enlist(1, false)
	last.enlist(1, false)
	r.rest()
	lease, settle := r.plan.Lease, 60*r.w.MaxDelay
	r.plot(at, func() {
		switch variant {
		case "unreadable":
			r.when(first, installsView, 1, func() {
				r.w.After(0, func() { r.slow(first, last, 4*lease, settle) }) // its request is on its way, its answer is not
			})
			others = append(others, r.start(6, r.newDisk()))
		case "unfinished":
			late := r.start(6, r.newDisk())
			r.slow(late, first, 5*lease/2, settle)
			r.slow(late, last, 4*lease, settle)
		}
	})
	r.plot(at+settle, func() {
		r.emit(Event{Kind: Fault_, Node: ghost.id, Text: "takes no step, and its application writes: " + variant})
		ghost.idle = true
		r.w.After(6*lease, func() { r.rouse(ghost) })
		r.haunt(ghost)
		blind := func(from ...*process) {
			for _, p := range from {
				r.bar(p, true, last)
			}
			r.w.After(lease/5, func() {
				for _, p := range from {
					r.bar(p, false, last)
				}
			})
		}
		switch variant {
		case "distant":
			r.when(last, promises, 1, func() { blind(append(others, first)...) })
		case "unreadable":
			r.when(last, promises, 1, func() { blind(others...) })
		case "asleep":
			r.when(last, promises, 1, func() { blind(others...) })
			r.when(first, promises, 1, func() {
				r.emit(Event{Kind: Fault_, Node: first.id, Text: "takes no step"})
				first.idle = true
			})
			r.when(others[0], decides, 1, func() { r.w.After(10*r.w.MaxDelay, func() { r.rouse(first) }) })
		}
	})
}

// haunt writes, as long as the process takes no step.
func (r *run) haunt(p *process) {
	if p.idle && !p.gone && !r.calm {
		p.guard(p.send)
		r.w.After(2*r.w.MaxDelay, func() { r.haunt(p) })
	}
}

// rouse lets a process take steps again.
func (r *run) rouse(p *process) {
	if p.idle {
		p.idle = false
		r.emit(Event{Kind: Fault_, Node: p.id, Text: "takes steps again"})
		p.look()
	}
}

// enlist is addEndpoint by the application.
func (p *process) enlist(ch derecho.ChannelID, writes bool) {
	p.guard(func() { p.addEndpoint(ch, writes) })
	p.look()
}

// stranger is a script against the end of a view: a member has asked for the row of another on its host, and its question
// takes so long that it takes that one for failed. Just then the others decide to go on without somebody else, and both stay.
// The member goes on; the other reads the rows of all and gives its own up before the question has come.
func (r *run) stranger(at time.Duration) {
	procs := r.cast(1, 2, 3, 4, 4)
	fails, herald, asks, unread := procs[0], procs[1], procs[3], procs[4]
	lease := r.plan.Lease
	after := 11*lease + r.w.Between(0, lease) // when who can not be read is taken for failed, and not removed for it yet
	r.plot(at, func() {
		// The other is in the view first, so that its own question is answered before this one is put.
		r.slow(herald, asks, 20*r.w.MaxDelay, lease)
		r.when(asks, installsView, 1, func() {
			r.slow(asks, unread, 15*lease, lease) // what comes later waits behind it
			r.w.After(after, func() {
				fails.crash("at rest")
				r.faults[CrashNode]++
			})
		})
		r.start(5, r.newDisk())
	})
}
