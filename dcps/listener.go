package dcps

// Listeners are structs of functions; those that are nil are not called. A function that a DataReader's or
// DataWriter's listener leaves nil falls to that of its Subscriber or Publisher, then to its participant's (DDS 1.4
// §2.2.4.2.3). They run on a goroutine of the entity, one at a time, outside of all locks: they may call anything. What
// happens while one runs is reported together afterwards.

// DataReaderListener hears of changes at a DataReader.
type DataReaderListener[T any] struct {
	OnDataAvailable            func(r *DataReader[T])
	OnSubscriptionMatched      func(r *DataReader[T], s SubscriptionMatchedStatus)
	OnLivelinessChanged        func(r *DataReader[T], s LivelinessChangedStatus)
	OnRequestedDeadlineMissed  func(r *DataReader[T], s RequestedDeadlineMissedStatus)
	OnRequestedIncompatibleQos func(r *DataReader[T], s RequestedIncompatibleQosStatus)
	OnSampleLost               func(r *DataReader[T], s SampleLostStatus)
	OnSampleRejected           func(r *DataReader[T], s SampleRejectedStatus)
}

// DataWriterListener hears of changes at a DataWriter.
type DataWriterListener[T any] struct {
	OnPublicationMatched     func(w *DataWriter[T], s PublicationMatchedStatus)
	OnOfferedDeadlineMissed  func(w *DataWriter[T], s OfferedDeadlineMissedStatus)
	OnOfferedIncompatibleQos func(w *DataWriter[T], s OfferedIncompatibleQosStatus)
	OnLivelinessLost         func(w *DataWriter[T], s LivelinessLostStatus)
}

// AnyReaderListener hears of changes at the readers below a Subscriber or participant.
type AnyReaderListener struct {
	OnDataAvailable            func(r AnyDataReader)
	OnSubscriptionMatched      func(r AnyDataReader, s SubscriptionMatchedStatus)
	OnLivelinessChanged        func(r AnyDataReader, s LivelinessChangedStatus)
	OnRequestedDeadlineMissed  func(r AnyDataReader, s RequestedDeadlineMissedStatus)
	OnRequestedIncompatibleQos func(r AnyDataReader, s RequestedIncompatibleQosStatus)
	OnSampleLost               func(r AnyDataReader, s SampleLostStatus)
	OnSampleRejected           func(r AnyDataReader, s SampleRejectedStatus)
}

// AnyWriterListener hears of changes at the writers below a Publisher or participant.
type AnyWriterListener struct {
	OnPublicationMatched     func(w AnyDataWriter, s PublicationMatchedStatus)
	OnOfferedDeadlineMissed  func(w AnyDataWriter, s OfferedDeadlineMissedStatus)
	OnOfferedIncompatibleQos func(w AnyDataWriter, s OfferedIncompatibleQosStatus)
	OnLivelinessLost         func(w AnyDataWriter, s LivelinessLostStatus)
}

// SubscriberListener hears of changes at the readers of a Subscriber. OnDataOnReaders goes before OnDataAvailable:
// where it is set, no OnDataAvailable is called for these readers.
type SubscriberListener struct {
	OnDataOnReaders func(s *Subscriber)
	AnyReaderListener
}

// PublisherListener hears of changes at the writers of a Publisher.
type PublisherListener struct{ AnyWriterListener }

// ParticipantListener hears of changes anywhere in a participant.
type ParticipantListener struct {
	AnyReaderListener
	AnyWriterListener
	OnInconsistentTopic func(topicName string, s InconsistentTopicStatus)
	// OnViewChanged hears of processes that join, leave and fail, and of this one being cut off and back (extension).
	OnViewChanged func(p *DomainParticipant, s ViewChangedStatus)
}

// TopicListener hears of changes at a topic.
type TopicListener struct {
	OnInconsistentTopic func(topicName string, s InconsistentTopicStatus)
}

