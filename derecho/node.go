package derecho

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/fabric"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// fabricMaker makes the network of a node.
type fabricMaker func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error)

func realFabric(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
	return fabric.New(fabric.Config{
		Domain: cfg.Domain, ID: id, Name: cfg.Name, Fingerprint: cfg.Fingerprint,
		TCP: cfg.Transport == TransportTCP, Listen: cfg.Listen, Peers: cfg.Peers,
		EachPost: cfg.Spindle.NoCoalescing,
	}, bell, ev)
}

// Node is a member of the top-level group. All methods may be called by any goroutine, but not from
// a Handler unless they say so.
//
// When the group goes on without it, because nothing was heard of it for too long, it joins again by
// itself, as a new node of the group: with another ID, and with the same endpoints.
type Node struct {
	cfg  Config
	h    Handler
	life atomic.Pointer[life] // the present incarnation

	// ctx ends when Leave is called, and the node begins no other incarnation.
	ctx    context.Context
	cancel context.CancelFunc
	// endpointsMu guards endpoints: full while somebody has it, so that who waits for it can give up. It is held while they
	// are looked at or changed, and while an incarnation announces them again, which does not wait for logs of others: never
	// while one endpoint waits for the group.
	endpointsMu chan struct{}
	endpoints   endpointList // that AddEndpoint has announced, in that order
	rejoining   rejoining
	// unusable are the subgroups of which the layer above was told that endpoints are refused, and not yet that none is
	// any more. Guarded by endpointsMu.
	unusable []SubgroupID

	outlets outlets

	in      atomic.Bool           // some incarnation has joined; stored by the poller. Before that Join is under way, and tells what fails
	failure atomic.Pointer[error] // why the node can not go on
	outage  atomic.Pointer[error] // why nothing can be sent for now
}

// MemberInfo is a member of the group.
type MemberInfo struct {
	ID   NodeID
	Host string
	PID  int
	Name string
}

// String is the name and where it runs, or the number of one that is not known.
func (i MemberInfo) String() string {
	if i.Name == "" && i.PID == 0 {
		return "node " + i.ID.String()
	}
	return fmt.Sprintf("%s (pid %d on %s)", i.Name, i.PID, i.Host)
}

// clockStart is what the machines count their time from: the zero of the host's monotonic clock, so that the processes
// of a host have one clock (see agreement.beat) and rdma.Alarm knows it too.
var clockStart = hostStart()

func sinceStart() time.Duration { return time.Since(clockStart) }

func hostStart() time.Time {
	now := time.Now() // first: what is due when the alarm goes off is not before its time on this clock
	var up unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &up)
	return now.Add(-time.Duration(up.Nano()))
}

// partingTime is how long a node whose Join was given up may take to leave in order.
const partingTime = 2 * time.Second

