package derecho

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/sst"
)

// agreement ends a view in which members failed. All that it needs is in the rows of the control
// subgroup, so that any member can finish what another began.
//
// It is single-decree Paxos among the members of the view; the value is who stays, and how far the
// commands of each sender are executed (the ragged trim). The phases:
//
//	wedge    a member sends and acknowledges nothing more in the view; its Received cells are final.
//	promise  it takes part in a ballot, and in no lower one.
//	propose  the proposer has the promise of all that it does not take for failed, a quorum; it
//	         proposes what one of them has accepted, else: they stay, and the trim is, for each
//	         sender, the least that any of them has received.
//	accept   a member adopts the proposal into its own row.
//	decide   a quorum has accepted one ballot.
//
// Why nothing that was delivered is lost: a command is delivered when every member has acknowledged it,
// so the final Received of whoever stays covers it. Why there is one decision: quorum.
type agreement struct {
	m       *machine
	e       *epoch
	joined  []int // members in the order in which they joined
	weights []int
	watches []watch // by member
	ticked  time.Duration

	trouble   bool // somebody is accused, or the view is to end
	wedged    bool
	since     time.Duration // of the wedge, or of the last ballot seen
	able      time.Duration // since when it could propose, as far as the quorum goes; 0: it could not
	ballot    uint64        // of this node as proposer
	without   set           // whom the ballot takes for failed
	killed    set           // whose death was certified when the ballot began
	proposed  bool
	highest   uint64 // ballot seen
	decision  *decision
	reals     []uint64      // of a view that ended with all that was sent, if somebody has told: see ending
	cutOff    time.Duration // since when no quorum is in reach, 0 if one is
	told      bool          // the layer above knows of it
	values    []uint64      // of a block, reused
	best      []uint64
	other     []uint64
	accepts   int // how often this node has accepted
	everybody set
}

// decision is what is agreed on.
type decision struct {
	stay set // members of the next view, unless they leave
	// What the proposer knew of those that are gone: see quorum. Of the ballot, not of the decision.
	dead, killed set
	ends         []uint64 // by sender: commands with an index below it are executed
}

// watch is what a member knows of another.
type watch struct {
	beat    uint64
	heard   time.Duration // when beat grew last
	opened  bool
	accused time.Duration // since when this node does not hear it; 0: it does
	others  time.Duration // since when others do not
	silent  bool          // the layer above was told so, or may think so from the view before
}

// Heartbeats is how many heartbeats fall into a lease. When a member stops, its last heartbeat may be an interval
// old, and may be seen an interval late; so it is accused when nothing was seen for a lease and an interval,
// which is at most 1 + 3/Heartbeats leases after it stopped, and never before it stood still for one.
const Heartbeats = 3

const (
	// opening is how many leases a new member may take until its row can be read.
	opening = 8
	// filling is how many leases a member waits for what a failed one had sent, and others have.
	filling = 2
	// confirming is the part of a lease for which an accusation by one member stands before it is
	// taken for true: 1/confirming.
	confirming = 4
)

func newAgreement(e *epoch, v *view) *agreement {
	m, n := e.g.m, len(e.desc.Members)
	a := &agreement{m: m, e: e, everybody: fullSet(n), killed: newSet(n), watches: make([]watch, n), ticked: m.now}
	names := make([]string, n)
	for _, p := range v.members {
		i := e.desc.member(NodeID(p.ID))
		a.joined = append(a.joined, i)
		names[i] = p.Name
	}
	a.weights = weights(names, m.cfg.Witness)
	for i := range a.watches {
		a.watches[i].heard, a.watches[i].silent = m.now, true
	}
	a.values = make([]uint64, e.table.Accept(0).Len())
	a.best, a.other = make([]uint64, len(a.values)), make([]uint64, len(a.values))
	return a
}

// step makes one pass and reports whether it did something.
func (a *agreement) step() bool {
	work := a.tick()
	if a.e.drained {
		return work
	}
	work = a.look() || work
	if a.decision == nil && a.trouble {
		work = a.lead() || work
		work = a.follow() || work
	}
	return work
}

func (a *agreement) me() int               { return a.e.me }
func (a *agreement) row(i int) *sst.Row    { return a.e.table.Row(i) }
func (a *agreement) lease() time.Duration  { return a.m.cfg.Lease }
func (a *agreement) node(i int) NodeID     { return a.e.node(i) }
func (a *agreement) load(i, c int) uint64  { return a.row(i).Load(c) }
func (a *agreement) store(c int, v uint64) { a.e.table.Store(c, v) }

