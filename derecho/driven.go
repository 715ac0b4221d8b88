package derecho

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
)

// Driven is a node without goroutine, clock and network: the caller hands it events, drives it, and
// gives it a fabric. It is the same machine that runs in a Node, for simulators (package cluster). One
// goroutine uses it.
type Driven struct {
	m   *machine
	cb  Callbacks
	row Row // of Rows, reused
	// recovering tells which channels wait for which logs.
	recovering map[keptChannel]string
}

// Callbacks are what a Driven tells the caller about itself. All but Yield must be set.
type Callbacks struct {
	Joined   func()
	Left     func()
	Failed   func(error)
	Excluded func(error) // the machine does nothing more; a new one may take its place
	// Post queues an event for the machine: the caller runs it before some later Step.
	Post func(event func())
	// Background says that there is work to do that a Node does on a goroutine of its own; the caller does it
	// when it likes.
	Background func(work func())
	// Log says that there is something for a log to write; the caller calls write when it likes.
	Log func(write func())
	// Stored is called after every store into a row.
	Stored func()
	// Yield may be nil. It is called where a node has loaded counters and has not acted on them yet: a
	// simulator lets others go on there.
	Yield func()
	// Trace is told of what the machine decides.
	Trace func(Event)
}

// Event is something that a machine decided; see protocol invariants.
type Event struct {
	Kind     EventKind
	Group    uint64
	Subgroup SubgroupID
	Epoch    uint32
	Members  []NodeID // Installed: of the epoch; Decided: who stays
	// Installed: those that send, and those that receive.
	Senders, Receivers []NodeID
	Ends               []uint64 // Decided, Trimmed, Reported: by sender rank
	// Executed: who sent the command, its place in the order, and the command, which the event lends.
	From    NodeID
	Seq     uint64
	Command []byte
	// Installed: the channels whose state each member keeps, and the logs that have each channel.
	Kept map[NodeID][]ChannelID
	Logs []EventLogs
	// Installed: the channels that the node's log gets in the epoch.
	Stores []ChannelID
	// Drained: of a Logged epoch, all of it is in the node's log, which was not given up.
	Stored bool
}

// EventLogs are the logs that have a channel in an epoch. If it is Fresh, nobody kept it before, and it goes on with
// what they hold.
type EventLogs struct {
	Channel  ChannelID
	Logs     []uint64
	Openings []uint32 // of each log: how often it had been opened
	Fresh    bool
}

// EventKind is what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	Installed EventKind = iota + 1 // this node is a member of a new epoch
	Wedged                         // it takes no more part in a view
	Decided                        // it knows how the view ends
	Trimmed                        // it knows where a sender that failed ends
	Drained                        // it has delivered the whole epoch
	Reported                       // it told how much it has of senders that failed
	Executed                       // it carries out a command of the control subgroup
)

func (k EventKind) String() string {
	return [...]string{"?", "installed", "wedged", "decided", "trimmed", "drained", "reported", "executed"}[k]
}

// NewDriven makes a node that is driven by the caller.
func NewDriven(cfg Config, id NodeID, h Handler, cb Callbacks) (*Driven, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	d := &Driven{cb: cb}
	d.m = newMachine(&cfg, id, h, d)
	d.m.stored, d.m.trace, d.m.yield = cb.Stored, cb.Trace, cb.Yield
	return d, nil
}

// Announced are the endpoints that a command announces (Executed), none if it is another.
func (e *Event) Announced() []Endpoint {
	if len(e.Command) == 0 || e.Command[0] != cmdAdd {
		return nil
	}
	r := &reader{b: e.Command[1:]}
	eps := r.endpoints(e.From)
	if r.bad {
		return nil
	}
	return eps
}

// Succeeds says that the node takes the place of one that was excluded. It comes before Attach.
func (d *Driven) Succeeds(before *Driven) { d.m.succeeds(before.m) }

// Outcast reports whether the node is in no group, and founds none since one went on without it.
func (d *Driven) Outcast() bool { return d.m.outcast }

// ControlRing sets the bytes of the rings of the control subgroup, a power of two of at least rdma.CellAlign, the same
// at all nodes. It comes before Attach. Those of a Node are so large that nobody waits for space in them, and a
// simulator that makes thousands of groups clears them again and again.
func (d *Driven) ControlRing(bytes int) { d.m.controlRing = bytes }

// Attach gives the node its network. The caller then starts it.
func (d *Driven) Attach(self rdma.PeerInfo, f rdma.Fabric) { d.m.attach(self, f) }

