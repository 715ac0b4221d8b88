package derecho

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/smc"
)

// Endpoints that are announced together fit the ring that the command goes through.
func TestBundlesFitTheirRing(t *testing.T) {
	m := newMachine(&Config{}, 1, newRecorder(), nil)
	m.controlRing = 4 << 10
	for i := range 100 {
		m.announcing = append(m.announcing, Endpoint{ID: EndpointID(i), Info: make([]byte, 300)})
	}
	m.bundle()
	announced := 0
	for _, cmd := range m.queue {
		require.LessOrEqual(t, len(cmd), smc.MaxPayload(m.controlRing))
		announced += len((&Event{Command: cmd}).Announced())
	}
	require.Equal(t, 100, announced)
}

// A command that no ring takes is an error of this node, and not dropped: the others would wait for it, or go on without.
func TestCommandThatIsTooLarge(t *testing.T) {
	eachFabric(t, func(t *testing.T, c *cluster) {
		r := newRecorder()
		n, err := Join(ctxFor(t), c.cfg, r)
		require.NoError(t, err)
		n.life.Load().post(func(m *machine) { m.submit(make([]byte, m.controlRing)) })
		r.wait(t, "the failure", func() bool { return r.failed != nil })
		require.ErrorIs(t, r.failed, ErrTooLarge)
		require.ErrorIs(t, n.Leave(ctxFor(t)), ErrTooLarge)
	})
}

// A process that the group went on without announces its endpoints anew all at once: each subgroup begins some epochs
// for them, and not one for each. All are there again afterwards, in the order in which they were made, and work.
func TestRejoinAnnouncesTogether(t *testing.T) {
	const channels, width = 200, 2000 // bytes of an announcement: together they are many commands
	eachFabric(t, func(t *testing.T, c *cluster) {
		a, ra := c.join()
		b, rb := c.join()
		c.join() // a majority goes on
		info := make([]byte, width)
		for i := range channels {
			b.mustAdd(t, Endpoint{ID: EndpointID(2*i + 1), Channel: ChannelID(i), Writes: ordered, Info: info})
			b.mustAdd(t, Endpoint{ID: EndpointID(2*i + 2), Channel: ChannelID(i), Reads: []Subgroup{ordered}, Info: info})
		}
		a.mustAdd(t, Endpoint{ID: 1, Channel: channels - 1, Reads: []Subgroup{ordered}})
		epoch := func() (epoch uint32) {
			require.NoError(t, a.Upcall(ctxFor(t), func() { epoch = a.life.Load().m.cat.subgroups[ordered.ID].Epoch }))
			return epoch
		}
		before := epoch()
		require.Greater(t, before, uint32(channels))

		first := b.ID()
		rb.Isolated(ErrExcluded) // until it is told that this is over
		b.life.Load().post(func(m *machine) { m.exclude(errors.New("the others have not heard it")) })
		rb.wait(t, "the end of the outage", func() bool { return rb.isolated == nil })
		b.mustSend(t, ordered, channels-1, 2*channels-1, "again")
		ra.wait(t, "the message", func() bool { return len(ra.got) == 1 })
		require.NotEqual(t, first, b.ID())
		commands := 2*channels*(width+50)/maxBundle + 1
		require.LessOrEqual(t, epoch(), before+uint32(commands)+2, "%d commands, and the view that ended", commands)
		var order []EndpointID
		require.NoError(t, a.Upcall(ctxFor(t), func() {
			for ep := range a.life.Load().m.cat.all.All() {
				if ep.Node == b.ID() {
					order = append(order, ep.ID)
				}
			}
		}))
		require.Len(t, order, 2*channels)
		require.IsIncreasing(t, order)
	})
}
