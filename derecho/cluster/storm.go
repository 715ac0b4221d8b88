package cluster

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// A storm is a run that aims. An ordinary run spreads acts and faults over its time; most of the protocol's
// windows are open for microseconds, while a view changes, and it hits them by chance. A storm has waves: something
// begins that changes the view, and around it
//
//   - some links are slow, each by an amount of its own: what one member knows the next does not for a long
//     while (Slow);
//   - processes stand still, in a step or between steps, and states take long;
//   - ambushes lie in wait for what the protocol does, and not for a time: the node that has just accepted, decided,
//     reported or installed dies, stands still, or is not heard any more (ambush).
//
// All delays are heavy-tailed: of every order of magnitude from that of a message to some leases, all alike.

// Storms are the kinds of storms. The first are drawn for "any"; the last follow a script (scripts.go).
var Storms = []string{"wave", "relay", "exile", "birth", "unread", "heir", "widow", "halves", "ghost", "restart", "stranger",
	"mover", "twin", "cross", "hasty", "barren", "hollow", "novice", "orphan", "parts", "witness", "stuck", "dawn", "lorn", "parting", "camps",
	"outrun", "bequest", "blackout"}

const drawn = 5

// scripted: nothing happens in a storm but what its script says.
func scripted(storm string) bool { return slices.Index(Storms, storm) >= drawn }

// drawStorm draws the plan of a storm.
func drawStorm(seed uint64, rng *rand.Rand, o Options) Plan {
	if o.MaxNodes == 0 {
		o.MinNodes, o.MaxNodes = 3, 7
	}
	p := Plan{
		Seed: seed, Storm: o.Storm, Nodes: o.MinNodes + rng.IntN(o.MaxNodes-o.MinNodes+1), Lease: 100 * time.Millisecond,
		MaxDelay: 200 * time.Microsecond, MaxPause: []time.Duration{0, time.Microsecond, 100 * time.Microsecond}[rng.IntN(3)],
		Faults: o.Faults, Witness: rng.IntN(4) == 0, Revive: rng.IntN(2) == 0,
		Ring: []int{1 << 12, 1 << 13}[rng.IntN(2)], Burst: []int{1, 4}[rng.IntN(2)],
		Waves: 1 + rng.IntN(3), Acts: 20 << rng.IntN(4), Silence: silence(seed),
	}
	p.Hosts = 1 + rng.IntN(p.Nodes)
	if kind := Storms[rng.IntN(drawn)]; p.Storm == "any" {
		p.Storm = kind
	}
	switch {
	case p.Storm == "relay" && rng.IntN(2) == 0:
		p.Hosts = p.Nodes
	case p.Storm == "exile":
		p.Hosts = 2 + rng.IntN(2)
	case p.Storm == "birth":
		p.Nodes = 1 + p.Nodes%3 // those who join are to be a majority
	case p.Storm == "unread":
		p.Hosts, p.Waves = 1, 8
	}
	p.Length = time.Duration(p.Waves) * 2 * p.Lease
	if scripted(p.Storm) {
		p.script(rng)
	}
	if o.Duration > 0 {
		p.Length = o.Duration
	}
	return p
}

// storm makes a group and schedules the waves.
func (r *run) storm() {
	p, w := r.plan, r.w
	if scripted(p.Storm) {
		r.script()
		return
	}
	for i := range p.Nodes {
		host := 1 + uint64(r.rng.IntN(p.Hosts))
		if p.Storm == "relay" {
			host = 1 + uint64(i%p.Hosts)
		}
		r.start(host, r.newDisk())
		r.rest()
	}
	for _, q := range r.procs {
		q.guard(func() {
			for range 1 + r.rng.IntN(6) {
				ch := derecho.ChannelID(1 + r.rng.IntN(len(channels)))
				if p.Storm == "exile" && q.host != r.procs[0].host {
					ch = []derecho.ChannelID{3, 6}[r.rng.IntN(2)] // the others stay among those of one host
				}
				q.addTo(ch)
			}
		})
		q.look()
	}
	r.rest()
	r.stormy = true
	density := []float64{0, 0.1, 0.3, 0.6}[r.rng.IntN(4)]
	for range p.Waves {
		at := w.Between(0, p.Length)
		near := func() time.Duration { return max(0, at+w.Between(-p.Lease/4, p.Lease)) }
		switch p.Storm {
		case "relay":
			r.relay(at)
		case "exile":
			r.exile(at)
		case "birth":
			r.birth(at)
		case "unread":
			r.unread(at)
		default:
			r.plot(at, r.begin)
		}
		for range p.Acts {
			r.plot(near(), func() {
				if q := r.any(); q != nil {
					q.act()
				}
			})
		}
		for range r.rng.IntN(3) * 3 { // states come from nodes that wait for theirs, and that leave
			r.plot(near(), func() { r.churn(r.any()) })
		}
		for range int(density * float64(p.Nodes*(p.Nodes-1))) {
			r.plot(near(), r.slowLink)
		}
		for range r.rng.IntN(4) {
			r.plot(max(0, at-w.Between(0, p.Lease/10)), func() { r.lie() })
		}
		for range r.rng.IntN(3) {
			r.plot(near(), func() { r.strike(r.any()) })
		}
	}
}

