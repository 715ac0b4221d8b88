package qos

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrInconsistentPolicy is what every *InconsistentPolicyError unwraps to (DDS: RETCODE_INCONSISTENT_POLICY).
var ErrInconsistentPolicy = errors.New("qos: inconsistent policy")

// Inconsistency is one value, or one pair of values, that the standard forbids.
type Inconsistency struct {
	Policies []PolicyID
	Fields   []string // as paths in XML, such as "history/depth"
	Detail   string   // "HISTORY depth 8 above RESOURCE_LIMITS max_samples_per_instance 4"
}

// InconsistentPolicyError holds all that is wrong with a QoS value.
type InconsistentPolicyError struct {
	Entity   string // "DataWriter"
	Problems []Inconsistency
}

func (e *InconsistentPolicyError) Error() string {
	details := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		details[i] = p.Detail
	}
	return "qos: inconsistent " + e.Entity + " policies: " + strings.Join(details, "; ")
}

func (e *InconsistentPolicyError) Unwrap() error { return ErrInconsistentPolicy }

// Validate checks q against the consistency rules of clause 2.2.3 and reports all violations at once, as an
// *InconsistentPolicyError.
func (q DomainParticipant) Validate() error { return validate("DomainParticipant", q.policies()) }

// Validate: see DomainParticipant.Validate.
func (q Topic) Validate() error { return validate("Topic", q.policies()) }

// Validate: see DomainParticipant.Validate.
func (q Publisher) Validate() error { return validate("Publisher", q.policies()) }

// Validate: see DomainParticipant.Validate.
func (q Subscriber) Validate() error { return validate("Subscriber", q.policies()) }

// Validate: see DomainParticipant.Validate.
func (q DataWriter) Validate() error { return validate("DataWriter", q.policies()) }

// Validate: see DomainParticipant.Validate.
func (q DataReader) Validate() error { return validate("DataReader", q.policies()) }

func validate(entity string, s policySet) error {
	if problems := inconsistencies(s); len(problems) > 0 {
		return &InconsistentPolicyError{entity, problems}
	}
	return nil
}

// checker collects inconsistencies.
type checker struct{ found []Inconsistency }

func inconsistencies(s policySet) []Inconsistency {
	var c checker
	c.kinds(s)
	c.durations(s)
	if s.history != nil && s.resourceLimits != nil {
		c.history(PolicyHistory, "history/", "", *s.history)
		c.limits(PolicyResourceLimits, "resource_limits/", *s.resourceLimits)
		c.depth(depthRule{
			PolicyHistory, "history/depth", s.history.Kind, s.history.Depth,
			PolicyResourceLimits, "resource_limits/", *s.resourceLimits,
		})
	}
	if p := s.durabilityService; p != nil {
		c.history(PolicyDurabilityService, "durability_service/", "history_", p.history())
		c.limits(PolicyDurabilityService, "durability_service/", p.limits())
		c.depth(depthRule{
			PolicyDurabilityService, "durability_service/history_depth", p.HistoryKind, p.HistoryDepth,
			PolicyDurabilityService, "durability_service/", p.limits(),
		})
	}
	if s.deadline != nil && s.timeBasedFilter != nil && s.deadline.Period < s.timeBasedFilter.MinimumSeparation {
		c.add([]PolicyID{PolicyDeadline, PolicyTimeBasedFilter},
			[]string{"deadline/period", "time_based_filter/minimum_separation"},
			"DEADLINE period %s below TIME_BASED_FILTER minimum_separation %s", s.deadline, s.timeBasedFilter)
	}
	c.consistency(s)
	return c.found
}