// interval is the time between two heartbeats.
func (a *agreement) interval() time.Duration { return a.lease() / Heartbeats }

// due is when step has to be called again though nothing happened.
func (a *agreement) due() time.Duration {
	if a.trouble {
		return min(a.beat(), a.m.now+a.interval()/4)
	}
	return a.beat()
}

// beat is when the next heartbeat is due: at a multiple of the interval. Nodes that have one clock, as
// those of one host, beat at the same time, and what wakes a process for its own heartbeat brings it those
// of the others.
func (a *agreement) beat() time.Duration {
	return (a.ticked/a.interval() + 1) * a.interval()
}

// tick raises the heartbeat and looks at those of the others. Who drives the machine does it: a heartbeat
// proves that this node gets on. It wakes nobody, for each looks when its own is due; it is an accusation that
// is news. It reports whether there is one, or one less.
func (a *agreement) tick() bool {
	now := a.m.now
	if now < a.beat() {
		return false
	}
	if now-a.ticked > 2*a.interval() {
		// This node itself was stopped, or starved: it can not say how long others were silent.
		for i := range a.watches {
			a.watches[i].heard = now
		}
	}
	a.ticked = now
	if a.fill(); a.m.dead() {
		return true
	}
	a.store(a.e.table.Beat(), a.load(a.me(), a.e.table.Beat())+1)
	news := false
	a.e.hearQuiet()
	for i := range a.watches {
		if i != a.me() {
			news = a.watch(i) || news
		}
	}
	if news {
		a.e.kick()
	} else {
		a.e.postQuiet()
	}
	// who leaves, too, has to learn that the others have gone on without it
	if !a.e.drained && (a.m.phase == joined || !mutant.Is("leaver-undialled")) {
		for i := range a.watches {
			if i != a.me() && !a.e.gone[i] {
				a.tellSilence(i)
				a.reconnect(i)
			}
		}
	}
	if a.e.drained {
		// Who has left may be gone before it has told that it has drained the view; nobody removes it.
		a.e.forget(func(i int) bool { return a.watches[i].accused != 0 && !a.m.view.has(a.node(i)) })
	}
	return news
}

// tellSilence tells the layer above how long a member was silent: while it is, and once that it is not.
func (a *agreement) tellSilence(i int) {
	w := &a.watches[i]
	if d := a.m.now - w.heard; d != 0 || w.silent {
		w.silent = d != 0
		a.m.h.Silence(a.node(i), d)
	}
}

// watch looks at the heartbeat of one member, and accuses it if there was none for too long. It reports
// whether it changed its mind.
func (a *agreement) watch(i int) bool {
	w, now := &a.watches[i], a.m.now
	limit := a.lease() + a.interval()
	if row := a.row(i); row.Open() && !w.opened {
		w.opened, w.heard = true, now
	}
	if beat := a.load(i, a.e.table.Beat()); beat != w.beat {
		w.beat, w.heard = beat, now
	}
	if !w.opened {
		limit *= opening
	}
	_, lost := a.m.lost[a.node(i)]
	silent := now-w.heard > limit && !mutant.Is("no-suspicion") || lost || a.m.ending[a.node(i)]
	if silent == (w.accused != 0) {
		return false
	}
	w.accused = 0
	if silent {
		w.accused = now
	}
	a.mark(a.e.table.Accused(), i, silent)
	return true
}

// reconnect asks for a new link to a member that lives and whose link is down. Until there is one nobody else tells that
// it has died.
func (a *agreement) reconnect(i int) {
	id := a.node(i)
	l, lost := a.m.lost[id]
	if lost && l.link != nil && l.link.Died() && !mutant.Is("death-unwatched") {
		a.m.lose(id, loss{died: true})
	} else if p, known := a.m.view.find(id); known && lost && !l.died && a.m.links[id] == nil {
		a.m.fabric.Dial(p)
	}
}

// mark changes a member's bit in a set of the own row.
func (a *agreement) mark(first, i int, in bool) {
	col, bit := first+i/64, uint64(1)<<(i%64)
	v := a.load(a.me(), col) &^ bit
	if in {
		v |= bit
	}
	a.store(col, v)
}

