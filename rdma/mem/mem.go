// Package mem is a fabric inside one process, on ordinary heap memory: what a peer opens is the
// owner's region itself. It runs the code of all layers above under the race detector, which does
// not watch memory that is shared between processes.
//
// Events of a network come one at a time, in the order of what caused them. Whoever causes one
// delivers it, unless another goroutine is delivering; then that one does.
package mem

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omg-dds-go/dds/rdma"
)

// Network connects the fabrics that are attached to it.
type Network struct {
	mu         sync.Mutex
	nodes      []*Fabric
	events     []func() // not delivered yet, in order
	delivering bool     // a goroutine is at it
}

// Fabric implements rdma.Fabric.
type Fabric struct {
	net    *Network
	died   bool
	self   rdma.PeerInfo
	bell   *rdma.Bell
	word   atomic.Uint32 // of the fence
	fence  *rdma.Fence
	events rdma.Events

	// Guarded by net.mu:
	links   map[uint64]*link
	regions map[rdma.Key]*rdma.Region
	wanted  map[rdma.Key][]*link
}

// link is one direction: what its owner does to peer.
type link struct {
	owner, peer *Fabric
	opening     map[rdma.Key]rdma.Shape // asked for, not answered; guarded by net.mu
}

// Attach adds a node.
func (n *Network) Attach(self rdma.PeerInfo, bell *rdma.Bell, events rdma.Events) *Fabric {
	self.ShmDomain = 1
	f := &Fabric{
		net: n, self: self, bell: bell, events: events,
		links: map[uint64]*link{}, regions: map[rdma.Key]*rdma.Region{}, wanted: map[rdma.Key][]*link{},
	}
	f.fence = rdma.NewFence(&f.word)
	return f
}

// do changes the network under its lock, then delivers what the change has caused.
func (n *Network) do(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	if n.delivering {
		return
	}
	n.delivering = true
	for len(n.events) > 0 {
		event := n.events[0]
		n.events = n.events[1:]
		n.mu.Unlock()
		event()
		n.mu.Lock()
	}
	n.delivering = false
}

// later queues an event. The caller holds mu.
func (n *Network) later(event func()) { n.events = append(n.events, event) }

// Self is what this node tells of itself.
func (f *Fabric) Self() rdma.PeerInfo { return f.self }

// Start links the node to all that were started before.
func (f *Fabric) Start() {
	n := f.net
	n.do(func() {
		for _, p := range n.nodes {
			if p.self.Fingerprint != f.self.Fingerprint {
				n.later(func() { f.events.Refused(p.self, mismatch(f, p)) })
				n.later(func() { p.events.Refused(f.self, mismatch(p, f)) })
				continue
			}
			f.connect(p)
		}
		n.nodes = append(n.nodes, f)
		n.later(f.events.Scanned)
	})
}

// connect links two nodes. The caller holds net.mu.
func (f *Fabric) connect(p *Fabric) {
	here := &link{owner: f, peer: p, opening: map[rdma.Key]rdma.Shape{}}
	there := &link{owner: p, peer: f, opening: map[rdma.Key]rdma.Shape{}}
	f.links[p.self.ID], p.links[f.self.ID] = here, there
	f.net.later(func() { p.events.LinkUp(there) })
	f.net.later(func() { f.events.LinkUp(here) })
}

func mismatch(f, p *Fabric) error {
	return fmt.Errorf("mem: %s runs with %q, this node with %q", p.self.Name, p.self.Fingerprint, f.self.Fingerprint)
}

// Bell implements rdma.Fabric.
func (f *Fabric) Bell() *rdma.Bell { return f.bell }

// Fence implements rdma.Fabric.
func (f *Fabric) Fence() *rdma.Fence { return f.fence }

// LowerFence implements rdma.Fabric: no link copies.
func (f *Fabric) LowerFence(value uint32) { f.fence.Lower(value) }

// Dial implements rdma.Fabric. All nodes are linked from the start; a link that was dropped since is
// made anew.
func (f *Fabric) Dial(peer rdma.PeerInfo) {
	n := f.net
	n.do(func() {
		i := slices.IndexFunc(n.nodes, func(p *Fabric) bool { return p.self.ID == peer.ID })
		if i < 0 || !slices.Contains(n.nodes, f) || peer.ID == f.self.ID || f.links[peer.ID] != nil {
			return
		}
		if p := n.nodes[i]; p.self.Fingerprint == f.self.Fingerprint {
			f.connect(p)
		}
	})
}

