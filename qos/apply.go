package qos

// What a running program can take over from another QoS, for profiles that are read again (Provider.Watch) and for set_qos.

// takeChangeable gives the fields of changeable policies in to the values that from has, and lists what differs.
func takeChangeable(to, from policySet) []Change {
	all := changes(to, from)
	for _, def := range leafDefs {
		if def.get != nil && def.policy.Changeable() && def.has(to) {
			def.get(from).set(to)
		}
	}
	return all
}

// Apply gives q with every policy that may change at run time taken from next, and lists all that differs: what is
// Changeable is in the result, the rest needs a new entity. The result is to be given to set_qos, which validates it.
func (q DomainParticipant) Apply(next DomainParticipant) (DomainParticipant, []Change) {
	list := takeChangeable(q.policies(), next.policies())
	return q, list
}

// Apply: see DomainParticipant.Apply.
func (q Topic) Apply(next Topic) (Topic, []Change) {
	list := takeChangeable(q.policies(), next.policies())
	return q, list
}

// Apply: see DomainParticipant.Apply.
func (q Publisher) Apply(next Publisher) (Publisher, []Change) {
	list := takeChangeable(q.policies(), next.policies())
	return q, list
}

// Apply: see DomainParticipant.Apply.
func (q Subscriber) Apply(next Subscriber) (Subscriber, []Change) {
	list := takeChangeable(q.policies(), next.policies())
	return q, list
}

// Apply: see DomainParticipant.Apply.
func (q DataWriter) Apply(next DataWriter) (DataWriter, []Change) {
	list := takeChangeable(q.policies(), next.policies())
	return q, list
}

// Apply: see DomainParticipant.Apply.
func (q DataReader) Apply(next DataReader) (DataReader, []Change) {
	list := takeChangeable(q.policies(), next.policies())
	return q, list
}