// died takes note of a member that is gone for certain: the kernel of its host says so.
func (a *agreement) died(i int) {
	if w := &a.watches[i]; w.accused == 0 {
		w.accused = a.m.now
	}
	a.mark(a.e.table.Accused(), i, true)
	a.mark(a.e.table.Certain(), i, true)
	if mutant.Is("scapegoat") {
		for k := range a.watches {
			if k != i && k != a.me() && a.m.aliased(a.node(k), a.node(i)) {
				a.watches[k].accused = a.m.now
				a.mark(a.e.table.Accused(), k, true)
			}
		}
	}
	a.e.kick()
}

// dying takes note of a member whose process is about to end, or to which the link has ended: that may have been one end
// alone, and both live. It is accused as if it was silent, so several have to see that it is, or a while has to pass.
func (a *agreement) dying(i int) {
	if w := &a.watches[i]; w.accused == 0 {
		w.accused = a.m.now
		a.mark(a.e.table.Accused(), i, true)
		a.e.kick()
	}
}

// inherit takes over what was known of the members' processes before the view began: who died, or began to, while the view before
// came to its end is not waited for.
func (a *agreement) inherit() {
	for i := range a.watches {
		if a.m.ending[a.node(i)] {
			a.dying(i)
		}
		if a.m.lost[a.node(i)].died {
			a.died(i)
		}
	}
}

// accuses: member i has member j in a set of its row.
func (a *agreement) accuses(i, j, first int) bool {
	return a.load(i, first+j/64)&(1<<(j%64)) != 0
}

// failed are the members that this node takes for failed. An accusation becomes final when somebody
// is certain, when two members make it, or when it stands for a while. Of those that this node hears, and
// of which one does not hear the other, one has to go: see misfit.
func (a *agreement) failed() set {
	gone, now, t := newSet(len(a.watches)), a.m.now, a.e.table
	for j := range a.watches {
		if j != a.me() && a.certain(j) {
			gone.add(j)
		}
	}
	for _, j := range a.joined {
		w := &a.watches[j]
		if gone.has(j) {
			continue
		}
		n := 0
		for i := range a.watches {
			if i != j && !gone.has(i) && a.accuses(i, j, t.Accused()) {
				n++
			}
		}
		if n == 0 {
			w.others = 0
			continue
		}
		if w.others == 0 {
			w.others = max(now, 1)
		}
		if wait := a.lease() / confirming; j != a.me() && w.accused != 0 && (n > 1 || now-w.accused >= wait) {
			gone.add(j)
		}
	}
	for {
		victim := a.misfit(gone)
		if victim < 0 {
			return gone
		}
		gone.add(victim)
	}
}

// fails: this node does not hear a member any more, or takes it for failed because others do not. That counts for one that
// it never heard: it waits for the first word of a member much longer (opening) than others wait for the next.
func (a *agreement) fails(i int) bool {
	return a.watches[i].accused != 0 || a.failed().has(i) && !mutant.Is("unopened-awaited")
}

// misfit is the next to go of those that are left, this node hears, and do not hear each other, whichever of the two it
// is that does not; -1 if there is none. It is a matter of connections: who has most that are broken goes, in one
// direction or in both, so that who is heard by all and hears nobody does not set them against each other. They count by
// the weights of those at the other end: of halves that do not hear each other the one with the witness stays. Of
// several it is the one that joined last. All who hear the same accusations remove the same, and those who are left hear
// each other. Who does not hear this node, and is heard, is left to the others if this one had as well go.
func (a *agreement) misfit(gone set) int {
	accused := a.e.table.Accused()
	apart := func(i, j int) bool {
		return a.accuses(i, j, accused) || a.accuses(j, i, accused) && !mutant.Is("deaf-stays")
	}
	broken := func(i int) (n int) {
		for j, w := range a.weights {
			if j != i && !gone.has(j) && apart(j, i) {
				if n += w; mutant.Is("misfit-unweighed") {
					n += weight - w
				}
			}
		}
		return n
	}
	own := broken(a.me())
	victim, most := -1, 0
	for _, i := range a.joined {
		if i == a.me() || gone.has(i) {
			continue
		}
		n, due := broken(i), false
		for j := range a.watches {
			if j != i && !gone.has(j) && (j != a.me() || n > own) {
				due = due || a.stands(j, i) || a.stands(i, j)
			}
		}
		if due && n >= most {
			victim, most = i, n
		}
	}
	return victim
}

