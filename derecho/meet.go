package derecho

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/omg-dds-go/dds/internal/mutant"
	"github.com/omg-dds-go/dds/rdma"
)

// checkGroupsSoon has it looked with the next pass whether other groups are met.
func (m *machine) checkGroupsSoon() {
	m.deferred = append(m.deferred, deferred{func() bool { return true }, m.checkGroups})
}

// checkGroups looks at all whose status is known.
func (m *machine) checkGroups() {
	for _, id := range slices.Sorted(maps.Keys(m.statuses)) {
		if l := m.links[id]; l != nil {
			m.checkGroup(l.Peer(), m.statuses[id], false)
		}
	}
}

// parting: an incarnation of this process has been in a group, and has gone over to another. whole: it had a majority.
type parting struct {
	group uint64
	node  NodeID
	whole bool
	view  uint32 // in which it was then
}

// maxPartings is how many a node tells of. Whoever has not heard of one when that many more have followed is told
// nothing of it.
const maxPartings = 8

// size orders groups. Of two with as many members the larger one has the larger number: that is no matter of the two
// members that meet, else nodes of both might go over, and the rest of either would have no majority.
func (s status) size(o status) int {
	return cmp.Or(cmp.Compare(s.members, o.members), cmp.Compare(s.group, o.group))
}

// outranks: nodes of another group go over to that of this status, if it is the larger one. A member that hears too few
// of its group can let nobody in.
func (s status) outranks(o status) bool {
	return s.cutOff == "" && (s.size(o) > 0 || o.cutOff != "" && s.members == o.members)
}

// checkGroup notices that there are two groups in one domain: of nodes that could not reach each other when they
// started. One of them ends, and its nodes join the other.
//
// What a member knows of the sizes of both groups may be old, so not all of a group come to the same end. Whoever goes
// over tells the rest in its next incarnation, and they follow. Should both groups end, one that all are in begins
// anew. If a group had no majority when a member of it went over, the others may have gone on, or do: only those follow
// that have none either.
//
// That a group has lost its majority is told late, by up to three leases. So nobody goes over before a member of the
// other one has vouched for it: it sends its status again when a command has been executed that it sent when it was
// asked to.
func (m *machine) checkGroup(p rdma.PeerInfo, s status, vouched bool) {
	own := m.status()
	leaves := m.phase == leaving && !m.departed && !mutant.Is("leaver-stays") // and waits for a majority of its group
	if m.phase != joined && !leaves {
		return
	}
	if m.leads(s) {
		m.giveWay(fmt.Errorf("%w: %s (process %d on %s) has left this one", ErrOtherGroup, p.Name, p.PID, p.Host))
		return
	}
	if !s.joined || s.group == own.group || mutant.Is("remnant-stays") && m.cutOff != "" && !leaves {
		return
	}
	if m.cutOff != "" && m.view.has(NodeID(p.ID)) && !mutant.Is("phantom-awaited") {
		// It was let in here, and never heard so: it will have no part in this view.
		m.giveWay(fmt.Errorf("%w: %s (process %d on %s) was let into this one, and is in another", ErrOtherGroup, p.Name, p.PID, p.Host))
		return
	}
	why := ""
	switch {
	case leaves && m.cutOff != "": // nobody goes over to it, and some of its own group may have
		why = " and no majority"
	case !s.outranks(own):
		return
	case !vouched && !mutant.Is("unvouched"):
		m.send(NodeID(p.ID), msgVouch, nil)
		return
	}
	m.giveWay(fmt.Errorf("%w: that of %s (process %d on %s) has %d members, this one %d%s", ErrOtherGroup, p.Name, p.PID,
		p.Host, s.members, own.members, why))
}

// leads: a process says that it was a member of this view, and has gone over to another group. It may not have known
// that it was: of two groups that were to let it in it was in one. Or it was in a later view of this group: then this
// one has ended, and it can not tell how.
func (m *machine) leads(s status) bool {
	return !mutant.Is("parted-alone") && slices.ContainsFunc(s.parted, func(p parting) bool {
		same, ahead := p.group == m.view.group, p.view > m.view.epoch
		return m.view.has(p.node) && (p.whole && same || m.cutOff != "") || m.cutOff != "" && same && ahead && !mutant.Is("behind-stays")
	})
}

// ends: a member of a group from which this process has gone over to another will follow. In a later view the group may
// have gone on without this process.
func (m *machine) ends(s status) bool {
	return slices.ContainsFunc(m.parted, func(p parting) bool { return p.whole && p.group == s.group && s.before.view < p.view })
}

// outlived: of this group the view has ended that follows the one of this node, and whoever knows of the first of the
// two ends may be gone. A view does not end with a member that has no part in it: neither can it have acknowledged all,
// nor promised.
func (m *machine) outlived(s status) bool {
	return m.phase >= joined && !m.departed && s.joined && s.group == m.view.group && s.before.view > m.view.epoch
}
