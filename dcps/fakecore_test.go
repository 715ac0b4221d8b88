package dcps

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// bus is a core in one process: nodes that join it are a domain. It keeps the rules of derecho.Handler: serial upcalls
// on one goroutine per node, endpoints in one order, messages of a subgroup in one order, state transfer at one cut.
type bus struct {
	mu       sync.Mutex
	nodes    []*busNode
	seq      map[derecho.SubgroupID]uint64
	held     map[channelKey]map[*busNode]bool
	changed  chan struct{} // closed and replaced when room may have come
	capacity int           // messages of a node that are not handed over everywhere
	lose     func(m *derecho.Message, to *busNode) bool
	// conceal has a node not be told of an endpoint, which whoever set it does later.
	conceal func(ep derecho.Endpoint, to *busNode) bool
	// undrained, if not nil, has a node wait until it is closed before it is told of the removal of an endpoint of its own.
	undrained chan struct{}
	// reserved and committing are called, if not nil, when a place was taken and the writer does not know of it yet, and
	// before one is committed.
	reserved, committing func()
	waiters              int    // in WaitAcked
	transfers            int    // of states, that nobody reads yet
	epoch                uint32 // of the view
}

// during has f called, once, at a moment of the next Write: it points to reserved or committing.
func (b *bus) during(moment *func(), f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*moment = f
}

// pass calls what during set.
func (b *bus) pass(moment *func()) {
	b.mu.Lock()
	f := *moment
	*moment = nil
	b.mu.Unlock()
	if f != nil {
		f()
	}
}

// waiting waits until so many goroutines are in WaitAcked.
func (b *bus) waiting(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.waiters < n {
		changed := b.changed
		b.mu.Unlock()
		<-changed
		b.mu.Lock()
	}
}

func newBus() *bus {
	return &bus{
		seq: make(map[derecho.SubgroupID]uint64), held: make(map[channelKey]map[*busNode]bool),
		changed: make(chan struct{}), capacity: 64,
	}
}

type busNode struct {
	b    *bus
	id   derecho.NodeID
	name string
	h    handler

	// Guarded by b.mu.
	endpoints []derecho.Endpoint
	queue     []func()
	cond      *sync.Cond
	left      bool
	down      error               // nothing can be sent for now
	receives  map[channelKey]bool // channels whose state this node follows
	slots     map[derecho.SubgroupID][]*busSlot
	inFlight  map[derecho.SubgroupID]int
	idle      bool
	// undelivered is what this node has sent and was not handed itself (bus.lose).
	undelivered []derecho.Message
}

// busSlot is one reservation; slots of a subgroup are sent in the order of reservation.
type busSlot struct {
	n     *busNode
	life  derecho.NodeID
	sg    derecho.SubgroupID
	ch    derecho.ChannelID
	buf   []byte
	h     derecho.Header
	state int // 0 open, 1 committed, 2 aborted
}

// join is the option that puts a participant on the bus.
func (b *bus) join() ParticipantOption {
	return func(c *participantConfig) {
		c.core = func(h handler, c participantConfig) (core, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			n := &busNode{
				b: b, id: derecho.NodeID(len(b.nodes)+1)<<16 | 1, name: c.name, h: h, receives: make(map[channelKey]bool),
				slots: make(map[derecho.SubgroupID][]*busSlot), inFlight: make(map[derecho.SubgroupID]int),
			}
			n.cond = sync.NewCond(&b.mu)
			n.queue = append(n.queue, func() { h.Entered(n.id) })
			for _, o := range b.nodes {
				for _, ep := range o.endpoints {
					n.queue = append(n.queue, func() { h.EndpointAdded(ep) })
				}
			}
			b.nodes = append(b.nodes, n)
			b.viewed()
			go n.run()
			for len(n.queue) > 0 || !n.idle {
				n.cond.Wait()
			}
			return n, nil
		}
	}
}

