package chaos

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/storage"
)

// process is one process under test, as its parent sees it.
type process struct {
	name    string
	seat    string // its directory of logs, which the next process there goes on with
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string // what it says; closed when it is dead
	waited  chan struct{}
	err     error // of the process, once waited is closed
	record  string
	said    string // the file of its standard error
	base    storage.Version
	stopped bool
	outcome outcome
	writers map[string]int // by topic
	readers map[string]int
}

// fleet is the processes of one domain, and where they leave things.
type fleet struct {
	t       testing.TB
	dir     string
	env     []string
	running []*process
	over    []*process
	started int
	log     []string // what was done, for a failure
	began   time.Time
	stops   *stops // nil if nobody watches
}

func newFleet(t testing.TB, domain uint32, env ...string) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "dds-chaos-")
	require.NoError(t, err)
	f := &fleet{t: t, dir: dir, began: time.Now()}
	f.env = append([]string{fmt.Sprintf("%s=%d", envDomain, domain), "DDS_LISTEN=", "DDS_PEERS="}, env...)
	t.Cleanup(func() {
		failed := t.Failed()
		for _, p := range f.running {
			if failed && len(p.lines) == 0 {
				f.dump(p)
			}
			_ = p.cmd.Process.Kill()
			<-p.waited
		}
		if failed {
			t.Logf("what was done:\n  %s", strings.Join(f.log[max(0, len(f.log)-60):], "\n  "))
		}
		if failed || *flagKeep {
			t.Logf("the records are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return f
}

// dump has a process that lives print its goroutines into the file of its standard error.
func (f *fleet) dump(p *process) {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	if p.cmd.Process.Signal(syscall.SIGQUIT) == nil {
		select {
		case <-p.waited:
		case <-time.After(3 * time.Second):
		}
	}
}

func (f *fleet) did(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf("%8.3f ", time.Since(f.began).Seconds())+fmt.Sprintf(format, args...))
}

func (f *fleet) fatal(format string, args ...any) {
	f.t.Helper()
	f.t.Fatalf(format, args...)
}

// spawn starts a process; it is there when it has said "joined". wrap may start it on another host.
func (f *fleet) spawn(seat string, wrap func(*exec.Cmd) *exec.Cmd, env ...string) *process {
	f.t.Helper()
	f.started++
	p := &process{
		name: fmt.Sprintf("p%d", f.started), seat: filepath.Join(f.dir, seat), lines: make(chan string, 16), waited: make(chan struct{}),
		writers: map[string]int{}, readers: map[string]int{},
	}
	require.NoError(f.t, os.MkdirAll(p.seat, 0o755))
	_, _, base := f.readLog(p.seat, storage.Version{})
	p.base = base
	p.record, p.said = filepath.Join(f.dir, p.name+".record"), filepath.Join(f.dir, p.name+".stderr")
	said, err := os.Create(p.said)
	require.NoError(f.t, err)
	defer said.Close()
	c := exec.Command(os.Args[0])
	if wrap != nil {
		c = wrap(c)
	}
	c.Env = append(os.Environ(), f.env...)
	c.Env = append(c.Env, "GOTRACEBACK=all", envName+"="+p.name, envRecord+"="+p.record, "DDS_DIR="+p.seat)
	c.Env = append(c.Env, env...)
	c.Stderr = said
	p.stdin, err = c.StdinPipe()
	require.NoError(f.t, err)
	out, err := c.StdoutPipe()
	require.NoError(f.t, err)
	p.cmd = c
	f.did("start %s in %s", p.name, seat)
	require.NoError(f.t, c.Start())
	f.running = append(f.running, p)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			p.lines <- lines.Text()
		}
		p.err = c.Wait()
		close(p.waited)
		close(p.lines)
	}()
	return p
}

// line is what the process says next.
func (f *fleet) line(p *process) string {
	f.t.Helper()
	select {
	case line, ok := <-p.lines:
		if ok {
			return line
		}
		b, _ := os.ReadFile(p.said)
		f.fatal("%s ended by itself: %v: %s", p.name, p.err, b)
	case <-time.After(patience + 10*time.Second):
		f.fatal("%s does not answer; its goroutines are in %s", p.name, p.said)
	}
	return ""
}

func (f *fleet) joined(p *process) {
	f.t.Helper()
	if line := f.line(p); line != "joined" {
		f.fatal("%s said %q, want joined", p.name, line)
	}
}

func (f *fleet) tell(p *process, format string, args ...any) {
	f.t.Helper()
	if _, err := fmt.Fprintf(p.stdin, format+"\n", args...); err != nil {
		f.fatal("%s does not listen: %v", p.name, err)
	}
}

