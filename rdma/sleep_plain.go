//go:build !go1.26 || go1.27 || ddsplainsleep

package rdma

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// sleepsApart: the version of Go is none for which sleep.go was checked, or it was not wanted.
const sleepsApart = false

// sleepApart sleeps like any system call.
func sleepApart(word *atomic.Uint32, val uint32, timeout *unix.Timespec) {
	_ = futex(word, futexWait, val, timeout)
}
