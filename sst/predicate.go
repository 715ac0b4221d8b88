package sst

import "slices"

// Kind is how often a predicate fires.
type Kind uint8

const (
	// Recurrent fires on every pass while its condition holds.
	Recurrent Kind = iota
	// OneTime fires the first time that its condition holds, and is gone.
	OneTime
	// Transition fires when its condition holds and did not hold on the pass before.
	Transition
)

// Predicates are conditions over tables and what to do when they hold. All of it happens on the
// goroutine that calls Evaluate, in the order of Add, so a trigger sees the table as its condition
// saw it or newer. A trigger may add predicates, which are looked at from the next pass on, and
// remove some, itself included, which takes effect at once. It must not call Evaluate.
type Predicates struct {
	list    []*predicate
	removed bool
}

// Handle names a predicate, to remove it.
type Handle struct{ p *predicate }

type predicate struct {
	kind    Kind
	holds   func() bool
	trigger func()
	before  bool // Transition: what the condition was on the last pass
	gone    bool
}

// Add registers a predicate. A Transition whose condition holds already fires on the first pass.
func (ps *Predicates) Add(kind Kind, holds func() bool, trigger func()) Handle {
	p := &predicate{kind: kind, holds: holds, trigger: trigger}
	ps.list = append(ps.list, p)
	return Handle{p}
}

// Remove ends a predicate; it does not fire again, not even in the pass that is under way.
func (ps *Predicates) Remove(h Handle) {
	if h.p != nil && !h.p.gone {
		h.p.gone, ps.removed = true, true
	}
}

// Evaluate makes one pass and reports whether anything fired.
func (ps *Predicates) Evaluate() bool {
	fired := false
	for _, p := range ps.list { // the slice as it was when the pass began
		if p.gone {
			continue
		}
		holds := p.holds()
		fire := holds && !(p.kind == Transition && p.before)
		p.before = holds
		if !fire {
			continue
		}
		if p.kind == OneTime {
			p.gone, ps.removed = true, true
		}
		p.trigger()
		fired = true
	}
	if ps.removed {
		ps.removed = false
		ps.list = slices.DeleteFunc(ps.list, func(p *predicate) bool { return p.gone })
	}
	return fired
}
