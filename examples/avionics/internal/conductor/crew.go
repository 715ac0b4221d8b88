package conductor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
)

// happening is an event of a process, or its end.
type happening struct {
	*member
	event *control.Event
	exit  error // if event is nil: how it ended, nil for status 0
}

// member is one process.
type member struct {
	role  string
	cmd   *exec.Cmd
	to    *control.Writer
	stdin io.Closer
	life  *ledger.Life
	ready bool
	ended bool
	// killed: by chaos. Its end is no news.
	killed bool
	// since is the number of the last sample of each topic when it was ready, or was there again after it had been away.
	since map[string]uint64
}

// crew is the processes of a run. One goroutine uses it.
type crew struct {
	program string
	members map[string]*member
	news    chan happening // buffered: a process never waits for the conductor to listen
	errs    io.Writer      // what processes complain about, line by line
	// inherited are files that each process keeps open while it lives, and knows nothing of.
	inherited []*os.File

	mu sync.Mutex // of errs
}

func newCrew(program string, errs io.Writer) *crew {
	return &crew{program: program, members: make(map[string]*member), news: make(chan happening, 1024), errs: errs}
}

// start runs the program in a role. The goroutine that calls it must be locked to a thread that lives as long as the
// conductor: the kernel's parent-death signal follows the thread.
func (c *crew) start(cfg control.Config, life *ledger.Life) (*member, error) {
	events, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cfg.Role, err)
	}
	defer func() { _ = write.Close() }() // the process has its own
	cmd := c.command(cfg.Role, write)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", cfg.Role, err), events.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", cfg.Role, err), events.Close())
	}
	m := &member{role: cfg.Role, cmd: cmd, to: control.NewWriter(stdin), stdin: stdin, life: life}
	c.members[cfg.Role] = m
	go c.follow(m, events, stdout, stderr)
	if err := m.to.Send(cfg); err != nil {
		return nil, fmt.Errorf("configuring %s: %w", cfg.Role, err)
	}
	return m, nil
}

// command is that of a process which writes its events to the file.
func (c *crew) command(role string, events *os.File) *exec.Cmd {
	cmd := exec.Command(c.program, RoleArgument, role)
	cmd.ExtraFiles = append([]*os.File{events}, c.inherited...)
	cmd.SysProcAttr = processAttributes()
	return cmd
}

// RoleArgument is the first argument of a process, before its role.
const RoleArgument = "role"

// follow passes on what a process says, and then how it ended.
func (c *crew) follow(m *member, events io.ReadCloser, output ...io.Reader) {
	var wg sync.WaitGroup
	for _, r := range output {
		wg.Go(func() { c.pass(m.role, r) })
	}
	in := control.NewReader(events)
	for {
		e := new(control.Event)
		if err := in.Next(e); err != nil {
			break // its end tells more
		}
		c.news <- happening{member: m, event: e}
	}
	_ = events.Close() // it was only read
	wg.Wait()
	c.news <- happening{member: m, exit: m.cmd.Wait()}
}

// pass shows what a process writes to its standard output and error: it only does so when it is in trouble.
func (c *crew) pass(role string, r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c.mu.Lock()
		_, _ = fmt.Fprintf(c.errs, "%s: %s\n", role, lines.Text())
		c.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, r) // a line beyond all measure: let the process go on
}

// tell sends a command. A process that can not be told is about to be found dead.
func (c *crew) tell(role string, cmd control.Command) {
	if m := c.members[role]; m != nil && !m.ended {
		_ = m.to.Send(cmd)
	}
}

// alive lists the processes that have not ended.
func (c *crew) alive() []string {
	var roles []string
	for _, role := range allRoles {
		if m := c.members[role]; m != nil && !m.ended {
			roles = append(roles, role)
		}
	}
	return roles
}

// pid is the process of a role.
func (c *crew) pid(role string) int { return c.members[role].cmd.Process.Pid }

// gone notes that a process has ended.
func (m *member) gone() {
	m.ended = true
	_ = m.stdin.Close()
}

// dismiss ends whoever is left: first by closing what they listen to, and then by force. It returns when all have
// ended.
func (c *crew) dismiss(patience time.Duration) {
	for _, role := range c.alive() {
		_ = c.members[role].stdin.Close()
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for len(c.alive()) > 0 {
		select {
		case h := <-c.news:
			if h.event == nil {
				h.gone()
			}
		case <-limit.C:
			for _, role := range c.alive() {
				_ = c.members[role].cmd.Process.Kill()
			}
		}
	}
}
