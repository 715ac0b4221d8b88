package cluster

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/rdma/sim"
)

// Result is a run and what the checkers say of it.
type Result struct {
	Plan   Plan
	Err    error // nil: no violation
	Events []Event
	Steps  int           // of machines
	Faults map[Fault]int // that happened, by kind
	// Scheduled is how many acts, leaves and faults the seed planned: what Options.Keep numbers.
	Scheduled int
	// Pushes of each node in the change of a Scenario.
	Pushes []int
	// What a sweep knows of that change: pushes of all nodes, those of each until a node died, and by node and push
	// what was new since its push before.
	all    int
	deaths [][]int
	news   [][]news
	// Readers that what is written reaches when it begins, and when it is over.
	readers [2]int
	// Lost: in the end too many had died for the others to go on.
	Lost bool
}

// Trace is the whole run as text.
func (r *Result) Trace() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Plan)
	for _, e := range r.Events {
		if e.Kind != 0 && e.Kind != Told {
			fmt.Fprintln(&b, e)
		}
	}
	return b.String()
}

// run is a run under way.
type run struct {
	w        *sim.World
	rng      *rand.Rand
	lends    *rand.Rand // which messages are lent, and for how long
	stalls   *rand.Rand // for stalls: whether there are any changes nothing else
	stalled  bool       // a process stands still in the middle of a step
	disks    *rand.Rand // for processes that end while they write, and what their disks keep
	changes  *rand.Rand // for changes of endpoints
	lies     *rand.Rand // for disks that lie
	memories *rand.Rand // for processes that keep stored channels without a log
	loads    *rand.Rand // for how many passes it takes to take a state over
	larges   *rand.Rand // for messages that do not fit their ring
	breaks   *rand.Rand // for splits, and disks that do not answer
	pick     *rand.Rand // for the act or fault that happens: the same whatever else happens
	keep     []int
	items    int
	plan     Plan
	procs    []*process
	events   []Event
	steps    int
	faults   map[Fault]int
	calm     bool // the liveness phase
	stormy   bool // delays are heavy-tailed
	ambushes []*ambush
	walls    []way // of a storm of parts
	lost     bool  // so many have died that nobody may go on
	directed bool  // a script says who comes back when
	torn     bool  // a process may end, or stand still, between the stores of a message that it publishes
	sweeps   bool  // of a scenario: operations of disks are steps, at which a process may die
	err      error
	watch    *watch // of a scenario, while the view changes
	// Of a scenario: the sources of pick and disks.
	pickSource, diskSource *rand.PCG
	cells                  []byte // of instants, reused
}

func (r *run) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *run) emit(e Event) {
	e.At = r.w.Now()
	r.events = append(r.events, e)
}