// readerCallbacks is a reader's listener without its type, parents included.
type readerCallbacks struct {
	dataAvailable  func()
	matched        func(SubscriptionMatchedStatus)
	liveliness     func(LivelinessChangedStatus)
	deadlineMissed func(RequestedDeadlineMissedStatus)
	incompatible   func(RequestedIncompatibleQosStatus)
	lost           func(SampleLostStatus)
	rejected       func(SampleRejectedStatus)
}

// choose binds the first of the functions that is set to the entity: the typed one, then those of the parents.
func choose[E any, S any, A any](entity E, own func(E, S), asAny A, parents ...func(A, S)) func(S) {
	if own != nil {
		return func(s S) { own(entity, s) }
	}
	for _, f := range parents {
		if f != nil {
			return func(s S) { f(asAny, s) }
		}
	}
	return nil
}

func (r *DataReader[T]) listenerCallbacks(l *DataReaderListener[T]) readerCallbacks {
	if l == nil {
		l = &DataReaderListener[T]{}
	}
	s, p := &r.sub.listener.AnyReaderListener, &r.p.listener.AnyReaderListener
	var a AnyDataReader = r
	c := readerCallbacks{
		matched:        choose(r, l.OnSubscriptionMatched, a, s.OnSubscriptionMatched, p.OnSubscriptionMatched),
		liveliness:     choose(r, l.OnLivelinessChanged, a, s.OnLivelinessChanged, p.OnLivelinessChanged),
		deadlineMissed: choose(r, l.OnRequestedDeadlineMissed, a, s.OnRequestedDeadlineMissed, p.OnRequestedDeadlineMissed),
		incompatible:   choose(r, l.OnRequestedIncompatibleQos, a, s.OnRequestedIncompatibleQos, p.OnRequestedIncompatibleQos),
		lost:           choose(r, l.OnSampleLost, a, s.OnSampleLost, p.OnSampleLost),
		rejected:       choose(r, l.OnSampleRejected, a, s.OnSampleRejected, p.OnSampleRejected),
	}
	switch {
	case r.sub.listener.OnDataOnReaders != nil:
	case l.OnDataAvailable != nil:
		c.dataAvailable = func() { l.OnDataAvailable(r) }
	case s.OnDataAvailable != nil:
		c.dataAvailable = func() { s.OnDataAvailable(r) }
	case p.OnDataAvailable != nil:
		c.dataAvailable = func() { p.OnDataAvailable(r) }
	}
	return c
}

// listenReader starts the reader's listener goroutine if anything is to be heard.
func (r *reader) listenReader(c readerCallbacks) {
	r.callbacks = c
	var mask StatusMask
	for _, l := range []struct {
		bit StatusMask
		set bool
	}{
		{DataAvailableStatusBit, c.dataAvailable != nil},
		{SubscriptionMatchedStatusBit, c.matched != nil},
		{LivelinessChangedStatusBit, c.liveliness != nil},
		{RequestedDeadlineMissedStatusBit, c.deadlineMissed != nil},
		{RequestedIncompatibleQosStatusBit, c.incompatible != nil},
		{SampleLostStatusBit, c.lost != nil},
		{SampleRejectedStatusBit, c.rejected != nil},
	} {
		if l.set {
			mask |= l.bit
		}
	}
	r.listen(mask, r.callListener)
}

// callListener reports what changed. A change is as good as looked at once the listener is called, as the standard
// wants it (§2.2.4.1).
func (r *reader) callListener() {
	r.lock()
	due := r.changed & r.listens
	r.changed &^= DataAvailableStatusBit & r.listens
	r.unlock()
	c := &r.callbacks
	if due&SubscriptionMatchedStatusBit != 0 {
		c.matched(r.SubscriptionMatchedStatus())
	}
	if due&LivelinessChangedStatusBit != 0 {
		c.liveliness(r.LivelinessChangedStatus())
	}
	if due&RequestedIncompatibleQosStatusBit != 0 {
		c.incompatible(r.RequestedIncompatibleQosStatus())
	}
	if due&RequestedDeadlineMissedStatusBit != 0 {
		c.deadlineMissed(r.RequestedDeadlineMissedStatus())
	}
	if due&SampleLostStatusBit != 0 {
		c.lost(r.SampleLostStatus())
	}
	if due&SampleRejectedStatusBit != 0 {
		c.rejected(r.SampleRejectedStatus())
	}
	if due&DataAvailableStatusBit != 0 {
		c.dataAvailable()
	}
}

