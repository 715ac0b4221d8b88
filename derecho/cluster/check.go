package cluster

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// check looks at a trace, and at nothing else. The names of the invariants are those of docs/simulation.md
// (M membership, A multicast, T trim). What it finds is a *Violation.
func check(plan Plan, events []Event) error {
	c := newChecker(plan)
	for i, e := range events {
		c.event(i, e)
		if c.err != nil {
			return &Violation{i, fmt.Errorf("%w\n  at event %d: %v", c.err, i, e)}
		}
	}
	c.atEnd(events)
	if c.err != nil {
		return &Violation{-1, c.err}
	}
	return nil
}

// Violation is where in a trace an invariant does not hold; Event is -1 if only the whole trace shows it.
type Violation struct {
	Event int
	Err   error
}

func (v *Violation) Error() string { return v.Err.Error() }
func (v *Violation) Unwrap() error { return v.Err }

func newChecker(plan Plan) *checker {
	return &checker{
		plan: plan, hosts: map[derecho.NodeID]uint64{}, names: map[derecho.NodeID]string{},
		started: map[derecho.NodeID]int{}, givenUp: map[derecho.NodeID]bool{}, member: map[derecho.NodeID]bool{},
		outcast: map[string]bool{}, ended: map[derecho.NodeID]int{}, left: map[derecho.NodeID]int{},
		epochs: map[place]*epochTrace{}, sent: map[string]sent{},
		last: map[derecho.NodeID]map[derecho.SubgroupID]uint32{}, known: map[derecho.NodeID][]string{},
		infos: map[knownAt]uint64{}, asked: map[string]uint64{}, settled: map[string]uint64{}, sentWith: map[string]uint64{},
		readWith: map[string]uint64{}, got: map[derecho.NodeID]map[string]bool{},
		sends: map[sendKey][]string{}, order: map[stream]number{}, durable: map[derecho.NodeID]map[string]bool{},
		group: map[derecho.NodeID]uint64{}, rows: map[derecho.NodeID]map[rowKey]*derecho.Row{},
		removed: map[derecho.NodeID]map[derecho.NodeID]bool{}, pending: map[derecho.NodeID][]derecho.NodeID{},
		leaving: map[derecho.NodeID][]derecho.NodeID{}, logs: map[derecho.NodeID]uint64{},
		refused: map[derecho.NodeID]bool{}, announced: map[keptBy]bool{},
		readers: map[knownReaders][]string{},
		ready:   map[derecho.ChannelID][]string{}, due: map[string][]string{}, found: map[logOf]lastEpoch{},
		begun: map[begun]uint32{}, histories: map[logOf][]written{}, appended: map[uint64]logPosition{},
		counts: map[keptBy][]epochSpan{}, states: map[keptBy]map[string]bool{}, since: map[begun][]uint32{},
		have: map[begun][]derecho.NodeID{}, own: map[string]derecho.ChannelID{}, keep: map[string]bool{},
		quit: map[keptBy][]derecho.NodeID{}, fewer: map[keptBy]int{}, holds: map[keptBy]uint32{},
		withdrawn: map[string]bool{}, unconfirmed: map[writer][]string{}, assured: map[string]bool{},
		stood: map[derecho.NodeID]bool{},
	}
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

// sendKey is what the messages of an epoch are found by; stream is what a receiver gets of a sender, and
// number where it stands.
type (
	sendKey struct {
		sg    derecho.SubgroupID
		epoch uint32
	}
	stream struct {
		receiver, sender derecho.NodeID
		sg               derecho.SubgroupID
	}
	number struct {
		epoch uint32
		n     int
	}
)

// epochTrace is what happened in an epoch.
type epochTrace struct {
	members, senders, receivers []derecho.NodeID
	installed                   map[derecho.NodeID]bool
	drained                     map[derecho.NodeID]bool
	delivered                   map[derecho.NodeID][]delivery
	stored                      map[derecho.NodeID]int                 // of delivered, as the node has told
	stores                      map[derecho.NodeID][]derecho.ChannelID // those that it keeps in its log
	kept                        map[derecho.NodeID][]derecho.ChannelID // those whose state they keep, there or in memory
	decided                     map[derecho.NodeID]bool
	ends                        []uint64         // where senders end: agreed on, or nil
	stay                        []derecho.NodeID // Decided
	reports                     []map[derecho.NodeID]uint64
	accused, accuses            map[derecho.NodeID]bool // by anybody, and anybody, ever
	real                        []uint64                // most messages that a sender was seen to have published
}

// rank is the position of a sender, -1 if it is none.
func (t *epochTrace) rank(n derecho.NodeID) int { return slices.Index(t.senders, n) }

type delivery struct {
	seq     uint64
	sender  derecho.NodeID
	channel derecho.ChannelID
	text    string
}

type checker struct {
	plan    Plan
	hosts   map[derecho.NodeID]uint64
	names   map[derecho.NodeID]string
	started map[derecho.NodeID]int  // event at which a node started
	givenUp map[derecho.NodeID]bool // its log does not answer
	member  map[derecho.NodeID]bool // of some view, ever
	outcast map[string]bool         // processes without which their group went on, and that are in none since, by their names
	ended   map[derecho.NodeID]int  // event at which it crashed or was excluded
	left    map[derecho.NodeID]int  // event at which it began to leave
	epochs  map[place]*epochTrace
	sent    map[string]sent
	sends   map[sendKey][]string
	last    map[derecho.NodeID]map[derecho.SubgroupID]uint32
	known   map[derecho.NodeID][]string
	infos   map[knownAt]uint64 // of endpoints, as nodes were told
	asked   map[string]uint64  // and as their owners want it
	// settled is of which change the owner of an endpoint was told that it is made, sentWith the same of a message's writer when
	// that was sent, and readWith as after which change its writer was known where it was handed over first.
	settled, sentWith, readWith map[string]uint64
	readers                     map[knownReaders][]string
	ready                       map[derecho.ChannelID][]string
	due                         map[string][]string // by reader: what was written by those that knew it, or since it was ready
	got                         map[derecho.NodeID]map[string]bool
	order                       map[stream]number
	group                       map[derecho.NodeID]uint64
	rows                        map[derecho.NodeID]map[rowKey]*derecho.Row
	removed                     map[derecho.NodeID]map[derecho.NodeID]bool // without whom a node goes on
	pending                     map[derecho.NodeID][]derecho.NodeID        // and will, at the end of the view
	leaving                     map[derecho.NodeID][]derecho.NodeID        // whom a node is removing, between two views
	loads                       []load
	since                       map[begun][]uint32           // the epochs with which histories of channels began
	have                        map[begun][]derecho.NodeID   // who has the state
	own                         map[string]derecho.ChannelID // of endpoints, as their owners were told of them
	keep                        map[string]bool              // which of these keep the state
	// who had the state that a node began to wait for, and had no endpoint any more, as far as that one knew
	quit      map[keptBy][]derecho.NodeID
	fewer     map[keptBy]int                     // how many others a node had removed when it began to wait for it
	holds     map[keptBy]uint32                  // since which epoch the history goes that a node has
	withdrawn map[string]bool                    // "node by endpoint": the node has carried out that it is withdrawn; the layer above is told later
	durable   map[derecho.NodeID]map[string]bool // what is on the disk of a node
	found     map[logOf]lastEpoch                // what a log held when it was announced last
	begun     map[begun]uint32                   // groups that have had a stored channel, and the epoch with which it began last
	logs      map[derecho.NodeID]uint64          // of those that have announced what it holds
	announced map[keptBy]bool                    // with which channels: some member has executed that
	refused   map[derecho.NodeID]bool            // as theirs is the copy of another's
	// histories are those with which the epochs of a log began.
	histories map[logOf][]written
	counts    map[keptBy][]epochSpan     // the epochs of which what came counts in the log of a node
	states    map[keptBy]map[string]bool // and what was in the last state that it was given
	appended  map[uint64]logPosition     // the last message that each log got
	faulty    bool
	// unconfirmed is what writers have sent on stored channels of which their node was not told yet that it is stored, and
	// assured of what it was.
	unconfirmed map[writer][]string
	assured     map[string]bool
	stood       map[derecho.NodeID]bool // it stood still, at some time
	err         error
}

func (c *checker) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) epoch(at place) *epochTrace {
	e := c.epochs[at]
	if e == nil {
		e = &epochTrace{installed: map[derecho.NodeID]bool{}, drained: map[derecho.NodeID]bool{}, delivered: map[derecho.NodeID][]delivery{},
			stored: map[derecho.NodeID]int{}, decided: map[derecho.NodeID]bool{}, accused: map[derecho.NodeID]bool{},
			accuses: map[derecho.NodeID]bool{}}
		c.epochs[at] = e
	}
	return e
}

