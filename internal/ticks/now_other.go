//go:build !amd64

package ticks

// Now is 0: there is no counter that this package knows to read.
func Now() uint64 { return 0 }

// Steady is false.
func Steady() bool { return false }
