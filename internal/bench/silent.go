package bench

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepSilently is unix.Nanosleep without telling the Go runtime, so that the goroutine keeps its processor (the P of
// the scheduler), and without the slack of timers, by which a sleep may last 50 µs longer.
//
// Otherwise the runtime's monitor takes the processor after 20 µs and goes to sleep when no other one is busy, and who
// comes back has to get a processor and to wake the monitor first, which is a system call and another thread on this
// core for each sample; with one processor it is half a dozen. They are not the middleware's, and programs in C, which
// ours are compared with, have nothing of the kind.
//
// The collector does not wait for it: to stop the world the runtime sends the thread a signal, which ends the sleep (EINTR).
func sleepSilently(t *unix.Timespec) error {
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
	_, _, errno := unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(t)), 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 0, 0) // what it was when the thread began: it belongs to others, too
	if errno != 0 {
		return errno
	}
	return nil
}
