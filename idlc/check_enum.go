package idlc

import (
	"math/big"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

func (c *checker) enumDef(d *enumDef) {
	e := &Enum{Common: c.common(d.Name, d.Doc), Extensibility: c.extensibility, Nested: c.nested, BitBound: 32, names: newScope(d.Name.Text, nil)}
	e.Applied = c.annotations(d.Annotations, subject{on: onEnum, name: e.Name})
	e.Verbatim = verbatims(e.Applied)
	e.Doc = documented(e.Doc, e.Verbatim)
	if x, explicit := c.explicitExtensibility(e.Name, e.Applied); explicit {
		e.Extensibility = x
	}
	for _, a := range e.Applied {
		switch a.standard() {
		case "nested":
			e.Nested = *a.Args[0].Bool
		case "bit_bound":
			e.BitBound = c.bitBound(a, 32, "an enum")
		case "ignore_literal_names":
			e.IgnoreLiteralNames = *a.Args[0].Bool
		}
	}
	e.Width = bytesFor(e.BitBound)
	c.declare(d.Name, e)
	// The bits hold numbers with a sign or without one; what is on the wire has one.
	high := new(big.Int).Lsh(big.NewInt(1), uint(min(e.BitBound, 8*e.Width-1)))
	low := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), uint(e.BitBound-1)))
	next := big.NewInt(0)
	values := map[string]*Enumerator{}
	for _, s := range d.Enumerators {
		v := &Enumerator{Name: strings.TrimPrefix(s.Name.Text, "_"), Doc: s.Doc, Pos: s.Name.Pos, Enum: e}
		v.Applied = c.annotations(s.Annotations, subject{on: onEnumerator, name: v.Name, typ: Int32})
		explicit := Value{}
		at := s.Pos
		if s.Value != nil {
			explicit, at = c.eval(s.Value), s.Value.Pos
			if !explicit.Valid() {
				continue
			}
		}
		for _, a := range v.Applied {
			switch a.standard() {
			case "value":
				explicit, at = a.Args[0], a.argPos
			case "default_literal":
				if e.Default != nil {
					c.report.errorf(a.Pos, "", "enum %s has two default literals, %s and %s", e.Name, e.Default.Name, v.Name)
				}
				e.Default = v
			}
		}
		if explicit.Valid() {
			if !explicit.integer() {
				c.report.errorf(at, "", "value of an enumerator must be an integer, not %s", explicit.kind())
				continue
			}
			next = explicit.Int
		}
		value := next
		next = new(big.Int)
		if value.Cmp(high) >= 0 || value.Cmp(low) < 0 {
			c.report.errorf(s.Name.Pos, "", "value %s of %s does not fit into %d bits", value, v.Name, e.BitBound)
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
			e.names.enter(v.Name, v.Pos, v)
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

// bytesFor is the size of the integer that holds a number of bits.
func bytesFor(bits int) int {
	switch {
	case bits <= 8:
		return 1
	case bits <= 16:
		return 2
	case bits <= 32:
		return 4
	}
	return 8
}

func (c *checker) bitBound(a *Applied, most int64, of string) int {
	n := a.Args[0].Int
	if !n.IsInt64() || n.Int64() < 1 || n.Int64() > most {
		c.report.errorf(a.argPos, "", "@bit_bound of %s is an integer within 1 to %d, not %s", of, most, n)
		return int(most) // so that what is declared is not reported as well
	}
	return int(n.Int64())
}

func (c *checker) bitmaskDef(d *bitmaskDef) {
	b := &Bitmask{Common: c.common(d.Name, d.Doc), Extensibility: c.extensibility, Nested: c.nested, BitBound: 32, names: newScope(d.Name.Text, nil)}
	b.Applied = c.annotations(d.Annotations, subject{on: onBitmask, name: b.Name})
	b.Verbatim = verbatims(b.Applied)
	b.Doc = documented(b.Doc, b.Verbatim)
	if x, explicit := c.explicitExtensibility(b.Name, b.Applied); explicit {
		b.Extensibility = x
	}
	for _, a := range b.Applied {
		switch a.standard() {
		case "nested":
			b.Nested = *a.Args[0].Bool
		case "bit_bound":
			b.BitBound = c.bitBound(a, maxBitmask, "a bitmask")
		}
	}
	b.Width = bytesFor(b.BitBound)
	c.declare(d.Name, b)
	next := 0
	taken := map[int]*Flag{}
	for _, s := range d.Flags {
		f := &Flag{Name: c.cleanName(s.Name), Doc: s.Doc, Pos: s.Name.Pos, Mask: b, Position: next}
		if s.Value != nil {
			c.report.errorf(s.Value.Pos, "write @position(n) in front of "+f.Name, "a flag of a bitmask has no value")
		}
		f.Applied = c.annotations(s.Annotations, subject{on: onFlag, name: f.Name})
		at, hint := f.Pos, "raise its @bit_bound"
		position := big.NewInt(int64(next))
		for _, a := range f.Applied {
			if a.standard() == "position" {
				at, position = a.argPos, a.Args[0].Int
			}
		}
		if !position.IsInt64() || position.Int64() < 0 || position.Int64() >= maxBitmask {
			hint = "a bitmask has " + itoa(maxBitmask) + " bits at most"
		}
		if position.Sign() < 0 || position.Cmp(big.NewInt(int64(b.BitBound))) >= 0 {
			c.report.errorf(at, hint, "position %s of flag %s is not within 0 to %d, those of the %d bits of %s", position,
				f.Name, b.BitBound-1, b.BitBound, b.Name)
			continue // the next flag goes on behind the one before
		}
		f.Position = int(position.Int64())
		next = f.Position + 1
		if old := taken[f.Position]; old != nil {
			c.report.errorf(f.Pos, "", "flags %s and %s of %s have the same position %d", old.Name, f.Name, b.Name, f.Position)
		}
		taken[f.Position] = f
		if old := b.names.enter(f.Name, f.Pos, f); old != nil {
			c.report.errorf(f.Pos, "", "flag %s of %s clashes with %s, declared at %s", f.Name, b.Name, old.name, c.near(f.Pos, old.pos))
			continue
		}
		c.scope.enter(f.Name, f.Pos, f) // not if the name is taken: then it needs that of the bitmask in front
		b.Flags = append(b.Flags, f)
	}
	if len(d.Flags) == 0 && !d.Broken {
		c.report.errorf(d.Name.Pos, "", "bitmask %s has no flags", d.Name.Text)
	}
	c.unit.Decls = append(c.unit.Decls, b)
}

// The largest numbers of bits.
const (
	maxBitmask = 64
	maxBitset  = 64
)

func (c *checker) bitsetDef(d *bitsetDef) {
	b := &Bitset{Common: c.common(d.Name, d.Doc)}
	b.Applied = c.annotations(d.Annotations, subject{on: onBitset, name: b.Name})
	if x, explicit := c.explicitExtensibility(b.Name, b.Applied); explicit && x == cdr.Mutable {
		c.report.errorf(b.Pos, "", "bitset %s cannot be mutable: its fields have no ids", b.Name)
	}
	b.Verbatim = verbatims(b.Applied)
	b.Doc = documented(b.Doc, b.Verbatim)
	c.declare(d.Name, b)
	names := map[string]*Bitfield{}
	if d.Base != nil {
		t, _ := c.lookup(d.Base, "base bitset").(Type)
		base, ok := resolve(t).(*Bitset)
		switch {
		case t == nil:
		case !ok || !base.Complete:
			c.report.errorf(d.Base.Pos, "", "base %s is not a complete bitset", d.Base)
		default:
			b.Base, b.Bits = base, base.Bits
			for _, f := range base.allFields() {
				names[strings.ToLower(f.Name)] = f
			}
		}
	}
	overflow := false
	for _, s := range d.Fields {
		bits, ok := c.positive(s.Bits.Pos, c.eval(&s.Bits.expr), "number of bits")
		if ok && bits > maxBitset {
			c.report.errorf(s.Bits.Pos, "", "a bit field has at most %d bits, not %d", maxBitset, bits)
			ok = false
		}
		if !ok {
			continue
		}
		typ := c.bitfieldType(s, bits)
		list := s.Names
		if len(list) == 0 {
			list = []*ident{nil}
		}
		for _, n := range list {
			f := &Bitfield{Position: b.Bits, Bits: bits, Type: typ, Doc: s.Doc, Pos: s.Pos}
			b.Bits += bits
			if n != nil {
				f.Name, f.Pos = c.cleanName(n), n.Pos
				f.Applied = c.annotations(s.Annotations, subject{on: onBitfield, name: f.Name, typ: typ})
				var said Constraints
				c.constrain(&said, f.Applied, subject{on: onBitfield, name: f.Name, typ: typ})
				f.Unit = said.Unit
				if old := names[strings.ToLower(f.Name)]; old != nil {
					c.report.errorf(f.Pos, "", "bit field %s of %s clashes with %s, declared at %s", f.Name, b.Name, old.Name, c.near(f.Pos, old.Pos))
					continue
				}
				names[strings.ToLower(f.Name)] = f
			}
			if b.Bits > maxBitset && !overflow {
				overflow = true
				c.report.errorf(f.Pos, "", "bitset %s has more than %d bits", b.Name, maxBitset)
			}
			b.Fields = append(b.Fields, f)
		}
	}
	if len(d.Fields) == 0 && d.Base == nil && !d.Broken {
		c.report.errorf(d.Name.Pos, "", "bitset %s has no bit fields", d.Name.Text)
	}
	b.Width, b.Complete = bytesFor(b.Bits), true
	c.unit.Decls = append(c.unit.Decls, b)
}

// bitfieldType is the type in which a bit field is used: what is written, or the smallest that holds it (IDL 4.2 §7.4.13.4.3.2).
func (c *checker) bitfieldType(s *bitfieldDef, bits int) Primitive {
	if s.Type != nil {
		switch t := c.typeOf(s.Type, false); r := resolve(t).(type) {
		case nil:
		case Primitive:
			info := primitives[r]
			switch {
			case r != Boolean && !info.integer:
				c.report.errorf(s.Type.Pos, "use boolean, octet or an integer", "a bit field cannot be of type %s", info.idl)
			case bits > 8*info.size || r == Boolean && bits > 1:
				c.report.errorf(s.Type.Pos, "", "%d bits do not fit into %s", bits, info.idl)
			default:
				return r
			}
		default:
			c.report.errorf(s.Type.Pos, "use boolean, octet or an integer", "a bit field cannot be of type %s", typeName(t))
		}
	}
	switch {
	case bits == 1:
		return Boolean
	case bits <= 8:
		return Octet
	case bits <= 16:
		return Uint16
	case bits <= 32:
		return Uint32
	}
	return Uint64
}
