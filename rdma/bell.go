package rdma

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bell is a doorbell: one futex word on which a polling thread sleeps.
//
// Layout: the first word of shared memory that the sleeper and all who wake it may write.
// The word says bellAwake or bellAsleep. The sleeper alone sets bellAsleep, then looks once more
// for work, then sleeps while the word still says so. Whoever has made news visible loads the word
// afterwards and, if it says bellAsleep, is the one of all wakers that swaps it back and pays for
// the system call. Both sides store first and load second, sequentially consistent, so one of them
// sees the other: no news is slept over. Nothing but this word lies in that memory, so the worst
// that a broken peer can do with it is a needless wake-up or, bounded by Sleep's limit, a late one.
type Bell struct {
	word *uint32
}

const (
	bellAwake  = 0
	bellAsleep = 1

	futexWait = 0 // FUTEX_WAIT and FUTEX_WAKE, which x/sys does not name
	futexWake = 1
)

// NewBell makes a bell of a 4-byte aligned word of (shared) memory.
func NewBell(word *uint32) *Bell { return &Bell{word: word} }

// Ring wakes the sleeper, if there is one. A load when there is none.
func (b *Bell) Ring() {
	if atomic.LoadUint32(b.word) == bellAsleep && atomic.CompareAndSwapUint32(b.word, bellAsleep, bellAwake) {
		futex(b.word, futexWake, 1, nil)
	}
}

// Prepare announces sleep. The caller then looks for work once more, and calls Sleep or Cancel.
func (b *Bell) Prepare() { atomic.StoreUint32(b.word, bellAsleep) }

// Cancel takes Prepare back.
func (b *Bell) Cancel() { atomic.StoreUint32(b.word, bellAwake) }

// Sleep waits until the bell is rung or the limit has passed. It returns at once if the bell was
// rung since Prepare.
func (b *Bell) Sleep(limit time.Duration) {
	ts := unix.NsecToTimespec(int64(limit))
	futex(b.word, futexWait, bellAsleep, &ts)
	atomic.StoreUint32(b.word, bellAwake)
}

// futex is the system call; spurious and interrupted returns are fine for both uses. The word is
// shared between processes, so the private flag is not set.
func futex(word *uint32, op int, val uint32, timeout *unix.Timespec) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op), uintptr(val), uintptr(unsafe.Pointer(timeout)), 0, 0)
}
