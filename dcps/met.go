package dcps

import (
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// A coherent set of GROUP scope, and the trailer of an ordered sample, name writers of other topics. All members are told of
// endpoints in one order, but each in its own time: only what an endpoint itself sends is never there before it. So a message may
// name a writer that this process has not been told of yet, and that has a part which readers here are to get: it waits for
// that writer to be introduced.
//
// It must not wait for one that nobody is to be told of any more, or that may not be told of for long: one that had ended before
// this process joined, or that its own process has joined again without. No message names one (writer.known), but for what is of
// the past, or sent again after an exclusion, which does not wait.

// introduced notes that the hub was told of an endpoint, also if it can make nothing of it.
func (h *hub) introduced(ep derecho.Endpoint) {
	m := h.member(ep.Node)
	m.met.add(ep.ID)
	h.reconsider(m)
}

// reconsider looks again at what waits for an endpoint of a member.
func (h *hub) reconsider(m *member) {
	if len(m.awaited) == 0 {
		return
	}
	for _, a := range m.awaited {
		h.touch(a)
	}
	m.awaited = nil
	h.flush()
}

// strange tells whether a writer that an entry names was not introduced here: it will be, unless its process has left.
func (s *stream) strange(e *waiting, id derecho.EndpointID) bool {
	return e.acquainted && !s.member.met.has(id)
}

// awaits tells whether an entry names a writer that is still to be introduced here.
func (s *stream) awaits(e *waiting, id derecho.EndpointID) bool {
	m := s.member
	if m.left || !s.strange(e, id) {
		return false
	}
	if !slices.Contains(m.awaited, s.a) {
		m.awaited = append(m.awaited, s.a)
	}
	return true
}

// idSet is a set of the IDs of a process's endpoints: ascending ranges that do not touch. IDs are given one after the other, so
// there are not many, however many endpoints come and go: one more for each ID that is never announced.
type idSet []idRange

type idRange struct{ first, last derecho.EndpointID }

// at is the range that has an ID, or else the place of one that would.
func (s idSet) at(id derecho.EndpointID) (int, bool) {
	return slices.BinarySearchFunc(s, id, func(r idRange, id derecho.EndpointID) int {
		switch {
		case r.last < id:
			return -1
		case r.first > id:
			return 1
		}
		return 0
	})
}

func (s idSet) has(id derecho.EndpointID) bool {
	_, ok := s.at(id)
	return ok
}

func (s *idSet) add(id derecho.EndpointID) {
	i, ok := s.at(id)
	if ok {
		return
	}
	all := slices.Insert(*s, i, idRange{id, id})
	if i+1 < len(all) && all[i+1].first == id+1 {
		all[i].last = all[i+1].last
		all = slices.Delete(all, i+1, i+2)
	}
	if i > 0 && all[i-1].last+1 == id {
		all[i-1].last = all[i].last
		all = slices.Delete(all, i, i+1)
	}
	*s = all
}
