package derecho

import (
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// Between the command that changes the members of a subgroup and the moment when all of them can read each other's
// rows, a sender goes on in the epoch that it is in (subgroup.mayPrepare). What it writes until then does not reach
// those who are new. So the layer above is told of new endpoints when it does: whoever knows of a reader, and writes,
// reaches it.
//
// Endpoints are told of in the order of their announcement, at every member: one that has to wait makes those behind it
// wait, but for writers whose messages are about to come (meet).

// unshown is an endpoint that the layer above does not know yet.
type unshown struct {
	Endpoint
	awaits []reach
	gone   bool // it was withdrawn meanwhile
}

// reach is the epoch of a subgroup from which on what this node writes arrives.
type reach struct {
	g     *subgroup
	epoch uint32
}

// introduce tells the layer above of an endpoint, as soon as what this node writes reaches it.
func (m *machine) introduce(ep Endpoint) {
	u := unshown{Endpoint: ep}
	for _, sg := range ep.subgroups() {
		if g := m.groups[sg.ID]; g != nil && !g.reached(g.newest.Epoch) {
			u.awaits = append(u.awaits, reach{g, g.newest.Epoch})
		}
	}
	m.unshown = append(m.unshown, u)
	m.showReached()
}

// reachedBy tells when what any member writes from then on reaches an endpoint of this node: whoever has announced a reader, and
// asks for something then, by whatever way, gets the answer.
func (m *machine) reachedBy(ep Endpoint) func() bool {
	var begins []*epoch
	for _, sg := range ep.Reads {
		if g := m.groups[sg.ID]; g != nil && len(g.epochs) > 0 {
			if e := g.epochs[len(g.epochs)-1]; !e.superseded() && e.receiving {
				begins = append(begins, e)
			}
		}
	}
	return func() bool {
		return mutant.Is("answer-early") || !slices.ContainsFunc(begins, func(e *epoch) bool { return !e.sentByAll() })
	}
}

// showReached tells the layer above of the endpoints that have waited for long enough.
func (m *machine) showReached() bool {
	shown := false
	for len(m.unshown) > 0 && m.unshown[0].reached() {
		u := m.unshown[0]
		m.unshown = m.unshown[1:]
		m.showEndpoint(u.Endpoint)
		if u.gone {
			m.hideEndpoint(u.Endpoint)
		}
		shown = true
	}
	return shown
}

func (u *unshown) reached() bool {
	return mutant.Is("show-unreached") || !slices.ContainsFunc(u.awaits, func(r reach) bool { return !r.g.reached(r.epoch) })
}

// unshownOf is an endpoint that the layer above is not told of yet, nil if it is. One that was withdrawn before is
// another, though it has the same ID.
func (m *machine) unshownOf(ep Endpoint) *unshown {
	if i := slices.IndexFunc(m.unshown, func(u unshown) bool { return u.key() == ep.key() && !u.gone }); i >= 0 {
		return &m.unshown[i]
	}
	return nil
}

// meet tells the layer above of those who write in an epoch, before it is handed anything of that. What this node sends
// there it sends in this epoch already; but they may be behind endpoints that wait for another subgroup.
func (m *machine) meet(e *epoch) {
	if mutant.Is("meet-late") {
		return
	}
	m.showReached()
	if slices.ContainsFunc(m.unshown, func(u unshown) bool { return u.Writes.ID == e.g.id && e.desc.writes(u.Node, u.ID) }) {
		m.catchUp()
	}
}

// writes: an endpoint is a writer in the epoch.
func (d *descriptor) writes(node NodeID, id EndpointID) bool {
	i := d.member(node)
	return i >= 0 && d.Members[i].Writers.has(id)
}

// catchUp has this node send in the newest epoch of each subgroup at once, and tells the layer above of all endpoints
// that there are. It is done before anything that is not to wait, and that has its place behind them: what this node
// itself begins or ends to do, and changes of the view.
func (m *machine) catchUp() {
	for _, g := range m.order {
		g.catchUp()
	}
	m.showReached()
}

// concerned: a node sends or receives something else in an epoch than in the one before, or there is a state for it.
func (d *descriptor) concerned(node NodeID, before *descriptor) bool {
	if before == nil {
		return d.member(node) >= 0
	}
	was, is := before.member(node), d.member(node)
	switch {
	case was < 0 && is < 0:
		return false
	case was < 0 || is < 0 || !before.Members[was].same(&d.Members[is]) || !slices.Equal(before.Waiting, d.Waiting):
		return true
	}
	return d.keepsFresh(node) || slices.ContainsFunc(d.Transfers, func(t transfer) bool { return t.To == node })
}

// installHere begins epochs; at once, if they are about this node itself.
func (m *machine) installHere(next []*descriptor, own bool) error {
	own = own || m.concerned(next)
	err := m.install(next)
	m.forgetStates()
	if own && err == nil {
		m.catchUp()
	}
	return err
}

// concerned: one of these epochs brings something that this node has to do in it.
func (m *machine) concerned(next []*descriptor) bool {
	return slices.ContainsFunc(next, func(d *descriptor) bool {
		var before *descriptor
		if g := m.groups[d.Subgroup]; g != nil {
			before = g.newest
		}
		return d.concerned(m.id, before)
	})
}
