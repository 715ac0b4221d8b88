package qos

// What a running program can take over from another QoS, for profiles that are read again (Provider.Watch) and for set_qos.

// follow gives q the values that next has of the fields in which from and next differ, as far as their policies may change. It
// lists what has changed by that, and what of the other policies would have to.
func follow(q, from, next policySet) []Change {
	before := q.texts()
	for _, def := range leafDefs {
		if def.get == nil || !def.policy.Changeable() || !def.has(q) {
			continue
		}
		if v := def.get(next); v.text != def.get(from).text {
			v.set(q)
		}
	}
	var out []Change
	after, was, is := q.texts(), from.texts(), next.texts()
	for i, p := range before {
		to := after[i].text
		if !p.id.Changeable() && was[i].text != is[i].text {
			to = is[i].text
		}
		if p.text != to {
			out = append(out, Change{p.id, p.text, to})
		}
	}
	return out
}

// Apply gives q with every policy that may change at run time taken from next, and lists all that differs: what is
// Changeable is in the result, the rest needs a new entity. The result is to be given to set_qos, which validates it.
func (q DomainParticipant) Apply(next DomainParticipant) (DomainParticipant, []Change) {
	return q.Follow(q, next)
}

// Apply: see DomainParticipant.Apply.
func (q Topic) Apply(next Topic) (Topic, []Change) { return q.Follow(q, next) }

// Apply: see DomainParticipant.Apply.
func (q Publisher) Apply(next Publisher) (Publisher, []Change) { return q.Follow(q, next) }

// Apply: see DomainParticipant.Apply.
func (q Subscriber) Apply(next Subscriber) (Subscriber, []Change) { return q.Follow(q, next) }

// Apply: see DomainParticipant.Apply.
func (q DataWriter) Apply(next DataWriter) (DataWriter, []Change) { return q.Follow(q, next) }

// Apply: see DomainParticipant.Apply.
func (q DataReader) Apply(next DataReader) (DataReader, []Change) { return q.Follow(q, next) }

// Follow gives q with every policy that may change at run time taken from next as far as it differs from that of from: what q has
// besides that stays. It lists what changes, and of the policies that need a new entity those that differ.
func (q DomainParticipant) Follow(from, next DomainParticipant) (DomainParticipant, []Change) {
	list := follow(q.policies(), from.policies(), next.policies())
	return q, list
}

// Follow: see DomainParticipant.Follow.
func (q Topic) Follow(from, next Topic) (Topic, []Change) {
	list := follow(q.policies(), from.policies(), next.policies())
	return q, list
}

// Follow: see DomainParticipant.Follow.
func (q Publisher) Follow(from, next Publisher) (Publisher, []Change) {
	list := follow(q.policies(), from.policies(), next.policies())
	return q, list
}

// Follow: see DomainParticipant.Follow.
func (q Subscriber) Follow(from, next Subscriber) (Subscriber, []Change) {
	list := follow(q.policies(), from.policies(), next.policies())
	return q, list
}

// Follow: see DomainParticipant.Follow.
func (q DataWriter) Follow(from, next DataWriter) (DataWriter, []Change) {
	list := follow(q.policies(), from.policies(), next.policies())
	return q, list
}

// Follow: see DomainParticipant.Follow.
func (q DataReader) Follow(from, next DataReader) (DataReader, []Change) {
	list := follow(q.policies(), from.policies(), next.policies())
	return q, list
}
