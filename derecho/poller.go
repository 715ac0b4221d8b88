package derecho

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma/shm"
)

// poller is the polling goroutine of the process: it drives every node, spins for a short while
// after it found work, and else sleeps on the doorbell, which costs nothing. It runs while there is
// a node.
//
// What is due at a time, the heartbeats, is not for the sleeper: a goroutine that comes back from a system
// call that it slept in makes the monitor of the Go runtime look after it every 20 µs for 10 ms on, which costs ten
// times as much as a heartbeat. A timer calls beat instead, and only news end the sleep.
type poller struct {
	mu    sync.Mutex
	bell  *shm.BellMemory // one for the life of the process: peers hold on to it
	nodes []*life
	stop  chan struct{} // closed to end the goroutine; nil while none runs
	ended chan struct{} // closed when the last goroutine that was started has ended

	timer *time.Timer   // of beat
	at    time.Duration // when it fires, since clockStart; 0: not set
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
		p.bell = b
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
			p.run(stop)
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

// arm sets the timer for what is due next, and reports false if that is now.
func (p *poller) arm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := time.Duration(0)
	for _, n := range p.nodes {
		if due := time.Duration(n.due.Load()); due != 0 && (next == 0 || due < next) {
			next = due
		}
	}
	if next == 0 || p.at != 0 && p.at <= next {
		return true // when it fires it looks again
	}
	wait := next - time.Since(clockStart)
	if wait <= 0 {
		return false
	}
	p.at = next
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.beat)
	} else {
		p.timer.Reset(wait)
	}
	return true
}

// beat does what is due, and leaves to the poller what comes of it.
func (p *poller) beat() {
	p.mu.Lock()
	nodes, now := p.nodes, time.Since(clockStart)
	p.at = 0
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
	for {
		select {
		case <-stop:
			return
		default:
		}
		if p.pass() {
			idleSince = time.Time{}
			runtime.Gosched() // or neither the collector nor a reader on this P gets on
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
