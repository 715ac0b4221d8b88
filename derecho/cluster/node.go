package cluster

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/sim"
)

// process is a process with one node: it hosts the machine, is its layer above, and keeps what outlives
// it. When the group goes on without the node, a new one takes its place.
type process struct {
	run  *run
	name string
	host uint64
	skew float64 // of its clock
	slow time.Duration

	id        derecho.NodeID
	ids       []derecho.NodeID // all that it had
	parted    []derecho.NodeID // and of them those that went over to another group
	isolated  bool
	waits     bool // to be let in by one that is isolated, and was told so
	d         *derecho.Driven
	succeeds  *derecho.Driven // the one before, if that was excluded
	f         *sim.Fabric
	scheduled bool
	stands    bool // it stands still in the middle of a step, after which it looks again if there is anything
	idle      bool // it takes no step, while its application and its memory go on
	hangs     bool // in a script: it stands still when it is told of the next endpoint of its own
	inbox     []func()
	joined    bool
	leaving   bool
	gone      bool // left, or crashed
	crashed   bool // and was not started again
	died      bool
	returns   bool                        // it is to be started again
	stores    bool                        // it keeps stored channels in its log from now on; else in memory only
	inMemory  []derecho.ChannelID         // these it never keeps in its log
	logging   map[derecho.EndpointID]bool // replicas that were announced with a log
	nextEP    derecho.EndpointID
	nextMsg   int
	wanted    map[derecho.EndpointID]derecho.Endpoint // of the application
	ready     map[derecho.EndpointID]derecho.Endpoint // that can be used
	history   map[derecho.ChannelID][]string          // of replicas: state and what followed
	pending   map[derecho.ChannelID][]string          // delivered while the state is on its way
	from      map[derecho.ChannelID]uint32            // epoch at whose beginning the history was taken
	wake      time.Duration                           // when it is to look by itself, 0 for never
	told      map[rowKey]*derecho.Row                 // as the trace has it
	disk      *disk
	log       *handle                        // of this node
	recovered map[derecho.ChannelID][]string // what the log held when it was announced last
	took      map[derecho.ChannelID]bool     // history begins with that
	loans     []loan

	unanswered int // changes of endpoints
	confirming []confirming
	failedLogs map[derecho.NodeID]bool // of nodes, as it was told
}

// rowKey names a row of a node.
type rowKey struct {
	sg    derecho.SubgroupID
	epoch uint32
}

// controlRing is many times what a group of the size of these has on its way in the control subgroup.
const controlRing = 4 << 10

// restartWait is Config.RestartWait, in leases.
const restartWait = 5

func (r *run) start(host uint64, d *disk) *process {
	return r.startAs(fmt.Sprintf("p%d", len(r.procs)), host, d)
}

// startAs starts a process with a name that another may have had.
func (r *run) startAs(name string, host uint64, d *disk) *process {
	p := &process{disk: d, run: r, name: name, host: host, wanted: map[derecho.EndpointID]derecho.Endpoint{}}
	if r.plan.Faults&ClockSkew != 0 {
		p.skew = float64(r.rng.IntN(201)-100) / 1000
		r.faults[ClockSkew]++
	}
	if r.plan.Faults&SlowNode != 0 && r.rng.IntN(3) == 0 {
		p.slow = r.w.Between(0, 4*r.w.MaxDelay)
		r.faults[SlowNode]++
	}
	r.procs = append(r.procs, p)
	p.stores = !r.plan.Memory || r.memories == nil || r.memories.IntN(2) == 0 // without memories a script says so
	p.boot()
	return p
}

