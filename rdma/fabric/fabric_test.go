package fabric

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// domains are drawn so that test processes that run at the same time do not meet.
var domains atomic.Uint32

func init() { domains.Store(1_000_000 + rand.Uint32N(1_000_000_000)) }

func newDomain() uint32 { return domains.Add(1) }

// node notes what its fabric reports.
type node struct {
	*Fabric
	mu       sync.Mutex
	changed  chan struct{} // closed at every event, replaced
	links    map[uint64]rdma.Link
	ups      map[uint64]int
	downs    int
	dying    int
	resumed  int
	known    map[uint64]bool // peers known when Scanned came
	scanned  int
	refused  []error
	messages []string
	opened   map[rdma.Key]*rdma.Region
	openErr  error
	inLinkUp func(rdma.Link) // set before Start
}

func (n *node) note(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *node) LinkUp(l rdma.Link) {
	n.note(func() { n.links[l.Peer().ID] = l; n.ups[l.Peer().ID]++ })
	if n.inLinkUp != nil {
		n.inLinkUp(l)
	}
}

func (n *node) LinkDown(l rdma.Link, _ bool, _ error) {
	n.note(func() { delete(n.links, l.Peer().ID); n.downs++ })
}
func (n *node) Message(_ rdma.Link, b []byte) {
	n.note(func() { n.messages = append(n.messages, string(b)) })
}
func (n *node) Opened(_ rdma.Link, k rdma.Key, r *rdma.Region, err error) {
	n.note(func() { n.opened[k] = r; n.openErr = err })
}
func (n *node) Dying(rdma.Link)   { n.note(func() { n.dying++ }) }
func (n *node) Resumed(rdma.Link) { n.note(func() { n.resumed++ }) }
func (n *node) Refused(_ rdma.PeerInfo, err error) {
	n.note(func() { n.refused = append(n.refused, err) })
}
func (n *node) Scanned() {
	n.note(func() {
		n.scanned++
		for id := range n.links {
			n.known[id] = true
		}
	})
}

// patience bounds what a test waits for; nothing waits that long unless it fails. A greeting may take as long.
const patience = time.Minute

// wait waits until cond, called under the lock, holds.
func (n *node) wait(t testing.TB, what string, cond func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		n.mu.Lock()
		ok, changed := cond(), n.changed
		n.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%s: never: %s", n.self.Name, what)
		}
	}
}

// get reads what note writes.
func get[T any](n *node, f func() T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return f()
}

// to is the link to a peer.
func (n *node) to(peer *node) rdma.Link {
	return get(n, func() rdma.Link { return n.links[peer.self.ID] })
}

var bell = sync.OnceValue(func() *shm.BellMemory {
	b, err := shm.NewBell()
	if err != nil {
		panic(err)
	}
	return b
})

func newNode(t testing.TB, cfg Config) *node {
	t.Helper()
	n := &node{
		changed: make(chan struct{}), links: map[uint64]rdma.Link{}, ups: map[uint64]int{}, known: map[uint64]bool{},
		opened: map[rdma.Key]*rdma.Region{},
	}
	if cfg.ID == 0 {
		cfg.ID = rand.Uint64() | 1
	}
	f, err := New(cfg, bell(), n)
	require.NoError(t, err)
	f.greetTimeout, f.firstDialTime = patience, patience
	n.Fabric = f
	t.Cleanup(func() { f.Close() })
	return n
}

func start(t testing.TB, cfg Config) *node {
	t.Helper()
	return newNode(t, cfg).start(t)
}

func (n *node) start(t testing.TB) *node {
	t.Helper()
	n.Start()
	n.wait(t, "scanned", func() bool { return n.scanned > 0 })
	return n
}

// onSlotsOf makes a node of the domain 0 whose slots are those of another, at which others that are to be on another host do not
// look.
func onSlotsOf(t testing.TB, cfg Config) *node {
	t.Helper()
	n := newNode(t, cfg)
	n.self.Domain = 0
	return n
}

// elsewhere makes a node that is on a host of its own, for all that the others know: with slots and a boot ID of its own.
func elsewhere(t testing.TB, cfg Config) *node {
	t.Helper()
	cfg.Domain = newDomain()
	n := onSlotsOf(t, cfg)
	n.self.ShmDomain = rand.Uint64() | 1
	return n
}

