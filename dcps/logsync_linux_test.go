package dcps

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/storage"
)

// A process was killed before it had synced the entry of a writer, which lives. The next one that opens the log takes the entry
// for one that is on disk, and stores what the writer sends: so it has to be.
func TestWritersAreOnDiskWhenALogIsOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	path := writersFile(dir)
	require.NoError(t, os.WriteFile(path, appendWriter(nil, endpointKey{7, 7}, []byte("what it is")), 0o644))
	if !unwritten(t, path) {
		t.Skip("the file system does not tell what it has not written yet")
	}
	d, err := openDisk(dir, storage.Options{SegmentBytes: 1 << 20}, new(atomic.Uint64))
	require.NoError(t, err)
	require.Contains(t, d.known, endpointKey{7, 7})
	require.False(t, unwritten(t, path))
	require.NoError(t, d.close())
}

// unwritten tells whether a file has bytes that have no place on the disk yet (FIEMAP).
func unwritten(t *testing.T, path string) bool {
	const (
		fiemap  = 0xc020660b // FS_IOC_FIEMAP
		delayed = 4          // FIEMAP_EXTENT_DELALLOC
	)
	var m struct {
		start, length                  uint64
		flags, mapped, count, reserved uint32
		logical, physical, bytes       uint64
		reserved64                     [2]uint64
		extentFlags, r1, r2, r3        uint32
	}
	m.length, m.count = ^uint64(0), 1
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), fiemap, uintptr(unsafe.Pointer(&m)))
	return failed == 0 && m.mapped > 0 && m.extentFlags&delayed != 0
}
