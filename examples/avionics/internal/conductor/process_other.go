//go:build !linux

package conductor

import "syscall"

// processAttributes: where the kernel offers nothing, a process leaves when its standard input ends.
func processAttributes() *syscall.SysProcAttr { return nil }

// isStopped: where nothing tells, a process is silent and no more is known.
func isStopped(int) bool { return false }
