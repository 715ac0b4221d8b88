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
	// guardTime is how long it can stay unattended if the thread then does not come back; maxGuard, if it has come back
	// for as long as that. Each guard that it outlasts costs a look at the clock by somebody else (beat), so these are
	// not for ever.
	guardTime = 500 * time.Microsecond
	maxGuard  = 10 * time.Millisecond
	// seatTries is how often a thread asks for the seat of a poller that is awake, and steps aside after its pass.
	seatTries = 50
	// pollingLooks is how many looks that follow each other briefly, none of them by a thread that has waited, are
	// those of a reader that looks all the time; and how often readers look in vain, while the poller finds nothing to
	// do for spinTime, if one of them does. Who takes until there is nothing left looks once for each batch.
	pollingLooks = 8
)

// Lend lets the calling goroutine do the work of the poller until ready reports true, or there is none any more. It returns
// false, before that, if others do it, or nobody needs to. Unless it is ready the caller then waits for its news in another
// way. ready is called often and must be quick; Nudge makes it be called.
func Lend(ready func() bool) bool {
	p := &thePoller
	if !p.enter(ready) {
		return false
	}
	p.entered()
	began := sinceStart()
	back := p.back(began)
	done := func() bool { return ready() || p.lives.Load() == 0 } // the last node to go wakes the lender
	var c course
	for {
		switch c.drive(p, time.Duration(p.spin.Load()), done) {
		case stopped:
			p.leave(back, began)
			return true
		case breathless:
			p.seat.Unlock()
			p.breathe()
			if !p.seat.TryLock() {
				return true // somebody else drives
			}
			p.entered()
		case idle:
			p.dozes.Store(true)
			p.lender.Prepare()
			if p.pass(sinceStart(), true) || !p.arm() || done() {
				p.dozes.Store(false)
				p.lender.Cancel()
				c.idleSince = 0
				continue
			}
			if p.lender.Sleep(sleepLimit) {
				p.yielded = sinceStart() // until now somebody else waited for the network
			}
			p.dozes.Store(false)
		}
	}
}

// Nudge makes a goroutine that lends itself look whether it is ready: what it looks at has changed before. It costs next to
// nothing when none does.
func Nudge() {
	if thePoller.lives.Load() > 0 {
		thePoller.bell.Ring()
	}
}

// Look makes one pass, unless somebody else is at it.
//
// A thread that looks again and again need not be woken, nor anybody for it: it has the seat whenever it looks, and
// leaves the bell unattended between. Then a look costs a few tenths of a microsecond. Any other look leaves the bell
// to whom it was left before.
func Look() {
	p := &thePoller
	if p.lives.Load() == 0 {
		return
	}
	if !p.seat.TryLock() {
		p.missed.Add(1)
		return
	}
	p.look(sinceStart())
}

// look is a pass of a thread that looks, which has the seat, and what follows from it. It gives the seat back.
func (p *poller) look(now time.Duration) {
	if !p.back(now) {
		p.looks = 0
	}
	if p.looks++; p.looks == 1 {
		p.since = now
	}
	p.left = now
	if p.looks > pollingLooks {
		p.entered()
		p.pass(now, false)
		p.unattend(now, min(max(now-p.since, guardTime), maxGuard))
		p.seat.Unlock()
		return
	}
	p.pass(now, false) // nobody sleeps for what it finds
	if guard := time.Duration(p.guard.Load()); guard > now {
		p.unattend(now, guard-now)
		p.seat.Unlock()
	} else if p.run.Named() { // so it was all the time
		p.seat.Unlock()
		if p.missedSeat.Load() && p.missedSeat.Swap(false) {
			p.run.Wake() // it was woken for what was there before it was named, and for that nobody rings again
		}
	} else {
		p.handOver()
	}
}

