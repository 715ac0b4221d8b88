package mem

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

var _ rdma.Fabric = (*Fabric)(nil)

// node notes its events. Where the test has one goroutine they come on it, at once.
type node struct {
	*Fabric
	mu     sync.Mutex
	events []string
	links  map[uint64]rdma.Link
	opened map[rdma.Key]*rdma.Region
}

func (n *node) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, fmt.Sprintf(format, args...))
}

func (n *node) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.events
	n.events = nil
	return e
}

func (n *node) LinkUp(l rdma.Link) {
	n.note("up %s", l.Peer().Name)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[l.Peer().ID] = l
}
func (n *node) LinkDown(l rdma.Link, died bool, err error) {
	n.note("down %s died=%v: %v", l.Peer().Name, died, err)
}
func (n *node) Message(l rdma.Link, b []byte)      { n.note("%s says %s", l.Peer().Name, b) }
func (n *node) Scanned()                           { n.note("scanned") }
func (n *node) Dying(rdma.Link)                    {}
func (n *node) Resumed(rdma.Link)                  {}
func (n *node) Refused(p rdma.PeerInfo, err error) { n.note("refused %s: %v", p.Name, err) }
func (n *node) Opened(_ rdma.Link, k rdma.Key, r *rdma.Region, err error) {
	n.note("opened %s: %v", k, err)
	n.opened[k] = r
}

func attach(net *Network, id uint64, fingerprint string) *node {
	n := &node{links: map[uint64]rdma.Link{}, opened: map[rdma.Key]*rdma.Region{}}
	n.Fabric = net.Attach(rdma.PeerInfo{ID: id, Name: fmt.Sprint(id), Fingerprint: fingerprint}, rdma.NewBell(new(rdma.BellWords)), n)
	return n
}

func TestLifeOfALink(t *testing.T) {
	var net Network
	a, b, c := attach(&net, 1, "x"), attach(&net, 2, "x"), attach(&net, 3, "x")
	a.Start()
	require.Equal(t, []string{"scanned"}, a.take())
	b.Start()
	require.Equal(t, []string{"up 2"}, a.take())
	require.Equal(t, []string{"up 1", "scanned"}, b.take())
	require.Equal(t, uint64(2), a.links[2].Peer().ID)
	require.True(t, a.links[2].Aliased())

	msg := []byte("hi")
	a.links[2].Send(msg)
	msg[0] = '?' // the sender's again
	require.Equal(t, []string{"1 says hi"}, b.take())

	c.Start()
	a.take()
	b.take()
	require.NoError(t, b.Close())
	require.Equal(t, []string{"down 2 died=false: mem: 2 has closed"}, a.take())
	require.NoError(t, b.Close(), "twice")
	require.Empty(t, a.take())
	a.links[2].Send(nil)
	a.links[2].Open(rdma.Key{}, rdma.Shape{Cells: 1})
	b.links[1].Send(nil)
	a.links[2].Ring()
	require.Empty(t, b.take(), "nothing reaches who has closed")

	c.Kill()
	require.Equal(t, []string{"down 3 died=true: mem: 3 was killed"}, a.take())
}

func TestRefused(t *testing.T) {
	var net Network
	a, b := attach(&net, 1, "old"), attach(&net, 2, "new")
	a.Start()
	a.take()
	b.Start()
	require.Equal(t, []string{`refused 2: mem: 2 runs with "new", this node with "old"`}, a.take())
	require.Equal(t, []string{`refused 1: mem: 1 runs with "old", this node with "new"`, "scanned"}, b.take())
	require.NoError(t, b.Close())
	require.Empty(t, a.take(), "there was no link")
}

