package idlc

import (
	"fmt"

	"github.com/omg-dds-go/dds/cdr"
)

// view prints the reader of the encoded bytes.
func (w *printer) view(s *Struct) {
	name := w.plan.goName(s)
	members := s.wire()
	front := s.front()
	w.p("// ", name, "View reads the members of an encoded ", name, " where they are. It ends, with the strings and bytes that it gives,")
	w.p("// when the bytes of the sample do. Members that the sample does not have read as their defaults.")
	reader := name + "View"
	switch {
	case front == nil:
		w.p("type ", name, "View struct {")
	case front.whole:
		w.p("type ", name, "View struct {")
		w.p("b *[", front.size, "]byte // the members, little-endian; nil if they lie otherwise")
		w.p("f cdr.FarFront // those that do")
	default:
		reader = lowerFirst(name) + "Front"
		w.p("type ", name, "View struct {")
		w.p(reader)
	}
	if front == nil || !front.whole {
		w.p("s cdr.Sample")
		w.p("at [", len(members)-front.len(), "]int32 // offsets of the ", map[bool]string{true: "other ", false: ""}[front != nil], "members")
	}
	w.p("}")
	w.p()
	if reader != name+"View" {
		w.p("// ", reader, " is the members of fixed size that ", name, " begins with.")
		w.p("type ", reader, " struct {")
		w.p("b *[", front.size, "]byte // little-endian; nil if they lie otherwise")
		w.p("f cdr.FarFront // those that do")
		w.p("}")
		w.p()
	}
	w.newView(name, s)
	w.scan(s, name, front)
	if front != nil && front.whole && s.Extensibility == cdr.Final {
		w.p("// ", name, "ViewOf is for generated code.")
		w.p("func ", name, "ViewOf(b *[", front.size, "]byte) ", name, "View { return ", name, "View{b: b} }")
		w.p()
		w.p("// ", name, "ViewFar is for generated code.")
		w.p("func ", name, "ViewFar(f cdr.FarFront) ", name, "View { return ", name, "View{f: f} }")
		w.p()
	}
	in := &frontReader{front: front, name: reader, info: lowerFirst(name) + "Type", far: map[string]bool{}}
	for i, m := range members {
		f := w.field(m)
		f.path, f.inherited = w.refName(m.Of, w.plan.goName(m.Of))+f.goName, m.Of != s
		if i < front.len() {
			w.frontAccessor(in, f, i)
		} else {
			w.accessor(name, f, i-front.len())
		}
	}
	w.farReaders(in)
	if w.viewsAreFronts(s) {
		w.frontViews(s, name)
	} else {
		w.views(s, name)
	}
	w.collectionViews()
}

// scan prints the walk over a value that finds its members.
func (w *printer) scan(s *Struct, name string, front *front) {
	members := s.wire()
	w.p("// ScanCDR finds the members of the next value. It is for generated code.")
	w.p("func (v *", name, "View) ScanCDR(d *cdr.Decoder) {")
	if front == nil || !front.whole {
		w.p("v.s = d.Sample()")
	}
	if s.Extensibility == cdr.Mutable {
		w.p("var at [", len(members), "]cdr.Position")
		w.p("s := d.BeginMutable(", idListName(name), ", at[:])")
	} else {
		w.p("s := d.Begin(", extensibilityName(s.Extensibility), ")")
	}
	if front != nil {
		w.p("if b := d.Front(", lowerFirst(name), "Type); b != nil {\nv.b, v.f = (*[", front.size, "]byte)(b), cdr.FarFront{}")
		w.p("} else {\nv.b, v.f = nil, d.FarFront(", lowerFirst(name), "Type)\n}")
	}
	index := map[*Member]int{}
	for i, m := range members {
		index[m] = i - front.len()
	}
	_, sorted := mutableIndex(members)
	w.fieldsBehind(s, front.len(),
		func(f field) {
			switch i := index[f.Member]; {
			case s.Extensibility == cdr.Mutable:
				w.p("d.Select(at[", sorted[f.Member], "])")
				w.tryScan(f, viewOffset(i))
			case f.Optional:
				w.p("if h, ok := d.BeginOptional(", quote(f.Member.Name), ", ", f.ID, "); ok {")
				w.tryScan(f, viewOffset(i))
				w.p("d.End(h)")
				w.p("} else {\nv.at[", i, "] = cdr.Missing\n}")
			default:
				w.tryScan(f, viewOffset(i))
			}
		},
		func(fs []field, align, size int) { w.scanRun(fs, index[fs[0].Member], align, size) })
	w.p("d.End(s)")
	w.p("}")
	w.p()
}

