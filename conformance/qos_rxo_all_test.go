package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/assert"
)

// The tables of qos_rxo_test.go are the standard's, row by row. Here every value that a policy can take is offered to every
// other, and the rule is the sentence of the standard, written out once more as a formula.

// crossRxO offers each value to each. Of the other policies nothing may be reported.
func crossRxO[P any](t *testing.T, id qos.PolicyID, values []P, compatible func(o, r P) bool, set func(s *side, offered, requested P)) {
	t.Helper()
	covered[id] = true
	for _, o := range values {
		for _, r := range values {
			s := side{qos.DefaultDataWriter(), qos.DefaultDataReader(), qos.DefaultPublisher(), qos.DefaultSubscriber()}
			set(&s, o, r)
			var policies []qos.PolicyID
			for _, i := range qos.Compatible(s.writer, s.reader, s.pub, s.sub) {
				policies = append(policies, i.Policy)
			}
			if compatible(o, r) {
				assert.Empty(t, policies, "%v offered %v requested %v", id, o, r)
			} else {
				assert.Equal(t, []qos.PolicyID{id}, policies, "%v offered %v requested %v", id, o, r)
			}
		}
	}
}

// covered are the policies that crossRxO has seen.
var covered = map[qos.PolicyID]bool{}

var durations = []time.Duration{0, 1, time.Millisecond, time.Second, time.Second + 1, time.Hour, qos.Infinite - 1, qos.Infinite}

