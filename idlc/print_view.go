package idlc

import "github.com/omg-dds-go/dds/cdr"

// view prints the reader of the encoded bytes.
func (w *printer) view(s *Struct) {
	name := w.plan.goName(s)
	members := s.allMembers()
	w.p("// ", name, "View reads the members of an encoded ", name, " where they are. It ends, with the strings and bytes that it gives,")
	w.p("// when the bytes of the sample do. Members that the sample does not have read as their defaults.")
	w.p("type ", name, "View struct {")
	w.p("s cdr.Sample")
	w.p("at [", len(members), "]int32 // offsets of the members")
	w.p("}")
	w.p()
	w.p("// New", name, "View checks the structure of an encoded sample, encapsulation header included.")
	w.p("func New", name, "View(sample []byte) (", name, "View, error) {")
	w.p("var d cdr.Decoder")
	w.p("if err := d.Open(sample, ", lowerFirst(name), "Type); err != nil {\nreturn ", name, "View{}, err\n}")
	w.p("var v ", name, "View")
	w.p("v.ScanCDR(&d)")
	w.p("if err := d.Close(", lowerFirst(name), "Type); err != nil {\nreturn ", name, "View{}, err\n}")
	w.p("return v, nil")
	w.p("}")
	w.p()
	w.p("// ScanCDR finds the members of the next value. It is for generated code.")
	w.p("func (v *", name, "View) ScanCDR(d *cdr.Decoder) {")
	w.p("v.s = d.Sample()")
	w.p("s := d.Begin(", extensibilityName(s.Extensibility), ")")
	index := map[*Member]int{}
	for i, m := range members {
		index[m] = i
	}
	w.fields(s,
		func(f field) { w.scanMember(f, index[f.Member]) },
		func(fs []field, align, size int) { w.scanRun(fs, index[fs[0].Member], align, size) })
	w.p("d.End(s)")
	w.p("}")
	w.p()
	for i, m := range members {
		w.accessor(name, w.field(m), i)
	}
	w.views(s, name)
}

func (w *printer) scanRun(fs []field, i, align, size int) {
	w.p("if at := d.RunAt(", align, ", ", size, "); at >= 0 {")
	for k, f := range fs {
		if f.offset == 0 {
			w.p("v.at[", i+k, "] = at")
		} else {
			w.p("v.at[", i+k, "] = at + ", f.offset)
		}
	}
	w.p("} else {")
	for k, f := range fs {
		w.scanMember(f, i+k)
	}
	w.p("}")
}

// scanMember prints how the offset of a member is found.
func (w *printer) scanMember(f field, i int) {
	name := quote(f.Member.Name)
	at := "v.at[" + itoa(i) + "]"
	switch t := resolve(f.Type).(type) {
	case Primitive:
		n := primitives[t].size
		w.p(at, " = d.Locate(", name, ", ", n, ", ", n, ")")
	case *Enum:
		w.p(at, " = d.Locate(", name, ", ", t.Width, ", ", t.Width, ")")
	case *String:
		method := "LocateString"
		if t.Wide {
			method = "LocateWString"
		}
		w.p(at, " = d.", method, "(", name, ", ", t.Bound, ")")
	case *Struct:
		w.p(at, " = d.Here(1)")
		w.scanValue(t, f.Member.Name, 0)
	case *Sequence:
		if p, ok := resolve(t.Elem).(Primitive); ok {
			w.p(at, " = d.LocateSequence(", name, ", ", t.Bound, ", ", primitives[p].size, ")")
			return
		}
		w.p(at, " = d.Here(4)")
		w.scanValue(t, f.Member.Name, 0)
	case *Array:
		if p, ok := resolve(t.Elem).(Primitive); ok {
			n := primitives[p].size
			w.p(at, " = d.Locate(", name, ", ", n, ", ", n*t.count(), ")")
			return
		}
		w.p(at, " = d.HereArray(", elementAlign(t.Elem), ")")
		w.scanValue(t, f.Member.Name, 0)
	}
}

// elementAlign is the alignment that the first element of an array surely needs in XCDR1.
func elementAlign(t Type) int {
	switch t := resolve(t).(type) {
	case *Enum:
		return t.Width
	case *String, *Sequence:
		return 4
	}
	return 1
}