// boot makes a node.
func (p *process) boot() {
	r := p.run
	p.id = derecho.NodeID(r.rng.Uint64()>>8 | 1)
	p.ids, p.isolated, p.waits = append(p.ids, p.id), false, false
	p.ready, p.history = map[derecho.EndpointID]derecho.Endpoint{}, map[derecho.ChannelID][]string{}
	p.pending, p.from = map[derecho.ChannelID][]string{}, map[derecho.ChannelID]uint32{}
	p.inbox, p.joined, p.scheduled, p.stands, p.wake, p.told = nil, false, false, false, 0, map[rowKey]*derecho.Row{}
	p.unanswered, p.logging = 0, map[derecho.EndpointID]bool{}
	p.confirming, p.failedLogs = nil, map[derecho.NodeID]bool{}
	p.disk.err = nil
	p.disk.open()
	if p.log != nil {
		p.log.closed = true
	}
	p.log, p.recovered, p.took = &handle{d: p.disk, p: p}, map[derecho.ChannelID][]string{}, map[derecho.ChannelID]bool{}
	cfg := derecho.Config{Spindle: r.plan.Spindle, SilentAfter: r.plan.Silence, SilentFor: -1, RingBytes: r.plan.Ring,
		Lease: r.plan.Lease, Name: p.name, RestartWait: restartWait * r.plan.Lease, StatePiece: r.plan.Piece}
	cfg.MaxRing = cfg.RingBytes << (largest + 2)
	cfg.LogState = func(_ derecho.SubgroupID, ch derecho.ChannelID) *derecho.LogState {
		if !p.stores || slices.Contains(p.inMemory, ch) {
			return nil
		}
		p.recovered[ch], p.took[ch] = p.disk.history(ch), false
		s := p.disk.found(ch)
		r.emit(Event{Kind: Found, Node: p.id, Channel: ch, Log: s.ID, Epoch: s.Epoch, Logs: s.Logs, Openings: s.Openings,
			Past: s.Past, Opened: s.Opened, History: s.History, Written: s.Written})
		return s
	}
	cfg.OpenLog = func(derecho.SubgroupID) (derecho.Log, error) { return p.log, nil }
	if r.plan.Witness {
		cfg.Witness = "p1"
	}
	if r.plan.Faults&HungDisk != 0 {
		cfg.LogTimeout = hungAfter * r.plan.Lease
	}
	id := p.id
	d, err := derecho.NewDriven(cfg, id, p, derecho.Callbacks{
		Joined: p.hasJoined, Left: p.hasLeft, Failed: p.hasFailed, Excluded: p.wasExcluded,
		Post: func(ev func()) {
			if p.id == id { // not from the network of a node before
				p.inbox = append(p.inbox, ev)
				p.look()
			}
		},
		Background: func(work func()) {
			took := r.w.Between(0, 4*r.w.MaxDelay)
			if r.stormy {
				took = r.tail(2 * r.plan.Lease)
			}
			r.w.After(took, func() {
				if p.id == id && !p.gone {
					work()
				}
			})
		},
		Log: func(write func()) {
			slow := time.Duration(0)
			if r.plan.Faults&SlowDisk != 0 {
				slow = 20 * r.w.MaxDelay
				if !p.disk.slow {
					p.disk.slow = true
					r.faults[SlowDisk]++
				}
			}
			r.w.After(r.w.Between(0, r.w.MaxDelay+slow), func() {
				if p.id == id && !p.gone {
					p.logs(write)
				}
			})
		},
		Stored: func() { p.f.Stored() },
		Yield:  p.stall,
		Trace:  p.decided,
	})
	if err != nil {
		panic(err)
	}
	d.ControlRing(controlRing)
	if p.d = d; p.succeeds != nil {
		d.Succeeds(p.succeeds)
		p.succeeds = nil
	}
	p.f = r.w.Attach(rdma.PeerInfo{ID: uint64(id), Name: p.name}, p.host, d.Events(), p.look)
	if r.plan.Unfound {
		p.f.Unfound = func(q rdma.PeerInfo) bool {
			i := slices.IndexFunc(r.procs, func(o *process) bool { return uint64(o.id) == q.ID })
			return i > 0 && r.procs[i].joined && r.procs[0].joined && !r.procs[0].gone && !rdma.Aliased(q, p.f.Self()) && r.rng.IntN(2) == 0
		}
	}
	if r.torn {
		p.f.Torn = p.stall
	}
	p.f.Pushed = func() {
		if r.watch != nil {
			r.watch.pushed(p)
		}
	}
	d.Attach(p.f.Self(), p.f)
	r.emit(Event{Kind: Start, Node: id, Host: p.host, Text: p.name})
	p.f.Start()
}

