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

// everyKind lists all kinds.
var everyKind = []entityKind{kindParticipant, kindTopic, kindPublisher, kindSubscriber, kindWriter, kindReader}

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

// value is what a field was given: how to write it into a QoS, how to show it, and how to write it as XML.
type value struct {
	set   func(policySet)
	text  string
	write func(*node)
}

// fieldElement is one element within a policy's. Several of them may fill the same leaf, the unit of merging.
type fieldElement struct {
	element string
	leaf    int // index into leafDefs
	read    func(r valueReader, n *node, path string) (value, bool)
	get     func(policySet) value // nil for a hint, which no QoS holds
	allowed string
}

// policyElement is a policy as XML spells it.
type policyElement struct {
	id      PolicyID
	element string
	has     func(policySet) bool
	fields  []fieldElement
}

// leafDef is the unit of merging: one field of one policy.
type leafDef struct {
	name           string // "history/depth"; see Inconsistency.Fields
	element, field string
	policy         PolicyID
	has            func(policySet) bool
	get            func(policySet) value // nil for a hint
	allowed        string
}

// leafDefs are all leaves in the order of the schema, and leafNames their names.
var (
	leafDefs  []leafDef
	leafNames []string
)

// declare makes a policyElement; the leaf of "value" is the element of that name, that of "valueB64=value" is
// "value" too. The first that fills a leaf is how it is written.
func declare(id PolicyID, element string, has func(policySet) bool, fields ...fieldElement) policyElement {
	for i, f := range fields {
		name, leaf, other := strings.Cut(f.element, "=")
		if !other {
			leaf = name
		}
		if !strings.Contains(leaf, "/") {
			leaf = element + "/" + leaf
		}
		at := slices.Index(leafNames, leaf)
		if at < 0 {
			at = len(leafDefs)
			leafNames = append(leafNames, leaf)
			leafDefs = append(leafDefs, leafDef{leaf, element, name, id, has, f.get, f.allowed})
		}
		fields[i].element, fields[i].leaf = name, at
	}
	return policyElement{id, element, has, fields}
}

// codec is how values of a type are read from an element, shown, and written into one.
type codec[V any] struct {
	allowed string // what there is, for people
	read    func(valueReader, *node, string) (V, bool)
	text    func(V) string
	write   func(*node, V)
}

func (c codec[V]) value(v V, at func(policySet) *V) value {
	return value{
		set:   func(s policySet) { *at(s) = v },
		text:  c.text(v),
		write: func(n *node) { c.write(n, v) },
	}
}

// field makes an element whose value lives where at points.
func field[V any](name string, c codec[V], at func(policySet) *V) fieldElement {
	return fieldElement{
		element: name,
		read: func(r valueReader, n *node, path string) (value, bool) {
			v, ok := c.read(r, n, path)
			if !ok {
				return value{}, false
			}
			return c.value(v, at), true
		},
		get:     func(s policySet) value { return c.value(*at(s), at) },
		allowed: c.allowed,
	}
}

// hintField makes an element of the schema for a first allocation: checked, explained, and without effect.
func hintField(name string) fieldElement {
	f := field(name, codec[int32]{"a number from 1", valueReader.hint, showLong, writeText(showLong)}, func(policySet) *int32 { return new(int32) })
	f.get = nil
	return f
}

func boolField(name string, at func(policySet) *bool) fieldElement {
	return field(name, codec[bool]{"true or false", valueReader.boolean, strconv.FormatBool, writeText(strconv.FormatBool)}, at)
}

func longField(name string, at func(policySet) *int32) fieldElement {
	return field(name, codec[int32]{"a number", valueReader.long, showLong, writeText(showLong)}, at)
}

func positiveField(name string, at func(policySet) *int32) fieldElement {
	return field(name, codec[int32]{"a number from 1", valueReader.positive, showLong, writeText(showLong)}, at)
}

func limitField(name string, at func(policySet) *int32) fieldElement {
	return field(name, codec[int32]{"a number from 1, or UNLIMITED", valueReader.limit, limitText, writeText(limitLiteral)}, at)
}

