package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

var (
	// ErrFailed: a write or sync failed earlier; the log takes no more records. Open it again.
	ErrFailed = errors.New("storage: the log has failed and takes no more records")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("storage: the log is closed")
	// ErrCorrupt: the bytes on disk are not what was written; see CorruptError.
	ErrCorrupt = errors.New("storage: the log is corrupt")
	// ErrLocked: another process writes this log; see LockedError.
	ErrLocked = errors.New("storage: the log is in use")
	// ErrOrder: the version is not above the last one; nothing was appended.
	ErrOrder = errors.New("storage: version out of order")
	// ErrTooLarge: the payload does not fit a segment; nothing was appended.
	ErrTooLarge = errors.New("storage: record too large")
	// ErrBatchFull: Options.BatchBytes wait to be synced; nothing was appended. Try after Sync.
	ErrBatchFull = errors.New("storage: batch full")
	// ErrOptions: the options contradict each other or the limits.
	ErrOptions = errors.New("storage: bad options")
)

// IOError is an error of the file system with the path that it concerns.
type IOError struct {
	Op   string
	Path string
	Err  error
}

func (e *IOError) Error() string {
	s := fmt.Sprintf("storage: %s %s: %v", e.Op, e.Path, e.Err)
	if h := hint(e.Err); h != "" {
		s += "; " + h
	}
	return s
}

func (e *IOError) Unwrap() error { return e.Err }

// ioError wraps err, or returns nil for nil. A path inside err is dropped: Path says it.
func ioError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	} else if le, ok := errors.AsType[*os.LinkError](err); ok {
		err = le.Err
	}
	return &IOError{Op: op, Path: path, Err: err}
}

// hint says what to do about an error of the file system.
func hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on that volume or put the log on another, then start again: " +
			"what was acknowledged is safe"
	case errors.Is(err, syscall.EROFS):
		return "the volume is read-only: choose another log directory"
	case errors.Is(err, fs.ErrPermission):
		return "make the log directory writable for this user or choose another"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return "a file stands where the log directory should be: choose another log directory"
	case errors.Is(err, syscall.EIO):
		return "the device is failing: check it before this log is used again"
	}
	return ""
}

// CorruptError says where the bytes on disk are not what was written. Nothing was changed.
type CorruptError struct {
	Path   string // of the file; of the directory when a file is missing
	Offset int64  // where in the file
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("storage: %s: corrupt at offset %d: %s; nothing was changed: "+
		"restore the file from a copy, or move the log away and fetch the state from another node",
		e.Path, e.Offset, e.Reason)
}

func (e *CorruptError) Unwrap() error { return ErrCorrupt }

// LockedError says who writes the log.
type LockedError struct {
	Dir   string
	Owner string // "process 4711", or empty if unknown
}

func (e *LockedError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another process"
	}
	return fmt.Sprintf("storage: log %s is in use by %s; stop it or choose another log directory", e.Dir, owner)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// failure is the final state of a log: it unwraps to ErrFailed and to the cause.
type failure struct{ cause error }

func (e *failure) Error() string   { return ErrFailed.Error() + ": " + e.cause.Error() }
func (e *failure) Unwrap() []error { return []error{ErrFailed, e.cause} }
