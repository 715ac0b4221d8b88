package dcps

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// absentCall is one exported method, called on a receiver that does not exist: it gives an error, or a zero value, or
// nothing.
type absentCall struct {
	name string
	call func() any
}

// callsOnAbsent is all of the API, by hand, on nil and on zero values. TestAbsentEntities checks that none is left out.
func callsOnAbsent() []absentCall {
	var all []absentCall
	add := func(name string, call func() any) { all = append(all, absentCall{name, call}) }
	ctx := context.Background()
	second := func(_ any, err error) any { return err }

	for _, w := range []*DataWriter[track]{nil, {}} {
		add("DataWriter.Write", func() any { return w.Write(ctx, &track{}, At(time.Time{})) })
		add("DataWriter.Register", func() any { return second(w.Register(ctx, &track{})) })
		add("DataWriter.Dispose", func() any { return w.Dispose(ctx, &track{}) })
		add("DataWriter.Unregister", func() any { return w.Unregister(ctx, &track{}) })
		add("DataWriter.LookupInstance", func() any { return second(w.LookupInstance(&track{})) })
		add("DataWriter.Loan", func() any { return second(w.Loan(ctx, 100)) })
		add("DataWriter.WaitForMatch", func() any { return w.WaitForMatch(ctx, 0) })
		add("DataWriter.WaitForAcknowledgments", func() any { return w.WaitForAcknowledgments(ctx) })
		add("DataWriter.AssertLiveliness", func() any { return w.AssertLiveliness() })
		add("DataWriter.Close", func() any { return w.Close() })
		add("DataWriter.Topic", func() any { return w.Topic() })
		add("DataWriter.Handle", func() any { return w.Handle() })
		add("DataWriter.Publisher", func() any { return w.Publisher() })
		add("DataWriter.Qos", func() any { return w.Qos() })
		add("DataWriter.TopicName", func() any { return w.TopicName() })
		add("DataWriter.DeliveryPath", func() any { return w.DeliveryPath() })
		add("DataWriter.MaxSampleSize", func() any { return w.MaxSampleSize() })
		add("DataWriter.Dropped", func() any { return w.Dropped() })
		add("DataWriter.StatusCondition", func() any { return w.StatusCondition() })
		add("DataWriter.StatusChanges", func() any { return w.StatusChanges() })
		add("DataWriter.PublicationMatchedStatus", func() any { return w.PublicationMatchedStatus() })
		add("DataWriter.OfferedIncompatibleQosStatus", func() any { return w.OfferedIncompatibleQosStatus() })
		add("DataWriter.OfferedDeadlineMissedStatus", func() any { return w.OfferedDeadlineMissedStatus() })
		add("DataWriter.LivelinessLostStatus", func() any { return w.LivelinessLostStatus() })
	}
	for _, r := range []*DataReader[track]{nil, {}} {
		add("DataReader.Read", func() any { return second(r.Read(MaxSamples(1), NotRead(), Instance(HandleNil), ReadOption{})) })
		add("DataReader.Take", func() any { return second(r.Take(NextInstance(HandleNil))) })
		add("DataReader.ReadLoan", func() any { return second(r.ReadLoan()) })
		add("DataReader.TakeLoan", func() any { return second(r.TakeLoan()) })
		add("DataReader.Stream", func() any {
			for s, err := range r.Stream(ctx) {
				if s != nil || err == nil {
					return "a sample"
				}
				return err
			}
			return "no error"
		})
		add("DataReader.LookupInstance", func() any { return second(r.LookupInstance(&track{})) })
		add("DataReader.WaitForMatch", func() any { return r.WaitForMatch(ctx, 0) })
		add("DataReader.WaitForHistoricalData", func() any { return r.WaitForHistoricalData(ctx) })
		add("DataReader.Close", func() any { return r.Close() })
		add("DataReader.NewQueryCondition", func() any { return second(r.NewQueryCondition(0, 0, 0, "x = 1")) })
		add("DataReader.TopicDescription", func() any { return r.TopicDescription() })
		add("DataReader.Filtered", func() any { return r.Filtered() })
		add("DataReader.NewReadCondition", func() any { return r.NewReadCondition(0, 0, 0) })
		add("DataReader.Topic", func() any { return r.Topic() })
		add("DataReader.Handle", func() any { return r.Handle() })
		add("DataReader.Subscriber", func() any { return r.Subscriber() })
		add("DataReader.Qos", func() any { return r.Qos() })
		add("DataReader.TopicName", func() any { return r.TopicName() })
		add("DataReader.StatusCondition", func() any { return r.StatusCondition() })
		add("DataReader.StatusChanges", func() any { return r.StatusChanges() })
		add("DataReader.SubscriptionMatchedStatus", func() any { return r.SubscriptionMatchedStatus() })
		add("DataReader.RequestedIncompatibleQosStatus", func() any { return r.RequestedIncompatibleQosStatus() })
		add("DataReader.RequestedDeadlineMissedStatus", func() any { return r.RequestedDeadlineMissedStatus() })
		add("DataReader.SampleLostStatus", func() any { return r.SampleLostStatus() })
		add("DataReader.SampleRejectedStatus", func() any { return r.SampleRejectedStatus() })
		add("DataReader.LivelinessChangedStatus", func() any { return r.LivelinessChangedStatus() })
		add("DataReader.MatchedPublications", func() any { return r.MatchedPublications() })
	}
	for _, tp := range []*Topic[track]{nil, {}} {
		add("Topic.Close", func() any { return tp.Close() })
		add("Topic.Name", func() any { return tp.Name() })
		add("Topic.TypeName", func() any { return tp.TypeName() })
		add("Topic.Participant", func() any { return tp.Participant() })
		add("Topic.Qos", func() any { return tp.Qos() })
		add("Topic.LogDir", func() any { return tp.LogDir() })
		add("Topic.StatusCondition", func() any { return tp.StatusCondition() })
		add("Topic.InconsistentTopicStatus", func() any { return tp.InconsistentTopicStatus() })
	}
	for _, cf := range []*ContentFilteredTopic[track]{nil, {}} {
		add("ContentFilteredTopic.Close", func() any { return cf.Close() })
		add("ContentFilteredTopic.Name", func() any { return cf.Name() })
		add("ContentFilteredTopic.TypeName", func() any { return cf.TypeName() })
		add("ContentFilteredTopic.Participant", func() any { return cf.Participant() })
		add("ContentFilteredTopic.RelatedTopic", func() any { return cf.RelatedTopic() })
		add("ContentFilteredTopic.Expression", func() any { return cf.Expression() })
		add("ContentFilteredTopic.ExpressionParameters", func() any { return cf.ExpressionParameters() })
		add("ContentFilteredTopic.SetExpressionParameters", func() any { return cf.SetExpressionParameters() })
	}
	for _, p := range []*DomainParticipant{nil, {}} {
		add("DomainParticipant.NewPublisher", func() any { return second(p.NewPublisher()) })
		add("DomainParticipant.NewSubscriber", func() any { return second(p.NewSubscriber()) })
		add("DomainParticipant.Err", func() any { return p.Err() })
		add("DomainParticipant.ViewChangedStatus", func() any { return p.ViewChangedStatus() })
		add("DomainParticipant.StatusCondition", func() any { return p.StatusCondition() })
		add("DomainParticipant.StatusChanges", func() any { return p.StatusChanges() })
		add("DomainParticipant.WaitForDomain", func() any { return p.WaitForDomain(ctx) })
		add("DomainParticipant.AssertLiveliness", func() any { return p.AssertLiveliness() })
		add("DomainParticipant.Close", func() any { return p.Close() })
		add("DomainParticipant.Done", func() any { <-p.Done(); return nil })
		add("DomainParticipant.ID", func() any { return p.ID() })
		add("DomainParticipant.Name", func() any { return p.Name() })
		add("DomainParticipant.Handle", func() any { return p.Handle() })
		add("DomainParticipant.Qos", func() any { return p.Qos() })
		add("DomainParticipant.Settings", func() any { return p.Settings() })
	}
	for _, pub := range []*Publisher{nil, {}} {
		add("Publisher.WaitForAcknowledgments", func() any { return pub.WaitForAcknowledgments(ctx) })
		add("Publisher.BeginCoherentChanges", func() any { return pub.BeginCoherentChanges() })
		add("Publisher.EndCoherentChanges", func() any { return pub.EndCoherentChanges(ctx) })
		add("Publisher.SuspendPublications", func() any { return pub.SuspendPublications() })
		add("Publisher.ResumePublications", func() any { return pub.ResumePublications() })
		add("Publisher.Close", func() any { return pub.Close() })
		add("Publisher.Participant", func() any { return pub.Participant() })
		add("Publisher.Qos", func() any { return pub.Qos() })
	}
	for _, sub := range []*Subscriber{nil, {}} {
		add("Subscriber.BeginAccess", func() any { return sub.BeginAccess() })
		add("Subscriber.EndAccess", func() any { return sub.EndAccess() })
		add("Subscriber.Close", func() any { return sub.Close() })
		add("Subscriber.Participant", func() any { return sub.Participant() })
		add("Subscriber.Qos", func() any { return sub.Qos() })
		add("Subscriber.Readers", func() any { return sub.Readers(AnySampleState, AnyViewState, AnyInstanceState) })
	}
	for _, c := range []*StatusCondition{nil, {}} {
		add("StatusCondition.TriggerValue", func() any { return c.TriggerValue() })
		add("StatusCondition.Ready", func() any { return c.Ready() })
		add("StatusCondition.EnabledStatuses", func() any { return c.EnabledStatuses() })
		add("StatusCondition.SetEnabledStatuses", func() any { c.SetEnabledStatuses(AnyStatus); return nil })
	}
	for _, c := range []*ReadCondition{nil, {}} {
		add("ReadCondition.TriggerValue", func() any { return c.TriggerValue() })
		add("ReadCondition.Ready", func() any { return c.Ready() })
		add("ReadCondition.Close", func() any { return c.Close() })
	}
	for _, c := range []*QueryCondition{nil, {}} {
		add("QueryCondition.TriggerValue", func() any { return c.TriggerValue() })
		add("QueryCondition.Ready", func() any { return c.Ready() })
		add("QueryCondition.Close", func() any { return c.Close() })
		add("QueryCondition.Query", func() any { return c.Query() })
		add("QueryCondition.QueryParameters", func() any { return c.QueryParameters() })
		add("QueryCondition.SetQueryParameters", func() any { return c.SetQueryParameters() })
	}
	var guard *GuardCondition
	add("GuardCondition.TriggerValue", func() any { return guard.TriggerValue() })
	add("GuardCondition.Ready", func() any { return guard.Ready() })
	add("GuardCondition.SetTriggerValue", func() any { guard.SetTriggerValue(true); return nil })
	var ws *WaitSet
	add("WaitSet.Attach", func() any { return ws.Attach(new(GuardCondition)) })
	add("WaitSet.Detach", func() any { return ws.Detach(new(GuardCondition)) })
	add("WaitSet.Wait", func() any { return second(ws.Wait(ctx)) })
	add("WaitSet.Conditions", func() any { return ws.Conditions() })
	for _, l := range []*Loan{nil, {}} {
		add("Loan.Publish", func() any { return l.Publish(8) })
		add("Loan.Discard", func() any { return l.Discard() })
		add("Loan.Bytes", func() any { return l.Bytes() })
		add("Loan.At", func() any { return l.At(time.Now()) })
	}
	for _, s := range []*Samples[track]{nil, {}} {
		add("Samples.Len", func() any { return s.Len() })
		add("Samples.At", func() any { x := s.At(0); return x.Data() })
		add("Samples.All", func() any {
			for range s.All() {
				return "a sample"
			}
			return nil
		})
		add("Samples.Close", func() any { s.Close(); return nil })
	}
	for _, s := range []*Sample[track]{{}, {Info: SampleInfo{ValidData: true}}} {
		add("Sample.Data", func() any { return s.Data() })
		add("Sample.Err", func() any { return s.Err() })
		add("Sample.Encoded", func() any { return s.Encoded() })
	}
	var sample *Sample[track]
	add("Sample.Data", func() any { return sample.Data() })
	add("Sample.Err", func() any { return sample.Err() })
	add("Sample.Encoded", func() any { return sample.Encoded() })
	lent := &LoanedSamples{}
	add("LoanedSamples.Len", func() any { return lent.Len() })
	add("LoanedSamples.Info", func() any { return *lent.Info(3) })
	add("LoanedSamples.Encoded", func() any { return lent.Encoded(-1) })
	add("LoanedSamples.All", func() any {
		for range lent.All() {
			return "a sample"
		}
		return nil
	})
	add("LoanedSamples.Close", func() any { lent.Close(); return nil })
	return all
}

