package derecho

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// poller drives every node of the process: it spins for a short while after it found work, and else sleeps on the
// doorbell, which costs nothing. Who does that has the seat: mostly the goroutine run, which is there while there is a
// node; or a thread that waits for a message and lends itself (lend.go).
//
// What is due at a time, the heartbeats, is not for the sleeper: when a goroutine comes back from a system call that it
// slept in the monitor of the Go runtime wakes too, which costs more than a heartbeat. Another goroutine waits for the
// alarm and calls beat, and only news end the sleep.
type poller struct {
	mu    sync.Mutex
	nodes atomic.Pointer[[]*life] // replaced under mu
	stop  chan struct{}           // closed to end the goroutines; nil while none run
	ended chan struct{}           // closed when the last ones that were started have ended

	at    atomic.Int64  // when the alarm goes off next, since clockStart; 0: not set; stored under mu
	every time.Duration // and then again
	swept time.Duration // when beat made the last full pass
	pause time.Duration // how long rearm leaves whoever keeps beat from what is due
	spare time.Duration // tests: how much longer than sweepTime nobody makes one

	// Made with the first node, for the life of the process: peers hold on to the bell.
	bell   *shm.BellMemory
	shared bool          // peers may have it, on other sides of shared memory; guarded by mu
	run    *rdma.Sleeper // the goroutine
	lender *rdma.Sleeper // whoever lends itself
	alarm  *rdma.Alarm
	net    *rdma.NetYield
	breath sync.Mutex   // of who uses net; only ever tried
	spin   atomic.Int64 // of threads that lend themselves, a time.Duration; stored under mu
	lives  atomic.Int32 // length of nodes; stored under mu, after what stands above was made

	// seat is held by whoever drives, and only ever tried. It alone says on the bell who sleeps.
	seat   sync.Mutex
	wanted atomic.Int32  // threads that try to get the seat of a poller that is awake
	missed atomic.Uint32 // looks of readers that did not get the seat
	// missedSeat: the poller did not get the seat, and sleeps; release looks at it, and look.
	missedSeat atomic.Bool
	dozes      atomic.Bool // a thread that lends itself, which has the seat, sleeps or is about to; stored by that thread
	// guard is when the poller takes over from threads that lent themselves and left the bell to nobody, since clockStart; 0
	// if that is not so. Stored by the holder of the seat; beat looks at it.
	guard atomic.Int64
	// With the seat, times since clockStart:
	left    time.Duration // when the last thread that lent itself, or looked, went
	looks   int           // in a row, briefly after each other, since a thread lent itself
	since   time.Duration // when the first of them was
	yielded time.Duration // when those that wait for the network were let in
	parked  bool          // the poller waits where only this process can wake it: see cede
}

// thePoller is the only one: a process has one polling goroutine, however many participants.
var thePoller poller

const (
	// spinTime is how long the poller looks on after it found work. A wake-up costs 25 to 30 µs on
	// the other side; spinning about as long at most doubles the cost of a pause of any length.
	spinTime = 30 * time.Microsecond
	// quietTime is how long whoever finds no work lets only other processes have the processor. It is mostly one that
	// has just been sent something and is to answer, and has been woken on this very processor. A turn of the Go
	// scheduler wakes a thread for it wherever another processor of the runtime is idle, which costs the answer 10 µs
	// and more, and as often as not moves the goroutine that waits for it to that thread.
	quietTime = 5 * time.Microsecond
	// sleepLimit bounds a sleep, as some limit has to.
	sleepLimit = time.Hour
	// netTime is how long whoever drives goes on until it lets those run who wait for the network: the links, which tell that a
	// peer has died, and by whose messages the rows of a new epoch are opened. Nobody else may look at the network for
	// 10 ms, while threads that sleep in system calls keep the processors: that is when the monitor of the Go runtime does.
	netTime = 200 * time.Microsecond
	// idleNetTime is that for who has found no work, and is about to sleep: not longer than a thread keeps its
	// processor asleep (rdma.Sleeper), which is as bad. Mostly that is a thread that has just sent something, and an
	// answer comes meanwhile.
	idleNetTime = 2 * time.Millisecond
	// settleTries is how often who leaves the driving to the poller looks whether all is done: what a message leaves to
	// do is done by the next pass or two, while the poller needs a processor for it, which somebody else has to leave.
	settleTries = 8
	// moment is how long beat waits until it tries again what it was kept from; twice as long each time that it is
	// again, up to longMoment, so that it is no more than twice as late as it had to be, and who keeps it out for long,
	// as its processor is taken from it, is not asked all the time.
	moment     = 100 * time.Microsecond
	longMoment = 16 * moment
	// sweepTime bounds how long nobody makes a full pass, but for a heartbeat, however long the lease is. All news ring
	// the bell, so it is a safety net. And acts that wait for a time (machine.whenReady) are looked at.
	sweepTime = 2 * time.Second
)

