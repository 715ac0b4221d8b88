package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func errorIs(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// each runs a test on the implementations that must behave alike.
func each(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("os", func(t *testing.T) { test(t, OS{}, t.TempDir()) })
	t.Run("mem", func(t *testing.T) { test(t, NewMem(), ".") })
	t.Run("faulty", func(t *testing.T) { test(t, NewFaulty(NewMem()), ".") })
}

func TestFilesBehaveAlike(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		deep := filepath.Join(dir, "a", "b")
		noError(t, fsys.MkdirAll(deep))
		noError(t, fsys.MkdirAll(deep))

		name := filepath.Join(deep, "x")
		f, err := fsys.Create(name)
		noError(t, err)
		noError(t, f.Preallocate(4096))
		_, err = f.WriteAt([]byte("hello"), 10)
		noError(t, err)
		noError(t, f.Preallocate(100))
		noError(t, f.Sync())
		size, err := f.Size()
		noError(t, err)
		equal(t, int64(4096), size)
		noError(t, f.Truncate(12))
		noError(t, f.Preallocate(20))
		noError(t, f.Close())

		noError(t, fsys.Rename(name, filepath.Join(deep, "y")))
		noError(t, fsys.SyncDir(deep))
		names, err := fsys.List(deep)
		noError(t, err)
		equal(t, []string{"y"}, names)

		f, err = fsys.Open(filepath.Join(deep, "y"))
		noError(t, err)
		got := make([]byte, 30)
		n, err := f.ReadAt(got, 0)
		errorIs(t, err, io.EOF)
		equal(t, append(append(make([]byte, 10), "he"...), make([]byte, 8)...), got[:n])
		_, err = f.WriteAt([]byte("no"), 0)
		if err == nil {
			t.Error("wrote to a file opened for reading")
		}
		noError(t, f.Close())

		noError(t, fsys.Remove(filepath.Join(deep, "y")))
		_, err = fsys.Open(filepath.Join(deep, "y"))
		errorIs(t, err, fs.ErrNotExist)
		_, err = fsys.OpenWrite(filepath.Join(deep, "y"))
		errorIs(t, err, fs.ErrNotExist)
	})
}

func TestMkdirAllOverAFile(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "file")
		f, err := fsys.Create(name)
		noError(t, err)
		noError(t, f.Close())
		errorIs(t, fsys.MkdirAll(name), syscall.ENOTDIR)
		errorIs(t, fsys.MkdirAll(filepath.Join(name, "below")), syscall.ENOTDIR)
	})
}

func TestLockNamesTheHolder(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "LOCK")
		l, err := fsys.Lock(name, "process 17")
		noError(t, err)
		_, err = fsys.Lock(name, "process 18")
		var locked *LockedError
		if !errors.As(err, &locked) {
			t.Fatalf("got %v", err)
		}
		equal(t, "process 17", locked.Owner)
		noError(t, l.Close())
		l, err = fsys.Lock(name, "process 19")
		noError(t, err)
		noError(t, l.Close())
	})
}

func TestZerosWhereFallocateIsMissing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	f, err := os.Create(name)
	noError(t, err)
	defer f.Close()
	_, err = f.WriteString("abc")
	noError(t, err)
	noError(t, fillZero(f, 3, 3<<20))
	got, err := os.ReadFile(name)
	noError(t, err)
	equal(t, append([]byte("abc"), make([]byte, 3<<20-3)...), got)
}

func TestFullDevice(t *testing.T) {
	f, err := OS{}.OpenWrite("/dev/full")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skip("needs /dev/full")
	}
	noError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("x"), 0)
	errorIs(t, err, syscall.ENOSPC)
}

// TestCrashKeepsWhatIsSafe draws many crashes of one history and checks each against what the
// package promises; over all of them every allowed outcome must have been seen.
func TestCrashKeepsWhatIsSafe(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		m := NewMem()
		f, err := m.Create("kept")
		noError(t, err)
		_, err = f.WriteAt(bytes.Repeat([]byte{'a'}, 3*SectorBytes), 0)
		noError(t, err)
		noError(t, f.Sync())
		noError(t, m.SyncDir("."))
		_, err = f.WriteAt(bytes.Repeat([]byte{'b'}, 2*SectorBytes), SectorBytes) // not synced
		noError(t, err)
		g, err := m.Create("new")
		noError(t, err)
		_, err = g.WriteAt([]byte("new"), 0)
		noError(t, err)
		noError(t, m.Rename("new", "newer"))

		after := m.Crash(rand.New(rand.NewPCG(seed, 1)))
		_, err = f.WriteAt([]byte("x"), 0)
		errorIs(t, err, ErrCrashed)
		_, err = m.List(".")
		errorIs(t, err, ErrCrashed)

		names, err := after.List(".")
		noError(t, err)
		got := contents(t, after, "kept")
		equal(t, 3*SectorBytes, len(got))
		sectors := ""
		for s := range 3 {
			sector := got[s*SectorBytes : (s+1)*SectorBytes]
			equal(t, bytes.Repeat(sector[:1], SectorBytes), sector)
			sectors += string(sector[:1])
		}
		equal(t, byte('a'), sectors[0])
		seen[sectors] = true
		for _, name := range names {
			seen[name] = true
			if name != "kept" {
				seen[name+":"+string(contents(t, after, name))] = true
			}
		}
	}
	for _, want := range []string{"aaa", "aab", "aba", "abb", "new", "newer", "newer:", "newer:new"} {
		if !seen[want] {
			t.Errorf("%q never came out", want)
		}
	}
}

