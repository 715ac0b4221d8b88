package derecho

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/fabric"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// startable is a fabric as it comes from its maker.
type startable interface {
	rdma.Fabric
	Self() rdma.PeerInfo
	Start()
}

// fabricMaker makes the network of a node.
type fabricMaker func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error)

func realFabric(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
	return fabric.New(fabric.Config{
		Domain: cfg.Domain, ID: id, Name: cfg.Name, Fingerprint: cfg.Fingerprint,
		TCP: cfg.Transport == TransportTCP, Listen: cfg.Listen, Peers: cfg.Peers,
	}, bell, ev)
}

// Node is a member of the top-level group. All methods may be called by any goroutine, but not from
// a Handler unless they say so.
type Node struct {
	id     NodeID
	cfg    Config
	m      *machine
	fabric startable

	// baton: whoever holds it drives the machine. Only ever tried, never waited for.
	baton sync.Mutex

	// inbox are events for the machine. Its lock is held for an append or a swap.
	inboxMu sync.Mutex
	inbox   []func(*machine)
	news    atomic.Bool // set after an append; cleared before the swap

	joined   chan struct{}
	leftCh   chan struct{}
	failedCh chan struct{}
	failure  atomic.Pointer[error]
	closing  atomic.Bool
	once     sync.Once

	// groups lets writers find their subgroup without the machine.
	groups sync.Map // SubgroupID -> *subgroup
}

// MemberInfo is a member of the group.
type MemberInfo struct {
	ID   NodeID
	Host string
	PID  int
	Name string
}

// Join makes this process a member of the domain's group, and founds it if there is none. When it
// returns h has been told of all endpoints that exist. Errors: ErrConfig, ErrPeerLost, ErrTimeout
// when ctx ends first.
func Join(ctx context.Context, cfg Config, h Handler) (*Node, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	make := cfg.fabric
	if make == nil {
		make = realFabric
	}
	bell, err := thePoller.doorbell()
	if err != nil {
		return nil, err
	}
	n := newNode(cfg, h)
	n.fabric, err = make(&n.cfg, uint64(n.id), bell, events{n})
	if err != nil {
		return nil, err
	}
	n.m.attach(n.fabric.Self(), n.fabric)
	thePoller.add(n)
	n.fabric.Start()
	select {
	case <-n.joined:
		return n, nil
	case <-n.failedCh:
		err = *n.failure.Load()
	case <-ctx.Done():
		err = fmt.Errorf("%w: joining domain %d: %w", ErrTimeout, cfg.Domain, ctx.Err())
		n.post((*machine).leave)
		select {
		case <-n.leftCh:
		case <-n.failedCh:
		case <-time.After(partingTime):
		}
	}
	n.shut()
	return nil, err
}

// partingTime is how long a node whose Join was given up may take to leave in order.
const partingTime = 2 * time.Second

func newNode(cfg Config, h Handler) *Node {
	var b [8]byte
	_, _ = rand.Read(b[:])
	n := &Node{
		id: NodeID(binary.LittleEndian.Uint64(b[:]) | 1), cfg: cfg,
		joined: make(chan struct{}), leftCh: make(chan struct{}), failedCh: make(chan struct{}),
	}
	n.m = newMachine(&n.cfg, n.id, h, n)
	return n
}

// The machine's shell.
func (n *Node) hasJoined() { close(n.joined) }
func (n *Node) hasLeft()   { close(n.leftCh) }

func (n *Node) newGroup(g *subgroup) { n.groups.Store(g.id, g) }

func (n *Node) hasFailed(err error) {
	n.failure.Store(&err)
	close(n.failedCh)
}

// shut ends the network and the polling of this node.
func (n *Node) shut() {
	n.once.Do(func() {
		n.closing.Store(true)
		_ = n.fabric.Close()
		thePoller.remove(n)
		n.baton.Lock() // no pass is under way any more; nobody else drives
		defer n.baton.Unlock()
		for _, g := range n.m.order {
			if g.log != nil {
				_ = g.log.close()
			}
		}
		n.m.logs.closeUnused()
		if !n.m.dead() { // it goes without having left: nobody may wait for it
			n.m.fail(ErrClosed)
		}
	})
}

// post gives the machine an event.
func (n *Node) post(ev func(*machine)) {
	n.inboxMu.Lock()
	n.inbox = append(n.inbox, ev)
	n.inboxMu.Unlock()
	n.news.Store(true)
	thePoller.bell.Ring()
}

