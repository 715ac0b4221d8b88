package qos

import (
	"fmt"
	"slices"
)

// Incompatibility is one policy that keeps a writer and a reader from matching.
type Incompatibility struct {
	Policy             PolicyID
	Offered, Requested string
}

// String reads "RELIABILITY offered BEST_EFFORT requested RELIABLE".
func (i Incompatibility) String() string {
	return fmt.Sprintf("%v offered %s requested %s", i.Policy, i.Offered, i.Requested)
}

// Compatible compares what a writer and its publisher offer with what a reader and its subscriber request,
// by the RxO rules of clause 2.2.3 (DATA_REPRESENTATION: XTypes 1.3, 7.6.3.1). It lists every policy that does not
// fit, in the order of their ids; an empty list means that they match, if PARTITION does too.
func Compatible(offered DataWriter, requested DataReader, pub Publisher, sub Subscriber) []Incompatibility {
	var out []Incompatibility
	need := func(ok bool, id PolicyID, o, r string) {
		if !ok {
			out = append(out, Incompatibility{id, o, r})
		}
	}
	o, r := &offered, &requested
	need(o.Durability.Kind >= r.Durability.Kind,
		PolicyDurability, o.Durability.String(), r.Durability.String())
	need(presentationCompatible(pub.Presentation, sub.Presentation),
		PolicyPresentation, pub.Presentation.String(), sub.Presentation.String())
	need(o.Deadline.Period <= r.Deadline.Period,
		PolicyDeadline, o.Deadline.String(), r.Deadline.String())
	need(o.LatencyBudget.Duration <= r.LatencyBudget.Duration,
		PolicyLatencyBudget, o.LatencyBudget.String(), r.LatencyBudget.String())
	need(o.Ownership.Kind == r.Ownership.Kind,
		PolicyOwnership, o.Ownership.String(), r.Ownership.String())
	need(o.Liveliness.Kind >= r.Liveliness.Kind && o.Liveliness.LeaseDuration <= r.Liveliness.LeaseDuration,
		PolicyLiveliness, o.Liveliness.String(), r.Liveliness.String())
	// max_blocking_time is the writer's own affair, so only the kinds are compared and shown.
	need(o.Reliability.Kind >= r.Reliability.Kind,
		PolicyReliability, o.Reliability.Kind.String(), r.Reliability.Kind.String())
	need(o.DestinationOrder.Kind >= r.DestinationOrder.Kind,
		PolicyDestinationOrder, o.DestinationOrder.String(), r.DestinationOrder.String())
	offers, accepts := offeredRepresentation(o.DataRepresentation), acceptedRepresentations(r.DataRepresentation)
	need(representationAccepted(offers, accepts),
		PolicyDataRepresentation, offers.String(), DataRepresentation{accepts}.String())
	offersOrder, asksOrder := offeredConsistency(o), requestedConsistency(r)
	need(offersOrder >= asksOrder, PolicyConsistency, offersOrder.String(), asksOrder.String())
	return out
}

// offeredConsistency is what a writer gives: what it says, or else what its policies select. A writer of a peer that does
// not know the policy says nothing.
func offeredConsistency(q *DataWriter) ConsistencyKind {
	switch {
	case q.Consistency.Kind > ConsistencyAuto:
		return q.Consistency.Kind
	case q.Reliability.Kind != ReliabilityReliable:
		return ConsistencyPerWriter
	case q.Durability.Kind == DurabilityPersistent:
		return ConsistencyTotalOrderDurable
	}
	return ConsistencyTotalOrder
}

// requestedConsistency is what a reader insists on: nothing if it does not say.
func requestedConsistency(q *DataReader) ConsistencyKind {
	return max(q.Consistency.Kind, ConsistencyPerWriter)
}

// presentationCompatible: a wider offered scope serves a narrower request; coherence and order must be offered
// if they are requested.
func presentationCompatible(o, r Presentation) bool {
	return o.AccessScope >= r.AccessScope &&
		(o.CoherentAccess || !r.CoherentAccess) &&
		(o.OrderedAccess || !r.OrderedAccess)
}

func offeredRepresentation(p DataRepresentation) DataRepresentationKind {
	if len(p.Value) == 0 {
		return DataRepresentationXCDR1
	}
	return p.Value[0]
}

func acceptedRepresentations(p DataRepresentation) []DataRepresentationKind {
	if len(p.Value) == 0 {
		return []DataRepresentationKind{DataRepresentationXCDR1}
	}
	return p.Value
}

func representationAccepted(offered DataRepresentationKind, accepted []DataRepresentationKind) bool {
	return slices.ContainsFunc(accepted, func(a DataRepresentationKind) bool {
		return a == offered ||
			a == DataRepresentationAuto && binaryRepresentation(offered) ||
			offered == DataRepresentationAuto && binaryRepresentation(a)
	})
}

func binaryRepresentation(k DataRepresentationKind) bool {
	return k == DataRepresentationXCDR1 || k == DataRepresentationXCDR2
}
