package dcps

import (
	"fmt"
	"sync/atomic"

	"github.com/omg-dds-go/dds/filter"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
)

// TopicDescription is what a DataReader can be made for: a Topic, a ContentFilteredTopic or a MultiTopic (DDS 1.4 §2.2.2.3.1).
type TopicDescription[T any] interface {
	Name() string
	TypeName() string
	Participant() *DomainParticipant

	// subscribed tells what a new reader gets.
	subscribed(op string) (subscription[T], error)
}

// subscription is what a reader gets: samples of a topic, with a filter in between unless that is nil, or those of a MultiTopic.
type subscription[T any] struct {
	entity  *topicEntity
	of      *Topic[T] // nil for a MultiTopic
	content *contentFilter
	multi   *multiTopic
	codec   *codec[T]
}

func (t *Topic[T]) subscribed(op string) (subscription[T], error) {
	s, err := t.offered(op)
	if err != nil {
		return subscription[T]{}, err
	}
	return subscription[T]{entity: s, of: t, codec: t.codec}, nil
}

// ContentFilteredTopic is those samples of a topic that pass a filter (DDS 1.4 §2.2.2.3.3). Readers are made for it as for the
// topic itself.
//
// A reader filters where samples are delivered, on their encoded bytes: what does not pass is not copied, does not take
// a place in the reader's cache, and wakes nobody; DataReader.Filtered counts it. It holds off DEADLINE, as its writer
// kept its promise, but not more: an instance keeps the last sample that passed, and its state. Disposals and
// unregistrations, which have nothing but a key, pass; of an instance that the reader has never had a sample of, they
// are not shown.
type ContentFilteredTopic[T any] struct {
	*contentFilter
	related *Topic[T]
	ending  ending // of Close
}

// contentFilter is what a ContentFilteredTopic and its readers share.
type contentFilter struct {
	p    *DomainParticipant
	name string
	of   *topicEntity
	// now is the filter with its present parameters. SetExpressionParameters stores it, the polling goroutine loads it for each
	// sample: a Filter does not change, so that is all that orders them.
	now   atomic.Pointer[filter.Filter]
	gone  atomic.Bool
	typed any // the *ContentFilteredTopic
}

// filterClass is what the language of filter expressions is called in announcements.
const filterClass = "DDSSQL"

// NewContentFilteredTopic makes a ContentFilteredTopic (DDS: create_contentfilteredtopic). The expression is a
// FilterExpression of DDS 1.4 Annex B, with the values of %0, %1 and so on in params; docs/filters.md describes it. An
// error in it unwraps to a *filter.Error, which says where it is.
//
// The type has to carry its description, which idlgen sees to; see WithTypeDescription for others.
func NewContentFilteredTopic[T any](related *Topic[T], name, expression string, params ...string) (*ContentFilteredTopic[T], error) {
	const op = "NewContentFilteredTopic"
	of, err := related.offered(op)
	if err != nil {
		return nil, err
	}
	entity := fmt.Sprintf("content-filtered topic %q", name)
	if err := topic.CheckName(name); err != nil {
		return nil, &Error{Op: op, Entity: entity, Code: ErrBadParameter, Err: err}
	}
	typ, err := of.description(op, entity)
	if err != nil {
		return nil, err
	}
	f, err := filter.New(typ, expression, params...)
	if err != nil {
		return nil, &Error{Op: op, Entity: entity, Code: ErrBadParameter, Err: err}
	}
	cf := &contentFilter{p: of.p, name: name, of: of}
	cf.now.Store(f)
	typed := &ContentFilteredTopic[T]{contentFilter: cf, related: related}
	cf.typed = typed
	if err := cf.enlist(op, entity); err != nil {
		return nil, err
	}
	return typed, nil
}

// enlist gives the filter its name in the participant, and counts it as a user of its topic.
func (cf *contentFilter) enlist(op, entity string) error {
	p := cf.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return err
	}
	if err := p.nameFree(op, entity, cf.name); err != nil {
		return err
	}
	if p.filters == nil {
		p.filters = make(map[string]*contentFilter)
	}
	p.filters[cf.name] = cf
	cf.of.users++
	return nil
}

// noFilter stands in for the filter of a ContentFilteredTopic that does not exist.
var noFilter = &contentFilter{of: noTopic}

