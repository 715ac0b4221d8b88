package dcps

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
)

// registry finds the writers, or readers, of a participant by their endpoint. The polling goroutine looks them up and
// goes through them without a lock that others hold while they work; one that comes or goes costs the same however many
// there are.
type registry[E any] struct{ byID sync.Map } // derecho.EndpointID -> E

func (r *registry[E]) add(id derecho.EndpointID, e E) { r.byID.Store(id, e) }

func (r *registry[E]) remove(id derecho.EndpointID) { r.byID.Delete(id) }

// find gives the zero value for an endpoint that is not there.
func (r *registry[E]) find(id derecho.EndpointID) E {
	e, _ := r.byID.Load(id)
	found, _ := e.(E)
	return found
}

// all goes through those that are there all the while, and perhaps some that come or go meanwhile, in no order.
func (r *registry[E]) all() iter.Seq[E] {
	return func(yield func(E) bool) {
		r.byID.Range(func(_, e any) bool { return yield(e.(E)) })
	}
}

// entityList holds the entities of a participant in the order in which they came. Who goes through it takes no lock;
// who adds or removes one holds the participant's, and pays the same however many there are: a place that is left stays
// empty until half of the places are.
type entityList struct {
	places atomic.Pointer[[]*listing]
	empty  int // places; guarded by the participant's lock
}

// listing is where an entity is in an entityList; nil in it once it has left, so that the list keeps no entity alive.
type listing = atomic.Pointer[entity]

// add: the array that the lists before share is written behind their ends only.
func (l *entityList) add(e *entity) {
	at := new(listing)
	at.Store(e)
	e.listed = at
	var places []*listing
	if now := l.places.Load(); now != nil {
		places = *now
	}
	places = append(places, at)
	l.places.Store(&places)
}

// remove does nothing for an entity that is not in the list.
func (l *entityList) remove(e *entity) {
	if e.listed == nil {
		return
	}
	e.listed.Store(nil)
	e.listed = nil
	places := *l.places.Load()
	if l.empty++; 2*l.empty < len(places) {
		return
	}
	var left []*listing
	for _, at := range places {
		if at.Load() != nil {
			left = append(left, at)
		}
	}
	l.places.Store(&left)
	l.empty = 0
}

// all goes through those that were in the list when it began and are still.
func (l *entityList) all() iter.Seq[*entity] {
	return func(yield func(*entity) bool) {
		places := l.places.Load()
		if places == nil {
			return
		}
		for _, at := range *places {
			if e := at.Load(); e != nil && !yield(e) {
				return
			}
		}
	}
}
