package derecho

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/rdma"
)

// latestView waits until a node is in a view of so many members, and gives that.
func (r *recorder) latestView(t *testing.T, members int) View {
	t.Helper()
	r.wait(t, "the view", func() bool {
		return len(r.views) > 0 && len(r.views[len(r.views)-1].Members) == members
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.views[len(r.views)-1]
}

// All members are told of one sequence of views, and of each how it came to be.
func TestViews(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		a, ra := c.join()
		_, rb := c.join()
		require.Equal(t, View{Epoch: 1, Members: a.Members()[:1]}, ra.views[0])
		joins := func() (*Node, *recorder) {
			rec := newRecorder()
			cfg := c.cfg
			cfg.Name = "comes and goes"
			n, err := Join(ctxFor(t), cfg, rec)
			require.NoError(t, err)
			return n, rec
		}
		same := func(members int, recs ...*recorder) View {
			t.Helper()
			v := recs[0].latestView(t, members)
			for _, r := range recs[1:] {
				require.Equal(t, v, r.latestView(t, members))
			}
			return v
		}
		leaves, rl := joins()
		three := same(3, ra, rb, rl)
		require.Equal(t, a.Members(), three.Members)
		require.Equal(t, "comes and goes", three.Members[2].Name)
		require.Equal(t, leaves.ID(), three.Members[2].ID)
		require.NoError(t, leaves.Leave(context.Background()))
		two := same(2, ra, rb)
		require.Greater(t, two.Epoch, three.Epoch)
		require.Empty(t, two.Failed, "it has left")

		dies, rd := joins()
		same(3, ra, rb, rd)
		die(t, dies)
		require.Equal(t, []NodeID{dies.ID()}, same(2, ra, rb).Failed)
		require.Equal(t, two.Members, same(2, ra, rb).Members)
	})
}

func TestLogErrorNamesTheMember(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		full := errors.New("no space left")
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{err: full}, nil }, emptyLog(17)
		r, _ := c.join()
		c.cfg.OpenLog, c.cfg.LogState = func(SubgroupID) (Log, error) { return &memLog{}, nil }, emptyLog(18)
		w, _ := c.join()
		r.mustAdd(t, Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true})
		w.mustAdd(t, Endpoint{ID: 1, Channel: 7, Writes: logged, Reads: []Subgroup{logged}, Replica: true})
		w.mustSend(t, logged, 7, 1, "x")
		err := w.WaitDurable(ctxFor(t), logged.ID, 7)
		var failed *LogError
		require.ErrorAs(t, err, &failed)
		require.ErrorIs(t, err, ErrLog)
		require.Equal(t, w.Members()[0], failed.Member)
		require.Equal(t, r.ID(), failed.Member.ID)
		require.ErrorContains(t, err, "node0 (pid ")
	})
	unknown := &LogError{Member: MemberInfo{ID: 17}, Err: context.Canceled}
	require.EqualError(t, unknown, "derecho: log failed at node 0000000000000011: context canceled")
	require.ErrorIs(t, unknown, context.Canceled)
}

// Who begins to end, or dies, while a view comes to its end is accused when the next begins, and not only when it has
// been silent. What was known of a process that only began to end is forgotten with its link.
func TestDeathsAreInherited(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		n, _ := c.join()
		peer, _ := c.join()
		c.settle(0)
		for _, x := range []struct {
			name             string
			know             func(m *machine)
			accused, certain bool
		}{
			{"nothing is known", func(*machine) {}, false, false},
			{"it begins to end", func(m *machine) { m.ending[peer.ID()] = true }, true, false},
			{"it has died", func(m *machine) { m.lost[peer.ID()] = loss{died: true} }, true, true},
			{"its link is down", func(m *machine) { m.lost[peer.ID()] = loss{} }, false, false},
		} {
			var accused, certain bool
			require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
				e := m.groups[0].epochs[len(m.groups[0].epochs)-1]
				a, i := newAgreement(e, &m.view), e.desc.member(peer.ID())
				x.know(m)
				a.inherit()
				accused, certain = a.accuses(e.me, i, e.table.Accused()), a.accuses(e.me, i, e.table.Certain())
				a.mark(e.table.Accused(), i, false) // it lives: nobody has seen it
				a.mark(e.table.Certain(), i, false)
				delete(m.ending, peer.ID())
				delete(m.lost, peer.ID())
				done(nil)
			}))
			require.Equal(t, x.accused, accused, x.name)
			require.Equal(t, x.certain, certain, x.name)
		}
		require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
			const other = 99
			l := &strangersLink{id: other}
			m.links[other] = l
			m.ending[other] = true
			m.linkDown(l, false)
			require.False(t, m.ending[other])
			delete(m.lost, other)
			done(nil)
		}))
	})
}

