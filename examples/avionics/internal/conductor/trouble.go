package conductor

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
)

// settle is how long further bad news are awaited after the first: a process that dies makes the others fail, and their
// complaints may come before its end is known.
const settle = time.Second

// died notes that a process ended by itself, though it did not say that it failed. The others go on without it.
func (c *conductor) died(h happening) {
	c.failed[h.role] = true
	c.book.End(h.life)
	for _, text := range c.explain([]happening{h}) {
		c.problems = append(c.problems, text)
		c.screen.say("%s; the others go on", text)
	}
}

// trouble ends the run after a process failed, or died before it began, and says which one began it.
func (c *conductor) trouble(first happening) error {
	news := []happening{first}
	limit := time.NewTimer(settle)
	defer limit.Stop()
wait:
	for {
		select {
		case h := <-c.crew.news:
			if h.event == nil {
				h.gone()
			}
			if h.event == nil || h.event.Kind == control.Failed {
				news = append(news, h)
			}
		case <-limit.C:
			break wait
		}
	}
	for _, h := range news {
		c.failed[h.role] = true
	}
	c.problems = append(c.problems, c.explain(news)...)
	return errAbort
}

// explain tells the cause: processes that a signal ended, else those that failed on their own, else whatever is known.
func (c *conductor) explain(news []happening) []string {
	var killed, failed, ended []string
	for _, h := range news {
		pid := h.cmd.Process.Pid
		switch sig, signalled := signalOf(h.exit); {
		case h.event != nil:
			failed = append(failed, fmt.Sprintf("%s (process %d) failed: %s", h.role, pid, h.event.Text))
		case signalled:
			killed = append(killed, fmt.Sprintf("%s (process %d) was killed by a signal (%v) in the middle of the run", h.role, pid, sig))
		case h.exit != nil:
			ended = append(ended, fmt.Sprintf("%s (process %d) ended in the middle of the run: %v", h.role, pid, h.exit))
		default:
			ended = append(ended, fmt.Sprintf("%s (process %d) left in the middle of the run", h.role, pid))
		}
	}
	switch {
	case len(killed) > 0:
		return killed
	case len(failed) > 0:
		return failed
	}
	return ended
}

func signalOf(exit error) (syscall.Signal, bool) {
	var e *exec.ExitError
	if !errors.As(exit, &e) {
		return 0, false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, false
	}
	return status.Signal(), true
}
