package derecho

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two nodes have logs of one identity. The endpoint of the second waits: while the first lives it is refused, with both
// named; when the first gives its endpoint up, it is taken.
func TestCopiedLog(t *testing.T) {
	for _, gone := range []bool{false, true} {
		eachFabric(t, func(t *testing.T, c *cluster) {
			if gone {
				c.cfg.Lease = 10 * time.Minute // longer than the test: nothing is refused
			}
			c.cfg.OpenLog = func(SubgroupID) (Log, error) { return &memLog{}, nil }
			c.cfg.LogState = emptyLog(17)
			a, _ := c.join()
			b, rb := c.join()
			keeps := Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true}
			a.mustAdd(t, keeps)
			rb.wait(t, "the original", func() bool { return len(rb.endpoints) == 1 })
			added := make(chan error, 1)
			go func() { added <- b.AddEndpoint(ctxFor(t), keeps) }()
			if gone {
				require.Eventually(t, func() bool { return postponed(b) }, patience, time.Millisecond)
				require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
				require.NoError(t, <-added)
				return
			}
			err := <-added
			require.ErrorIs(t, err, ErrCopied)
			require.ErrorContains(t, err, "this node, node1 (pid ")
			require.ErrorContains(t, err, "and node0 (pid ")
			require.ErrorContains(t, err, "have the log 0000000000000011")
		})
	}
}

// A node that has joined again meets another with its log. Its endpoint is left out, which is told, and announced when
// the other has given the log up.
func TestCopiedLogAtRejoin(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		c.cfg.OpenLog = func(SubgroupID) (Log, error) { return &memLog{}, nil }
		c.cfg.LogState = emptyLog(17)
		a, ra := c.join()
		b, rb := c.join()
		keeps := Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true}
		a.mustAdd(t, keeps)
		rb.wait(t, "the original", func() bool { return len(rb.endpoints) == 1 })
		require.True(t, b.life.Load().addAll(ctxFor(t), []Endpoint{keeps}), "the others of its endpoints work")
		rb.wait(t, "the refusal", func() bool { return errors.Is(rb.failed, ErrCopied) })
		// Meanwhile it may be changed: nobody knows it, and it is announced as it is then.
		require.NoError(t, b.life.Load().await(ctxFor(t), func(m *machine, done func(error)) { m.changeEndpoint(1, []byte("changed"), done) }))
		require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
		ra.wait(t, "the endpoint", func() bool { return slices.Contains(ra.endpoints, fmt.Sprintf("+%s/1", b.ID())) })
		rb.wait(t, "that it logs again", func() bool { return rb.failed == nil })
		require.NoError(t, a.await(ctxFor(t), func(m *machine, done func(error)) {
			if ep := m.cat.find(b.ID(), 1); string(ep.Info) != "changed" {
				done(fmt.Errorf("it was announced as %q", ep.Info))
				return
			}
			done(nil)
		}))
		require.NoError(t, b.RemoveEndpoint(ctxFor(t), 1))

		// One that is withdrawn while it waits is not announced any more, and nothing is refused then.
		a.mustAdd(t, keeps)
		require.True(t, b.life.Load().addAll(ctxFor(t), []Endpoint{keeps}))
		rb.wait(t, "the refusal", func() bool { return errors.Is(rb.failed, ErrCopied) })
		require.NoError(t, b.RemoveEndpoint(ctxFor(t), 1))
		rb.wait(t, "that nothing is refused", func() bool { return rb.failed == nil })
		require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
		b.mustAdd(t, Endpoint{ID: 2, Channel: 8, Reads: []Subgroup{ordered}})
		ra.wait(t, "another endpoint", func() bool { return slices.Contains(ra.endpoints, fmt.Sprintf("+%s/2", b.ID())) })
		announced := 0
		ra.note(func() {
			for _, e := range ra.endpoints {
				if e == fmt.Sprintf("+%s/1", b.ID()) {
					announced++
				}
			}
		})
		require.Equal(t, 1, announced)
	})
}

// Heartbeats prove that a node lives if enough of them came since it was looked at in a view: of that node, and in that view.
func TestPulse(t *testing.T) {
	var p pulse
	one, next := &agreement{}, &agreement{}
	require.False(t, p.lives(one, 1, 90), "what came before proves nothing")
	require.False(t, p.lives(one, 1, 90+livingBeats-1))
	require.False(t, p.lives(one, 2, 90+livingBeats), "of another")
	require.True(t, p.lives(one, 2, 90+2*livingBeats))
	require.False(t, p.lives(next, 2, 90+4*livingBeats), "in another view they are counted anew")
	require.True(t, p.lives(next, 2, 90+5*livingBeats))
}

// postponed: an endpoint of the node waits, though it was announced.
func postponed(n *Node) bool {
	is := make(chan bool, 1)
	n.life.Load().post(func(m *machine) { is <- m.own[1] != nil && m.own[1].submitted && len(m.deferred) > 0 })
	return <-is
}

// What a catalogue takes for a twin.
func TestTwin(t *testing.T) {
	s := &scene{cat: newCatalogue(), k: keptChannel{4, 7}}
	comes := func(node NodeID) bool {
		_, is := s.cat.twin(&Endpoint{Node: node, ID: 9, Channel: 8, Reads: []Subgroup{{4, Logged}}, Replica: true, Log: &LogState{ID: 1}})
		return is
	}
	require.False(t, comes(2), "nobody is there")
	keeps(1, LogState{})(s)
	require.True(t, comes(2), "of another channel of the log, too")
	require.False(t, comes(1), "its own")
	keeps(3, LogState{})(s)
	require.True(t, comes(3), "it has a log of its own, and announces another's")
	fails(1)(s)
	require.False(t, comes(2), "the other has failed")
}

// A node that has joined again waits for its log. When that is free the members go on with another history than it
// holds by then: that is told.
func TestForeignAfterCopied(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		holds := func(history uint64) func(SubgroupID, ChannelID) *LogState {
			return func(SubgroupID, ChannelID) *LogState {
				return &LogState{ID: 17, Epoch: 3, Begun: 3, Seq: 5, Logs: []uint64{17}, History: history, Written: true}
			}
		}
		c.cfg.OpenLog = func(SubgroupID) (Log, error) { return &memLog{}, nil }
		c.cfg.LogState = holds(0x11)
		a, _ := c.join()
		keeps := Endpoint{ID: 1, Channel: 7, Reads: []Subgroup{logged}, Replica: true}
		a.mustAdd(t, keeps)
		c.cfg.LogState = emptyLog(18)
		other, _ := c.join()
		other.mustAdd(t, keeps)
		c.cfg.LogState = holds(0x22)
		b, rb := c.join()
		require.True(t, b.life.Load().addAll(ctxFor(t), []Endpoint{keeps}))
		rb.wait(t, "that the log is a copy", func() bool { return errors.Is(rb.failed, ErrCopied) })
		require.NoError(t, a.RemoveEndpoint(ctxFor(t), 1))
		rb.wait(t, "that its history is another", func() bool { return errors.Is(rb.failed, ErrHistory) })
	})
}
