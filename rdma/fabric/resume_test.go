package fabric

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/tcp"
)

// proxy stands for the network between two hosts.
type proxy struct {
	ln     net.Listener
	target string

	mu     sync.Mutex
	conns  []net.Conn
	silent bool // takes connections and lets nothing through
	count  int
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	p := &proxy{target: target}
	p.listen(t, freePort(t))
	t.Cleanup(func() { p.ln.Close(); p.cut() })
	return p
}

func (p *proxy) listen(t testing.TB, addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	p.ln = ln
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.join(c)
		}
	}()
}

func (p *proxy) join(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.conns = append(p.conns, c)
	if p.silent {
		return
	}
	d, err := net.Dial("tcp", p.target)
	if err != nil {
		c.Close()
		return
	}
	p.conns = append(p.conns, d)
	for _, way := range [][2]net.Conn{{c, d}, {d, c}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].(*net.TCPConn).CloseWrite()
		}()
	}
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	p.conns = nil
}

// dialled is how many connections came.
func (p *proxy) dialled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *proxy) setSilent(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
}

// apart are two nodes on what looks like two hosts; a makes the connections, through the proxy.
func apart(t testing.TB) (a, b *node, p *proxy) {
	t.Helper()
	b = elsewhere(t, Config{ID: 200, Name: "b"}).start(t)
	p = newProxy(t, b.self.Addr)
	a = elsewhere(t, Config{ID: 100, Name: "a", Peers: []string{p.ln.Addr().String()}}).start(t)
	a.wait(t, "link", func() bool { return a.ups[200] == 1 })
	b.wait(t, "link", func() bool { return b.ups[100] == 1 })
	return a, b, p
}

func TestBreaksAreNoFailures(t *testing.T) {
	a, b, p := apart(t)
	key, shape := rdma.Key{Subgroup: 1, Epoch: 2}, rdma.Shape{Cells: 24, Ring: 4096}
	own, err := b.Register(key, shape)
	require.NoError(t, err)
	toA, toB := b.to(a), a.to(b)
	toB.Open(key, shape)
	a.wait(t, "region", func() bool { return a.opened[key] != nil })
	r := get(a, func() *rdma.Region { return a.opened[key] })
	var want []string
	for i := range 100 {
		p.cut()
		want = append(want, strconv.Itoa(i))
		toA.Send([]byte(want[i]))
		toB.Send([]byte(want[i]))
		own.Ring()[i] = byte(i)
		own.Cell(7).Store(uint64(i + 1))
		own.Cell(rdma.TailCell).Store(uint64(i + 1))
		toA.Post(key)
		if i%2 == 0 { // or the next cut comes before the resumption is over
			a.wait(t, "message", func() bool { return len(a.messages) == i+1 })
		}
	}
	for _, n := range []*node{a, b} {
		n.wait(t, "messages", func() bool { return len(n.messages) == len(want) })
		require.Equal(t, want, get(n, func() []string { return n.messages }))
		require.Zero(t, get(n, func() int { return n.downs }))
	}
	sleeper := bell().Bell().Poller()
	for end := time.Now().Add(patience); r.Cell(7).Load() != 100; sleeper.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end))
		sleeper.Prepare()
	}
	require.Equal(t, uint64(100), r.Cell(rdma.TailCell).Load())
	require.Equal(t, own.Ring()[:100], r.Ring()[:100])
	require.Greater(t, p.dialled(), 50)
	a.Close()
	b.wait(t, "down", func() bool { return b.downs == 1 })
	b.Close()
	noGoroutines(t)
}