type writerCallbacks struct {
	matched        func(PublicationMatchedStatus)
	deadlineMissed func(OfferedDeadlineMissedStatus)
	incompatible   func(OfferedIncompatibleQosStatus)
	lost           func(LivelinessLostStatus)
}

func (w *DataWriter[T]) listenerCallbacks(l *DataWriterListener[T]) writerCallbacks {
	if l == nil {
		l = &DataWriterListener[T]{}
	}
	s, p := &w.pub.listener.AnyWriterListener, &w.p.listener.AnyWriterListener
	var a AnyDataWriter = w
	return writerCallbacks{
		matched:        choose(w, l.OnPublicationMatched, a, s.OnPublicationMatched, p.OnPublicationMatched),
		deadlineMissed: choose(w, l.OnOfferedDeadlineMissed, a, s.OnOfferedDeadlineMissed, p.OnOfferedDeadlineMissed),
		incompatible:   choose(w, l.OnOfferedIncompatibleQos, a, s.OnOfferedIncompatibleQos, p.OnOfferedIncompatibleQos),
		lost:           choose(w, l.OnLivelinessLost, a, s.OnLivelinessLost, p.OnLivelinessLost),
	}
}

func (w *writer) listenWriter(c writerCallbacks) {
	w.callbacks = c
	var mask StatusMask
	if c.matched != nil {
		mask |= PublicationMatchedStatusBit
	}
	if c.deadlineMissed != nil {
		mask |= OfferedDeadlineMissedStatusBit
	}
	if c.incompatible != nil {
		mask |= OfferedIncompatibleQosStatusBit
	}
	if c.lost != nil {
		mask |= LivelinessLostStatusBit
	}
	w.listen(mask, w.callListener)
}

func (w *writer) callListener() {
	w.lock()
	due := w.changed & w.listens
	w.unlock()
	c := &w.callbacks
	if due&PublicationMatchedStatusBit != 0 {
		c.matched(w.PublicationMatchedStatus())
	}
	if due&OfferedIncompatibleQosStatusBit != 0 {
		c.incompatible(w.OfferedIncompatibleQosStatus())
	}
	if due&OfferedDeadlineMissedStatusBit != 0 {
		c.deadlineMissed(w.OfferedDeadlineMissedStatus())
	}
	if due&LivelinessLostStatusBit != 0 {
		c.lost(w.LivelinessLostStatus())
	}
}

func (t *topicEntity) listenTopic(l *TopicListener) {
	call := t.p.listener.OnInconsistentTopic
	if l != nil && l.OnInconsistentTopic != nil {
		call = l.OnInconsistentTopic
	}
	if call == nil {
		return
	}
	t.listen(InconsistentTopicStatusBit, func() {
		if s := t.inconsistentStatus(); s.TotalCountChange > 0 {
			call(t.name, s)
		}
	})
}

// listen starts the goroutine that calls OnDataOnReaders.
func (sub *Subscriber) listen() {
	call := sub.listener.OnDataOnReaders
	if call == nil {
		return
	}
	sub.onData = make(chan struct{}, 1)
	sub.p.spawn("dcps subscriber listener", func() {
		for {
			select {
			case <-sub.onData:
				call(sub)
			case <-sub.stop:
				return
			}
		}
	})
}

// dataOnReaders wakes OnDataOnReaders. It never blocks.
func (sub *Subscriber) dataOnReaders() {
	if sub.onData == nil {
		return
	}
	select {
	case sub.onData <- struct{}{}:
	default:
	}
}
