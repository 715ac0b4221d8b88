package dcps

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/qos"
)

// control is what an item about a status carries.
type control struct {
	handle InstanceHandle
	peer   Peer
	bad    []qos.Incompatibility
	text   string
	view   *viewControl
	err    error

	learn  func(*directory) // of itemLearn
	follow func(*reader)    // of itemOfPart

	failed bool // of itemNotAlive: the writer's process has, and the writer will be unmatched

	// Of itemAltered.
	strength int32
	lifespan int64
}

// reader is a DataReader without its type.
type reader struct {
	entity
	sub       *Subscriber
	topic     *topicEntity
	id        derecho.EndpointID
	handle    InstanceHandle
	q         qos.DataReader
	channel   derecho.ChannelID
	subgroups []derecho.SubgroupID
	durable   bool // wants history
	stored    bool // of a PERSISTENT reader: it has a log
	builtin   bool // of a built-in topic: the domain knows nothing of it
	inOrder   bool // PRESENTATION ordered_access in access_scope TOPIC or GROUP
	oneByOne  bool // in GROUP: a read or take has one sample at most, as the next one may be another reader's (§2.2.2.5.3.8)
	status    *StatusCondition
	callbacks readerCallbacks        // guarded by mu
	notify    bool                   // so is this: NotifyDataReaders was called
	listener  any                    // what SetListener got; guarded like bind
	bind      func() readerCallbacks // guarded by the participant's listening
	content   *contentFilter         // nil for none
	join      *joiner                // of a MultiTopic: the domain knows nothing of it but of its parts
	whole     *reader                // of a part: whose it is
	typed     AnyDataReader
	ending    ending          // of Close
	ended     atomic.Bool     // Close has begun
	lifetime  context.Context // ends when Close begins
	die       func()
	info      []byte // what the domain was told of the reader; guarded by entity.changing

	// The polling goroutine's.
	pendingHead, pendingTail *item
	self                     *endpoint
	pool                     itemPool // put by the holder of mu
	veiled                   bool     // a veil hangs before it

	lending lending
	// wantsRuns: the polling goroutine may make runs. Stored with mu held.
	wantsRuns atomic.Bool
	runPool   itemPool // of runs; like pool

	// Guarded by mu.
	cache          *cache
	parkedHead     *item // samples that wait for room, and what came behind them
	parkedTail     *item
	holding        []derecho.SubgroupID // subgroups on which this reader makes writers wait
	writers        map[endpointKey]*source
	leases         dueQueue[*source]        // of the writers that have to assert that they are alive
	lines          map[endpointKey]*lineage // by origin
	staged         []*item                  // what is not to be seen yet, for GROUP access or behind a veil
	frozen         bool                     // between BeginAccess and EndAccess in GROUP scope
	thawed         uint64                   // the cut to which staged is to be seen then
	complete       bool                     // no history is owed
	matched        MatchedStatus
	liveliness     LivelinessChangedStatus
	incompatible   IncompatibleQosStatus
	lost           SampleLostStatus
	rejected       SampleRejectedStatus
	kept           uint64 // samples that the content filter kept out
	deadlineMissed DeadlineMissedStatus
	spare          []*collection
	spareRun       *item // for split
	forRuns        int   // takes that runs would serve; see countTake
}

func (r *reader) setup() {
	r.init(r.sub.p, what("reader", r.topic.name), r)
	until := context.Background()
	if r.whole != nil {
		until = r.whole.lifetime
	}
	r.lifetime, r.die = context.WithCancel(until)
	r.writers = make(map[endpointKey]*source)
	r.lines = make(map[endpointKey]*lineage)
	r.status = newStatusCondition(&r.entity)
	r.cache = newCache(qos.DefaultDataReader())
}

// newCache makes the cache for the reader's QoS.
func (r *reader) newCache() {
	q, keyOf := r.q, r.topic.keyKeeper
	if r.join != nil {
		q, keyOf = wholeQos(q), r.join.multi.keys
	}
	r.cache = newCache(q)
	r.cache.release, r.cache.keyOf = r.release, keyOf()
	r.cache.left, r.cache.unroll = r.lending.unlist, r.unroll
	r.lending.init(r.q, r.p.settings.LendBytes)
	r.cache.missed = func(h InstanceHandle, times int64) {
		r.miss(h, times)
		r.tell(func(whole *reader) { whole.miss(HandleNil, times) })
	}
}

func (r *reader) miss(h InstanceHandle, times int64) {
	r.deadlineMissed.add(h, times)
	r.changed |= RequestedDeadlineMissedStatusBit
}

// qosNow is the reader's QoS.
func (r *reader) qosNow() qos.DataReader {
	r.lock()
	defer r.unlock()
	return r.q
}

func (r *reader) handleNow() InstanceHandle {
	r.lock()
	defer r.unlock()
	return r.handle
}

