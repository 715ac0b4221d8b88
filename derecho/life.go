package derecho

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// startable is a fabric as it comes from its maker.
type startable interface {
	rdma.Fabric
	Self() rdma.PeerInfo
	Start()
}

// life is one incarnation of a node: from the start of its machine until it has left, or failed, or the
// group went on without it. Then the node begins another.
type life struct {
	n      *Node
	id     NodeID
	m      *machine
	fabric startable

	// baton: whoever holds it drives the machine. Only ever tried, but by end, when nobody polls any more.
	baton sync.Mutex

	// inbox are events for the machine. Its lock is held for an append or a swap.
	inboxMu sync.Mutex
	inbox   []func(*machine)
	news    atomic.Bool // set after an append; cleared before the swap
	// due is when the machine has to be driven though nothing happened, in time since clockStart; 0
	// for never. Stored by whoever drives it.
	due atomic.Int64

	// groups lets writers find their subgroup without the machine.
	groups atomic.Pointer[map[SubgroupID]*subgroup] // replaced, by whoever drives

	// recovering tells why nothing can be sent on some channels; stored by the poller.
	recovering atomic.Pointer[map[keptChannel]string]

	// waiting tells why the group does not let this incarnation in; stored by the poller, nil if nothing is known of
	// that, and again once it has joined.
	waiting atomic.Pointer[error]

	// exclusion tells why nothing can be sent until all endpoints are announced in this incarnation; nil when they are,
	// and in the first one. Of whoever drives.
	exclusion *error

	// refused are the endpoints of the application that this incarnation has not announced, and why: refused.go.
	// Guarded by Node.endpointsMu.
	refused map[EndpointID]refusal

	former []rdma.PeerInfo // whom the incarnation before knew (others)

	joined chan struct{} // closed when the node is a member
	over   chan struct{} // closed when the life is over, for the reason in err
	err    atomic.Pointer[error]
	once   sync.Once
}

// begin makes an incarnation, in the place of one that is over if there was one, and lets it look for the group.
func (n *Node) begin(id NodeID, before *life) (*life, error) {
	bell, err := thePoller.doorbell()
	if err != nil {
		return nil, err
	}
	l := &life{n: n, id: id, joined: make(chan struct{}), over: make(chan struct{})}
	l.m = newMachine(&n.cfg, id, n.h, l)
	if before != nil {
		l.exclusion = before.err.Load()
		l.m.succeeds(before.m)
	}
	l.fabric, err = n.cfg.fabric(&n.cfg, uint64(id), bell, poster{l.post, thePoller.rouse})
	if err != nil {
		return nil, err
	}
	l.m.attach(l.fabric.Self(), l.fabric)
	thePoller.add(l)
	l.fabric.Start()
	if before != nil {
		if l.former = before.others(); len(l.former) > 0 {
			l.background(l.seek)
		}
	}
	return l, nil
}

// others are the members of other hosts of the last group that the node was in: where it may be heard of. Called when the life is
// over.
func (l *life) others() (list []rdma.PeerInfo) {
	if len(l.m.view.members) == 0 {
		return l.former // it never joined
	}
	for _, p := range l.m.view.members {
		if p.ID != uint64(l.id) && !rdma.Aliased(p, l.fabric.Self()) { // those of this host are found at their slots
			list = append(list, p)
		}
	}
	return list
}

// seek dials those who were members before, until the node has joined: whom it was configured to dial may be gone.
func (l *life) seek() {
	for wait := seekEvery; ; wait = min(2*wait, 16*seekEvery) {
		for _, p := range l.former {
			l.fabric.Dial(p)
		}
		select {
		case <-l.joined:
			return
		case <-l.over:
			return
		case <-time.After(wait):
		}
	}
}

// seekEvery is after how long seek dials once more; then twice as long, and so on.
const seekEvery = 500 * time.Millisecond

// The machine's shell. All of it is called on the goroutine that drives the machine.

func (l *life) hasJoined() {
	l.n.in.Store(true)
	close(l.joined)
}

func (l *life) hasLeft() { l.finish(ErrClosed) }

func (l *life) hasFailed(err error) {
	if !l.n.in.Load() {
		l.m.h = deaf{} // Join returns the error
	}
	l.n.failure.Store(&err)
	l.finish(err)
	// The others go on when they hear no more of this one. That is so at once when its links have ended; by its silence it
	// would take them leases, ten of them if it failed before it had opened its row of a view.
	go pprof.Do(context.Background(), pprof.Labels("dds", "failed"), func(context.Context) { l.end() })
}

func (l *life) isExcluded(err error) { l.n.outage.Store(&err) }

// wasExcluded: another incarnation takes the place of this one.
func (l *life) wasExcluded(err error) {
	l.n.rejoining.begin() // first: who sees that this one is over knows why
	l.finish(err)
	go pprof.Do(context.Background(), pprof.Labels("dds", "rejoin"), func(context.Context) { l.n.rejoin(l) })
}

