package smc

// FlushEach is Flush without what Spindle gained by batching and by posting late, for experiments. With one, each
// message is published by itself; push is called after every publication, while the baton is held if held is true.
func (s *Sender) FlushEach(push func(), one, held bool) {
	s.pending.Store(1)
	for s.pending.Load() != 0 && s.baton.CompareAndSwap(0, 1) {
		s.pending.Store(0)
		changed := s.publish(one)
		if changed && one {
			s.pending.Store(1) // before the baton is given back: there may be more behind it
		}
		if changed && held {
			push()
		}
		s.baton.Store(0)
		if changed && !held {
			push()
		}
	}
}