// consistency: what CONSISTENCY asserts must be what RELIABILITY and DURABILITY give.
func (c *checker) consistency(s policySet) {
	if s.consistency == nil {
		return
	}
	kind := s.consistency.Kind
	if kind != ConsistencyTotalOrder && kind != ConsistencyTotalOrderDurable {
		return
	}
	if s.reliability.Kind == ReliabilityBestEffort {
		c.add([]PolicyID{PolicyConsistency, PolicyReliability}, []string{"consistency/kind", "reliability/kind"},
			"CONSISTENCY %v needs RELIABILITY RELIABLE, not %v", kind, s.reliability.Kind)
	}
	// A reader of a durable writer need not ask for old samples.
	writes := s.lifespan != nil
	if kind == ConsistencyTotalOrderDurable && writes && durabilityKinds.valid(uint8(s.durability.Kind)) &&
		s.durability.Kind != DurabilityPersistent {
		c.add([]PolicyID{PolicyConsistency, PolicyDurability}, []string{"consistency/kind", "durability/kind"},
			"CONSISTENCY %v needs DURABILITY PERSISTENT, not %v", kind, s.durability.Kind)
	}
}

func (c *checker) add(ids []PolicyID, fields []string, format string, args ...any) {
	c.found = append(c.found, Inconsistency{ids, fields, fmt.Sprintf(format, args...)})
}

func (c *checker) kinds(s policySet) {
	kind := func(id PolicyID, field string, f kindFamily, k uint8) {
		if f.valid(k) {
			return
		}
		name := field[strings.IndexByte(field, '/')+1:]
		what := fmt.Sprintf("%v %s %s", id, name, f.name(k))
		c.add([]PolicyID{id}, []string{field}, "%s, not one of %s", what, strings.Join(f.names, ", "))
	}
	if p := s.durability; p != nil {
		kind(PolicyDurability, "durability/kind", durabilityKinds, uint8(p.Kind))
	}
	if p := s.durabilityService; p != nil {
		kind(PolicyDurabilityService, "durability_service/history_kind", historyKinds, uint8(p.HistoryKind))
	}
	if p := s.presentation; p != nil {
		kind(PolicyPresentation, "presentation/access_scope", presentationKinds, uint8(p.AccessScope))
	}
	if p := s.ownership; p != nil {
		kind(PolicyOwnership, "ownership/kind", ownershipKinds, uint8(p.Kind))
	}
	if p := s.liveliness; p != nil {
		kind(PolicyLiveliness, "liveliness/kind", livelinessKinds, uint8(p.Kind))
	}
	if p := s.reliability; p != nil {
		kind(PolicyReliability, "reliability/kind", reliabilityKinds, uint8(p.Kind))
	}
	if p := s.destinationOrder; p != nil {
		kind(PolicyDestinationOrder, "destination_order/kind", destinationOrderKinds, uint8(p.Kind))
	}
	if p := s.history; p != nil {
		kind(PolicyHistory, "history/kind", historyKinds, uint8(p.Kind))
	}
	if p := s.dataRepresentation; p != nil {
		for _, k := range p.Value {
			kind(PolicyDataRepresentation, "data_representation/value", representationKinds, uint8(k))
		}
	}
	if p := s.consistency; p != nil {
		kind(PolicyConsistency, "consistency/kind", consistencyKinds, uint8(p.Kind))
	}
	if p := s.typeConsistency; p != nil {
		kind(PolicyTypeConsistencyEnforcement, "type_consistency/kind", typeConsistencyKinds, uint8(p.Kind))
	}
}