// stands: member i has accused j for long enough, and this node hears j, or is it.
func (a *agreement) stands(i, j int) bool {
	w := &a.watches[j]
	return w.accused == 0 && w.others != 0 && a.m.now-w.others >= 2*a.lease() && a.accuses(i, j, a.e.table.Accused())
}

// dead are the failed whose death the kernel has certified to this node and whose rows it reads; killed
// are these and those whose rows it could not open any more.
func (a *agreement) dead(gone set) (dead, killed set) {
	dead, killed = newSet(len(a.watches)), newSet(len(a.watches))
	for i := range a.watches {
		if gone.has(i) && a.m.lost[a.node(i)].died && a.m.aliased(a.node(i), a.m.id) {
			killed.add(i)
			if a.row(i).Open() || mutant.Is("discount-unread") {
				dead.add(i)
			}
		}
	}
	return dead, killed
}

// look takes over what the rows of others say: that all is delivered, that the view is to end, or what
// was agreed on.
func (a *agreement) look() bool {
	if a.decision != nil {
		return false
	}
	t := a.e.table
	trouble := a.wedged || a.told
	for i := range a.watches {
		for c := t.Accused(); c <= t.Wedging(); c++ {
			trouble = trouble || a.load(i, c) != 0
		}
		if i == a.me() {
			continue
		}
		if a.load(i, t.Drained()) == sst.DrainedWhole && !mutant.Is("missed-whole") {
			// It was all stable, at every member: there is nothing to agree on any more.
			a.decision = a.whole()
			a.e.whole = true
			a.reachable()
			return true
		}
		if d := a.load(i, t.Decided()); d != 0 {
			if v := a.accepted(i, a.values); v >= d {
				a.decide(v, slices.Clone(a.values))
				return true
			}
		}
		if !a.wedged && a.load(i, t.Wedging()) != 0 && !mutant.Is("promise-unwedged") {
			a.wedge()
		}
	}
	a.trouble = trouble
	return false
}

func (a *agreement) whole() *decision {
	n := len(a.watches)
	d := &decision{stay: a.everybody, dead: newSet(n), killed: newSet(n), ends: make([]uint64, len(a.e.senders))}
	for r := range d.ends {
		d.ends[r] = sst.Forever
	}
	return d
}

// wedge ends this node's part in the view, but for the agreement.
func (a *agreement) wedge() {
	if a.wedged {
		return
	}
	a.wedged, a.since = true, a.m.now
	t := a.e.table
	a.store(t.Wedging(), 1)
	a.m.closeView()
	for r, recv := range a.e.recvs {
		has := uint64(0)
		if recv != nil {
			recv.Poll()
			has = recv.Next()
		}
		a.store(t.Received(r), has)
	}
	a.store(t.Wedged(), 1)
	a.e.kick()
	a.m.note(Wedged, a.e)
}

// raiseFences makes the members on this host look at this node's row before they act, also one to which the link has
// ended: it may live, and reads and writes on what they share.
func (a *agreement) raiseFences() {
	for i := range a.watches {
		l := a.m.links[a.node(i)]
		if l == nil && !mutant.Is("fence-needs-link") {
			l = a.m.lost[a.node(i)].link
		}
		if l != nil && i != a.me() && !mutant.Is("no-fence") {
			l.RaiseFence()
		}
	}
}

