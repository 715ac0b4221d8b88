package derecho

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
	"github.com/omg-dds-go/dds/sst"
)

// epoch is one epoch of a subgroup at a member. The poller owns it, except for sender, out, held and
// waiters, which writers use.
type epoch struct {
	g    *subgroup
	desc *descriptor
	key  rdma.Key
	me   int // position in desc.Members

	senders   []int                 // member by sender rank
	receivers atomic.Pointer[[]int] // members that receive and have not failed; replaced by the poller
	readers   []int                 // members that receive, also those that have failed
	myRank    int                   // as sender, -1 if none
	receiving bool
	echoes    bool   // this node receives what it sends, or part of it; constant, and so is
	quarter   uint64 // of its ring
	table     *sst.Table
	preds     sst.Predicates

	// By sender rank:
	recvs     []*smc.Receiver // nil until the row is open, or if this member does not receive
	tellsAck  []bool          // some receiver does not share memory with that sender and me: it needs my received cell
	awaitsAck [][]int         // receivers whose received cell decides what is stable
	heard     []heard         // whose message came last
	lenders   []lender        // if this member receives

	_ [64]byte // what writers load for each message | what every pass of the poller stores
	// By sender rank:
	stable    []uint64 // indices below it are known at every receiver
	settled   []uint64 // the same, before the fence was looked at
	delivered uint64   // sequence numbers below it were delivered
	_         [64]byte // and the other way round

	// When members fail (cut.go), by sender rank:
	gone    []bool              // by member: it has failed
	ends    []uint64            // records with an index below it are delivered, and no others; Forever: no failure
	open    []bool              // the sender has failed, and where it ends is not agreed on yet
	reports []map[NodeID]uint64 // what each receiver has of a sender that has failed
	whole   bool                // some member delivered all of the epoch: everything is stable
	ready   bool                // every receiver can read all rows

	agree *agreement // of the control subgroup

	// Constant (spindle.go):
	off    Spindle
	most   int             // of messages that one pass delivers
	upcall int             // of messages that one upcall hands over
	walks  []*smc.Receiver // by sender rank, with NoReceiveBatching: see acknowledge

	spoke    uint64        // Real of this node, at its last promise
	spokeAt  time.Duration // when it was so first
	promises int           // that it has made since then

	drained    bool // all of the epoch was delivered here (and is durable here, if logged)
	afterDrain []func()
	written    atomic.Uint64 // below it all is on disk; stored by the logger, or by the poller as long as the subgroup has none
	persisted  atomic.Uint64 // the same, and counts in the log (logger.settle); copied to the table by the poller

	start epochStarts // what the log records of its beginning
	// of which the log got messages that perhaps do not count: a state was on its way when the epoch began. Guarded by
	// the logger's lock
	put []ChannelID
	// uncounted: what its log has of it does not count for some channel: it is not told that it is stored.
	uncounted bool
	released  atomic.Bool // set by the poller: every member drained the epoch

	sender    *smc.Sender // nil if this member does not send
	writersMu *sync.Mutex // with NoLockFree: held from Reserve to Commit; else nil
	// out are the links to the other members; replaced when one comes up.
	out      atomic.Pointer[[]target]
	channels struct {
		listed sync.Once // by the poller or a writer, the first time that some channel is held: mostly never
		list   []ChannelID
	}
	held      atomic.Uint64 // OR of the hold cells of all receivers; stored by the poller
	inherited uint64        // holds of the epoch before, which count until all receivers have told theirs; the poller's
	waiters
}

// target is a link to another member. Where it is an rdma.Direct one the bell is what has to be done with each message.
type target struct {
	rdma.Link
	bell *rdma.Bell // else nil
}

// heard is a writer of a sender, and the channel that it writes: constant in an epoch.
type heard struct {
	writer  EndpointID
	channel ChannelID
}

