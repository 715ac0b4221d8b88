package cdr

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// DiscriminatorKey names the discriminator of a union in JSON. IDL has no such name: identifiers do not begin with an
// underscore.
const DiscriminatorKey = "_d"

// MarshalUnionJSON is for generated code: an object of the discriminator and a member, or of the discriminator alone.
func MarshalUnionJSON(discriminator any, name string, member any) ([]byte, error) {
	d, err := json.Marshal(discriminator)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"`+DiscriminatorKey+`":`), d...)
	if name != "" {
		m, err := json.Marshal(member)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b = append(b, `,"`+name+`":`...)
		b = append(b, m...)
	}
	return append(b, '}'), nil
}

// UnmarshalUnionJSON is for generated code: it reads the discriminator, if there is one, and finds the member, if there is one.
func UnmarshalUnionJSON(data []byte, discriminator any) (name string, member json.RawMessage, labelled bool, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", nil, false, err
	}
	if d, ok := fields[DiscriminatorKey]; ok {
		if err := json.Unmarshal(d, discriminator); err != nil {
			return "", nil, false, fmt.Errorf("discriminator: %w", err)
		}
		labelled = true
		delete(fields, DiscriminatorKey)
	}
	if len(fields) > 1 {
		return "", nil, false, fmt.Errorf("a union holds one member, not %d", len(fields))
	}
	for name, member = range fields {
		if bytes.Equal(member, []byte("null")) {
			return "", nil, false, fmt.Errorf("%s: a member of a union is not null", name)
		}
	}
	return name, member, labelled, nil
}
