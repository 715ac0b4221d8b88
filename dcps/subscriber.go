package dcps

import (
	"slices"
	"sync/atomic"

	"github.com/omg-dds-go/dds/qos"
)

// Subscriber groups DataReaders (DDS 1.4 §2.2.2.5.2).
type Subscriber struct {
	group[*reader]
	listener bound[SubscriberListener] // guarded by the participant's listening
	call     func(*Subscriber)         // for DATA_ON_READERS; guarded by the lock of state
	builtin  bool                      // it is DomainParticipant.BuiltinSubscriber
	// stops are statuses that the participant's listener is not told of: at a built-in Subscriber all, as its listener
	// is nil with all statuses in its mask (§2.2.5), until it gets another one. Guarded by the participant's listening.
	stops StatusMask

	// Guarded by group.mu.
	qos      qos.Subscriber
	defaults qos.DataReader

	access    *access // nil if PRESENTATION asks for nothing that the hub has to hold samples back for; set up before the Subscriber is enabled
	accessing accessState
}

type subscriberConfig struct {
	qos      qos.Subscriber
	listener SubscriberListener
}

// SubscriberOption is an option of NewSubscriber.
type SubscriberOption func(*subscriberConfig)

// WithSubscriberQos sets the QoS of a Subscriber.
func WithSubscriberQos(q qos.Subscriber) SubscriberOption {
	return func(c *subscriberConfig) { c.qos = q }
}

// WithSubscriberListener sets the listener that hears what the readers' own do not handle.
func WithSubscriberListener(l SubscriberListener) SubscriberOption {
	return func(c *subscriberConfig) { c.listener = l }
}

// NewSubscriber makes a Subscriber (DDS: create_subscriber).
func (p *DomainParticipant) NewSubscriber(opts ...SubscriberOption) (*Subscriber, error) {
	const op = "NewSubscriber"
	if p.absent() {
		return nil, noParticipant(op)
	}
	c := subscriberConfig{qos: p.DefaultSubscriberQos()}
	if err := configure(op, &c, opts); err != nil {
		return nil, err
	}
	if err := invalid(op, "", c.qos.Validate()); err != nil {
		return nil, err
	}
	if err := (&announcement{sub: c.qos}).fits(op, "subscriber"); err != nil {
		return nil, err
	}
	sub := newSubscriber(p, c)
	sub.access = newAccess(c.qos.Presentation)
	if err := p.adopt(op, &sub.state, func() { p.subs = append(p.subs, sub) }); err != nil {
		return nil, err
	}
	_ = sub.SetListener(c.listener, AnyStatus) // it is not nil
	return sub, nil
}

func newSubscriber(p *DomainParticipant, c subscriberConfig) *Subscriber {
	sub := &Subscriber{qos: c.qos, defaults: qos.DefaultDataReader()}
	sub.begin(p, "subscriber", sub)
	d := &sub.state.data
	sub.state.status.begin(&sub.state.entity, func() bool {
		return d.news.Load() && sub.state.status.enabled&DataOnReadersStatusBit != 0 || sub.state.failure != nil
	})
	return sub
}

func (sub *Subscriber) absent() bool { return sub == nil || sub.p == nil }

// adopt adds a reader, which is not the application's if the Subscriber is built in.
func (sub *Subscriber) adopt(op string, r *reader) error {
	if sub.builtin && !r.builtin {
		return &Error{Op: op, Entity: sub.what, Code: ErrPreconditionNotMet,
			Detail: "the built-in Subscriber has the readers of the built-in topics only; make another Subscriber"}
	}
	return sub.add(op, r)
}

// enables tells whether readers are enabled when they are made (ENTITY_FACTORY).
func (sub *Subscriber) enables() bool {
	return sub.state.enabled.Load() && sub.Qos().EntityFactory.AutoenableCreatedEntities
}

// Participant gives the Subscriber's participant (DDS: get_participant).
func (sub *Subscriber) Participant() *DomainParticipant {
	if sub.absent() {
		return nil
	}
	return sub.p
}

