package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stretchr/testify/require"
)

// The disk of one process is full: writers are told at once, wherever they are, and go on when that process has gone.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small disk")
	}
	domain := rand.Uint32() >> 1
	f := newFleet(t, domain, "DDS_TRANSPORT=shm", noLease)
	small := filepath.Join(f.dir, "small")
	require.NoError(t, os.Mkdir(small, 0o755))
	// The first file of a log fits, which is reserved whole; the second does not.
	if err := unix.Mount("dds-chaos", small, "tmpfs", 0, "size=65m"); err != nil {
		t.Skipf("this system lets nobody mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	for _, seat := range []string{"small", "large", "larger"} {
		p := f.spawn(seat, nil)
		f.joined(p)
		f.enter(p, loggedTopic, 1, 1)
	}
	f.settle(loggedTopic)
	poor, other, another := f.running[0], f.running[1], f.running[2]
	for _, p := range []*process{other, another} {
		require.Contains(t, f.ask(p, "fill %s 60000", loggedTopic), fmt.Sprintf("(pid %d on", poor.cmd.Process.Pid), "whose disk it is")
	}
	require.Contains(t, f.ask(poor, "fill %s 60000", loggedTopic), "no space left on device")
	f.kill(poor)
	f.finish(loggedTopic)
	for _, p := range f.running {
		p.outcome.alive = true
	}
	f.end()
	f.checkNothingLeft(domain)
	found := check(f.outcomes())
	require.Empty(t, found.wrong)
	require.Greater(t, found.deliveries, 1000)
}