// A peer that does not answer is waited for, until it is given up; then a new link may come.
func TestSilenceAndDrop(t *testing.T) {
	a, b, p := apart(t)
	p.setSilent(true)
	p.cut()
	a.to(b).Send([]byte("late"))
	before := p.dialled()
	for end := time.Now().Add(patience); p.dialled() < before+3; p.cut() { // ends the attempt that is under way
		require.True(t, time.Now().Before(end), "it dials again")
	}
	require.Zero(t, get(a, func() int { return a.downs }))
	require.Zero(t, get(b, func() int { return b.downs }))
	p.setSilent(false)
	p.cut()
	b.wait(t, "message", func() bool { return len(b.messages) == 1 })

	// Given up at the end that makes the connections, or at the other one; the address is configured,
	// so it is dialled again.
	for round, n := range []*node{a, b} {
		peer := map[*node]*node{a: b, b: a}[n]
		l := n.to(peer).(*tcp.Link)
		l.Drop(errors.New("silent for too long"))
		for _, n := range []*node{a, b} {
			n.wait(t, "down", func() bool { return n.downs == round+1 })
		}
		a.wait(t, "a new link", func() bool { return a.ups[200] == round+2 })
		b.wait(t, "a new link", func() bool { return b.ups[100] == round+2 })
	}
	b.to(a).Send([]byte("again"))
	a.wait(t, "message", func() bool { return len(a.messages) == 1 })
}

// Whoever answers at the address of a peer is not the peer, once that has started anew.
func TestAnotherNodeAnswers(t *testing.T) {
	a, b, p := apart(t)
	p.setSilent(true)
	p.cut()
	p.mu.Lock()
	p.target = elsewhere(t, Config{ID: 201, Name: "c"}).start(t).self.Addr
	p.silent = false
	p.mu.Unlock()
	p.cut()
	a.wait(t, "down", func() bool { return a.downs == 1 })
	a.wait(t, "the other one", func() bool { return a.ups[201] == 1 })
	b.wait(t, "down", func() bool { return b.downs == 1 }) // it asked a, who has given up
}

func TestResumptionsThatAreNone(t *testing.T) {
	a, b, _ := apart(t)
	session := b.to(a).(*tcp.Link).Session()
	for _, c := range []struct {
		name string
		r    resumption
		want byte
	}{
		{"another session", resumption{session + 1, 100, 200, 1}, gone},
		{"another peer", resumption{session, 101, 200, 1}, gone},
		{"another node", resumption{session, 100, 201, 1}, gone},
		{"overtaken", resumption{session, 100, 200, 0}, duplicate},
	} {
		v, _ := b.judgeResume(c.r)
		require.Equal(t, c.want, v, c.name)
	}
	v, _ := a.judgeResume(resumption{session, 200, 100, 0})
	require.Equal(t, byte(callBack), v)
	for n := range resumptionBytes {
		_, ok := parseResume(resumption{}.append(nil)[:n])
		require.False(t, ok)
	}
}

const envChild = "DDS_FABRIC_CHILD" // domain and ID of a node in a process of its own

func TestMain(m *testing.M) {
	if c := os.Getenv(envChild); c != "" {
		child(c)
		return
	}
	os.Exit(m.Run())
}

// child is linked to whoever it finds, until its input ends.
func child(c string) {
	var cfg Config
	if _, err := fmt.Sscan(c, &cfg.Domain, &cfg.ID, &cfg.TCP); err != nil {
		panic(err)
	}
	n := &node{
		changed: make(chan struct{}), links: map[uint64]rdma.Link{}, ups: map[uint64]int{}, known: map[uint64]bool{},
		opened: map[rdma.Key]*rdma.Region{},
	}
	f, err := New(cfg, bell(), n)
	if err != nil {
		panic(err)
	}
	n.Fabric = f
	f.Start()
	_, _ = io.Copy(io.Discard, os.Stdin)
	f.Close()
}

func startChild(t testing.TB, domain uint32, id uint64, tcp bool) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %v", envChild, domain, id, tcp))
	var said strings.Builder
	cmd.Stderr = &said
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return cmd
}

// What forwards the connections of two nodes is started anew. Both live, and when it is back their link goes on where it was.
func TestForwarderStartsAnew(t *testing.T) {
	a, b, p := apart(t)
	p.ln.Close()
	p.cut()
	a.wait(t, "refused", func() bool { return a.dying == 1 })
	b.to(a).Send([]byte("late"))
	p.listen(t, p.ln.Addr().String())
	a.wait(t, "resumed", func() bool { return a.resumed == 1 })
	a.wait(t, "message", func() bool { return slices.Equal(a.messages, []string{"late"}) })
	for _, n := range []*node{a, b} {
		require.Zero(t, get(n, func() int { return n.downs }))
	}
}