// scanValue prints the checking of a value that views do not keep the inner offsets of.
func (w *printer) scanValue(t Type, name string, depth int) {
	switch r := resolve(t).(type) {
	case *Struct:
		view := w.refName(r, w.plan.goName(r)+"View")
		if depth > 0 {
			w.p("var e ", view)
			w.p("e.ScanCDR(d)")
			return
		}
		w.nested(passing, name, "var e "+view+"\ne.ScanCDR(d)")
	case *String:
		method := "LocateString"
		if r.Wide {
			method = "LocateWString"
		}
		w.p("d.", method, "(", quote(name), ", ", r.Bound, ")")
	case *Sequence:
		if p, ok := resolve(r.Elem).(Primitive); ok {
			w.p("d.LocateSequence(", quote(name), ", ", r.Bound, ", ", primitives[p].size, ")")
			return
		}
		scope := markVar(name, depth)
		w.p("n, ", scope, " := d.BeginSequence(", quote(name), ", ", r.Bound, ", ", minSize(r.Elem), ", false)")
		w.scanElements(r.Elem, name, "n", depth)
		w.p("d.End(", scope, ")")
	case *Array:
		if isPrimitive(r.Elem) {
			w.skipValue(r, name, depth)
			return
		}
		scope := markVar(name, depth)
		w.p(scope, " := d.BeginArray(", quote(name), ")")
		w.scanElements(r.Elem, name, itoa(r.count()), depth)
		w.p("d.End(", scope, ")")
	default:
		w.skipValue(t, name, depth)
	}
}

func (w *printer) scanElements(elem Type, name, n string, depth int) {
	switch e := resolve(elem).(type) {
	case *Enum:
		w.p("d.SkipElements(", quote(name), ", ", n, ", &cdr.Layout{Align: [2]int{", e.Width, ", ", e.Width, "}, Size: [2]int{", e.Width, ", ", e.Width, "}, Stride: [2]int{", e.Width, ", ", e.Width, "}})")
		return
	case *Struct:
		if l := w.layoutOf(e); l != "nil" {
			w.p("d.SkipElements(", quote(name), ", ", n, ", ", l, ")")
			return
		}
	}
	v := loopVar(depth)
	w.p("for ", v, " := range ", n, " {")
	w.element(passing, name, v, func() { w.scanValue(elem, "", depth+1) })
	w.p("}")
}

// layoutOf is the expression for the layout of a struct's elements; nil where they differ in size.
func (w *printer) layoutOf(s *Struct) string {
	_, _, ok1 := fixedLayout(s, false)
	_, _, ok2 := fixedLayout(s, true)
	if !ok1 || !ok2 || s.Extensibility != cdr.Final {
		return "nil"
	}
	return "(*" + w.ref(s) + ")(nil).CDRType().Layout"
}

// accessor prints the method that reads a member.
func (w *printer) accessor(view string, f field, i int) {
	at := "v.at[" + itoa(i) + "]"
	method := func(result, expr string) {
		w.p("// ", f.goName, " reads ", f.Member.Name, ".")
		w.p("func (v ", view, "View) ", f.goName, "() ", result, " { return ", expr, " }")
		w.p()
	}
	result := w.goType(f.Type)
	switch t := resolve(f.Type).(type) {
	case Primitive:
		method(result, "v.s."+primitives[t].method+"("+at+")")
	case *Enum:
		method(result, w.ref(t)+"(v.s.Enum("+at+", "+itoa(t.Width)+", int32("+w.refName(t, w.plan.enumeratorName(t.Default))+")))")
	case *String:
		if t.Wide {
			method(result, "v.s.WString("+at+")")
		} else {
			method(result, "v.s.String("+at+")")
		}
	case *Struct:
		inner := w.refName(t, w.plan.goName(t)+"View")
		w.p("// ", f.goName, " reads ", f.Member.Name, ".")
		w.p("func (v ", view, "View) ", f.goName, "() ", inner, " {")
		w.p("var d cdr.Decoder")
		w.p("var m ", inner)
		w.p("if v.s.Seek(&d, ", at, ") {\nm.ScanCDR(&d)\n}")
		w.p("return m")
		w.p("}")
		w.p()
	case *Sequence:
		w.collectionAccessor(view, f, at, t.Elem, 0, method)
	case *Array:
		w.collectionAccessor(view, f, at, t.Elem, t.count(), method)
	}
}