// release drops a reference to an entry's bytes; the last one recycles it.
func (r *reader) release(it *item) {
	if it.refs--; it.refs == 0 {
		r.lending.end(it)
		switch {
		case it.kind != itemRun:
			r.pool.drop(it)
		case r.spareRun == nil && it.memory() <= maxRunBytes:
			it.reset()
			r.spareRun = it
		default:
			r.runPool.drop(it)
		}
	}
}

// apply takes one item from the inbox.
func (r *reader) apply(it *item) {
	switch it.kind {
	case itemMatched:
		r.writers[it.src.key] = it.src
		r.startLease(it.src, it.receiveNs)
		r.met(it.ctl.handle, it.ctl.peer)
		r.lives(it.ctl.handle, 1, 0)
	case itemUnmatched:
		delete(r.writers, it.src.key)
		r.leases.remove(it.src)
		r.parted(it.ctl.handle, it.ctl.peer)
		if it.src.silent {
			r.lives(it.ctl.handle, 0, -1)
		} else {
			r.lives(it.ctl.handle, -1, 0)
		}
		r.depart(it.src, it.receiveNs)
	case itemAltered:
		if len(r.staged) > 0 {
			r.follow(it)
			return
		}
		r.alter(it)
	case itemAlive, itemNotAlive:
		it.src.absent, it.src.failed = it.kind == itemNotAlive, it.ctl.failed
		r.life(it.src, it.receiveNs)
	case itemIncompatible:
		r.refuse(it.ctl.peer, it.ctl.bad)
	case itemLost:
		r.lose(1)
		if r.closed {
			r.discard(it)
			return
		}
		it.kind = itemNothing // its number counts behind what waits of its writer, which otherwise would seem to have come already
		r.follow(it)
	case itemHistoryComplete:
		r.complete = true
	case itemHistoryOwed:
		r.complete = false
	case itemFailed:
		r.failure = it.ctl.err
	case itemOutage:
	case itemReclaim:
		r.lending.reclaim()
	case itemOfPart:
		it.ctl.follow(r)
	case itemVisible:
		r.show(it.link)
	case itemUnseen:
		r.show(it.link)
		r.unstage(it.link)
	default:
		if r.closed {
			r.discard(it)
			return
		}
		if it.src.lease != 0 && it.flags&noSign == 0 {
			r.shown(it)
		}
		if it.kind == itemShown {
			r.release(it)
			return
		}
		if it.link != 0 {
			r.stage(it)
			return
		}
		r.lending.admit(it)
		r.admit(it)
	}
}

// discard releases what comes too late.
func (r *reader) discard(it *item) {
	for _, member := range it.members() {
		r.release(member)
	}
	r.release(it)
}

// life follows a writer that is not alive any more, or is again. Its instances lose it until it writes anew, unless it is
// about to be unmatched: they do then.
func (r *reader) life(s *source, at int64) {
	silent := s.absent || s.lapsed
	if silent == s.silent {
		return
	}
	d := int32(1)
	if s.silent = silent; silent {
		d = -1
		if s.lapsed || !s.failed {
			r.depart(s, at)
		}
	}
	r.lives(s.handle, d, -d)
}

// lives, met, parted and refuse follow statuses; so do lose, reject and miss.
func (r *reader) lives(h InstanceHandle, alive, notAlive int32) {
	l := &r.liveliness
	l.AliveCount += alive
	l.AliveCountChange += alive
	l.NotAliveCount += notAlive
	l.NotAliveCountChange += notAlive
	l.LastPublicationHandle = h
	r.changed |= LivelinessChangedStatusBit
	r.tell(func(whole *reader) { whole.lives(h, alive, notAlive) })
}

func (r *reader) met(h InstanceHandle, p Peer) {
	r.matched.add(h, p)
	r.changed |= SubscriptionMatchedStatusBit
	r.tell(func(whole *reader) { whole.met(h, p) })
}

func (r *reader) parted(h InstanceHandle, p Peer) {
	r.matched.remove(h, p)
	r.changed |= SubscriptionMatchedStatusBit
	r.tell(func(whole *reader) { whole.parted(h, p) })
}

func (r *reader) refuse(p Peer, bad []qos.Incompatibility) {
	r.incompatible.add(p, bad)
	r.changed |= RequestedIncompatibleQosStatusBit
	r.tell(func(whole *reader) { whole.refuse(p, bad) })
}

// depart takes a writer from its instances, behind what came of it before.
func (r *reader) depart(s *source, at int64) {
	r.follow(&item{kind: itemGone, refs: 1, src: s, receiveNs: at, sourceNs: at})
}

// follow lets an item in behind what waits for its cut.
func (r *reader) follow(it *item) {
	if n := len(r.staged); n > 0 {
		it.link = r.staged[n-1].link
		r.staged = append(r.staged, it)
		return
	}
	r.admit(it)
}

