package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/rdma/sim"
)

// Scenario is one change of the view under load, with further crashes in it.
type Scenario struct {
	Hosts []uint64 // of each node
	// Stored, if not "": the channels are those of a stored subgroup, one that all keep in their logs and one that all
	// but node 0 keep in memory, and those that have died come back with their logs in the end: rejoin, those alone, or
	// all if too many died for the others to go on; restart, all, as those that live then die, too.
	Stored string
	Begin  string // what changes the view: see begins
	Who    int    // the node that crashes, leaves or comes back, or the one beside which another joins; joins: and one beside node 0
	Kills  []Kill
	// Together, if not nil, ends several nodes at once.
	Together *Together
}

// Together ends nodes at the k-th step (see Kill) of the whole group after the change has begun: one of them in it, if
// it is its own, and the others between two of theirs.
type Together struct {
	Nodes []int
	K     int
}

// Kill ends a node at its k-th step after the change has begun: a push, a store, or an operation of its disk, to write
// or to sync. The nodes that join, or come back, have the numbers behind those that were there.
type Kill struct{ Node, K int }

// begins are the ways to change a view, and those that need logs: one that has died comes back with its log, and all do.
var (
	begins       = []string{"crash", "leave", "join", "joins"}
	storedBegins = slices.Concat(begins, []string{"return", "returns"})
)

// storedKinds are what Scenario.Stored may be.
var storedKinds = []string{"rejoin", "restart"}

// String is what ParseScenario reads.
func (s Scenario) String() string {
	var b strings.Builder
	for i, h := range s.Hosts {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, h)
	}
	if s.Stored != "" {
		fmt.Fprintf(&b, " %s", s.Stored)
	}
	fmt.Fprintf(&b, " %s %d", s.Begin, s.Who)
	for _, k := range s.Kills {
		fmt.Fprintf(&b, " %d@%d", k.Node, k.K)
	}
	if t := s.Together; t != nil {
		b.WriteByte(' ')
		for i, n := range t.Nodes {
			if i > 0 {
				b.WriteByte('+')
			}
			fmt.Fprint(&b, n)
		}
		fmt.Fprintf(&b, "@%d", t.K)
	}
	return b.String()
}

// ParseScenario reads the hosts of the nodes, what Stored is if it is not "", what begins, to whom, and who is killed
// at which step: "1,1,2 crash 0 2@17"; "1,1,2 restart join 0 1+2@40" kills two together, at a step of the whole group.
func ParseScenario(text string) (s Scenario, err error) {
	usage := fmt.Errorf("cluster: no scenario: %q; say for example \"1,1,2 crash 0 2@17\"", text)
	f := strings.Fields(text)
	known := begins
	if len(f) > 1 && slices.Contains(storedKinds, f[1]) {
		s.Stored, known = f[1], storedBegins
		f = slices.Delete(f, 1, 2)
	}
	if len(f) < 3 || !slices.Contains(known, f[1]) {
		return s, usage
	}
	for _, h := range strings.Split(f[0], ",") {
		host, err := strconv.ParseUint(h, 10, 64)
		if err != nil || host == 0 {
			return s, usage
		}
		s.Hosts = append(s.Hosts, host)
	}
	s.Begin = f[1]
	if s.Who, err = strconv.Atoi(f[2]); err != nil || s.Who < 0 || s.Who >= len(s.Hosts) {
		return s, usage
	}
	for _, k := range f[3:] {
		list, at, ok := strings.Cut(k, "@")
		p, err := strconv.Atoi(at)
		if !ok || err != nil || p < 1 {
			return s, usage
		}
		var nodes []int
		for _, node := range strings.Split(list, "+") {
			n, err := strconv.Atoi(node)
			if err != nil || n < 0 || n >= s.nodes() || slices.Contains(nodes, n) {
				return s, usage
			}
			nodes = append(nodes, n)
		}
		switch {
		case len(nodes) == 1:
			s.Kills = append(s.Kills, Kill{nodes[0], p})
		case s.Together == nil:
			s.Together = &Together{nodes, p}
		default:
			return s, usage
		}
	}
	return s, nil
}

