package rdma

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Canary is the number of a thread of this process that does nothing, and ends only when the process does.
//
// The kernel tells of the death of a process, and closes its sockets, when the last thread has given back the memory:
// 0.1 ms a megabyte. Of a thread that is not the last it tells at once. Any of them but the main one would do, if it
// was known never to end before.
func Canary() uint32 { return canary() }

var canary = sync.OnceValue(func() uint32 {
	id := make(chan int)
	go perch(id)
	return uint32(<-id)
})

// perch makes a thread that is not the main one the canary.
func perch(id chan int) {
	runtime.LockOSThread()
	if thread := unix.Gettid(); thread != os.Getpid() {
		id <- thread
		select {}
	}
	other := make(chan int)
	go perch(other) // on another thread, for this one is taken until that one is
	id <- <-other
	runtime.UnlockOSThread()
}

// ThreadWatch waits for the end of a thread of another process.
type ThreadWatch struct {
	file *os.File
	conn syscall.RawConn
}

// WatchThread watches a thread of a process. An error says that the kernel can not, before Linux 6.9, or that there is
// no such thread.
func WatchThread(process, thread uint32) (*ThreadWatch, error) {
	const flags = unix.PIDFD_NONBLOCK | unix.O_EXCL // PIDFD_THREAD
	fd, err := unix.PidfdOpen(int(thread), flags)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	w := &ThreadWatch{file: os.NewFile(uintptr(fd), "thread")}
	if w.conn, err = w.file.SyscallConn(); err == nil {
		// Behind the open: the number may have been given to another thread before, but not to one that is the process's now.
		_, err = os.Stat(fmt.Sprintf("/proc/%d/task/%d", process, thread))
	}
	if err != nil {
		w.file.Close()
		return nil, err
	}
	return w, nil
}

// Wait waits until the thread has ended; io.EOF then, another error if Close came before.
func (w *ThreadWatch) Wait() error {
	ended := false
	err := w.conn.Read(func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		ended = err == nil && n > 0
		return ended
	})
	if ended {
		return io.EOF
	}
	return err
}

// Close ends Wait.
func (w *ThreadWatch) Close() { w.file.Close() }
