package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"strconv"
	"time"

	"github.com/omg-dds-go/dds/bench/order/wire"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// ddsReplica is a participant of this DDS that writes and reads one RELIABLE topic. What it has written is ordered when it
// reads it: it is then stable at all three.
type ddsReplica struct {
	participant *dcps.DomainParticipant
	writer      *dcps.DataWriter[wire.Message]
	reader      *dcps.DataReader[wire.Message]
	own         *ownMessages
	stop        context.CancelFunc
	stopped     chan struct{} // closed when nothing is read any more
}

func newDDS(ctx context.Context, c config, addresses []string, deliver func([]byte)) (engine, error) {
	r := &ddsReplica{own: newOwnMessages(c), stop: func() {}, stopped: make(chan struct{})}
	if err := r.start(ctx, c, addresses, deliver); err != nil {
		close(r.stopped)
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *ddsReplica) start(ctx context.Context, c config, addresses []string, deliver func([]byte)) (err error) {
	settings := dcps.Settings{Transport: "tcp", RingBytes: ringFor(c)}
	for i := range replicas {
		if a := addresses[portsEach*i]; i == c.replica {
			settings.Listen = a
		} else {
			settings.Peers = append(settings.Peers, a)
		}
	}
	// On one host, too, no other run is met: its ports are others.
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return err
	}
	domain, err := strconv.ParseUint(port, 10, 32)
	if err != nil {
		return err
	}
	if r.participant, err = dcps.NewDomainParticipant(ctx, dcps.DomainID(domain), dcps.WithSettings(settings)); err != nil {
		return err
	}
	topic, err := dcps.NewTopic[wire.Message](r.participant, "Order")
	if err != nil {
		return err
	}
	if err := r.endpoints(topic); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	r.stop = stop
	go func() {
		defer close(r.stopped)
		r.own.fail(r.read(reading, deliver)) // once it is closed, for nobody
	}()
	return errors.Join(r.writer.WaitForMatch(ctx, replicas), r.reader.WaitForMatch(ctx, replicas))
}

func (r *ddsReplica) endpoints(topic *dcps.Topic[wire.Message]) error {
	sub, err := r.participant.NewSubscriber()
	if err != nil {
		return err
	}
	rq := qos.DefaultDataReader()
	rq.Reliability.Kind, rq.History.Kind = qos.ReliabilityReliable, qos.HistoryKeepAll
	rq.ResourceLimits.MaxSamples = 10000
	// Who was not heard for longer than the lease joins again by itself, without what it had in flight: nobody would end waiting
	// for that.
	lost := &dcps.DataReaderListener[wire.Message]{
		OnSubscriptionMatched: func(_ *dcps.DataReader[wire.Message], s dcps.SubscriptionMatchedStatus) {
			if s.CurrentCountChange < 0 {
				r.own.fail(fmt.Errorf("%d of %d writers are left: a process failed, or was not run for longer than the lease, which DDS_LEASE=5s makes longer", s.CurrentCount, replicas))
			}
		},
	}
	if r.reader, err = dcps.NewDataReader(sub, topic, dcps.WithReaderQos(rq), dcps.WithReaderListener(lost)); err != nil {
		return err
	}
	pub, err := r.participant.NewPublisher()
	if err != nil {
		return err
	}
	wq := qos.DefaultDataWriter()
	wq.Reliability = qos.Reliability{Kind: qos.ReliabilityReliable, MaxBlockingTime: time.Minute}
	wq.History.Kind = qos.HistoryKeepAll
	r.writer, err = dcps.NewDataWriter(pub, topic, dcps.WithWriterQos(wq))
	return err
}

// ringFor has room for what one writer may have in flight, as the logs of the others have.
func ringFor(c config) int {
	const least = 1 << 20
	return max(least, 1<<bits.Len(uint(2*c.inflight/replicas*c.size)))
}

// read delivers what comes, in its order, where it lies, and returns why it no longer can.
func (r *ddsReplica) read(ctx context.Context, deliver func([]byte)) error {
	some := dcps.NewWaitSet(r.reader.NewReadCondition(0, 0, 0))
	for {
		batch, err := r.reader.TakeLoan(dcps.InOrder())
		if errors.Is(err, dcps.ErrNoData) {
			if _, err := some.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		for i := range batch.Len() {
			b := batch.Encoded(i)
			if b == nil {
				continue // tells of a state
			}
			v, err := wire.NewMessageView(b)
			if err != nil {
				return err
			}
			deliver(v.Payload())
			r.own.delivered(v.Payload())
		}
		batch.Close()
	}
}

// room is what a message needs besides its bytes: header, length and padding.
const room = 16

func (r *ddsReplica) write(message []byte, done func(error)) {
	r.own.written(done)
	if err := r.put(message); err != nil {
		r.own.fail(fmt.Errorf("write: %w", err))
	}
}

func (r *ddsReplica) put(message []byte) error {
	l, err := r.writer.Loan(context.Background(), len(message)+room) // MaxBlockingTime is its end
	if err != nil {
		return err
	}
	b := wire.NewMessageBuilder(l.Bytes())
	b.SetPayload(message)
	n, err := b.Finish()
	if err != nil {
		return errors.Join(err, l.Discard())
	}
	return l.Publish(n)
}

func (*ddsReplica) keeps() bool { return false } // put copies into the ring

func (r *ddsReplica) close() {
	r.stop()
	<-r.stopped
	if r.participant != nil {
		_ = r.participant.Close() // the process ends
	}
}
