package vfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// memFile is an open file of a Mem. m.mu guards the node.
type memFile struct {
	m      *Mem
	n      *node
	name   string
	write  bool
	closed bool
	direct bool
}

// usable returns why an operation can not be done, or nil. m.mu is held.
func (f *memFile) usable(op string, write bool) error {
	switch {
	case f.m.crashed:
		return pathError(op, f.name, ErrCrashed)
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	case write && !f.write:
		return pathError(op, f.name, syscall.EBADF)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("read", false); err != nil {
		return 0, err
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("write", true); err != nil {
		return 0, err
	}
	if f.direct && (off%SectorBytes != 0 || len(p)%SectorBytes != 0) {
		return 0, pathError("write", f.name, syscall.EINVAL)
	}
	f.n.extend(off + int64(len(p)))
	return copy(f.n.data[off:], p), nil
}

func (n *node) extend(size int64) {
	if more := size - int64(len(n.data)); more > 0 {
		n.data = append(n.data, make([]byte, more)...)
	}
}

func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("stat", false); err != nil {
		return 0, err
	}
	return int64(len(f.n.data)), nil
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("truncate", true); err != nil {
		return err
	}
	f.n.extend(size)
	f.n.data = f.n.data[:size:size] // capacity cut, so that growing again brings zeros
	return nil
}

func (f *memFile) Preallocate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("preallocate", true); err != nil {
		return err
	}
	f.n.extend(size)
	return nil
}

// Direct holds the caller to whole sectors.
func (f *memFile) Direct(int) int {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.direct = true
	return SectorBytes
}

func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usable("sync", true); err != nil {
		return err
	}
	f.n.safe = slices.Clone(f.n.data)
	return nil
}

func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	return nil
}
