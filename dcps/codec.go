package dcps

import (
	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/topic"
	"github.com/omg-dds-go/dds/xtypes"
)

// codec is what a DataReader needs to know of its type.
type codec[T any] struct {
	decode  func(sample []byte, v *T) error
	handle  func(key *T) (InstanceHandle, error)
	readKey func(key []byte, v *T) error // of what the cache keeps, or a handle holds
}

// codecOf is that of a generated type.
func codecOf[T any, PT cdr.Type[T]](s topic.Support) *codec[T] {
	return &codec[T]{
		decode:  func(sample []byte, v *T) error { return cdr.Unmarshal(sample, PT(v)) },
		handle:  func(key *T) (InstanceHandle, error) { return topic.NewKeys(s).Of(PT(key)) },
		readKey: func(key []byte, v *T) error { return topic.ReadKey(key, PT(v)) },
	}
}

// dynamicCodec is that of a type that is known at run time only.
func dynamicCodec(t *xtypes.Type) *codec[xtypes.Data] {
	decode := func(sample []byte, v *xtypes.Data) error {
		d, err := xtypes.Decode(t, sample)
		if err == nil {
			*v = *d
		}
		return err
	}
	return &codec[xtypes.Data]{decode: decode, readKey: decode, handle: func(key *xtypes.Data) (InstanceHandle, error) {
		if !t.Keyed() {
			return HandleNil, nil
		}
		if key.Type() != t.Resolve() {
			return HandleNil, &Error{Code: ErrBadParameter, Detail: "the key is a value of " + key.Type().String() + ", not of " + t.String()}
		}
		b, err := dynamicKey(key)
		if err != nil {
			return HandleNil, err
		}
		return topic.HandleOfKey(cdr.HashKey(&cdr.TypeInfo{Keyed: true, MaxKeySize: -1}, b)), nil
	}}
}

// dynamicKey is a sample in which all but the key has its default.
func dynamicKey(d *xtypes.Data) ([]byte, error) {
	key, err := keyOnly(d)
	if err != nil {
		return nil, err
	}
	return key.Encode(d.Type().Encapsulation(true, true))
}

// keyOnly copies the key members; in a structure within that has none, all members are the key.
func keyOnly(d *xtypes.Data) (*xtypes.Data, error) {
	out, err := xtypes.NewData(d.Type())
	if err != nil {
		return nil, err
	}
	for m := range d.Type().Members() {
		if !m.Key {
			continue
		}
		v := d.Member(m)
		if part, ok := v.(*xtypes.Data); ok && part.Type().Keyed() {
			if v, err = keyOnly(part); err != nil {
				return nil, err
			}
		}
		if err := out.SetMember(m, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