func (c *checker) event(i int, e Event) {
	switch e.Kind {
	case Start:
		c.hosts[e.Node], c.names[e.Node], c.started[e.Node] = e.Host, e.Text, i
		c.rows[e.Node], c.removed[e.Node], c.got[e.Node] = map[rowKey]*derecho.Row{}, map[derecho.NodeID]bool{}, map[string]bool{}
	case Left:
		c.gives(e.Node, 0)
	case Crashed, Excluded, GaveWay:
		name := c.names[e.Node]
		c.outcast[name] = e.Kind == Excluded && c.member[e.Node] || e.Kind != Crashed && c.outcast[name]
		c.gives(e.Node, 0)
		c.ended[e.Node] = i
		c.faulty = true
	case Fault_:
		c.faulty = true
		if e.Text == paused || e.Text == stalled {
			c.stood[e.Node] = true
		}
	case Leave:
		c.left[e.Node] = i
	case Send:
		s := sent{node: e.Node, sg: e.SG, epoch: e.Epoch}
		_, _ = fmt.Sscanf(e.Text[17:], "%d", &s.n)
		c.sent[e.Text] = s
		c.sentAs(&e)
		key := sendKey{e.SG, e.Epoch}
		c.sends[key] = append(c.sends[key], e.Text)
		if stored(e.Channel) {
			by := writer{e.Node, e.Writer}
			c.unconfirmed[by] = append(c.unconfirmed[by], e.Text)
		}
		c.addressed(e)
	case Deliver:
		c.deliver(e)
	case Known:
		c.shown(e)
	case Ready:
		c.ready[e.Channel] = append(c.ready[e.Channel], e.Text)
	case Asked:
		c.asked[e.Text] = e.Seq
	case Changed:
		c.changed(e)
	case Agreed:
		c.settled[e.Text] = e.Seq
	case Forgotten:
		c.forgotten(e)
	case Load:
		c.loaded(e)
	case Await:
		if e.Epoch != 0 {
			c.awaits(e)
		}
	case Decision:
		c.decision(i, e)
	case Told:
		c.told(e)
	case Begun:
		c.begins(e)
		c.count(e)
	case Lost:
		delete(c.appended, e.Log) // how far it reaches is not in the trace
	case Unbegun:
		c.unbegins(e)
	case GivenUp:
		c.givenUp[e.Node] = true
	case Confirmed:
		c.confirmed(e)
	case LeftOut:
		c.leftOut(e)
	case AtRest:
		if !c.plan.Spindle.NoNulls { // what was sent last waits for what comes after it then
			c.checkHasAll(e.Node)
		}
	case Durable:
		c.ascends(e)
		if c.givenUp[e.Node] {
			break // the write that did not answer does, and nobody may be told
		}
		if c.durable[e.Node] == nil {
			c.durable[e.Node] = map[string]bool{}
		}
		c.durable[e.Node][e.Text] = true
	case Found:
		c.found[logOf{e.Log, e.Channel}] = lastEpochOf(&e)
		c.logs[e.Node] = e.Log
		delete(c.refused, e.Node)
	case Refused:
		if e.Log != 0 {
			c.refused[e.Node] = true
		}
	}
	if c.refused[e.Node] && (e.Kind == Durable || e.Kind == Begun) {
		c.failf("P5: %s writes to the copy of a log", e.Node)
	}
	if _, over := c.ended[e.Node]; over && (e.Kind == Send || e.Kind == Deliver || e.Kind == Decision && e.What.Kind != derecho.Decided) {
		c.failf("M5: %s acts after its end", e.Node)
	}
}

