package dcps

import (
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// Coherent sets in a history: what is in one counts when it has ended, and is on top of what it will replace until then.

// followSet has a set be over whose end was lost, as readers do (stream.endless): what comes is of the next one, or of none.
// The first message that comes of a writer may be in the midst of a set: its process was excluded, and what it had sent
// before is lost.
func (s *store) followSet(w *storedWriter, m *derecho.Message, first bool) {
	switch m.Kind {
	case kindData, kindDispose, kindUnregister:
	default:
		return
	}
	inSet, begins := m.Flags&flagInSet != 0, m.Flags&flagSetBegin != 0
	if !inSet || begins {
		s.dropOpen(w)
		w.torn = false
	} else if first {
		w.torn = true
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
			r.open = false
			s.watch(r)
		}
	}
	s.settleSet(w)
	w.open = nil
}

// settleSet has the samples of a set that has ended replace those before them.
func (s *store) settleSet(w *storedWriter) {
	for _, r := range w.open {
		in := s.instances[r.handle]
		if in == nil || r.w != w {
			continue // disposed, or by now the record of another sample
		}
		for _, l := range in.lines {
			for l.w == w && len(l.records) > w.keeps() {
				s.dropOldest(l, false)
			}
		}
		s.trim(in)
	}
}

// dropOpen removes what a writer has in a set that can not end any more.
func (s *store) dropOpen(w *storedWriter) {
	if w.open == nil {
		return
	}
	w.open = nil
	for h, in := range s.instances {
		for _, l := range in.lines {
			if l.w == w {
				before := len(l.records)
				l.records = slices.DeleteFunc(l.records, func(r *record) bool { return r.open })
				s.count -= before - len(l.records)
			}
		}
		s.removeLines(h, in, func(l *storedLine) bool { return len(l.records) == 0 })
	}
}
