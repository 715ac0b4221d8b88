package vfs

import (
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// Op names an operation that changes something and can be made to fail.
type Op string

// The operations of FS and File that Faulty counts. Reads are not among them.
const (
	OpMkdir       Op = "mkdir"
	OpCreate      Op = "create"
	OpOpenWrite   Op = "openwrite"
	OpRename      Op = "rename"
	OpRemove      Op = "remove"
	OpSyncDir     Op = "syncdir"
	OpLock        Op = "lock"
	OpWrite       Op = "write"
	OpTruncate    Op = "truncate"
	OpPreallocate Op = "preallocate"
	OpSync        Op = "sync"
)

// Faulty is an FS that fails as its owner says. With no rule set it only counts.
type Faulty struct {
	fs FS

	mu     sync.Mutex
	ops    int         // operations seen
	failAt int         // from this operation on all fail with failed; 0 never
	failed error       //
	rules  map[Op]rule // failing one kind of operation
	space  int64       // bytes by which files may still grow; negative: no limit
}

type rule struct {
	after int // let so many through first
	err   error
}

// NewFaulty wraps fs.
func NewFaulty(fs FS) *Faulty { return &Faulty{fs: fs, rules: map[Op]rule{}, space: -1} }

// Ops returns how many operations were seen, failed ones included.
func (f *Faulty) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// FailAt makes the n-th operation from the start (1 is the first) and all later ones fail.
func (f *Faulty) FailAt(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failAt, f.failed = n, err
}

// FailOp lets the next `after` operations of a kind through and fails all later ones of that
// kind; a nil err ends it. A write that fails has written its first half.
func (f *Faulty) FailOp(op Op, after int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules[op] = rule{after, err}
}

// SetSpace limits by how many bytes files may grow from now on; beyond it is ENOSPC.
func (f *Faulty) SetSpace(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.space = bytes
}

// SetReadOnly makes everything that changes something fail with EROFS.
func (f *Faulty) SetReadOnly() { f.FailAt(1, syscall.EROFS) }

func (f *Faulty) check(op Op, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops++
	err := error(nil)
	if f.failAt > 0 && f.ops >= f.failAt {
		err = f.failed
	} else if r := f.rules[op]; r.err != nil {
		if r.after > 0 {
			r.after--
			f.rules[op] = r
		} else {
			err = r.err
		}
	}
	if err != nil {
		return &fs.PathError{Op: string(op), Path: name, Err: err}
	}
	return nil
}

// grow takes up to n bytes of the space left and returns how many it got.
func (f *Faulty) grow(n int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.space < 0 || n <= 0 {
		return n
	}
	got := min(n, f.space)
	f.space -= got
	return got
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(dir string) error {
	if err := f.check(OpMkdir, dir); err != nil {
		return err
	}
	return f.fs.MkdirAll(dir)
}

// List implements FS.
func (f *Faulty) List(dir string) ([]string, error) { return f.fs.List(dir) }

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) { return f.open(OpCreate, name, f.fs.Create) }

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) { return f.fs.Open(name) }

// OpenWrite implements FS.
func (f *Faulty) OpenWrite(name string) (File, error) {
	return f.open(OpOpenWrite, name, f.fs.OpenWrite)
}

func (f *Faulty) open(op Op, name string, open func(string) (File, error)) (File, error) {
	if err := f.check(op, name); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, name: name}, nil
}

// Rename implements FS.
func (f *Faulty) Rename(from, to string) error {
	if err := f.check(OpRename, from); err != nil {
		return err
	}
	return f.fs.Rename(from, to)
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	if err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.fs.Remove(name)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error {
	if err := f.check(OpSyncDir, dir); err != nil {
		return err
	}
	return f.fs.SyncDir(dir)
}

// Lock implements FS.
func (f *Faulty) Lock(name, owner string) (io.Closer, error) {
	if err := f.check(OpLock, name); err != nil {
		return nil, err
	}
	return f.fs.Lock(name, owner)
}

type faultyFile struct {
	File
	fs   *Faulty
	name string
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.check(OpWrite, f.name); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off) // on a dead Mem this fails too: nothing written
		return n, err
	}
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	if beyond := off + int64(len(p)) - size; beyond > 0 {
		if got := f.fs.grow(beyond); got < beyond {
			n, err := f.File.WriteAt(p[:max(0, int64(len(p))-(beyond-got))], off)
			if err == nil {
				err = &fs.PathError{Op: string(OpWrite), Path: f.name, Err: syscall.ENOSPC}
			}
			return n, err
		}
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.fs.check(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Preallocate(size int64) error {
	if err := f.fs.check(OpPreallocate, f.name); err != nil {
		return err
	}
	now, err := f.Size()
	if err != nil {
		return err
	}
	if n := size - now; f.fs.grow(n) < n {
		return &fs.PathError{Op: string(OpPreallocate), Path: f.name, Err: syscall.ENOSPC}
	}
	return f.File.Preallocate(size)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.check(OpSync, f.name); err != nil {
		return err
	}
	return f.File.Sync()
}
