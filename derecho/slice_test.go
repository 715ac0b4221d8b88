package derecho

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma"
)

// A node that joins asks for short slices for the threads of its process, which are there already, and one that is to leave them
// alone does not.
func TestThreadsHaveShortSlices(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := rdma.ShortenSlices(rdma.MaxSlice); err != nil {
		t.Skip("what TestShortenSlices says: ", err)
	}
	before, err := unix.SchedGetAttr(0, 0)
	require.NoError(t, err)
	if before.Policy != unix.SCHED_NORMAL {
		t.Skip("threads of this process have another policy, and are left alone")
	}
	defer func() { require.NoError(t, unix.SchedSetAttr(0, before, 0)) }()
	for _, c := range []struct{ asked, has time.Duration }{
		{-1, 10 * time.Millisecond}, {time.Millisecond, time.Millisecond}, {0, rdma.MinSlice},
	} {
		long := *before
		long.Runtime = uint64(10 * time.Millisecond)
		require.NoError(t, unix.SchedSetAttr(0, &long, 0))
		n, err := Join(ctxFor(t), Config{Domain: rand.Uint32(), Slice: c.asked}, newRecorder())
		require.NoError(t, err)
		after, err := unix.SchedGetAttr(0, 0)
		require.NoError(t, err)
		require.Equal(t, c.has, time.Duration(after.Runtime), "asked for %v", c.asked)
		require.NoError(t, n.Leave(ctxFor(t)))
	}
	for _, bad := range []time.Duration{-2, 1, rdma.MinSlice - 1, rdma.MaxSlice + 1} {
		cfg := Config{Slice: bad}
		require.ErrorIs(t, cfg.complete(), ErrConfig, bad)
	}
}
