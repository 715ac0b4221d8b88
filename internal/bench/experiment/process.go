package experiment

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/internal/bench"
)

// grace is how long a process may take to leave its domain once it is told to end.
const grace = 5 * time.Second

// process is one role at work.
type process struct {
	name   string // such as sub 3
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string // what it says; closed when it has ended. Who asks for no line lets it wait
	stderr tail
}

// start begins a process. failed is called if it does not end well, from another goroutine.
func start(command []string, name string, task bench.Task, failed func(error)) (*process, error) {
	p := &process{name: name, cmd: exec.Command(command[0], command[1:]...), lines: make(chan string)}
	// A group of its own, away from the terminal's Ctrl-C: it is this process that decides.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = grace
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.follow(out, failed)
	// Who does not read has ended, and why is what the next line is missing for.
	_ = json.NewEncoder(p.in).Encode(task)
	return p, nil
}

func (p *process) String() string { return fmt.Sprintf("%s (pid %d)", p.name, p.cmd.Process.Pid) }

// follow reads what the process says, until it ends.
func (p *process) follow(out io.Reader, failed func(error)) {
	defer close(p.lines)
	s := bufio.NewScanner(out)
	for s.Scan() {
		p.lines <- s.Text()
	}
	if err := p.cmd.Wait(); err != nil {
		failed(fmt.Errorf("%s failed (%w): %s", p, err, p.stderr.String()))
	}
}

// line is the next thing that the process says.
func (p *process) line(ctx context.Context) (string, error) {
	select {
	case l, ok := <-p.lines:
		if !ok {
			return "", fmt.Errorf("%s ended too soon: %s", p, p.stderr.String())
		}
		return l, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", fmt.Errorf("waiting for %s: %w", p, context.Cause(ctx))
		}
		return "", context.Cause(ctx) // another process failed
	}
}

func (p *process) awaitReady(ctx context.Context) error {
	l, err := p.line(ctx)
	if err == nil && l != bench.SaysReady {
		err = fmt.Errorf("%s says %q, not that it is ready", p, l)
	}
	return err
}

// begin lets it write; see start for an error.
func (p *process) begin() { _, _ = fmt.Fprintln(p.in, bench.SaysStart) }

func (p *process) result(ctx context.Context) (r bench.Result, err error) {
	l, err := p.line(ctx)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(l), &r); err != nil {
		return r, fmt.Errorf("the result of %s: %w", p, err)
	}
	if r.Interrupted {
		return r, fmt.Errorf("%s lost its writers before they had told their end: a process failed, or was not run for longer than the lease, which DDS_LEASE=5s makes longer", p)
	}
	return r, nil
}

// end tells processes to end and returns when they have: by themselves, or they are killed.
func end(all []*process) {
	for _, p := range all {
		p.in.Close() // an error is that of a process that has ended
	}
	late := time.AfterFunc(grace, func() {
		for _, p := range all {
			_ = p.cmd.Process.Kill() // the same
		}
	})
	defer late.Stop()
	for _, p := range all {
		for range p.lines { // until it is closed
		}
	}
}

// tail keeps the last bytes that were written to it. The goroutine of exec.Cmd writes; it is read after Wait.
type tail struct{ b bytes.Buffer }

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > tailBytes {
		p = p[n-tailBytes:]
	}
	if over := t.b.Len() + len(p) - tailBytes; over > 0 {
		t.b.Next(over)
	}
	t.b.Write(p)
	return n, nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(t.b.Bytes())) }
