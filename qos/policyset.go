package qos

import (
	"fmt"
	"slices"
	"strings"
)

// policySet points at the policies of one entity's QoS; nil where the entity does not have the policy. What is
// the same for all entities (consistency, printing, comparing, filling in from XML) is written once over it.
type policySet struct {
	userData            *UserData
	topicData           *TopicData
	groupData           *GroupData
	durability          *Durability
	durabilityService   *DurabilityService
	presentation        *Presentation
	deadline            *Deadline
	latencyBudget       *LatencyBudget
	ownership           *Ownership
	ownershipStrength   *OwnershipStrength
	liveliness          *Liveliness
	timeBasedFilter     *TimeBasedFilter
	partition           *Partition
	reliability         *Reliability
	transportPriority   *TransportPriority
	lifespan            *Lifespan
	destinationOrder    *DestinationOrder
	history             *History
	resourceLimits      *ResourceLimits
	entityFactory       *EntityFactory
	writerDataLifecycle *WriterDataLifecycle
	readerDataLifecycle *ReaderDataLifecycle
	dataRepresentation  *DataRepresentation
	typeConsistency     *TypeConsistencyEnforcement
	consistency         *Consistency
}

func (q *DomainParticipant) policies() policySet {
	return policySet{userData: &q.UserData, entityFactory: &q.EntityFactory}
}

func (q *Topic) policies() policySet {
	return policySet{
		topicData: &q.TopicData, durability: &q.Durability, durabilityService: &q.DurabilityService,
		deadline: &q.Deadline, latencyBudget: &q.LatencyBudget, liveliness: &q.Liveliness,
		reliability: &q.Reliability, destinationOrder: &q.DestinationOrder, history: &q.History,
		resourceLimits: &q.ResourceLimits, transportPriority: &q.TransportPriority, lifespan: &q.Lifespan,
		ownership: &q.Ownership, dataRepresentation: &q.DataRepresentation,
		consistency: &q.Consistency,
	}
}

func (q *Publisher) policies() policySet {
	return policySet{
		presentation: &q.Presentation, partition: &q.Partition, groupData: &q.GroupData, entityFactory: &q.EntityFactory,
	}
}

func (q *Subscriber) policies() policySet {
	return policySet{
		presentation: &q.Presentation, partition: &q.Partition, groupData: &q.GroupData, entityFactory: &q.EntityFactory,
	}
}

func (q *DataWriter) policies() policySet {
	return policySet{
		durability: &q.Durability, durabilityService: &q.DurabilityService, deadline: &q.Deadline,
		latencyBudget: &q.LatencyBudget, liveliness: &q.Liveliness, reliability: &q.Reliability,
		destinationOrder: &q.DestinationOrder, history: &q.History, resourceLimits: &q.ResourceLimits,
		transportPriority: &q.TransportPriority, lifespan: &q.Lifespan, userData: &q.UserData,
		ownership: &q.Ownership, ownershipStrength: &q.OwnershipStrength,
		writerDataLifecycle: &q.WriterDataLifecycle, dataRepresentation: &q.DataRepresentation,
		consistency: &q.Consistency,
	}
}

func (q *DataReader) policies() policySet {
	return policySet{
		durability: &q.Durability, deadline: &q.Deadline, latencyBudget: &q.LatencyBudget,
		liveliness: &q.Liveliness, reliability: &q.Reliability, destinationOrder: &q.DestinationOrder,
		history: &q.History, resourceLimits: &q.ResourceLimits, userData: &q.UserData,
		ownership: &q.Ownership, timeBasedFilter: &q.TimeBasedFilter,
		readerDataLifecycle: &q.ReaderDataLifecycle, dataRepresentation: &q.DataRepresentation,
		typeConsistency: &q.TypeConsistencyEnforcement, consistency: &q.Consistency,
	}
}

// policyText is one policy of a set, printed.
type policyText struct {
	id   PolicyID
	text string
}

// add prints p if the set has it.
func add[P fmt.Stringer](out *[]policyText, id PolicyID, p *P) {
	if p != nil {
		*out = append(*out, policyText{id, (*p).String()})
	}
}

