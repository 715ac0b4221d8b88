package dcps

import (
	"fmt"
	"math"
	"strconv"

	"github.com/omg-dds-go/dds/qos"
)

// StatusMask is a set of communication statuses (DDS 1.4 §2.2.4.1, StatusMask).
type StatusMask uint32

// The statuses, with the standard's bits.
const (
	InconsistentTopicStatusBit        StatusMask = 1 << 0
	OfferedDeadlineMissedStatusBit    StatusMask = 1 << 1
	RequestedDeadlineMissedStatusBit  StatusMask = 1 << 2
	OfferedIncompatibleQosStatusBit   StatusMask = 1 << 5
	RequestedIncompatibleQosStatusBit StatusMask = 1 << 6
	SampleLostStatusBit               StatusMask = 1 << 7
	SampleRejectedStatusBit           StatusMask = 1 << 8
	DataOnReadersStatusBit            StatusMask = 1 << 9
	DataAvailableStatusBit            StatusMask = 1 << 10
	LivelinessLostStatusBit           StatusMask = 1 << 11
	LivelinessChangedStatusBit        StatusMask = 1 << 12
	PublicationMatchedStatusBit       StatusMask = 1 << 13
	SubscriptionMatchedStatusBit      StatusMask = 1 << 14
	// ViewChangedStatusBit is an extension; its bit is one that the standard leaves to implementations.
	ViewChangedStatusBit StatusMask = 1 << 24
	// StableStatusBit is another one.
	StableStatusBit StatusMask = 1 << 25
	AnyStatus       StatusMask = 0x7fff | ViewChangedStatusBit | StableStatusBit
)

// Peer says where the entity at the other end lives.
type Peer struct {
	Handle InstanceHandle // the writer or reader
	Name   string         // its participant's name
	Host   string
	PID    int
}

// String gives "name (pid 17 on host)".
func (p Peer) String() string {
	return fmt.Sprintf("%s (pid %d on %s)", p.Name, p.PID, p.Host)
}

// PolicyCount counts the peers that were incompatible in a policy.
type PolicyCount struct {
	Policy qos.PolicyID
	Count  int32
}

// Incompatibility explains one refused match.
type Incompatibility struct {
	Peer      Peer
	Policy    qos.PolicyID
	Offered   string
	Requested string
}

// String gives "RELIABILITY: offered BEST_EFFORT, requested RELIABLE; peer display (pid 17 on host)".
func (i Incompatibility) String() string {
	return fmt.Sprintf("%v: offered %s, requested %s; peer %v", i.Policy, i.Offered, i.Requested, i.Peer)
}

// IncompatibleQosStatus is the content of both incompatible-QoS statuses.
type IncompatibleQosStatus struct {
	TotalCount       int32
	TotalCountChange int32
	LastPolicyID     qos.PolicyID
	Policies         []PolicyCount
	// Details explains the latest refused matches, newest last (extension).
	Details []Incompatibility
}

// OfferedIncompatibleQosStatus is the writer's (OFFERED_INCOMPATIBLE_QOS).
type OfferedIncompatibleQosStatus = IncompatibleQosStatus

// RequestedIncompatibleQosStatus is the reader's (REQUESTED_INCOMPATIBLE_QOS).
type RequestedIncompatibleQosStatus = IncompatibleQosStatus

// MatchedStatus is the content of PUBLICATION_MATCHED and SUBSCRIPTION_MATCHED.
type MatchedStatus struct {
	TotalCount         int32
	TotalCountChange   int32
	CurrentCount       int32
	CurrentCountChange int32
	LastHandle         InstanceHandle // LastSubscriptionHandle, LastPublicationHandle
	LastPeer           Peer           // extension
}

// PublicationMatchedStatus is the writer's.
type PublicationMatchedStatus = MatchedStatus

// SubscriptionMatchedStatus is the reader's.
type SubscriptionMatchedStatus = MatchedStatus

// DeadlineMissedStatus is the content of both deadline statuses.
type DeadlineMissedStatus struct {
	TotalCount         int32
	TotalCountChange   int32
	LastInstanceHandle InstanceHandle
}

// OfferedDeadlineMissedStatus is the writer's.
type OfferedDeadlineMissedStatus = DeadlineMissedStatus

// RequestedDeadlineMissedStatus is the reader's.
type RequestedDeadlineMissedStatus = DeadlineMissedStatus

