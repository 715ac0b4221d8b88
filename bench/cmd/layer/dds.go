package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/qos"
)

// ddsLane carries samples of a type through a DataWriter and a DataReader.
type ddsLane[T any] struct {
	from, to *dcps.DomainParticipant
	w        *dcps.DataWriter[T]
	r        *dcps.DataReader[T]
	ready    *dcps.WaitSet
	shape    shape
	payload  []byte
	form     form[T]

	_      [64]byte // what both ends read | what the writer writes for each sample
	sent   uint64
	value  T          // of a shape that writes
	stream cdr.Stream // of one that does not
	_      [64]byte
}

// form is how a type is built and read in place, and set in a value.
type form[T any] struct {
	set    func(value *T, instance uint32, number uint64, payload []byte)
	build  func(s *cdr.Stream, room []byte, instance uint32, number uint64, payload []byte) (int, error)
	number func(sample []byte) (number uint64, last byte, err error)
}

var unkeyed = form[bench.Sample]{
	set: func(value *bench.Sample, instance uint32, number uint64, payload []byte) {
		*value = bench.Sample{Instance: instance, Number: number, Payload: payload}
	},
	build: func(s *cdr.Stream, room []byte, instance uint32, number uint64, payload []byte) (int, error) {
		b := bench.NewSampleWriter(s, room, cdr.CDR2LE) // both types are @final
		b.SetInstance(instance)
		b.SetWriter(0)
		b.SetPhase(0)
		b.SetNumber(number)
		b.SetSent(0)
		b.SetDue(0)
		b.SetPayload(payload)
		return b.Finish()
	},
	number: func(sample []byte) (uint64, byte, error) {
		var v bench.SampleView
		if err := v.OpenCDR(sample); err != nil {
			return 0, 0, err
		}
		p := v.Payload()
		return v.Number(), p[len(p)-1], nil
	},
}

var keyed = form[bench.KeyedSample]{
	set: func(value *bench.KeyedSample, instance uint32, number uint64, payload []byte) {
		*value = bench.KeyedSample{Instance: instance, Number: number, Payload: payload}
	},
	build: func(s *cdr.Stream, room []byte, instance uint32, number uint64, payload []byte) (int, error) {
		b := bench.NewKeyedSampleWriter(s, room, cdr.CDR2LE) // both types are @final
		b.SetInstance(instance)
		b.SetWriter(0)
		b.SetPhase(0)
		b.SetNumber(number)
		b.SetSent(0)
		b.SetDue(0)
		b.SetPayload(payload)
		return b.Finish()
	},
	number: func(sample []byte) (uint64, byte, error) {
		var v bench.KeyedSampleView
		if err := v.OpenCDR(sample); err != nil {
			return 0, 0, err
		}
		p := v.Payload()
		return v.Number(), p[len(p)-1], nil
	},
}

func newDDSLane(ctx context.Context, domain uint32, s shape) (lane, error) {
	if s.instances == 0 {
		return laneOf(ctx, domain, s, &ddsLane[bench.Sample]{form: unkeyed})
	}
	return laneOf(ctx, domain, s, &ddsLane[bench.KeyedSample]{form: keyed})
}

