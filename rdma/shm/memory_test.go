package shm

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
)

// A test that needs another process runs the test binary again with this variable set.
const childVar = "DDS_SHM_TEST_CHILD"

func TestMain(m *testing.M) {
	switch role := os.Getenv(childVar); role {
	case "":
		os.Exit(m.Run())
	case "store":
		storeIntoPeersMemory()
	default:
		runPeer(role)
	}
}

// child starts this test binary in a role, with files as descriptors 3, 4, ...
func child(t *testing.T, role string, files ...*os.File) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+role)
	cmd.ExtraFiles = files
	return cmd
}

func dup(t testing.TB, fd int) int {
	t.Helper()
	d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	return d
}

// mappings counts the mappings of shared memory in this process, and lists them.
func mappings(t testing.TB) (n int, lines []string) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "/memfd:dds") {
			lines = append(lines, line)
		}
	}
	return len(lines), lines
}

func descriptors(t testing.TB) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(fds)
}

// file is what a descriptor refers to.
type file struct{ dev, ino uint64 }

func fileOf(t testing.TB, fd int) file {
	t.Helper()
	var s unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &s))
	return file{s.Dev, s.Ino}
}

// descriptors counts those of one file: what tests before have left to the collector may go at any time.
func (f file) descriptors(t testing.TB) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range fds {
		var s unix.Stat_t
		if fd, err := strconv.Atoi(e.Name()); err == nil && unix.Fstat(fd, &s) == nil && (file{s.Dev, s.Ino}) == f {
			n++
		}
	}
	return n
}

// mappings counts those of one file.
func (f file) mappings(t testing.TB) (n int) {
	t.Helper()
	_, lines := mappings(t)
	for _, l := range lines {
		if strings.Fields(l)[4] == fmt.Sprint(f.ino) {
			n++
		}
	}
	return n
}

// eventually runs the collector until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
		runtime.GC()
	}
}

func TestPeerReadsOwnersMemory(t *testing.T) {
	own, err := Create(8192)
	require.NoError(t, err)
	defer own.Close()
	peer, err := Map(dup(t, own.fd), 8192)
	require.NoError(t, err)
	defer peer.Close()
	own.Bytes()[5000] = 77
	require.Equal(t, byte(77), peer.Bytes()[5000])

	var modes []string
	_, lines := mappings(t)
	for _, l := range lines {
		modes = append(modes, strings.Fields(l)[1])
	}
	require.Contains(t, modes, "rw-s", "the owner's mapping")
	require.Contains(t, modes, "r--s", "the peer's mapping")
}

func TestSeals(t *testing.T) {
	own, err := Create(8192)
	require.NoError(t, err)
	defer own.Close()
	seals, err := unix.FcntlInt(uintptr(own.fd), unix.F_GET_SEALS, 0)
	require.NoError(t, err)
	require.Equal(t, ownerSeals, seals)

	require.ErrorIs(t, unix.Ftruncate(own.fd, 4096), unix.EPERM, "it can not shrink")
	require.ErrorIs(t, unix.Ftruncate(own.fd, 16384), unix.EPERM, "nor grow")
	_, err = unix.Mmap(own.fd, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.ErrorIs(t, err, unix.EPERM, "nobody else can write it")
	_, err = unix.Pwrite(own.fd, []byte{1}, 0)
	require.ErrorIs(t, err, unix.EPERM)
	_, err = unix.FcntlInt(uintptr(own.fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	require.ErrorIs(t, err, unix.EPERM, "the seals are final")

	ro, err := unix.Mmap(dup(t, own.fd), 0, 8192, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	require.ErrorIs(t, unix.Mprotect(ro, unix.PROT_READ|unix.PROT_WRITE), unix.EACCES, "a reader can not make itself a writer")
	require.NoError(t, unix.Munmap(ro))
}

func storeIntoPeersMemory() {
	m, err := Map(3, 4096)
	if err != nil {
		fmt.Println("map:", err)
		os.Exit(3)
	}
	fmt.Println("read", m.Bytes()[0])
	m.Bytes()[0] = 1
	fmt.Println("stored")
	os.Exit(0)
}

func TestStoreIntoPeersMemoryFaults(t *testing.T) {
	own, err := Create(4096)
	require.NoError(t, err)
	own.Bytes()[0] = 42
	f := os.NewFile(uintptr(dup(t, own.fd)), "memfd")
	defer f.Close()
	defer own.Close()
	out, err := child(t, "store", f).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "read 42")
	require.NotContains(t, string(out), "stored")
	require.Contains(t, string(out), "SIGSEGV")
	require.Equal(t, byte(42), own.Bytes()[0])
}

func TestMapRefuses(t *testing.T) {
	memfd := func(size int64, seals int) int {
		fd, err := unix.MemfdCreate("dds-test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		require.NoError(t, unix.Ftruncate(fd, size))
		if seals != 0 {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
			require.NoError(t, err)
		}
		return fd
	}
	for _, c := range []struct {
		name string
		fd   func() int
		want string
	}{
		{"too small", func() int { return memfd(4096, ownerSeals) }, "4096 bytes, want 8192"},
		{"not sealed", func() int { return memfd(8192, 0) }, "seals"},
		{"can shrink", func() int { return memfd(8192, ownerSeals&^unix.F_SEAL_SHRINK) }, "seals"},
		{"can be written", func() int { return memfd(8192, ownerSeals&^unix.F_SEAL_FUTURE_WRITE) }, "seals"},
		{"a pipe", func() int {
			var p [2]int
			require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC))
			unix.Close(p[1])
			return p[0]
		}, "0 bytes"},
		{"a file", func() int {
			f, err := os.CreateTemp(t.TempDir(), "")
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, f.Truncate(8192))
			return dup(t, int(f.Fd()))
		}, "F_GET_SEALS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fd := c.fd()
			f := fileOf(t, fd)
			require.Equal(t, 1, f.descriptors(t))
			_, err := Map(fd, 8192)
			require.ErrorContains(t, err, c.want)
			require.Zero(t, f.descriptors(t), "the descriptor was closed")
		})
	}
}