// isIsolated: before all endpoints are announced again the node can not send, also if it is not isolated any more; hasAnnounced
// tells the layer above.
func (l *life) isIsolated(err error) {
	outage := l.exclusion
	if err != nil {
		outage = &err
	}
	l.n.outage.Store(outage)
	if err != nil || outage == nil {
		l.m.h.Isolated(err)
	}
}

// hasAnnounced: all endpoints are announced again. If the node is isolated by then, the outage ends with that.
func (l *life) hasAnnounced() {
	l.exclusion = nil
	if l.m.cutOff == "" {
		l.isIsolated(nil)
	}
}

// isWaiting: that it is over is told to the layer above here if the node joins for the first time, and else by hasAnnounced.
func (l *life) isWaiting(err error) {
	if err != nil {
		l.waiting.Store(&err)
		l.m.h.Isolated(err)
		return
	}
	l.waiting.Store(nil)
	if l.exclusion == nil {
		l.m.h.Isolated(nil)
	}
}

func (l *life) isRecovering(waiting map[keptChannel]string) { l.recovering.Store(&waiting) }

func (l *life) newGroup(g *subgroup) {
	groups := map[SubgroupID]*subgroup{g.id: g}
	if before := l.groups.Load(); before != nil {
		maps.Copy(groups, *before)
	}
	l.groups.Store(&groups)
}

func (l *life) background(work func()) {
	go pprof.Do(context.Background(), pprof.Labels("dds", "state"), func(context.Context) { work() })
}

func (l *life) startLogger(log *logger) {
	go pprof.Do(context.Background(), pprof.Labels("dds", "logger"), func(context.Context) { log.run() })
}

func (l *life) finish(err error) {
	l.err.Store(&err)
	close(l.over)
}

// post gives the machine an event.
func (l *life) post(ev func(*machine)) {
	l.inboxMu.Lock()
	l.inbox = append(l.inbox, ev)
	l.inboxMu.Unlock()
	l.news.Store(true)
	thePoller.bell.Ring()
}

// step drives the machine once, and reports whether it found work, or somebody else drives it: whoever sleeps after
// this must not leave news behind that the other one did not see. Unless it is thorough it may leave some, too
// (machine.Glance).
func (l *life) step(now time.Duration, thorough bool) bool {
	if !l.baton.TryLock() {
		return true
	}
	defer l.baton.Unlock()
	work := false
	if l.news.Load() && l.news.Swap(false) {
		l.inboxMu.Lock()
		inbox := l.inbox
		l.inbox = nil
		l.inboxMu.Unlock()
		for _, ev := range inbox {
			l.m.handle(ev)
		}
		work = true
	}
	now = max(now, l.m.now) // somebody may have read the clock later, and come first
	if thorough {
		work = l.m.Step(now) || work
	} else {
		work = l.m.Glance(now) || work
	}
	l.setDue()
	return work
}

// beat is step for a node to which nothing happened but that it is due. It reports whether a step has to
// follow.
func (l *life) beat() bool {
	if !l.baton.TryLock() {
		return true
	}
	defer l.baton.Unlock()
	step := l.m.Beat(sinceStart())
	l.setDue()
	return step
}

// setDue stores only what changes: it is a locked instruction.
func (l *life) setDue() {
	if due := int64(l.m.due()); due != l.due.Load() {
		l.due.Store(due)
	}
}

// end ends the polling, the network and the logs of this incarnation, and waits for that.
func (l *life) end() {
	l.once.Do(func() {
		thePoller.remove(l)
		l.baton.Lock() // no pass is under way any more; nobody else drives
		defer l.baton.Unlock()
		// Before the links close: what they say then of the others is no sign of their death.
		if !l.m.dead() { // it goes without having left: nobody may wait for it
			l.m.fail(ErrClosed)
		}
		_ = l.fabric.Close()
		var closing sync.WaitGroup // one disk that does not answer does not hold up the others
		for _, g := range l.m.order {
			if g.log != nil {
				closing.Go(func() { _ = g.log.close(l.n.cfg.LogTimeout) })
			}
		}
		closing.Go(func() { l.m.logs.closeUnused(l.n.cfg.LogTimeout) })
		closing.Wait()
	})
}

// await posts an event that answers once, and waits for the answer.
func (l *life) await(ctx context.Context, ev func(m *machine, done func(error))) error {
	answer := make(chan error, 1)
	l.post(func(m *machine) { ev(m, func(err error) { answer <- err }) })
	select {
	case err := <-answer:
		return err
	case <-l.over:
		return *l.err.Load()
	case <-ctx.Done():
		return timedOut(ctx)
	}
}

// add announces an endpoint in this incarnation.
func (l *life) add(ctx context.Context, ep Endpoint) error {
	ep.Node = l.id
	if err := l.openLog(ctx, &ep); err != nil {
		return err
	}
	return l.await(ctx, func(m *machine, done func(error)) { m.addEndpoint(ep, done) })
}

