package topic

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/omg-dds-go/dds/cdr"
)

// InstanceHandle names an instance of a topic, or an entity, within a domain (DDS: InstanceHandle_t). It is
// comparable, and equal at every process: for an instance it is the key hash.
type InstanceHandle [16]byte

// HandleNil is the handle of no instance, and that of the only instance of a topic without key (DDS: HANDLE_NIL).
var HandleNil InstanceHandle

// zeroKey stands for the key hash that is all zeros, which a key such as a long of 0 has: HANDLE_NIL names no
// instance of a keyed topic. No key hash of at most 15 bytes ends in 0xff after zeros, and an MD5 sum that equals
// it is as unlikely as any other collision.
var zeroKey = InstanceHandle{15: 0xff}

// IsNil tells whether h is HandleNil.
func (h InstanceHandle) IsNil() bool { return h == HandleNil }

// String gives the 16 bytes in hexadecimal, without the zero bytes at the end.
func (h InstanceHandle) String() string {
	if h.IsNil() {
		return "nil"
	}
	n := len(h)
	for n > 1 && h[n-1] == 0 {
		n--
	}
	return hex.EncodeToString(h[:n])
}

// HandleOfKey makes a handle from a key hash.
func HandleOfKey(hash cdr.KeyHash) InstanceHandle {
	if h := InstanceHandle(hash); h != HandleNil {
		return h
	}
	return zeroKey
}

// HandleOfEntity makes the handle of a writer or reader: endpoint id of a node. It is unique in a domain, and never
// HandleNil because no endpoint has the id zero.
func HandleOfEntity(node uint64, endpoint uint32) InstanceHandle {
	var h InstanceHandle
	binary.BigEndian.PutUint64(h[:], node)
	binary.BigEndian.PutUint32(h[8:], endpoint)
	h[15] = 1
	return h
}

// HandleOfGroup makes the handle of a Publisher or Subscriber: the number that it has in its node. It is never that of a writer
// or reader.
func HandleOfGroup(node uint64, number uint32) InstanceHandle {
	h := HandleOfEntity(node, number)
	h[15] = 2
	return h
}
