package dcps

import (
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/qos"
)

// Access to what the readers of a Subscriber have, as a whole (DDS 1.4 §2.2.2.5.2.8 to 10).

// accessState is the Subscriber's part of it.
type accessState struct {
	mu     sync.Mutex // taken before the readers' locks
	depth  int
	frozen []*reader // that stand still until EndAccess
}

// BeginAccess begins an access to the samples of all readers of the Subscriber (DDS: begin_access). With PRESENTATION
// access_scope GROUP, and coherent_access or ordered_access, it is needed to read or take: from here to the matching EndAccess
// the readers show one state, in which every coherent set is either whole or not there. It may be nested. In the other scopes it
// has no effect.
//
// What comes meanwhile waits, and if it is much, so do its writers: keep the access short.
func (sub *Subscriber) BeginAccess() error {
	if sub.absent() {
		return missing("BeginAccess", "the subscriber", "NewSubscriber")
	}
	if err := sub.usable("BeginAccess"); err != nil {
		return err
	}
	s := &sub.accessing
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depth++
	if s.depth > 1 || sub.access == nil || !sub.access.group {
		return nil
	}
	s.frozen = slices.DeleteFunc(sub.list(), func(r *reader) bool { return !r.enabled.Load() })
	slices.SortFunc(s.frozen, func(a, b *reader) int { return int(a.id) - int(b.id) })
	for _, r := range s.frozen {
		r.mu.Lock()
		r.frozen = true
	}
	cut := sub.access.visible.Load() // what was posted up to it is in the inboxes by now
	for _, r := range s.frozen {
		r.drain()
		r.see(cut)
	}
	for _, r := range s.frozen {
		r.unlock()
	}
	return nil
}

// EndAccess ends an access (DDS: end_access). Without a BeginAccess before it fails with ErrPreconditionNotMet.
func (sub *Subscriber) EndAccess() error {
	const op = "EndAccess"
	if sub.absent() {
		return missing(op, "the subscriber", "NewSubscriber")
	}
	if err := sub.usable(op); err != nil {
		return err
	}
	s := &sub.accessing
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.depth == 0 {
		return &Error{Op: op, Entity: sub.what, Code: ErrPreconditionNotMet, Detail: "no access is under way: call BeginAccess first"}
	}
	if s.depth--; s.depth > 0 {
		return nil
	}
	for _, r := range s.frozen {
		r.lock()
		r.frozen = false
		r.see(r.thawed)
		r.unlock()
	}
	s.frozen = nil
	return nil
}

// inOrder lists a reader once for each of its entries that a selection finds, in the order over all readers in which they are
// to be read. An entry that tells of no message, such as that a writer was lost, has the place of the one before it.
func (sub *Subscriber) inOrder(readers []*reader, s *selection) []AnyDataReader {
	type entry struct {
		order uint64
		r     *reader
	}
	var all []entry
	for _, r := range readers {
		r.lock()
		r.catchUp()
		r.cache.flat()
		at := uint64(0)
		for it := r.cache.first; it != nil; it = it.after {
			at = max(at, it.order)
			if s.entry(it) && s.instance(it.inst) {
				all = append(all, entry{at, r})
			}
		}
		r.unlock()
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		switch {
		case a.order < b.order:
			return -1
		case a.order > b.order:
			return 1
		}
		return 0
	})
	out := make([]AnyDataReader, len(all))
	for i, e := range all {
		out[i] = e.r.typed
	}
	return out
}

// orderOf tells what a Subscriber's PRESENTATION makes of the order in which a reader gives samples; see reader.inOrder
// and oneByOne.
func orderOf(p qos.Presentation) (inOrder, oneByOne bool) {
	inOrder = p.OrderedAccess && p.AccessScope != qos.PresentationInstance
	return inOrder, inOrder && p.AccessScope == qos.PresentationGroup
}

// The reader's part.

// maxStaged is how many items wait for the end of an access before their writers do.
const maxStaged = 256

// stage takes what is to be seen from a cut on.
func (r *reader) stage(it *item) {
	r.staged = append(r.staged, it)
	if len(r.staged) > maxStaged && !r.sub.access.veiled.Load() {
		r.holdWriters(it.src.sg)
	}
}

// show lets in what may be seen now, or after the access that is under way.
func (r *reader) show(cut uint64) {
	if r.frozen {
		r.thawed = max(r.thawed, cut)
		return
	}
	r.see(cut)
}

func (r *reader) see(cut uint64) {
	n := 0
	for ; n < len(r.staged) && r.staged[n].link <= cut; n++ {
		it := r.staged[n]
		r.staged[n], it.link = nil, 0
		r.admit(it)
	}
	if n == 0 {
		return
	}
	if r.staged = append(r.staged[:0], r.staged[n:]...); len(r.staged) == 0 && n > maxStaged {
		r.staged = nil
	}
	if r.parkedHead == nil {
		r.letWriters()
	}
}

// deliverSet gives a set to the cache as a whole; false if it has to wait for room. One that would find none in an empty
// cache is rejected.
func (r *reader) deliverSet(it *item) bool {
	if o := r.cache.fits(it.members()); o.refused() {
		if r.cache.samples > 0 && r.waits(o) {
			return false
		}
		for _, member := range it.members() {
			if member.kind == itemData {
				r.reject(o, member.handle)
				member.kind = itemNothing
			}
		}
	}
	for _, member := range it.members() {
		if !r.deliver(member) { // it fits together with the others, so it does by itself
			r.reject(fullSamples, member.handle)
			r.release(member)
		}
	}
	it.set = nil
	return true
}

// accessible tells why samples can not be read now, if so: with GROUP access only between BeginAccess and EndAccess.
func (r *reader) accessible(op string) error {
	if a := r.sub.access; a == nil || !a.group || r.frozen {
		return nil
	}
	return &Error{Op: op, Entity: r.what, Code: ErrPreconditionNotMet,
		Detail: "PRESENTATION access_scope is GROUP: call Subscriber.BeginAccess first, and EndAccess when all readers are read"}
}
