package derecho

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// poller is the polling goroutine of the process: it drives every node, spins for a short while
// after it found work, and else sleeps on the doorbell, which costs nothing. It runs while there is
// a node.
//
// What is due at a time, the heartbeats, is not for the sleeper: a goroutine that comes back from a system
// call that it slept in makes the monitor of the Go runtime look after it every 20 µs for 10 ms on, which costs ten
// times as much as a heartbeat. A second goroutine waits for the alarm and calls beat, and only news end the sleep.
type poller struct {
	mu    sync.Mutex
	bell  *shm.BellMemory // one for the life of the process: peers hold on to it
	alarm *rdma.Alarm     // as long
	net   *rdma.NetYield  // as long
	nodes []*life
	stop  chan struct{} // closed to end the goroutines; nil while none run
	ended chan struct{} // closed when the last ones that were started have ended

	at    time.Duration // when the alarm goes off next, since clockStart; 0: not set
	every time.Duration // and then again
	swept time.Duration // when beat made the last full pass
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
	}
	return p.bell, nil
}

func (p *poller) add(n *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = append(slices.Clone(p.nodes), n)
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
			p.run(stop)
			p.alarm.Set(0, 0)
			beats.Wait()
		})
	}
	p.bell.Ring()
}

func (p *poller) remove(n *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes = slices.DeleteFunc(slices.Clone(p.nodes), func(x *life) bool { return x == n })
	if len(p.nodes) == 0 && p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.bell.Ring()
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
		p.at += p.every
	}
	sweep := now-p.swept > sweepTime
	if sweep {
		p.swept = now
	}
	p.mu.Unlock()
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

func (p *poller) run(stop chan struct{}) {
	var idleSince time.Time
	yielded := time.Now()
	for {
		select {
		case <-stop:
			return
		default:
		}
		if p.pass() {
			idleSince = time.Time{}
			if now := time.Now(); now.Sub(yielded) > netTime {
				yielded = now
				p.net.Yield()
			} else {
				runtime.Gosched() // or neither the collector nor a reader on this P gets on
			}
			continue
		}
		if idleSince.IsZero() {
			idleSince = time.Now()
		}
		if time.Since(idleSince) < spinTime {
			// Both schedulers: goroutines of this process, and threads of others on this core.
			runtime.Gosched()
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			continue
		}
		p.bell.Prepare()
		if p.pass() || !p.arm() {
			p.bell.Cancel()
			idleSince = time.Time{}
			continue
		}
		p.bell.Sleep(sleepLimit)
		// Without work it sleeps again at once: not all that rings is a sign that more will come.
	}
}