// Run executes one seed.
func Run(seed uint64, o Options) *Result {
	w := sim.NewWorld(seed)
	r := &run{w: w, rng: w.Rand(), pick: w.Rand(), stalls: rand.New(rand.NewPCG(seed, 0x57a11)),
		lends: rand.New(rand.NewPCG(seed, 0x1e2d)), disks: rand.New(rand.NewPCG(seed, 0xd15c)),
		changes: rand.New(rand.NewPCG(seed, 0xc4a6)), lies: rand.New(rand.NewPCG(seed, 0x11e5)),
		memories: rand.New(rand.NewPCG(seed, 0x3e3)), larges: rand.New(rand.NewPCG(seed, 0x6120)),
		loads:  rand.New(rand.NewPCG(seed, 0x10ad)),
		breaks: rand.New(rand.NewPCG(seed, 0xb4ea)), faults: map[Fault]int{}, keep: o.Keep}
	if o.Storm != "" {
		r.plan = drawStorm(seed, r.rng, o)
	} else {
		r.plan = draw(seed, r.rng, o)
		r.plan.Loans = r.lends.IntN(2) == 0
	}
	r.plan.Changes = r.changes.IntN(2) == 0
	if o.Storm != "" { // fewer: what storms aim at is rare, and other traffic moves it
		r.plan.Changes = seed%8 == 5
	}
	r.plan.Together = seed%8 == 6 && (o.Storm == "" || seed%16 == 14)
	r.plan.Memory = seed%8 == 3
	r.plan.Large = o.Large || seed%16 == 15 && (o.Storm == "" || seed%32 == 31)
	if r.torn = seed%8 == 0; r.torn {
		r.plan.Piece = 300
	}
	if seed%8 == 4 && (o.Storm == "" || seed%16 == 12) {
		r.plan.Passes = 3
	}
	r.plan.Foretold = r.plan.Changes && r.changes.IntN(2) == 0
	w.Foretold = r.plan.Foretold
	// Storms that say who hears whom at which moment mean silence.
	r.plan.Rejects = seed%4 == 2 && (o.Storm == "" || o.Storm == "parts" || o.Storm == "witness" || o.Storm == "any")
	r.plan.Loses = seed%8 != 2
	w.Rejects, w.Loses = r.plan.Rejects, r.plan.Loses
	r.plan.Spindle = o.Spindle
	w.MaxDelay, w.MaxPause = r.plan.MaxDelay, r.plan.MaxPause
	r.plan.Faults = r.plan.Faults&^ownStream | o.ownIn(seed)
	if r.plan.Faults&(Split|HungDisk) != 0 && o.Storm == "" && o.Duration == 0 {
		r.plan.Length = max(r.plan.Length, 30*r.plan.Lease)
	}
	if o.Storm != "" {
		r.storm()
	} else {
		r.schedule()
	}
	if r.plan.Faults&LyingSync != 0 {
		r.plotLies()
	}
	if o.Storm == "" {
		r.plotBreaks()
	}
	if r.plan.Faults&Unlink != 0 {
		r.plotUnlinks()
	}
	if o.Drawn != nil {
		o.Drawn(r.plan)
	}
	r.safety()
	r.liveness()
	if r.err == nil {
		r.err = check(r.plan, r.events)
	}
	return &Result{Plan: r.plan, Err: r.err, Events: r.events, Steps: r.steps, Faults: r.faults, Lost: r.lost, Scheduled: r.items}
}

// schedule plans the starts, what the applications do, and the faults.
func (r *run) schedule() {
	p, w := r.plan, r.w
	spread := 20 * w.MaxDelay
	if p.Late {
		spread = p.Length
	}
	for range p.Nodes {
		w.After(w.Between(0, spread), func() { r.start(1+uint64(r.rng.IntN(p.Hosts)), r.newDisk()) })
	}
	for range p.Acts {
		r.plot(w.Between(0, p.Length), func() {
			if q := r.any(); q != nil {
				q.act()
			}
		})
	}
	for range p.Leaves {
		r.plot(w.Between(p.Length/2, p.Length), func() {
			if q := r.any(); q != nil && q != r.procs[0] {
				q.leave()
			}
		})
	}
	for i := range faultNames {
		if f := Fault(1 << i); p.Faults&^ownStream&f != 0 {
			for range 1 + r.rng.IntN(p.Count) {
				r.plot(w.Between(0, p.Length), func() { r.fault(f) })
			}
		}
	}
}

// plot schedules something that can be left out without any effect on what else is scheduled.
func (r *run) plot(at time.Duration, do func()) {
	number := r.items
	r.items++
	if r.keep != nil && !slices.Contains(r.keep, number) {
		return
	}
	r.w.After(at, func() {
		if r.calm {
			return // a wave outlasts the phase of faults
		}
		r.pick = rand.New(rand.NewPCG(r.plan.Seed, uint64(number)))
		do()
		r.pick = r.rng
	})
}

// any is some process.
func (r *run) any() *process {
	if len(r.procs) == 0 {
		return nil
	}
	return r.procs[r.pick.IntN(len(r.procs))]
}

// safety runs until the phase of faults is over.
func (r *run) safety() {
	r.runFor(r.plan.Length+20*r.w.MaxDelay, 3_000_000)
}

func (r *run) runFor(d time.Duration, limit int) { r.runUntil(r.w.Now()+d, limit) }

func (r *run) runUntil(end time.Duration, limit int) {
	began, n := r.w.Now(), 0
	r.w.Run(end, func() bool { n++; return r.err != nil || n > limit })
	if n > limit {
		r.failf("more than %d events in %v", limit, end-began)
	}
}

