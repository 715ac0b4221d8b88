package xtypes

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// Describe serializes all that is to be known of a type: its TypeInformation, and behind it, aligned to four bytes, the
// TypeMapping with the type objects. It is what cdr.TypeInfo.TypeObject of generated code holds. A type that has no
// type object, or one that a type object cannot express, is an error.
func Describe(t *Type) ([]byte, error) {
	minimal, complete, err := identifyBoth(t)
	if err != nil {
		return nil, err
	}
	info, mapping := newTypeInformation(minimal, complete), newTypeMapping(minimal, complete)
	if !info.Complete.ID.Hashed() {
		return nil, fmt.Errorf("xtypes: %s has no type object", t)
	}
	b := info.Marshal()
	b = append(b, make([]byte, -len(b)&3)...)
	return append(b, mapping.Marshal()...), nil
}

// Defaults gives what Describe leaves out, as type objects have no place for it: the @default of the members of t and of all
// types that it refers to. It is what cdr.TypeInfo.Defaults of generated code holds.
func Defaults(t *Type) []cdr.MemberDefault {
	var list []cdr.MemberDefault
	seen := map[*Type]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if t == nil || seen[t.Resolve()] {
			return
		}
		t = t.Resolve()
		seen[t] = true
		visit(t.d.Base)
		visit(t.d.MapKey)
		visit(t.d.Elem)
		for m := range t.OwnMembers() {
			v := m.Default
			if long, ok := v.(Float128); ok {
				v = long.Float64() // of a literal, which is no more precise
			}
			if v != nil {
				list = append(list, cdr.MemberDefault{Type: t.d.Name, Member: m.Name, Value: v})
			}
			visit(m.Type)
		}
	}
	visit(t)
	return list
}

// ParseDescription gives what Describe has serialized, and the type, with what Defaults has said of it.
func ParseDescription(b []byte, defaults ...cdr.MemberDefault) (*Type, *TypeInformation, *TypeMapping, error) {
	first, rest, err := splitDelimited(b)
	if err != nil {
		return nil, nil, nil, err
	}
	info, err := UnmarshalTypeInformation(first)
	if err != nil {
		return nil, nil, nil, err
	}
	mapping, err := UnmarshalTypeMapping(rest)
	if err != nil {
		return nil, nil, nil, err
	}
	r := NewRegistry()
	if err := r.AddMapping(mapping); err != nil {
		return nil, nil, nil, err
	}
	r.defaults = defaults
	t, err := r.Type(info.Complete.ID)
	return t, info, mapping, err
}

// splitDelimited takes a value with a DHEADER, and the padding that aligns what follows it, from the front of b.
func splitDelimited(b []byte) (value, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("xtypes: %d bytes describe no type", len(b))
	}
	n := uint64(binary.LittleEndian.Uint32(b)) + 4
	n += -n & 3
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("xtypes: a part of %d bytes announced, %d present", n, len(b))
	}
	return b[:n], b[n:], nil
}

// CompleteObjects cuts the complete type objects out of what Describe has serialized, that of the type itself first:
// all that another process needs to know the type with its names. ParseObjects reads them.
func CompleteObjects(description []byte) ([]byte, error) {
	_, mapping, err := splitDelimited(description)
	if err != nil {
		return nil, err
	}
	_, mapping, err = splitDelimited(mapping) // the minimal ones
	if err != nil {
		return nil, err
	}
	complete, _, err := splitDelimited(mapping)
	return complete, err
}

// emptyList is a sequence of no type objects.
var emptyList = []byte{4, 0, 0, 0, 0, 0, 0, 0}

// ParseObjects gives the type of what CompleteObjects has cut out. A type object that is not what its identifier says
// is an error.
func ParseObjects(b []byte) (*Type, error) {
	mapping, err := UnmarshalTypeMapping(slices.Concat(emptyList, b, emptyList))
	if err != nil {
		return nil, err
	}
	if len(mapping.Complete) == 0 {
		return nil, fmt.Errorf("xtypes: there is no complete type object in %d bytes", len(b))
	}
	r := NewRegistry()
	if err := r.AddMapping(mapping); err != nil {
		return nil, err
	}
	return r.Type(mapping.Complete[0].ID)
}