func contents(t *testing.T, fsys FS, name string) []byte {
	f, err := fsys.Open(name)
	noError(t, err)
	size, err := f.Size()
	noError(t, err)
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		errorIs(t, err, io.EOF)
	}
	return data
}

func TestFaults(t *testing.T) {
	errDisk := errors.New("disk on fire")
	f := NewFaulty(NewMem())
	file, err := f.Create("x")
	noError(t, err)

	f.FailOp(OpSync, 1, errDisk)
	noError(t, file.Sync())
	errorIs(t, file.Sync(), errDisk)
	errorIs(t, file.Sync(), errDisk)
	f.FailOp(OpSync, 0, nil)
	noError(t, file.Sync())

	f.FailOp(OpWrite, 0, errDisk)
	n, err := file.WriteAt([]byte("abcd"), 0)
	errorIs(t, err, errDisk)
	equal(t, 2, n)
	f.FailOp(OpWrite, 0, nil)

	f.SetSpace(10) // the file has 2 bytes
	n, err = file.WriteAt(make([]byte, 16), 0)
	errorIs(t, err, syscall.ENOSPC)
	equal(t, 12, n)
	_, err = file.WriteAt(make([]byte, 12), 0)
	noError(t, err)
	errorIs(t, file.Preallocate(13), syscall.ENOSPC)

	f.FailAt(f.Ops()+2, errDisk)
	noError(t, f.SyncDir("."))
	errorIs(t, f.SyncDir("."), errDisk)
	_, err = f.Create("y")
	errorIs(t, err, errDisk)

	f.SetReadOnly()
	errorIs(t, f.MkdirAll("d"), syscall.EROFS)
	_, err = f.Lock("LOCK", "me")
	errorIs(t, err, syscall.EROFS)
	_, err = f.Open("x")
	noError(t, err)
}

func TestAlignedMemory(t *testing.T) {
	for _, n := range []int{1, MaxAlign, hugeBytes - 1, hugeBytes, 3*hugeBytes + 5} {
		b := Aligned(n)
		equal(t, n, len(b))
		equal(t, n, cap(b))
		align := uintptr(MaxAlign)
		if n >= hugeBytes {
			align = hugeBytes
		}
		if at := uintptr(unsafe.Pointer(&b[0])); at%align != 0 {
			t.Errorf("%d bytes at %#x, not at a multiple of %d", n, at, align)
		}
		if slices.Max(b) != 0 {
			t.Errorf("%d bytes are not zero", n)
		}
	}
}

func TestDirectWrites(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, dir string) {
		f, err := fsys.Create(filepath.Join(dir, "x"))
		noError(t, err)
		noError(t, f.Preallocate(4*MaxAlign))
		align := f.Direct(MaxAlign)
		if align == 0 {
			t.Skip("the file system has no direct writes")
		}
		if align < SectorBytes || align > MaxAlign || align&(align-1) != 0 {
			t.Fatalf("alignment %d", align)
		}
		p := Aligned(2 * align)
		for i := range p {
			p[i] = byte(i >> 3)
		}
		n, err := f.WriteAt(p, int64(align))
		noError(t, err)
		equal(t, len(p), n)
		noError(t, f.Sync())
		got := make([]byte, len(p))
		r, err := fsys.Open(filepath.Join(dir, "x"))
		noError(t, err)
		_, err = r.ReadAt(got, int64(align))
		noError(t, err)
		if !bytes.Equal(p, got) {
			t.Error("read other bytes than were written")
		}
		noError(t, errors.Join(r.Close(), f.Close()))
	})
}

// TestDirectWritesFallBack: what the device does not take directly goes through the cache.
func TestDirectWritesFallBack(t *testing.T) {
	f, err := OS{}.Create(filepath.Join(t.TempDir(), "x"))
	noError(t, err)
	f.Direct(MaxAlign)
	n, err := f.WriteAt([]byte("not aligned"), 3)
	noError(t, err)
	equal(t, 11, n)
	noError(t, f.Sync())
	got := make([]byte, 14)
	_, err = f.ReadAt(got, 0)
	noError(t, err)
	equal(t, "\x00\x00\x00not aligned", string(got))
	noError(t, f.Close())

	mem, err := NewMem().Create("x")
	noError(t, err)
	mem.Direct(MaxAlign)
	_, err = mem.WriteAt([]byte("not aligned"), 3)
	errorIs(t, err, syscall.EINVAL) // so that tests find who relies on it
}

func TestDirectWithinALimit(t *testing.T) {
	f, err := OS{}.Create(filepath.Join(t.TempDir(), "x"))
	noError(t, err)
	equal(t, 0, f.Direct(SectorBytes/2))
	noError(t, f.Close())
}
