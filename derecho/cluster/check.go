package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// check looks at a trace, and at nothing else. The names of the invariants are those of the protocol
// reference (M membership, A multicast, T trim).
func check(plan Plan, events []Event) error {
	c := &checker{
		plan: plan, hosts: map[derecho.NodeID]uint64{}, names: map[derecho.NodeID]string{}, ended: map[derecho.NodeID]int{}, left: map[derecho.NodeID]int{},
		epochs: map[place]*epochTrace{}, sent: map[string]sent{}, last: map[derecho.NodeID]map[derecho.SubgroupID]uint32{},
		known: map[derecho.NodeID][]string{}, got: map[derecho.NodeID]map[string]bool{},
		order: map[derecho.NodeID]map[derecho.NodeID]int{}, group: map[derecho.NodeID]uint64{},
	}
	for i, e := range events {
		c.event(i, e)
		if c.err != nil {
			return fmt.Errorf("%w\n  at event %d: %v", c.err, i, e)
		}
	}
	c.atEnd(events)
	return c.err
}

// place is an epoch of a subgroup. A group that everybody left is followed by another, which counts from
// the start.
type place struct {
	group uint64
	sg    derecho.SubgroupID
	epoch uint32
}

type sent struct {
	node  derecho.NodeID
	sg    derecho.SubgroupID
	epoch uint32 // 0: the process ended while it sent
	n     int
}

// epochTrace is what happened in an epoch.
type epochTrace struct {
	members, senders, receivers []derecho.NodeID
	installed                   map[derecho.NodeID]bool
	drained                     map[derecho.NodeID]bool
	delivered                   map[derecho.NodeID][]delivery
	ends                        []uint64
	stay                        []derecho.NodeID // Decided
	decided                     int              // event of the first decision
}

type delivery struct {
	seq    uint64
	sender derecho.NodeID
	text   string
}

type checker struct {
	plan   Plan
	hosts  map[derecho.NodeID]uint64
	names  map[derecho.NodeID]string
	ended  map[derecho.NodeID]int // event at which a node crashed or was excluded
	left   map[derecho.NodeID]int // event at which it began to leave
	epochs map[place]*epochTrace
	sent   map[string]sent
	last   map[derecho.NodeID]map[derecho.SubgroupID]uint32
	known  map[derecho.NodeID][]string
	got    map[derecho.NodeID]map[string]bool
	order  map[derecho.NodeID]map[derecho.NodeID]int // by receiver and sender: number of the last message
	group  map[derecho.NodeID]uint64
	faulty bool
	err    error
}

func (c *checker) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) epoch(at place) *epochTrace {
	e := c.epochs[at]
	if e == nil {
		e = &epochTrace{installed: map[derecho.NodeID]bool{}, drained: map[derecho.NodeID]bool{}, delivered: map[derecho.NodeID][]delivery{}}
		c.epochs[at] = e
	}
	return e
}

func (c *checker) event(i int, e Event) {
	switch e.Kind {
	case Start:
		c.hosts[e.Node], c.names[e.Node] = e.Host, e.Text
	case Crashed, Excluded:
		c.ended[e.Node] = i
		c.faulty = true
	case Fault_:
		c.faulty = true
	case Leave:
		c.left[e.Node] = i
	case Send:
		s := sent{node: e.Node, sg: e.SG, epoch: e.Epoch}
		_, _ = fmt.Sscanf(e.Text[17:], "%d", &s.n)
		c.sent[e.Text] = s
	case Deliver:
		c.deliver(e)
	case Known:
		c.known[e.Node] = append(c.known[e.Node], e.Text)
	case Forgotten:
		c.known[e.Node] = slices.DeleteFunc(c.known[e.Node], func(s string) bool { return s == e.Text })
	case Decision:
		c.decision(i, e)
	}
	if _, over := c.ended[e.Node]; over && (e.Kind == Send || e.Kind == Deliver) {
		c.failf("M5: %s acts after its end", e.Node)
	}
}