// deliver: a message is handed over.
func (c *checker) deliver(e Event) {
	s, known := c.sent[e.Text]
	switch {
	case !known:
		c.failf("A1: nobody sent it")
	case s.node != e.Sender || s.sg != e.SG || s.epoch != 0 && s.epoch != e.Epoch:
		c.failf("A1: it was sent by %s in subgroup %d epoch %d", s.node, s.sg, s.epoch)
	case e.Channel == 0:
		c.failf("A1: of an unknown writer")
	case !slices.Contains(c.known[e.Node], fmt.Sprintf("%s/%d", e.Sender, e.Writer)):
		c.failf("A1: %s was not told of writer %s/%d", e.Node, e.Sender, e.Writer)
	case c.got[e.Node][e.Text]:
		c.failf("A1: delivered twice")
	}
	c.got[e.Node][e.Text] = true
	c.readAs(&e)
	to := stream{e.Node, e.Sender, e.SG}
	if before := c.order[to]; s.n <= before.n || e.Epoch < before.epoch {
		c.failf("A5: message %d of %s in epoch %d after its message %d in epoch %d", s.n, e.Sender, e.Epoch, before.n, before.epoch)
	}
	c.order[to] = number{e.Epoch, s.n}
	c.handed(e.Node, place{c.group[e.Node], e.SG, e.Epoch}, delivery{e.Seq, e.Sender, e.Channel, e.Text})
}

