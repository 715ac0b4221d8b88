package smc

import (
	"fmt"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/sst"
)

// Receiver is a reading end of a ring. One goroutine uses it.
type Receiver struct {
	region *rdma.Region
	ring   []byte
	tail   uint64 // as loaded by Poll
	next   uint64
	pos    uint64 // of the record that Peek shows, or of the next one
	size   uint64 // of that record, 0 if none was parsed
	rec    Record
	behind uint64 // index of the last record taken, plus one: indices must ascend
}

// NewReceiver reads the ring of a row.
func NewReceiver(region *rdma.Region) *Receiver {
	return &Receiver{region: region, ring: region.Ring()}
}

// Stirred tells whether Poll would.
func (r *Receiver) Stirred() bool {
	return r.region.Cell(sst.Next).Load() != r.next || r.region.Cell(sst.Tail).Load() != r.tail
}

// Poll looks at the sender's counters and reports whether anything is new. Next is loaded before
// Tail, the reverse of the order in which they are stored: the tail covers all that Next speaks of.
func (r *Receiver) Poll() bool {
	next := r.region.Cell(sst.Next).Load()
	tail := r.region.Cell(sst.Tail).Load()
	if next == r.next && tail == r.tail {
		return false
	}
	r.next, r.tail = next, tail
	return true
}

// Next is the bound below which every index is known: a message that Peek shows, or a null.
func (r *Receiver) Next() uint64 { return r.next }

// Real is one above the index of the last published message.
func (r *Receiver) Real() uint64 { return r.region.Cell(sst.Real).Load() }

// Pos is the position up to which records were taken.
func (r *Receiver) Pos() uint64 { return r.pos }

// Peek is the next message, if it is published. The error is final: the ring is damaged.
func (r *Receiver) Peek() (*Record, error) {
	if r.size > 0 {
		return &r.rec, nil
	}
	// The sender waits for this receiver before it reuses a byte, so the tail is at most a ring ahead.
	if r.tail > r.pos+uint64(len(r.ring)) {
		return nil, fmt.Errorf("smc: damaged counters: %d bytes published, %d taken, of a ring of %d", r.tail, r.pos, len(r.ring))
	}
	for r.pos < r.tail {
		at := r.pos & uint64(len(r.ring)-1)
		end := min(uint64(len(r.ring)), at+(r.tail-r.pos))
		rec, size, err := parse(r.ring[at:end], &r.rec)
		if err != nil {
			return nil, err
		}
		if rec != recMessage {
			r.pos += uint64(size)
			continue
		}
		if r.rec.Index < r.behind {
			return nil, fmt.Errorf("smc: index %d after %d", r.rec.Index, r.behind)
		}
		r.size = uint64(size)
		return &r.rec, nil
	}
	return nil, nil
}

// Take drops the message that Peek showed. Its payload stays valid until the receiver tells the
// sender, through the table, that it was handed over.
func (r *Receiver) Take() {
	if r.size == 0 {
		return
	}
	r.behind = r.rec.Index + 1
	r.pos += r.size
	r.size = 0
}
