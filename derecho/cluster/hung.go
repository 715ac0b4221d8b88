package cluster

import (
	"slices"
	"time"
)

// A disk hangs when a write or a sync does not return, for longer than a lease or for longer than a node waits for it
// (Config.LogTimeout). It has not failed: in the end it returns, and has done what it was asked for.

// hungAfter is Config.LogTimeout of runs in which disks hang, in leases.
const hungAfter = 10

// hang lets a disk not answer for a time.
func (r *run) hang(p *process, d time.Duration) {
	r.faults[HungDisk]++
	r.emit(Event{Kind: Fault_, Node: p.id, Text: "its disk does not answer for " + d.String()})
	p.disk.stuck, p.disk.waits = r.w.Now()+d, 0
}

// await returns when the disk answers, or the process has ended. All others go on meanwhile, and so does the node,
// which another goroutine drives.
func (h *handle) await() {
	r := h.p.run
	if h.d.waits == 0 && r.w.Now() < h.d.stuck {
		h.d.waits = r.w.Now()
	}
	for !r.calm && r.err == nil && !h.p.gone && !h.closed && r.w.Now() < h.d.stuck {
		events := 0
		r.w.After(h.d.stuck-r.w.Now(), func() {})
		r.w.Run(h.d.stuck, func() bool { events++; return r.err != nil || h.p.gone || h.closed || events > 3_000_000 })
		if events > 3_000_000 {
			r.failf("more than %d events while a disk does not answer", events)
		}
	}
}

// hungs draws how long a disk hangs: less than a node waits for it, or more.
func (r *run) hungs() time.Duration {
	if r.breaks.IntN(2) == 0 {
		return time.Duration(r.breaks.Int64N(int64(hungAfter * r.plan.Lease)))
	}
	return hungAfter*r.plan.Lease + time.Duration(r.breaks.Int64N(int64(20*r.plan.Lease)))
}

// hangOne lets the disk of a process that has a log hang.
func (r *run) hangOne() {
	for _, i := range r.pick.Perm(len(r.procs)) {
		if p := r.procs[i]; !p.gone && p.keepsLog() {
			r.hang(p, r.hungs())
			return
		}
	}
}

// keepsLog: an endpoint of the process is to be on disk.
func (p *process) keepsLog() bool {
	for _, ep := range p.wanted {
		if ep.Replica && stored(ep.Channel) {
			return true
		}
	}
	return false
}

// stuck is a script against logs that do not answer. All write and read, and some store; then the disk of one hangs,
// while nothing else happens, or while somebody begins to store, so that the epoch of the stored subgroup ends. Until
// that log is given up nobody is removed, and what is not stored is handed over as ever. Soon after it is, or after the
// disk has answered, all have gone on.
func (r *run) stuck(at time.Duration) {
	lease := r.plan.Lease
	procs := r.castAll()
	for range 20 {
		r.plot(at+r.w.Between(-lease, 30*lease), r.scribble)
	}
	d, joins := r.hungs(), r.breaks.IntN(2) == 0
	over := min(d, hungAfter*lease)
	r.plot(at, func() {
		i := slices.IndexFunc(procs, (*process).keepsLog)
		if r.plan.Faults&HungDisk == 0 || i < 0 || !r.settled() {
			return
		}
		before := procs[0].d.Standing()
		r.hang(procs[i], d)
		disk := procs[i].disk
		if joins {
			procs[len(procs)-1].enlist(logged, true)
		}
		r.w.After(over/2, func() { r.probe(procs, 4*lease) })
		var check func()
		check = func() {
			// The log is given up by how long a call of it takes, and the first may come late.
			if rest := min(disk.stuck, disk.waits+hungAfter*lease) + 5*lease - r.w.Now(); disk.waits != 0 && rest > 0 {
				r.w.After(rest, check)
				return
			}
			for _, p := range procs {
				if now := p.d.Standing(); now != before {
					r.failf("M9: a disk did not answer, and the view of %s is %v now and was %v", p.id, now, before)
				}
			}
			if why, p, _ := r.unsettled(); why != "" {
				r.failf("M9: the disk of %s did not answer for %v, and %s %s\n%s", procs[i].id, d, p.id, why, p.d.Describe())
			}
			r.probe(procs, 4*lease)
		}
		r.w.After(over+5*lease, check)
	})
}
