package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// A message begins with its phase and its writer. Phases follow each other at every replica at the same place of the order:
// a phase is over when the messages that end it have come from all writers, so all replicas count the same messages.
const headerBytes = 16

type phase byte

const (
	hello    phase = iota // every writer says that it is there
	warm                  // writers keep their share of inflight on the way
	measure               // the same, counted
	drained               // every writer says that it has written its last counted message
	oneByOne              // the first writer alone, one message at a time
	goodbye               // every writer says that it is done
	phases
)

// clockEvery is for how many messages the clock is read once. To read it for each took the processes of ours 6 % of their time.
const clockEvery = 16

// workload is what one replica does: it writes as one of the writers, and counts what is delivered.
type workload struct {
	c       config
	replica int
	keeps   bool   // messages are needed after they were handed over
	one     []byte // the only message, if not
	results []result.Result

	// Of the goroutine that delivers.
	markers [phases]int
	reached [phases]chan struct{} // closed when all writers have said so
	count   int64
	timed   int64 // count when last was read
	first   time.Time
	last    time.Time
	before  syscall.Rusage
	after   syscall.Rusage
}

func newWorkload(c config) *workload {
	w := &workload{c: c, replica: max(c.replica, 0)}
	for i := range w.reached {
		w.reached[i] = make(chan struct{})
	}
	return w
}

// deliver is called for each message in the common order.
func (w *workload) deliver(m []byte) {
	if len(m) < headerBytes {
		return // of the protocol itself
	}
	switch p := phase(m[0]); p {
	case measure:
		if w.count%clockEvery == 0 {
			w.last, w.timed = time.Now(), w.count+1
		}
		if w.count == 0 {
			w.first = w.last
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &w.before)
		}
		w.count++
	case hello, drained, goodbye:
		if w.markers[p]++; w.markers[p] == replicas {
			if p == drained {
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &w.after)
			}
			close(w.reached[p])
		}
	}
}

func (w *workload) run(ctx context.Context, e engine) error {
	w.keeps = e.keeps()
	steps := []func(context.Context, engine) error{
		func(ctx context.Context, e engine) error { return w.meet(ctx, e, hello) },
		w.flood,
		func(ctx context.Context, e engine) error { return w.meet(ctx, e, drained) },
		w.report,
		w.oneAtATime,
		func(ctx context.Context, e engine) error { return w.meet(ctx, e, goodbye) },
	}
	for _, step := range steps {
		if err := step(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) message(p phase) []byte {
	m := w.one
	if w.keeps || m == nil {
		m = make([]byte, w.c.size)
		w.one = m
	}
	m[0] = byte(p)
	binary.LittleEndian.PutUint64(m[8:], uint64(w.replica))
	return m
}

// meet says p and waits until all have.
func (w *workload) meet(ctx context.Context, e engine, p phase) error {
	if err := writeAndWait(ctx, e, w.message(p)); err != nil {
		return err
	}
	select {
	case <-w.reached[p]:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("replica %d waited for the other writers: %w", w.replica, ctx.Err())
	}
}

func writeAndWait(ctx context.Context, e engine, m []byte) error {
	done := make(chan error, 1)
	e.write(m, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("a message is not ordered: %w", ctx.Err())
	}
}

// flood keeps this writer's share of inflight on the way, first to warm up and then to be counted. A message is a new
// allocation where the implementation keeps what it is given in its log.
func (w *workload) flood(ctx context.Context, e engine) error {
	share := w.c.inflight / replicas
	tokens := make(chan struct{}, share)
	var once sync.Once
	var failed error
	fail := func(err error) { once.Do(func() { failed = err }) }
	done := func(err error) { // one for all
		if err != nil {
			fail(err)
		}
		<-tokens
	}
	start := time.Now()
	elapsed := time.Duration(0)
	for n := 0; ; n++ {
		if n%clockEvery == 0 {
			elapsed = time.Since(start)
		}
		p := warm
		switch {
		case elapsed >= w.c.warmup+w.c.duration:
			for range share { // what is on the way comes in
				select {
				case tokens <- struct{}{}:
				case <-ctx.Done():
					return fmt.Errorf("messages on the way are not ordered: %w", ctx.Err())
				}
			}
			return failed
		case elapsed >= w.c.warmup:
			p = measure
		}
		select {
		case tokens <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("no message is ordered any more: %w", ctx.Err())
		}
		e.write(w.message(p), done)
	}
}

func (w *workload) report(context.Context, engine) error {
	r := result.Result{Role: "replica", Impl: w.c.impl, What: notes[w.c.impl], Size: w.c.size, Readers: replicas}
	r.SetThroughput(w.timed, w.last.Sub(w.first))
	r.Count = w.count
	r.CPUUser = seconds(w.after.Utime) - seconds(w.before.Utime)
	r.CPUSys = seconds(w.after.Stime) - seconds(w.before.Stime)
	w.results = append(w.results, r)
	return nil
}

var notes = map[string]string{
	"dds-go":      "one RELIABLE topic, three processes over TCP, each of which writes and reads; ordered is what its writer reads",
	"nats":        "JetStream stream, R3, memory storage, three processes over TCP",
	"raft":        "hashicorp/raft, log in memory, three processes over TCP; writers at followers send to the leader over TCP",
	"etcd":        "etcd raft, log in memory, three processes over TCP; proposals of followers go to the leader as the protocol has it",
	etcdInProcess: "etcd raft, three nodes in ONE process, NO network: messages are handed over in memory; all writers at the leader",
	bareStream:    "one TCP stream between two of the hosts, divided by two, since each message has to be sent to two replicas",
}

func seconds(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }

// oneAtATime is the latency of the first writer while the others are silent.
func (w *workload) oneAtATime(ctx context.Context, e engine) error {
	if w.replica != 0 {
		return nil
	}
	h := result.NewHistogram()
	start := time.Now()
	for {
		sent := time.Now()
		elapsed := sent.Sub(start)
		if elapsed >= w.c.warmup+w.c.duration {
			break
		}
		if err := writeAndWait(ctx, e, w.message(oneByOne)); err != nil {
			return err
		}
		if elapsed >= w.c.warmup {
			if err := h.RecordValue(time.Since(sent).Nanoseconds()); err != nil {
				return fmt.Errorf("latency: %w", err)
			}
		}
	}
	r := result.Result{Role: "one-at-a-time", Impl: w.c.impl, What: notes[w.c.impl], Size: w.c.size, Readers: replicas}
	r.SetThroughput(h.TotalCount(), w.c.duration)
	r.SetLatency(h)
	w.results = append(w.results, r)
	return nil
}