// viewed tells all members of a new view. Called with b.mu held.
func (b *bus) viewed(failed ...derecho.NodeID) {
	b.epoch++
	v := derecho.View{Epoch: b.epoch, Failed: failed}
	for _, n := range b.nodes {
		if !n.left {
			v.Members = append(v.Members, derecho.MemberInfo{ID: n.id, Host: "host", PID: 1, Name: n.name})
		}
	}
	b.each(func(n *busNode) { n.h.Viewed(v) })
}

// run is the node's polling goroutine.
func (n *busNode) run() {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	for {
		for len(n.queue) == 0 {
			n.idle = true
			n.cond.Broadcast()
			if n.left {
				return
			}
			n.cond.Wait()
		}
		n.idle = false
		f := n.queue[0]
		n.queue = n.queue[1:]
		n.b.mu.Unlock()
		f()
		n.b.mu.Lock()
	}
}

// do queues an upcall. Called with b.mu held.
func (n *busNode) do(f func()) {
	if !n.left {
		n.queue = append(n.queue, f)
		n.cond.Broadcast()
	}
}

// each queues an upcall at every node: all see it at the same place of the order.
func (b *bus) each(f func(n *busNode)) {
	for _, n := range b.nodes {
		if !n.left {
			n.do(func() { f(n) })
		}
	}
}

func (n *busNode) ID() derecho.NodeID {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	return n.id
}

func (n *busNode) AddEndpoint(ctx context.Context, ep derecho.Endpoint) error {
	n.b.mu.Lock()
	if n.left {
		n.b.mu.Unlock()
		return derecho.ErrClosed
	}
	ep.Node = n.id
	n.endpoints = append(n.endpoints, ep)
	n.announce(ep)
	n.b.mu.Unlock()
	return n.sync(ctx)
}

// announce tells all of an endpoint. Called with b.mu held.
func (n *busNode) announce(ep derecho.Endpoint) {
	for _, o := range n.b.nodes {
		if conceal := n.b.conceal; conceal == nil || !conceal(ep, o) {
			o.do(func() { o.h.EndpointAdded(ep) })
		}
	}
	for _, sg := range ep.Reads {
		if ep.Replica {
			n.follow(channelKey{sg.ID, ep.Channel})
		} else {
			n.do(func() { n.h.AwaitState(sg.ID, ep.Channel, 0, false) })
		}
	}
}

// follow begins to follow the state of a channel. Called with b.mu held.
func (n *busNode) follow(key channelKey) {
	if n.receives[key] {
		return
	}
	var donor *busNode
	for _, o := range n.b.nodes {
		if o != n && !o.left && o.receives[key] {
			donor = o
			break
		}
	}
	n.receives[key] = true
	n.do(func() { n.h.AwaitState(key.sg, key.ch, 1, donor != nil) })
	if donor != nil {
		n.b.transfers++
		donor.do(func() {
			encode := donor.h.SaveState(key.sg, key.ch)
			go func() {
				var state []byte
				if encode != nil {
					state = encode()
				}
				load := n.h.ReadState(key.sg, key.ch, state)
				n.b.mu.Lock()
				defer n.b.mu.Unlock()
				n.b.transfers--
				n.load(load)
			}()
		})
	}
}

// load calls what takes a state over until it has done so. Called with b.mu held.
func (n *busNode) load(load func() bool) {
	n.do(func() {
		if !load() {
			n.b.mu.Lock()
			defer n.b.mu.Unlock()
			n.load(load)
		}
	})
}

// sync waits until the node has seen what was queued.
func (n *busNode) sync(ctx context.Context) error {
	done := make(chan struct{})
	n.b.mu.Lock()
	if n.left {
		n.b.mu.Unlock()
		return derecho.ErrClosed
	}
	n.do(func() { close(done) })
	n.b.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", derecho.ErrTimeout, ctx.Err())
	}
}

func (n *busNode) ChangeEndpoint(ctx context.Context, id derecho.EndpointID, info []byte) error {
	n.b.mu.Lock()
	i := slices.IndexFunc(n.endpoints, func(ep derecho.Endpoint) bool { return ep.ID == id })
	if i < 0 || n.left {
		n.b.mu.Unlock()
		return derecho.ErrClosed
	}
	n.endpoints[i].Info = info
	ep := n.endpoints[i]
	n.b.each(func(o *busNode) { o.h.EndpointChanged(ep) })
	n.b.mu.Unlock()
	return n.sync(ctx)
}

