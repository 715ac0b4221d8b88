package dcps

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The naive twin of matching: the column RxO of the table of DDS 1.4 §2.2.3, as the standard words it, over all pairs after each
// operation.

// naiveRow is a policy with what is offered and requested of it.
type naiveRow struct {
	id                 qos.PolicyID
	offered, requested any
	compatible         bool
}

func naiveTable(s *sides) []naiveRow {
	p, q := s.pub.Presentation, s.sub.Presentation
	w, r := &s.w, &s.r
	order := 1 // CONSISTENCY, an extension: what RELIABILITY and DURABILITY give
	if w.Reliability.Kind == qos.ReliabilityReliable {
		order = 2
		if w.Durability.Kind == qos.DurabilityPersistent {
			order = 3
		}
	}
	wants := map[qos.ConsistencyKind]int{qos.ConsistencyPerWriter: 1, qos.ConsistencyTotalOrder: 2, qos.ConsistencyTotalOrderDurable: 3}[r.Consistency.Kind]
	return []naiveRow{
		{qos.PolicyDurability, w.Durability, r.Durability, w.Durability.Kind >= r.Durability.Kind},
		{qos.PolicyPresentation, p, q, p.AccessScope >= q.AccessScope && !(q.CoherentAccess && !p.CoherentAccess) && !(q.OrderedAccess && !p.OrderedAccess)},
		{qos.PolicyDeadline, w.Deadline, r.Deadline, w.Deadline.Period <= r.Deadline.Period},
		{qos.PolicyLatencyBudget, w.LatencyBudget, r.LatencyBudget, w.LatencyBudget.Duration <= r.LatencyBudget.Duration},
		{qos.PolicyOwnership, w.Ownership, r.Ownership, w.Ownership == r.Ownership},
		{qos.PolicyLiveliness, w.Liveliness, r.Liveliness, w.Liveliness.Kind >= r.Liveliness.Kind && w.Liveliness.LeaseDuration <= r.Liveliness.LeaseDuration},
		{qos.PolicyReliability, w.Reliability.Kind, r.Reliability.Kind, w.Reliability.Kind >= r.Reliability.Kind},
		{qos.PolicyDestinationOrder, w.DestinationOrder, r.DestinationOrder, w.DestinationOrder.Kind >= r.DestinationOrder.Kind},
		{qos.PolicyDataRepresentation, w.DataRepresentation, r.DataRepresentation, naiveRepresentation(w.DataRepresentation.Value, r.DataRepresentation.Value)},
		{qos.PolicyConsistency, order, wants, order >= wants},
	}
}

// naiveRepresentation: the first that is offered is among those requested; no list is XCDR1, and AUTO is either (XTypes
// 1.3, 7.6.3.1).
func naiveRepresentation(offered, requested []qos.DataRepresentationKind) bool {
	const one, two = qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2
	meaning := func(k qos.DataRepresentationKind) []qos.DataRepresentationKind {
		if k == qos.DataRepresentationAuto {
			return []qos.DataRepresentationKind{one, two}
		}
		return []qos.DataRepresentationKind{k}
	}
	offer, accepts := meaning(one), meaning(one)
	if len(offered) > 0 {
		offer = meaning(offered[0])
	}
	if len(requested) > 0 {
		accepts = nil
		for _, k := range requested {
			accepts = append(accepts, meaning(k)...)
		}
	}
	return slices.ContainsFunc(offer, func(k qos.DataRepresentationKind) bool { return slices.Contains(accepts, k) })
}

// naiveEnd is a writer or reader with the statuses that it ought to have.
type naiveEnd struct {
	node   *node
	qos    sides // its half
	w      *DataWriter[track]
	r      *DataReader[track]
	pub    *Publisher
	sub    *Subscriber
	before map[*naiveEnd]string // of each peer: "matched", what keeps them apart, or nothing

	matched, current, matchedChange, currentChange int32
	refused, refusedChange                         int32
	counts                                         map[qos.PolicyID]int32
	last                                           []qos.PolicyID // of the latest operation: LastPolicyID is one of them
}

