package fabric

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve has something that is no node listen, and gives its address.
func serve(t testing.TB, speak func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			speak(c)
		}
	}()
	return l.Addr().String()
}

// nobody gives an address at which nobody listens.
func nobody(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// Of each configured address to which there is no link it can be told why.
func TestUnreached(t *testing.T) {
	other := elsewhere(t, Config{Name: "other"})
	other.self.Domain = 7
	other.start(t)
	differs := elsewhere(t, Config{Name: "tower", Fingerprint: "subgroups=4"}).start(t)
	friend := elsewhere(t, Config{}).start(t)
	for _, c := range []struct{ name, peer, why string }{
		{"no host", "nohost.invalid:7000", "the name does not resolve (lookup nohost.invalid"},
		{"nobody", nobody(t), "connection refused: nobody listens there"},
		{"ssh", serve(t, func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n")) }), "what answers there is no participant of this middleware"},
		{"silent", serve(t, func(net.Conn) {}), "who listens there does not answer: it is no participant of this middleware, or stands still"},
		{"closes", serve(t, func(c net.Conn) { c.Close() }), "who listens there breaks off ("},
		{"of another domain", other.self.Addr, "a process of domain 7 is there, and this one is of domain 0"},
		{"configured otherwise", differs.self.Addr, `fabric: tower (process `},
		{"friend", friend.self.Addr, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := elsewhere(t, Config{ID: 1, Peers: []string{c.peer}}) // the smallest: it is not called back
			n.greetTimeout, n.firstDialTime = 2*time.Second, 2*time.Second
			n.start(t)
			if c.why == "" {
				require.Empty(t, n.Unreached())
				return
			}
			require.Len(t, n.Unreached(), 1)
			require.True(t, strings.HasPrefix(n.Unreached()[0], c.peer+": "+c.why), "%s", n.Unreached()[0])
		})
	}
}

// Who comes up later is reached, and is told of no more.
func TestReachedLater(t *testing.T) {
	addr := nobody(t)
	n := elsewhere(t, Config{ID: 1, Peers: []string{addr}}).start(t)
	require.Equal(t, []string{addr + ": connection refused: nobody listens there"}, n.Unreached())
	elsewhere(t, Config{Listen: addr}).start(t)
	n.wait(t, "linked", func() bool { return len(n.links) == 1 })
	require.Empty(t, n.Unreached())
}