func (n *busNode) Upcall(ctx context.Context, f func()) error {
	n.b.mu.Lock()
	n.do(f)
	n.b.mu.Unlock()
	return n.sync(ctx)
}

func (n *busNode) RemoveEndpoint(ctx context.Context, id derecho.EndpointID) error {
	n.b.mu.Lock()
	if n.left {
		n.endpoints = slices.DeleteFunc(n.endpoints, func(ep derecho.Endpoint) bool { return ep.ID == id })
		n.b.mu.Unlock()
		return derecho.ErrClosed
	}
	n.remove(func(ep derecho.Endpoint) bool { return ep.ID == id })
	n.b.mu.Unlock()
	return n.sync(ctx)
}

func (n *busNode) remove(which func(derecho.Endpoint) bool) {
	for _, ep := range n.endpoints {
		if which(ep) {
			undrained := n.b.undrained
			n.b.each(func(o *busNode) {
				if o == n && undrained != nil {
					<-undrained
				}
				o.h.EndpointRemoved(ep)
			})
		}
	}
	n.endpoints = slices.DeleteFunc(n.endpoints, which)
	for key := range n.receives {
		still := slices.ContainsFunc(n.endpoints, func(ep derecho.Endpoint) bool {
			return ep.Replica && ep.Channel == key.ch && slices.ContainsFunc(ep.Reads, func(s derecho.Subgroup) bool { return s.ID == key.sg })
		})
		if !still {
			delete(n.receives, key)
		}
	}
}

func (n *busNode) mode(sg derecho.SubgroupID) derecho.Mode {
	for _, ep := range n.endpoints {
		if ep.Writes.ID == sg {
			return ep.Writes.Mode
		}
	}
	return 0
}

func (n *busNode) reserve(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID, size int, deadline time.Time) (slot, error) {
	s, err := n.take(ctx, sg, ch, size, deadline)
	if err == nil {
		n.b.pass(&n.b.reserved)
	}
	return s, err
}

func (n *busNode) take(ctx context.Context, sg derecho.SubgroupID, ch derecho.ChannelID, size int, deadline time.Time) (slot, error) {
	var late <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		late = t.C
	}
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	for {
		mode := n.mode(sg)
		if n.down != nil {
			return slot{}, n.down
		}
		if n.left {
			return slot{}, derecho.ErrClosed
		}
		if mode == 0 {
			return slot{}, derecho.ErrNotSender
		}
		if n.inFlight[sg] < n.b.capacity && len(n.b.held[channelKey{sg, ch}]) == 0 {
			s := &busSlot{n: n, life: n.id, sg: sg, ch: ch, buf: make([]byte, size)}
			n.slots[sg] = append(n.slots[sg], s)
			n.inFlight[sg]++
			return slot{other: s}, nil
		}
		if mode == derecho.Unordered {
			return slot{}, derecho.ErrWouldBlock
		}
		changed := n.b.changed
		n.b.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-late:
			err = derecho.ErrTimeout
		}
		n.b.mu.Lock()
		if held := n.b.held[channelKey{sg, ch}]; err != nil && len(held) > 0 {
			full := &derecho.FullError{Held: true, Err: err}
			for at := range held {
				full.Members = append(full.Members, at.id)
			}
			err = full
		}
		if err != nil {
			return slot{}, err
		}
	}
}

func (s *busSlot) Bytes() []byte { return s.buf }

func (s *busSlot) Node() derecho.NodeID { return s.life }

func (s *busSlot) Commit(h derecho.Header, size int) bool {
	s.n.b.pass(&s.n.b.committing)
	return s.end(1, h, size)
}

func (s *busSlot) Abort() { s.end(2, derecho.Header{}, 0) }

