package derecho

// Outlet is where one writer sends: a subgroup. It remembers what Node.Reserve looks up for each message. One
// goroutine uses it at a time.
type Outlet struct {
	n  *Node
	sg SubgroupID
	of *life     // the incarnation that g is of
	g  *subgroup // nil: not looked up yet
}

// Outlet is one to a subgroup.
func (n *Node) Outlet(sg SubgroupID) *Outlet { return &Outlet{n: n, sg: sg} }

// Node is the present incarnation of this process.
func (o *Outlet) Node() NodeID { return o.n.ID() }

// Try is Node.Reserve where nothing stands in the way. Otherwise it reports false, and Reserve waits or tells what does.
func (o *Outlet) Try(size int) (Slot, bool) {
	l := o.n.life.Load() // before the outage, as in sendingEpoch
	if o.n.outage.Load() != nil {
		return Slot{}, false
	}
	if o.of != l || o.g == nil {
		if !o.find(l) {
			return Slot{}, false
		}
	}
	e := o.g.sending.Load()
	if e == nil || e.held.Load() != 0 || e.turn != nil || len(e.desc.Waiting) > 0 || e.desc.Mode == Unordered {
		return Slot{}, false
	}
	r, err := e.sender.Reserve(size)
	return Slot{e, r}, err == nil
}

func (o *Outlet) find(l *life) bool {
	groups := l.groups.Load()
	if groups == nil {
		return false
	}
	o.of, o.g = l, (*groups)[o.sg]
	return o.g != nil
}
