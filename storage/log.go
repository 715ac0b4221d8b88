package storage

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"sync"

	"github.com/omg-dds-go/dds/internal/invariant"
)

// Log is an open log. Who has batches of his own gives them to Write; for others there are two in the Log, which Append
// fills and Sync writes. A Log is used in one of the two ways.
type Log struct {
	dir        string
	opt        Options
	maxPayload int
	lock       io.Closer

	mu       sync.Mutex // guards what follows; held for a copy or a swap, never over I/O
	err      error      // final: ErrClosed, or a *failure
	filling  *Batch     // where Append puts records
	appended Version    // of the last record appended
	durable  Version    // of the last record synced; changes with syncMu held too
	trimmed  Version    // what is missing at the front is up to it

	syncMu sync.Mutex // before mu; guards what follows; held over I/O
	writer
	idle *Batch // the other one of the two batches; nil while being written
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
		return fmt.Errorf("log %s: %w", l.dir, orderError(r.Version, l.appended))
	}
	if len(r.Payload) > l.maxPayload {
		return l.tooLarge(len(r.Payload))
	}
	if n := l.filling.Bytes(); n > 0 && n+wholeBytes+len(r.Payload) > l.opt.BatchBytes {
		return ErrBatchFull // bare: the polling thread may meet it often
	}
	l.filling.append(r)
	l.appended = r.Version
	return nil
}

func (l *Log) tooLarge(size int) error {
	return fmt.Errorf("%w: payload of %d bytes, limit %d with segments of %d bytes in log %s",
		ErrTooLarge, size, l.maxPayload, l.opt.SegmentBytes, l.dir)
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

// sync writes the batch that Append fills. l.syncMu is held.
func (l *Log) sync() error {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	b := l.filling
	if b.count == 0 {
		l.mu.Unlock()
		return nil
	}
	l.filling, l.idle = l.idle, nil
	l.mu.Unlock()
	if err := l.commit(b); err != nil {
		return err
	}
	b.Reset()
	l.idle = b
	return nil
}

// Write makes a batch durable and returns the version of the last durable record. The batch stays the caller's, who does
// not touch it meanwhile. On ErrOrder and ErrTooLarge nothing was written and the log goes on; any other error is final,
// as with Sync.
func (l *Log) Write(b *Batch) (Version, error) {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.mu.Lock()
	err, durable := l.err, l.durable
	l.mu.Unlock()
	switch {
	case err != nil || b.count == 0:
		return durable, err
	case b.first.Compare(durable) <= 0:
		return durable, fmt.Errorf("log %s: %w", l.dir, orderError(b.first, durable))
	case b.largest > l.maxPayload:
		return durable, l.tooLarge(b.largest)
	}
	err = l.commit(b)
	return l.Durable(), err
}

// commit writes and syncs a batch. l.syncMu is held.
func (l *Log) commit(b *Batch) error {
	invariant.Check(b.first.Compare(l.durable) > 0, "durable version rises")
	if err := l.write(b); err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	l.durable = b.Last()
	if l.durable.Compare(l.appended) > 0 { // by Write
		l.appended = l.durable
	}
	l.mu.Unlock()
	return nil
}

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

// Bytes is how much of the disk the frames take that were there when the log was opened, and that were written since; it does not
// fall when the log is trimmed.
func (l *Log) Bytes() int64 {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	return l.bytes
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
		upTo, o := l.Durable(), l.opt
		o.Trimmed = func() (Version, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.trimmed, nil
		}
		for r, err := range Read(l.dir, o, from) {
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
		l.close(),
		ioError("unlock", filepath.Join(l.dir, lockName), l.lock.Close()))
}
