package qos

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Infinite is the standard's DURATION_INFINITE.
const Infinite time.Duration = math.MaxInt64

// LengthUnlimited is the standard's LENGTH_UNLIMITED, for RESOURCE_LIMITS and DURABILITY_SERVICE.
const LengthUnlimited = -1

// UserData (2.2.3.1) is carried to the peers of a participant, writer or reader.
type UserData struct{ Value []byte }

// TopicData (2.2.3.2) is carried along with a topic.
type TopicData struct{ Value []byte }

// GroupData (2.2.3.3) is carried along with a publisher or subscriber.
type GroupData struct{ Value []byte }

// Durability (2.2.3.4) says whether samples outlive the moment they are written.
type Durability struct{ Kind DurabilityKind }

// DurabilityService (2.2.3.5) shapes what is kept for TRANSIENT and PERSISTENT.
type DurabilityService struct {
	ServiceCleanupDelay   time.Duration
	HistoryKind           HistoryKind
	HistoryDepth          int32
	MaxSamples            int32
	MaxInstances          int32
	MaxSamplesPerInstance int32
}

// Presentation (2.2.3.6) says over which scope changes are seen in order, or together.
type Presentation struct {
	AccessScope    PresentationAccessScopeKind
	CoherentAccess bool
	OrderedAccess  bool
}

// Deadline (2.2.3.7): each instance is updated at least once a period.
type Deadline struct{ Period time.Duration }

// LatencyBudget (2.2.3.8) is a hint: the delay that is acceptable from write to delivery.
type LatencyBudget struct{ Duration time.Duration }

// Ownership (2.2.3.9) says whether several writers may update one instance.
type Ownership struct{ Kind OwnershipKind }

// OwnershipStrength (2.2.3.10) decides between writers of an EXCLUSIVE instance: the greatest wins.
type OwnershipStrength struct{ Value int32 }

// Liveliness (2.2.3.11) says how a writer shows that it is alive, and how often.
type Liveliness struct {
	Kind          LivelinessKind
	LeaseDuration time.Duration
}

// TimeBasedFilter (2.2.3.12): a reader wants each instance at most once a MinimumSeparation.
type TimeBasedFilter struct{ MinimumSeparation time.Duration }

// Partition (2.2.3.13) names the partitions of a publisher or subscriber; see PartitionsMatch.
type Partition struct{ Name []string }

// Reliability (2.2.3.14). MaxBlockingTime bounds how long a RELIABLE write may wait for room.
type Reliability struct {
	Kind            ReliabilityKind
	MaxBlockingTime time.Duration
}

// TransportPriority (2.2.3.15) is a hint to the transport.
type TransportPriority struct{ Value int32 }

// Lifespan (2.2.3.16): samples expire this long after their source timestamp.
type Lifespan struct{ Duration time.Duration }

// DestinationOrder (2.2.3.17) says which timestamp orders the samples of several writers.
type DestinationOrder struct{ Kind DestinationOrderKind }

// History (2.2.3.18). Depth counts for KEEP_LAST only.
type History struct {
	Kind  HistoryKind
	Depth int32
}

// ResourceLimits (2.2.3.19): LengthUnlimited or at least 1, each.
type ResourceLimits struct {
	MaxSamples            int32
	MaxInstances          int32
	MaxSamplesPerInstance int32
}

// EntityFactory (2.2.3.20) says whether entities are created enabled.
type EntityFactory struct{ AutoenableCreatedEntities bool }

// WriterDataLifecycle (2.2.3.21) says whether unregistering an instance also disposes it.
type WriterDataLifecycle struct{ AutodisposeUnregisteredInstances bool }

// ReaderDataLifecycle (2.2.3.22) says when samples of instances that are not alive are purged.
type ReaderDataLifecycle struct {
	AutopurgeNowriterSamplesDelay time.Duration
	AutopurgeDisposedSamplesDelay time.Duration
}

// DataRepresentation (XTypes 1.3, 7.6.3.1): a writer offers the first, a reader accepts any; empty means XCDR1.
type DataRepresentation struct{ Value []DataRepresentationKind }

// TypeConsistencyEnforcement (XTypes 1.3, 7.6.3.4) says how a reader compares its type with a writer's.
type TypeConsistencyEnforcement struct {
	Kind                 TypeConsistencyKind
	IgnoreSequenceBounds bool
	IgnoreStringBounds   bool
	IgnoreMemberNames    bool
	PreventTypeWidening  bool
	ForceTypeValidation  bool
}

