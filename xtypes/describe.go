package xtypes

import (
	"encoding/binary"
	"fmt"
)

// Describe serializes all that is to be known of a type: its TypeInformation, and behind it, aligned to four bytes, the TypeMapping with
// the type objects. It is what cdr.TypeInfo.TypeObject of generated code holds. A type that has no type object, or one that a type
// object cannot express, is an error.
func Describe(t *Type) ([]byte, error) {
	info, err := NewTypeInformation(t)
	if err != nil {
		return nil, err
	}
	mapping, err := NewTypeMapping(t)
	if err != nil {
		return nil, err
	}
	if !info.Complete.ID.Hashed() {
		return nil, fmt.Errorf("xtypes: %s has no type object", t)
	}
	b := info.Marshal()
	b = append(b, make([]byte, -len(b)&3)...)
	return append(b, mapping.Marshal()...), nil
}

// ParseDescription gives what Describe has serialized, and the type.
func ParseDescription(b []byte) (*Type, *TypeInformation, *TypeMapping, error) {
	if len(b) < 4 {
		return nil, nil, nil, fmt.Errorf("xtypes: %d bytes describe no type", len(b))
	}
	n := uint64(binary.LittleEndian.Uint32(b)) + 4
	n += -n & 3
	if n > uint64(len(b)) {
		return nil, nil, nil, fmt.Errorf("xtypes: TypeInformation of %d bytes announced, %d present", n, len(b))
	}
	info, err := UnmarshalTypeInformation(b[:n])
	if err != nil {
		return nil, nil, nil, err
	}
	mapping, err := UnmarshalTypeMapping(b[n:])
	if err != nil {
		return nil, nil, nil, err
	}
	r := NewRegistry()
	if err := r.AddMapping(mapping); err != nil {
		return nil, nil, nil, err
	}
	t, err := r.Type(info.Complete.ID)
	return t, info, mapping, err
}