// A process whose link has ended dies: the link tells.
func TestDeathBehindTheLink(t *testing.T) {
	const id = 1 << 33
	n := start(t, Config{Domain: newDomain(), ID: 1 << 32})
	peer := startChild(t, n.cfg.Domain, id, false)
	n.wait(t, "link", func() bool { return n.links[id] != nil })
	l := get(n, func() rdma.Link { return n.links[id] })
	l.Drop(errors.New("its row can not be mapped"))
	n.wait(t, "end of the link", func() bool { return n.downs == 1 })
	require.False(t, l.Died(), "it lives")
	require.NoError(t, peer.Process.Kill())
	_ = peer.Wait()
	require.True(t, l.Died())
}

// A process that is killed is taken for dying at once: its connections end, and then its address refuses.
func TestKilledPeer(t *testing.T) {
	const atOnce = 20 * time.Millisecond
	// What else the machine does only makes it later: it is tried until it was at once.
	best := time.Hour
	ids := []uint64{1, 1 << 62, 2, 1 << 63} // it makes the connection, or this node does
	for try := 0; try < len(ids) || best >= atOnce && try < 100; try++ {
		id := ids[try%len(ids)]
		n := start(t, Config{Domain: newDomain(), ID: 1 << 32, TCP: true})
		cmd := startChild(t, n.cfg.Domain, id, true)
		n.wait(t, "link", func() bool { return n.ups[id] == 1 })
		begin := time.Now()
		require.NoError(t, cmd.Process.Kill())
		n.wait(t, "dying", func() bool { return n.dying == 1 })
		took := time.Since(begin)
		t.Logf("refused after %v", took)
		best = min(best, took)
		n.Close()
	}
	require.Less(t, best, atOnce)
}

// A link over shared memory that ends by an error, while both processes live, is made again.
func TestLostLinkIsMadeAgain(t *testing.T) {
	domain := newDomain()
	a, b := start(t, Config{Domain: domain, Name: "a"}), start(t, Config{Domain: domain, Name: "b"})
	a.wait(t, "link", func() bool { return len(a.links) == 1 })
	a.to(b).Send(make([]byte, rdma.MaxMessage+100)) // more than the peer takes
	for _, n := range []*node{a, b} {
		peer := map[*node]*node{a: b, b: a}[n].self.ID
		n.wait(t, "a new link", func() bool { return n.downs == 1 && n.ups[peer] == 2 && len(n.links) == 1 })
	}
	a.to(b).Send([]byte("hi"))
	b.wait(t, "message", func() bool { return len(b.messages) == 1 })

	b.to(a).Drop(errors.New("given up")) // that was not lost: nobody makes it again
	a.wait(t, "down", func() bool { return a.downs == 2 })
	b.wait(t, "down", func() bool { return b.downs == 2 })
	a.Dial(b.self) // but who asks for it gets one
	a.wait(t, "a new link", func() bool { return a.ups[b.self.ID] == 3 })
}

// A scan waits for a peer that said that it would dial, but not for one that went away instead.
func TestScanDoesNotWaitForWhoHasGone(t *testing.T) {
	domain := newDomain()
	n := newNode(t, Config{Domain: domain, ID: 1 << 63})
	slot, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: n.slotName(1), Net: "unixpacket"})
	require.NoError(t, err)
	go func() {
		defer slot.Close()
		c, err := slot.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Read(make([]byte, 8<<10))
		peer := n.self
		peer.ID = 5
		_, _ = c.Write(rdma.AppendHello([]byte{callBack}, peer))
	}()
	begin := time.Now()
	n.Start()
	n.wait(t, "scanned", func() bool { return n.scanned == 1 })
	require.Less(t, time.Since(begin), patience/2)
	require.Empty(t, n.expected)
}
