package sim

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// Fabric is a node's network; it implements rdma.Fabric.
type Fabric struct {
	w      *World
	self   rdma.PeerInfo
	bell   *rdma.Bell
	events rdma.Events
	word   atomic.Uint32 // of the fence
	fence  *rdma.Fence
	wake   func() // news for the node's poller

	// Unfound, if set, says which nodes Start does not find: a link to them comes only when one
	// side dials, as between hosts that were not told of each other.
	Unfound func(peer rdma.PeerInfo) bool

	links   []*link // to others, in the order in which they came up
	regions map[rdma.Key]*rdma.Region
	wanted  map[rdma.Key][]func(*rdma.Region)
	closed  bool
}

// Attach makes a node on a host. wake is called whenever the node's poller has to look.
func (w *World) Attach(self rdma.PeerInfo, host uint64, events rdma.Events, wake func()) *Fabric {
	self.ShmDomain = host
	self.Addr = fmt.Sprintf("node-%d", self.ID)
	f := &Fabric{
		w: w, self: self, bell: rdma.NewBell(new(uint32)), events: events, wake: wake,
		regions: map[rdma.Key]*rdma.Region{}, wanted: map[rdma.Key][]func(*rdma.Region){},
	}
	f.fence = rdma.NewFence(&f.word)
	return f
}

// Self is what the node tells of itself.
func (f *Fabric) Self() rdma.PeerInfo { return f.self }

// Bell implements rdma.Fabric. Nobody sleeps on it.
func (f *Fabric) Bell() *rdma.Bell { return f.bell }

// Fence implements rdma.Fabric.
func (f *Fabric) Fence() *rdma.Fence { return f.fence }

// LowerFence implements rdma.Fabric.
func (f *Fabric) LowerFence(value uint32) { f.fence.Lower(value) }

// Dial implements rdma.Fabric.
func (f *Fabric) Dial(peer rdma.PeerInfo) {
	for _, p := range f.w.nodes {
		if p.self.ID == peer.ID {
			f.connect(p)
		}
	}
}

// connect makes a link after a delay, unless there is one then, and returns the delay. Both ends know
// of it when the greeting is over: one event.
func (f *Fabric) connect(p *Fabric) time.Duration {
	here, there := &link{from: f, to: p}, &link{from: p, to: f}
	here.back, there.back = there, here
	d := f.w.Between(f.w.MaxDelay/100, f.w.MaxDelay)
	f.w.After(d, func() {
		if f.closed || p.closed || slices.ContainsFunc(f.links, func(l *link) bool { return l.to == p }) {
			return
		}
		if slices.ContainsFunc(p.links, func(l *link) bool { return l.to == f }) {
			f.connect(p) // it has not seen yet that the link before was dropped
			return
		}
		f.links, p.links = append(f.links, here), append(p.links, there)
		p.events.LinkUp(there)
		f.events.LinkUp(here)
		f.wake()
		p.wake()
	})
	return d
}

// Start finds the nodes that were started before, each after a delay, and reports Scanned behind them.
func (f *Fabric) Start() {
	last := time.Duration(0)
	for _, p := range f.w.nodes {
		if f.Unfound == nil || !f.Unfound(p.self) {
			last = max(last, f.connect(p))
		}
	}
	f.w.nodes = append(f.w.nodes, f)
	f.w.After(last+1, func() {
		f.events.Scanned()
		f.wake()
	})
}

// Register implements rdma.Fabric.
func (f *Fabric) Register(key rdma.Key, shape rdma.Shape) (*rdma.Region, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if f.regions[key] != nil {
		return nil, fmt.Errorf("sim: %s is registered already", key)
	}
	r := rdma.NewHeapRegion(shape)
	f.regions[key] = r
	for _, serve := range f.wanted[key] {
		serve(r)
	}
	delete(f.wanted, key)
	return r, nil
}

// Deregister implements rdma.Fabric: copies get the last state.
func (f *Fabric) Deregister(key rdma.Key) {
	for _, l := range f.links {
		if e := l.exports[key]; e != nil {
			l.transmit(e)
			delete(l.exports, key)
		}
	}
	delete(f.regions, key)
}

// Close implements rdma.Fabric: what was sent arrives, then the links are down at the others.
func (f *Fabric) Close() error {
	f.closed = true
	f.w.nodes = slices.DeleteFunc(f.w.nodes, func(g *Fabric) bool { return g == f })
	for _, l := range f.links {
		for _, key := range l.keys() {
			l.transmit(l.exports[key])
		}
		l.arrive(func() {
			l.back.down(nil)
			l.to.wake()
		})
	}
	return nil
}

// down takes the link away from its node and reports that.
func (l *link) down(err error) {
	if i := slices.Index(l.from.links, l); i >= 0 {
		l.from.links = slices.Delete(l.from.links, i, i+1)
		l.from.events.LinkDown(l, false, err)
	}
}

