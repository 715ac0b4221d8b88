package xtypes

import (
	"fmt"
	"math"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// Registry keeps type objects by their identifiers, as they come from discovery, and builds types of them. It has one
// owner at a time.
type Registry struct {
	objects map[string]*TypeObject
	types   map[string]*Type
	depth   int
	// defaults are those that the members of the types get; see Defaults.
	defaults []cdr.MemberDefault
}

// maxResolve bounds how deeply types that are read from type objects refer to each other.
const maxResolve = 500

// NewRegistry gives an empty registry.
func NewRegistry() *Registry {
	return &Registry{objects: map[string]*TypeObject{}, types: map[string]*Type{}}
}

// Add takes a type object. One whose hash is not that of its identifier is refused: it is damaged, or not what its sender says.
func (r *Registry) Add(id TypeIdentifier, o *TypeObject) error {
	switch {
	case !id.Hashed():
		return fmt.Errorf("xtypes: %s has no type object", &id)
	case id.Kind != tiComponent && o.equivalence != EquivalenceKind(id.Kind):
		return fmt.Errorf("xtypes: the type object of %s is of %s", &id, o.equivalence)
	case id.Kind != tiComponent && o.Hash() != id.Hash:
		return fmt.Errorf("xtypes: the type object of %s has hash %x: it is damaged, or another one", &id, o.Hash())
	}
	r.objects[id.key()] = o
	return nil
}

// AddMapping takes all type objects of a mapping.
func (r *Registry) AddMapping(m *TypeMapping) error {
	for _, p := range slices.Concat(m.Minimal, m.Complete) {
		if err := r.Add(p.ID, p.Object); err != nil {
			return err
		}
	}
	return nil
}

// Missing gives the identifiers that are needed to build the type, and that the registry does not have yet.
func (r *Registry) Missing(id TypeIdentifier) []TypeIdentifier {
	var list []TypeIdentifier
	seen := map[string]bool{}
	var visit func(id *TypeIdentifier)
	visit = func(id *TypeIdentifier) {
		if id.Elem != nil {
			visit(id.Elem)
		}
		if id.Key != nil {
			visit(id.Key)
		}
		key := id.key()
		if !id.Hashed() || seen[key] {
			return
		}
		seen[key] = true
		o := r.objects[key]
		if o == nil {
			list = append(list, *id)
			return
		}
		for _, p := range o.parts() {
			visit(p)
		}
	}
	visit(&id)
	return list
}

// parts gives the identifiers in an object.
func (o *TypeObject) parts() []*TypeIdentifier {
	list := []*TypeIdentifier{&o.base, &o.disc.typ, &o.related, &o.elem.typ, &o.key.typ}
	for i := range o.members {
		list = append(list, &o.members[i].typ)
	}
	return list
}

// Type builds the type with that identifier. One that comes from minimal type objects has hashes in place of names: good for
// assignability, not for people.
func (r *Registry) Type(id TypeIdentifier) (*Type, error) {
	if missing := r.Missing(id); len(missing) > 0 {
		return nil, fmt.Errorf("xtypes: %s needs %d type objects that are not there, such as %s", &id, len(missing), &missing[0])
	}
	return r.build(&id)
}

func (r *Registry) build(id *TypeIdentifier) (*Type, error) {
	if r.depth++; r.depth > maxResolve {
		return nil, fmt.Errorf("xtypes: types refer to each other more than %d levels deep", maxResolve)
	}
	defer func() { r.depth-- }()
	d := TypeDescriptor{Bound: id.Bound, Dims: id.Bounds}
	switch id.Kind {
	case tiString8Small, tiString8Large:
		d.Kind = TKString8
	case tiString16Small, tiString16Large:
		d.Kind = TKString16
	case tiSequenceSmall, tiSequenceLarge:
		d.Kind = TKSequence
	case tiArraySmall, tiArrayLarge:
		d.Kind = TKArray
	case tiMapSmall, tiMapLarge:
		d.Kind = TKMap
	case uint8(Minimal), uint8(Complete), tiComponent:
		return r.named(id)
	default:
		if t := Primitive(Kind(id.Kind)); t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("xtypes: %s is no type of values", id)
	}
	var err error
	if id.Elem != nil {
		d.ElemFlags = elemFlags(id.ElemFlags)
		if d.Elem, err = r.build(id.Elem); err != nil {
			return nil, err
		}
	}
	if id.Key != nil {
		d.MapKeyFlags = elemFlags(id.KeyFlags)
		if d.MapKey, err = r.build(id.Key); err != nil {
			return nil, err
		}
	}
	return Build(d)
}

func elemFlags(f uint16) ElemFlags {
	return ElemFlags{External: f&flagExternal != 0, TryConstruct: TryConstruct(f & flagTryConstruct)}
}

// named builds the type of an object. It is declared first, for it may refer to itself.
func (r *Registry) named(id *TypeIdentifier) (*Type, error) {
	key := id.key()
	if t := r.types[key]; t != nil {
		return t, nil
	}
	o := r.objects[key]
	name := o.name
	if name == "" && o.kind.named() {
		name = "#" + fmt.Sprintf("%x", id.Hash)
		if id.Kind == tiComponent {
			name += fmt.Sprintf(".%d", id.Index)
		}
	}
	t := Forward(name)
	r.types[key] = t
	d, err := r.descriptor(o)
	if err == nil {
		for _, v := range r.defaults {
			if i := slices.IndexFunc(d.Members, func(m Member) bool { return v.Type == name && v.Member == m.Name }); i >= 0 {
				d.Members[i].Default = v.Value
			}
		}
		d.Name, d.Forward = name, t
		_, err = Build(d)
	}
	if err != nil {
		delete(r.types, key)
		return nil, err
	}
	return t, nil
}

func (r *Registry) descriptor(o *TypeObject) (d TypeDescriptor, err error) {
	d = TypeDescriptor{Kind: o.kind, Bound: o.bound, Dims: o.bounds, BitBound: o.bitBound, Verbatim: o.verbatim,
		Nested: o.flags&flagNested != 0, AutoIDHash: o.flags&flagAutoIDHash != 0}
	part := func(id *TypeIdentifier) *Type {
		if err != nil || id.None() {
			return nil
		}
		var t *Type
		t, err = r.build(id)
		return t
	}
	switch o.kind {
	case TKStructure, TKUnion:
		if d.Extensibility, err = extensibilityOf(o.flags); err != nil {
			return d, err
		}
		d.Base = part(&o.base)
		if o.kind == TKUnion {
			d.Discriminator = member0(&o.disc, part(&o.disc.typ))
		}
		for i := range o.members {
			d.Members = append(d.Members, o.memberAt(i, part))
			if o.kind == TKUnion && d.Discriminator.Type != nil && d.Discriminator.Type.Resolve().d.Kind == TKUint32 {
				for k, l := range d.Members[i].Labels {
					d.Members[i].Labels[k] = int64(uint32(l))
				}
			}
			if o.plain && d.Base != nil {
				d.Members[i].ID += uint32(d.Base.Resolve().NumMembers())
			}
		}
	case TKAlias:
		d.Target = part(&o.related)
		if d.Target != nil {
			d.Unit, d.Min, d.Max = o.builtin.unitText(), o.builtin.min.in(d.Target), o.builtin.max.in(d.Target)
		}
	case TKSequence, TKArray, TKMap:
		d.Elem, d.ElemFlags = part(&o.elem.typ), elemFlags(o.elem.flags)
		if o.kind == TKMap {
			d.MapKey, d.MapKeyFlags = part(&o.key.typ), elemFlags(o.key.flags)
		}
	case TKEnum:
		d.Extensibility = cdr.Appendable // type objects do not tell
		for _, l := range o.literals {
			d.Literals = append(d.Literals, Literal{Name: l.detail.text(), Value: l.value, Default: l.flags&flagDefault != 0})
		}
	case TKBitmask:
		d.Extensibility = cdr.Appendable
		for _, l := range o.literals {
			d.Bitflags = append(d.Bitflags, Bitflag{Name: l.detail.text(), Position: l.position})
		}
	case TKBitset:
		d.Base = part(&o.base)
		for _, l := range o.literals {
			name := l.detail.text()
			if l.detail.name == "" && (o.equivalence == Complete || l.detail.hash == nameHash("")) {
				name = ""
			}
			d.Bitfields = append(d.Bitfields, Bitfield{Name: name, Position: l.position, Bits: l.bits, Holder: l.holder,
				Unit: l.detail.builtin.unitText()})
		}
	}
	return d, err
}

func extensibilityOf(flags uint16) (cdr.Extensibility, error) {
	switch flags & flagsMinimal {
	case flagFinal:
		return cdr.Final, nil
	case flagAppendable:
		return cdr.Appendable, nil
	case flagMutable:
		return cdr.Mutable, nil
	}
	return 0, fmt.Errorf("xtypes: type object: flags 0x%x name not one extensibility", flags)
}

// text is the name, or what stands for it.
func (d *memberDetail) text() string {
	if d.name != "" {
		return d.name
	}
	return hashedName(d.hash)
}

// member0 takes over what all members have.
func member0(o *objectMember, t *Type) Member {
	return Member{Type: t, ID: o.id, Key: o.flags&flagKey != 0, Optional: o.flags&flagOptional != 0, MustUnderstand: o.flags&flagMustUnderstand != 0,
		External: o.flags&flagExternal != 0, DefaultCase: o.flags&flagDefault != 0, TryConstruct: TryConstruct(o.flags & flagTryConstruct)}
}

func (o *TypeObject) memberAt(i int, part func(*TypeIdentifier) *Type) Member {
	x := &o.members[i]
	m := member0(x, part(&x.typ))
	m.Name = x.detail.text()
	for _, l := range x.labels {
		m.Labels = append(m.Labels, int64(l))
	}
	b := &x.detail.builtin
	m.Unit = b.unitText()
	if o.kind == TKUnion { // others may set flags that do not apply
		m.Optional, m.Key, m.MustUnderstand = false, false, false
	}
	if b.hashID != nil {
		m.HasHashID, m.HashID = true, *b.hashID
	}
	if m.Type != nil {
		m.Min, m.Max = b.min.in(m.Type), b.max.in(m.Type)
	}
	return m
}

func (b *memberBuiltin) unitText() string {
	if b.unit == nil {
		return ""
	}
	return *b.unit
}

// in gives the value in the form of t. One that is not of the type says nothing.
func (p *paramValue) in(t *Type) any {
	if p == nil {
		return nil
	}
	var v any
	switch p.kind {
	case TKString8:
		v = p.text
	case TKFloat32:
		v = math.Float32frombits(uint32(p.bits))
	case TKFloat64:
		v = math.Float64frombits(p.bits)
	case TKFloat128:
		v = p.wide
	default:
		v = sized(p.kind, p.bits)
	}
	x, err := scalar(t, v)
	if err != nil {
		return nil
	}
	return x
}