func durationField(name string, at func(policySet) *time.Duration) fieldElement {
	return field(name, codec[time.Duration]{"a duration from 0, or INFINITE", valueReader.duration, durationText, writeDuration}, at)
}

// spanField is durationField for what Validate refuses a zero of.
func spanField(name string, at func(policySet) *time.Duration) fieldElement {
	f := durationField(name, at)
	f.allowed = "a duration above 0, or INFINITE"
	return f
}

func kindField[K ~uint8](name string, f kindFamily, at func(policySet) *K) fieldElement {
	return field(name, codec[K]{
		allowed: alternatives(f.names),
		read: func(r valueReader, n *node, path string) (K, bool) {
			k, ok := r.kind(n, path, f)
			return K(k), ok
		},
		text:  func(k K) string { return f.name(uint8(k)) },
		write: writeText(func(k K) string { return f.name(uint8(k)) + f.suffix }),
	}, at)
}

func namesField(name string, at func(policySet) *[]string) fieldElement {
	return field(name, codec[[]string]{"a list of names", readNames, showNames, writeList(same, same)}, at)
}

func representationField(name string) fieldElement {
	return field(name, codec[[]DataRepresentationKind]{
		"a list of " + alternatives(representationKinds.names), readRepresentations, showRepresentations,
		writeList(func(k DataRepresentationKind) string { return k.String() + representationKinds.suffix }, DataRepresentationKind.String),
	}, func(s policySet) *[]DataRepresentationKind { return &s.dataRepresentation.Value })
}

func octetFields(at func(policySet) *[]byte) []fieldElement {
	return []fieldElement{
		field("value", codec[[]byte]{"bytes", valueReader.octets, octetsText, writeText(octetsLiteral)}, at),
		field("valueB64=value", codec[[]byte]{"bytes", valueReader.octetsBase64, octetsText, writeText(octetsLiteral)}, at),
	}
}

func same(s string) string { return s }

func showLong(v int32) string { return strconv.Itoa(int(v)) }

func limitLiteral(v int32) string {
	if v == LengthUnlimited {
		return "LENGTH_UNLIMITED"
	}
	return showLong(v)
}

// octetsLiteral is a list with commas, which every reader of DDS-XML reads alike.
func octetsLiteral(b []byte) string {
	items := make([]string, len(b))
	for i, v := range b {
		items[i] = fmt.Sprintf("0x%02x", v)
	}
	return strings.Join(items, ",")
}

func writeText[V any](show func(V) string) func(*node, V) {
	return func(n *node, v V) { n.Text = []byte(show(v)) }
}

func writeList[V any](show, plain func(V) string) func(*node, []V) {
	return func(n *node, list []V) {
		for _, v := range list {
			n.Children = append(n.Children, &node{Name: "element", Text: []byte(show(v)), Plain: plain(v)})
		}
	}
}

func writeDuration(n *node, d time.Duration) {
	sec, nanosec := "DURATION_INFINITE_SEC", "DURATION_INFINITE_NSEC"
	if d/time.Second < infinitePart { // more does not fit, and is 68 years
		sec, nanosec = strconv.FormatInt(int64(d/time.Second), 10), strconv.FormatInt(int64(d%time.Second), 10)
	}
	n.Children = append(n.Children, &node{Name: "sec", Text: []byte(sec)}, &node{Name: "nanosec", Text: []byte(nanosec)})
}

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
		if e.Trimmed() == "UNALIGNED_CDR_DATA_REPRESENTATION" { // of OpenDDS
			r.warn(e.TextAt, path+"/element", "UNALIGNED_CDR_DATA_REPRESENTATION has no effect here", "only OpenDDS has it")
			continue
		}
		k, kindOK := r.kind(e, path+"/element", representationKinds)
		out, ok = append(out, DataRepresentationKind(k)), ok && kindOK
	}
	return out, ok
}

func showNames(v []string) string { return Partition{v}.String() }

func showRepresentations(v []DataRepresentationKind) string { return DataRepresentation{v}.String() }

