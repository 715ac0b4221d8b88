package idlc

import (
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// A writer is a builder for all encodings, which descends: what a member consists of is written by a writer of the member's type. It
// takes the members in the order of their declaration, so that one place, the stream, knows all about the sample: see cdr.Writer.

// writerSlots prints the table of members that a writer goes by.
func (w *printer) writerSlots(name string, x cdr.Extensibility, members []*Member) (list string) {
	list = lowerFirst(name) + "Slots"
	if len(members) == 0 {
		w.p("var ", list, " []cdr.Slot")
		w.p()
		return list
	}
	w.p("var ", list, " = []cdr.Slot{")
	for _, m := range members {
		header := ""
		if x == cdr.Mutable || m.Optional {
			header = ", ID: " + strings.ReplaceAll(memberID(m), "|", " | ") + ", Code: " + itoa(lengthCode(m.Type))
		}
		if m.Optional {
			header += ", Optional: true"
		}
		w.p("{Name: ", quote(m.Name), header, "},")
	}
	w.p("}")
	w.p()
	return list
}

// writerOf prints what the writers of structs and unions have in common.
func (w *printer) writerOf(name string, x cdr.Extensibility, members []*Member, order, union string) {
	list := w.writerSlots(name, x, members)
	w.p("// ", name, "Writer writes an encoded ", name, " in the caller's bytes, without an intermediate value, in any encoding.")
	w.p("// ", order)
	w.p("type ", name, "Writer struct {\nw cdr.Writer\n}")
	w.p()
	w.p("// New", name, "Writer starts a sample in buf, encapsulation header included.")
	w.p("func New", name, "Writer(s *cdr.Stream, buf []byte, enc cdr.Encapsulation) ", name, "Writer {")
	w.p("return ", name, "Writer{s.Open(buf, enc, ", lowerFirst(name), "Type, ", list, ", ", union, ")}")
	w.p("}")
	w.p()
	w.p("// Within gives the writer of a value within another. It is for generated code.")
	w.p("func (", name, "Writer) Within(up *cdr.Writer) ", name, "Writer {")
	w.p("return ", name, "Writer{cdr.Nest(up, ", extensibilityName(x), ", ", list, ", ", union, ")}")
	w.p("}")
	w.p()
	w.p("// End ends a value within another. What is wrong is reported by Finish.")
	w.p("func (w *", name, "Writer) End() { w.w.End() }")
	w.p()
	w.p("// Finish completes the sample and gives its length, or tells what was wrong first.")
	w.p("func (w *", name, "Writer) Finish() (int, error) { return w.w.Finish() }")
}

// writer prints the writer of a struct.
func (w *printer) writer(s *Struct) {
	name := w.plan.goName(s)
	w.p()
	w.writerOf(name, s.Extensibility, s.wire(), "Members are set in the order of their declaration; optional ones that are left out are absent.", "false")
	w.p()
	for i, m := range s.wire() {
		w.writerMember(name, w.plan.fieldName(m), m, i, nil)
	}
}

// writer prints the writer of a union.
func (w *unionPrinter) writer() {
	w.p()
	w.writerOf(w.name, w.u.Extensibility, append([]*Member{w.self}, w.members...), "One member is set, which sets the discriminator.", "true")
	w.p()
	w.p("func (w *", w.name, "Writer) discriminate(d ", w.disc, ") {")
	w.p("if e := w.w.Next(0); e != nil {")
	w.encode(w.u.Discriminator, "d", w.self.Name, 0, false)
	w.p("w.w.Done()")
	w.p("}")
	w.p("}")
	w.p()
	for i, c := range w.u.Cases {
		w.writerMember(w.name, w.plan.accessorName(&c.Member), &c.Member, i+1, func() { w.p("w.discriminate(", w.first(c), ")") })
	}
	if !w.u.Exhaustive && w.u.Default == nil {
		w.p("// SetDiscriminator sets a discriminator that selects no member.")
		w.p("func (w *", w.name, "Writer) SetDiscriminator(d ", w.disc, ") {")
		w.p("if ", w.of, "(d) >= 0 {")
		w.p("w.w.Fail(0, ", quote("it selects a member, which has to be set"), ")")
		w.p("return")
		w.p("}")
		w.p("w.discriminate(d)")
		w.p("}")
		w.p()
	}
}

// writerParameter is the parameter of a setter, and the expression for its value.
func (w *printer) writerParameter(t Type) (goType, x string) {
	goType = w.goType(t)
	switch resolve(t).(type) {
	case *Struct, *Union, *Bitset, *Array:
		return "*" + goType, "v"
	}
	return goType, "v"
}

// writerMember prints what writes member i; discriminate prints what comes before the member of a union.
func (w *printer) writerMember(name, goName string, m *Member, i int, discriminate func()) {
	if discriminate == nil {
		discriminate = func() {}
	}
	method := func(doc, prefix, params, result string) {
		w.p("// ", prefix, goName, " ", doc)
		w.p("func (w *", name, "Writer) ", prefix, goName, "(", params, ")", result, " {")
	}
	goType, x := w.writerParameter(m.Type)
	method("sets "+m.Name+".", "Set", "v "+goType, "")
	discriminate()
	w.p("if e := w.w.Next(", i, "); e != nil {")
	if outside, allowed := w.span(m, x); outside != "" {
		w.p("if ", outside, " {\ncdr.OutOfRange(e, ", quote(m.Name), ", ", x, ", ", quote(allowed), ")\n}")
	}
	w.encode(m.Type, x, m.Name, 0, false)
	w.p("w.w.Done()")
	w.p("}")
	w.p("}")
	w.p()
	begin := func(call string) {
		discriminate()
		w.p("w.w.", call)
		w.p("}")
		w.p()
	}
	switch t := resolve(m.Type).(type) {
	case *Struct, *Union:
		result := w.writerRef(t)
		method("begins "+m.Name+", for the writer that it gives to write.", "Begin", "", " "+result)
		discriminate()
		w.p("return ", result, "{}.Within(w.w.Begin(", i, "))")
		w.p("}")
		w.p()
	case *Sequence:
		if p, isPrim := resolve(t.Elem).(Primitive); isPrim && (primitives[p].goType == "byte" || p == Uint8) {
			method("sets the length of "+m.Name+" and gives its bytes, for the caller to fill all of them.", "RoomFor", "n int", " []byte")
			discriminate()
			w.p("return w.w.Room(", i, ", n, ", t.Bound, ")")
			w.p("}")
			w.p()
		}
		if addsElements(t) {
			method("begins "+m.Name+", of n elements that are added one by one.", "Begin", "n int", "")
			begin("BeginSequence(" + itoa(i) + ", n, " + itoa(t.bound()) + ")")
			w.writerElement(name, goName, t.Elem, nil, m, i)
		}
	case *Array:
		if !isPrimitive(t.Elem) {
			method("begins "+m.Name+", whose elements are added one by one, "+itoa(t.count())+" in all.", "Begin", "", "")
			begin("BeginArray(" + itoa(i) + ", " + itoa(t.count()) + ")")
			w.writerElement(name, goName, t.Elem, nil, m, i)
		}
	case *Map:
		method("begins "+m.Name+", of n pairs that are added one by one: in the order of their keys, if equal maps are to be encoded alike.", "Begin", "n int", "")
		begin("BeginMap(" + itoa(i) + ", n, " + itoa(t.Bound) + ", " + boolText(isPrimitive(t.Key) && isPrimitive(t.Elem)) + ")")
		w.writerElement(name, goName, t.Elem, t.Key, m, i)
	}
}

// writerElement prints what adds an element of a collection, or a pair of a map.
func (w *printer) writerElement(name, goName string, elem, key Type, m *Member, i int) {
	what, params, first := "element", "", ""
	if key != nil {
		what, params, first = "pair", "k "+w.goType(key)+", ", "k "+w.goType(key)
	}
	goType, x := w.writerParameter(elem)
	w.p("// Add", goName, " adds the next ", what, " of ", m.Name, ".")
	w.p("func (w *", name, "Writer) Add", goName, "(", params, "v ", goType, ") {")
	w.p("if e := w.w.Element(", i, "); e != nil {")
	if key != nil {
		w.encode(key, "k", "", 1, false)
	}
	w.encode(elem, x, "", 1, false)
	w.p("w.w.DoneElement()")
	w.p("}")
	w.p("}")
	w.p()
	switch t := resolve(elem).(type) {
	case *Struct, *Union:
		result := w.writerRef(t)
		w.p("// Next", goName, " begins the next ", what, " of ", m.Name, ", for the writer that it gives to write.")
		w.p("func (w *", name, "Writer) Next", goName, "(", first, ") ", result, " {")
		if key == nil {
			w.p("return ", result, "{}.Within(w.w.BeginElement(", i, "))")
		} else {
			w.p("e := w.w.Element(", i, ")")
			w.p("if e == nil {\nreturn ", result, "{}\n}")
			w.encode(key, "k", "", 1, false)
			w.p("return ", result, "{}.Within(w.w.BeginValue())")
		}
		w.p("}")
		w.p()
	}
}

// writerRef is the name of the writer of a type.
func (w *printer) writerRef(t Type) string {
	d := t.(Decl)
	return w.refName(d, w.plan.goName(d)+"Writer")
}
