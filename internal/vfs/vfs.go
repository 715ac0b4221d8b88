package vfs

import (
	"fmt"
	"io"
)

// SectorBytes is the unit that a device writes wholly or not at all.
const SectorBytes = 512

// FS is a file system. Errors are those of package os, or wrap a syscall.Errno.
type FS interface {
	// MkdirAll makes dir and what is missing above it. What it made is safe when it returns.
	MkdirAll(dir string) error
	// List returns the names of the files in dir, sorted.
	List(dir string) ([]string, error)
	// Create makes an empty file for reading and writing; an existing one is emptied.
	Create(name string) (File, error)
	// Open opens an existing file for reading.
	Open(name string) (File, error)
	// OpenWrite opens an existing file for reading and writing.
	OpenWrite(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes the names in dir safe.
	SyncDir(dir string) error
	// Lock takes the lock file name for the caller until Close or the end of the process. owner
	// is kept in the file for others to read. The error is a *LockedError when it is taken.
	Lock(name, owner string) (io.Closer, error)
}

// File is an open file. Writes go to an offset: there is no position to share.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Preallocate reserves disk space so that the file is at least size bytes long, new bytes
	// zero. Writing below size then needs no new space and, on most file systems, no metadata.
	Preallocate(size int64) error
	// Sync makes the contents and the size safe.
	Sync() error
	// Direct asks that writes go to the device without a copy in the cache of the system, and says of what their offset,
	// length and address must be multiples from then on (Aligned): a power of two from SectorBytes to limit. It is 0 where
	// the file system can not do that; then writes go through the cache as before.
	Direct(limit int) int
}

// LockedError says who holds a lock file.
type LockedError struct {
	Name  string
	Owner string // as given to Lock by the holder; empty if it could not be read
}

func (e *LockedError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("%s is locked by another process", e.Name)
	}
	return fmt.Sprintf("%s is locked by %s", e.Name, e.Owner)
}
