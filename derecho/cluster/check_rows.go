package cluster

import (
	"math/bits"
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// told: a node has changed its row of an epoch.
func (c *checker) told(e Event) {
	if _, over := c.ended[e.Node]; over {
		return
	}
	row, key := e.Row, rowKey{e.Row.Subgroup, e.Row.Epoch}
	at := place{c.group[e.Node], key.sg, key.epoch}
	t := c.epoch(at)
	if before := c.rows[e.Node][key]; before != nil {
		c.grows(e, before)
	}
	c.rows[e.Node][key] = row
	if rank := t.rank(e.Node); rank >= 0 {
		t.real[rank] = max(t.real[rank], row.Real)
		c.promised(e.Node, rank, t, row)
		c.window(e.Node, rank, t, key, row)
	}
	if n := uint64(len(t.senders)); t.ends == nil && ordered(key.sg) && row.Delivered > 0 {
		for rank, held := range row.Held {
			if held != forever && row.Delivered > held*n+uint64(rank) {
				c.failf("A13: %s has delivered %d, and holds of %s only %d", e.Node, row.Delivered, t.senders[rank], held)
			}
		}
	}
	if row.Persisted > row.Delivered {
		c.failf("A13: %s has delivered %d and stored %d", e.Node, row.Delivered, row.Persisted)
	}
	if key.sg == channels[logged].ID {
		c.persisted(e.Node, t, row)
	}
	// What is decided may be taken over by who has not promised it.
	if row.Accepted > row.Promised && t.stay == nil || row.Decided > row.Accepted {
		c.failf("A12: %s has promised %d, accepted %d, decided %d", e.Node, row.Promised, row.Accepted, row.Decided)
	}
	c.accused(e.Node, t, row)
}

// persisted: what a node tells that it has stored is on its disk, and its log would show it if the process ended now.
func (c *checker) persisted(node derecho.NodeID, t *epochTrace, row *derecho.Row) {
	list := t.delivered[node]
	for ; t.stored[node] < len(list) && list[t.stored[node]].seq < row.Persisted; t.stored[node]++ {
		if d := list[t.stored[node]]; slices.Contains(t.stores[node], d.channel) &&
			!(c.durable[node][d.text] && c.counted(node, d.channel, row.Epoch, d.text)) {
			c.failf("P1: %s tells that %d is stored of what it delivered in epoch %d, and %.40s is not, or does not count", node,
				row.Persisted, row.Epoch, d.text)
		}
	}
}

// keeps: what a node has delivered of an epoch that it gives up is on its disk.
func (c *checker) keeps(node derecho.NodeID, epoch uint32, t *epochTrace) {
	for _, d := range t.delivered[node] {
		if slices.Contains(t.stores[node], d.channel) && !c.durable[node][d.text] {
			c.failf("P1: %s has drained epoch %d and delivered %.40s in it, which is not stored", node, epoch, d.text)
		}
	}
}

// grows: cells do not go back; what a node has wedged is final.
func (c *checker) grows(e Event, a *derecho.Row) {
	node, b := e.Node, e.Row
	cell := func(name string, before, after uint64) { // called for each; a list of them would be most of what a checker allocates
		if after < before {
			c.failf("A12: %s of %s goes back from %d to %d", name, node, before, after)
		}
	}
	cell("tail", a.Tail, b.Tail)
	cell("real", a.Real, b.Real)
	cell("next", a.Next, b.Next)
	cell("delivered", a.Delivered, b.Delivered)
	cell("opened", a.Opened, b.Opened)
	cell("wedged", a.Wedged, b.Wedged)
	cell("promised", a.Promised, b.Promised)
	cell("accepted", a.Accepted, b.Accepted)
	cell("decided", a.Decided, b.Decided)
	cell("certain", a.Certain, a.Certain&b.Certain)
	cell("persisted", a.Persisted, b.Persisted)
	cell("drained", a.Drained, b.Drained)
	for rank := range a.Received {
		cell("received", a.Received[rank], b.Received[rank])
		cell("handed", a.Handed[rank], b.Handed[rank])
		cell("freed", a.Freed[rank], b.Freed[rank])
		cell("held", a.Held[rank], b.Held[rank])
	}
	if a.Wedged != 0 && (!slices.Equal(a.Received, b.Received) || a.Next != b.Next || a.Tail != b.Tail) {
		c.failf("T4: %s acknowledges or sends after it has wedged", node)
	}
	if b.Real > b.Next && e.Text != torn { // the one is stored before the other
		c.failf("A12: %s has published %d messages, and %d indices", node, b.Real, b.Next)
	}
}

// promised: a sender gives indices away only when another has published a message that waits for them, and then perhaps
// those of some rounds more.
func (c *checker) promised(node derecho.NodeID, rank int, t *epochTrace, row *derecho.Row) {
	if row.Next == forever || row.Next <= row.Real {
		return
	}
	for other, real := range t.real {
		if other != rank && real > 0 {
			if other < rank {
				real--
			}
			if row.Next <= real || row.Next >= derecho.RunAhead && row.Next-derecho.RunAhead <= real {
				return
			}
		}
	}
	c.failf("A15: %s has sent %d messages and promises that %d indices are known; the others sent %v", node, row.Real, row.Next, t.real)
}

// window: no more than a ring is published that some receiver may still need.
func (c *checker) window(node derecho.NodeID, rank int, t *epochTrace, key rowKey, row *derecho.Row) {
	for _, q := range t.receivers {
		if _, over := c.ended[q]; over || c.removed[node][q] || t.drained[q] || slices.Contains(c.pending[node], q) {
			continue
		}
		freed := uint64(0)
		if r := c.rows[q][key]; r != nil && rank < len(r.Freed) {
			freed = r.Freed[rank]
		}
		if row.Tail > freed+row.Ring {
			c.failf("A14: %s has published %d bytes, %s has freed %d, of a ring of %d", node, row.Tail, q, freed, row.Ring)
		}
	}
}

// accused: while nothing is wrong nobody is accused but those who leave; and where nothing is cut off and no link is late
// nobody who lives, unless one of the two stood still. In a view that a node has left behind others may fall silent.
// Certain of a death is nobody of one that lives.
func (c *checker) accused(node derecho.NodeID, t *epochTrace, row *derecho.Row) {
	t.accuses[node] = t.accuses[node] || row.Accused != 0
	for set := row.Accused | row.Certain; set != 0; set &= set - 1 {
		m := t.members[bits.TrailingZeros64(set)]
		t.accused[m] = true
		switch _, leaves := c.left[m]; {
		case leaves:
		case !c.faulty:
			c.failf("M6: %s accuses %s, and nothing was wrong", node, m)
		case c.plan.audible() && !t.drained[node] && !c.failed(m) && !c.stood[m] && !c.stood[node]:
			c.failf("M6: %s accuses %s, which lives, and neither stood still", node, m)
		}
	}
	for set := row.Certain; set != 0; set &= set - 1 {
		m := t.members[bits.TrailingZeros64(set)]
		if _, over := c.ended[m]; !over {
			c.failf("M6: %s is certain that %s is dead, which lives", node, m)
		}
	}
}
