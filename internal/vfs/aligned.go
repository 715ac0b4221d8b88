package vfs

import "unsafe"

// MaxAlign is the largest alignment that File.Direct asks for.
const MaxAlign = 4096

// hugeBytes is the size of a huge page; where it is another one the worst is memory that is aligned for nothing.
const hugeBytes = 2 << 20

// Aligned returns n zero bytes whose address is a multiple of MaxAlign, as direct writes need it. The collector of Go
// does not move them.
//
// Of many bytes it asks for huge pages. What a direct write hands to the device is a list of contiguous pieces of memory, and
// the device takes so many pieces at once, not so many bytes: 254 pages of 4 KB are a megabyte, of 2 MB all that there is.
func Aligned(n int) []byte {
	align := MaxAlign
	if n >= hugeBytes {
		align = hugeBytes
	}
	b := make([]byte, n+align-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % uintptr(align)
	b = b[skip : skip+uintptr(n) : skip+uintptr(n)]
	if n >= hugeBytes {
		adviseHuge(b[:n/hugeBytes*hugeBytes])
	}
	return b
}