// step drives the machine once, unless somebody else does.
func (n *Node) step() bool {
	if !n.baton.TryLock() {
		return false
	}
	defer n.baton.Unlock()
	work := false
	if n.news.Swap(false) {
		n.inboxMu.Lock()
		inbox := n.inbox
		n.inbox = nil
		n.inboxMu.Unlock()
		for _, ev := range inbox {
			if !n.m.dead() {
				ev(n.m)
			}
		}
		work = true
	}
	return n.m.Step(time.Time{}) || work
}

// events turns what happens on links into events of the machine.
type events struct{ n *Node }

func (e events) LinkUp(l rdma.Link) { e.n.post(func(m *machine) { m.linkUp(l) }) }
func (e events) LinkDown(l rdma.Link, died bool, err error) {
	e.n.post(func(m *machine) { m.linkDown(l, died, err) })
}
func (e events) Message(l rdma.Link, b []byte) { e.n.post(func(m *machine) { m.message(l, b) }) }
func (e events) Opened(l rdma.Link, k rdma.Key, r *rdma.Region, err error) {
	e.n.post(func(m *machine) { m.opened(l, k, r, err) })
}
func (e events) Scanned() {
	e.n.post(func(m *machine) {
		m.scanned = true
		m.decide()
	})
}
func (e events) Refused(_ rdma.PeerInfo, err error) { e.n.post(func(m *machine) { m.refused(err) }) }

// ID is the name of this node.
func (n *Node) ID() NodeID { return n.id }

// closedErr is why nothing works any more.
func (n *Node) closedErr() error {
	if p := n.failure.Load(); p != nil {
		return *p
	}
	return ErrClosed
}

// await posts an event that answers once, and waits for the answer.
func (n *Node) await(ctx context.Context, ev func(m *machine, done func(error))) error {
	if n.closing.Load() {
		return n.closedErr()
	}
	answer := make(chan error, 1)
	n.post(func(m *machine) { ev(m, func(err error) { answer <- err }) })
	select {
	case err := <-answer:
		return err
	case <-n.failedCh:
		return n.closedErr()
	case <-n.leftCh:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTimeout, ctx.Err())
	}
}

// AddEndpoint announces an endpoint of this node. When it returns, EndpointAdded was called for it
// here, and a writer can send. ep.Node is filled in.
func (n *Node) AddEndpoint(ctx context.Context, ep Endpoint) error {
	ep.Node = n.id
	if err := checkEndpoint(ep); err != nil {
		return err
	}
	for _, sg := range append([]Subgroup{ep.Writes}, ep.Reads...) {
		if sg.Mode == Logged && len(ep.Reads) > 0 {
			if err := n.m.logs.prepare(sg.ID, n.cfg.OpenLog); err != nil {
				return err
			}
		}
	}
	return n.await(ctx, func(m *machine, done func(error)) { m.addEndpoint(ep, done) })
}

const maxInfo = 32 << 10

func checkEndpoint(ep Endpoint) error {
	switch {
	case ep.ID == 0:
		return fmt.Errorf("%w: endpoint without ID", ErrConfig)
	case len(ep.Info) > maxInfo:
		return fmt.Errorf("%w: announcement of %d bytes, at most %d", ErrTooLarge, len(ep.Info), maxInfo)
	}
	return nil
}

// RemoveEndpoint withdraws an endpoint of this node. When it returns, EndpointRemoved was called
// for it here.
func (n *Node) RemoveEndpoint(ctx context.Context, id EndpointID) error {
	return n.await(ctx, func(m *machine, done func(error)) { m.removeEndpoint(id, done) })
}

// Members lists the members of the group, in the order in which they joined.
func (n *Node) Members() []MemberInfo {
	var list []MemberInfo
	_ = n.await(context.Background(), func(m *machine, done func(error)) {
		for _, p := range m.view.members {
			list = append(list, MemberInfo{ID: NodeID(p.ID), Host: p.Host, PID: int(p.PID), Name: p.Name})
		}
		done(nil)
	})
	return list
}

// Leave leaves the group: it withdraws this node's endpoints, waits until all that was sent and
// received in its subgroups is delivered everywhere, and tells the others. If ctx ends first the
// node goes at once, which the others take for a loss.
func (n *Node) Leave(ctx context.Context) error {
	if n.closing.Load() {
		return nil
	}
	n.post((*machine).leave)
	var err error
	select {
	case <-n.leftCh:
	case <-n.failedCh:
		err = n.closedErr()
	case <-ctx.Done():
		err = fmt.Errorf("%w: leaving: %w", ErrTimeout, ctx.Err())
	}
	n.shut()
	return err
}
