package dcps

import (
	"maps"
	"slices"
)

// Listeners are structs of functions; those that are nil are not called. A function that a DataReader's or
// DataWriter's listener leaves nil, or whose status is not in the mask of SetListener, falls to that of its Subscriber or
// Publisher, then to its participant's (DDS 1.4 §2.2.4.3.1); to have a status ignored, give a function that does nothing. They
// run on a goroutine of the entity, one at a time, outside of all locks: they may call anything, also close their entity. What
// happens while one runs is reported together afterwards. A listener that is set hears at once of what has changed and was
// not looked at.

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
	// OnStable hears of what is stable or durable by now (extension).
	OnStable func(w *DataWriter[T], s StableStatus)
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
	// OnStable hears of what is stable or durable by now (extension).
	OnStable func(w AnyDataWriter, s StableStatus)
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
	// OnDataOnReaders is for Subscribers whose own listener has none.
	OnDataOnReaders     func(s *Subscriber)
	OnInconsistentTopic func(topicName string, s InconsistentTopicStatus)
	// OnViewChanged hears of processes that join, leave and fail, and of this one being cut off and back (extension).
	OnViewChanged func(p *DomainParticipant, s ViewChangedStatus)
}

// TopicListener hears of changes at a topic.
type TopicListener struct {
	OnInconsistentTopic func(topicName string, s InconsistentTopicStatus)
}

// bound is a listener with the statuses that it is for.
type bound[L any] struct {
	l    L
	mask StatusMask
}

// readerCallbacks is a reader's listener without its type, parents included.
type readerCallbacks struct {
	dataAvailable  func()
	onReaders      bool // OnDataOnReaders is called in place of dataAvailable
	matched        func(SubscriptionMatchedStatus)
	liveliness     func(LivelinessChangedStatus)
	deadlineMissed func(RequestedDeadlineMissedStatus)
	incompatible   func(RequestedIncompatibleQosStatus)
	lost           func(SampleLostStatus)
	rejected       func(SampleRejectedStatus)
}

// maskFor is the mask of a listener that an entity is made with: all if there is one, and none otherwise.
func maskFor(given bool) StatusMask {
	if given {
		return AnyStatus
	}
	return 0
}