func (c *checker) durations(s policySet) {
	duration := func(id PolicyID, field string, d time.Duration) {
		if d < 0 {
			c.add([]PolicyID{id}, []string{field}, "%v %s %v is negative", id, field[strings.IndexByte(field, '/')+1:], d)
		}
	}
	// Of 0 nothing could come: each instance would miss its deadline at once, each sample have expired, no writer be alive.
	positive := func(id PolicyID, field string, d time.Duration) {
		duration(id, field, d)
		if d == 0 {
			c.add([]PolicyID{id}, []string{field}, "%v %s 0s is not above 0: write more, or INFINITE for none",
				id, field[strings.IndexByte(field, '/')+1:])
		}
	}
	if p := s.durabilityService; p != nil {
		duration(PolicyDurabilityService, "durability_service/service_cleanup_delay", p.ServiceCleanupDelay)
	}
	if p := s.deadline; p != nil {
		positive(PolicyDeadline, "deadline/period", p.Period)
	}
	if p := s.latencyBudget; p != nil {
		duration(PolicyLatencyBudget, "latency_budget/duration", p.Duration)
	}
	if p := s.liveliness; p != nil {
		positive(PolicyLiveliness, "liveliness/lease_duration", p.LeaseDuration)
	}
	if p := s.timeBasedFilter; p != nil {
		duration(PolicyTimeBasedFilter, "time_based_filter/minimum_separation", p.MinimumSeparation)
	}
	if p := s.reliability; p != nil {
		duration(PolicyReliability, "reliability/max_blocking_time", p.MaxBlockingTime)
	}
	if p := s.lifespan; p != nil {
		positive(PolicyLifespan, "lifespan/duration", p.Duration)
	}
	if p := s.readerDataLifecycle; p != nil {
		duration(PolicyReaderDataLifecycle, "reader_data_lifecycle/autopurge_nowriter_samples_delay", p.AutopurgeNowriterSamplesDelay)
		duration(PolicyReaderDataLifecycle, "reader_data_lifecycle/autopurge_disposed_samples_delay", p.AutopurgeDisposedSamplesDelay)
	}
}

func (c *checker) history(id PolicyID, path, prefix string, h History) {
	if h.Kind == HistoryKeepLast && h.Depth < 1 {
		c.add([]PolicyID{id}, []string{path + prefix + "depth"}, "%v %sdepth %d below 1", id, prefix, h.Depth)
	}
}

// limits checks one RESOURCE_LIMITS, or the limits within a DURABILITY_SERVICE. An unlimited
// max_samples_per_instance is bounded by max_samples and so consistent with it.
func (c *checker) limits(id PolicyID, path string, l ResourceLimits) {
	positive := func(name string, n int32) bool {
		if n >= 1 || n == LengthUnlimited {
			return true
		}
		c.add([]PolicyID{id}, []string{path + name}, "%v %s %d is neither LENGTH_UNLIMITED nor at least 1", id, name, n)
		return false
	}
	samples := positive("max_samples", l.MaxSamples)
	positive("max_instances", l.MaxInstances)
	perInstance := positive("max_samples_per_instance", l.MaxSamplesPerInstance)
	if samples && perInstance && l.MaxSamples != LengthUnlimited && l.MaxSamples < l.MaxSamplesPerInstance {
		c.add([]PolicyID{id}, []string{path + "max_samples", path + "max_samples_per_instance"},
			"%v max_samples %d below max_samples_per_instance %d", id, l.MaxSamples, l.MaxSamplesPerInstance)
	}
}

// depthRule is a depth and the limits that it must fit: those of another policy, or of its own for
// DURABILITY_SERVICE.
type depthRule struct {
	id     PolicyID
	field  string
	kind   HistoryKind
	depth  int32
	other  PolicyID
	path   string
	limits ResourceLimits
}

func (c *checker) depth(r depthRule) {
	if r.kind != HistoryKeepLast {
		return
	}
	name, limit := "max_samples_per_instance", r.limits.MaxSamplesPerInstance
	if limit == LengthUnlimited {
		name, limit = "max_samples", r.limits.MaxSamples
	}
	if limit < 1 || r.depth <= limit {
		return
	}
	ids, other := []PolicyID{r.id}, ""
	if r.other != r.id {
		ids, other = append(ids, r.other), r.other.String()+" "
	}
	c.add(ids, []string{r.field, r.path + name}, "%v %s %d above %s%s %d",
		r.id, r.field[strings.IndexByte(r.field, '/')+1:], r.depth, other, name, limit)
}
