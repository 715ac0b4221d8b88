package storage

import "iter"

// The layout of a record in the body of a frame; part of the format like format.go.
const (
	nextBytes   = 16 // what a record has that follows its predecessor closely
	wholeBytes  = 56 // what any other has, and the first of a frame
	recordAlign = 8  // with the payload behind it, filled up with zeros to a multiple of this
)

// Offsets in a record, of both forms.
const (
	recLength = 0 // of the payload
	recKind   = 4
	recFlags  = 5
	recForm   = 6 // formNext or formWhole
)

// Offsets in a formNext record: how much more than in the record before. All else is the same.
const (
	recWriterSeqMore = 7
	recMore          = 8 // sequence number: 24 bits; timestamp: the 40 bits above
)

// Offsets in a formWhole record.
const (
	recSeq       = 8 // the byte before is zero
	recWriterSeq = 16
	recTimestamp = 24
	recSender    = 32
	recChannel   = 40
	recWriter    = 48
	recEpoch     = 52
)

const (
	formNext  = 0
	formWhole = 1

	maxWriterSeqMore = 1<<8 - 1
	seqMoreBits      = 24
	maxSeqMore       = 1<<seqMoreBits - 1
	maxTimestampMore = 1<<40 - 1 // ns: 18 minutes
)

var (
	_ [-(nextBytes % recordAlign)]struct{}
	_ [-(wholeBytes % recordAlign)]struct{}
	_ [-(frameBytes % recordAlign)]struct{}
)

// follows says whether r behind prev may be written as the difference. What wraps around is a difference too large.
func (r *Record) follows(prev *recordKey) bool {
	return r.Writer == prev.writer && r.Sender == prev.sender && r.Channel == prev.channel && r.Epoch == prev.epoch &&
		r.Seq-prev.seq <= maxSeqMore && r.WriterSeq-prev.writerSeq <= maxWriterSeqMore &&
		uint64(r.Timestamp)-uint64(prev.timestamp) <= maxTimestampMore
}

// recordKey is what the record behind one may leave out.
type recordKey struct {
	sender, channel uint64
	seq, writerSeq  uint64
	timestamp       int64
	writer, epoch   uint32
}

func (r *Record) key() recordKey {
	return recordKey{r.Sender, r.Channel, r.Seq, r.WriterSeq, r.Timestamp, r.Writer, r.Epoch}
}

// align rounds up to where the next record begins.
func align(n int) int { return (n + recordAlign - 1) &^ (recordAlign - 1) }

// putRecord writes r without its payload to the front of b, which has room for wholeBytes, and returns where the payload
// begins. prev is the record before, nil in front of a frame.
func putRecord(b []byte, r *Record, prev *recordKey) int {
	b = b[:wholeBytes]
	front := uint64(len(r.Payload)) | uint64(r.Kind)<<32 | uint64(r.Flags)<<40
	if prev != nil && r.follows(prev) {
		le.PutUint64(b[recLength:], front|(r.WriterSeq-prev.writerSeq)<<56)
		le.PutUint64(b[recMore:], (r.Seq-prev.seq)|uint64(r.Timestamp-prev.timestamp)<<seqMoreBits)
		return nextBytes
	}
	le.PutUint64(b[recLength:], front|formWhole<<48)
	le.PutUint64(b[recSeq:], r.Seq)
	le.PutUint64(b[recWriterSeq:], r.WriterSeq)
	le.PutUint64(b[recTimestamp:], uint64(r.Timestamp))
	le.PutUint64(b[recSender:], r.Sender)
	le.PutUint64(b[recChannel:], r.Channel)
	le.PutUint32(b[recWriter:], r.Writer)
	le.PutUint32(b[recEpoch:], r.Epoch)
	return wholeBytes
}

// takeRecord reads the record at the front of b into r, which holds the one before, and returns its size; 0 if there is
// none that putRecord wrote. Payload points into b.
func takeRecord(b []byte, r *Record, first bool) int {
	if len(b) < nextBytes {
		return 0
	}
	at := nextBytes
	switch form := b[recForm]; {
	case form == formNext && !first:
		more := le.Uint64(b[recMore:])
		r.Seq += more & maxSeqMore
		r.WriterSeq += uint64(b[recWriterSeqMore])
		r.Timestamp += int64(more >> seqMoreBits)
	case form == formWhole && len(b) >= wholeBytes:
		at = wholeBytes
		r.Seq, r.WriterSeq = le.Uint64(b[recSeq:]), le.Uint64(b[recWriterSeq:])
		r.Timestamp = int64(le.Uint64(b[recTimestamp:]))
		r.Sender, r.Channel = le.Uint64(b[recSender:]), le.Uint64(b[recChannel:])
		r.Writer, r.Epoch = le.Uint32(b[recWriter:]), le.Uint32(b[recEpoch:])
	default:
		return 0
	}
	length := int64(le.Uint32(b[recLength:]))
	if length > int64(len(b)-at) {
		return 0
	}
	end := at + int(length)
	if align(end) > len(b) {
		return 0
	}
	r.Kind, r.Flags = b[recKind], b[recFlags]
	r.Payload = b[at:end:end]
	return align(end)
}

// records are the records in the body of a frame, which the scanner has checked. The Record is reused.
func records(body []byte) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		var r Record
		for at := 0; at < len(body); {
			at += takeRecord(body[at:], &r, at == 0)
			if !yield(&r) {
				return
			}
		}
	}
}
