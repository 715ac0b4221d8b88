package rdma

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Alarm wakes one goroutine at times of the host's monotonic clock, again and again.
//
// It is a timer of the kernel that the network poller of the Go runtime watches, and what it does are raw
// system calls that never wait. For every time.Timer and every other system call the runtime wakes its monitor
// thread, and mostly one more thread: six time slices for each time instead of one, which is what an idle process
// costs.
type Alarm struct {
	conn syscall.RawConn // keeps its file open
}

// NewAlarm makes an alarm that is not set.
func NewAlarm() (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("rdma: %w", os.NewSyscallError("timerfd_create", err))
	}
	conn, err := os.NewFile(uintptr(fd), "alarm").SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("rdma: alarm: %w", err)
	}
	return &Alarm{conn}, nil
}

// Set makes it go off at a time of the clock, at once if that is over, and every interval from then on; once if every is 0.
// It takes the place of what was set before.
func (a *Alarm) Set(at, every time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(at, 1))), Interval: unix.NsecToTimespec(int64(every))}
	_ = a.conn.Control(func(fd uintptr) {
		_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	})
}

// Wait waits until it goes off, unless it has since the last Wait returned.
func (a *Alarm) Wait() error {
	var times uint64 // that it went off; the kernel wants a place for it
	return a.conn.Read(func(fd uintptr) bool {
		_, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), unsafe.Sizeof(times))
		return errno == 0
	})
}