// newView prints how a view of a sample is made.
func (w *printer) newView(name string, s *Struct) {
	w.p("// New", name, "View checks the structure of an encoded sample, encapsulation header included.")
	w.p("func New", name, "View(sample []byte) (v ", name, "View, err error) {")
	w.p("err = v.OpenCDR(sample)")
	w.p("return v, err")
	w.p("}")
	w.p()
	w.p("// OpenCDR makes v the view that New", name, "View gives, without a copy of it; after an error it is empty.")
	w.p("func (v *", name, "View) OpenCDR(sample []byte) error {")
	if s != nil && straight(s) {
		w.straightView(s)
		w.p("return v.walkCDR(sample)")
		w.p("}")
		w.p()
		w.p("// walkCDR is OpenCDR of any sample.")
		w.p("func (v *", name, "View) walkCDR(sample []byte) error {")
	}
	w.p("*v = ", name, "View{}")
	w.p("var d cdr.Decoder")
	w.p("if err := d.Open(sample, ", lowerFirst(name), "Type); err != nil {\nreturn err\n}")
	w.p("v.ScanCDR(&d)")
	w.p("if err := d.Close(", lowerFirst(name), "Type); err != nil {\n*v = ", name, "View{}\nreturn err\n}")
	w.p("return nil")
	w.p("}")
	w.p()
}

// straightView prints how the members are found of a sample that lies as nearly always.
func (w *printer) straightView(s *Struct) {
	front := s.front()
	from, body := 0, "body"
	if s.Extensibility == cdr.Final {
		w.p("if body := cdr.Straight(sample); len(body) ", atLeast(front, 0), " {")
	} else {
		from, body = 4, "within"
		w.p("if body, end := cdr.StraightDelimited(sample); end ", atLeast(front, 4), " {")
	}
	if front != nil {
		w.p("v.b, v.f = (*[", front.size, "]byte)(body", map[bool]string{true: "[4:]"}[from > 0], "), cdr.FarFront{}")
		from += front.size
	}
	members := s.wire()[front.len():]
	if len(members) == 0 {
		w.p("return nil")
		w.p("}")
		return
	}
	if body == "within" {
		w.p("within := body[:end]")
	}
	w.p("v.s = cdr.StraightSample(body)")
	for i, m := range members {
		align, behind := straightMember(m.Type, body)
		switch {
		case i == 0:
			w.p("at := ", alignUp(from, align))
		case align > 1:
			w.p("at = cdr.AlignUp(at, ", align, ")")
		}
		w.p("v.at[", i, "] = int32(at)")
		w.p("at = cdr.", behind)
	}
	w.p("if at <= len(", body, ") {\nreturn nil\n}")
	w.p("}")
}

// atLeast is the condition for the end of a body that has all of a front which begins at an offset.
func atLeast(f *front, from int) string {
	if f == nil {
		return "> " + itoa(from)
	}
	return ">= " + itoa(from+f.size)
}

// straight tells whether the members of a struct are found without a decoder where they lie as nearly always
// (cdr.Straight): behind the front there are only numbers, strings, and arrays and sequences of numbers, all of which
// any value fits.
func straight(s *Struct) bool {
	members := s.wire()
	if s.Extensibility == cdr.Mutable || len(members) == 0 {
		return false
	}
	for _, m := range members[s.front().len():] {
		if m.Optional || m.TryConstruct > TryConstructDiscard {
			return false
		}
		if _, behind := straightMember(m.Type, ""); behind == "" {
			return false
		}
	}
	return true
}

