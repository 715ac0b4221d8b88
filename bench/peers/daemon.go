package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// daemonReady is in the line in which iox-roudi says that processes may register.
const daemonReady = "ready for clients"

// StartDaemon starts what must run beside the processes, if anything, and returns how to stop it.
func (v Variant) StartDaemon(ctx context.Context) (stop func(), err error) {
	if v.daemon == "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	c := exec.CommandContext(ctx, v.daemon, "-c", filepath.Join(v.src, filepath.FromSlash(v.daemonConfig)))
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it answers to us, not to the terminal's ^C
	out, err := c.StdoutPipe()
	c.Stderr = c.Stdout // where it says why it does not start
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("peers: %s does not start: %w", v.daemon, err)
	}
	said, err := awaitLine(out, daemonReady)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out) // a daemon whose pipe is full would stop
	}()
	stop = func() {
		cancel()
		<-drained
		_ = c.Wait() // it was told to end, and says so with an error
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("peers: %s did not become ready: %w; it said: %s", v.daemon, err, said)
	}
	return stop, nil
}

// awaitLine reads until a line contains text, and returns what came before.
func awaitLine(r io.Reader, text string) (before string, err error) {
	var b strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return b.String(), nil
		}
		b.WriteString(lines.Text() + "\n")
	}
	return b.String(), errors.Join(io.ErrUnexpectedEOF, lines.Err())
}