func TestDDS14_2_2_3_RxO_EveryPolicyEveryPair(t *testing.T) {
	crossRxO(t, qos.PolicyDurability, // "offered kind >= requested kind", VOLATILE < TRANSIENT_LOCAL < TRANSIENT < PERSISTENT
		[]qos.DurabilityKind{qos.DurabilityVolatile, qos.DurabilityTransientLocal, qos.DurabilityTransient, qos.DurabilityPersistent},
		func(o, r qos.DurabilityKind) bool { return o >= r },
		func(s *side, o, r qos.DurabilityKind) { s.writer.Durability.Kind, s.reader.Durability.Kind = o, r })

	var presentations []qos.Presentation
	for _, scope := range []qos.PresentationAccessScopeKind{qos.PresentationInstance, qos.PresentationTopic, qos.PresentationGroup} {
		for _, coherent := range []bool{false, true} {
			for _, ordered := range []bool{false, true} {
				presentations = append(presentations, qos.Presentation{AccessScope: scope, CoherentAccess: coherent, OrderedAccess: ordered})
			}
		}
	}
	crossRxO(t, qos.PolicyPresentation, presentations,
		func(o, r qos.Presentation) bool {
			scope := o.AccessScope >= r.AccessScope
			coherent := !r.CoherentAccess || o.CoherentAccess && r.CoherentAccess
			ordered := !r.OrderedAccess || o.OrderedAccess && r.OrderedAccess
			return scope && coherent && ordered
		},
		func(s *side, o, r qos.Presentation) { s.pub.Presentation, s.sub.Presentation = o, r })

	crossRxO(t, qos.PolicyDeadline, durations, // "offered deadline period <= requested deadline period"
		func(o, r time.Duration) bool { return o <= r },
		func(s *side, o, r time.Duration) { s.writer.Deadline.Period, s.reader.Deadline.Period = o, r })
	crossRxO(t, qos.PolicyLatencyBudget, durations, // "offered duration <= requested duration"
		func(o, r time.Duration) bool { return o <= r },
		func(s *side, o, r time.Duration) {
			s.writer.LatencyBudget.Duration, s.reader.LatencyBudget.Duration = o, r
		})

	crossRxO(t, qos.PolicyOwnership, // "must exactly match"
		[]qos.OwnershipKind{qos.OwnershipShared, qos.OwnershipExclusive},
		func(o, r qos.OwnershipKind) bool { return o == r },
		func(s *side, o, r qos.OwnershipKind) { s.writer.Ownership.Kind, s.reader.Ownership.Kind = o, r })

	var liveliness []qos.Liveliness
	for _, kind := range []qos.LivelinessKind{qos.LivelinessAutomatic, qos.LivelinessManualByParticipant, qos.LivelinessManualByTopic} {
		for _, lease := range durations {
			liveliness = append(liveliness, qos.Liveliness{Kind: kind, LeaseDuration: lease})
		}
	}
	crossRxO(t, qos.PolicyLiveliness, liveliness, // "offered kind >= requested kind and offered lease_duration <= requested lease_duration"
		func(o, r qos.Liveliness) bool { return o.Kind >= r.Kind && o.LeaseDuration <= r.LeaseDuration },
		func(s *side, o, r qos.Liveliness) { s.writer.Liveliness, s.reader.Liveliness = o, r })

	var reliability []qos.Reliability
	for _, kind := range []qos.ReliabilityKind{qos.ReliabilityBestEffort, qos.ReliabilityReliable} {
		for _, block := range durations {
			reliability = append(reliability, qos.Reliability{Kind: kind, MaxBlockingTime: block})
		}
	}
	crossRxO(t, qos.PolicyReliability, reliability, // "offered kind >= requested kind", whatever the writer waits
		func(o, r qos.Reliability) bool { return o.Kind >= r.Kind },
		func(s *side, o, r qos.Reliability) { s.writer.Reliability, s.reader.Reliability = o, r })

	crossRxO(t, qos.PolicyDestinationOrder, // "offered kind >= requested kind"
		[]qos.DestinationOrderKind{qos.DestinationOrderByReceptionTimestamp, qos.DestinationOrderBySourceTimestamp},
		func(o, r qos.DestinationOrderKind) bool { return o >= r },
		func(s *side, o, r qos.DestinationOrderKind) {
			s.writer.DestinationOrder.Kind, s.reader.DestinationOrder.Kind = o, r
		})

	crossRxO(t, qos.PolicyDataRepresentation, representationLists(), representationsFit,
		func(s *side, o, r []qos.DataRepresentationKind) {
			s.writer.DataRepresentation.Value, s.reader.DataRepresentation.Value = o, r
		})

	crossRxO(t, qos.PolicyConsistency,
		[]qos.ConsistencyKind{qos.ConsistencyPerWriter, qos.ConsistencyTotalOrder, qos.ConsistencyTotalOrderDurable},
		func(o, r qos.ConsistencyKind) bool { return o >= r },
		func(s *side, o, r qos.ConsistencyKind) { s.writer.Consistency.Kind, s.reader.Consistency.Kind = o, r })

	for _, id := range qos.PolicyIDs() {
		assert.Equal(t, id.RxO(), covered[id], "%v is offered and requested", id)
	}
}

// representationLists are all lists of up to two of the representations.
func representationLists() [][]qos.DataRepresentationKind {
	kinds := []qos.DataRepresentationKind{
		qos.DataRepresentationXCDR1, qos.DataRepresentationXML, qos.DataRepresentationXCDR2, qos.DataRepresentationAuto,
	}
	out := [][]qos.DataRepresentationKind{nil}
	for _, a := range kinds {
		out = append(out, []qos.DataRepresentationKind{a})
		for _, b := range kinds {
			if a != b {
				out = append(out, []qos.DataRepresentationKind{a, b})
			}
		}
	}
	return out
}

// representationsFit: the first that is offered is among those that are requested; an empty list is XCDR1 (XTypes 1.3,
// 7.6.3.1.1). AUTO, of later schemas, is XCDR1 or XCDR2, whichever the other side takes.
func representationsFit(o, r []qos.DataRepresentationKind) bool {
	read := func(list []qos.DataRepresentationKind) [][]qos.DataRepresentationKind {
		var out [][]qos.DataRepresentationKind
		for _, k := range list {
			if k == qos.DataRepresentationAuto {
				out = append(out, []qos.DataRepresentationKind{qos.DataRepresentationXCDR1, qos.DataRepresentationXCDR2})
			} else {
				out = append(out, []qos.DataRepresentationKind{k})
			}
		}
		if out == nil {
			out = append(out, []qos.DataRepresentationKind{qos.DataRepresentationXCDR1})
		}
		return out
	}
	return slices.ContainsFunc(read(o)[0], func(offered qos.DataRepresentationKind) bool {
		return slices.ContainsFunc(read(r), func(accepted []qos.DataRepresentationKind) bool { return slices.Contains(accepted, offered) })
	})
}