// meet compares a writer and a reader after something has changed.
func meet(w, r *naiveEnd) {
	s := sides{w.qos.w, w.qos.pub, r.qos.r, r.qos.sub}
	is := ""
	var bad []qos.PolicyID
	if naivePartitions(s.pub.Partition.Name, s.sub.Partition.Name) {
		for _, row := range naiveTable(&s) {
			if !row.compatible {
				bad = append(bad, row.id)
				is += fmt.Sprintln(row.id, row.offered, row.requested)
			}
		}
		if bad == nil {
			is = "matched"
		}
	}
	was := w.before[r]
	w.before[r], r.before[w] = is, is
	for _, e := range []*naiveEnd{w, r} {
		switch {
		case is == was:
		case is == "matched":
			e.matched, e.matchedChange, e.current, e.currentChange = e.matched+1, e.matchedChange+1, e.current+1, e.currentChange+1
		case was == "matched":
			e.current, e.currentChange = e.current-1, e.currentChange-1
		}
		if is != was && bad != nil {
			e.refused, e.refusedChange = e.refused+1, e.refusedChange+1
			for _, id := range bad {
				e.counts[id]++
			}
			e.last = append(e.last, bad...)
		}
	}
}

// naivePartitions: one name of each in common, where no name is the name "", and a Subscriber's may be "*".
func naivePartitions(offered, requested []string) bool {
	names := func(list []string) []string {
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
	for _, o := range names(offered) {
		for _, r := range names(requested) {
			if o == r || r == "*" {
				return true
			}
		}
	}
	return false
}

// look compares the statuses of an end with what they ought to be, and reads them by that.
func (e *naiveEnd) look(t *rapid.T) {
	var matched MatchedStatus
	var refused IncompatibleQosStatus
	if e.w != nil {
		matched, refused = e.w.PublicationMatchedStatus(), e.w.OfferedIncompatibleQosStatus()
	} else {
		matched, refused = e.r.SubscriptionMatchedStatus(), e.r.RequestedIncompatibleQosStatus()
	}
	want := []int32{e.matched, e.matchedChange, e.current, e.currentChange, e.refused, e.refusedChange}
	got := []int32{
		matched.TotalCount, matched.TotalCountChange, matched.CurrentCount, matched.CurrentCountChange, refused.TotalCount, refused.TotalCountChange,
	}
	if !slices.Equal(want, got) {
		t.Fatalf("matched total, change, current, change, incompatible total, change: %v, want %v\n%+v\n%v", got, want, refused, e.before)
	}
	counts := map[qos.PolicyID]int32{}
	for _, p := range refused.Policies {
		counts[p.Policy] = p.Count
	}
	if fmt.Sprint(counts) != fmt.Sprint(e.counts) {
		t.Fatalf("policies %v, want %v", counts, e.counts)
	}
	if e.refusedChange > 0 && !slices.Contains(e.last, refused.LastPolicyID) {
		t.Fatalf("the last policy is %v, which is none of %v", refused.LastPolicyID, e.last)
	}
	e.matchedChange, e.currentChange, e.refusedChange, e.last = 0, 0, 0, nil
}

// drawSides draws both halves of a QoS; who is made of it has one.
func drawSides(t *rapid.T) sides {
	s := sides{writerQos(), qos.DefaultPublisher(), qos.DefaultDataReader(), qos.DefaultSubscriber()}
	// One in four policies differs from what serves everybody, so that some match and most have few reasons not to.
	odd := func(name string) bool { return rapid.IntRange(0, 3).Draw(t, name) == 0 }
	if odd("reliability") {
		s.w.Reliability.Kind, s.r.Reliability.Kind = qos.ReliabilityBestEffort, qos.ReliabilityReliable
	}
	if odd("durability") && s.w.Reliability.Kind == qos.ReliabilityReliable {
		s.w.Durability.Kind = rapid.SampledFrom([]qos.DurabilityKind{
			qos.DurabilityTransientLocal, qos.DurabilityTransient, qos.DurabilityPersistent, qos.DurabilityPersistent,
		}).Draw(t, "kind")
		s.r.Durability.Kind, s.r.Reliability.Kind = s.w.Durability.Kind, qos.ReliabilityReliable
	}
	drawDurations(t, &s)
	if odd("ownership") {
		s.w.Ownership.Kind, s.r.Ownership.Kind = qos.OwnershipExclusive, qos.OwnershipExclusive
	}
	if odd("liveliness") {
		l := qos.Liveliness{
			Kind:          rapid.SampledFrom([]qos.LivelinessKind{qos.LivelinessAutomatic, qos.LivelinessManualByParticipant, qos.LivelinessManualByTopic}).Draw(t, "kind"),
			LeaseDuration: rapid.SampledFrom([]time.Duration{time.Hour, 2 * time.Hour, qos.Infinite}).Draw(t, "lease"),
		}
		s.w.Liveliness, s.r.Liveliness = l, l
	}
	if odd("order") {
		s.w.DestinationOrder.Kind, s.r.DestinationOrder.Kind = qos.DestinationOrderBySourceTimestamp, qos.DestinationOrderBySourceTimestamp
	}
	if odd("presentation") {
		s.pub.Presentation = qos.Presentation{
			AccessScope:    rapid.SampledFrom([]qos.PresentationAccessScopeKind{qos.PresentationInstance, qos.PresentationTopic, qos.PresentationGroup}).Draw(t, "scope"),
			CoherentAccess: rapid.Bool().Draw(t, "coherent"), OrderedAccess: rapid.Bool().Draw(t, "ordered"),
		}
		s.sub.Presentation = s.pub.Presentation
	}
	if odd("consistency") {
		s.r.Consistency.Kind = qos.ConsistencyPerWriter
		if s.r.Reliability.Kind == qos.ReliabilityReliable {
			s.r.Consistency.Kind = rapid.SampledFrom([]qos.ConsistencyKind{qos.ConsistencyTotalOrder, qos.ConsistencyTotalOrderDurable}).Draw(t, "how much")
		}
	}
	if odd("representation") {
		const one, two, auto = qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2, qos.DataRepresentationAuto
		s.w.DataRepresentation.Value = rapid.SampledFrom([][]qos.DataRepresentationKind{{one}, {two}, {two, one}, {auto}}).Draw(t, "offered representations")
		s.r.DataRepresentation.Value = rapid.SampledFrom([][]qos.DataRepresentationKind{{one}, {two}, {one, two}, {auto}}).Draw(t, "requested representations")
	}
	drawPartitions(t, &s)
	return s
}

// drawDurations draws the policies of writers and readers that may change at run time.
func drawDurations(t *rapid.T, s *sides) {
	s.w.Deadline.Period = rapid.SampledFrom([]time.Duration{time.Hour, time.Hour, 2 * time.Hour}).Draw(t, "offered deadline")
	s.r.Deadline.Period = rapid.SampledFrom([]time.Duration{time.Hour, qos.Infinite, qos.Infinite}).Draw(t, "requested deadline")
	s.w.LatencyBudget.Duration = rapid.SampledFrom([]time.Duration{0, 0, 1}).Draw(t, "offered budget")
	s.r.LatencyBudget.Duration = rapid.SampledFrom([]time.Duration{0, 1, 1}).Draw(t, "requested budget")
}

func drawPartitions(t *rapid.T, s *sides) {
	s.pub.Partition.Name = rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "offered partition")
	s.sub.Partition.Name = rapid.SampledFrom([][]string{nil, {"a"}, {"b", ""}, {"*"}}).Draw(t, "requested partition")
}

