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
// When members fail, and with them the last that have the state of a channel, only that channel goes back to the logs
// (bereft.go).
type recovery struct {
	done  bool
	hurry bool // a majority is enough
	// virgin: no log that was there held anything, and there has been no writer since: whoever comes with a
	// log that does knows more than all who are there.
	virgin bool
}

// recover brings the recovery of a subgroup up to date. It reports whether what the members have of it is to be taken
// from logs anew.
func (c *catalogue) recover(sg *descriptor) (anew bool) {
	if sg.Mode != Logged {
		return false
	}
	if len(c.present(sg.Subgroup)) == 0 {
		delete(c.recovery, sg.Subgroup) // all have left: the next log begins anew
		return false
	}
	r := c.recovery[sg.Subgroup]
	if r.done && (r.virgin || mutant.Is("late-returner")) && c.logged(sg.Subgroup) > 0 {
		r, anew = recovery{}, true
	}
	if !r.done {
		missing, of := c.missing(sg.Subgroup)
		there := of - len(missing)
		if mutant.Is("virgin-evidence") {
			there = len(c.present(sg.Subgroup))
		}
		r.done = len(missing) == 0 || r.hurry && (2*there > of || mutant.Is("hurry-any"))
		r.virgin = r.done && of == 0 && len(c.bereavedOf(sg.Subgroup)) == 0
	}
	r.virgin = r.virgin && !slices.ContainsFunc(c.endpoints, func(e Endpoint) bool { return e.Writes.ID == sg.Subgroup })
	c.recovery[sg.Subgroup] = r
	return anew
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
	var last LogState
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

// longest is the replica of a channel whose log holds most, of those that are let; of equals the first by ID of the log.
func (c *catalogue) longest(k keptChannel, let func(log uint64) bool) NodeID {
	var node NodeID
	var best *LogState
	for i := range c.endpoints {
		e := &c.endpoints[i]
		if e.Log == nil || !e.Replica || e.Channel != k.channel || !e.names(k.subgroup) || !let(e.Log.ID) {
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

// logs are the logs that belong to an epoch that begins now: those that are there, and those of nodes that are
// not any more, and have what another still waits for or nobody else has.
func (c *catalogue) logs(sg SubgroupID) (ids []uint64) {
	for _, l := range c.present(sg) {
		ids = append(ids, l.ID)
	}
	for to, a := range c.loading {
		if to.subgroup == sg && a.log != 0 {
			ids = append(ids, a.log)
		}
	}
	for _, ch := range c.bereavedOf(sg) {
		ids = append(ids, c.bereaved[keptChannel{sg, ch}].logs...)
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

// patient: some logs of a subgroup are missing, and a majority of them is not enough yet.
func (c *catalogue) patient(sg SubgroupID) bool {
	if r, known := c.recovery[sg]; known && !r.done {
		return !r.hurry
	}
	return slices.ContainsFunc(c.bereavedOf(sg), func(ch ChannelID) bool {
		k := keptChannel{sg, ch}
		return c.awaitsLogs(k) && !c.bereaved[k].hurry
	})
}

// hurry lets a majority of the logs be enough.
func (c *catalogue) hurry(sg SubgroupID) []*descriptor {
	if !c.patient(sg) {
		return nil
	}
	if r, known := c.recovery[sg]; known && !r.done {
		r.hurry = true
		c.recovery[sg] = r
	}
	for _, ch := range c.bereavedOf(sg) {
		if k := (keptChannel{sg, ch}); c.awaitsLogs(k) {
			b := c.bereaved[k]
			b.hurry = true
			c.bereaved[k] = b
		}
	}
	return c.refresh(nobody, Endpoint{Reads: []Subgroup{{sg, Logged}}})
}

// waiting tells of each subgroup that waits for logs which are missing.
func (c *catalogue) waiting() map[SubgroupID]string {
	var waiting map[SubgroupID]string
	tell := func(sg SubgroupID, text string) {
		if waiting == nil {
			waiting = map[SubgroupID]string{}
		}
		if before := waiting[sg]; before != "" {
			text = before + "; " + text
		}
		waiting[sg] = text
	}
	for sg, r := range c.recovery {
		if !r.done {
			missing, of := c.missing(sg)
			tell(sg, fmt.Sprintf("%d of the %d logs that were written last are not there (%016x): start the processes that have them", len(missing), of, missing))
		}
	}
	c.bereftWaiting(tell)
	return waiting
}
