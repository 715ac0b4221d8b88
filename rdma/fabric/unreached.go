package fabric

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/omg-dds-go/dds/rdma"
)

// That nobody is at a configured address is no failure: who belongs there may start later, and is dialled until then. But
// whoever misses a peer has to be able to find out that its address was mistyped.

// tried notes how the latest attempt to reach a configured address went; nil: it was linked to.
func (f *Fabric) tried(configured string, err error) {
	if configured == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed[configured] = err
}

// Unreached lists the configured addresses to which there is no link, each with what came of the latest attempt to make one.
func (f *Fabric) Unreached() []string {
	var all []string
	for _, addr := range f.cfg.Peers {
		f.mu.Lock()
		err := f.failed[addr]
		f.mu.Unlock()
		if err != nil && !f.linkedTo(addr) {
			all = append(all, addr+": "+f.whyUnreached(err))
		}
	}
	return all
}

func (f *Fabric) whyUnreached(err error) string {
	var (
		r    errRefused
		name *net.DNSError
		op   *net.OpError
		n    net.Error
	)
	late := errors.As(err, &n) && n.Timeout()
	switch {
	case errors.As(err, &r):
		return f.whyRefused(r)
	case errors.As(err, &name):
		return "the name does not resolve (" + name.Error() + ")"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nobody listens there"
	case late && errors.As(err, &op) && op.Op == "dial":
		return "no answer: the host is down, or a firewall is between"
	case errors.As(err, &op) && op.Op == "dial":
		return err.Error()
	case late:
		return "who listens there does not answer: it is no participant of this middleware, or stands still"
	case errors.Is(err, rdma.ErrHello):
		return "what answers there is no participant of this middleware"
	}
	return fmt.Sprintf("who listens there breaks off (%v): it is no participant of this middleware, or is just ending", err)
}

// whyRefused tells why there is no link to a participant that has answered.
func (f *Fabric) whyRefused(r errRefused) string {
	switch r.verdict {
	case refuse:
		return f.mismatch(r.peer, r.version).Error()
	case stranger:
		return fmt.Sprintf("a process of domain %d is there, and this one is of domain %d", r.peer.Domain, f.self.Domain)
	case leaving:
		return r.peer.Name + " is there, and is just ending"
	}
	return fmt.Sprintf("%s (process %d on %s) answers, and the link to it is not made yet", r.peer.Name, r.peer.PID, r.peer.Host)
}