// Who has the address of a node of another domain is not linked to it, and neither says that the other's configuration differs.
func TestAddressOfAnotherDomain(t *testing.T) {
	for _, ids := range [][2]uint64{{100, 200}, {200, 100}} {
		a := elsewhere(t, Config{ID: ids[0]})
		a.self.Domain = 7
		a.start(t)
		b := elsewhere(t, Config{ID: ids[1], Fingerprint: "another", Peers: []string{a.self.Addr}}).start(t)
		require.False(t, b.linkedTo(a.self.Addr))
		require.Empty(t, get(b, func() []error { return b.refused }))
		require.Empty(t, get(a, func() []error { return a.refused }))
		require.Zero(t, get(b, func() int { return len(b.links) }))
	}
}

// Nodes that start at the same moment end with one link per pair; of any two, one has the link when
// it reports Scanned (the one that reports later, at least); and none reports a link twice.
func TestStartTogether(t *testing.T) {
	for _, c := range []struct {
		name   string
		tcp    func(i int) bool
		rounds int
	}{
		{"shm", func(int) bool { return false }, 10},
		{"tcp", func(int) bool { return true }, 5},
		{"mixed", func(i int) bool { return i%3 == 0 }, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			for round := range c.rounds {
				const n = 12
				domain := newDomain()
				var order atomic.Int64
				nodes := make([]*node, n)
				reported := make([]int64, n)
				begin := make(chan struct{})
				var wg sync.WaitGroup
				for i := range nodes {
					wg.Go(func() {
						<-begin
						nodes[i] = newNode(t, Config{Domain: domain, Name: fmt.Sprint("n", i), TCP: c.tcp(i)})
						nodes[i].Start()
						nodes[i].wait(t, "scanned", func() bool { return nodes[i].scanned > 0 })
						reported[i] = order.Add(1)
					})
				}
				close(begin)
				wg.Wait()
				for i, a := range nodes {
					a.wait(t, "all links", func() bool { return len(a.links) == n-1 })
					for j, b := range nodes[:i] {
						a.mu.Lock()
						ab, ups := a.known[b.self.ID], a.ups[b.self.ID]
						_, aliased := a.links[b.self.ID].(*shm.Link)
						a.mu.Unlock()
						b.mu.Lock()
						ba := b.known[a.self.ID]
						b.mu.Unlock()
						require.True(t, ab || ba, "round %d: %d and %d both reported Scanned without the other", round, i, j)
						require.Equal(t, 1, ups, "round %d: links of %d and %d", round, i, j)
						require.Equal(t, !c.tcp(i) && !c.tcp(j), aliased)
					}
				}
				for _, a := range nodes {
					wg.Go(func() { a.Close() })
				}
				wg.Wait()
				for _, a := range nodes {
					require.Equal(t, n-1, a.downs, "every link went down once")
					require.Equal(t, 1, a.scanned)
					require.Empty(t, a.refused)
				}
			}
			noGoroutines(t)
		})
	}
}

// noGoroutines checks that Close leaves none. What has told that it is done may take a moment to go.
func noGoroutines(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(patience); len(goroutines(t)) > 0; runtime.Gosched() {
		require.True(t, time.Now().Before(end), "left: %v", goroutines(t))
	}
}

// While a link is being reported up, a scan that meets its peer waits for the end of that report:
// Scanned comes after LinkUp.
func TestScanWaitsForALinkThatIsBeingReported(t *testing.T) {
	domain := newDomain()
	a := start(t, Config{Domain: domain})
	b := newNode(t, Config{Domain: domain})
	var waits bool
	b.inLinkUp = func(l rdma.Link) {
		b.expect(l.Peer().ID, func() error { return nil })
		b.Fabric.mu.Lock()
		defer b.Fabric.mu.Unlock()
		waits = b.expected[l.Peer().ID] != nil
	}
	b.Start()
	b.wait(t, "scanned", func() bool { return b.scanned == 1 })
	require.True(t, b.known[a.self.ID])
	b.Close()
	require.True(t, waits)
	require.Empty(t, b.expected, "and it has come")
}

