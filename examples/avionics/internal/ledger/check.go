package ledger

import (
	"fmt"
	"slices"
	"sort"
)

// Topic is what a topic promises.
type Topic struct {
	Name   string
	Writer string // role of those that publish it
	// History: who comes late is given the last sample of every instance. Outlives: also of writers that have gone.
	History, Outlives bool
}

// order is the samples of a topic by position.
type order []Entry

// index finds the sample at the position of e; len if it is behind all.
func (o order) index(e *Entry) int {
	return sort.Search(len(o), func(i int) bool { return !o[i].before(e) })
}

// findings gathers what is wrong, each kind once for each life.
type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// Check tells what is wrong with a topic.
func (b *Book) Check(t Topic) []string {
	var f findings
	o := b.order(t, &f)
	for _, l := range b.lives {
		b.checkOrder(l, t, o, &f)
		if l.Late && t.History {
			b.checkHistory(l, t, o, &f)
		}
		if l.Role == t.Writer {
			b.checkWriter(l, t, o, &f)
		}
	}
	return f
}

// order merges what all lives delivered (claim 1).
func (b *Book) order(t Topic, f *findings) order {
	var o order
	for _, l := range b.lives {
		entries := l.delivered[t.Name]
		for i := range entries {
			if i > 0 && !entries[i-1].before(&entries[i]) {
				f.add("%s: samples of %s came out of order: position %s behind %s", l, t.Name, entries[i].position(), entries[i-1].position())
				break
			}
		}
		o = append(o, entries...)
	}
	slices.SortStableFunc(o, func(x, y Entry) int {
		switch {
		case x.before(&y):
			return -1
		case y.before(&x):
			return 1
		}
		return 0
	})
	merged := o[:0]
	differ := 0
	for i := range o {
		if n := len(merged); n > 0 && merged[n-1].at(&o[i]) {
			if !merged[n-1].same(&o[i]) {
				differ++
			}
			continue
		}
		merged = append(merged, o[i])
	}
	if differ > 0 {
		f.add("%d positions in the order of %s hold different samples at different processes", differ, t.Name)
	}
	return merged
}

// history is how many of the entries were given as history. They come first.
func history(entries []Entry) int {
	n := 0
	for n < len(entries) && entries[n].History {
		n++
	}
	return n
}

// part is where in the order the life's own part begins; false if that is not known.
func (l *Life) part(topic string, o order) (from int, ok bool) {
	if !l.Late {
		return 0, true
	}
	entries := l.delivered[topic]
	switch n := history(entries); {
	case n > 0:
		return o.index(&entries[n-1]) + 1, true
	case len(entries) > 0:
		return o.index(&entries[0]), true
	}
	return 0, false
}

// checkOrder checks that a life has all that it must have (claim 2).
func (b *Book) checkOrder(l *Life, t Topic, o order, f *findings) {
	entries, takes := l.delivered[t.Name]
	from, known := l.part(t.Name, o)
	if !takes || !known {
		return
	}
	live := entries[history(entries):]
	to := len(o)
	if l.ended != 0 {
		to = from
		if len(live) > 0 {
			to = o.index(&live[len(live)-1]) + 1
		}
	}
	if to-from == len(live) {
		return
	}
	have := make(map[int]bool, len(live))
	for i := range live {
		have[o.index(&live[i])] = true
	}
	missing, first := 0, 0
	for i := to - 1; i >= from; i-- {
		if !have[i] && !l.excused(t.Name, &o[i]) {
			missing, first = missing+1, i
		}
	}
	if missing > 0 {
		f.add("%s: %d samples of %s are missing that others delivered, the first is number %d at position %s",
			l, missing, t.Name, o[first].Number, o[first].position())
	}
}

