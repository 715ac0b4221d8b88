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
type poller struct {
	mu    sync.Mutex
	bell  *shm.BellMemory // one for the life of the process: peers hold on to it
	nodes []*life
	stop  chan struct{} // closed to end the goroutine; nil while none runs
	ended chan struct{} // closed when the last goroutine that was started has ended
}

// thePoller is the only one: a process has one polling goroutine, however many participants.
var thePoller poller

const (
	// spinTime is how long the poller looks on after it found work. A wake-up costs 25 to 30 µs on
	// the other side; spinning about as long at most doubles the cost of a pause of any length.
	spinTime = 30 * time.Microsecond
	// sleepLimit bounds a sleep; all news ring the bell, so it is a safety net.
	sleepLimit = 500 * time.Millisecond
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

// idle is how long nobody needs to look if nothing happens.
func (p *poller) idle() time.Duration {
	p.mu.Lock()
	nodes := p.nodes
	p.mu.Unlock()
	d, now := sleepLimit, time.Since(processStart)
	for _, n := range nodes {
		if due := time.Duration(n.due.Load()); due != 0 {
			d = min(d, due-now)
		}
	}
	return d
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
		if p.pass() {
			p.bell.Cancel()
		} else if d := p.idle(); d > 0 {
			p.bell.Sleep(d)
			continue // without work it sleeps again at once: a heartbeat is no sign that more will come
		} else {
			p.bell.Cancel()
		}
		idleSince = time.Time{}
	}
}
