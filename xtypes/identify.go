package xtypes

import (
	"cmp"
	"fmt"
	"slices"
)

// Identified is a type with its identifier and, if that is a hash, its type object.
type Identified struct {
	Type   *Type
	ID     TypeIdentifier
	Object *TypeObject
	Size   int // of the serialized type object
}

// Identify gives the identifier of t and those of the types that it refers to: t first, then the others that have
// hashes, each once, what is referred to before what refers to it as far as recursion allows. In a recursion (XTypes
// 1.3 §7.3.4) the types that refer to each other are a strongly connected component: their identifiers have the hash of
// its serialized type objects, ordered by name, in which they name each other with a hash of zero.
func Identify(t *Type, ek EquivalenceKind) ([]Identified, error) {
	if missing := t.Incomplete(); len(missing) > 0 {
		return nil, fmt.Errorf("xtypes: %s refers to %v, declared but not complete", t, missing)
	}
	g := identifier{ek: ek, ids: map[*Type]TypeIdentifier{}, index: map[*Type]int{}, low: map[*Type]int{}}
	if t.hashed() {
		g.visit(t)
	} else {
		for _, p := range t.hashedParts() {
			if g.index[p] == 0 {
				g.visit(p)
			}
		}
	}
	if g.err != nil {
		return nil, g.err
	}
	self := Identified{Type: t, ID: g.id(t)}
	i := slices.IndexFunc(g.found, func(f Identified) bool { return f.Type == t })
	if i >= 0 {
		self = g.found[i]
		g.found = slices.Delete(g.found, i, i+1)
	}
	return append([]Identified{self}, g.found...), nil
}

// Identifier gives the type identifier of t.
func (t *Type) Identifier(ek EquivalenceKind) (TypeIdentifier, error) {
	all, err := Identify(t, ek)
	if err != nil {
		return TypeIdentifier{}, err
	}
	return all[0].ID, nil
}

// Object gives the type object of t; nil for types that their identifier describes in full.
func (t *Type) Object(ek EquivalenceKind) (*TypeObject, error) {
	all, err := Identify(t, ek)
	if err != nil {
		return nil, err
	}
	return all[0].Object, nil
}

// hashed tells whether the type has a type object: collections only when they have a name.
func (t *Type) hashed() bool { return t.d.Name != "" }

// hashedParts gives the types with type objects that t mentions, looking through collections.
func (t *Type) hashedParts() []*Type {
	var list []*Type
	var visit func(p *Type)
	visit = func(p *Type) {
		if p.hashed() {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
			return
		}
		for _, q := range p.parts() {
			visit(q)
		}
	}
	for _, p := range t.parts() {
		visit(p)
	}
	return list
}

// identifier finds the strongly connected components of the graph of types, by the algorithm of Tarjan: a component is complete
// only when everything that it refers to has an identifier.
type identifier struct {
	ek    EquivalenceKind
	ids   map[*Type]TypeIdentifier
	found []Identified
	index map[*Type]int // from 1, in the order of the first visit
	low   map[*Type]int // the least index of what is reached and has no identifier yet
	stack []*Type
	err   error
}

func (g *identifier) visit(t *Type) {
	g.index[t] = len(g.index) + 1
	g.low[t] = g.index[t]
	g.stack = append(g.stack, t)
	for _, p := range t.hashedParts() {
		switch _, done := g.ids[p]; {
		case done:
		case g.index[p] == 0:
			g.visit(p)
			g.low[t] = min(g.low[t], g.low[p])
		default:
			g.low[t] = min(g.low[t], g.index[p])
		}
	}
	if g.low[t] != g.index[t] {
		return
	}
	i := slices.Index(g.stack, t)
	component := slices.Clone(g.stack[i:])
	g.stack = g.stack[:i]
	if len(component) == 1 && !slices.Contains(t.hashedParts(), t) {
		o := g.object(t)
		b := o.Marshal()
		g.note(t, o, len(b), TypeIdentifier{Kind: uint8(g.ek), Hash: hashOf(b)})
		return
	}
	g.component(component)
}

// id gives the identifier of a type whose hashed parts have theirs.
func (g *identifier) id(t *Type) TypeIdentifier {
	if id, ok := g.ids[t]; ok {
		return id
	}
	return plain(t, g.ek, g.id)
}

func (g *identifier) object(t *Type) *TypeObject {
	k := objectMaker{ek: g.ek, part: g.id}
	o := k.object(t)
	if g.err == nil {
		g.err = k.err
	}
	return o
}

// note keeps what is known of a type: its object, the size of that, and its identifier.
func (g *identifier) note(t *Type, o *TypeObject, size int, id TypeIdentifier) {
	g.ids[t] = id
	g.found = append(g.found, Identified{Type: t, ID: id, Object: o, Size: size})
}

func (g *identifier) component(types []*Type) {
	slices.SortFunc(types, func(x, y *Type) int { return cmp.Compare(x.d.Name, y.d.Name) })
	name := func(h EquivalenceHash) {
		for i, t := range types {
			g.ids[t] = TypeIdentifier{Kind: tiComponent, HashKind: g.ek, Hash: h, Length: int32(len(types)), Index: int32(i + 1)}
		}
	}
	name(EquivalenceHash{})
	a := newArchive()
	objects := make([]*TypeObject, len(types))
	for i, t := range types {
		objects[i] = g.object(t)
	}
	list(a, &objects, func(o **TypeObject) { a.object(*o) })
	name(hashOf(a.w.buf))
	for _, t := range types {
		o := g.object(t)
		g.note(t, o, len(o.Marshal()), g.ids[t])
	}
}

// SizedIdentifier is TypeIdentifierWithSize.
type SizedIdentifier struct {
	ID   TypeIdentifier
	Size uint32 // of the serialized type object; 0 for none
}