// nodes are those that there are before the change, and those that join or come back in it.
func (s Scenario) nodes() int {
	return len(s.Hosts) + map[string]int{"join": 1, "joins": 2, "return": 1, "returns": len(s.Hosts)}[s.Begin]
}

// Run executes a scenario. Result.Pushes tells how many pushes each node made until the change was over.
func (s Scenario) Run() *Result { return s.run(false) }

// run also records at which pushes it makes a difference to die, if that is asked for.
func (s Scenario) run(record bool) *Result {
	const seed = 1
	w := sim.NewWorld(seed)
	r := &run{w: w, rng: w.Rand(), pickSource: rand.NewPCG(seed, 0), diskSource: rand.NewPCG(seed, 0xd15c),
		faults: map[Fault]int{}, events: make([]Event, 0, 512)}
	r.pick, r.disks = rand.New(r.pickSource), rand.New(r.diskSource)
	r.plan = Plan{
		Seed: seed, Nodes: len(s.Hosts), Hosts: int(slices.Max(s.Hosts)), Faults: CrashNode, Count: len(s.Kills), Lease: 100 * time.Millisecond,
		MaxDelay: 200 * time.Microsecond, MaxPause: time.Microsecond, Ring: 1 << 12, Burst: 1,
	}
	r.torn = true
	r.plan.Together = true // in one change of epochs: there are so many runs of a sweep
	if s.Stored != "" {
		r.sweeps, r.directed = true, true
		r.plan.Revive, r.plan.Memory = true, true
	}
	r.plan.Loses = true
	w.MaxDelay, w.MaxPause, w.Loses = r.plan.MaxDelay, r.plan.MaxPause, true
	s.prepare(r)
	res := &Result{}
	s.change(r, &watch{r: r, together: s.Together, record: record}, res)
	if s.Stored == "restart" || s.Stored != "" && r.remainsBereft() {
		r.fellAll()
	}
	r.liveness()
	if r.err == nil {
		r.err = check(r.plan, r.events)
	}
	res.Plan, res.Err, res.Events, res.Steps, res.Faults, res.Lost = r.plan, r.err, r.events, r.steps, r.faults, r.lost
	return res
}

// prepare makes a group in which everybody writes and reads.
func (s Scenario) prepare(r *run) {
	for _, h := range s.Hosts {
		r.start(h, r.newDisk())
		r.rest()
	}
	for _, p := range r.procs {
		p.guard(func() { p.announce(s.endpoints(p)...) })
		p.look()
	}
	r.rest()
	switch s.Begin {
	case "return": // and it lacks something
		r.scribble()
		r.rest()
		r.procs[s.Who].crash("at rest")
		r.rest()
		r.scribble()
	case "returns":
		r.scribble()
		r.rest()
		r.fellAll()
	}
	r.rest()
	if !r.settled() && !r.bereft() {
		r.failf("no rest before the change: %s", r.unrest())
	}
}

// remainsBereft: too many have died, and those that are left know it, which takes a lease or two. The change is over,
// and nobody dies at a step any more.
func (r *run) remainsBereft() bool {
	for _, p := range r.procs {
		p.f.CrashAt = 0
	}
	for range 5 {
		if r.bereft() {
			return true
		}
		if r.err != nil || r.settled() {
			return false
		}
		r.runFor(r.plan.Lease, 1_000_000)
	}
	return r.bereft()
}

// fellAll ends all that live.
func (r *run) fellAll() {
	for _, p := range r.procs {
		if !p.gone {
			r.faults[CrashNode]++
			p.crash("with all others")
		}
	}
}