// A region outlives everything but its last reference; then memory and descriptor go.
func TestRegionIsUnmappedWithItsLastReference(t *testing.T) {
	shape := rdma.Shape{Cells: 8, Ring: 4096}
	eventually(t, "earlier tests to be collected", func() bool { n, _ := mappings(t); return n == 0 })
	m, err := Create(shape.Size())
	require.NoError(t, err)
	f := fileOf(t, m.fd)
	r := RegionOver(shape, m)
	r.Cell(0).Store(9)
	frozen := rdma.NewHeapRegion(rdma.Shape{Cells: 8}).WithRing(r)
	n, _ := mappings(t)
	require.Equal(t, 1, n)
	require.Equal(t, 1, f.descriptors(t))
	m.Seclude()
	m.Seclude()
	require.Zero(t, f.descriptors(t), "nobody else gets it")
	r = nil
	for range 3 {
		runtime.GC()
	}
	n, _ = mappings(t)
	require.Equal(t, 1, n, "a region that took its ring keeps it mapped")
	require.Zero(t, frozen.Ring()[0])
	runtime.KeepAlive(frozen)
	frozen = nil
	_ = frozen
	eventually(t, "unmapped", func() bool { n, _ := mappings(t); return n == 0 })
}

// Two mappings of one bell: as between processes, the addresses differ and the word is the same.
func TestBellOverTwoMappings(t *testing.T) {
	own, err := NewBell()
	require.NoError(t, err)
	defer own.Close()
	scm, err := unix.ParseSocketControlMessage(own.Rights())
	require.NoError(t, err)
	require.Len(t, scm, 1)
	theirs, err := MapBell(dup(t, own.page.fd))
	require.NoError(t, err)

	const limit = time.Minute
	begin := time.Now()
	data, err := Create(4096) // what is published before the bell is rung
	require.NoError(t, err)
	defer data.Close()
	cell := rdma.NewRegion(rdma.Shape{Cells: 512}, data.Bytes()).Cell(0)
	sleeper := own.Bell().Poller()
	const rounds = 2000
	ack := make(chan struct{})
	go func() {
		for v := range uint64(rounds) {
			cell.Store(v + 1)
			theirs.Ring()
			<-ack
		}
	}()
	for v := uint64(1); v <= rounds; v++ {
		for cell.Load() != v {
			sleeper.Prepare()
			if cell.Load() == v {
				sleeper.Cancel()
				break
			}
			sleeper.Sleep(limit)
		}
		ack <- struct{}{}
	}
	require.Less(t, time.Since(begin), limit, "a wake-up was lost")
}

func TestBellPageGoesWithItsLastReference(t *testing.T) {
	own, err := NewBell()
	require.NoError(t, err)
	eventually(t, "only the own page", func() bool { n, _ := mappings(t); return n == 1 })
	for range 5 {
		b, err := MapBell(dup(t, own.page.fd))
		require.NoError(t, err)
		b.Ring()
	}
	eventually(t, "the peers' pages to be unmapped", func() bool { n, _ := mappings(t); return n == 1 })
	own.Close()
	n, _ := mappings(t)
	require.Zero(t, n)
}

func signalled(err error) syscall.Signal {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Sys().(syscall.WaitStatus).Signal()
	}
	return 0
}

// The words that peers write have cache lines of their own: those of the bell, and that of the fence, which whoever
// delivers loads each time.
func TestWordsOfTheBellPage(t *testing.T) {
	b, err := NewBell()
	require.NoError(t, err)
	defer b.Close()
	page, fence := uintptr(unsafe.Pointer(&b.page.mem[0])), uintptr(unsafe.Pointer(b.FenceWord()))
	require.Zero(t, page%64)
	require.Zero(t, fence%64)
	require.GreaterOrEqual(t, fence, page+unsafe.Sizeof(rdma.BellWords{}))
	require.LessOrEqual(t, fence+64, page+uintptr(len(b.page.mem)))
}
