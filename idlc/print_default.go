package idlc

import (
	"math/big"
	"strings"
)

// This file prints defaults, ranges, and what becomes of values that a type cannot hold.

// zeroable tells whether the zero value of the Go type is the default of the IDL type.
func zeroable(t Type) bool { return zeroableIn(t, map[Type]bool{}) }

func zeroableIn(t Type, seen map[Type]bool) bool {
	t = resolve(t)
	if seen[t] {
		return true
	}
	switch t := t.(type) {
	case *Enum:
		return t.Default.Value == 0
	case *Array:
		return zeroableIn(t.Elem, seen)
	case *Struct:
		seen[t] = true
		for _, m := range t.allMembers() {
			if m.pointer() {
				continue
			}
			if m.constraints().Default.Valid() || !zeroableIn(m.Type, seen) {
				return false
			}
		}
	case *Union:
		return zeroableIn(t.Discriminator, seen)
	}
	return true
}

// defaults prints NewX and SetDefaults for a struct whose defaults are not all zero.
func (w *printer) defaults(s *Struct) {
	if zeroable(s) {
		return
	}
	name := w.plan.goName(s)
	w.newWithDefaults(name)
	w.p("// SetDefaults sets all members to their defaults; optional ones are absent.")
	w.p("func (m *", name, ") SetDefaults() {")
	w.p("*m = ", name, "{}")
	for _, m := range s.allMembers() {
		f := w.field(m)
		switch def := w.defaultOf(m); {
		case m.pointer():
		case def != "":
			w.p(f.ptr, " = ", def)
		default:
			w.setDefault(m.Type, f.ptr, 0)
		}
	}
	w.p("}")
	w.p()
}

func (w *printer) newWithDefaults(name string) {
	w.p("// New", name, " gives a ", name, " whose members have their defaults.")
	w.p("func New", name, "() *", name, " {")
	w.p("m := new(", name, ")")
	w.p("m.SetDefaults()")
	w.p("return m")
	w.p("}")
	w.p()
}

// setDefault prints how x, which is zero, gets the default of its type.
func (w *printer) setDefault(t Type, x string, depth int) {
	if zeroable(t) {
		return
	}
	switch t := resolve(t).(type) {
	case *Enum:
		w.p(x, " = ", w.refName(t, w.plan.enumeratorName(t.Default)))
	case *Struct, *Union:
		w.p(x, ".SetDefaults()")
	case *Array:
		for range t.Dims {
			v := loopVar(depth)
			w.p("for ", v, " := range ", x, " {")
			x += "[" + v + "]"
			depth++
		}
		w.setDefault(t.Elem, x, depth)
		w.p(strings.Repeat("}\n", len(t.Dims)))
	}
}

func (w *unionPrinter) defaults() {
	if zeroable(w.u) {
		return
	}
	w.newWithDefaults(w.name)
	e := resolve(w.u.Discriminator).(*Enum)
	w.p("// SetDefaults sets the discriminator to its default, and the member that it selects to zero.")
	w.p("func (m *", w.name, ") SetDefaults() { *m = ", w.name, "{discriminator: ", w.refName(e, w.plan.enumeratorName(e.Default)), "} }")
	w.p()
}

// span is the condition that a value is outside of its range, and the range in words; "" where nothing is.
func (w *printer) span(m *Member, x string) (outside, allowed string) {
	c := m.constraints()
	p, ok := resolve(m.Type).(Primitive)
	if !ok || p == Float128 || p == Boolean {
		return "", ""
	}
	var conditions []string
	low, high := c.Min.Valid() && !atLimit(p, c.Min, false), c.Max.Valid() && !atLimit(p, c.Max, true)
	if low {
		conditions = append(conditions, x+" < "+w.literal(c.Min, m.Type))
	}
	if high {
		conditions = append(conditions, x+" > "+w.literal(c.Max, m.Type))
	}
	switch {
	case low && high:
		allowed = w.literal(c.Min, m.Type) + " to " + w.literal(c.Max, m.Type)
	case low:
		allowed = "at least " + w.literal(c.Min, m.Type)
	case high:
		allowed = "at most " + w.literal(c.Max, m.Type)
	}
	return strings.Join(conditions, " || "), allowed
}

