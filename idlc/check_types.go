package idlc

import (
	"math"
	"math/big"
)

// typeOf resolves a type where it is used; nil after it has reported why not. incomplete allows a type that is only
// declared forward, as in a sequence of it.
func (c *checker) typeOf(s *typeSpec, incomplete bool) Type {
	switch {
	case s.Other != "":
		return c.otherType(s, incomplete)
	case s.Primitive != "":
		return primitiveWords[s.Primitive]
	case s.String != nil:
		bound, ok := c.bound(s.String.Bound)
		if !ok {
			return nil
		}
		return &String{Wide: s.String.Kind == "wstring", Bound: bound}
	case s.Fixed != nil:
		return c.fixedType(s)
	case s.Sequence != nil:
		elem, of := c.elementOf(s.Sequence.Element)
		bound, ok := c.bound(s.Sequence.Bound)
		if elem == nil || !ok {
			return nil
		}
		return &Sequence{Elem: elem, Bound: bound, Of: of}
	case s.Map != nil:
		key, ofKeys := c.elementOf(s.Map.Key)
		elem, of := c.elementOf(s.Map.Value)
		bound, ok := c.bound(s.Map.Bound)
		if key == nil || elem == nil || !ok || !c.mapKey(s.Map.Key.Type.Pos, key) {
			return nil
		}
		return &Map{Key: key, Elem: elem, Bound: bound, OfKeys: ofKeys, Of: of}
	case s.Name != nil:
		return c.namedType(s.Name, incomplete)
	}
	return nil
}

// otherType is any, or one of the types that CORBA has besides data, unless a file has a type of that name.
func (c *checker) otherType(s *typeSpec, incomplete bool) Type {
	if s.Other != "any" {
		for at := c.scope; at != nil; at = at.parent {
			if at.get(s.Other) != nil {
				return c.namedType(&scopedName{Pos: s.Pos, Parts: []*ident{{s.Pos, s.Other}}}, incomplete)
			}
		}
	}
	if c.strict {
		c.report.errorf(s.Pos, "", "type %s describes no data", s.Other)
		return nil
	}
	c.skipped = true
	return skippedType{s.Other}
}

// elementOf is the type of an element of a collection, with its annotations.
func (c *checker) elementOf(e *elementSpec) (Type, Element) {
	var of Element
	for _, a := range c.annotations(e.Annotations, subject{on: onElement, name: "element"}) {
		switch a.Name() {
		case "external":
			of.External = *a.Args[0].Bool
		case "try_construct":
			of.TryConstruct = tryConstruct(a)
		}
	}
	return c.typeOf(e.Type, true), of
}

// mapKey refuses keys that cannot be compared.
func (c *checker) mapKey(pos Pos, t Type) bool {
	switch r := resolve(t).(type) {
	case Primitive:
		if r < Float32 {
			return true
		}
	case *String, *Enum, *Bitmask, skippedType:
		return true
	}
	c.report.errorf(pos, "use an integer, a string or an enum", "the key of a map cannot be of type %s", typeName(t))
	return false
}

// maxDigits are those of a fixed-point number (IDL 4.2 §7.4.1.4.4.2.1).
const maxDigits = 31

func (c *checker) fixedType(s *typeSpec) Type {
	if s.Fixed.Digits == nil {
		c.report.errorf(s.Pos, "write fixed<DIGITS, SCALE>", "fixed needs its digits and its scale here")
		return nil
	}
	digits, ok := c.positive(s.Fixed.Digits.Pos, c.eval(&s.Fixed.Digits.expr), "number of digits")
	scale := c.eval(&s.Fixed.Scale.expr)
	switch {
	case !ok || !scale.Valid():
		return nil
	case digits > maxDigits:
		c.report.errorf(s.Fixed.Digits.Pos, "", "fixed has at most %d digits, not %d", maxDigits, digits)
	case !scale.integer() || scale.Int.Sign() < 0 || scale.Int.Cmp(big.NewInt(int64(digits))) > 0:
		c.report.errorf(s.Fixed.Scale.Pos, "", "the scale of fixed is an integer within 0 to its digits, %d", digits)
	default:
		return &Fixed{Digits: digits, Scale: int(scale.Int.Int64())}
	}
	return nil
}

