package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
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
	// side dials, as between hosts that were not told of each other, or when all heals.
	Unfound func(peer rdma.PeerInfo) bool
	unfound []*Fabric
	retries map[*Fabric]bool // to connect, that are to come

	// Pushes counts what the node does that others may see: posts, rings, messages, registrations,
	// and the stores that are reported through Stored. At CrashAt, if it is not 0, the node crashes,
	// by a panic with a Crash value that whoever drives it recovers.
	Pushes, CrashAt int
	// Pushed, if set, is called at each push, before it has any effect.
	Pushed func()
	// Torn, if set, makes the stores by which a message is published (rdma.Region.StoreInTurn) pushes of their own, and
	// is called between them: see Published.
	Torn func()
	// between two of them of how many messages the node is, or has ended: it may stand still there while its
	// application publishes others
	tearing int
	rings   []*ring // of the node's regions, in the order of their registration

	links   []*link // to others, in the order in which they came up
	regions map[rdma.Key]*rdma.Region
	wanted  map[rdma.Key][]want
	closed  bool // by itself, or crashed
	crashed bool
	paused  bool
	backlog []func() // what the paused node would have done
}

// Crash is the value of the panic by which a node ends at a push.
type Crash struct{ Fabric *Fabric }

// want is a link that asked for a region that is not registered yet.
type want struct {
	l     *link
	serve func(*rdma.Region)
}

