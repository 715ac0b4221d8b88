package cluster

import (
	"errors"
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
	Begin string   // what changes the view: see begins
	Who   int      // the node that crashes or leaves, or the one beside which another joins; joins: and one beside node 0
	Kills []Kill
}

// Kill ends a node at its k-th push or store after the change has begun. The nodes that join have the
// numbers behind those that were there.
type Kill struct{ Node, K int }

// begins are the ways to change a view.
var begins = []string{"crash", "leave", "join", "joins"}

// String is what ParseScenario reads.
func (s Scenario) String() string {
	var b strings.Builder
	for i, h := range s.Hosts {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, h)
	}
	fmt.Fprintf(&b, " %s %d", s.Begin, s.Who)
	for _, k := range s.Kills {
		fmt.Fprintf(&b, " %d@%d", k.Node, k.K)
	}
	return b.String()
}

// ParseScenario reads the hosts of the nodes, what begins, to whom, and who is killed at which push:
// "1,1,2 crash 0 2@17".
func ParseScenario(text string) (s Scenario, err error) {
	usage := fmt.Errorf("cluster: no scenario: %q; say for example \"1,1,2 crash 0 2@17\"", text)
	f := strings.Fields(text)
	if len(f) < 3 || !slices.Contains(begins, f[1]) {
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
		node, at, ok := strings.Cut(k, "@")
		n, err1 := strconv.Atoi(node)
		p, err2 := strconv.Atoi(at)
		if err := errors.Join(err1, err2); !ok || err != nil || n < 0 || n > len(s.Hosts)+1 || p < 1 {
			return s, usage
		}
		s.Kills = append(s.Kills, Kill{n, p})
	}
	return s, nil
}

// Run executes a scenario. Result.Pushes tells how many pushes each node made until the change was over.
func (s Scenario) Run() *Result {
	const seed = 1
	w := sim.NewWorld(seed)
	r := &run{w: w, rng: w.Rand(), pick: rand.New(rand.NewPCG(seed, 0)), disks: rand.New(rand.NewPCG(seed, 0xd15c)), faults: map[Fault]int{}}
	r.plan = Plan{
		Seed: seed, Nodes: len(s.Hosts), Hosts: int(slices.Max(s.Hosts)), Faults: CrashNode, Count: len(s.Kills), Lease: 100 * time.Millisecond,
		MaxDelay: 200 * time.Microsecond, MaxPause: time.Microsecond, Ring: 1 << 12, Burst: 1,
	}
	w.MaxDelay, w.MaxPause = r.plan.MaxDelay, r.plan.MaxPause
	s.prepare(r)
	before := s.change(r)
	var pushes []int
	for i, p := range r.procs {
		pushes = append(pushes, p.f.Pushes)
		if i < len(before) {
			pushes[i] -= before[i]
		}
	}
	r.liveness()
	if r.err == nil {
		r.err = check(r.plan, r.events)
	}
	return &Result{Plan: r.plan, Err: r.err, Events: r.events, Steps: r.steps, Faults: r.faults, Lost: r.lost, Pushes: pushes}
}

// prepare makes a group in which everybody writes and reads.
func (s Scenario) prepare(r *run) {
	for _, h := range s.Hosts {
		r.start(h, r.newDisk())
		r.rest()
	}
	for _, p := range r.procs {
		p.guard(p.endpoints)
		p.look()
	}
	r.rest()
}

// endpoints announces a writer and a reader of an ordered and of an unordered channel, and a replica.
func (p *process) endpoints() {
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
			p.announce(ep)
		}
	}
}

// rest runs until nothing is under way any more, with a bound.
func (r *run) rest() {
	for range 400 {
		r.runFor(r.w.MaxDelay, 1_000_000)
		if r.err != nil || r.settled() {
			return
		}
	}
}