// clock is the process's own.
func (p *process) clock() time.Duration {
	return time.Duration(float64(p.run.w.Now()) * (1 + p.skew))
}

// look makes the process run soon.
func (p *process) look() {
	if p.scheduled || p.gone {
		return
	}
	p.scheduled = true
	id := p.id
	p.run.w.After(p.run.w.Between(0, 20*time.Microsecond)+p.slow, func() {
		if p.id != id {
			return
		}
		inbox := p.inbox
		p.inbox = nil
		p.run.w.After(p.pause(), func() {
			if p.id == id {
				p.step(inbox)
			}
		})
	})
}

// pause is how long a pass takes: mostly nothing, but now and then the process is not scheduled, or
// collects garbage, between taking its events and acting on them.
func (p *process) pause() time.Duration {
	switch r := p.run; {
	case r.stormy && r.rng.IntN(100) == 0:
		return r.tail(r.plan.Lease / 2)
	case r.rng.IntN(20) > 0:
		return 0
	default:
		return r.w.Between(0, 4*r.w.MaxDelay)
	}
}

// step runs the machine once.
func (p *process) step(inbox []func()) {
	if p.gone {
		return
	}
	if p.f.Paused() || p.idle || p.stands {
		p.inbox = append(inbox, p.inbox...)
		p.scheduled = p.stands
		return
	}
	p.scheduled = false
	id := p.id
	p.returnSome()
	p.guard(func() {
		for _, ev := range inbox {
			if !p.gone && p.id == id {
				ev()
			}
		}
		if !p.gone && p.id == id {
			p.run.steps++
			if p.d.Step(p.clock()) || len(p.inbox) > 0 {
				p.look()
			}
		}
	})
	if !p.gone {
		p.confirmed()
		p.setAlarm()
	}
}

// setAlarm makes the process look when its machine wants to.
func (p *process) setAlarm() {
	due := p.d.Due()
	if due == 0 || p.wake > 0 && p.wake <= due {
		return
	}
	p.wake = due
	id, joined := p.id, p.joined
	p.run.w.After(max(due-p.clock(), time.Microsecond)+time.Microsecond, func() {
		// What was due in case that the node would not have joined by then is due no more.
		if p.id == id && (p.joined == joined || p.wake == due) {
			p.wake = 0
			p.look()
		}
	})
}

// guard runs something of the process, which may crash in it.
func (p *process) guard(do func()) {
	defer func() {
		x := recover()
		p.observe()
		switch x := x.(type) {
		case nil:
		case sim.Crash:
			p.crash("in the middle of a step")
		default:
			p.run.failf("node %s panicked: %v\n%s", p.id, x, debug.Stack())
			p.gone = true
		}
	}()
	do()
}

func (p *process) crash(how string) {
	if p.gone {
		return
	}
	p.gone, p.crashed, p.died = true, true, true
	if p.run.watch != nil {
		p.run.watch.died(p)
	}
	p.disk.crash(p)
	p.run.emit(Event{Kind: Crashed, Node: p.id, Host: p.host, Text: how})
	p.f.Crash()
}

// the machine's reports

func (p *process) hasJoined() {
	p.joined = true
	p.run.emit(Event{Kind: Joined, Node: p.id})
	var wanted []derecho.Endpoint
	for _, id := range slices.Sorted(maps.Keys(p.wanted)) {
		wanted = append(wanted, p.wanted[id])
	}
	if p.run.plan.Together {
		p.announce(wanted...)
		return
	}
	for _, ep := range wanted {
		p.announce(ep)
	}
}

func (p *process) hasLeft() {
	p.gone = true
	p.run.emit(Event{Kind: Left, Node: p.id})
	_ = p.f.Close()
}