// lead proposes, if it is this node's turn.
func (a *agreement) lead() bool {
	gone := a.failed()
	stay := a.everybody.without(gone)
	dead, killed := a.dead(gone)
	inReach := a.reach(stay.without(), dead, killed)
	if mutant.Is("unheard-bids") {
		inReach = quorum(a.weights, stay, dead, killed)
	}
	if gone.count() == 0 && !a.wedged || !inReach {
		a.able = 0
		return false
	}
	if a.able == 0 {
		a.able = max(a.m.now, 1)
	}
	t := a.e.table
	high := uint64(0)
	for i := range a.watches {
		high = max(high, a.load(i, t.Promised()))
	}
	// Who has begun goes on. If it was not its turn it would have to wait once more, and those who do not take for failed
	// whom it does have what they propose accepted by then: nobody is removed, and all begins anew in the next view.
	going := a.ballot != 0 && a.ballot == high && !a.proposed && !mutant.Is("ballot-left")
	if !going && !a.myTurn(stay, dead, killed) {
		return false
	}
	a.wedge()
	// Whoever accepts must be able to make a quorum: when more have failed, a ballot that counts on them
	// is followed by one that does not. And a death that breaks a tie comes before the promises (quorum).
	old := !a.proposed && killed.without(dead, a.killed).count() > 0 && !mutant.Is("tie-before-death")
	if a.ballot == 0 || high > a.ballot || a.proposed && gone.without(a.without).count() > 0 || old {
		if high > a.ballot && a.awaits(int(high&0xffff)-1, high, gone) {
			return false
		}
		a.ballot, a.proposed, a.since = (high>>16+1)<<16|uint64(a.me()+1), false, a.m.now
		a.without, a.killed = gone, killed
		a.store(t.Promised(), a.ballot)
		a.e.kick()
		return true
	}
	if a.proposed {
		return false
	}
	for i := range a.watches {
		if stay.has(i) && a.load(i, t.Promised()) != a.ballot && !mutant.Is("propose-unpromised") {
			return false
		}
	}
	a.proposed = true
	a.e.table.StoreBlock(t.Propose(), a.ballot, a.choose(stay, dead, killed).encode())
	a.e.kick()
	return true
}

// awaits: the highest ballot is of another proposer that lives, which gets time for it. That may be one that this node takes
// for failed, and that takes this one for failed, while all others hear both: who has answered the ballot that this node
// began without it with one of a later round lives, unless its death is certain. Else the two would outbid each other
// without end.
func (a *agreement) awaits(p int, high uint64, gone set) bool {
	if p < 0 || p >= len(a.watches) || p == a.me() {
		return false
	}
	if gone.has(p) {
		answers := a.ballot != 0 && a.without.has(p) && high>>16 > a.ballot>>16
		if !answers || a.certain(p) || mutant.Is("outbid") {
			return false
		}
	}
	// lead comes before follow, which has yet to see the ballot, or has of late. One that got no time as it came would be
	// outbid each time by one whose own can not be accepted, and that is what this node waits for.
	return high > a.highest || a.m.now-a.since < a.lease()
}

// certain: somebody is certain that a member has died.
func (a *agreement) certain(j int) bool {
	for i := range a.watches {
		if i != j && a.accuses(i, j, a.e.table.Certain()) {
			return true
		}
	}
	return false
}

// myTurn: this node is the first, in the order of joining, of those that have not failed and are heard by a quorum; or
// those before it do not get on. They may not know of a quorum: a death is certified on its own host only.
func (a *agreement) myTurn(stay, dead, killed set) bool {
	since := a.able
	if a.wedged {
		since = a.since
	}
	before := 0
	for _, i := range a.joined {
		if i == a.me() {
			break
		}
		if stay.has(i) && (a.heard(i, stay, dead, killed) || mutant.Is("unheard-awaited")) || mutant.Is("no-takeover") {
			before++
		}
	}
	return before == 0 || (a.wedged || !mutant.Is("wait-unwedged")) && a.m.now-since > time.Duration(4*before)*a.lease() && !mutant.Is("no-takeover")
}

// heard: a member and a quorum hear each other, as they say. Who is not in reach of one begins no ballot (lead).
func (a *agreement) heard(i int, stay, dead, killed set) bool {
	accused, by := a.e.table.Accused(), stay.without()
	for j := range a.watches {
		if j != i && (a.accuses(j, i, accused) || a.accuses(i, j, accused)) {
			by.drop(j)
		}
	}
	return quorum(a.weights, by, dead, killed)
}

// choose finds what to propose, from the rows of those who promised and of the dead.
func (a *agreement) choose(stay, dead, killed set) *decision {
	t := a.e.table
	highest := uint64(0)
	for i := range a.watches {
		if mutant.Is("ignore-accepted") || mutant.Is("adopt-own-only") && i != a.me() {
			continue
		}
		if v := a.accepted(i, a.values); v > 0 && (highest == 0 || v > highest != mutant.Is("lowest-accepted")) {
			highest = v
			copy(a.best, a.values)
		}
	}
	if highest > 0 {
		d := a.parse(a.best)
		d.dead, d.killed = dead, killed
		return d
	}
	d := a.whole()
	for r := range d.ends {
		for i := range a.watches {
			if stay.has(i) && (i == a.me() || !mutant.Is("end-own")) {
				d.ends[r] = min(d.ends[r], a.load(i, t.Received(r)))
			}
		}
	}
	d.dead, d.killed = dead, killed
	if slices.ContainsFunc(d.ends, func(end uint64) bool { return end != sst.Forever }) || mutant.Is("whole-removes") {
		d.stay = stay
	}
	// Else all have all there is: somebody may have gone on to the next view already, which is the one
	// that follows from the commands alone. Who failed is removed in that one.
	return d
}

