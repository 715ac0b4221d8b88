package qos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entityKind is what an entity element of a profile is about.
type entityKind uint8

const (
	kindParticipant entityKind = iota
	kindTopic
	kindPublisher
	kindSubscriber
	kindWriter
	kindReader
	entityKinds
)

// entityElements maps the element names to kinds. Published schemas disagree on the participant's.
var entityElements = map[string]entityKind{
	"domain_participant_qos": kindParticipant,
	"domainparticipant_qos":  kindParticipant,
	"participant_qos":        kindParticipant,
	"topic_qos":              kindTopic,
	"publisher_qos":          kindPublisher,
	"subscriber_qos":         kindSubscriber,
	"datawriter_qos":         kindWriter,
	"datareader_qos":         kindReader,
}

func (k entityKind) String() string {
	return [...]string{
		"domain_participant_qos", "topic_qos", "publisher_qos", "subscriber_qos", "datawriter_qos", "datareader_qos",
	}[k]
}

// filterable says whether topic_filter means something for the kind.
func (k entityKind) filterable() bool { return k == kindTopic || k == kindWriter || k == kindReader }

// defaults is a fresh QoS of the kind with the values of the standard.
func (k entityKind) defaults() policySet {
	switch k {
	case kindParticipant:
		q := DefaultDomainParticipant()
		return q.policies()
	case kindTopic:
		q := DefaultTopic()
		return q.policies()
	case kindPublisher:
		q := DefaultPublisher()
		return q.policies()
	case kindSubscriber:
		q := DefaultSubscriber()
		return q.policies()
	case kindWriter:
		q := DefaultDataWriter()
		return q.policies()
	default:
		q := DefaultDataReader()
		return q.policies()
	}
}

// value is what a field was given: how to write it into a QoS, and how to show it.
type value struct {
	set  func(policySet)
	text string
}

// fieldElement is one element within a policy's. Several of them may fill the same leaf, the unit of merging.
type fieldElement struct {
	element string
	leaf    int // index into leafNames
	read    func(r valueReader, n *node, path string) (value, bool)
}

// policyElement is a policy as XML spells it.
type policyElement struct {
	element string
	has     func(policySet) bool
	fields  []fieldElement
}

// leafNames are the paths of all leaves, such as "history/depth"; see Inconsistency.Fields.
var leafNames []string

func leafIndex(name string) int {
	if i := slices.Index(leafNames, name); i >= 0 {
		return i
	}
	leafNames = append(leafNames, name)
	return len(leafNames) - 1
}

// declare makes a policyElement; the leaf of "value" is the element of that name, that of "valueB64=value" is
// "value" too.
func declare(element string, has func(policySet) bool, fields ...fieldElement) policyElement {
	for i, f := range fields {
		name, leaf, other := strings.Cut(f.element, "=")
		if !other {
			leaf = name
		}
		if !strings.Contains(leaf, "/") {
			leaf = element + "/" + leaf
		}
		fields[i].element, fields[i].leaf = name, leafIndex(leaf)
	}
	return policyElement{element, has, fields}
}

func boolField(name string, set func(policySet, bool)) fieldElement {
	return field(name, valueReader.boolean, strconv.FormatBool, set)
}

func longField(name string, set func(policySet, int32)) fieldElement {
	return field(name, valueReader.long, showLong, set)
}

func positiveField(name string, set func(policySet, int32)) fieldElement {
	return field(name, valueReader.positive, showLong, set)
}

func limitField(name string, set func(policySet, int32)) fieldElement {
	return field(name, valueReader.limit, limitText, set)
}

func durationField(name string, set func(policySet, time.Duration)) fieldElement {
	return field(name, valueReader.duration, durationText, set)
}

func kindField[K ~uint8](name string, f kindFamily, set func(policySet, K)) fieldElement {
	read := func(r valueReader, n *node, path string) (K, bool) {
		k, ok := r.kind(n, path, f)
		return K(k), ok
	}
	return field(name, read, func(k K) string { return f.name(uint8(k)) }, set)
}

func field[V any](name string, read func(valueReader, *node, string) (V, bool), show func(V) string, set func(policySet, V)) fieldElement {
	return fieldElement{element: name, read: func(r valueReader, n *node, path string) (value, bool) {
		v, ok := read(r, n, path)
		if !ok {
			return value{}, false
		}
		return value{func(s policySet) { set(s, v) }, show(v)}, true
	}}
}

func showLong(v int32) string { return strconv.Itoa(int(v)) }

func readNames(r valueReader, n *node, path string) ([]string, bool) {
	var out []string
	ok := true
	for _, e := range r.list(n, path) {
		text, textOK := r.content(e, path+"/element")
		out, ok = append(out, text), ok && textOK
	}
	return out, ok
}

