package dcps_test

import (
	"context"
	"fmt"
	"time"

	"github.com/omg-dds-go/dds/dcps"
)

// A listener runs on a goroutine of its entity and may call anything.
func ExampleDataReaderListener() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "HeardTrack")
	defer e.p.Close()
	heard := make(chan int32, 16)
	check(e.r.SetListener(&dcps.DataReaderListener[Track]{
		OnDataAvailable: func(r *dcps.DataReader[Track]) {
			samples, err := r.Take()
			if err != nil {
				return // somebody else took them
			}
			defer samples.Close()
			for _, s := range samples.All() {
				if d := s.Data(); d != nil { // otherwise the instance is not alive any more
					heard <- d.Altitude
				}
			}
		},
	}, dcps.DataAvailableStatusBit))
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}))
	fmt.Println(<-heard)
	// Output: 31000
}

// An incompatible-QoS status says who, which policy, and both values.
func ExampleDataWriterListener() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "RefusedTrack")
	defer e.p.Close()
	refused := make(chan dcps.OfferedIncompatibleQosStatus, 16)
	check(e.w.SetListener(&dcps.DataWriterListener[Track]{
		OnOfferedIncompatibleQos: func(_ *dcps.DataWriter[Track], s dcps.OfferedIncompatibleQosStatus) { refused <- s },
	}, dcps.AnyStatus))
	q := e.r.Qos()
	q.Deadline.Period = time.Second // the writer promises none
	must(dcps.NewDataReader(e.sub, e.tracks, dcps.WithReaderQos(q)))
	s := <-refused
	fmt.Println(s.TotalCount, s.LastPolicyID, "offered", s.Details[0].Offered, "requested", s.Details[0].Requested)
	// Output: 1 DEADLINE offered INFINITE requested 1s
}

// OnDataOnReaders of a Subscriber goes before OnDataAvailable of its readers, which it may call.
func ExampleSubscriberListener() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "HeardByAllTrack")
	defer e.p.Close()
	heard := make(chan string, 16)
	check(e.sub.SetListener(dcps.SubscriberListener{
		OnDataOnReaders: func(sub *dcps.Subscriber) {
			heard <- "data on readers"
			check(sub.NotifyDataReaders())
		},
		AnyReaderListener: dcps.AnyReaderListener{
			OnDataAvailable: func(r dcps.AnyDataReader) { heard <- "data of " + r.TopicName() },
		},
	}, dcps.AnyStatus))
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}))
	fmt.Println(<-heard)
	fmt.Println(<-heard)
	// Output:
	// data on readers
	// data of HeardByAllTrack
}

// The listener of a Publisher hears what its writers have no listener for.
func ExamplePublisherListener() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "MatchedTrack")
	defer e.p.Close()
	_ = e.w.PublicationMatchedStatus() // of the reader that is there
	matched := make(chan dcps.PublicationMatchedStatus, 16)
	check(e.pub.SetListener(dcps.PublisherListener{AnyWriterListener: dcps.AnyWriterListener{
		OnPublicationMatched: func(_ dcps.AnyDataWriter, s dcps.PublicationMatchedStatus) { matched <- s },
	}}, dcps.AnyStatus))
	check(e.r.Close())
	s := <-matched
	fmt.Println(s.TotalCount, s.CurrentCount, s.CurrentCountChange)
	// Output: 1 0 -1
}

// The listener of a participant hears what nobody below it has a listener for, but nothing of the built-in readers.
func ExampleParticipantListener() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "AnyTrack")
	defer e.p.Close()
	heard := make(chan string, 16)
	check(e.p.SetListener(dcps.ParticipantListener{
		AnyReaderListener: dcps.AnyReaderListener{OnDataAvailable: func(r dcps.AnyDataReader) { heard <- r.TopicName() }},
	}, dcps.DataAvailableStatusBit))
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}))
	fmt.Println(<-heard)
	// Output: AnyTrack
}

// A topic tells of those who use its name with a type that does not fit.
func ExampleTopicListener() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "DisputedTrack")
	defer e.p.Close()
	other := must(dcps.NewDomainParticipant(ctx, exampleDomain, dcps.WithName("stranger")))
	defer other.Close()
	heard := make(chan string, 16)
	check(e.tracks.SetListener(&dcps.TopicListener{
		OnInconsistentTopic: func(_ string, s dcps.InconsistentTopicStatus) { heard <- s.LastPeer.Name },
	}, dcps.AnyStatus))
	plans := must(dcps.NewTopic[Plan](other, "DisputedTrack"))
	must(dcps.NewDataReader(must(other.NewSubscriber()), plans))
	fmt.Println(<-heard)
	// Output: stranger
}
