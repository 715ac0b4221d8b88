package derecho

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
)

// waits takes down what a machine tells of its wait.
type waits struct {
	shell
	told []error
}

func (w *waits) isWaiting(err error) { w.told = append(w.told, err) }

// What is told of a member that lets nobody in holds no longer when it does, or is gone.
func TestWaitIsOver(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := &waits{}
		m := &machine{shell: w, phase: joining, entry: entry{sponsor: 1, barred: "it hears nobody"}, statuses: map[NodeID]status{1: {joined: true, cutOff: "it hears nobody"}}, links: map[NodeID]rdma.Link{}}
		m.tellWait()
		require.Empty(t, w.told, "that was told already")
		if gone {
			delete(m.statuses, 1)
			m.phase = alone
		} else {
			m.statuses[1] = status{joined: true}
		}
		m.tellWait()
		m.tellWait()
		require.Equal(t, []error{nil}, w.told)
		m.phase = joined
		m.barred = "of before"
		m.tellWait()
		require.Len(t, w.told, 1, "who has joined waits for nobody")
	}
}

// exclusions takes down that a machine was excluded.
type exclusions struct {
	shell
	told []error
}

func (e *exclusions) isExcluded(err error)  { e.told = append(e.told, err) }
func (e *exclusions) wasExcluded(err error) {}

// A group goes on without this node. It may be one that this node has asked to let it in, and has turned away from
// since: that is no matter of the group that it is in, or asks now.
func TestRemovedByAnotherGroup(t *testing.T) {
	const ours, theirs = 7, 8
	for _, c := range []struct {
		name    string
		phase   phase
		by      uint64
		removed bool
	}{
		{"a member, by its group", joined, ours, true},
		{"a member, by another", joined, theirs, false},
		{"who leaves, by its group", leaving, ours, true},
		{"who leaves, by another", leaving, theirs, false},
		{"who asks, by the group that it asks", joining, ours, true},
		{"who asks, by another", joining, theirs, false},
		{"who has asked, and asks nobody now", alone, theirs, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			by := newMachine(&Config{}, 3, newRecorder(), nil)
			by.view.group = c.by
			e := &exclusions{}
			m := newMachine(&Config{}, 1, newRecorder(), e)
			if m.phase = c.phase; c.phase >= joined {
				m.view = view{group: ours, members: []rdma.PeerInfo{{ID: 1}, {ID: 2}}}
			}
			m.sponsor, m.statuses[2] = 2, status{joined: true, group: ours}
			l := &plainLink{peer: rdma.PeerInfo{ID: 3}}
			m.links[3] = l
			m.message(l, append([]byte{msgRemoved, 0}, by.removal()...))
			require.NoError(t, l.dropped)
			require.Equal(t, c.removed, len(e.told) == 1)
			require.Equal(t, c.removed, m.phase == excluded)
		})
	}
}

// Who gave up joining may try again, with the same layer above, which was told nothing.
func TestJoinAgain(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		r := newRecorder()
		for range 3 {
			n, err := Join(ended, c.cfg, r)
			if err == nil { // it was let in before anybody looked at ctx
				require.NoError(t, n.Leave(ctxFor(t)))
				return
			}
			require.ErrorIs(t, err, ErrTimeout)
			r.note(func() {
				require.NoError(t, r.failed)
				require.NoError(t, r.isolated)
				require.Empty(t, r.endpoints)
			})
		}
		n, err := Join(ctxFor(t), c.cfg, r)
		require.NoError(t, err)
		other, _ := c.join()
		other.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{ordered}})
		r.wait(t, "the endpoint of another", func() bool { return len(r.endpoints) == 1 })
		require.NoError(t, n.Leave(ctxFor(t)))
	})
}

// A node learns that it was excluded while it leaves. Whichever comes first, no incarnation is left behind that nobody ends.
func TestLeaveWhileExcluded(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		left := thePoller.lives.Load()
		for _, rejoins := range []func(n *Node, l *life){
			func(n *Node, l *life) { // when it has left
				require.NoError(t, n.Leave(ctxFor(t)))
				n.rejoin(l)
			},
			func(n *Node, l *life) { // whenever it comes to it
				l.post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
				<-l.over
				require.NoError(t, n.Leave(ctxFor(t)))
			},
		} {
			for range 20 {
				n, err := Join(ctxFor(t), c.cfg, newRecorder())
				require.NoError(t, err)
				rejoins(n, n.life.Load())
				n.endpointsMu <- struct{}{} // behind a rejoin that waits for it
				n.unlockEndpoints()
				require.Equal(t, left, thePoller.lives.Load(), "somebody is still driven")
			}
		}
	})
}

