package cluster

import (
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// checkLeftOut: what a node has sent on a stored channel and was handed, in epochs in which it kept the channel in its
// log and ever since, is in the state in the end, or the node was told that it was left out (P2). It does not matter
// whether anybody was told that it is stored: a wait for that which begins when the logs of the channel are back asks
// for nothing else.
func (c *checker) checkLeftOut(events []Event) {
	owed := map[keptBy]map[string]uint64{} // by its text, with its number
	keeps, logs := map[string]derecho.ChannelID{}, map[keptBy]bool{}
	type membership struct {
		node  derecho.NodeID
		epoch uint32
	}
	stores := map[membership][]derecho.ChannelID{} // in the log: what came in an epoch before may be handed over when the log was announced
	for i := range events {
		e := &events[i]
		at := keptBy{e.Node, e.Channel}
		switch {
		case e.Kind == Decision && e.What.Kind == derecho.Installed && e.What.Subgroup == channels[logged].ID:
			in := membership{e.Node, e.What.Epoch}
			if stores[in] = e.What.Kept[e.Node]; c.plan.Memory {
				stores[in] = e.What.Stores
			}
		case e.Kind == Found:
			logs[at] = true
		case e.Kind == Known && e.Keeps && e.Sender == e.Node && stored(e.Channel):
			if keeps[e.Text] = e.Channel; owed[at] == nil && logs[at] {
				owed[at] = map[string]uint64{}
			}
		case e.Kind == Forgotten && keeps[e.Text] != 0 && strings.HasPrefix(e.Text, e.Node.String()+"/"):
			delete(owed, keptBy{e.Node, keeps[e.Text]})
		case e.Kind == Deliver && e.Sender == e.Node && owed[at] != nil && slices.Contains(stores[membership{e.Node, e.Epoch}], e.Channel):
			owed[at][e.Text] = uint64(c.sent[e.Text].n)
		case e.Kind == LeftOut:
			for text, n := range owed[at] {
				if n <= e.Seq {
					delete(owed[at], text)
				}
			}
		case e.Kind == Holds:
			held := strings.Fields(e.Text)
			for text := range owed[at] {
				if !slices.Contains(held, text) {
					c.failf("P2: %s has sent %.40s on channel %d, which is not in the state, and was not told so", e.Node, text, e.Channel)
				}
			}
		}
	}
}
