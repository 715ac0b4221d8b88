package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/quiet"
	"github.com/omg-dds-go/dds/bench/internal/result"
	"github.com/omg-dds-go/dds/derecho"
)

// The core: what ring does, over package derecho. The same number of messages of the same size, a ring as large, a copy on both sides;
// besides that they are in total order, stable at all readers before any has one, and whoever fails is agreed on.

// What the byte behind the number of a message says.
const (
	coreWarmUp = iota
	coreMeasured
	coreEnd
)

const coreKind = 8 // where it is

var coreGroup = derecho.Subgroup{ID: 1, Mode: derecho.Ordered}

func coreConfig(domain uint32) derecho.Config {
	// The lease is long, since five processes share few processors.
	return derecho.Config{Domain: domain, RingBytes: ringSlots * ringMessage, Lease: 5 * time.Second}
}

func core(o options) ([]result.Result, error) {
	var results []result.Result
	for _, readers := range []int{1, maxReaders} {
		r, err := coreOf(readers, o.duration)
		if err != nil {
			return nil, fmt.Errorf("%d readers: %w", readers, err)
		}
		results = append(results, r...)
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
func coreOf(readers int, d time.Duration) ([]result.Result, error) {
	domain := rand.Uint32()
	out := make([]bytes.Buffer, readers)
	wait := make([]func(), readers)
	for i := range readers {
		c, err := child(nil, "core", strconv.FormatUint(uint64(domain), 10), strconv.Itoa(readers))
		if err != nil {
			return nil, err
		}
		c.Stdout = &out[i]
		if wait[i], err = start(c); err != nil {
			return nil, err
		}
	}
	// On a goroutine that is on no thread of its own, as an application's are, other than this one.
	failed := make(chan error)
	go func() { failed <- coreProduce(domain, readers, d) }()
	if err := <-failed; err != nil {
		return nil, err
	}
	var results []result.Result
	for i := range readers {
		wait[i]()
		read, err := result.Parse(out[i].Bytes())
		if err != nil {
			return nil, fmt.Errorf("reader %d: %w", i, err)
		}
		results = append(results, read...)
	}
	return results, nil
}

func coreProduce(domain uint32, readers int, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute+2*d)
	defer cancel()
	m := &matching{missing: readers + 1, complete: make(chan struct{})}
	n, err := derecho.Join(ctx, coreConfig(domain), m)
	if err != nil {
		return err
	}
	if err := n.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: 1, Writes: coreGroup}); err != nil {
		return err
	}
	select {
	case <-m.complete:
	case <-ctx.Done():
		return fmt.Errorf("waiting for %d readers: %w", readers, ctx.Err())
	}
	message := make([]byte, ringMessage)
	const look = 256 // messages between looks at the clock
	start := time.Now()
	for k := uint64(0); message[coreKind] != coreEnd; k++ {
		if k%look == 0 {
			switch elapsed := time.Since(start); {
			case elapsed >= d+d/5:
				message[coreKind] = coreEnd
			case elapsed >= d/5:
				message[coreKind] = coreMeasured
			}
		}
		binary.LittleEndian.PutUint64(message, k)
		s, err := n.Reserve(ctx, coreGroup.ID, 1, ringMessage, time.Time{})
		if err != nil {
			return err
		}
		copy(s.Bytes(), message)
		s.Commit(derecho.Header{Writer: 1, WriterSeq: k}, ringMessage)
	}
	if err := n.WaitAcked(ctx, coreGroup.ID); err != nil {
		return err
	}
	return n.Leave(ctx)
}

// coreReader counts. All of it is the poller's until done has something in it.
type coreReader struct {
	quiet.Handler
	own          [ringMessage]byte
	due          uint64
	first, count int64
	done         chan error // of capacity 1
}

func (r *coreReader) Deliver(_ derecho.SubgroupID, batch []derecho.Message) {
	for i := range batch {
		copy(r.own[:], batch[i].Payload)
		if got := binary.LittleEndian.Uint64(r.own[:]); got != r.due {
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
	if len(args) != 2 {
		return errors.New("needs the domain, and the number of readers")
	}
	domain, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return err
	}
	readers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ctx := context.Background()
	r := &coreReader{done: make(chan error, 1)}
	n, err := derecho.Join(ctx, coreConfig(uint32(domain)), r)
	if err != nil {
		return err
	}
	if err := n.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: 1, Reads: []derecho.Subgroup{coreGroup}}); err != nil {
		return err
	}
	if err := <-r.done; err != nil {
		return err
	}
	read := result.Result{Role: "core", Impl: "baseline", Size: ringMessage, Readers: readers,
		What: "derecho over shared memory, total order, copied in and out; this reader's figure"}
	read.SetThroughput(r.count, time.Duration(monotonic()-r.first))
	if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
		return err
	}
	return n.Leave(ctx)
}
