package derecho

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/sim"
	"github.com/omg-dds-go/dds/smc"
)

// The simulator drives the machines of a whole group in virtual time from a seed: nodes join and
// leave, endpoints come and go, messages flow, over links with any delays that the contract allows.
// A failing seed replays exactly:
//
//	go test ./derecho -run TestSim -sim.from 17 -sim.seeds 1 -v

var (
	simSeeds = flag.Int("sim.seeds", 300, "number of seeds that TestSim runs")
	simFrom  = flag.Uint64("sim.from", 1, "first seed")
)

// simRun is one run, with everything that happened in it.
type simRun struct {
	w     *sim.World
	rng   *rand.Rand
	nodes []*simNode
	sent  []simSend
	// unfound: some nodes are not found at start, only told of by others. The first one always is,
	// and stays.
	unfound bool
	trace   strings.Builder
	err     error
}

type simSend struct {
	group uint64
	node  NodeID
	sg    SubgroupID
	ch    ChannelID
	epoch uint32
	text  string
	desc  *descriptor
}

// simNode is a node: the production machine, and a Handler and shell around it that note what it does.
type simNode struct {
	run       *simRun
	id        NodeID
	m         *machine
	f         *sim.Fabric
	scheduled bool
	inbox     []func(*machine)
	isJoined  bool
	isLeaving bool
	hasGone   bool
	nextEP    EndpointID
	nextMsg   int
	endpoints map[EndpointID]Endpoint // ready for use
	got       map[SubgroupID][]got
	history   map[ChannelID][]string // of replica channels: state and what followed
	pending   map[ChannelID][]string // delivered while the state is on its way
	from      map[ChannelID]uint32   // epoch at whose beginning the history was taken
	known     []string               // endpoints in the order of their announcement
}

func (r *simRun) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *simRun) log(format string, args ...any) {
	fmt.Fprintf(&r.trace, "%12v  ", r.w.Now())
	fmt.Fprintf(&r.trace, format, args...)
	r.trace.WriteByte('\n')
}

func (r *simRun) start(host uint64) {
	n := &simNode{
		run: r, id: NodeID(r.rng.Uint64()>>8 | 1), endpoints: map[EndpointID]Endpoint{}, got: map[SubgroupID][]got{},
		history: map[ChannelID][]string{}, pending: map[ChannelID][]string{}, from: map[ChannelID]uint32{},
	}
	cfg := &Config{RingBytes: 1 << 13}
	n.m = newMachine(cfg, n.id, n, n)
	n.f = r.w.Attach(rdma.PeerInfo{ID: uint64(n.id), Name: fmt.Sprint(len(r.nodes))}, host, n, n.wake)
	if r.unfound {
		n.f.Unfound = func(p rdma.PeerInfo) bool {
			i := slices.IndexFunc(r.nodes, func(o *simNode) bool { return uint64(o.id) == p.ID })
			return i > 0 && r.nodes[i].isJoined && !rdma.Aliased(p, n.f.Self()) && r.rng.IntN(2) == 0
		}
	}
	n.m.attach(n.f.Self(), n.f)
	r.nodes = append(r.nodes, n)
	r.log("start %s on host %d", n.id, host)
	n.f.Start()
}

func (n *simNode) wake() {
	if n.scheduled || n.hasGone {
		return
	}
	n.scheduled = true
	n.run.w.After(n.run.w.Between(0, 20*time.Microsecond), func() {
		inbox := n.inbox
		n.inbox = nil
		n.run.w.After(n.pause(), func() { n.step(inbox) })
	})
}

// pause is how long a pass takes: mostly nothing, but now and then the process is not scheduled, or
// collects garbage, between taking its events and acting on them.
func (n *simNode) pause() time.Duration {
	if n.run.rng.IntN(20) > 0 {
		return 0
	}
	return n.run.w.Between(0, 4*n.run.w.MaxDelay)
}