// alter follows that a writer has another QoS.
func (r *reader) alter(it *item) {
	r.cache.flat() // what has come already keeps its LIFESPAN
	it.src.strength, it.src.lifespan = it.ctl.strength, it.ctl.lifespan
}

// lineOf gives what the reader remembers of a writer.
func (r *reader) lineOf(s *source) *lineage {
	if s.line == nil {
		key := s.key.origin()
		if s.line = r.lines[key]; s.line == nil {
			s.line = new(lineage)
			r.lines[key] = s.line
		}
	}
	return s.line
}

// admit lets an item of the cache's kinds in, behind those that are parked.
func (r *reader) admit(it *item) {
	if r.parkedHead != nil || !r.deliver(it) {
		r.park(it)
	}
}

// deliver gives an item to the cache; false if it has to wait for room.
func (r *reader) deliver(it *item) bool {
	switch it.kind {
	case itemSet:
		return r.deliverSet(it)
	case itemRun:
		return r.deliverRun(it)
	}
	s, seq := it.src, it.writerSeq // the cache may give it back for reuse
	line := r.lineOf(s)
	if seq != 0 && it.kind != itemGone {
		if seq <= line.lastSeq {
			r.release(it) // it came already, with a history or before the writer was matched anew
			return true
		}
		if s.gaps && s.heard && seq > line.lastSeq+1 {
			r.lose(seq - line.lastSeq - 1)
		}
	}
	at := r.moment(it)
	if it.kind == itemData {
		if o := r.cache.write(it, at); o.refused() {
			if r.waits(o) {
				return false
			}
			r.reject(o, it.handle)
			line.lastSeq, s.heard = seq, true
			r.release(it)
			return true
		}
		line.lastSeq, s.heard = seq, true
	} else {
		r.lifecycle(it, at)
		if seq != 0 && it.kind != itemGone {
			line.lastSeq, s.heard = seq, true
		}
		r.release(it)
	}
	r.news()
	return true
}

// moment is when an item is let in: now, which is later than it came if it had to wait. Where no policy of time asks it is
// not looked at.
func (r *reader) moment(it *item) int64 {
	if r.cache.timed() || it.src.lifespan != 0 {
		return now()
	}
	return it.receiveNs
}

// waits tells whether what finds no room waits for it: if the reader is RELIABLE, and somebody can make it. Nobody can for
// another instance while all are alive: what ends one would come behind what waits, and its writer would not get to it.
func (r *reader) waits(o outcome) bool {
	return r.q.Reliability.Kind == qos.ReliabilityReliable && (o != fullInstances || !r.cache.full())
}

func (r *reader) lifecycle(it *item, at int64) {
	switch it.kind {
	case itemFiltered:
		r.filtered(it, at)
	case itemLost: // of a set: its number does not come before those of the others
		r.lose(1)
	case itemDispose:
		r.dispose(it, at)
	case itemUnregister:
		if it.flags&flagDispose != 0 {
			r.dispose(it, at)
		}
		r.cache.unregister(it.handle, it, at)
	case itemRegister:
		r.cache.register(it.handle, it.src)
	case itemClosing:
		r.cache.depart(it, it.flags&flagDispose != 0, at)
		if !r.durable { // histories may bring its samples again
			delete(r.lines, it.src.key.origin())
		}
	case itemGone:
		r.cache.depart(it, false, at)
	case itemAltered: // behind what was staged
		r.alter(it)
	}
}

// dispose follows a disposal. One that is sent again comes at a later place than it had (resend.go): an instance that others
// have written since is alive.
func (r *reader) dispose(it *item, at int64) {
	if it.flags&flagAgain == 0 || !r.cache.writtenSince(it.handle, it.sourceNs) {
		r.cache.dispose(it.handle, it, at)
	}
}

func (r *reader) news() {
	if r.cache.news {
		r.cache.news = false
		r.changed |= DataAvailableStatusBit
		if r.whole == nil {
			r.sub.dataArrived()
		}
	}
}

func (r *reader) lose(n uint64) {
	r.lost.TotalCount += int32(n)
	r.lost.TotalCountChange += int32(n)
	r.changed |= SampleLostStatusBit
	r.tell(func(whole *reader) { whole.lose(n) })
}

func (r *reader) reject(o outcome, h InstanceHandle) {
	r.rejected.TotalCount++
	r.rejected.TotalCountChange++
	r.rejected.LastReason = o.rejection()
	r.rejected.LastInstanceHandle = h
	r.changed |= SampleRejectedStatusBit
	r.tell(func(whole *reader) { whole.reject(o, HandleNil) })
}

