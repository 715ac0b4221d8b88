package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

const (
	childMark = "-child"
	childFile = 3 // where a child finds the memory
	cacheLine = 64
)

// memory is mapped by the processes of one measurement. Words are at offsets of whole cache lines, each with one writer
// unless its user says otherwise.
type memory struct{ bytes []byte }

// newMemory makes memory that children can map through the returned file.
func newMemory(size int) (memory, *os.File, error) {
	fd, err := unix.MemfdCreate("baseline", unix.MFD_CLOEXEC)
	if err != nil {
		return memory{}, nil, fmt.Errorf("shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if err := f.Truncate(int64(size)); err != nil {
		return memory{}, nil, errors.Join(err, f.Close())
	}
	m, err := mapMemory(f)
	if err != nil {
		return memory{}, nil, errors.Join(err, f.Close())
	}
	return m, f, nil
}

// inherited is the memory of a child.
func inherited() (memory, error) { return mapMemory(os.NewFile(childFile, "memory")) }

func mapMemory(f *os.File) (memory, error) {
	info, err := f.Stat()
	if err != nil {
		return memory{}, fmt.Errorf("shared memory: %w", err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return memory{}, fmt.Errorf("shared memory of %d bytes: %w", info.Size(), err)
	}
	return memory{b}, nil
}

// counter and word are the word at the beginning of a cache line. The mapping is page-aligned, so they are aligned; it
// lives as long as the process. What was written before a store is visible to who has loaded what it stored.
func (m memory) counter(line int) *atomic.Int64 {
	return (*atomic.Int64)(unsafe.Pointer(&m.bytes[line*cacheLine : (line+1)*cacheLine][0]))
}

func (m memory) word(line int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&m.bytes[line*cacheLine : (line+1)*cacheLine][0]))
}

const (
	futexOpWait = 0
	futexOpWake = 1
)

// sleepWhile returns when the word is not value, or at any time before: the caller looks again.
func sleepWhile(w *atomic.Uint32, value uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWait, uintptr(value), 0, 0, 0)
}

// wakeAll wakes who sleeps on the word, in all processes.
func wakeAll(w *atomic.Uint32) {
	const all = 1<<31 - 1
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexOpWake, all, 0, 0, 0)
}

// yield lets another thread of any process run on this core: two that spin may have one core between them.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// monotonic is CLOCK_MONOTONIC in ns, the same for all processes.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for clocks that do not exist only
	return t.Nano()
}

// child is this program again, as one of the children. It ends with the thread that starts it, which must therefore be the
// main goroutine's.
func child(memory *os.File, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, append([]string{childMark}, args...)...)
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if memory != nil {
		c.ExtraFiles = []*os.File{memory}
	}
	return c, nil
}

// start starts a child. One that fails ends the program, since who spins for its answer cannot hear of it.
func start(c *exec.Cmd) (wait func(), err error) {
	if err := c.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Wait(); err != nil {
			fmt.Fprintf(os.Stderr, "baseline: %v: %v\n", c.Args[1:], err)
			os.Exit(1)
		}
	}()
	return func() { <-ended }, nil
}

// withReaders starts children that read, does the work that they wait for, and returns what they print.
func withReaders(readers int, reader func(i int) (*exec.Cmd, error), work func() error) ([]result.Result, error) {
	out := make([]bytes.Buffer, readers)
	wait := make([]func(), readers)
	for i := range readers {
		c, err := reader(i)
		if err != nil {
			return nil, err
		}
		c.Stdout = &out[i]
		if wait[i], err = start(c); err != nil {
			return nil, err
		}
	}
	if err := work(); err != nil {
		return nil, err
	}
	var results []result.Result
	for i := range readers {
		wait[i]()
		read, err := result.Parse(out[i].Bytes())
		if err != nil {
			return nil, fmt.Errorf("reader %d: %w", i, err)
		}
		results = append(results, read...)
	}
	return results, nil
}