func (n *simNode) step(inbox []func(*machine)) {
	n.scheduled = false
	for _, ev := range inbox {
		if !n.hasGone {
			ev(n.m)
		}
	}
	if !n.hasGone && n.m.Step(time.Time{}) || len(n.inbox) > 0 {
		n.wake()
	}
}

// event is what the fabric reports: the machine gets it with its next step, as from Node's inbox, while
// the fabric itself may go on.
func (n *simNode) event(ev func(*machine)) {
	n.inbox = append(n.inbox, ev)
	n.wake()
}

// events of the fabric
func (n *simNode) LinkUp(l rdma.Link) { n.event(func(m *machine) { m.linkUp(l) }) }
func (n *simNode) LinkDown(l rdma.Link, died bool, err error) {
	n.event(func(m *machine) { m.linkDown(l, died, err) })
}
func (n *simNode) Message(l rdma.Link, b []byte)      { n.event(func(m *machine) { m.message(l, b) }) }
func (n *simNode) Refused(_ rdma.PeerInfo, err error) { n.event(func(m *machine) { m.refused(err) }) }
func (n *simNode) Opened(l rdma.Link, k rdma.Key, g *rdma.Region, err error) {
	n.event(func(m *machine) { m.opened(l, k, g, err) })
}
func (n *simNode) Scanned() {
	n.event(func(m *machine) {
		m.scanned = true
		m.decide()
	})
}

// the shell
func (n *simNode) hasJoined() {
	n.isJoined = true
	n.run.log("%s joined, %d members", n.id, len(n.m.view.members))
}
func (n *simNode) hasLeft() {
	n.hasGone = true
	n.run.log("%s left", n.id)
	_ = n.f.Close()
}
func (n *simNode) hasFailed(err error) { n.run.failf("node %s failed: %v", n.id, err) }
func (n *simNode) newGroup(*subgroup)  {}
func (n *simNode) post(ev func(*machine)) {
	n.event(ev)
}

// the Handler
func (n *simNode) EndpointAdded(ep Endpoint) {
	n.known = append(n.known, fmt.Sprintf("%s/%d", ep.Node, ep.ID))
}
func (n *simNode) EndpointRemoved(ep Endpoint) {
	n.known = slices.DeleteFunc(n.known, func(s string) bool { return s == fmt.Sprintf("%s/%d", ep.Node, ep.ID) })
}
func (n *simNode) NodeJoined(NodeID)                   {}
func (n *simNode) NodeLeft(NodeID)                     {}
func (n *simNode) LogFailed(SubgroupID, NodeID, error) {}
func (n *simNode) Failed(error)                        {}

func (n *simNode) Deliver(sg SubgroupID, batch []Message) {
	for _, m := range batch {
		g := got{m.Sender, m.Channel, m.Epoch, m.Seq, string(m.Payload)}
		n.run.log("%s deliver sg %d e %d seq %d from %s: %s", n.id, sg, g.epoch, g.seq, g.sender, g.text)
		n.got[sg] = append(n.got[sg], g)
		if g.channel == 0 {
			n.run.failf("node %s: %q of an unknown writer", n.id, g.text)
		}
		if m.Epoch < n.from[m.Channel] {
			continue // covered by the state
		}
		if p, waits := n.pending[m.Channel]; waits {
			n.pending[m.Channel] = append(p, g.text)
		} else if h, keeps := n.history[m.Channel]; keeps {
			n.history[m.Channel] = append(h, g.text)
		}
	}
}

func (n *simNode) AwaitState(sg SubgroupID, ch ChannelID, from uint32, pending bool) {
	n.run.log("%s await state of channel %d on sg %d from epoch %d: %v", n.id, ch, sg, from, pending)
	n.from[ch] = from
	if pending {
		n.pending[ch] = nil
	} else {
		n.history[ch] = nil
	}
}

func (n *simNode) SaveState(_ SubgroupID, ch ChannelID) []byte {
	if _, waits := n.pending[ch]; waits {
		n.run.failf("node %s is asked for the state of channel %d that it waits for itself", n.id, ch)
	}
	return []byte(strings.Join(n.history[ch], " "))
}

