package idlc

import (
	"strings"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/internal/suggest"
	"github.com/omg-dds-go/dds/xtypes"
)

func (c *checker) structDef(d *structDef) {
	name := strings.TrimPrefix(d.Name.Text, "_")
	var s *Struct
	if e := c.scope.get(name); e != nil && e.name == name {
		if declared, ok := e.what.(*Struct); ok && (!declared.Complete || d.Forward) {
			s = declared
		}
	}
	if s == nil {
		s = &Struct{Common: c.common(d.Name, d.Doc)}
		c.declare(d.Name, s)
	}
	if d.Forward {
		return
	}
	s.Doc, s.Pos = d.Doc, d.Name.Pos
	s.Applied = c.annotations(d.Annotations, subject{on: onStruct, name: s.Name})
	explicit := c.aggregate(&s.Aggregate, &s.Common)
	if d.Base != nil {
		c.inherit(s, d, explicit)
	}
	c.members(s, d)
	c.applyKeylist(s)
	s.measure()
	c.limits("struct", &s.Common, &s.measures)
	c.unit.Decls = append(c.unit.Decls, s)
}

// limits reports a type that is too large or too deep. It then counts as small, so that those with it as a part are not
// reported as well.
func (c *checker) limits(kind string, common *Common, m *measures) {
	switch {
	case m.memory > maxValue:
		c.report.errorf(common.Pos, "use sequences for its arrays", "%s %s takes %.0f bytes, more than %d", kind, common.Name, m.memory, maxValue)
	case m.parts > maxParts:
		c.report.errorf(common.Pos, "use arrays or sequences", "%s %s has %d members with those of its members, more than %d",
			kind, common.Name, m.parts, maxParts)
	case m.depth > maxDepth:
		c.report.errorf(common.Pos, "nest fewer structs and arrays", "%s %s has values nested more than %d deep", kind, common.Name, maxDepth)
	default:
		return
	}
	m.memory, m.parts, m.depth = 0, 0, 0
}

// aggregate applies the annotations that structs and unions share. It tells whether they say the extensibility.
func (c *checker) aggregate(g *Aggregate, common *Common) (explicit bool) {
	g.Extensibility, g.AutoID, g.Nested, g.Representations = c.extensibility, c.autoID, c.nested, c.representations
	common.Verbatim = verbatims(common.Applied)
	common.Doc = documented(common.Doc, common.Verbatim)
	x, explicit := c.explicitExtensibility(common.Name, common.Applied)
	if explicit {
		g.Extensibility = x
	}
	topic := false
	for _, a := range common.Applied {
		switch a.standard() {
		case "autoid":
			g.AutoID = AutoID(a.Args[0].Ordinal())
		case "nested":
			g.Nested = *a.Args[0].Bool
		case "topic":
			switch platform := *a.Args[1].Str; {
			case platform == "DDS" || platform == "*" && !topic: // what is said of DDS counts
				g.Topic, topic = *a.Args[0].Str, true
			case platform != "*":
				c.report.warnf(a.Pos, "", "@topic of %s is for platform %q, and ignored", common.Name, platform)
			}
		case "data_representation":
			g.Representations = c.representationsOf(a)
		}
	}
	if topic {
		g.Nested = false
	}
	return explicit
}

// representationsOf gives the set that @data_representation allows.
func (c *checker) representationsOf(a *Applied) cdr.Representations {
	const all = cdr.RepresentationXCDR1 | cdr.RepresentationXML | cdr.RepresentationXCDR2
	set := cdr.Representations(a.Args[0].Ordinal()) & all
	if set == 0 {
		c.report.errorf(a.argPos, "write XCDR1, XCDR2 or XML, or some of them with | between", "@data_representation allows none")
	}
	return set
}

// explicitExtensibility gives what annotations say of it.
func (c *checker) explicitExtensibility(name string, list []*Applied) (x cdr.Extensibility, explicit bool) {
	for _, a := range list {
		y, ok := a.extensibility()
		if !ok {
			continue
		}
		if explicit && x != y {
			c.report.errorf(a.Pos, "", "%s cannot be both %s and %s", name, x, y)
		}
		x, explicit = y, true
	}
	return x, explicit
}

