//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	dirMode  fs.FileMode = 0o755
	fileMode fs.FileMode = 0o644
)

// OS is the file system of the operating system.
type OS struct{}

// MkdirAll implements FS.
func (OS) MkdirAll(dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := (OS{}).MkdirAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // ErrExist: somebody else made it in between
	}
	return OS{}.SyncDir(parent)
}

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements FS.
func (OS) Open(name string) (File, error) { return openOS(name, os.O_RDONLY) }

// OpenWrite implements FS.
func (OS) OpenWrite(name string) (File, error) { return openOS(name, os.O_RDWR) }

func openOS(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock implements FS with flock, which ends with the last descriptor of the open file: a process
// that is killed leaves the file but not the lock. The file is never removed, because a third
// process could have it open by then and would lock a name that is gone.
func (OS) Lock(name, owner string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	err = retry(func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 256)) // unreadable: say that it is locked all the same
		f.Close()
		return nil, &LockedError{Name: name, Owner: strings.TrimSpace(string(holder))}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(owner+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

// osFile adds to *os.File what package os lacks.
type osFile struct{ *os.File }

func (f osFile) Direct(limit int) int { return direct(f.File, min(limit, MaxAlign)) }

// WriteAt goes through the cache when the file system does not keep what Direct was told.
func (f osFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	if n == 0 && errors.Is(err, syscall.EINVAL) && undirect(f.File) {
		return f.File.WriteAt(p, off)
	}
	return n, err
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Preallocate(size int64) error {
	now, err := f.Size()
	if err != nil || now >= size {
		return err
	}
	err = allocate(f.File, now, size-now)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return fillZero(f, now, size)
}

// fillZero is Preallocate where the file system has no call for it: zeros are written, which
// reserves the space on all but copy-on-write file systems.
func fillZero(f io.WriterAt, from, to int64) error {
	zeros := make([]byte, min(1<<20, to-from))
	for from < to {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

func (f osFile) Sync() error { return syncData(f.File) }

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
