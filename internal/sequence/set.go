// Package sequence has sets that remember the order in which they were filled.
package sequence

import "iter"

// Set holds each element once, in the order in which they were added. To add or remove one costs the same however many
// there are, over time: a place that is left stays empty until half of the places are. The zero value is empty; that of
// E is no element. It is not for several goroutines at once.
type Set[E comparable] struct {
	at     map[E]int // where in places
	places []E       // the zero value where nothing is any more
}

// Len is the number of elements.
func (s *Set[E]) Len() int { return len(s.at) }

// Has tells whether an element is there.
func (s *Set[E]) Has(e E) bool {
	_, there := s.at[e]
	return there
}

// Add puts an element behind the others, unless it is there.
func (s *Set[E]) Add(e E) {
	if s.Has(e) {
		return
	}
	if s.at == nil {
		s.at = make(map[E]int)
	}
	s.at[e] = len(s.places)
	s.places = append(s.places, e)
}

// Remove takes an element out, and tells whether it was there.
func (s *Set[E]) Remove(e E) bool {
	i, there := s.at[e]
	if !there {
		return false
	}
	delete(s.at, e)
	var none E
	s.places[i] = none
	if len(s.places) < 8 || 2*len(s.at) > len(s.places) {
		return true
	}
	left := make([]E, 0, len(s.at)+len(s.at)/2) // another array: who goes through the set goes on with that before
	for e := range s.All() {
		left = append(left, e)
	}
	for i, e := range left {
		s.at[e] = i
	}
	s.places = left
	return true
}

// All goes through the elements, which may be removed meanwhile: those are not seen any more, nor are those that are added.
func (s *Set[E]) All() iter.Seq[E] {
	return func(yield func(E) bool) {
		for _, e := range s.places {
			if s.Has(e) && !yield(e) {
				return
			}
		}
	}
}
