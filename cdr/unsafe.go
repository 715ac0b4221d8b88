package cdr

import (
	"encoding/binary"
	"unsafe"
)

// This file holds all of the package's unsafe code: reinterpretations of memory, nothing that computes addresses.

// confined gives p back so that the compiler does not see where it goes, and leaves *p on the stack of the caller. It
// is for the encoders and decoders that methods of a Message are called with: called through an interface, they would
// put each of them on the heap.
//
// It is for the streams that writers belong to, too: they keep bytes of the sample and of themselves, which writers
// that live no longer than they do refer to them for; and for shapes, which are variables of packages.
//
// What makes it safe is the contract of Message: its methods use the encoder or decoder during the call, on the same
// goroutine, and keep no reference. The stack may grow meanwhile: then every pointer to *p is in a frame above it, and
// is moved with it. So what the compiler keeps in a frame has to be a pointer for it, not a number: a conversion makes
// one. Read as a pointer from the memory where the number was stored it remains a number, as the compiler leaves out
// the memory. No stack moves between the two statements, which call nothing; without nocheckptr they would under the
// race detector, which checks conversions with a function of the runtime that may grow the stack.
//
//go:nocheckptr
func confined[T Encoder | Decoder | Stream | Shape](p *T) *T {
	u := uintptr(unsafe.Pointer(p))
	return (*T)(pointerOf[unsafe.Pointer](u))
}

// pointerOf converts u. P is a parameter for vet only, which knows no safe conversion that hides where a pointer goes.
//
//go:nocheckptr
func pointerOf[P unsafe.Pointer](u uintptr) P { return P(u) }

// nativeLittle tells the byte order of the machine, which decides whether a slice can be copied as it is.
var nativeLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf gives the memory of s. Primitive types have no padding and no invalid bit patterns.
func bytesOf[T Primitive](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// imagesOf gives the memory of s, whose elements are images: numbers without padding. Nil unless ImageOf has said so
// for their size.
func imagesOf[T any](l *Layout, s []T) []byte {
	if len(s) == 0 || l.image == nil || l.image.Size() != unsafe.Sizeof(s[0]) {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// memoryOf gives the memory of v, for reading. A Memory has said that all of it is numbers and booleans, so no byte is padding.
func memoryOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), int(unsafe.Sizeof(*v)))
}

// aliasString gives b as a string without copying. The string changes if b does: views say so.
func aliasString(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// bytesAliased is the way back from aliasString. Nobody may write to the bytes of a sample, nor to these.
func bytesAliased(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// sizeOf is the size of T in memory; that of a Primitive is the same in CDR.
func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// reinterpret gives the value of T that has the bits of u, which has the size of T.
func reinterpret[T Primitive, U uint8 | uint16 | uint32 | uint64](u U) T {
	return *(*T)(unsafe.Pointer(&u))
}