// policyElements are the policies of DDS-XML 1.0, and data_representation and type_consistency as its later
// schemas spell them.
var policyElements = []policyElement{
	declare(PolicyUserData, "user_data", func(s policySet) bool { return s.userData != nil },
		octetFields(func(s policySet) *[]byte { return &s.userData.Value })...),
	declare(PolicyTopicData, "topic_data", func(s policySet) bool { return s.topicData != nil },
		octetFields(func(s policySet) *[]byte { return &s.topicData.Value })...),
	declare(PolicyGroupData, "group_data", func(s policySet) bool { return s.groupData != nil },
		octetFields(func(s policySet) *[]byte { return &s.groupData.Value })...),
	declare(PolicyEntityFactory, "entity_factory", func(s policySet) bool { return s.entityFactory != nil },
		boolField("autoenable_created_entities", func(s policySet) *bool { return &s.entityFactory.AutoenableCreatedEntities })),
	declare(PolicyPresentation, "presentation", func(s policySet) bool { return s.presentation != nil },
		kindField("access_scope", presentationKinds, func(s policySet) *PresentationAccessScopeKind { return &s.presentation.AccessScope }),
		boolField("coherent_access", func(s policySet) *bool { return &s.presentation.CoherentAccess }),
		boolField("ordered_access", func(s policySet) *bool { return &s.presentation.OrderedAccess })),
	declare(PolicyPartition, "partition", func(s policySet) bool { return s.partition != nil },
		namesField("name", func(s policySet) *[]string { return &s.partition.Name })),
	declare(PolicyDurability, "durability", func(s policySet) bool { return s.durability != nil },
		kindField("kind", durabilityKinds, func(s policySet) *DurabilityKind { return &s.durability.Kind })),
	declare(PolicyDurabilityService, "durability_service", func(s policySet) bool { return s.durabilityService != nil },
		durationField("service_cleanup_delay", func(s policySet) *time.Duration { return &s.durabilityService.ServiceCleanupDelay }),
		kindField("history_kind", historyKinds, func(s policySet) *HistoryKind { return &s.durabilityService.HistoryKind }),
		positiveField("history_depth", func(s policySet) *int32 { return &s.durabilityService.HistoryDepth }),
		limitField("max_samples", func(s policySet) *int32 { return &s.durabilityService.MaxSamples }),
		limitField("max_instances", func(s policySet) *int32 { return &s.durabilityService.MaxInstances }),
		limitField("max_samples_per_instance", func(s policySet) *int32 { return &s.durabilityService.MaxSamplesPerInstance })),
	declare(PolicyDeadline, "deadline", func(s policySet) bool { return s.deadline != nil },
		spanField("period", func(s policySet) *time.Duration { return &s.deadline.Period })),
	declare(PolicyLatencyBudget, "latency_budget", func(s policySet) bool { return s.latencyBudget != nil },
		durationField("duration", func(s policySet) *time.Duration { return &s.latencyBudget.Duration })),
	declare(PolicyLiveliness, "liveliness", func(s policySet) bool { return s.liveliness != nil },
		kindField("kind", livelinessKinds, func(s policySet) *LivelinessKind { return &s.liveliness.Kind }),
		spanField("lease_duration", func(s policySet) *time.Duration { return &s.liveliness.LeaseDuration })),
	declare(PolicyReliability, "reliability", func(s policySet) bool { return s.reliability != nil },
		kindField("kind", reliabilityKinds, func(s policySet) *ReliabilityKind { return &s.reliability.Kind }),
		durationField("max_blocking_time", func(s policySet) *time.Duration { return &s.reliability.MaxBlockingTime })),
	declare(PolicyDestinationOrder, "destination_order", func(s policySet) bool { return s.destinationOrder != nil },
		kindField("kind", destinationOrderKinds, func(s policySet) *DestinationOrderKind { return &s.destinationOrder.Kind })),
	declare(PolicyHistory, "history", func(s policySet) bool { return s.history != nil },
		kindField("kind", historyKinds, func(s policySet) *HistoryKind { return &s.history.Kind }),
		positiveField("depth", func(s policySet) *int32 { return &s.history.Depth })),
	declare(PolicyResourceLimits, "resource_limits", func(s policySet) bool { return s.resourceLimits != nil },
		limitField("max_samples", func(s policySet) *int32 { return &s.resourceLimits.MaxSamples }),
		limitField("max_instances", func(s policySet) *int32 { return &s.resourceLimits.MaxInstances }),
		limitField("max_samples_per_instance", func(s policySet) *int32 { return &s.resourceLimits.MaxSamplesPerInstance }),
		hintField("initial_samples"), hintField("initial_instances")),
	declare(PolicyTransportPriority, "transport_priority", func(s policySet) bool { return s.transportPriority != nil },
		longField("value", func(s policySet) *int32 { return &s.transportPriority.Value })),
	declare(PolicyLifespan, "lifespan", func(s policySet) bool { return s.lifespan != nil },
		spanField("duration", func(s policySet) *time.Duration { return &s.lifespan.Duration })),
	declare(PolicyOwnership, "ownership", func(s policySet) bool { return s.ownership != nil },
		kindField("kind", ownershipKinds, func(s policySet) *OwnershipKind { return &s.ownership.Kind })),
	declare(PolicyOwnershipStrength, "ownership_strength", func(s policySet) bool { return s.ownershipStrength != nil },
		longField("value", func(s policySet) *int32 { return &s.ownershipStrength.Value })),
	declare(PolicyTimeBasedFilter, "time_based_filter", func(s policySet) bool { return s.timeBasedFilter != nil },
		durationField("minimum_separation", func(s policySet) *time.Duration { return &s.timeBasedFilter.MinimumSeparation })),
	declare(PolicyReaderDataLifecycle, "reader_data_lifecycle", func(s policySet) bool { return s.readerDataLifecycle != nil },
		durationField("autopurge_nowriter_samples_delay",
			func(s policySet) *time.Duration { return &s.readerDataLifecycle.AutopurgeNowriterSamplesDelay }),
		durationField("autopurge_disposed_samples_delay",
			func(s policySet) *time.Duration { return &s.readerDataLifecycle.AutopurgeDisposedSamplesDelay })),
	declare(PolicyWriterDataLifecycle, "writer_data_lifecycle", func(s policySet) bool { return s.writerDataLifecycle != nil },
		boolField("autodispose_unregistered_instances", func(s policySet) *bool { return &s.writerDataLifecycle.AutodisposeUnregisteredInstances })),
	declare(PolicyDataRepresentation, "data_representation", func(s policySet) bool { return s.dataRepresentation != nil },
		representationField("value"), representationField("id=value")),
	declare(PolicyDataRepresentation, "representation", func(s policySet) bool { return s.dataRepresentation != nil },
		representationField("value=data_representation/value")),
	declare(PolicyTypeConsistencyEnforcement, "type_consistency", func(s policySet) bool { return s.typeConsistency != nil },
		kindField("kind", typeConsistencyKinds, func(s policySet) *TypeConsistencyKind { return &s.typeConsistency.Kind }),
		boolField("ignore_sequence_bounds", func(s policySet) *bool { return &s.typeConsistency.IgnoreSequenceBounds }),
		boolField("ignore_string_bounds", func(s policySet) *bool { return &s.typeConsistency.IgnoreStringBounds }),
		boolField("ignore_member_names", func(s policySet) *bool { return &s.typeConsistency.IgnoreMemberNames }),
		boolField("prevent_type_widening", func(s policySet) *bool { return &s.typeConsistency.PreventTypeWidening }),
		boolField("force_type_validation", func(s policySet) *bool { return &s.typeConsistency.ForceTypeValidation })),
	// Ours. It stands in an element of the standard's, so that one file serves both.
	declare(PolicyConsistency, "consistency", func(s policySet) bool { return s.consistency != nil },
		kindField("kind", consistencyKinds, func(s policySet) *ConsistencyKind { return &s.consistency.Kind })),
}

// otherBlocks are the building blocks of DDS-XML that may stand beside QoS libraries.
var otherBlocks = []string{
	"types", "domain_library", "domain_participant_library", "application_library", "node_library", "deployment_library",
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