func (p *process) hasFailed(err error) { p.run.failf("node %s failed: %v", p.id, err) }

// wasExcluded: a new node takes its place, unless it was about to leave.
func (p *process) wasExcluded(err error) {
	p.observe() // what it told just before, others may have seen
	e := Event{Kind: Excluded, Node: p.id, Text: err.Error()}
	if errors.Is(err, derecho.ErrOtherGroup) {
		e.Kind, p.parted = GaveWay, append(p.parted, p.id)
	}
	p.run.emit(e)
	id := p.id
	p.run.w.After(0, func() {
		if p.gone || p.id != id {
			return
		}
		_ = p.f.Close()
		if p.leaving {
			p.gone = true
			p.run.emit(Event{Kind: Left, Node: p.id})
			return
		}
		p.succeeds = p.d
		p.boot()
	})
}

// stall: now and then the processor is taken from a process in the middle of a step, and what the others do
// meanwhile happens between two of its lines.
func (p *process) stall() {
	r := p.run
	if r.stalled || r.calm || r.plan.Faults&Pause == 0 || r.plan.Storm != "" && !r.stormy || r.stalls.IntN(100) > 0 {
		return
	}
	r.stalled, p.scheduled, p.stands = true, true, true
	p.observe() // others see what it has done in this step
	r.emit(Event{Kind: Fault_, Node: p.id, Text: stalled})
	r.faults[Pause]++
	events := 0
	r.w.Run(r.w.Now()+time.Duration(r.stalls.Int64N(int64(3*r.plan.Lease))), func() bool { events++; return r.err != nil || events > 100_000 })
	r.stalled, p.scheduled, p.stands = false, false, false
	r.emit(Event{Kind: Fault_, Node: p.id, Text: "goes on with its step"})
	if p.gone {
		panic(sim.Crash{Fabric: p.f})
	}
}

// decided takes note of what the machine does.
func (p *process) decided(e derecho.Event) {
	switch e.Kind {
	case derecho.Decided: // before the epoch is released, perhaps in the same step
		if row := p.d.RowOf(0, e.Epoch); row != nil {
			p.tell(row)
		}
		p.run.observeOthers(p, 0, e.Epoch) // it has read them
	case derecho.Executed:
		e.Command = slices.Clone(e.Command)
		p.run.observeOthers(p, 0, e.Epoch)
	}
	p.run.emit(Event{Kind: Decision, Node: p.id, Group: e.Group, What: &e})
	if m, is := momentOf(e); is {
		p.run.spring(p, m)
	}
}

// torn is the Text of a Told event of a node that is between the stores of a message.
const torn = "torn"

// observe puts what the node has told since the last time into the trace.
func (p *process) observe() { p.d.Rows(p.tell) }

func (p *process) tell(row *derecho.Row) {
	key := rowKey{row.Subgroup, row.Epoch}
	if before := p.told[key]; before == nil || !before.Equal(row) {
		row = row.Clone()
		p.told[key] = row
		e := Event{Kind: Told, Node: p.id, Row: row}
		if p.f.Tearing() {
			e.Text = torn
		}
		p.run.emit(e)
		switch {
		case before == nil || p.gone:
		case row.Accepted != before.Accepted:
			p.run.spring(p, accepts)
		case row.Promised != before.Promised:
			p.run.spring(p, promises)
		}
	}
}

// observeOthers does it at all other processes, for the epoch in which p delivers: what they hold is
// not only what they did themselves.
func (r *run) observeOthers(p *process, sg derecho.SubgroupID, epoch uint32) {
	for _, q := range r.procs {
		if q != p && !q.gone && q.d != nil {
			if row := q.d.RowOf(sg, epoch); row != nil {
				q.tell(row)
			}
		}
	}
}

// the Handler

