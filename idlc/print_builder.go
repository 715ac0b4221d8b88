package idlc

import (
	"fmt"
	"strconv"

	"github.com/omg-dds-go/dds/cdr"
)

// builder prints the in-place writer of a struct.
func (w *printer) builder(s *Struct) {
	if s.Extensibility == cdr.Mutable {
		w.mutableBuilder(s)
		return
	}
	name := w.plan.goName(s)
	members := s.wire()
	slots, segments := builderLayout(s)
	list := w.memberNames(name, members)
	w.p("// ", name, "Builder builds an encoded ", name, " in the caller's bytes, without an intermediate value.")
	w.builderOrder(s, slots)
	w.p("type ", name, "Builder struct {")
	w.p("b cdr.Builder")
	w.p("has [", len(members), "]bool")
	seg := segmentIndex(segments)
	if segments[0].first >= 0 {
		w.p("head []byte // the members before the first of variable size")
	}
	if n := len(segments) - 1; n > 0 && maxIndex(seg) >= 0 {
		w.p("seg [", maxIndex(seg)+1, "]int // where the members behind one of variable size begin")
	}
	w.p("}")
	w.p()
	w.p("// New", name, "Builder starts a sample in buf, encapsulation header included.")
	w.p("func New", name, "Builder(buf []byte) (b ", name, "Builder) {")
	w.p("b.b.Init(buf, ", lowerFirst(name), "Type, ", list, ")")
	if segments[0].first >= 0 {
		w.p("b.head = b.b.Head(", segments[0].first, ", ", segments[0].end, ")")
	}
	w.p("return b")
	w.p("}")
	w.p()
	for i, m := range members {
		f := w.builderField(m)
		if slots[i].fixed {
			w.fixedSetter(name, f, i, slots[i], segments[0].end, seg)
		} else {
			w.variableSetter(name, f, i, slots[i], segments, seg)
		}
	}
	w.p("// Finish completes the sample and gives its length. Members that are not set, were set out of order, or found no")
	w.p("// room are reported here.")
	w.p("func (b *", name, "Builder) Finish() (int, error) { return b.b.Finish(b.has[:]) }")
}

// builderOrder documents which setters have an order.
func (w *printer) builderOrder(s *Struct, slots []slot) {
	var variable string
	for i, m := range s.wire() {
		if slots[i].fixed {
			continue
		}
		if variable != "" {
			variable += ", "
		}
		variable += w.plan.fieldName(m)
	}
	if variable == "" {
		w.p("// The members may be set in any order.")
		return
	}
	w.p("// Set in this order: ", variable, ".")
	w.p("// Another member may be set as soon as those of them that are declared before it are set.")
}

// segmentIndex numbers the segments behind members of variable size that have fixed members; -1 for the others.
func segmentIndex(segments []segment) []int {
	index := make([]int, len(segments))
	next := 0
	for i, s := range segments {
		index[i] = -1
		if i > 0 && s.first >= 0 {
			index[i] = next
			next++
		}
	}
	return index
}

func maxIndex(index []int) int {
	most := -1
	for _, n := range index {
		most = max(most, n)
	}
	return most
}

func (w *printer) setterDoc(f field) {
	if f.Optional {
		w.p("// Set", f.goName, " sets ", f.Member.Name, "; nil says that it is absent.")
		return
	}
	w.p("// Set", f.goName, " sets ", f.Member.Name, ".")
}

// builderField is field where the value is the parameter v of a setter.
func (w *printer) builderField(m *Member) field {
	f := w.field(m)
	f.ptr, f.x = "v", "v"
	switch resolve(m.Type).(type) {
	case *Sequence, *Map, *String, *Enum, *Bitmask, *Fixed:
		if m.Optional {
			f.x = deref(m.Type, "v")
		}
	case Primitive:
		if m.Optional || resolve(m.Type) == Float128 {
			f.x = "*v"
		}
	case *Array:
		f.x = "v"
	}
	return f
}

// checkParameter prints the check of a setter's parameter against its range.
func (w *printer) checkParameter(f field, i int) {
	outside, allowed := w.span(f.Member, f.x)
	if outside == "" {
		return
	}
	if f.Optional {
		outside = "v != nil && (" + outside + ")"
	}
	w.p("if ", outside, " {\ncdr.RejectRange(&b.b, ", i, ", ", f.x, ", ", quote(allowed), ")\nreturn\n}")
}

// parameter is the type of a setter's parameter.
func (w *printer) parameter(f field) string {
	param := w.goType(f.Type)
	switch resolve(f.Type).(type) {
	case *Struct, *Union, *Bitset, *Array:
		return "*" + param
	}
	if f.Optional || resolve(f.Type) == Float128 {
		return "*" + param
	}
	return param
}

// memberNames prints the list of names that a builder has for its errors.
func (w *printer) memberNames(name string, members []*Member) (list string) {
	list = lowerFirst(name) + "Members"
	w.p()
	if len(members) == 0 {
		w.p("var ", list, " []string")
		w.p()
		return list
	}
	w.p("var ", list, " = []string{")
	for _, m := range members {
		w.p(quote(m.Name), ",")
	}
	w.p("}")
	w.p()
	return list
}

