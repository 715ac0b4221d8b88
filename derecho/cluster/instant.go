package cluster

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/sim"
)

// instant is all on which it depends how a run goes on if a process dies now, as far as the process itself can have
// changed it. The rest of its state dies with it. Two instants of one process that are equal lie in one event
// (sim.Moment), in which nobody else does anything; so if the process dies at the one or at the other, the two runs are
// the same event for event, and so are their traces.
type instant struct {
	shown
	memory uint64 // what the process shares
	rows   uint64 // what the trace will have of it when it dies
}

// shown is the part of an instant that others see even if no process that lives can read the memory of this one.
type shown struct {
	world       sim.Moment // what is on its way to others, what will happen when, and what will be drawn
	pick, disks rand.PCG
	events      int    // of the trace
	sent        uint32 // the epoch of the last of them, which say writes when the message is sent
	kind        Kind
	fences      uint64 // of all
	disk        onMedium
}

// onMedium is how much there is on the disk of a process, of which it may lose what is not synced. What is there does not change.
type onMedium struct{ starts, startsSynced, messages, messagesSynced, openings int }

func (d *disk) onMedium() onMedium {
	return onMedium{len(d.starts.entries), d.starts.synced, len(d.messages.entries), d.messages.synced, len(d.openings)}
}

// news is what happened at a process between two of its pushes.
type news uint8

const (
	nothing news = iota // that makes any difference if it dies
	unseen              // but stores into memory that nobody can read when it is dead
	fresh
)

func (at instant) since(before instant, read bool) news {
	switch {
	case at == before:
		return nothing
	case at.shown == before.shown && !read:
		return unseen
	default:
		return fresh
	}
}

var instantSeed = maphash.MakeSeed()

func (r *run) instant(p *process) instant {
	at := instant{shown: shown{world: r.w.Moment(), pick: *r.pickSource, disks: *r.diskSource, events: len(r.events), disk: p.disk.onMedium()}}
	if n := len(r.events); n > 0 {
		at.sent, at.kind = r.events[n-1].Epoch, r.events[n-1].Kind
	}
	var h maphash.Hash
	h.SetSeed(instantSeed)
	p.f.Memory(func(region *rdma.Region) {
		cells := r.cells[:0]
		for i := range region.Shape().Cells {
			cells = binary.LittleEndian.AppendUint64(cells, region.Cell(i).Load())
		}
		r.cells = cells
		_, _ = h.Write(cells)
		_, _ = h.Write(region.Ring())
	})
	at.memory = h.Sum64()
	h.Reset()
	r.w.Fences(func(word uint32) { maphash.WriteComparable(&h, word) })
	at.fences = h.Sum64()
	h.Reset()
	p.d.Rows(func(row *derecho.Row) {
		maphash.WriteComparable(&h, row.RowCells)
		for _, list := range [][]uint64{row.Received, row.Handed, row.Freed, row.Held} {
			maphash.WriteComparable(&h, len(list))
			for _, v := range list {
				maphash.WriteComparable(&h, v)
			}
		}
	})
	at.rows = h.Sum64()
	return at
}

// watch counts the pushes of a change of the view, and ends at one of them those who are to die together.
type watch struct {
	r        *run
	together *Together
	before   []int // pushes of each node when the change began
	all      int   // pushes of all nodes since
	// At each death, the pushes of each node since.
	deaths map[*process][]int
	// If instants are recorded: of each node its last, and of each of its pushes what was new since the one before.
	record bool
	last   map[*process]instant
	news   map[*process][]news
}

func (w *watch) begin() {
	for _, p := range w.r.procs {
		w.before = append(w.before, p.f.Pushes)
	}
	w.deaths, w.last, w.news = map[*process][]int{}, map[*process]instant{}, map[*process][]news{}
	w.r.watch = w
}

// pushes of each node since the change began.
func (w *watch) pushes() (n []int) {
	for i, p := range w.r.procs {
		n = append(n, p.f.Pushes)
		if i < len(w.before) {
			n[i] -= w.before[i]
		}
	}
	return n
}

func (w *watch) pushed(p *process) {
	w.all++
	if w.record {
		at, what := w.r.instant(p), fresh
		if last, is := w.last[p]; is {
			what = at.since(last, w.r.shares(p))
		}
		w.news[p] = append(w.news[p], what)
		w.last[p] = at
	}
	if t := w.together; t != nil && t.K == w.all {
		w.together = nil
		w.r.faults[CrashNode] += len(t.Nodes)
		self := false
		for _, n := range t.Nodes {
			if q := w.r.procs[n]; q == p {
				self = true
			} else {
				q.crash("together with another")
			}
		}
		if self {
			panic(sim.Crash{Fabric: p.f})
		}
	}
}

// shares: there is a process that lives and reads the memory of this one.
func (r *run) shares(p *process) bool {
	return slices.ContainsFunc(r.procs, func(q *process) bool { return q != p && !q.gone && q.host == p.host })
}

func (w *watch) died(p *process) { w.deaths[p] = w.pushes() }
