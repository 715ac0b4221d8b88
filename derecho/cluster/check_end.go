package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// load is a state that came to a replica.
type load struct {
	node  derecho.NodeID
	group uint64
	since uint32 // the epoch with which the history of the channel began
	Event
}

func (c *checker) atEnd(events []Event) {
	for _, at := range slices.SortedFunc(maps.Keys(c.epochs), place.compare) {
		if c.err == nil {
			c.checkEpoch(at, c.epochs[at])
		}
	}
	c.checkGaps()
	for _, l := range c.loads {
		c.checkLoad(l)
	}
	c.checkFinal(events)
	c.checkBack(events)
	c.checkDurable(events)
	c.checkKept(events)
	c.checkLeftOut(events)
}

// checkKept: in the end the log of a node has what the node holds.
func (c *checker) checkKept(events []Event) {
	var holds Event
	for _, e := range events {
		switch {
		case e.Kind == Holds:
			holds = e
		case e.Kind == Kept && e.Text != holds.Text:
			c.failf("P1: %s holds %d messages of channel %d, and its log has %d, or others", e.Node,
				len(strings.Fields(holds.Text)), e.Channel, len(strings.Fields(e.Text)))
		}
	}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.group, q.group), cmp.Compare(p.sg, q.sg), cmp.Compare(p.epoch, q.epoch))
}

// failed: the node crashed or was excluded at some time.
func (c *checker) failed(n derecho.NodeID) bool {
	_, over := c.ended[n]
	return over
}

// lost: the node failed, or others went on without it: it has not heard so if they have all ended since.
func (c *checker) lost(n derecho.NodeID) bool {
	if c.failed(n) {
		return true
	}
	for _, without := range c.removed {
		if without[n] {
			return true
		}
	}
	return false
}

// longest is the most that anybody delivered of an ordered epoch: all others delivered a prefix of it.
func (t *epochTrace) longest() []delivery {
	var most []delivery
	for _, list := range t.delivered {
		if len(list) > len(most) {
			most = list
		}
	}
	return most
}

// checkEpoch: all who delivered the epoch to its end delivered the same in the same order, nobody
// delivered anything else, and of senders that live everything.
func (c *checker) checkEpoch(at place, t *epochTrace) {
	if t.stay != nil {
		for _, m := range t.members {
			if !slices.Contains(t.stay, m) && !t.accused[m] && !t.accuses[m] { // who hears others not goes as well as who is not heard
				c.failf("M6: view %d goes on without %s, which nobody accused, and which accused nobody", at.epoch, m)
			}
		}
	}
	if !ordered(at.sg) {
		c.checkUnordered(at, t)
		return
	}
	longest := t.longest()
	for _, n := range t.receivers {
		list := t.delivered[n]
		for k, d := range list {
			if d != longest[k] {
				c.failf("A3: subgroup %d epoch %d: as number %d %s delivered %.40s of %s (seq %d) and another %.40s of %s (seq %d)",
					at.sg, at.epoch, k, n, d.text, d.sender, d.seq, longest[k].text, longest[k].sender, longest[k].seq)
				return
			}
		}
		if t.drained[n] && len(list) < len(longest) {
			c.failf("A7: subgroup %d epoch %d: %s delivered %d of %d messages and went on", at.sg, at.epoch, n, len(list), len(longest))
		}
	}
	for _, d := range longest {
		if index := d.seq / uint64(len(t.senders)); t.ends != nil && index >= t.ends[t.rank(d.sender)] {
			c.failf("A4: subgroup %d epoch %d: index %d of %s was delivered, which ends at %d", at.sg, at.epoch, index, d.sender,
				t.ends[t.rank(d.sender)])
		}
	}
	if at.sg != 0 {
		c.checkSent(at, t, longest)
	}
}