func readRepresentations(r valueReader, n *node, path string) ([]DataRepresentationKind, bool) {
	var out []DataRepresentationKind
	ok := true
	for _, e := range r.list(n, path) {
		k, kindOK := r.kind(e, path+"/element", representationKinds)
		out, ok = append(out, DataRepresentationKind(k)), ok && kindOK
	}
	return out, ok
}

func representationFields(names ...string) []fieldElement {
	var out []fieldElement
	for _, name := range names {
		out = append(out, field(name, readRepresentations, showRepresentations, func(s policySet, v []DataRepresentationKind) { s.dataRepresentation.Value = v }))
	}
	return out
}

func showNames(v []string) string { return Partition{v}.String() }

func showRepresentations(v []DataRepresentationKind) string { return DataRepresentation{v}.String() }

func octetFields(set func(policySet, []byte)) []fieldElement {
	return []fieldElement{
		field("value", valueReader.octets, octetsText, set),
		field("valueB64=value", valueReader.octetsBase64, octetsText, set),
	}
}

// policyElements are the policies of DDS-XML 1.0, and data_representation and type_consistency as its later
// schemas spell them.
var policyElements = []policyElement{
	declare("user_data", func(s policySet) bool { return s.userData != nil },
		octetFields(func(s policySet, v []byte) { s.userData.Value = v })...),
	declare("topic_data", func(s policySet) bool { return s.topicData != nil },
		octetFields(func(s policySet, v []byte) { s.topicData.Value = v })...),
	declare("group_data", func(s policySet) bool { return s.groupData != nil },
		octetFields(func(s policySet, v []byte) { s.groupData.Value = v })...),
	declare("entity_factory", func(s policySet) bool { return s.entityFactory != nil },
		boolField("autoenable_created_entities", func(s policySet, v bool) { s.entityFactory.AutoenableCreatedEntities = v })),
	declare("presentation", func(s policySet) bool { return s.presentation != nil },
		kindField("access_scope", presentationKinds, func(s policySet, v PresentationAccessScopeKind) { s.presentation.AccessScope = v }),
		boolField("coherent_access", func(s policySet, v bool) { s.presentation.CoherentAccess = v }),
		boolField("ordered_access", func(s policySet, v bool) { s.presentation.OrderedAccess = v })),
	declare("partition", func(s policySet) bool { return s.partition != nil },
		field("name", readNames, showNames, func(s policySet, v []string) { s.partition.Name = v })),
	declare("durability", func(s policySet) bool { return s.durability != nil },
		kindField("kind", durabilityKinds, func(s policySet, v DurabilityKind) { s.durability.Kind = v })),
	declare("durability_service", func(s policySet) bool { return s.durabilityService != nil },
		durationField("service_cleanup_delay", func(s policySet, v time.Duration) { s.durabilityService.ServiceCleanupDelay = v }),
		kindField("history_kind", historyKinds, func(s policySet, v HistoryKind) { s.durabilityService.HistoryKind = v }),
		positiveField("history_depth", func(s policySet, v int32) { s.durabilityService.HistoryDepth = v }),
		limitField("max_samples", func(s policySet, v int32) { s.durabilityService.MaxSamples = v }),
		limitField("max_instances", func(s policySet, v int32) { s.durabilityService.MaxInstances = v }),
		limitField("max_samples_per_instance", func(s policySet, v int32) { s.durabilityService.MaxSamplesPerInstance = v })),
	declare("deadline", func(s policySet) bool { return s.deadline != nil },
		durationField("period", func(s policySet, v time.Duration) { s.deadline.Period = v })),
	declare("latency_budget", func(s policySet) bool { return s.latencyBudget != nil },
		durationField("duration", func(s policySet, v time.Duration) { s.latencyBudget.Duration = v })),
	declare("liveliness", func(s policySet) bool { return s.liveliness != nil },
		kindField("kind", livelinessKinds, func(s policySet, v LivelinessKind) { s.liveliness.Kind = v }),
		durationField("lease_duration", func(s policySet, v time.Duration) { s.liveliness.LeaseDuration = v })),
	declare("reliability", func(s policySet) bool { return s.reliability != nil },
		kindField("kind", reliabilityKinds, func(s policySet, v ReliabilityKind) { s.reliability.Kind = v }),
		durationField("max_blocking_time", func(s policySet, v time.Duration) { s.reliability.MaxBlockingTime = v })),
	declare("destination_order", func(s policySet) bool { return s.destinationOrder != nil },
		kindField("kind", destinationOrderKinds, func(s policySet, v DestinationOrderKind) { s.destinationOrder.Kind = v })),
	declare("history", func(s policySet) bool { return s.history != nil },
		kindField("kind", historyKinds, func(s policySet, v HistoryKind) { s.history.Kind = v }),
		positiveField("depth", func(s policySet, v int32) { s.history.Depth = v })),
	declare("resource_limits", func(s policySet) bool { return s.resourceLimits != nil },
		limitField("max_samples", func(s policySet, v int32) { s.resourceLimits.MaxSamples = v }),
		limitField("max_instances", func(s policySet, v int32) { s.resourceLimits.MaxInstances = v }),
		limitField("max_samples_per_instance", func(s policySet, v int32) { s.resourceLimits.MaxSamplesPerInstance = v }),
		// Hints of the schema for a first allocation: checked, explained, and without effect.
		positiveField("initial_samples", func(policySet, int32) {}),
		positiveField("initial_instances", func(policySet, int32) {})),
	declare("transport_priority", func(s policySet) bool { return s.transportPriority != nil },
		longField("value", func(s policySet, v int32) { s.transportPriority.Value = v })),
	declare("lifespan", func(s policySet) bool { return s.lifespan != nil },
		durationField("duration", func(s policySet, v time.Duration) { s.lifespan.Duration = v })),
	declare("ownership", func(s policySet) bool { return s.ownership != nil },
		kindField("kind", ownershipKinds, func(s policySet, v OwnershipKind) { s.ownership.Kind = v })),
	declare("ownership_strength", func(s policySet) bool { return s.ownershipStrength != nil },
		longField("value", func(s policySet, v int32) { s.ownershipStrength.Value = v })),
	declare("time_based_filter", func(s policySet) bool { return s.timeBasedFilter != nil },
		durationField("minimum_separation", func(s policySet, v time.Duration) { s.timeBasedFilter.MinimumSeparation = v })),
	declare("reader_data_lifecycle", func(s policySet) bool { return s.readerDataLifecycle != nil },
		durationField("autopurge_nowriter_samples_delay", func(s policySet, v time.Duration) { s.readerDataLifecycle.AutopurgeNowriterSamplesDelay = v }),
		durationField("autopurge_disposed_samples_delay", func(s policySet, v time.Duration) { s.readerDataLifecycle.AutopurgeDisposedSamplesDelay = v })),
	declare("writer_data_lifecycle", func(s policySet) bool { return s.writerDataLifecycle != nil },
		boolField("autodispose_unregistered_instances", func(s policySet, v bool) { s.writerDataLifecycle.AutodisposeUnregisteredInstances = v })),
	declare("data_representation", func(s policySet) bool { return s.dataRepresentation != nil },
		representationFields("value", "id=value")...),
	declare("representation", func(s policySet) bool { return s.dataRepresentation != nil },
		representationFields("value=data_representation/value")...),
	declare("type_consistency", func(s policySet) bool { return s.typeConsistency != nil },
		kindField("kind", typeConsistencyKinds, func(s policySet, v TypeConsistencyKind) { s.typeConsistency.Kind = v }),
		boolField("ignore_sequence_bounds", func(s policySet, v bool) { s.typeConsistency.IgnoreSequenceBounds = v }),
		boolField("ignore_string_bounds", func(s policySet, v bool) { s.typeConsistency.IgnoreStringBounds = v }),
		boolField("ignore_member_names", func(s policySet, v bool) { s.typeConsistency.IgnoreMemberNames = v }),
		boolField("prevent_type_widening", func(s policySet, v bool) { s.typeConsistency.PreventTypeWidening = v }),
		boolField("force_type_validation", func(s policySet, v bool) { s.typeConsistency.ForceTypeValidation = v })),
}

