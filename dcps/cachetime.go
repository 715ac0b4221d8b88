package dcps

import "github.com/omg-dds-go/dds/qos"

// What the passing of time does to a reader cache: DEADLINE, TIME_BASED_FILTER, LIFESPAN, READER_DATA_LIFECYCLE.

// wakeAt is when tick has work next; 0 for never.
func (c *cache) wakeAt() int64 {
	return sooner(c.alarms.next(), c.expiries.next())
}

// timed tells whether the cache asks when something is let in; LIFESPAN, which asks too, is of writers.
func (c *cache) timed() bool {
	return c.deadline > 0 || c.purgeNoWriters != never || c.purgeDisposed != never
}

func (c *cache) purgeBy(in *instance, delay, now int64) {
	if delay != never {
		c.alarms.by(in, after(now, delay))
	}
}

// retune follows a change of the policies that may change. DEADLINE begins anew for each instance.
func (c *cache) retune(q *qos.DataReader, now int64) {
	c.flat()
	c.rules, c.separation = rulesOf(q), int64(q.TimeBasedFilter.MinimumSeparation)
	c.purgeNoWriters = int64(q.ReaderDataLifecycle.AutopurgeNowriterSamplesDelay)
	c.purgeDisposed = int64(q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay)
	d := finite(q.Deadline.Period)
	anew := d != c.deadline
	c.deadline = d
	for _, in := range c.instances {
		if anew && d != 0 {
			in.due = after(now, d)
		}
		if in.held != nil && c.rules&ruleLatest == 0 {
			c.letIn(in, now)
			c.dropHeld(in) // there is no room, and nobody would look again
		}
		c.alarms.by(in, now) // tick finds out what is due when
	}
}

// expired tells whether LIFESPAN ended a sample before now.
func (c *cache) expired(it *item, now int64) bool {
	return it.src.lifespan > 0 && now >= after(it.sourceNs, it.src.lifespan)
}

// tick does what is due at now.
func (c *cache) tick(now int64) {
	if at := c.wakeAt(); at == 0 || at > now {
		return
	}
	c.flat()
	for {
		it, ok := c.expiries.take(now)
		if !ok {
			break
		}
		in := it.inst
		c.drop(it)
		c.report(in) // the entry may have been all that told of the end
		c.reap(in)
	}
	for {
		in, ok := c.alarms.take(now)
		if !ok {
			break
		}
		c.tickHeld(in, now) // first: the sample may be the one that DEADLINE waits for, as minimum_separation may be as long
		c.tickDeadline(in, now)
		c.tickPurge(in, now)
	}
}

// tickDeadline counts the periods of DEADLINE that passed without a sample. An owner that misses one loses the instance
// to whoever writes next (§2.2.3.9.2).
func (c *cache) tickDeadline(in *instance, now int64) {
	if c.deadline == 0 || in.state != InstanceAlive {
		return
	}
	if in.due <= now {
		times := (now-in.due)/c.deadline + 1
		in.due = after(in.due, times*c.deadline)
		in.owner = nil
		c.missed(in.handle, times)
	}
	c.alarms.by(in, in.due)
}

// hold keeps a sample that TIME_BASED_FILTER would drop, in case it is the last one for long (§2.2.3.12).
func (c *cache) hold(in *instance, it *item) {
	c.dropHeld(in)
	in.held = it
	c.alarms.by(in, after(in.acceptedNs, c.separation))
}

func (c *cache) dropHeld(in *instance) {
	if in.held != nil {
		c.release(in.held)
		in.held = nil
	}
}

func (c *cache) dropAllHeld() {
	if c.rules&ruleLatest == 0 {
		return
	}
	for _, in := range c.instances {
		c.dropHeld(in)
	}
}

// tickHeld lets in what was held back, if its time has come. If there is no room it tries again after as long.
func (c *cache) tickHeld(in *instance, now int64) {
	if in.held == nil {
		return
	}
	if after(in.acceptedNs, c.separation) <= now {
		c.letIn(in, now)
	}
	if in.held != nil {
		if after(in.acceptedNs, c.separation) <= now {
			in.acceptedNs = now
		}
		c.alarms.by(in, after(in.acceptedNs, c.separation))
	}
}

// letIn accepts what was held back, unless it has lost its right meanwhile; what stays held found no room.
func (c *cache) letIn(in *instance, now int64) {
	it := in.held
	in.held = nil
	if c.expired(it, now) || c.rules&ruleExclusive != 0 && !in.admits(it.src) || c.rules&ruleBySource != 0 && c.outdated(in, it) {
		c.release(it)
		return
	}
	registered := in.has(it.src)
	if c.accept(in, it, now, now).refused() {
		in.held = it
		return
	}
	if !registered { // its writer has left the instance since
		in.part(it.src)
		if in.owner == it.src {
			in.owner = nil
		}
	}
}

// tickPurge gives up an instance that has been not alive for as long as READER_DATA_LIFECYCLE says, with all that is
// known of it.
func (c *cache) tickPurge(in *instance, now int64) {
	delay := int64(never)
	switch in.state {
	case InstanceNotAliveDisposed:
		delay = c.purgeDisposed
	case InstanceNotAliveNoWriters:
		delay = c.purgeNoWriters
	}
	if delay == never {
		return
	}
	if at := after(in.notAliveNs, delay); now < at {
		c.alarms.by(in, at)
		return
	}
	for in.oldest != nil {
		c.drop(in.oldest)
	}
	c.forget(in)
}
