package dcps

import (
	"fmt"

	"github.com/omg-dds-go/dds/filter"
)

// QueryCondition holds while its reader has samples in given states that match a query (DDS 1.4 §2.2.2.5.9). As a ReadOption, see
// When, it also gives the order of ORDER BY.
type QueryCondition struct{ read ReadCondition }

// AnyReadCondition is a ReadCondition or a QueryCondition.
type AnyReadCondition interface {
	Condition
	condition() *ReadCondition
}

func (c *ReadCondition) condition() *ReadCondition { return c }

func (c *QueryCondition) condition() *ReadCondition {
	if c == nil {
		return nil
	}
	return &c.read
}

// NewQueryCondition makes a condition that holds while there are samples in the given states that match a query (DDS:
// create_querycondition). A zero mask means any. The query is a QueryExpression of DDS 1.4 Annex B: a condition, an
// order or both, with the values of %0, %1 and so on in params; docs/filters.md describes it. An error in it unwraps to
// a *filter.Error.
func (r *DataReader[T]) NewQueryCondition(samples SampleState, views ViewState, instances InstanceState, query string,
	params ...string) (*QueryCondition, error) {
	const op = "NewQueryCondition"
	u := r.untyped()
	if u == noReader {
		return nil, u.deleted(op)
	}
	if u.ended.Load() {
		return nil, u.deleted(op)
	}
	typ, err := u.topic.description(op, u.what)
	if err != nil {
		return nil, err
	}
	q, err := filter.NewQuery(typ, query, params...)
	if err != nil {
		return nil, &Error{Op: op, Entity: u.what, Code: ErrBadParameter, Err: err}
	}
	c := new(QueryCondition)
	c.read.init(u, samples, views, instances)
	c.read.selection.query = q
	return c, nil
}

// TriggerValue tells whether the condition holds now (DDS: get_trigger_value).
func (c *QueryCondition) TriggerValue() bool { return c.condition().TriggerValue() }

// Ready gives a channel that is closed once the condition holds; see Condition.
func (c *QueryCondition) Ready() <-chan struct{} { return c.condition().Ready() }

// Close ends the condition; see ReadCondition.Close (DDS: delete_readcondition).
func (c *QueryCondition) Close() error {
	if c.condition().base().absent() {
		return missing("Close", "the QueryCondition", "NewQueryCondition")
	}
	return c.read.Close()
}

func (c *QueryCondition) absence() error {
	if c.condition().base().absent() {
		return missing("Attach", "the QueryCondition", "NewQueryCondition")
	}
	return c.read.attachable()
}

func (c *QueryCondition) state(op string) (bool, error) { return c.read.state(op) }

func (c *QueryCondition) attach(ws *WaitSet) { c.read.attach(ws) }
func (c *QueryCondition) detach(ws *WaitSet) { c.read.detach(ws) }

// Query gives the query expression (DDS: get_query_expression).
func (c *QueryCondition) Query() string {
	if q := c.query(); q != nil {
		return q.Expression()
	}
	return ""
}

// QueryParameters gives the values of %0, %1 and so on (DDS: get_query_parameters).
func (c *QueryCondition) QueryParameters() []string {
	if q := c.query(); q != nil {
		return q.Parameters()
	}
	return nil
}

func (c *QueryCondition) query() *filter.Query {
	if c.condition().base().absent() {
		return nil
	}
	c.read.e.lock()
	defer c.read.e.unlock()
	return c.read.selection.query
}

// SetQueryParameters changes the values of %0, %1 and so on (DDS: set_query_parameters). Who waits for the condition is
// told if it holds with them. After an error the old values count.
func (c *QueryCondition) SetQueryParameters(params ...string) error {
	const op = "SetQueryParameters"
	old := c.query()
	if old == nil {
		return missing(op, "the QueryCondition", "NewQueryCondition")
	}
	q, err := old.With(params...)
	if err != nil {
		return &Error{Op: op, Entity: c.read.e.what, Code: ErrBadParameter, Err: err}
	}
	c.read.e.lock()
	defer c.read.e.unlock() // which looks at the conditions anew
	c.read.selection.query, c.read.seen = q, sighting{}
	return nil
}

// When selects what a condition of the reader is about (DDS: read_w_condition, take_w_condition): samples in its
// states, and those that its query matches, in the order of the query. Reading with the condition of another reader
// fails with ErrPreconditionNotMet.
func When(c AnyReadCondition) ReadOption {
	o := ReadOption{kind: readCondition}
	if c != nil {
		o.condition = c.condition()
	}
	return o
}

// adopt narrows a selection to what a condition is about.
func (r *reader) adopt(s *selection, c *ReadCondition) {
	switch {
	case c.base().absent():
		s.err = missing("When", "the condition", "NewReadCondition or NewQueryCondition")
		return
	case c.e != &r.entity:
		s.err = &Error{Op: "When", Entity: r.what, Code: ErrPreconditionNotMet,
			Detail: fmt.Sprintf("the condition belongs to another reader, %s", c.e.what)}
		return
	}
	r.lock()
	defer r.unlock()
	if c.closed {
		s.err = &Error{Op: "When", Entity: r.what, Code: ErrAlreadyDeleted, Detail: "the condition is closed"}
		return
	}
	s.samples, s.views, s.instances, s.query = c.selection.samples, c.selection.views, c.selection.instances, c.selection.query
	s.condition = c
}

// offers tells whether a read with the selection would find something, or fail: its condition may have other parameters
// by now, or be closed, and its instance not known. Called with mu held.
func (r *reader) offers(s *selection) bool {
	if c := s.condition; c != nil {
		if c.closed {
			return true
		}
		s.query = c.selection.query
	}
	return s.only == onlyThis && r.cache.instances[s.handle] == nil || r.cache.any(s)
}
