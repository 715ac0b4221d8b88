package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

// Hooks let the caller of Run take part. All may be nil.
type Hooks struct {
	// Ready is called once when the endpoints exist and, for pub and ping, are matched. Writing begins when it returns.
	Ready func(ctx context.Context) error
	// Progress is called once a second while samples that count are on their way, from a goroutine of its own.
	Progress func(Interval)
}

// Interval is what happened in about a second.
type Interval struct {
	Size    int     `json:"size"`
	Total   uint64  `json:"total"` // since the beginning
	Rate    float64 `json:"rate"`
	Average float64 `json:"ave_rate"` // rate since the beginning
	Lost    uint64  `json:"lost"`     // since the beginning
}

// Mbps is a rate of samples in 10^6 bits per second.
func (i *Interval) Mbps(rate float64) float64 { return rate * float64(i.Size) * 8 / 1e6 }

// ErrAlone: the time was over, and nobody had been there to measure with.
var ErrAlone = errors.New("nothing was measured")

// Run plays a role until it is done or ctx ends, which gives a Result of what was until then; with ErrAlone if the deadline of
// ctx was over before there was anybody.
func Run(ctx context.Context, role Role, o Options, hooks Hooks) (result Result, err error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	clock, err := newClock()
	if err != nil {
		return Result{}, err
	}
	if o.CPUProfile != "" {
		stop, err := profile(o.CPUProfile)
		if err != nil {
			return Result{}, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	p, err := participant(ctx, role, &o)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	r := &run{Options: o, clock: clock, hooks: hooks,
		result: Result{Role: role, Impl: Impl, Size: o.Size, Readers: o.Readers, PID: os.Getpid()}, shm: p.Settings().Transport == "shm"}
	defer r.stopProgress()
	// Before the endpoints that are measured with, so that who is matched with these has them too.
	if err := idle(p, &o); err != nil {
		return Result{}, err
	}
	switch role {
	case Pub:
		r.out, err = newWriter(p, o.Topic, &o)
	case Sub:
		r.in, err = newReader(p, o.Topic, &o)
	case Peer:
		r.out, r.in, err = both(newWriter(p, o.Topic, &o))(newReader(p, o.Topic, &o))
	case Ping:
		r.out, r.in, err = both(newWriter(p, "DDSPerfPing", &o))(newReader(p, "DDSPerfPong", &o))
	case Pong:
		r.out, r.in, err = both(newWriter(p, "DDSPerfPong", &o))(newReader(p, "DDSPerfPing", &o))
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		return Result{}, err
	}
	switch role {
	case Pub:
		err = r.publish(ctx)
	case Sub:
		err = r.subscribe(ctx)
	case Peer:
		err = r.peer(ctx)
	case Ping:
		err = r.ping(ctx)
	case Pong:
		err = r.pong(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		r.result.Interrupted, err = true, nil
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = r.alone(ctx)
		}
	}
	return r.result, err
}

// others are the roles that measure together with one.
var others = map[Role]Role{Pub: Sub, Sub: Pub, Ping: Pong, Pong: Ping, Peer: Peer}

// alone is ErrAlone, and who is missing, if that is why nothing was measured. The time is over: nothing is waited for.
func (r *run) alone(ctx context.Context) error {
	if r.result.Count > 0 {
		return nil
	}
	var missing error
	if role := r.result.Role; role == Pub || role == Ping || role == Peer && !r.Silent {
		missing = r.out.waitForMatch(ctx, r.Readers)
	} else {
		missing = r.in.waitForMatch(ctx, max(1, r.Writers))
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("%w: start dds perf %s, too, with the same --domain and --qos: %w", ErrAlone, others[r.result.Role], missing)
}

func both(w writer, err error) func(reader, error) (writer, reader, error) {
	return func(r reader, other error) (writer, reader, error) { return w, r, errors.Join(err, other) }
}

func profile(file string) (stop func() error, err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// run is one role at work.
type run struct {
	Options
	clock  clock
	hooks  Hooks
	out    writer
	in     reader
	result Result
	shm    bool // what is written leaves with the thread that writes it

	// Stored by the goroutine of Run, loaded by that of progress.
	count, lost atomic.Uint64
	stop, done  chan struct{} // of progress; nil if it does not run
}

// schedule begins one now. Over tcp other goroutines send what is written, so they may not wait for a sleep to end.
func (r *run) schedule() *pacer {
	return &pacer{clock: r.clock, start: r.clock.now(), rate: r.Rate, spin: r.Spin, silent: r.Spin && r.shm}
}

func (r *run) ready(ctx context.Context) error {
	if r.hooks.Ready == nil {
		return nil
	}
	return r.hooks.Ready(ctx)
}

// startProgress begins to call the hook.
func (r *run) startProgress() {
	if r.hooks.Progress == nil {
		return
	}
	r.stop, r.done = make(chan struct{}), make(chan struct{})
	start := r.clock.now()
	go func() {
		defer close(r.done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		last, before := start, uint64(0)
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
			}
			now, n := r.clock.now(), r.count.Load()
			r.hooks.Progress(Interval{
				Size: r.Size, Total: n, Lost: r.lost.Load(),
				Rate: float64(n-before) * 1e9 / float64(now-last), Average: float64(n) * 1e9 / float64(now-start),
			})
			last, before = now, n
		}
	}()
}

// stopProgress returns when the hook is called no more.
func (r *run) stopProgress() {
	if r.stop != nil {
		close(r.stop)
		<-r.done
		r.stop = nil
	}
}
