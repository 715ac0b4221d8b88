package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/quiet"
	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/internal/bench"
)

var group = derecho.Subgroup{ID: 1, Mode: derecho.Ordered}

// lease is long, since other programs may run, too.
const lease = 5 * time.Second

// coreLane carries messages over package derecho.
type coreLane struct {
	from, to *derecho.Node
	shape    shape
	payload  []byte
	value    bench.Sample // of a shape that writes
	stream   cdr.Stream   // of one that does not
	sent     uint64
	in       *counter
}

// counter has the receiver's upcalls.
type counter struct {
	quiet.Handler
	due   uint64        // the poller's
	until atomic.Uint64 // the number at which it says so
	done  chan struct{}
	wrong atomic.Bool
}

func (c *counter) Deliver(_ derecho.SubgroupID, batch []derecho.Message) {
	for i := range batch {
		number, last, err := unkeyed.number(batch[i].Payload)
		if err != nil || number != c.due || last != byte(c.due) {
			c.wrong.Store(true)
		}
		if c.due++; c.due == c.until.Load() {
			c.done <- struct{}{}
		}
	}
}

func newCoreLane(ctx context.Context, domain uint32, s shape) (*coreLane, error) {
	l := &coreLane{shape: s, payload: s.payload(), in: &counter{done: make(chan struct{}, 1)}}
	cfg := derecho.Config{Domain: domain, Lease: lease}
	var err error
	if l.from, err = derecho.Join(ctx, cfg, quiet.Handler{}); err != nil {
		return nil, err
	}
	if l.to, err = derecho.Join(ctx, cfg, l.in); err != nil {
		return nil, errors.Join(err, l.from.Leave(ctx))
	}
	err = l.to.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: 1, Reads: []derecho.Subgroup{group}})
	if err == nil {
		err = l.from.AddEndpoint(ctx, derecho.Endpoint{ID: 1, Channel: 1, Writes: group})
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *coreLane) send(ctx context.Context, n int) error {
	l.in.until.Store(l.sent + uint64(n))
	for range n {
		if err := l.write(ctx); err != nil {
			return err
		}
	}
	return l.wait(ctx)
}

func (l *coreLane) write(ctx context.Context) error {
	s, err := l.from.Reserve(ctx, group.ID, 1, l.shape.room(), time.Time{})
	if err != nil {
		return err
	}
	l.payload[len(l.payload)-1] = byte(l.sent)
	var size int
	if l.shape.writes {
		unkeyed.set(&l.value, 0, l.sent, l.payload)
		size, err = cdr.MarshalTo(s.Bytes(), &l.value, cdr.CDR2LE) // as the DataWriter does for a @final type
	} else {
		size, err = unkeyed.build(&l.stream, s.Bytes(), 0, l.sent, l.payload)
	}
	if err != nil {
		s.Abort()
		return err
	}
	l.sent++
	s.Commit(derecho.Header{Writer: 1, WriterSeq: l.sent}, size)
	return nil
}

// await sends one more sample, at which the receiver says that it had all.
func (l *coreLane) await(ctx context.Context, _ int) error { return l.send(ctx, 1) }

// wait returns when the receiver has had what was sent.
func (l *coreLane) wait(ctx context.Context) error {
	select {
	case <-l.in.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.in.wrong.Load() {
		return errors.New("a message is not the one that was sent; this is a defect of the core")
	}
	return nil
}

func (l *coreLane) close() error {
	return errors.Join(l.to.Leave(context.Background()), l.from.Leave(context.Background()))
}
