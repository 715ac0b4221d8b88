package cluster

// unlink ends the link between two processes, from the side of the first. Both live, and make another one.
func (r *run) unlink(p, q *process) {
	r.emit(Event{Kind: Fault_, Node: p.id, Text: "its link to " + q.id.String() + " ends"})
	p.f.DropLink(q.f)
}