// mutableBuilder prints the in-place writer of a mutable struct, whose members have no order.
func (w *printer) mutableBuilder(s *Struct) {
	name := w.plan.goName(s)
	members := s.wire()
	list := w.memberNames(name, members)
	w.p("// ", name, "Builder builds an encoded ", name, " in the caller's bytes, without an intermediate value.")
	w.p("// The members may be set in any order, each once. Optional ones that are not set are absent.")
	w.p("type ", name, "Builder struct {")
	w.p("b cdr.Builder")
	w.p("has [", len(members), "]bool")
	w.p("}")
	w.p()
	w.p("// New", name, "Builder starts a sample in buf, encapsulation header included.")
	w.p("func New", name, "Builder(buf []byte) (b ", name, "Builder) {")
	w.p("b.b.Init(buf, ", lowerFirst(name), "Type, ", list, ")")
	w.p("return b")
	w.p("}")
	w.p()
	for i, m := range members {
		f := w.builderField(m)
		w.setterDoc(f)
		w.p("func (b *", name, "Builder) Set", f.goName, "(v ", w.parameter(f), ") {")
		w.checkParameter(f, i)
		w.mutableSetter(f, i)
		w.p("}")
		w.p()
		if q, ok := resolve(f.Type).(*Sequence); ok && addsElements(q) {
			begun := func() { w.p("b.has[", i, "] = true") }
			w.beginElements(name, f, q, fmt.Sprintf("b.b.BeginMemberElements(%d, b.has[%[1]d], %s, %d, n, %d, false)", i,
				memberID(m), lengthCode(q), q.Bound), begun)
			w.addElement(name, f, q, i, "b.b.EndMemberElement()", begun)
		}
	}
	w.p("// Finish completes the sample and gives its length. Members that are not set, are set twice, or found no room, are reported here.")
	w.p("func (b *", name, "Builder) Finish() (int, error) { return b.b.FinishMembers(b.has[:], ", shapeName(name), ".Slots) }")
}

// mutableSetter prints the body of the setter of member i of a mutable struct.
func (w *printer) mutableSetter(f field, i int) {
	m := f.Member
	at := fmt.Sprintf("%d, b.has[%[1]d], %s", i, memberID(m))
	absent := func() {
		if f.Optional {
			w.p("if v == nil {\nb.b.Member(", i, ", b.has[", i, "]) // once, like another value\nreturn\n}")
		}
	}
	switch t := resolve(f.Type).(type) {
	case Primitive:
		if t == Float128 {
			break
		}
		absent()
		w.p("if p := b.b.Number(", at, ", ", lengthCode(m.Type), "); len(p) >= ", primitives[t].size, " {")
		w.store(f.Type, "p", 0, f.x)
		w.p("b.has[", i, "] = true")
		w.p("}")
		return
	case *String:
		if t.Wide {
			break
		}
		absent()
		w.p("b.has[", i, "] = b.b.HeadedString(", at, ", ", f.x, ", ", t.Bound, ")")
		return
	case *Sequence:
		if !isNumbers(t.Elem) {
			break
		}
		absent()
		w.p("b.has[", i, "] = b.b.HeadedSequence(", at, ", ", lengthCode(m.Type), ", cdr.PrimitivesOf(", f.x, "), ", t.Bound, ")")
		return
	}
	w.p("if e := b.b.Member(", i, ", b.has[", i, "]); e != nil", map[bool]string{true: " && v != nil", false: ""}[f.Optional], " {")
	w.p("h := e.BeginMember(", memberID(m), ", ", lengthCode(m.Type), ")")
	w.encode(f.Type, f.x, m.Name, 0, false)
	w.p("e.EndMember(h)")
	w.p("b.has[", i, "] = b.b.EndMember(", i, ")")
	w.p("}")
}

// fixedSetter prints the setter of a member of fixed size. head is the length of what comes before the first of variable size.
func (w *printer) fixedSetter(name string, f field, i int, s slot, head string, seg []int) {
	w.setterDoc(f)
	resolved := resolve(f.Type)
	_, isEnum := resolved.(*Enum)
	mask, isMask := resolved.(*Bitmask)
	isMask = isMask && mask.BitBound == 8*mask.Width // others are checked
	p, isPrim := resolved.(Primitive)
	isPrim = isPrim && p != Float128 || isMask
	w.p("func (b *", name, "Builder) Set", f.goName, "(v ", w.parameter(f), ") {")
	if isEnum {
		w.p("if !v.Valid() {\nb.b.Reject(", i, ", int32(v))\nreturn\n}")
	}
	w.checkParameter(f, i)
	if s.behind > 0 {
		w.p("p := b.seg[", seg[s.behind], "]")
	}
	switch at, err := strconv.Atoi(s.at); {
	case err == nil && s.behind == 0 && (isEnum || isPrim):
		w.p("if len(b.head) >= ", head, " {")
		w.store(f.Type, "b.head", at, "v")
		w.p("b.has[", i, "] = true")
	case isEnum || isPrim:
		w.p("if f := b.b.Field(", i, ", ", s.behind, ", ", s.at, ", ", s.size, "); f != nil {")
		w.store(f.Type, "f", 0, "v")
		w.p("b.has[", i, "] = true")
	default:
		w.p("if e := b.b.FieldEncoder(", i, ", ", s.behind, ", ", s.at, ", ", s.size, "); e != nil {")
		w.encode(f.Type, f.x, f.Member.Name, 0, false)
		w.p("b.has[", i, "] = b.b.EndField(", i, ")")
	}
	w.p("}")
	w.p("}")
	w.p()
}