// What does not exist gives an error that says so, and zero values. Nothing panics.
func TestAbsentEntities(t *testing.T) {
	called := make(map[string]bool)
	for _, c := range callsOnAbsent() {
		called[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			var got any
			require.NotPanics(t, func() { got = c.call() })
			if err, ok := got.(error); ok {
				require.ErrorIs(t, err, ErrBadParameter)
				require.ErrorContains(t, err, "nil")
			} else if got != nil {
				v := reflect.ValueOf(got)
				require.True(t, v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0, "%#v", got)
			}
		})
	}
	for name, v := range map[string]any{
		"DataWriter": (*DataWriter[track])(nil), "DataReader": (*DataReader[track])(nil), "Topic": (*Topic[track])(nil),
		"ContentFilteredTopic": (*ContentFilteredTopic[track])(nil), "QueryCondition": (*QueryCondition)(nil),
		"DomainParticipant": (*DomainParticipant)(nil), "Publisher": (*Publisher)(nil), "Subscriber": (*Subscriber)(nil),
		"StatusCondition": (*StatusCondition)(nil), "ReadCondition": (*ReadCondition)(nil), "GuardCondition": (*GuardCondition)(nil),
		"WaitSet": (*WaitSet)(nil), "Loan": (*Loan)(nil), "Samples": (*Samples[track])(nil), "Sample": (*Sample[track])(nil),
		"LoanedSamples": (*LoanedSamples)(nil),
	} {
		for m := range reflect.TypeOf(v).Methods() {
			if called[name+"."+m.Name] {
				continue
			}
			for _, receiver := range []reflect.Value{reflect.ValueOf(v), reflect.New(reflect.TypeOf(v).Elem())} {
				t.Run(name+"."+m.Name, func(t *testing.T) { callOnAbsent(t, receiver.MethodByName(m.Name)) })
			}
		}
	}
}

