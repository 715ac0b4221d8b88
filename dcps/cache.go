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
//
// The cache is a plain value: no lock, no goroutine, no clock. Time is nanoseconds since 1970, passed in.
type cache struct {
	keepAll        bool
	depth          int
	maxSamples     int
	maxInstances   int
	maxPerInstance int
	exclusive      bool
	deadline       int64 // ns; 0 for none, like all durations here
	separation     int64
	purgeNoWriters int64 // neverPurge for none, as 0 means at once
	purgeDisposed  int64

	instances   map[InstanceHandle]*instance
	first, last *item // all entries in order of arrival
	samples     int   // entries with data
	unread      int   // entries not read
	pass        uint64

	// news is set when something arrived that a reader of the data may want to see.
	news bool
	// wakeAt is when tick has work next; 0 for never.
	wakeAt int64
	// release takes back an entry that the cache drops.
	release func(*item)
	// left is told of an entry that is lent and leaves the cache.
	left func(*item)
	// missed is told of an instance whose DEADLINE passed.
	missed func(InstanceHandle)
}

const neverPurge = math.MaxInt64

// instance is one instance of the topic in a reader's cache.
type instance struct {
	handle       InstanceHandle
	state        InstanceState
	view         ViewState
	disposedGen  int32
	noWritersGen int32
	oldest       *item // entries, by arrival
	newest       *item
	samples      int       // entries with data
	unread       int       // entries not read
	report       *item     // the entry without data, or nil
	writers      []*source // that have written and not unregistered
	owner        *source   // OWNERSHIP EXCLUSIVE: nil until the next sample
	due          int64     // when DEADLINE is missed
	notAliveNs   int64     // when the instance stopped being alive
	acceptedNs   int64     // when the latest sample was accepted, for TIME_BASED_FILTER

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
	ignored          // by rule: not the owner, or too soon after the latest sample
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
		exclusive:      q.Ownership.Kind == qos.OwnershipExclusive,
		deadline:       finite(q.Deadline.Period),
		separation:     finite(q.TimeBasedFilter.MinimumSeparation),
		purgeNoWriters: int64(q.ReaderDataLifecycle.AutopurgeNowriterSamplesDelay),
		purgeDisposed:  int64(q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay),
		instances:      make(map[InstanceHandle]*instance),
		release:        func(*item) {},
		left:           func(*item) {},
		missed:         func(InstanceHandle) {},
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
	in := c.instances[it.handle]
	if c.expired(it, now) || (in != nil && !c.admits(in, it, now)) {
		if in != nil {
			in.join(it.src)
		}
		c.release(it)
		return ignored
	}
	if o := c.room(in); o != accepted {
		return o
	}
	if in == nil {
		in = &instance{handle: it.handle, state: InstanceAlive, view: ViewNew}
		c.instances[it.handle] = in
	}
	c.revive(in)
	if !c.keepAll && in.samples == c.depth {
		c.drop(in.oldestSample())
	}
	in.join(it.src)
	if c.exclusive && !it.src.silent {
		in.owner = it.src
	}
	in.acceptedNs = now
	if c.deadline > 0 {
		in.due = now + c.deadline
		c.wakeBy(in.due)
	}
	it.valid = true
	c.link(in, it)
	if it.src.lifespan > 0 {
		c.wakeBy(it.sourceNs + it.src.lifespan)
	}
	return accepted
}

// admits applies OWNERSHIP and TIME_BASED_FILTER.
func (c *cache) admits(in *instance, it *item, now int64) bool {
	if c.exclusive && !in.admits(it.src) {
		return false
	}
	return c.separation == 0 || in.state != InstanceAlive || now-in.acceptedNs >= c.separation
}

// admits tells whether a sample of s would be accepted: the instance has no owner, or s is it, or s is alive and beats it.
func (in *instance) admits(s *source) bool {
	return in.owner == nil || in.owner == s || !s.silent && s.beats(in.owner)
}

// room applies RESOURCE_LIMITS to a sample for in, which is nil if it would be a new instance.
func (c *cache) room(in *instance) outcome {
	if in == nil && len(c.instances) >= c.maxInstances && !c.forgetDisposed() {
		return fullInstances
	}
	if in != nil && !c.keepAll && in.samples == c.depth {
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

// forgetDisposed makes room for a new instance: it gives up what is known of one that is disposed and empty.
func (c *cache) forgetDisposed() bool {
	for h, in := range c.instances {
		if in.state == InstanceNotAliveDisposed && in.oldest == nil {
			delete(c.instances, h)
			return true
		}
	}
	return false
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
	in.state, in.notAliveNs = InstanceAlive, 0
	if in.report != nil {
		c.drop(in.report)
	}
}

// dispose makes an instance NOT_ALIVE_DISPOSED. What this reader never saw alive stays unknown.
func (c *cache) dispose(h InstanceHandle, by *item, now int64) {
	in := c.instances[h]
	if in == nil || in.state == InstanceNotAliveDisposed || (c.exclusive && !in.admits(by.src)) {
		return
	}
	c.end(in, InstanceNotAliveDisposed, by, now)
	c.purgeBy(c.purgeDisposed, now)
}

// unregister takes a writer from an instance, which loses its owner or its last writer by it.
func (c *cache) unregister(h InstanceHandle, by *item, now int64) {
	if in := c.instances[h]; in != nil {
		c.leave(in, by, now)
	}
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
		c.purgeBy(c.purgeNoWriters, now)
	}
	c.reap(in)
}

// register adds a writer to an instance that is known.
func (c *cache) register(h InstanceHandle, src *source) {
	if in := c.instances[h]; in != nil {
		in.join(src)
	}
}

// depart takes a writer from all its instances; they are disposed first if it said so.
func (c *cache) depart(by *item, dispose bool, now int64) {
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
	in.state, in.notAliveNs, in.due = state, now, 0
	c.news = true
	if in.unread > 0 {
		return
	}
	if in.report != nil {
		c.drop(in.report)
	}
	in.report = &item{
		kind: itemDispose, refs: 1, src: by.src, handle: in.handle,
		seq: by.seq, writerSeq: by.writerSeq, epoch: by.epoch, sourceNs: by.sourceNs, receiveNs: by.receiveNs,
	}
	c.link(in, in.report)
}

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

// link adds an entry as the newest.
func (c *cache) link(in *instance, it *item) {
	it.inst, it.read = in, false
	it.disposedGen, it.noWritersGen = in.disposedGen, in.noWritersGen
	it.before, it.after = c.last, nil
	if c.last == nil {
		c.first = it
	} else {
		c.last.after = it
	}
	c.last = it
	it.earlier, it.later = in.newest, nil
	if in.newest == nil {
		in.oldest = it
	} else {
		in.newest.later = it
	}
	in.newest = it
	if it.valid {
		c.samples++
		in.samples++
	}
	c.unread++
	in.unread++
	c.news = true
}

// unlink takes an entry out. The cache's reference to it passes to the caller.
func (c *cache) unlink(it *item) {
	if it.loan != nil {
		c.left(it)
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
}

func (c *cache) drop(it *item) {
	c.unlink(it)
	c.release(it)
}

// reap forgets an instance of which nothing is left to say.
func (c *cache) reap(in *instance) {
	if in.state != InstanceAlive && in.oldest == nil && len(in.writers) == 0 {
		delete(c.instances, in.handle)
	}
}