// handed: a message or a command is handed over, at its place in the order.
func (c *checker) handed(node derecho.NodeID, at place, d delivery) {
	t := c.epoch(at)
	if !t.installed[node] {
		c.failf("M5: %s delivers in an epoch that it is no member of", node)
	}
	if t.drained[node] {
		c.failf("A4: %s delivers in an epoch that it has drained", node)
	}
	list := t.delivered[node]
	t.delivered[node] = append(list, d)
	if !ordered(at.sg) {
		return
	}
	if n := len(list); n > 0 && d.seq <= list[n-1].seq {
		c.failf("A3: sequence number %d after %d", d.seq, list[n-1].seq)
	}
	if k := uint64(len(t.senders)); k == 0 || t.senders[d.seq%k] != d.sender {
		c.failf("A2: sequence number %d is not of %s: senders are %v", d.seq, d.sender, t.senders)
		return
	}
	c.stable(node, at, t, d.seq)
}

// stable: every receiver has all up to a sequence number.
func (c *checker) stable(node derecho.NodeID, at place, t *epochTrace, seq uint64) {
	if at.sg == 0 {
		// What is agreed on is delivered, also by those who learn it from one that has ended the view.
		for q := range t.decided {
			if q == node || t.drained[q] {
				return
			}
			// It died in the step in which it ended the view: its row may say that it did, and the trace does not.
			if _, over := c.ended[q]; over && slices.ContainsFunc(t.delivered[q], func(d delivery) bool { return d.seq == seq }) {
				return
			}
		}
	}
	k := uint64(len(t.senders))
	for _, q := range t.receivers {
		if _, over := c.ended[q]; over || q == node || c.removed[node][q] || t.drained[q] {
			continue
		}
		row := c.rows[q][rowKey{at.sg, at.epoch}]
		for rank := range t.senders {
			need := uint64(0)
			if r := uint64(rank); seq >= r {
				need = (seq-r)/k + 1
			}
			if t.ends != nil {
				need = min(need, t.ends[rank])
			}
			held := heldBy(row, rank)
			if t.reports != nil { // what it has reported it holds, and acknowledges no more
				held = max(held, t.reports[rank][q])
			}
			if held < need {
				c.failf("A6: %s delivers %d of subgroup %d epoch %d, and %s holds of %s only %d of %d", node, seq, at.sg,
					at.epoch, q, t.senders[rank], held, need)
			}
		}
	}
}