// callOnAbsent calls a method with arguments that would do, were there an entity.
func callOnAbsent(t *testing.T, method reflect.Value) {
	var args []reflect.Value
	for in := range method.Type().Ins() {
		switch {
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(context.Background()))
		case in.Kind() == reflect.Pointer:
			args = append(args, reflect.New(in.Elem()))
		case in.Kind() != reflect.Slice || !method.Type().IsVariadic():
			args = append(args, reflect.Zero(in))
		}
	}
	var results []reflect.Value
	require.NotPanics(t, func() { results = method.Call(args) })
	for _, r := range results {
		if err, ok := r.Interface().(error); ok {
			require.ErrorIs(t, err, ErrBadParameter)
			require.ErrorContains(t, err, "nil")
			continue
		}
		require.False(t, r.Type() == reflect.TypeFor[error](), "it did nothing, and says nothing of it")
		require.True(t, r.IsZero() || r.Kind() == reflect.Slice && r.Len() == 0, "%#v", r)
	}
}

// Arguments that are nil, of entities that exist.
func TestNilArguments(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp := n.topic(t)
	w, r := n.writer(t, writerQos()), n.reader(t, readerQos())
	ctx := context.Background()
	var none context.Context
	second := func(_ any, err error) error { return err }
	foreign := struct{ Condition }{}

	for _, c := range []struct {
		name string
		err  func() error
		says string
	}{
		{"NewDomainParticipant ctx", func() error { return second(NewDomainParticipant(none, 0)) }, "ctx is nil"},
		{"NewDomainParticipant option", func() error { return second(NewDomainParticipant(ctx, 0, WithName("a"), nil)) }, "option 2 is nil"},
		{"NewPublisher option", func() error { return second(n.p.NewPublisher(nil)) }, "option 1 is nil"},
		{"NewSubscriber option", func() error { return second(n.p.NewSubscriber(nil)) }, "option 1 is nil"},
		{"NewTopic participant", func() error { return second(NewTopic[track](nil, "T")) }, "the participant is nil"},
		{"NewTopic participant", func() error { return second(NewTopic[track](new(DomainParticipant), "T")) }, "the participant is nil"},
		{"NewTopic option", func() error { return second(NewTopic[track](n.p, "T", nil)) }, "option 1 is nil"},
		{"NewTopic type", func() error { return second(NewTopic[shapeless](n.p, "T")) }, "CDRType"},
		{"NewDataWriter publisher", func() error { return second(NewDataWriter(nil, tp)) }, "the publisher is nil"},
		{"NewDataWriter publisher", func() error { return second(NewDataWriter(new(Publisher), tp)) }, "the publisher is nil"},
		{"NewDataWriter topic", func() error { return second(NewDataWriter[track](n.pub, nil)) }, "the topic is nil"},
		{"NewDataWriter topic", func() error { return second(NewDataWriter(n.pub, new(Topic[track]))) }, "the topic is nil"},
		{"NewDataWriter option", func() error { return second(NewDataWriter(n.pub, tp, FromTopicQos(), nil)) }, "option 2 is nil"},
		{"NewDataReader subscriber", func() error { return second(NewDataReader(nil, tp)) }, "the subscriber is nil"},
		{"NewDataReader subscriber", func() error { return second(NewDataReader(new(Subscriber), tp)) }, "the subscriber is nil"},
		{"NewDataReader topic", func() error { return second(NewDataReader[track](n.sub, nil)) }, "the topic is nil"},
		{"NewDataReader topic", func() error { return second(NewDataReader(n.sub, new(Topic[track]))) }, "the topic is nil"},
		{"NewDataReader option", func() error { return second(NewDataReader(n.sub, tp, nil)) }, "option 1 is nil"},
		{"Write ctx", func() error { return w.Write(none, &track{}) }, "ctx is nil"},
		{"Write sample", func() error { return w.Write(ctx, nil) }, "the sample is nil"},
		{"Register ctx", func() error { return second(w.Register(none, &track{})) }, "ctx is nil"},
		{"Register key", func() error { return second(w.Register(ctx, nil)) }, "the key is nil"},
		{"Dispose ctx", func() error { return w.Dispose(none, &track{}) }, "ctx is nil"},
		{"Dispose key", func() error { return w.Dispose(ctx, nil) }, "the key is nil"},
		{"Unregister ctx", func() error { return w.Unregister(none, &track{}) }, "ctx is nil"},
		{"Unregister key", func() error { return w.Unregister(ctx, nil) }, "the key is nil"},
		{"Loan ctx", func() error { return second(w.Loan(none, 100)) }, "ctx is nil"},
		{"DataWriter.LookupInstance key", func() error { return second(w.LookupInstance(nil)) }, "the key is nil"},
		{"DataWriter.WaitForMatch ctx", func() error { return w.WaitForMatch(none, 9) }, "ctx is nil"},
		{"DataWriter.WaitForAcknowledgments ctx", func() error { return w.WaitForAcknowledgments(none) }, "ctx is nil"},
		{"Publisher.WaitForAcknowledgments ctx", func() error { return n.pub.WaitForAcknowledgments(none) }, "ctx is nil"},
		{"DataReader.WaitForMatch ctx", func() error { return r.WaitForMatch(none, 9) }, "ctx is nil"},
		{"DomainParticipant.WaitForDomain ctx", func() error { return n.p.WaitForDomain(none) }, "ctx is nil"},
		{"DataReader.WaitForHistoricalData ctx", func() error { return r.WaitForHistoricalData(none) }, "ctx is nil"},
		{"DataReader.LookupInstance key", func() error { return second(r.LookupInstance(nil)) }, "the key is nil"},
		{"Stream ctx", func() error {
			for _, err := range r.Stream(none) {
				return err
			}
			return nil
		}, "ctx is nil"},
		{"WaitSet.Wait ctx", func() error { return second(NewWaitSet().Wait(none)) }, "ctx is nil"},
		{"WaitSet.Attach", func() error { return NewWaitSet().Attach(nil) }, "the condition is nil"},
		{"WaitSet.Attach guard", func() error { return NewWaitSet().Attach((*GuardCondition)(nil)) }, "the GuardCondition is nil"},
		{"WaitSet.Attach status", func() error { return NewWaitSet().Attach((*StatusCondition)(nil)) }, "the StatusCondition is nil"},
		{"WaitSet.Attach read", func() error { return NewWaitSet().Attach(new(ReadCondition)) }, "the ReadCondition is nil"},
		{"WaitSet.Attach foreign", func() error { return NewWaitSet().Attach(foreign) }, "did not make"},
		{"NewWaitSet", func() error { return second(NewWaitSet(r.StatusCondition(), nil).Wait(ctx)) }, "the condition is nil"},
		{"WaitSet.Detach", func() error { return NewWaitSet().Detach(nil) }, "the condition is nil"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			require.NotPanics(t, func() { err = c.err() })
			require.ErrorIs(t, err, ErrBadParameter)
			require.ErrorContains(t, err, c.says)
		})
	}
	var nothing *Error
	require.NotPanics(t, func() { _ = fmt.Sprint(nothing.Error(), errors.Is(nothing, ErrTimeout), ReturnCodeOf(nothing)) })
}

