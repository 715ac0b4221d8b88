package chaos

import (
	"fmt"
	"time"
)

// gap is a time without a delivery at a reader, and what it was made of.
type gap struct {
	long time.Duration
	end  time.Time
	// unwritten is how much of it was over when anybody wrote the first of the samples that came next: the writers were late.
	unwritten time.Duration
	// For how long a processor of this machine stood still at a time: within the gap, and within the whole time of which
	// this is the longest gap. Known if watched.
	stop, stopAround time.Duration
	watched          bool
}

// longestGap is that of one reader between two moments, ns.
func longestGap(ds []delivery, from, to int64) (longest gap) {
	wrote := make([]int64, len(ds)+1) // when the first of the samples was written that were handed over from there on
	wrote[len(ds)] = to
	for i := len(ds) - 1; i >= 0; i-- {
		wrote[i] = min(wrote[i+1], ds[i].sent)
	}
	latest := from
	pass := func(i int, at int64) {
		if d := time.Duration(at - latest); d > longest.long {
			longest = gap{long: d, end: time.Unix(0, at), unwritten: time.Duration(max(0, min(wrote[i], at)-latest))}
		}
		latest = at
	}
	for i, d := range ds {
		if d.received >= to {
			pass(i, to)
			return longest
		}
		if d.received >= from {
			pass(i, d.received)
		}
	}
	pass(len(ds), to)
	return longest
}

func worst(gs []gap) (w gap) {
	for _, g := range gs {
		if g.long > w.long {
			w = g
		}
	}
	return w
}

// pauses are the longest gaps of several rounds.
type pauses []gap

// aimed is what a pause is to be below; of those that are longer it is told what they were made of.
const aimed = time.Millisecond

// longer counts what is over the aim.
func (ts times) longer() (n int) {
	for _, d := range ts {
		if d > aimed {
			n++
		}
	}
	return n
}

func (ps pauses) String() string {
	var all, steady times
	var over, unwritten time.Duration // of those that are longer than aimed
	stopped, watched := 0, false
	for _, g := range ps {
		all, watched = append(all, g.long), watched || g.watched
		if g.watched && g.stopAround < stoodStill {
			steady = append(steady, g.long)
		}
		if g.long > aimed {
			over, unwritten = over+g.long, unwritten+g.unwritten
			if g.stop >= stoodStill {
				stopped++
			}
		}
	}
	text := all.String()
	if long := all.longer(); long > 0 {
		text += fmt.Sprintf(" (%d over %v: for %.0f %% of their time nobody had written what came next", long, aimed, 100*unwritten.Seconds()/over.Seconds())
		if watched {
			text += fmt.Sprintf("; %d of them while a processor of this machine stood still, in the worst for %v", stopped, worst(ps).stop.Round(10*time.Microsecond))
		}
		text += ")"
	}
	if watched {
		text += fmt.Sprintf("; where none stood still for %v: %v, %d over %v", stoodStill, steady, steady.longer(), aimed)
	}
	return text
}
