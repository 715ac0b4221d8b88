package conductor

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// processAttributes puts a process into a group of its own, away from the terminal's Ctrl-C, and has the kernel kill it
// when the conductor dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isStopped tells whether a signal or a debugger has stopped a process.
func isStopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:] // the name before it may hold anything
	return bytes.HasPrefix(state, []byte(" T")) || bytes.HasPrefix(state, []byte(" t"))
}