// heard are the functions of one level that a mask lets through.
func heard[E, S any](mask, bit StatusMask, f func(E, S)) func(E, S) {
	if mask&bit == 0 {
		return nil
	}
	return f
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

// SetListener sets what hears of the reader's statuses in mask (DDS: set_listener). Nil takes a listener away, and is
// one that does nothing: the statuses in mask are told to nobody, not to the listeners of the parents either, and stay
// changed (§2.2.4.2.1). With nil and 0 all goes to the parents.
func (r *DataReader[T]) SetListener(l *DataReaderListener[T], mask StatusMask) error {
	if u := r.untyped(); u == noReader {
		return u.deleted("SetListener")
	}
	r.setListener(l, mask)
	return nil
}

func (r *DataReader[T]) setListener(l *DataReaderListener[T], mask StatusMask) {
	r.p.listening.Lock()
	defer r.p.listening.Unlock()
	r.listener = l
	r.bind = func() readerCallbacks { return r.callbacksOf(l, mask) }
	r.relisten()
}

func (r *DataReader[T]) callbacksOf(l *DataReaderListener[T], mask StatusMask) readerCallbacks {
	sub, part := r.sub.listener, r.p.listener
	part.mask &^= r.sub.stops
	if l == nil {
		sub.mask, part.mask = sub.mask&^mask, part.mask&^mask
		l = new(DataReaderListener[T])
	}
	s, p := sub.l.AnyReaderListener, part.l.AnyReaderListener
	var a AnyDataReader = r
	const (
		matched, liveliness, incompatible = SubscriptionMatchedStatusBit, LivelinessChangedStatusBit, RequestedIncompatibleQosStatusBit
		deadline, lost, rejected          = RequestedDeadlineMissedStatusBit, SampleLostStatusBit, SampleRejectedStatusBit
	)
	c := readerCallbacks{
		matched: choose(r, heard(mask, matched, l.OnSubscriptionMatched), a,
			heard(sub.mask, matched, s.OnSubscriptionMatched), heard(part.mask, matched, p.OnSubscriptionMatched)),
		liveliness: choose(r, heard(mask, liveliness, l.OnLivelinessChanged), a,
			heard(sub.mask, liveliness, s.OnLivelinessChanged), heard(part.mask, liveliness, p.OnLivelinessChanged)),
		deadlineMissed: choose(r, heard(mask, deadline, l.OnRequestedDeadlineMissed), a,
			heard(sub.mask, deadline, s.OnRequestedDeadlineMissed), heard(part.mask, deadline, p.OnRequestedDeadlineMissed)),
		incompatible: choose(r, heard(mask, incompatible, l.OnRequestedIncompatibleQos), a,
			heard(sub.mask, incompatible, s.OnRequestedIncompatibleQos), heard(part.mask, incompatible, p.OnRequestedIncompatibleQos)),
		lost: choose(r, heard(mask, lost, l.OnSampleLost), a,
			heard(sub.mask, lost, s.OnSampleLost), heard(part.mask, lost, p.OnSampleLost)),
		rejected: choose(r, heard(mask, rejected, l.OnSampleRejected), a,
			heard(sub.mask, rejected, s.OnSampleRejected), heard(part.mask, rejected, p.OnSampleRejected)),
		onReaders: r.sub.onDataOnReaders() != nil,
	}
	const data = DataAvailableStatusBit
	switch {
	case mask&data != 0 && l.OnDataAvailable != nil:
		c.dataAvailable = func() { l.OnDataAvailable(r) }
	case sub.mask&data != 0 && s.OnDataAvailable != nil:
		c.dataAvailable = func() { s.OnDataAvailable(r) }
	case part.mask&data != 0 && p.OnDataAvailable != nil:
		c.dataAvailable = func() { p.OnDataAvailable(r) }
	}
	return c
}

// mask is what there is a callback for.
func (c *readerCallbacks) mask() StatusMask {
	return maskOf(
		heardOf{DataAvailableStatusBit, c.dataAvailable != nil && !c.onReaders},
		heardOf{SubscriptionMatchedStatusBit, c.matched != nil},
		heardOf{LivelinessChangedStatusBit, c.liveliness != nil},
		heardOf{RequestedDeadlineMissedStatusBit, c.deadlineMissed != nil},
		heardOf{RequestedIncompatibleQosStatusBit, c.incompatible != nil},
		heardOf{SampleLostStatusBit, c.lost != nil},
		heardOf{SampleRejectedStatusBit, c.rejected != nil},
	)
}

type heardOf struct {
	bit StatusMask
	set bool
}

func maskOf(all ...heardOf) StatusMask {
	var mask StatusMask
	for _, h := range all {
		if h.set {
			mask |= h.bit
		}
	}
	return mask
}

// relisten finds out anew who is told of what. Called with the participant's listening held.
func (r *reader) relisten() {
	if r.bind == nil {
		return // it is being made
	}
	c := r.bind()
	r.lock()
	defer r.unlock()
	r.callbacks = c
	r.hear(c.mask(), r.callListener)
}

// notifyData has OnDataAvailable called if there is data that was not looked at, also where OnDataOnReaders takes its place.
func (r *reader) notifyData() {
	r.lock()
	defer r.unlock()
	if r.callbacks.dataAvailable == nil || r.changed&DataAvailableStatusBit == 0 {
		return
	}
	r.notify = true
	r.startListener(r.callListener)
	r.wake()
}

// callListener reports what changed. A change is as good as looked at once the listener is called, as the standard
// wants it (§2.2.4.2.1 and 2).
func (r *reader) callListener() {
	r.lock()
	due, notified := r.changed&r.listens, r.notify
	if notified {
		due |= r.changed & DataAvailableStatusBit
	}
	r.notify = false
	r.unlock()
	if c, ok := r.hears(due, SubscriptionMatchedStatusBit, false); ok {
		c.matched(r.SubscriptionMatchedStatus())
	}
	if c, ok := r.hears(due, LivelinessChangedStatusBit, false); ok {
		c.liveliness(r.LivelinessChangedStatus())
	}
	if c, ok := r.hears(due, RequestedIncompatibleQosStatusBit, false); ok {
		c.incompatible(r.RequestedIncompatibleQosStatus())
	}
	if c, ok := r.hears(due, RequestedDeadlineMissedStatusBit, false); ok {
		c.deadlineMissed(r.RequestedDeadlineMissedStatus())
	}
	if c, ok := r.hears(due, SampleLostStatusBit, false); ok {
		c.lost(r.SampleLostStatus())
	}
	if c, ok := r.hears(due, SampleRejectedStatusBit, false); ok {
		c.rejected(r.SampleRejectedStatus())
	}
	if c, ok := r.hears(due, DataAvailableStatusBit, notified); ok && c.dataAvailable != nil {
		c.dataAvailable()
	}
}

// hears gives who is told of a status among those that were due; false if nobody is any more: a callback before may
// have closed the reader, looked at the status, or changed the listener. Who asks for DATA_AVAILABLE has looked at it.
func (r *reader) hears(due, bit StatusMask, notified bool) (c readerCallbacks, ok bool) {
	if due&bit == 0 {
		return c, false
	}
	r.lock()
	defer r.unlock()
	if r.closed || r.changed&bit == 0 || r.listens&bit == 0 && !notified {
		return c, false
	}
	if r.changed &^= bit & DataAvailableStatusBit; bit == DataAvailableStatusBit && r.callbacks.dataAvailable != nil {
		r.sub.dataRead() // as by a read (§2.2.4.2.2)
	}
	return r.callbacks, true
}

type writerCallbacks struct {
	matched        func(PublicationMatchedStatus)
	deadlineMissed func(OfferedDeadlineMissedStatus)
	incompatible   func(OfferedIncompatibleQosStatus)
	livelinessLost func(LivelinessLostStatus)
	stable         func(StableStatus)
}

// SetListener sets what hears of the writer's statuses in mask (DDS: set_listener). Nil takes a listener away, and is
// one that does nothing: the statuses in mask are told to nobody, not to the listeners of the parents either, and stay
// changed (§2.2.4.2.1). With nil and 0 all goes to the parents.
func (w *DataWriter[T]) SetListener(l *DataWriterListener[T], mask StatusMask) error {
	if u := w.untyped(); u == noWriter {
		return u.deleted("SetListener")
	}
	w.setListener(l, mask)
	return nil
}

func (w *DataWriter[T]) setListener(l *DataWriterListener[T], mask StatusMask) {
	w.p.listening.Lock()
	defer w.p.listening.Unlock()
	w.listener = l
	w.bind = func() writerCallbacks { return w.callbacksOf(l, mask) }
	w.relisten()
}

func (w *DataWriter[T]) callbacksOf(l *DataWriterListener[T], mask StatusMask) writerCallbacks {
	pub, part := w.pub.listener, w.p.listener
	if l == nil {
		pub.mask, part.mask = pub.mask&^mask, part.mask&^mask
		l = new(DataWriterListener[T])
	}
	s, p := pub.l.AnyWriterListener, part.l.AnyWriterListener
	var a AnyDataWriter = w
	const (
		matched, deadline  = PublicationMatchedStatusBit, OfferedDeadlineMissedStatusBit
		incompatible, lost = OfferedIncompatibleQosStatusBit, LivelinessLostStatusBit
		stable             = StableStatusBit
	)
	return writerCallbacks{
		matched: choose(w, heard(mask, matched, l.OnPublicationMatched), a,
			heard(pub.mask, matched, s.OnPublicationMatched), heard(part.mask, matched, p.OnPublicationMatched)),
		deadlineMissed: choose(w, heard(mask, deadline, l.OnOfferedDeadlineMissed), a,
			heard(pub.mask, deadline, s.OnOfferedDeadlineMissed), heard(part.mask, deadline, p.OnOfferedDeadlineMissed)),
		incompatible: choose(w, heard(mask, incompatible, l.OnOfferedIncompatibleQos), a,
			heard(pub.mask, incompatible, s.OnOfferedIncompatibleQos), heard(part.mask, incompatible, p.OnOfferedIncompatibleQos)),
		livelinessLost: choose(w, heard(mask, lost, l.OnLivelinessLost), a,
			heard(pub.mask, lost, s.OnLivelinessLost), heard(part.mask, lost, p.OnLivelinessLost)),
		stable: choose(w, heard(mask, stable, l.OnStable), a,
			heard(pub.mask, stable, s.OnStable), heard(part.mask, stable, p.OnStable)),
	}
}

// relisten finds out anew who is told of what. Called with the participant's listening held.
func (w *writer) relisten() {
	if w.bind == nil {
		return // it is being made
	}
	c := w.bind()
	w.lock()
	defer w.unlock()
	w.callbacks = c
	if c.stable != nil {
		w.followStability()
	}
	w.hear(maskOf(
		heardOf{PublicationMatchedStatusBit, c.matched != nil},
		heardOf{OfferedDeadlineMissedStatusBit, c.deadlineMissed != nil},
		heardOf{OfferedIncompatibleQosStatusBit, c.incompatible != nil},
		heardOf{LivelinessLostStatusBit, c.livelinessLost != nil},
		heardOf{StableStatusBit, c.stable != nil},
	), w.callListener)
}

func (w *writer) callListener() {
	w.lock()
	due := w.changed & w.listens
	w.unlock()
	if c, ok := w.hears(due, PublicationMatchedStatusBit); ok {
		c.matched(w.PublicationMatchedStatus())
	}
	if c, ok := w.hears(due, OfferedIncompatibleQosStatusBit); ok {
		c.incompatible(w.OfferedIncompatibleQosStatus())
	}
	if c, ok := w.hears(due, OfferedDeadlineMissedStatusBit); ok {
		c.deadlineMissed(w.OfferedDeadlineMissedStatus())
	}
	if c, ok := w.hears(due, LivelinessLostStatusBit); ok {
		c.livelinessLost(w.LivelinessLostStatus())
	}
	if c, ok := w.hears(due, StableStatusBit); ok {
		c.stable(w.StableStatus())
	}
}

// hears gives who is told of a status among those that were due; false if nobody is any more. See that of a reader.
func (w *writer) hears(due, bit StatusMask) (c writerCallbacks, ok bool) {
	if due&bit == 0 {
		return c, false
	}
	w.lock()
	defer w.unlock()
	return w.callbacks, !w.closed && w.changed&w.listens&bit != 0
}

// SetListener sets what hears of the topic's status (DDS: set_listener); nil is a listener that does nothing, as at
// DataReader.SetListener. All Topics of one name in a participant share it.
func (t *Topic[T]) SetListener(l *TopicListener, mask StatusMask) error {
	s := t.shared()
	if s == noTopic {
		return s.deleted("SetListener")
	}
	s.p.listening.Lock()
	defer s.p.listening.Unlock()
	s.listener = bound[*TopicListener]{l, mask}
	s.relisten()
	return nil
}

// relisten finds out anew who is told. Called with the participant's listening held.
func (t *topicEntity) relisten() {
	const bit = InconsistentTopicStatusBit
	own, part := t.listener, t.p.listener
	var call func(string, InconsistentTopicStatus)
	switch {
	case own.mask&bit != 0 && own.l == nil: // nobody
	case own.mask&bit != 0 && own.l.OnInconsistentTopic != nil:
		call = own.l.OnInconsistentTopic
	case part.mask&bit != 0:
		call = part.l.OnInconsistentTopic
	}
	t.lock()
	defer t.unlock()
	t.call = call
	t.hear(maskOf(heardOf{bit, call != nil}), func() {
		t.lock()
		call := t.call
		t.unlock()
		if s := t.inconsistentStatus(); s.TotalCountChange > 0 && call != nil {
			call(t.name, s)
		}
	})
}

// SetListener sets what hears of the statuses in mask of the Publisher's writers, as far as they have no listener for them
// (DDS: set_listener).
func (pub *Publisher) SetListener(l PublisherListener, mask StatusMask) error {
	if pub.absent() {
		return missing("SetListener", "the publisher", "NewPublisher")
	}
	pub.p.listening.Lock()
	defer pub.p.listening.Unlock()
	pub.listener = bound[PublisherListener]{l, mask}
	pub.relisten()
	return nil
}

func (pub *Publisher) relisten() {
	for _, w := range pub.list() {
		w.relisten()
	}
}

// SetListener sets what hears of the statuses in mask of the Subscriber's readers, as far as they have no listener for them,
// and of DATA_ON_READERS (DDS: set_listener).
func (sub *Subscriber) SetListener(l SubscriberListener, mask StatusMask) error {
	if sub.absent() {
		return missing("SetListener", "the subscriber", "NewSubscriber")
	}
	sub.p.listening.Lock()
	defer sub.p.listening.Unlock()
	sub.listener = bound[SubscriberListener]{l, mask}
	if sub.builtin {
		sub.stops = mask
	}
	sub.relisten()
	return nil
}

// onDataOnReaders is the function for DATA_ON_READERS, or nil. Called with the participant's listening held.
func (sub *Subscriber) onDataOnReaders() func(*Subscriber) {
	own, part := sub.listener, sub.p.listener
	switch {
	case own.mask&DataOnReadersStatusBit != 0 && own.l.OnDataOnReaders != nil:
		return own.l.OnDataOnReaders
	case sub.stops&DataOnReadersStatusBit != 0:
	case part.mask&DataOnReadersStatusBit != 0:
		return part.l.OnDataOnReaders
	}
	return nil
}

func (sub *Subscriber) relisten() {
	call := sub.onDataOnReaders()
	g := &sub.state
	if call != nil {
		g.data.wanted.Store(true) // before news is looked at
	}
	g.lock()
	sub.call = call
	if g.data.news.Load() && call != nil {
		g.changed |= DataOnReadersStatusBit
	}
	g.hear(maskOf(heardOf{DataOnReadersStatusBit, call != nil}), sub.callListener)
	g.unlock()
	for _, r := range sub.list() {
		r.relisten()
	}
}

func (sub *Subscriber) callListener() {
	g := &sub.state
	g.lock()
	g.changed &^= DataOnReadersStatusBit
	call := sub.call
	g.unlock()
	if call != nil {
		g.data.news.Store(false)
		call(sub)
	}
}

// SetListener sets what hears of the statuses in mask of everything below the participant that has no listener for them, and
// of its own (DDS: set_listener).
func (p *DomainParticipant) SetListener(l ParticipantListener, mask StatusMask) error {
	if p.absent() {
		return noParticipant("SetListener")
	}
	p.listening.Lock()
	defer p.listening.Unlock()
	p.mu.Lock() // behind listening: what is made from here on finds the new listener
	pubs, subs, topics := slices.Clone(p.publishers), slices.Clone(p.subs), slices.Collect(maps.Values(p.topics))
	p.mu.Unlock()
	p.listener = bound[ParticipantListener]{l, mask}
	p.relisten()
	for _, pub := range pubs {
		pub.relisten()
	}
	for _, sub := range subs {
		sub.relisten()
	}
	for _, t := range topics {
		t.relisten()
	}
	return nil
}

// relisten follows the participant's own listener. Called with listening held.
func (p *DomainParticipant) relisten() {
	d := &p.domain
	var call func(*DomainParticipant, ViewChangedStatus)
	if p.listener.mask&ViewChangedStatusBit != 0 {
		call = p.listener.l.OnViewChanged
	}
	d.lock()
	defer d.unlock()
	d.call = call
	d.hear(maskOf(heardOf{ViewChangedStatusBit, call != nil}), func() {
		d.lock()
		call := d.call
		d.unlock()
		if s := p.ViewChangedStatus(); s.TotalCountChange > 0 && call != nil {
			call(p, s)
		}
	})
}
