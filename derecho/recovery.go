package derecho

import (
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
)

// recovery is how a Logged subgroup takes up what was stored of it when nobody was there any more. Each
// log tells what it holds (LogState); whose is taken up must not depend on who comes back first. It is a
// function of the endpoints and commands that all members have executed:
//
// Of the logs that are there, those that know the latest epoch name the logs that belonged to it. When all
// of these are there, or a majority and somebody has waited long enough (cmdHurry), the subgroup begins:
// for each channel the longest log is the one that counts, and all others get its state, by the same
// transfer as any newcomer. A log that comes later finds a replica that lives, and gets the state from it.
//
// When members fail, and with them the last that have the state of a channel, the subgroup waits for their logs in the
// same way: those of its last epoch.
type recovery struct {
	done  bool
	hurry bool // a majority is enough
	// virgin: no log that was there held anything, and there has been no writer since: whoever comes with a
	// log that does knows more than all who are there.
	virgin bool
	// epoch is the last before members failed, and logs those that belonged to it; 0 if none did.
	epoch uint32
	logs  []uint64
}

// recover brings the recovery of a subgroup up to date; failed may be nil. It reports whether what the
// members have of it is to be taken from logs anew.
func (c *catalogue) recover(sg *descriptor, failed func(NodeID) bool) (anew bool) {
	if sg.Mode != Logged {
		return false
	}
	r, known := c.recovery[sg.Subgroup]
	lost := failed != nil && r.done && c.bereft(sg, failed)
	if lost {
		r = recovery{epoch: sg.Epoch, logs: sg.Logs}
		for to := range c.loading {
			if to.subgroup == sg.Subgroup {
				delete(c.loading, to) // it gets what the logs say
			}
		}
	}
	if len(c.present(sg.Subgroup)) == 0 && (!known || r.done || r.epoch == 0) {
		delete(c.recovery, sg.Subgroup) // all have left: the next log begins anew
		return false
	}
	if r.done && (r.virgin || mutant.Is("late-returner")) && c.logged(sg.Subgroup) > 0 {
		r, anew = recovery{}, true
	}
	if !r.done {
		c.recovery[sg.Subgroup] = r // missing looks at it
		missing, of := c.missing(sg.Subgroup)
		there := of - len(missing)
		if mutant.Is("virgin-evidence") {
			there = len(c.present(sg.Subgroup))
		}
		r.done = len(missing) == 0 || r.hurry && (2*there > of || mutant.Is("hurry-any"))
		r.virgin = r.done && of == 0
		// All the logs are there already: those who wait for a state, of a node that had withdrawn its own log and
		// then failed, go on from theirs.
		anew = anew || lost && r.done
	}
	r.virgin = r.virgin && !slices.ContainsFunc(c.endpoints, func(e Endpoint) bool { return e.Writes.ID == sg.Subgroup })
	c.recovery[sg.Subgroup] = r
	return anew
}

// bereft: members failed, and nobody who is left has the state of some channel that they kept, or will have it.
func (c *catalogue) bereft(sg *descriptor, failed func(NodeID) bool) bool {
	has := map[ChannelID]bool{}
	for _, m := range sg.Members {
		for _, ch := range m.Channels {
			if !ch.Replica {
				continue
			}
			has[ch.ID] = has[ch.ID] || c.willHave(replica{sg.Subgroup, ch.ID, m.Node}, failed)
		}
	}
	for _, kept := range has {
		if !kept && !mutant.Is("bereft-goes-on") {
			return true
		}
	}
	return false
}

// willHave: a replica has the state of its channel, or waits for it from one that lives, and has it or will. That one
// may have withdrawn its endpoint; it sends what it owes before it leaves.
func (c *catalogue) willHave(r replica, failed func(NodeID) bool) bool {
	for !failed(r.node) {
		a, waits := c.loading[r]
		if !waits {
			return true
		}
		r.node = a.from // who took it in an earlier epoch: this ends
	}
	return false
}

// present are the logs of a subgroup that are there, each once.
func (c *catalogue) present(sg SubgroupID) (logs []*LogState) {
	for _, e := range c.endpoints {
		if e.Log != nil && e.names(sg) && !slices.ContainsFunc(logs, func(l *LogState) bool { return l.ID == e.Log.ID }) {
			logs = append(logs, e.Log)
		}
	}
	return logs
}

