package fabric

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// freePort is an address at which nobody listens yet. Until the test ends no other process is given its port, which who
// names it can listen at.
func freePort(t testing.TB) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	require.NoError(t, syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)) // as listeners have it
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// quiet makes a node that is found by nobody and looks for nobody.
func quiet(t testing.TB, cfg Config) *node {
	t.Helper()
	n := newNode(t, cfg)
	n.spawn("accept", n.acceptUnix)
	n.spawn("accept", n.acceptTCP)
	return n
}

func requireAliased(t testing.TB, a, b *node) {
	t.Helper()
	for _, n := range []*node{a, b} {
		n.wait(t, "link", func() bool { return len(n.links) == 1 })
		require.Empty(t, get(n, func() []error { return n.refused }))
	}
	require.True(t, a.to(b).Aliased())
	require.True(t, b.to(a).Aliased())
}

// A node of this host of which another one told, or to which the link was lost, is linked to over shared memory,
// whoever has the larger ID; and so is one whose address was dialled.
func TestDialOfWhoSharesMemory(t *testing.T) {
	for _, dial := range []func(a, b *node){
		func(a, b *node) { a.Dial(b.self) },
		func(a, b *node) { b.Dial(a.self) },
		func(a, b *node) { a.Dial(b.self); b.Dial(a.self) },
		func(a, b *node) { _ = a.dialTCP(b.self.Addr, "", patience) },
		func(a, b *node) { _ = b.dialTCP(a.self.Addr, "", patience) },
	} {
		domain := newDomain()
		a, b := quiet(t, Config{Domain: domain, ID: 100}), quiet(t, Config{Domain: domain, ID: 200})
		dial(a, b)
		requireAliased(t, a, b)
	}
}

// What a node tells of itself is numbered as in its own PID namespace: containers may share the network only.
func TestThreadOfAnotherPIDNamespace(t *testing.T) {
	for _, ids := range [][2]uint64{{100, 200}, {200, 100}} { // who dials
		domain := newDomain()
		a, b := newNode(t, Config{Domain: domain, ID: ids[0]}), newNode(t, Config{Domain: domain, ID: ids[1]})
		a.self.PID++
		a.Start()
		b.Start()
		requireAliased(t, a, b)
		pid := uint32(os.Getpid())
		require.Equal(t, pid, b.to(a).Peer().PID)
		require.Zero(t, b.to(a).Peer().Thread, "it is not the thread of that number here")
		require.Equal(t, pid, a.to(b).Peer().PID)
		require.Equal(t, rdma.Canary(), a.to(b).Peer().Thread)
		a.Close()
		b.Close()
	}
}

// Two nodes of one host that know each other's addresses may greet each other there before they do so at their slots.
func TestAddressesOfWhoShareMemory(t *testing.T) {
	for range 50 {
		domain := newDomain()
		ids := [2]uint64{100, 200}
		if rand.IntN(2) == 0 {
			ids = [2]uint64{200, 100}
		}
		peers := []string{freePort(t), freePort(t)}
		a := newNode(t, Config{Domain: domain, ID: ids[0], Listen: peers[0], Peers: peers})
		a.Start()
		b := newNode(t, Config{Domain: domain, ID: ids[1], Listen: peers[1], Peers: peers})
		b.Start()
		requireAliased(t, a, b)
		a.Close()
		b.Close()
	}
}