// doorbell is the bell of the process.
func (p *poller) doorbell() (*shm.BellMemory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bell == nil {
		b, err := shm.NewBell()
		if err != nil {
			return nil, err
		}
		a, err := rdma.NewAlarm()
		if err != nil {
			b.Close()
			return nil, err
		}
		y, err := rdma.NewNetYield()
		if err != nil {
			b.Close()
			return nil, err
		}
		p.bell, p.alarm, p.net = b, a, y
		p.run, p.lender = b.Bell().Poller(), b.Bell().Waiter()
	}
	return p.bell, nil
}

func (p *poller) add(n *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replace(append(slices.Clone(p.list()), n))
	if p.stop == nil {
		stop, before, ended := make(chan struct{}), p.ended, make(chan struct{})
		p.stop, p.ended = stop, ended
		go pprof.Do(context.Background(), pprof.Labels("dds", "poller"), func(context.Context) {
			defer close(ended)
			if before != nil {
				<-before // one at a time: both would sleep on the same word
			}
			p.mu.Lock()
			p.at.Store(0)
			p.mu.Unlock()
			var beats sync.WaitGroup
			beats.Go(func() { p.beats(stop) })
			p.poll(stop)
			p.alarm.Set(0, 0)
			beats.Wait()
		})
	}
	p.run.Wake()
}

func (p *poller) remove(n *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replace(slices.DeleteFunc(slices.Clone(p.list()), func(x *life) bool { return x == n }))
	if len(p.list()) == 0 && p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.run.Wake()
	p.lender.Wake() // there may be nothing left to drive
}

// list is what there is to drive.
func (p *poller) list() []*life {
	if nodes := p.nodes.Load(); nodes != nil {
		return *nodes
	}
	return nil
}

// replace takes note of which nodes there are, and what they are set to. Called with mu held.
func (p *poller) replace(nodes []*life) {
	p.nodes.Store(&nodes)
	spin, local := time.Duration(0), true
	for _, n := range nodes {
		spin = max(spin, n.n.cfg.Spin)
		local = local && n.n.cfg.Transport == TransportTCP
	}
	p.spin.Store(int64(spin))
	p.shared = p.shared || !local
	p.bell.Bell().SetLocal(!p.shared) // who has the page may ring also when the last node over shared memory is gone
	p.lives.Store(int32(len(nodes)))
}

// pass drives all nodes once. Before anybody sleeps it has to be thorough.
func (p *poller) pass(now time.Duration, thorough bool) bool {
	work := false
	for _, n := range p.list() {
		work = n.step(now, thorough) || work
	}
	return work
}

// arm sets the alarm for what is due next, and reports false if that is now: then the caller, who has the seat, sees to it.
func (p *poller) arm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, every := p.next(0, 0)
	if p.set(next) {
		return true
	}
	if next <= sinceStart() {
		return false
	}
	p.setAlarm(next, every)
	return true
}

// rearm sets the alarm for what is due next, and for in a moment if that is now: nobody may be named on the bell, and
// the poller may wait for this alarm (cede), so there may be nobody but beat to see to it. A moment, as whoever kept
// beat from it goes on meanwhile.
func (p *poller) rearm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := sinceStart()
	if next, every := p.next(now, now+max(p.pause, moment)); !p.set(next) {
		p.setAlarm(next, every)
	}
}

// next is when something is due next, 0 for never, and how long after that again. What is due by now counts as due at
// again, and what is not waits for nothing that is. Called with mu held.
func (p *poller) next(now, again time.Duration) (next, every time.Duration) {
	earliest := func(at time.Duration) bool {
		if at <= now {
			at = again
		}
		if next != 0 && at >= next {
			return false
		}
		next = at
		return true
	}
	for _, n := range p.list() {
		if due := time.Duration(n.due.Load()); due != 0 && earliest(due) {
			every = n.n.cfg.Lease / Heartbeats
		}
	}
	if sweep := sweepTime + p.spare; every > sweep { // who beats so seldom is swept between
		every = sweep
		next = min(next, max(p.swept+sweep, sinceStart()+moment))
	}
	if g := time.Duration(p.guard.Load()); g != 0 {
		earliest(g)
	}
	return next, every
}

// set: the alarm goes off early enough for next; it is set anew then, if need be. Called with mu held.
func (p *poller) set(next time.Duration) bool {
	at := time.Duration(p.at.Load())
	return next == 0 || at != 0 && at <= next
}

// setAlarm is called with mu held.
func (p *poller) setAlarm(next, every time.Duration) {
	p.at.Store(int64(next))
	p.every = every
	p.alarm.Set(next, every)
}

// beats calls beat whenever the alarm goes off.
func (p *poller) beats(stop chan struct{}) {
	for p.alarm.Wait() == nil {
		select {
		case <-stop:
			return
		default:
			p.beat()
		}
	}
}