// straightMember gives the alignment of a member in XCDR2, and the call of package cdr that passes over it; "" if there is none.
func straightMember(t Type, body string) (align int, behind string) {
	behind = "Behind(" + body + ", at, "
	if n, ok := scalarSize(t); ok {
		return min(n, 4), behind + itoa(n) + ")"
	}
	switch t := resolve(t).(type) {
	case *String:
		if !t.Wide {
			return 4, "BehindString(" + body + ", at, " + itoa(t.Bound) + ")"
		}
	case *Sequence:
		if p, ok := resolve(t.Elem).(Primitive); ok {
			return 4, "BehindSequence(" + body + ", at, " + itoa(primitives[p].size) + ", " + itoa(t.Bound) + ")"
		}
	case *Array:
		if p, ok := resolve(t.Elem).(Primitive); ok {
			n := primitives[p].size
			return min(n, 4), behind + itoa(n*t.count()) + ")"
		}
	}
	return 0, ""
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
		w.scanMember(f, viewOffset(i+k))
	}
	w.p("}")
}

// tryScan prints how the offset of a member is found whose type may be unable to hold it. One that takes its default is missing;
// one that is cut by decoding is found, and read, as it was sent.
func (w *printer) tryScan(f field, at string) {
	switch f.TryConstruct {
	case TryConstructTrim:
		if free, _ := w.trim(f.Type, ""); free != nil {
			m := *f.Member
			m.Type = free
			f.Member = &m
		}
	case TryConstructUseDefault:
		state := tryVar(f.Member.Name, 0)
		w.p(state, " := d.Try()")
		w.scanMember(f, at)
		w.p("if d.Caught(", state, ") {")
		w.skipValue(f.Type, f.Member.Name, 0)
		w.p(at, " = cdr.Missing")
		w.p("}")
		return
	}
	w.scanMember(f, at)
}

// viewOffset is where the view of a struct keeps the offset of member i.
func viewOffset(i int) string { return "v.at[" + itoa(i) + "]" }

// scanMember prints how the offset of a member is found.
func (w *printer) scanMember(f field, at string) {
	name := quote(f.Member.Name)
	switch t := resolve(f.Type).(type) {
	case Primitive:
		n := primitives[t].size
		w.p(at, " = d.Locate(", name, ", ", n, ", ", n, ")")
	case *Enum, *Bitmask, *Bitset:
		n, _ := scalarSize(t)
		w.p(at, " = d.Locate(", name, ", ", n, ", ", n, ")")
	case *Fixed:
		w.p(at, " = d.Locate(", name, ", 1, ", t.size(), ")")
	case *String:
		method := "LocateString"
		if t.Wide {
			method = "LocateWString"
		}
		w.p(at, " = d.", method, "(", name, ", ", t.Bound, ")")
	case *Struct, *Union:
		w.p(at, " = d.Here(1)")
		w.scanValue(t, f.Member.Name, 0)
	case *Map:
		w.p(at, " = d.Here(4)")
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
	case *Bitmask:
		return t.Width
	case *Bitset:
		return t.Width
	case *String, *Sequence, *Map:
		return 4
	}
	return 1
}

// scanValue prints the checking of a value that views do not keep the inner offsets of.
func (w *printer) scanValue(t Type, name string, depth int) {
	switch r := resolve(t).(type) {
	case *Struct, *Union:
		view := w.refName(r.(Decl), w.plan.goName(r.(Decl))+"View")
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
		w.p("n, ", scope, " := d.BeginSequence(", quote(name), ", ", r.bound(), ", ", minSize(r.Elem), ", ", isPrimitive(r.Elem), ")")
		w.scanElements(r.Of, r.Elem, name, kept("n", r.kept), depth)
		w.skipRest(r, name, depth)
		w.p("d.End(", scope, ")")
	case *Map:
		scope := markVar(name, depth)
		w.p("n, ", scope, " := d.BeginMap(", quote(name), ", ", r.Bound, ", ", minSize(r.Key)+minSize(r.Elem), ", ",
			isPrimitive(r.Key) && isPrimitive(r.Elem), ")")
		w.pairs(r, passing, name, "n", depth)
		w.scanElement(r.OfKeys, r.Key, depth+1)
		w.scanElement(r.Of, r.Elem, depth+2)
		w.p("d.Leave(", quote(name), ")")
		w.p("}")
		w.p("d.End(", scope, ")")
	case *Array:
		if isPrimitive(r.Elem) {
			w.skipValue(r, name, depth)
			return
		}
		scope := markVar(name, depth)
		w.p(scope, " := d.BeginArray(", quote(name), ")")
		w.scanElements(Element{}, r.Elem, name, itoa(r.count()), depth)
		w.p("d.End(", scope, ")")
	default:
		w.skipValue(t, name, depth)
	}
}

