package smc

// FlushEach is Flush without what Spindle gained by batching and by posting late, for experiments. With one, each
// message is published by itself; push is called after every publication, while the baton is held if held is true.
func (s *Sender) FlushEach(push func(), one, held bool) {
	for s.take() {
		changed := s.publish(nowhere, one)
		if changed && held {
			s.owed.Add(0) // between what publish has stored and what push loads, as no swap of the baton does here
			push()
		}
		more := !s.baton.CompareAndSwap(publishing, idle)
		if more {
			s.baton.Store(idle) // before it is taken anew, and done looked at
		}
		if changed && !held {
			push()
		}
		if !more && !(changed && one) { // with one there may be more behind it
			return
		}
	}
}