func heldBy(row *derecho.Row, rank int) uint64 {
	if row == nil || rank >= len(row.Held) {
		return 0
	}
	return row.Held[rank]
}

func ordered(sg derecho.SubgroupID) bool { return sg != 2 }

const forever = ^uint64(0)

func (c *checker) decision(i int, e Event) {
	w := *e.What
	at := place{w.Group, w.Subgroup, w.Epoch}
	t := c.epoch(at)
	switch w.Kind {
	case derecho.Installed:
		if w.Subgroup == 0 {
			c.enters(e.Node, w.Group)
		}
		c.installed(i, e.Node, at, t, w)
	case derecho.Decided:
		// else one has drained all of it, and nothing had to be agreed on
		if slices.ContainsFunc(w.Ends, func(end uint64) bool { return end != forever }) {
			c.agreed(i, e.Node, at, t, w.Members)
		}
		t.decided[e.Node] = true
		if t.stay == nil {
			t.ends, t.stay = w.Ends, w.Members
		} else if !slices.Equal(t.ends, w.Ends) || !slices.Equal(t.stay, w.Members) {
			c.failf("T1: decided that %v stay and senders end at %v elsewhere", t.stay, t.ends)
		}
		for _, m := range t.members {
			if !slices.Contains(w.Members, m) {
				c.pending[e.Node] = append(c.pending[e.Node], m)
			}
		}
		if !c.faulty && len(t.stay) < len(t.members) {
			c.failf("M6: a member is removed, and nothing was wrong")
		}
		c.covered(at, t)
	case derecho.Reported:
		if t.reports == nil {
			t.reports = make([]map[derecho.NodeID]uint64, len(t.senders))
		}
		for _, s := range w.Senders {
			if _, leaves := c.left[s]; !c.removed[e.Node][s] && !leaves { // who has left is reported with those who failed
				c.failf("M8: %s reports where %s ends in epoch %d of subgroup %d, and has not removed it", e.Node, s, w.Epoch, w.Subgroup)
			}
			rank := t.rank(s)
			if t.reports[rank] == nil {
				t.reports[rank] = map[derecho.NodeID]uint64{}
			}
			if before, twice := t.reports[rank][e.Node]; twice && before != w.Ends[rank] {
				c.failf("T4: reports %d of %s after %d", w.Ends[rank], s, before)
			}
			t.reports[rank][e.Node] = w.Ends[rank]
		}
	case derecho.Trimmed:
		c.trimmed(e.Node, t, w)
	case derecho.Drained:
		t.drained[e.Node] = true
		if w.Stored {
			c.keeps(e.Node, at.epoch, t)
		}
		if at.sg == 0 {
			for _, m := range c.pending[e.Node] {
				c.removed[e.Node][m] = true
			}
			c.leaving[e.Node] = c.pending[e.Node]
			delete(c.pending, e.Node)
		}
	case derecho.Executed:
		c.handed(e.Node, at, delivery{seq: w.Seq, sender: w.From, text: string(w.Command)})
		for _, ep := range w.Announced() {
			if ep.Log != nil {
				c.announced[keptBy{ep.Node, ep.Channel}] = true
			}
		}
		if endpoint, is := withdraws(&w); is {
			c.withdrawn[fmt.Sprintf("%s by %s", e.Node, endpoint)] = true
		}
	}
}

const remove = 4 // a command, with the number of an endpoint

// withdraws: a command that is executed withdraws an endpoint.
func withdraws(w *derecho.Event) (endpoint string, is bool) {
	if len(w.Command) < 5 || w.Command[0] != remove {
		return "", false
	}
	return fmt.Sprintf("%s/%d", w.From, binary.LittleEndian.Uint32(w.Command[1:])), true
}

