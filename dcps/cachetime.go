package dcps

// What the passing of time does to a reader cache: DEADLINE, LIFESPAN, READER_DATA_LIFECYCLE.

// wakeBy makes sure that tick runs at t.
func (c *cache) wakeBy(t int64) {
	if c.wakeAt == 0 || t < c.wakeAt {
		c.wakeAt = t
	}
}

func (c *cache) purgeBy(delay, now int64) {
	if delay != neverPurge {
		c.wakeBy(now + delay)
	}
}

// expired tells whether LIFESPAN ended a sample before now.
func (c *cache) expired(it *item, now int64) bool {
	return it.src.lifespan > 0 && now >= it.sourceNs+it.src.lifespan
}

// tick does what is due at now and sets wakeAt anew.
func (c *cache) tick(now int64) {
	c.wakeAt = 0
	for it := c.first; it != nil; {
		next := it.after
		if it.valid && it.src.lifespan > 0 {
			if c.expired(it, now) {
				in := it.inst
				c.drop(it)
				c.reap(in)
			} else {
				c.wakeBy(it.sourceNs + it.src.lifespan)
			}
		}
		it = next
	}
	for _, in := range c.instances {
		c.tickDeadline(in, now)
		c.tickPurge(in, now)
	}
}

// tickDeadline counts a missed DEADLINE once a period. An owner that misses it loses the instance to whoever writes
// next (§2.2.3.9.2).
func (c *cache) tickDeadline(in *instance, now int64) {
	if c.deadline == 0 || in.state != InstanceAlive {
		return
	}
	for in.due <= now {
		in.due += c.deadline
		in.owner = nil
		c.missed(in.handle)
	}
	c.wakeBy(in.due)
}

func (c *cache) tickPurge(in *instance, now int64) {
	delay := int64(neverPurge)
	switch in.state {
	case InstanceNotAliveDisposed:
		delay = c.purgeDisposed
	case InstanceNotAliveNoWriters:
		delay = c.purgeNoWriters
	}
	if delay == neverPurge {
		return
	}
	if at := in.notAliveNs + delay; now < at {
		c.wakeBy(at)
		return
	}
	for in.oldest != nil {
		c.drop(in.oldest)
	}
	c.reap(in)
}
