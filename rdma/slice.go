package rdma

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The shortest and the longest time slice that Linux gives (sched_setattr(2)).
const (
	MinSlice = 100 * time.Microsecond
	MaxSlice = 100 * time.Millisecond
)

// ErrNoSlices says that the kernel has no time slices of single threads: Linux before 6.12.
var ErrNoSlices = errors.New("rdma: no time slices of threads before Linux 6.12")

// ShortenSlices asks the scheduler for shorter time slices for all threads of this process that have longer ones, and
// are scheduled in the usual way (SCHED_OTHER). Threads that these start, and programs, inherit them. A thread gets no more time
// for that, and no less; but when it wakes up, it runs before those that have longer slices are at the end of theirs. See
// docs/adr/0035. A thread that is being started meanwhile may be missed.
func ShortenSlices(to time.Duration) error {
	// A thread that was not asked for yet may start another while this looks, so it looks again until there is none.
	for looks, again := 10, true; again && looks > 0; looks-- {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		again = false
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				return err
			}
			switch shortened, err := shortenSlice(id, to); {
			case errors.Is(err, unix.ESRCH): // it has ended
			case err != nil:
				return err
			case shortened:
				again = true
			}
		}
	}
	return nil
}

// shortenSlice does so for one thread, and tells whether it had to.
func shortenSlice(thread int, to time.Duration) (bool, error) {
	attr, err := unix.SchedGetAttr(thread, 0)
	switch {
	case err != nil:
		return false, os.NewSyscallError("sched_getattr", err)
	case attr.Policy != unix.SCHED_NORMAL:
		return false, nil
	case attr.Runtime == 0:
		return false, ErrNoSlices
	case time.Duration(attr.Runtime) <= to:
		return false, nil
	}
	attr.Runtime = uint64(to)
	return true, os.NewSyscallError("sched_setattr", unix.SchedSetAttr(thread, attr, 0))
}
