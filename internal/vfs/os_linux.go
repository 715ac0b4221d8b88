package vfs

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// allocate reserves n bytes at off and extends the file over them.
func allocate(f *os.File, off, n int64) error {
	err := retry(func() error { return syscall.Fallocate(int(f.Fd()), 0, off, n) })
	if err != nil {
		return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// syncData is fdatasync: the contents and the size, but not the times, which nobody needs back.
func syncData(f *os.File) error {
	err := retry(func() error { return syscall.Fdatasync(int(f.Fd())) })
	if err != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

// adviseHuge asks for huge pages. Whether there are any is for the system to say.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
