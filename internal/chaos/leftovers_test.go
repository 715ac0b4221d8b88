package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// held is what a process holds of the kernel.
type held struct{ files, memories, threads int }

func holds(pid int) (h held) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	fds, _ := os.ReadDir(dir + "fd")
	h.files = len(fds)
	threads, _ := os.ReadDir(dir + "task")
	h.threads = len(threads)
	for _, at := range mapped(pid) {
		// A region that was offered while it was asked for is mapped twice; more often it never is.
		h.memories += max(1, len(at)-1)
	}
	return h
}

// mapped lists where a process maps the shared memories, by inode.
func mapped(pid int) map[string][]string {
	m := map[string][]string{}
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(maps)) {
		if w := strings.Fields(line); len(w) > 5 && strings.HasPrefix(w[5], "/memfd:dds") {
			m[w[4]] = append(m[w[4]], strings.Join(w[:3], " "))
		}
	}
	return m
}

// slack is by how much an old process may hold more than a young one: the runtime's own.
const slack = 6

// checkHeld compares what the processes hold that have been there for longest and for shortest, when nothing is under
// way: who has seen many others come and go must hold no more than who has not.
func (f *fleet) checkHeld() (oldest, youngest held) {
	f.t.Helper()
	a, b := f.running[0], f.running[len(f.running)-1]
	for late := time.Now().Add(patience); ; {
		f.askAll("collect")
		oldest, youngest = holds(a.cmd.Process.Pid), holds(b.cmd.Process.Pid)
		if oldest.files <= youngest.files+slack && oldest.memories <= youngest.memories+slack {
			return oldest, youngest
		}
		if time.Now().After(late) {
			f.fatal("%s, which has been there for longest, holds %+v; %s, the youngest, holds %+v; the former alone:%s", a.name, oldest, b.name, youngest, f.heldAlone(a, b))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// heldAlone lists the mappings of a that b does not have, with the processes that do: those of one that is gone are of
// nobody else, or of all who remember it.
func (f *fleet) heldAlone(a, b *process) (text string) {
	of := map[*process]map[string][]string{}
	for _, p := range f.running {
		of[p] = mapped(p.cmd.Process.Pid)
	}
	for inode, at := range of[a] {
		if len(at) <= len(of[b][inode]) {
			continue
		}
		text += fmt.Sprintf("\n      memory %s at %s, mapped by", inode, strings.Join(at, ", "))
		for _, p := range f.running {
			if n := len(of[p][inode]); n > 0 {
				text += fmt.Sprintf(" %s (%d times)", p.name, n)
			}
		}
	}
	return text
}

// checkNothingLeft looks for what the processes of a domain could leave when all are gone.
func (f *fleet) checkNothingLeft(domain uint32) {
	f.t.Helper()
	require.Empty(f.t, f.running)
	sockets, err := os.ReadFile("/proc/net/unix")
	require.NoError(f.t, err)
	require.NotContains(f.t, string(sockets), fmt.Sprintf("@omg-dds/%d/%d/", os.Getuid(), domain), "an abstract socket is left")
	stats, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(f.t, err)
	for _, path := range stats {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), fmt.Sprintf("%s=%d\x00", envDomain, domain)) {
			f.t.Errorf("a process is left: %s", filepath.Dir(path))
		}
	}
	shared, _ := filepath.Glob("/dev/shm/*dds*")
	require.Empty(f.t, shared, "files in /dev/shm are left")
	for _, p := range f.over {
		err := filepath.Walk(p.seat, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() && !isLogFile(info.Name()) {
				f.t.Errorf("a file is left: %s", path)
			}
			return err
		})
		require.NoError(f.t, err)
	}
}

// isLogFile: docs/formats.md lists what a log consists of.
func isLogFile(name string) bool {
	switch filepath.Ext(name) {
	case ".seg", ".writers", ".epochs", ".base":
		return true
	}
	return name == "LOCK" || strings.HasSuffix(name, ".base.new") // of who was killed as it was written
}
