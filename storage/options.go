package storage

import (
	"fmt"
	"math"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// Options of a log. The zero value is usable.
type Options struct {
	// FS holds the log; nil is the operating system's.
	FS vfs.FS
	// SegmentBytes is the size of the files, which are reserved whole when they are begun. A
	// record does not span files. Default 64 MiB; a multiple of 4096 from 8 KiB to 1 GiB.
	SegmentBytes int64
	// BatchBytes bounds what Append takes before it must be synced; one record is always taken.
	// Default 16 MiB. Memory is twice that, rounded up to a power of two: a batch filling and a batch
	// being written.
	BatchBytes int
	// Owner is how this process is called in the message that a second one gets. Default
	// "process PID".
	Owner string
	// Go runs what the log does beside its callers: making the next segment. nil is a goroutine, which ends before Close
	// does. A simulation runs it at once.
	Go func(func())
	// Found, if not nil, is called by Open, and by Verify, for each record that the log holds, in order. The Record and its
	// Payload are valid for the call.
	Found func(*Record)
	// Trimmed says up to which version records need not be there, as the caller has what he needs of them elsewhere
	// (Log.Trim). A log that lacks more than that at its front is corrupt. It is called if the log lacks anything there, by
	// Open with the lock of the log held. nil: nothing may be missing.
	Trimmed func() (Version, error)
	// LogID tells this log's segments from other logs'. It is used for a new log only; 0 draws
	// one at random, which is right outside of tests.
	LogID uint64
}

// FromWhereItBegins is an Options.Trimmed for who wants what there is of a log.
func FromWhereItBegins() (Version, error) { return Version{math.MaxUint32, math.MaxUint64}, nil }

const (
	defaultSegmentBytes = 64 << 20
	defaultBatchBytes   = 16 << 20
)

// fill checks o and sets the defaults.
func (o Options) fill() (Options, error) {
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Go == nil {
		o.Go = func(f func()) { go f() }
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = defaultBatchBytes
	}
	if o.SegmentBytes < minSegmentBytes || o.SegmentBytes > maxSegmentBytes || o.SegmentBytes%headerBytes != 0 {
		return o, fmt.Errorf("%w: SegmentBytes %d is not a multiple of %d from %d to %d",
			ErrOptions, o.SegmentBytes, headerBytes, minSegmentBytes, maxSegmentBytes)
	}
	if o.BatchBytes < 0 {
		return o, fmt.Errorf("%w: BatchBytes %d is negative", ErrOptions, o.BatchBytes)
	}
	return o, nil
}

// maxPayload is the largest payload of a record in segments of that size: the header of its frame and its own, and room
// for a mark and the seal, are taken off.
func maxPayload(segmentBytes, block int64) int {
	return int(segmentBytes-headerBytes-2*block) - frameBytes - wholeBytes
}
