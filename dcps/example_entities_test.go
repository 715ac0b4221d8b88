package dcps_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
)

// everything is a participant with a topic, a Publisher with a writer and a Subscriber with a reader of it, for the examples that
// are about one of them.
type everything struct {
	p      *dcps.DomainParticipant
	tracks *dcps.Topic[Track]
	pub    *dcps.Publisher
	w      *dcps.DataWriter[Track]
	sub    *dcps.Subscriber
	r      *dcps.DataReader[Track]
}

// makeAll makes them, and waits until writer and reader know each other.
func makeAll(ctx context.Context, topicName string) (e everything) {
	e.p = must(dcps.NewDomainParticipant(ctx, exampleDomain))
	e.tracks = must(dcps.NewTopic[Track](e.p, topicName, dcps.WithTypeDescription(trackDescription)))
	e.pub = must(e.p.NewPublisher())
	e.w = must(dcps.NewDataWriter(e.pub, e.tracks))
	e.sub = must(e.p.NewSubscriber())
	q := qos.DefaultDataReader()
	q.Reliability.Kind, q.History.Kind = qos.ReliabilityReliable, qos.HistoryKeepAll
	e.r = must(dcps.NewDataReader(e.sub, e.tracks, dcps.WithReaderQos(q)))
	check(e.w.WaitForMatch(ctx, 1))
	check(e.r.WaitForMatch(ctx, 1))
	return e
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[V any](v V, err error) V {
	check(err)
	return v
}

// A factory knows the participants that it has made, and gives them their QoS.
func ExampleDomainParticipantFactory() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	factory := dcps.NewDomainParticipantFactory(dcps.WithName("tower"))
	defer factory.Close() // closes them all
	q := qos.DefaultDomainParticipant()
	q.UserData.Value = []byte("runway 2")
	check(factory.SetDefaultParticipantQos(q))
	p := must(factory.NewDomainParticipant(ctx, exampleDomain))
	fmt.Println(p.Name(), string(p.Qos().UserData.Value))
	fmt.Println(factory.LookupParticipant(exampleDomain) == p, factory.LookupParticipant(exampleDomain+1) == nil)
	// Output:
	// tower runway 2
	// true true
}

// A participant is this process's membership of a domain. What it makes starts from its defaults; Close closes it all.
func ExampleDomainParticipant() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, exampleDomain, dcps.WithName("cockpit"))
	if err != nil {
		log.Fatal(err)
	}
	q := qos.DefaultPublisher()
	q.Partition.Name = []string{"north"}
	check(p.SetDefaultPublisherQos(q))
	pub := must(p.NewPublisher())
	fmt.Println(p.Name(), pub.Qos().Partition.Name, p.ContainsEntity(pub.Handle()))
	check(p.Close())
	_, err = p.NewPublisher()
	fmt.Println(errors.Is(err, dcps.ErrAlreadyDeleted))
	// Output:
	// cockpit [north] true
	// true
}

// The QoS of a topic is where writers and readers start from that ask for it.
func ExampleTopic() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := must(dcps.NewDomainParticipant(ctx, exampleDomain))
	defer p.Close()
	q := qos.DefaultTopic()
	q.Reliability.Kind, q.Durability.Kind = qos.ReliabilityReliable, qos.DurabilityTransientLocal
	tracks := must(dcps.NewTopic[Track](p, "TopicTrack", dcps.WithTopicQos(q)))
	pub := must(p.NewPublisher())
	w := must(dcps.NewDataWriter(pub, tracks, dcps.FromTopicQos()))
	fmt.Println(tracks.Name(), tracks.TypeName(), w.Qos().Durability)
	again := must(dcps.LookupTopic[Track](p, "TopicTrack"))
	fmt.Println(again.Handle() == tracks.Handle())
	// Output:
	// TopicTrack example::Track TRANSIENT_LOCAL
	// true
}

// The parameters of a filter change while it is in use.
func ExampleContentFilteredTopic() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "TunedTrack")
	defer e.p.Close()
	above := must(dcps.NewContentFilteredTopic(e.tracks, "TracksAbove", "altitude > %0", "30000"))
	q := e.r.Qos()
	r := must(dcps.NewDataReader(e.sub, above, dcps.WithReaderQos(q)))
	check(e.w.WaitForMatch(ctx, 2))
	for _, level := range []string{"30000", "10000"} {
		check(above.SetExpressionParameters(level))
		check(e.w.Write(ctx, &Track{Id: 1, Altitude: 20000}))
		check(e.w.Write(ctx, &Track{Id: 1, Altitude: 40000}))
		check(e.w.WaitForAcknowledgments(ctx))
		samples := must(r.Take())
		fmt.Println(above.Expression(), above.ExpressionParameters(), samples.Len())
		samples.Close()
	}
	// Output:
	// altitude > %0 [30000] 1
	// altitude > %0 [10000] 2
}