// Whatever writers and readers there are, wherever, with whatever QoS, and however that changes: both sides' statuses
// are those of the table. What may not change does not, and is refused.
//
// Clauses: 2.2.3, 2.2.2.1.1.1, 2.2.4.2.1
func TestDDS14_2_2_3_RxO_Oracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := onBus(t)
		nodes := []*node{d.node(t, WithSettings(Settings{Dir: t.TempDir()})), d.node(t, WithSettings(Settings{Dir: t.TempDir()}))}
		defer func() {
			for _, n := range nodes {
				require.NoError(rt, n.p.Close())
			}
		}()
		var ends []*naiveEnd
		changed := func(e *naiveEnd) {
			for _, o := range ends {
				switch {
				case e.w != nil && o.r != nil:
					meet(e, o)
				case e.r != nil && o.w != nil:
					meet(o, e)
				}
			}
			d.bus.settle(t)
			for _, e := range ends {
				e.look(rt)
			}
		}
		for range rapid.IntRange(2, 12).Draw(rt, "steps") {
			drawn := drawSides(rt)
			var e *naiveEnd
			if len(ends) > 0 {
				e = ends[rapid.IntRange(0, len(ends)-1).Draw(rt, "which")]
			}
			op := rapid.SampledFrom([]string{"writer", "reader", "set", "partition", "refused", "close"}).Draw(rt, "op")
			if e == nil && op != "reader" {
				op = "writer"
			}
			switch op {
			case "writer", "reader":
				e = &naiveEnd{
					node: nodes[rapid.IntRange(0, 1).Draw(rt, "node")], qos: drawn, before: map[*naiveEnd]string{}, counts: map[qos.PolicyID]int32{},
				}
				e.open(t, op == "writer")
				ends = append(ends, e)
			case "set":
				e.qos.w.Deadline, e.qos.w.LatencyBudget = drawn.w.Deadline, drawn.w.LatencyBudget
				e.qos.r.Deadline, e.qos.r.LatencyBudget = drawn.r.Deadline, drawn.r.LatencyBudget
				require.NoError(rt, e.set())
			case "partition":
				e.qos.pub.Partition, e.qos.sub.Partition = drawn.pub.Partition, drawn.sub.Partition
				require.NoError(rt, e.regroup())
			case "refused":
				was := e.qos
				e.qos.w.Ownership.Kind = 3 - e.qos.w.Ownership.Kind
				e.qos.r.DestinationOrder.Kind = 3 - e.qos.r.DestinationOrder.Kind
				require.ErrorIs(rt, e.set(), ErrImmutablePolicy)
				e.qos = was
			case "close":
				ends = slices.DeleteFunc(ends, func(o *naiveEnd) bool { return o == e })
				e.close(t, ends)
			}
			if op == "close" {
				changed(&naiveEnd{})
			} else {
				changed(e)
			}
		}
	})
}