func (w *printer) variableSetter(name string, f field, i int, s slot, segments []segment, seg []int) {
	claim := func() {
		if k := seg[s.behind+1]; k >= 0 {
			w.p("p := b.b.Len()")
			w.p("b.seg[", k, "] = p")
			w.p("b.b.Claim(", segments[s.behind+1].first, ", ", segments[s.behind+1].end, ")")
		}
	}
	finish := func() {
		w.p("b.has[", i, "] = b.b.EndVariable(", i, ")")
		claim()
	}
	begun := func() {
		w.p("b.has[", i, "] = true")
		claim()
	}
	w.setterDoc(f)
	w.p("func (b *", name, "Builder) Set", f.goName, "(v ", w.parameter(f), ") {")
	w.checkParameter(f, i)
	if t, ok := resolve(f.Type).(*String); ok && !t.Wide && !f.Optional && seg[s.behind+1] < 0 {
		w.p("b.has[", i, "] = b.b.String(", i, ", ", s.behind, ", v, ", t.Bound, ")")
		w.p("}")
		w.p()
		return
	}
	q, ok := resolve(f.Type).(*Sequence)
	if ok && isNumbers(q.Elem) && !f.Optional && seg[s.behind+1] < 0 {
		w.p("b.has[", i, "] = b.b.Sequence(", i, ", ", s.behind, ", cdr.PrimitivesOf(v), ", q.Bound, ")")
	} else {
		w.p("if e := b.b.Variable(", i, ", ", s.behind, "); e != nil {")
		if f.Optional {
			w.p("if h, ok := e.BeginOptional(", memberID(f.Member), ", v != nil); ok {")
		}
		w.encode(f.Type, f.x, f.Member.Name, 0, false)
		if f.Optional {
			w.p("e.EndMember(h)")
			w.p("}")
		}
		finish()
		w.p("}")
	}
	w.p("}")
	w.p()
	if !ok || f.Optional {
		return
	}
	if addsElements(q) {
		w.beginElements(name, f, q, fmt.Sprintf("b.b.BeginElements(%d, %d, n, %d, false)", i, s.behind, q.Bound), begun)
		w.addElement(name, f, q, i, "b.b.EndElement()", begun)
		return
	}
	if p, isPrim := resolve(q.Elem).(Primitive); !isPrim || primitives[p].goType != "byte" && p != Uint8 {
		return
	}
	w.p("// RoomFor", f.goName, " sets the length of ", f.Member.Name, " and gives its bytes, for the caller to fill all of them.")
	w.p("func (b *", name, "Builder) RoomFor", f.goName, "(n int) []byte {")
	w.p("e := b.b.Variable(", i, ", ", s.behind, ")")
	w.p("if e == nil {\nreturn nil\n}")
	w.p("room := e.Room(", quote(f.Member.Name), ", n, ", q.Bound, ")")
	finish()
	w.p("return room")
	w.p("}")
	w.p()
}

// addsElements tells whether a builder takes a sequence element by element, too: one whose elements have a size of
// their own, and which would have to be made in memory otherwise.
func addsElements(q *Sequence) bool {
	_, numbers := bulk(q.Elem)
	return !numbers && !isPrimitive(q.Elem)
}

func (w *printer) beginElements(name string, f field, q *Sequence, begin string, complete func()) {
	w.p("// Begin", f.goName, " starts ", f.Member.Name, " with n elements, which Add", f.goName, " is to be called for, one by one.")
	w.p("func (b *", name, "Builder) Begin", f.goName, "(n int) {")
	w.p("if ", begin, " {")
	complete()
	w.p("}")
	w.p("}")
	w.p()
}

func (w *printer) addElement(name string, f field, q *Sequence, i int, end string, complete func()) {
	element := field{Member: &Member{Name: f.Member.Name, Type: q.Elem}}
	w.p("// Add", f.goName, " adds the next element of ", f.Member.Name, ".")
	w.p("func (b *", name, "Builder) Add", f.goName, "(v ", w.parameter(element), ") {")
	w.p("if e := b.b.Element(", i, "); e != nil {")
	w.encode(q.Elem, "v", "", 1, false)
	w.p("if ", end, " {")
	complete()
	w.p("}")
	w.p("}")
	w.p("}")
	w.p()
}
