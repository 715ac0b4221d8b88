package dcps

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/qos"
)

// The reader cache decides what a reader holds and shows. The rules of DDS 1.4 §2.2.2.5:
//
//   - An instance is known from its first sample until it is not alive, has no registered writer and no entry.
//   - A sample that arrives for an instance that is not alive begins a new generation, and the instance is NEW again.
//   - A change to not-alive that no unread entry of the instance can report adds an entry without data, at most one
//     per instance; the next sample replaces it. It does not count against RESOURCE_LIMITS.
//   - With OWNERSHIP EXCLUSIVE only the owner's samples and disposals count; see instance.admits.
//   - What is purged (READER_DATA_LIFECYCLE), or gives way when max_instances is reached, is forgotten as a whole, with the
//     writers that have the instance registered (§2.2.3.22). They count again when they write it.
//
// The cache is a plain value: no lock, no goroutine, no clock. Time is nanoseconds since 1970, passed in: it is when an item
// is let in, from which DEADLINE and autopurge count, as nobody could see it before. TIME_BASED_FILTER goes by when it came.
type cache struct {
	keepAll        bool
	depth          int
	maxSamples     int
	maxInstances   int
	maxPerInstance int
	rules          cacheRules // all that a sample has to pass besides RESOURCE_LIMITS; 0 for most readers
	deadline       int64      // ns; 0 for none
	separation     int64      // ns
	purgeNoWriters int64      // never for none, as 0 means at once
	purgeDisposed  int64

	instances   map[InstanceHandle]*instance
	recent      *instance // of the latest sample, which is likely that of the next
	first, last *item     // all entries in order of arrival, or of their source timestamps
	runs        runs      // samples behind all entries
	samples     int       // entries with data
	unread      int       // entries not read
	ended       int       // instances that are not alive
	pass        uint64
	links       uint64 // entries that were ever put in
	shifts      uint64 // changes by which an entry may be in other states than before, or not lie behind those that came before it
	order       handleOrder
	// coming has the writers that have registered an instance that is not known yet: they write it as soon as it is.
	coming map[InstanceHandle][]*source
	empty  instanceList // disposed and without entries: they give way when max_instances is reached

	// What tick has to do: for an instance DEADLINE, TIME_BASED_FILTER and autopurge, for an entry LIFESPAN.
	alarms   dueQueue[*instance]
	expiries dueQueue[*item]

	// news is set when something arrived that a reader of the data may want to see.
	news bool
	// release takes back an entry that the cache drops.
	release func(*item)
	// left is told of an entry that is lent and leaves the cache.
	left func(*item)
	// keyOf gives the key of a new instance, where its handle does not hold it; nil otherwise.
	keyOf func(*item) []byte
	// unroll makes entries of runs.
	unroll func(n int, wasted bool)
	// missed is told of an instance whose DEADLINE passed, and how often.
	missed func(h InstanceHandle, times int64)
}

// never is a time that does not come, and a duration that does not end.
const never = math.MaxInt64

// cacheRules are the policies that a sample of a known instance has to pass.
type cacheRules uint8

const (
	ruleExclusive cacheRules = 1 << iota // OWNERSHIP EXCLUSIVE
	ruleSeparated                        // TIME_BASED_FILTER
	ruleLatest                           // with it, the latest sample is not lost: RELIABILITY RELIABLE
	ruleBySource                         // DESTINATION_ORDER BY_SOURCE_TIMESTAMP
)

func rulesOf(q *qos.DataReader) (r cacheRules) {
	if q.Ownership.Kind == qos.OwnershipExclusive {
		r |= ruleExclusive
	}
	if q.TimeBasedFilter.MinimumSeparation > 0 {
		r |= ruleSeparated
		if q.Reliability.Kind == qos.ReliabilityReliable {
			r |= ruleLatest
		}
	}
	if q.DestinationOrder.Kind == qos.DestinationOrderBySourceTimestamp {
		r |= ruleBySource
	}
	return r
}

