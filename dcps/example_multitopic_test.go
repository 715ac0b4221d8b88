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

// Plan stands for a type that idlgen made of
//
//	@final struct Plan { @key long id; string destination; };
type Plan struct {
	Id          int32
	Destination string
}

var planDescription = xtypes.Must(xtypes.Build(xtypes.TypeDescriptor{
	Kind: xtypes.TKStructure, Name: "example::Plan", Extensibility: cdr.Final,
	Members: []xtypes.Member{
		{Name: "id", AutoID: true, Type: xtypes.Primitive(xtypes.TKInt32), Key: true},
		{Name: "destination", AutoID: true, Type: xtypes.NewString(0)},
	},
}))

var planType = cdr.Define(cdr.TypeInfo{
	Name: "example::Plan", Keyed: true, MaxSize: -1, MaxKeySize: 4, Text: "@final struct example::Plan { @key long id; string destination; };",
})

func (*Plan) CDRType() *cdr.TypeInfo { return planType }

func (m *Plan) MarshalCDR(e *cdr.Encoder) {
	e.Int32(m.Id)
	e.String("destination", m.Destination, 0)
}

func (m *Plan) UnmarshalCDR(d *cdr.Decoder) {
	m.Id = d.Int32("id")
	m.Destination = d.String("destination", 0)
}

func (m *Plan) MarshalKeyCDR(e *cdr.Encoder)                 { e.Int32(m.Id) }
func (m *Plan) UnmarshalKeyCDR(d *cdr.Decoder)               { m.Id = d.Int32("id") }
func (*Plan) TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) { e.Int32(d.Int32("id")) }

// What two topics say of one airplane, in one reader.
func ExampleMultiTopic() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	tracks, err := dcps.NewTopic[Track](p, "JoinedTrack", dcps.WithTypeDescription(trackDescription))
	if err != nil {
		log.Fatal(err)
	}
	plans, err := dcps.NewTopic[Plan](p, "JoinedPlan", dcps.WithTypeDescription(planDescription))
	if err != nil {
		log.Fatal(err)
	}
	pub, err := p.NewPublisher()
	if err != nil {
		log.Fatal(err)
	}
	track, err := dcps.NewDataWriter(pub, tracks)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := dcps.NewDataWriter(pub, plans)
	if err != nil {
		log.Fatal(err)
	}

	m, err := dcps.NewDynamicMultiTopic(p, "Arrivals", "example::Arrival",
		"SELECT id, altitude, destination FROM JoinedTrack NATURAL JOIN JoinedPlan WHERE altitude < %0", "3000")
	if err != nil {
		log.Fatal(err)
	}
	sub, err := p.NewSubscriber()
	if err != nil {
		log.Fatal(err)
	}
	q := qos.DefaultDataReader()
	q.Reliability.Kind = qos.ReliabilityReliable
	r, err := dcps.NewDataReader(sub, m, dcps.WithReaderQos(q))
	if err != nil {
		log.Fatal(err)
	}
	if err := r.WaitForMatch(ctx, 2); err != nil {
		log.Fatal(err)
	}
	for i, altitude := range []int32{31000, 2500, 900} {
		if err := track.Write(ctx, &Track{Id: int32(i), Altitude: altitude}); err != nil {
			log.Fatal(err)
		}
	}
	if err := plan.Write(ctx, &Plan{Id: 1, Destination: "FRA"}); err != nil {
		log.Fatal(err)
	}
	for s, err := range r.Stream(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		text, err := s.Data().MarshalJSON()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text))
		break
	}
	// Output:
	// {"id":1,"altitude":2500,"destination":"FRA"}
}