func (c *checker) inherit(s *Struct, d *structDef, explicit bool) {
	switch base := c.lookup(d.Base, "base struct").(type) {
	case nil, *unknownDef:
	default:
		t, _ := base.(Type)
		b, ok := resolve(t).(*Struct)
		switch {
		case t == nil || !ok:
			c.report.errorf(d.Base.Pos, "", "base %s is not a struct", d.Base)
		case b == s || !b.Complete:
			c.report.errorf(d.Base.Pos, "define it before", "base struct %s is not complete here", b.Name)
		case b.bases+1 >= maxBases:
			c.report.errorf(d.Base.Pos, "make the bases members", "struct %s has more than %d bases above it", s.Name, maxBases-1)
		case explicit && b.Extensibility != s.Extensibility:
			c.report.errorf(d.Base.Pos, "annotate both alike", "struct %s is %s, its base %s is %s", s.Name, s.Extensibility, b.Name, b.Extensibility)
		default:
			s.Base = b
			s.Extensibility = b.Extensibility
		}
	}
}

// memberSet keeps names and ids of a struct or union apart.
type memberSet struct {
	c     *checker
	owner string
	names map[string]*Member
	ids   map[uint32]*Member
	next  uint32
	hash  bool
}

func (c *checker) newMemberSet(owner string, autoID AutoID) *memberSet {
	return &memberSet{c: c, owner: owner, names: map[string]*Member{}, ids: map[uint32]*Member{}, hash: autoID == AutoIDHash}
}

// inherited enters a member of a base.
func (set *memberSet) inherited(m *Member) {
	set.names[strings.ToLower(m.Name)] = m
	if !m.NonSerialized {
		set.ids[m.ID] = m
		set.next = max(set.next, m.ID+1)
	}
}

// add enters a member and gives it its id; false if its name is taken.
func (set *memberSet) add(m *Member, explicit bool) bool {
	key := strings.ToLower(m.Name)
	if set.c.strict && strings.EqualFold(m.Name, set.owner) {
		set.c.report.errorf(m.Pos, "", "%s cannot be declared within %s itself", m.Name, set.owner)
	}
	if old := set.names[key]; old != nil {
		hint := ""
		if old.Name != m.Name {
			hint = "in IDL, names may not differ in case only"
		}
		set.c.report.errorf(m.Pos, hint, "member %s of %s clashes with %s, declared at %s", m.Name, set.owner, old.Name, set.c.near(m.Pos, old.Pos))
		return false
	}
	set.names[key] = m
	if m.NonSerialized {
		return true
	}
	switch {
	case explicit:
	case m.HashID != nil && *m.HashID != "":
		m.ID = xtypes.HashID(*m.HashID)
	case m.HashID != nil || set.hash:
		m.ID = xtypes.HashID(m.Name)
	default:
		m.ID = set.next
	}
	if old := set.ids[m.ID]; old != nil {
		set.c.report.errorf(m.Pos, "", "members %s and %s of %s have the same id %d", old.Name, m.Name, set.owner, m.ID)
	}
	if m.ID > maxMemberID {
		set.c.report.errorf(m.Pos, "", "member id %d is not within 0 to %d", m.ID, maxMemberID)
	}
	set.ids[m.ID] = m
	set.next = m.ID + 1
	return true
}

// maxMemberID is the largest id that a member may have (XTypes 1.3 §7.3.1.2.1).
const maxMemberID = 0x0fffffff

// members checks names, types, ids and keys.
func (c *checker) members(s *Struct, d *structDef) {
	set := c.newMemberSet(s.Name, s.AutoID)
	for _, m := range s.allMembers() {
		set.inherited(m)
	}
	for _, syn := range d.Members {
		t := c.typeOf(syn.Type, mayBeIncomplete(syn.Annotations))
		for _, decl := range syn.Declarators {
			m := &Member{Name: c.cleanName(decl.Name), Of: s, Doc: syn.Doc, Pos: decl.Name.Pos}
			m.Type = c.declared(t, decl)
			explicit := c.annotateMember(m, syn.Annotations, onMember, len(syn.Declarators))
			if !set.add(m, explicit) || m.Type == nil {
				continue
			}
			if m.Key {
				c.keys = append(c.keys, keyMember{s, m})
			}
			s.Members = append(s.Members, m)
		}
	}
}

// mayBeIncomplete tells whether a member refers to its value, so that the type may still be incomplete.
func mayBeIncomplete(list []*annotation) bool {
	for _, a := range list {
		if len(a.Name.Parts) == 1 && a.Name.Parts[0].Text == "external" {
			return true
		}
	}
	return false
}

