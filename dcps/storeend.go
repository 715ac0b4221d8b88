package dcps

import (
	"math"
	"slices"

	"github.com/omg-dds-go/dds/qos"
)

// writerEnd is the end of a writer, which a store follows in each instance. There may be millions: who takes over a history,
// which nothing else looks at meanwhile, does so little by little.
type writerEnd struct {
	s       *store
	w       *storedWriter
	departs bool // first it unregisters all that it has
	dispose bool // and disposes it
	ns      int64
	next    int // the instances of store.all from here on are done
}

// end follows the end of a writer; false if that is known, or nothing is kept of it.
func (s *store) end(key endpointKey) bool {
	e := s.ending(key)
	e.all()
	return e != nil
}

// ending is end, which is still to be followed; nil if there is nothing to follow.
func (s *store) ending(key endpointKey) *writerEnd {
	w := s.writers[key]
	if w == nil || w.gone {
		return nil
	}
	e := &writerEnd{s: s, w: w}
	e.begin()
	return e
}

// depart is the end of a writer that unregisters all it has, which is still to be followed.
func (s *store) depart(w *storedWriter, dispose bool, ns int64) *writerEnd {
	return &writerEnd{s: s, w: w, departs: true, dispose: dispose, ns: ns, next: len(s.all)}
}

func (e *writerEnd) begin() {
	e.s.ends++
	e.w.gone = true
	e.s.dropOpen(e.w)
	e.next = len(e.s.all)
}

// all follows it in all instances; none is over already.
func (e *writerEnd) all() {
	if e != nil {
		e.some(math.MaxInt)
	}
}

// some follows it in up to n instances, and gives how many more it could have done: it has ended then.
func (e *writerEnd) some(n int) (left int) {
	s := e.s
	for ; n > 0; n-- {
		e.next = min(e.next, len(s.all))
		switch {
		case e.next > 0:
			e.next--
			e.follow(s.all[e.next])
		case !e.departs:
			for key, w := range s.writers {
				if w.gone && w.used != s.ends {
					delete(s.writers, key)
				}
			}
			return n
		case e.w.gone:
			return n
		default:
			e.departs = false
			e.begin()
		}
	}
	return 0
}

func (e *writerEnd) follow(in *storedInstance) {
	s, w := e.s, e.w
	switch {
	case e.departs:
		if !slices.ContainsFunc(in.lines, func(l *storedLine) bool { return l.w == w }) {
			return
		}
		if e.dispose {
			s.dispose(w, in, e.ns, false)
		}
		if s.has(in) { // else it is forgotten by that
			s.unregister(w, in)
		}
		return
	case w.ann.writer.Durability.Kind == qos.DurabilityTransientLocal:
		s.removeLines(in, func(l *storedLine) bool { return l.w == w })
	default:
		s.trim(in)
		s.settle(in)
	}
	if !s.has(in) {
		return
	}
	for _, l := range in.lines {
		l.w.used = s.ends
	}
	if in.disposed != nil {
		in.disposed.w.used = s.ends
	}
}
