package dcps_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// A writer and a reader in one process; in two processes it is the same.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	tracks, err := dcps.NewTopic[Track](p, "Track")
	if err != nil {
		log.Fatal(err)
	}
	pub, err := p.NewPublisher()
	if err != nil {
		log.Fatal(err)
	}
	w, err := dcps.NewDataWriter(pub, tracks)
	if err != nil {
		log.Fatal(err)
	}
	sub, err := p.NewSubscriber()
	if err != nil {
		log.Fatal(err)
	}
	q := qos.DefaultDataReader()
	q.Reliability.Kind = qos.ReliabilityReliable
	q.History.Kind = qos.HistoryKeepAll
	r, err := dcps.NewDataReader(sub, tracks, dcps.WithReaderQos(q))
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WaitForMatch(ctx, 1); err != nil {
		log.Fatal(err)
	}

	for i := range int32(3) {
		if err := w.Write(ctx, &Track{Id: 7, Altitude: 31000 + 100*i}); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Dispose(ctx, &Track{Id: 7}); err != nil {
		log.Fatal(err)
	}

	n := 0
	for s, err := range r.Stream(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if track := s.Data(); track != nil {
			fmt.Println(track.Id, track.Altitude)
		}
		if n++; n == 3 {
			break
		}
	}
	// Output:
	// 7 31000
	// 7 31100
	// 7 31200
}

// Policies that contradict each other are refused, with the values.
func ExampleNewDataWriter_inconsistent() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	tracks, err := dcps.NewTopic[Track](p, "Track")
	if err != nil {
		log.Fatal(err)
	}
	pub, err := p.NewPublisher()
	if err != nil {
		log.Fatal(err)
	}
	q := qos.DefaultDataWriter()
	q.History.Depth = 8
	q.ResourceLimits.MaxSamplesPerInstance = 4
	_, err = dcps.NewDataWriter(pub, tracks, dcps.WithWriterQos(q))
	fmt.Println(errors.Is(err, dcps.ErrInconsistentPolicy))
	// Output:
	// true
}

// Conditions fit into a select statement.
func ExampleDataReader_NewReadCondition() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	tracks, err := dcps.NewTopic[Track](p, "Track")
	if err != nil {
		log.Fatal(err)
	}
	pub, err := p.NewPublisher()
	if err != nil {
		log.Fatal(err)
	}
	w, err := dcps.NewDataWriter(pub, tracks)
	if err != nil {
		log.Fatal(err)
	}
	sub, err := p.NewSubscriber()
	if err != nil {
		log.Fatal(err)
	}
	r, err := dcps.NewDataReader(sub, tracks)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WaitForMatch(ctx, 1); err != nil {
		log.Fatal(err)
	}
	fresh := r.NewReadCondition(dcps.SampleNotRead, 0, dcps.InstanceAlive)
	if err := w.Write(ctx, &Track{Id: 7, Altitude: 31000}); err != nil {
		log.Fatal(err)
	}
	select {
	case <-fresh.Ready():
		samples, err := r.Take()
		if err != nil {
			log.Fatal(err)
		}
		defer samples.Close()
		for _, s := range samples.All() {
			fmt.Println(s.Info, s.Data().Altitude)
		}
	case <-ctx.Done():
		log.Fatal(ctx.Err())
	}
	// Output:
	// [NOT_READ NEW ALIVE d=0 n=0] 31000
}

// Who joins the domain, leaves it or fails, and whether this process was cut off, and is back.
func ExampleViewChangedStatus() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	changes := make(chan dcps.ViewChange, 16)
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain+1, dcps.WithName("cockpit"), dcps.WithParticipantListener(dcps.ParticipantListener{
		OnViewChanged: func(_ *dcps.DomainParticipant, s dcps.ViewChangedStatus) {
			for _, c := range s.Changes {
				changes <- c
			}
		},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	c := <-changes
	switch c.Why {
	case dcps.ViewExcluded:
		fmt.Println("what was written last may be lost")
	case dcps.ViewRejoined:
		fmt.Println("write the state again")
	default:
		fmt.Println(c.Why, c.Who.Name, "in view", c.Epoch)
	}
	// Output: JOINED cockpit in view 1
}