// checkSent: of a sender that lives everything is delivered, of one that failed everything up to some
// message.
func (c *checker) checkSent(at place, t *epochTrace, longest []delivery) {
	in := map[string]bool{}
	last := map[derecho.NodeID]int{}
	for _, d := range longest {
		in[d.text] = true
		s := c.sent[d.text]
		if s.n <= last[d.sender] {
			c.failf("A5: subgroup %d epoch %d: message %d of %s after its message %d", at.sg, at.epoch, s.n, d.sender, last[d.sender])
		}
		last[d.sender] = s.n
	}
	if !slices.ContainsFunc(t.receivers, func(n derecho.NodeID) bool { return t.drained[n] && !c.failed(n) }) {
		return
	}
	for _, text := range c.sends[sendKey{at.sg, at.epoch}] {
		s := c.sent[text]
		if c.group[s.node] != at.group || !slices.Contains(t.senders, s.node) || in[text] {
			continue
		}
		if !c.lost(s.node) {
			c.failf("A9: subgroup %d epoch %d: %.40s of %s, which lives, was delivered by nobody", at.sg, at.epoch, text, s.node)
		} else if s.n < last[s.node] {
			c.failf("A5: subgroup %d epoch %d: %.40s of %s was left out", at.sg, at.epoch, text, s.node)
		}
	}
}

// checkUnordered: everything of senders that live, by everybody who went on.
func (c *checker) checkUnordered(at place, t *epochTrace) {
	for _, n := range t.receivers {
		if t.drained[n] && !c.failed(n) {
			c.checkGot(n, at, t, "A18")
		}
	}
}

// checkGot: a receiver has everything of those that live.
func (c *checker) checkGot(n derecho.NodeID, at place, t *epochTrace, name string) {
	for _, text := range c.sends[sendKey{at.sg, at.epoch}] {
		s := c.sent[text]
		if c.group[s.node] == at.group && slices.Contains(t.senders, s.node) && !c.got[n][text] && !c.lost(s.node) {
			c.failf("%s: subgroup %d epoch %d: %s lacks %.40s", name, at.sg, at.epoch, n, text)
		}
	}
}

// checkHasAll: a node has been handed all that is due to its readers, and that was sent in the epochs in which it is.
func (c *checker) checkHasAll(n derecho.NodeID) {
	c.reached(n)
	for sg, epoch := range c.last[n] {
		at := place{c.group[n], sg, epoch}
		if t := c.epochs[at]; sg != 0 && slices.Contains(t.receivers, n) {
			c.checkGot(n, at, t, "M7")
		}
	}
}

// awaits: a node begins to keep the state of a channel. If it waits for none a history begins.
func (c *checker) awaits(e Event) {
	at, by := begun{c.group[e.Node], e.Channel}, keptBy{e.Node, e.Channel}
	if c.gives(e.Node, e.Channel); e.Text != "pending" {
		c.since[at] = append(c.since[at], e.Epoch)
		c.have[at] = append(c.have[at], e.Node)
		c.holds[by] = e.Epoch
		return
	}
	c.quit[by] = slices.DeleteFunc(slices.Clone(c.have[at]), func(n derecho.NodeID) bool { return c.knows(e.Node, n, e.Channel) })
	c.fewer[by] = len(c.removed[e.Node])
}

// knows: a node knows an endpoint of another one that keeps a channel.
func (c *checker) knows(node, other derecho.NodeID, ch derecho.ChannelID) bool {
	return slices.ContainsFunc(c.known[node], func(endpoint string) bool {
		return strings.HasPrefix(endpoint, other.String()+"/") && c.own[endpoint] == ch && c.keep[endpoint] &&
			!c.withdrawn[fmt.Sprintf("%s by %s", node, endpoint)]
	})
}

// loaded: a state has come. Nothing is a state, too, if nobody has one any more: with it a history begins.
func (c *checker) loaded(e Event) {
	at, by := begun{c.group[e.Node], e.Channel}, keptBy{e.Node, e.Channel}
	if e.Text == "" && !slices.ContainsFunc(c.have[at], func(n derecho.NodeID) bool {
		// Who had withdrawn before this node came owes it nothing, though it keeps the state until it has drained the
		// epoch; nor does who withdrew before the source failed. Nor has anybody it whose own history began later:
		// those who went on without this node.
		withdrawn := !c.knows(e.Node, n, e.Channel) && (slices.Contains(c.quit[by], n) || len(c.removed[e.Node]) > c.fewer[by])
		return !c.removed[e.Node][n] && !withdrawn && c.holds[keptBy{n, e.Channel}] <= e.Epoch
	}) {
		c.since[at] = append(c.since[at], e.Epoch)
	}
	c.have[at], c.holds[by] = append(c.have[at], e.Node), c.beganBefore(at, e.Epoch)
	c.loads = append(c.loads, load{e.Node, at.group, c.holds[by], e})
}