// What a Publisher writes between BeginCoherentChanges and EndCoherentChanges is seen together or not at all.
func ExamplePublisher() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := must(dcps.NewDomainParticipant(ctx, exampleDomain))
	defer p.Close()
	tracks := must(dcps.NewTopic[Track](p, "CoherentTrack"))
	together := qos.Presentation{AccessScope: qos.PresentationTopic, CoherentAccess: true}
	pq, sq, rq := qos.DefaultPublisher(), qos.DefaultSubscriber(), qos.DefaultDataReader()
	pq.Presentation, sq.Presentation = together, together
	rq.Reliability.Kind = qos.ReliabilityReliable
	pub := must(p.NewPublisher(dcps.WithPublisherQos(pq)))
	w := must(dcps.NewDataWriter(pub, tracks))
	sub := must(p.NewSubscriber(dcps.WithSubscriberQos(sq)))
	r := must(dcps.NewDataReader(sub, tracks, dcps.WithReaderQos(rq)))
	check(w.WaitForMatch(ctx, 1))

	check(pub.BeginCoherentChanges())
	check(w.Write(ctx, &Track{Id: 1, Altitude: 30000}))
	check(w.Write(ctx, &Track{Id: 2, Altitude: 31000}))
	_, err := r.Take()
	fmt.Println(errors.Is(err, dcps.ErrNoData))
	check(pub.EndCoherentChanges(ctx))
	check(pub.WaitForAcknowledgments(ctx))
	samples := must(r.Take())
	defer samples.Close()
	fmt.Println(samples.Len(), "at once")
	// Output:
	// true
	// 2 at once
}

// A writer registers instances, updates them and disposes of them.
func ExampleDataWriter() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "WrittenTrack")
	defer e.p.Close()
	handle := must(e.w.Register(ctx, &Track{Id: 7}))
	measured := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}, dcps.At(measured)))
	key := must(e.w.KeyValue(handle))
	check(e.w.Dispose(ctx, key))
	check(e.w.WaitForAcknowledgments(ctx))
	samples := must(e.r.Take())
	defer samples.Close()
	for _, s := range samples.All() {
		fmt.Println(s.Data().Altitude, s.Info.SourceTimestamp.UTC().Format(time.TimeOnly), s.Info.InstanceState, s.Info.InstanceHandle == handle)
	}
	// Output: 31000 12:00:00 NOT_ALIVE_DISPOSED true
}

// What all readers of a Subscriber have.
func ExampleSubscriber() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "SubscribedTrack")
	defer e.p.Close()
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}))
	check(e.w.WaitForAcknowledgments(ctx))
	for _, r := range e.sub.Readers(dcps.SampleNotRead, 0, dcps.InstanceAlive) {
		fmt.Println(r.TopicName())
	}
	fmt.Println(dcps.LookupDataReader[Track](e.sub, "SubscribedTrack") == e.r)
	// Output:
	// SubscribedTrack
	// true
}

// Read leaves samples where they are, Take takes them; options say which ones.
func ExampleDataReader() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "ReadTrack")
	defer e.p.Close()
	for i := range int32(4) {
		check(e.w.Write(ctx, &Track{Id: i % 2, Altitude: 1000 * i}))
	}
	check(e.w.WaitForAcknowledgments(ctx))
	show := func(samples *dcps.Samples[Track]) {
		defer samples.Close()
		for _, s := range samples.All() {
			fmt.Println(s.Data().Id, s.Data().Altitude, "rank", s.Info.SampleRank)
		}
	}
	show(must(e.r.Read(dcps.MaxSamples(1))))
	show(must(e.r.Take(dcps.Instance(must(e.r.LookupInstance(&Track{Id: 1}))))))
	show(must(e.r.Take(dcps.States(dcps.SampleRead, 0, 0))))
	show(must(e.r.Take()))
	// Output:
	// 0 0 rank 0
	// 1 1000 rank 1
	// 1 3000 rank 0
	// 0 0 rank 0
	// 0 2000 rank 0
}

