package qos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dialect is whose format of QoS files a document is written in. All are brought into the standard's tree first;
// what is left of a dialect after that is how freely it spells values.
type dialect uint8

const (
	dialectStandard dialect = iota
	dialectRTI
	dialectFastDDS
	dialectOpenDDS
	dialectCyclone
	dialectYAML
)

func (d dialect) String() string {
	return [...]string{"DDS-XML", "RTI Connext", "Fast DDS", "OpenDDS", "Cyclone DDS", "YAML"}[d]
}

// loose dialects take short literals, more spellings of booleans, and a word for an infinite duration.
func (d dialect) loose() bool { return d == dialectRTI || d == dialectFastDDS || d == dialectYAML }

// foreign dialects have elements of their own, more than we know. What resembles none of ours is then warned of, and what
// does is a misspelling.
func (d dialect) foreign() bool { return d != dialectStandard && d != dialectYAML }

const standardNamespace = "http://www.omg.org/spec/DDS-XML"

// detect says whose dialect a document is: by the namespace and name of its root, else by what only one of them has.
func detect(root *node) dialect {
	switch {
	case strings.HasPrefix(root.Space, "http://www.eprosima.com"), fastRoot(root):
		return dialectFastDDS
	case strings.HasPrefix(root.Space, standardNamespace):
		if hasOddCase(root) {
			return dialectCyclone
		}
		return dialectStandard
	case strings.TrimSuffix(root.Space, "/") == "http://www.omg.org/dds":
		if looksCyclone(root) { // the same namespace
			return dialectCyclone
		}
		return dialectOpenDDS
	case hasChild(root, "qos_profile") && root.Name == "dds":
		return dialectOpenDDS
	case slices.ContainsFunc(root.Attrs, ofRTI):
		return dialectRTI
	case looksCyclone(root):
		return dialectCyclone
	case contains(root, isRTI):
		return dialectRTI
	}
	return dialectStandard
}

// looksCyclone: it does not mind upper and lower case, and has elements of its own.
func looksCyclone(root *node) bool {
	return hasOddCase(root) || contains(root, func(n *node) bool { return vendorElements[n.Name] == "Cyclone DDS's" })
}

// ofRTI says whether an attribute of the root tells it alone, whatever names stand below.
func ofRTI(a attribute) bool {
	return a.Name == "noNamespaceSchemaLocation" && strings.Contains(a.Value, "rti_")
}

func isRTI(n *node) bool {
	if vendorElements[n.Name] == "RTI's" || n.Name == "base_name" || n.Name == "participant_qos" {
		return true
	}
	for _, a := range n.Attrs {
		switch {
		case a.Name == "is_default_qos", a.Name == "is_default_participant_factory_profile", n.Name == "dds" && a.Name == "version":
			return true
		case a.Name == "base_name" && strings.HasPrefix(a.Value, "BuiltinQos"):
			return true
		}
	}
	return false
}

// contains looks for a node below n, or n itself. Trees are no deeper than maxXMLDepth.
func contains(n *node, is func(*node) bool) bool {
	return is(n) || slices.ContainsFunc(n.Children, func(c *node) bool { return contains(c, is) })
}

func hasChild(n *node, name string) bool {
	return slices.ContainsFunc(n.Children, func(c *node) bool { return c.Name == name })
}

// hasOddCase says whether an element would be known if it were in lower case: Cyclone DDS does not mind.
func hasOddCase(root *node) bool {
	return contains(root, func(n *node) bool {
		lower := strings.ToLower(n.Name)
		return lower != n.Name && structureElements[lower]
	})
}

// structureElements are those that every document of the standard is made of.
var structureElements = func() map[string]bool {
	out := map[string]bool{"dds": true, "qos_library": true, "qos_profile": true}
	for name := range entityElements {
		out[name] = true
	}
	for _, p := range policyElements {
		out[p.element] = true
	}
	return out
}()

// capitals are the names that the standard does not spell in lower case, by what they are there.
var capitals = func() map[string]string {
	out := map[string]string{}
	for _, p := range policyElements {
		for _, f := range p.fields {
			if lower := strings.ToLower(f.element); lower != f.element {
				out[lower] = f.element
			}
		}
	}
	return out
}()

// lowerCase spells all names as the standard does.
func lowerCase(n *node) {
	if name := cmp.Or(capitals[strings.ToLower(n.Name)], strings.ToLower(n.Name)); name != n.Name {
		n.As, n.Name = n.Name, name
	}
	for i := range n.Attrs {
		if a := &n.Attrs[i]; !a.Foreign {
			a.Name = strings.ToLower(a.Name)
		}
	}
	for _, c := range n.Children {
		lowerCase(c)
	}
}

// normalize brings a document into the standard's tree. False: it is no QoS file, which is reported.
func (l *loader) normalize(root *node) (*node, bool) {
	if strings.EqualFold(root.Name, "CycloneDDS") {
		l.fail(root.At, root.Name, "this is a configuration of Cyclone DDS (CYCLONEDDS_URI), not QoS",
			"it says how to reach peers and holds no policies; QoS profiles stand in a file that starts with <dds>")
		return nil, false
	}
	if l.dialect != dialectYAML {
		l.dialect = detect(root)
		l.checkNamespace(root)
	}
	switch l.dialect {
	case dialectFastDDS:
		return fastTree(root), true
	case dialectCyclone:
		lowerCase(root)
	case dialectOpenDDS:
		return openTree(root), true
	}
	return root, true
}