// liveness lets everything that was cut heal, and runs until all has come to rest.
func (r *run) liveness() {
	r.calm, r.stormy = true, false
	late := r.w.Heal()
	for _, p := range r.procs {
		p.f.CrashAt = 0
		r.resume(p)
		r.rouse(p)
	}
	for _, p := range slices.Clone(r.procs) {
		if p.crashed && (p.returns || r.plan.Revive) {
			r.restart(p)
		}
	}
	for _, p := range r.procs {
		p.storeAll()
	}
	r.runFor(late, 3_000_000)
	// Detection, several changes of view one after the other, joining again.
	const rounds, enough = 60, 10
	hurried := false
	for round, lost := 0, 0; lost < enough && round < rounds; round++ {
		r.runFor(2*r.plan.Lease+40*r.w.MaxDelay, 3_000_000)
		if r.err != nil || r.settled() && (!r.waiting() || hurried) {
			break
		}
		if hurried = r.settled(); hurried { // it waits for logs: after a while a majority of them is enough
			r.runFor(2*restartWait*r.plan.Lease, 3_000_000)
		}
		if r.bereft() {
			lost++
		}
	}
	if r.err == nil && r.bereft() {
		r.lost = !r.settled()
	} else {
		r.roll()
	}
	if r.err == nil && !r.settled() && !r.lost {
		if _, _, excused := r.unsettled(); !excused || !r.waiting() {
			r.failf("M7: no rest: %s", r.unrest())
		}
	}
	if r.lost {
		r.noneGoesOn()
		return
	}
	if r.err == nil { // what was sent last needs nothing that comes after it
		r.runFor(r.plan.Lease+100*r.w.MaxDelay, 3_000_000)
		for _, p := range r.procs {
			if !p.gone {
				r.emit(Event{Kind: AtRest, Node: p.id})
			}
		}
	}
	r.lastWords()
	r.quiet()
	for _, p := range r.procs {
		if !p.gone {
			state := p.d.State()
			r.emit(Event{Kind: Final, Node: p.id, State: &state, Text: p.wants()})
			for _, ch := range kept {
				keeps := func(ep derecho.Endpoint) bool { return ep.Node == p.id && ep.Channel == ch && ep.Replica }
				stores := func(ep derecho.Endpoint) bool { return keeps(ep) && ep.Log != nil }
				if h, held := p.history[ch]; held && state.Waiting[ch] == "" && slices.ContainsFunc(state.Endpoints, keeps) {
					r.emit(Event{Kind: Holds, Node: p.id, Channel: ch, Text: strings.Join(h, " ")})
					if slices.ContainsFunc(state.Endpoints, stores) && p.disk.err == nil {
						r.emit(Event{Kind: Kept, Node: p.id, Channel: ch, Text: strings.Join(p.disk.history(ch), " ")})
					}
				}
			}
		}
	}
}

// roll tells which logs are there, and who waits for logs all the same.
func (r *run) roll() {
	for _, p := range r.procs {
		if p.gone || !p.joined {
			continue
		}
		waiting := p.d.State().Waiting
		for _, ch := range []derecho.ChannelID{logged, logged2} {
			if p.hasLog(ch) && !p.leaving {
				r.emit(Event{Kind: Back, Node: p.id, Channel: ch, Log: p.disk.id})
			}
			if why := waiting[ch]; why != "" {
				r.emit(Event{Kind: Waits, Node: p.id, Channel: ch, Text: why})
			}
		}
	}
}

// lastWords: in the end everybody writes once more, and it arrives.
func (r *run) lastWords() {
	type word struct {
		p  *process
		ep derecho.Endpoint
	}
	var full []word // what it wrote before was on its way: an epoch that a slow disk had held up began only when all came to rest
	for _, p := range r.procs {
		if r.err == nil && !p.gone {
			p.guard(func() {
				first := map[derecho.SubgroupID]bool{}
				for _, id := range slices.Sorted(maps.Keys(p.ready)) {
					ep := p.ready[id]
					if ep.Writes.ID == 0 {
						continue
					}
					err := p.write(ep)
					// What one step writes may be more than a ring holds. The first of it finds the ring empty, if
					// those without a message tell that they have none.
					switch {
					case err == nil:
					case !errors.Is(err, derecho.ErrWouldBlock):
						r.emit(Event{Kind: Muted, Node: p.id, Channel: ep.Channel, Text: err.Error()})
					case !first[ep.Writes.ID] && r.plan.Spindle == (derecho.Spindle{}):
						full = append(full, word{p, ep})
					}
					first[ep.Writes.ID] = true
				}
			})
			p.look()
		}
	}
	if len(full) > 0 {
		r.runFor(r.plan.Lease+100*r.w.MaxDelay, 3_000_000)
	}
	for _, w := range full {
		if r.err == nil && !w.p.gone {
			w.p.guard(func() {
				if err := w.p.write(w.ep); err != nil {
					r.emit(Event{Kind: Muted, Node: w.p.id, Channel: w.ep.Channel, Text: err.Error()})
				}
			})
			w.p.look()
		}
	}
	r.runFor(r.plan.Lease+100*r.w.MaxDelay, 3_000_000)
	if r.plan.Spindle.NoNulls {
		r.level()
	}
	if r.plan.Spindle != (derecho.Spindle{}) {
		r.comeToRest()
	}
}

