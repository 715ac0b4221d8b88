package dcps

import (
	"sync/atomic"
	"time"
)

// clock tells the time as time.Now does, for half the price: it reads the monotonic clock only, and adds what has passed to a time
// that is at most a second old. So it follows the system's clock, when that is set, within a second.
type clock struct{ anchor atomic.Pointer[time.Time] }

const anchored = time.Second

func (c *clock) now() time.Time {
	if a := c.anchor.Load(); a != nil {
		if d := time.Since(*a); d < anchored {
			return a.Add(d)
		}
	}
	t := time.Now()
	c.anchor.Store(&t)
	return t
}

// sampleClock gives samples their source timestamps.
var sampleClock clock
