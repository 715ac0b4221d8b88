package cluster

import (
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/derecho"
)

// stored is what a log is known to have: the beginning of an epoch, and of which line of history it is.
type stored struct {
	line, epoch uint32
	logs        []uint64
}

// history is from which epoch on a group follows which line.
type history struct{ from, line uint32 }

// lastEpoch is an epoch of the Logged subgroup, and the logs that belong to it.
type lastEpoch struct {
	epoch uint32
	logs  []uint64
}

// restored: these logs are enough to go on from the epoch.
func (e lastEpoch) restored(logs []uint64) bool {
	n := 0
	for _, l := range e.logs {
		if slices.Contains(logs, l) {
			n++
		}
	}
	return 2*n > len(e.logs) || len(e.logs) == 0
}

// reborn: a group in which nobody has had the Logged subgroup before begins it with a majority of the logs of the last
// epoch that any of those which are there knows. Who has lost it while others were there may know of later epochs, which
// nobody lived to install.
func (c *checker) reborn(group uint64, w derecho.Event) {
	if !w.Fresh || c.begun[group] {
		return
	}
	c.begun[group] = true
	last := lastEpoch{}
	for _, l := range w.Logs {
		if e := c.found[l]; e.epoch > last.epoch {
			last = e
		}
	}
	if !last.restored(w.Logs) {
		c.failf("P4: epoch %d begins with the logs %016x, no majority of those of epoch %d, the last that they know: %016x", w.Epoch, w.Logs, last.epoch, last.logs)
	}
}

const forever32 = ^uint32(0)

// lineOf is the line that a group follows in an epoch: who is still in an old one is not on a later line.
func lineOf(h []history, epoch uint32) (at history) {
	for _, l := range h {
		if l.from <= epoch && l.from >= at.from {
			at = l
		}
	}
	return at
}

// majority: most of the logs are there.
func majority(there, of []uint64) bool {
	n := 0
	for _, l := range of {
		if slices.Contains(there, l) {
			n++
		}
	}
	return 2*n > len(of)
}

// checkDurable: what every log of its epoch had on disk is in the state that the members hold in the end
// (P2, P3). Promised is it as long as a majority of the logs of the last epoch comes back, which those that come back
// need not know of; else another
// line of history begins. Two groups that know nothing of each other are two lines; when they meet one
// goes on.
func (c *checker) checkDurable(events []Event) {
	var lines uint32
	group := map[derecho.NodeID]uint64{} // of a node
	line := map[uint64][]history{}       // of a group
	logs := map[uint64]stored{}          // what each log has
	newest := map[uint32]stored{}        // epoch of a line, known to those who begin anew or not
	have := map[string]map[uint64]bool{}
	at := map[string]stored{}
	var text []string // in order
	var held *Event
	began := map[place]bool{} // epochs that anybody has installed
	for _, e := range events {
		if e.Kind == Decision && e.What.Kind == derecho.Installed {
			began[place{e.What.Group, e.What.Subgroup, e.What.Epoch}] = true
		}
	}
	for i := range events {
		if events[i].Kind == Decision {
			group[events[i].Node] = events[i].What.Group
		}
		switch e := &events[i]; {
		case e.Kind == Decision && e.What.Kind == derecho.Installed && e.What.Fresh && e.What.Subgroup == channels[logged].ID:
			if lineOf(line[e.What.Group], e.What.Epoch).from == e.What.Epoch {
				break // another member has begun it
			}
			own := lineOf(line[e.What.Group], e.What.Epoch).line
			if majority(e.What.Logs, newest[own].logs) && slices.ContainsFunc(text, func(t string) bool { return at[t].line == own }) {
				break // what the group itself has stored goes before what a log of another line knows
			}
			var last stored
			for _, l := range e.What.Logs {
				if logs[l].epoch > last.epoch {
					last = logs[l]
				}
			}
			last = newest[last.line]
			if majority(e.What.Logs, last.logs) {
				line[e.What.Group] = append(line[e.What.Group], history{e.What.Epoch, last.line})
			} else {
				lines++
				line[e.What.Group] = append(line[e.What.Group], history{e.What.Epoch, lines})
			}
		case e.Kind == Decision && e.What.Kind == derecho.Installed && e.What.Subgroup == channels[logged].ID && !began[place{e.What.Group, e.What.Subgroup, e.What.Epoch - 1}]:
			// Whoever began afresh, without the logs, has died before it had installed that epoch; or a number was left out.
			of := newest[lineOf(line[e.What.Group], e.What.Epoch).line].logs
			if len(of) > 0 && !majority(e.What.Logs, of) {
				lines++
				line[e.What.Group] = append(line[e.What.Group], history{e.What.Epoch, lines})
			}
		case e.Kind == Durable && e.Channel == 0:
			s := stored{lineOf(line[group[e.Node]], e.Epoch).line, e.Epoch, e.Logs}
			logs[e.Log] = s
			if s.epoch > newest[s.line].epoch {
				newest[s.line] = s
			}
		case e.Kind == Durable:
			if have[e.Text] == nil {
				have[e.Text] = map[uint64]bool{}
				text = append(text, e.Text)
			}
			have[e.Text][e.Log], at[e.Text] = true, logs[e.Log]
		case e.Kind == Holds && e.Channel == logged:
			held = e
		case e.Kind == Fault_ && strings.Contains(e.Text, "disk is lost"):
			return // all logs of an epoch may have been lost so
		}
	}
	if held == nil {
		return
	}
	in := map[string]bool{}
	for _, t := range strings.Fields(held.Text) {
		in[t] = true
	}
	for _, t := range text {
		everywhere := len(at[t].logs) > 0 && !slices.ContainsFunc(at[t].logs, func(l uint64) bool { return !have[t][l] })
		if everywhere && !in[t] && at[t].line == lineOf(line[group[held.Node]], forever32).line {
			c.failf("P2: %.40s was durable in all logs of epoch %d, and %s does not hold it", t, at[t].epoch, held.Node)
		}
	}
}
