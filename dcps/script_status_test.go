package dcps

import (
	"fmt"
	"strings"

	"github.com/omg-dds-go/dds/internal/datadriven"
	"github.com/stretchr/testify/require"
)

// line collects the figures of an entity; those that are mostly nothing are left out when they are.
type line struct{ words []string }

func (l *line) put(format string, args ...any) {
	l.words = append(l.words, fmt.Sprintf(format, args...))
}

func (l *line) unless0(name string, n int32) {
	if n != 0 {
		l.put("%s=%d", name, n)
	}
}

func (s *script) status(args []datadriven.Arg) error {
	name := args[0].Key
	l := &line{words: []string{name}}
	var details []Incompatibility
	switch {
	case s.readers[name] != nil:
		r := s.readers[name]
		m, alive := r.SubscriptionMatchedStatus(), r.LivelinessChangedStatus()
		l.put("matched=%d/%d alive=%d", m.CurrentCount, m.TotalCount, alive.AliveCount)
		l.unless0("not-alive", alive.NotAliveCount)
		rejected := r.SampleRejectedStatus()
		l.put("lost=%d rejected=%d", r.SampleLostStatus().TotalCount, rejected.TotalCount)
		if rejected.TotalCount > 0 {
			l.put("%v", rejected.LastReason)
		}
		if missed := r.RequestedDeadlineMissedStatus(); missed.TotalCount > 0 {
			l.put("missed=%d last=%s", missed.TotalCount, s.idOf(r.KeyValue, missed.LastInstanceHandle))
		}
		if f := r.Filtered(); f > 0 {
			l.put("filtered=%d", f)
		}
		details = r.RequestedIncompatibleQosStatus().Details
	case s.writers[name] != nil:
		w := s.writers[name]
		m := w.PublicationMatchedStatus()
		l.put("matched=%d/%d", m.CurrentCount, m.TotalCount)
		l.unless0("liveliness-lost", w.LivelinessLostStatus().TotalCount)
		if missed := w.OfferedDeadlineMissedStatus(); missed.TotalCount > 0 {
			l.put("missed=%d last=%s", missed.TotalCount, s.idOf(w.KeyValue, missed.LastInstanceHandle))
		}
		details = w.OfferedIncompatibleQosStatus().Details
	default:
		l.put("inconsistent=%d", thing(s, "entity", s.topics, args, 0).InconsistentTopicStatus().TotalCount)
	}
	s.printf("%s", strings.Join(l.words, " "))
	for _, d := range details {
		s.printf("%s %v offered=%s requested=%s", name, d.Policy, d.Offered, d.Requested)
	}
	return nil
}

// idOf gives the key of an instance, "?" if it is not known any more.
func (s *script) idOf(keyValue func(InstanceHandle) (*track, error), h InstanceHandle) string {
	x, err := keyValue(h)
	if err != nil {
		return "?"
	}
	return itoa(x.ID)
}

var statusNames = map[StatusMask]string{
	InconsistentTopicStatusBit: "INCONSISTENT_TOPIC", OfferedDeadlineMissedStatusBit: "OFFERED_DEADLINE_MISSED",
	RequestedDeadlineMissedStatusBit: "REQUESTED_DEADLINE_MISSED", OfferedIncompatibleQosStatusBit: "OFFERED_INCOMPATIBLE_QOS",
	RequestedIncompatibleQosStatusBit: "REQUESTED_INCOMPATIBLE_QOS", SampleLostStatusBit: "SAMPLE_LOST", SampleRejectedStatusBit: "SAMPLE_REJECTED",
	DataOnReadersStatusBit: "DATA_ON_READERS", DataAvailableStatusBit: "DATA_AVAILABLE", LivelinessLostStatusBit: "LIVELINESS_LOST",
	LivelinessChangedStatusBit: "LIVELINESS_CHANGED", PublicationMatchedStatusBit: "PUBLICATION_MATCHED", SubscriptionMatchedStatusBit: "SUBSCRIPTION_MATCHED",
}

