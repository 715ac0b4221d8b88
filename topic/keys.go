package topic

import "github.com/omg-dds-go/dds/cdr"

// Support is what the untyped layers need of a topic's Go type.
type Support struct {
	Type *cdr.TypeInfo
	New  func() cdr.Message // a fresh value of the type
}

// SupportOf describes T.
func SupportOf[T any, PT cdr.Type[T]]() Support {
	return Support{
		Type: PT(nil).CDRType(),
		New:  func() cdr.Message { return PT(new(T)) },
	}
}

// Keys computes instance handles from encoded samples. It owns scratch memory, so that the steady state allocates
// nothing: one goroutine uses it at a time.
type Keys struct {
	info    *cdr.TypeInfo
	scratch cdr.Message
	key     []byte
}

// NewKeys makes the handle computer of a type.
func NewKeys(s Support) *Keys { return &Keys{info: s.Type, scratch: s.New()} }

// OfSample gives the instance that an encoded sample belongs to: HandleNil if the type has no key.
func (k *Keys) OfSample(sample []byte) (InstanceHandle, error) {
	if !k.info.Keyed {
		return HandleNil, nil
	}
	key, err := cdr.KeyFromSample(k.key[:0], k.scratch, sample)
	if err != nil {
		return HandleNil, err
	}
	k.key = key
	return HandleOfKey(cdr.HashKey(k.info, key)), nil
}

// OfEncodedKey gives the instance that a key as written by cdr.MarshalKeyTo names.
func (k *Keys) OfEncodedKey(data []byte) (InstanceHandle, error) {
	if !k.info.Keyed {
		return HandleNil, nil
	}
	if err := cdr.UnmarshalKey(data, k.scratch); err != nil {
		return HandleNil, err
	}
	return k.Of(k.scratch)
}

// Of gives the instance that the key members of m name.
func (k *Keys) Of(m cdr.Message) (InstanceHandle, error) {
	if !k.info.Keyed {
		return HandleNil, nil
	}
	key, err := cdr.MarshalKey(k.key[:0], m)
	if err != nil {
		return HandleNil, err
	}
	k.key = key
	return HandleOfKey(cdr.HashKey(k.info, key)), nil
}

// Form tells what the handles of a type's instances are made of. Two types that can be assigned to each other have the
// same keys, and give them different handles if their forms differ.
type Form uint8

const (
	FormUnknown Form = iota
	FormNone         // the type has no key
	FormKey          // the key itself: none is longer than a handle
	FormHash         // the MD5 of the key
)

// Form gives the form of the type's handles.
func (k *Keys) Form() Form {
	switch {
	case !k.info.Keyed:
		return FormNone
	case k.info.MaxKeySize >= 0 && k.info.MaxKeySize <= len(InstanceHandle{}):
		return FormKey
	}
	return FormHash
}