// layout and shape follow from the descriptor alone, so owner and peers agree on them.
func (d *descriptor) layout() sst.Layout {
	n := 0
	for i := range d.Members {
		if d.Members[i].sends() {
			n++
		}
	}
	l := sst.Layout{Senders: n}
	if d.Subgroup == 0 {
		l.Members = len(d.Members)
	}
	return l
}

// newEpoch makes the state of an epoch in which this node is a member.
func newEpoch(g *subgroup, d *descriptor) (*epoch, error) {
	m := g.m
	e := &epoch{g: g, desc: d, key: rdma.Key{Subgroup: uint32(d.Subgroup), Epoch: d.Epoch}, myRank: -1}
	e.me = d.member(m.id)
	e.receiving = d.Members[e.me].receives()
	e.experiment()
	var receivers []int
	for i := range d.Members {
		if d.Members[i].sends() {
			if i == e.me {
				e.myRank = len(e.senders)
			}
			e.senders = append(e.senders, i)
		}
		if d.Members[i].receives() {
			receivers = append(receivers, i)
		}
	}
	e.receivers.Store(&receivers)
	e.readers = receivers
	e.gone = make([]bool, len(d.Members))
	shape := rdma.Shape{Cells: d.layout().Cells()}
	if e.myRank >= 0 {
		shape.Ring = e.ring(e.me)
	}
	own, err := m.fabric.Register(e.key, shape)
	if err != nil {
		return nil, fmt.Errorf("derecho: %s: %w", e.key, err)
	}
	e.table = sst.NewTable(d.layout(), len(d.Members), e.me, own, e.post)
	e.table.Stored = m.stored
	e.out.Store(&[]target{})
	n := len(e.senders)
	e.recvs, e.stable, e.settled, e.heard = make([]*smc.Receiver, n), make([]uint64, n), make([]uint64, n), make([]heard, n)
	e.tellsAck, e.awaitsAck = make([]bool, n), make([][]int, n)
	e.ends, e.open, e.reports = slices.Repeat([]uint64{sst.Forever}, n), make([]bool, n), make([]map[NodeID]uint64, n)
	for r, s := range e.senders {
		for _, i := range receivers {
			if i == s || e.holdsPublished() && m.aliased(d.Members[i].Node, d.Members[s].Node) {
				continue // see rdma.Fence
			}
			if i == e.me {
				e.tellsAck[r] = true
			} else {
				e.awaitsAck[r] = append(e.awaitsAck[r], i)
			}
		}
	}
	if e.myRank >= 0 {
		e.sender = smc.NewSender(own, e.freed)
		if e.receiving {
			e.recvs[e.myRank] = smc.NewReceiver(own)
			e.echoes, e.quarter = e.readsItsOwn(), uint64(e.ring(e.me))/4
		}
	}
	if e.receiving {
		e.lenders = newLenders(e)
	}
	e.waiters.init()
	e.withhold()
	e.addPredicates()
	if d.Subgroup == 0 {
		e.agree = newAgreement(e, &m.view)
	}
	return e, nil
}

// node is the one that is member i.
func (e *epoch) node(i int) NodeID { return e.desc.Members[i].Node }

// ring is the size of a member's, if it sends.
func (e *epoch) ring(i int) int {
	if e.g.id == 0 {
		return e.g.m.controlRing
	}
	return max(int(e.desc.Members[i].Ring), e.g.m.cfg.RingBytes)
}

// openRows asks for the rows of the members to which there is a link, of those that are not open.
func (e *epoch) openRows() {
	var out []target
	for i := range e.desc.Members {
		l := e.g.m.links[e.node(i)]
		if i == e.me || l == nil || e.gone[i] {
			continue
		}
		t := target{Link: l}
		if d, ok := l.(rdma.Direct); ok {
			t.bell = d.Bell()
		}
		out = append(out, t)
		if e.g.m.opening(l, e, i) {
			shape := rdma.Shape{Cells: e.table.Cells()}
			if e.receiving && e.desc.Members[i].sends() {
				shape.Ring = e.ring(i)
			}
			l.Open(e.key, shape)
		}
	}
	e.out.Store(&out)
	// What was published while a link was up but not among these was not posted over it.
	e.kick()
}