func (c *checker) installed(i int, node derecho.NodeID, at place, t *epochTrace, w derecho.Event) {
	if t.members == nil {
		t.members, t.senders, t.receivers, t.kept = w.Members, w.Senders, w.Receivers, w.Kept
		t.real = make([]uint64, len(t.senders))
	} else if !slices.Equal(t.members, w.Members) || !slices.Equal(t.senders, w.Senders) || !slices.Equal(t.receivers, w.Receivers) {
		c.failf("M1: installed with members %v, senders %v and receivers %v elsewhere", t.members, t.senders, t.receivers)
	}
	if !slices.Contains(w.Members, node) {
		c.failf("M3: %s installs an epoch without itself", node)
	}
	if c.last[node] == nil {
		c.last[node] = map[derecho.SubgroupID]uint32{}
	}
	if last := c.last[node][w.Subgroup]; c.group[node] == w.Group && (w.Epoch <= last || w.Subgroup == 0 && last != 0 && w.Epoch != last+1) {
		c.failf("M2: epoch %d after %d", w.Epoch, last)
	}
	c.alone(node, w)
	c.last[node][w.Subgroup], c.group[node] = w.Epoch, w.Group
	t.installed[node] = true
	if t.stores == nil {
		t.stores = map[derecho.NodeID][]derecho.ChannelID{}
	}
	t.stores[node] = w.Kept[node]
	if c.plan.Memory { // else the log of a node has all that the node keeps
		t.stores[node] = w.Stores
	}
	c.twins(w)
	c.reborn(w.Group, w)
	if w.Subgroup == 0 && w.Epoch > 1 {
		c.primary(i, at, t)
	}
}

// alone: a failure leaves the subgroups alone of which none that fails was a member. Where states are kept one that is
// no member any more may owe one, and logs of nodes count that are to become members.
func (c *checker) alone(node derecho.NodeID, w derecho.Event) {
	gone := c.leaving[node]
	switch {
	case w.Subgroup == 0:
		delete(c.leaving, node)
	case len(gone) > 0 && !slices.ContainsFunc(w.Members, func(n derecho.NodeID) bool { return len(w.Kept[n]) > 0 }):
		before := c.epoch(place{w.Group, w.Subgroup, c.last[node][w.Subgroup]})
		if !slices.ContainsFunc(gone, func(n derecho.NodeID) bool { return slices.Contains(before.members, n) }) {
			c.failf("M8: %v fail, and %s begins epoch %d of subgroup %d, in which none of them was: %v", gone, node, w.Epoch,
				w.Subgroup, before.members)
		}
	}
}

// covered: what is agreed on is held by all who stay. A view that ends with all that was sent removes
// nobody: who does not hold all of it stays behind, and is removed in the next.
func (c *checker) covered(at place, t *epochTrace) {
	if !slices.ContainsFunc(t.ends, func(end uint64) bool { return end != forever }) {
		return
	}
	for rank, end := range t.ends {
		for _, q := range t.stay {
			if _, over := c.ended[q]; over || c.group[q] != at.group || t.drained[q] {
				continue
			}
			if held := heldBy(c.rows[q][rowKey{at.sg, at.epoch}], rank); held < end {
				c.failf("T3: %s ends at %d, and %s, which stays, holds %d", t.senders[rank], int64(end), q, held)
			}
		}
	}
}