// checkHistory checks what a late life was given of the past (claim 3).
func (b *Book) checkHistory(l *Life, t Topic, o order, f *findings) {
	from, known := l.part(t.Name, o)
	if !known || l.ready == 0 {
		return
	}
	given := make(map[int]bool)
	for i := range l.delivered[t.Name] {
		given[o.index(&l.delivered[t.Name][i])] = true
	}
	last := make(map[uint32]int)
	for i := range o[:from] {
		if t.Outlives || b.livedAt(t.Writer, Generation(o[i].Number), l.ready) {
			last[o[i].Instance] = i
		}
	}
	missing, example := 0, -1
	for _, i := range last {
		if !given[i] {
			missing++
			example = max(example, i)
		}
	}
	if missing > 0 {
		f.add("%s came late, and of %d instances of %s was not given the last sample, as of number %d at position %s",
			l, missing, t.Name, o[example].Number, o[example].position())
	}
}

// livedAt tells whether a writer had not ended then.
func (b *Book) livedAt(role string, generation, when int) bool {
	for _, l := range b.lives {
		if l.Role == role && l.Generation == generation {
			return l.ended == 0 || l.ended > when
		}
	}
	return false
}

// checkWriter checks the samples of one writer (claim 4).
func (b *Book) checkWriter(l *Life, t Topic, o order, f *findings) {
	var there, gaps, first uint64
	behind := 0 // the place in the order behind the writer's sample before
	for i := range o {
		if Generation(o[i].Number) != l.Generation {
			continue
		}
		n := Count(o[i].Number)
		for m := there + 1; m < n; m++ {
			if !l.unsent(t.Name, m) && !b.unheard(t.Name, o, behind, i) {
				if gaps++; first == 0 {
					first = m
				}
				break
			}
		}
		if n <= there {
			if gaps++; first == 0 {
				first = n
			}
		}
		there, behind = max(there, n), i+1
	}
	if gaps > 0 {
		f.add("%s: what it published of %s is not there in the order in which it did, or not without gaps (%d, the first at its number %d)", l, t.Name, gaps, first)
	}
	p := l.published[t.Name]
	missing := func(n uint64) bool {
		return there < n && !l.unsent(t.Name, there+1) && !b.unheard(t.Name, o, behind, len(o))
	}
	switch {
	case l.ended == 0 && missing(p.Published):
		f.add("%s lives, and nobody has %d of the %d samples of %s that it published", l, p.Published-there, p.Published, t.Name)
	case l.ended != 0 && missing(p.Acknowledged):
		f.add("%s: %d samples of %s were acknowledged before it ended, and nobody has more than the first %d", l, p.Acknowledged, t.Name, there)
	}
}

// Stored is a sample that is on disk.
type Stored struct {
	Number uint64
	Sum    uint64
}

// CheckLog compares the log of a role with what its processes delivered (claim 5).
func (b *Book) CheckLog(role string, t Topic, disk []Stored) []string {
	var f, ignored findings
	o := b.order(t, &ignored) // Check tells
	at := make(map[uint64]int, len(o))
	for i := range o {
		at[o[i].Number] = i
	}
	have := make(map[int]bool, len(disk))
	strange, before := 0, -1
	for _, s := range disk {
		i, known := at[s.Number]
		if !known || o[i].Sum != s.Sum || i <= before {
			strange++
			continue
		}
		have[i], before = true, i
	}
	if strange > 0 {
		f.add("%s: %d of %d records in its log are no samples of %s, or not in their order", role, strange, len(disk), t.Name)
	}
	for _, l := range b.lives {
		entries := l.delivered[t.Name]
		live := entries[history(entries):]
		if l.Role != role || len(live) == 0 {
			continue
		}
		from, to := o.index(&live[0]), len(o)
		if l.ended != 0 {
			to = 0
			if i, known := at[l.promised[t.Name][t.Writer]]; known {
				to = i + 1
			}
		}
		missing := 0
		for i := from; i < to; i++ {
			if !have[i] && !l.excused(t.Name, &o[i]) {
				missing++
			}
		}
		if missing > 0 {
			f.add("%s: %d samples of %s are not in its log on disk, which were delivered there", l, missing, t.Name)
		}
	}
	return f
}