// scanElement prints the checking of an element that its type may be unable to hold.
func (w *printer) scanElement(of Element, t Type, depth int) {
	if of.TryConstruct <= TryConstructDiscard {
		w.scanValue(t, "", depth)
		return
	}
	state := tryVar("", depth)
	w.p(state, " := d.Try()")
	w.scanValue(t, "", depth)
	w.p("if d.Caught(", state, ") {")
	w.skipValue(t, "", depth)
	w.p("}")
}

func (w *printer) scanElements(of Element, elem Type, name, n string, depth int) {
	switch e := resolve(elem).(type) {
	case *Enum, *Bitmask, *Bitset:
		size, _ := scalarSize(e)
		a := min(size, 4) // of eight bytes in XCDR2
		w.p("d.SkipElements(", quote(name), ", ", n, ", &cdr.Layout{Align: [2]int{", size, ", ", a, "}, Size: [2]int{", size,
			", ", size, "}, Stride: [2]int{", size, ", ", size, "}})")
		return
	case *Struct:
		if l := w.layoutOf(e); l != "nil" {
			w.p("d.SkipElements(", quote(name), ", ", n, ", ", l, ")")
			return
		}
	}
	v := loopVar(depth)
	w.p("for ", v, " := range ", n, " {")
	w.element(passing, name, v, func() { w.scanElement(of, elem, depth+1) })
	w.p("}")
}

// layoutOf is the expression for the layout of elements; nil where they differ in size.
func (w *printer) layoutOf(t Type) string {
	a1, n1, ok1 := fixedLayout(t, false)
	a2, n2, ok2 := fixedLayout(t, true)
	if !ok1 || !ok2 {
		return "nil"
	}
	s, ok := resolve(t).(*Struct)
	switch {
	case ok && s.Extensibility == cdr.Final:
		return "(*" + w.ref(s) + ")(nil).CDRType().Layout"
	case ok:
		return "nil"
	}
	return fmt.Sprintf("&cdr.Layout{Align: [2]int{%d, %d}, Size: [2]int{%d, %d}, Stride: [2]int{%d, %d}}", a1, a2, n1, n2,
		alignUp(n1, a1), alignUp(n2, a2))
}

// accessor prints the method that reads a member.
func (w *printer) accessor(view string, f field, i int) {
	at := viewOffset(i)
	def := w.defaultOf(f.Member)
	if f.Optional {
		def = ""
	}
	result, body := w.read(f, at)
	switch {
	case f.Optional:
		w.p("// ", f.goName, " reads ", f.Member.Name, ", and tells whether it is there.")
		w.p("func (v ", view, "View) ", f.goName, "() (", result, ", bool) {")
		w.p("there := ", at, " >= 0")
	default:
		w.p("// ", f.goName, " reads ", f.Member.Name, ".")
		if len(body) == 1 && def == "" {
			w.p("func (v ", view, "View) ", f.goName, "() ", result, " { return ", body[0], " }")
			w.p()
			return
		}
		w.p("func (v ", view, "View) ", f.goName, "() ", result, " {")
	}
	if def != "" {
		if result == "cdr.WideString" {
			def = "cdr.WideText(" + def + ")"
		}
		w.p("if ", at, " < 0 {\nreturn ", def, "\n}")
	}
	for _, line := range body[:len(body)-1] {
		w.p(line)
	}
	if f.Optional {
		w.p("return ", body[len(body)-1], ", there")
	} else {
		w.p("return ", body[len(body)-1])
	}
	w.p("}")
	w.p()
}