// Register implements rdma.Fabric.
func (f *Fabric) Register(key rdma.Key, shape rdma.Shape) (*rdma.Region, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	r := rdma.NewHeapRegion(shape)
	var err error
	f.net.do(func() {
		if f.regions[key] != nil {
			err = fmt.Errorf("mem: %s is registered already", key)
			return
		}
		f.regions[key] = r
		for _, l := range f.wanted[key] {
			l.answer(key, r)
		}
		delete(f.wanted, key)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Deregister implements rdma.Fabric.
func (f *Fabric) Deregister(key rdma.Key) {
	f.net.do(func() { delete(f.regions, key) })
}

// Close implements rdma.Fabric.
func (f *Fabric) Close() error {
	f.end(false, fmt.Errorf("mem: %s has closed", f.self.Name))
	return nil
}

// Kill ends the node as a crash would: the others see a certified death.
func (f *Fabric) Kill() { f.end(true, fmt.Errorf("mem: %s was killed", f.self.Name)) }

func (f *Fabric) end(died bool, err error) {
	n := f.net
	n.do(func() {
		f.died = died
		n.nodes = slices.DeleteFunc(n.nodes, func(g *Fabric) bool { return g == f })
		for _, l := range f.links {
			l.cut(died, err)
		}
	})
}

// cut takes a link away on both sides and reports that to the peer. The caller holds net.mu.
func (l *link) cut(died bool, err error) {
	back := l.peer.links[l.owner.self.ID]
	delete(l.owner.links, l.peer.self.ID)
	delete(l.peer.links, l.owner.self.ID)
	for key, ws := range l.peer.wanted {
		l.peer.wanted[key] = slices.DeleteFunc(ws, func(w *link) bool { return w == l })
	}
	l.owner.net.later(func() { back.owner.events.LinkDown(back, died, err) })
}

// up: neither end has closed. The caller holds net.mu.
func (l *link) up() bool { return l.owner.links[l.peer.self.ID] == l }

// Peer implements rdma.Link.
func (l *link) Peer() rdma.PeerInfo { return l.peer.self }

// Aliased implements rdma.Link.
func (l *link) Aliased() bool { return true }

// Post implements rdma.Link.
func (l *link) Post(rdma.Key) {}

// PostQuiet implements rdma.Link.
func (l *link) PostQuiet(rdma.Key) {}

// HearQuiet implements rdma.Link.
func (l *link) HearQuiet() {}

// Ring implements rdma.Link.
func (l *link) Ring() { l.peer.bell.Ring() }

// RaiseFence implements rdma.Link.
func (l *link) RaiseFence() {
	l.peer.word.Add(1)
	l.Ring()
}

// Drop implements rdma.Link.
func (l *link) Drop(err error) {
	l.owner.net.do(func() {
		if l.up() {
			l.cut(false, fmt.Errorf("mem: %s has given up the link", l.owner.self.Name))
			l.owner.net.later(func() { l.owner.events.LinkDown(l, false, err) })
		}
	})
}

// Died implements rdma.Link.
func (l *link) Died() (died bool) {
	l.owner.net.do(func() { died = l.peer.died })
	return died
}

// Release implements rdma.Link.
func (l *link) Release(key rdma.Key) {
	l.owner.net.do(func() { delete(l.opening, key) })
}

// Send implements rdma.Link.
func (l *link) Send(msg []byte) {
	msg = slices.Clone(msg)
	l.owner.net.do(func() {
		if there := l.peer.links[l.owner.self.ID]; l.up() && there != nil {
			l.owner.net.later(func() { there.owner.events.Message(there, msg) })
		}
	})
}

// Open implements rdma.Link.
func (l *link) Open(key rdma.Key, shape rdma.Shape) {
	l.owner.net.do(func() {
		if !l.up() {
			return
		}
		l.opening[key] = shape
		if r := l.peer.regions[key]; r != nil {
			l.answer(key, r)
		} else {
			l.peer.wanted[key] = append(l.peer.wanted[key], l)
		}
	})
}

// answer reports a region that is registered, unless it was released meanwhile. The caller holds net.mu.
func (l *link) answer(key rdma.Key, r *rdma.Region) {
	shape, wanted := l.opening[key]
	delete(l.opening, key)
	if !wanted {
		return
	}
	var err error
	if own := r.Shape(); !own.Serves(shape) {
		r, err = nil, fmt.Errorf("mem: %s: %s: shape %+v asked for, %+v registered", l.peer.self.Name, key, shape, own)
	}
	l.owner.net.later(func() { l.owner.events.Opened(l, key, r, err) })
}