// enter takes the seat, unless there is nothing to drive, or somebody else does.
func (p *poller) enter(ready func() bool) bool {
	if p.lives.Load() == 0 {
		return false
	}
	p.wanted.Add(1)
	for range seatTries {
		if p.seat.TryLock() {
			p.wanted.Add(-1)
			return true
		}
		if ready() {
			break
		}
		runtime.Gosched()
	}
	p.wanted.Add(-1) // first: a poller that steps aside for this thread, and sleeps, is woken after it saw that
	p.run.Wake()     // it may have stepped aside
	return false
}

// entered: the caller has the seat, and attends to the doorbell.
func (p *poller) entered() {
	p.lender.Cancel() // whoever was said to sleep
	p.guard.Store(0)
}

// back: the thread that has the seat was away briefly.
func (p *poller) back(now time.Duration) bool { return now-p.left < briefly }

// polled: a reader looks again and again. Called with the seat.
func (p *poller) polled(now time.Duration) bool {
	return p.looks > pollingLooks && now-p.left < guardTime
}

// leave gives the seat back. A thread that was away briefly before, and drove briefly, is expected to be back as soon,
// and nobody is woken until then. Else the poller is. That what comes meanwhile wakes nobody saves its senders a system
// call each; the guard costs an alarm, so it must be for several of them.
func (p *poller) leave(back bool, began time.Duration) {
	now := sinceStart()
	p.left, p.looks = now, 0
	if back && now-began < guardTime/2 {
		p.unattend(now, guardTime)
		p.seat.Unlock()
		return
	}
	p.handOver()
}

// unattend leaves the bell to nobody, at most for some time. Called with the seat.
//
// beat stores when the alarm goes off next, then loads the guard; here it is the other way round. So if the alarm that
// is seen here has gone off by now, beat sees this guard and sets the next alarm for it.
func (p *poller) unattend(now, most time.Duration) {
	guard := int64(now + most)
	p.guard.Store(guard)
	if at := p.at.Load(); at == 0 || at > guard {
		p.rearm()
	}
}

// cede leaves driving to a reader that looks again and again, and returns when that has ended. The poller waits on a
// channel, and not on the bell: a goroutine that sleeps in a system call keeps its processor for up to 10 ms, which may
// be the one of that reader. The caller has the seat, and loses it.
func (p *poller) cede() {
	p.parked = true
	p.unattend(sinceStart(), guardTime)
	p.seat.Unlock()
	p.run.Park()
}

// handOver leaves the seat to the poller.
func (p *poller) handOver() { p.release(p.vacate()) }

// release gives the seat back when the poller is the one to be woken, and wakes it if need be. So it does if somebody
// has rung since it was named, and it came and missed the seat: it stores that, then tries once more, and here the seat is
// given back first.
func (p *poller) release(wake bool) {
	p.seat.Unlock()
	if wake || p.missedSeat.Load() && p.missedSeat.Swap(false) && !p.run.Named() {
		p.run.Wake()
	}
}

// claim takes the seat for the poller.
func (p *poller) claim() bool {
	if !p.seat.TryLock() {
		p.missedSeat.Store(true)
		if !p.seat.TryLock() {
			return false
		}
	}
	if p.missedSeat.Load() {
		p.missedSeat.Store(false) // nobody else makes it true
	}
	return true
}

// unattended ends the time in which nobody is woken, if it was long enough.
func (p *poller) unattended(now time.Duration) {
	if g := p.guard.Load(); g != 0 && g <= int64(now) && p.seat.TryLock() {
		p.takeOver(now)
	} // or whoever has the seat sets it anew, and beat looks again
}

// takeOver is for who comes because of a guard, and has the seat. There is none any more if somebody drove between the
// look at the guard and the seat: that one may have found the seat taken when it came back from the network (Lend), and
// left the driving to whom it took for another driver.
func (p *poller) takeOver(now time.Duration) {
	if p.guard.Load() > int64(now) {
		p.seat.Unlock()
		return
	}
	p.guard.Store(0)
	p.yielded = now // beat was let in from the network, too
	p.handOver()
}