// rowOpened makes a member's row readable.
func (e *epoch) rowOpened(node NodeID, r *rdma.Region) {
	i := e.desc.member(node)
	if i < 0 || e.table.Row(i).Open() {
		return
	}
	e.table.Row(i).Set(r)
	if rank := slices.Index(e.senders, i); rank >= 0 && e.receiving {
		e.recvs[rank] = smc.NewReceiver(r)
	}
}

// post brings the other members' copies of my row up to date.
func (e *epoch) post() {
	for _, l := range *e.out.Load() {
		l.Post(e.key)
	}
}

// postQuiet is post for what the others look at when it is time.
func (e *epoch) postQuiet() {
	for _, l := range *e.out.Load() {
		l.PostQuiet(e.key)
	}
}

// hearQuiet brings what the others have posted so.
func (e *epoch) hearQuiet() {
	for _, l := range *e.out.Load() {
		l.HearQuiet()
	}
}

// readsItsOwn: of some channel this node is a sender and a receiver. It is of one whose writer is not known yet, for
// all that can be told.
func (e *epoch) readsItsOwn() bool {
	me := &e.desc.Members[e.me]
	for w := range me.Writers.all() {
		if ch := e.g.m.channel(me.Node, w); ch == 0 || me.Channels.has(ch) {
			return true
		}
	}
	return false
}

// kick tells the others, and this node, that something was published. Any goroutine.
func (e *epoch) kick() {
	e.ringOthers()
	// A node that only sends finds nothing in what it published itself, but that nothing follows.
	if e.receiving || e.g.id == 0 || e.sender.Closed() {
		e.g.m.bell.Ring()
	}
}

// tell is kick for messages. This node is not woken for those of its own that nobody here reads: they only have to be
// out of the way of what comes behind them, for which it will be woken, and of the ring before that is full, for which
// it is woken in time. Who waits for what becomes of them has woken it (begin), and does with each that follows. It
// matters to who answers: with the poller woken for the answer it has to wait for a processor.
func (e *epoch) tell() {
	e.ringOthers()
	if e.heedsOwn() {
		e.g.m.bell.Ring()
	}
}

// heedsOwn: this node is to look at a message of its own now.
func (e *epoch) heedsOwn() bool {
	return e.g.id == 0 || e.sender.Closed() || e.receiving && (e.echoes || e.waiting.Load() != 0 || e.clogs())
}

// clogs: a quarter of this node's ring is its own messages that it has not handed over itself.
func (e *epoch) clogs() bool {
	return e.sender.Sent()-e.table.Row(e.me).Load(e.table.Handed(e.myRank)) > e.quarter
}

func (e *epoch) ringOthers() {
	out := *e.out.Load()
	for i := range out {
		if t := &out[i]; t.bell != nil {
			t.bell.Ring()
		} else {
			t.Post(e.key)
			t.Ring()
		}
	}
	runtime.KeepAlive(out)
}

// flush publishes what is committed, and tells the others. Any goroutine.
func (e *epoch) flush() {
	if e.off.NoSendBatching || e.off.NoLatePosting {
		e.sender.FlushEach(e.tell, e.off.NoSendBatching, e.off.NoLatePosting)
		return
	}
	if e.sender.Flush() {
		e.tell()
	}
}

// handed is how much of my ring every receiver has handed over. Any goroutine: it only loads cells.
func (e *epoch) handed() uint64 {
	low := e.sender.Sent()
	for _, i := range *e.receivers.Load() {
		low = min(low, e.table.Row(i).Load(e.table.Handed(e.myRank)))
	}
	return low
}

