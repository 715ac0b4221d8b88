package dcps

import (
	"fmt"
	"sync"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/qos"
	"github.com/omg-dds-go/dds/topic"
)

// What a caller passes for an entity may be nil, or a zero value that no constructor made. Both act like an entity that
// does not exist: operations fail with ErrBadParameter, statuses are zero, and what an absent entity belongs to is nil.
//
// The untyped parts below stand in for absent ones, so that the code behind the typed methods meets no nil. Nobody
// announces them; they are closed, and their participant is nil, which tells them from the others.
var (
	noTopic = func() *topicEntity {
		t := &topicEntity{support: topic.Support{Type: new(cdr.TypeInfo)}}
		t.init(nil, "the topic", t)
		t.closed, t.madeBy = true, "NewTopic"
		return t
	}()
	noWriter = func() *writer {
		w := &writer{topic: noTopic}
		w.init(nil, "the writer", w)
		w.closed, w.madeBy = true, "NewDataWriter"
		w.ended.Store(true)
		return w
	}()
	noReader = func() *reader {
		r := &reader{topic: noTopic, cache: newCache(qos.DefaultDataReader())}
		r.init(nil, "the reader", r)
		r.closed, r.madeBy = true, "NewDataReader"
		return r
	}()
)

// missing is the error of an operation on, or with, something that does not exist.
func missing(op, what, madeBy string) error {
	return &Error{Op: op, Code: ErrBadParameter, Detail: fmt.Sprintf("%s is nil, or was not made by %s", what, madeBy)}
}

// isNil is the error of an argument that must not be nil.
func isNil(op, entity, what string) error {
	return &Error{Op: op, Entity: entity, Code: ErrBadParameter, Detail: what + " is nil"}
}

// configure applies options.
func configure[C any, O ~func(*C)](op string, c *C, opts []O) error {
	for i, o := range opts {
		if o == nil {
			return isNil(op, "", fmt.Sprintf("option %d", i+1))
		}
		o(c)
	}
	return nil
}

// ending does once what Close does. Who calls meanwhile waits for it, and all get its result.
type ending struct {
	once sync.Once
	err  error
}

func (e *ending) do(f func() error) error {
	e.once.Do(func() { e.err = f() })
	return e.err
}
