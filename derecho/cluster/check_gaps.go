package cluster

import (
	"maps"
	"slices"
)

// checkGaps: in order, of what a sender sent in an epoch that a receiver has ended nothing is left out before what the receiver
// was handed in a later one.
func (c *checker) checkGaps() {
	places := slices.SortedFunc(maps.Keys(c.epochs), place.compare)
	last := map[uint64]map[stream]number{} // by group: the last message that each was handed of each sender
	for _, at := range places {
		if last[at.group] == nil {
			last[at.group] = map[stream]number{}
		}
		for node, list := range c.epochs[at].delivered {
			for _, d := range list {
				if at.sg != 0 && ordered(at.sg) {
					last[at.group][stream{node, d.sender, at.sg}] = number{at.epoch, c.sent[d.text].n}
				}
			}
		}
	}
	for _, at := range places {
		t := c.epochs[at]
		for _, text := range c.sends[sendKey{at.sg, at.epoch}] {
			s := c.sent[text]
			if c.group[s.node] != at.group {
				continue
			}
			for _, n := range t.receivers {
				if l := last[at.group][stream{n, s.node, at.sg}]; t.drained[n] && l.epoch > at.epoch && !c.got[n][text] {
					c.failf("A5: subgroup %d epoch %d: %s was not handed message %d of %s, and message %d in epoch %d", at.sg, at.epoch,
						n, s.n, s.node, l.n, l.epoch)
				}
			}
		}
	}
}