// The machine's shell.
func (d *Driven) hasJoined()                            { d.cb.Joined() }
func (d *Driven) hasLeft()                              { d.cb.Left() }
func (d *Driven) hasFailed(err error)                   { d.cb.Failed(err) }
func (d *Driven) isExcluded(error)                      {} // nobody sends while it is driven
func (d *Driven) wasExcluded(err error)                 { d.cb.Excluded(err) }
func (d *Driven) isIsolated(err error)                  { d.m.h.Isolated(err) }
func (d *Driven) isWaiting(err error)                   { d.m.h.Isolated(err) }
func (d *Driven) isRecovering(w map[keptChannel]string) { d.recovering = w }
func (d *Driven) newGroup(*subgroup)                    {}
func (d *Driven) post(ev func(*machine))                { d.cb.Post(func() { d.m.handle(ev) }) }
func (d *Driven) background(work func())                { d.cb.Background(work) }
func (d *Driven) startLogger(l *logger)                 { l.schedule = func() { d.cb.Log(l.writePending) } }

// Events are for the fabric.
func (d *Driven) Events() rdma.Events { return poster{d.post, func() {}} }

// Step makes one pass and reports whether it found work. now never goes back.
func (d *Driven) Step(now time.Duration) bool { return d.m.Step(now) }

// Due is when Step has to be called again though nothing happened; 0 for never.
func (d *Driven) Due() time.Duration { return d.m.due() }

// AddEndpoint is Node.AddEndpoint; done is called with its result.
func (d *Driven) AddEndpoint(ep Endpoint, done func(error)) {
	d.AddEndpoints([]Endpoint{ep}, func(_ Endpoint, err error) { done(err) })
}

// AddEndpoints announces the endpoints of a process that has joined again, all at once; done is called with the result of each.
func (d *Driven) AddEndpoints(eps []Endpoint, done func(Endpoint, error)) {
	var good []Endpoint
	for _, ep := range eps {
		ep.Node = d.m.id
		err := checkEndpoint(ep)
		if err == nil {
			if o := d.m.logs.prepare(&ep, d.m.cfg.OpenLog, func(open func()) { open() }); o != nil {
				err = o.err
			}
		}
		if err != nil {
			done(ep, err)
			continue
		}
		good = append(good, ep)
	}
	d.m.addEndpoints(good, false, done)
}

// ChangeEndpoint is Node.ChangeEndpoint; done is called with its result.
func (d *Driven) ChangeEndpoint(id EndpointID, info []byte, done func(error)) {
	d.m.changeEndpoint(id, info, done)
}

// RemoveEndpoint is Node.RemoveEndpoint; done is called with its result.
func (d *Driven) RemoveEndpoint(id EndpointID, done func(error)) { d.m.removeEndpoint(id, done) }

// Leave begins to leave; Left follows.
func (d *Driven) Leave() { d.m.leave() }

// Send sends a message if there is room, and returns the epoch that it went to. ErrWouldBlock if there
// is none, ErrNotSender if the node has no writer there.
func (d *Driven) Send(sg SubgroupID, ch ChannelID, h Header, payload []byte) (epoch uint32, err error) {
	g := d.m.groups[sg]
	if g == nil || g.sending.Load() == nil {
		return 0, fmt.Errorf("%w: subgroup %d", ErrNotSender, sg)
	}
	e := g.sending.Load()
	r, err := e.tryReserve(ch, len(payload))
	if errors.Is(err, smc.ErrFull) {
		return 0, ErrWouldBlock
	}
	if errors.Is(err, ErrRecovering) {
		return 0, fmt.Errorf("%w: subgroup %d", ErrNotSender, sg)
	}
	if errors.Is(err, smc.ErrTooLarge) && len(payload) <= smc.MaxPayload(d.m.cfg.MaxRing) {
		g.grow(len(payload))
		return 0, ErrWouldBlock
	}
	if err != nil {
		return 0, err
	}
	copy(r.Bytes(), payload)
	Slot{e, r}.Commit(h, len(payload))
	return e.desc.Epoch, nil
}

// Confirmation is a Node.WaitDurable: the caller asks after a Step whether it is over.
type Confirmation struct {
	d      *Driven
	w      durableWait
	stored bool // all of it is; states may be missing
}

// Confirm begins to wait until all that was sent on a channel is on disk.
func (d *Driven) Confirm(sg SubgroupID, ch ChannelID) (*Confirmation, error) {
	c := &Confirmation{d: d, w: durableWait{k: keptChannel{sg, ch}}}
	if err := c.w.adrift(d.recovering[c.w.k]); err != nil {
		return nil, err
	}
	c.w.begin(d.m)
	return c, nil
}

