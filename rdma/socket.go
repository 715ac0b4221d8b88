package rdma

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket sends and receives by raw system calls that never wait. Of an idle process they are what an Alarm is
// among timers: before any other system call the Go runtime wakes its monitor thread, and mostly one more thread.
type Socket struct {
	conn syscall.RawConn // keeps its file open
}

// SocketOf is the socket of a connection; nil if it has none.
func SocketOf(conn any) *Socket {
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			return &Socket{raw}
		}
	}
	return nil
}

// Send sends as much of b as the socket takes now. Nobody else sends meanwhile.
func (s *Socket) Send(b []byte) (int, error) {
	n, err := s.call(unix.SYS_SENDTO, b, unix.MSG_NOSIGNAL)
	if err == errWait {
		err = nil
	}
	return n, err
}

// Receive takes what is there, at most len(b) bytes: 0 without an error is nothing.
func (s *Socket) Receive(b []byte) (int, error) {
	n, err := s.call(unix.SYS_RECVFROM, b, 0)
	switch {
	case err == errWait:
		return 0, nil
	case err == nil && n == 0:
		err = io.EOF
	}
	return n, err
}

// Await calls look whenever there may be something to receive, until it returns true. It may be called by one goroutine at a time, others may
// Receive meanwhile. Its errors are those of the connection, os.ErrDeadlineExceeded among them.
func (s *Socket) Await(look func() bool) error {
	return s.conn.Read(func(uintptr) bool { return look() })
}

// Threshold sets how many bytes have to be there for Await to look (SO_RCVLOWAT).
func (s *Socket) Threshold(bytes int) error {
	var err error
	if e := s.conn.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes)
	}); e != nil {
		return e
	}
	return err
}

// Scatter reads from a socket into several buffers, one after the other, with one system call. It waits as a Read of the connection
// does. It belongs to one goroutine.
type Scatter struct {
	conn  syscall.RawConn
	try   func(fd uintptr) bool // made once: one for each Read would be garbage
	into  [3]unix.Iovec
	used  int
	n     int
	errno syscall.Errno
}

// Scatter makes one.
func (s *Socket) Scatter() *Scatter {
	r := &Scatter{conn: s.conn}
	r.try = r.once
	return r
}

// Read reads at least one byte into the buffers, of which one at least is not empty. It returns io.EOF at the end.
func (r *Scatter) Read(into [3][]byte) (int, error) {
	r.used = 0
	for _, b := range into {
		if len(b) > 0 {
			r.into[r.used].Base = unsafe.SliceData(b)
			r.into[r.used].SetLen(len(b))
			r.used++
		}
	}
	err := r.conn.Read(r.try)
	r.into = [3]unix.Iovec{} // what was read may be given up by its owner
	switch {
	case err != nil:
		return 0, err
	case r.errno != 0:
		return 0, os.NewSyscallError("readv", r.errno)
	case r.n == 0:
		return 0, io.EOF
	}
	noteRead(into, r.n)
	return r.n, nil
}

// once reports false if the call would wait. The pointers in r.into are pointers for the garbage collector too: r is on the heap.
func (r *Scatter) once(fd uintptr) bool {
	for {
		n, _, errno := unix.Syscall(unix.SYS_READV, fd, uintptr(unsafe.Pointer(&r.into)), uintptr(r.used))
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		}
		r.n, r.errno = int(n), errno
		return true
	}
}

var errWait = errors.New("rdma: the system call would wait")

func (s *Socket) call(trap uintptr, b []byte, flags uintptr) (int, error) {
	n, errno := uintptr(0), syscall.Errno(0)
	err := s.conn.Control(func(fd uintptr) {
		n, _, errno = unix.RawSyscall6(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags|unix.MSG_DONTWAIT, 0, 0)
	})
	switch {
	case err != nil:
		return 0, err
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, errWait
	case errno != 0:
		return 0, errno
	}
	return int(n), nil
}