// instance is one instance of the topic in a reader's cache.
type instance struct {
	handle                  InstanceHandle
	key                     []byte // where the handle does not hold it
	state                   InstanceState
	view                    ViewState
	disposedGen             int32
	noWritersGen            int32
	oldest                  *item // entries, by arrival
	newest                  *item
	samples                 int       // entries with data
	unread                  int       // entries not read
	report                  *item     // the entry without data, or nil
	untold                  *item     // would be report, but an unread entry is there that tells the same
	writers                 []*source // that have written or registered it, and not unregistered
	owner                   *source   // OWNERSHIP EXCLUSIVE: nil until the next sample
	due                     int64     // when DEADLINE is missed
	notAliveNs              int64     // when the instance stopped being alive
	acceptedNs              int64     // when the latest sample was accepted, for TIME_BASED_FILTER
	sourceNs                int64     // the latest source timestamp of a sample
	held                    *item     // TIME_BASED_FILTER: came too soon, and is let in when its time has come unless another one comes
	stamps                  *stamps   // DESTINATION_ORDER BY_SOURCE_TIMESTAMP
	alarm                   int32     // place in cache.alarms
	emptyBefore, emptyAfter *instance // of cache.empty

	// Scratch of one read.
	pass      uint64
	ranked    uint64
	following int32
	latestGen int32
}

// outcome is what became of an item.
type outcome uint8

const (
	accepted outcome = iota
	ignored          // by rule: not the owner, too soon after the latest sample, or older than it
	fullInstances
	fullSamples
	fullPerInstance
)

func (o outcome) refused() bool { return o >= fullInstances }

func (o outcome) rejection() SampleRejectedKind {
	switch o {
	case fullInstances:
		return RejectedByInstancesLimit
	case fullSamples:
		return RejectedBySamplesLimit
	case fullPerInstance:
		return RejectedBySamplesPerInstanceLimit
	}
	return NotRejected
}

func newCache(q qos.DataReader) *cache {
	return &cache{
		keepAll:        q.History.Kind == qos.HistoryKeepAll,
		depth:          int(q.History.Depth),
		maxSamples:     limit(q.ResourceLimits.MaxSamples),
		maxInstances:   limit(q.ResourceLimits.MaxInstances),
		maxPerInstance: limit(q.ResourceLimits.MaxSamplesPerInstance),
		rules:          rulesOf(&q),
		deadline:       finite(q.Deadline.Period),
		separation:     int64(q.TimeBasedFilter.MinimumSeparation),
		purgeNoWriters: int64(q.ReaderDataLifecycle.AutopurgeNowriterSamplesDelay),
		purgeDisposed:  int64(q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay),
		instances:      make(map[InstanceHandle]*instance),
		release:        func(*item) {},
		left:           func(*item) {},
		missed:         func(InstanceHandle, int64) {},
	}
}

func limit(n int32) int {
	if n == qos.LengthUnlimited {
		return math.MaxInt
	}
	return int(n)
}

// finite gives a duration in ns, and 0 for an infinite one.
func finite(d time.Duration) int64 {
	if d == qos.Infinite {
		return 0
	}
	return int64(d)
}

// write puts a sample in. If it is refused for want of room the caller keeps the item; otherwise the cache has it.
func (c *cache) write(it *item, now int64) outcome {
	c.flat()
	return c.put(it, now)
}

// put is write behind all entries, and before the runs.
func (c *cache) put(it *item, now int64) outcome {
	in := c.instanceOf(it.handle)
	v := passes
	if c.expired(it, now) {
		v = dropped
	} else if c.rules != 0 && in != nil {
		v = c.judge(in, it, now)
	}
	if v == passes {
		return c.accept(in, it, now, it.receiveNs)
	}
	if in != nil {
		in.join(it.src)
	}
	if v == later {
		c.hold(in, it)
	} else {
		c.release(it)
	}
	return ignored
}

// instanceOf finds an instance that a sample is about; nil if it is not known.
func (c *cache) instanceOf(h InstanceHandle) *instance {
	if in := c.recent; in != nil && in.handle == h {
		return in
	}
	in := c.instances[h]
	if in != nil {
		c.recent = in
	}
	return in
}

// verdict is what the rules say of a sample.
type verdict uint8

const (
	passes verdict = iota
	dropped
	later // TIME_BASED_FILTER: unless another one comes
)

// judge applies OWNERSHIP, DESTINATION_ORDER and TIME_BASED_FILTER to a sample of a known instance.
func (c *cache) judge(in *instance, it *item, now int64) verdict {
	if c.rules&ruleExclusive != 0 && !in.admits(it.src) {
		return dropped
	}
	if c.rules&ruleBySource != 0 && c.outdated(in, it) {
		return dropped
	}
	if c.rules&ruleSeparated != 0 && in.state == InstanceAlive && it.receiveNs < after(in.acceptedNs, c.separation) {
		c.written(in, it.src, now)
		if c.rules&ruleLatest != 0 {
			return later
		}
		return dropped
	}
	return passes
}

