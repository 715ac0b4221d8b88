package dcps

import "bytes"

// DESTINATION_ORDER BY_SOURCE_TIMESTAMP in a reader cache (§2.2.3.17). All readers that have got the same samples end with
// the same value of an instance, in whatever order they came:
//
//   - Samples lie in the order of their source timestamps; of equal ones that of the smaller writer's handle comes first,
//     and those of one writer lie as they came. KEEP_LAST keeps those with the latest timestamps.
//   - A sample that is older than one that was read or taken is dropped, so that nobody sees time go back. So is one that is
//     older than the instance's latest disposal.
//   - A disposal that is older than the latest sample is dropped.

// stamp is a place in the order of source timestamps.
type stamp struct {
	ns     int64
	writer InstanceHandle
}

func stampOf(it *item) stamp { return stamp{it.sourceNs, it.src.handle} }

func (s stamp) before(o stamp) bool {
	if s.ns != o.ns {
		return s.ns < o.ns
	}
	return bytes.Compare(s.writer[:], o.writer[:]) < 0
}

// stamps is what an instance remembers of the order.
type stamps struct {
	latest   stamp // of what was accepted, disposals included
	floor    stamp // what is before this is too late
	hasFloor bool
}

func (in *instance) stamped(it *item) {
	s := stampOf(it)
	if in.stamps == nil {
		in.stamps = &stamps{latest: s}
	} else if in.stamps.latest.before(s) {
		in.stamps.latest = s
	}
}

// raise says that nothing from before it is let in any more.
func (in *instance) raise(it *item) {
	if s := stampOf(it); !in.stamps.hasFloor || in.stamps.floor.before(s) {
		in.stamps.floor, in.stamps.hasFloor = s, true
	}
}

// shown follows an entry that is handed out.
func (in *instance) shown(it *item) {
	if it.valid {
		in.raise(it)
	}
}

// outdated tells whether a sample came too late.
func (c *cache) outdated(in *instance, it *item) bool {
	s := stampOf(it)
	if in.stamps.hasFloor && s.before(in.stamps.floor) {
		return true
	}
	if in.held != nil && s.before(stampOf(in.held)) {
		return true
	}
	return !c.keepAll && in.samples >= c.depth && s.before(stampOf(in.oldestSample()))
}

// disposable tells whether a disposal is not older than what the instance has.
func (in *instance) disposable(by *item) bool {
	s := stampOf(by)
	return !s.before(in.stamps.latest) && (in.held == nil || !s.before(stampOf(in.held)))
}

// placeOf finds behind which entries one belongs, of all and of its instance. Those with data ascend; a report stays where
// it was when it came.
func (c *cache) placeOf(in *instance, it *item) (before, earlier *item) {
	before, earlier = c.last, in.newest
	if !it.valid {
		return before, earlier
	}
	s := stampOf(it)
	for o := c.last; o != nil && (!o.valid || s.before(stampOf(o))); o = o.before {
		if o.valid {
			before = o.before
		}
	}
	for o := in.newest; o != nil && (!o.valid || s.before(stampOf(o))); o = o.earlier {
		if o.valid {
			earlier = o.earlier
		}
	}
	return before, earlier
}