// freed is how much of my ring no receiver needs any more. Any goroutine, as above. Whoever has failed counts: perhaps it
// lives, and its readers read what was lent to them. The epoch is closed when a member fails, so nobody waits for that.
func (e *epoch) freed() uint64 {
	low := e.sender.Sent()
	for _, i := range e.readers {
		low = min(low, e.table.Row(i).Load(e.table.Freed(e.myRank)))
		if mutant.Is("ring-one-receiver") {
			break
		}
	}
	return low
}

// close ends sending in this epoch.
func (e *epoch) close() {
	if e.sender != nil {
		e.sender.Close()
		if !mutant.Is("close-unflushed") {
			e.flush()
		}
		e.wakeAll()
	}
}

func (e *epoch) addPredicates() {
	e.preds.Add(sst.OneTime, e.allOpen, e.tellOpened)
	e.preds.Add(sst.Recurrent, e.hasNews, e.receive)
	if e.sender != nil && e.desc.Mode != Unordered && len(e.senders) > 1 && !e.off.NoNulls {
		e.preds.Add(sst.Recurrent, e.owesPromise, e.promise)
	}
	if e.receiving {
		e.preds.Add(sst.Recurrent, e.deliverable, e.deliver)
		e.preds.Add(sst.Recurrent, e.pressed, e.reclaim)
	}
	if e.desc.Mode == Logged {
		e.preds.Add(sst.Recurrent, e.morePersisted, e.tellPersisted)
		for _, i := range *e.receivers.Load() {
			if node := e.node(i); i != e.me {
				e.preds.Add(sst.OneTime, func() bool { return e.table.Row(i).Load(e.table.LogFailed()) != 0 }, func() {
					e.g.m.h.LogFailed(e.g.id, node, &LogError{Member: e.g.m.member(node)})
				})
			}
		}
	}
	if e.sender != nil {
		e.preds.Add(sst.Recurrent, e.waitersMayGo, e.wakeAll)
	}
	e.preds.Add(sst.OneTime, e.finished, e.drain)
	e.preds.Add(sst.OneTime, e.mayTell, e.tellDrained)
	e.preds.Add(sst.OneTime, e.finishedByAll, func() { e.g.release(e) })
}

// allOpen: the rows of all members can be read here. Only then may anybody deliver: a member on the
// sender's host holds what is published there, also when the sender is dead, if it has mapped the row.
func (e *epoch) allOpen() bool {
	for i := range e.desc.Members {
		if !e.gone[i] && !e.table.Row(i).Open() {
			if e.agreed() && e.agree.fails(i) {
				continue // the next view removes it
			}
			return false
		}
	}
	return true
}

func (e *epoch) tellOpened() { e.tellBegun(readsAll) }

// Bits of the column Opened.
const (
	readsAll  = 1 << iota // the member can read the rows of all
	sendsHere             // what it sends from now on goes to this epoch, or to a later one
)

func (e *epoch) tellBegun(bit uint64) {
	if told := e.table.Row(e.me).Load(e.table.Opened()); told&bit == 0 {
		e.table.Store(e.table.Opened(), told|bit)
		e.kick()
	}
}

// sentByAll: what any other member sends from now on goes to this epoch, or to a later one.
func (e *epoch) sentByAll() bool {
	return e.drained || !slices.ContainsFunc(e.senders, func(i int) bool {
		return i != e.me && !e.gone[i] && e.table.Row(i).Load(e.table.Opened())&sendsHere == 0
	})
}

// hasNews: some sender published or promised.
func (e *epoch) hasNews() bool {
	if e.frozen() {
		return false
	}
	news := false
	for rank, r := range e.recvs {
		if r != nil && (!e.gone[e.senders[rank]] || mutant.Is("trim-late")) && r.Poll() {
			news = true
		}
	}
	return news || e.walks != nil && e.owesAck()
}