// openLog opens the log that an endpoint may need, or goes on to wait for one that is being opened. If the wait ends
// first the log is open when its disk answers, for whoever needs it then.
func (l *life) openLog(ctx context.Context, ep *Endpoint) error {
	o := l.m.logs.prepare(ep, l.n.cfg.OpenLog, func(open func()) {
		go pprof.Do(context.Background(), pprof.Labels("dds", "log"), func(context.Context) { open() })
	})
	if o == nil {
		return nil
	}
	select {
	case <-o.done:
		select {
		case <-l.over: // which closes its logs
			return *l.err.Load()
		default:
			return o.err
		}
	case <-l.over:
		return *l.err.Load()
	case <-l.n.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w: its log is not open yet", timedOut(ctx))
	}
}

// addAll announces endpoints, all at once, so that they are a few epochs for the group and not one each. It reports
// false if this was not to be: the incarnation has ended, or an endpoint could not be announced. Those whose log can
// not be opened any more, and those that the group refuses because of their logs, are left out until that is over
// (refused.go); if another node has the log, until it gives it up.
func (l *life) addAll(ctx context.Context, all []Endpoint) bool {
	eps, refused := l.reopen(all)
	answers := make(chan announced, len(eps))
	l.post(func(m *machine) {
		left := slices.DeleteFunc(eps, func(ep Endpoint) bool {
			out := l.n.rejoining.leavesOut(ep.ID)
			if out {
				answers <- announced{ep, nil}
			}
			return out
		})
		m.addEndpoints(left, true, func(ep Endpoint, err error) {
			if errors.Is(err, ErrClosed) && l.n.rejoining.leavesOut(ep.ID) { // it was withdrawn meanwhile
				err = nil
			}
			answers <- announced{ep, err}
		})
	})
	for range cap(answers) {
		select {
		case a := <-answers:
			if errors.Is(a.err, ErrHistory) { // what was stored by the others meanwhile, or before they met this node
				refused[a.ep.ID] = a.err
			} else if a.err != nil {
				return false
			}
		case <-l.over:
			return false
		case <-ctx.Done():
			return false
		}
	}
	l.refused = make(map[EndpointID]refusal, len(refused))
	l.n.leaveOut(l, refused)
	l.n.tellAccepted(l)
	if len(refused) > 0 {
		go pprof.Do(context.Background(), pprof.Labels("dds", "refused"), func(context.Context) { l.n.insist(l, refused) })
	}
	return true
}

// giveUp withdraws an endpoint that could not be announced in time, and says what it waited for.
func (l *life) giveUp(ep Endpoint, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), partingTime)
	defer cancel()
	why := ""
	if l.await(ctx, func(m *machine, done func(error)) {
		for k, text := range m.cat.missingLogs() {
			if k.channel == ep.Channel && ep.names(k.subgroup) {
				why = text
			}
		}
		m.removeEndpoint(ep.ID, func(error) {})
		done(nil)
	}) != nil || why == "" {
		return err // without an answer it may be stored yet
	}
	return fmt.Errorf("%w; %w: %s", err, ErrRecovering, why)
}

// rejoinDelay is how long a node waits before it tries again to make a network: its own address may
// still be taken by the incarnation before.
const rejoinDelay = 50 * time.Millisecond

// rejoin begins another incarnation and announces in it what the application has.
func (n *Node) rejoin(before *life) {
	before.end()
	n.endpointsMu <- struct{}{}
	defer func() {
		for _, id := range n.rejoining.end() {
			if ep := n.endpoints.find(0, id); ep != nil {
				n.endpoints.delete(ep)
			}
		}
		n.unlockEndpoints()
	}()
	id := before.id
	for {
		if n.ctx.Err() != nil {
			return // Join was given up, or the node has left: nobody would end another incarnation
		}
		id++ // the incarnation is in the low bits
		l, err := n.begin(id, before)
		if err != nil {
			select {
			case <-time.After(rejoinDelay):
				continue
			case <-n.ctx.Done():
				return
			}
		}
		n.resume(l) // if it is excluded again, that begins a rejoin of its own
		return
	}
}

// rejoining are the incarnations that are to take the place of one that was excluded, and have not announced all yet,
// and what is withdrawn meanwhile.
type rejoining struct {
	mu  sync.Mutex // held for a few instructions
	n   int
	out []EndpointID
}

func (r *rejoining) begin() {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
}

// end returns what was withdrawn.
func (r *rejoining) end() []EndpointID {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.out
	r.n, r.out = r.n-1, nil
	return out
}

// leaveOut has an endpoint not announced again; false if the node does not rejoin.
func (r *rejoining) leaveOut(id EndpointID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return false
	}
	r.out = append(r.out, id)
	return true
}

// leavesOut reports whether it is one of these.
func (r *rejoining) leavesOut(id EndpointID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.out, id)
}

// resume puts an incarnation in the place of another: it announces what the application has, and then says
// that the outage is over.
func (n *Node) resume(l *life) {
	n.life.Store(l)
	n.outlets.forget()
	if n.ctx.Err() != nil { // Leave may have looked at the one before
		l.post((*machine).leave)
	}
	select {
	case <-l.joined:
	case <-l.over:
		return
	case <-n.ctx.Done():
		return
	}
	if l.addAll(n.ctx, n.endpoints.values()) {
		l.post(func(*machine) { l.hasAnnounced() })
	}
}