// shapeless is a type that nobody generated.
type shapeless struct{ note }

func (*shapeless) CDRType() *cdr.TypeInfo { return nil }

// A nil listener, and one without functions, hear nothing and harm nothing.
func TestNilListeners(t *testing.T) {
	d := onBus(t)
	n := d.node(t, WithParticipantListener(ParticipantListener{}))
	pub, err := n.p.NewPublisher(WithPublisherListener(PublisherListener{}))
	require.NoError(t, err)
	sub, err := n.p.NewSubscriber(WithSubscriberListener(SubscriberListener{}))
	require.NoError(t, err)
	for i, l := range []*DataWriterListener[track]{nil, {}} {
		tp, err := NewTopic[track](n.p, fmt.Sprint("T", i), WithTopicListener(nil))
		require.NoError(t, err)
		w, err := NewDataWriter(pub, tp, WithWriterListener(l))
		require.NoError(t, err)
		r, err := NewDataReader(sub, tp, WithReaderListener[track](nil), WithReaderQos(readerQos()))
		require.NoError(t, err)
		_, err = NewDataReader(sub, tp, WithReaderListener(&DataReaderListener[track]{}))
		require.NoError(t, err)
		write(t, w, 1, 1)
		require.Equal(t, "1:1", values(t, r, 1))
	}
}

// A zero WaitSet is an empty one.
func TestZeroWaitSet(t *testing.T) {
	var ws WaitSet
	var guard GuardCondition
	require.NoError(t, ws.Attach(&guard))
	guard.SetTriggerValue(true)
	active, err := ws.Wait(patiently(t))
	require.NoError(t, err)
	require.Equal(t, []Condition{&guard}, active)
}

// A Topic that was closed makes nothing any more.
func TestClosedTopic(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	tp := n.topic(t)
	require.NoError(t, tp.Close())
	_, err := NewDataWriter(n.pub, tp)
	require.ErrorIs(t, err, ErrAlreadyDeleted)
	_, err = NewDataReader(n.sub, tp, WithReaderQos(qos.DefaultDataReader()))
	require.ErrorIs(t, err, ErrAlreadyDeleted)
}