// goroutines lists those that the fabrics of this process run; they are labelled.
func goroutines(t testing.TB) []string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	var found []string
	for _, g := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(g, `"dds":"fabric`) {
			found = append(found, g)
		}
	}
	return found
}

// noGreetings returns when none is under way: who greets waits for the answer.
func noGreetings(t testing.TB) {
	t.Helper()
	greets := func(g string) bool {
		return strings.Contains(g, `"fabric dial"`) || strings.Contains(g, `"fabric greet"`)
	}
	for limit := time.Now().Add(patience); slices.ContainsFunc(goroutines(t), greets); runtime.Gosched() {
		require.True(t, time.Now().Before(limit), "greetings do not end")
	}
}

func TestMessagesAndRegions(t *testing.T) {
	for _, useTCP := range []bool{false, true} {
		t.Run(fmt.Sprint("tcp=", useTCP), func(t *testing.T) {
			domain := newDomain()
			a := start(t, Config{Domain: domain, Name: "a", TCP: useTCP})
			b := start(t, Config{Domain: domain, Name: "b", TCP: useTCP})
			a.wait(t, "link", func() bool { return len(a.links) == 1 })
			b.wait(t, "link", func() bool { return len(b.links) == 1 })
			toB, toA := a.to(b), b.to(a)
			toB.Send([]byte("hello"))
			b.wait(t, "message", func() bool { return len(b.messages) == 1 })
			require.Equal(t, !useTCP, toB.Aliased())

			key, shape := rdma.Key{Subgroup: 1, Epoch: 2}, rdma.Shape{Cells: 24, Ring: 4096}
			toB.Open(key, shape) // before it is registered
			own, err := b.Register(key, shape)
			require.NoError(t, err)
			_, err = b.Register(key, shape)
			require.ErrorContains(t, err, "registered already")
			a.wait(t, "region", func() bool { return a.opened[key] != nil })
			own.Cell(3).Store(33)
			toA.Post(key)
			b.Deregister(key)
			b.Deregister(key)
			toA.Send([]byte("behind"))
			a.wait(t, "message", func() bool { return len(a.messages) == 1 })
			if !useTCP { // aliased: at once; a copy may come behind the message
				require.Equal(t, uint64(33), get(a, func() *rdma.Region { return a.opened[key] }).Cell(3).Load())
			}
			toB.Release(key)

			other := rdma.Key{Subgroup: 7}
			_, err = b.Register(other, shape)
			require.NoError(t, err)
			toB.Open(other, rdma.Shape{Cells: 25})
			a.wait(t, "refusal", func() bool { return a.openErr != nil })
			require.ErrorContains(t, a.openErr, "shape {Cells:25 Ring:0} asked for, {Cells:24 Ring:4096} registered")
			_, err = b.Register(rdma.Key{}, rdma.Shape{})
			require.Error(t, err)
		})
	}
}

// What a peer asked for and never got is forgotten with its link, and bounded before.
func TestWantsAreBoundedAndForgotten(t *testing.T) {
	domain := newDomain()
	a, b := start(t, Config{Domain: domain}), start(t, Config{Domain: domain})
	a.wait(t, "link", func() bool { return len(a.links) == 1 })
	l := a.to(b)
	for i := range uint32(maxWants + 1) {
		l.Open(rdma.Key{Subgroup: i, Epoch: 1}, rdma.Shape{Cells: 1})
	}
	a.wait(t, "refusal", func() bool { return a.openErr != nil })
	require.ErrorContains(t, a.openErr, "waiting already")
	a.Close()
	b.wait(t, "down", func() bool { return len(b.links) == 0 })
	b.Close() // waits for the link to be forgotten
	require.Empty(t, b.wanted)
	require.Empty(t, b.wants)
}

func TestFingerprints(t *testing.T) {
	for _, useTCP := range []bool{false, true} {
		domain := newDomain()
		a := start(t, Config{Domain: domain, Name: "old", Fingerprint: "rings=1", TCP: useTCP})
		b := start(t, Config{Domain: domain, Name: "new", Fingerprint: "rings=2", TCP: useTCP})
		for _, n := range []*node{a, b} {
			n.wait(t, "refusal", func() bool { return len(n.refused) == 1 })
			err := get(n, func() error { return n.refused[0] })
			require.ErrorContains(t, err, `"rings=1"`)
			require.ErrorContains(t, err, `"rings=2"`)
			require.Empty(t, n.links)
		}
		require.ErrorContains(t, a.refused[0], "new")
		require.ErrorContains(t, b.refused[0], "old")
	}
}

