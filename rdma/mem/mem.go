// Package mem is a fabric inside one process, on ordinary heap memory: what a peer opens is the
// owner's region itself. It runs the code of all layers above under the race detector, which does
// not watch memory that is shared between processes.
package mem

import (
	"fmt"
	"slices"
	"sync"

	"github.com/omg-dds-go/dds/rdma"
)

// Network connects the fabrics that are attached to it.
type Network struct {
	mu    sync.Mutex
	nodes []*Fabric
}

// Fabric implements rdma.Fabric.
type Fabric struct {
	net    *Network
	self   rdma.PeerInfo
	bell   *rdma.Bell
	events rdma.Events

	// Guarded by net.mu:
	links   map[uint64]*link
	regions map[rdma.Key]*rdma.Region
	wanted  map[rdma.Key][]*link
	closed  bool
}

// link is one direction: what its owner does to peer.
type link struct {
	owner, peer *Fabric
}

// Attach adds a node. Events come on the goroutines of whoever causes them.
func (n *Network) Attach(self rdma.PeerInfo, bell *rdma.Bell, events rdma.Events) *Fabric {
	self.ShmDomain = 1
	return &Fabric{
		net: n, self: self, bell: bell, events: events,
		links: map[uint64]*link{}, regions: map[rdma.Key]*rdma.Region{}, wanted: map[rdma.Key][]*link{},
	}
}

// Self is what this node tells of itself.
func (f *Fabric) Self() rdma.PeerInfo { return f.self }

// Start links the node to all that were started before.
func (f *Fabric) Start() {
	f.net.mu.Lock()
	peers := slices.Clone(f.net.nodes)
	f.net.nodes = append(f.net.nodes, f)
	for _, p := range peers {
		f.links[p.self.ID] = &link{f, p}
		p.links[f.self.ID] = &link{p, f}
	}
	f.net.mu.Unlock()
	for _, p := range peers {
		if p.self.Fingerprint != f.self.Fingerprint {
			err := fmt.Errorf("mem: %s runs with %q, this node with %q", p.self.Name, p.self.Fingerprint, f.self.Fingerprint)
			f.events.Refused(p.self, err)
			continue
		}
		there, here := f.pair(p)
		p.events.LinkUp(there)
		f.events.LinkUp(here)
	}
	f.events.Scanned()
}

// Bell implements rdma.Fabric.
func (f *Fabric) Bell() *rdma.Bell { return f.bell }

// Dial implements rdma.Fabric: all nodes are linked from the start.
func (f *Fabric) Dial(rdma.PeerInfo) {}

// Register implements rdma.Fabric.
func (f *Fabric) Register(key rdma.Key, shape rdma.Shape) (*rdma.Region, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	r := rdma.NewHeapRegion(shape)
	f.net.mu.Lock()
	f.regions[key] = r
	wanted := f.wanted[key]
	delete(f.wanted, key)
	f.net.mu.Unlock()
	for _, l := range wanted {
		l.owner.events.Opened(l, key, r, nil)
	}
	return r, nil
}

// Deregister implements rdma.Fabric.
func (f *Fabric) Deregister(key rdma.Key) {
	f.net.mu.Lock()
	delete(f.regions, key)
	f.net.mu.Unlock()
}

// Close implements rdma.Fabric.
func (f *Fabric) Close() error {
	f.net.mu.Lock()
	f.closed = true
	f.net.nodes = slices.DeleteFunc(f.net.nodes, func(g *Fabric) bool { return g == f })
	back := f.forget()
	f.net.mu.Unlock()
	for _, l := range back {
		l.owner.events.LinkDown(l, false, nil)
	}
	return nil
}

// pair is the link from p to f, and the one from f to p.
func (f *Fabric) pair(p *Fabric) (there, here *link) {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	return p.links[f.self.ID], f.links[p.self.ID]
}

// Kill ends the node as a crash would: the others see a certified death.
func (f *Fabric) Kill() {
	f.net.mu.Lock()
	f.closed = true
	f.net.nodes = slices.DeleteFunc(f.net.nodes, func(g *Fabric) bool { return g == f })
	back := f.forget()
	f.net.mu.Unlock()
	for _, l := range back {
		l.owner.events.LinkDown(l, true, fmt.Errorf("mem: %s was killed", f.self.Name))
	}
}

// forget ends all links and returns the other ends'. The caller holds net.mu.
func (f *Fabric) forget() (back []*link) {
	for _, l := range f.links {
		if b := l.peer.links[f.self.ID]; b != nil {
			back = append(back, b)
			delete(l.peer.links, f.self.ID)
		}
	}
	f.links = map[uint64]*link{}
	return back
}

func (l *link) Peer() rdma.PeerInfo { return l.peer.self }
func (l *link) Aliased() bool       { return true }
func (l *link) Post(rdma.Key)       {}
func (l *link) Ring()               { l.peer.bell.Ring() }
func (l *link) Release(rdma.Key)    {}

func (l *link) Send(msg []byte) {
	if there, _ := l.owner.pair(l.peer); there != nil {
		there.owner.events.Message(there, append([]byte(nil), msg...))
	}
}

func (l *link) Open(key rdma.Key, shape rdma.Shape) {
	l.owner.net.mu.Lock()
	r := l.peer.regions[key]
	if r == nil {
		l.peer.wanted[key] = append(l.peer.wanted[key], l)
	}
	l.owner.net.mu.Unlock()
	if r != nil {
		l.owner.events.Opened(l, key, r, nil)
	}
}