// endpoints are what a process has in a scenario.
func (s Scenario) endpoints(p *process) []derecho.Endpoint {
	if s.Stored == "" {
		return p.endpoints()
	}
	return p.storedEndpoints()
}

// storedEndpoints are a writer of a channel that everybody stores, and a replica of another of the same subgroup, which
// node 0 alone writes, and stores.
func (p *process) storedEndpoints() (all []derecho.Endpoint) {
	sg := channels[logged]
	list := []derecho.Endpoint{{Channel: logged, Writes: sg}, {Channel: logged2}}
	if p == p.run.procs[0] {
		list[1].Writes = sg
	} else {
		p.inMemory = []derecho.ChannelID{logged2}
	}
	for _, ep := range list {
		ep.Reads, ep.Replica = []derecho.Subgroup{sg}, true
		p.nextEP++
		ep.ID = p.nextEP
		p.wanted[ep.ID] = ep
		all = append(all, ep)
	}
	return all
}

// endpoints are a writer and a reader of an ordered and of an unordered channel, and a replica.
func (p *process) endpoints() (all []derecho.Endpoint) {
	for _, ch := range []derecho.ChannelID{1, 3, replicated} {
		sg := channels[ch]
		list := []derecho.Endpoint{{Channel: ch, Writes: sg}, {Channel: ch, Reads: []derecho.Subgroup{sg}}}
		if ch == replicated {
			list = []derecho.Endpoint{{Channel: ch, Writes: sg, Reads: []derecho.Subgroup{sg}, Replica: true}}
		}
		for _, ep := range list {
			p.nextEP++
			ep.ID = p.nextEP
			p.wanted[ep.ID] = ep
			all = append(all, ep)
		}
	}
	return all
}

// restLeases bounds rest: a death by silence is known after two leases, and what comes of it may bring another to light.
const restLeases = 10

// rest runs until nothing is under way any more, or for restLeases. The clock stands at the last event, and the next
// may be as far away as a heartbeat: so time is counted here, and not by the clock.
func (r *run) rest() { r.restUnless(func() bool { return false }) }

// restUnless also ends when that is over.
func (r *run) restUnless(over func() bool) {
	end := r.w.Now() + restLeases*r.plan.Lease
	for at := r.w.Now() + r.w.MaxDelay; at < end; at += r.w.MaxDelay {
		r.runUntil(at, 1_000_000)
		if r.err != nil || r.settled() || over() {
			return
		}
	}
}

// readers counts those of processes that live which what is written reaches.
func (r *run) readers() (n int) {
	for _, p := range r.procs {
		if !p.gone && p.joined {
			for _, ep := range p.ready {
				n += len(ep.Reads)
			}
		}
	}
	return n
}

// change lets the view change under load, and notes what a sweep wants to know of it.
func (s Scenario) change(r *run, seen *watch, res *Result) {
	w := r.w
	for _, p := range r.procs {
		p.chatter()
	}
	w.After(2*w.MaxDelay, func() {
		who := r.procs[s.Who]
		seen.begin()
		res.readers[0] = r.readers()
		for _, k := range s.Kills {
			if k.Node < len(r.procs) {
				f := r.procs[k.Node].f
				f.CrashAt = f.Pushes + k.K
				r.faults[CrashNode]++
			}
		}
		switch s.Begin {
		case "crash":
			r.faults[CrashNode]++
			who.crash("at rest")
		case "leave":
			who.leave()
		case "join":
			s.enter(r, who.host)
		case "joins":
			s.enter(r, who.host)
			s.enter(r, s.Hosts[0])
		case "return", "returns":
			for _, p := range slices.Clone(r.procs) {
				if p.crashed {
					s.armed(r.restart(p), len(r.procs)-1).chatter()
				}
			}
		}
	})
	r.runFor(12*w.MaxDelay, 1_000_000)
	r.restUnless(r.bereft)
	if r.err == nil && !r.settled() && !r.bereft() && !r.waiting() {
		r.failf("the change is not over after %d leases, and nobody dies later: %s", restLeases, r.unrest())
	}
	r.watch = nil
	res.readers[1] = r.readers()
	res.Pushes, res.all = seen.pushes(), seen.all
	for _, p := range r.procs {
		res.deaths, res.news = append(res.deaths, seen.deaths[p]), append(res.news, seen.news[p])
	}
}

