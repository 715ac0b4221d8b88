package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/quiet"
	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/derecho"
)

// The core: what ring does, over package derecho. By itself the same number of messages of the same size, a ring as
// large, a copy on both sides; besides that they are in total order, stable at all readers before any has one, and
// whoever fails is agreed on.

// What the byte behind the number of a message says.
const (
	coreWarmUp = iota
	coreMeasured
	coreEnd
)

const coreKind = 8 // where it is

// coreWork is what the processes of core are told.
type coreWork struct {
	Domain        uint32
	Size, Readers int
	Mode          derecho.Mode
}

func (w coreWork) group() derecho.Subgroup { return derecho.Subgroup{ID: 1, Mode: w.Mode} }

func (w coreWork) config() derecho.Config {
	const atLeast = 16 // messages of the largest size
	ring := ringSlots * ringMessage
	for ring < atLeast*w.Size {
		ring *= 2
	}
	// The lease is long, since five processes share few processors.
	return derecho.Config{Domain: w.Domain, RingBytes: ring, Lease: 5 * time.Second}
}

func core(o options) ([]result.Result, error) { return coreIn(o, derecho.Ordered) }

// unordered is the core without the order: each reader has a message when it has arrived there, whoever else has it.
// Its sender never waits for room by itself, so it is told to try again, and nothing is lost.
func unordered(o options) ([]result.Result, error) { return coreIn(o, derecho.Unordered) }

func coreIn(o options, mode derecho.Mode) ([]result.Result, error) {
	var results []result.Result
	for _, size := range o.sizes(ringMessage) {
		for _, readers := range o.numbersOfReaders() {
			r, err := coreOf(coreWork{rand.Uint32(), max(size, coreKind+1), readers, mode}, o.duration)
			if err != nil {
				return nil, fmt.Errorf("%d readers: %w", readers, err)
			}
			results = append(results, r...)
		}
	}
	return results, nil
}

// matching is a handler that waits for endpoints.
type matching struct {
	quiet.Handler
	missing  int           // the poller's
	complete chan struct{} // closed when none is
}

func (m *matching) EndpointAdded(derecho.Endpoint) {
	if m.missing--; m.missing == 0 {
		close(m.complete)
	}
}

// coreOf is the producer.
func coreOf(w coreWork, d time.Duration) ([]result.Result, error) {
	told, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return withReaders(w.Readers, func(int) (*exec.Cmd, error) { return child(nil, "core", string(told)) }, func() error {
		// On a goroutine that is on no thread of its own, as an application's are, other than this one.
		failed := make(chan error)
		go func() { failed <- w.produce(d) }()
		return <-failed
	})
}

func (w coreWork) produce(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+2*d)
	defer cancel()
	m := &matching{missing: w.Readers + 1, complete: make(chan struct{})}
	n, err := derecho.Join(ctx, w.config(), m)
	if err != nil {
		return err
	}
	if err := n.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: 1, Writes: w.group()}); err != nil {
		return err
	}
	select {
	case <-m.complete:
	case <-ctx.Done():
		return fmt.Errorf("waiting for %d readers: %w", w.Readers, ctx.Err())
	}
	message, out := make([]byte, w.Size), n.Outlet(w.group().ID)
	const look = 256 // messages between looks at the clock
	start := time.Now()
	for k := uint64(0); message[coreKind] != coreEnd; k++ {
		if k%look == 0 {
			switch elapsed := time.Since(start); {
			case elapsed >= d/5 && message[coreKind] == coreWarmUp: // first: something is measured, however long the producer did not run
				message[coreKind] = coreMeasured
			case elapsed >= d+d/5:
				message[coreKind] = coreEnd
			}
		}
		binary.LittleEndian.PutUint64(message, k)
		s, ok := out.Try(w.Size)
		if !ok { // as the ring is full, or nobody may wait for room
			if s, err = w.reserve(ctx, n); err != nil {
				return err
			}
		}
		copy(s.Bytes(), message)
		s.Commit(derecho.Header{Writer: 1, WriterSeq: k}, w.Size)
	}
	if err := n.WaitAcked(ctx, w.group().ID); err != nil {
		return err
	}
	return n.Leave(ctx)
}

// reserve waits for room, in either mode. An unordered sender is not woken when there is some, so it looks again: at
// first at once, as Reserve does for an ordered one, then after a rest that leaves the processor to the readers.
func (w coreWork) reserve(ctx context.Context, n *derecho.Node) (derecho.Slot, error) {
	const looks, rest = 64, 20 * time.Microsecond
	for round := 0; ; round++ {
		s, err := n.Reserve(ctx, w.group().ID, 1, w.Size, time.Time{})
		if !errors.Is(err, derecho.ErrWouldBlock) || ctx.Err() != nil {
			return s, err
		}
		if round < looks {
			runtime.Gosched()
			yield()
			continue
		}
		t := unix.NsecToTimespec(rest.Nanoseconds())
		_ = unix.Nanosleep(&t, nil) // a signal may end it early
	}
}

// coreReader counts. All of it is the poller's until done has something in it.
type coreReader struct {
	quiet.Handler
	own          []byte
	due          uint64
	first, count int64
	done         chan error // of capacity 1
}

func (r *coreReader) Deliver(_ derecho.SubgroupID, batch []derecho.Message) {
	for i := range batch {
		copy(r.own, batch[i].Payload)
		if got := binary.LittleEndian.Uint64(r.own); got != r.due {
			r.end(fmt.Errorf("message %d where %d was due", got, r.due))
		}
		r.due++
		switch r.own[coreKind] {
		case coreMeasured:
			if r.count++; r.count == 1 {
				r.first = monotonic()
			}
		case coreEnd:
			r.end(nil)
		}
	}
}

func (r *coreReader) end(err error) {
	select {
	case r.done <- err:
	default: // it was told before
	}
}

func coreChild(args []string) error {
	if len(args) != 1 {
		return errors.New("needs to be told the work")
	}
	var w coreWork
	if err := json.Unmarshal([]byte(args[0]), &w); err != nil {
		return err
	}
	ctx := context.Background()
	r := &coreReader{own: make([]byte, w.Size), done: make(chan error, 1)}
	n, err := derecho.Join(ctx, w.config(), r)
	if err != nil {
		return err
	}
	if err := n.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: 1, Reads: []derecho.Subgroup{w.group()}}); err != nil {
		return err
	}
	if err := <-r.done; err != nil {
		return err
	}
	what := "total order"
	if w.Mode == derecho.Unordered {
		what = "unordered, the sender tries again when there is no room"
	}
	read := result.Result{Role: "core", Impl: "baseline", Size: w.Size, Readers: w.Readers,
		What: "derecho over shared memory, " + what + ", copied in and out; this reader's figure"}
	read.SetThroughput(r.count, time.Duration(monotonic()-r.first))
	if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
		return err
	}
	return n.Leave(ctx)
}
