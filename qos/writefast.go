package qos

import (
	"maps"
	"slices"
	"strings"
)

// fastSpelling holds the names of policies that differ from the standard's. What is neither there nor in fastPolicies
// Fast DDS reads from no file.
var (
	fastPolicies = []string{"deadline", "destination_order", "durability", "lifespan", "liveliness", "ownership", "partition",
		"presentation", "reliability", "transport_priority"}
	fastSpelling = map[string]string{
		"user_data": "userData", "topic_data": "topicData", "group_data": "groupData", "latency_budget": "latencyBudget",
		"durability_service": "durabilityService", "ownership_strength": "ownershipStrength", "time_based_filter": "timeBasedFilter",
	}
	fastElements = map[entityKind]string{kindParticipant: "participant", kindTopic: "topic", kindWriter: "data_writer", kindReader: "data_reader"}
)

// exportFast writes each element of each profile as a profile of its own, with all that it inherits.
func exportFast(c contents) (*node, []string) {
	t := target{dialect: dialectFastDDS}
	profiles := &node{Name: "profiles"}
	root := &node{Name: "dds", Attrs: []attribute{{Name: "xmlns", Value: "http://www.eprosima.com"}}, Children: []*node{profiles}}
	for _, name := range c.order {
		p := c.profiles[name]
		group := map[entityKind]*entity{kindWriter: p.serves[kindPublisher], kindReader: p.serves[kindSubscriber]}
		for _, e := range p.visible {
			if element := fastElements[e.kind]; element != "" {
				profiles.Children = append(profiles.Children, t.fastEntity(p, e, element, group[e.kind]))
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(group)) {
			if g := group[kind]; g != nil && !hasEntity(p, kind) {
				profiles.Children = append(profiles.Children, t.fastEntity(p, &entity{kind: kind}, fastElements[kind], g))
			}
		}
	}
	return root, t.lost
}

func hasEntity(p *profile, kind entityKind) bool {
	return slices.ContainsFunc(p.visible, func(e *entity) bool { return e.kind == kind })
}

func (t *target) fastEntity(p *profile, e *entity, element string, group *entity) *node {
	name := strings.ReplaceAll(p.name, "::", ".")
	if e.name != "" {
		name += "." + e.name
	}
	if e.filter != "" {
		name += "." + standardName(e.filter)
		t.lose("topic_filter %s of %s, %v: it is the profile %s", e.filter, p.name, e.kind, name)
	}
	n := &node{Name: element, Attrs: []attribute{{Name: "profile_name", Value: name}}}
	if slices.Contains(p.isDefault, e.kind) && e.plain() {
		n.Attrs = append(n.Attrs, attribute{Name: "is_default_profile", Value: "true"})
	}
	t.fastLeaves(n, p, e.kind, e.resolved)
	if group != nil {
		t.fastLeaves(n, p, e.kind, group.resolved)
	}
	return n
}

func (t *target) fastLeaves(n *node, p *profile, kind entityKind, values leaves) {
	for i, v := range values {
		def := leafDefs[i]
		if v == nil || v.bad {
			continue
		}
		to := fastPlace(n, kind, def)
		if to == nil || def.get == nil {
			t.lose("%s of %s, %v: %s", def.name, p.name, kind, v.text)
			continue
		}
		leaf := leafNode(def.field, v)
		fastValue(leaf)
		to.Children = append(to.Children, leaf)
	}
}

// fastPlace is the element of a policy, nil if Fast DDS reads it from no file.
func fastPlace(n *node, kind entityKind, def leafDef) *node {
	if kind != kindParticipant {
		topic := n
		if kind != kindTopic {
			topic = nil
		}
		switch def.element {
		case "history", "resource_limits":
			if topic == nil {
				topic = child(n, "topic")
			}
			return child(topic, map[string]string{"history": "historyQos", "resource_limits": "resourceLimitsQos"}[def.element])
		}
	}
	name := fastSpelling[def.element]
	if name == "" && slices.Contains(fastPolicies, def.element) {
		name = def.element
	}
	switch {
	case kind == kindParticipant && def.element == "user_data":
		return child(child(n, "rtps"), name)
	case kind == kindParticipant, kind == kindTopic, name == "":
		return nil
	}
	return child(child(n, "qos"), name)
}

// fastValue spells a value as Fast DDS does.
func fastValue(n *node) {
	text := string(n.Text)
	switch {
	case strings.HasSuffix(text, "_QOS"):
		n.Text = []byte(n.Plain)
	case text == "LENGTH_UNLIMITED":
		n.Text = []byte("0")
	case n.Name == "value" && strings.HasPrefix(text, "0x"):
		n.Text = []byte(strings.ReplaceAll(strings.ReplaceAll(text, "0x", ""), ",", "."))
	case n.Name == "name":
		n.Name = "names"
		for _, c := range n.Children {
			c.Name = "name"
		}
	}
}
