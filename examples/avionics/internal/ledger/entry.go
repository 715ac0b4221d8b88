package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Entry is one sample that a process has taken.
type Entry struct {
	Epoch    uint32 // with Sequence: its position in the order of the topic
	Sequence uint64
	Number   uint64 // see Number
	Instance uint32 // of topics that are keyed by address
	Sum      uint64 // of the content
	History  bool   // it was given as history
}

// numbers is how many samples a life can number.
const numbers = 1_000_000_000_000

// Number is what the n-th sample of a writer is called, from 1, in a generation of its process, from 0.
func Number(generation int, n uint64) uint64 { return uint64(generation)*numbers + n }

// Generation and Count take a number apart.
func Generation(number uint64) int { return int(number / numbers) }

// Count is the n of Number.
func Count(number uint64) uint64 { return number % numbers }

// Sum condenses the content of a sample.
func Sum(content []byte) uint64 {
	h := sha256.Sum256(content)
	return binary.LittleEndian.Uint64(h[:])
}

// entrySize is epoch(u32) instance(u32) sequence(u64) number(u64) sum(u64) history(u8), little endian.
const entrySize = 4 + 4 + 8 + 8 + 8 + 1

// Append packs an entry behind b.
func (e Entry) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, e.Epoch)
	b = le.AppendUint32(b, e.Instance)
	b = le.AppendUint64(b, e.Sequence)
	b = le.AppendUint64(b, e.Number)
	b = le.AppendUint64(b, e.Sum)
	if e.History {
		return append(b, 1)
	}
	return append(b, 0)
}

// parse unpacks entries.
func parse(b []byte) ([]Entry, error) {
	if len(b)%entrySize != 0 {
		return nil, fmt.Errorf("ledger: %d bytes are no whole number of entries of %d", len(b), entrySize)
	}
	le := binary.LittleEndian
	entries := make([]Entry, 0, len(b)/entrySize)
	for ; len(b) > 0; b = b[entrySize:] {
		entries = append(entries, Entry{
			Epoch: le.Uint32(b), Instance: le.Uint32(b[4:]), Sequence: le.Uint64(b[8:]), Number: le.Uint64(b[16:]),
			Sum: le.Uint64(b[24:]), History: b[32] != 0,
		})
	}
	return entries, nil
}

// before tells whether e has the lower position.
func (e *Entry) before(o *Entry) bool {
	return e.Epoch < o.Epoch || e.Epoch == o.Epoch && e.Sequence < o.Sequence
}

// at tells whether both have the same position.
func (e *Entry) at(o *Entry) bool { return e.Epoch == o.Epoch && e.Sequence == o.Sequence }

// same tells whether both say the same about a position.
func (e *Entry) same(o *Entry) bool {
	return e.Number == o.Number && e.Sum == o.Sum && e.Instance == o.Instance
}

func (e *Entry) position() string { return fmt.Sprintf("%d.%d", e.Epoch, e.Sequence) }
