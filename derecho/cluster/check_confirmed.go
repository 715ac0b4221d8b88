package cluster

import (
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// writer is an endpoint that writes.
type writer struct {
	node derecho.NodeID
	id   derecho.EndpointID
}

// confirmed: a node is told that what a writer has sent, up to some message, is stored (P1). What of it was left out it
// has been told before. It is looked at once; that it stays is P2 (checkStored).
func (c *checker) confirmed(e Event) {
	by := writer{e.Node, e.Writer}
	c.unconfirmed[by] = slices.DeleteFunc(c.unconfirmed[by], func(text string) bool {
		s := c.sent[text]
		if uint64(s.n) > e.Seq {
			return false
		}
		c.assured[text] = true
		at := place{c.group[e.Node], s.sg, s.epoch}
		now := c.epoch(place{at.group, s.sg, c.last[e.Node][s.sg]})
		for _, q := range c.epoch(at).receivers {
			keeps := slices.Contains(c.epoch(at).stores[q], e.Channel) && slices.Contains(now.kept[q], e.Channel) // then, and now
			if keeps && !c.parted(e.Node, q) && !c.durable[q][text] && !c.states[keptBy{q, e.Channel}][text] {
				c.failf("P1: %s is told that %.40s is stored, and %s has not stored it", e.Node, text, q)
			}
		}
		return true
	})
}

// parted: a node has ended, or leaves, or another goes on without it. Nothing is promised of its log.
func (c *checker) parted(from, node derecho.NodeID) bool {
	_, leaves := c.left[node]
	return leaves || c.failed(node) || c.removed[from][node]
}

// leftOut: a node is told that some of what a writer has sent, up to some message, is not stored. Of none of that is it
// told later that it is.
func (c *checker) leftOut(e Event) {
	by := writer{e.Node, e.Writer}
	c.unconfirmed[by] = slices.DeleteFunc(c.unconfirmed[by], func(text string) bool { return uint64(c.sent[text].n) <= e.Seq })
}
