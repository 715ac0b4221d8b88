package idlc

import (
	"math/big"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

func (c *checker) enumDef(d *enumDef) {
	e := &Enum{Common: c.common(d.Name, d.Doc), Width: 4, names: newScope(d.Name.Text, nil)}
	c.annotations(d.Annotations, "enum", e)
	c.declare(d.Name, e)
	bits := uint(8*e.Width - 1)
	if e.Width == 4 {
		bits = 31
	}
	limit := new(big.Int).Lsh(big.NewInt(1), bits)
	next := big.NewInt(0)
	values := map[string]*Enumerator{}
	for _, s := range d.Enumerators {
		v := &Enumerator{Name: strings.TrimPrefix(s.Name.Text, "_"), Doc: s.Doc, Pos: s.Name.Pos, Enum: e}
		explicit := s.Value
		for _, a := range c.annotations(s.Annotations, "enumerator", v) {
			if a.Name.String() == "value" && len(a.Args) == 1 {
				explicit = a.Args[0].Value
			}
			if a.Name.String() == "default_literal" {
				if e.Default != nil {
					c.report.errorf(a.Pos, "", "enum %s has two default literals, %s and %s", e.Name, e.Default.Name, v.Name)
				}
				e.Default = v
			}
		}
		if explicit != nil {
			val := c.eval(explicit)
			switch {
			case !val.Valid():
				continue
			case val.Int == nil || val.Char:
				c.report.errorf(explicit.Pos, "", "value of an enumerator must be an integer, not %s", val.kind())
				continue
			}
			next = val.Int
		}
		value := next
		next = new(big.Int)
		if value.Cmp(limit) >= 0 || value.Cmp(new(big.Int).Neg(limit)) < 0 {
			c.report.errorf(s.Name.Pos, "", "value %s of %s does not fit into %d bits", value, v.Name, 8*e.Width)
			continue
		}
		v.Value = int32(value.Int64())
		if old := values[value.String()]; old != nil {
			c.report.errorf(s.Name.Pos, "", "%s has the same value %s as %s", v.Name, value, old.Name)
		}
		values[value.String()] = v
		next.Add(value, big.NewInt(1))
		if c.declare(s.Name, v) {
			e.Enumerators = append(e.Enumerators, v)
			e.names.names[strings.ToLower(v.Name)] = &entry{v.Name, v.Pos, v}
		}
	}
	if len(d.Enumerators) == 0 && !d.Broken {
		c.report.errorf(d.Name.Pos, "", "enum %s has no enumerators", d.Name.Text)
	}
	if e.Default == nil && len(e.Enumerators) > 0 {
		e.Default = e.Enumerators[0]
	}
	c.unit.Decls = append(c.unit.Decls, e)
}

func (c *checker) structDef(d *structDef) {
	name := strings.TrimPrefix(d.Name.Text, "_")
	var s *Struct
	if e := c.scope.names[strings.ToLower(name)]; e != nil && e.name == name {
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
	s.Extensibility = cdr.Appendable
	explicit := len(c.annotations(d.Annotations, "struct", s)) > 0 && hasExtensibility(d.Annotations)
	if d.Base != nil {
		c.inherit(s, d, explicit)
	}
	c.members(s, d)
	if len(d.Members) == 0 && d.Base == nil && !d.Broken {
		c.report.errorf(d.Name.Pos, "give it a member", "struct %s is empty", s.Name)
	}
	s.measure()
	c.limits(s)
	c.unit.Decls = append(c.unit.Decls, s)
}

// limits reports a struct that is too large or too deep. It then counts as small, so that those with it as a part are not
// reported as well.
func (c *checker) limits(s *Struct) {
	switch {
	case s.memory > maxValue:
		c.report.errorf(s.Pos, "use sequences for its arrays", "struct %s takes %.0f bytes, more than %d", s.Name, s.memory, maxValue)
	case s.parts > maxParts:
		c.report.errorf(s.Pos, "use arrays or sequences", "struct %s has %d members with those of its members, more than %d", s.Name, s.parts, maxParts)
	case s.depth > maxDepth:
		c.report.errorf(s.Pos, "nest fewer structs and arrays", "struct %s has values nested more than %d deep", s.Name, maxDepth)
	default:
		return
	}
	s.memory, s.parts, s.depth = 0, 0, 0
}

func hasExtensibility(as []*annotation) bool {
	return slices.ContainsFunc(as, func(a *annotation) bool {
		return slices.Contains([]string{"final", "appendable", "mutable", "extensibility"}, a.Name.String())
	})
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

// members checks names, types, ids and keys.
func (c *checker) members(s *Struct, d *structDef) {
	names := map[string]*Member{}
	ids := map[uint32]*Member{}
	nextID := uint32(0)
	for _, m := range s.allMembers() {
		names[strings.ToLower(m.Name)] = m
		ids[m.ID] = m
		nextID = max(nextID, m.ID+1)
	}
	for _, syn := range d.Members {
		t := c.typeOf(syn.Type, false)
		for _, decl := range syn.Declarators {
			m := &Member{Name: c.cleanName(decl.Name), Of: s, Doc: syn.Doc, Pos: decl.Name.Pos, ID: nextID}
			applied := c.annotations(syn.Annotations, "member", m)
			for _, a := range applied {
				if a.Name.String() == "id" && len(syn.Declarators) > 1 {
					c.report.errorf(a.Pos, "declare each on its own", "@id for %d members", len(syn.Declarators))
				}
			}
			m.Type = c.declared(t, decl)
			key := strings.ToLower(m.Name)
			if old := names[key]; old != nil {
				hint := ""
				if old.Name != m.Name {
					hint = "in IDL, names may not differ in case only"
				}
				c.report.errorf(m.Pos, hint, "member %s of %s clashes with %s, declared at %s", m.Name, s.Name, old.Name, near(m.Pos, old.Pos))
				continue
			}
			names[key] = m
			if old := ids[m.ID]; old != nil {
				c.report.errorf(m.Pos, "", "members %s and %s of %s have the same id %d", old.Name, m.Name, s.Name, m.ID)
			}
			ids[m.ID] = m
			nextID = m.ID + 1
			if m.Type == nil {
				continue
			}
			if m.Key {
				c.keyMember(s, m)
			}
			s.Members = append(s.Members, m)
		}
	}
}

// keyMember refuses what cannot identify an instance.
func (c *checker) keyMember(s *Struct, m *Member) {
	if path, seq := sequenceIn(m.Type, m.Name); seq != nil {
		c.report.errorf(m.Pos, "use an array or a bounded string, or mark key members in the nested struct",
			"key member %s of %s holds a sequence: %s is %s", m.Name, s.Name, path, typeName(seq))
	}
}
