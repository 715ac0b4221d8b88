package fabric

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// from is a connection between two addresses.
type from struct{ remote, local string }

func (f from) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.ParseIP(f.remote), Port: 1} }
func (f from) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.ParseIP(f.local), Port: 2} }
func (from) Read([]byte) (int, error)           { return 0, net.ErrClosed }
func (from) Write([]byte) (int, error)          { return 0, net.ErrClosed }
func (from) Close() error                       { return nil }
func (from) SetDeadline(time.Time) error        { return nil }
func (from) SetReadDeadline(t time.Time) error  { return nil }
func (from) SetWriteDeadline(t time.Time) error { return nil }

// Who has the larger ID is called back, unless the address that it gives means nothing here.
func TestWhoCanNotBeCalledBack(t *testing.T) {
	n := quiet(t, Config{Domain: newDomain(), ID: 200})
	for _, c := range []struct {
		addr    string
		from    from
		verdict byte
	}{
		{"10.0.0.1:7400", from{"10.0.0.1", "10.0.0.2"}, callBack},
		{"127.0.0.1:7400", from{"127.0.0.1", "127.0.0.1"}, callBack},
		{"127.0.0.1:7400", from{"10.0.0.2", "10.0.0.2"}, callBack}, // one host
		{"127.0.0.1:7400", from{"10.0.0.1", "10.0.0.2"}, accept},
		{"[::1]:7400", from{"fd00::1", "fd00::2"}, accept},
		{"[::]:7400", from{"10.0.0.1", "10.0.0.2"}, accept},
		{"[fe80::1]:7400", from{"fe80::1", "fe80::2"}, accept},
	} {
		p := rdma.PeerInfo{ID: 300, Domain: n.self.Domain, Addr: c.addr}
		require.Equal(t, c.verdict, n.judge(p, c.from), "%+v", c)
		n.dropReserved(300)
	}
}

// The address that is told on is one that others can reach.
func TestAddressOfAListenerOnAll(t *testing.T) {
	all := &net.TCPAddr{IP: net.IPv6unspecified, Port: 7400}
	require.Equal(t, "127.0.0.1:7", reachableAt(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7}, nil), "it was said which")
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			at := net.JoinHostPort(n.IP.String(), "7400")
			require.Equal(t, at, reachableAt(all, []string{"127.0.0.1:9", "no such port", at}), "the way to a peer, which is this one")
			require.NotContains(t, reachableAt(all, nil), "::]")
			return
		}
	}
	require.Equal(t, "[::]:7400", reachableAt(all, []string{"127.0.0.1:9"}), "this machine has no address for others")
}
