package dcps

import (
	"math"

	"github.com/omg-dds-go/dds/topic"
)

// rekeying finds the instances of a history anew, if the handles have another form than those of this process: who saved the
// state may have another, assignable type. What can not be read is forgotten. There is no cut of it yet.
type rekeying struct {
	s      *store
	keys   *topic.Keys
	before []*storedInstance // that are still to be found
}

// rekey finds them all.
func (s *store) rekey(keys *topic.Keys) {
	if r := s.rekeying(keys); r != nil {
		r.some(math.MaxInt)
	}
}

// rekeying is rekey, which is still to be done; nil if the handles have the form already.
func (s *store) rekeying(keys *topic.Keys) *rekeying {
	if s.form == keys.Form() {
		return nil
	}
	r := &rekeying{s: s, keys: keys, before: s.all}
	s.form, s.all, s.instances = keys.Form(), nil, make(map[InstanceHandle]*storedInstance)
	return r
}

// some finds up to n instances, and gives how many more it could have found: that was all then.
func (r *rekeying) some(n int) (left int) {
	for ; n > 0 && len(r.before) > 0; n-- {
		in := r.before[0]
		r.before[0] = nil
		r.before = r.before[1:]
		r.find(in)
	}
	return n
}

func (r *rekeying) find(in *storedInstance) {
	s := r.s
	var h InstanceHandle
	latest, err := in.latest(), errState
	if latest != nil {
		h, err = r.keys.OfSample(latest.message.Payload)
	}
	if err != nil || s.instances[h] != nil {
		s.cleaning.remove(in)
		for _, l := range in.lines {
			s.recycle(l.all()...)
		}
		return
	}
	for _, l := range in.lines {
		for _, r := range l.all() {
			r.handle = h
		}
	}
	in.handle, in.at = h, len(s.all)
	s.instances[h] = in
	s.all = append(s.all, in)
}
