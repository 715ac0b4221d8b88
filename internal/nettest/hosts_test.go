package nettest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// host is a network namespace with one end of the cable.
type host struct {
	name    string // of the namespace
	address string
}

// hosts makes two namespaces and a virtual cable between them; they go with the test.
func hosts(t *testing.T) (a, b host) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the ip command (Debian package iproute2)")
	}
	id := os.Getpid()
	a = host{fmt.Sprintf("dds-a-%d", id), "10.213.77.1"}
	b = host{fmt.Sprintf("dds-b-%d", id), "10.213.77.2"}
	for _, h := range []host{a, b} {
		if out, err := exec.Command("ip", "netns", "add", h.name).CombinedOutput(); err != nil {
			t.Skipf("this system lets nobody make network namespaces: %v: %s", err, out)
		}
		t.Cleanup(func() { ip(t, "netns", "del", h.name) })
	}
	// Interface names have at most 15 bytes; the ends get theirs inside of the namespaces.
	ip(t, "link", "add", "name", "eth0", "netns", a.name, "type", "veth", "peer", "name", "eth0", "netns", b.name)
	for _, h := range []host{a, b} {
		ip(t, "-n", h.name, "address", "add", h.address+"/24", "dev", "eth0")
		ip(t, "-n", h.name, "link", "set", "lo", "up")
		ip(t, "-n", h.name, "link", "set", "eth0", "up")
	}
	return a, b
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", strings.Join(args, " "), out)
}

// command is this test binary on a host, as the process that env describes.
func (h host) command(env ...string) *exec.Cmd {
	c := exec.Command("ip", "netns", "exec", h.name, os.Args[0])
	c.Env = append(os.Environ(), env...)
	return c
}