func (p *process) EndpointAdded(ep derecho.Endpoint) {
	e := Event{Kind: Known, Node: p.id, Sender: ep.Node, Channel: ep.Channel, Text: fmt.Sprintf("%s/%d", ep.Node, ep.ID),
		Seq: version(ep.Info), Keeps: ep.Replica}
	for _, sg := range ep.Reads {
		e.SG = sg.ID
	}
	p.run.emit(e)
	if p.hangs && ep.Node == p.id {
		p.hangs = false
		p.run.emit(Event{Kind: Fault_, Node: p.id, Text: paused})
		p.f.Pause(true)
	}
}

func (p *process) EndpointRemoved(ep derecho.Endpoint) {
	p.run.emit(Event{Kind: Forgotten, Node: p.id, Text: fmt.Sprintf("%s/%d", ep.Node, ep.ID)})
}

// EndpointChanged implements derecho.Handler.
func (p *process) EndpointChanged(ep derecho.Endpoint) {
	p.run.emit(Event{Kind: Changed, Node: p.id, Text: fmt.Sprintf("%s/%d", ep.Node, ep.ID), Seq: version(ep.Info)})
}

// Isolated implements derecho.Handler.
func (p *process) Isolated(err error) {
	e := Event{Kind: Isolated, Node: p.id}
	p.isolated, p.waits = err != nil && p.joined, err != nil && !p.joined
	if err != nil {
		e.Text = err.Error()
	}
	p.run.emit(e)
}

func (p *process) Entered(derecho.NodeID)                            {}
func (p *process) Viewed(derecho.View)                               {}
func (p *process) NodeJoined(derecho.NodeID)                         {}
func (p *process) NodeLeft(derecho.NodeID)                           {}
func (p *process) Silence(derecho.NodeID, time.Duration)             {}
func (p *process) NodeFailed(derecho.NodeID)                         {}
func (p *process) Undelivered(derecho.SubgroupID, []derecho.Message) {}
func (p *process) Excluded(error)                                    {}
func (p *process) Failed(error)                                      {}

// LogFailed implements derecho.Handler. A node gives up a log that does not answer; nothing is written to it from then
// on, even if it answers later.
func (p *process) LogFailed(_ derecho.SubgroupID, node derecho.NodeID, err error) {
	p.failedLogs[node] = err != nil
	if node == p.id && p.disk.err == nil {
		p.run.emit(Event{Kind: GivenUp, Node: p.id, Text: err.Error()})
		p.disk.err = err
	}
}

// LeftOut implements derecho.Handler.
func (p *process) LeftOut(sg derecho.SubgroupID, ch derecho.ChannelID, writer derecho.EndpointID, upTo uint64) {
	p.run.emit(Event{Kind: LeftOut, Node: p.id, SG: sg, Channel: ch, Writer: writer, Seq: upTo})
	p.unconfirmed(writer)
}

// Deliver implements derecho.Handler.
func (p *process) Deliver(sg derecho.SubgroupID, batch []derecho.Message) {
	p.run.observeOthers(p, sg, batch[0].Epoch)
	for _, m := range batch {
		text := string(m.Payload)
		p.run.emit(Event{
			Kind: Deliver, Node: p.id, SG: sg, Channel: m.Channel, Epoch: m.Epoch, Seq: m.Seq, Sender: m.Sender, Writer: m.Writer, Text: text,
		})
		p.borrow(&m, text)
		if m.Epoch < p.from[m.Channel] {
			continue // covered by the state
		}
		if _, waits := p.pending[m.Channel]; waits {
			p.pending[m.Channel] = append(p.pending[m.Channel], text)
		} else if _, keeps := p.history[m.Channel]; keeps {
			p.history[m.Channel] = append(p.history[m.Channel], text)
		}
	}
}

