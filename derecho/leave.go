package derecho

import (
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// departure is how far a node has come in leaving.
type departure struct {
	leaveOnEntry   bool // whoever waited for this node to join has given up; it leaves as soon as it can
	announcedLeave bool // the leave command was submitted
	departed       bool // it was executed here
}

// leave begins to leave: first the endpoints go.
func (m *machine) leave() {
	for _, id := range slices.Sorted(maps.Keys(m.own)) {
		if !m.own[id].removing {
			m.removeEndpoint(id, func(error) {})
		}
	}
	switch m.phase {
	case alone:
		m.phase = left
		m.shell.hasLeft()
		return
	case joining: // it was announced: to go now would look like a death to the others
		m.leaveOnEntry = true
		return
	case joined:
	default:
		return
	}
	m.phase = leaving
	m.broadcastStatus()
}

// tryLeave goes on with leaving as far as it can: the epochs of the data subgroups must be released
// before the leave is announced, and those of the control subgroup before the node is gone.
func (m *machine) tryLeave() bool {
	if m.phase != leaving || len(m.own) > 0 || m.encoding > 0 || m.owesStates() {
		return false
	}
	for _, g := range m.order {
		if g.id != 0 && len(g.epochs) > 0 {
			return false
		}
	}
	if !slices.Contains(m.change.leaves, m.id) && !m.announcedLeave {
		// Who has left can not fail: nobody would ask for its states anew if it died with the last piece under way.
		// They are told to have come when they are on disk, or the disk of who gets them is given up; who fails or
		// withdraws gets none.
		if m.cat.owes(m.id) && !mutant.Is("leaver-owes") {
			return false
		}
		m.announcedLeave = true
		m.submit([]byte{cmdLeave})
		return true
	}
	for _, e := range m.groups[0].epochs {
		if m.departed { // who is silent now is removed by the others, and this node will not hear of it
			e.forget(func(i int) bool { return e.agree.watches[i].accused != 0 })
		}
	}
	if len(m.groups[0].epochs) > 0 && !mutant.Is("leave-early") {
		return false
	}
	m.phase = left
	m.shell.hasLeft()
	return true
}