func (t *ContentFilteredTopic[T]) shared() *contentFilter {
	if t == nil || t.contentFilter == nil {
		return noFilter
	}
	return t.contentFilter
}

func (cf *contentFilter) deleted(op string) error {
	if cf == noFilter {
		return missing(op, "the content-filtered topic", "NewContentFilteredTopic")
	}
	return &Error{Op: op, Entity: fmt.Sprintf("content-filtered topic %q", cf.name), Code: ErrAlreadyDeleted, Detail: "it is closed"}
}

func (t *ContentFilteredTopic[T]) subscribed(op string) (subscription[T], error) {
	s := t.shared()
	if s == noFilter || s.gone.Load() {
		return subscription[T]{}, s.deleted(op)
	}
	return subscription[T]{entity: s.of, of: t.related, content: s, codec: t.related.codec}, nil
}

// Name is the name of the ContentFilteredTopic; that of the topic is RelatedTopic().Name().
func (t *ContentFilteredTopic[T]) Name() string { return t.shared().name }

// TypeName is the name of the related topic's type.
func (t *ContentFilteredTopic[T]) TypeName() string { return t.shared().of.support.Type.Name }

// Participant gives the participant of the related topic.
func (t *ContentFilteredTopic[T]) Participant() *DomainParticipant { return t.shared().p }

// RelatedTopic gives the topic whose samples are filtered (DDS: get_related_topic).
func (t *ContentFilteredTopic[T]) RelatedTopic() *Topic[T] {
	if t == nil {
		return nil
	}
	return t.related
}

// Expression gives the filter expression (DDS: get_filter_expression).
func (t *ContentFilteredTopic[T]) Expression() string {
	if f := t.shared().now.Load(); f != nil {
		return f.Expression()
	}
	return ""
}

// ExpressionParameters gives the values of %0, %1 and so on (DDS: get_expression_parameters).
func (t *ContentFilteredTopic[T]) ExpressionParameters() []string {
	if f := t.shared().now.Load(); f != nil {
		return f.Parameters()
	}
	return nil
}