// A member that refuses connections is accused until it answers again. Nobody agrees that another has failed, so its
// link is dropped.
func TestRefusals(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		n, _ := c.join()
		peer, _ := c.join()
		c.settle(0)
		require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
			e := m.groups[0].epochs[len(m.groups[0].epochs)-1]
			i := e.desc.member(peer.ID())
			member := m.links[peer.ID()]
			for range 2 {
				m.dying(member)
				require.True(t, e.agree.accuses(e.me, i, e.table.Accused()))
				require.False(t, e.agree.accuses(e.me, i, e.table.Certain()))
				m.resumed(member)
				require.True(t, e.agree.watch(i), "it is heard")
				require.False(t, e.agree.accuses(e.me, i, e.table.Accused()))
			}
			for _, aliased := range []bool{false, true} { // the link to one that shares memory ends by itself
				stranger := &strangersLink{id: 99, aliased: aliased}
				m.links[99] = stranger
				m.dying(stranger)
				require.Equal(t, aliased, !stranger.dropped)
				m.resumed(stranger)
				delete(m.links, 99)
			}
			done(nil)
		}))
	})
}

// A member whose link has ended is accused until there is another one: that is no death. It is one as soon as the kernel
// says so, by the link that has ended, which is kept for that as long as the node is a member and lives.
func TestLinksThatEnd(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32()}}
	n, _ := c.join()
	peer, _ := c.join()
	c.settle(0)
	require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
		e := m.groups[0].epochs[len(m.groups[0].epochs)-1]
		a, i, id := e.agree, e.desc.member(peer.ID()), peer.ID()
		certain := func() bool { return a.accuses(e.me, i, e.table.Certain()) }
		member := m.links[id]
		status := m.statuses[id]
		m.linkDown(member, false)
		require.True(t, a.accuses(e.me, i, e.table.Accused()))
		require.False(t, certain())
		require.Equal(t, member, m.lost[id].link)
		require.False(t, member.Died())
		m.linkUp(member)
		m.statuses[id] = status // over another link it would be told again
		require.True(t, a.watch(i), "it is heard")
		require.False(t, a.accuses(e.me, i, e.table.Accused()))

		m.lost[id] = loss{link: &strangersLink{dead: true}}
		a.reconnect(i)
		require.True(t, certain())
		require.Equal(t, loss{died: true}, m.lost[id])
		a.mark(e.table.Certain(), i, false)
		delete(m.lost, id)
		require.True(t, a.watch(i), "it lives")

		stranger := &strangersLink{id: 99}
		m.links[99] = stranger
		m.linkDown(stranger, false)
		require.Equal(t, loss{}, m.lost[99])
		delete(m.lost, 99)

		m.lost[id] = loss{link: &strangersLink{}}
		delete(m.links, id) // it needs none to go on
		done(nil)
	}))
	require.NoError(t, peer.Leave(ctxFor(t)))
	require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
		require.Equal(t, loss{}, m.lost[peer.ID()], "it is no member any more")
		done(nil)
	}))
}

// strangersLink is to a node that is no member.
type strangersLink struct {
	rdma.Link
	id                     uint64
	aliased, dropped, dead bool
}

func (l *strangersLink) Peer() rdma.PeerInfo { return rdma.PeerInfo{ID: l.id} }
func (l *strangersLink) Aliased() bool       { return l.aliased }
func (l *strangersLink) Drop(error)          { l.dropped = true }
func (l *strangersLink) Died() bool          { return l.dead }

// droppedLink notes that it was dropped.
type droppedLink struct {
	rdma.Link
	dropped atomic.Bool
}

func (l *droppedLink) Drop(error) { l.dropped.Store(true) }

// Who dies while the view ends with which it leaves is no member then: nobody agrees that it failed, and the network
// does not tell again that it refuses.
func TestLeaverThatDiesIsDropped(t *testing.T) {
	c := &cluster{t: t, cfg: Config{Domain: rand.Uint32(), Transport: TransportTCP}}
	c.cfg.Lease = 2 * time.Second
	n, _ := c.join()
	c.join()
	leaver, _ := c.join()
	c.settle(0)
	l := &droppedLink{}
	require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
		l.Link = m.links[leaver.ID()]
		m.links[leaver.ID()] = l // what ends the connection of one that leaves in order is not heard
		done(nil)
	}))
	require.NoError(t, n.await(ctxFor(t), func(m *machine, done func(error)) {
		m.dying(l)
		done(nil)
	}))
	require.NoError(t, leaver.Leave(ctxFor(t)))
	require.Eventually(t, func() bool { return len(n.Members()) == 2 }, 10*time.Second, time.Millisecond)
	require.NoError(t, n.await(ctxFor(t), func(_ *machine, done func(error)) { done(nil) }))
	require.True(t, l.dropped.Load())
}
