package fabric

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/rdma/tcp"
)

// Mark sets the DSCP (RFC 2474), 0 to 63, of all that this node sends over TCP from now on, on the connections that
// there are and on those to come. Networks that know nothing of it, and what is in flight, are as before.
func (f *Fabric) Mark(dscp int) {
	f.dscp.Store(int32(dscp)) // first: a connection that comes into use loads it behind its entry in links
	var links []*tcp.Link
	f.mu.Lock()
	for _, l := range f.links {
		if t, ok := l.(*tcp.Link); ok {
			links = append(links, t)
		}
	}
	f.mu.Unlock()
	for _, l := range links {
		l.Mark()
	}
}

// markConn marks one connection. Errors are of no account: it may be closed by now, and a socket has only one of the
// two options, unless it serves both versions of IP.
func (f *Fabric) markConn(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	rc, err := t.SyscallConn()
	if err != nil {
		return
	}
	class := int(f.dscp.Load()) << 2
	_ = rc.Control(func(fd uintptr) {
		if before, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS); err == nil && before == class {
			return
		}
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, class)
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_TCLASS, class)
	})
}
