package xtypes

import "slices"

// Constructible tells whether each value of the writer's type can be constructed in the reader's, which is assignable from it:
// if not, there are values that the reader's type can not hold, of which @try_construct (XTypes 1.3 §7.2.4) says what becomes.
// When in doubt it is false.
func Constructible(reader, writer *Type) bool {
	c := constructor{}
	return c.types(reader, writer)
}

// constructor has the pairs that were compared, or are: a recursion is constructible if everything else is.
type constructor map[[2]*Type]bool

func (c constructor) types(r, w *Type) bool {
	r, w = r.Resolve(), w.Resolve()
	if r == w || c[[2]*Type{r, w}] {
		return true
	}
	c[[2]*Type{r, w}] = true
	if r.d.Kind != w.d.Kind {
		return false
	}
	switch r.d.Kind {
	case TKString8, TKString16:
		return holds(r, w)
	case TKSequence, TKArray:
		return holds(r, w) && c.types(r.d.Elem, w.d.Elem)
	case TKMap:
		return holds(r, w) && c.types(r.d.MapKey, w.d.MapKey) && c.types(r.d.Elem, w.d.Elem)
	case TKEnum:
		return !slices.ContainsFunc(w.d.Literals, func(l Literal) bool {
			_, known := r.LiteralByValue(l.Value)
			return !known
		})
	case TKBitmask:
		return r.d.BitBound == w.d.BitBound && !slices.ContainsFunc(w.d.Bitflags, func(y Bitflag) bool {
			return !slices.ContainsFunc(r.d.Bitflags, func(x Bitflag) bool { return x.Position == y.Position })
		})
	case TKBitset:
		return slices.EqualFunc(r.d.Bitfields, w.d.Bitfields, func(x, y Bitfield) bool { return x.Position == y.Position && x.Bits == y.Bits })
	case TKStructure:
		return c.structure(r, w)
	case TKUnion:
		return c.union(r, w)
	}
	return true
}

// holds tells whether the reader's bound is no smaller; 0 is none.
func holds(r, w *Type) bool { return r.d.Bound == 0 || w.d.Bound != 0 && w.d.Bound <= r.d.Bound }

// structure: members that the writer lacks have their defaults.
func (c constructor) structure(r, w *Type) bool {
	for _, y := range w.all {
		x := r.byID[y.ID]
		if x == nil && y.MustUnderstand || x != nil && (y.Optional && !x.Optional || !c.types(x.Type, y.Type)) {
			return false
		}
	}
	return true
}

// union wants the same labels in both: a discriminator selects what the writer has sent, or nothing as it has.
func (c constructor) union(r, w *Type) bool {
	covers := func(r, w *Type) bool {
		for _, y := range w.all {
			for _, l := range y.Labels {
				if x := r.Case(l); x == nil || !slices.Contains(x.Labels, l) {
					return false
				}
			}
		}
		return true
	}
	if !c.types(r.disc.Type, w.disc.Type) || !covers(r, w) || !covers(w, r) {
		return false
	}
	for _, y := range w.all {
		for _, l := range y.Labels {
			if !c.types(r.Case(l).Type, y.Type) {
				return false
			}
		}
	}
	x, y := r.defaultCase(), w.defaultCase()
	return (x == nil) == (y == nil) && (x == nil || c.types(x.Type, y.Type))
}
