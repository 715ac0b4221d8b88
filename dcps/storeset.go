package dcps

import "github.com/omg-dds-go/dds/derecho"

// Coherent sets in a history: what is in one counts when it has ended, and is on top of what it will replace until then. Who is
// given the history in the midst of a set gets what there is of it, too, and shows it with what comes of it later (hub.giveOpen).

// storedSet is the coherent set that a writer has open: the numbers of its first message and of the latest. Those in between for
// which no record is open have nothing that is kept.
type storedSet struct {
	first, last uint64 // 0 for none, or for one whose beginning was lost
}

// followSet has a set be over whose end was lost, as readers do (stream.endless): what comes is of the next one, or of none.
// The first message that comes of a writer may be in the midst of a set: its process was excluded, and what it had sent
// before is lost.
func (s *store) followSet(w *storedWriter, m *derecho.Message, first bool) {
	inSet, begins := m.Flags&flagInSet != 0, m.Flags&flagSetBegin != 0
	switch m.Kind {
	case kindData, kindDispose, kindUnregister:
	default:
		if !inSet {
			return // it is no part of what a writer sends in or out of sets, or may be
		}
	}
	switch {
	case !inSet:
		s.dropOpen(w)
		w.torn = false
	case begins:
		s.dropOpen(w)
		w.torn, w.set.first = false, m.WriterSeq
	case first:
		w.torn = true
	}
	if w.set.first != 0 {
		w.set.last = m.WriterSeq
	}
}

// endSet follows the end of a set, of which the writer's part may be lost.
func (s *store) endSet(w *storedWriter, lost bool) {
	w.torn = false
	if lost {
		s.dropOpen(w)
		return
	}
	for _, r := range w.open {
		if r.w == w {
			if in := s.instances[r.handle]; in != nil {
				s.touch(in)
			}
			r.open = false
			s.watch(r)
		}
	}
	s.settleSet(w)
	w.open, w.set = nil, storedSet{}
}

// settleSet has the samples of a set that has ended replace those before them. Their instances were touched when it ended.
func (s *store) settleSet(w *storedWriter) {
	for _, r := range w.open {
		in := s.instances[r.handle]
		if in == nil || r.w != w {
			continue // disposed, or by now the record of another sample
		}
		for _, l := range in.lines {
			for l.w == w && l.len() > w.keeps() {
				s.dropOldest(l, false)
			}
		}
		s.trim(in)
	}
}

// dropOpen removes what a writer has in a set that can not end any more.
func (s *store) dropOpen(w *storedWriter) {
	w.set = storedSet{}
	if w.open == nil {
		return
	}
	w.open = nil
	for in := range s.each() {
		for _, l := range in.lines {
			if l.w == w {
				s.touch(in)
				l.removeAll(func(r *record) bool {
					if r.open {
						s.count--
						s.size -= r.size()
					}
					return r.open
				})
			}
		}
		s.removeLines(in, func(l *storedLine) bool { return l.len() == 0 })
	}
}