// receive acknowledges everything that is there, with one push (Spindle: receive batching).
func (e *epoch) receive() {
	if e.agree != nil && e.agree.wedged && !mutant.Is("ack-wedged") {
		return // final
	}
	if e.walks != nil {
		e.acknowledge()
		return
	}
	push := false
	for rank, r := range e.recvs {
		if r == nil || !e.tellsAck[rank] || e.gone[e.senders[rank]] {
			continue
		}
		if col := e.table.Received(rank); e.table.Row(e.me).Load(col) != r.Next() {
			e.table.Store(col, r.Next())
			push = true
		}
	}
	if push {
		// Not only to peers that copy: one that shares this memory, and is as far from the sender
		// as this node, waits for it too.
		e.kick()
	}
}

// owed is the least index that I may still use, as the others' messages have it: a sender that lags
// behind a message fills the rounds before it with nulls (Spindle; protocol rule of Derecho's null
// sends). Only real messages count, so promises never call forth promises.
func (e *epoch) owed() uint64 {
	owed := uint64(0)
	for rank, i := range e.senders {
		real := e.table.Row(i).Load(sst.Real)
		if rank == e.myRank || real == 0 || e.gone[i] {
			continue
		}
		if mutant.Is("promise-on-promise") {
			real = max(real, e.table.Row(i).Load(sst.Next)&^(1<<63))
		}
		if rank < e.myRank && !mutant.Is("promise-plus-one") {
			real--
		}
		owed = max(owed, real)
	}
	return owed
}

func (e *epoch) owesPromise() bool {
	return e.table.Row(e.me).Load(sst.Next) < e.owed() && !e.withheld() && !mutant.Is("no-promise") &&
		!(mutant.Is("first-null") && e.g.id != 0 && e.table.Row(e.me).Load(sst.Real) == 0)
}

func (e *epoch) promise() {
	e.sender.Promise(e.owed() + e.ahead())
	e.flush()
}

// morePersisted and tellPersisted carry the logger's progress into the table.
func (e *epoch) morePersisted() bool {
	failed := e.g.log != nil && e.g.log.failed() != nil && e.table.Row(e.me).Load(e.table.LogFailed()) == 0
	return failed || !e.uncounted && e.persisted.Load() != e.table.Row(e.me).Load(e.table.Persisted())
}

func (e *epoch) tellPersisted() {
	if !e.uncounted {
		e.table.Store(e.table.Persisted(), e.persisted.Load())
	}
	if e.g.log != nil && e.g.log.failed() != nil {
		e.table.Store(e.table.LogFailed(), 1)
	}
	e.kick()
}

// stores: what comes of a channel goes to the log (starts).
func (e *epoch) stores(ch ChannelID) bool {
	if mutant.Is("log-unannounced") {
		return true
	}
	_, stores := slices.BinarySearchFunc(e.start.channels, ch, channelStarts.compare)
	return stores
}

// bit is that of a channel in the hold cell.
func (e *epoch) bit(ch ChannelID) (bit uint, ok bool) {
	e.channels.listed.Do(func() { e.channels.list = e.desc.channels() })
	i, ok := slices.BinarySearch(e.channels.list, ch)
	return uint(i % 64), ok
}

// inheritHolds takes over what is held in the epoch in which this node has sent until now: whoever is full may not have
// told it in this one yet.
func (e *epoch) inheritHolds(before *epoch) {
	held := before.held.Load()
	if held == 0 {
		return
	}
	for _, ch := range e.desc.channels() {
		if bit, ok := before.bit(ch); ok && held&(1<<bit) != 0 {
			if bit, ok := e.bit(ch); ok {
				e.inherited |= 1 << bit
			}
		}
	}
	e.held.Or(e.inherited)
}

// tellHolds sets the bits of the channels that are held at this member.
func (e *epoch) tellHolds(holds map[ChannelID]bool) {
	mask := uint64(0)
	for ch := range holds {
		if bit, ok := e.bit(ch); ok {
			mask |= 1 << bit
		}
	}
	if e.table.Row(e.me).Load(sst.Hold) != mask {
		e.table.Store(sst.Hold, mask)
		e.kick()
	}
}

