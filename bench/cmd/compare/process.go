package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

// together starts all commands, in their order, waits for all, and returns what they print. When one fails, the others end.
// The commands must have been made with the context that cancel cancels.
func together(cancel context.CancelFunc, commands []*exec.Cmd) ([]result.Result, error) {
	out, said := make([]bytes.Buffer, len(commands)), make([]tail, len(commands))
	errs := make([]error, len(commands))
	var wg sync.WaitGroup
	for i, c := range commands {
		c.Stdout, c.Stderr = &out[i], &said[i]
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = time.Second                                        // then it is killed
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // when this process is
		wg.Go(func() {
			runtime.LockOSThread() // or the kernel ends the process when Go retires the thread that started it
			if err := c.Run(); err != nil {
				errs[i] = fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, said[i].text())
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var all []result.Result
	for i, c := range commands {
		r, err := result.Parse(out[i].Bytes())
		if err != nil || len(r) == 0 {
			return nil, errors.Join(fmt.Errorf("%s printed no result", strings.Join(c.Args, " ")), err)
		}
		all = append(all, r...)
	}
	return all, nil
}

// maxBeside keeps a slip of the finger from taking the machine down.
const maxBeside = 256

// compute starts processes that do nothing but compute, at the usual priority, until end is called.
func compute(ctx context.Context, processes int) (end func(), err error) {
	sh, err := exec.LookPath("sh")
	if err != nil && processes > 0 {
		return nil, fmt.Errorf("-beside %d: %w", processes, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	end = func() { cancel(); wg.Wait() }
	started := make(chan error)
	for range processes {
		c := exec.CommandContext(ctx, sh, "-c", "while :; do :; done")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		wg.Go(func() {
			runtime.LockOSThread() // as above
			err := c.Start()
			started <- err
			if err == nil {
				_ = c.Wait() // it ends by being killed
			}
		})
		if err := <-started; err != nil {
			end()
			return nil, fmt.Errorf("-beside %d: %w", processes, err)
		}
	}
	return end, nil
}

// tail keeps the end of what is written to it: middleware in trouble can say the same thing very often.
type tail struct{ kept []byte }

const tailBytes = 300

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if len(t.kept) > 10*tailBytes {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailBytes:]...)
	}
	return len(b), nil
}

func (t *tail) text() string {
	return strings.TrimSpace(string(t.kept[max(0, len(t.kept)-tailBytes):]))
}

// build makes a program of a package of Go in dir.
func build(ctx context.Context, dir, pkg, to string) error {
	c := exec.CommandContext(ctx, "go", "build", "-o", to, pkg)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not build: %w\n%s", pkg, err, out)
	}
	return nil
}

// newLimits builds bench/baseline.
func newLimits(ctx context.Context, scratch string) (program string, err error) {
	dir, err := root(ctx)
	if err != nil {
		return "", err
	}
	program = filepath.Join(scratch, "baseline")
	return program, build(ctx, dir, "./bench/baseline", program)
}

// root is the directory of the module.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("the module cannot be found: %w; run compare from within the repository", err)
	}
	return strings.TrimSpace(string(out)), nil
}
