// Package talk starts the processes of a benchmark: each is told what to do as JSON, the last of its arguments, prints
// lines, and ends when its standard input does.
package talk

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Process is one that was started.
type Process struct {
	in   io.WriteCloser
	cmd  *exec.Cmd
	out  *bufio.Reader
	said strings.Builder // the goroutine of cmd has it until Wait
}

// Start starts a command with what it is told behind its arguments. It is killed when ctx ends.
func Start(ctx context.Context, told any, command ...string) (*Process, error) {
	b, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.CommandContext(ctx, command[0], append(command[1:], string(b))...)}
	p.cmd.Stderr = &p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// Tell writes a line to it.
func (p *Process) Tell(line string) error {
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// Line is the next that it prints.
func (p *Process) Line() (string, error) {
	s, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("a process ended early: %w", err)
	}
	return strings.TrimSpace(s), nil
}

// Outcome reads the next line into a value that it has printed as JSON.
func (p *Process) Outcome(value any) error {
	s, err := p.Line()
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(s), value); err != nil {
		return fmt.Errorf("%q: %w", s, err)
	}
	return nil
}

// End ends processes, all at once, and returns with what those said that failed.
func End(all ...*Process) error {
	for _, p := range all {
		p.in.Close()
	}
	var failed []string
	var last error
	for _, p := range all {
		if err := p.cmd.Wait(); err != nil {
			last = err
			failed = append(failed, strings.TrimSpace(p.said.String()))
		}
	}
	if last != nil {
		return fmt.Errorf("%w: %s", last, strings.Join(failed, "; "))
	}
	return nil
}
