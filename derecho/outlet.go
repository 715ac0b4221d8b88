package derecho

import (
	"sync"
	"sync/atomic"
)

// Outlet is where a writer sends: a subgroup. What Node.Reserve looks up for each message is remembered.
type Outlet struct {
	n  *Node
	sg SubgroupID
	at *atomic.Pointer[place] // of the subgroup: all its outlets have one
}

// place is what was looked up: the subgroup of an incarnation.
type place struct {
	of *life
	g  *subgroup
}

// outlets are the places of a node. It forgets them when another incarnation takes the place of one that is over: a
// writer that does not write would keep all that was mapped for that one.
type outlets struct {
	mu sync.Mutex
	at map[SubgroupID]*atomic.Pointer[place]
}

func (o *outlets) of(sg SubgroupID) *atomic.Pointer[place] {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == nil {
		o.at = map[SubgroupID]*atomic.Pointer[place]{}
	}
	if o.at[sg] == nil {
		o.at[sg] = new(atomic.Pointer[place])
	}
	return o.at[sg]
}

// forget comes after the incarnation that takes over was stored in Node.life (see find).
func (o *outlets) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, at := range o.at {
		at.Store(nil)
	}
}

// Outlet is one to a subgroup.
func (n *Node) Outlet(sg SubgroupID) *Outlet { return &Outlet{n: n, sg: sg, at: n.outlets.of(sg)} }

// Node is the present incarnation of this process.
func (o *Outlet) Node() NodeID { return o.n.ID() }

// Try is Node.Reserve where nothing stands in the way. Otherwise it reports false, and Reserve waits or tells what does.
func (o *Outlet) Try(size int) (Slot, bool) {
	l := o.n.life.Load() // before the outage, as in sendingEpoch
	if o.n.outage.Load() != nil {
		return Slot{}, false
	}
	p := o.at.Load()
	if p == nil || p.of != l {
		if p = o.find(l); p == nil {
			return Slot{}, false
		}
	}
	e := p.g.sending.Load()
	if e == nil || e.held.Load() != 0 || e.writersMu != nil || len(e.desc.Waiting) > 0 || e.desc.Mode == Unordered {
		return Slot{}, false
	}
	r, err := e.sender.Reserve(size)
	return Slot{e, r}, err == nil
}

// find remembers the place in an incarnation; nil if there is none. If that was over before, and the places were
// forgotten before it was stored, it is seen here that another has taken over: whoever forgets stores that first.
func (o *Outlet) find(l *life) *place {
	groups := l.groups.Load()
	if groups == nil {
		return nil
	}
	g := (*groups)[o.sg]
	if g == nil {
		return nil
	}
	p := &place{l, g}
	o.at.Store(p)
	if o.n.life.Load() != l {
		o.at.CompareAndSwap(p, nil)
	}
	return p
}