// A process of another version of the protocol is told so, and it is told here too.
func TestOtherProtocolVersion(t *testing.T) {
	n := start(t, Config{Domain: newDomain(), Name: "n"})
	hello := rdma.AppendHello(nil, rdma.PeerInfo{ID: 5})
	hello[4] = 77
	for _, network := range []string{"unixpacket", "tcp"} {
		addr := map[string]string{"unixpacket": n.slotName(int(n.self.Slot)), "tcp": n.self.Addr}[network]
		c, err := net.Dial(network, addr)
		require.NoError(t, err)
		var answer []byte
		if network == "tcp" {
			require.NoError(t, writeSized(c, hello))
			answer, err = readSized(c)
		} else {
			_, err = c.Write(hello)
			require.NoError(t, err)
			answer = make([]byte, 8<<10)
			var k int
			k, err = c.Read(answer)
			answer = answer[:k]
		}
		require.NoError(t, err)
		c.Close()
		p, err := verdict(answer)
		require.Error(t, err)
		require.Equal(t, byte(refuse), answer[0])
		require.Equal(t, n.self.ID, p.ID)
	}
	n.wait(t, "refusal", func() bool { return len(n.refused) > 0 })
	require.ErrorContains(t, n.refused[0], fmt.Sprintf("protocol version 77, this process %d", rdma.ProtocolVersion))

	answer := append([]byte{accept}, hello...)
	_, err := verdict(answer)
	require.Equal(t, errRefused{refuse, rdma.PeerInfo{}, 77}, err)
	_, err = verdict(nil)
	require.ErrorIs(t, err, rdma.ErrHello)
}

func TestGarbageAtTheDoor(t *testing.T) {
	n := start(t, Config{Domain: newDomain(), Name: "n"})
	for _, b := range []string{"", "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff", "\x04\x00\x00\x00DDSG", fmt.Sprintf("\x08\x00\x00\x00DDSG%c\x00\x00\x00", rdma.ProtocolVersion)} {
		c, err := net.Dial("tcp", n.self.Addr)
		require.NoError(t, err)
		_, err = c.Write([]byte(b))
		require.NoError(t, err)
		_ = c.(*net.TCPConn).CloseWrite() // an error if it has hung up already
		_, err = c.Read(make([]byte, 1))
		require.Error(t, err, "it hangs up")
		c.Close()
		if b == "" {
			continue
		}
		u, err := net.Dial("unixpacket", n.slotName(int(n.self.Slot)))
		require.NoError(t, err)
		_, err = u.Write([]byte(b))
		require.NoError(t, err)
		_, err = u.Read(make([]byte, 1))
		require.Error(t, err)
		u.Close()
	}
	require.Empty(t, n.ups)
}

// A fabric may be closed before its scan has come to dial.
func TestCloseBeforeTheFirstDial(t *testing.T) {
	n := newNode(t, Config{Domain: newDomain(), Peers: []string{"127.0.0.1:9"}})
	n.cancel()
	scanned := make(chan struct{})
	go func() { defer close(scanned); n.scan() }()
	select {
	case <-scanned:
	case <-time.After(patience):
		t.Fatal("the scan, which Close waits for, waits for a dial that is not made")
	}
}

func TestSlotsAreFreedByClose(t *testing.T) {
	domain := newDomain()
	a := start(t, Config{Domain: domain})
	b := start(t, Config{Domain: domain})
	require.Equal(t, uint32(0), a.self.Slot)
	require.Equal(t, uint32(1), b.self.Slot)
	a.Close()
	require.NoError(t, a.Close())
	require.Equal(t, uint32(0), newNode(t, Config{Domain: domain}).self.Slot, "the slot of the one that closed")
}

