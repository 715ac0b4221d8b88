package derecho

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/smc"
)

// The ring of a sender has Config.RingBytes, in which a message may take half. For one that does not fit the sender's
// ring grows: how large it is is part of what the members agree on about an epoch (memberDesc.Ring). The sender asks by
// a command, which begins an epoch with the same members, as any change of them does: the stream goes on, and so do the
// rings of the others, which keep their size. See docs/adr/0034.

// sender is a node that sends in a subgroup.
type sender struct {
	subgroup SubgroupID
	node     NodeID
}

func (s sender) compare(o sender) int {
	return cmp.Or(cmp.Compare(s.subgroup, o.subgroup), cmp.Compare(s.node, o.node))
}

// samplesPerRing is for how many messages of the size that did not fit a ring has room when it has grown, at least.
const samplesPerRing = 7

// ringFor is the ring of this node for messages of a size that is no more than MaxPayload of the largest.
func (c *Config) ringFor(size int) uint32 {
	need := uint64(samplesPerRing) * uint64(smc.RecordBytes(size))
	return uint32(min(uint64(1)<<bits.Len64(need-1), uint64(c.MaxRing)))
}

// sizeRings gives the members of a subgroup rings of the sizes that they have asked for. A ring that has grown does not
// shrink as long as its node sends; after that it is what it was.
func (c *catalogue) sizeRings(sg SubgroupID, members []memberDesc) {
	if len(c.rings) == 0 {
		return
	}
	sends := map[NodeID]bool{}
	for i := range members {
		if m := &members[i]; m.sends() {
			m.Ring, sends[m.Node] = c.rings[sender{sg, m.Node}], true
		} else {
			m.Ring = 0
		}
	}
	for s := range c.rings {
		if s.subgroup == sg && !sends[s.node] {
			delete(c.rings, s)
		}
	}
}

// grow gives a sender a larger ring, with a new epoch. Who does not send there, or has as large a ring, gets none.
func (c *catalogue) grow(s sender, ring uint32) []*descriptor {
	d := c.subgroups[s.subgroup]
	if d == nil {
		return nil
	}
	if i := d.member(s.node); i < 0 || !d.Members[i].sends() || d.Members[i].Ring >= ring {
		return nil
	}
	c.rings[s] = ring
	return c.refresh(nobody, Endpoint{Reads: []Subgroup{{s.subgroup, d.Mode}}})
}

// grown executes the command. All members have the same RingBytes, so all see the same in it.
func (m *machine) grown(from NodeID, sg SubgroupID, ring uint32) {
	if g := m.groups[sg]; g != nil && from == m.id && g.growing <= ring {
		g.growing = 0
	}
	if int(ring) > m.cfg.RingBytes && ring <= rdma.MaxRing && bits.OnesCount32(ring) == 1 {
		m.renew(m.cat.grow(sender{sg, from}, ring))
	}
}

// grow asks for a ring of this node that a message of some size fits, unless there is one, or it is on its way.
//
// The command is not lost: what nobody has executed when a view ends is sent again (machine.unexecuted). If it has no
// effect, because no writer of this node is announced by then, the epoch in which the message did not fit is closed by
// what withdrew them, and whoever waits looks at the next one, and asks again.
func (g *subgroup) grow(size int) {
	if smc.MaxPayload(int(g.growing)) >= size {
		return
	}
	if i := g.newest.member(g.m.id); i >= 0 && smc.MaxPayload(int(g.newest.Members[i].Ring)) >= size {
		return // the epoch that takes messages is about to end
	}
	g.growing = g.m.cfg.ringFor(size)
	var w writer
	w.u8(cmdGrow)
	w.u32(uint32(g.id))
	w.u32(g.growing)
	g.m.submit(w.b)
}

// awaitRing has the ring of an epoch, in which a message does not fit, replaced by a larger one, and waits for that:
// until the epoch is closed.
func (n *Node) awaitRing(ctx context.Context, e *epoch, size int, deadline time.Time) error {
	if most := smc.MaxPayload(n.cfg.MaxRing); size < 0 || size > most {
		return fmt.Errorf("%w: %d bytes, at most %d (half of MaxRing, %d)", ErrTooLarge, size, most, n.cfg.MaxRing)
	}
	e.life().post(func(*machine) { e.g.grow(size) })
	if e.desc.Mode == Unordered {
		return ErrWouldBlock
	}
	err := n.waitFor(ctx, e, deadline, nil, func() bool { return e.sender.Closed() || n.outage.Load() != nil })
	if errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w: the ring of %d bytes grows for a message of %d, when all members can read the new one", err, e.ring(e.me), size)
	}
	return err
}