// comeToRest runs until nothing happens any more: one message at a time takes longer than all at once.
func (r *run) comeToRest() {
	for range 100 {
		before := r.happenings()
		r.runFor(r.plan.Lease+100*r.w.MaxDelay, 3_000_000)
		if r.happenings() == before {
			return
		}
	}
}

// level lets every sender catch up with the one that has sent most: without nulls the others wait for it to do so.
func (r *run) level() {
	const rounds = 1000
	for range rounds {
		behind := false
		for _, p := range r.procs {
			if r.err == nil && !p.gone {
				p.guard(func() { behind = p.catchUp() || behind })
				p.look()
			}
		}
		if !behind {
			return
		}
		r.runFor(10*r.w.MaxDelay, 3_000_000) // rings may be full meanwhile
	}
	r.failf("M7: who lags behind can not catch up")
}

// settled: everybody who lives is a member of one view, and no epoch but the newest is kept.
func (r *run) settled() bool {
	why, _, _ := r.unsettled()
	return why == ""
}

// unrest says why it is not settled, at length.
func (r *run) unrest() string {
	why, p, _ := r.unsettled()
	if p == nil {
		return why
	}
	return fmt.Sprintf("%s %s\n%s", p.id, why, p.d.Describe())
}

// unsettled says who is not at rest and why. It is excused if all that is missing may be what waits for logs that are
// away: the state of a stored channel, and endpoints of it. Whoever waits for them keeps nobody from joining, leaving,
// or ending an epoch.
func (r *run) unsettled() (why string, at *process, excused bool) {
	alive := 0
	for _, p := range r.procs {
		if !p.gone {
			alive++
			switch {
			case p.leaving:
				return "has not left", p, false
			case !p.joined:
				return "has not joined", p, false
			}
		}
	}
	var first *derecho.Standing
	for _, p := range r.procs {
		if p.gone {
			continue
		}
		s := p.d.Standing()
		if first == nil {
			first = &s
		}
		if s.Group != first.Group || s.View != first.View || s.Members != alive {
			return "is in a view of its own, or one with members that do not live", p, false
		}
		if p.unanswered != 0 {
			return "waits for an answer to a change of an endpoint", p, false
		}
		if s.Overlap {
			return "keeps old epochs", p, false
		}
		if s.Severed {
			return "reads copies of a member that nothing follows in", p, false
		}
		for ch := range p.pending {
			if !p.d.Keeps(ch) {
				continue
			}
			if why, at = "still waits for a state", p; !stored(ch) || p.d.State().Waiting[ch] == "" {
				return why, at, false
			}
		}
		for id, ep := range p.wanted {
			if _, ready := p.ready[id]; ready {
				continue
			}
			if why, at = "lacks endpoints of its own", p; !stored(ep.Channel) || p.d.State().Waiting[ep.Channel] == "" {
				return why, at, false
			}
		}
	}
	return why, at, why != ""
}