func (n *simNode) LoadState(_ SubgroupID, ch ChannelID, state []byte) {
	p, waits := n.pending[ch]
	if !waits {
		n.run.failf("node %s got a state of channel %d that it does not wait for", n.id, ch)
	}
	delete(n.pending, ch)
	n.history[ch] = append(strings.Fields(string(state)), p...)
}

// the application

// Channels 1 and 2 share the ordered subgroup 1; 3 is on the unordered subgroup 2; 4 is replicated on
// the ordered subgroup 3, which it shares with the volatile channel 5.
var simChannels = map[ChannelID]Subgroup{1: {1, Ordered}, 2: {1, Ordered}, 3: {2, Unordered}, 4: {3, Ordered}, 5: {3, Ordered}}

func (n *simNode) act() {
	if !n.isJoined || n.isLeaving || n.hasGone {
		return
	}
	rng := n.run.rng
	switch k := rng.IntN(100); {
	case k < 12:
		n.add()
	case k < 16:
		n.remove()
	default:
		n.send()
	}
	n.wake()
}

func (n *simNode) add() {
	ch := ChannelID(1 + n.run.rng.IntN(5))
	sg := simChannels[ch]
	n.nextEP++
	ep := Endpoint{Node: n.id, ID: n.nextEP, Channel: ch, Replica: ch == 4}
	if n.run.rng.IntN(2) == 0 {
		ep.Writes = sg
		if ep.Replica {
			ep.Reads = []Subgroup{sg}
		}
	} else {
		ep.Reads = []Subgroup{sg}
	}
	n.run.log("%s add endpoint %d on channel %d, writes %v", n.id, ep.ID, ch, ep.Writes.ID != 0)
	n.m.addEndpoint(ep, func(err error) {
		if err != nil && !errors.Is(err, ErrClosed) {
			n.run.failf("node %s: add: %v", n.id, err)
		}
		n.endpoints[ep.ID] = ep
	})
}

func (n *simNode) remove() {
	if len(n.endpoints) == 0 {
		return
	}
	ids := slices.Sorted(maps.Keys(n.endpoints))
	id := ids[n.run.rng.IntN(len(ids))]
	delete(n.endpoints, id)
	n.run.log("%s remove endpoint %d", n.id, id)
	n.m.removeEndpoint(id, func(err error) {
		if err != nil && !errors.Is(err, ErrClosed) {
			n.run.failf("node %s: remove: %v", n.id, err)
		}
	})
}

func (n *simNode) send() {
	for _, id := range slices.Sorted(maps.Keys(n.endpoints)) {
		ep := n.endpoints[id]
		if ep.Writes.ID == 0 || n.run.rng.IntN(2) == 0 {
			continue
		}
		g := n.m.groups[ep.Writes.ID]
		e := g.sending.Load()
		if e == nil {
			n.run.failf("node %s has writer %d and no epoch to send in", n.id, id)
			return
		}
		n.nextMsg++
		text := fmt.Sprintf("%s:%d:%s", n.id, n.nextMsg, strings.Repeat("x", n.run.rng.IntN(200)))
		r, err := e.tryReserve(ep.Channel, len(text))
		if errors.Is(err, smc.ErrFull) {
			return
		}
		if err != nil {
			n.run.failf("node %s: reserve: %v", n.id, err)
			return
		}
		copy(r.Bytes(), text)
		n.run.sent = append(n.run.sent, simSend{n.m.view.group, n.id, ep.Writes.ID, ep.Channel, e.desc.Epoch, text, e.desc})
		n.run.log("%s send sg %d e %d: %s", n.id, ep.Writes.ID, e.desc.Epoch, text)
		Slot{e, r}.Commit(Header{Writer: ep.ID}, len(text))
	}
}

