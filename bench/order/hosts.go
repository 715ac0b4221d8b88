package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
)

// hosts are where the replicas run: network namespaces with their addresses. None is one host for all.
type hosts []host

type host struct{ namespace, address string }

func (h *hosts) String() string {
	var words []string
	for _, one := range *h {
		words = append(words, one.namespace+"="+one.address)
	}
	return strings.Join(words, ",")
}

// Set reads what String writes.
func (h *hosts) Set(s string) error {
	*h = nil
	if s == "" {
		return nil
	}
	for word := range strings.SplitSeq(s, ",") {
		namespace, address, found := strings.Cut(word, "=")
		if !found || net.ParseIP(address) == nil {
			return fmt.Errorf("%q is not NAMESPACE=ADDRESS", word)
		}
		*h = append(*h, host{namespace, address})
	}
	if len(*h) != replicas {
		return fmt.Errorf("%d hosts for %d replicas", len(*h), replicas)
	}
	return nil
}

// command starts a program at a replica's host. It becomes the program, so it can be signalled.
func (h hosts) command(ctx context.Context, replica int, program string, args ...string) *exec.Cmd {
	if h == nil {
		return exec.CommandContext(ctx, program, args...)
	}
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h[replica].namespace, program}, args...)...)
}

// portsEach is how many ports a replica needs: for peers and, with NATS, for clients.
const portsEach = 2

// addresses are those of all ports, portsEach for each replica in turn.
func (h hosts) addresses(ports string) (out []string) {
	for i, port := range strings.Split(ports, ",") {
		address := "127.0.0.1"
		if h != nil {
			address = h[i/portsEach].address
		}
		out = append(out, net.JoinHostPort(address, port))
	}
	return out
}

// freePorts finds ports that are free now; on a loopback interface of one's own they remain so.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("no free port: %w", err)
		}
		defer l.Close() // all at the end, so that no port is found twice
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
