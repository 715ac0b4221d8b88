package dcps

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/internal/ticks"
)

// clock tells the time as time.Now does, in nanoseconds since 1970, for a fraction of the price: it adds what has
// passed to a time that is a little old. Where the kernel has found the processor's ticks steady that is counted in
// them, for tickedFor; otherwise, and while their rate is not known, it is read from the monotonic clock, for
// anchoredFor.
//
// So it follows the system's clock, when that is set, within tickedFor or anchoredFor. Counted in ticks it differs from
// the system's clock by a microsecond, which comparing the two takes, and by what the rate has changed in tickedFor: 5
// µs, as the kernel slews its clock by 500 ppm at most. While it is counted so it does not go back, unless the system's
// clock was set back by more than backAtOnce; otherwise it follows the system's back.
type clock struct{ anchor atomic.Pointer[anchor] }

// moment is one by the system's clocks, and by ticks.
type moment struct {
	at   time.Time
	tick uint64
}

// anchor is a moment from which on time is counted. It does not change.
type anchor struct {
	moment
	ns int64 // what the clock said
	// steady: ticks may be used. They are for the next span, in which one takes pace/2³² ns; span is 0 if their rate is
	// not known.
	steady     bool
	span, pace uint64
	rate       float64 // ns that a tick takes; 0 if not known
	since      moment  // from which on the rate is measured
}

const (
	anchoredFor = time.Second
	tickedFor   = 10 * time.Millisecond
	backAtOnce  = tickedFor / 2

	// readTicks is how long it may take to read both clocks, for a moment that they are compared by: else the thread
	// was interrupted. It is a microsecond of a fast processor.
	readTicks = 4000
	// measuredFor is how long a rate has to be measured until it is good to some 10 ppm. It is measured again and
	// again, from no longer than remeasured ago. If it has changed by more than rateMayChange the ticks are not steady,
	// whatever the kernel said.
	measuredFor   = 100 * time.Millisecond
	remeasured    = time.Second
	rateMayChange = 1e-3
)

func (c *clock) now() int64 {
	if a := c.anchor.Load(); a != nil {
		if n := ticks.Now() - a.tick; n < a.span {
			return a.after(n)
		}
	}
	return c.look()
}

// after is what the clock says n ticks after the anchor.
func (a *anchor) after(n uint64) int64 { return a.ns + int64(n*a.pace>>32) }

// look is now where ticks are of no use, or have been counted for long enough.
func (c *clock) look() int64 {
	for {
		a := c.anchor.Load()
		if a != nil && a.span == 0 {
			if d := time.Since(a.at); d < a.lasts() {
				return a.ns + int64(d)
			}
		}
		m := moment{tick: ticks.Now()}
		m.at = time.Now()
		interrupted := ticks.Now()-m.tick > readTicks
		var n *anchor
		switch {
		case a == nil && interrupted:
			return m.at.UnixNano()
		case a == nil:
			n = &anchor{moment: m, ns: m.at.UnixNano(), steady: ticks.Steady(), since: m}
		case a.steady && interrupted:
			return max(m.at.UnixNano(), a.latest(m))
		default:
			n = a.next(m)
		}
		if c.anchor.CompareAndSwap(a, n) { // or it is time to go by the other, which may be later than n
			return n.ns
		}
	}
}

// lasts is how long time is counted by the monotonic clock from the anchor.
func (a *anchor) lasts() time.Duration {
	if a.steady {
		return measuredFor
	}
	return anchoredFor
}

// latest is what the clock may have said last, at a moment when ticks have been counted for long enough. It is 0 if that is of no
// account: the system's clock was set back.
func (a *anchor) latest(m moment) int64 {
	said := a.after(a.span)
	if said-m.at.UnixNano() >= int64(backAtOnce) {
		return 0
	}
	return said
}

// next is the anchor at a moment when this one is of no use any more.
func (a *anchor) next(m moment) *anchor {
	n := &anchor{moment: m, ns: m.at.UnixNano(), steady: a.steady, rate: a.rate, since: a.since}
	if !n.steady {
		return n
	}
	if took := m.at.Sub(a.since.at); took >= measuredFor {
		n.rate = float64(took) / float64(m.tick-a.since.tick)
		if n.steady = plausible(n.rate, a.rate); !n.steady {
			return n
		}
		if took >= remeasured {
			n.since = m
		}
	}
	if n.rate == 0 {
		return n
	}
	n.span = uint64(float64(tickedFor) / n.rate)
	pace := n.rate
	if ahead := a.latest(m) - n.ns; ahead > 0 { // it goes slower until the system's clock has come up with it
		n.ns += ahead
		pace *= 1 - float64(ahead)/float64(tickedFor)
	}
	n.pace = uint64(pace * (1 << 32))
	return n
}

// plausible tells whether a rate may be that of steady ticks of which it was another one before, or 0.
func plausible(rate, before float64) bool {
	if before == 0 {
		return rate > 0.05 && rate < 20 // of 50 MHz to 20 GHz
	}
	return math.Abs(rate-before) <= before*rateMayChange
}

// time is what now gave, to reckon with by the monotonic clock.
func (c *clock) time(ns int64) time.Time { return time.Now().Add(time.Duration(ns - c.now())) }

// sampleClock gives samples their source timestamps.
var sampleClock clock
