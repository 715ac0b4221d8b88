//go:build go1.26 && !go1.27 && !ddsplainsleep

package rdma

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepsApart: sleepApart does what it says. See ADR 0032.
const sleepsApart = true

// The Go runtime declares these two for others to link to, with the signature and the meaning that they have here.

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// sleepApart is futex with futexWait, but the goroutine gives its processor (P) away before it sleeps, not when the
// monitor of the Go runtime finds that it sleeps. The runtime then sees to it that some thread waits for the network,
// as it does when a goroutine waits for anything else.
//
// Between the two calls nothing may grow the stack or need a P, and both have to be made from the same frame: hence no
// inlining, no stack check, no instrumentation, and a system call that is raw. The words that the kernel reads do not
// move meanwhile: word is in mapped memory or on the heap, and the runtime leaves the stack of a goroutine in a system
// call where it is.
//
//go:noinline
//go:nosplit
//go:norace
func sleepApart(word *atomic.Uint32, val uint32, timeout *unix.Timespec) {
	entersyscallblock()
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(val), uintptr(unsafe.Pointer(timeout)), 0, 0)
	exitsyscall()
}