// LivelinessLostStatus is the writer's: how often readers came to take it for not alive, because it did not assert its
// LIVELINESS within the lease, or because its process was cut off (DomainParticipant.Err). It counts once until the
// writer is alive again.
type LivelinessLostStatus struct {
	TotalCount       int32
	TotalCountChange int32
}

// LivelinessChangedStatus is the reader's. It counts the writers that are matched: one that is unmatched while it is not
// alive leaves NotAliveCount, be it deleted or lost. LIVELINESS in the package comment says who is alive.
type LivelinessChangedStatus struct {
	AliveCount            int32
	NotAliveCount         int32
	AliveCountChange      int32
	NotAliveCountChange   int32
	LastPublicationHandle InstanceHandle
}

// SampleLostStatus counts samples that never arrived (or arrived damaged).
type SampleLostStatus struct {
	TotalCount       int32
	TotalCountChange int32
}

// SampleRejectedKind says which limit a rejected sample met.
type SampleRejectedKind uint8

const (
	NotRejected SampleRejectedKind = iota
	RejectedByInstancesLimit
	RejectedBySamplesLimit
	RejectedBySamplesPerInstanceLimit
)

func (k SampleRejectedKind) String() string {
	names := [...]string{"NOT_REJECTED", "REJECTED_BY_INSTANCES_LIMIT", "REJECTED_BY_SAMPLES_LIMIT", "REJECTED_BY_SAMPLES_PER_INSTANCE_LIMIT"}
	if int(k) < len(names) {
		return names[k]
	}
	return "REJECTED_" + strconv.Itoa(int(k))
}

// SampleRejectedStatus counts samples that RESOURCE_LIMITS kept out of a best-effort reader.
type SampleRejectedStatus struct {
	TotalCount         int32
	TotalCountChange   int32
	LastReason         SampleRejectedKind
	LastInstanceHandle InstanceHandle
}

// InconsistentTopicStatus counts the endpoints that use a topic's name with another type.
type InconsistentTopicStatus struct {
	TotalCount       int32
	TotalCountChange int32
	// Explanation tells who and how the latest one differs (extension).
	Explanation string
	LastPeer    Peer
}

// maxDetails bounds IncompatibleQosStatus.Details: the oldest give way.
const maxDetails = 16

func (s *IncompatibleQosStatus) add(peer Peer, found []qos.Incompatibility) {
	s.TotalCount++
	s.TotalCountChange++
	for _, f := range found {
		s.LastPolicyID = f.Policy
		s.countPolicy(f.Policy)
		if len(s.Details) == maxDetails {
			s.Details = append(s.Details[:0:0], s.Details[1:]...)
		}
		s.Details = append(s.Details, Incompatibility{peer, f.Policy, f.Offered, f.Requested})
	}
}

func (s *IncompatibleQosStatus) countPolicy(id qos.PolicyID) {
	for i := range s.Policies {
		if s.Policies[i].Policy == id {
			s.Policies[i].Count++
			return
		}
	}
	s.Policies = append(s.Policies, PolicyCount{id, 1})
}

// taken gives the status with slices of its own and starts a new count of changes.
func (s *IncompatibleQosStatus) taken() IncompatibleQosStatus {
	out := *s
	out.Policies = append([]PolicyCount(nil), s.Policies...)
	out.Details = append([]Incompatibility(nil), s.Details...)
	s.TotalCountChange = 0
	return out
}

func (s *MatchedStatus) add(h InstanceHandle, peer Peer) {
	s.TotalCount++
	s.TotalCountChange++
	s.CurrentCount++
	s.CurrentCountChange++
	s.LastHandle, s.LastPeer = h, peer
}

func (s *MatchedStatus) remove(h InstanceHandle, peer Peer) {
	s.CurrentCount--
	s.CurrentCountChange--
	s.LastHandle, s.LastPeer = h, peer
}

func (s *MatchedStatus) taken() MatchedStatus {
	out := *s
	s.TotalCountChange, s.CurrentCountChange = 0, 0
	return out
}

func (s *DeadlineMissedStatus) add(h InstanceHandle, times int64) {
	n := int32(min(times, math.MaxInt32))
	s.TotalCount += n
	s.TotalCountChange += n
	s.LastInstanceHandle = h
}

func (s *DeadlineMissedStatus) taken() DeadlineMissedStatus {
	out := *s
	s.TotalCountChange = 0
	return out
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
