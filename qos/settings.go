package qos

import "slices"

// Origin is where a value comes from.
type Origin struct {
	// Profile is the one that sets it, "" for the default of the standard.
	Profile string
	// File, Line and Col are where it does.
	File      string
	Line, Col int
}

// Default says that nothing sets the value.
func (o Origin) Default() bool { return o.Profile == "" }

// String reads "qos.xml:6:9 in Lib::Base", or "default".
func (o Origin) String() string {
	if o.Default() {
		return "default"
	}
	return place{File: o.File, Line: o.Line, Col: o.Col}.String() + " in " + o.Profile
}

// Setting is one field of one policy, as it applies to an entity.
type Setting struct {
	Policy PolicyID
	Path   string // in XML: "history/depth"
	Value  string // as YAML and String spell it: "KEEP_LAST", "1.5s", "UNLIMITED"
	Origin Origin
	// Allowed says what the value can be, in words.
	Allowed string
}

// Settings gives every field of the QoS that the profile has for such an entity, with its origin: DataWriter and the like in
// text. The topic selects among elements with a topic_filter, as in DataWriter.
func (p *Provider) Settings(kind EntityKind, name, topic string) ([]Setting, error) {
	if p == nil {
		return nil, errNilProvider
	}
	k, err := kind.check()
	if err != nil {
		return nil, err
	}
	e, err := p.contents().entity(k, name, topic)
	if err != nil {
		return nil, err
	}
	return e.settings(k), nil
}

// settings of the standard if e is nil.
func (e *entity) settings(kind entityKind) []Setting {
	var out []Setting
	set := kind.defaults()
	for i, def := range leafDefs {
		if !def.has(set) {
			continue
		}
		if e != nil && e.resolved != nil && e.resolved[i] != nil {
			v := e.resolved[i]
			out = append(out, Setting{def.policy, def.name, v.text, Origin{v.owner, v.at.File, v.at.Line, v.at.Col}, def.allowed})
			continue
		}
		if def.get != nil {
			out = append(out, Setting{Policy: def.policy, Path: def.name, Value: def.get(set).text, Allowed: def.allowed})
		}
	}
	return out
}

// Element is one element of a profile that a lookup can select.
type Element struct {
	Kind        EntityKind
	Name        string // "" if it has none
	TopicFilter string // "" for all topics
}

// Elements lists what a profile has: for each kind of entity its own elements and then inherited ones, in the order in
// which lookups try them.
func (p *Provider) Elements(name string) ([]Element, error) {
	if p == nil {
		return nil, errNilProvider
	}
	found, entityName, err := p.contents().find(name)
	if err != nil {
		return nil, err
	}
	var out []Element
	for kind := range entityKinds {
		for _, e := range found.visible {
			if e.kind == kind && (entityName == "" || e.name == entityName) {
				out = append(out, Element{kind.public(), e.name, e.filter})
			}
		}
	}
	return out, nil
}

// ElementSettings gives every field of one of the Elements of a profile, like Settings; of the standard if it has no such
// element.
func (p *Provider) ElementSettings(name string, e Element) ([]Setting, error) {
	if p == nil {
		return nil, errNilProvider
	}
	k, err := e.Kind.check()
	if err != nil {
		return nil, err
	}
	found, _, err := p.contents().find(name)
	if err != nil {
		return nil, err
	}
	for _, own := range found.visible {
		if own.key() == (entityKey{k, e.Name, e.TopicFilter}) {
			return own.settings(k), nil
		}
	}
	return (*entity)(nil).settings(k), nil
}

// Select gives the element of a profile that serves an entity of this kind at the topic, and false if it has none.
func (p *Provider) Select(kind EntityKind, name, topic string) (Element, bool, error) {
	if p == nil {
		return Element{}, false, errNilProvider
	}
	k, err := kind.check()
	if err != nil {
		return Element{}, false, err
	}
	e, err := p.contents().entity(k, name, topic)
	if e == nil || err != nil {
		return Element{}, false, err
	}
	return Element{kind, e.name, e.filter}, true, nil
}

// Resolve gives a Provider with this one profile, in which everything that it inherits is written out, and no elements but
// those that keep says. Nil keeps all.
func (p *Provider) Resolve(name string, keep func(Element) bool) (*Provider, error) {
	if p == nil {
		return nil, errNilProvider
	}
	c := p.contents()
	found, _, err := c.find(name)
	if err != nil {
		return nil, err
	}
	alone := &profile{name: found.name, lib: found.lib, at: found.at, isDefault: found.isDefault}
	for _, e := range found.visible {
		if keep == nil || keep(Element{e.kind.public(), e.name, e.filter}) {
			full := &entity{kind: e.kind, name: e.name, filter: e.filter, at: e.at, own: e.resolved, resolved: e.resolved}
			alone.visible = append(alone.visible, full)
			if alone.serves[e.kind] == nil && e == found.serves[e.kind] {
				alone.serves[e.kind] = full
			}
		}
	}
	alone.entities = alone.visible
	return &Provider{options: p.options, now: contents{
		profiles: map[string]*profile{found.name: alone}, order: []string{found.name},
	}}, nil
}

// Fields lists all fields of all policies that an entity of this kind has, with the default of the standard.
func Fields(kind EntityKind) []Setting {
	k, err := kind.check()
	if err != nil {
		return nil
	}
	return (*entity)(nil).settings(k)
}

// PolicyEntities lists the entities that have a policy.
func PolicyEntities(id PolicyID) []EntityKind {
	i := slices.IndexFunc(policyElements, func(p policyElement) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	var out []EntityKind
	for k := range entityKinds {
		if policyElements[i].has(k.defaults()) {
			out = append(out, k.public())
		}
	}
	return out
}
