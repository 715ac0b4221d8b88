package idlc

import "strings"

// This file prints Clone and Equal.

// deep tells whether a copy of a value shares memory with it.
func deep(t Type) bool { return deepIn(t, map[Type]bool{}) }

func deepIn(t Type, seen map[Type]bool) bool {
	members := func(list []*Member) bool {
		for _, m := range list {
			if m.pointer() || deepIn(m.Type, seen) {
				return true
			}
		}
		return false
	}
	t = resolve(t)
	if seen[t] {
		return false // what it has is found where it was first met
	}
	switch t := t.(type) {
	case *Sequence, *Map:
		return true
	case *Array:
		return deepIn(t.Elem, seen)
	case *Struct:
		seen[t] = true
		return members(t.allMembers())
	case *Union:
		seen[t] = true
		return members(t.members())
	}
	return false
}

func (u *Union) members() []*Member {
	list := make([]*Member, len(u.Cases))
	for i, c := range u.Cases {
		list[i] = &c.Member
	}
	return list
}

// equatable tells whether == compares values of a type.
func equatable(t Type) bool {
	switch t := resolve(t).(type) {
	case *Sequence, *Map, *Struct, *Union:
		return false
	case *Array:
		return equatable(t.Elem)
	}
	return true
}

func (w *printer) cloneEqual(s *Struct) {
	name := w.plan.goName(s)
	w.cloneDoc(name)
	w.p("func (m *", name, ") Clone() ", name, " {")
	w.p("c := *m")
	for _, m := range s.allMembers() {
		w.cloneMember(m, "c."+w.plan.fieldName(m))
	}
	w.p("return c")
	w.p("}")
	w.p()
	w.equalDoc(name)
	var same []string
	for _, m := range s.allMembers() {
		f := w.plan.fieldName(m)
		same = append(same, w.equalMember(m, "m."+f, "o."+f))
	}
	w.p("func (m *", name, ") Equal(o *", name, ") bool {")
	if len(same) == 0 { // an empty struct has one value
		same = []string{"true"}
	}
	w.p("return ", strings.Join(same, " &&\n"))
	w.p("}")
	w.p()
}

func (w *printer) cloneDoc(name string) { w.p("// Clone gives a copy that shares no memory with m.") }

func (w *printer) equalDoc(name string) {
	w.p("// Equal tells whether all members are equal; nil and empty sequences are.")
}

func (w *unionPrinter) cloneEqualUnion() {
	w.cloneDoc(w.name)
	w.p("func (m *", w.name, ") Clone() ", w.name, " {")
	w.p("c := *m")
	for _, m := range w.members {
		w.cloneMember(m, "c."+w.unionField(m).ptr[2:])
	}
	w.p("return c")
	w.p("}")
	w.p()
	w.p("// Equal tells whether the discriminators are equal, and the members that they select.")
	w.p("func (m *", w.name, ") Equal(o *", w.name, ") bool {")
	w.p("if m.discriminator != o.discriminator {\nreturn false\n}")
	w.cases(w.of+"(m.discriminator)", func(i int, c *Case, f field) {
		w.p("return ", w.equalMember(f.Member, f.ptr, "o."+f.ptr[2:]))
	})
	w.p("return true")
	w.p("}")
	w.p()
}

func (w *printer) cloneMember(m *Member, x string) {
	if !m.pointer() {
		w.clone(m.Type, x, 0)
		return
	}
	w.p("if ", x, " != nil {")
	w.p("v := *", x)
	w.clone(m.Type, "v", 0)
	w.p(x, " = &v")
	w.p("}")
}

// clone prints how x, a copy of a value, gets memory of its own.
func (w *printer) clone(t Type, x string, depth int) {
	if !deep(t) {
		return
	}
	v := loopVar(depth)
	switch t := resolve(t).(type) {
	case *Sequence:
		w.p(x, " = ", w.use("slices"), ".Clone(", x, ")")
		if deep(t.Elem) {
			w.p("for ", v, " := range ", x, " {")
			w.clone(t.Elem, x+"["+v+"]", depth+1)
			w.p("}")
		}
	case *Array:
		w.p("for ", v, " := range ", x, " {")
		w.cloneArray(t, len(t.Dims)-1, x+"["+v+"]", depth+1)
		w.p("}")
	case *Map:
		w.p(x, " = ", w.use("maps"), ".Clone(", x, ")")
		if deep(t.Elem) {
			e := "v" + itoa(depth)
			w.p("for ", v, ", ", e, " := range ", x, " {")
			w.clone(t.Elem, e, depth+1)
			w.p(x, "[", v, "] = ", e)
			w.p("}")
		}
	case *Struct, *Union:
		w.p(x, " = ", x, ".Clone()")
	}
}

func (w *printer) cloneArray(a *Array, dims int, x string, depth int) {
	if dims == 0 {
		w.clone(a.Elem, x, depth)
		return
	}
	v := loopVar(depth)
	w.p("for ", v, " := range ", x, " {")
	w.cloneArray(a, dims-1, x+"["+v+"]", depth+1)
	w.p("}")
}

func (w *printer) equalMember(m *Member, a, b string) string {
	if !m.pointer() {
		return w.equal(m.Type, a, b, len(arrayDims(m.Type)))
	}
	if equatable(m.Type) {
		return "cdr.EqualPtr(" + a + ", " + b + ")"
	}
	t := w.goType(m.Type)
	switch resolve(m.Type).(type) {
	case *Struct, *Union:
		return "cdr.EqualPtrFunc(" + a + ", " + b + ", (*" + t + ").Equal)"
	}
	return "cdr.EqualPtrFunc(" + a + ", " + b + ", func(a, b *" + t + ") bool { return " + w.equal(m.Type, "(*a)", "(*b)",
		len(arrayDims(m.Type))) + " })"
}

func arrayDims(t Type) []int {
	if a, ok := resolve(t).(*Array); ok {
		return a.Dims
	}
	return nil
}

// equal is the expression that compares two values; dims are the dimensions left of an array.
func (w *printer) equal(t Type, a, b string, dims int) string {
	if equatable(t) {
		return a + " == " + b
	}
	elements := func(pkg, a, b string, elem Type, goType string, dims int) string {
		if dims == 0 && equatable(elem) {
			return w.use(pkg) + ".Equal(" + a + ", " + b + ")"
		}
		return w.use(pkg) + ".EqualFunc(" + a + ", " + b + ", func(a, b " + goType + ") bool { return " + w.equal(elem, "a", "b", dims) + " })"
	}
	switch r := resolve(t).(type) {
	case *Sequence:
		return elements("slices", a, b, r.Elem, w.goType(r.Elem), len(arrayDims(r.Elem)))
	case *Map:
		return elements("maps", a, b, r.Elem, w.goType(r.Elem), len(arrayDims(r.Elem)))
	case *Array:
		inner := &Array{Elem: r.Elem, Dims: r.Dims[len(r.Dims)-dims+1:]}
		if len(inner.Dims) == 0 {
			return elements("slices", a+"[:]", b+"[:]", r.Elem, w.goType(r.Elem), len(arrayDims(r.Elem)))
		}
		return elements("slices", a+"[:]", b+"[:]", inner, w.goType(inner), len(inner.Dims))
	}
	return a + ".Equal(&" + b + ")"
}
