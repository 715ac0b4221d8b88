package dcps

import (
	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/topic"
)

// get_key_value. A handle holds the key where that has at most 16 bytes; longer ones are kept by who knows the instance.

// KeyValue gives a value whose key members are those of an instance that the reader knows (DDS: get_key_value), be it disposed
// and without samples. A handle of another instance, and a topic without key, give ErrBadParameter.
func (r *DataReader[T]) KeyValue(h InstanceHandle) (*T, error) {
	const op = "KeyValue"
	u := r.untyped()
	if u == noReader {
		return nil, u.deleted(op)
	}
	u.lock()
	in, err := u.cache.instances[h], u.usable(op)
	var key []byte
	if in != nil {
		key = in.key
	}
	u.unlock()
	switch {
	case err != nil:
		return nil, err
	case in == nil || !u.topic.support.Type.Keyed:
		return nil, unknownInstance(op, u.what, h)
	}
	return keyValue(op, u.what, u.topic, h, key, r.codec)
}

// KeyValue gives a value whose key members are those of an instance (DDS: get_key_value). If keys of the type may be longer than
// 16 bytes, it must have been registered with Register, and not unregistered: otherwise ErrBadParameter, as for a topic without
// key.
func (w *DataWriter[T]) KeyValue(h InstanceHandle) (*T, error) {
	const op = "KeyValue"
	u := w.untyped()
	if u == noWriter {
		return nil, u.deleted(op)
	}
	u.lock()
	key, err := u.registered[h], u.usable(op)
	u.unlock()
	_, short := topic.KeyInHandle(u.topic.support.Type, h)
	switch {
	case err != nil:
		return nil, err
	case h == HandleNil || key == nil && !short || !u.topic.support.Type.Keyed:
		return nil, unknownInstance(op, u.what, h)
	}
	return keyValue(op, u.what, u.topic, h, key, w.of.codec)
}

func unknownInstance(op, entity string, h InstanceHandle) error {
	return &Error{Op: op, Entity: entity, Code: ErrBadParameter, Detail: "instance " + h.String() + " is not known"}
}

func keyValue[T any](op, entity string, t *topicEntity, h InstanceHandle, key []byte, c *codec[T]) (*T, error) {
	if short, ok := topic.KeyInHandle(t.support.Type, h); ok {
		key = short
	}
	v := new(T)
	if err := c.readKey(key, v); err != nil {
		return nil, failure(op, entity, "", err)
	}
	return v, nil
}

// keepsKey tells whether handles of the topic's instances do not hold their keys.
func (t *topicEntity) keepsKey() bool {
	_, short := topic.KeyInHandle(t.support.Type, HandleNil)
	return t.support.Type.Keyed && !short
}

// keyKeeper gives what a cache keeps of the key of a new instance; nil if that is nothing.
func (t *topicEntity) keyKeeper() func(*item) []byte {
	if !t.keepsKey() {
		return nil
	}
	scratch := t.support.New()
	return func(it *item) []byte {
		key, err := cdr.KeyFromSample(nil, scratch, it.buf)
		if err != nil {
			return nil // its handle was made of the same bytes
		}
		return key
	}
}

// register notes the key of an instance that the writer has registered.
func (w *writer) register(h InstanceHandle, m cdr.Message) {
	if !w.topic.keepsKey() {
		return
	}
	key, err := cdr.MarshalKey(nil, m)
	if err != nil {
		return // its handle was made of the same key
	}
	w.lock()
	defer w.unlock()
	if w.registered == nil {
		w.registered = make(map[InstanceHandle][]byte)
	}
	w.registered[h] = key
}

// deregister is the inverse of register.
func (w *writer) deregister(m cdr.Message) {
	if !w.topic.keepsKey() {
		return
	}
	if h, err := topic.NewKeys(w.topic.support).Of(m); err == nil {
		w.lock()
		defer w.unlock()
		delete(w.registered, h)
	}
}