// texts prints the policies that the set has, in the order of their ids.
func (s policySet) texts() []policyText {
	var out []policyText
	add(&out, PolicyUserData, s.userData)
	add(&out, PolicyDurability, s.durability)
	add(&out, PolicyPresentation, s.presentation)
	add(&out, PolicyDeadline, s.deadline)
	add(&out, PolicyLatencyBudget, s.latencyBudget)
	add(&out, PolicyOwnership, s.ownership)
	add(&out, PolicyOwnershipStrength, s.ownershipStrength)
	add(&out, PolicyLiveliness, s.liveliness)
	add(&out, PolicyTimeBasedFilter, s.timeBasedFilter)
	add(&out, PolicyPartition, s.partition)
	add(&out, PolicyReliability, s.reliability)
	add(&out, PolicyDestinationOrder, s.destinationOrder)
	add(&out, PolicyHistory, s.history)
	add(&out, PolicyResourceLimits, s.resourceLimits)
	add(&out, PolicyEntityFactory, s.entityFactory)
	add(&out, PolicyWriterDataLifecycle, s.writerDataLifecycle)
	add(&out, PolicyReaderDataLifecycle, s.readerDataLifecycle)
	add(&out, PolicyTopicData, s.topicData)
	add(&out, PolicyGroupData, s.groupData)
	add(&out, PolicyTransportPriority, s.transportPriority)
	add(&out, PolicyLifespan, s.lifespan)
	add(&out, PolicyDurabilityService, s.durabilityService)
	add(&out, PolicyDataRepresentation, s.dataRepresentation)
	add(&out, PolicyTypeConsistencyEnforcement, s.typeConsistency)
	add(&out, PolicyConsistency, s.consistency)
	return out
}

func (s policySet) String() string {
	var b strings.Builder
	for i, p := range s.texts() {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%v %s", p.id, p.text)
	}
	return b.String()
}

// String prints every policy: "DURABILITY VOLATILE; DEADLINE INFINITE; ...".
func (q DomainParticipant) String() string { return q.policies().String() }
func (q Topic) String() string             { return q.policies().String() }
func (q Publisher) String() string         { return q.policies().String() }
func (q Subscriber) String() string        { return q.policies().String() }
func (q DataWriter) String() string        { return q.policies().String() }
func (q DataReader) String() string        { return q.policies().String() }

// Change is one policy that differs between two QoS values of an entity.
type Change struct {
	Policy   PolicyID
	From, To string
}

func (c Change) String() string { return fmt.Sprintf("%v from %s to %s", c.Policy, c.From, c.To) }

// Changeable says whether the change may be made to an entity that is enabled; others wait until it is created anew.
func (c Change) Changeable() bool { return c.Policy.Changeable() }

// changes lists, in the order of their ids, the policies that differ.
func changes(from, to policySet) []Change {
	var out []Change
	next := to.texts()
	for i, p := range from.texts() {
		if p.text != next[i].text {
			out = append(out, Change{p.id, p.text, next[i].text})
		}
	}
	return out
}

// immutableChanges lists, in the order of their ids, the policies that differ and may not change once the
// entity is enabled.
func immutableChanges(from, to policySet) []Change {
	return slices.DeleteFunc(changes(from, to), Change.Changeable)
}

// ImmutableChanges lists the policies in which next differs from q although they cannot change after enable
// (DDS: RETCODE_IMMUTABLE_POLICY). Empty means that set_qos may go on.
func (q DomainParticipant) ImmutableChanges(next DomainParticipant) []Change {
	return immutableChanges(q.policies(), next.policies())
}

// ImmutableChanges: see DomainParticipant.ImmutableChanges.
func (q Topic) ImmutableChanges(next Topic) []Change {
	return immutableChanges(q.policies(), next.policies())
}

// ImmutableChanges: see DomainParticipant.ImmutableChanges.
func (q Publisher) ImmutableChanges(next Publisher) []Change {
	return immutableChanges(q.policies(), next.policies())
}

// ImmutableChanges: see DomainParticipant.ImmutableChanges.
func (q Subscriber) ImmutableChanges(next Subscriber) []Change {
	return immutableChanges(q.policies(), next.policies())
}

// ImmutableChanges: see DomainParticipant.ImmutableChanges.
func (q DataWriter) ImmutableChanges(next DataWriter) []Change {
	return immutableChanges(q.policies(), next.policies())
}

// ImmutableChanges: see DomainParticipant.ImmutableChanges.
func (q DataReader) ImmutableChanges(next DataReader) []Change {
	return immutableChanges(q.policies(), next.policies())
}