// simulate runs one seed to its end and checks it.
func simulate(seed uint64) *simRun {
	w := sim.NewWorld(seed)
	r := &simRun{w: w, rng: w.Rand()}
	hosts := 1 + r.rng.IntN(3)
	nodes := 2 + r.rng.IntN(4)
	r.unfound = r.rng.IntN(2) == 0
	r.log("seed %d: %d nodes on %d hosts, delay up to %v, pause up to %v", seed, nodes, hosts, w.MaxDelay, w.MaxPause)
	for range nodes {
		w.After(w.Between(0, 20*w.MaxDelay), func() { r.start(1 + uint64(r.rng.IntN(hosts))) })
	}
	// Much traffic hides what only the next message repairs; so some runs have little, and soon.
	length, acts := 200*w.MaxDelay, 400
	if r.rng.IntN(2) == 0 {
		length, acts = 40*w.MaxDelay, 10+r.rng.IntN(40)
	}
	for range acts {
		w.After(w.Between(0, length), func() {
			if len(r.nodes) > 0 {
				r.nodes[r.rng.IntN(len(r.nodes))].act()
			}
		})
	}
	for range r.rng.IntN(3) {
		w.After(w.Between(length/2, length), func() {
			n := r.nodes[r.rng.IntN(len(r.nodes))]
			if n.isJoined && !n.isLeaving && !(r.unfound && n == r.nodes[0]) {
				n.isLeaving = true
				r.log("%s leaves", n.id)
				n.m.leave()
				n.wake()
			}
		})
	}
	// Quiescence: after the last act the world runs out of events by itself.
	const limit = 400000
	steps := 0
	steps = w.Run(1<<62, func() bool { steps++; return r.err != nil || steps > limit })
	if r.err == nil && steps > limit {
		r.failf("traffic does not end: more than %d events", limit)
	}
	if r.err == nil {
		r.check()
	}
	return r
}

// check looks at the trace alone.
func (r *simRun) check() {
	var alive []*simNode
	for _, n := range r.nodes {
		if !n.hasGone {
			alive = append(alive, n)
		}
		if !n.isJoined {
			r.failf("node %s never joined", n.id)
		}
		if n.isLeaving && !n.hasGone {
			r.failf("node %s never got away", n.id)
		}
		for ch := range n.pending {
			r.failf("node %s still waits for the state of channel %d", n.id, ch)
		}
		r.checkNode(n)
	}
	for _, n := range alive {
		if !slices.Equal(n.known, alive[0].known) {
			r.failf("nodes %s and %s know different endpoints", n.id, alive[0].id)
		}
		if n.m.view.epoch != alive[0].m.view.epoch || len(n.m.view.members) != len(alive) {
			r.failf("node %s is in view %d of %d members, %d are alive", n.id, n.m.view.epoch, len(n.m.view.members), len(alive))
		}
		for _, g := range n.m.order {
			if len(g.epochs) > 1 {
				r.failf("node %s keeps %d epochs of subgroup %d", n.id, len(g.epochs), g.id)
			}
		}
	}
	r.checkEpochs()
	r.checkReplicas(alive)
}

// checkNode: epochs and sequence numbers ascend, senders keep their order, nothing comes twice.
func (r *simRun) checkNode(n *simNode) {
	for sg, list := range n.got {
		seen := map[string]bool{}
		last := map[NodeID]int{}
		for i, g := range list {
			if seen[g.text] {
				r.failf("node %s delivered %q twice", n.id, g.text)
			}
			seen[g.text] = true
			if i > 0 && sg != 2 && (g.epoch < list[i-1].epoch || g.epoch == list[i-1].epoch && g.seq <= list[i-1].seq) {
				r.failf("node %s: epoch %d seq %d after epoch %d seq %d", n.id, g.epoch, g.seq, list[i-1].epoch, list[i-1].seq)
			}
			var k int
			_, _ = fmt.Sscanf(g.text[17:], "%d", &k)
			if k <= last[g.sender] {
				r.failf("node %s: message %d of %s after its message %d", n.id, k, g.sender, last[g.sender])
			}
			last[g.sender] = k
		}
	}
}