// collectionAccessor prints the accessor of a sequence (n is 0) or of an array of n elements.
func (w *printer) collectionAccessor(view string, f field, at string, elem Type, n int, method func(result, expr string)) {
	kind, count := "Sequence", ""
	if n > 0 {
		kind, count = "Array", ", "+itoa(n)
	}
	switch e := resolve(elem).(type) {
	case Primitive:
		goType := primitives[e].goType
		switch {
		case e == Boolean:
			method("cdr.Bools", "cdr."+kind+"Bools(v.s, "+at+count+")")
		case (goType == "byte" || e == Uint8) && n > 0:
			method("[]byte", "v.s.ArrayBytes("+at+count+")")
		case goType == "byte" || e == Uint8:
			method("[]byte", "v.s.Bytes("+at+")")
		default:
			method("cdr.Values["+goType+"]", "cdr."+kind+"Values["+goType+"](v.s, "+at+count+")")
		}
		return
	case *Enum:
		method("cdr.Enums["+w.ref(e)+"]", "cdr."+kind+"Enums["+w.ref(e)+"](v.s, "+at+count+", "+itoa(e.Width)+")")
		return
	case *String:
		if !e.Wide {
			method("cdr.Strings", "cdr."+kind+"Strings(v.s, "+at+count+")")
			return
		}
	case *Struct:
		call := "v.s.Elements(" + at + ", " + w.layoutOf(e) + ")"
		if n > 0 {
			call = "v.s.ArrayElements(" + at + count + ", " + w.layoutOf(e) + ")"
		}
		method(w.refName(e, w.plan.goName(e)+"Views"), w.refName(e, w.plan.goName(e)+"ViewsOf")+"("+call+")")
		return
	}
	w.p("// ", f.goName, " decodes ", f.Member.Name, " into new memory.")
	w.p("func (v ", view, "View) ", f.goName, "() ", w.goType(f.Type), " {")
	w.p("d := &cdr.Decoder{}")
	w.p("var m ", w.goType(f.Type))
	w.p("if v.s.Seek(d, ", at, ") {")
	w.decode(f.Type, "m", f.Member.Name, 0, false)
	w.p("}")
	w.p("return m")
	w.p("}")
	w.p()
}

// views prints the reader of a sequence of the struct.
func (w *printer) views(s *Struct, name string) {
	iterName := w.use("iter")
	w.p("// ", name, "Views reads the elements of an encoded sequence or array of ", name, ".")
	w.p("type ", name, "Views struct{ c cdr.Elements }")
	w.p()
	w.p("// ", name, "ViewsOf is for generated code.")
	w.p("func ", name, "ViewsOf(c cdr.Elements) ", name, "Views { return ", name, "Views{c} }")
	w.p()
	w.p("// Len is the number of elements.")
	w.p("func (vs ", name, "Views) Len() int { return vs.c.Len() }")
	w.p()
	if w.layoutOf(s) == "nil" {
		w.p("// At reads element i; it walks over those before. An element that is not there reads as defaults.")
	} else {
		w.p("// At reads element i. An element that is not there reads as defaults.")
	}
	w.p("func (vs ", name, "Views) At(i int) ", name, "View {")
	w.p("var d cdr.Decoder")
	w.p("var v ", name, "View")
	w.p("for n := vs.c.Seek(&d, i); n >= 0; n-- {\nv.ScanCDR(&d)\n}")
	w.p("return v")
	w.p("}")
	w.p()
	w.p("// All iterates over the elements.")
	w.p("func (vs ", name, "Views) All() ", iterName, ".Seq2[int, ", name, "View] {")
	w.p("return func(yield func(int, ", name, "View) bool) {")
	w.p("var d cdr.Decoder")
	w.p("if vs.c.Seek(&d, 0) < 0 {\nreturn\n}")
	w.p("for i := range vs.c.Len() {")
	w.p("var v ", name, "View")
	w.p("v.ScanCDR(&d)")
	w.p("if !yield(i, v) {\nreturn\n}")
	w.p("}")
	w.p("}")
	w.p("}")
}