// Qos gives the Subscriber's QoS (DDS: get_qos).
func (sub *Subscriber) Qos() qos.Subscriber {
	if sub.absent() {
		return qos.Subscriber{}
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.qos
}

// DefaultDataReaderQos gives the QoS that readers are made with unless they are given another (DDS:
// get_default_datareader_qos).
func (sub *Subscriber) DefaultDataReaderQos() qos.DataReader {
	if sub.absent() {
		return qos.DataReader{}
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.defaults
}

// SetDefaultDataReaderQos sets the QoS that readers are made with from now on (DDS: set_default_datareader_qos).
func (sub *Subscriber) SetDefaultDataReaderQos(q qos.DataReader) error {
	const op = "SetDefaultDataReaderQos"
	if sub.absent() {
		return missing(op, "the subscriber", "NewSubscriber")
	}
	if err := checkReader(op, sub.what, q); err != nil {
		return err
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.defaults = q
	return nil
}

// StatusCondition gives the condition over DATA_ON_READERS, the Subscriber's only status (DDS: get_statuscondition).
func (sub *Subscriber) StatusCondition() *StatusCondition {
	if sub.absent() {
		return nil
	}
	sub.state.data.wanted.Store(true) // before the condition is looked at
	return sub.state.status
}

// StatusChanges tells whether readers of the Subscriber have got data since one of them was last read (DDS:
// get_status_changes).
func (sub *Subscriber) StatusChanges() StatusMask {
	if sub.absent() || !sub.state.data.news.Load() {
		return 0
	}
	return DataOnReadersStatusBit
}

// dataOnReaders is the status DATA_ON_READERS. It is no more than a flag, unless somebody waits for it or listens: samples
// that come must not cost more for it.
//
//	news    stored true by who gives data to a reader, false by who reads or listens
//	wanted  stored true, for good, by who begins to wait or listen, before looking at news. Who gives data stores news before
//	        it looks at wanted: so one of the two sees what the other has stored
//	posted  the item is in the group's inbox: who makes it true posts it, who applies it makes it false
type dataOnReaders struct {
	news, wanted, posted atomic.Bool
	it                   item
}

// dataArrived notes that a reader has data. It never blocks, and allocates nothing. Called with the reader's lock held.
func (sub *Subscriber) dataArrived() {
	d := &sub.state.data
	if !d.news.Load() {
		d.news.Store(true)
	}
	if d.wanted.Load() && d.posted.CompareAndSwap(false, true) {
		d.it.kind = itemOnReaders
		sub.state.post(&d.it, &d.it)
	}
}

// dataRead notes that a reader was read. Called with the reader's lock held.
func (sub *Subscriber) dataRead() {
	if d := &sub.state.data; d.news.Load() {
		d.news.Store(false)
	}
}

// arrived wakes who waits or listens. Called with the group's lock held.
func (d *dataOnReaders) arrived(g *groupEntity) {
	d.posted.Store(false)
	g.changed |= DataOnReadersStatusBit & g.listens
	for _, t := range g.watched {
		t.value = false // nobody told the condition when a reader was read
	}
}

// Readers lists the readers that have samples in the given states (DDS: get_datareaders); a zero mask means any. With
// PRESENTATION access_scope GROUP and ordered_access it has a reader once for each sample, in the order in which they
// are to be read: take from each, one after the other, between BeginAccess and EndAccess. Each Read or Take of such a
// reader gives one sample at most (DDS 1.4 §2.2.2.5.3.8).
func (sub *Subscriber) Readers(samples SampleState, views ViewState, instances InstanceState) []AnyDataReader {
	if !sub.Enabled() {
		return nil
	}
	s := selection{samples: samples, views: views, instances: instances}
	s.anyStates()
	if sub.access != nil && sub.access.ordered {
		return sub.inOrder(sub.list(), &s)
	}
	var out []AnyDataReader
	for _, r := range sub.list() {
		r.lock()
		r.catchUp()
		found := r.cache.any(&s)
		r.unlock()
		if found {
			out = append(out, r.typed)
		}
	}
	return out
}

// NotifyDataReaders calls OnDataAvailable of the listeners of the readers that have data not looked at (DDS:
// notify_datareaders). OnDataOnReaders, in whose place they are not called otherwise, may use it.
func (sub *Subscriber) NotifyDataReaders() error {
	const op = "NotifyDataReaders"
	if sub.absent() {
		return missing(op, "the subscriber", "NewSubscriber")
	}
	if err := sub.usable(op); err != nil {
		return err
	}
	for _, r := range sub.list() {
		r.notifyData()
	}
	return nil
}

// Close closes the readers and the Subscriber (DDS: delete_contained_entities, delete_subscriber). Closing again gives the
// same result; see DomainParticipant.Close.
func (sub *Subscriber) Close() error {
	if sub.absent() {
		return missing("Close", "the subscriber", "NewSubscriber")
	}
	if sub.builtin && !sub.p.isClosed() {
		return &Error{Op: "Close", Entity: sub.what, Code: ErrPreconditionNotMet, Detail: "the built-in Subscriber is closed with its participant"}
	}
	return sub.ending.do(func() error {
		err := sub.close()
		sub.state.close()
		sub.p.mu.Lock()
		defer sub.p.mu.Unlock()
		sub.p.subs = slices.DeleteFunc(sub.p.subs, func(o *Subscriber) bool { return o == sub })
		sub.p.entities.remove(&sub.state.entity)
		return err
	})
}
