package derecho

import (
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/sst"
)

// An epoch whose members failed goes on without them. Nobody else's messages are cut: the senders that
// live have begun the next epoch and theirs come to their end as in any other; from now on they are
// stable when those that live have them. What has to be agreed on is where a sender that failed ends,
// its ragged trim: each receiver tells, through the control subgroup, how much of it it has, and all
// take the least. So the order of the control subgroup, and not a second protocol, makes every member
// trim alike, however many fail meanwhile.
//
// Nothing that anybody delivered, not even a member that failed, is cut off: what is delivered is held
// by every receiver before; a receiver that has told how much it has takes no more; and where holding
// needs no acknowledgement, the fences were raised before the counters were read. Each epoch is trimmed by itself; that
// none keeps what follows on something that another loses is the sender's doing (withhold.go).

// cutAt ends a control epoch as the members have agreed.
func (e *epoch) cutAt(d *decision) {
	if !slices.ContainsFunc(d.ends, func(end uint64) bool { return end != sst.Forever }) {
		e.whole = true
		return
	}
	e.ends = d.ends
	e.forget(func(i int) bool { return !d.stay.has(i) })
}

// forget marks members as failed: nothing is expected of them any more. It reports whether there are any
// that were not yet.
func (e *epoch) forget(failed func(member int) bool) bool {
	hit := false
	for i := range e.desc.Members {
		if !e.gone[i] && i != e.me && failed(i) {
			e.gone[i], hit = true, true
		}
	}
	if !hit {
		return false
	}
	gone := func(i int) bool { return e.gone[i] }
	live := slices.DeleteFunc(slices.Clone(*e.receivers.Load()), gone)
	if !mutant.Is("trim-waits-for-dead") {
		e.receivers.Store(&live)
	}
	for rank := range e.awaitsAck {
		e.awaitsAck[rank] = slices.DeleteFunc(e.awaitsAck[rank], gone)
	}
	e.openRows()
	e.wakeAll()
	return true
}

// removeMembers goes on without members that failed, and reports what this node has of theirs.
func (e *epoch) removeMembers(failed func(NodeID) bool) {
	hit := e.forget(func(i int) bool { return failed(e.node(i)) })
	if !hit || !e.receiving || mutant.Is("trim-none") {
		return
	}
	report := trimReport{subgroup: e.g.id, epoch: e.desc.Epoch}
	for rank, s := range e.senders {
		if !e.gone[s] || e.ends[rank] != sst.Forever {
			continue
		}
		has := uint64(0)
		switch r := e.recvs[rank]; {
		case e.drained:
			has = sst.Forever // it was to the end, or this node would wait
		case r != nil:
			if !e.open[rank] && failed(e.node(s)) && !mutant.Is("trim-unpolled") {
				r.Poll() // the last time
			}
			has = r.Next()
		}
		if e.desc.Mode == Unordered {
			e.ends[rank] = has
			continue
		}
		e.open[rank] = !e.drained
		report.ranks, report.has = append(report.ranks, uint32(rank)), append(report.has, has)
	}
	if len(report.ranks) > 0 {
		e.g.m.noteReport(e, report)
		e.g.m.submit(report.encode())
	}
}

// reported takes a receiver's report, in the order of the control subgroup.
func (e *epoch) reported(from NodeID, t trimReport) {
	for k, rank := range t.ranks {
		if int(rank) >= len(e.senders) || !e.open[rank] {
			continue
		}
		if e.reports[rank] == nil {
			e.reports[rank] = map[NodeID]uint64{}
		}
		e.reports[rank][from] = t.has[k]
	}
	e.trim()
}

// trim settles the end of senders of which every receiver has reported.
func (e *epoch) trim() {
	settled := false
	for rank := range e.open {
		if !e.open[rank] {
			continue
		}
		end, all := uint64(sst.Forever), true
		for _, i := range *e.receivers.Load() {
			has, told := e.reports[rank][e.node(i)]
			if mutant.Is("trim-first") && !told || mutant.Is("trim-own") && i != e.me {
				continue
			}
			end, all = min(end, has), all && told
		}
		if all {
			e.open[rank], e.ends[rank], settled = false, end, true
		}
	}
	if settled {
		e.g.m.note(Trimmed, e)
	}
}