// bereft: in the view that some process is in, too many have died for the others to go on, and it says
// so. Only a restart helps then.
func (r *run) bereft() bool {
	outside := func(p *process) bool { return p.gone || p.d.Outcast() }
	if slices.ContainsFunc(r.procs, func(p *process) bool { return !p.gone && p.d.Outcast() }) &&
		!slices.ContainsFunc(r.procs, func(p *process) bool { return !outside(p) }) {
		return true // they wait for a group of which nobody is left
	}
	for _, p := range r.procs {
		if p.gone || !p.isolated {
			continue
		}
		s := p.d.State()
		if r.overtaken(p.id, s) {
			continue // it can be told how its view ended
		}
		var have []vote
		all, named := 0, false
		for _, id := range s.Members {
			w, q := 2, r.process(id)
			if r.plan.Witness && !named && q.name == "p1" { // of several with the name the one that joined first
				w, named = 3, true
			}
			switch {
			case !q.gone && (q.id == id || slices.Contains(q.parted, id)): // who has gone over to another group says so
				have, all = append(have, vote{q, w}), all+w
			case q.died && q.id == id && q.host == p.host && slices.Contains(s.Readable, id):
			default:
				all += w
			}
		}
		if 2*heaviest(have) <= all {
			return true
		}
	}
	return false
}

// vote is the weight of a process in a view.
type vote struct {
	*process
	weight int
}

// heaviest is what those of some processes weigh together that can go on with each other, if they are chosen so that it is most.
func heaviest(of []vote) int {
	if len(of) == 0 {
		return 0
	}
	first, others := of[0], of[1:]
	rest := slices.DeleteFunc(slices.Clone(others), func(o vote) bool { return o.d.Severed(first.id) || first.d.Severed(o.id) })
	with := first.weight + heaviest(rest)
	if len(rest) == len(others) {
		return with
	}
	return max(with, heaviest(others))
}

// overtaken: a process that lives is in a later view of the same group, with the node as a member.
func (r *run) overtaken(id derecho.NodeID, s derecho.State) bool {
	return slices.ContainsFunc(r.procs, func(q *process) bool {
		if q.gone {
			return false
		}
		o := q.d.State()
		return o.Group == s.Group && o.View > s.View && slices.Contains(o.Members, id)
	})
}

// waiting: a subgroup waits for logs, of processes that do not come back or do not serve them any more.
func (r *run) waiting() bool {
	return slices.ContainsFunc(r.procs, func(p *process) bool { return !p.gone && len(p.d.State().Waiting) > 0 })
}

// process is the one that runs, or ran, a node.
func (r *run) process(id derecho.NodeID) *process {
	return r.procs[slices.IndexFunc(r.procs, func(p *process) bool { return slices.Contains(p.ids, id) })]
}

// quiet: when nobody sends, nothing is pushed but heartbeats.
func (r *run) quiet() {
	if r.err != nil {
		return
	}
	before, happened := r.pushes(), r.happenings()
	const beats = 10
	r.runFor(beats*r.plan.Lease/derecho.Heartbeats, 3_000_000)
	if now := r.happenings(); r.err == nil && now != happened {
		r.failf("A16: at rest, and still %d things happen", now-happened)
	}
	// A heartbeat is a store, and a post to each member on another host. Clocks are up to a tenth fast, and one more
	// may lie at the edge.
	each := 0
	for _, p := range r.procs {
		if p.gone {
			continue
		}
		each++
		for _, q := range r.procs {
			if !q.gone && q.host != p.host {
				each++
			}
		}
	}
	if n, most := r.pushes()-before, (beats+2)*each; n > most {
		r.failf("A16: at rest, and %d pushes in %d heartbeats, at most %d are needed", n, beats, most)
	}
}

// happenings counts the events of the trace, but for what is told without need.
func (r *run) happenings() int {
	n := 0
	for i := range r.events {
		if r.events[i].Kind != Told {
			n++
		}
	}
	return n
}

func (r *run) pushes() int {
	n := 0
	for _, p := range r.procs {
		n += p.f.Pushes
	}
	return n
}

// noneGoesOn: in a run that is lost, as too few of a group are left, there is no other group that goes on and is not
// smaller: who hears of that goes over to it (derecho status.outranks), and the run is not lost. A smaller one and what is
// left of a larger stay apart for ever.
func (r *run) noneGoesOn() {
	largest := 0
	for _, p := range r.procs {
		if !p.gone {
			largest = max(largest, p.d.Standing().Members)
		}
	}
	for _, p := range r.procs {
		if !p.gone && p.joined && !p.isolated && !p.d.Outcast() && p.d.Standing().Members == largest {
			r.failf("M7: too few of a group are left, and have not gone over to that of %s: %s", p.id, r.unrest())
		}
	}
}