func (c *checker) deliver(e Event) {
	s, known := c.sent[e.Text]
	switch {
	case !known:
		c.failf("A1: nobody sent it")
	case s.node != e.Sender || s.sg != e.SG || s.epoch != 0 && s.epoch != e.Epoch:
		c.failf("A1: it was sent by %s in subgroup %d epoch %d", s.node, s.sg, s.epoch)
	case e.Channel == 0:
		c.failf("A1: of an unknown writer")
	}
	if c.got[e.Node] == nil {
		c.got[e.Node], c.order[e.Node] = map[string]bool{}, map[derecho.NodeID]int{}
	}
	if c.got[e.Node][e.Text] {
		c.failf("A1: delivered twice")
	}
	c.got[e.Node][e.Text] = true
	if s.n <= c.order[e.Node][e.Sender] && ordered(e.SG) == ordered(s.sg) {
		// Numbers ascend over all subgroups of a sender; each subgroup is looked at by itself below.
		c.fifo(e, s)
	}
	at := place{c.group[e.Node], e.SG, e.Epoch}
	t := c.epoch(at)
	if !t.installed[e.Node] {
		c.failf("M5: %s delivers in an epoch that it is no member of", e.Node)
	}
	list := t.delivered[e.Node]
	if n := len(list); n > 0 && ordered(e.SG) && e.Seq <= list[n-1].seq {
		c.failf("A3: sequence number %d after %d", e.Seq, list[n-1].seq)
	}
	t.delivered[e.Node] = append(list, delivery{e.Seq, e.Sender, e.Text})
}

func (c *checker) fifo(Event, sent) {}

func ordered(sg derecho.SubgroupID) bool { return sg != 2 }

func (c *checker) decision(i int, e Event) {
	w := e.What
	at := place{w.Group, w.Subgroup, w.Epoch}
	t := c.epoch(at)
	switch w.Kind {
	case derecho.Installed:
		if t.members == nil {
			t.members, t.senders, t.receivers = w.Members, w.Senders, w.Receivers
		} else if !slices.Equal(t.members, w.Members) || !slices.Equal(t.senders, w.Senders) {
			c.failf("M1: installed with members %v and senders %v elsewhere", t.members, t.senders)
		}
		if !slices.Contains(w.Members, e.Node) {
			c.failf("M3: %s installs an epoch without itself", e.Node)
		}
		if c.last[e.Node] == nil {
			c.last[e.Node] = map[derecho.SubgroupID]uint32{}
		}
		if last := c.last[e.Node][w.Subgroup]; w.Epoch <= last && c.group[e.Node] == w.Group {
			c.failf("M2: epoch %d after %d", w.Epoch, last)
		}
		c.last[e.Node][w.Subgroup], c.group[e.Node] = w.Epoch, w.Group
		t.installed[e.Node] = true
		if w.Subgroup == 0 && w.Epoch > 1 {
			c.primary(i, at, t)
		}
	case derecho.Decided:
		if t.ends == nil {
			t.ends, t.stay, t.decided = w.Ends, w.Members, i
		} else if !slices.Equal(t.ends, w.Ends) || !slices.Equal(t.stay, w.Members) {
			c.failf("T1: decided that %v stay and senders end at %v elsewhere", t.stay, t.ends)
		}
		if !c.faulty && len(t.stay) < len(t.members) {
			c.failf("M6: a member is removed, and nothing was wrong")
		}
	case derecho.Trimmed:
		if t.ends == nil {
			t.ends = w.Ends
		}
	case derecho.Drained:
		t.drained[e.Node] = true
	}
}

// primary: the next view has a majority of the one before, but for those who left by themselves and
// those whose death a survivor on their host can certify.
func (c *checker) primary(i int, at place, next *epochTrace) {
	before := c.epochs[place{at.group, 0, at.epoch - 1}]
	if before == nil || before.members == nil {
		return // nobody who installed it is in the trace: not possible but for the first
	}
	stay, all := 0, 0
	for _, m := range before.members {
		w := 2
		if c.plan.Witness && c.witness(before.members) == m {
			w = 3
		}
		_, leaves := c.left[m]
		switch {
		case slices.Contains(next.members, m) || leaves:
			stay, all = stay+w, all+w
		case c.certified(i, m, next.members):
		default:
			all += w
		}
	}
	if 2*stay <= all {
		c.failf("M4: a view without majority of the one before, which had members %v", before.members)
	}
}

// witness is the member that has the name of the witness.
func (c *checker) witness(members []derecho.NodeID) derecho.NodeID {
	for _, m := range members {
		if c.names[m] == "p1" {
			return m
		}
	}
	return 0
}

// certified: the node has crashed, and one of the survivors is on its host.
func (c *checker) certified(i int, m derecho.NodeID, survivors []derecho.NodeID) bool {
	at, over := c.ended[m]
	return over && at <= i && slices.ContainsFunc(survivors, func(s derecho.NodeID) bool { return c.hosts[s] == c.hosts[m] })
}

// failed: the node crashed or was excluded at some time.
func (c *checker) failed(n derecho.NodeID) bool {
	_, over := c.ended[n]
	return over
}

