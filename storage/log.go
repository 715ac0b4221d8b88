package storage

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"sync"

	"github.com/omg-dds-go/dds/internal/invariant"
	"github.com/omg-dds-go/dds/internal/vfs"
)

// Log is an open log. One goroutine may Append while another one Syncs; see the package comment.
type Log struct {
	dir        string
	opt        Options
	maxPayload int
	lock       io.Closer

	mu       sync.Mutex // guards what follows; held for a copy or a swap, never over I/O
	err      error      // final: ErrClosed, or a *failure
	filling  *batch     // where Append puts frames
	appended Version    // of the last record appended
	next     cursor     // where the next frame goes
	durable  Version    // of the last record synced; changes with syncMu held too

	syncMu sync.Mutex // before mu; guards what follows; held over I/O
	file   vfs.File   // current segment
	header segmentHeader
	seed   uint32 // of its checksums
	tail   int64  // where the next batch is written in file
	idle   *batch // the other one of the two batches; nil while being written
	marked bool   // the last frame in file is a mark
}

// cursor is a place in the segment that Append fills, which is ahead of the one on disk.
type cursor struct {
	off      int64 // in the segment
	capacity int64 // of the segment
	begin    int64 // of the batch in the segment: all before it is synced when the batch is written
}

// batch is what one Sync writes: frames, in one segment unless rolls says otherwise.
type batch struct {
	buf   []byte
	rolls []roll
	last  Version // of the last record in it
}

// roll says that the frames of buf from at on go into a new segment.
type roll struct {
	at   int
	prev Version // of the last record before
}

// Append copies r into the batch that the next Sync writes. Nothing is durable before that. The
// version must be above the last one. On ErrOrder, ErrTooLarge and ErrBatchFull nothing was
// appended and the log goes on.
func (l *Log) Append(r *Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if r.Version.Compare(l.appended) <= 0 {
		return fmt.Errorf("%w: %v is not above %v in log %s", ErrOrder, r.Version, l.appended, l.dir)
	}
	if len(r.Payload) > l.maxPayload {
		return fmt.Errorf("%w: payload of %d bytes, limit %d with segments of %d bytes",
			ErrTooLarge, len(r.Payload), l.maxPayload, l.opt.SegmentBytes)
	}
	b := l.filling
	size := sizeOnDisk(len(r.Payload))
	if len(b.buf) > 0 && len(b.buf)+size > l.opt.BatchBytes {
		return ErrBatchFull // bare: the polling thread may meet it often
	}
	if l.next.off+int64(size)+endFrames > l.next.capacity {
		l.put(&frame{typ: frameSeal})
		b.rolls = append(b.rolls, roll{at: len(b.buf), prev: l.appended})
		l.next = cursor{off: headerBytes, begin: headerBytes, capacity: l.opt.SegmentBytes}
	}
	l.put(&frame{typ: frameRecord, Record: *r})
	l.appended, b.last = r.Version, r.Version
	return nil
}

// put adds a frame at l.next. l.mu is held.
func (l *Log) put(f *frame) {
	f.offset, f.durable = uint32(l.next.off), uint32(l.next.begin)
	before := len(l.filling.buf)
	l.filling.buf = appendFrame(l.filling.buf, f)
	l.next.off += int64(len(l.filling.buf) - before)
	invariant.Check(l.next.off <= l.next.capacity, "frame ends within its segment")
}

// Sync makes all that was appended before the call durable and returns the version of the last
// durable record. An error is final: the version returned is what is known to be durable, the log
// takes no more records, and every later call returns the same error.
func (l *Log) Sync() (Version, error) {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	err := l.sync()
	return l.Durable(), err
}

// sync writes the batch. l.syncMu is held.
func (l *Log) sync() error {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	b := l.filling
	if len(b.buf) == 0 {
		l.mu.Unlock()
		return nil
	}
	l.filling, l.idle = l.idle, nil
	l.next.begin = l.next.off // true when the next batch is written, for this one is synced by then
	l.mu.Unlock()

	if err := l.write(b); err != nil {
		return l.fail(err)
	}
	invariant.Check(b.last.Compare(l.durable) > 0, "durable version rises")
	l.mu.Lock()
	l.durable = b.last
	l.mu.Unlock()
	b.buf, b.rolls = b.buf[:0], b.rolls[:0]
	l.idle = b
	return nil
}

