package idlc

// keyMember is a member that is marked as a key. Whether it can be one shows when all types are complete.
type keyMember struct {
	of *Struct
	m  *Member
}

// keyMembers refuses what cannot identify an instance: the pairs of a map have no order, so that equal maps have many encodings.
func (c *checker) keyMembers() {
	clean := mapFinder{}
	for _, k := range c.keys {
		seen := mapFinder{}
		if path, t := seen.find(k.m.Type, k.m.Name, clean); t != nil {
			c.report.errorf(k.m.Pos, "use a sequence of pairs, or mark key members in the nested struct",
				"key member %s of %s holds a map: %s is %s, whose pairs have no order", k.m.Name, k.of.Name, path, typeName(t))
			continue
		}
		for t := range seen {
			clean[t] = true
		}
	}
}

// mapFinder has the structs and unions that a search has seen.
type mapFinder map[Type]bool

// find gives the first map in what a value contributes to a key, and where it is. It does not look into types that are clean.
func (seen mapFinder) find(t Type, path string, clean mapFinder) (string, Type) {
	t = resolve(t)
	switch t := t.(type) {
	case *Map:
		return path, t
	case *Sequence:
		return seen.find(t.Elem, path+"[]", clean)
	case *Array:
		return seen.find(t.Elem, path+"[]", clean)
	}
	if seen[t] || clean[t] {
		return "", nil
	}
	var parts []*Member
	switch t := t.(type) {
	case *Struct:
		parts = t.holder()
	case *Union:
		if !t.DiscriminatorKey {
			parts = t.members()
		}
	default:
		return "", nil
	}
	seen[t] = true
	for _, m := range parts {
		if where, found := seen.find(m.Type, path+"."+m.Name, clean); found != nil {
			return where, found
		}
	}
	return "", nil
}