func (c *checker) namedType(n *scopedName, incomplete bool) Type {
	switch found := c.lookup(n, "type").(type) {
	case nil, *unknownDef:
		return nil
	case *skippedDef:
		c.skipped = true
		return skippedType{found.What + " " + found.Name.Text}
	case *Struct:
		if !found.Complete && !incomplete {
			c.report.errorf(n.Pos, "define it before, use a sequence of it, or make the member @external",
				"struct %s is not complete here", found.Name)
			return nil
		}
		return found
	case *Union:
		if !found.Complete && !incomplete {
			c.report.errorf(n.Pos, "define it before, use a sequence of it, or make the member @external",
				"union %s is not complete here", found.Name)
			return nil
		}
		return found
	case *Bitset:
		if !found.Complete {
			c.report.errorf(n.Pos, "", "bitset %s is not complete here", found.Name)
			return nil
		}
		return found
	case *Enum:
		return found
	case *Bitmask:
		return found
	case Primitive:
		return found
	case *Alias:
		if !incomplete && !isComplete(found) {
			c.report.errorf(n.Pos, "", "type %s is not complete here", found.Name)
			return nil
		}
		return found
	case *Const:
		c.report.errorf(n.Pos, "", "%s is a constant, not a type", n)
	case *Enumerator:
		c.report.errorf(n.Pos, "", "%s is an enumerator of %s, not a type", n, found.Enum.Name)
	case *Flag:
		c.report.errorf(n.Pos, "", "%s is a flag of %s, not a type", n, found.Mask.Name)
	case *scope:
		if found.kind != "" {
			c.skipped = true
			return skippedType{found.kind + " " + found.name}
		}
		c.report.errorf(n.Pos, "", "%s is a module, not a type", n)
	}
	return nil
}

// isComplete tells whether the size of a value is known; a sequence or a map hides its elements.
func isComplete(t Type) bool {
	switch t := resolve(t).(type) {
	case *Struct:
		return t.Complete
	case *Union:
		return t.Complete
	case *Array:
		return isComplete(t.Elem)
	}
	return true
}

func (c *checker) bound(e *boundExpr) (int, bool) {
	if e == nil {
		return 0, true
	}
	return c.positive(e.Pos, c.eval(&e.expr), "bound")
}

// positive checks a bound or an array dimension.
func (c *checker) positive(pos Pos, v Value, what string) (int, bool) {
	switch {
	case !v.Valid():
		return 0, false
	case !v.integer():
		c.report.errorf(pos, "", "%s must be an integer, not %s", what, v.kind())
	case v.Int.Sign() <= 0:
		c.report.errorf(pos, "", "%s must be at least 1, not %s", what, v.Int)
	case v.Int.Cmp(big.NewInt(math.MaxInt32)) > 0:
		c.report.errorf(pos, "", "%s must be at most %d, not %s", what, math.MaxInt32, v.Int)
	default:
		return int(v.Int.Int64()), true
	}
	return 0, false
}

// declared applies the dimensions of a declarator to a type.
func (c *checker) declared(t Type, d *declarator) Type {
	var dims []int
	for _, e := range d.Dims {
		n, ok := c.positive(e.Pos, c.eval(e), "array dimension")
		if !ok {
			return nil
		}
		dims = append(dims, n)
	}
	if t == nil {
		return nil
	}
	if len(dims) > 0 {
		t = &Array{Elem: t, Dims: dims}
		if n := memorySize(t); n > maxValue {
			c.report.errorf(d.Pos, "use a sequence", "array %s takes %.0f bytes, more than %d", d.Name.Text, n, maxValue)
			return nil
		}
	}
	switch {
	case depthOf(t) > maxDepth:
		c.report.errorf(d.Pos, "nest fewer arrays and sequences", "%s has values nested more than %d deep", d.Name.Text, maxDepth)
		return nil
	case sequencesOf(t) > maxSequences:
		c.report.errorf(d.Pos, "put structs between them", "%s has sequences nested more than %d deep", d.Name.Text, maxSequences)
		return nil
	}
	return t
}

func (c *checker) typedef(d *typedefDef) {
	t := c.typeOf(d.Type, true)
	for _, decl := range d.Declarators {
		target := c.declared(t, decl)
		if target == nil {
			c.declare(decl.Name, &unknownDef{decl.Pos, decl.Name.Text})
			continue
		}
		a := &Alias{Common: c.common(decl.Name, d.Doc), Target: target, final: resolve(target)}
		a.Applied = c.annotations(d.Annotations, subject{on: onTypedef, name: a.Name, typ: target})
		a.Verbatim = verbatims(a.Applied)
		a.Doc = documented(a.Doc, a.Verbatim)
		c.constrain(&a.Constraints, a.Applied, subject{on: onTypedef, name: a.Name, typ: target})
		if c.declare(decl.Name, a) {
			c.unit.Decls = append(c.unit.Decls, a)
		}
	}
}
