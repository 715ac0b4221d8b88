package derecho

import (
	"cmp"
	"slices"

	"github.com/omg-dds-go/dds/internal/sequence"
)

// endpointList is a list of endpoints in the order of their announcement, in which each is found by its name.
type endpointList struct {
	all  sequence.Set[*Endpoint]
	byID map[endpointKey]*Endpoint
}

func newEndpointList() endpointList { return endpointList{byID: map[endpointKey]*Endpoint{}} }

// endpointKey names an endpoint in the group.
type endpointKey struct {
	node NodeID
	id   EndpointID
}

func (e *Endpoint) key() endpointKey { return endpointKey{e.Node, e.ID} }

// find returns nil if there is no such endpoint. What it returns may get another Info, and changes in nothing else.
func (l *endpointList) find(node NodeID, id EndpointID) *Endpoint {
	return l.byID[endpointKey{node, id}]
}

func (l *endpointList) insert(e *Endpoint) {
	l.all.Add(e)
	l.byID[e.key()] = e
}

func (l *endpointList) delete(e *Endpoint) {
	l.all.Remove(e)
	delete(l.byID, e.key())
}

func (l *endpointList) values() []Endpoint {
	list := make([]Endpoint, 0, l.all.Len())
	for e := range l.all.All() {
		list = append(list, *e)
	}
	return list
}

// roster holds the endpoints of the group. One that comes or goes concerns one channel, and the subgroups that it names: they are
// found without a look at the others, of which there may be thousands. All lists are in the order of announcement, which the
// members agree on, so what is derived from them is the same everywhere.
type roster struct {
	endpointList
	storing   map[SubgroupID][]*Endpoint  // those with a log that name a subgroup
	onChannel map[keptChannel][]*Endpoint // those of a channel that name a subgroup
	onLog     map[uint64][]*Endpoint      // those with a log; all of one node (catalogue.twin)
	// how often each log that was announced had been opened, also of those that are gone and may be named
	// (catalogue.logs)
	opened map[uint64]uint32
}

func newRoster() roster {
	return roster{
		endpointList: newEndpointList(), storing: map[SubgroupID][]*Endpoint{}, onChannel: map[keptChannel][]*Endpoint{},
		onLog:  map[uint64][]*Endpoint{},
		opened: map[uint64]uint32{},
	}
}

func (r *roster) insert(e *Endpoint) {
	r.endpointList.insert(e)
	if e.Log != nil {
		r.onLog[e.Log.ID] = append(r.onLog[e.Log.ID], e)
		r.opened[e.Log.ID] = max(r.opened[e.Log.ID], e.Log.Opened)
	}
	for _, sg := range e.subgroups() {
		k := keptChannel{sg.ID, e.Channel}
		if e.Log != nil {
			r.storing[sg.ID] = append(r.storing[sg.ID], e)
		}
		r.onChannel[k] = append(r.onChannel[k], e)
	}
}

func (r *roster) delete(e *Endpoint) {
	r.endpointList.delete(e)
	if e.Log != nil {
		removeFrom(r.onLog, e.Log.ID, e)
	}
	for _, sg := range e.subgroups() {
		if e.Log != nil {
			removeFrom(r.storing, sg.ID, e)
		}
		removeFrom(r.onChannel, keptChannel{sg.ID, e.Channel}, e)
	}
}

func removeFrom[K comparable](index map[K][]*Endpoint, k K, e *Endpoint) {
	if index[k] = remove(index[k], e); len(index[k]) == 0 {
		delete(index, k)
	}
}

func remove(list []*Endpoint, e *Endpoint) []*Endpoint {
	i := slices.Index(list, e)
	return slices.Delete(list, i, i+1)
}

// deleteNodes deletes the endpoints of nodes, and returns them.
func (r *roster) deleteNodes(gone func(NodeID) bool) (deleted []Endpoint) {
	for e := range r.all.All() {
		if gone(e.Node) {
			r.delete(e)
			deleted = append(deleted, *e)
		}
	}
	return deleted
}

// subgroups are those that the endpoint names, ascending, each once.
func (e *Endpoint) subgroups() []Subgroup {
	named := slices.Clone(e.Reads)
	if e.Writes.ID != 0 {
		named = append(named, e.Writes)
	}
	return eachOnce(named)
}

func eachOnce(named []Subgroup) []Subgroup {
	slices.SortFunc(named, func(a, b Subgroup) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(named, func(a, b Subgroup) bool { return a.ID == b.ID })
}
