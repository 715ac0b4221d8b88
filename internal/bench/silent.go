package bench

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepSilently is unix.Nanosleep without telling the Go runtime, so that the goroutine keeps its processor (the P of the scheduler).
//
// Otherwise the runtime's monitor gives the only processor to another thread after 20 µs, that thread finds nothing to do and sleeps, and who comes back has to get a processor and to wake the monitor first: half a dozen system calls for each sample, late by as much. They
// are not the middleware's, and programs in C, which ours are compared with, have nothing of the kind.
//
// The collector does not wait for it: to stop the world the runtime sends the thread a signal, which ends the sleep (EINTR).
func sleepSilently(t *unix.Timespec) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(t)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