// relay is a wave against the agreement: the oldest dies, and those who propose after it are struck one after the
// other, when they or somebody else accept or decide. The younger ones hear each other late, so that each knows of
// the agreement what the proposers have told it.
func (r *run) relay(at time.Duration) {
	n := len(r.procs)
	proposers := 2 + r.rng.IntN(3)
	for i := range n {
		for j := range n {
			late := 0.1
			if min(i, j) >= proposers {
				late = 0.9
			} else if max(i, j) < proposers {
				late = 0.5
			}
			if i != j && r.rng.Float64() < late {
				r.plot(max(0, at-r.w.Between(0, 4*r.w.MaxDelay)), func() {
					if p, q := r.procs[i], r.procs[j]; !p.gone && !q.gone {
						r.slow(p, q, 10*r.w.MaxDelay+r.tail(r.plan.Lease), 40*r.w.MaxDelay+r.tail(2*r.plan.Lease))
					}
				})
			}
		}
	}
	for i := range min(proposers, n) {
		if i == 0 {
			r.plot(at, func() { r.kill(r.procs[0]) })
			continue
		}
		r.plot(max(0, at-r.w.Between(0, r.w.MaxDelay)), func() {
			a := r.lie()
			a.on, a.victim = []moment{accepts, decides, decides, promises}[r.pick.IntN(4)], r.procs[i]
			a.anybody, a.kills = r.pick.IntN(3) == 0, true
			if !a.anybody {
				a.after = 0
			}
		})
	}
}

// exile is a wave against the rule of one host: a process is not heard on other hosts any more and is removed, while
// it lives, and goes on to write what those on its own host need not acknowledge. They stand still now and then.
func (r *run) exile(at time.Duration) {
	n, lease := len(r.procs), r.plan.Lease
	var near []int
	for i, p := range r.procs {
		if p.host == r.procs[0].host {
			near = append(near, i)
		}
	}
	who := near[r.rng.IntN(len(near))]
	r.plot(at, func() {
		p := r.procs[who]
		both := r.pick.IntN(2) == 0
		r.emit(Event{Kind: Fault_, Node: p.id, Text: "is not heard on other hosts"})
		r.cut(func(a, b *process) bool {
			return a.host != b.host && (a == p || both && b == p)
		}, lease+r.tail(2*lease))
	})
	if r.rng.IntN(2) == 0 { // in a view that is new: some can not read the rows of others yet
		r.plot(max(0, at-10*r.w.MaxDelay), func() { r.start(1+uint64(r.pick.IntN(r.plan.Hosts)), r.newDisk()) })
		for range 1 + r.rng.IntN(4) {
			r.plot(max(0, at-11*r.w.MaxDelay), func() {
				if p, q := r.any(), r.any(); p != q && !p.gone && !q.gone {
					r.slow(p, q, lease+r.tail(2*lease), 2*lease)
				}
			})
		}
	}
	// It is accused after a lease, and removed when that has stood for a while.
	removal := func() time.Duration { return at + lease + r.w.Between(0, lease/2) }
	for range 100 {
		r.plot(removal(), func() { r.procs[who].act() })
	}
	for range 1 + r.rng.IntN(6) {
		i := r.rng.IntN(n)
		r.plot(removal(), func() {
			if p := r.procs[i]; !p.gone && !p.f.Paused() && r.plan.Faults&Pause != 0 {
				p.f.Pause(true)
				r.emit(Event{Kind: Fault_, Node: p.id, Text: paused})
				r.w.After(r.tail(lease/2), func() {
					r.resume(p)
					p.act()
				})
			}
		})
	}
}