func (e *naiveEnd) open(t *testing.T, writes bool) {
	if writes {
		e.w = e.node.writerOf(t, e.qos.pub, e.qos.w)
		e.pub = e.w.Publisher()
		return
	}
	var err error
	e.sub, err = e.node.p.NewSubscriber(WithSubscriberQos(e.qos.sub))
	require.NoError(t, err)
	e.r, err = NewDataReader(e.sub, e.node.topic(t), WithReaderQos(e.qos.r))
	require.NoError(t, err)
}

func (e *naiveEnd) set() error {
	if e.w != nil {
		return e.w.SetQos(e.qos.w)
	}
	return e.r.SetQos(e.qos.r)
}

func (e *naiveEnd) regroup() error {
	if e.w != nil {
		return e.pub.SetQos(e.qos.pub)
	}
	return e.sub.SetQos(e.qos.sub)
}

// close ends an end: those that were matched with it are so no more.
func (e *naiveEnd) close(t *testing.T, rest []*naiveEnd) {
	for _, o := range rest {
		if e.before[o] == "matched" {
			o.current, o.currentChange = o.current-1, o.currentChange-1
		}
		delete(o.before, e)
	}
	if e.w != nil {
		require.NoError(t, e.w.Close())
	} else {
		require.NoError(t, e.r.Close())
	}
}