// AwaitState implements derecho.Handler.
func (p *process) AwaitState(sg derecho.SubgroupID, ch derecho.ChannelID, from uint32, pending bool) {
	e := Event{Kind: Await, Node: p.id, SG: sg, Channel: ch, Epoch: from}
	if from == 0 {
		p.run.emit(e)
		return
	}
	var since []string // it goes on with what has come to it
	if p.from[ch] == from {
		since = p.pending[ch]
	}
	p.from[ch] = from
	past := p.recovered[ch] // what its log had, or what it has of that by now: another endpoint may have taken it up before the log was announced
	if past == nil && p.took[ch] {
		past = p.history[ch]
	}
	delete(p.history, ch)
	delete(p.pending, ch)
	if pending {
		e.Text = "pending"
		p.pending[ch] = nil
		p.took[ch] = false
	} else {
		p.took[ch] = past != nil
		p.history[ch] = slices.Concat(past, since)
		delete(p.recovered, ch)
	}
	p.run.emit(e)
}

// SaveState implements derecho.Handler.
func (p *process) SaveState(_ derecho.SubgroupID, ch derecho.ChannelID) func() []byte {
	if _, waits := p.pending[ch]; waits {
		p.run.failf("node %s is asked for the state of channel %d that it waits for itself", p.id, ch)
	}
	state := strings.Join(p.history[ch], " ")
	return func() []byte { return []byte(state) }
}

// ReadState implements derecho.Handler. To take the state over may need several passes.
func (p *process) ReadState(sg derecho.SubgroupID, ch derecho.ChannelID, state []byte) func() bool {
	passes := 0
	if state != nil && p.run.plan.Passes > 0 {
		passes = p.run.loads.IntN(p.run.plan.Passes + 1)
	}
	return func() bool {
		if passes > 0 {
			passes--
			return false
		}
		p.load(sg, ch, state)
		return true
	}
}

func (p *process) load(sg derecho.SubgroupID, ch derecho.ChannelID, state []byte) {
	since, waits := p.pending[ch]
	if !waits {
		p.run.failf("node %s got a state of channel %d that it does not wait for", p.id, ch)
	}
	delete(p.pending, ch)
	p.history[ch] = append(strings.Fields(string(state)), since...)
	p.run.emit(Event{Kind: Load, Node: p.id, SG: sg, Channel: ch, Epoch: p.from[ch], Text: string(state)})
}

// the application

// channels: 1 and 2 share the ordered subgroup 1; 3 is on the unordered subgroup 2; 4 is replicated on
// the ordered subgroup 3, which it shares with the volatile channel 5; 6 and 7 are logged on subgroup 4.
var channels = map[derecho.ChannelID]derecho.Subgroup{
	1: {ID: 1, Mode: derecho.Ordered}, 2: {ID: 1, Mode: derecho.Ordered}, 3: {ID: 2, Mode: derecho.Unordered},
	4: {ID: 3, Mode: derecho.Ordered}, 5: {ID: 3, Mode: derecho.Ordered}, 6: {ID: 4, Mode: derecho.Logged}, 7: {ID: 4, Mode: derecho.Logged},
}

// The channels whose state is kept: in memory, and on disk.
const replicated, logged, logged2 = 4, 6, 7

var kept = []derecho.ChannelID{replicated, logged, logged2}

// stored: the channel is on disk.
func stored(ch derecho.ChannelID) bool { return channels[ch].Mode == derecho.Logged }

func (p *process) act() {
	if !p.joined || p.leaving || p.gone || p.f.Paused() {
		return
	}
	p.guard(func() {
		switch k := p.run.pick.IntN(100); {
		case k < 12:
			p.add()
		case k < 16:
			p.remove()
		default:
			for range 1 + p.run.pick.IntN(p.run.plan.Burst) {
				p.send()
			}
		}
		p.confirm()
		if p.run.plan.Changes && p.run.changes.IntN(4) == 0 && !p.leaving { // it may have left while it stood still between the stores of a message
			p.change()
		}
	})
	p.look()
}

func (p *process) add() { p.addTo(derecho.ChannelID(1 + p.run.pick.IntN(len(channels)))) }

func (p *process) addTo(ch derecho.ChannelID) { p.addEndpoint(ch, p.run.pick.IntN(2) == 0) }

