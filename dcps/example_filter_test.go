package dcps_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/xtypes"
)

// trackDescription describes Track, which is written by hand; types of idlgen carry theirs.
var trackDescription = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "example::Track", Extensibility: cdr.Final,
	Members: []xtypes.Member{
		{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
		{Name: "altitude", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32)},
	},
}))

// A reader that sees only what is high, and takes the highest of it first.
func ExampleNewContentFilteredTopic() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	tracks, err := dcps.NewTopic[Track](p, "FilteredTrack", dcps.WithTypeDescription(trackDescription))
	if err != nil {
		log.Fatal(err)
	}
	high, err := dcps.NewContentFilteredTopic(tracks, "HighTracks", "altitude >= %0", "30000")
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
	r, err := dcps.NewDataReader(sub, high, dcps.WithReaderQos(q))
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WaitForMatch(ctx, 1); err != nil {
		log.Fatal(err)
	}
	for i, altitude := range []int32{31000, 12000, 39000, 29900, 35000} {
		if err := w.Write(ctx, &Track{Id: int32(i), Altitude: altitude}); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.WaitForAcknowledgments(ctx); err != nil {
		log.Fatal(err)
	}

	highest, err := r.NewQueryCondition(0, 0, 0, "ORDER BY altitude DESC")
	if err != nil {
		log.Fatal(err)
	}
	samples, err := r.Take(dcps.When(highest), dcps.MaxSamples(2))
	if err != nil {
		log.Fatal(err)
	}
	defer samples.Close()
	for _, s := range samples.All() {
		fmt.Println(s.Data().Id, s.Data().Altitude)
	}
	fmt.Println(r.Filtered(), "were too low")
	// Output:
	// 2 39000
	// 4 35000
	// 2 were too low
}
