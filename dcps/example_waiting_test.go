package dcps_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/omg-dds-go/dds/dcps"
)

// writerOf makes a participant with a writer of a topic, for the examples that are about something else.
func writerOf(ctx context.Context, topicName string) (*dcps.DomainParticipant, *dcps.DataWriter[Track]) {
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain)
	if err != nil {
		log.Fatal(err)
	}
	tracks, err := dcps.NewTopic[Track](p, topicName)
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
	return p, w
}

// What has been written is in the caches of all readers, whatever becomes of this process.
func ExampleDataWriter_WaitForStable() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, w := writerOf(ctx, "StableTrack")
	defer p.Close()
	if err := w.Write(ctx, &Track{Id: 7, Altitude: 31000}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.WaitForStable(ctx))
	// Output: <nil>
}

// A program that writes without waiting, and is told how far its samples are safe.
func ExampleStableStatus() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, w := writerOf(ctx, "SafeTrack")
	defer p.Close()
	safe := make(chan uint64, 16)
	if err := w.SetListener(&dcps.DataWriterListener[Track]{
		OnStable: func(_ *dcps.DataWriter[Track], s dcps.StableStatus) { safe <- s.Stable },
	}, dcps.StableStatusBit); err != nil {
		log.Fatal(err)
	}
	for i := range int32(3) {
		if err := w.Write(ctx, &Track{Id: 7, Altitude: 1000 * i}); err != nil {
			log.Fatal(err)
		}
	}
	for number := range safe {
		if number == 3 {
			fmt.Println("all of them")
			break
		}
	}
	// Output: all of them
}

// A WaitSet waits for any of its conditions; a GuardCondition is one that the program itself makes true.
func ExampleWaitSet() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var stop dcps.GuardCondition
	ws := dcps.NewWaitSet(&stop)
	go stop.SetTriggerValue(true)
	active, err := ws.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(active), active[0] == &stop)
	// Output: 1 true
}

// A GuardCondition fits into a select statement, too.
func ExampleGuardCondition() {
	var stop dcps.GuardCondition
	go stop.SetTriggerValue(true)
	select {
	case <-stop.Ready():
		fmt.Println("stopped")
	case <-time.After(time.Minute):
		fmt.Println("too late")
	}
	// Output: stopped
}

// A StatusCondition holds while one of the statuses that are enabled has changed and was not looked at.
func ExampleStatusCondition() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, w := writerOf(ctx, "StatusTrack")
	defer p.Close()
	matched := w.StatusCondition()
	matched.SetEnabledStatuses(dcps.PublicationMatchedStatusBit)
	sub, err := p.NewSubscriber()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := dcps.NewDataReader(sub, w.Topic()); err != nil {
		log.Fatal(err)
	}
	select {
	case <-matched.Ready():
		fmt.Println(w.PublicationMatchedStatus().CurrentCount, "reader")
	case <-ctx.Done():
		log.Fatal(ctx.Err())
	}
	// Output: 1 reader
}
