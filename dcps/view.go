package dcps

import (
	"fmt"
	"slices"
	"time"

	"github.com/omg-dds-go/dds/derecho"
	"github.com/omg-dds-go/dds/topic"
)

// ViewChangeKind says why a view changed.
type ViewChangeKind uint8

const (
	// ViewJoined: a process has joined the domain. The first change at each participant is that it has joined itself.
	ViewJoined ViewChangeKind = iota + 1
	// ViewLeft: a process has left in order.
	ViewLeft
	// ViewFailed: the domain goes on without a process, which died or was not heard for too long.
	ViewFailed
	// ViewIsolated: this process hears too few of the others to go on. ViewResumed or ViewExcluded follows. Or it is to
	// join, for the first time or after ViewExcluded, and those that are left of the domain are too few to let it in:
	// ViewResumed or ViewRejoined follows.
	ViewIsolated
	// ViewResumed: this process hears enough of them again, and has missed nothing.
	ViewResumed
	// ViewExcluded: the others went on without this process, or it left its group for a larger one that it met. It
	// joins again by itself; ViewRejoined follows.
	ViewExcluded
	// ViewRejoined: this process is a member again, and its writers and readers are announced again.
	ViewRejoined
)

func (k ViewChangeKind) String() string {
	names := [...]string{"NONE", "JOINED", "LEFT", "FAILED", "ISOLATED", "RESUMED", "EXCLUDED", "REJOINED"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("VIEW_CHANGE_%d", k)
}

// ViewChange is one change of a participant's view.
type ViewChange struct {
	Why ViewChangeKind
	// Who joined, left or failed; the participant itself for all other kinds. Its Handle is that of the participant.
	Who Peer
	// Epoch is that of the view that begins with the change, or in which it comes.
	Epoch uint32
	// At is when this process learned of it. What readers were handed before has an earlier reception timestamp, and what they
	// were handed after it none that is earlier.
	At time.Time
	// Err is the cause of ViewIsolated and ViewExcluded, with details: derecho.ErrNoMajority, derecho.ErrExcluded, or
	// derecho.ErrOtherGroup, which is a derecho.ErrExcluded, too.
	Err error
}

// String gives "FAILED display (pid 17 on host) in view 4".
func (c ViewChange) String() string {
	text := fmt.Sprintf("%v %v in view %d", c.Why, c.Who, c.Epoch)
	if c.Err != nil {
		text += ": " + c.Err.Error()
	}
	return text
}

// ViewChangedStatus is the participant's (VIEW_CHANGED, extension): which processes the domain consists of, as they have
// agreed on it, and what became of this one.
type ViewChangedStatus struct {
	TotalCount       int32
	TotalCountChange int32
	// Epoch counts the views of the domain: all members give one view the same number.
	Epoch uint32
	// Members are in the order in which they joined, this process included. While it is cut off they are those of the
	// latest view that it was in.
	Members []Peer
	// Away is true while this process can not send: from ViewIsolated or ViewExcluded to ViewResumed or ViewRejoined.
	Away bool
	// Changes are those since the status was last looked at, oldest first; of many the latest.
	Changes []ViewChange
}

// Why is the kind of the latest of the changes; 0 if there are none.
func (s ViewChangedStatus) Why() ViewChangeKind {
	if n := len(s.Changes); n > 0 {
		return s.Changes[n-1].Why
	}
	return 0
}

// maxViewChanges bounds ViewChangedStatus.Changes: the oldest give way.
const maxViewChanges = 64

func (s *ViewChangedStatus) add(c *viewControl) {
	s.Epoch, s.Members, s.Away = c.epoch, c.members, c.away
	for _, change := range c.changes {
		s.TotalCount++
		s.TotalCountChange++
		if len(s.Changes) == maxViewChanges {
			s.Changes = slices.Delete(s.Changes, 0, 1)
		}
		s.Changes = append(s.Changes, change)
	}
}

// taken gives the status with slices of its own and starts a new count of changes.
func (s *ViewChangedStatus) taken() ViewChangedStatus {
	out := *s
	out.Members = slices.Clone(s.Members)
	s.TotalCountChange, s.Changes = 0, nil
	return out
}

// viewControl is what an item about the view carries: the state after it, and what led there.
type viewControl struct {
	epoch   uint32
	members []Peer // nobody changes them
	away    bool
	changes []ViewChange
}

// hubView is the view as the hub knows it. The polling goroutine's.
type hubView struct {
	epoch   uint32
	nodes   []derecho.MemberInfo
	members []Peer // the same
	// isolated and excluded tell why this process can not send. It is excluded until it is announced again, which is
	// after it is in a view again.
	isolated, excluded bool
	back               bool // excluded, and in a view again
	exclusion          error
}

// member describes a node; one that is not in the view by its ID alone.
func (v *hubView) member(id derecho.NodeID) derecho.MemberInfo {
	for _, m := range v.nodes {
		if m.ID == id {
			return m
		}
	}
	return derecho.MemberInfo{ID: id}
}

func (v *hubView) has(id derecho.NodeID) bool {
	return slices.ContainsFunc(v.nodes, func(m derecho.MemberInfo) bool { return m.ID == id })
}

// Viewed implements derecho.Handler.
func (h *hub) Viewed(v derecho.View) {
	was := h.view
	h.view.epoch, h.view.nodes, h.view.members = v.Epoch, v.Members, nil
	for _, m := range v.Members {
		h.view.members = append(h.view.members, peerOf(m))
	}
	h.showMembers()
	first := was.nodes == nil
	if was.excluded && !was.back {
		h.view.back = true
		h.tellView() // that it is back is told when it can send
		return
	}
	var changes []ViewChange
	at := time.Now()
	for i, m := range was.nodes {
		switch {
		case h.view.has(m.ID):
		case slices.Contains(v.Failed, m.ID):
			changes = append(changes, ViewChange{Why: ViewFailed, Who: was.members[i], Epoch: v.Epoch, At: at})
		default:
			changes = append(changes, ViewChange{Why: ViewLeft, Who: was.members[i], Epoch: v.Epoch, At: at})
		}
	}
	for i, m := range v.Members {
		if !was.has(m.ID) && (!first || uint64(m.ID) == h.self.Load()) {
			changes = append(changes, ViewChange{Why: ViewJoined, Who: h.view.members[i], Epoch: v.Epoch, At: at})
		}
	}
	h.tellView(changes...)
}

func peerOf(m derecho.MemberInfo) Peer {
	return Peer{Handle: topic.HandleOfEntity(uint64(origin(m.ID)), 0), Name: m.Name, Host: m.Host, PID: m.PID}
}

// cutOff follows what this process can not do for now: err is why, nil that it can.
func (h *hub) cutOff(err error, excluded bool) {
	v := &h.view
	c := ViewChange{Epoch: v.epoch, Err: err, At: time.Now()}
	self := origin(derecho.NodeID(h.self.Load())) // it may have another incarnation than in the view
	if i := slices.IndexFunc(v.nodes, func(m derecho.MemberInfo) bool { return origin(m.ID) == self }); i >= 0 {
		c.Who = v.members[i]
	}
	switch {
	case excluded:
		c.Why = ViewExcluded
		v.excluded, v.back, v.isolated = true, false, false
	case err != nil:
		c.Why = ViewIsolated
		v.isolated = true
	case v.excluded:
		c.Why = ViewRejoined
		v.excluded, v.back, v.isolated = false, false, false
	case v.isolated:
		c.Why = ViewResumed
		v.isolated = false
	default:
		return
	}
	h.tellView(c)
}

func (h *hub) tellView(changes ...ViewChange) {
	it := &item{kind: itemView, ctl: &control{view: &viewControl{
		epoch: h.view.epoch, members: h.view.members, away: h.view.isolated || h.view.excluded, changes: changes,
	}}}
	h.p.domain.post(it, it)
}

// ViewChangedStatus tells which processes the domain consists of and what has changed since it was last asked, and with
// that whether this process was cut off meanwhile, and is back (extension).
func (p *DomainParticipant) ViewChangedStatus() ViewChangedStatus {
	if p.absent() {
		return ViewChangedStatus{}
	}
	p.domain.lock()
	defer p.domain.unlock()
	p.domain.changed &^= ViewChangedStatusBit
	return p.domain.view.taken()
}

// StatusCondition gives the participant's condition (DDS: get_statuscondition). ViewChangedStatusBit is its only status.
func (p *DomainParticipant) StatusCondition() *StatusCondition {
	if p.absent() {
		return nil
	}
	return p.domain.status
}

// StatusChanges tells which statuses changed since they were looked at (DDS: get_status_changes).
func (p *DomainParticipant) StatusChanges() StatusMask {
	if p.absent() {
		return 0
	}
	return p.domain.statusChanges()
}
