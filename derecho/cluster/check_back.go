package cluster

import (
	"slices"

	"github.com/omg-dds-go/dds/derecho"
)

// checkBack: in the end nobody waits for logs that are there, and nobody is kept from writing by anything else.
//
// Which logs a channel needs is judged by what the disks have, and not by what the nodes say. A group may have gone
// back to the logs of any that have had the channel, so it may wait as long as one is away that was announced in it.
// Otherwise it waits for those of the last epoch that any log knows which is there, and after a while, which is over
// when the trace ends, for a majority of these. Without any log nobody waits.
func (c *checker) checkBack(events []Event) {
	back := map[derecho.ChannelID][]uint64{} // the logs that are there
	had := map[begun][]uint64{}              // the logs that had the channel in epochs of a group
	waits := map[derecho.NodeID][]derecho.ChannelID{}
	for _, e := range events {
		switch {
		case e.Kind == Back:
			back[e.Channel] = append(back[e.Channel], e.Log)
		case e.Kind == Waits:
			waits[e.Node] = append(waits[e.Node], e.Channel)
		case e.Kind == Found:
			at := begun{c.group[e.Node], e.Channel}
			had[at] = append(had[at], e.Log)
		case e.Kind == Decision && e.What.Kind == derecho.Installed:
			for _, l := range e.What.Logs {
				at := begun{e.What.Group, l.Channel}
				had[at] = append(had[at], l.Logs...)
			}
		}
	}
	for _, e := range events {
		switch e.Kind {
		case Waits:
			there := back[e.Channel]
			var known []lastEpoch
			for _, log := range there {
				known = append(known, c.found[logOf{log, e.Channel}])
			}
			at := begun{c.group[e.Node], e.Channel}
			enough := func(l lastEpoch) bool { return l.restored(there) && (c.begun[at] == 0 || contains(there, l.logs)) }
			if len(there) > 0 && contains(there, had[at]) && !slices.ContainsFunc(latest(known), func(l lastEpoch) bool { return !enough(l) }) {
				c.failf("M7: %s waits for logs of channel %d, and those that it needs are there: %016x", e.Node, e.Channel, there)
			}
		case Muted:
			if !slices.Contains(waits[e.Node], e.Channel) {
				c.failf("M7: %s can not write to channel %d, and waits for nothing: %s", e.Node, e.Channel, e.Text)
			}
		}
	}
}

// contains: all of some logs are among others.
func contains(there, logs []uint64) bool {
	return !slices.ContainsFunc(logs, func(l uint64) bool { return !slices.Contains(there, l) })
}
