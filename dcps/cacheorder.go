package dcps

import (
	"bytes"
	"slices"
)

// handleOrder lists the instances of a cache by handle, for reading one instance after the other (DDS:
// read_next_instance). It is made when somebody first does that, as most readers never do, and dropped when it has grown
// stale: a walk over n instances costs n steps and some sorting, not n times n.
type handleOrder struct {
	sorted []*instance // some may be forgotten by the cache
	fresh  []*instance // unsorted
	made   bool
}

// maxFresh is how many instances are searched one by one.
const maxFresh = 256

// add follows a new instance; known is how many the cache has.
func (o *handleOrder) add(in *instance, known int) {
	if !o.made {
		return
	}
	o.fresh = append(o.fresh, in)
	if len(o.sorted)+len(o.fresh) > 2*known+maxFresh {
		*o = handleOrder{} // mostly forgotten ones
	}
}

func compareInstances(a, b *instance) int { return bytes.Compare(a.handle[:], b.handle[:]) }

// prepare makes the lists fit for a search.
func (o *handleOrder) prepare(c *cache) {
	if !o.made {
		o.made = true
		o.sorted = make([]*instance, 0, len(c.instances))
		for _, in := range c.instances {
			o.sorted = append(o.sorted, in)
		}
	} else if len(o.fresh) <= maxFresh {
		return
	}
	o.sorted = slices.DeleteFunc(append(o.sorted, o.fresh...), func(in *instance) bool { return c.instances[in.handle] != in })
	o.fresh = o.fresh[:0]
	slices.SortFunc(o.sorted, compareInstances)
}

// next finds the instance with the smallest handle above that of the selection which has something to give to it; nil if
// there is none.
func (o *handleOrder) next(c *cache, s *selection) *instance {
	o.prepare(c)
	serves := func(in *instance) bool { return c.instances[in.handle] == in && s.instance(in) && in.gives(s) }
	var best *instance
	i, _ := slices.BinarySearchFunc(o.sorted, s.handle, func(in *instance, h InstanceHandle) int {
		if bytes.Compare(in.handle[:], h[:]) <= 0 {
			return -1
		}
		return 1
	})
	for ; i < len(o.sorted) && best == nil; i++ {
		if serves(o.sorted[i]) {
			best = o.sorted[i]
		}
	}
	for _, in := range o.fresh {
		if bytes.Compare(in.handle[:], s.handle[:]) > 0 && (best == nil || compareInstances(in, best) < 0) && serves(in) {
			best = in
		}
	}
	return best
}