// addEndpoint announces a writer of a channel or a reader; writers of channels whose state is kept keep it, and most readers.
func (p *process) addEndpoint(ch derecho.ChannelID, writes bool) {
	sg := channels[ch]
	p.nextEP++
	ep := derecho.Endpoint{ID: p.nextEP, Channel: ch, Replica: slices.Contains(kept, ch) && (writes || p.run.pick.IntN(4) > 0)}
	if writes {
		ep.Writes = sg
	}
	if !writes || ep.Replica {
		ep.Reads = []derecho.Subgroup{sg}
	}
	p.wanted[ep.ID] = ep
	if ep.Replica && stored(ch) && !p.stores {
		p.stores = writes || p.run.memories.IntN(3) == 0
	}
	p.announce(ep)
}

// wants lists the endpoints that the application has not withdrawn.
func (p *process) wants() string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(p.wanted)) {
		fmt.Fprintf(&b, "%s/%d ", p.id, id)
	}
	return b.String()
}

// storeAll: in the end every process that keeps a stored channel has announced its log: what only a log has would be
// waited for without end.
func (p *process) storeAll() {
	if p.stores {
		return
	}
	p.stores = true
	if !p.joined || p.leaving || p.gone {
		return
	}
	for _, ch := range []derecho.ChannelID{logged, logged2} {
		for _, ep := range p.wanted {
			if ep.Channel == ch && ep.Replica {
				p.keep(ch, true)
				break
			}
		}
	}
}

// hasLog: the node has announced a log of the channel, which works as far as it is known.
func (p *process) hasLog(ch derecho.ChannelID) bool {
	for id, ep := range p.wanted {
		if ep.Channel == ch && p.logging[id] {
			return p.disk.err == nil && !p.disk.copied
		}
	}
	return false
}

func (p *process) announce(eps ...derecho.Endpoint) {
	for _, ep := range eps {
		p.logging[ep.ID] = ep.Replica && stored(ep.Channel) && p.stores && !slices.Contains(p.inMemory, ep.Channel)
	}
	p.d.AddEndpoints(eps, func(ep derecho.Endpoint, err error) {
		if err == nil {
			p.ready[ep.ID] = ep
			if len(ep.Reads) > 0 {
				p.run.emit(Event{Kind: Ready, Node: p.id, Channel: ep.Channel, Text: fmt.Sprintf("%s/%d", p.id, ep.ID)})
			}
			return
		}
		if errors.Is(err, derecho.ErrHistory) || errors.Is(err, derecho.ErrCopied) && p.disk.copied {
			delete(p.wanted, ep.ID)
			e := Event{Kind: Refused, Node: p.id, Channel: ep.Channel, Text: err.Error()}
			if errors.Is(err, derecho.ErrCopied) {
				e.Log = p.disk.id
			}
			p.run.emit(e)
			return
		}
		p.tolerate("add", err)
	})
}

// tolerate: some errors are answers.
func (p *process) tolerate(what string, err error) {
	if err != nil && !errors.Is(err, derecho.ErrClosed) && !errors.Is(err, derecho.ErrExcluded) {
		p.run.failf("node %s: %s: %v", p.id, what, err)
	}
}

func (p *process) remove() {
	if len(p.ready) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(p.ready))
	p.withdraw(ids[p.run.pick.IntN(len(ids))])
}

// removeFrom withdraws all endpoints of a channel.
func (p *process) removeFrom(ch derecho.ChannelID) {
	for _, id := range slices.Sorted(maps.Keys(p.ready)) {
		if p.ready[id].Channel == ch {
			p.withdraw(id)
		}
	}
}

// change gives an endpoint another Info, as an application does that changes its QoS. Infos count the changes.
func (p *process) change() {
	if len(p.ready) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(p.ready))
	id := ids[p.run.changes.IntN(len(ids))]
	ep := p.wanted[id]
	ep.Info = []byte(strconv.FormatUint(version(ep.Info)+1, 10))
	p.wanted[id] = ep
	change := Event{Kind: Asked, Node: p.id, Text: fmt.Sprintf("%s/%d", p.id, id), Seq: version(ep.Info)}
	p.run.emit(change)
	p.unanswered++
	p.d.ChangeEndpoint(id, ep.Info, func(err error) {
		p.unanswered--
		p.tolerate("change", err)
		if change.Kind = Agreed; err == nil {
			p.run.emit(change)
		}
	})
}