// checkEpochs: what was sent in an epoch is delivered by every receiver of that epoch, in one order,
// with one sequence number, and nothing else is.
func (r *simRun) checkEpochs() {
	// A group that everybody left is followed by another one, which counts from the start.
	type place struct {
		group uint64
		sg    SubgroupID
		epoch uint32
	}
	where := map[string]place{}
	sent := map[place]map[string]bool{}
	descs := map[place]*descriptor{}
	for _, s := range r.sent {
		at := place{s.group, s.sg, s.epoch}
		where[s.text] = at
		if sent[at] == nil {
			sent[at] = map[string]bool{}
		}
		sent[at][s.text] = true
		if d := descs[at]; d != nil && !sameMembers(d.Members, s.desc.Members) {
			r.failf("subgroup %d epoch %d has two descriptors", s.sg, s.epoch)
		}
		descs[at] = s.desc
	}
	delivered := map[place]map[NodeID][]got{}
	for _, n := range r.nodes {
		for sg, list := range n.got {
			for _, g := range list {
				at, known := where[g.text]
				if !known || at.sg != sg || at.epoch != g.epoch {
					r.failf("node %s delivered %q in subgroup %d epoch %d, where nobody sent it", n.id, g.text, sg, g.epoch)
				}
				if delivered[at] == nil {
					delivered[at] = map[NodeID][]got{}
				}
				delivered[at][n.id] = append(delivered[at][n.id], g)
			}
		}
	}
	for at, texts := range sent {
		var first []got
		for _, m := range descs[at].Members {
			if !m.receives() {
				continue
			}
			list := delivered[at][m.Node]
			if len(list) != len(texts) {
				r.failf("node %s delivered %d of the %d messages of subgroup %d epoch %d", m.Node, len(list), len(texts), at.sg, at.epoch)
			}
			if first == nil {
				first = list
			}
			if at.sg != 2 && !slices.Equal(first, list) {
				r.failf("subgroup %d epoch %d was delivered in two orders", at.sg, at.epoch)
			}
		}
	}
}

// checkReplicas: all that keep the state of the channel keep the same.
func (r *simRun) checkReplicas(alive []*simNode) {
	var one *simNode
	for _, n := range alive {
		i := slices.IndexFunc(n.m.cat.endpoints, func(e Endpoint) bool { return e.Node == n.id && e.Channel == 4 })
		if i < 0 {
			continue
		}
		if one == nil {
			one = n
		}
		if !slices.Equal(n.history[4], one.history[4]) {
			r.failf("replicas %s and %s keep different histories: %d and %d messages", n.id, one.id, len(n.history[4]), len(one.history[4]))
		}
	}
}

func TestSim(t *testing.T) {
	sent, delivered, epochs := 0, 0, 0
	for i := range *simSeeds {
		seed := *simFrom + uint64(i)
		r := simulate(seed)
		if r.err != nil {
			if testing.Verbose() {
				t.Log(r.trace.String())
			}
			t.Fatalf("seed %d: %v\nreplay: go test ./derecho -run TestSim -sim.from %d -sim.seeds 1 -v", seed, r.err, seed)
		}
		sent += len(r.sent)
		for _, n := range r.nodes {
			for _, l := range n.got {
				delivered += len(l)
			}
			for _, d := range n.m.cat.subgroups {
				epochs += int(d.Epoch)
			}
		}
	}
	t.Logf("%d seeds: %d messages sent, %d delivered, %d epochs", *simSeeds, sent, delivered, epochs)
	if delivered == 0 || epochs == 0 {
		t.Fatal("nothing happened")
	}
}

// The same seed gives the same run, event for event.
func TestSimIsDeterministic(t *testing.T) {
	for seed := range uint64(10) {
		if a, b := simulate(seed), simulate(seed); a.trace.String() != b.trace.String() {
			t.Fatalf("seed %d ran in two ways", seed)
		}
	}
}
