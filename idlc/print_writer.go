package idlc

import (
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// A writer is a builder for all encodings, which descends: what a member consists of is written by a writer of the
// member's type. It takes the members in the order of their declaration, so that one place, the stream, knows all about
// the sample: see cdr.Writer.

// writerRun is what a writer takes numbers that follow each other as: see cdr.Run.
type writerRun struct {
	fs          []field
	align, size int
}

// writerRuns divides the members into runs; the others are not in it. It gives the run that each member begins, and for
// all members of runs their offsets.
func (w *printer) writerRuns(s *Struct) (runs map[int]writerRun, offsets map[int]int) {
	runs, offsets = map[int]writerRun{}, map[int]int{}
	members := s.wire()
	known := 1
	if s.Extensibility != cdr.Final {
		known = 4
	}
	for i := 0; i < len(members); known = 1 {
		fs, align, size := w.run(s, members[i:], known)
		for k, f := range fs {
			n, _ := scalarSize(f.Type)
			// flags are checked as they are encoded
			if b, ok := resolve(f.Type).(*Bitmask); f.offset+n > cdr.MaxRun || ok && b.BitBound != 8*b.Width {
				fs, size = fs[:k], 0
				break
			}
			size = f.offset + n
		}
		for k, f := range fs {
			offsets[i+k] = f.offset
		}
		if len(fs) > 0 {
			runs[i] = writerRun{fs, align, size}
		}
		i += max(len(fs), 1)
	}
	return runs, offsets
}

// text is the literal of a run.
func (r writerRun) text() string {
	literal := "cdr.Run{Members: " + itoa(len(r.fs)) + ", Size: " + itoa(r.size) + ", Align: " + itoa(r.align)
	if plain, ok := alignXCDR1(r.fs); ok {
		literal += ", Plain: " + itoa(plain)
	}
	end := 0
	for _, f := range r.fs {
		if f.offset > end {
			literal += ", Gaps: true"
			break
		}
		n, _ := scalarSize(f.Type)
		end = f.offset + n
	}
	return literal + "}"
}

// shapeName is the variable that describes a type for its writers.
func shapeName(name string) string { return lowerFirst(name) + "Shape" }

// shape prints the description that a writer goes by.
func (w *printer) shape(name string, x cdr.Extensibility, members []*Member, runs map[int]writerRun, offsets map[int]int, union bool) {
	if len(members) == 0 && x == cdr.Final {
		w.p("var ", shapeName(name), " cdr.Shape")
		w.p()
		return
	}
	w.p("var ", shapeName(name), " = cdr.Shape{")
	if len(members) > 0 {
		w.p("Slots: []cdr.Slot{")
		for i, m := range members {
			rest := ""
			if x == cdr.Mutable || m.Optional {
				rest = ", ID: " + strings.ReplaceAll(memberID(m), "|", " | ") + ", Code: " + itoa(lengthCode(m.Type))
			}
			if m.Optional {
				rest += ", Optional: true"
			}
			if _, ok := offsets[i]; ok || !union && writerNumber(m, x) {
				n, _ := scalarSize(m.Type)
				rest += ", Width: " + itoa(n)
			}
			if r, ok := runs[i]; ok {
				rest += ", Run: " + r.text()
			}
			w.p("{Name: ", quote(m.Name), rest, "},")
		}
		w.p("},")
	}
	if x != cdr.Final {
		w.p("Extensibility: ", extensibilityName(x), ",")
	}
	if union {
		w.p("Union: true,")
	}
	w.p("}")
	w.p()
}

// writerNumber tells whether a member of a type with extensibility x is a number that a writer stores in place, behind
// what stands before it.
func writerNumber(m *Member, x cdr.Extensibility) bool {
	if x != cdr.Mutable && !m.Optional {
		return false
	}
	switch t := resolve(m.Type).(type) {
	case Primitive:
		return t != Float128
	case *Bitmask:
		return t.BitBound == 8*t.Width // flags of others are checked as they are encoded
	case *Enum:
		return true
	}
	return false
}

// leaf tells whether no member has a writer of its own.
func leaf(members []*Member) bool {
	return !slices.ContainsFunc(members, func(m *Member) bool {
		switch t := resolve(m.Type).(type) {
		case *Struct, *Union, *Map:
			return true
		case *Sequence:
			return addsElements(t)
		case *Array:
			return !isPrimitive(t.Elem)
		}
		return false
	})
}

// writerOf prints what the writers of structs and unions have in common.
func (w *printer) writerOf(name, order string, leaf bool) {
	kind, begin := "Writer", "Begin"
	made := func(call string) string { return name + "Writer{cdr.Writer{Leaf: " + call + "}}" }
	if leaf {
		kind, begin = "Leaf", "BeginLeaf"
		made = func(call string) string { return name + "Writer{" + call + "}" }
	}
	w.p("// ", name, "Writer writes an encoded ", name, " in the caller's bytes, without an intermediate value, in any encoding.")
	w.p("// ", order)
	w.p("type ", name, "Writer struct {\nw cdr.", kind, "\n}")
	w.p()
	w.p("// New", name, "Writer starts a sample in buf, encapsulation header included.")
	w.p("func New", name, "Writer(s *cdr.Stream, buf []byte, enc cdr.Encapsulation) ", name, "Writer {")
	w.p("return ", made("s.Open(buf, enc, "+lowerFirst(name)+"Type, &"+shapeName(name)+")"))
	w.p("}")
	w.p()
	w.p("// Within gives the writer of a value within another. It is for generated code.")
	w.p("func (", name, "Writer) Within(up *cdr.Writer, p cdr.Place) ", name, "Writer {")
	w.p("return ", made("up."+begin+"(p, &"+shapeName(name)+")"))
	w.p("}")
	w.p()
	w.p("// End ends a value within another. What is wrong is reported by Finish.")
	receiver := setting{leaf: leaf}.receiver()
	w.p("func ", receiver, name, "Writer) End() { w.w.End() }")
	w.p()
	w.p("// Finish completes the sample and gives its length, or tells what was wrong first.")
	w.p("func ", receiver, name, "Writer) Finish() (int, error) { return w.w.Finish() }")
	w.p()
}

// writer prints the writer of a struct.
func (w *printer) writer(s *Struct) {
	name := w.plan.goName(s)
	runs, offsets := w.writerRuns(s)
	members := s.wire()
	leaf := leaf(members)
	w.p()
	w.shape(name, s.Extensibility, members, runs, offsets, false)
	w.writerOf(name, "Members are set in the order of their declaration; optional ones that are left out are absent.", leaf)
	for i, m := range members {
		f := w.field(m)
		f.path, f.inherited = w.refName(m.Of, w.plan.goName(m.Of))+f.goName, m.Of != s
		if offset, ok := offsets[i]; ok {
			bytes := "In"
			if _, first := runs[i]; first && i > 0 {
				bytes = "Run"
			}
			w.writerNumber(name, f, i, offset, bytes, leaf)
		} else if writerNumber(m, s.Extensibility) {
			w.writerNumber(name, f, i, 0, "Number", leaf)
		} else {
			w.writerMember(name, f, i, setting{leaf: leaf, headed: s.Extensibility == cdr.Mutable})
		}
	}
	w.elementWriters()
}

// writerNumber prints what sets member i, a number, in the bytes that a method of Leaf gives. One that a run begins
// with makes room for it, unless that was done when the writer was made.
func (w *printer) writerNumber(name string, f field, i, offset int, bytes string, leaf bool) {
	w.p("// Set", f.goName, " sets ", f.Member.Name, ".")
	w.p("func ", setting{leaf: leaf}.receiver(), name, "Writer) Set", f.goName, "(v ", w.goType(f.Type), ") {")
	if _, ok := resolve(f.Type).(*Enum); ok {
		w.p("if !v.Valid() {\nw.w.NotEnumerator(", i, ", int32(v))\nreturn\n}")
	}
	if outside, allowed := w.span(f.Member, "v"); outside != "" {
		part := map[bool]string{true: "w.w", false: "w.w.Leaf"}[leaf]
		w.p("if ", outside, " {\ncdr.RefuseRange(", part, ", ", i, ", v, ", quote(allowed), ")\nreturn\n}")
	}
	n, _ := scalarSize(f.Type)
	w.p("if b := w.w.", bytes, "(", i, "); len(b) >= ", offset+n, " {")
	w.store(f.Type, "b", offset, "v")
	w.p("}")
	w.p("}")
	w.p()
}

// writer prints the writer of a union.
func (w *unionPrinter) writer() {
	w.p()
	leaf := leaf(w.members)
	w.shape(w.name, w.u.Extensibility, append([]*Member{w.self}, w.members...), nil, nil, true)
	w.writerOf(w.name, "One member is set, which sets the discriminator to its first label, unless SetDiscriminator has been called before.", leaf)
	how := setting{leaf: leaf, headed: true}
	w.p("func ", how.receiver(), w.name, "Writer) discriminate(d ", w.disc, ") {")
	w.p("if e := w.w.Next(0); e != nil {")
	w.encode(w.u.Discriminator, "d", w.self.Name, 0, false)
	w.p("w.w.Done()")
	w.p("}")
	w.p("}")
	w.p()
	w.p("// SetDiscriminator sets a discriminator. The member that it selects, if any, has to be set then.")
	w.p("func ", how.receiver(), w.name, "Writer) SetDiscriminator(d ", w.disc, ") {")
	w.p("w.discriminate(d)")
	w.p("w.w.Pick(", w.of, "(d) + 1)")
	w.p("}")
	w.p()
	for i, c := range w.u.Cases {
		f := w.unionField(&c.Member)
		f.path = w.name + f.goName
		how.discriminate = func() { w.p("if !w.w.Chosen(", i+1, ") {\nw.discriminate(", w.first(c), ")\n}") }
		w.writerMember(w.name, f, i+1, how)
	}
	w.elementWriters()
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

// setting says how the members of a type are written.
type setting struct {
	leaf         bool // no member has a writer of its own
	headed       bool // something may stand before a member that is not optional
	discriminate func()
}

// receiver is that of the methods of a writer. One that holds no state is not changed, and lies in registers.
func (s setting) receiver() string {
	if s.leaf {
		return "(w "
	}
	return "(w *"
}

// writerMember prints what writes member i. how.discriminate prints what comes before the member of a union.
func (w *printer) writerMember(name string, f field, i int, how setting) {
	discriminate := how.discriminate
	if discriminate == nil {
		discriminate = func() {}
	}
	m, goName := f.Member, f.goName
	method := func(doc, prefix, params, result string) {
		w.p("// ", prefix, goName, " ", doc)
		w.p("func ", how.receiver(), name, "Writer) ", prefix, goName, "(", params, ")", result, " {")
	}
	goType, x := w.writerParameter(m.Type)
	method("sets "+m.Name+".", "Set", "v "+goType, "")
	discriminate()
	outside, allowed := w.span(m, x)
	if t, ok := resolve(m.Type).(*String); ok && !t.Wide && outside == "" {
		headed := map[bool]string{true: "Headed"}[how.headed || m.Optional]
		w.p("w.w.", headed, "String(", i, ", v, ", t.Bound, ")")
	} else if t, ok := resolve(m.Type).(*Sequence); ok && isNumbers(t.Elem) {
		w.p("w.w.Sequence(", i, ", cdr.PrimitivesOf(v), ", t.Bound, ")")
	} else {
		w.p("if e := w.w.Next(", i, "); e != nil {")
		if outside != "" {
			w.p("if ", outside, " {\ncdr.OutOfRange(e, ", quote(m.Name), ", ", x, ", ", quote(allowed), ")\n}")
		}
		w.encode(m.Type, x, m.Name, 0, false)
		w.p("w.w.Done()")
		w.p("}")
	}
	w.p("}")
	w.p()
	begin := func(call string) {
		discriminate()
		w.p("w.w.", call)
		w.p("}")
		w.p()
	}
	e := writerElement{name: name, goName: goName, of: m.Name, slot: i, path: f.path, inherited: f.inherited}
	switch t := resolve(m.Type).(type) {
	case *Struct, *Union:
		result := w.writerRef(t)
		method("begins "+m.Name+", for the writer that it gives to write.", "Begin", "", " "+result)
		discriminate()
		w.p("return ", result, "{}.Within(&w.w, cdr.Member(", i, "))")
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
			e.elem = t.Elem
			w.writerElement(e)
		}
	case *Array:
		if !isPrimitive(t.Elem) {
			method("begins "+m.Name+", whose elements are added one by one, "+itoa(t.count())+" in all.", "Begin", "", "")
			begin("BeginArray(" + itoa(i) + ", " + itoa(t.count()) + ")")
			e.elem = t.Elem
			w.writerElement(e)
		}
	case *Map:
		method("begins "+m.Name+", of n pairs that are added one by one: in the order of their keys, if equal maps are to be encoded alike.", "Begin", "n int", "")
		begin("BeginMap(" + itoa(i) + ", n, " + itoa(t.Bound) + ", " + boolText(isPrimitive(t.Key) && isPrimitive(t.Elem)) + ")")
		e.elem, e.key = t.Elem, t.Key
		w.writerElement(e)
	}
}

// writerElement is what the elements of a collection, or the pairs of a map, are added to.
type writerElement struct {
	name   string // of the writer, without Writer
	goName string // of the member; "" for a collection within another
	of     string // the member, for comments
	slot   int
	elem   Type
	key    Type // nil if it is no map

	path      string // what the names of the writers of collections within it begin with
	inherited bool   // these are printed with the base
}

// elementPath is what the name of the writer of an element begins with, if that is a collection.
func elementPath(path string, key Type) string {
	if key != nil {
		return path + "Value"
	}
	return path + "Element"
}

// writerElement prints what adds an element.
func (w *printer) writerElement(c writerElement) {
	what, params := "element", ""
	if c.key != nil {
		what, params = "pair", "k "+w.goType(c.key)
	}
	goType, x := w.writerParameter(c.elem)
	w.p("// Add", c.goName, " adds the next ", what, " of ", c.of, ".")
	w.p("func (w *", c.name, "Writer) Add", c.goName, "(", joined(params, "v "+goType), ") {")
	w.p("if e := w.w.Element(", c.slot, "); e != nil {")
	if c.key != nil {
		w.encode(c.key, "k", "", 1, false)
	}
	w.encode(c.elem, x, "", 1, false)
	w.p("w.w.DoneElement()")
	w.p("}")
	w.p("}")
	w.p()
	next := func(result, n, how string, begun func(place string) string) {
		w.p("// Next", c.goName, " begins the next ", what, " of ", c.of, how, ", for the writer that it gives to write.")
		w.p("func (w *", c.name, "Writer) Next", c.goName, "(", joined(params, n), ") ", result, " {")
		if c.key == nil {
			w.p("return ", begun("cdr.ElementOf("+itoa(c.slot)+")"))
		} else {
			w.p("e := w.w.Element(", c.slot, ")")
			w.p("if e == nil {\nreturn ", result, "{}\n}")
			w.encode(c.key, "k", "", 1, false)
			w.p("return ", begun("cdr.PairValue"))
		}
		w.p("}")
		w.p()
	}
	path := elementPath(c.path, c.key)
	result := path + "Writer"
	switch t := resolve(c.elem).(type) {
	case *Struct, *Union:
		ref := w.writerRef(t)
		next(ref, "", "", func(place string) string { return ref + "{}.Within(&w.w, " + place + ")" })
		return
	case *Sequence:
		next(result, "n int", ", of n elements", func(place string) string {
			return result + "{cdr.NestSequence(&w.w, " + place + ", n, " + itoa(t.bound()) + ", " + boolText(isPrimitive(t.Elem)) + ")}"
		})
	case *Array:
		next(result, "", ", of "+itoa(t.count())+" elements", func(place string) string {
			return result + "{cdr.NestArray(&w.w, " + place + ", " + itoa(t.count()) + ", " + boolText(isPrimitive(t.Elem)) + ")}"
		})
	case *Map:
		next(result, "n int", ", of n pairs", func(place string) string {
			return result + "{cdr.NestMap(&w.w, " + place + ", n, " + itoa(t.Bound) + ", " + boolText(isPrimitive(t.Key) &&
				isPrimitive(t.Elem)) + ")}"
		})
	default:
		return
	}
	if !c.inherited {
		w.elements = append(w.elements, field{Member: &Member{Type: c.elem}, path: path})
	}
}

// joined is a list of parameters.
func joined(params ...string) string {
	return strings.Join(slices.DeleteFunc(params, func(s string) bool { return s == "" }), ", ")
}

// elementWriters prints the writers of collections within collections that have been asked for, and those that these ask for.
func (w *printer) elementWriters() {
	for len(w.elements) > 0 {
		f := w.elements[0]
		w.elements = w.elements[1:]
		w.elementWriter(f.path, f.Type)
	}
}

// elementWriter prints the writer of a collection within another.
func (w *printer) elementWriter(path string, t Type) {
	w.p("// ", path, "Writer writes the elements of an encoded ", typeName(t), ", each with Add or Next.")
	w.p("type ", path, "Writer struct {\nw cdr.Writer\n}")
	w.p()
	w.p("// End ends the collection. What is wrong is reported by the Finish of the sample.")
	w.p("func (w *", path, "Writer) End() { w.w.End() }")
	w.p()
	e := writerElement{name: path, of: "the collection", path: path}
	switch t := resolve(t).(type) {
	case *Sequence:
		e.elem = t.Elem
	case *Array:
		e.elem = t.Elem
	case *Map:
		e.elem, e.key = t.Elem, t.Key
	}
	w.writerElement(e)
}

// elementWriterNames lists the Go names of the writers of collections within a collection.
func elementWriterNames(path string, t Type) (names []string) {
	var elem, key Type
	switch t := resolve(t).(type) {
	case *Sequence:
		elem = t.Elem
	case *Array:
		elem = t.Elem
	case *Map:
		elem, key = t.Elem, t.Key
	default:
		return nil
	}
	switch resolve(elem).(type) {
	case *Sequence, *Array, *Map:
		path = elementPath(path, key)
		return append(elementWriterNames(path, elem), path+"Writer")
	}
	return nil
}

// isNumbers tells whether a sequence of a type is copied as it lies in memory.
func isNumbers(t Type) bool {
	p, ok := bulk(t)
	return ok && p != Boolean
}

// writerRef is the name of the writer of a type.
func (w *printer) writerRef(t Type) string {
	d := t.(Decl)
	return w.refName(d, w.plan.goName(d)+"Writer")
}