// read gives the Go type of what a view reads of a member, and the code: its last line is an expression.
func (w *printer) read(f field, at string) (result string, body []string) {
	result = w.goType(f.Type)
	s := f.sample()
	one := func(expr string) (string, []string) { return result, []string{expr} }
	switch t := resolve(f.Type).(type) {
	case Primitive:
		return one(s + "." + primitives[t].method + "(" + at + ")")
	case *Enum:
		return one(w.ref(t) + "(" + s + ".Enum(" + at + ", " + itoa(t.Width) + ", int32(" + w.refName(t, w.plan.enumeratorName(t.Default)) + ")))")
	case *Bitmask:
		return one(w.ref(t) + "(" + s + ".Uint" + itoa(8*t.Width) + "(" + at + "))" + bitsOf(t))
	case *Bitset:
		return result, []string{"var m " + result, "m.SetBits(uint64(" + s + ".Uint" + itoa(8*t.Width) + "(" + at + ")))", "m"}
	case *Fixed:
		return one(s + ".Fixed(" + at + ", " + itoa(t.Digits) + ", " + itoa(t.Scale) + ")")
	case *String:
		x, trim := s+".String("+at+")", "cdr.TrimString("
		if t.Wide {
			result, x, trim = "cdr.WideString", s+".WideString("+at+")", "cdr.TrimWideString("
		}
		if f.TryConstruct == TryConstructTrim && t.Bound > 0 {
			x = trim + x + ", " + itoa(t.Bound) + ")"
		}
		return one(x)
	case *Struct, *Union:
		inner := w.refName(t.(Decl), w.plan.goName(t.(Decl))+"View")
		scan := "if " + s + ".Seek(&d, " + at + ") {\nm.ScanCDR(&d)\n}"
		if !zeroable(t) { // the members of a value that is missing are missing, and have defaults
			scan = s + ".Seek(&d, " + at + ")\nm.ScanCDR(&d)"
		}
		return inner, []string{"var d cdr.Decoder", "var m " + inner, scan, "m"}
	}
	if ownView(f.Type) {
		return w.readOwnView(f, at)
	}
	switch t := resolve(f.Type).(type) {
	case *Sequence:
		return w.readCollection(f, at, t.Elem, 0)
	case *Array:
		return w.readCollection(f, at, t.Elem, t.count())
	}
	return result, []string{""} // a type that is skipped, which nothing is printed for
}

// readCollection is read for a sequence (n is 0) or an array of n elements that needs no view of its own.
func (w *printer) readCollection(f field, at string, elem Type, n int) (result string, body []string) {
	s, first := f.sample(), f.first()
	kind, count := "Sequence", ""
	if n > 0 {
		kind, count = "Array", ", "+itoa(n)
	}
	one := func(result, expr string) (string, []string) { return result, []string{expr + first} }
	switch e := resolve(elem).(type) {
	case Primitive:
		goType := primitives[e].goType
		switch {
		case e == Boolean:
			return one("cdr.Bools", "cdr."+kind+"Bools("+s+", "+at+count+")")
		case (goType == "byte" || e == Uint8) && n > 0:
			return one("[]byte", s+".ArrayBytes("+at+count+")")
		case (goType == "byte" || e == Uint8) && first != "":
			return "[]byte", []string{"cdr.FirstBytes(" + s + ".Bytes(" + at + "), " + itoa(f.kept()) + ")"}
		case goType == "byte" || e == Uint8:
			return one("[]byte", s+".Bytes("+at+")")
		case e == Float128:
			return one("cdr.LongDoubles", "cdr."+kind+"LongDoubles("+s+", "+at+count+")")
		}
		return one("cdr.Values["+goType+"]", "cdr."+kind+"Values["+goType+"]("+s+", "+at+count+")")
	case *Enum:
		return one("cdr.Enums["+w.ref(e)+"]", "cdr."+kind+"Enums["+w.ref(e)+"]("+s+", "+at+count+", "+itoa(e.Width)+")")
	case *String:
		return one("cdr.Strings", "cdr."+kind+"Strings("+s+", "+at+count+")")
	}
	d := resolve(elem).(Decl)
	views := w.refName(d, w.plan.goName(d)+"Views")
	if e, ok := d.(*Struct); ok && w.viewsAreFronts(e) {
		call := s + ".Fronts(" + at + ", " + itoa(f.kept())
		if n > 0 {
			call = s + ".ArrayFronts(" + at + count
		}
		call += ", (*" + w.ref(e) + ")(nil).CDRType())"
		return views, []string{w.refName(d, w.plan.goName(d)+"ViewsOf") + "(" + call + ")"}
	}
	call := s + ".Elements(" + at + ", " + w.layoutOf(elem) + ")"
	if n > 0 {
		call = s + ".ArrayElements(" + at + count + ", " + w.layoutOf(elem) + ")"
	}
	return views, []string{w.refName(d, w.plan.goName(d)+"ViewsOf") + "(" + call + first + ")"}
}

// views prints the reader of a sequence of a struct or a union.
func (w *printer) views(s Type, name string) {
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
