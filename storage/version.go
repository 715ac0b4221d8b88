package storage

import (
	"cmp"
	"fmt"
)

// Version is a position in the total order of a subgroup: epochs first, then the sequence number
// within the epoch. The zero Version is before every record.
type Version struct {
	Epoch uint32
	Seq   uint64
}

// Compare is negative when v is before w, zero when they are the same, positive otherwise.
func (v Version) Compare(w Version) int {
	if c := cmp.Compare(v.Epoch, w.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(v.Seq, w.Seq)
}

func (v Version) String() string { return fmt.Sprintf("%d:%d", v.Epoch, v.Seq) }

// Record is one entry of the log: a message as it was delivered.
type Record struct {
	Version
	Timestamp int64  // source timestamp, ns since the Unix epoch
	Sender    uint64 // node
	Channel   uint64 // topic within the subgroup
	WriterSeq uint64
	Writer    uint32 // endpoint at the node
	Kind      uint8
	Flags     uint8
	Payload   []byte
}
