package shm

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// flagsOf are what the kernel says of the mapping that begins where mem does.
func flagsOf(t *testing.T, mem []byte) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("the kernel tells nothing of mappings: %v", err)
	}
	_, rest, found := strings.Cut(string(b), fmt.Sprintf("%x-", uintptr(unsafe.Pointer(&mem[0]))))
	require.True(t, found, "the mapping is not listed, or joined to another one")
	_, rest, found = strings.Cut(rest, "VmFlags:")
	require.True(t, found)
	flags, _, _ := strings.Cut(rest, "\n")
	return flags
}

// Huge pages are asked for, by owner and peer, where one fits; what the system does about it is its own affair.
func TestLargeMappingsAskForHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no transparent huge pages")
	}
	for _, c := range []struct {
		size int
		asks bool
	}{{hugePage / 2, false}, {2 * hugePage, true}} {
		own, err := Create(c.size)
		require.NoError(t, err)
		defer own.Close()
		fd, err := unix.Dup(own.fd)
		require.NoError(t, err)
		peer, err := Map(fd, c.size)
		require.NoError(t, err)
		defer peer.Close()
		for _, m := range []*Memory{own, peer} {
			require.Equal(t, c.asks, strings.Contains(flagsOf(t, m.mem)+" ", " hg "), "%d bytes: %s", c.size, flagsOf(t, m.mem))
		}
	}
}