// chatter lets a process write now and then.
func (p *process) chatter() {
	w := p.run.w
	for range 4 {
		w.After(w.Between(0, 10*w.MaxDelay), func() {
			if !p.gone && !p.leaving && p.joined {
				p.guard(p.send)
				p.look()
			}
		})
	}
}

// enter starts another node.
func (s Scenario) enter(r *run, host uint64) {
	p := s.armed(r.start(host, r.newDisk()), len(r.procs)-1)
	s.endpoints(p) // what it wants, and announces when it has joined
}

// armed is a process that has just been started, as the node with a number, and dies at the step at which that is to die.
func (s Scenario) armed(p *process, number int) *process {
	for _, k := range s.Kills {
		if k.Node == number {
			p.f.CrashAt = k.K
		}
	}
	return p
}

// Sweep is a set of scenarios: for some numbers of nodes, on one host, on a host each and mixed, for each
// way to change the view, a crash of any node at its k-th step, and two crashes.
type Sweep struct {
	Nodes int
	Step  int // of k: 1 for every one
	// Pairs is the step of both k of two crashes, one after the other: 1 for every pair but for those that are known to be the
	// same as another (see Count), 0 for none.
	Pairs int
	// Stored is what Step is, in scenarios with stored channels, of those steps that are not known to be the same as
	// the one before: 1 for every one, 0 for no such scenarios. Of the first deaths that are left Pairs leaves some.
	Stored int
	// Begins, if there are any, are the only changes; nil: all of Changes.
	Begins []string
	// Together: also two crashes at once, after each Step-th push of the whole group, of any two nodes.
	Together bool
	// Of the first crashes, with all that follows them, only those that belong to a part: their number, counted in steps of
	// Pairs, is Part modulo Parts. What the parts run, and count, adds up to the sweep, but that each begins a line with the
	// change alone. Parts 0: all of them.
	Part, Parts int
}

// Count is what became of the pairs of crashes (V@a, S@b) of a sweep: V dies at its a-th push of the change, for each a, and S at
// its b-th, for each b up to the end of the change that S sees when V dies at a. Each is left out for one reason at most:
//
// Mirrored: S@b comes before V@a. The run is that of the pair (S@b, V@a), which is counted as well: until the first
// death both are that of no death at all, or of the change alone, and behind it only the other death is left. For the
// same reason nothing is missing in what is counted: whichever dies first, the run until the second death is that with
// the first death alone, so the second comes at a push that this run shows.
//
// Same: between a push and the one before of the same node nothing has happened that makes a difference if it dies (instant). The
// run is event for event that in which it dies at the one before, which is run.
//
// Unseen: the node has only stored into its rows meanwhile, and no process that lives shares memory with it. Its rows
// die with it: the run is event for event that in which it dies at the one before, but for what the trace has of these
// rows at its death. What the checkers see in rows in the middle of a step, they see in the single deaths, of which
// none is left out.
type Count struct {
	Full     int // all
	Mirrored int
	Same     int
	Unseen   int
	Ran      int
	// Singles are the single deaths, and changes without one, that were run with stored channels; SameSingles those
	// that were not, as they are the same as a step earlier.
	Singles, SameSingles int
}

// Thinned is how many were not run though nothing is known of them.
func (c Count) Thinned() int { return c.Full - c.Mirrored - c.Same - c.Unseen - c.Ran }

// Plus adds two counts.
func (c Count) Plus(d Count) Count {
	return Count{c.Full + d.Full, c.Mirrored + d.Mirrored, c.Same + d.Same, c.Unseen + d.Unseen, c.Ran + d.Ran,
		c.Singles + d.Singles, c.SameSingles + d.SameSingles}
}

