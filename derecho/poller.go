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
// What is due at a time, the heartbeats, is not for the sleeper: a goroutine that comes back from a system
// call that it slept in makes the monitor of the Go runtime look after it every 20 µs for 10 ms on, which costs ten
// times as much as a heartbeat. Another goroutine waits for the alarm and calls beat, and only news end the sleep.
type poller struct {
	mu    sync.Mutex
	nodes []*life
	stop  chan struct{} // closed to end the goroutines; nil while none run
	ended chan struct{} // closed when the last ones that were started have ended

	at    time.Duration // when the alarm goes off next, since clockStart; 0: not set
	every time.Duration // and then again
	swept time.Duration // when beat made the last full pass

	// Made with the first node, for the life of the process: peers hold on to the bell.
	bell   *shm.BellMemory
	run    *rdma.Sleeper // the goroutine
	lender *rdma.Sleeper // whoever lends itself
	alarm  *rdma.Alarm
	net    *rdma.NetYield
	spin   atomic.Int64 // of threads that lend themselves, a time.Duration; stored under mu
	lives  atomic.Int32 // length of nodes; stored under mu, after what stands above was made

	// seat is held by whoever drives, and only ever tried. It alone says on the bell who sleeps.
	seat   sync.Mutex
	wanted atomic.Int32 // threads that try to get the seat of a poller that is awake
	// guard is when the poller takes over from threads that lent themselves and left the bell to nobody, since clockStart; 0
	// if that is not so. Stored by the holder of the seat; beat looks at it.
	guard atomic.Int64
	// With the seat:
	left time.Duration // when the last thread that lent itself went
	soon bool          // it had been away briefly
}

// thePoller is the only one: a process has one polling goroutine, however many participants.
var thePoller poller

const (
	// spinTime is how long the poller looks on after it found work. A wake-up costs 25 to 30 µs on
	// the other side; spinning about as long at most doubles the cost of a pause of any length.
	spinTime = 30 * time.Microsecond
	// sleepLimit bounds a sleep, as some limit has to.
	sleepLimit = time.Hour
	// netTime is how long the poller finds work until it lets those run who wait for the network: the links, by
	// whose messages the rows of a new epoch are opened.
	netTime = 200 * time.Microsecond
	// sweepTime bounds how long nobody makes a full pass. All news ring the bell, so it is a safety net:
	// against a peer that takes back what this node wrote on its bell.
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
		p.run, p.lender = b.Poller(), b.Waiter()
	}
	return p.bell, nil
}

func (p *poller) add(n *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = append(slices.Clone(p.nodes), n)
	p.count()
	if p.stop == nil {
		stop, before, ended := make(chan struct{}), p.ended, make(chan struct{})
		p.stop, p.ended = stop, ended
		go pprof.Do(context.Background(), pprof.Labels("dds", "poller"), func(context.Context) {
			defer close(ended)
			if before != nil {
				<-before // one at a time: both would sleep on the same word
			}
			p.mu.Lock()
			p.at = 0
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
	p.nodes = slices.DeleteFunc(slices.Clone(p.nodes), func(x *life) bool { return x == n })
	p.count()
	if len(p.nodes) == 0 && p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.run.Wake()
	p.lender.Wake() // there may be nothing left to drive
}

// count takes note of how many nodes there are, and what they are set to.
func (p *poller) count() {
	spin, local := time.Duration(0), true
	for _, n := range p.nodes {
		spin = max(spin, n.n.cfg.Spin)
		local = local && n.n.cfg.Transport == TransportTCP
	}
	p.spin.Store(int64(spin))
	p.bell.SetLocal(local)
	p.lives.Store(int32(len(p.nodes)))
}

func (p *poller) pass() bool {
	p.mu.Lock()
	nodes := p.nodes
	p.mu.Unlock()
	work := false
	for _, n := range nodes {
		work = n.step() || work
	}
	return work
}

// arm sets the alarm for what is due next, and reports false if that is now.
func (p *poller) arm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, every := time.Duration(0), time.Duration(0)
	for _, n := range p.nodes {
		if due := time.Duration(n.due.Load()); due != 0 && (next == 0 || due < next) {
			next, every = due, n.n.cfg.Lease/Heartbeats
		}
	}
	if g := time.Duration(p.guard.Load()); g != 0 && (next == 0 || g < next) {
		next = g
	}
	if next == 0 || p.at != 0 && p.at <= next {
		return true // when it goes off it is set anew, if need be
	}
	if next <= time.Since(clockStart) {
		return false
	}
	p.at, p.every = next, every
	p.alarm.Set(next, every)
	return true
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
	nodes, now := p.nodes, time.Since(clockStart)
	for p.at != 0 && p.at <= now {
		if p.at += p.every; p.every == 0 {
			p.at = 0 // it does not go off again
		}
	}
	sweep := now-p.swept > sweepTime
	if sweep {
		p.swept = now
	}
	p.mu.Unlock()
	p.unattended(now)
	work := false
	for _, n := range nodes {
		switch {
		case sweep:
			work = n.step() || work
		case time.Duration(n.due.Load()) <= now:
			work = n.beat() || work
		}
	}
	if !p.arm() || work {
		p.bell.Ring()
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
	var c course
	for !stopped() {
		p.run.Settle() // before the seat is looked at: whoever leaves it may wake this goroutine
		if p.seat.TryLock() {
			p.run.Cancel()
			c.drive(p, spinTime, func() bool { return p.wanted.Load() != 0 || stopped() })
			again := p.vacate()
			p.seat.Unlock()
			if again && p.wanted.Load() == 0 {
				continue
			}
		}
		p.run.Sleep(sleepLimit)
		// Without work it sleeps again at once: not all that rings is a sign that more will come.
	}
}

// course is how long whoever drives has found no work.
type course struct{ idleSince, yielded time.Time }

// drive makes passes until stop reports true, or there was no work for as long as spin. The caller has the seat.
// It reports whether it was stopped.
func (c *course) drive(p *poller, spin time.Duration, stop func() bool) bool {
	for !stop() {
		if p.pass() {
			c.idleSince = time.Time{}
			if now := time.Now(); now.Sub(c.yielded) > netTime {
				c.yielded = now
				p.net.Yield()
			} else {
				runtime.Gosched() // or neither the collector nor a reader on this P gets on
			}
			continue
		}
		if c.idleSince.IsZero() {
			c.idleSince = time.Now()
		}
		if time.Since(c.idleSince) >= spin {
			return false
		}
		// Both schedulers: goroutines of this process, and threads of others on this core.
		runtime.Gosched()
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return true
}

// vacate leaves the seat to the poller: it is the one to be woken. It reports whether there was work that came too
// early for that.
func (p *poller) vacate() bool {
	p.run.Name()
	return p.pass() || !p.arm()
}