func TestRegions(t *testing.T) {
	var net Network
	a, b := attach(&net, 1, ""), attach(&net, 2, "")
	a.Start()
	b.Start()
	l := a.links[2]
	a.take()
	k1, k2, k3 := rdma.Key{Epoch: 1}, rdma.Key{Epoch: 2}, rdma.Key{Epoch: 3}
	shape := rdma.Shape{Cells: 4, Ring: 4096}

	own, err := b.Register(k1, shape)
	require.NoError(t, err)
	l.Open(k1, shape)
	require.Equal(t, []string{"opened subgroup 0 epoch 1: <nil>"}, a.take())
	require.Same(t, own, a.opened[k1], "the owner's memory itself")

	l.Open(k2, rdma.Shape{Cells: 4}) // cells only, before it is registered
	l.Open(k3, shape)
	l.Release(k3)
	require.Empty(t, a.take())
	for _, k := range []rdma.Key{k2, k3} {
		_, err = b.Register(k, shape)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"opened subgroup 0 epoch 2: <nil>"}, a.take(), "what was released is not answered")

	l.Open(k3, rdma.Shape{Cells: 5})
	require.Equal(t, []string{"opened subgroup 0 epoch 3: mem: 2: subgroup 0 epoch 3: shape {Cells:5 Ring:0} asked for, {Cells:4 Ring:4096} registered"}, a.take())
	require.Nil(t, a.opened[k3])

	_, err = b.Register(k1, shape)
	require.ErrorContains(t, err, "registered already")
	_, err = b.Register(rdma.Key{Epoch: 9}, rdma.Shape{})
	require.Error(t, err)
	b.Deregister(k1)
	_, err = b.Register(k1, shape)
	require.NoError(t, err)
}

// echo answers every message from within the event, and checks that a link is up when it is used.
type echo struct {
	mu    sync.Mutex
	up    map[rdma.Link]bool
	wrong error
	heard int
}

func (e *echo) LinkUp(l rdma.Link) {
	e.mu.Lock()
	e.up[l] = true
	e.mu.Unlock()
	l.Send([]byte{3})
}

func (e *echo) LinkDown(l rdma.Link, _ bool, _ error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.up[l] {
		e.wrong = errors.New("down before up")
	}
	delete(e.up, l)
}

func (e *echo) Message(l rdma.Link, b []byte) {
	e.mu.Lock()
	if !e.up[l] {
		e.wrong = errors.New("message before up or after down")
	}
	e.heard++
	e.mu.Unlock()
	if b[0] > 0 {
		l.Send([]byte{b[0] - 1})
	}
}
func (e *echo) Opened(rdma.Link, rdma.Key, *rdma.Region, error) {}
func (e *echo) Scanned()                                        {}
func (e *echo) Refused(rdma.PeerInfo, error)                    {}
func (e *echo) Dying(rdma.Link)                                 {}
func (e *echo) Resumed(rdma.Link)                               {}

// Nodes start and end at the same time, and answer from within events: a link is up before it is
// used, goes down after it came up, and nothing deadlocks.
func TestEventsInOrder(t *testing.T) {
	for range 50 {
		var net Network
		var wg sync.WaitGroup
		var all []*echo
		for id := range uint64(6) {
			e := &echo{up: map[rdma.Link]bool{}}
			all = append(all, e)
			f := net.Attach(rdma.PeerInfo{ID: id + 1}, rdma.NewBell(new(rdma.BellWords)), e)
			wg.Go(func() {
				f.Start()
				if id%2 == 0 {
					f.Kill()
				}
			})
		}
		wg.Wait()
		for _, e := range all {
			require.NoError(t, e.wrong)
		}
	}
}

func TestDropAndDialAgain(t *testing.T) {
	var net Network
	a, b := attach(&net, 1, "x"), attach(&net, 2, "x")
	a.Start()
	b.Start()
	a.take()
	b.take()
	old := a.links[2]
	old.Drop(errors.New("silent"))
	require.Equal(t, []string{"down 2 died=false: silent"}, a.take())
	require.Equal(t, []string{"down 1 died=false: mem: 1 has given up the link"}, b.take())
	old.Drop(errors.New("again"))
	old.Send([]byte("lost"))
	require.Empty(t, a.take())
	require.Empty(t, b.take())

	a.Dial(b.Self())
	a.Dial(b.Self())
	require.Equal(t, []string{"up 2"}, a.take())
	require.Equal(t, []string{"up 1"}, b.take())
	require.NotSame(t, old, a.links[2])
	a.links[2].Send([]byte("hi"))
	require.Equal(t, []string{"1 says hi"}, b.take())
}
