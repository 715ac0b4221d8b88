package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Task is what a parent process gives a child to do: the first line of its standard input.
type Task struct {
	Role    Role
	Options Options
}

// What is said on the pipes between parent and child besides the Task and, last, the Result.
const (
	SaysReady = "ready" // child: its endpoints exist, and are matched if it is a pub or ping
	SaysStart = "start" // parent: write; a sub or pong goes on at once too
)

// Serve does what a parent process asks for over in and out. It ends when in does, as it does with the parent, however that
// came about; gone is called then, at once.
func Serve(in io.Reader, out io.Writer, gone func()) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return fmt.Errorf("no task on the standard input: this command is for dds perf run to start; use dds perf run")
	}
	var task Task
	if err := json.Unmarshal(lines.Bytes(), &task); err != nil {
		return fmt.Errorf("the task on the standard input: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := make(chan struct{})
	// It ends with the input, which the parent closes once it has the result; nobody waits for it, as the process ends.
	go func() {
		for lines.Scan() {
			if lines.Text() == SaysStart {
				close(start)
				break
			}
		}
		for lines.Scan() { // nothing more is said
		}
		cancel()
		gone()
	}()
	result, err := Run(ctx, task.Role, task.Options, Hooks{Ready: func(ctx context.Context) error {
		if _, err := fmt.Fprintln(out, SaysReady); err != nil {
			return err
		}
		select {
		case <-start:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}
