package qos

import (
	"fmt"
	"slices"
)

// leaf is the value of one field in one entity element, and where it came from. Merging works on leaves.
type leaf struct {
	value
	at    place
	owner string // the profile that sets it
	bad   bool   // it could not be read: it hides what it would override, and is not judged further
}

// leaves holds one leaf for every name in leafNames, nil where nothing is set; nil altogether if nothing is.
type leaves []*leaf

// over gives l with every leaf of top put over it. Neither is changed.
func (l leaves) over(top leaves) leaves {
	switch {
	case top == nil:
		return l
	case l == nil:
		return top
	}
	out := make(leaves, len(leafNames))
	copy(out, l)
	for i, v := range top {
		if v != nil {
			out[i] = v
		}
	}
	return out
}

// apply writes all leaves into a QoS.
func (l leaves) apply(s policySet) {
	for _, v := range l {
		if v != nil && !v.bad {
			v.set(s)
		}
	}
}

// entity is one <datawriter_qos> or the like.
type entity struct {
	kind     entityKind
	name     string
	filter   string // "" for all topics
	at       place
	bases    []string // the base_names of its own, in full
	own      leaves
	resolved leaves // with everything inherited
}

// plain entities serve all topics.
func (e *entity) plain() bool { return e.filter == "" }

// profile is one <qos_profile>, or a single entity that stands in its place. It is not changed once it is
// resolved.
type profile struct {
	name      string // "Lib::Profile", or "Profile" where there are no libraries
	lib       string
	at        place
	snippet   bool
	isDefault []entityKind         // for which it is the default
	bases     []*profile           // each put over the one before
	entities  []*entity            // its own
	visible   []*entity            // all that a lookup can select: its own, then inherited ones
	serves    [entityKinds]*entity // the one for all topics, an unnamed one before a named one
	ancestors int
	partial   bool // something it inherits could not be found
}

// named finds the entity of that name, its own or an inherited one.
func (p *profile) named(kind entityKind, name string) *entity {
	for _, e := range p.visible {
		if e.kind == kind && e.name == name {
			return e
		}
	}
	return nil
}

// filtered finds the first entity whose filter is exactly this.
func (p *profile) filtered(kind entityKind, filter string) *entity {
	for _, e := range p.visible {
		if e.kind == kind && e.filter == filter {
			return e
		}
	}
	return nil
}

// feeds is what an entity of this kind and filter inherits from p: what p has for all topics, and over it
// what p has for the same filter.
func (p *profile) feeds(kind entityKind, filter string) leaves {
	var out leaves
	if e := p.serves[kind]; e != nil {
		out = e.resolved
	}
	if filter != "" {
		if e := p.filtered(kind, filter); e != nil {
			out = out.over(e.resolved)
		}
	}
	return out
}

// inherits is what an entity of p inherits from the bases of p.
func (p *profile) inherits(kind entityKind, filter string) leaves {
	var out leaves
	for _, base := range p.bases {
		out = out.over(base.feeds(kind, filter))
	}
	return out
}

// lookup selects the entity for a topic: the first in document order whose filter matches, own ones before
// inherited ones, else the one without a filter. Without a topic only the latter counts.
func (p *profile) lookup(kind entityKind, topic string) *entity {
	if topic != "" {
		for _, e := range p.visible {
			if e.kind == kind && e.filter != "" && fnmatch(e.filter, topic) {
				return e
			}
		}
	}
	return p.serves[kind]
}

// entityKey is what entities of a profile differ in.
type entityKey struct {
	kind         entityKind
	name, filter string
}

func (e *entity) key() entityKey { return entityKey{e.kind, e.name, e.filter} }

// inherit completes a profile whose own entities have been read: with those of its bases that it has none of its own in
// the place of. Where several bases have one, the later is put over the earlier.
func (l *loader) inherit(p *profile, path string) {
	for _, e := range p.entities {
		if e.plain() && (p.serves[e.kind] == nil || p.serves[e.kind].name != "" && e.name == "") {
			p.serves[e.kind] = e
		}
	}
	if len(p.bases) == 0 || l.merged > maxMerged { // the file is refused: no more work for it
		p.visible = p.entities
		return
	}
	for kind := range entityKinds {
		if p.serves[kind] == nil {
			p.serves[kind] = l.mergePlain(p, kind, path)
		}
	}
	if len(p.bases) == 1 && len(p.entities) == 0 {
		p.visible = p.bases[0].visible
		return
	}
	p.visible = append(p.visible, p.entities...)
	seen := map[entityKey]bool{}
	for _, e := range p.entities {
		seen[e.key()] = true
	}
	for i := len(p.bases) - 1; i >= 0; i-- { // the last base wins, so its filters are tried first
		for _, e := range p.bases[i].visible {
			if seen[e.key()] {
				continue
			}
			if len(p.bases) > 1 {
				seen[e.key()] = true
			}
			if len(p.visible) >= maxEntities {
				l.fail(p.at, path, fmt.Sprintf("more than %d elements in a profile, inherited ones included", maxEntities), "name fewer bases")
				return
			}
			if len(p.bases) > 1 {
				e = l.mergeEntity(p, e, path)
			}
			if l.merged > maxMerged {
				return
			}
			p.visible = append(p.visible, e)
		}
	}
}

// mergePlain makes the entity that serves all topics out of those of the bases.
func (l *loader) mergePlain(p *profile, kind entityKind, path string) *entity {
	var found *entity
	several := false
	for _, base := range p.bases {
		if e := base.serves[kind]; e != nil {
			several = several || found != nil && found != e
			found = e
		}
	}
	if !several {
		return found
	}
	return l.combine(p, found, p.inherits(kind, ""), path)
}

// mergeEntity makes the entity of e's key out of those of the bases. One that only one base has a part in is shared.
func (l *loader) mergeEntity(p *profile, e *entity, path string) *entity {
	if e.plain() && e.name == "" && p.serves[e.kind] != nil && p.serves[e.kind].name == "" && !slices.Contains(p.entities, p.serves[e.kind]) {
		return p.serves[e.kind]
	}
	var out leaves
	var from []*profile
	for _, base := range p.bases {
		var part leaves
		if e.name != "" {
			if other := base.named(e.kind, e.name); other != nil {
				part = other.resolved
			}
		} else {
			part = base.feeds(e.kind, e.filter)
		}
		if part != nil {
			out = out.over(part)
			from = append(from, base)
		}
	}
	if len(from) < 2 {
		return e
	}
	return l.combine(p, e, out, path)
}

// combine makes an entity like e with other values. Consistent parts can contradict each other together.
func (l *loader) combine(p *profile, e *entity, resolved leaves, path string) *entity {
	if l.merged++; l.merged > maxMerged {
		if l.merged == maxMerged+1 {
			l.fail(p.at, path, "the profiles of this file inherit too much from several bases each", "split it, or name fewer bases")
		}
		return e
	}
	out := &entity{kind: e.kind, name: e.name, filter: e.filter, at: p.at, resolved: resolved}
	l.consistency(out, p.partial, path+"/"+e.kind.String())
	return out
}
