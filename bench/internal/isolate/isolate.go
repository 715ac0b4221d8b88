// Package isolate gives a benchmark a network of its own: a loopback interface that carries multicast, nothing else, and an
// empty /dev/shm. Implementations that use multicast may do so, as they would in a real network; none meets
// processes or leftovers of other runs; and nothing of it remains on the machine.
//
// Not here: isolation of files, processes or load. It needs root, or a kernel that lets users make namespaces.
package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker is set in the environment of the process that runs inside.
const marker = "DDS_BENCH_ISOLATED"

// Main starts this program again, with the same arguments, in namespaces of its own, and calls main there. It returns the
// exit code: that of main, of the program inside, or 1 after it has told the standard error why there is none.
func Main(main func() int) int {
	if os.Getenv(marker) != "" {
		if err := furnish(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return main()
	}
	code, err := enter()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Possible says why there can be no namespaces of one's own, or nil; for tests, which are then skipped.
func Possible() error {
	c := exec.Command("true")
	c.SysProcAttr = namespaces()
	if err := c.Run(); err != nil {
		return fmt.Errorf("isolate: no namespaces of one's own: %w", err)
	}
	return nil
}

// namespaces are those that a process inside gets.
func namespaces() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	if uid := os.Geteuid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

func enter() (int, error) {
	// The kernel ends the process inside when the thread that started it does: it must not be one that Go retires.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("isolate: %w", err)
	}
	c := exec.Command(self, os.Args[1:]...)
	c.Env = append(os.Environ(), marker+"=1")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = namespaces()
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// The process inside ends in good order, and with it what it has started. One that is signalled twice, since the terminal
	// does so too, takes it for once.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err = c.Start(); err == nil {
		go func() {
			for s := range signals {
				_ = c.Process.Signal(s) // an error is that it has ended
			}
		}()
		err = c.Wait()
		signal.Stop(signals)
		close(signals)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), nil // killed by a signal: -1
	case err != nil:
		return 0, fmt.Errorf("isolate: no namespaces of one's own: %w; run as root, or allow users to make namespaces", err)
	}
	return 0, nil
}

// furnish sets up what is inside.
func furnish() error {
	// Mounts of the new namespace are shared with the old one until somebody says otherwise.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("isolate: mounts cannot be made private: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("isolate: no /dev/shm of one's own: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("isolate: socket: %w", err)
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("isolate: lo: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING | unix.IFF_MULTICAST)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("isolate: the loopback interface cannot be set up: %w", err)
	}
	return nil
}
