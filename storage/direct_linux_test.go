package storage

import (
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// reluctant is the file system of the operating system, where what is written directly does not lie as the device wants
// it: O_DIRECT is taken, and the first write refused, with EINVAL.
type reluctant struct {
	vfs.OS
	mu      sync.Mutex
	asked   int // files that were to be written directly
	refused int // and are not any more
}

type reluctantFile struct {
	vfs.File
	fs     *reluctant
	direct bool // it has the flag
}

func (r *reluctant) Create(name string) (vfs.File, error) {
	f, err := r.OS.Create(name)
	return &reluctantFile{File: f, fs: r}, err
}

func (f *reluctantFile) Direct(limit int) int {
	align := f.File.Direct(limit)
	f.direct = f.flagged()
	if f.direct {
		f.fs.mu.Lock()
		f.fs.asked++
		f.fs.mu.Unlock()
	}
	return align
}

func (f *reluctantFile) flagged() bool {
	flags, _, err := syscall.Syscall(syscall.SYS_FCNTL, f.File.(interface{ Fd() uintptr }).Fd(), syscall.F_GETFL, 0)
	return err == 0 && flags&syscall.O_DIRECT != 0
}

func (f *reluctantFile) WriteAt(p []byte, off int64) (int, error) {
	if !f.direct {
		return f.File.WriteAt(p, off)
	}
	odd := vfs.Aligned(len(p) + 1)[1:]
	if uintptr(unsafe.Pointer(&odd[0]))%2 == 0 {
		panic("aligned")
	}
	n, err := f.File.WriteAt(odd[:copy(odd, p)], off)
	if f.direct = f.flagged(); !f.direct {
		f.fs.mu.Lock()
		f.fs.refused++
		f.fs.mu.Unlock()
	}
	return n, err
}

// A file system takes O_DIRECT and then refuses the first write, of each segment. The log goes through the cache, and
// loses nothing.
func TestDirectIsRefusedLate(t *testing.T) {
	o := Options{FS: &reluctant{}, SegmentBytes: minSegmentBytes}
	fsys := o.FS.(*reluctant)
	dir := filepath.Join(t.TempDir(), "log")
	var all []Record
	var last Version
	for round := range 2 { // and a log that is opened again
		l, _, err := Open(dir, o)
		noError(t, err)
		for range 5 {
			more := appendAll(t, l, last, 1000, 2900, 1, 2000)
			_, err := l.Sync()
			noError(t, err)
			all = append(all, more...)
			last = more[len(more)-1].Version
		}
		noError(t, l.Close())
		got, err := readAll(dir, o, Version{})
		noError(t, err)
		mustMatch(t, all, got)
		if round == 0 && fsys.asked == 0 {
			t.Skip("the file system has no direct writes")
		}
		if fsys.asked < 2 {
			t.Fatalf("%d segments", fsys.asked)
		}
	}
	if fsys.refused == 0 {
		t.Skip("the file system writes directly from any address")
	}
	equal(t, fsys.asked, fsys.refused)
}
