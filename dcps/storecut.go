package dcps

import (
	"cmp"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/topic"
)

// cut is what a store holds at one moment, for those who need all of it: who gives it to a process that joins, to a reader that
// comes late, or trims a log. There may be millions of samples, and the polling goroutine has heartbeats to send. So it makes a
// cut at once, without a look at what is kept, and takes the instances little by little, between passes. An instance that
// changes before its turn is taken first (store.touch): it is as it was at the cut.
//
//	the polling goroutine  makes it, and takes instances until it is whole
//	then anybody           reads it, and ends it
//
// Records that are in a cut do not change until it has ended, but for open and alarm, which who reads it does not look at.
type cut struct {
	s       *store
	n       uint64 // the number of the cut
	form    topic.Form
	clock   int64
	count   int         // of records
	writers []cutWriter // by their keys
	lines   [][]cutLine // in pieces, as a slice that grows is copied; those of an instance are one behind the other
	taken   int         // instances
	next    int         // the instances of store.all from here on are taken
	whole   bool        // all are: nothing of it changes any more
	ended   atomic.Bool // set by who reads it, or would have, once; then it is not taken any more
}

// cutWriter is a writer as it was.
type cutWriter struct {
	w          *storedWriter
	info       []byte
	gone, torn bool
	set        storedSet
}

// cutLine is a line as it was.
type cutLine struct {
	w            *storedWriter
	records      []*record
	open         int // so many of the last are of a set that is open
	instance     int // the number of the instance among those of the cut
	unregistered bool
	latest       bool      // it has the latest record of its instance
	disposed     *disposal // of its instance; nil if there is none
}

// linesPerPiece of a cut.
const linesPerPiece = 1024

// cut makes a cut: nothing of it is taken yet.
func (s *store) cut() *cut {
	s.cuts++
	c := &cut{s: s, n: s.cuts, form: s.form, clock: s.clock, count: s.count, next: len(s.all)}
	for _, key := range s.keys() {
		w := s.writers[key]
		c.writers = append(c.writers, cutWriter{w, w.info, w.gone, w.torn, w.set})
	}
	s.lent.Add(1) // until it has ended no record is filled anew: see recycle
	s.cutting = append(s.stillCutting(), c)
	return c
}

// stillCutting are the cuts that somebody waits for.
func (s *store) stillCutting() []*cut {
	return slices.DeleteFunc(s.cutting, func(c *cut) bool { return c.ended.Load() })
}

// take takes up to n more instances, and gives how many more it could have taken: the cut is whole then.
func (c *cut) take(n int) (left int) {
	for ; n > 0; n-- {
		c.next = min(c.next, len(c.s.all)) // some have gone, which were taken then
		if c.next == 0 {
			c.s.cutting = slices.DeleteFunc(c.s.cutting, func(o *cut) bool { return o == c })
			c.whole = true
			return n
		}
		c.next--
		c.s.touch(c.s.all[c.next])
	}
	return 0
}

// touch is called before an instance changes.
func (s *store) touch(in *storedInstance) {
	if len(s.cutting) == 0 || in.taken == s.cuts {
		return
	}
	s.cutting = s.stillCutting()
	for _, c := range s.cutting {
		if c.n > in.taken {
			c.add(in)
		}
	}
	in.taken = s.cuts
}

// add takes an instance.
func (c *cut) add(in *storedInstance) {
	latest, disposed := in.latest(), in.disposed
	if disposed != nil {
		by := *disposed
		disposed = &by
	}
	for _, l := range in.lines {
		t := cutLine{w: l.w, records: l.lend(), instance: c.taken, unregistered: l.unregistered, disposed: disposed}
		t.latest = l.len() > 0 && l.latest() == latest
		for t.open < len(t.records) && t.records[len(t.records)-1-t.open].open { // a set is on top of what it replaces
			t.open++
		}
		last := len(c.lines) - 1
		if last < 0 || len(c.lines[last]) == linesPerPiece {
			c.lines = append(c.lines, make([]cutLine, 0, min(linesPerPiece, len(c.s.all))))
			last++
		}
		c.lines[last] = append(c.lines[last], t)
	}
	c.taken++
}

// end lets go of what the cut has: it is not read any more. Anybody may call it, once.
func (c *cut) end() {
	c.ended.Store(true)
	c.s.lent.Add(-1)
}

// cutRecord is a record as it was.
type cutRecord struct {
	*record
	line *cutLine
	i    int // its place in the line
}

// open: it was of a set that had not ended.
func (r cutRecord) open() bool { return r.i >= len(r.line.records)-r.line.open }

// last: it was the latest of its line.
func (r cutRecord) last() bool { return r.i == len(r.line.records)-1 }

// disposed is the disposal of its instance, of which it was the latest; else nil.
func (r cutRecord) disposed() *disposal {
	if r.line.latest && r.last() {
		return r.line.disposed
	}
	return nil
}

// recordRef names a record of a cut. There may be millions of them in a slice, and it has no pointers: the garbage collector does
// not look at it, and it is not cleared at once when it is made, while nothing else runs.
type recordRef struct {
	arrival uint64
	line, i int32
}

// record is the one that has a name.
func (c *cut) record(ref recordRef) cutRecord {
	l := &c.lines[ref.line/linesPerPiece][ref.line%linesPerPiece]
	return cutRecord{l.records[ref.i], l, int(ref.i)}
}

// each gives the lines, with their numbers.
func (c *cut) each() iter.Seq2[int32, *cutLine] {
	return func(yield func(int32, *cutLine) bool) {
		for n, piece := range c.lines {
			for i := range piece {
				if !yield(int32(n*linesPerPiece+i), &piece[i]) {
					return
				}
			}
		}
	}
}

// records are all that the store held, in the order in which they came.
func (c *cut) records() []recordRef {
	all := make([]recordRef, 0, c.count)
	for n, l := range c.each() {
		for i, r := range l.records {
			all = append(all, recordRef{r.arrival, n, int32(i)})
		}
	}
	slices.SortFunc(all, func(a, b recordRef) int { return cmp.Compare(a.arrival, b.arrival) })
	return all
}

// save is the state as it is now.
func (s *store) save() []byte {
	c := s.cut()
	c.take(len(s.all) + 1)
	return c.encode()
}