// SetExpressionParameters changes the values of %0, %1 and so on (DDS: set_expression_parameters). The filter is the
// new one for samples that are delivered after the call; what the readers have stays with them. After ErrBadParameter
// and ErrOutOfResources the old values count; another error tells that the domain has not been told of the new ones, which count
// here.
func (t *ContentFilteredTopic[T]) SetExpressionParameters(params ...string) error {
	const op = "SetExpressionParameters"
	s := t.shared()
	if s == noFilter || s.gone.Load() {
		return s.deleted(op)
	}
	f, err := s.now.Load().With(params...)
	if err != nil {
		return &Error{Op: op, Entity: fmt.Sprintf("content-filtered topic %q", s.name), Code: ErrBadParameter, Err: err}
	}
	for r := range s.p.readers.all() {
		if r.content == s {
			ann := r.announced()
			ann.filter = s.announcedAs(f)
			if err := ann.fits(op, r.what); err != nil {
				return err
			}
		}
	}
	s.now.Store(f)
	for r := range s.p.readers.all() {
		if r.content == s {
			if err := r.again(op); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close gives the ContentFilteredTopic up (DDS: delete_contentfilteredtopic). Readers that were made with it live on, and filter.
func (t *ContentFilteredTopic[T]) Close() error {
	s := t.shared()
	if s == noFilter {
		return s.deleted("Close")
	}
	return t.ending.do(func() error {
		s.gone.Store(true)
		s.p.mu.Lock()
		if s.p.filters[s.name] == s {
			delete(s.p.filters, s.name)
		}
		s.p.mu.Unlock()
		s.of.release()
		return nil
	})
}

// passes tells whether a sample gets to the reader. Called on the polling goroutine.
func (r *reader) passes(sample []byte) bool {
	return r.content == nil || r.content.now.Load().Match(sample)
}

// filtered follows a sample that the filter has kept out.
func (r *reader) filtered(it *item, at int64) {
	r.kept++
	r.cache.filtered(it.handle, it.src, at)
}

// filtered is what the cache learns of a sample that the content filter keeps out. An instance that the reader does not know
// stays unknown.
func (c *cache) filtered(h InstanceHandle, src *source, now int64) {
	if in := c.instances[h]; in != nil {
		in.join(src)
		c.written(in, src, now)
	}
}

// TopicDescription gives what the reader was made for: its Topic, a ContentFilteredTopic or a MultiTopic (DDS:
// get_topicdescription).
func (r *DataReader[T]) TopicDescription() TopicDescription[T] {
	if r == nil {
		return nil
	}
	return r.description
}

// Filtered counts the samples that the filter of a ContentFilteredTopic has kept from the reader (extension).
func (r *DataReader[T]) Filtered() uint64 {
	u := r.untyped()
	u.lock()
	defer u.unlock()
	return u.kept
}

// WithTypeDescription gives the description of a type that has none of its own, as a type written by hand: filters look
// members up in it. It has to describe what the type's MarshalCDR writes. The first Topic of a name in a participant
// counts.
func WithTypeDescription(t *xtypes.Type) TopicOption {
	return func(c *topicConfig) { c.description = t }
}

// describe takes a description that an option gave.
func (t *topicEntity) describe(op string, d *xtypes.Type) error {
	if d == nil {
		return nil
	}
	if info := t.support.Type; d.Name() != info.Name || d.Extensibility() != info.Extensibility {
		return &Error{Op: op, Entity: t.what, Code: ErrBadParameter,
			Detail: fmt.Sprintf("the description is of %s (%s), the type of the topic is %s (%s)", d, d.Extensibility(),
				info.Name, info.Extensibility)}
	}
	t.described.CompareAndSwap(nil, d)
	return nil
}

// description gives the topic's type as a value.
func (t *topicEntity) description(op, entity string) (*xtypes.Type, error) {
	if d := t.described.Load(); d != nil {
		return d, nil
	}
	if text := t.support.Type.TypeObject; text != "" {
		d, _, _, err := xtypes.ParseDescription([]byte(text), t.support.Type.Defaults...)
		if err != nil {
			return nil, &Error{Op: op, Entity: entity, Code: ErrUnspecified,
				Detail: "the description that type " + t.support.Type.Name + " carries can not be read; generate it anew with idlgen", Err: err}
		}
		t.described.CompareAndSwap(nil, d)
		return t.described.Load(), nil
	}
	return nil, &Error{Op: op, Entity: entity, Code: ErrUnsupported,
		Detail: fmt.Sprintf("type %s does not carry its description; generate it anew with idlgen, or give one with WithTypeDescription", t.support.Type.Name)}
}

// ContentFilterProperty is what the domain is told of the filter of a reader (ContentFilterProperty_t of RTPS 2.5
// §9.6.3). A reader that was made for a topic has the zero value.
type ContentFilterProperty struct {
	ContentFilteredTopicName string
	FilterClassName          string // "DDSSQL"
	FilterExpression         string
	ExpressionParameters     []string
}

// announced describes the filter; it may be nil.
func (cf *contentFilter) announced() ContentFilterProperty {
	if cf == nil {
		return ContentFilterProperty{}
	}
	return cf.announcedAs(cf.now.Load())
}

func (cf *contentFilter) announcedAs(f *filter.Filter) ContentFilterProperty {
	return ContentFilterProperty{cf.name, filterClass, f.Expression(), f.Parameters()}
}

func (f *ContentFilterProperty) walk(a *archive) {
	a.string(&f.ContentFilteredTopicName)
	a.string(&f.FilterClassName)
	a.string(&f.FilterExpression)
	a.strings(&f.ExpressionParameters)
}

// LookupContentFilteredTopic gives a ContentFilteredTopic that this participant has; nil if there is none of that name (DDS:
// lookup_topicdescription). One of a topic that has another type than T is an error (ErrPreconditionNotMet).
func LookupContentFilteredTopic[T any](p *DomainParticipant, name string) (*ContentFilteredTopic[T], error) {
	const op = "LookupContentFilteredTopic"
	if p.absent() {
		return nil, noParticipant(op)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closedOrFailed(op); err != nil {
		return nil, err
	}
	cf := p.filters[name]
	if cf == nil {
		return nil, nil
	}
	t, ok := cf.typed.(*ContentFilteredTopic[T])
	if !ok {
		return nil, &Error{Op: op, Entity: fmt.Sprintf("content-filtered topic %q", name), Code: ErrPreconditionNotMet,
			Detail: "it has type " + cf.of.support.Type.Name}
	}
	return t, nil
}
