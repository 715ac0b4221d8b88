package topic

import (
	"encoding/binary"

	"github.com/omg-dds-go/dds/cdr"
)

// KeyInHandle gives the serialized key that the handle of an instance holds; false if keys of the type may be too long for that.
func KeyInHandle(t *cdr.TypeInfo, h InstanceHandle) ([]byte, bool) {
	if t.MaxKeySize < 0 || t.MaxKeySize > len(h) {
		return nil, false
	}
	if h == zeroKey {
		h = InstanceHandle{}
	}
	return h[:], true
}

// ReadKey decodes a serialized key, as cdr.MarshalKey wrote it, into the key members of m.
func ReadKey(key []byte, m cdr.Message) error {
	data := make([]byte, cdr.HeaderSize, cdr.HeaderSize+len(key))
	binary.BigEndian.PutUint16(data, uint16(cdr.CDR2BE))
	return cdr.UnmarshalKey(append(data, key...), m)
}
