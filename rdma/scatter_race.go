//go:build race

package rdma

import (
	"runtime"
	"unsafe"
)

// noteRead tells the race detector, which does not see what the kernel writes, of the n bytes that were read.
func noteRead(into [3][]byte, n int) {
	for _, b := range into {
		b = b[:min(n, len(b))]
		if len(b) > 0 {
			runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(b)), len(b))
		}
		n -= len(b)
	}
}
