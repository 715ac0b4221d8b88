package derecho

import "time"

// A look at a subgroup costs much the same whether it finds something or not: its predicates load the cells of all members.
// With one busy subgroup among fifty, nearly all of each pass would be in vain, and what the pass is late for the busy one pays
// (Spindle, ICDCS 2022, on many subgroups). So a pass looks at the subgroups that had work lately, and leaves the others alone
// while those have work:
//
//   - not for longer than allEvery: all are looked at then, and so they are after an event and when the control
//     subgroup did something, which may be what another one waits for;
//   - a pass that finds no work among the busy ones looks at the others, too. So Step reports that there is no work only
//     when it has looked at every subgroup, and nobody goes to sleep over news (rdma.Bell).
//
// Who spins does not sleep yet, and other processes may wait for its processor. So it glances (Glance): at the busy
// subgroups, and at a few of the others, by turns, and of these only at what is published, a cache line for each
// sender. It looks at all as above every thoroughEvery, and before it sleeps.
//
// What is looked at when is nobody else's business: to the other members a subgroup that is not looked at is a slow reader
// and a slow acknowledger, for as long as that takes.

const (
	// idleAfter is how many looks in a row find no work in a subgroup until it counts as idle.
	idleAfter = 64
	// allEvery bounds how long news of an idle subgroup wait while others keep the node busy. A look at an idle subgroup
	// takes about 0.1 µs: of fifty, 1/40 of the time.
	allEvery = 200 * time.Microsecond
	// glanceEvery bounds how long news of an idle subgroup wait while there is work, and whoever drives glances; that
	// of anything else than messages thoroughEvery.
	glanceEvery   = 200 * time.Microsecond
	thoroughEvery = time.Millisecond
	// glances is how many subgroups a pass that finds no work glances at.
	glances = 16
	// idleAtOnce is how many idle subgroups are looked at until the busy ones get another look.
	idleAtOnce = 8
)

// looks is what a machine has looked at lately.
type looks struct {
	roused   bool          // there was an event since the last pass
	lookedAt time.Duration // of the last pass that looked at all subgroups
	// Of glance: when it last went round while there was work, and where it is.
	glancedAt time.Duration
	next      int
}

// visit looks at the subgroups, and reports whether there was work in any. The machine may be dead then.
func (m *machine) visit() bool {
	all := m.roused || m.now-m.lookedAt >= allEvery
	m.roused = false
	work, all := m.visitBusy(all)
	if !work && !all {
		work, all = m.visitIdle()
	}
	if all {
		m.lookedAt = m.now
	}
	return work
}

// glance looks at the subgroups that are not idle, and glances at some of the others. It may report that there is no
// work although there is.
func (m *machine) glance() bool {
	if m.roused || m.now-m.lookedAt >= thoroughEvery {
		return m.visit()
	}
	work, _ := m.visitBusy(false)
	n := min(glances, len(m.order))
	switch {
	case m.now-m.glancedAt >= glanceEvery: // also after a sleep
		m.glancedAt, n = m.now, len(m.order)
	case work:
		return true
	}
	for ; n > 0 && !m.dead(); n-- {
		if m.next++; m.next >= len(m.order) {
			m.next = 0
		}
		if g := m.order[m.next]; g.resting() && g.stirred() && g.look() {
			work = true
		}
	}
	return work
}

// visitBusy looks at the subgroups that are not idle, the control subgroup always; at the idle ones, too, if it is to
// look at all, or the control subgroup had work. It reports whether it has looked at all.
func (m *machine) visitBusy(all bool) (work, lookedAtAll bool) {
	lookedAtAll = true
	for _, g := range m.order { // the control subgroup is the first
		if g.resting() && !all {
			lookedAtAll = false
			continue
		}
		if g.look() {
			work = true
			all = all || g.id == 0
		}
		if m.dead() {
			return true, false
		}
	}
	return work, lookedAtAll
}

// visitIdle looks at the idle subgroups, and between them at the others, until there is work.
func (m *machine) visitIdle() (work, lookedAtAll bool) {
	for i, left := 0, idleAtOnce; i < len(m.order); i++ {
		if g := m.order[i]; g.resting() {
			work = g.look()
			left--
		}
		if left == 0 && !work {
			work, _ = m.visitBusy(false)
			left = idleAtOnce
		}
		if work || m.dead() {
			return true, false
		}
	}
	return false, true
}

// resting: the subgroup is left alone while others have work.
func (g *subgroup) resting() bool { return g.idle >= idleAfter && g.id != 0 }

// stirred: some sender has published or promised since the subgroup was looked at, or something else than that may be
// news there. Of an epoch that all members can read, in which nobody here waits and nothing is lent or logged, that is
// all that somebody could wait for.
func (g *subgroup) stirred() bool {
	if len(g.epochs) != 1 {
		return true
	}
	e := g.epochs[0]
	if !e.ready || !e.receiving || e.desc.Mode == Logged || e.waiting.Load() != 0 {
		return true
	}
	for rank, r := range e.recvs {
		if l := &e.lenders[rank]; r == nil || r.Stirred() || l.first < l.next {
			return true
		}
	}
	return false
}

// look makes a pass over the subgroup, and takes note of whether it has work.
func (g *subgroup) look() bool {
	if g.step() {
		g.idle = 0
		return true
	}
	g.idle = min(g.idle+1, idleAfter)
	return false
}