func TestAllSlotsTaken(t *testing.T) {
	domain := newDomain()
	first := newNode(t, Config{Domain: domain})
	for slot := 1; slot < Slots; slot++ {
		l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: first.slotName(slot), Net: "unixpacket"})
		require.NoError(t, err)
		defer l.Close()
	}
	_, err := New(Config{Domain: domain, ID: 3}, bell(), first)
	require.ErrorIs(t, err, ErrSlots)
	first.Close() // never started
}

func TestDomainsDoNotMeet(t *testing.T) {
	a, b := start(t, Config{Domain: newDomain()}), start(t, Config{Domain: newDomain()})
	require.Empty(t, a.ups)
	require.Empty(t, b.ups)
}

// Two nodes, as if on two hosts, one of which is told the other's address.
func TestPeersByAddress(t *testing.T) {
	for _, order := range []string{"smaller dials", "larger dials"} {
		t.Run(order, func(t *testing.T) {
			ids := [2]uint64{100, 200}
			if order == "smaller dials" {
				ids = [2]uint64{200, 100}
			}
			_, port, err := net.SplitHostPort(freePort(t))
			require.NoError(t, err)
			a := elsewhere(t, Config{ID: ids[0], Listen: "0.0.0.0:" + port}).start(t)

			b := elsewhere(t, Config{ID: ids[1], Peers: []string{"localhost:" + port, freePort(t)}})
			b.Start()
			b.wait(t, "scanned", func() bool { return b.scanned == 1 })
			require.True(t, get(b, func() bool { return b.known[a.self.ID] }), "linked before Scanned")
			require.False(t, b.to(a).Aliased())
			require.True(t, b.linkedTo("localhost:"+port), "under the name that was configured")
			a.wait(t, "link", func() bool { return a.ups[b.self.ID] == 1 })

			// Its peer goes and comes back at the same address: it is dialled again.
			a.Close()
			b.wait(t, "down", func() bool { return len(b.links) == 0 })
			c := elsewhere(t, Config{ID: 150, Listen: "127.0.0.1:" + port}).start(t)
			b.wait(t, "the new one", func() bool { return b.ups[c.self.ID] == 1 })
			begin := time.Now()
			b.Close()
			require.Less(t, time.Since(begin), patience, "dialling does not delay Close")
		})
	}
}

func TestOwnAddressAmongPeers(t *testing.T) {
	n := newNode(t, Config{Domain: newDomain()})
	_, port, err := net.SplitHostPort(n.self.Addr)
	require.NoError(t, err)
	n.cfg.Peers = []string{n.self.Addr, "localhost:" + port}
	n.Start()
	n.wait(t, "scanned", func() bool { return n.scanned == 1 })
	require.True(t, n.linkedTo("localhost:"+port), "it knows itself again")
	require.Empty(t, n.ups)
}

// Close comes while peers greet: none of the greetings hangs, leaks or crashes it.
func TestCloseDuringGreetings(t *testing.T) {
	for range 20 {
		domain := newDomain()
		var wg sync.WaitGroup
		for i := range 6 {
			n := newNode(t, Config{Domain: domain, TCP: i%2 == 0})
			n.Start()
			wg.Go(func() { n.Close() })
		}
		// One that connects and says nothing.
		n := newNode(t, Config{Domain: domain})
		c, err := net.Dial("unixpacket", n.slotName(int(n.self.Slot)))
		require.NoError(t, err)
		n.Start()
		begin := time.Now()
		n.Close()
		require.Less(t, time.Since(begin), patience)
		c.Close()
		wg.Wait()
	}
	noGoroutines(t)
}

func TestDialToldByAnother(t *testing.T) {
	a := elsewhere(t, Config{ID: 10}).start(t)
	b := elsewhere(t, Config{ID: 20}).start(t)
	for range 5 {
		b.Dial(a.self) // the larger: it is called back
		a.Dial(b.self)
	}
	a.wait(t, "link", func() bool { return a.ups[20] == 1 })
	b.wait(t, "link", func() bool { return b.ups[10] == 1 })
	noGreetings(t) // one that was sent before the end of a, and read behind it, would make another link, for a moment
	a.Close()
	b.wait(t, "down", func() bool { return len(b.links) == 0 })
	b.Dial(a.self) // nobody there
	b.Close()
	b.Dial(a.self) // closed: nothing
	require.Equal(t, 1, b.ups[10])
}