// Dependencies is TypeIdentifierWithDependencies.
type Dependencies struct {
	SizedIdentifier
	// Count is the number of types that the type refers to; fewer may be listed. -1 if unknown.
	Count     int32
	Dependent []SizedIdentifier
}

// TypeInformation is what endpoints tell about their type in discovery (XTypes 1.3 §7.6.3.2).
type TypeInformation struct {
	Minimal, Complete Dependencies
}

// NewTypeInformation describes t.
func NewTypeInformation(t *Type) (*TypeInformation, error) {
	minimal, complete, err := identifyBoth(t)
	if err != nil {
		return nil, err
	}
	return newTypeInformation(minimal, complete), nil
}

// identifyBoth gives the type with its dependencies in both kinds.
func identifyBoth(t *Type) (minimal, complete []Identified, err error) {
	if minimal, err = Identify(t, Minimal); err == nil {
		complete, err = Identify(t, Complete)
	}
	return minimal, complete, err
}

func newTypeInformation(minimal, complete []Identified) *TypeInformation {
	return &TypeInformation{Minimal: dependenciesOf(minimal), Complete: dependenciesOf(complete)}
}

// dependenciesOf takes a type, and behind it those that it refers to.
func dependenciesOf(all []Identified) Dependencies {
	d := Dependencies{Count: int32(len(all) - 1)}
	for i, x := range all {
		s := SizedIdentifier{ID: x.ID, Size: uint32(x.Size)}
		if i == 0 {
			d.SizedIdentifier = s
		} else {
			d.Dependent = append(d.Dependent, s)
		}
	}
	return d
}

// Ids of the members of TypeInformation.
const (
	idMinimal  = 0x1001
	idComplete = 0x1002
)

// Marshal serializes the information: XCDR2, little endian, without a header in front.
func (t *TypeInformation) Marshal() []byte {
	a := newArchive()
	c := *t
	a.delimited(func() {
		for i, d := range []*Dependencies{&c.Minimal, &c.Complete} {
			a.w.uint(4, uint64(lengthNext<<28|[]uint32{idMinimal, idComplete}[i]))
			a.delimited(func() { a.dependencies(d) })
		}
	})
	return a.w.buf
}

// UnmarshalTypeInformation reads what Marshal writes, of any vendor.
func UnmarshalTypeInformation(b []byte) (*TypeInformation, error) {
	a := openArchive(b)
	t := &TypeInformation{}
	a.delimited(func() {
		for {
			id, n, _, more := a.r.header(nil)
			if !more {
				return
			}
			s := a.r.enterMember(n)
			switch id {
			case idMinimal:
				a.dependencies(&t.Minimal)
			case idComplete:
				a.dependencies(&t.Complete)
			}
			a.r.leave(s)
		}
	})
	if err := a.done(); err != nil {
		return nil, err
	}
	return t, nil
}

func (a *archive) dependencies(d *Dependencies) {
	a.delimited(func() {
		a.sized(&d.SizedIdentifier)
		a.i32(&d.Count)
		list(a, &d.Dependent, a.sized)
	})
}

func (a *archive) sized(s *SizedIdentifier) {
	a.delimited(func() {
		a.id(&s.ID)
		a.u32(&s.Size)
	})
}

// Pair is TypeIdentifierTypeObjectPair: an answer of the type lookup service (XTypes 1.3 §7.6.3.3).
type Pair struct {
	ID     TypeIdentifier
	Object *TypeObject
}

// TypeMapping has the type objects behind a TypeInformation, and which minimal identifier belongs to which complete
// one. Compilers keep it beside the generated code; see cdr.TypeInfo.
type TypeMapping struct {
	Minimal, Complete []Pair
	// Same are pairs of a complete and a minimal identifier.
	Same [][2]TypeIdentifier
}

// NewTypeMapping gives the type objects of t and of all that it refers to.
func NewTypeMapping(t *Type) (*TypeMapping, error) {
	minimal, complete, err := identifyBoth(t)
	if err != nil {
		return nil, err
	}
	return newTypeMapping(minimal, complete), nil
}

func newTypeMapping(minimal, complete []Identified) *TypeMapping {
	m := &TypeMapping{}
	ids := map[*Type]TypeIdentifier{}
	for _, x := range minimal {
		if x.Object != nil {
			m.Minimal = append(m.Minimal, Pair{x.ID, x.Object})
			ids[x.Type] = x.ID
		}
	}
	for _, x := range complete {
		if x.Object != nil {
			m.Complete = append(m.Complete, Pair{x.ID, x.Object})
			m.Same = append(m.Same, [2]TypeIdentifier{x.ID, ids[x.Type]})
		}
	}
	return m
}

// Marshal serializes the mapping: XCDR2, little endian, without a header in front.
func (m *TypeMapping) Marshal() []byte {
	a := newArchive()
	c := *m
	a.mappings(&c)
	return a.w.buf
}

// UnmarshalTypeMapping reads what Marshal writes, of any vendor.
func UnmarshalTypeMapping(b []byte) (*TypeMapping, error) {
	a := openArchive(b)
	m := &TypeMapping{}
	a.mappings(m)
	if err := a.done(); err != nil {
		return nil, err
	}
	return m, nil
}

func (a *archive) mappings(m *TypeMapping) {
	for _, pairs := range []*[]Pair{&m.Minimal, &m.Complete} {
		list(a, pairs, func(p *Pair) {
			a.id(&p.ID)
			if a.reading {
				p.Object = &TypeObject{}
			}
			a.object(p.Object)
		})
	}
	list(a, &m.Same, func(p *[2]TypeIdentifier) {
		a.id(&p[0])
		a.id(&p[1])
	})
}