// Join makes this process a member of the domain's group, and founds it if there is none. When it returns h has been
// told of all endpoints that exist. Errors: ErrConfig, ErrPeerLost, ErrTimeout when ctx ends first; that is
// ErrNoMajority, too, if the members that are left can let nobody in. h is told so while Join waits (Handler.Isolated),
// and that it is over when Join fails. Nothing else was told then, and nothing follows: another Join may have the same
// h.
func Join(ctx context.Context, cfg Config, h Handler) (*Node, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if cfg.fabric == nil {
		cfg.fabric = realFabric
	}
	cfg.shortenSlices()       // before threads are started, which inherit them,
	defer cfg.shortenSlices() // and those that were being started
	n := &Node{cfg: cfg, h: h, endpointsMu: make(chan struct{}, 1), endpoints: newEndpointList()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.endpointsMu <- struct{}{} // an incarnation that is excluded at once waits until this one was looked at
	l, err := n.begin(newID(), nil)
	if err != nil {
		return nil, err
	}
	n.life.Store(l)
	n.unlockEndpoints()
	for {
		l := n.life.Load()
		select {
		case <-l.joined:
			return n, nil
		case <-l.over:
			if n.in.Load() { // and ended at once
				return n, nil
			}
			if err = *l.err.Load(); !errors.Is(err, ErrExcluded) {
				n.abandon()
				return nil, err
			}
			// The group had given it up before it was a member; the next incarnation tries again.
			if !n.next(ctx, l) {
				n.abandon()
				return nil, fmt.Errorf("%w: joining domain %d: %w", ErrTimeout, cfg.Domain, ctx.Err())
			}
		case <-ctx.Done():
			err = fmt.Errorf("%w: joining domain %d: %w", ErrTimeout, cfg.Domain, ctx.Err())
			if p := l.waiting.Load(); p != nil {
				err = fmt.Errorf("%w; %w", err, *p)
			}
			gone := make(chan bool, 1)
			l.post(func(*machine) { gone <- n.giveUp(l) })
			parting := time.After(partingTime)
			select {
			case is := <-gone:
				if !is {
					return n, nil // it was let in just before
				}
				select {
				case <-l.over:
				case <-parting:
				}
			case <-l.over:
			case <-parting:
			}
			n.abandon()
			return nil, err
		}
	}
}

// giveUp has an incarnation go that was not let in yet; the layer above is told no more of it. It reports false if it
// was let in. On the polling goroutine.
func (n *Node) giveUp(l *life) bool {
	if n.in.Load() {
		return false
	}
	n.cancel() // before it may be excluded: no other begins
	n.calm(l)  // first: nobody is told when it is let in while it goes
	l.m.h = deaf{}
	l.m.leave()
	return true
}

// abandon ends a node that Join does not return.
func (n *Node) abandon() {
	n.shut()
	n.calm(n.life.Load()) // the poller has let go of the node
}

// calm tells the layer above that what it was told while an incarnation waited is over.
func (n *Node) calm(l *life) {
	waited, out := l.waiting.Swap(nil), n.outage.Swap(nil)
	if waited != nil || out != nil {
		n.h.Isolated(nil)
	}
}

// next waits until another incarnation has taken the place of one that is over.
func (n *Node) next(ctx context.Context, before *life) bool {
	for n.life.Load() == before {
		select {
		case <-time.After(time.Millisecond): // nobody tells; it is at most a few tens of them
		case <-ctx.Done():
			return false
		case <-n.ctx.Done():
			return false
		}
	}
	return true
}

// newID draws the name of a process; the low bits count its incarnations.
func newID() NodeID {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return NodeID(binary.LittleEndian.Uint64(b[:])&^incarnations | 1)
}

// shut ends the present incarnation, and lets no other begin.
func (n *Node) shut() {
	n.cancel()
	n.endpointsMu <- struct{}{} // behind a rejoin that is under way, which ends at once
	defer n.unlockEndpoints()
	n.life.Load().end()
}

// ID is the name of this node in the group. It is another one after the group went on without it and it
// joined again (Handler.Entered).
func (n *Node) ID() NodeID { return n.life.Load().id }

// Outage is why nothing can be sent for now, nil if it can: operations fail with it. Handler is told a moment later
// that it began, and after it has ended. It takes no lock.
func (n *Node) Outage() error {
	if p := n.outage.Load(); p != nil {
		return *p
	}
	return nil
}

// ended is why nothing works any more.
func (n *Node) ended() error {
	if p := n.failure.Load(); p != nil {
		return *p
	}
	if n.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// down is why nothing works any more, or for now.
func (n *Node) down() error {
	if err := n.ended(); err != nil {
		return err
	}
	if p := n.outage.Load(); p != nil {
		if w := n.life.Load().waiting.Load(); w != nil { // it is excluded, and can not join again
			return fmt.Errorf("%w; %w", *p, *w)
		}
		return *p
	}
	return nil
}

func timedOut(ctx context.Context) error { return fmt.Errorf("%w: %w", ErrTimeout, ctx.Err()) }

// timedOut says also why nothing works, if that is so.
func (n *Node) timedOut(ctx context.Context) error {
	if err := n.down(); err != nil {
		return fmt.Errorf("%w; %w", timedOut(ctx), err)
	}
	return timedOut(ctx)
}

// await posts an event to the present incarnation and waits for its answer.
func (n *Node) await(ctx context.Context, ev func(m *machine, done func(error))) error {
	if err := n.ended(); err != nil {
		return err
	}
	return n.life.Load().await(ctx, ev)
}

// lockEndpoints waits until nobody else has endpointsMu.
func (n *Node) lockEndpoints(ctx context.Context) error {
	if err := n.ended(); err != nil {
		return err
	}
	select {
	case n.endpointsMu <- struct{}{}:
		return nil
	case <-n.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return n.timedOut(ctx)
	}
}

func (n *Node) unlockEndpoints() { <-n.endpointsMu }

// AddEndpoint announces an endpoint of this node. When it returns, EndpointAdded was called for it
// here, a writer can send, and what other members write from then on reaches a reader. ep.Node is filled in.
func (n *Node) AddEndpoint(ctx context.Context, ep Endpoint) error {
	if err := checkEndpoint(ep); err != nil {
		return err
	}
	for {
		if err := n.lockEndpoints(ctx); err != nil {
			return err
		}
		l := n.life.Load()
		n.unlockEndpoints()
		err := l.add(ctx, ep)
		if err == nil {
			err = n.note(ctx, l, ep)
		}
		if errors.Is(err, ErrTimeout) {
			err = l.giveUp(ep, err)
		}
		if !errors.Is(err, ErrExcluded) {
			return err
		}
		if !n.next(ctx, l) {
			return fmt.Errorf("%w; %w", ErrTimeout, err)
		}
	}
}

// note has an endpoint that was announced by an incarnation announced by those that follow. ErrExcluded: another one is
// there already, and has not announced it.
func (n *Node) note(ctx context.Context, l *life, ep Endpoint) error {
	if err := n.lockEndpoints(ctx); err != nil {
		return err
	}
	defer n.unlockEndpoints()
	if n.life.Load() != l {
		return ErrExcluded
	}
	ep.Node = 0 // each incarnation has another
	n.endpoints.insert(&ep)
	return nil
}

// MaxInfo bounds Endpoint.Info, in bytes.
const MaxInfo = 32 << 10

func checkEndpoint(ep Endpoint) error {
	switch {
	case ep.ID == 0:
		return fmt.Errorf("%w: endpoint without ID", ErrConfig)
	case len(ep.Info) > MaxInfo:
		return fmt.Errorf("%w: announcement of %d bytes, at most %d", ErrTooLarge, len(ep.Info), MaxInfo)
	case ep.readsControl():
		return fmt.Errorf("%w: endpoint %d reads subgroup 0, which is the group's own", ErrConfig, ep.ID)
	}
	return nil
}

// ChangeEndpoint gives an endpoint of this node another Info. When it returns, EndpointChanged was called for it here or, if it
// writes, comes at every member before what this node sends from then on. It does not wait for what was sent before, and may be
// held up by a Slot that is not committed, as long as there are few changes that do. If ctx ends first the change is still
// made, as soon as the group can agree on it; unless the node was joining again all the time, and it had not begun.
func (n *Node) ChangeEndpoint(ctx context.Context, id EndpointID, info []byte) error {
	if err := checkEndpoint(Endpoint{ID: id, Info: info}); err != nil {
		return err
	}
	for {
		if err := n.lockEndpoints(ctx); err != nil {
			return err
		}
		ep := n.endpoints.find(0, id)
		if ep == nil {
			n.unlockEndpoints()
			return fmt.Errorf("%w: no endpoint %d", ErrConfig, id)
		}
		ep.Info = info // an incarnation that begins meanwhile announces it so
		l := n.life.Load()
		_, refused := l.refused[id] // perhaps nobody knows it, and it is announced as it is then
		n.unlockEndpoints()
		err := l.await(ctx, func(m *machine, done func(error)) {
			if refused && m.own[id] == nil {
				done(nil)
				return
			}
			m.changeEndpoint(id, info, done)
		})
		if !errors.Is(err, ErrExcluded) {
			return err
		}
		if !n.next(ctx, l) {
			return fmt.Errorf("%w; %w", ErrTimeout, err)
		}
	}
}

// Upcall has f called like a Handler, and waits for it. An incarnation that is excluded may end before that: then the error
// is ErrExcluded, f was not called, and all endpoints are added anew. While the node leaves it works until it has left: states
// that it owes may need it.
func (n *Node) Upcall(ctx context.Context, f func()) error {
	return n.life.Load().await(ctx, func(_ *machine, done func(error)) {
		f()
		done(nil)
	})
}

// RemoveEndpoint withdraws an endpoint of this node. When it returns, EndpointRemoved was called for it here. While the
// group goes on without this node there is nobody to withdraw it from, as it went with all others: it is not announced
// again.
func (n *Node) RemoveEndpoint(ctx context.Context, id EndpointID) error {
	for !n.rejoining.leaveOut(id) {
		if err := n.ended(); err != nil {
			return err
		}
		l := n.life.Load()
		select {
		case n.endpointsMu <- struct{}{}:
			if ep := n.endpoints.find(0, id); ep != nil {
				n.endpoints.delete(ep)
			}
			l := n.life.Load()
			_, refused := l.refused[id]
			delete(l.refused, id)
			n.unlockEndpoints()
			return l.remove(ctx, id, refused)
		case <-l.over: // perhaps it rejoins now, which has the lock until it has announced all
		case <-n.ctx.Done():
			return ErrClosed
		case <-ctx.Done():
			return n.timedOut(ctx)
		}
	}
	return n.life.Load().remove(ctx, id, true)
}

// remove withdraws an endpoint in this incarnation; if it is left out, or was refused, that one need not have announced
// it, and will not.
func (l *life) remove(ctx context.Context, id EndpointID, leftOut bool) error {
	if err := l.n.ended(); err != nil {
		return err
	}
	err := l.await(ctx, func(m *machine, done func(error)) {
		if leftOut && m.own[id] == nil {
			done(nil)
			return
		}
		m.removeEndpoint(id, done)
	})
	if errors.Is(err, ErrExcluded) { // it went with all others, and is not announced again
		return nil
	}
	return err
}

// Members lists the members of the group, in the order in which they joined.
func (n *Node) Members() []MemberInfo {
	var list []MemberInfo
	_ = n.await(context.Background(), func(m *machine, done func(error)) {
		for _, p := range m.view.members {
			list = append(list, memberInfo(p))
		}
		done(nil)
	})
	return list
}

// Unreached lists the Config.Peers to which this node has no link, each with the reason. It may be called from a Handler.
func (n *Node) Unreached() []string {
	if f, ok := n.life.Load().fabric.(interface{ Unreached() []string }); ok {
		return f.Unreached()
	}
	return nil // nobody is configured in a simulated network
}

// Leave leaves the group: it withdraws this node's endpoints, waits until all that was sent and
// received in its subgroups is delivered everywhere, and tells the others. If ctx ends first the
// node goes at once, which the others take for a loss.
func (n *Node) Leave(ctx context.Context) error {
	if n.ctx.Err() != nil {
		return nil
	}
	n.cancel()
	l := n.life.Load()
	l.post((*machine).leave)
	var err error
	select {
	case <-l.over:
		if err = *l.err.Load(); errors.Is(err, ErrClosed) || errors.Is(err, ErrExcluded) {
			err = nil
		}
	case <-ctx.Done():
		err = fmt.Errorf("%w: leaving: %w", ErrTimeout, ctx.Err())
	}
	n.shut()
	return err
}
