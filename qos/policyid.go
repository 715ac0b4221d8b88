package qos

import "strconv"

// PolicyID names a policy by the number that the standard gives it (DDS 1.4, 2.3.3, QosPolicyId_t; XTypes 1.3
// for the last two). It is what the incompatible-QoS statuses report.
type PolicyID int32

const (
	PolicyInvalid PolicyID = iota
	PolicyUserData
	PolicyDurability
	PolicyPresentation
	PolicyDeadline
	PolicyLatencyBudget
	PolicyOwnership
	PolicyOwnershipStrength
	PolicyLiveliness
	PolicyTimeBasedFilter
	PolicyPartition
	PolicyReliability
	PolicyDestinationOrder
	PolicyHistory
	PolicyResourceLimits
	PolicyEntityFactory
	PolicyWriterDataLifecycle
	PolicyReaderDataLifecycle
	PolicyTopicData
	PolicyGroupData
	PolicyTransportPriority
	PolicyLifespan
	PolicyDurabilityService
	PolicyDataRepresentation
	PolicyTypeConsistencyEnforcement
)

// PolicyConsistency is ours. The standard's numbers are small; this one is of the half that RTPS leaves to vendors.
const PolicyConsistency PolicyID = 0x8001

// policyInfo is the head of each policy's row in the table of clause 2.2.3.
type policyInfo struct {
	name       string
	rxo        bool
	changeable bool
}

var policyInfos = [...]policyInfo{
	PolicyInvalid:                    {"INVALID", false, false},
	PolicyUserData:                   {"USER_DATA", false, true},
	PolicyDurability:                 {"DURABILITY", true, false},
	PolicyPresentation:               {"PRESENTATION", true, false},
	PolicyDeadline:                   {"DEADLINE", true, true},
	PolicyLatencyBudget:              {"LATENCY_BUDGET", true, true},
	PolicyOwnership:                  {"OWNERSHIP", true, false},
	PolicyOwnershipStrength:          {"OWNERSHIP_STRENGTH", false, true},
	PolicyLiveliness:                 {"LIVELINESS", true, false},
	PolicyTimeBasedFilter:            {"TIME_BASED_FILTER", false, true},
	PolicyPartition:                  {"PARTITION", false, true},
	PolicyReliability:                {"RELIABILITY", true, false},
	PolicyDestinationOrder:           {"DESTINATION_ORDER", true, false},
	PolicyHistory:                    {"HISTORY", false, false},
	PolicyResourceLimits:             {"RESOURCE_LIMITS", false, false},
	PolicyEntityFactory:              {"ENTITY_FACTORY", false, true},
	PolicyWriterDataLifecycle:        {"WRITER_DATA_LIFECYCLE", false, true},
	PolicyReaderDataLifecycle:        {"READER_DATA_LIFECYCLE", false, true},
	PolicyTopicData:                  {"TOPIC_DATA", false, true},
	PolicyGroupData:                  {"GROUP_DATA", false, true},
	PolicyTransportPriority:          {"TRANSPORT_PRIORITY", false, true},
	PolicyLifespan:                   {"LIFESPAN", false, true},
	PolicyDurabilityService:          {"DURABILITY_SERVICE", false, false},
	PolicyDataRepresentation:         {"DATA_REPRESENTATION", true, false},
	PolicyTypeConsistencyEnforcement: {"TYPE_CONSISTENCY_ENFORCEMENT", false, false},
}

// PolicyIDs lists all policies: those of the standards in the order of their numbers, then ours.
func PolicyIDs() []PolicyID {
	out := make([]PolicyID, 0, len(policyInfos))
	for id := PolicyUserData; int(id) < len(policyInfos); id++ {
		out = append(out, id)
	}
	return append(out, PolicyConsistency)
}

func (id PolicyID) info() policyInfo {
	if id == PolicyConsistency {
		return policyInfo{"CONSISTENCY", true, false}
	}
	if id < 0 || int(id) >= len(policyInfos) {
		return policyInfo{name: "POLICY_" + strconv.Itoa(int(id))}
	}
	return policyInfos[id]
}

// String is the standard's name of the policy, such as "RELIABILITY".
func (id PolicyID) String() string { return id.info().name }

// RxO says whether an offered and a requested value of the policy must be compatible for a writer and a
// reader to match. TYPE_CONSISTENCY_ENFORCEMENT is not among them: it guides the comparison of types.
func (id PolicyID) RxO() bool { return id.info().rxo }

// Changeable says whether the policy may change once the entity is enabled.
func (id PolicyID) Changeable() bool { return id.info().changeable }
