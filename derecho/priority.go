package derecho

import (
	"cmp"
	"slices"
)

// Prioritizer is a Handler that says which subgroups matter more than others. A pass looks at these first, and the
// network may be told of it. It is a hint, and each node's own business: what is delivered, and in which order within a
// subgroup, does not depend on it.
type Prioritizer interface {
	// Priority of a subgroup; greater is more urgent, 0 is nothing special. It is asked for behind each upcall about an
	// endpoint that writes to the subgroup, and may change then.
	Priority(sg SubgroupID) int32
}

// marker is a fabric that can mark its packets for the network. Others have no use for it.
type marker interface {
	// Mark sets the DSCP, 0 to 63, of all that is sent from now on. It does not block.
	Mark(dscp int)
}

// prioritize asks for the priority of a subgroup, and follows it.
func (m *machine) prioritize(sg SubgroupID) {
	p, ok := m.h.(Prioritizer)
	if !ok || sg == 0 {
		return
	}
	priority := p.Priority(sg)
	if priority == m.priorities[sg] {
		return
	}
	if m.priorities == nil {
		m.priorities = make(map[SubgroupID]int32)
	}
	if m.priorities[sg] = priority; priority == 0 {
		delete(m.priorities, sg)
	}
	m.arrange()
	m.mark()
}

// arrange puts the subgroups into the order in which a pass looks at them: the control subgroup, the others by
// priority, and of the same priority as they were. The list may be in use further up the stack, so it is replaced.
func (m *machine) arrange() {
	if len(m.order) == 0 {
		return
	}
	order := slices.Clone(m.order)
	slices.SortStableFunc(order[1:], func(a, b *subgroup) int { return cmp.Compare(m.priorities[b.id], m.priorities[a.id]) })
	m.order = order
}

// mark tells the network of the highest priority in use. A connection carries all subgroups: their messages, and the
// acknowledgements that those of others wait for. So there is one mark for all that this node sends.
func (m *machine) mark() {
	f, ok := m.fabric.(marker)
	if !ok {
		return
	}
	var highest int32
	for _, p := range m.priorities {
		highest = max(highest, p)
	}
	if dscp := min(int(highest), maxDSCP); dscp != m.marked {
		m.marked = dscp
		f.Mark(dscp)
	}
}

// maxDSCP is the largest code point of differentiated services (RFC 2474).
const maxDSCP = 63
