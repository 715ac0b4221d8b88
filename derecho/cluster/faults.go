package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// fault makes one happen.
func (r *run) fault(f Fault) {
	p := r.any()
	if p == nil || p.gone || r.calm {
		return
	}
	switch f {
	case CrashNode:
		// At once, or at one of the next pushes or stores.
		if r.pick.IntN(3) == 0 {
			p.crash("at rest")
		} else {
			p.f.CrashAt = p.f.Pushes + 1 + r.pick.IntN(60)
		}
	case CrashHost:
		if r.plan.Hosts == 1 {
			return
		}
		for _, q := range r.procs {
			if q.host == p.host {
				q.crash("with its host")
			}
		}
	case Restart:
		for _, q := range r.procs {
			if q.crashed {
				r.restart(q)
				break
			}
		}
	case CrashAll:
		for _, q := range slices.Clone(r.procs) {
			if q.gone {
				continue
			}
			q.crash("with all others")
			q.returns = true
			r.w.After(r.w.Between(0, 4*r.plan.Lease), func() {
				if q.crashed {
					r.restart(q)
				}
			})
		}
	case DiskError:
		p.diskFault()
	case CrashSync:
		r.crashWriters()
		return // it counts when it happens
	case Unlink:
		if !r.unlinkFrom(p) {
			return
		}
	case Pause:
		if p.f.Paused() {
			return
		}
		p.f.Pause(true)
		r.emit(Event{Kind: Fault_, Node: p.id, Text: paused})
		r.w.After(r.outage(), func() { r.resume(p) })
	case Partition:
		side := 1 + uint64(r.pick.IntN(r.plan.Hosts))
		if r.plan.Hosts == 1 {
			return
		}
		r.emit(Event{Kind: Fault_, Text: fmt.Sprintf("host %d is cut off", side)})
		r.cut(func(a, b *process) bool { return (a.host == side) != (b.host == side) }, r.outage())
	case OneWay:
		q := r.any()
		if q == p || q.gone || q.host == p.host {
			return
		}
		r.emit(Event{Kind: Fault_, Text: fmt.Sprintf("nothing passes from %s to %s", p.id, q.id)})
		r.cut(func(a, b *process) bool { return a == p && b == q }, r.outage())
	default:
		return // of the whole run, not of a moment
	}
	r.faults[f]++
	// Troubles come together: the next while the others still agree on this one.
	if r.pick.IntN(2) == 0 {
		number := r.pick.Uint64()
		r.w.After(time.Duration(r.pick.Int64N(int64(10*r.w.MaxDelay))), func() {
			r.pick = rand.New(rand.NewPCG(r.plan.Seed, number))
			r.fault(f)
			r.pick = r.rng
		})
	}
}

// crashWriters ends one of the processes that have a log in the middle of its writing, or all of them.
func (r *run) crashWriters() {
	all := r.disks.IntN(3) == 0
	for _, i := range r.disks.Perm(len(r.procs)) {
		if p := r.procs[i]; !p.gone && slices.ContainsFunc(slices.Collect(maps.Values(p.wanted)),
			func(ep derecho.Endpoint) bool { return ep.Replica && stored(ep.Channel) }) {
			if p.disk.crashIn = 1 + r.disks.IntN(12); !all {
				return
			}
		}
	}
}

// restart starts a process that has crashed again, with its disk or without.
func (r *run) restart(q *process) *process {
	q.crashed = false
	d := q.disk
	if r.plan.Faults&LoseDisk != 0 && r.pick.IntN(4) == 0 {
		r.faults[LoseDisk]++
		r.emit(Event{Kind: Fault_, Node: q.id, Text: "its disk is lost"})
		d = r.newDisk()
	}
	name := fmt.Sprintf("p%d", len(r.procs))
	if r.plan.Names {
		name = q.name
	}
	p := r.startAs(name, q.host, d)
	p.wanted, p.nextEP, p.inMemory = q.wanted, q.nextEP, q.inMemory
	return p
}

// outage is how long something is out of order: shorter or longer than what is noticed.
func (r *run) outage() time.Duration {
	if r.pick.IntN(2) == 0 {
		return time.Duration(r.pick.Int64N(int64(r.plan.Lease / 2)))
	}
	return r.plan.Lease + time.Duration(r.pick.Int64N(int64(7*r.plan.Lease)))
}

// cut blocks what passes between some pairs, for a time.
func (r *run) cut(pairs func(from, to *process) bool, d time.Duration) {
	var undo []func()
	for _, a := range r.procs {
		for _, b := range r.procs {
			if a != b && !a.gone && !b.gone && pairs(a, b) {
				af, bf := a.f, b.f
				r.w.Block(af, bf, true)
				undo = append(undo, func() { r.w.Block(af, bf, false) })
			}
		}
	}
	r.w.After(d, func() {
		if r.calm {
			return // healed already
		}
		r.emit(Event{Kind: Fault_, Text: "passes again"})
		for _, u := range undo {
			u()
		}
	})
}

func (r *run) resume(p *process) {
	if p.gone || !p.f.Paused() {
		return
	}
	r.emit(Event{Kind: Fault_, Node: p.id, Text: "goes on"})
	p.f.Pause(false)
	p.look()
}