// written notes that a writer has written an instance, though the reader does not see what, since a filter is between: the
// strongest writer owns the instance, and has kept its DEADLINE.
func (c *cache) written(in *instance, s *source, now int64) {
	if c.rules&ruleExclusive != 0 && in.admits(s) && s.mayOwn() {
		in.owner = s
	}
	if c.deadline > 0 && in.state == InstanceAlive {
		in.due = after(now, c.deadline)
		c.alarms.by(in, in.due)
	}
}

// accept puts a sample in that has passed the rules, if there is room. The next one may come minimum_separation after from.
func (c *cache) accept(in *instance, it *item, now, from int64) outcome {
	if o := c.room(in); o != accepted {
		return o
	}
	if in == nil {
		in = &instance{handle: it.handle, state: InstanceAlive, view: ViewNew}
		if c.keyOf != nil {
			in.key = c.keyOf(it)
		}
		c.instances[it.handle] = in
		c.order.add(in, len(c.instances))
		if len(c.coming) > 0 {
			in.writers = c.coming[it.handle]
			delete(c.coming, it.handle)
		}
	}
	c.revive(in)
	if !c.keepAll && in.samples >= c.depth {
		c.drop(in.oldestSample())
	}
	in.join(it.src)
	if c.rules != 0 {
		c.follow(in, it, from)
	}
	if c.deadline > 0 {
		in.due = after(now, c.deadline)
		c.alarms.by(in, in.due)
	}
	in.sourceNs = max(in.sourceNs, it.sourceNs)
	it.valid = true
	c.link(in, it)
	if it.src.lifespan > 0 {
		c.expiries.by(it, after(it.sourceNs, it.src.lifespan))
	}
	return accepted
}

// follow notes what the rules need to know of the latest sample of an instance.
func (c *cache) follow(in *instance, it *item, from int64) {
	if c.rules&ruleExclusive != 0 && it.src.mayOwn() {
		in.owner = it.src
	}
	in.acceptedNs = from
	if in.held != nil { // this one is newer
		c.release(in.held)
		in.held = nil
	}
	if c.rules&ruleBySource != 0 {
		in.stamped(it)
	}
}

// admits tells whether a sample of s would be accepted: the instance has no owner, or s is it, or s is alive and beats it.
func (in *instance) admits(s *source) bool {
	return in.owner == nil || in.owner == s || s.mayOwn() && s.beats(in.owner)
}

// room applies RESOURCE_LIMITS to a sample for in, which is nil if it would be a new instance.
func (c *cache) room(in *instance) outcome {
	if in == nil && len(c.instances) >= c.maxInstances && !c.forgetDisposed() {
		return fullInstances
	}
	if in != nil && !c.keepAll && in.samples >= c.depth {
		return accepted // it replaces one
	}
	if in != nil && in.samples >= c.maxPerInstance {
		return fullPerInstance
	}
	if c.samples >= c.maxSamples {
		return fullSamples
	}
	return accepted
}

// fits applies RESOURCE_LIMITS to items that are to be let in together.
func (c *cache) fits(set []*item) outcome {
	c.flat()
	more := make(map[InstanceHandle]int)
	samples, instances, stay := 0, 0, make(map[*instance]bool)
	for _, it := range set {
		if it.kind != itemData {
			continue
		}
		held, in := more[it.handle], c.instances[it.handle]
		if in != nil {
			held += in.samples
			stay[in] = true
		} else if more[it.handle] == 0 {
			instances++
		}
		switch {
		case !c.keepAll && held >= c.depth:
			continue // it replaces one
		case held >= c.maxPerInstance:
			return fullPerInstance
		}
		more[it.handle]++
		samples++
	}
	for in := c.empty.first; in != nil && len(c.instances)+instances > c.maxInstances; in = in.emptyAfter {
		if !stay[in] { // nor does it help if one gives way that the set goes on with: that is a new one then
			instances--
		}
	}
	switch {
	case len(c.instances)+instances > c.maxInstances:
		return fullInstances
	case c.samples+samples > c.maxSamples:
		return fullSamples
	}
	return accepted
}

// forgetDisposed makes room for a new instance: it gives up what is known of the one that has been disposed and empty
// for longest.
func (c *cache) forgetDisposed() bool {
	in := c.empty.first
	if in != nil {
		c.forget(in)
	}
	return in != nil
}

// revive makes the instance alive, in a new generation if it was not.
func (c *cache) revive(in *instance) {
	switch in.state {
	case InstanceNotAliveDisposed:
		in.disposedGen++
		in.view = ViewNew
	case InstanceNotAliveNoWriters:
		in.noWritersGen++
		in.view = ViewNew
	}
	if in.state != InstanceAlive {
		c.shifts++
		c.ended--
	}
	in.state, in.notAliveNs, in.untold = InstanceAlive, 0, nil
	c.empty.remove(in)
	if in.report != nil {
		c.drop(in.report)
	}
}