// withoutEffect are elements of later schemas that this implementation has no policy for. They are warned of,
// not refused.
var withoutEffect = []string{"property", "properties", "binary_properties", "data_tags"}

// otherBlocks are the building blocks of DDS-XML that may stand beside QoS libraries.
var otherBlocks = []string{
	"types", "domain_library", "domain_participant_library", "application_library", "node_library", "deployment_library",
}

// foreignElements are what people bring along from elsewhere, and what to do with it.
var foreignElements = map[string]string{
	"profiles":                "this looks like a Fast DDS file; only the standard's <qos_library> is read",
	"writer_qos":              "did you mean datawriter_qos?",
	"reader_qos":              "did you mean datareader_qos?",
	"data_writer":             "did you mean datawriter_qos?",
	"data_reader":             "did you mean datareader_qos?",
	"participant_factory_qos": "the participant factory has no profile here; leave it out",
	"qos_snippet":             "snippets are of a later schema and not read; use a <qos_profile> and base_name",
	"qos_snippets":            "snippets are of a later schema and not read; use base_name",
}

// policyNames are the elements that may stand in an entity of kind k.
func policyNames(k entityKind) []string {
	set := k.defaults()
	var out []string
	for _, p := range policyElements {
		if p.has(set) {
			out = append(out, p.element)
		}
	}
	return out
}

// policyOwners are the entity elements that have a policy, for "it belongs to".
func policyOwners(p policyElement) []string {
	var out []string
	for k := range entityKinds {
		if p.has(k.defaults()) {
			out = append(out, fmt.Sprintf("<%v>", k))
		}
	}
	return out
}