// link is one direction: what from does to to.
type link struct {
	from, to *Fabric
	back     *link
	last     time.Duration // when the last thing on this link arrives: FIFO
	exports  map[rdma.Key]*export
}

// export is what to has of a region of from.
type export struct {
	key    rdma.Key
	region *rdma.Region
	ring   bool
	copy   *rdma.Region
	sent   []uint64
	queued bool // a transmission is on its way to the wire
}

func (l *link) Peer() rdma.PeerInfo { return l.to.self }
func (l *link) Aliased() bool       { return rdma.Aliased(l.from.self, l.to.self) }

// arrive queues an event at the far end, in order with all others on the link.
func (l *link) arrive(do func()) {
	w := l.from.w
	at := max(l.last, w.now+w.Between(w.MaxDelay/100, w.MaxDelay))
	l.last = at
	w.After(at-w.now, func() { l.happen(do) })
}

// happen lets an event happen at the far end, unless that has closed or has no such link any more.
func (l *link) happen(do func()) {
	if !l.to.closed && slices.Contains(l.to.links, l.back) {
		do()
		l.to.wake()
	}
}

// Drop implements rdma.Link. What is under way to the peer still arrives before the end of the link.
func (l *link) Drop(err error) {
	w := l.from.w
	w.After(0, func() {
		if !l.from.closed {
			l.down(err)
			l.from.wake()
		}
	})
	l.arrive(func() { l.back.down(fmt.Errorf("sim: %s has given up the link", l.from.self.Name)) })
}

func (l *link) Send(msg []byte) {
	msg = slices.Clone(msg)
	l.arrive(func() { l.to.events.Message(l.back, msg) })
}

func (l *link) Ring() {
	if l.Aliased() {
		l.from.w.After(l.from.w.Between(0, 10*time.Microsecond), l.to.wake)
	}
}

func (l *link) RaiseFence() {
	if l.Aliased() {
		l.to.word.Add(1)
		l.Ring()
	}
}

func (l *link) Open(key rdma.Key, shape rdma.Shape) {
	l.arrive(func() {
		serve := func(r *rdma.Region) { l.back.serve(key, shape, r) }
		if r := l.to.regions[key]; r != nil {
			serve(r)
		} else {
			l.to.wanted[key] = append(l.to.wanted[key], serve)
		}
	})
}

// serve gives to a region of from.
func (l *link) serve(key rdma.Key, shape rdma.Shape, r *rdma.Region) {
	if l.Aliased() {
		l.arrive(func() { l.to.events.Opened(l.back, key, r, nil) })
		return
	}
	e := &export{key: key, region: r, ring: shape.Ring > 0, copy: rdma.NewHeapRegion(shape), sent: make([]uint64, shape.Cells)}
	if l.exports == nil {
		l.exports = map[rdma.Key]*export{}
	}
	l.exports[key] = e
	l.arrive(func() { l.to.events.Opened(l.back, key, e.copy, nil) })
	l.Post(key)
}

func (l *link) Release(rdma.Key) {}

func (l *link) keys() []rdma.Key {
	keys := make([]rdma.Key, 0, len(l.exports))
	for k := range l.exports {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b rdma.Key) int {
		if a.Subgroup != b.Subgroup {
			return int(a.Subgroup) - int(b.Subgroup)
		}
		return int(a.Epoch) - int(b.Epoch)
	})
	return keys
}

func (l *link) Post(key rdma.Key) {
	e := l.exports[key]
	if e == nil || e.queued {
		return
	}
	e.queued = true
	l.from.w.After(l.from.w.Between(0, l.from.w.MaxDelay/10), func() {
		if e.queued && l.exports[key] == e {
			l.transmit(e)
		}
	})
}

// transmit captures the region and puts the difference on the wire.
func (l *link) transmit(e *export) {
	e.queued = false
	now := make([]uint64, len(e.sent))
	changed := false
	for i := len(now) - 1; i >= 0; i-- {
		now[i] = e.region.Cell(i).Load()
		changed = changed || now[i] != e.sent[i]
	}
	if !changed {
		return
	}
	before := e.sent
	e.sent = now
	var bytes []byte
	pos, tail := before[rdma.TailCell], now[rdma.TailCell]
	if e.ring {
		ring := e.region.Ring()
		for p := pos; p < tail; p++ {
			bytes = append(bytes, ring[p&uint64(len(ring)-1)])
		}
	}
	// The bytes, then cell by cell, with pauses in which the peer may look.
	l.arrive(func() {
		ring := e.copy.Ring()
		for i, b := range bytes {
			ring[(pos+uint64(i))&uint64(len(ring)-1)] = b
		}
	})
	for i := range now {
		if now[i] != before[i] {
			l.last += l.from.w.Between(0, l.from.w.MaxPause)
			l.atLast(func() { e.copy.Cell(i).Store(now[i]) })
		}
	}
}

// atLast queues an event at the time at which the last thing on the link arrives.
func (l *link) atLast(do func()) {
	w := l.from.w
	w.After(max(l.last-w.now, 0), func() { l.happen(do) })
}