// annotateMember applies what is written in front of a member, and tells whether that says its id.
func (c *checker) annotateMember(m *Member, list []*annotation, on target, declarators int) (explicitID bool) {
	if len(list) == 0 {
		return false
	}
	subject := subject{on: on, name: m.Name, typ: m.Type}
	m.Applied = c.annotations(list, subject)
	m.Verbatim = verbatims(m.Applied)
	m.Doc = documented(m.Doc, m.Verbatim)
	for _, a := range m.Applied {
		switch a.standard() {
		case "key":
			m.Key = *a.Args[0].Bool
		case "optional":
			m.Optional = *a.Args[0].Bool
		case "must_understand":
			if m.MustUnderstand = *a.Args[0].Bool; on == onCase && m.MustUnderstand {
				m.MustUnderstand = false // Annex B: it does not apply
				c.report.warnf(a.Pos, "", "@must_understand of a member of a union has no effect: the discriminator, which must be understood, selects it")
			}
		case "external":
			m.External = *a.Args[0].Bool
		case "non_serialized":
			m.NonSerialized = *a.Args[0].Bool
		case "try_construct":
			m.TryConstruct = tryConstruct(a)
		case "hashid":
			m.HashID = a.Args[0].Str
		case "id":
			explicitID = true
			m.ID = uint32(a.Args[0].Int.Uint64())
			if declarators > 1 {
				c.report.errorf(a.Pos, "declare each on its own", "@id for %d members", declarators)
			}
		}
	}
	if explicitID && m.HashID != nil {
		c.report.errorf(m.Pos, "", "member %s has both @id and @hashid", m.Name)
	}
	if m.Key && m.Optional {
		c.report.errorf(m.Pos, "", "key member %s cannot be @optional", m.Name)
	}
	if m.Key && m.NonSerialized {
		c.report.errorf(m.Pos, "", "key member %s cannot be @non_serialized", m.Name)
	}
	c.constrain(&m.Constraints, m.Applied, subject)
	return explicitID
}

// keylist is what #pragma keylist says of a struct.
type keylist struct {
	*keylistDef
	used bool
}

// collectKeylist files a keylist under every name that it may mean from where it stands, the innermost first.
func (c *checker) collectKeylist(d *keylistDef, path []string) {
	k := &keylist{keylistDef: d}
	tail := strings.TrimPrefix(d.Type.String(), "::")
	for n := len(path); n >= 0; n-- {
		if d.Type.Global && n > 0 {
			continue
		}
		name := strings.Join(append(path[:n:n], tail), "::")
		if c.keylists[name] == nil {
			c.keylists[name] = k
		}
	}
}

// applyKeylist marks the members that #pragma keylist names as keys. A path a.b marks b of the type of a, which is then a key
// wherever that type is one.
func (c *checker) applyKeylist(s *Struct) {
	if len(c.keylists) == 0 {
		return
	}
	k := c.keylists[s.Scoped()]
	if k == nil || k.used {
		return
	}
	k.used = true
	for _, path := range k.Members {
		in := s
		for part := range strings.SplitSeq(path.Text, ".") {
			if in == nil {
				c.report.errorf(path.Pos, "", "%s in #pragma keylist goes on behind what is no struct", path.Text)
				break
			}
			m := in.member(part)
			if m == nil {
				c.report.errorf(path.Pos, suggest.DidYouMean(part, in.memberNames), "struct %s has no member %s", in.Name, part)
				break
			}
			m.Key = true
			if in != s {
				in.measure()
			}
			if in == s {
				c.keys = append(c.keys, keyMember{s, m})
			}
			in, _ = resolve(m.Type).(*Struct)
		}
	}
}

func (s *Struct) member(name string) *Member {
	for _, m := range s.allMembers() {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (s *Struct) memberNames(yield func(string) bool) {
	for _, m := range s.allMembers() {
		if !yield(m.Name) {
			return
		}
	}
}

// unusedKeylists reports those that name no struct.
func (c *checker) unusedKeylists() {
	for _, k := range c.keylists {
		if !k.used {
			k.used = true
			c.report.errorf(k.Pos, c.keylistHint(k), "#pragma keylist names %s, which is no struct defined here", k.Type)
		}
	}
}

func (c *checker) keylistHint(k *keylist) string {
	return suggest.DidYouMean(k.Type.Parts[len(k.Type.Parts)-1].Text, func(yield func(string) bool) {
		for _, d := range c.unit.Decls {
			if s, ok := d.(*Struct); ok && !yield(s.Name) {
				return
			}
		}
	})
}