// follow promises and accepts, and learns what was decided.
func (a *agreement) follow() bool {
	t := a.e.table
	high, version := uint64(0), uint64(0)
	for i := range a.watches {
		high = max(high, a.load(i, t.Promised()))
		if v, ok := a.row(i).LoadBlock(t.Propose(), a.values); ok && v > version {
			version = v
			copy(a.best, a.values)
		}
	}
	work := false
	if high > a.highest {
		a.highest, a.since = high, a.m.now
	}
	if high > a.load(a.me(), t.Promised()) {
		if !mutant.Is("promise-unwedged") {
			a.wedge()
		}
		a.store(t.Promised(), high)
		work = true
	}
	if version > a.accepted(a.me(), a.values) && (version >= a.load(a.me(), t.Promised()) || mutant.Is("accept-below-promise")) {
		a.wedge()
		// A ballot that is accepted is promised; the promise comes first, so that nobody who sees this
		// node's promise of a lower ballot misses what it accepted after.
		a.store(t.Promised(), version)
		a.accept(version, a.best)
		work = true
	}
	if work {
		a.e.kick()
	}
	return a.count() || work
}

// accepted is the ballot that a member has accepted last, 0 for none, and its values. A block that is being
// written is not accepted yet; a proposer that has the member's promise misses nothing by it, for it is
// of a higher ballot.
func (a *agreement) accepted(i int, values []uint64) uint64 {
	first, ok := a.row(i).LoadBlock(a.e.table.Accept(0), values)
	if !ok {
		first = 0
	}
	second, ok := a.row(i).LoadBlock(a.e.table.Accept(1), a.other)
	if ok && second > first {
		copy(values, a.other)
		return second
	}
	return first
}

// accept takes a proposal into the own row, beside the one before.
func (a *agreement) accept(version uint64, values []uint64) {
	a.e.table.StoreBlock(a.e.table.Accept(a.accepts), version, values)
	if !mutant.Is("accept-one-block") {
		a.accepts++
	}
}

// count decides when a quorum has accepted one ballot.
func (a *agreement) count() bool {
	for i := range a.watches {
		version := a.accepted(i, a.values)
		if version == 0 {
			continue
		}
		accepted := newSet(len(a.watches))
		for j := range a.watches {
			if a.accepted(j, a.best) == version {
				accepted.add(j)
			}
		}
		if d := a.parse(a.values); quorum(a.weights, accepted, d.dead, d.killed) || mutant.Is("one-accept") {
			a.decide(version, slices.Clone(a.values))
			return true
		}
	}
	return false
}

// decide takes what was agreed on.
func (a *agreement) decide(version uint64, values []uint64) {
	t := a.e.table
	a.wedge()
	if a.accepted(a.me(), a.best) < version {
		a.store(t.Promised(), max(version, a.load(a.me(), t.Promised())))
		a.accept(version, values)
	}
	a.store(t.Decided(), version)
	a.e.kick()
	a.conclude(a.parse(values))
}

// conclude acts on the decision.
func (a *agreement) conclude(d *decision) {
	a.wedge()
	a.decision = d
	a.m.note(Decided, a.e)
	if !a.decision.stay.has(a.me()) && !mutant.Is("no-exclusion") {
		a.m.exclude(errors.New("the other members went on without it"))
		return
	}
	a.reachable()
	if a.removes() {
		// Until what follows from it is done here, and at those who share memory with this node: data is
		// held there without acknowledgement. They see the decision in this node's row (rdma.Fence).
		a.m.holding = !mutant.Is("no-holding")
		a.raiseFences()
	}
	a.e.cutAt(a.decision)
}