// drop counts a push of which nothing is run.
func (c *Count) drop(why news, n int) {
	if why == nothing {
		c.Same += n
	} else {
		c.Unseen += n
	}
}

// Line is a part of a sweep: all k for one node in one change, or for two together.
type Line struct {
	Scenario
	victim int
	other  int // dies together with the victim; -1: there is none
	sweep  Sweep
}

// Lines are the parts of the sweep; each runs by itself.
func (s Sweep) Lines() (lines []Line) {
	for _, hosts := range layouts(s.Nodes) {
		for _, begin := range s.among(begins) {
			for _, who := range []int{0, s.Nodes - 1} {
				if who > 0 && strings.HasPrefix(begin, "join") && hosts[who] == hosts[0] {
					continue // whoever joins knows the host only: that is the run beside node 0
				}
				lines = append(lines, s.lines(Scenario{Hosts: hosts, Begin: begin, Who: who})...)
			}
		}
	}
	if s.Stored == 0 {
		return lines
	}
	stored := s
	stored.Step = s.Stored
	for _, hosts := range layouts(s.Nodes) {
		for _, begin := range s.among(storedBegins) {
			for i, kind := range storedKinds { // each with one node to which it happens
				who := i * (s.Nodes - 1)
				lines = append(lines, stored.lines(Scenario{Hosts: hosts, Stored: kind, Begin: begin, Who: who})...)
			}
		}
	}
	return lines
}

// among are those of some changes that the sweep is of.
func (s Sweep) among(all []string) []string {
	if len(s.Begins) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(begin string) bool { return !slices.Contains(s.Begins, begin) })
}

// Changes are what Sweep.Begins may be.
var Changes = storedBegins

// NeedsLogs: a change is there with stored channels only.
func NeedsLogs(change string) bool { return !slices.Contains(begins, change) }

// lines are those of one change.
func (s Sweep) lines(sc Scenario) (lines []Line) {
	for victim := range sc.nodes() {
		if !sc.mortal(victim) {
			continue
		}
		lines = append(lines, Line{sc, victim, -1, s})
		for other := range victim {
			if s.Together && sc.mortal(other) {
				lines = append(lines, Line{sc, other, victim, s})
			}
		}
	}
	return lines
}

// mortal: the node is not dead when the change begins, and does not crash anyhow.
func (s Scenario) mortal(node int) bool {
	switch s.Begin {
	case "crash", "return":
		return node != s.Who
	case "returns":
		return node >= len(s.Hosts)
	default:
		return true
	}
}

func layouts(nodes int) (all [][]uint64) {
	one, each, mixed := make([]uint64, nodes), make([]uint64, nodes), make([]uint64, nodes)
	for i := range nodes {
		one[i], each[i], mixed[i] = 1, uint64(i+1), uint64(i/2+1)
	}
	if slices.Equal(one, mixed) {
		return [][]uint64{one, each}
	}
	return [][]uint64{one, each, mixed}
}

// Run executes the line and calls each with every result, until it returns false.
func (l Line) Run(each func(Scenario, *Result) bool) (count Count) {
	stored := l.Stored != ""
	r := l.Scenario.run((stored || l.sweep.Pairs > 0) && l.other < 0)
	if l.other >= 0 {
		l.together(r, each)
		return count
	}
	if !each(l.Scenario, r) {
		return count
	}
	if stored {
		count.Singles++
		return l.stored(r, count, each)
	}
	var as pairs // of the victim's last push that was no repetition
	number := -1 // of such pushes; those that repeat one are of its part
	for k := 1; k <= pushesOf(r.Pushes, l.victim); k += l.sweep.Step {
		repeats := l.sweep.Pairs > 0 && l.sweep.Step == 1 && r.news[l.victim][k-1] != fresh
		if !repeats {
			number++
		}
		if !l.sweep.has(number) {
			continue
		}
		s := l.Scenario
		s.Kills = []Kill{{l.victim, k}}
		chosen := !repeats && l.sweep.chooses(number)
		first := s.run(chosen)
		if !each(s, first) {
			return count
		}
		switch {
		case l.sweep.Pairs == 0:
			continue
		case repeats:
			count.Full += as.Full
			count.Mirrored += as.Mirrored
			count.drop(r.news[l.victim][k-1], as.Full-as.Mirrored)
			continue
		}
		as = l.pairs(s, first, number)
		count = count.Plus(as.Count)
		for _, both := range as.run {
			count.Ran++
			if !each(both, both.run(false)) {
				return count
			}
		}
	}
	return count
}

