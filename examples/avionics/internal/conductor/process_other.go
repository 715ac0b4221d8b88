//go:build !linux

package conductor

import "syscall"

// processAttributes: where the kernel offers nothing, a process leaves when its standard input ends.
func processAttributes() *syscall.SysProcAttr { return nil }