// end reports false if the others have gone on without the node.
func (s *busSlot) end(state int, h derecho.Header, size int) bool {
	n := s.n
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	if s.state != 0 {
		panic("a slot was ended twice")
	}
	s.state, s.h, s.buf = state, h, s.buf[:size]
	if s.life != n.id || errors.Is(n.down, derecho.ErrExcluded) {
		n.b.news() // what is in the ring of before reaches nobody
		return false
	}
	for len(n.slots[s.sg]) > 0 && n.slots[s.sg][0].state != 0 {
		head := n.slots[s.sg][0]
		n.slots[s.sg] = n.slots[s.sg][1:]
		if head.state == 2 {
			head.freed()
			continue
		}
		n.b.deliver(head)
	}
	return true
}

func (s *busSlot) freed() {
	if s.life == s.n.id && !errors.Is(s.n.down, derecho.ErrExcluded) {
		s.n.inFlight[s.sg]--
	}
	s.n.b.news()
}

func (b *bus) news() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// deliver hands a message to the nodes that read the subgroup.
func (b *bus) deliver(s *busSlot) {
	m := derecho.Message{Header: s.h, Sender: s.n.id, Channel: s.ch, Epoch: 1, Seq: b.seq[s.sg], Payload: s.buf}
	b.seq[s.sg]++
	left := 0
	for _, o := range b.nodes {
		reads := !o.left && slices.ContainsFunc(o.endpoints, func(ep derecho.Endpoint) bool {
			return slices.ContainsFunc(ep.Reads, func(g derecho.Subgroup) bool { return g.ID == s.sg })
		})
		if reads && b.lose != nil && b.lose(&m, o) {
			if reads = false; o == s.n {
				o.undelivered = append(o.undelivered, m)
			}
		}
		if !reads {
			continue
		}
		left++
		o.do(func() {
			batch := [1]derecho.Message{m}
			batch[0].Payload = slices.Clone(m.Payload)
			o.h.Deliver(s.sg, batch[:])
			for i := range batch[0].Payload {
				batch[0].Payload[i] = 0xdd // the bytes end with the upcall
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if left--; left == 0 {
				s.freed()
			}
		})
	}
	if left == 0 {
		s.freed()
	}
}

func (n *busNode) MaxPayload(derecho.SubgroupID) int { return 64 << 10 }

func (n *busNode) Hold(sg derecho.SubgroupID, ch derecho.ChannelID, held bool) {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	key := channelKey{sg, ch}
	if n.b.held[key] == nil {
		n.b.held[key] = make(map[*busNode]bool)
	}
	if held {
		n.b.held[key][n] = true
	} else {
		delete(n.b.held[key], n)
		n.b.news()
	}
}

func (n *busNode) WaitAcked(ctx context.Context, sg derecho.SubgroupID) error {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	if errors.Is(n.down, derecho.ErrExcluded) {
		return n.down
	}
	n.b.waiters++
	defer func() { n.b.waiters-- }()
	n.b.news()
	for n.inFlight[sg] > 0 { // a slot that is reserved counts too
		changed := n.b.changed
		n.b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		n.b.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(n.down, derecho.ErrExcluded) {
			return n.down
		}
	}
	return nil
}

func (n *busNode) WaitHanded(ctx context.Context, _ derecho.SubgroupID) error {
	handed := make(chan struct{})
	n.b.mu.Lock()
	if errors.Is(n.down, derecho.ErrExcluded) {
		defer n.b.mu.Unlock()
		return n.down
	}
	n.do(func() { close(handed) }) // behind what is on its way
	n.b.mu.Unlock()
	select {
	case <-handed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *busNode) WaitDurable(ctx context.Context, sg derecho.SubgroupID, _ derecho.ChannelID) error {
	return n.WaitAcked(ctx, sg)
}

// Outage: the bus tells the hub first.
func (n *busNode) Outage() error { return nil }

// Unreached: nobody is dialled on a bus.
func (n *busNode) Unreached() []string { return nil }

func (n *busNode) Leave(context.Context) error {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	if n.left {
		return derecho.ErrClosed
	}
	n.remove(func(derecho.Endpoint) bool { return true })
	n.left = true
	n.b.each(func(o *busNode) { o.h.NodeLeft(n.id) })
	n.b.viewed()
	n.cond.Broadcast()
	n.b.news()
	return nil
}

// of gives the node of a participant.
func (b *bus) of(n *node) *busNode {
	if ill, is := n.p.core.(*illCore); is {
		return ill.inner
	}
	return n.p.core.(*busNode)
}

// silence tells a node's process how long another one has been silent.
func (b *bus) silence(at, of *node, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.of(of).id
	b.of(at).do(func() { b.of(at).h.Silence(id, d) })
}

// isolate begins, or with nil ends, an isolation of a node.
func (b *bus) isolate(at *node, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.of(at)
	n.down = err
	n.do(func() { n.h.Isolated(err) })
	b.news()
}

// exclude has the others go on without a node.
func (b *bus) exclude(at *node) { b.excludeFor(at, derecho.ErrExcluded) }

func (b *bus) excludeFor(at *node, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.of(at)
	err := fmt.Errorf("%w: the test says so", why)
	if own := n.undelivered; len(own) > 0 {
		n.do(func() { n.h.Undelivered(0, own) })
		n.undelivered = nil
	}
	for i := len(n.endpoints) - 1; i >= 0; i-- {
		ep := n.endpoints[i]
		n.do(func() { n.h.EndpointRemoved(ep) })
	}
	for _, o := range b.nodes {
		if o == n || o.left {
			continue
		}
		for _, ep := range o.endpoints {
			n.do(func() { n.h.EndpointRemoved(ep) })
		}
		n.do(func() { n.h.NodeLeft(o.id) })
		id, endpoints := n.id, slices.Clone(n.endpoints)
		o.do(func() { o.h.NodeFailed(id) })
		for _, ep := range endpoints {
			o.do(func() { o.h.EndpointRemoved(ep) })
		}
		o.do(func() { o.h.NodeLeft(id) })
	}
	clear(n.receives)
	clear(n.slots)
	for _, held := range b.held {
		delete(held, n)
	}
	n.left = true // nothing more is for it
	b.viewed(n.id)
	n.queue = append(n.queue, func() {
		n.h.Excluded(err)
		b.mu.Lock()
		defer b.mu.Unlock()
		n.down = err
		n.inFlight = make(map[derecho.SubgroupID]int) // what comes to its end later is of before
		b.news()
	})
	n.cond.Broadcast()
	for len(n.queue) > 0 || !n.idle {
		n.cond.Wait()
	}
}

// rejoin has an excluded node join again.
func (b *bus) rejoin(at *node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.of(at)
	n.left = false
	go n.run()
	n.id++
	id := n.id
	n.do(func() { n.h.Entered(id) })
	for _, o := range b.nodes {
		if o == n || o.left {
			continue
		}
		n.do(func() { n.h.NodeJoined(o.id) })
		for _, ep := range o.endpoints {
			n.do(func() { n.h.EndpointAdded(ep) })
		}
	}
	b.viewed()
	for i := range n.endpoints {
		n.endpoints[i].Node = id
		n.announce(n.endpoints[i])
	}
	n.do(func() {
		b.mu.Lock()
		n.down = nil
		b.mu.Unlock()
		n.h.Isolated(nil)
	})
}

// settle waits until all nodes have made all upcalls that were due.
func (b *bus) settle(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for calm := 0; calm < 3; calm++ { // an upcall may queue another one elsewhere
		for _, n := range b.nodes {
			for !n.left && (len(n.queue) > 0 || !n.idle) {
				n.cond.Wait()
			}
		}
		if b.underWay() {
			calm = 0
			b.mu.Unlock()
			runtime.Gosched()
			b.mu.Lock()
		}
	}
}

// underWay tells whether somebody has to do something, or a process, or a reader, is still to be given something of a history,
// and nobody is kept from it. Called with b.mu held.
func (b *bus) underWay() bool {
	is := b.transfers > 0
	for _, n := range b.nodes {
		if !n.left && (len(n.queue) > 0 || !n.idle) {
			return true
		}
	}
	for _, n := range b.nodes {
		if h, known := n.h.(*hub); known && !n.left {
			if h.atOnce == 0 {
				return false
			}
			for _, c := range h.channels {
				is = is || len(c.backlogs) > 0
			}
			is = is || len(h.veiled) > 0
		}
	}
	return is
}