// dispose makes an instance NOT_ALIVE_DISPOSED. What this reader never saw alive stays unknown.
func (c *cache) dispose(h InstanceHandle, by *item, now int64) {
	c.flat()
	in := c.instances[h]
	if in == nil || (c.rules&ruleExclusive != 0 && !in.admits(by.src)) {
		return
	}
	if c.rules&ruleBySource != 0 && !in.disposable(by) {
		return
	}
	if in.state != InstanceNotAliveDisposed {
		c.end(in, InstanceNotAliveDisposed, by, now)
		c.purgeBy(in, c.purgeDisposed, now)
	}
	if c.rules&ruleBySource != 0 { // a second disposal, too: what is older than it is too late
		in.stamped(by)
		in.raise(by)
	}
}

// writtenSince tells whether an instance has a sample with a later source timestamp than one.
func (c *cache) writtenSince(h InstanceHandle, ns int64) bool {
	c.flat()
	in := c.instances[h]
	return in != nil && in.sourceNs > ns
}

// unregister takes a writer from an instance, which loses its owner or its last writer by it.
func (c *cache) unregister(h InstanceHandle, by *item, now int64) {
	c.flat()
	if in := c.instances[h]; in != nil {
		c.leave(in, by, now)
		return
	}
	c.stay(h, by.src)
}

func (c *cache) leave(in *instance, by *item, now int64) {
	if !in.part(by.src) {
		return
	}
	if in.owner == by.src {
		in.owner = nil
	}
	if len(in.writers) == 0 && in.state == InstanceAlive {
		c.end(in, InstanceNotAliveNoWriters, by, now)
		c.purgeBy(in, c.purgeNoWriters, now)
	}
	c.reap(in)
}

// register adds a writer to an instance. One that is not known does not come to be so; of such ones no more are
// remembered than the reader may have.
func (c *cache) register(h InstanceHandle, src *source) {
	if in := c.instances[h]; in != nil {
		in.join(src)
		return
	}
	before := c.coming[h]
	if slices.Contains(before, src) || before == nil && len(c.coming) >= c.maxInstances {
		return
	}
	if c.coming == nil {
		c.coming = make(map[InstanceHandle][]*source)
	}
	c.coming[h] = append(before, src)
}

// stay takes a writer from those of an instance that is not known.
func (c *cache) stay(h InstanceHandle, src *source) {
	switch left := slices.DeleteFunc(c.coming[h], func(s *source) bool { return s == src }); {
	case len(left) > 0:
		c.coming[h] = left
	default:
		delete(c.coming, h)
	}
}

// depart takes a writer from all its instances; they are disposed first if it said so.
func (c *cache) depart(by *item, dispose bool, now int64) {
	c.flat()
	for h := range c.coming {
		c.stay(h, by.src)
	}
	var its []*instance
	for _, in := range c.instances {
		if in.has(by.src) {
			its = append(its, in)
		}
	}
	// In the order of handles, so that all readers see the same.
	slices.SortFunc(its, func(a, b *instance) int { return bytes.Compare(a.handle[:], b.handle[:]) })
	for _, in := range its {
		if dispose {
			c.dispose(in.handle, by, now)
		}
		c.leave(in, by, now)
	}
}

// end makes the instance not alive and sees to it that a reader of the data finds out.
func (c *cache) end(in *instance, state InstanceState, by *item, now int64) {
	if in.held != nil {
		c.letIn(in, now) // its last value is not lost
		c.dropHeld(in)
	}
	if in.state == InstanceAlive {
		c.ended++
	}
	in.state, in.notAliveNs, in.due = state, now, 0
	c.shifts++
	c.news = true
	in.untold = &item{
		kind: itemDispose, refs: 1, src: by.src, handle: in.handle,
		seq: by.seq, writerSeq: by.writerSeq, epoch: by.epoch, sourceNs: by.sourceNs, receiveNs: by.receiveNs, order: by.order,
	}
	c.report(in)
}

// report has a reader of the data find out that an instance is not alive, once no unread entry tells it.
func (c *cache) report(in *instance) {
	if in.untold == nil || in.unread > 0 {
		return
	}
	if in.report != nil {
		c.drop(in.report)
	}
	in.report, in.untold = in.untold, nil
	c.link(in, in.report)
}

