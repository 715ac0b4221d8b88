package fabric

import (
	"net"
	"strconv"
	"time"
)

// wayTime is how long the name of a configured peer may take to be resolved, to find the way to it.
const wayTime = 300 * time.Millisecond

// reachableAt is the address that a node gives to all for a listener. One on all addresses of the host is reached at one of
// them: over a connection a node gives the one that this uses (selfOn), but what is told on, by nodes of its own host too, is
// this. It is the address from which the host sends to the first configured peer that is not on it, or that is it; or else the
// first one that the host has for others.
func reachableAt(listener net.Addr, peers []string) string {
	l, ok := listener.(*net.TCPAddr)
	if !ok || !l.IP.IsUnspecified() {
		return listener.String()
	}
	at := func(ip net.IP) string { return net.JoinHostPort(ip.String(), strconv.Itoa(l.Port)) }
	way := net.Dialer{Timeout: wayTime}
	for _, peer := range peers {
		c, err := way.Dial("udp", peer) // sends nothing: the kernel looks for the way
		if err != nil {
			continue
		}
		from, ok := c.LocalAddr().(*net.UDPAddr)
		c.Close()
		if ok && from.IP.IsGlobalUnicast() {
			return at(from.IP)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return listener.String()
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return at(n.IP)
		}
	}
	return listener.String()
}