// Without a copy: a sample is built where it is sent from, and looked at where it has arrived.
func ExampleLoan() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "LentTrack")
	defer e.p.Close()
	loan := must(e.w.Loan(ctx, 64))
	defer loan.Discard()                                                               // if Publish is not reached
	n := must(cdr.MarshalTo(loan.Bytes(), &Track{Id: 7, Altitude: 31000}, cdr.CDR2LE)) // or a builder of idlgen
	check(loan.Publish(n))
	check(e.w.WaitForAcknowledgments(ctx))
	samples := must(e.r.TakeLoan())
	defer samples.Close()
	for info, encoded := range samples.All() {
		var track Track
		check(cdr.Unmarshal(encoded, &track)) // or a view of idlgen
		fmt.Println(info.InstanceState, track.Altitude)
	}
	// Output: ALIVE 31000
}

// LoanedSamples are those that TakeLoan lends: see Loan for both sides.
func ExampleLoanedSamples() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "LoanedTrack")
	defer e.p.Close()
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}))
	check(e.w.WaitForAcknowledgments(ctx))
	samples := must(e.r.ReadLoan())
	fmt.Println(samples.Len(), len(samples.Encoded(0)), "bytes", samples.Info(0).ValidData)
	samples.Close()
	fmt.Println(samples.Len())
	// Output:
	// 1 12 bytes true
	// 0
}

// Samples go back to their reader with Close.
func ExampleSamples() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "SampledTrack")
	defer e.p.Close()
	check(e.w.Write(ctx, &Track{Id: 7, Altitude: 31000}))
	check(e.w.WaitForAcknowledgments(ctx))
	samples := must(e.r.Read())
	defer samples.Close()
	for i, s := range samples.All() {
		fmt.Println(i, s.Info, s.Data().Altitude)
	}
	// Output: 0 [NOT_READ NEW ALIVE d=0 n=0] 31000
}

// A ReadCondition holds while there are samples in its states, and selects them.
func ExampleReadCondition() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "ConditionTrack")
	defer e.p.Close()
	gone := e.r.NewReadCondition(dcps.SampleNotRead, 0, dcps.InstanceNotAliveDisposed)
	defer gone.Close()
	check(e.w.Write(ctx, &Track{Id: 1}))
	check(e.w.Write(ctx, &Track{Id: 2}))
	check(e.w.Dispose(ctx, &Track{Id: 2}))
	active := must(dcps.NewWaitSet(gone).Wait(ctx))
	fmt.Println(active[0] == gone, gone.DataReader() == dcps.AnyDataReader(e.r))
	samples := must(e.r.Take(dcps.When(gone)))
	defer samples.Close()
	for _, s := range samples.All() {
		fmt.Println(s.Data().Id, s.Info.InstanceState)
	}
	// Output:
	// true true
	// 2 NOT_ALIVE_DISPOSED
}

// A QueryCondition also looks at the content, and orders what it selects. Its parameters change at run time.
func ExampleQueryCondition() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e := makeAll(ctx, "QueryTrack")
	defer e.p.Close()
	above := must(e.r.NewQueryCondition(dcps.SampleNotRead, 0, 0, "altitude > %0 ORDER BY altitude DESC", "50000"))
	defer above.Close()
	for i, altitude := range []int32{31000, 12000, 39000} {
		check(e.w.Write(ctx, &Track{Id: int32(i), Altitude: altitude}))
	}
	check(e.w.WaitForAcknowledgments(ctx))
	fmt.Println(above.TriggerValue())
	check(above.SetQueryParameters("30000"))
	fmt.Println(above.TriggerValue())
	samples := must(e.r.Take(dcps.When(above)))
	defer samples.Close()
	for _, s := range samples.All() {
		fmt.Println(s.Data().Altitude)
	}
	// Output:
	// false
	// true
	// 39000
	// 31000
}

// The built-in readers tell of the other participants of the domain, their topics, writers and readers.
func ExampleDomainParticipant_BuiltinSubscriber() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	watcher := must(dcps.NewDomainParticipant(ctx, exampleDomain+2, dcps.WithName("watcher")))
	defer watcher.Close()
	publications := dcps.LookupDataReader[dcps.PublicationBuiltinTopicData](watcher.BuiltinSubscriber(), dcps.BuiltinPublicationTopic)

	p := must(dcps.NewDomainParticipant(ctx, exampleDomain+2))
	defer p.Close()
	tracks := must(dcps.NewTopic[Track](p, "AnnouncedTrack"))
	w := must(dcps.NewDataWriter(must(p.NewPublisher()), tracks))
	for s, err := range publications.Stream(ctx) {
		check(err)
		if d := s.Data(); d != nil {
			fmt.Println(d.TopicName, d.TypeName, d.Key == w.Handle())
			check(watcher.IgnorePublication(d.Key))
			break
		}
	}
	// Output: AnnouncedTrack example::Track true
}
