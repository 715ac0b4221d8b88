package shm

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
)

const ownerSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL

// Memory is a mapping of a memfd.
type Memory struct {
	fd  int // -1 at a peer
	mem []byte
}

// Create makes memory of which this process stays the only writer.
func Create(size int) (*Memory, error) {
	return create(size, ownerSeals)
}

// createShared makes memory that peers map writable too: the doorbell's page.
func createShared(size int) (*Memory, error) {
	return create(size, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
}

func create(size, seals int) (*Memory, error) {
	fd, err := unix.MemfdCreate("dds", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("shm: %w", os.NewSyscallError("memfd_create", err))
	}
	m, err := mapOwned(fd, size, seals)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return m, nil
}

func mapOwned(fd, size, seals int) (*Memory, error) {
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, fmt.Errorf("shm: %d bytes: %w", size, os.NewSyscallError("ftruncate", err))
	}
	// Mapped before it is sealed: F_SEAL_FUTURE_WRITE leaves this mapping writable and refuses
	// every later one.
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shm: %d bytes: %w", size, os.NewSyscallError("mmap", err))
	}
	adviseHuge(mem)
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		_ = unix.Munmap(mem)
		return nil, fmt.Errorf("shm: %w", os.NewSyscallError("fcntl(F_ADD_SEALS)", err))
	}
	return &Memory{fd: fd, mem: mem}, nil
}

// Map maps the first size bytes of a peer's memory read-only and closes fd. It insists on the seals
// and on the size, so that no later act of the peer can turn a load into a fault.
func Map(fd, size int) (*Memory, error) {
	return mapPeer(fd, size, ownerSeals, unix.PROT_READ)
}

func mapPeer(fd, size, seals, prot int) (*Memory, error) {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("shm: %w", os.NewSyscallError("fstat", err))
	}
	if st.Size < int64(size) {
		return nil, fmt.Errorf("shm: peer's memory is of %d bytes, want %d", st.Size, size)
	}
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: %w", os.NewSyscallError("fcntl(F_GET_SEALS)", err))
	}
	if size < 1 {
		return nil, fmt.Errorf("shm: mapping of %d bytes", size)
	}
	if got&seals != seals {
		return nil, fmt.Errorf("shm: peer's memory has seals %#x, want %#x", got, seals)
	}
	mem, err := unix.Mmap(fd, 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shm: %d bytes: %w", size, os.NewSyscallError("mmap", err))
	}
	adviseHuge(mem)
	return &Memory{fd: -1, mem: mem}, nil
}

// hugePage is the size of a huge page on the processors that this runs on.
const hugePage = 2 << 20

// adviseHuge asks for huge pages, where a mapping is so large that one fits. It is a wish: where the system has none
// for shared memory, which is its default (transparent_hugepage/shmem_enabled), nothing changes (docs/adr/0025).
func adviseHuge(mem []byte) {
	if len(mem) >= hugePage {
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	}
}

// Bytes is the mapped memory.
func (m *Memory) Bytes() []byte { return m.mem }

// Close unmaps. Nobody in this process may touch the memory afterwards.
func (m *Memory) Close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem)
		m.mem = nil
	}
	m.Seclude()
}

// Seclude closes the descriptor: the memory stays mapped where it is, and can not be handed to more
// peers.
func (m *Memory) Seclude() {
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
}

// BellMemory is the page that peers may write: a node's doorbell and the word of its fence, each on a
// cache line of its own.
type BellMemory struct {
	page  *Memory
	bell  *rdma.Bell
	fence *atomic.Uint32
}

const (
	bellBytes   = 4096
	fenceOffset = 256
)

// Close unmaps a page that NewBell made. Nobody in this process may use it afterwards.
func (b *BellMemory) Close() { b.page.Close() }

// Bell is the doorbell. Who has it has to keep the page mapped.
func (b *BellMemory) Bell() *rdma.Bell { return b.bell }

// FenceWord is the word of the fences of all nodes that share this page.
func (b *BellMemory) FenceWord() *atomic.Uint32 { return b.fence }

// RaiseFence raises the fence and rings; the page stays mapped at least until it returns.
func (b *BellMemory) RaiseFence() {
	b.fence.Add(1)
	b.Ring()
}

// NewBell makes a doorbell that can be handed to peers.
func NewBell() (*BellMemory, error) {
	m, err := createShared(bellBytes)
	if err != nil {
		return nil, err
	}
	return bellMemory(m), nil
}

// Rights is the control message that hands the bell to a peer.
func (b *BellMemory) Rights() []byte { return unix.UnixRights(b.page.fd) }

// Ring is that of the Bell; the page stays mapped at least until it returns.
func (b *BellMemory) Ring() {
	b.bell.Ring()
	runtime.KeepAlive(b)
}

// MapBell maps a peer's doorbell and closes fd. The page is unmapped when nothing refers to the
// result any more: whoever rings may be a goroutine that does not know yet that the link is down.
func MapBell(fd int) (*BellMemory, error) {
	m, err := mapPeer(fd, bellBytes, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	b := bellMemory(m)
	runtime.AddCleanup(b, (*Memory).Close, m)
	return b, nil
}

// bellMemory lays the words over the page; a mapping is page-aligned, so both are aligned and no two
// share a cache line. atomic.Uint32 is 4 bytes without padding.
func bellMemory(m *Memory) *BellMemory {
	return &BellMemory{
		m, rdma.NewBell((*rdma.BellWords)(unsafe.Pointer(&m.mem[0]))),
		(*atomic.Uint32)(unsafe.Pointer(&m.mem[fenceOffset])),
	}
}
