package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// lies is what the disks of a channel's logs have lied about, for checkStored. A message that some disk has lost after
// all logs of its epoch had called it durable need not be there in the end in three cases:
//
//   - The channel went on, and of the logs that were there none had it any more which had had the channel in the last epoch. One such log is
//     enough.
//   - A group that lives on has nobody left who had the state (derecho/bereft.go), and of the logs of the last none that is
//     there has it any more. Logs of those who went before are not asked: what they hold was superseded, as far as anybody
//     could know, by what the others went on to store.
//   - It was written under the number of an epoch that its log had forgotten. Positions under this number do not compare with those of logs
//     that have not forgotten it, and the channel went on from one of these.
//
// Everything else is promised as it is with disks that do not lie.
type lies struct {
	copies  map[string]map[uint64]int // of a message in each log
	missed  map[string]bool           // some disk has lost it
	before  map[uint64][]onDisk       // what each log had before each beginning
	forgot  map[uint64]uint32         // the highest epoch that a log has forgotten
	again   map[string]bool           // written under such a number
	having  map[uint64]*having        // the state, of a group
	excused map[string]bool
}

// having is who has the state of the channel in a group, and has not withdrawn what keeps it.
type having struct {
	view  uint32                    // the last that anybody has installed
	nodes map[derecho.NodeID]uint64 // with the log of each; 0: it keeps the channel in memory
	line  uint32                    // of history, on which the last of them got it
	last  []uint64                  // the logs of these, if there are any, else of those who had it last
	gone  []uint64                  // once nobody has it any more who had it, and until somebody has it again: their logs
}

func newLies() *lies {
	return &lies{copies: map[string]map[uint64]int{}, missed: map[string]bool{}, before: map[uint64][]onDisk{},
		forgot: map[uint64]uint32{}, again: map[string]bool{}, having: map[uint64]*having{}, excused: map[string]bool{}}
}

func (l *lies) add(text string, log uint64, n int) {
	if l.copies[text] == nil {
		l.copies[text] = map[uint64]int{}
	}
	l.copies[text][log] += n
}

// durable and begun: a log has a message, or a beginning with the state that came with it.
func (l *lies) durable(e *Event) {
	l.add(e.Text, e.Log, 1)
	if e.Epoch <= l.forgot[e.Log] {
		l.again[e.Text] = true
	}
}

func (l *lies) begun(e *Event, before onDisk) {
	l.before[e.Log] = append(l.before[e.Log], before)
	for _, t := range strings.Fields(e.Text) {
		l.add(t, e.Log, 1)
	}
}

// lost and unbegun: it has not. unbegun returns what it had before.
func (l *lies) lost(e *Event) {
	l.add(e.Text, e.Log, -1)
	l.missed[e.Text] = true
}

func (l *lies) unbegun(e *Event) (before onDisk) {
	for _, t := range strings.Fields(e.Text) {
		l.add(t, e.Log, -1)
		l.missed[t] = true
	}
	l.forgot[e.Log] = max(l.forgot[e.Log], e.Epoch)
	n := len(l.before[e.Log]) - 1
	before = l.before[e.Log][n]
	l.before[e.Log] = l.before[e.Log][:n]
	return before
}

// of is who has the state in a group.
func (l *lies) of(group uint64) *having {
	if l.having[group] == nil {
		l.having[group] = &having{nodes: map[derecho.NodeID]uint64{}}
	}
	return l.having[group]
}

// has: a node has the state, on a line of history, and keeps the channel in a log, or in memory.
func (h *having) has(node derecho.NodeID, log uint64, line uint32) {
	h.nodes[node], h.gone, h.line = log, nil, line
	h.know()
}

// awaits: a node waits for the state. If it had got one before, that was not heard in time, and it is to get it from
// another; or it was the last to withdraw what keeps the channel, and comes again.
func (h *having) awaits(node derecho.NodeID) {
	h.drop(func(n derecho.NodeID) bool { return n == node })
}

// drop: some do not count any more as those who have the state.
func (h *having) drop(which func(derecho.NodeID) bool) {
	before := len(h.nodes)
	maps.DeleteFunc(h.nodes, func(n derecho.NodeID, _ uint64) bool { return which(n) })
	h.know()
	if before > 0 && len(h.nodes) == 0 {
		h.gone = h.last
	}
}

// goesOn: somebody who has the state is among those who keep the channel in an epoch.
func (h *having) goesOn(w *derecho.Event, ch derecho.ChannelID) bool {
	for n, kept := range w.Kept {
		if _, has := h.nodes[n]; has && slices.Contains(kept, ch) {
			return true
		}
	}
	return false
}

// know brings the logs of those who have the state up to date.
func (h *having) know() {
	logs := slices.DeleteFunc(slices.Sorted(maps.Values(h.nodes)), func(log uint64) bool { return log == 0 })
	if len(logs) > 0 {
		h.last = logs
	}
}

// install: a view begins. First those do not count any more who have withdrawn what keeps the channel, if there are
// others, and then those who are no members.
func (h *having) install(view uint32, members []derecho.NodeID, keep keepers) {
	if view <= h.view {
		return
	}
	h.view = view
	withdrawn := func(n derecho.NodeID) bool { return len(keep[n]) == 0 }
	for n := range h.nodes {
		if !withdrawn(n) {
			h.drop(withdrawn)
			break
		}
	}
	h.drop(func(n derecho.NodeID) bool { return !slices.Contains(members, n) })
}

// keepers are the endpoints of a channel that keep its state, by node: those that somebody was told of, but for those
// that their node has withdrawn in order. Of one that has failed nobody executes that.
type keepers map[derecho.NodeID]map[string]bool

func (k keepers) known(node derecho.NodeID, endpoint string) {
	if k[node] == nil {
		k[node] = map[string]bool{}
	}
	k[node][endpoint] = true
}

// executed: a command may withdraw an endpoint.
func (k keepers) executed(w *derecho.Event) {
	if endpoint, is := withdraws(w); is {
		delete(k[w.From], endpoint)
	}
}

// resumed: the channel goes on from what a log holds, in a group and on a line of history. Some logs are there, and
// some of them, or others, have been announced to the node that goes on; the last epoch of the line had some. If all
// who had the state have failed it may be another line than theirs: logs that have forgotten all know of none.
func (l *lies) resumed(from uint64, in *having, there, announced []uint64, line uint32, last []uint64, logs map[uint64]onDisk, at map[string]onDisk) {
	none := func(t string, of, there []uint64) bool {
		return !slices.ContainsFunc(there, func(log uint64) bool { return slices.Contains(of, log) && l.copies[t][log] > 0 })
	}
	for t := range at {
		on := at[t].line == line
		forgotten := on && l.again[t] && l.copies[t][from] == 0 && logs[from].epoch >= at[t].epoch
		bereft := (on || at[t].line == in.line) && len(in.gone) > 0 && none(t, in.gone, announced)
		if l.missed[t] && (on && none(t, last, there) || bereft) || forgotten {
			l.excused[t] = true
		}
	}
}
