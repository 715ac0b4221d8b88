package idlc

import (
	"fmt"
	"math"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
)

// Types gives the types that the unit declares, in their order: those of the file itself, and with included those of
// the files that it includes as well. What the data model of XTypes does not have is an error that names it.
func (u *Unit) Types(included bool) ([]*xtypes.Type, error) {
	b := newTypeBuilder()
	var list []*xtypes.Type
	for _, d := range u.Decls {
		t, isType := d.(Type)
		if !isType || !included && d.common().Pos.Filename != u.File {
			continue
		}
		x, err := b.typ(t)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// typeBuilder turns types of the model into those of package xtypes. Each declaration becomes one type.
type typeBuilder struct{ made map[Decl]*xtypes.Type }

func newTypeBuilder() *typeBuilder { return &typeBuilder{made: map[Decl]*xtypes.Type{}} }

// describe serializes the type objects of a type for cdr.TypeInfo, and gives what they have no place for.
func (b *typeBuilder) describe(t Type) ([]byte, []cdr.MemberDefault, error) {
	x, err := b.typ(t)
	if err != nil {
		return nil, nil, err
	}
	object, err := xtypes.Describe(x)
	return object, xtypes.Defaults(x), err
}

var primitiveKinds = map[Primitive]xtypes.Kind{
	Boolean: xtypes.TKBoolean, Octet: xtypes.TKByte, Char: xtypes.TKChar8, WChar: xtypes.TKChar16,
	Int8: xtypes.TKInt8, Uint8: xtypes.TKUint8, Int16: xtypes.TKInt16, Uint16: xtypes.TKUint16,
	Int32: xtypes.TKInt32, Uint32: xtypes.TKUint32, Int64: xtypes.TKInt64, Uint64: xtypes.TKUint64,
	Float32: xtypes.TKFloat32, Float64: xtypes.TKFloat64, Float128: xtypes.TKFloat128,
}

func (b *typeBuilder) typ(t Type) (*xtypes.Type, error) {
	switch t := t.(type) {
	case Primitive:
		return xtypes.Primitive(primitiveKinds[t]), nil
	case *String:
		if t.Wide {
			return xtypes.NewWString(uint32(t.Bound)), nil
		}
		return xtypes.NewString(uint32(t.Bound)), nil
	case *Sequence:
		elem, err := b.typ(t.Elem)
		if err != nil {
			return nil, err
		}
		return xtypes.Build(xtypes.TypeDescriptor{Kind: xtypes.TKSequence, Elem: elem, ElemFlags: elemFlags(t.Of), Bound: uint32(t.Bound)})
	case *Array:
		elem, err := b.typ(t.Elem)
		if err != nil {
			return nil, err
		}
		d := xtypes.TypeDescriptor{Kind: xtypes.TKArray, Elem: elem}
		for _, n := range t.Dims {
			d.Dims = append(d.Dims, uint32(n))
		}
		return xtypes.Build(d)
	case *Map:
		key, err := b.typ(t.Key)
		if err != nil {
			return nil, err
		}
		elem, err := b.typ(t.Elem)
		if err != nil {
			return nil, err
		}
		return xtypes.Build(xtypes.TypeDescriptor{Kind: xtypes.TKMap, MapKey: key, MapKeyFlags: elemFlags(t.OfKeys), Elem: elem,
			ElemFlags: elemFlags(t.Of), Bound: uint32(t.Bound)})
	case Decl:
		return b.decl(t)
	}
	return nil, fmt.Errorf("%s has no counterpart in the type system of XTypes 1.3", typeName(t))
}

func elemFlags(e Element) xtypes.ElemFlags {
	return xtypes.ElemFlags{External: e.External, TryConstruct: xtypes.TryConstruct(e.TryConstruct)}
}

// decl builds a declared type, once. It is declared before its parts are built, for they may refer to it.
func (b *typeBuilder) decl(d Decl) (*xtypes.Type, error) {
	if t := b.made[d]; t != nil {
		return t, nil
	}
	c := d.common()
	x := xtypes.TypeDescriptor{Name: c.Scoped(), Doc: c.Doc, Forward: xtypes.Forward(c.Scoped())}
	b.made[d] = x.Forward
	if len(c.Verbatim) > 0 { // a type object has room for one
		v := c.Verbatim[0]
		x.Verbatim = &xtypes.Verbatim{Placement: v.Placement, Language: v.Language, Text: v.Text}
	}
	var err error
	switch d := d.(type) {
	case *Struct:
		err = b.structure(d, &x)
	case *Union:
		err = b.union(d, &x)
	case *Enum:
		x.Kind, x.Extensibility, x.Nested, x.BitBound = xtypes.TKEnum, d.Extensibility, d.Nested, uint16(d.BitBound)
		x.IgnoreLiteralNames = d.IgnoreLiteralNames
		for _, l := range d.Enumerators {
			x.Literals = append(x.Literals, xtypes.Literal{Name: l.Name, Value: l.Value, Doc: l.Doc, Default: l == d.Default &&
				applied(l.Applied, "default_literal")})
		}
	case *Bitmask:
		x.Kind, x.Extensibility, x.Nested, x.BitBound = xtypes.TKBitmask, d.Extensibility, d.Nested, uint16(d.BitBound)
		for _, f := range d.Flags {
			x.Bitflags = append(x.Bitflags, xtypes.Bitflag{Name: f.Name, Position: uint16(f.Position), Doc: f.Doc})
		}
	case *Bitset:
		err = b.bitset(d, &x)
	case *Alias:
		x.Kind, x.Unit, x.Default, x.Min, x.Max = xtypes.TKAlias, d.Unit, scalarOf(d.Default), scalarOf(d.Min), scalarOf(d.Max)
		x.Target, err = b.typ(d.Target)
	default:
		err = fmt.Errorf("it is no type")
	}
	if err == nil {
		_, err = xtypes.Build(x)
	}
	if err != nil {
		delete(b.made, d)
		return nil, fmt.Errorf("%s: %s: %w", c.Pos, c.Scoped(), err)
	}
	return x.Forward, nil
}

func applied(list []*Applied, name string) bool {
	for _, a := range list {
		if a.Name() == name {
			return true
		}
	}
	return false
}

func (b *typeBuilder) structure(s *Struct, x *xtypes.TypeDescriptor) (err error) {
	x.Kind, x.Extensibility, x.Nested, x.AutoIDHash = xtypes.TKStructure, s.Extensibility, s.Nested, s.AutoID == AutoIDHash
	x.Topic, x.Representations = s.Topic, s.Representations
	if s.Base != nil {
		if x.Base, err = b.decl(s.Base); err != nil {
			return err
		}
	}
	for _, m := range s.Members {
		if m.NonSerialized {
			continue
		}
		y, err := b.member(m)
		if err != nil {
			return err
		}
		x.Members = append(x.Members, y)
	}
	return nil
}

func (b *typeBuilder) union(u *Union, x *xtypes.TypeDescriptor) error {
	x.Kind, x.Extensibility, x.Nested, x.AutoIDHash = xtypes.TKUnion, u.Extensibility, u.Nested, u.AutoID == AutoIDHash
	x.Topic, x.Representations = u.Topic, u.Representations
	disc, err := b.typ(u.Discriminator)
	if err != nil {
		return err
	}
	x.Discriminator = xtypes.Member{Type: disc, Key: u.DiscriminatorKey, TryConstruct: xtypes.TryConstruct(u.DiscriminatorTryConstruct)}
	for _, k := range u.Cases {
		y, err := b.member(&k.Member)
		if err != nil {
			return err
		}
		y.DefaultCase = k.IsDefault
		for _, l := range k.Labels {
			if l.Int != nil && !l.Int.IsInt64() {
				return fmt.Errorf("case label %s exceeds %d", l.Int, int64(math.MaxInt64))
			}
			y.Labels = append(y.Labels, l.Ordinal())
		}
		x.Members = append(x.Members, y)
	}
	return nil
}

func (b *typeBuilder) member(m *Member) (xtypes.Member, error) {
	t, err := b.typ(m.Type)
	if err != nil {
		return xtypes.Member{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	c := m.constraints()
	y := xtypes.Member{Name: m.Name, ID: m.ID, Type: t, Key: m.Key, Optional: m.Optional, MustUnderstand: m.MustUnderstand, External: m.External,
		TryConstruct: xtypes.TryConstruct(m.TryConstruct), Unit: c.Unit, Default: scalarOf(c.Default), Min: scalarOf(c.Min),
		Max: scalarOf(c.Max), Doc: m.Doc}
	if m.HashID != nil {
		y.HasHashID, y.HashID = true, *m.HashID
	}
	return y, nil
}

// scalarOf gives a value as Go has it; nil for none.
func scalarOf(v Value) any {
	switch {
	case v.Enum != nil:
		return v.Enum.Value
	case v.Bool != nil:
		return *v.Bool
	case v.Float != nil:
		return *v.Float
	case v.Str != nil:
		return *v.Str
	case v.Int != nil && v.Int.IsInt64():
		return v.Int.Int64()
	case v.Int != nil:
		return v.Int.Uint64()
	}
	return nil
}

func (b *typeBuilder) bitset(s *Bitset, x *xtypes.TypeDescriptor) (err error) {
	x.Kind = xtypes.TKBitset
	if s.Base != nil {
		if x.Base, err = b.decl(s.Base); err != nil {
			return err
		}
	}
	for _, f := range s.Fields {
		x.Bitfields = append(x.Bitfields, xtypes.Bitfield{Name: f.Name, Position: uint16(f.Position), Bits: uint8(f.Bits),
			Holder: primitiveKinds[f.Type], Unit: f.Unit, Doc: f.Doc})
	}
	return nil
}
