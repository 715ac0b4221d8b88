package rdma

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// All threads have short slices, and those that are started later; no slice is made longer, and who is scheduled
// otherwise is left alone.
func TestShortenSlices(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mine, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = unix.SchedSetAttr(0, mine, 0)
	}
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		require.ErrorIs(t, ShortenSlices(MinSlice), err)
		t.Skip("this sandbox refuses it: ", err)
	case err == nil && mine.Policy != unix.SCHED_NORMAL:
		t.Skip("threads of this process have another policy, and are left alone")
	case err == nil && mine.Runtime == 0:
		require.ErrorIs(t, ShortenSlices(MinSlice), ErrNoSlices)
		t.Skip(ErrNoSlices)
	}
	require.NoError(t, err)
	// each calls f for the threads that are scheduled in the usual way.
	each := func(f func(thread int, attr *unix.SchedAttr)) {
		threads, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		for _, name := range threads {
			thread, err := strconv.Atoi(name.Name())
			require.NoError(t, err)
			attr, err := unix.SchedGetAttr(thread, 0)
			if errors.Is(err, unix.ESRCH) {
				continue // it has ended
			}
			require.NoError(t, err)
			if attr.Policy == unix.SCHED_NORMAL {
				f(thread, attr)
			}
		}
	}
	longest := func() (d time.Duration) {
		each(func(_ int, attr *unix.SchedAttr) { d = max(d, time.Duration(attr.Runtime)) })
		return d
	}
	// shorten asks again if a thread was just being started.
	shorten := func(to time.Duration) {
		for tries := 100; ; tries-- {
			require.NoError(t, ShortenSlices(to))
			if longest() <= to || tries == 0 {
				return
			}
		}
	}
	each(func(thread int, attr *unix.SchedAttr) { // an earlier turn may have shortened them
		attr.Runtime = uint64(10 * time.Millisecond)
		if err := unix.SchedSetAttr(thread, attr, 0); !errors.Is(err, unix.ESRCH) {
			require.NoError(t, err)
		}
	})

	onItsOwnThread(func() {
		attr, err := unix.SchedGetAttr(0, 0)
		require.NoError(t, err)
		attr.Policy = unix.SCHED_BATCH
		require.NoError(t, unix.SchedSetAttr(0, attr, 0))
		before, err := unix.SchedGetAttr(0, 0)
		require.NoError(t, err)
		require.NoError(t, ShortenSlices(300*time.Microsecond))
		after, err := unix.SchedGetAttr(0, 0)
		require.NoError(t, err)
		require.Equal(t, before, after, "a thread with another policy")
	})
	shorten(300 * time.Microsecond)
	require.Equal(t, 300*time.Microsecond, longest())
	shorten(time.Millisecond)
	require.Equal(t, 300*time.Microsecond, longest(), "they are shorter")
	shorten(MinSlice)
	require.Equal(t, MinSlice, longest())
	for range 4 { // more than there may be idle threads
		onItsOwnThread(func() {
			attr, err := unix.SchedGetAttr(0, 0)
			require.NoError(t, err)
			require.Equal(t, uint64(MinSlice), attr.Runtime, "of a thread that was started later")
		})
	}
}

// onItsOwnThread runs f on a thread that ends with it.
func onItsOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}