// atLimit tells whether a bound is that of the type: Go tools do not like comparisons that say nothing.
func atLimit(p Primitive, v Value, upper bool) bool {
	info := primitives[p]
	if v.Int == nil || !info.integer && p != Char && p != WChar {
		return false
	}
	bits := uint(8 * info.size)
	limit := new(big.Int)
	switch {
	case upper && info.signed:
		limit.Sub(limit.Lsh(big.NewInt(1), bits-1), big.NewInt(1))
	case upper:
		limit.Sub(limit.Lsh(big.NewInt(1), bits), big.NewInt(1))
	case info.signed:
		limit.Neg(limit.Lsh(big.NewInt(1), bits-1))
	}
	return v.Int.Cmp(limit) == 0
}

// checkRanges prints the checks of all members with a range, before anything is written.
func (w *printer) checkRanges(members []*Member, field func(*Member) field) {
	for _, m := range members {
		f := field(m)
		outside, allowed := w.span(m, f.x)
		if outside == "" {
			continue
		}
		if m.pointer() {
			outside = f.ptr + " != nil && (" + outside + ")"
		}
		w.p("if ", outside, " {\ncdr.OutOfRange(e, ", quote(m.Name), ", ", f.x, ", ", quote(allowed), ")\n}")
	}
}

// try prints the reading of a value of type t into x according to what is said for values that t cannot hold. reset prints what
// x becomes if it takes its default.
func (w *printer) try(tc TryConstruct, t Type, x, name string, depth int, key bool, reset func()) {
	switch tc {
	case TryConstructTrim:
		if free, cut := w.trim(t, x); free != nil {
			w.decode(free, x, name, depth, key)
			if cut != "" {
				w.p(cut)
			}
			return
		}
	case TryConstructUseDefault:
		state := tryVar(name, depth)
		w.p(state, " := d.Try()")
		w.decode(t, x, name, depth, key)
		w.p("if d.Caught(", state, ") {")
		w.skipValue(t, name, depth)
		reset()
		w.p("}")
		return
	}
	w.decode(t, x, name, depth, key)
}

func tryVar(name string, depth int) string {
	if depth == 0 {
		return lowerFirst(exportedName(name)) + "Try"
	}
	return "try" + itoa(depth)
}

// trim gives a bounded type without its bound, and the statement that cuts what was read, "" if reading does; nil for
// other types.
func (w *printer) trim(t Type, x string) (free Type, cut string) {
	switch t := resolve(t).(type) {
	case *String:
		method := "TrimString"
		if t.Wide {
			method = "TrimWString"
		}
		if t.Bound > 0 {
			return &String{Wide: t.Wide}, x + " = cdr." + method + "(" + x + ", " + itoa(t.Bound) + ")"
		}
	case *Sequence:
		if t.Bound > 0 {
			if _, ok := bulk(t.Elem); ok {
				return &Sequence{Elem: t.Elem, Of: t.Of}, x + " = " + x + "[:min(len(" + x + "), " + itoa(t.Bound) + ")]"
			}
			return &Sequence{Elem: t.Elem, Of: t.Of, kept: t.Bound}, ""
		}
	case *Map:
		if t.Bound > 0 {
			return &Map{Key: t.Key, OfKeys: t.OfKeys, Elem: t.Elem, Of: t.Of, kept: t.Bound}, ""
		}
	}
	return nil, ""
}

// reset prints how x becomes the default of its type.
func (w *printer) reset(t Type, x string, depth int) {
	switch r := resolve(t).(type) {
	case *Struct, *Union:
		if zeroable(r) {
			w.p(x, " = ", w.goType(t), "{}")
		} else {
			w.p(x, ".SetDefaults()")
		}
	case *Sequence:
		w.p(x, " = ", x, "[:0]")
	case *Map:
		w.p("clear(", x, ")")
	case *Array:
		w.p(x, " = ", w.goType(t), "{}")
		w.setDefault(t, x, depth)
	case *Enum:
		w.p(x, " = ", w.refName(r, w.plan.enumeratorName(r.Default)))
	case *Bitset, *Fixed:
		w.p(x, " = ", w.goType(t), "{}")
	case *String:
		w.p(x, ` = ""`)
	case Primitive:
		switch r {
		case Boolean:
			w.p(x, " = false")
		case Float128:
			w.p(x, " = cdr.LongDouble{}")
		default:
			w.p(x, " = 0")
		}
	case *Bitmask:
		w.p(x, " = 0")
	}
}