// Consistency, an extension, says in which order readers see samples, and what they may rely on when a process
// fails. It asserts what the policies of the standard select: best effort gives PER_WRITER, RELIABLE gives TOTAL_ORDER,
// RELIABLE with PERSISTENT durability gives TOTAL_ORDER_DURABLE. A writer whose policies give less than it says is
// inconsistent; a reader that requests more than a writer offers does not match it. AUTO at a writer offers what its
// policies give, and at a reader requests nothing.
type Consistency struct{ Kind ConsistencyKind }

// The texts below carry every field that counts, so that equal texts mean equal policies.

func (p UserData) String() string   { return octetsText(p.Value) }
func (p TopicData) String() string  { return octetsText(p.Value) }
func (p GroupData) String() string  { return octetsText(p.Value) }
func (p Durability) String() string { return p.Kind.String() }

func (p DurabilityService) String() string {
	return "service_cleanup_delay " + durationText(p.ServiceCleanupDelay) +
		" " + p.history().String() + " " + p.limits().String()
}

func (p DurabilityService) history() History { return History{p.HistoryKind, p.HistoryDepth} }

func (p DurabilityService) limits() ResourceLimits {
	return ResourceLimits{p.MaxSamples, p.MaxInstances, p.MaxSamplesPerInstance}
}

func (p Presentation) String() string {
	return fmt.Sprintf("%v coherent_access %t ordered_access %t", p.AccessScope, p.CoherentAccess, p.OrderedAccess)
}

func (p Deadline) String() string          { return durationText(p.Period) }
func (p LatencyBudget) String() string     { return durationText(p.Duration) }
func (p Ownership) String() string         { return p.Kind.String() }
func (p OwnershipStrength) String() string { return strconv.Itoa(int(p.Value)) }

func (p Liveliness) String() string {
	return p.Kind.String() + " lease_duration " + durationText(p.LeaseDuration)
}

func (p TimeBasedFilter) String() string { return durationText(p.MinimumSeparation) }
func (p Partition) String() string       { return fmt.Sprintf("%q", p.Name) }

func (p Reliability) String() string {
	return p.Kind.String() + " max_blocking_time " + durationText(p.MaxBlockingTime)
}

func (p TransportPriority) String() string { return strconv.Itoa(int(p.Value)) }
func (p Lifespan) String() string          { return durationText(p.Duration) }
func (p DestinationOrder) String() string  { return p.Kind.String() }

func (p History) String() string {
	if p.Kind == HistoryKeepAll {
		return p.Kind.String()
	}
	return p.Kind.String() + " " + strconv.Itoa(int(p.Depth))
}

func (p ResourceLimits) String() string {
	return "max_samples " + limitText(p.MaxSamples) +
		" max_instances " + limitText(p.MaxInstances) +
		" max_samples_per_instance " + limitText(p.MaxSamplesPerInstance)
}

func (p EntityFactory) String() string {
	return "autoenable_created_entities " + strconv.FormatBool(p.AutoenableCreatedEntities)
}

func (p WriterDataLifecycle) String() string {
	return "autodispose_unregistered_instances " + strconv.FormatBool(p.AutodisposeUnregisteredInstances)
}

func (p ReaderDataLifecycle) String() string {
	return "autopurge_nowriter_samples_delay " + durationText(p.AutopurgeNowriterSamplesDelay) +
		" autopurge_disposed_samples_delay " + durationText(p.AutopurgeDisposedSamplesDelay)
}

func (p DataRepresentation) String() string {
	names := make([]string, len(p.Value))
	for i, k := range p.Value {
		names[i] = k.String()
	}
	return "[" + strings.Join(names, " ") + "]"
}

func (p TypeConsistencyEnforcement) String() string {
	return fmt.Sprintf("%v ignore_sequence_bounds %t ignore_string_bounds %t ignore_member_names %t prevent_type_widening %t force_type_validation %t",
		p.Kind, p.IgnoreSequenceBounds, p.IgnoreStringBounds, p.IgnoreMemberNames, p.PreventTypeWidening, p.ForceTypeValidation)
}

func (p Consistency) String() string { return p.Kind.String() }

func octetsText(b []byte) string {
	if len(b) == 0 {
		return "empty"
	}
	return "0x" + hex.EncodeToString(b)
}

func durationText(d time.Duration) string {
	if d == Infinite {
		return "INFINITE"
	}
	return d.String()
}

func limitText(n int32) string {
	if n == LengthUnlimited {
		return "UNLIMITED"
	}
	return strconv.Itoa(int(n))
}