// full tells that nothing that the application takes makes room for another instance: all are alive.
func (c *cache) full() bool { return c.ended == 0 }

func (in *instance) has(s *source) bool {
	for _, w := range in.writers {
		if w == s {
			return true
		}
	}
	return false
}

func (in *instance) join(s *source) {
	if !in.has(s) {
		in.writers = append(in.writers, s)
	}
}

func (in *instance) part(s *source) bool {
	for i, w := range in.writers {
		if w == s {
			last := len(in.writers) - 1
			in.writers[i], in.writers[last] = in.writers[last], nil
			in.writers = in.writers[:last]
			return true
		}
	}
	return false
}

func (in *instance) oldestSample() *item {
	it := in.oldest
	for !it.valid {
		it = it.later
	}
	return it
}

// link adds an entry as the newest or, by source timestamp, where it belongs.
func (c *cache) link(in *instance, it *item) {
	it.inst, it.read = in, false
	it.disposedGen, it.noWritersGen = in.disposedGen, in.noWritersGen
	before, earlier := c.last, in.newest
	if c.rules&ruleBySource != 0 {
		before, earlier = c.placeOf(in, it)
		if before != c.last {
			c.shifts++
		}
	}
	c.links++
	it.link = c.links
	it.before = before
	if before == nil {
		it.after, c.first = c.first, it
	} else {
		it.after, before.after = before.after, it
	}
	if it.after == nil {
		c.last = it
	} else {
		it.after.before = it
	}
	it.earlier = earlier
	if earlier == nil {
		it.later, in.oldest = in.oldest, it
	} else {
		it.later, earlier.later = earlier.later, it
	}
	if it.later == nil {
		in.newest = it
	} else {
		it.later.earlier = it
	}
	if it.valid {
		c.samples++
		in.samples++
	}
	c.unread++
	in.unread++
	c.empty.remove(in)
	c.news = true
}

// unlink takes an entry out. The cache's reference to it passes to the caller.
func (c *cache) unlink(it *item) {
	it.link = 0
	if it.loan != nil {
		c.left(it)
	}
	if it.expiry != 0 {
		c.expiries.remove(it)
	}
	in := it.inst
	if it.before == nil {
		c.first = it.after
	} else {
		it.before.after = it.after
	}
	if it.after == nil {
		c.last = it.before
	} else {
		it.after.before = it.before
	}
	if it.earlier == nil {
		in.oldest = it.later
	} else {
		it.earlier.later = it.later
	}
	if it.later == nil {
		in.newest = it.earlier
	} else {
		it.later.earlier = it.earlier
	}
	it.before, it.after, it.earlier, it.later = nil, nil, nil, nil
	if it.valid {
		c.samples--
		in.samples--
	} else {
		in.report = nil
	}
	if !it.read {
		c.unread--
		in.unread--
	}
	if in.oldest == nil && in.state == InstanceNotAliveDisposed {
		c.empty.add(in)
	}
}

func (c *cache) drop(it *item) {
	c.unlink(it)
	c.release(it)
}

// reap forgets an instance of which nothing is left to say.
func (c *cache) reap(in *instance) {
	if in.state != InstanceAlive && in.oldest == nil && len(in.writers) == 0 {
		c.forget(in)
	}
}

// forget gives up what is known of an instance without entries.
func (c *cache) forget(in *instance) {
	delete(c.instances, in.handle)
	if in.state != InstanceAlive {
		c.ended--
	}
	if c.recent == in {
		c.recent = nil
	}
	c.alarms.remove(in)
	c.empty.remove(in)
	c.dropHeld(in)
}

func (in *instance) place() *int32 { return &in.alarm }
func (it *item) place() *int32     { return &it.expiry }

// instanceList is a list of instances, first in first.
type instanceList struct{ first, last *instance }

func (l *instanceList) has(in *instance) bool { return in.emptyBefore != nil || l.first == in }

func (l *instanceList) add(in *instance) {
	if l.has(in) {
		return
	}
	if in.emptyBefore = l.last; l.last == nil {
		l.first = in
	} else {
		l.last.emptyAfter = in
	}
	l.last = in
}

func (l *instanceList) remove(in *instance) {
	if !l.has(in) {
		return
	}
	if in.emptyBefore == nil {
		l.first = in.emptyAfter
	} else {
		in.emptyBefore.emptyAfter = in.emptyAfter
	}
	if in.emptyAfter == nil {
		l.last = in.emptyBefore
	} else {
		in.emptyAfter.emptyBefore = in.emptyBefore
	}
	in.emptyBefore, in.emptyAfter = nil, nil
}
