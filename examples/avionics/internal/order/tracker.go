package order

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"

	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
)

// Rules say what a topic's samples promise.
type Rules uint8

const (
	// Total: complete, each once, in one order for all readers (the reliable paths).
	Total Rules = iota
	// PerWriter: what comes from a writer comes in order, but some of it may be missing (the unordered path).
	PerWriter
)

// Sample is what the tracker needs of one.
type Sample struct {
	Writer   [16]byte
	Number   uint64 // the source's own count, from 1
	Epoch    uint32
	Sequence uint64
	Bytes    []byte // as it travelled
}

// Result is what a reader saw of a topic.
type Result struct {
	Delivered  uint64 `json:"delivered"`
	Missing    uint64 `json:"missing"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	First      uint64 `json:"first"` // number of the first sample
	Last       uint64 `json:"last"`  // greatest number
	Digest     string `json:"digest"`
}

// Tracker follows one topic at one reader.
type Tracker struct {
	rules   Rules
	late    bool
	writers map[[16]byte]*line
	result  Result
	digest  hash.Hash
	scratch [16]byte

	epoch    uint32
	sequence uint64
	any      bool
}

// line is what came from one writer.
type line struct {
	next    uint64              // the number that is due
	skipped map[uint64]struct{} // numbers left out, which may still come
}

// maxSkipped bounds what is remembered of numbers that were left out; a reader that misses more is wrong anyway.
const maxSkipped = 4096

// NewTracker makes the tracker of a reader that was there from the beginning.
func NewTracker(rules Rules) *Tracker {
	return &Tracker{rules: rules, writers: make(map[[16]byte]*line), digest: sha256.New()}
}

// Late says that the reader joined in the middle: what came before the first sample is not missing.
func (t *Tracker) Late() { t.late = true }

// HistoryEnds tells the tracker of a late reader that what it took so far is history, in which gaps are right: they do
// not count as missing.
func (t *Tracker) HistoryEnds() {
	t.result.Missing = 0
	for w := range maps.Values(t.writers) {
		clear(w.skipped)
	}
}

// Sample takes the next sample in the order in which the reader took them.
func (t *Tracker) Sample(s Sample) {
	t.count(&s)
	t.digestSample(t.digest, &s)
}

func (t *Tracker) count(s *Sample) {
	r := &t.result
	r.Delivered++
	if r.First == 0 {
		r.First = s.Number
	}
	r.Last = max(r.Last, s.Number)
	if t.rules == Total {
		if t.any && (s.Epoch < t.epoch || s.Epoch == t.epoch && s.Sequence <= t.sequence) {
			r.Reordered++
		}
		t.epoch, t.sequence, t.any = s.Epoch, s.Sequence, true
	}
	w := t.writers[s.Writer]
	if w == nil {
		w = &line{next: ledger.Number(ledger.Generation(s.Number), 1), skipped: make(map[uint64]struct{})}
		if t.late || t.rules == PerWriter {
			w.next = s.Number // an unordered reader's losses at the beginning can not be told from being late
		}
		t.writers[s.Writer] = w
	}
	t.place(w, s.Number)
}

// place puts a number into its writer's line.
func (t *Tracker) place(w *line, number uint64) {
	r := &t.result
	switch {
	case number == w.next:
		w.next++
	case number > w.next:
		for n := w.next; n < number; n++ {
			if len(w.skipped) == maxSkipped {
				break
			}
			w.skipped[n] = struct{}{}
		}
		r.Missing += number - w.next
		w.next = number + 1
	default:
		if _, left := w.skipped[number]; left {
			delete(w.skipped, number)
			r.Missing--
			r.Reordered++
			return
		}
		r.Duplicated++
	}
}

// digestSample feeds the identity and the bytes of a sample into a digest.
func (t *Tracker) digestSample(d hash.Hash, s *Sample) {
	binary.LittleEndian.PutUint64(t.scratch[:], s.Number)
	binary.LittleEndian.PutUint64(t.scratch[8:], uint64(len(s.Bytes)))
	_, _ = d.Write(t.scratch[:]) // a hash.Hash never fails
	_, _ = d.Write(s.Bytes)
}

// Result gives what was seen so far.
func (t *Tracker) Result() Result {
	r := t.result
	r.Digest = sum(t.digest)
	return r
}

// sum gives the digest of what was fed so far; the hash goes on.
func sum(d hash.Hash) string { return hex.EncodeToString(d.Sum(nil)) }

// Short is a digest as tables show it.
func Short(digest string) string { return digest[:min(12, len(digest))] }