// What is withdrawn while a node is to join again, and can not, is withdrawn at once: the group went on without it. It
// is not announced again.
func TestRemoveWhileExcluded(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		_, told := c.join()
		c.join() // the two are a majority
		var barred atomic.Bool
		cfg, make := c.cfg, c.cfg.fabric
		if make == nil {
			make = realFabric
		}
		cfg.fabric = func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
			if barred.Load() {
				return nil, errors.New("no network")
			}
			return make(cfg, id, bell, ev)
		}
		n, err := Join(ctxFor(t), cfg, newRecorder())
		require.NoError(t, err)
		for id := EndpointID(1); id <= 3; id++ {
			require.NoError(t, n.AddEndpoint(ctxFor(t), Endpoint{ID: id, Channel: 7, Writes: ordered}))
		}
		l := n.life.Load()
		barred.Store(true)
		l.post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
		<-l.over
		for id := EndpointID(1); id <= 2; id++ {
			require.NoError(t, n.RemoveEndpoint(ctxFor(t), id))
		}
		told.note(func() { told.endpoints = nil })
		barred.Store(false)
		require.NoError(t, n.AddEndpoint(ctxFor(t), Endpoint{ID: 4, Channel: 7, Writes: ordered}))
		told.wait(t, "the endpoints that are left", func() bool { return slices.Contains(told.endpoints, "+"+n.ID().String()+"/4") })
		told.note(func() { require.NotContains(t, strings.Join(told.endpoints, " "), n.ID().String()+"/1") })
		require.NoError(t, n.RemoveEndpoint(ctxFor(t), 3))
		require.NoError(t, n.Leave(ctxFor(t)))
	})
}

// What was told while a node waited is over when it gives up, also if the group lets it in while it goes: nothing is told then.
func TestGiveUpEndsTheOutage(t *testing.T) {
	for _, excluded := range []bool{false, true} {
		r := newRecorder()
		n := &Node{h: r}
		n.ctx, n.cancel = context.WithCancel(context.Background())
		l := &life{n: n, id: 7, joined: make(chan struct{})}
		l.m = newMachine(&n.cfg, l.id, r, l)
		l.m.phase = joining
		if excluded { // the incarnation before
			l.isExcluded(ErrExcluded)
			r.Isolated(ErrExcluded)
		} else {
			l.m.barred = "it hears nobody"
			l.isWaiting(ErrNoMajority)
		}
		require.Error(t, r.isolated)
		require.True(t, n.giveUp(l))
		require.NoError(t, r.isolated)
		r.isolated = ErrClosed // to see what is told from now on
		l.m.tellWait()
		l.m.entered()
		require.Equal(t, ErrClosed, r.isolated)
	}
}

// still is what a process tells the network that stands still, or whose host lost its power, while it looked for
// others: it has told its status to those that it found by then, or not, and nothing follows.
type still struct {
	rdma.Events
	tells bool
}

func (still) Scanned() {}

func (s still) LinkUp(l rdma.Link) { s.Events.LinkUp(&stillLink{Link: l, tells: s.tells}) }

type stillLink struct {
	rdma.Link
	tells bool
}

func (l *stillLink) Send(b []byte) {
	if l.tells {
		l.tells = false
		l.Link.Send(b)
	}
}

// One that would found the group, and does nothing any more, keeps nobody from starting.
func TestFounderStandsStill(t *testing.T) {
	for _, tells := range []bool{false, true} {
		for { // until it has the smallest ID
			var ids []uint64
			found := make(chan struct{})
			c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), Lease: 50 * time.Millisecond,
				fabric: func(cfg *Config, id uint64, bell *shm.BellMemory, ev rdma.Events) (startable, error) {
					if ids = append(ids, id); len(ids) == 1 {
						ev = still{ev, tells}
						defer close(found)
					}
					return realFabric(cfg, id, bell, ev)
				}}}
			ctx, cancel := context.WithCancel(context.Background())
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = Join(ctx, c.cfg, newRecorder())
			}()
			<-found
			a, _ := c.join()
			c.join()
			lucky := ids[0] < ids[1] && ids[0] < ids[2]
			require.Len(t, a.Members(), 2)
			cancel()
			<-over
			if lucky {
				break
			}
		}
	}
}
