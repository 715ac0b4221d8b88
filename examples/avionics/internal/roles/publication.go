package roles

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/qos"
)

// publication is a writer without its type.
type publication interface {
	topicName() string
	waitForMatch(ctx context.Context, n int) error
	waitForAcks(ctx context.Context) error
	report() control.Publication
	reliable() bool
	// progress is how far it is; acknowledged keeps track of what its readers have, until ctx ends.
	progress() ledger.Progress
	acknowledged(ctx context.Context)
}

// writer is a DataWriter that counts. One goroutine writes.
type writer[T any] struct {
	*dcps.DataWriter[T]
	p          *dcps.DomainParticipant
	generation int

	mu    sync.Mutex // between who writes and who reports
	count uint64
	safe  uint64 // of count: acknowledged by all readers
	began time.Time
	acked time.Time
}

// publish makes the writer of a topic with the QoS of a profile.
func publish[T any, PT cdr.Type[T]](pr *process, topicName, profile string) (*writer[T], error) {
	t, err := dcps.NewTopic[T, PT](pr.p, topicName)
	if err != nil {
		return nil, err
	}
	q, err := pr.qos.DataWriter(profile, topicName)
	if err != nil {
		return nil, err
	}
	dw, err := dcps.NewDataWriter(pr.pub, t, dcps.WithWriterQos(q))
	if err != nil {
		return nil, err
	}
	w := &writer[T]{DataWriter: dw, p: pr.p, generation: pr.cfg.Generation}
	pr.publications = append(pr.publications, w)
	return w, nil
}

// next is the number of the next sample.
func (w *writer[T]) next() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ledger.Number(w.generation, w.count+1)
}

// wrote counts a sample.
func (w *writer[T]) wrote() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == 0 {
		w.began = time.Now()
	}
	w.count++
}

// put writes a sample, and waits as long as its readers are full, up to RELIABILITY max_blocking_time.
func (w *writer[T]) put(ctx context.Context, v *T) error {
	err := w.Write(ctx, v)
	for attempt := 0; w.cutOff(ctx, err) && attempt < maxAttempts; attempt++ {
		err = w.Write(ctx, v)
	}
	if err == nil {
		w.wrote()
	}
	return err
}

// maxAttempts bounds how often a write is tried again when the process is cut off anew each time.
const maxAttempts = 20

// cutOff tells whether an operation failed because the others have gone on without this process, or it can not hear them. It
// returns when that is over.
func (w *writer[T]) cutOff(ctx context.Context, err error) bool {
	return errors.Is(err, dcps.ErrPreconditionNotMet) && w.p.WaitForDomain(ctx) == nil
}

func (w *writer[T]) topicName() string { return w.TopicName() }

func (w *writer[T]) waitForMatch(ctx context.Context, n int) error { return w.WaitForMatch(ctx, n) }

func (w *writer[T]) waitForAcks(ctx context.Context) error {
	if err := w.WaitForAcknowledgments(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked = time.Now()
	return nil
}

func (w *writer[T]) reliable() bool { return w.Qos().Reliability.Kind == qos.ReliabilityReliable }

func (w *writer[T]) progress() ledger.Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ledger.Progress{Published: w.count, Acknowledged: w.safe}
}

func (w *writer[T]) acknowledged(ctx context.Context) {
	if !w.reliable() {
		return
	}
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if p := w.progress(); p.Published > p.Acknowledged && w.WaitForAcknowledgments(ctx) == nil {
			w.mu.Lock()
			w.safe = p.Published
			w.mu.Unlock()
		}
	}
}

func (w *writer[T]) report() control.Publication {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := control.Publication{Topic: w.TopicName(), Path: w.DeliveryPath().String(), Published: w.count, Dropped: w.Dropped()}
	if w.count > 0 && !w.acked.IsZero() {
		p.Took = w.acked.Sub(w.began)
	}
	return p
}