// knownNamespaces are the beginnings of those that tell a dialect, and of one that the configuration of Cyclone DDS has.
var knownNamespaces = []string{standardNamespace, "http://www.eprosima.com", "http://www.omg.org/dds", "https://cdds.io/"}

// checkNamespace warns of a namespace that tells nothing: the document may be none of ours.
func (l *loader) checkNamespace(root *node) {
	known := func(start string) bool { return strings.HasPrefix(root.Space, start) }
	if root.Space == "" || slices.ContainsFunc(knownNamespaces, known) {
		return
	}
	l.warn(root.At, root.Name, fmt.Sprintf("the namespace %q is not known, and the file is read as one of %v", root.Space, l.dialect),
		fmt.Sprintf("leave it out, or write that of the format, which is %q for DDS-XML", standardNamespace))
}

// openTree puts the profiles, which stand in no library, into one without a name.
func openTree(root *node) *node {
	out := &node{Name: root.Name, Space: root.Space, At: root.At, Attrs: root.Attrs, Text: root.Text, TextAt: root.TextAt}
	free := &node{Name: "qos_library", At: root.At, TextAt: root.At}
	for _, c := range root.Children {
		if isProfileElement(c.Name) {
			free.Children = append(free.Children, c)
		} else {
			out.Children = append(out.Children, c)
		}
	}
	out.Children = append([]*node{free}, out.Children...)
	return out
}

// unknownElement reports an element that we have no use for: a vendor's is warned of, anything else is an error.
func (l *loader) unknownElement(n *node, path string, known []string) {
	if whose := vendorElements[n.Name]; whose != "" {
		l.ignore(n, path, "it is "+whose)
		return
	}
	what := fmt.Sprintf("unknown element <%s>", n.Spelled())
	if hint, ok := foreignElements[n.Name]; ok {
		l.fail(n.At, path, what, hint)
		return
	}
	if best, near := closest(n.Name, known); near {
		l.fail(n.At, path, what, "did you mean "+best+"?")
		return
	}
	if l.dialect.foreign() {
		l.ignore(n, path, fmt.Sprintf("nothing of ours is like it; it may be of %v", l.dialect))
		return
	}
	l.fail(n.At, path, what, didYouMean(n.Name, known))
}

// vendorElements are elements that we know and have no policy for, with whose they are. They are warned of wherever they
// stand.
var vendorElements = func() map[string]string {
	out := map[string]string{}
	for whose, names := range map[string]string{
		"of a later schema": "property properties binary_properties data_tags ignore_enum_literal_names",
		"RTI's": `participant_factory_qos discovery discovery_config transport_builtin transport_unicast transport_multicast
			transport_multicast_mapping participant_name publication_name subscription_name publisher_name subscriber_name role_name
			protocol batch multi_channel publish_mode asynchronous_publisher availability service transport_selection unicast multicast
			topic_query_dispatch transfer_mode writer_resource_limits reader_resource_limits type_support data_tag exclusive_area event
			receiver_pool database wire_protocol default_unicast logging profile monitoring compression_settings direct_communication
			storage_settings refilter acknowledgment_kind instance_state_consistency_kind instance_state_recovery_kind
			assertions_per_lease_duration drop_incomplete_coherent_set source_timestamp_tolerance scope
			autopurge_unregistered_instances_delay autopurge_disposed_instances_delay autopurge_nowriter_instances_delay
			instance_hash_buckets dynamically_allocate_fragmented_samples`,
		"Cyclone DDS's": "writer_batching psmx_instances ignore_local ignorelocal entity_name",
		"Fast DDS's": `domainparticipant_factory transport_descriptors library_settings log replier requester times unicastLocatorList
			multicastLocatorList remoteLocatorList external_unicast_locators ignore_non_matching_locators historyMemoryPolicy
			propertiesPolicy userDefinedID entityID matchedSubscribersAllocation matchedPublishersAllocation expects_inline_qos
			allocated_samples extra_samples announcement_period publishMode data_sharing disablePositiveAcks
			disable_heartbeat_piggyback reliableReaderQos domainId rtps throughputController`,
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = whose
		}
	}
	return out
}()

// foreignElements are misunderstandings that a hint can clear up.
var foreignElements = map[string]string{
	"profiles":    "profiles of Fast DDS start with <dds><profiles>, those of the standard with <dds><qos_library>",
	"writer_qos":  "did you mean datawriter_qos?",
	"reader_qos":  "did you mean datareader_qos?",
	"data_writer": "did you mean datawriter_qos?",
	"data_reader": "did you mean datareader_qos?",
}

// entityNamesFor are the element names of entities, for hints.
func entityNamesFor() []string { return slices.Sorted(maps.Keys(entityElements)) }