// version is how often an endpoint was changed before it had this Info.
func version(info []byte) uint64 {
	n, _ := strconv.ParseUint(string(info), 10, 64) // the first is empty
	return n
}

func (p *process) withdraw(id derecho.EndpointID) {
	delete(p.ready, id)
	delete(p.wanted, id)
	p.unconfirmed(id)
	p.d.RemoveEndpoint(id, func(err error) { p.tolerate("remove", err) })
}

func (p *process) send() {
	for _, id := range slices.Sorted(maps.Keys(p.ready)) {
		ep := p.ready[id]
		if ep.Writes.ID != 0 && p.run.pick.IntN(2) == 0 {
			_ = p.write(ep)
		}
	}
}

// largest is how often half a ring is doubled for the largest messages, less one.
const largest = 4

// write sends a message if there is room.
func (p *process) write(ep derecho.Endpoint) error {
	p.nextMsg++
	size := p.run.pick.IntN(200)
	if r := p.run; r.plan.Large && !r.calm && r.larges.IntN(8) == 0 {
		size = r.plan.Ring>>1<<r.larges.IntN(largest) + r.larges.IntN(200) // a ring that grows has room for more than one of twice its size
	}
	return p.say(ep, fmt.Sprintf("%s:%d:%s", p.id, p.nextMsg, strings.Repeat("x", size)))
}

// say sends a message with a given text. That there is no room, or that the channel waits for logs, is an answer, which
// it returns.
func (p *process) say(ep derecho.Endpoint, text string) error {
	// Noted before: if the process ends in it, it may have been sent. Attempt, then accepted.
	at := len(p.run.events)
	p.run.emit(Event{Kind: Send, Node: p.id, SG: ep.Writes.ID, Channel: ep.Channel, Writer: ep.ID, Text: text})
	epoch, err := p.d.Send(ep.Writes.ID, ep.Channel, derecho.Header{Writer: ep.ID, WriterSeq: uint64(p.nextMsg)}, []byte(text))
	p.f.Published()
	p.run.events[at].Epoch = epoch
	if errors.Is(err, derecho.ErrWouldBlock) || errors.Is(err, derecho.ErrNotSender) && stored(ep.Channel) { // it waits for logs
		p.run.events[at].Kind = 0
		return err
	}
	if err != nil {
		p.run.failf("node %s: send: %v", p.id, err)
	}
	return nil
}

// catchUp sends as many messages as the others have sent, as far as there is room, and reports whether that was needed.
func (p *process) catchUp() (behind bool) {
	for _, id := range slices.Sorted(maps.Keys(p.ready)) {
		ep := p.ready[id]
		if ep.Writes.ID == 0 || !ordered(ep.Writes.ID) {
			continue
		}
		most := uint64(0)
		for _, q := range p.run.procs {
			if !q.gone {
				most = max(most, q.real(ep.Writes.ID))
			}
		}
		for last := p.real(ep.Writes.ID); last < most; behind = true {
			_ = p.write(ep)
			now := p.real(ep.Writes.ID)
			if now == last {
				return true // there is no room
			}
			last = now
		}
	}
	return behind
}

// real is how many messages the node has published in the epoch of a subgroup that takes them.
func (p *process) real(sg derecho.SubgroupID) (real uint64) {
	epoch := uint32(0)
	p.d.Rows(func(row *derecho.Row) {
		if row.Subgroup == sg && row.Epoch >= epoch {
			epoch, real = row.Epoch, row.Real
		}
	})
	return real
}

func (p *process) leave() {
	if !p.joined || p.leaving || p.gone || p.f.Paused() {
		return
	}
	p.leaving = true
	p.run.emit(Event{Kind: Leave, Node: p.id})
	p.guard(p.d.Leave)
	p.look()
}
