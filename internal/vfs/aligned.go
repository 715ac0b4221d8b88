package vfs

import "unsafe"

// MaxAlign is the largest alignment that File.Direct asks for.
const MaxAlign = 4096

// Aligned returns n zero bytes whose address is a multiple of MaxAlign, as direct writes need it. The collector of Go
// does not move them.
func Aligned(n int) []byte {
	b := make([]byte, n+MaxAlign-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % MaxAlign
	return b[skip : skip+uintptr(n) : skip+uintptr(n)]
}
