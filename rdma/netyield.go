package rdma

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NetYield lets goroutines that wait for the network run. A goroutine that calls runtime.Gosched in a loop keeps
// its processor from ever being idle, and an idle processor is what looks at the network: else only the monitor of
// the Go runtime does, every 10 ms, for which a link's reader then waits. Who yields here waits for the network
// itself, for something that is there at once, and so comes back after all others that were ready.
//
// One goroutine uses it. About a microsecond.
type NetYield struct {
	conn  syscall.RawConn // of an eventfd; keeps its file open
	rung  bool
	count uint64             // the kernel wants a place for it
	look  func(uintptr) bool // y.poll, made once
}

// NewNetYield makes one.
func NewNetYield() (*NetYield, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("rdma: %w", os.NewSyscallError("eventfd", err))
	}
	conn, err := os.NewFile(uintptr(fd), "netyield").SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("rdma: netyield: %w", err)
	}
	y := &NetYield{conn: conn}
	y.look = y.poll
	return y, nil
}

// Yield lets the others run, and returns.
func (y *NetYield) Yield() {
	y.rung = false
	_ = y.conn.Read(y.look)
}

// poll is called twice: before the wait it makes the descriptor readable, after it takes that back.
func (y *NetYield) poll(fd uintptr) bool {
	call := uintptr(unix.SYS_READ)
	if !y.rung {
		call, y.count = unix.SYS_WRITE, 1
	}
	_, _, _ = unix.RawSyscall(call, fd, uintptr(unsafe.Pointer(&y.count)), unsafe.Sizeof(y.count))
	again := y.rung
	y.rung = true
	return again
}
