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

// Await calls look whenever there may be something to receive, until it returns true. It may be called by one goroutine
// at a time, others may Receive meanwhile. Its errors are those of the connection, os.ErrDeadlineExceeded among them.
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

// BoundUnsent has Send and Gather wait while so many bytes were taken that were not sent yet (TCP_NOTSENT_LOWAT).
func (s *Socket) BoundUnsent(bytes int) error {
	var err error
	if e := s.conn.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes)
	}); e != nil {
		return e
	}
	return err
}

// briefBytes: a call that moves no more takes some tens of microseconds, and is made without the Go runtime knowing of
// it. One of which it knows wakes its monitor thread, if the process was idle, which then looks around every 20 µs
// until it is again; and that knowledge is of use only for a call that takes longer.
const briefBytes = 256 << 10

// vector is a system call on several buffers, which never waits.
type vector struct {
	trap  uintptr
	iov   []unix.Iovec // pointers for the garbage collector too
	used  int
	bytes int
	n     int
	errno syscall.Errno
}

// gatherBuffers is how many buffers go into one call of a Gather: two for each of a hundred subgroups that have
// something to send.
const gatherBuffers = 256

// add reports false if there is no room for another buffer.
func (v *vector) add(b []byte) bool {
	if v.used == len(v.iov) {
		return false
	}
	if len(b) > 0 {
		v.iov[v.used].Base = unsafe.SliceData(b)
		v.iov[v.used].SetLen(len(b))
		v.used++
		v.bytes += len(b)
	}
	return true
}

// reset forgets the buffers: their owner may give them up.
func (v *vector) reset() {
	clear(v.iov[:v.used])
	v.used, v.bytes = 0, 0
}

// once reports false if the call would wait.
func (v *vector) once(fd uintptr) bool {
	call := unix.RawSyscall
	if v.bytes > briefBytes {
		call = unix.Syscall
	}
	for {
		n, _, errno := call(v.trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(v.iov))), uintptr(v.used))
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		}
		v.n, v.errno = int(n), errno
		return true
	}
}

// Gather writes to a socket from several buffers with one system call, if the socket takes them. It waits as a Write of
// the connection does. It belongs to one goroutine.
type Gather struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // made once: one for each Write would be garbage
	v    vector
}

// Gather makes one.
func (s *Socket) Gather() *Gather {
	g := &Gather{conn: s.conn, v: vector{trap: unix.SYS_WRITEV, iov: make([]unix.Iovec, gatherBuffers)}}
	g.try = g.v.once
	return g
}

// Write writes all buffers. It uses them up: none is left in from.
func (g *Gather) Write(from [][]byte) error {
	defer clear(from)
	for {
		for len(from) > 0 && len(from[0]) == 0 {
			from[0], from = nil, from[1:]
		}
		if len(from) == 0 {
			return nil
		}
		for _, b := range from {
			if !g.v.add(b) {
				break
			}
		}
		err := g.conn.Write(g.try)
		g.v.reset()
		switch {
		case err != nil:
			return err
		case g.v.errno != 0:
			return os.NewSyscallError("writev", g.v.errno)
		}
		for n := g.v.n; n > 0; {
			k := min(n, len(from[0]))
			if from[0], n = from[0][k:], n-k; len(from[0]) == 0 {
				from[0], from = nil, from[1:]
			}
		}
	}
}

// Scatter reads from a socket into several buffers, one after the other, with one system call. It waits as a Read of
// the connection does. It belongs to one goroutine.
type Scatter struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // made once: one for each Read would be garbage
	v    vector
}

// Scatter makes one.
func (s *Socket) Scatter() *Scatter {
	r := &Scatter{conn: s.conn, v: vector{trap: unix.SYS_READV, iov: make([]unix.Iovec, 3)}}
	r.try = r.v.once
	return r
}

// Read reads at least one byte into the buffers, of which one at least is not empty. It returns io.EOF at the end.
func (r *Scatter) Read(into [3][]byte) (int, error) {
	for _, b := range into {
		r.v.add(b)
	}
	err := r.conn.Read(r.try)
	r.v.reset()
	switch {
	case err != nil:
		return 0, err
	case r.v.errno != 0:
		return 0, os.NewSyscallError("readv", r.v.errno)
	case r.v.n == 0:
		return 0, io.EOF
	}
	noteRead(into, r.v.n)
	return r.v.n, nil
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