func (s *script) changes(args []datadriven.Arg) error {
	name := args[0].Key
	l := &line{words: []string{name}}
	var mask StatusMask
	switch {
	case s.readers[name] != nil:
		mask = s.readers[name].StatusChanges()
	case s.writers[name] != nil:
		mask = s.writers[name].StatusChanges()
	default:
		mask = thing(s, "entity", s.subs, args, 0).StatusChanges()
	}
	for bit := StatusMask(1); bit < ViewChangedStatusBit; bit <<= 1 {
		if mask&bit != 0 {
			l.words = append(l.words, statusNames[bit])
		}
	}
	if r := s.readers[name]; r != nil {
		m, alive := r.SubscriptionMatchedStatus(), r.LivelinessChangedStatus()
		l.put("matched%+d/%+d alive%+d not-alive%+d lost%+d rejected%+d missed%+d incompatible%+d", m.CurrentCountChange, m.TotalCountChange,
			alive.AliveCountChange, alive.NotAliveCountChange, r.SampleLostStatus().TotalCountChange, r.SampleRejectedStatus().TotalCountChange,
			r.RequestedDeadlineMissedStatus().TotalCountChange, r.RequestedIncompatibleQosStatus().TotalCountChange)
	} else if w := s.writers[name]; w != nil {
		m := w.PublicationMatchedStatus()
		l.put("matched%+d/%+d liveliness-lost%+d missed%+d incompatible%+d", m.CurrentCountChange, m.TotalCountChange,
			w.LivelinessLostStatus().TotalCountChange, w.OfferedDeadlineMissedStatus().TotalCountChange, w.OfferedIncompatibleQosStatus().TotalCountChange)
	}
	s.printf("%s", strings.Join(l.words, " "))
	return nil
}

// hears makes a callback that notes what it is told.
func hears[E, S any](s *script, name string, bit StatusMask, text func(S) string) func(E, S) {
	return func(_ E, status S) { s.hear(name, bit, text(status)) }
}

func (s *script) hear(name string, bit StatusMask, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, strings.TrimSpace(fmt.Sprintf("%s hears %s %s", name, statusNames[bit], text)))
}

func (s *script) listen(args []datadriven.Arg) error {
	name := args[0].Key
	matched := func(m MatchedStatus) string { return fmt.Sprintf("%d/%d", m.CurrentCount, m.TotalCount) }
	missed := func(m DeadlineMissedStatus) string { return itoa(m.TotalCount) }
	incompatible := func(i IncompatibleQosStatus) string { return fmt.Sprintf("%d %v", i.TotalCount, i.LastPolicyID) }
	switch {
	case s.readers[name] != nil:
		return s.readers[name].SetListener(&DataReaderListener[track]{
			OnDataAvailable:            func(*DataReader[track]) { s.hear(name, DataAvailableStatusBit, "") },
			OnSubscriptionMatched:      hears[*DataReader[track]](s, name, SubscriptionMatchedStatusBit, matched),
			OnRequestedDeadlineMissed:  hears[*DataReader[track]](s, name, RequestedDeadlineMissedStatusBit, missed),
			OnRequestedIncompatibleQos: hears[*DataReader[track]](s, name, RequestedIncompatibleQosStatusBit, incompatible),
			OnLivelinessChanged: hears[*DataReader[track]](s, name, LivelinessChangedStatusBit, func(l LivelinessChangedStatus) string {
				return fmt.Sprintf("alive=%d not-alive=%d", l.AliveCount, l.NotAliveCount)
			}),
			OnSampleLost: hears[*DataReader[track]](s, name, SampleLostStatusBit, func(l SampleLostStatus) string { return itoa(l.TotalCount) }),
			OnSampleRejected: hears[*DataReader[track]](s, name, SampleRejectedStatusBit, func(l SampleRejectedStatus) string {
				return fmt.Sprintf("%d %v", l.TotalCount, l.LastReason)
			}),
		}, AnyStatus)
	case s.subs[name] != nil:
		return s.subs[name].SetListener(SubscriberListener{OnDataOnReaders: func(*Subscriber) { s.hear(name, DataOnReadersStatusBit, "") }}, AnyStatus)
	}
	w := s.writers[name]
	require.NotNil(s.t, w, "there is no reader, subscriber or writer %s", name)
	return w.SetListener(&DataWriterListener[track]{
		OnPublicationMatched:     hears[*DataWriter[track]](s, name, PublicationMatchedStatusBit, matched),
		OnOfferedDeadlineMissed:  hears[*DataWriter[track]](s, name, OfferedDeadlineMissedStatusBit, missed),
		OnOfferedIncompatibleQos: hears[*DataWriter[track]](s, name, OfferedIncompatibleQosStatusBit, incompatible),
		OnLivelinessLost:         hears[*DataWriter[track]](s, name, LivelinessLostStatusBit, func(l LivelinessLostStatus) string { return itoa(l.TotalCount) }),
	}, AnyStatus)
}
