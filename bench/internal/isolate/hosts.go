package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is a network namespace with an address, on a switch with others.
type Host struct{ Namespace, Address string }

// Hosts makes n of them: a bridge in the namespace of this process, and to each a virtual cable. Nothing but packets
// gets from one to another. It is for a process that Main has isolated, whose end is theirs; nothing of them is seen
// outside. It needs the ip command.
func Hosts(n int) ([]Host, error) {
	if os.Getenv(marker) == "" {
		return nil, errors.New("isolate: hosts need namespaces of one's own; do not switch them off")
	}
	// Where the ip command keeps names of namespaces. They are files; they shall go with the mount.
	const names = "/run/netns"
	if err := os.Mkdir(names, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("isolate: %w", err)
	}
	if err := unix.Mount("tmpfs", names, "tmpfs", 0, "mode=755"); err != nil {
		return nil, fmt.Errorf("isolate: no %s of one's own: %w", names, err)
	}
	const bridge = "switch"
	if err := ip("link", "add", "name", bridge, "type", "bridge"); err != nil {
		return nil, err
	}
	if err := ip("link", "set", bridge, "up"); err != nil {
		return nil, err
	}
	var hosts []Host
	for i := range n {
		h := Host{fmt.Sprintf("host%d", i+1), fmt.Sprintf("10.213.78.%d", i+1)}
		port := fmt.Sprintf("port%d", i+1)
		for _, args := range [][]string{
			{"netns", "add", h.Namespace},
			{"link", "add", "name", port, "type", "veth", "peer", "name", "eth0", "netns", h.Namespace},
			{"link", "set", port, "master", bridge, "up"},
			{"-n", h.Namespace, "address", "add", h.Address + "/24", "dev", "eth0"},
			{"-n", h.Namespace, "link", "set", "lo", "up"},
			{"-n", h.Namespace, "link", "set", "eth0", "up"},
		} {
			if err := ip(args...); err != nil {
				return nil, err
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("isolate: ip %s: %w: %s; hosts need the ip command (Debian package iproute2), and a kernel with bridges and veth",
			strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