func laneOf[T any, PT cdr.Type[T]](ctx context.Context, domain uint32, s shape, l *ddsLane[T]) (lane, error) {
	l.shape, l.payload = s, s.payload()
	settings := dcps.WithSettings(dcps.Settings{Lease: lease})
	var err error
	if l.from, err = dcps.NewDomainParticipant(ctx, dcps.DomainID(domain), settings); err != nil {
		return nil, err
	}
	if l.to, err = dcps.NewDomainParticipant(ctx, dcps.DomainID(domain), settings); err != nil {
		return nil, errors.Join(err, l.from.Close())
	}
	err = setUp[T, PT](ctx, l)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func setUp[T any, PT cdr.Type[T]](ctx context.Context, l *ddsLane[T]) error {
	here, err := dcps.NewTopic[T, PT](l.from, "Layer")
	if err != nil {
		return err
	}
	there, err := dcps.NewTopic[T, PT](l.to, "Layer")
	if err != nil {
		return err
	}
	pub, err := l.from.NewPublisher()
	if err != nil {
		return err
	}
	sub, err := l.to.NewSubscriber()
	if err != nil {
		return err
	}
	var of dcps.TopicDescription[T] = there
	if l.shape.filter { // all passes, after three comparisons
		if of, err = dcps.NewContentFilteredTopic(there, "Filtered", "instance < 1000000 AND writer = 0 AND number >= 0"); err != nil {
			return err
		}
	}
	wq, rq := qos.DefaultDataWriter(), qos.DefaultDataReader()
	wq.Reliability = qos.Reliability{Kind: qos.ReliabilityReliable, MaxBlockingTime: qos.Infinite}
	wq.History.Kind = qos.HistoryKeepAll
	rq.Reliability, rq.History.Kind, rq.ResourceLimits.MaxSamples = wq.Reliability, qos.HistoryKeepAll, 4096
	if l.r, err = dcps.NewDataReader(sub, of, dcps.WithReaderQos(rq)); err != nil {
		return err
	}
	if l.w, err = dcps.NewDataWriter(pub, here, dcps.WithWriterQos(wq)); err != nil {
		return err
	}
	l.ready = dcps.NewWaitSet(l.r.NewReadCondition(0, 0, 0))
	return l.w.WaitForMatch(ctx, 1)
}

func (l *ddsLane[T]) send(ctx context.Context, n int) error {
	read := make(chan error, 1)
	from := l.sent
	go func() { read <- l.take(ctx, from, from+uint64(n)) }()
	for range n {
		if err := l.write(ctx); err != nil {
			return err
		}
	}
	return <-read
}

func (l *ddsLane[T]) write(ctx context.Context) error {
	var instance uint32
	if l.shape.instances > 1 { // a division, which the core's lane has no need of
		instance = uint32(l.sent) % uint32(l.shape.instances)
	}
	if l.shape.writes {
		l.payload[len(l.payload)-1] = byte(l.sent)
		l.form.set(&l.value, instance, l.sent, l.payload)
		l.sent++
		return l.w.Write(ctx, &l.value)
	}
	loan, err := l.w.Loan(ctx, l.shape.room())
	if err != nil {
		return err
	}
	l.payload[len(l.payload)-1] = byte(l.sent)
	size, err := l.form.build(&l.stream, loan.Bytes(), instance, l.sent, l.payload)
	if err != nil {
		return errors.Join(err, loan.Discard())
	}
	l.sent++
	return loan.Publish(size)
}

func (l *ddsLane[T]) await(ctx context.Context, n int) error {
	return l.take(ctx, l.sent-uint64(n), l.sent)
}

// take is the application at the other end.
func (l *ddsLane[T]) take(ctx context.Context, due, until uint64) error {
	for due < until {
		if !l.shape.polls {
			if _, err := l.ready.Wait(ctx); err != nil {
				return err
			}
		}
		batch, err := l.r.TakeLoan(dcps.InOrder(), dcps.MaxSamples(256))
		if errors.Is(err, dcps.ErrNoData) {
			if err := ctx.Err(); err != nil {
				return err
			}
			runtime.Gosched() // or who writes waits for this processor
			continue
		}
		if err != nil {
			return err
		}
		for i := range batch.Len() {
			number, last, err := l.form.number(batch.Encoded(i))
			if err != nil {
				return err
			}
			if number != due || last != byte(due) {
				return fmt.Errorf("sample %d where %d was due; this is a defect of the middleware", number, due)
			}
			due++
		}
		batch.Close()
	}
	return nil
}

func (l *ddsLane[T]) close() error { return errors.Join(l.from.Close(), l.to.Close()) }