// CONSISTENCY, an extension: a writer that does not say offers what its other policies select, and a reader that does not say
// requests nothing.
func TestExtension_Consistency_FollowsThePolicies(t *testing.T) {
	const per, total, durable = qos.ConsistencyPerWriter, qos.ConsistencyTotalOrder, qos.ConsistencyTotalOrderDurable
	for _, row := range []struct {
		reliability qos.ReliabilityKind
		durability  qos.DurabilityKind
		offers      qos.ConsistencyKind
	}{
		{qos.ReliabilityBestEffort, qos.DurabilityVolatile, per},
		{qos.ReliabilityBestEffort, qos.DurabilityPersistent, per},
		{qos.ReliabilityReliable, qos.DurabilityVolatile, total},
		{qos.ReliabilityReliable, qos.DurabilityTransientLocal, total},
		{qos.ReliabilityReliable, qos.DurabilityTransient, total},
		{qos.ReliabilityReliable, qos.DurabilityPersistent, durable},
	} {
		for _, requested := range []qos.ConsistencyKind{qos.ConsistencyAuto, per, total, durable} {
			w, r := qos.DefaultDataWriter(), qos.DefaultDataReader()
			w.Reliability.Kind, w.Durability.Kind = row.reliability, row.durability
			r.Consistency.Kind = requested
			var want []qos.Incompatibility
			if requested > row.offers {
				want = []qos.Incompatibility{{Policy: qos.PolicyConsistency, Offered: row.offers.String(), Requested: requested.String()}}
			}
			assert.Equal(t, want, qos.Compatible(w, r, qos.DefaultPublisher(), qos.DefaultSubscriber()), "%v requested %v", row, requested)
		}
	}
}

// A writer may not assert more than its policies give.
func TestExtension_Consistency_NeedsReliabilityAndDurability(t *testing.T) {
	for _, row := range []struct {
		kind        qos.ConsistencyKind
		reliability qos.ReliabilityKind
		durability  qos.DurabilityKind
		wrong       int
	}{
		{qos.ConsistencyAuto, qos.ReliabilityBestEffort, qos.DurabilityVolatile, 0},
		{qos.ConsistencyPerWriter, qos.ReliabilityBestEffort, qos.DurabilityVolatile, 0},
		{qos.ConsistencyPerWriter, qos.ReliabilityReliable, qos.DurabilityPersistent, 0},
		{qos.ConsistencyTotalOrder, qos.ReliabilityBestEffort, qos.DurabilityVolatile, 1},
		{qos.ConsistencyTotalOrder, qos.ReliabilityReliable, qos.DurabilityVolatile, 0},
		{qos.ConsistencyTotalOrderDurable, qos.ReliabilityReliable, qos.DurabilityTransientLocal, 1},
		{qos.ConsistencyTotalOrderDurable, qos.ReliabilityBestEffort, qos.DurabilityVolatile, 2},
		{qos.ConsistencyTotalOrderDurable, qos.ReliabilityReliable, qos.DurabilityPersistent, 0},
	} {
		q := qos.DefaultDataWriter()
		q.Consistency.Kind, q.Reliability.Kind, q.Durability.Kind = row.kind, row.reliability, row.durability
		var problems []qos.Inconsistency
		if err, ok := q.Validate().(*qos.InconsistentPolicyError); ok {
			problems = err.Problems
		}
		assert.Len(t, problems, row.wrong, "%v", row)
	}
}