func (f *fleet) answer(p *process) string {
	f.t.Helper()
	line := f.line(p)
	if line != "ok" && !strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "ok error") {
		f.fatal("%s: %s", p.name, line)
	}
	return strings.TrimPrefix(strings.TrimPrefix(line, "ok"), " ")
}

func (f *fleet) ask(p *process, format string, args ...any) string {
	f.t.Helper()
	f.tell(p, format, args...)
	return f.answer(p)
}

// askAll has all that run do the same at once.
func (f *fleet) askAll(format string, args ...any) {
	f.t.Helper()
	for _, p := range f.running {
		f.tell(p, format, args...)
	}
	for _, p := range f.running {
		f.answer(p)
	}
}

func (f *fleet) enter(p *process, topic string, writers, readers int) {
	f.t.Helper()
	f.ask(p, "enter %s %d %d", topic, writers, readers)
	p.writers[topic] += writers
	p.readers[topic] += readers
	p.outcome.began = time.Now().UnixNano()
}

func (f *fleet) leave(p *process, topic string, writers, readers int) {
	f.t.Helper()
	f.ask(p, "leave %s %d %d", topic, writers, readers)
	p.writers[topic] -= writers
	p.readers[topic] -= readers
}

// settle waits until everybody who runs is matched with everybody, and nobody else.
func (f *fleet) settle(topics ...string) {
	f.t.Helper()
	for _, topic := range topics {
		writers, readers := f.parts(topic)
		f.askAll("settle %s %d %d", topic, writers, readers)
	}
}

func (f *fleet) parts(topic string) (writers, readers int) {
	for _, p := range f.running {
		writers += p.writers[topic]
		readers += p.readers[topic]
	}
	return writers, readers
}

// finish has every writer write once more, which every reader must be handed.
func (f *fleet) finish(topics ...string) {
	f.t.Helper()
	f.askAll("halt")
	f.settle(topics...)
	for _, topic := range topics {
		writers, _ := f.parts(topic)
		f.askAll("finish %s", topic)
		f.askAll("await %s %d", topic, writers)
	}
}

func (f *fleet) signal(p *process, s syscall.Signal) {
	f.t.Helper()
	f.did("%v to %s", s, p.name)
	require.NoError(f.t, p.cmd.Process.Signal(s))
	p.stopped = s == syscall.SIGSTOP || s != syscall.SIGCONT && p.stopped
}

// kill ends a process without giving it a chance.
func (f *fleet) kill(p *process) time.Time {
	f.t.Helper()
	fate := "killed"
	if p.stopped {
		fate = "killed while it was stopped"
	}
	at := time.Now()
	f.signal(p, syscall.SIGKILL)
	f.bury(p, fate, at)
	return at
}

// retire lets a process leave in order.
func (f *fleet) retire(p *process) {
	f.t.Helper()
	f.did("close %s", p.name)
	at := time.Now()
	f.ask(p, "close")
	f.bury(p, "closed", at)
	require.NoError(f.t, p.err, p.name)
}

func (f *fleet) bury(p *process, fate string, at time.Time) {
	f.t.Helper()
	select {
	case <-p.waited:
	case <-time.After(patience):
		f.fatal("%s was to end (%s), but does not", p.name, fate)
	}
	p.outcome.name, p.outcome.fate, p.outcome.over = p.name, fate, at.UnixNano()
	p.outcome.log, p.outcome.trimmed, _ = f.readLog(p.seat, p.base)
	f.over = append(f.over, p)
	for i, q := range f.running {
		if q == p {
			f.running = append(f.running[:i:i], f.running[i+1:]...)
			break
		}
	}
}

// readLog reads the log of the logged topic behind a position, where it begins if it was trimmed, and where it ends.
func (f *fleet) readLog(seat string, base storage.Version) (list []sample, trimmed *storage.Version, end storage.Version) {
	f.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(seat, "domain-*"))
	require.NoError(f.t, err)
	end = base
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		_, based := os.Stat(dir + ".base")
		for r, err := range storage.Read(dir, storage.Options{Trimmed: storage.FromWhereItBegins}, storage.Version{}) {
			require.NoError(f.t, err)
			if based == nil && trimmed == nil {
				trimmed = new(r.Version)
			}
			if r.Compare(base) <= 0 {
				continue
			}
			end = r.Version
			if v, err := NewNoteView(r.Payload); err == nil {
				list = append(list, sample{strings.Clone(v.Writer()), v.Number()})
			}
		}
	}
	return list, trimmed, end
}

// outcomes reads what all processes have told.
func (f *fleet) outcomes() (all []outcome) {
	f.t.Helper()
	for _, p := range f.over {
		var err error
		p.outcome.told, err = readRecord(p.record)
		require.NoError(f.t, err)
		all = append(all, p.outcome)
	}
	return all
}