// Over reports whether the wait is over, and how it ended. It is not asked again then.
func (c *Confirmation) Over() (over bool, err error) {
	m := c.d.m
	if m.dead() {
		return true, ErrClosed
	}
	for len(c.w.targets) > 0 {
		if over, err := c.w.targets[0].over(); !over || err != nil {
			return over, err
		}
		c.w.targets = c.w.targets[1:]
	}
	if !c.stored {
		c.w.stored(m)
		c.stored = true
	}
	if !c.w.covered(m) {
		return false, nil
	}
	return true, c.w.adrift(c.d.recovering[c.w.k])
}

// Standing is where a node is: its view, and the epochs under way.
type Standing struct {
	Group   uint64
	View    uint32
	Members int
	// Overlap: some subgroup has more than one epoch that is not given up yet.
	Overlap bool
	// Severed: another link to a member has taken the place of one over which this node had copies of its rows, and the group
	// has not gone on without one of the two yet.
	Severed bool
}

// Standing is where the node is now. Unlike State it copies nothing: who waits for the group to come to rest asks often.
func (d *Driven) Standing() Standing {
	return Standing{
		Group: d.m.view.group, View: d.m.view.epoch, Members: len(d.m.view.members),
		Overlap: slices.ContainsFunc(d.m.order, func(g *subgroup) bool { return len(g.epochs) > 1 }),
		Severed: slices.ContainsFunc(d.m.view.members, func(p rdma.PeerInfo) bool { return d.Severed(NodeID(p.ID)) }),
	}
}

// Severed reports whether that is so for one member.
func (d *Driven) Severed(id NodeID) bool { return d.m.severed(id) }

// Keeps reports whether the group knows the node as a replica of a channel.
func (d *Driven) Keeps(ch ChannelID) bool {
	for e := range d.m.cat.all.All() {
		if e.Node == d.m.id && e.Channel == ch && e.Replica {
			return true
		}
	}
	return false
}

// State is what a node knows of the group.
type State struct {
	Group     uint64
	View      uint32
	Members   []NodeID
	Readable  []NodeID // members whose rows of the control subgroup this node reads
	Linked    []NodeID // nodes to which this one has a link, members or not
	Endpoints []Endpoint
	// Epochs counts the epochs of each subgroup that are not given up yet.
	Epochs map[SubgroupID]int
	// Waiting tells which channels wait for logs.
	Waiting map[ChannelID]string
}

// State is what the node knows now.
func (d *Driven) State() State {
	s := State{Group: d.m.view.group, View: d.m.view.epoch, Endpoints: d.m.cat.values(), Epochs: map[SubgroupID]int{},
		Waiting: map[ChannelID]string{}}
	for k, why := range d.m.cat.missingLogs() {
		s.Waiting[k.channel] = why
	}
	for _, p := range d.m.view.members {
		s.Members = append(s.Members, NodeID(p.ID))
	}
	s.Linked = slices.Sorted(maps.Keys(d.m.links))
	if g := d.m.groups[0]; g != nil && len(g.epochs) > 0 {
		e := g.epochs[len(g.epochs)-1]
		for i, m := range e.desc.Members {
			if e.table.Row(i).Open() {
				s.Readable = append(s.Readable, m.Node)
			}
		}
	}
	for _, g := range d.m.order {
		s.Epochs[g.id] = len(g.epochs)
	}
	return s
}

// Describe is Node.Describe.
func (d *Driven) Describe() string { return d.m.describe() }

// poster turns what happens on links into events of a machine. ends is called when a process ends at the other end of one: it
// may have been about to wake this one.
type poster struct {
	post func(func(*machine))
	ends func()
}

func (p poster) LinkUp(l rdma.Link) { p.post(func(m *machine) { m.linkUp(l) }) }
func (p poster) LinkDown(l rdma.Link, died bool, _ error) {
	p.post(func(m *machine) { m.linkDown(l, died) })
	p.ends()
}
func (p poster) Dying(l rdma.Link) {
	p.post(func(m *machine) { m.dying(l) })
	p.ends()
}
func (p poster) Resumed(l rdma.Link)           { p.post(func(m *machine) { m.resumed(l) }) }
func (p poster) Message(l rdma.Link, b []byte) { p.post(func(m *machine) { m.message(l, b) }) }
func (p poster) Opened(l rdma.Link, k rdma.Key, r *rdma.Region, err error) {
	p.post(func(m *machine) { m.opened(l, k, r, err) })
}
func (p poster) Scanned() {
	p.post(func(m *machine) {
		m.scanned = true
		m.decide()
	})
}
func (p poster) Refused(_ rdma.PeerInfo, err error) { p.post(func(m *machine) { m.refused(err) }) }