// trimmed: a node knows where senders end that failed: at the least that was reported by those with whom
// it goes on, when all of them have reported.
func (c *checker) trimmed(node derecho.NodeID, t *epochTrace, w derecho.Event) {
	if t.ends == nil {
		t.ends = slices.Repeat([]uint64{forever}, len(t.senders))
	}
	for rank, end := range w.Ends {
		if end == forever {
			continue
		}
		if before := t.ends[rank]; before != forever && before != end {
			c.failf("T1: %s ends at %d, and elsewhere at %d", t.senders[rank], end, before)
		}
		if t.ends[rank] == forever { // the first who knows
			least := uint64(forever)
			for _, q := range t.receivers {
				if c.removed[node][q] {
					continue
				}
				has, told := uint64(0), false
				if t.reports != nil {
					has, told = t.reports[rank][q]
				}
				if !told {
					c.failf("T2: %s is trimmed before %s has reported", t.senders[rank], q)
				}
				least = min(least, has)
			}
			if end != least {
				c.failf("T3: %s is trimmed at %d; the least that was reported is %d", t.senders[rank], end, least)
			}
		}
		t.ends[rank] = end
	}
}

// primary: the next view has a majority of the one before, but for those who left by themselves and
// those whose death a survivor on their host can certify.
func (c *checker) primary(i int, at place, next *epochTrace) {
	before := c.epochs[place{at.group, 0, at.epoch - 1}]
	if before == nil || before.members == nil {
		return // nobody who installed it is in the trace: not possible but for the first
	}
	survivors := next.members
	if before.stay != nil {
		survivors = before.stay // and one that leaves with the view may have read what the dead had told
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
		case c.certified(i, m, survivors):
		default:
			all += w
		}
	}
	if 2*stay <= all {
		c.failf("M4: a view without majority of the one before, which had members %v", before.members)
	}
}

// agreed: when a member knows how a view ends, members with a majority of the weights have accepted a ballot, but for
// those whose death a member on their host can certify: one that stays, or one whose ballot was accepted, which does not
// stay if it has taken over such a value. Here, too, who leaves counts as any other. Which ballot is not asked: whoever
// decides may have accepted a later one than that by which it knows, and the value of both is the same (T1).
func (c *checker) agreed(i int, node derecho.NodeID, at place, t *epochTrace, stay []derecho.NodeID) {
	key := rowKey{0, at.epoch}
	row := c.rows[node][key]
	if row == nil || row.Accepted == 0 {
		return // it was told of it by another, or in the next view
	}
	have, all := 0, 0
	certifiers := slices.Clone(stay)
	for _, m := range t.members {
		if r := c.rows[m][key]; r != nil {
			// The low 16 bits of a ballot are one more than the place of its owner among the members.
			if owner := int(r.Accepted&0xffff) - 1; owner >= 0 && owner < len(t.members) {
				certifiers = append(certifiers, t.members[owner])
			}
		}
	}
	for _, m := range t.members {
		w := 2
		if c.plan.Witness && c.witness(t.members) == m {
			w = 3
		}
		switch r := c.rows[m][key]; {
		case r != nil && r.Accepted != 0:
			have, all = have+w, all+w
		case c.certified(i, m, certifiers):
		default:
			all += w
		}
	}
	if 2*have <= all {
		c.failf("M4: %s knows how view %d ends, and too few of %v have accepted a ballot", node, at.epoch, t.members)
	}
}

// enters: a process without which its group went on founds none of its own. It joins that group, or one that others have founded.
func (c *checker) enters(node derecho.NodeID, group uint64) {
	if name := c.names[node]; c.outcast[name] {
		if group == uint64(node) {
			c.failf("M4: %s founds a group though that in which %s was has gone on without it", node, name)
		}
		c.outcast[name] = false
	}
	c.member[node] = true
}

// witness is the member that has the name of the witness; of several, one that died and has come back, the one that was
// there first.
func (c *checker) witness(members []derecho.NodeID) (first derecho.NodeID) {
	for _, m := range members {
		if c.names[m] == "p1" && (first == 0 || c.started[m] < c.started[first]) {
			first = m
		}
	}
	return first
}

// certified: the node has crashed, and one of the survivors is on its host.
func (c *checker) certified(i int, m derecho.NodeID, survivors []derecho.NodeID) bool {
	at, over := c.ended[m]
	return over && at <= i && slices.ContainsFunc(survivors, func(s derecho.NodeID) bool { return c.hosts[s] == c.hosts[m] })
}