// finished: nothing more will come of this epoch, and all that came was delivered here. Every row is
// open: its owner may give it up as soon as it sees that I am done, and I need it until all are.
func (e *epoch) finished() bool {
	if e.g.current() != e || !e.superseded() || !e.allOpen() {
		return false
	}
	if !e.receiving {
		return e.table.Row(e.me).Load(sst.Next) == sst.Forever && e.handed() == e.sender.Sent()
	}
	for rank, r := range e.recvs {
		if e.ends[rank] == 0 {
			continue // nothing of it, perhaps not even its row
		}
		if r == nil || e.stable[rank] != sst.Forever {
			return false
		}
		if rec, err := e.peek(rank); (rec != nil || err != nil) && !mutant.Is("drain-early") {
			return false
		}
	}
	return e.desc.Mode != Logged || mutant.Is("drain-unlogged") || e.written.Load() >= e.delivered || e.g.log == nil || e.g.log.failed() != nil
}

// superseded: no epoch ends while it is the newest. The control epoch is closed by a command of its
// own, before the next one is known.
func (e *epoch) superseded() bool {
	return e.g.id == 0 || e.g.newest.Epoch > e.desc.Epoch
}

// drain ends the epoch here. The next one may begin, and make what the log has of this one count there.
func (e *epoch) drain() {
	e.drained = true
	if e.mayTell() {
		e.tellDrained()
	}
	e.g.m.note(Drained, e)
	e.g.drained(e)
}

// mayTell: the epoch is drained, and it is known what is told to be stored of it, or that depends on logs that may
// never come (bereft.go).
func (e *epoch) mayTell() bool {
	return e.drained && (e.desc.Mode != Logged || !e.receiving || e.uncounted || e.g.log == nil || !e.g.log.lags(e, e.g.receives(), e.g.lacks))
}

// tellDrained tells that this node is done with the epoch, and before that (rdma: cells in their order), and not only
// on the next pass, what is stored: the others give the epoch up when all are done, and who waits until all is stored
// looks at it for the last time then.
func (e *epoch) tellDrained() {
	if e.table.Row(e.me).Load(e.table.Drained()) != 0 {
		return
	}
	if e.desc.Mode == Logged && e.morePersisted() {
		e.tellPersisted()
	}
	how := uint64(sst.DrainedWhole)
	if !e.whole && slices.ContainsFunc(e.ends, func(end uint64) bool { return end != sst.Forever }) {
		how = sst.DrainedCut
	}
	e.table.Store(e.table.Drained(), how)
	e.kick()
}

func (e *epoch) finishedByAll() bool {
	if !e.drained {
		return false
	}
	for i := range e.desc.Members {
		if !e.gone[i] && e.table.Row(i).Load(e.table.Drained()) == 0 && !e.overtakenBy(i) && !mutant.Is("release-early") {
			return false
		}
	}
	return true
}

// overtakenBy: the member has told that it is in a later view, so it has drained this one, whether its row can be read here
// or not. For a member that went on without having read a row (allOpen) there may be no other way to know: the owner of
// the row gives it up as soon as its own table says that all have drained the view, and from then on nobody can open it.
//
// It holds under every failure: a node names as the view before its own only one that it has drained (controlDrained),
// or in which it was no member (welcomed), and neither is ever taken back; an ID belongs to one incarnation. What is
// concluded is exactly what the cell would say, which is all that release waits for. No such status comes only
// from whom the group goes on without, or who has left: those are forgotten (cutAt, removeFailed, tick).
func (e *epoch) overtakenBy(i int) bool {
	if e.agree == nil || mutant.Is("unread-forever") {
		return false
	}
	s, known := e.g.m.statuses[e.node(i)]
	return known && s.group == e.g.m.view.group && s.before.view >= e.desc.Epoch
}