// beat does what is due, and leaves to the poller what comes of it.
func (p *poller) beat() {
	p.mu.Lock()
	nodes, now := p.list(), sinceStart()
	at := time.Duration(p.at.Load())
	for at != 0 && at <= now {
		if at += p.every; p.every == 0 {
			at = 0 // it does not go off again
		}
	}
	p.at.Store(int64(at)) // before the guard is looked at: see unattend
	sweep := now-p.swept >= sweepTime+p.spare
	if sweep {
		p.swept = now
	}
	p.mu.Unlock()
	p.unattended(now)
	work := false
	for _, n := range nodes {
		switch {
		case sweep:
			work = n.step(now, true) || work
		case time.Duration(n.due.Load()) <= now:
			work = n.beat() || work
		}
	}
	if work {
		p.bell.Ring()
	}
	p.rouse()
	p.mu.Lock()
	if next, _ := p.next(0, 0); next != 0 && next <= sinceStart() {
		p.pause = min(max(2*p.pause, moment), longMoment)
	} else {
		p.pause = 0
	}
	p.mu.Unlock()
	p.rearm()
}

// rouse wakes who sleeps and is not named any more, though nobody has woken it: a process that has taken the name from the
// bell may have ended, or stand still, before it did (rdma.Bell), and then no ring wakes anybody. Each heartbeat does it, and
// whoever hears that another process ends. Who is just being woken is woken twice.
//
// A sleeper stores its name, and a thread that lends itself first that it dozes, before it sleeps; so who is found to be named
// can be rung, and of who is not named any more this finds that it sleeps, or it looks for work after this.
func (p *poller) rouse() {
	if p.seat.TryLock() {
		p.release(p.guard.Load() == 0 && !p.run.Named())
	} else if p.dozes.Load() && !p.lender.Named() {
		p.lender.Wake()
	}
}

// poll is the goroutine of the poller: it drives whenever nobody else does and there is news.
func (p *poller) poll(stop chan struct{}) {
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	leave := func() bool { return p.wanted.Load() != 0 || stopped() }
	var c course
	apart := false
	for !stopped() {
		p.run.Settle() // before the seat is looked at: whoever leaves it may wake this goroutine
		if p.claim() {
			p.parked = false
			p.entered()
			now := sinceStart()
			if apart {
				p.yielded, apart = now, false // until now somebody else waited for the network
			}
			spin, polled := spinTime, p.polled(now)
			if polled {
				spin = 0
			}
			switch c.drive(p, spin, leave) {
			case breathless:
				p.seat.Unlock()
				p.breathe()
				continue
			case idle:
				if polled || p.missed.Load()-c.missed >= pollingLooks {
					p.cede()
					continue
				}
			}
			again := p.vacate()
			p.seat.Unlock()
			if p.wanted.Load() != 0 {
				runtime.Gosched() // who wants it may wait for the processor that this goroutine would keep in its sleep
			} else if again {
				continue
			}
		}
		apart = p.run.Sleep(sleepLimit)
		// Without work it sleeps again at once: not all that rings is a sign that more will come.
	}
}

// course is how long whoever drives has found no work.
type course struct {
	idleSince time.Duration // 0: it has found some
	turned    bool          // and has let other goroutines run since
	missed    uint32        // of poller, then
}

// outcome is why somebody does not drive on.
type outcome int

const (
	stopped    outcome = iota
	idle               // there was no work for as long as it was to spin
	breathless         // those that wait for the network have waited for long enough
)

// drive makes passes until stop reports true, or there was no work for as long as spin. The caller has the seat. If it
// is breathless the caller leaves the seat, and lets the network in (rdma.NetYield): with the seat it would keep
// everybody waiting who could drive meanwhile, for as long as other goroutines keep the processors busy.
func (c *course) drive(p *poller, spin time.Duration, stop func() bool) outcome {
	for worked := false; !stop(); { // whoever waits for what a pass has brought goes with it, before anything else
		now := sinceStart()
		if worked {
			if now-p.yielded > netTime {
				p.yielded = now
				return breathless
			}
			runtime.Gosched() // or neither the collector nor a reader on this P gets on
		}
		if worked = p.pass(now, false); worked {
			c.idleSince = 0
			continue
		}
		if c.idleSince == 0 {
			if now-p.yielded > idleNetTime {
				p.yielded = now
				return breathless
			}
			c.idleSince, c.turned, c.missed = now, false, p.missed.Load()
		}
		idled := now - c.idleSince
		if idled >= spin && (c.turned || spin == 0) {
			return idle
		}
		// Both schedulers: goroutines of this process, and threads of others on this core, and these at once. Where
		// these keep the core for long there is still a turn for goroutines before it is over: they would wait until
		// the runtime's monitor takes the processor of a sleeper.
		if idled >= min(quietTime, spin) {
			c.turned = true
			runtime.Gosched()
		}
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return stopped
}

// breathe lets in those who wait for the network. Called without the seat.
func (p *poller) breathe() {
	if !p.breath.TryLock() {
		runtime.Gosched()
		return // somebody else is at it
	}
	defer p.breath.Unlock()
	p.net.Yield()
}

// vacate leaves the seat to the poller: it is the one to be woken. It reports whether the poller has to be woken at
// once: there was work that came too early for that, or it is parked.
func (p *poller) vacate() bool {
	if p.parked {
		p.parked = false
		return true
	}
	p.guard.Store(0)
	p.run.Name()
	for range settleTries {
		if !p.pass(sinceStart(), true) {
			return !p.arm()
		}
	}
	return true
}
