package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uring is an io_uring with room for the two entries that belong together.
type uring struct {
	fd               int
	rings, entries   []byte // of the kernel's, mapped
	sqTail, sqMask   *atomic.Uint32
	cqHead, cqTail   *atomic.Uint32
	cqMask           uint32
	order, completed uint32 // offsets: of the indices of what is submitted, and of what is done
}

// What <linux/io_uring.h> has.
const (
	uringParams     = 120 // bytes, of which the offsets in the rings begin at 40 and 80
	uringEntry      = 64
	uringDone       = 16
	uringEntriesAt  = 0x10000000
	uringSingleMmap = 1 // feature: both rings are in one mapping
	uringGetEvents  = 1
	uringLink       = 1 << 2
	opFsync         = 3
	opWrite         = 23
	fsyncData       = 1
)

func newUring() (*uring, error) {
	var p [uringParams / 8]uint64 // aligned
	params := unsafe.Slice((*byte)(unsafe.Pointer(&p)), uringParams)
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 2, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, errno
	}
	u := &uring{fd: int(fd)}
	field := func(at int) uint32 { return binary.NativeEndian.Uint32(params[at:]) }
	if field(20)&uringSingleMmap == 0 {
		return nil, errors.Join(errors.New("the kernel is older than 5.4"), unix.Close(u.fd))
	}
	const sq, cq = 40, 80
	sqEntries, cqEntries := field(0), field(4)
	u.order, u.completed = field(sq+24), field(cq+20)
	var err error
	size := max(u.order+4*sqEntries, u.completed+uringDone*cqEntries)
	if u.rings, err = unix.Mmap(u.fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return nil, errors.Join(err, unix.Close(u.fd))
	}
	if u.entries, err = unix.Mmap(u.fd, uringEntriesAt, int(uringEntry*sqEntries), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return nil, errors.Join(err, unix.Munmap(u.rings), unix.Close(u.fd))
	}
	u.sqTail, u.sqMask = u.word(field(sq+4)), u.word(field(sq+8))
	u.cqHead, u.cqTail, u.cqMask = u.word(field(cq)), u.word(field(cq+4)), u.word(field(cq+8)).Load()
	return u, nil
}

// word is shared with the kernel. It is aligned, since the mapping and the kernel's offsets are, and lives until close.
// The kernel sees what was written before sqTail was stored; what is read after cqTail was loaded was written by the
// kernel before.
func (u *uring) word(at uint32) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&u.rings[at : at+4][0]))
}

func (u *uring) close() {
	_ = errors.Join(unix.Munmap(u.entries), unix.Munmap(u.rings), unix.Close(u.fd))
}

// writeSync has the kernel write b and then sync, with one call. b is memory that Go does not move.
func (u *uring) writeSync(f *os.File, b []byte, at int64) error {
	tail, mask := u.sqTail.Load(), u.sqMask.Load()
	put := func(i uint32, op, flags byte, address uintptr, length, opFlags uint32) {
		slot := (tail + i) & mask
		e := u.entries[slot*uringEntry : (slot+1)*uringEntry]
		clear(e)
		e[0], e[1] = op, flags
		binary.NativeEndian.PutUint32(e[4:], uint32(f.Fd()))
		if op == opWrite {
			binary.NativeEndian.PutUint64(e[8:], uint64(at))
		}
		binary.NativeEndian.PutUint64(e[16:], uint64(address))
		binary.NativeEndian.PutUint32(e[24:], length)
		binary.NativeEndian.PutUint32(e[28:], opFlags)
		binary.NativeEndian.PutUint64(e[32:], uint64(op))
		u.word(u.order + 4*slot).Store(slot)
	}
	put(0, opWrite, uringLink, uintptr(unsafe.Pointer(&b[0])), uint32(len(b)), 0)
	put(1, opFsync, 0, 0, 0, fsyncData)
	u.sqTail.Store(tail + 2)
	for submit, head := uintptr(2), u.cqHead.Load(); u.cqTail.Load()-head < 2; {
		n, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(u.fd), submit, 2, uringGetEvents, 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return errno
		}
		if errno == 0 {
			submit -= n
		}
	}
	head := u.cqHead.Load()
	var err error
	for i := range uint32(2) {
		done := u.rings[u.completed+uringDone*((head+i)&u.cqMask):]
		op, res := binary.NativeEndian.Uint64(done), int32(binary.NativeEndian.Uint32(done[8:]))
		switch {
		case res < 0:
			err = errors.Join(err, unix.Errno(-res))
		case op == opWrite && int(res) != len(b):
			err = errors.Join(err, fmt.Errorf("%d of %d bytes were written", res, len(b)))
		}
	}
	u.cqHead.Store(head + 2)
	return err
}