// stored goes on with a line of which the change alone has been run, with stored channels. Steps are thinned out as
// first deaths of pairs are: of those at which something is new.
func (l Line) stored(r *Result, count Count, each func(Scenario, *Result) bool) Count {
	number, ran := 0, -1
	for k := 1; k <= min(pushesOf(r.Pushes, l.victim), len(r.news[l.victim])); k++ {
		if r.news[l.victim][k-1] == nothing {
			if l.sweep.has(max(ran, 0)) {
				count.SameSingles++
			}
			continue
		}
		if number++; number%l.sweep.Step != l.victim%l.sweep.Step { // not the same of all victims
			continue
		}
		if ran++; !l.sweep.has(ran) {
			continue
		}
		s := l.Scenario
		s.Kills = []Kill{{l.victim, k}}
		chosen := l.sweep.chooses(ran)
		first := s.run(chosen)
		count.Singles++
		if !each(s, first) {
			return count
		}
		if chosen {
			as := l.pairs(s, first, ran)
			count = count.Plus(as.Count)
			for _, both := range as.run {
				count.Ran++
				if !each(both, both.run(false)) {
					return count
				}
			}
		}
	}
	return count
}

// has tells whether the first death with that number is of this part of the sweep.
func (s Sweep) has(number int) bool {
	return s.Parts == 0 || number/max(s.Pairs, 1)%s.Parts == s.Part
}

// chooses tells whether it is followed by others, if this part has it.
func (s Sweep) chooses(number int) bool {
	return s.Pairs > 0 && number%s.Pairs == s.Pairs-1
}

// together kills two at once.
func (l Line) together(r *Result, each func(Scenario, *Result) bool) {
	for k := 1; k <= r.all; k += l.sweep.Step {
		if !l.sweep.has(k / l.sweep.Step) {
			continue
		}
		s := l.Scenario
		s.Together = &Together{[]int{l.victim, l.other}, k}
		if !each(s, s.run(false)) {
			return
		}
	}
}

// pairs are those with one first death.
type pairs struct {
	Count
	run []Scenario
}

// pairs kills another node, too, if instants were recorded in the run with the first death, which has a number.
func (l Line) pairs(s Scenario, first *Result, number int) (as pairs) {
	for second := range len(first.Pushes) {
		if second == l.victim || !l.mortal(second) {
			continue
		}
		all, until := first.Pushes[second], pushesOf(first.deaths[l.victim], second)
		as.Full += all
		as.Mirrored += until
		n := 0
		for k := until + 1; k <= min(all, len(first.news[second])); k++ {
			if new := first.news[second][k-1]; new != fresh {
				as.drop(new, 1)
				continue
			}
			// Not the same k each time: in the end all have had their turn.
			if n++; n%l.sweep.Pairs == number/l.sweep.Pairs%l.sweep.Pairs {
				both := s
				both.Kills = append(slices.Clone(s.Kills), Kill{second, k})
				as.run = append(as.run, both)
			}
		}
	}
	return as
}

func pushesOf(pushes []int, node int) int {
	if node < len(pushes) {
		return pushes[node]
	}
	return 0
}