// birth is a wave against those who join: several do, and those who welcome them die one after the other.
func (r *run) birth(at time.Duration) {
	n := len(r.procs)
	for range 1 + r.rng.IntN(3) {
		host := 1 + uint64(r.rng.IntN(r.plan.Hosts))
		r.plot(at+r.w.Between(0, 2*r.w.MaxDelay), func() { r.start(host, r.newDisk()) })
	}
	for i := range n {
		if r.rng.IntN(3) == 0 {
			r.plot(at+r.w.Between(0, 4*r.w.MaxDelay), r.procs[i].leave)
		}
	}
	for range r.rng.IntN(4 * n) {
		r.plot(max(0, at+r.w.Between(-2*r.w.MaxDelay, 4*r.w.MaxDelay)), r.slowLink)
	}
	for _, i := range r.rng.Perm(n)[:1+r.rng.IntN(n)] {
		r.plot(max(0, at-r.w.Between(0, r.w.MaxDelay)), func() {
			a := r.lie()
			a.on, a.victim = []moment{executes, drains, installsView}[r.pick.IntN(3)], r.procs[i]
			a.anybody, a.kills = r.pick.IntN(4) == 0, true
			if r.pick.IntN(2) == 0 {
				a.on, a.after = installsView, 0
			}
		})
	}
}

// unread is a wave against certified deaths: a process can not read the others of its host in a new view, and they give
// it up after long and die.
func (r *run) unread(at time.Duration) {
	who := r.rng.IntN(len(r.procs))
	r.plot(at, func() {
		q := r.procs[who]
		for _, p := range r.procs {
			if p != q && !p.gone && !q.gone {
				r.slow(p, q, 16*r.plan.Lease+r.tail(8*r.plan.Lease), 16*r.plan.Lease)
			}
		}
		r.start(1, r.newDisk())
	})
	r.plot(at, func() {
		for i, p := range r.procs {
			if i != who && !p.gone {
				a := r.lie()
				a.on, a.after, a.victim, a.anybody, a.kills = decides, 0, p, false, true
			}
		}
	})
}

// begin begins something that changes the view.
func (r *run) begin() {
	kinds := []Fault{CrashNode, CrashNode, Pause, OneWay, Partition, CrashHost, 0, 0, 0}
	if r.plan.Faults&CrashAll != 0 && r.pick.IntN(8) == 0 {
		kinds = []Fault{CrashAll}
	}
	f := kinds[r.pick.IntN(len(kinds))]
	if r.plan.Faults&CrashSync != 0 && r.disks.IntN(4) == 0 {
		r.crashWriters()
	}
	switch p := r.any(); {
	case f != 0:
		if r.plan.Faults&f != 0 {
			r.fault(f)
		}
	case r.pick.IntN(3) == 0 && p != r.procs[0]:
		p.leave()
	default:
		for range 1 + r.pick.IntN(2) {
			host := 1 + uint64(r.pick.IntN(r.plan.Hosts))
			r.w.After(r.tail(r.plan.Lease/4), func() {
				if !r.calm {
					r.start(host, r.newDisk())
				}
			})
		}
	}
}

// tail is a time of any order of magnitude, from that of a message up to most.
func (r *run) tail(most time.Duration) time.Duration {
	least := float64(r.w.MaxDelay) / 4
	return time.Duration(least * math.Pow(float64(most)/least, r.pick.Float64()))
}

// slowLink makes all that passes from one process to another late, for a while.
func (r *run) slowLink() {
	p, q := r.any(), r.any()
	if p == q || p.gone || q.gone {
		return
	}
	r.slow(p, q, r.tail(16*r.plan.Lease), r.tail(4*r.plan.Lease))
}

func (r *run) slow(p, q *process, by, during time.Duration) {
	from, to := p.f, q.f
	r.emit(Event{Kind: Fault_, Text: fmt.Sprintf("what passes from %s to %s is late by %v", p.id, q.id, by)})
	r.w.Slow(from, to, by)
	r.w.After(during, func() { r.w.Slow(from, to, 0) })
}

// churn begins or ends a replica.
func (r *run) churn(p *process) {
	if !p.joined || p.leaving || p.gone || p.f.Paused() {
		return
	}
	ch := kept[r.pick.IntN(len(kept))]
	keeps := slices.ContainsFunc(slices.Collect(maps.Values(p.ready)), func(ep derecho.Endpoint) bool { return ep.Channel == ch && ep.Replica })
	p.guard(func() {
		if keeps {
			p.removeFrom(ch)
		}
		if !keeps || r.pick.IntN(2) == 0 {
			p.addTo(ch)
		}
	})
	p.look()
}