// change lets the view change under load, and returns the pushes of each node before the change.
func (s Scenario) change(r *run) (before []int) {
	w := r.w
	for _, p := range r.procs {
		for range 4 {
			w.After(w.Between(0, 10*w.MaxDelay), func() {
				if !p.gone && !p.leaving && p.joined {
					p.guard(p.send)
					p.look()
				}
			})
		}
	}
	w.After(2*w.MaxDelay, func() {
		who := r.procs[s.Who]
		for _, p := range r.procs {
			before = append(before, p.f.Pushes)
		}
		for _, k := range s.Kills {
			if k.Node < len(r.procs) {
				f := r.procs[k.Node].f
				f.CrashAt = before[k.Node] + k.K
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
		}
	})
	r.runFor(12*w.MaxDelay, 1_000_000)
	r.rest()
	return before
}

// enter starts another node.
func (s Scenario) enter(r *run, host uint64) {
	number := len(r.procs)
	p := r.start(host, r.newDisk())
	for _, k := range s.Kills {
		if k.Node == number {
			p.f.CrashAt = k.K
		}
	}
	r.w.After(4*r.w.MaxDelay, func() {
		if !p.gone && p.joined {
			p.guard(p.endpoints)
			p.look()
		}
	})
}

// Sweep is a set of scenarios: for some numbers of nodes, on one host, on a host each and mixed, for each
// way to change the view, a crash of any node after its k-th push, and pairs of crashes.
type Sweep struct {
	Nodes int
	Step  int // of k: 1 for every one
	Pairs int // of k for pairs of crashes; 0: no pairs
}

// Line is a part of a sweep: all k for one node in one change.
type Line struct {
	Scenario
	victim int
	sweep  Sweep
}

// Lines are the parts of the sweep; each runs by itself.
func (s Sweep) Lines() (lines []Line) {
	for _, hosts := range layouts(s.Nodes) {
		for _, begin := range begins {
			for _, who := range []int{0, s.Nodes - 1} {
				nodes := s.Nodes + map[string]int{"join": 1, "joins": 2}[begin]
				for victim := range nodes {
					if begin == "crash" && victim == who {
						continue
					}
					lines = append(lines, Line{Scenario{Hosts: hosts, Begin: begin, Who: who}, victim, s})
				}
			}
		}
	}
	return lines
}

func layouts(nodes int) (all [][]uint64) {
	one, each, mixed := make([]uint64, nodes), make([]uint64, nodes), make([]uint64, nodes)
	for i := range nodes {
		one[i], each[i], mixed[i] = 1, uint64(i+1), uint64(i/2+1)
	}
	return [][]uint64{one, each, mixed}
}

// Run executes the line and calls each with every result, until it returns false.
func (l Line) Run(each func(Scenario, *Result) bool) {
	r := l.Scenario.Run()
	if !each(l.Scenario, r) {
		return
	}
	for k := 1; k <= pushesOf(r, l.victim); k += l.sweep.Step {
		s := l.Scenario
		s.Kills = []Kill{{l.victim, k}}
		first := s.Run()
		if !each(s, first) {
			return
		}
		if !first.Lost && l.sweep.Pairs > 0 && k/l.sweep.Step%l.sweep.Pairs == 0 && !l.pairs(s, first, each) {
			return
		}
	}
}

// pairs kills another node, too.
func (l Line) pairs(s Scenario, first *Result, each func(Scenario, *Result) bool) bool {
	for second := range len(first.Pushes) {
		if second == l.victim || l.Begin == "crash" && second == l.Who {
			continue
		}
		// Not the same k each time: in the end all have had their turn.
		for k := 1 + s.Kills[0].K%l.sweep.Pairs; k <= pushesOf(first, second); k += l.sweep.Pairs {
			both := s
			both.Kills = append(slices.Clone(s.Kills), Kill{second, k})
			if !each(both, both.Run()) {
				return false
			}
		}
	}
	return true
}

func pushesOf(r *Result, node int) int {
	if node < len(r.Pushes) {
		return r.Pushes[node]
	}
	return 0
}
