package derecho

import (
	"runtime"
	"time"
)

// Whoever waits may drive: a thread that waits for a message takes the seat of the poller, sleeps on the doorbell itself,
// makes the passes, and returns with what it waited for. That saves the wake-up of a second thread, which costs more than
// all else on the way of a message. The poller sleeps meanwhile.

const (
	// briefly is how long a thread that drives may be away for the doorbell to be left unattended: whoever
	// sends then need not wake anybody.
	briefly = 100 * time.Microsecond
	// guardTime is how long it can stay unattended if the thread then does not come back.
	guardTime = 500 * time.Microsecond
	// seatTries is how often a thread asks for the seat of a poller that is awake, and steps aside after its pass.
	seatTries = 50
)

// Lend lets the calling goroutine do the work of the poller until ready reports true, or there is none any more. It returns
// false, before that, if others do it, or nobody needs to. Unless it is ready the caller then waits for its news in another
// way. ready is called often and must be quick; Nudge makes it be called.
func Lend(ready func() bool) bool {
	p := &thePoller
	if !p.enter(ready) {
		return false
	}
	stop := func() bool { return ready() || p.lives.Load() == 0 } // the last node to go wakes the lender
	var c course
	for !c.drive(p, time.Duration(p.spin.Load()), stop) {
		p.lender.Prepare()
		if p.pass() || !p.arm() || stop() {
			p.lender.Cancel()
			c.idleSince = time.Time{}
			continue
		}
		p.lender.Sleep(sleepLimit)
	}
	p.leave()
	return true
}

// Nudge makes a goroutine that lends itself look whether it is ready: what it looks at has changed before. It costs next to
// nothing when none does.
func Nudge() {
	if thePoller.lives.Load() > 0 {
		thePoller.bell.Ring()
	}
}

// Look makes one pass, unless somebody else is at it. Nobody needs to be woken for a thread that looks again and again.
func Look() {
	p := &thePoller
	if p.lives.Load() > 0 && p.seat.TryLock() {
		p.entered()
		p.pass()
		p.leave()
	}
}

// enter takes the seat, unless there is nothing to drive, or somebody else does.
func (p *poller) enter(ready func() bool) bool {
	if p.lives.Load() == 0 {
		return false
	}
	p.wanted.Add(1)
	defer p.wanted.Add(-1)
	for range seatTries {
		if p.seat.TryLock() {
			p.entered()
			return true
		}
		if ready() {
			break
		}
		runtime.Gosched()
	}
	p.run.Wake() // it may have stepped aside
	return false
}

// entered: the caller has the seat, and attends to the doorbell.
func (p *poller) entered() {
	p.lender.Cancel() // whoever was said to sleep
	p.guard.Store(0)
	p.soon = time.Since(clockStart)-p.left < briefly
}

// leave gives the seat back. A thread that was away briefly the last time is expected to be so again: until then nobody is
// woken. Else the poller is.
func (p *poller) leave() {
	p.left = time.Since(clockStart)
	if p.soon {
		p.guard.Store(int64(p.left + guardTime))
		p.arm()
		p.seat.Unlock()
		return
	}
	p.handOver()
}

// handOver leaves the seat to the poller.
func (p *poller) handOver() {
	again := p.vacate()
	p.seat.Unlock()
	if again {
		p.run.Wake()
	}
}

// unattended ends the time in which nobody is woken, if it was long enough.
func (p *poller) unattended(now time.Duration) {
	if g := p.guard.Load(); g == 0 || g > int64(now) || !p.seat.TryLock() {
		return // whoever has the seat sets it anew
	}
	if g := p.guard.Load(); g == 0 || g > int64(now) {
		p.seat.Unlock()
		return
	}
	p.guard.Store(0)
	p.handOver()
}
