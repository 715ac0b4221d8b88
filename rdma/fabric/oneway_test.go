package fabric

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// One that can be dialled, and can not dial back, takes a new link from a peer that has given up the old one: the peer,
// which greets it anew, is asked whether it has the old one.
func TestGivenUpByOneThatCanNotBeDialled(t *testing.T) {
	for _, c := range []struct{ name, addr string }{
		{"refused", "127.0.0.1:1"}, // where nobody listens
		{"no address", ""},         // as if it listened on its loopback address, on another host
	} {
		t.Run(c.name, func(t *testing.T) {
			b := elsewhere(t, Config{ID: 200, Name: "b"}).start(t)
			a := elsewhere(t, Config{ID: 100, Name: "a", Peers: []string{b.self.Addr}})
			a.self.Addr = c.addr
			a.start(t)
			a.wait(t, "link", func() bool { return a.ups[200] == 1 })
			b.wait(t, "link", func() bool { return b.ups[100] == 1 })
			a.to(b).Drop(errors.New("silent for too long"))
			a.wait(t, "down", func() bool { return a.downs == 1 })
			a.wait(t, "a new link", func() bool { return a.ups[200] == 2 })
			b.wait(t, "a new link", func() bool { return b.ups[100] == 2 })
			require.Equal(t, 1, get(b, func() int { return b.downs }))
		})
	}
}

// One that finds a second address of its peer, while that is refused and the first one is silent, greets it there. It
// has their link still, which goes on.
func TestGreetedByOneThatHasTheLink(t *testing.T) {
	b := elsewhere(t, Config{ID: 200, Name: "b"}).start(t)
	p := newProxy(t, b.self.Addr)
	a := elsewhere(t, Config{ID: 100, Name: "a", Peers: []string{p.ln.Addr().String()}})
	a.self.Addr = "127.0.0.1:1" // where nobody listens
	a.start(t)
	a.wait(t, "link", func() bool { return a.ups[200] == 1 })
	b.wait(t, "link", func() bool { return b.ups[100] == 1 })
	p.setSilent(true)
	p.cut()
	b.wait(t, "refused", func() bool { return b.dying == 1 })
	b.to(a).Send([]byte("kept"))
	require.NoError(t, a.dialTCP(b.self.Addr, b.self.Addr, patience))
	p.setSilent(false)
	p.cut()
	a.wait(t, "message, or the end", func() bool { return len(a.messages) == 1 || a.downs > 0 })
	for _, n := range []*node{a, b} {
		require.Zero(t, get(n, func() int { return n.downs }))
	}
}

// A session whose greeting is not answered yet may be a link at the other end already. So it is not gone before the
// greeting has failed.
func TestSessionThatIsOffered(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	n := elsewhere(t, Config{ID: 100, Peers: []string{ln.Addr().String()}})
	n.Start()
	c, err := ln.Accept()
	require.NoError(t, err)
	b, err := readSized(c)
	require.NoError(t, err)
	_, session, _, err := parseFirst(b)
	require.NoError(t, err)
	v, _ := n.judgeResume(resumption{session, 200, 100, 0})
	require.Equal(t, byte(duplicate), v)
	c.Close()
	n.wait(t, "scanned", func() bool { return n.scanned == 1 })
	v, _ = n.judgeResume(resumption{session, 200, 100, 0})
	require.Equal(t, byte(gone), v)
}

// farListener makes what dials look as if it was on another host.
type farListener struct{ net.Listener }

func (l farListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c.(*net.TCPConn)}, nil
}

type farConn struct{ *net.TCPConn }

func (farConn) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }
func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 2} }

// One that listens on its loopback address only makes the connections to another host, whichever of the two has the
// larger ID, and also those that resume.
func TestResumedByOneThatCanNotBeDialled(t *testing.T) {
	for _, ids := range [][2]uint64{{100, 200}, {200, 100}} {
		b := elsewhere(t, Config{ID: ids[1], Name: "b"})
		b.tcpL = farListener{b.tcpL}
		b.start(t)
		p := newProxy(t, b.self.Addr)
		a := elsewhere(t, Config{ID: ids[0], Name: "a", Peers: []string{p.ln.Addr().String()}}).start(t)
		a.wait(t, "link", func() bool { return a.ups[ids[1]] == 1 })
		b.wait(t, "link", func() bool { return b.ups[ids[0]] == 1 })
		p.cut()
		a.to(b).Send([]byte("there"))
		b.to(a).Send([]byte("back"))
		for _, n := range []*node{a, b} {
			n.wait(t, "message", func() bool { return len(n.messages) == 1 })
			require.Zero(t, get(n, func() int { return n.downs }))
		}
	}
}
