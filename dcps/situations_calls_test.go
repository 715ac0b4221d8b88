package dcps

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// callInSituationOf is one call of the API.
type callInSituationOf struct {
	name   string
	within time.Duration
	closes bool // it is Close of something
	call   func(s *scene, ctx context.Context) error
}

// callsInSituations are all calls that may have an error, or wait for something, and all others together.
func callsInSituations() []callInSituationOf {
	var all []callInSituationOf
	add := func(name string, within time.Duration, call func(s *scene, ctx context.Context) error) {
		all = append(all, callInSituationOf{name: name, within: within, call: call})
	}
	closes := func(name string, call func(s *scene) error) {
		all = append(all, callInSituationOf{name: name, within: agreed, closes: true, call: func(s *scene, _ context.Context) error { return call(s) }})
	}
	second := func(_ any, err error) error { return err }
	key := &track{ID: 1}

	add("DomainParticipant.Enable", ofCtx, func(s *scene, ctx context.Context) error { return s.n.p.Enable(ctx) })
	add("DomainParticipant.WaitForDomain", ofCtx, func(s *scene, ctx context.Context) error { return s.n.p.WaitForDomain(ctx) })
	add("DomainParticipant.Err", 0, func(s *scene, _ context.Context) error { return s.n.p.Err() })
	add("DomainParticipant.NewPublisher", 0, func(s *scene, _ context.Context) error { return second(s.n.p.NewPublisher()) })
	add("DomainParticipant.NewSubscriber", 0, func(s *scene, _ context.Context) error { return second(s.n.p.NewSubscriber()) })
	add("DomainParticipant.AssertLiveliness", soon, func(s *scene, _ context.Context) error { return s.n.p.AssertLiveliness() })
	add("DomainParticipant.DiscoveredParticipants", 0, func(s *scene, _ context.Context) error { return second(s.n.p.DiscoveredParticipants()) })
	add("DomainParticipant.DiscoveredTopics", 0, func(s *scene, _ context.Context) error { return second(s.n.p.DiscoveredTopics()) })
	add("DomainParticipant.IgnoreParticipant", agreed, func(s *scene, _ context.Context) error { return s.n.p.IgnoreParticipant(s.peer.p.Handle()) })
	add("DomainParticipant.IgnoreTopic", agreed, func(s *scene, _ context.Context) error { return s.n.p.IgnoreTopic(s.tp.Handle()) })
	add("DomainParticipant.IgnorePublication", agreed, func(s *scene, _ context.Context) error {
		return s.n.p.IgnorePublication(LookupDataWriter[track](s.peer.pub, "Track").Handle())
	})
	add("DomainParticipant.IgnoreSubscription", agreed, func(s *scene, _ context.Context) error {
		return s.n.p.IgnoreSubscription(LookupDataReader[track](s.peer.sub, "Track").Handle())
	})
	add("DomainParticipant.SetQos", agreed, func(s *scene, _ context.Context) error {
		q := s.n.p.Qos()
		q.UserData = otherData()
		return s.n.p.SetQos(q)
	})
	add("DomainParticipant.SetListener", 0, func(s *scene, _ context.Context) error { return s.n.p.SetListener(ParticipantListener{}, AnyStatus) })
	add("DomainParticipant.SetDefaultPublisherQos", 0, func(s *scene, _ context.Context) error {
		return s.n.p.SetDefaultPublisherQos(s.n.p.DefaultPublisherQos())
	})
	add("DomainParticipant.SetDefaultSubscriberQos", 0, func(s *scene, _ context.Context) error {
		return s.n.p.SetDefaultSubscriberQos(s.n.p.DefaultSubscriberQos())
	})
	add("DomainParticipant.SetDefaultTopicQos", 0, func(s *scene, _ context.Context) error {
		return s.n.p.SetDefaultTopicQos(s.n.p.DefaultTopicQos())
	})
	closes("DomainParticipant.Close", func(s *scene) error { return s.n.p.Close() })

	add("NewTopic", 0, func(s *scene, _ context.Context) error { return second(NewTopic[track](s.n.p, "Other")) })
	add("FindTopic", ofCtx, func(s *scene, ctx context.Context) error {
		return second(FindTopic[track](ctx, s.n.p, "Nobody has it"))
	})
	add("FindTopic known", ofCtx, func(s *scene, ctx context.Context) error { return second(FindTopic[track](ctx, s.n.p, "Track")) })
	add("LookupTopic", 0, func(s *scene, _ context.Context) error { return second(LookupTopic[track](s.n.p, "Track")) })
	add("LookupContentFilteredTopic", 0, func(s *scene, _ context.Context) error {
		return second(LookupContentFilteredTopic[track](s.n.p, "Filtered"))
	})
	add("NewContentFilteredTopic", 0, func(s *scene, _ context.Context) error {
		return second(NewContentFilteredTopic(s.tp, "Another", "value > 1"))
	})
	add("NewDynamicMultiTopic", agreed, func(s *scene, _ context.Context) error {
		m, err := NewDynamicMultiTopic(s.n.p, "Multi", "Multi", "SELECT id, value FROM Track")
		if err != nil {
			return err
		}
		r, err := NewDataReader(s.n.sub, m, WithReaderQos(readerQos()))
		if err != nil {
			return err
		}
		return r.Close()
	})
	add("Topic.Enable", 0, func(s *scene, _ context.Context) error { return s.tp.Enable() })
	add("Topic.SetQos", 2*agreed, func(s *scene, _ context.Context) error {
		q := s.tp.Qos()
		q.TopicData.Value = []byte("other")
		return s.tp.SetQos(q)
	})
	add("Topic.SetListener", 0, func(s *scene, _ context.Context) error { return s.tp.SetListener(&TopicListener{}, AnyStatus) })
	closes("Topic.Close", func(s *scene) error { return s.tp.Close() })
	add("ContentFilteredTopic.SetExpressionParameters", agreed, func(s *scene, _ context.Context) error { return s.cf.SetExpressionParameters() })
	closes("ContentFilteredTopic.Close", func(s *scene) error { return s.cf.Close() })

	add("Publisher.Enable", agreed, func(s *scene, _ context.Context) error { return s.n.pub.Enable() })
	add("Publisher.BeginCoherentChanges", 0, func(s *scene, _ context.Context) error { return s.n.pub.BeginCoherentChanges() })
	add("Publisher.EndCoherentChanges", ofCtx, func(s *scene, ctx context.Context) error { return s.n.pub.EndCoherentChanges(ctx) })
	add("Publisher.SuspendPublications", 0, func(s *scene, _ context.Context) error { return s.n.pub.SuspendPublications() })
	add("Publisher.ResumePublications", 0, func(s *scene, _ context.Context) error { return s.n.pub.ResumePublications() })
	add("Publisher.WaitForAcknowledgments", ofCtx, func(s *scene, ctx context.Context) error { return s.n.pub.WaitForAcknowledgments(ctx) })
	add("Publisher.SetQos", agreed, func(s *scene, _ context.Context) error {
		q := s.n.pub.Qos()
		q.GroupData.Value = []byte("other")
		return s.n.pub.SetQos(q)
	})
	add("Publisher.SetListener", 0, func(s *scene, _ context.Context) error { return s.n.pub.SetListener(PublisherListener{}, AnyStatus) })
	add("Publisher.SetDefaultDataWriterQos", 0, func(s *scene, _ context.Context) error {
		return s.n.pub.SetDefaultDataWriterQos(qos.DefaultDataWriter())
	})
	closes("Publisher.Close", func(s *scene) error { return s.n.pub.Close() })

	add("Subscriber.Enable", agreed, func(s *scene, _ context.Context) error { return s.n.sub.Enable() })
	add("Subscriber.BeginAccess", 0, func(s *scene, _ context.Context) error { return s.n.sub.BeginAccess() })
	add("Subscriber.EndAccess", 0, func(s *scene, _ context.Context) error { return s.n.sub.EndAccess() })
	add("Subscriber.NotifyDataReaders", 0, func(s *scene, _ context.Context) error { return s.n.sub.NotifyDataReaders() })
	add("Subscriber.SetQos", agreed, func(s *scene, _ context.Context) error {
		q := s.n.sub.Qos()
		q.GroupData.Value = []byte("other")
		return s.n.sub.SetQos(q)
	})
	add("Subscriber.SetListener", 0, func(s *scene, _ context.Context) error { return s.n.sub.SetListener(SubscriberListener{}, AnyStatus) })
	add("Subscriber.SetDefaultDataReaderQos", 0, func(s *scene, _ context.Context) error {
		return s.n.sub.SetDefaultDataReaderQos(qos.DefaultDataReader())
	})
	closes("Subscriber.Close", func(s *scene) error { return s.n.sub.Close() })

	add("NewDataWriter", agreed, func(s *scene, _ context.Context) error {
		return second(NewDataWriter(s.n.pub, s.tp, WithWriterQos(s.w.Qos())))
	})
	add("DataWriter.Enable", agreed, func(s *scene, _ context.Context) error { return s.w.Enable() })
	add("DataWriter.Write", ofCtx, func(s *scene, ctx context.Context) error { return s.w.Write(ctx, &track{ID: 1, Value: 3}) })
	add("DataWriter.Register", ofCtx, func(s *scene, ctx context.Context) error { return second(s.w.Register(ctx, key)) })
	add("DataWriter.Dispose", ofCtx, func(s *scene, ctx context.Context) error { return s.w.Dispose(ctx, key) })
	add("DataWriter.Unregister", ofCtx, func(s *scene, ctx context.Context) error { return s.w.Unregister(ctx, key) })
	add("DataWriter.LookupInstance", 0, func(s *scene, _ context.Context) error { return second(s.w.LookupInstance(key)) })
	add("DataWriter.KeyValue", 0, func(s *scene, _ context.Context) error {
		h, _ := s.w.LookupInstance(key)
		return second(s.w.KeyValue(h))
	})
	add("DataWriter.Loan", ofCtx, func(s *scene, ctx context.Context) error {
		l, err := s.w.Loan(ctx, 64)
		if err != nil {
			return err
		}
		return errors.Join(l.At(time.Now()), l.Publish(16))
	})
	add("DataWriter.WaitForMatch", ofCtx, func(s *scene, ctx context.Context) error { return s.w.WaitForMatch(ctx, 9) })
	add("DataWriter.WaitForAcknowledgments", ofCtx, func(s *scene, ctx context.Context) error { return s.w.WaitForAcknowledgments(ctx) })
	add("DataWriter.WaitForStable", ofCtx, func(s *scene, ctx context.Context) error { return s.w.WaitForStable(ctx) })
	add("DataWriter.WaitForDurable", ofCtx, func(s *scene, ctx context.Context) error { return s.w.WaitForDurable(ctx) })
	add("DataWriter.StableStatus", 0, func(s *scene, _ context.Context) error { s.w.StableStatus(); return nil })
	add("DataWriter.AssertLiveliness", soon, func(s *scene, _ context.Context) error { return s.w.AssertLiveliness() })
	add("DataWriter.MatchedSubscriptionData", 0, func(s *scene, _ context.Context) error {
		return second(s.w.MatchedSubscriptionData(LookupDataReader[track](s.peer.sub, "Track").Handle()))
	})
	add("DataWriter.SetQos", agreed, func(s *scene, _ context.Context) error {
		q := s.w.Qos()
		q.UserData = otherData()
		return s.w.SetQos(q)
	})
	add("DataWriter.SetListener", 0, func(s *scene, _ context.Context) error {
		return s.w.SetListener(&DataWriterListener[track]{OnStable: func(*DataWriter[track], StableStatus) {}}, AnyStatus)
	})
	closes("DataWriter.Close", func(s *scene) error { return s.w.Close() })
	add("Loan.Publish", ofCtx, func(s *scene, _ context.Context) error {
		if s.loan.of == nil {
			return nil
		}
		return s.loan.Publish(16)
	})
	add("Loan.Discard", 0, func(s *scene, _ context.Context) error {
		if s.loan.of == nil {
			return nil
		}
		return s.loan.Discard()
	})

	add("NewDataReader", agreed, func(s *scene, _ context.Context) error {
		return second(NewDataReader(s.n.sub, s.cf, WithReaderQos(s.r.Qos())))
	})
	add("DataReader.Enable", agreed, func(s *scene, _ context.Context) error { return s.r.Enable() })
	add("DataReader.Read", 0, func(s *scene, _ context.Context) error {
		got, err := s.r.Read()
		got.Close()
		return err
	})
	add("DataReader.Take", 0, func(s *scene, _ context.Context) error {
		got, err := s.r.Take(When(s.rc))
		got.Close()
		return err
	})
	add("DataReader.ReadLoan", 0, func(s *scene, _ context.Context) error {
		got, err := s.r.ReadLoan()
		got.Close()
		return err
	})
	add("DataReader.TakeLoan", 0, func(s *scene, _ context.Context) error {
		got, err := s.r.TakeLoan(When(s.qc))
		got.Close()
		return err
	})
	add("DataReader.Stream", ofCtx, func(s *scene, ctx context.Context) error {
		for _, err := range s.r.Stream(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	add("DataReader.LookupInstance", 0, func(s *scene, _ context.Context) error { return second(s.r.LookupInstance(key)) })
	add("DataReader.KeyValue", 0, func(s *scene, _ context.Context) error {
		h, _ := s.w.LookupInstance(key)
		return second(s.r.KeyValue(h))
	})
	add("DataReader.WaitForMatch", ofCtx, func(s *scene, ctx context.Context) error { return s.r.WaitForMatch(ctx, 9) })
	add("DataReader.WaitForHistoricalData", ofCtx, func(s *scene, ctx context.Context) error { return s.r.WaitForHistoricalData(ctx) })
	add("DataReader.MatchedPublicationData", 0, func(s *scene, _ context.Context) error {
		return second(s.r.MatchedPublicationData(LookupDataWriter[track](s.peer.pub, "Track").Handle()))
	})
	add("DataReader.NewQueryCondition", 0, func(s *scene, _ context.Context) error {
		return second(s.r.NewQueryCondition(0, 0, 0, "value > 1"))
	})
	add("DataReader.SetQos", agreed, func(s *scene, _ context.Context) error {
		q := s.r.Qos()
		q.UserData = otherData()
		return s.r.SetQos(q)
	})
	add("DataReader.SetListener", 0, func(s *scene, _ context.Context) error {
		return s.r.SetListener(&DataReaderListener[track]{OnDataAvailable: func(*DataReader[track]) {}}, AnyStatus)
	})
	closes("DataReader.Close", func(s *scene) error { return s.r.Close() })

	closes("ReadCondition.Close", func(s *scene) error { return s.rc.Close() })
	closes("QueryCondition.Close", func(s *scene) error { return s.qc.Close() })
	add("QueryCondition.SetQueryParameters", 0, func(s *scene, _ context.Context) error { return s.qc.SetQueryParameters("2") })
	add("WaitSet.Wait", ofCtx, func(s *scene, ctx context.Context) error {
		s.r.StatusCondition().SetEnabledStatuses(SampleRejectedStatusBit)
		s.w.StatusCondition().SetEnabledStatuses(OfferedDeadlineMissedStatusBit)
		all := []Condition{s.r.StatusCondition(), s.w.StatusCondition(), s.qc, &s.guard, s.n.sub.StatusCondition()}
		for _, c := range all {
			if err := s.ws.Attach(c); err != nil {
				return err
			}
		}
		err := second(s.ws.Wait(ctx))
		for _, c := range all {
			err = errors.Join(err, s.ws.Detach(c))
		}
		return err
	})
	add("what only looks", 0, func(s *scene, _ context.Context) error {
		for _, of := range []any{s.n.p, s.n.pub, s.n.sub, s.tp, s.cf, s.w, s.r, s.rc, s.qc, s.r.StatusCondition(), s.ws, s.lent} {
			look(of)
		}
		return nil
	})
	return all
}

// looking are the methods that tell of something, take nothing, and have no error.
func looking(of any) (names []string) {
	for m := range reflect.TypeOf(of).Methods() {
		f := m.Type
		if f.NumIn() == 1 && f.NumOut() > 0 && f.Out(f.NumOut()-1) != reflect.TypeFor[error]() {
			names = append(names, m.Name)
		}
	}
	return names
}

func look(of any) {
	for _, name := range looking(of) {
		reflect.ValueOf(of).MethodByName(name).Call(nil)
	}
}

// None is forgotten.
func TestSituationsHaveAllCalls(t *testing.T) {
	var known []string
	for _, c := range callsInSituations() {
		known = append(known, strings.Fields(c.name)[0])
	}
	other := []string{ // that can neither wait nor fail
		"ContainsEntity", "NewReadCondition", "Readers", "TriggerValue", "SetEnabledStatuses", "Attach", "Detach", "Info", "Encoded",
	}
	for name, of := range map[string]any{
		"DomainParticipant": new(DomainParticipant), "Publisher": new(Publisher), "Subscriber": new(Subscriber), "Topic": new(Topic[track]),
		"ContentFilteredTopic": new(ContentFilteredTopic[track]), "DataWriter": new(DataWriter[track]), "DataReader": new(DataReader[track]),
		"ReadCondition": new(ReadCondition), "QueryCondition": new(QueryCondition), "StatusCondition": new(StatusCondition), "WaitSet": new(WaitSet),
	} {
		looks := looking(of)
		for m := range reflect.TypeOf(of).Methods() {
			if !slices.Contains(looks, m.Name) && !slices.Contains(other, m.Name) {
				require.Contains(t, known, name+"."+m.Name)
			}
		}
	}
}