// ambush waits for the protocol to do something, and strikes where it does.
type ambush struct {
	on      moment
	after   int      // how often it has to happen before
	victim  *process // whom it strikes; nil: whoever does it
	kills   bool     // most of the time
	anybody bool     // it may be somebody else than the victim who does it
	do      func()   // what happens instead of a strike, if not nil
	rng     *rand.Rand
}

// moment is something that a node does in the course of the protocol.
type moment uint8

const (
	accepts moment = iota
	promises
	decides
	wedges
	executes
	installsView
	installsEpoch
	drains
	reports
	trims
	moments
)

// lie puts an ambush.
func (r *run) lie() *ambush {
	a := &ambush{on: moment(r.pick.IntN(int(moments))), after: r.pick.IntN(4), rng: rand.New(rand.NewPCG(r.plan.Seed, r.pick.Uint64()))}
	if r.pick.IntN(3) == 0 {
		a.victim, a.anybody = r.any(), true
	}
	r.ambushes = append(r.ambushes, a)
	return a
}

// spring tells the ambushes what a node does. A strike is at once, which may be in the middle of a step; or it
// takes effect at the next push or store.
func (r *run) spring(p *process, m moment) {
	if r.calm || r.stalled {
		return
	}
	for i, a := range r.ambushes {
		if a.on != m || a.victim != nil && a.victim != p && !a.anybody {
			continue
		}
		if a.after--; a.after < 0 {
			r.ambushes = slices.Delete(r.ambushes, i, i+1)
			if a.do != nil {
				a.do()
				return
			}
			before := r.pick
			r.pick = a.rng
			if a.victim != nil {
				p = a.victim
			}
			if a.kills && r.pick.IntN(4) > 0 {
				r.kill(p)
			} else {
				r.strike(p)
			}
			r.pick = before
			return
		}
	}
}

// strike lets a process, or the connections of it, fail.
func (r *run) strike(p *process) {
	if p.gone {
		return
	}
	q := r.any()
	switch r.pick.IntN(6) {
	case 0, 1:
		r.kill(p)
	case 2:
		if r.plan.Faults&Pause != 0 && !p.f.Paused() {
			p.f.Pause(true)
			r.faults[Pause]++
			r.emit(Event{Kind: Fault_, Node: p.id, Text: paused})
			r.w.After(r.tail(16*r.plan.Lease), func() { r.resume(p) })
		}
	case 3:
		if q != p && !q.gone && r.plan.Faults&OneWay != 0 {
			r.slow(p, q, r.tail(16*r.plan.Lease), r.tail(4*r.plan.Lease))
		}
	case 4: // nobody hears it for a while, or it hears nobody
		for _, q := range r.procs {
			if q != p && !q.gone && r.plan.Faults&OneWay != 0 {
				r.slow(p, q, r.tail(2*r.plan.Lease), r.tail(4*r.plan.Lease))
			}
		}
	case 5:
		if r.plan.Faults&OneWay != 0 {
			side := p.host
			r.emit(Event{Kind: Fault_, Text: fmt.Sprintf("nothing passes from host %d", side)})
			r.cut(func(a, b *process) bool { return a.host == side && b.host != side }, r.tail(8*r.plan.Lease))
		}
	}
}

// kill ends a process at one of its next pushes or stores.
func (r *run) kill(p *process) {
	if r.plan.Faults&CrashNode != 0 && !p.gone {
		r.faults[CrashNode]++
		p.f.CrashAt = p.f.Pushes + int(r.tail(50*r.w.MaxDelay)/(r.w.MaxDelay/4))
	}
}

// momentOf is what an event of a machine is to ambushes.
func momentOf(e derecho.Event) (m moment, is bool) {
	switch e.Kind {
	case derecho.Decided:
		return decides, true
	case derecho.Wedged:
		return wedges, true
	case derecho.Executed:
		return executes, true
	case derecho.Installed:
		if e.Subgroup == 0 {
			return installsView, true
		}
		return installsEpoch, true
	case derecho.Drained:
		return drains, true
	case derecho.Reported:
		return reports, true
	case derecho.Trimmed:
		return trims, true
	}
	return 0, false
}
