package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// A disk lies when it says that it has synced what it keeps in a memory of its own, which goes with the power. From
// some moment on either of the two files of a log, or both, has nothing more than what it had. When the process ends so
// does the power of its disk: of what came since, synced or not, each file keeps the first entries, any number of them.
// The trace has what was lost of what the disk had called durable (Lost, Unbegun), so that the checkers know.

// lie makes files of a disk lie from now on: 1 the messages, 2 the beginnings of epochs, 3 both.
func (d *disk) lie(files int) {
	for i, f := range []*file{&d.messages, &d.starts} {
		if files&(1<<i) != 0 && !f.lies {
			f.lies, f.real = true, f.synced
		}
	}
}

// bare takes what the lies of the disk are worth: messages and starts are its files as they were.
func (d *disk) bare(p *process, messages, starts file) {
	for _, f := range []struct {
		is  *file
		was file
	}{{&d.messages, messages}, {&d.starts, starts}} {
		if !f.was.lies {
			continue
		}
		said := len(f.was.entries) - f.was.real
		if d.honest != nil {
			said = min(said, d.honest(f.is))
		} else {
			said = d.run.lies.IntN(said + 1)
		}
		f.is.entries = f.was.entries[:f.was.real+said]
	}
	if k := slices.IndexFunc(d.openings, func(after int) bool { return after > len(d.starts.entries) }); k >= 0 {
		d.openings = d.openings[:k] // they lay behind what is lost
	}
	begun := d.level()
	lost := disown(p, messages, func(k int, e entry) bool { return k < len(d.messages.entries) && e.epoch <= begun })
	lost += disown(p, starts, func(k int, _ entry) bool { return k < len(d.starts.entries) })
	if lost > 0 {
		d.run.faults[LyingSync]++
	}
	d.skip(begun)
	for _, f := range []*file{&d.messages, &d.starts} {
		f.synced, f.real = min(f.synced, len(f.entries)), len(f.entries)
		f.lies = f.lies && d.run.lies.IntN(2) == 0
	}
}

// level and skip make the two files one log again, as who opens it does (dcps/log.go). An epoch that begins behind the
// messages that are there has not begun; level returns the last that has.
func (d *disk) level() (begun uint32) {
	if k := slices.IndexFunc(d.starts.entries, func(e entry) bool { return e.after > len(d.messages.entries) }); k >= 0 {
		d.starts.entries = d.starts.entries[:k]
	}
	if n := len(d.starts.entries); n > 0 {
		begun = d.starts.entries[n-1].epoch
	}
	return begun
}

// skip: messages of an epoch that has not begun do not count, and its number is not used again.
func (d *disk) skip(begun uint32) {
	if k := slices.IndexFunc(d.messages.entries, func(e entry) bool { return e.epoch > begun }); k >= 0 {
		last := d.messages.entries[len(d.messages.entries)-1].epoch
		d.starts.entries = append(d.starts.entries, entry{start: &derecho.EpochStart{Epoch: last}, epoch: last, after: k})
	}
}

// disown puts into the trace what there is no more of what a file had called synced, the last first.
func disown(p *process, was file, keeps func(k int, e entry) bool) (lost int) {
	for k := was.synced - 1; k >= 0; k-- {
		e := was.entries[k]
		if keeps(k, e) {
			continue
		}
		lost++
		if e.start == nil {
			p.run.emit(Event{Kind: Lost, Node: p.id, Channel: e.ch, Epoch: e.epoch, Seq: e.seq, Log: p.disk.medium(), Text: e.text})
			continue
		}
		for _, c := range e.start.Channels {
			p.run.emit(Event{Kind: Unbegun, Node: p.id, Channel: c.Channel, Epoch: e.epoch, Log: p.disk.medium(), Text: string(c.State)})
		}
	}
	return lost
}

// ownIn are the faults of ownStream that a run has: in some of the runs with all faults, chosen so that no other run is
// another one for them; where one is named, it is in all. Of storms only disks that lie are a part, and of those that follow
// no script links that end; the others have scripts of their own.
func (o Options) ownIn(seed uint64) (f Fault) {
	all := o.Faults == AllFaults
	if !all || seed%8 == 7 {
		f |= LyingSync
	}
	if (!all || seed%16 == 0 || seed%16 == 7) && !scripted(o.Storm) {
		f |= Unlink
	}
	if o.Storm != "" {
		if o.Storm == "stuck" || o.Storm == "bequest" {
			f |= HungDisk
		}
		return o.Faults & f
	}
	if !all || seed%16 == 4 || seed%16 == 8 {
		f |= Split
	}
	if !all || seed%16 == 4 || seed%16 == 10 {
		f |= HungDisk
	}
	return o.Faults & f
}

// plotLies schedules when disks begin to lie.
func (r *run) plotLies() {
	for range 1 + r.lies.IntN(4) {
		r.plot(time.Duration(r.lies.Int64N(int64(r.plan.Length))), r.lieOf)
	}
}

// lieOf lets the disk of a process that has a log begin to lie, or those of all. In ordinary runs the power fails soon
// after, in storms when the script says so.
func (r *run) lieOf() {
	all := r.lies.IntN(3) == 0
	for _, i := range r.lies.Perm(len(r.procs)) {
		p := r.procs[i]
		if p.gone || !slices.ContainsFunc(slices.Collect(maps.Values(p.wanted)),
			func(ep derecho.Endpoint) bool { return ep.Replica && stored(ep.Channel) }) {
			continue
		}
		p.disk.lie(1 + r.lies.IntN(3))
		r.emit(Event{Kind: Fault_, Node: p.id, Text: "its disk lies from now on"})
		if r.plan.Storm == "" {
			r.w.After(time.Duration(r.lies.Int64N(int64(r.plan.Lease))), func() { r.powerCut(p) })
		}
		if !all {
			return
		}
	}
}

// powerCut ends a process and its disk; both come back.
func (r *run) powerCut(p *process) {
	if p.gone || r.calm {
		return
	}
	p.crash("with the power of its disk")
	p.returns = true
	r.w.After(time.Duration(r.lies.Int64N(int64(4*r.plan.Lease))), func() {
		if p.crashed && !r.calm {
			r.restart(p)
		}
	})
}