func (c *checker) atEnd(events []Event) {
	for at, t := range c.epochs {
		if at.sg != 0 && c.err == nil {
			c.checkEpoch(at, t)
		}
	}
	c.checkFinal(events)
}

// checkEpoch: all who delivered the epoch to its end delivered the same in the same order, nobody
// delivered anything else, and of senders that live everything.
func (c *checker) checkEpoch(at place, t *epochTrace) {
	if !ordered(at.sg) {
		c.checkUnordered(at, t)
		return
	}
	var longest []delivery
	for _, list := range t.delivered {
		if len(list) > len(longest) {
			longest = list
		}
	}
	for n, list := range t.delivered {
		for k, d := range list {
			if d != longest[k] {
				c.failf("A3: subgroup %d epoch %d: as number %d %s delivered %.40s of %s (seq %d) and another %.40s of %s (seq %d)",
					at.sg, at.epoch, k, n, d.text, d.sender, d.seq, longest[k].text, longest[k].sender, longest[k].seq)
				return
			}
		}
	}
	for _, n := range t.receivers {
		if t.drained[n] && len(t.delivered[n]) < len(longest) {
			c.failf("A7: subgroup %d epoch %d: %s delivered %d of %d messages and went on", at.sg, at.epoch, n, len(t.delivered[n]), len(longest))
		}
	}
	in := map[string]bool{}
	number := map[derecho.NodeID]int{}
	for _, d := range longest {
		in[d.text] = true
		s := c.sent[d.text]
		if s.n <= number[d.sender] {
			c.failf("A5: subgroup %d epoch %d: message %d of %s after its message %d", at.sg, at.epoch, s.n, d.sender, number[d.sender])
		}
		number[d.sender] = s.n
	}
	anyDrained := false
	for _, n := range t.receivers {
		anyDrained = anyDrained || t.drained[n] && !c.failed(n)
	}
	if !anyDrained {
		return
	}
	for text, s := range c.sent {
		if s.sg != at.sg || s.epoch != at.epoch || c.group[s.node] != at.group || !slices.Contains(t.senders, s.node) || in[text] {
			continue
		}
		if !c.failed(s.node) {
			c.failf("A9: subgroup %d epoch %d: %.40s of %s, which lives, was delivered by nobody", at.sg, at.epoch, text, s.node)
		} else if s.n < number[s.node] {
			c.failf("A5: subgroup %d epoch %d: %.40s of %s was left out", at.sg, at.epoch, text, s.node)
		}
	}
}

// checkUnordered: everything of senders that live, by everybody who went on, in the order of sending.
func (c *checker) checkUnordered(at place, t *epochTrace) {
	for _, n := range t.receivers {
		list := t.delivered[n]
		number := map[derecho.NodeID]int{}
		have := map[string]bool{}
		for _, d := range list {
			s := c.sent[d.text]
			if s.n <= number[d.sender] {
				c.failf("A5: subgroup %d epoch %d: %s delivered message %d of %s after its message %d", at.sg, at.epoch, n, s.n, d.sender, number[d.sender])
			}
			number[d.sender], have[d.text] = s.n, true
		}
		if !t.drained[n] || c.failed(n) {
			continue
		}
		for text, s := range c.sent {
			if s.sg == at.sg && s.epoch == at.epoch && c.group[s.node] == at.group && !c.failed(s.node) && slices.Contains(t.senders, s.node) && !have[text] {
				c.failf("A18: subgroup %d epoch %d: %s lacks %.40s", at.sg, at.epoch, n, text)
			}
		}
	}
}

// checkFinal: at the end everybody knows the same endpoints, and replicas keep the same.
func (c *checker) checkFinal(events []Event) {
	var first, holder *Event
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case Final:
			if first == nil {
				first = e
			}
			if !slices.Equal(c.known[e.Node], c.known[first.Node]) {
				c.failf("%s and %s know different endpoints: %v and %v", e.Node, first.Node, c.known[e.Node], c.known[first.Node])
			}
		case Holds:
			if !slices.ContainsFunc(first.State.Endpoints, func(ep derecho.Endpoint) bool {
				return ep.Node == e.Node && ep.Channel == e.Channel && ep.Replica
			}) {
				continue
			}
			if holder == nil {
				holder = e
			}
			if e.Text != holder.Text {
				c.failf("A10: %s and %s hold different states of channel %d: %d and %d messages", e.Node, holder.Node, e.Channel,
					len(strings.Fields(e.Text)), len(strings.Fields(holder.Text)))
			}
		}
	}
}
