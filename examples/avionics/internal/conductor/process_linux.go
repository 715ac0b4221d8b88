package conductor

import "syscall"

// processAttributes puts a process into a group of its own, away from the terminal's Ctrl-C, and has the kernel kill it
// when the conductor dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