// ending is how a view ended, as a node of the next one tells it to a member that has not learned it:
// those who could have told may all be gone. If it ended with all that was sent there are reals only.
type ending struct {
	view  uint32 // that ended; 0: none
	stay  []NodeID
	ends  []uint64
	reals []uint64 // by sender: one above the index of its last command
}

// ending of this view.
func (a *agreement) ending() ending {
	end := ending{view: a.e.desc.Epoch}
	if a.removes() || a.decision != nil && !a.e.whole {
		for i, m := range a.e.desc.Members {
			if a.decision.stay.has(i) {
				end.stay = append(end.stay, m.Node)
			}
		}
		end.ends = a.decision.ends
		return end
	}
	for _, s := range a.e.senders {
		end.reals = append(end.reals, a.load(s, sst.Real))
	}
	return end
}

// hear takes the end of this view from a node of the next one.
func (a *agreement) hear(end ending) {
	if mutant.Is("deaf") || mutant.Is("missed-whole") && end.ends == nil {
		return
	}
	if a.e.drained || end.view != a.e.desc.Epoch || end.ends != nil && len(end.ends) != len(a.e.senders) {
		return
	}
	if len(end.reals) == len(a.e.senders) {
		a.reals = end.reals
	}
	if a.decision != nil {
		return
	}
	d := a.whole()
	if end.ends != nil {
		d.stay, d.ends = newSet(len(a.watches)), end.ends
		for i, m := range a.e.desc.Members {
			if slices.Contains(end.stay, m.Node) {
				d.stay.add(i)
			}
		}
	}
	a.conclude(d)
}

// fill ends senders that have failed, in a view that ended with all that was sent. That a sender had closed it may have
// told to some of those on its host alone, who have delivered all of it. Whoever has all of its commands has no more to
// wait for; who has not was not heard by those who went on, and never gets them.
func (a *agreement) fill() {
	if !a.e.whole || a.e.drained || a.reals == nil {
		return
	}
	for rank, s := range a.e.senders {
		has, since := uint64(0), a.watches[s].accused
		if r := a.e.recvs[rank]; r != nil {
			has = r.Next()
		}
		switch {
		case has == sst.Forever || a.e.ends[rank] != sst.Forever || since == 0:
		case has >= a.reals[rank]:
			a.e.ends[rank] = a.reals[rank]
		case a.m.now-since > filling*a.lease():
			a.m.exclude(errors.New("the other members went on without it"))
			return
		}
	}
}

// removes: the decision removes somebody.
func (a *agreement) removes() bool {
	return a.decision != nil && a.decision.stay.count() < len(a.watches)
}

func (d *decision) encode() []uint64 {
	return slices.Concat(d.stay, d.dead, d.killed, d.ends)
}

func (a *agreement) parse(values []uint64) *decision {
	w := len(a.everybody)
	v := slices.Clone(values)
	return &decision{stay: v[:w:w], dead: v[w : 2*w : 2*w], killed: v[2*w : 3*w : 3*w], ends: v[3*w:]}
}

// reach notices that no quorum is in reach, and that one is again, and reports which it is. Who does not hear this node is not
// in reach, either: it does not see what this one proposes.
func (a *agreement) reach(stay, dead, killed set) bool {
	for i, w := range a.watches {
		if w.accused != 0 || a.accuses(i, a.me(), a.e.table.Accused()) && !mutant.Is("unheard-untold") {
			stay.drop(i)
		}
	}
	if quorum(a.weights, stay, dead, killed) {
		a.cutOff = 0
		a.reachable()
		return true
	}
	if a.cutOff == 0 {
		a.cutOff = max(a.m.now, 1)
	}
	if !a.told && a.m.now-a.cutOff >= a.lease() {
		a.told = true
		var missing []string
		for i := range a.watches {
			if !stay.has(i) {
				p, _ := a.m.view.find(a.node(i))
				missing = append(missing, fmt.Sprintf("%s (process %d on %s)", p.Name, p.PID, p.Host))
			}
		}
		a.m.isolate(fmt.Sprintf("%d of %d members are not heard, and what is left is no majority: %s",
			len(missing), len(a.watches), joinNames(missing)))
	}
	return false
}

// reachable tells that a quorum is in reach again: it is heard, or the view has ended, which takes one.
func (a *agreement) reachable() {
	if a.told {
		a.told = false
		a.m.isolate("")
	}
}

func joinNames(names []string) string {
	const most = 5
	text := ""
	for i, n := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}