// write writes and syncs the parts of a batch, each to its segment.
func (l *Log) write(b *batch) error {
	from := 0
	for _, r := range b.rolls {
		// The new segment is safe before the seal says that there is one: a sealed segment
		// without a successor is then always a loss, not a crash.
		h := segmentHeader{log: l.header.log, index: l.header.index + 1, prev: r.prev, capacity: l.opt.SegmentBytes}
		next, err := createSegment(l.opt.FS, l.dir, h)
		if err != nil {
			return err
		}
		if err := l.writePart(b.buf[from:r.at]); err != nil {
			next.Close() // the error of the write says more
			return err
		}
		if err := l.file.Close(); err != nil {
			next.Close() // likewise
			return ioError("close segment", l.path(), err)
		}
		l.writeTo(next, h, headerBytes)
		from = r.at
	}
	return l.writePart(b.buf[from:])
}

// writeTo makes f the current segment, to be written from tail on.
func (l *Log) writeTo(f vfs.File, h segmentHeader, tail int64) {
	l.file, l.header, l.seed, l.tail = f, h, h.seed(), tail
}

// writePart writes frames to the current segment: one write, one sync.
func (l *Log) writePart(p []byte) error {
	invariant.Check(int64(le.Uint32(p[frmOffset:])) == l.tail, "batch continues its segment")
	invariant.Check(l.tail+int64(len(p)) <= l.header.capacity, "batch fits its segment")
	stamp(p, l.seed)
	if _, err := l.file.WriteAt(p, l.tail); err != nil {
		return ioError("write", l.path(), err)
	}
	if err := l.file.Sync(); err != nil {
		return ioError("sync", l.path(), err)
	}
	l.tail += int64(len(p))
	l.marked = false
	return nil
}

func (l *Log) path() string { return filepath.Join(l.dir, segmentName(l.header.index)) }

// fail makes cause the final state of the log.
func (l *Log) fail(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = &failure{cause}
	}
	return l.err
}

// Durable returns the version of the last record that is durable.
func (l *Log) Durable() Version {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

// MaxPayload is the largest payload that Append takes.
func (l *Log) MaxPayload() int { return l.maxPayload }

// Dir is the directory of the log.
func (l *Log) Dir() string { return l.dir }

// Records returns the records from a version on, in order, up to the last one that is durable
// when the iteration starts. The Record and its Payload are valid until the next one. An error
// ends the iteration.
func (l *Log) Records(from Version) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		upTo := l.Durable()
		for r, err := range Read(l.dir, l.opt, from) {
			if err == nil && r.Version.Compare(upTo) > 0 {
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Close syncs what was appended, marks the end of the log, gives unused disk space back and
// releases the directory. A log that failed returns its error and is closed all the same. Closing
// again does nothing.
func (l *Log) Close() error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.mu.Lock()
	failed := l.err
	l.mu.Unlock()
	if errors.Is(failed, ErrClosed) {
		return nil
	}
	err := failed
	if err == nil {
		err = l.sync()
	}
	if err == nil {
		err = l.finish()
	}
	l.mu.Lock()
	l.err = ErrClosed
	l.mu.Unlock()
	return errors.Join(err,
		ioError("close segment", l.path(), l.file.Close()),
		ioError("unlock", filepath.Join(l.dir, lockName), l.lock.Close()))
}

// finish writes the mark and cuts the file behind it. l.syncMu is held, the log is synced.
func (l *Log) finish() error {
	if !l.marked && l.tail+endFrames <= l.header.capacity {
		mark := appendFrame(nil, &frame{typ: frameMark, offset: uint32(l.tail), durable: uint32(l.tail)})
		if err := l.writePart(mark); err != nil {
			return err
		}
	}
	if err := l.file.Truncate(l.tail); err != nil {
		return ioError("truncate", l.path(), err)
	}
	return ioError("sync", l.path(), l.file.Sync())
}