// Two hosts have one boot ID. Neither finds the other at its slot, where nobody is, or another, or it itself; both say
// why, once, and nobody waits for a link.
func TestTwoHostsWithOneBootID(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots [2]uint32 // at which each has others before it
		told  bool      // by another; otherwise from the configuration
		ids   [2]uint64
	}{
		{"its own slot", [2]uint32{0, 0}, false, [2]uint64{100, 200}},
		{"its own slot, the larger dials", [2]uint32{0, 0}, false, [2]uint64{200, 100}},
		{"nobody there", [2]uint32{0, 1}, false, [2]uint64{100, 200}},
		{"another there", [2]uint32{2, 0}, false, [2]uint64{200, 100}},
		{"told by another", [2]uint32{1, 0}, true, [2]uint64{100, 200}},
	} {
		t.Run(c.name, func(t *testing.T) {
			domains := [2]uint32{newDomain(), newDomain()}
			links := [2]int{}
			for i, n := range c.slots {
				for range n {
					onSlotsOf(t, Config{Domain: domains[i]}).start(t)
					links[i]++
				}
			}
			a := onSlotsOf(t, Config{Domain: domains[0], ID: c.ids[0], Name: "a"}).start(t)
			cfg := Config{Domain: domains[1], ID: c.ids[1], Name: "b"}
			if !c.told {
				cfg.Peers = []string{a.self.Addr}
			}
			b := onSlotsOf(t, cfg)
			b.self.Host = "the other host"
			b.start(t)
			if c.told {
				b.Dial(a.self)
			}
			for i, n := range []*node{a, b} {
				n.wait(t, "refusal", func() bool { return len(n.refused) > 0 && len(n.links) == links[i] })
				err := get(n, func() error { return n.refused[0] })
				require.ErrorContains(t, err, "the other host")
				require.ErrorContains(t, err, "on "+a.self.Host)
				require.ErrorContains(t, err, "DDS_TRANSPORT=tcp")
			}
			if !c.told { // and again, every redialEvery
				require.NoError(t, b.dialTCP(a.self.Addr, "", patience))
			}
			noDials(t, a, b)
			for _, n := range []*node{a, b} {
				require.Len(t, get(n, func() []error { return n.refused }), 1, "it is told once")
			}
			a.Close()
			b.Close()
		})
	}
}

// noDials returns when neither node dials.
func noDials(t testing.TB, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		require.Eventually(t, func() bool {
			n.Fabric.mu.Lock()
			defer n.Fabric.mu.Unlock()
			return len(n.dialing) == 0
		}, patience, time.Millisecond)
	}
}

// Who has ended is not on another host, be its slot empty or taken by another.
func TestDialOfWhoHasEnded(t *testing.T) {
	domain := newDomain()
	a, b := quiet(t, Config{Domain: domain, ID: 100}), quiet(t, Config{Domain: domain, ID: 200})
	b.Close()
	for range 2 * maxMisses {
		a.Dial(b.self)
		noDials(t, a)
	}
	c := quiet(t, Config{Domain: domain, ID: 300})
	require.Equal(t, b.self.Slot, c.self.Slot)
	for range 2 * maxMisses {
		a.Dial(b.self)
		noDials(t, a)
	}
	require.Empty(t, a.refused)
	requireAliased(t, a, c)
}

func TestVerdictOnWhoSharesMemory(t *testing.T) {
	n := quiet(t, Config{Domain: newDomain(), ID: 200})
	overTCP := from{"10.0.0.1", "10.0.0.2"}
	p := rdma.PeerInfo{ID: 100, Domain: n.self.Domain, ShmDomain: n.self.ShmDomain}
	require.Equal(t, byte(useSlot), n.judge(p, overTCP))
	require.Equal(t, byte(accept), n.judge(p, nil))
	p = rdma.PeerInfo{ID: 101, Domain: n.self.Domain, ShmDomain: n.self.ShmDomain + 1}
	require.Equal(t, byte(useTCP), n.judge(p, nil))
	require.Equal(t, byte(accept), n.judge(p, overTCP))
	p.Domain++
	require.Equal(t, byte(stranger), n.judge(p, overTCP))
	n.dropReserved(100)
	n.dropReserved(101)
}

// Processes that stand still answer nobody. Who finds somebody else does not wait for them.
func TestSlotsOfWhoStandsStill(t *testing.T) {
	domain := newDomain()
	a := newNode(t, Config{Domain: domain, ID: 100})
	for slot := 1; slot < 7; slot++ {
		l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: a.slotName(slot), Net: "unixpacket"}) // and accepts nothing
		require.NoError(t, err)
		defer l.Close()
	}
	a.greetTimeout = 100 * time.Millisecond // it finds nobody else
	a.start(t)
	b := newNode(t, Config{Domain: domain, ID: 200})
	b.greetTimeout = patience / 4
	begin := time.Now()
	b.start(t)
	require.Less(t, time.Since(begin), b.greetTimeout, "six after each other would take six times as long")
	requireAliased(t, a, b)
}
