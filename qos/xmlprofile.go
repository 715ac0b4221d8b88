package qos

import "strings"

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
	own      leaves
	resolved leaves // with everything inherited
}

// profile is one <qos_profile>, or a single entity that stands in its place. It is not changed once it is
// resolved.
type profile struct {
	name     string // "Lib::Profile"
	at       place
	base     *profile
	entities []*entity
	depth    int  // of base profiles
	partial  bool // something it inherits could not be found
}

// library is the "Lib" of "Lib::Profile".
func (p *profile) library() string {
	lib, _, _ := strings.Cut(p.name, "::")
	return lib
}

// named finds the entity of that name, here or in a base.
func (p *profile) named(kind entityKind, name string) *entity {
	for ; p != nil; p = p.base {
		for _, e := range p.entities {
			if e.kind == kind && e.name == name {
				return e
			}
		}
	}
	return nil
}

// plain finds the entity that serves all topics: the one without filter, an unnamed one before a named one.
func (p *profile) plain(kind entityKind) *entity {
	for ; p != nil; p = p.base {
		var found *entity
		for _, e := range p.entities {
			if e.kind != kind || e.filter != "" {
				continue
			}
			if e.name == "" {
				return e
			}
			if found == nil {
				found = e
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// filtered finds the first entity whose filter is exactly this.
func (p *profile) filtered(kind entityKind, filter string) *entity {
	for ; p != nil; p = p.base {
		for _, e := range p.entities {
			if e.kind == kind && e.filter == filter {
				return e
			}
		}
	}
	return nil
}

// feeds is what an entity of this kind and filter inherits from p: what p has for all topics, and over it
// what p has for the same filter.
func (p *profile) feeds(kind entityKind, filter string) leaves {
	var out leaves
	if e := p.plain(kind); e != nil {
		out = e.resolved
	}
	if filter != "" {
		if e := p.filtered(kind, filter); e != nil {
			out = out.over(e.resolved)
		}
	}
	return out
}

// lookup selects the entity for a topic: the first in document order whose filter matches, own ones before
// inherited ones, else the one without a filter. Without a topic only the latter counts.
func (p *profile) lookup(kind entityKind, topic string) *entity {
	if topic != "" {
		for q := p; q != nil; q = q.base {
			for _, e := range q.entities {
				if e.kind == kind && e.filter != "" && fnmatch(e.filter, topic) {
					return e
				}
			}
		}
	}
	return p.plain(kind)
}