func (e *Endpoint) names(sg SubgroupID) bool {
	return e.Writes.ID == sg || slices.ContainsFunc(e.Reads, func(s Subgroup) bool { return s.ID == sg })
}

// missing are the logs that belonged to the latest epoch that any log knows and are not there, and how many
// belonged to it.
func (c *catalogue) missing(sg SubgroupID) (missing []uint64, of int) {
	present := c.present(sg)
	last := LogState{Epoch: c.recovery[sg].epoch, Logs: c.recovery[sg].logs}
	for _, l := range present {
		if l.Epoch > last.Epoch {
			last = *l
		}
	}
	for _, id := range last.Logs {
		if !slices.ContainsFunc(present, func(l *LogState) bool { return l.ID == id }) {
			missing = append(missing, id)
		}
	}
	return missing, len(last.Logs)
}

// longest is the replica of a channel whose log holds most; of equals the first by ID of the log.
func (c *catalogue) longest(d *descriptor, ch ChannelID) NodeID {
	var node NodeID
	var best *LogState
	for i := range c.endpoints {
		e := &c.endpoints[i]
		if e.Log == nil || !e.Replica || e.Channel != ch || !e.names(d.Subgroup) {
			continue
		}
		if best == nil || e.Log.counts(best) {
			node, best = e.Node, e.Log
		}
	}
	return node
}

// counts: it holds more than another log, or the same and is the first by ID.
func (l *LogState) counts(o *LogState) bool {
	switch {
	case mutant.Is("recover-first"):
		return false
	case l.Epoch != o.Epoch && !mutant.Is("recover-by-length"):
		return l.Epoch > o.Epoch
	case l.Seq != o.Seq:
		return l.Seq > o.Seq
	}
	return l.ID < o.ID
}

// logs are the logs that belong to an epoch that begins now: those that are there, and that of a node which is
// not any more and has what another still waits for.
func (c *catalogue) logs(sg SubgroupID) (ids []uint64) {
	for _, l := range c.present(sg) {
		ids = append(ids, l.ID)
	}
	for to, a := range c.loading {
		if to.subgroup == sg && a.log != 0 {
			ids = append(ids, a.log)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// logOf is the log of a node in a subgroup, 0 if it has none.
func (c *catalogue) logOf(sg SubgroupID, node NodeID) uint64 {
	for i := range c.endpoints {
		if e := &c.endpoints[i]; e.Node == node && e.Log != nil && e.names(sg) {
			return e.Log.ID
		}
	}
	for to, a := range c.loading { // its endpoint is gone already
		if to.subgroup == sg && a.from == node {
			return a.log
		}
	}
	return 0
}

// logged is the latest epoch that any log knows: epochs go on from there, so that positions in logs of
// different runs and nodes can be compared.
func (c *catalogue) logged(sg SubgroupID) (epoch uint32) {
	for _, l := range c.present(sg) {
		if !mutant.Is("restart-epochs") {
			epoch = max(epoch, l.Epoch)
		}
	}
	return epoch
}

// recovered: nobody waits for the logs of a subgroup that the endpoint names.
func (c *catalogue) recovered(ep Endpoint) bool {
	for sg, r := range c.recovery {
		if !r.done && ep.names(sg) {
			return false
		}
	}
	return true
}

// hurry lets a majority of the logs be enough.
func (c *catalogue) hurry(sg SubgroupID) []*descriptor {
	r, known := c.recovery[sg]
	if !known || r.done {
		return nil
	}
	r.hurry = true
	c.recovery[sg] = r
	return c.refresh(nil, Endpoint{Reads: []Subgroup{{sg, Logged}}})
}

// waiting tells of each subgroup that waits for logs which are missing.
func (c *catalogue) waiting() map[SubgroupID]string {
	var waiting map[SubgroupID]string
	for sg, r := range c.recovery {
		if r.done {
			continue
		}
		if waiting == nil {
			waiting = map[SubgroupID]string{}
		}
		missing, of := c.missing(sg)
		waiting[sg] = fmt.Sprintf("%d of the %d logs that were written last are not there (%016x): start the processes that have them", len(missing), of, missing)
	}
	return waiting
}
