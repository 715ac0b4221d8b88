package smc

import (
	"encoding/binary"
	"fmt"
)

const (
	// SlotBytes is the unit of the ring: a cache line.
	SlotBytes = 64
	// HeaderBytes lie in front of the payload.
	HeaderBytes = 40
)

// What a record is.
const (
	recMessage = 1
	recPad     = 2 // fills the ring up to its end
	recVoid    = 3 // reserved and given up
)

// Header is what the sender says of a message.
type Header struct {
	Writer    uint32
	WriterSeq uint64
	Timestamp int64
	Kind      uint8
	Flags     uint8
}

// Record is a message as a receiver sees it. Payload lies in the ring.
type Record struct {
	Header
	Index   uint64
	Payload []byte
}

// RecordBytes is what a message with a payload of that size takes of the ring.
func RecordBytes(payload int) int { return slotsFor(payload) * SlotBytes }

func slotsFor(payload int) int { return (HeaderBytes + payload + SlotBytes - 1) / SlotBytes }

// MaxPayload is the largest payload for a ring. Half a ring, so that a record and the padding that
// it may need at the end always fit together.
func MaxPayload(ring int) int { return ring/2 - HeaderBytes }

// putHeader stores words as wholes, and Flags by itself: the processor hands on what is still on its way to the cache
// to a load of that or less, and waits with one that spans two stores, as a load of Kind and Flags together would,
// until all of the message before is in the cache.
func putHeader(b []byte, rec uint8, slots, length int, h *Header) {
	f := (*[HeaderBytes]byte)(b)
	binary.LittleEndian.PutUint64(f[0:], uint64(uint32(length))|uint64(h.Writer)<<32)
	binary.LittleEndian.PutUint64(f[16:], uint64(h.Timestamp))
	binary.LittleEndian.PutUint64(f[24:], h.WriterSeq)
	binary.LittleEndian.PutUint64(f[32:], uint64(rec)|uint64(h.Kind)<<8|uint64(uint32(slots))<<32)
	f[34] = h.Flags
}

func putIndex(b []byte, index uint64) { binary.LittleEndian.PutUint64(b[8:], index) }

// parse reads the record at the front of b, which ends at the published tail or the end of the ring, into r, which is
// not touched unless it is a message. The memory is a peer's: every length is read once, checked, and only then used.
func parse(b []byte, r *Record) (rec uint8, size int, err error) {
	if len(b) < SlotBytes {
		return 0, 0, fmt.Errorf("smc: record of %d bytes", len(b))
	}
	head := (*[HeaderBytes]byte)(b)
	first, last := binary.LittleEndian.Uint64(head[0:]), binary.LittleEndian.Uint64(head[32:])
	length, slots := int(uint32(first)), int(last>>32)
	rec = uint8(last)
	size = slots * SlotBytes
	if slots < 1 || size > len(b) || rec < recMessage || rec > recVoid || rec == recMessage && HeaderBytes+length > size {
		return 0, 0, fmt.Errorf("smc: damaged record: kind %d, %d slots, %d bytes of payload, %d bytes published", rec, slots, length, len(b))
	}
	if rec != recMessage {
		return rec, size, nil
	}
	r.Writer = uint32(first >> 32)
	r.Index = binary.LittleEndian.Uint64(head[8:])
	r.Timestamp = int64(binary.LittleEndian.Uint64(head[16:]))
	r.WriterSeq = binary.LittleEndian.Uint64(head[24:])
	r.Kind, r.Flags = uint8(last>>8), uint8(last>>16)
	r.Payload = b[HeaderBytes : HeaderBytes+length : HeaderBytes+length]
	return rec, size, nil
}