// Attach makes a node on a host. wake is called whenever the node's poller has to look.
func (w *World) Attach(self rdma.PeerInfo, host uint64, events rdma.Events, wake func()) *Fabric {
	self.ShmDomain = host
	self.Addr = fmt.Sprintf("node-%d", self.ID)
	f := &Fabric{
		w: w, self: self, bell: rdma.NewBell(new(rdma.BellWords)), events: events, wake: wake,
		regions: map[rdma.Key]*rdma.Region{}, wanted: map[rdma.Key][]want{}, retries: map[*Fabric]bool{},
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

// LowerFence implements rdma.Fabric: what the links held back goes out.
func (f *Fabric) LowerFence(value uint32) {
	f.fence.Lower(value)
	if mutant.Is("capture-forgets") {
		return
	}
	for _, l := range f.links {
		for _, key := range l.keys() {
			l.post(key)
		}
	}
}

// Stored counts a store of the node into its memory.
func (f *Fabric) Stored() { f.push() }

// ring is a region with a ring.
type ring struct {
	*rdma.Region
	shared bool      // another process on the host has it
	seen   published // if it is shared: what its first cells, Tail, Real and Next (package sst), were at the last push
}

func (r *ring) share() {
	if !r.shared {
		r.shared, r.seen = true, r.load()
	}
}

type published [3]uint64

func (r *ring) load() (p published) {
	for i := range p {
		p[i] = r.Cell(rdma.TailCell + i).Load()
	}
	return p
}

func (r *ring) store(p published) {
	for i, v := range p {
		r.Cell(rdma.TailCell + i).Store(v)
	}
}

// Published makes the node end, or stand still, between the stores of what it has published since its last push, if
// Torn is set; whoever drives the node calls it when a message is sent, for not every message is followed by a push.
//
// The stores have been made when it is called. It takes back those that are yet to come, Next, or Next and Real, and
// makes them again one after the other. For others that is as if they were made now: a step of a node is one event, so
// since the first of them nobody has looked and no capture of the region was taken, and the node has done nothing since
// that they could see, as that is a push. Nor has it done what it would do only with the message out: where the memory
// is shared it delivers nothing of its own before others have acknowledged it; other regions are left alone. A process
// that shares the memory may find Tail without Real and Next, or both without Next, as long as the node stands still,
// or for good if it has died there; never Real or Next without what comes before them, nor any of them without the
// bytes below Tail, as processors keep stores in order (rdma.Region.StoreInTurn). A copy on another host may get the
// same from a capture that is taken between them, or applied in steps: a capture loads the cells from the last to the
// first, and they arrive from the first to the last, each at a time of its own (transmit). A node that dies before its
// post has told other hosts nothing.
func (f *Fabric) Published() {
	if f.Torn == nil {
		return
	}
	for i := 0; i < len(f.rings); i++ {
		if r := f.rings[i]; r.shared {
			f.tear(r)
		}
	}
}

// Tearing: the node is between two of the stores of a message, or has ended there.
func (f *Fabric) Tearing() bool { return f.tearing > 0 }

func (f *Fabric) tear(r *ring) {
	now, before := r.load(), r.seen
	if now == before {
		return
	}
	parts := [2]published{{now[0], before[1], before[2]}, {now[0], now[1], before[2]}}
	if mutant.Is("publish-descends") {
		parts = [2]published{{before[0], before[1], now[2]}, {before[0], now[1], now[2]}}
	}
	for _, part := range parts {
		if part == r.seen || part == now {
			continue
		}
		r.store(part)
		r.seen = part
		f.tearing++
		f.step()
		f.Torn()
		f.tearing--
		if r.load() != part {
			return // its application has published more meanwhile, and all of this with it
		}
	}
	r.store(now)
	r.seen = now
}

func (f *Fabric) push() {
	f.Published()
	f.step()
}

// step counts a push, at which the node may end.
func (f *Fabric) step() {
	f.Pushes++
	if f.Pushed != nil {
		f.Pushed()
	}
	if f.Pushes == f.CrashAt {
		panic(Crash{f})
	}
}

// Dial implements rdma.Fabric.
func (f *Fabric) Dial(peer rdma.PeerInfo) {
	for _, p := range f.w.nodes {
		if p.self.ID == peer.ID {
			f.connect(p)
		}
	}
}

// connect makes a link after a delay, unless there is one then, and returns the delay. Both ends know
// of it when the greeting is over: one event. Nodes that can not reach each other try again.
func (f *Fabric) connect(p *Fabric) time.Duration {
	here, there := &link{from: f, to: p}, &link{from: p, to: f}
	here.back, there.back = there, here
	d := f.w.Between(f.w.MaxDelay/100, f.w.MaxDelay)
	f.w.After(d, func() {
		if f.closed || p.closed || f.Linked(p) {
			return
		}
		// p has not seen the end of the link before, which comes first
		if here.blocked() || there.blocked() || p.Linked(f) {
			if !f.retries[p] { // who dials again and again tries no more often
				f.retries[p] = true
				f.w.After(20*f.w.MaxDelay, func() {
					delete(f.retries, p)
					f.connect(p)
				})
			}
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

// Linked reports whether there is a link to another node, for all that this one knows.
func (f *Fabric) Linked(to *Fabric) bool { return f.linkTo(to) != nil }

func (f *Fabric) linkTo(to *Fabric) *link {
	if i := slices.IndexFunc(f.links, func(l *link) bool { return l.to == to }); i >= 0 {
		return f.links[i]
	}
	return nil
}

// Unlink ends the link to another node from this side, though both live: it can not be written, or what came over it not be
// mapped. The node is dialled again after a while.
func (f *Fabric) Unlink(to *Fabric, err error) {
	if l := f.linkTo(to); l != nil {
		l.Drop(err)
		f.w.After(f.w.Between(0, 100*f.w.MaxDelay), func() { f.connect(to) })
	}
}

// Start finds the nodes that were started before, each after a delay, and reports Scanned when all that
// can be reached have answered.
func (f *Fabric) Start() {
	last := time.Duration(0)
	for _, p := range f.w.nodes {
		if f.Unfound != nil && f.Unfound(p.self) {
			f.unfound = append(f.unfound, p)
			continue
		}
		last = max(last, f.connect(p))
	}
	f.w.nodes = append(f.w.nodes, f)
	f.w.After(last+1, func() {
		if !f.closed {
			f.events.Scanned()
			f.wake()
		}
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
	f.push()
	r := rdma.NewHeapRegion(shape)
	f.regions[key] = r
	if shape.Ring > 0 {
		f.rings = append(f.rings, &ring{Region: r})
	}
	for _, w := range f.wanted[key] {
		if !w.l.ended {
			w.serve(r)
		}
	}
	delete(f.wanted, key)
	return r, nil
}

// Deregister implements rdma.Fabric: copies get the last state.
func (f *Fabric) Deregister(key rdma.Key) {
	f.push()
	for _, l := range f.links {
		if e := l.exports[key]; e != nil {
			e.closing = true
			l.transmit(e)
		}
	}
	r := f.regions[key]
	f.rings = slices.DeleteFunc(f.rings, func(o *ring) bool { return o.Region == r })
	delete(f.regions, key)
}

// Close implements rdma.Fabric: what was sent arrives, then the links are down at the others.
func (f *Fabric) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.w.nodes = slices.DeleteFunc(f.w.nodes, func(g *Fabric) bool { return g == f })
	for _, l := range slices.Clone(f.links) {
		for _, key := range l.keys() {
			l.transmit(l.exports[key])
		}
		l.hangUp(false, errors.New("closed"))
	}
	return nil
}

// Crash ends the node at once.
func (f *Fabric) Crash() {
	if f.closed {
		return
	}
	f.closed, f.crashed = true, true
	f.w.nodes = slices.DeleteFunc(f.w.nodes, func(g *Fabric) bool { return g == f })
	for _, l := range slices.Clone(f.links) {
		if l.Aliased() { // the kernel keeps what was written: the first of what was sent, while all stores are there
			l.lose()
			l.hangUp(true, errors.New("killed"))
			continue
		}
		l.cut(f.w.rng)
		l.end()
		l.last = max(l.last, f.w.now+l.delay())
		l.put(l.back.judge, true)
	}
}

// Memory shows the regions of the node, in order.
func (f *Fabric) Memory(visit func(*rdma.Region)) {
	for _, key := range slices.SortedFunc(maps.Keys(f.regions), compareKeys) {
		visit(f.regions[key])
	}
}

func compareKeys(a, b rdma.Key) int {
	return cmp.Or(cmp.Compare(a.Subgroup, b.Subgroup), cmp.Compare(a.Epoch, b.Epoch))
}

// Pause stops the node, or lets it go on. What would happen at it meanwhile happens then.
func (f *Fabric) Pause(on bool) {
	f.paused = on
	if on {
		return
	}
	backlog := f.backlog
	f.backlog = nil
	for _, do := range backlog {
		do()
	}
	f.w.release()
	f.wake()
}

// Paused reports whether the node stands still.
func (f *Fabric) Paused() bool { return f.paused }

// link is one direction: what from does to to.
type link struct {
	from, to *Fabric
	back     *link
	last     time.Duration // when the last thing on this link arrives: FIFO
	exports  map[rdma.Key]*export
	ended    bool // from knows that it is down
	refused  bool // from was told that the peer refuses connections
	doubted  bool // it was, once

	queued, passed int // things put on the link, things that arrived
	limited        bool
	limit          int      // if limited: things behind it are lost
	held           []func() // have arrived where nobody takes them yet
	holds          bool     // is in World.held
	draining       bool
}

// export is what to has of a region of from.
type export struct {
	key    rdma.Key
	region *rdma.Region
	ring   bool
	copy   *rdma.Region
	sent   []uint64
	queued bool // a transmission is on its way to the wire
	// closing: the region is not registered any more; the next transmission is the last.
	closing bool
}

func (l *link) Peer() rdma.PeerInfo { return l.to.self }
func (l *link) Aliased() bool       { return rdma.Aliased(l.from.self, l.to.self) }

func (l *link) blocked() bool { return !l.from.w.Passes(l.from, l.to) }

// delay is how long the next thing takes.
func (l *link) delay() time.Duration {
	w := l.from.w
	return w.Between(w.MaxDelay/100, w.MaxDelay) + w.slow[[2]*Fabric{l.from, l.to}]
}

// arrive queues an event at the far end, in order with all others on the link.
func (l *link) arrive(do func()) {
	w := l.from.w
	if l.last = max(l.last, w.now+l.delay()); mutant.Is("link-reorders") {
		l.last = w.now + l.delay()
	}
	l.atLast(do)
}

// atLast queues an event at the time at which the last thing on the link arrives.
func (l *link) atLast(do func()) { l.put(do, false) }

// put queues an event; final: it is not cut off when its sender crashes, for it is no message: the end
// of a connection is noticed whatever was on it.
func (l *link) put(do func(), final bool) {
	w := l.from.w
	l.queued++
	number := l.queued
	w.last = max(w.last, l.last)
	w.After(max(l.last-w.now, 0), func() {
		switch {
		case l.limited && number > l.limit && !final:
		case len(l.held) > 0 || l.draining || l.stopped():
			l.held = append(l.held, do)
			l.hold()
		default:
			l.pass(do)
		}
	})
}

// stopped: nothing passes for now.
func (l *link) stopped() bool { return l.to.paused || l.blocked() }

// hold notes that the link has something to pass when it is no longer stopped.
func (l *link) hold() {
	if !l.holds {
		l.holds = true
		l.from.w.held = append(l.from.w.held, l)
	}
}

func (l *link) pass(do func()) {
	l.passed++
	if !l.to.closed {
		do()
		l.to.wake()
	}
}

// drain passes what was held, one after the other.
func (l *link) drain() {
	if l.draining || len(l.held) == 0 {
		return
	}
	if l.stopped() {
		l.hold()
		return
	}
	l.draining = true
	l.from.w.After(l.from.w.Between(0, l.from.w.MaxPause+1), func() {
		l.draining = false
		if l.stopped() {
			l.hold()
			return
		}
		do := l.held[0]
		l.held = l.held[1:]
		l.pass(do)
		l.drain()
	})
}

// cut loses the last of what is on its way.
func (l *link) cut(rng *rand.Rand) {
	l.limited, l.limit = true, l.passed+rng.IntN(l.queued-l.passed+1)
}

// lose is cut every other time, where links lose something at all: what was sent is mostly on its way by then.
func (l *link) lose() {
	if w := l.from.w; w.Loses && w.losses.IntN(2) == 0 {
		l.cut(w.losses)
	}
}

// hangUp ends the link from this side; the peer learns of it behind everything that is on the way. What
// the peer sends does not arrive any more.
func (l *link) hangUp(died bool, err error) {
	if l.ended {
		return
	}
	l.end()
	b := l.back
	do := func() {
		if !b.ended {
			b.end()
			b.from.events.LinkDown(b, died, err)
		}
	}
	l.last = max(l.last, l.from.w.now+l.delay())
	l.put(do, true)
	if died && l.from.w.Foretold {
		l.from.w.After((l.last-l.from.w.now)/2, b.dying)
	}
}

// dying: the kernel tells that the peer's process ends, before it has given back what the process had.
func (l *link) dying() {
	if !l.ended && !l.from.closed {
		l.from.events.Dying(l)
		l.from.wake()
	}
}

// severed: a connection to the peer is refused, if it is not dropped.
func (l *link) severed() bool { return l.to.closed || l.blocked() || l.back.blocked() }

// judge tells from that its peer refuses connections, for all that it knows, or answers again. Who reads the peer's
// memory hears of its end by itself.
func (l *link) judge() {
	severed := l.severed()
	if l.Aliased() || l.ended || l.from.closed || l.refused == severed {
		return
	}
	if l.refused = severed; severed {
		l.doubted = true
		l.from.events.Dying(l)
	} else {
		l.from.events.Resumed(l)
	}
	l.from.wake()
}

// end: from knows that the link is down.
func (l *link) end() {
	l.ended = true
	l.from.links = slices.DeleteFunc(l.from.links, func(m *link) bool { return m == l })
	l.exports = nil
}

// Drop implements rdma.Link.
func (l *link) Drop(err error) {
	if l.ended || l.from.closed {
		return
	}
	l.lose()
	l.hangUp(false, errors.New("dropped"))
	if l.doubted && !l.to.closed { // addresses that are configured are dialled for ever, also if it is refused no more when this node comes to end it
		l.from.connect(l.to)
	}
	l.from.w.After(0, func() {
		if !l.from.closed {
			l.from.events.LinkDown(l, false, err)
			l.from.wake()
		}
	})
}

// Died implements rdma.Link.
func (l *link) Died() bool { return l.Aliased() && l.to.crashed }

func (l *link) Send(msg []byte) {
	l.from.push()
	if l.ended {
		return
	}
	msg = slices.Clone(msg)
	l.arrive(func() {
		if !l.back.ended {
			l.to.events.Message(l.back, msg)
		}
	})
}

func (l *link) Ring() {
	if l.Aliased() {
		l.from.push()
		l.from.w.After(l.from.w.Between(0, 10*time.Microsecond), l.to.wake)
	}
}

func (l *link) RaiseFence() {
	if l.Aliased() {
		l.from.push()
		l.to.word.Add(1)
		l.Ring()
	}
}

func (l *link) Open(key rdma.Key, shape rdma.Shape) {
	l.from.push()
	if l.ended {
		return
	}
	l.arrive(func() {
		serve := func(r *rdma.Region) { l.back.serve(key, shape, r) }
		if r := l.to.regions[key]; r != nil {
			serve(r)
		} else {
			l.to.wanted[key] = append(l.to.wanted[key], want{l.back, serve})
		}
	})
}

// serve gives to a region of from.
func (l *link) serve(key rdma.Key, shape rdma.Shape, r *rdma.Region) {
	if l.ended {
		return
	}
	answer := func(r *rdma.Region) {
		l.arrive(func() {
			if !l.back.ended {
				l.to.events.Opened(l.back, key, r, nil)
			}
		})
	}
	if own := r.Shape(); !own.Serves(shape) {
		l.arrive(func() {
			if !l.back.ended {
				l.to.events.Opened(l.back, key, nil, fmt.Errorf("shape %+v asked for, %+v registered", shape, own))
			}
		})
		return
	}
	if l.Aliased() {
		if i := slices.IndexFunc(l.from.rings, func(o *ring) bool { return o.Region == r }); i >= 0 {
			l.from.rings[i].share()
		}
		answer(r)
		return
	}
	e := &export{key: key, region: r, ring: shape.Ring > 0, copy: rdma.NewHeapRegion(shape), sent: make([]uint64, shape.Cells)}
	if l.exports == nil {
		l.exports = map[rdma.Key]*export{}
	}
	l.exports[key] = e
	answer(e.copy)
	l.post(key)
}

func (l *link) Release(rdma.Key) {}

func (l *link) keys() []rdma.Key {
	return slices.SortedFunc(maps.Keys(l.exports), compareKeys)
}

func (l *link) Post(key rdma.Key) {
	if !l.Aliased() {
		l.from.push()
		l.post(key)
	}
}

// PostQuiet implements rdma.Link; here it wakes the peer all the same.
func (l *link) PostQuiet(key rdma.Key) { l.Post(key) }

// HearQuiet implements rdma.Link.
func (l *link) HearQuiet() {}

func (l *link) post(key rdma.Key) {
	e := l.exports[key]
	if e == nil || e.queued {
		return
	}
	e.queued = true
	var send func()
	send = func() {
		switch {
		case l.from.paused:
			l.from.backlog = append(l.from.backlog, send)
		case e.queued && l.exports[key] == e:
			l.transmit(e)
		}
	}
	l.from.w.After(l.from.w.Between(0, l.from.w.MaxDelay/10), send)
}

// transmit captures the region and puts the difference on the wire, unless the fence is raised: after
// the capture, see rdma.Fence. LowerFence posts again.
func (l *link) transmit(e *export) {
	e.queued = false
	now := make([]uint64, len(e.sent))
	changed := false
	for i := len(now) - 1; i >= 0; i-- {
		now[i] = e.region.Cell(i).Load()
		changed = changed || now[i] != e.sent[i]
	}
	if e.key.Fenced() && l.from.fence.Raised() && !mutant.Is("fence-not-on-links") {
		return
	}
	if e.closing {
		delete(l.exports, e.key)
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
	put := func() {
		ring := e.copy.Ring()
		for i, b := range bytes {
			ring[(pos+uint64(i))&uint64(len(ring)-1)] = b
		}
	}
	if mutant.Is("counters-before-bytes") {
		defer l.arrive(put)
		put = func() {}
	}
	l.arrive(put)
	for i := range now {
		if mutant.Is("cells-descend") {
			i = len(now) - 1 - i
		}
		if now[i] != before[i] {
			l.last += l.from.w.Between(0, l.from.w.MaxPause)
			l.atLast(func() { e.copy.Cell(i).Store(now[i]) })
		}
	}
}