// beganBefore: the history that a state as of an epoch is of. It may be told after the next one has begun, by a node
// that has withdrawn meanwhile, or that was slow.
func (c *checker) beganBefore(at begun, epoch uint32) (since uint32) {
	for _, began := range c.since[at] {
		if began <= epoch {
			since = max(since, began)
		}
	}
	return since
}

// gives: a node gives up the state of a channel, or all that it has if that is 0.
func (c *checker) gives(node derecho.NodeID, ch derecho.ChannelID) {
	for at, have := range c.have {
		if at.group == c.group[node] && (ch == 0 || ch == at.channel) {
			c.have[at] = slices.DeleteFunc(have, func(n derecho.NodeID) bool { return n == node })
		}
	}
}

// checkLoad: the state that a replica gets is what was delivered, from the beginning of the channel's history to the
// epoch from which on the replica keeps the state itself. Of a stored channel what logs held of earlier groups comes in
// front: of that checkDurable speaks.
func (c *checker) checkLoad(l load) {
	state := strings.Fields(l.Text)
	var all []string
	for _, at := range slices.SortedFunc(maps.Keys(c.epochs), place.compare) {
		if at.group == l.group && at.sg == l.SG && l.since <= at.epoch && at.epoch < l.Epoch {
			for _, d := range c.epochs[at].longest() {
				if d.channel == l.Channel {
					all = append(all, d.text)
				}
			}
		}
	}
	same := state
	if n := len(state) - len(all); stored(l.Channel) && n > 0 {
		same = state[n:]
	}
	if !slices.Equal(same, all) {
		c.failf("A10: the state of channel %d that %s got for epoch %d has %d messages, and is not the %d that were delivered since epoch %d",
			l.Channel, l.node, l.Epoch, len(state), len(all), l.since)
	}
}

// checkFinal: at the end everybody knows the same endpoints and has all that was sent, and replicas keep
// the same.
func (c *checker) checkFinal(events []Event) {
	var first *Event
	holders := map[derecho.ChannelID]*Event{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case Final:
			if first == nil {
				first = e
			}
			if !slices.Equal(c.known[e.Node], c.known[first.Node]) {
				c.failf("A9: %s and %s know different endpoints: %v and %v", e.Node, first.Node, c.known[e.Node], c.known[first.Node])
			}
			for _, id := range e.State.Linked {
				if c.failed(id) && !slices.Contains(e.State.Members, id) {
					c.failf("M7: %s still has a link to %s, which has ended", e.Node, id)
				}
			}
			c.checkLive(e)
			c.upToDate(e.Node)
			c.checkHasAll(e.Node)
		case Holds:
			if holders[e.Channel] == nil {
				holders[e.Channel] = e
			}
			holder := holders[e.Channel]
			if e.Text != holder.Text {
				c.failf("A10: %s and %s hold different states of channel %d: %d and %d messages", e.Node, holder.Node, e.Channel,
					len(strings.Fields(e.Text)), len(strings.Fields(holder.Text)))
			}
			c.checkOrder(e)
		}
	}
}

// checkLive: a node knows endpoints of members only, and of its own those that its application has not withdrawn.
func (c *checker) checkLive(e *Event) {
	for _, ep := range c.known[e.Node] {
		node, _, _ := strings.Cut(ep, "/")
		switch {
		case !slices.ContainsFunc(e.State.Members, func(n derecho.NodeID) bool { return n.String() == node }):
			c.failf("A9: %s knows endpoint %s of one that is no member", e.Node, ep)
		case node == e.Node.String() && !slices.Contains(strings.Fields(e.Text), ep):
			c.failf("A9: %s knows its own endpoint %s, which is withdrawn", e.Node, ep)
		}
	}
}

// checkOrder: a state has nothing twice, and what each sender sent in the order of sending.
func (c *checker) checkOrder(e *Event) {
	last := map[derecho.NodeID]int{}
	for _, text := range strings.Fields(e.Text) {
		s, known := c.sent[text]
		if !known {
			c.failf("A10: %s holds %.40s, which nobody sent", e.Node, text)
		} else if s.n <= last[s.node] {
			c.failf("A10: %s holds %.40s behind message %d of its sender", e.Node, text, last[s.node])
		}
		last[s.node] = s.n
	}
}