// park keeps an item until there is room, and makes the writers of the channel wait: what is in flight already is
// bounded by their rings.
func (r *reader) park(it *item) {
	if r.parkedHead == nil {
		r.parkedHead = it
	} else {
		r.parkedTail.next = it
	}
	r.holdWriters(it.src.sg)
	it.next = nil
	r.parkedTail = it
}

// holdWriters makes the writers of a subgroup wait.
func (r *reader) holdWriters(sg derecho.SubgroupID) {
	if sg != 0 && !slices.Contains(r.holding, sg) {
		r.holding = append(r.holding, sg)
		r.p.holds.add(sg, r.channel, 1)
	}
}

// letWriters lets the writers go on.
func (r *reader) letWriters() {
	for _, sg := range r.holding {
		r.p.holds.add(sg, r.channel, -1)
	}
	r.holding = r.holding[:0]
}

// unpark lets in what waits, as far as there is room.
func (r *reader) unpark() {
	for r.parkedHead != nil {
		it := r.parkedHead
		next := it.next
		it.next = nil
		if !r.deliver(it) {
			it.next = next
			return
		}
		r.parkedHead = next
	}
	r.parkedTail = nil
	if len(r.staged) <= maxStaged {
		r.letWriters()
	}
	if r.join != nil {
		r.join.ring()
	}
}

func (r *reader) nextTick() int64 {
	return sooner(r.cache.wakeAt(), r.leases.next())
}

func (r *reader) tick(now int64) {
	r.cache.tick(now)
	r.endLeases(now)
	r.unpark()
	r.news()
}

// collect reads or takes into a collection of the reader's. If there is nothing it looks what is in the rings: a reader
// that asks again and again need not be told.
func (r *reader) collect(op string, s *selection) (*collection, error) {
	c, err := r.latest(op, s)
	if err == ErrNoData {
		derecho.Look()
		c, err = r.latest(op, s)
	}
	return c, err
}

// latest is tryCollect after what has come to the parts of a MultiTopic is joined.
func (r *reader) latest(op string, s *selection) (*collection, error) {
	if r.join != nil {
		r.join.pull()
	}
	return r.tryCollect(op, s)
}

func (r *reader) tryCollect(op string, s *selection) (*collection, error) {
	r.lock()
	defer r.unlock()
	if err := r.usable(op); err != nil {
		return nil, err
	}
	if err := r.accessible(op); err != nil {
		return nil, err
	}
	if s.err != nil {
		return nil, s.err
	}
	s.inOrder = s.inOrder || r.inOrder
	if r.oneByOne {
		s.max = 1
	}
	c := r.collectLocked(s)
	if c.count() == 0 {
		r.spare = append(r.spare, c)
		if s.only == onlyThis && r.cache.instances[s.handle] == nil {
			return nil, &Error{Op: op, Entity: r.what, Code: ErrBadParameter, Detail: fmt.Sprintf("instance %v is not known", s.handle)}
		}
		return nil, ErrNoData
	}
	return c, nil
}

func (r *reader) collectLocked(s *selection) *collection {
	var c *collection
	if n := len(r.spare) - 1; n >= 0 {
		c = r.spare[n]
		r.spare = r.spare[:n]
	} else {
		c = new(collection)
	}
	r.catchUp()
	r.countTake(s)
	r.cache.collect(s, c)
	r.lending.handOver(s, c)
	r.changed &^= DataAvailableStatusBit
	if r.whole == nil {
		r.sub.dataRead()
	}
	if s.take {
		r.unpark()
	}
	return c
}

// catchUp does what is due by now, before somebody looks at the cache. LIFESPAN may make room.
func (r *reader) catchUp() {
	if at := r.cache.wakeAt(); at != 0 {
		if t := now(); at <= t {
			r.cache.tick(t)
			r.unpark()
			r.news()
		}
	}
}

// giveBack ends a collection.
func (r *reader) giveBack(c *collection) {
	r.lock()
	defer r.unlock()
	for i, it := range c.items {
		r.release(it)
		c.items[i] = nil
	}
	for i := range c.runs {
		r.release(c.runs[i].it)
	}
	r.pool.flush()
	r.runPool.flush()
	clear(c.runs)
	clear(c.samples)
	c.runs, c.samples, c.at = c.runs[:0], c.samples[:0], 0
	c.items, c.infos = c.items[:0], c.infos[:0]
	c.turn++
	r.spare = append(r.spare, c)
}

// finish releases what the reader holds of others, once it is closed.
func (r *reader) finish() {
	r.lock()
	defer r.unlock()
	defer r.dropLent() // behind those that are parked
	r.cache.flat()
	r.cache.dropAllHeld()
	for r.parkedHead != nil {
		it := r.parkedHead
		r.parkedHead = it.next
		it.next = nil
		r.discard(it)
	}
	r.parkedTail = nil
	for _, it := range r.staged {
		r.discard(it)
	}
	r.staged = nil
	r.letWriters()
}
