package cluster

import (
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// Scripts against logs: who has what of a channel when some have died, and others come back.

// pace is the time by which such scripts go: the longest delay of a message, and at least a part of a lease.
func (r *run) pace() time.Duration { return max(r.w.MaxDelay, r.plan.Lease/200) }

// inSteps plots acts one after the other: each at next, which goes on by a time and some more.
func (r *run) inSteps(next *time.Duration, least, more time.Duration) func(act func()) {
	return func(act func()) {
		r.plot(*next, act)
		*next += least + r.w.Between(0, more)
	}
}

// mover is a script against logs with several channels: a log moves from one channel to the other of its subgroup, and what is
// written last is of that. After a restart of everybody it comes first, with the first channel again.
func (r *run) mover(at time.Duration) {
	procs := r.cast(1, 2)
	moves, stays := procs[0], procs[1]
	lease := r.plan.Lease
	for _, p := range procs {
		p.enlist(logged, true)
	}
	r.rest()
	r.scribble()
	r.plot(at, func() {
		moves.guard(func() { moves.removeFrom(logged) })
		moves.enlist(logged2, true)
	})
	for k := range 12 {
		p := []*process{stays, moves}[k/6]
		r.plot(at+lease/2+time.Duration(10*k)*r.w.MaxDelay, func() {
			p.guard(p.send)
			p.look()
		})
	}
	r.plot(at+2*lease, func() {
		r.fell(moves.disk)
		r.fell(stays.disk)
	})
	r.plot(at+3*lease, func() { r.raise(moves.disk) })
	r.plot(at+5*lease, func() {
		if p := r.owner(moves.disk); p.joined {
			p.enlist(logged, true)
		}
	})
	r.plot(at+7*lease+r.w.Between(0, 5*lease), func() { r.raise(stays.disk) })
}

// twin is a script against logs: a process starts on a copy of the disk of another that lives and writes, and announces
// the same channel, as soon as it has joined or later. It goes before the others do. Then all die, at once or one after
// the other, and come back; or one of them does at once, before the others have noticed that it died, and that is no
// copy.
func (r *run) twin(at time.Duration) {
	lease := r.plan.Lease
	host := func() uint64 { return 1 + uint64(r.rng.IntN(r.plan.Hosts)) }
	var hosts []uint64
	for range r.plan.Nodes {
		hosts = append(hosts, host())
	}
	const loggers = 3
	var disks []*disk
	for i, p := range r.cast(hosts...) {
		if disks = append(disks, p.disk); i < loggers {
			p.enlist(logged, true)
		}
	}
	r.rest()
	for range 40 {
		r.plot(at+r.w.Between(-lease, 20*lease), r.scribble)
	}
	original, beside := disks[r.rng.IntN(loggers)], host()
	writes, early, soon := r.rng.IntN(2) == 0, r.rng.IntN(2) == 0, r.rng.IntN(2) == 0
	r.plot(at, func() {
		r.emit(Event{Kind: Fault_, Text: "a copy of the disk of " + r.owner(original).id.String() + " is made"})
		copied := r.start(beside, original.copy())
		announce := func() {
			if copied.joined && !copied.gone {
				copied.enlist(logged, writes)
			}
		}
		if early {
			r.when(copied, installsView, 1, func() { r.w.After(0, announce) })
		} else {
			r.w.After(2*lease+r.w.Between(0, lease), announce)
		}
		r.w.After(8*lease, func() { copied.crash("at rest") }) // and is not started again
	})
	r.plot(at+10*lease, func() {
		if soon {
			r.fell(original)
			r.raise(original)
		}
	})
	spread := []time.Duration{0, 10 * r.w.MaxDelay, 3 * lease}[r.rng.IntN(3)]
	for _, d := range disks {
		r.plot(at+14*lease+r.w.Between(0, spread+1), func() { r.fell(d) })
		r.plot(at+18*lease+r.w.Between(0, 5*lease), func() { r.raise(d) })
	}
}

// cross is a script against logs with several channels: of two processes each has the channel that the other lacks. One
// of them has nothing of its own channel, and owes that to a third, while its disk is slow and its epoch does not end;
// then the other comes with a log that holds something of it, and waits itself for the second channel.
func (r *run) cross(at time.Duration) {
	procs := r.cast(1, 2, 3, 4)
	comes, has, waits := procs[0], procs[1], procs[2]
	lease, delay := r.plan.Lease, r.pace()
	comes.enlist(logged, true)
	r.rest()
	r.scribble()
	r.plot(at, func() {
		comes.guard(func() { comes.removeFrom(logged) })
		comes.look()
	})
	r.plot(at+lease, func() { r.fell(comes.disk) })
	r.plot(at+3*lease, func() { has.enlist(logged2, true) })
	r.plot(at+4*lease, func() { has.enlist(logged, false) })
	r.plot(at+5*lease, func() { r.raise(comes.disk) })
	writes := r.rng.IntN(2) == 0
	next := at + 8*lease
	step := r.inSteps(&next, 4*delay, 4*delay)
	step(func() {
		r.hang(has, 30*delay+r.w.Between(0, 30*delay))
		r.scribble()
	})
	step(func() { waits.enlist(logged, false) })
	step(func() { r.owner(comes.disk).enlist(logged2, writes) })
	step(r.scribble)
	step(func() { r.owner(comes.disk).enlist(logged, true) })
	for range 10 {
		r.plot(next+r.w.Between(0, 8*lease), r.scribble)
	}
}

// hasty is a script against logs: a process gets the state, and withdraws and announces its replica again before its
// disk has that state. The one that gave it withdraws, too, so the log of the first is the only one; later its process
// dies and comes back.
func (r *run) hasty(at time.Duration) {
	procs := r.cast(1, 2, 3)
	had, gets := procs[0], procs[1]
	lease, delay := r.plan.Lease, r.pace()
	had.enlist(logged, true)
	r.rest()
	r.scribble()
	gets.stores = true
	withdraw := func(p *process) {
		p.guard(func() { p.removeFrom(logged) })
		p.look()
	}
	next := at
	step := r.inSteps(&next, 4*delay, 8*delay)
	step(func() { r.hang(gets, 40*delay+r.w.Between(0, 20*delay)) })
	step(func() { gets.enlist(logged, true) })
	step(func() {})
	step(func() { withdraw(gets) })
	step(func() { withdraw(had) })
	step(func() { gets.enlist(logged, true) })
	for range 5 {
		r.plot(at+r.w.Between(0, 3*lease), r.scribble)
	}
	r.plot(at+4*lease, func() { r.fell(gets.disk) })
	r.plot(at+6*lease+r.w.Between(0, 2*lease), func() { r.raise(gets.disk) })
	r.plot(at+9*lease, r.scribble)
}

// hollow is a script against logs: a process gets the state and has it in memory only, as its disk has failed, or is
// not done yet when who gave it is gone. Those who have it on disk leave, withdraw or die; then the process dies. It
// comes back first, with a log that has nothing of it, while others wait for the state, and write.
func (r *run) hollow(at time.Duration) {
	lease := r.plan.Lease
	procs := r.cast(1, 2, 3, 4, 5)
	gets, waits, had := procs[0], procs[1], procs[2:3+r.rng.IntN(2)]
	for _, p := range had {
		p.enlist(logged, true)
	}
	r.rest()
	r.scribble()
	fails, soon, goes := r.rng.IntN(3) > 0, r.rng.IntN(2) == 0, r.rng.IntN(3)
	r.plot(at, func() {
		if fails {
			r.faults[DiskError]++
			gets.diskFault()
		}
		gets.enlist(logged, true)
	})
	gone := at + 2*lease
	if soon {
		gone = at + r.w.Between(0, 30*r.w.MaxDelay)
	}
	for _, p := range had {
		r.plot(gone+r.w.Between(0, 10*r.w.MaxDelay), func() {
			switch goes {
			case 0:
				p.leave()
			case 1:
				p.guard(func() { p.removeFrom(logged) })
				p.look()
			default:
				r.fell(p.disk)
			}
		})
	}
	comes := at + 5*lease - r.w.Between(0, 12*r.w.MaxDelay) // so that the state is on its way when the process dies
	if r.rng.IntN(4) == 0 {
		comes = at + 6*lease
	}
	r.plot(comes, func() { waits.enlist(logged, true) })
	r.plot(at+5*lease, func() { r.fell(gets.disk) })
	r.plot(at+9*lease, func() { r.raise(gets.disk) })
	for range 20 {
		r.plot(at+r.w.Between(0, 20*lease), r.scribble)
	}
	for _, p := range had {
		r.plot(at+13*lease+r.w.Between(0, 5*lease), func() { r.raise(p.disk) })
	}
}

// novice is a script against logs: two processes keep a stored channel in memory and begin a log, each on a disk that
// has failed, or that is not done when the one goes that has the state on disk; then the two die. They come back first,
// with logs that have nothing, or not all.
func (r *run) novice(at time.Duration) {
	lease := r.plan.Lease
	procs := r.cast(1, 2, 3, 4, 5)
	had, novices := procs[0], procs[1:3]
	r.plan.Memory = true
	had.enlist(logged, true)
	r.rest()
	for _, p := range novices {
		p.keep(logged, false)
	}
	r.rest()
	r.scribble()
	r.rest()
	fails, soon, goes := r.rng.IntN(2) == 0, r.rng.IntN(2) == 0, r.rng.IntN(3)
	r.plot(at, func() {
		for _, p := range novices {
			if fails {
				r.faults[DiskError]++
				p.diskFault()
			}
			p.keep(logged, true)
		}
	})
	gone, dies := at+2*lease, at+5*lease
	if soon {
		gone = at + r.w.Between(0, 30*r.w.MaxDelay)
		dies = gone + r.w.Between(0, 30*r.w.MaxDelay)
	}
	for range 10 {
		r.plot(at+r.w.Between(0, gone-at), r.scribble)
	}
	r.plot(gone, func() {
		switch goes {
		case 0:
			had.leave()
		case 1:
			had.guard(func() { had.removeFrom(logged) })
			had.look()
		default:
			r.fell(had.disk)
		}
	})
	for _, p := range novices {
		r.plot(dies, func() { r.fell(p.disk) })
		dies += r.w.Between(2*lease, 3*lease) // with both at once nobody could go on
	}
	for _, p := range []*process{novices[0], novices[1], had} {
		dies += r.w.Between(2*lease, 3*lease)
		r.plot(dies, func() {
			r.raise(p.disk)
			r.owner(p.disk).stores = true
		})
	}
}

// keep announces a reader that keeps the state of a stored channel, in the log of the process or in memory.
func (p *process) keep(ch derecho.ChannelID, inLog bool) {
	p.stores = inLog
	p.nextEP++
	ep := derecho.Endpoint{ID: p.nextEP, Channel: ch, Replica: true, Reads: []derecho.Subgroup{channels[ch]}}
	p.wanted[ep.ID] = ep
	p.guard(func() { p.announce(ep) })
	p.look()
}

// orphan is a script against logs: a process gets the state, and has it on its disk, and what is written then; but
// nobody who stays hears it say so. It dies together with the one that it has the state from, whose disk has lied, and
// both come back, mostly the one that nobody asked for first. Or it has the state from one that keeps it in memory,
// dies before it, and comes back before the one whose log had the state before it, or after.
func (r *run) orphan(at time.Duration) {
	lease, few := r.plan.Lease, 10*r.w.MaxDelay
	procs := r.cast(1, 2, 3, 4, 5)
	gives, gets := procs[0], procs[1]
	gives.enlist(logged, true)
	r.rest()
	r.scribble()
	if r.rng.IntN(2) == 0 {
		r.orphanOfMemory(at, procs)
		return
	}
	soon, files := r.rng.IntN(4) == 0, 1+r.rng.IntN(3)
	r.plot(at, func() {
		gives.disk.lie(files)
		r.emit(Event{Kind: Fault_, Node: gives.id, Text: "its disk lies from now on"})
		r.when(gets, installsEpoch, 1, func() { r.bar(gets, true, procs[2:]...) })
		gets.enlist(logged, true)
	})
	for range 10 {
		r.plot(at+r.w.Between(0, 2*few), r.scribble)
	}
	dies := at + r.w.Between(few/2, 3*few)
	for _, p := range []*process{gives, gets} {
		r.plot(dies, func() { r.fell(p.disk) })
		dies += r.w.Between(0, few/10)
	}
	first, second := gets, gives
	if soon {
		first, second = gives, gets
	}
	r.plot(dies+4*lease, func() { r.raise(first.disk) })
	r.plot(dies+6*lease+r.w.Between(0, 2*lease), func() { r.raise(second.disk) })
}

// orphanOfMemory is what orphan plays when the state is kept in memory.
func (r *run) orphanOfMemory(at time.Duration, procs []*process) {
	lease, few := r.plan.Lease, 10*r.w.MaxDelay
	had, gets, gives := procs[0], procs[1], procs[2]
	procs[3].enlist(logged2, true) // the subgroup has it, whatever becomes of the others
	r.plot(at, func() {
		r.plan.Memory, gives.stores = true, false
		gives.enlist(logged, false)
	})
	for range 4 {
		r.plot(at+lease/2, r.scribble)
	}
	r.plot(at+lease, func() { r.fell(had.disk) })
	begins := at + 4*lease
	r.plot(begins, func() {
		r.when(gets, installsEpoch, 1, func() { r.bar(gets, true, procs[4]) })
		gets.enlist(logged, true)
	})
	for range 10 {
		r.plot(begins+r.w.Between(0, 2*few), r.scribble)
	}
	dies := begins + r.w.Between(few, 3*few)
	r.plot(dies, func() { r.fell(gets.disk) })
	dies += 3 * lease // with both at once nobody could go on
	r.plot(dies, func() { r.fell(gives.disk) })
	first, second := had, gets
	if r.rng.IntN(2) == 0 {
		first, second = gets, had
	}
	raise := func(d *disk) {
		r.raise(d)
		r.owner(d).stores = true
	}
	r.plot(dies+4*lease, func() { raise(first.disk) })
	r.plot(dies+6*lease+r.w.Between(0, 2*lease), func() { raise(second.disk) })
}

// outbreak is how many leases pass from one restart to the next: enough that a majority of the logs is waited for, and
// that those which are away then come later.
const outbreak = 30

// outbreaks is a script against logs: again and again all processes that have one die, at once or one after the other.
// Some come back, wait for the others until a majority is enough, and write if it is there; the others come later, or
// after the next time. Processes that had no log, or one that is long out of date, come with them, or never died.
func (r *run) outbreaks() {
	n, lease := r.plan.Nodes, r.plan.Lease
	var hosts []uint64
	for range n {
		hosts = append(hosts, 1+uint64(r.rng.IntN(r.plan.Hosts)))
	}
	var disks []*disk
	for _, p := range r.cast(hosts...) {
		disks = append(disks, p.disk)
	}
	const loggers = 3
	end := r.fell
	if r.plan.Faults&CrashSync != 0 && r.disks.IntN(4) == 0 {
		end = r.fellWriting
	}
	for _, d := range disks[:loggers] {
		r.owner(d).enlist(logged, true)
		if r.rng.IntN(2) == 0 {
			r.owner(d).enlist(logged2, true)
		}
	}
	r.rest()
	for wave := range r.plan.Waves {
		at := lease + time.Duration(wave)*outbreak*lease
		spread := []time.Duration{0, 10 * r.w.MaxDelay, 3 * lease}[r.rng.IntN(3)]
		// Who comes back at once; the others do after a while, or when all come back.
		order := r.rng.Perm(loggers)
		some, stay := 1+r.rng.IntN(loggers), r.rng.IntN(2) == 0
		for range 60 {
			r.plot(at+r.w.Between(-lease, outbreak*lease-lease), r.scribble)
		}
		for k, i := range order {
			r.plot(at+r.w.Between(0, spread+1), func() { end(disks[i]) })
			back := at + 4*lease + r.w.Between(0, 10*r.w.MaxDelay)
			switch {
			case k < some:
			case stay:
				continue
			default:
				back += 10*lease + r.w.Between(0, 5*lease)
			}
			r.plot(back, func() { r.raise(disks[i]) })
		}
		for _, d := range disks[loggers:] {
			dies, joins := r.rng.IntN(2) == 0, r.rng.IntN(2) == 0
			if dies {
				r.plot(at+r.w.Between(0, spread+1), func() { r.fell(d) })
				r.plot(at+4*lease+r.w.Between(0, 10*r.w.MaxDelay), func() { r.raise(d) })
			}
			if joins {
				r.plot(at+5*lease+r.w.Between(0, 10*r.w.MaxDelay), func() {
					if p := r.owner(d); !p.gone && p.joined && len(p.wanted) == 0 {
						p.enlist(kept[1+r.pick.IntN(2)], true)
					}
				})
			}
		}
	}
}

// owner is the process that has a disk, or had it last.
func (r *run) owner(d *disk) *process {
	for _, p := range slices.Backward(r.procs) {
		if p.disk == d {
			return p
		}
	}
	return nil
}

// fell ends the process that has a disk; raise starts it again.
func (r *run) fell(d *disk) {
	if p := r.owner(d); !p.gone {
		p.crash("at rest")
		p.returns = true
		r.faults[CrashNode]++
	}
}

// fellWriting ends it in the middle of its writing, or after a while if it does not write.
func (r *run) fellWriting(d *disk) {
	if p := r.owner(d); !p.gone {
		d.crashIn = 1 + r.disks.IntN(8)
		r.w.After(r.plan.Lease, func() {
			if r.owner(d) == p {
				r.fell(d)
			}
		})
	}
}

func (r *run) raise(d *disk) {
	if p := r.owner(d); p.crashed {
		r.restart(p)
	}
}

// scribble lets everybody write who can.
func (r *run) scribble() {
	for _, p := range r.procs {
		if p.joined && !p.gone {
			p.guard(func() {
				p.send()
				p.confirm()
			})
			p.look()
		}
	}
}
