package idlc

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/cdr"
)

// A member is more than its value: it may be absent, have a header with its id, lie behind a pointer, or have a default.

// wire gives the members that are encoded, inherited ones first.
func (s *Struct) wire() []*Member {
	all := s.allMembers()
	if !slices.ContainsFunc(all, func(m *Member) bool { return m.NonSerialized }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m *Member) bool { return m.NonSerialized })
}

// pointer tells whether the field of a member is a pointer.
func (m *Member) pointer() bool { return m.Optional || m.External }

// fieldType is the Go type of a member's field.
func (w *printer) fieldType(m *Member) string {
	if m.pointer() {
		return "*" + w.goType(m.Type)
	}
	return w.goType(m.Type)
}

// field is a member with what the printer needs.
type field struct {
	*Member
	goName string // of the field
	ptr    string // expression for the field
	x      string // expression for the value
	offset int    // in a run

	// For views:
	path      string // what the names of the views of its collections begin with
	inherited bool   // whose views are printed with the base
	from      string // the cdr.Sample that it is read from; "" is that of the view v
}

func (f *field) sample() string { return cmp.Or(f.from, "v.s") }

// kept is how many elements are kept of a collection from which others are cut off; 0 if none are.
func (f *field) kept() int {
	if f.TryConstruct == TryConstructTrim {
		switch t := resolve(f.Type).(type) {
		case *Sequence:
			return t.Bound
		case *Map:
			return t.Bound
		}
	}
	return 0
}

// first prints how they are taken from a view.
func (f *field) first() string {
	if n := f.kept(); n > 0 {
		return ".First(" + itoa(n) + ")"
	}
	return ""
}

func (w *printer) field(m *Member) field {
	n := w.plan.fieldName(m)
	f := field{Member: m, goName: n, ptr: "m." + n, x: "m." + n}
	if m.pointer() {
		f.x = deref(m.Type, f.ptr)
	}
	return f
}

// deref is the expression for the value that a pointer refers to, as the printers of values use it.
func deref(t Type, ptr string) string {
	switch resolve(t).(type) {
	case *Struct, *Union, *Bitset: // only their methods are called
		return ptr
	case Primitive, *String, *Fixed:
		return "*" + ptr
	}
	return "(*" + ptr + ")"
}

// memberID is the id of a member as headers have it.
func memberID(m *Member) string {
	if m.MustUnderstand || m.Key {
		return fmt.Sprint(m.ID, "|cdr.MustUnderstand")
	}
	return fmt.Sprint(m.ID)
}

// lengthCode is how XCDR2 gives the length of a member: by itself (0 to 3), in a word of its own (4), or in the first word of the
// value (5 to 7).
func lengthCode(t Type) int {
	switch t := resolve(t).(type) {
	case *String:
		return 5
	case *Sequence:
		if p, ok := resolve(t.Elem).(Primitive); ok {
			return map[int]int{1: 5, 4: 6, 8: 7, 2: 4, 16: 4}[primitives[p].size]
		}
		return 5
	case *Array:
		if !isPrimitive(t.Elem) {
			return 5
		}
	case *Map:
		if !isPrimitive(t.Key) || !isPrimitive(t.Elem) {
			return 5
		}
	default:
		if n, ok := scalarSize(t); ok && n <= 8 {
			return map[int]int{1: 0, 2: 1, 4: 2, 8: 3}[n]
		}
	}
	return 4
}

// encodeMember prints the writing of a member of an aggregate with extensibility x.
func (w *printer) encodeMember(x cdr.Extensibility, f field) {
	if f.External && !f.Optional { // nil stands for a value that was never touched
		v := lowerFirst(f.goName) + "Value"
		w.p(v, " := cdr.OrZero(", f.ptr, ")")
		f.x = deref(f.Type, v)
	}
	value := func() { w.encode(f.Type, f.x, f.Member.Name, 0, false) }
	switch {
	case x == cdr.Mutable && f.Optional:
		w.p("if ", f.ptr, " != nil {")
		w.header(f, value)
		w.p("}")
	case x == cdr.Mutable:
		w.header(f, value)
	case f.Optional:
		w.p("if h, ok := e.BeginOptional(", memberID(f.Member), ", ", f.ptr, " != nil); ok {")
		value()
		w.p("e.EndMember(h)")
		w.p("}")
	default:
		value()
	}
}

// header prints a member's header around its value. h is declared at the top of the function.
func (w *printer) header(f field, value func()) {
	w.p("h = e.BeginMember(", memberID(f.Member), ", ", lengthCode(f.Type), ")")
	value()
	w.p("e.EndMember(h)")
}

// decodeMember prints the reading of a member; i is its index among those of a mutable type.
func (w *printer) decodeMember(x cdr.Extensibility, f field, i int) {
	value := func() { w.tryDecode(f) }
	if f.pointer() {
		inner := value
		value = func() {
			w.p("if cdr.Allocate(d, ", quote(f.Member.Name), ", &", f.ptr, ") {")
			inner()
			w.p("}")
		}
	}
	def := w.defaultOf(f.Member)
	switch {
	case x == cdr.Mutable && (f.Optional || def != ""):
		w.p("if d.Select(at[", i, "]) {")
		value()
		w.p("} else {")
		w.absent(f, def)
		w.p("}")
	case x == cdr.Mutable:
		w.p("d.Select(at[", i, "])")
		value()
	case f.Optional:
		w.p("if h, ok := d.BeginOptional(", quote(f.Member.Name), ", ", f.ID, "); ok {")
		value()
		w.p("d.End(h)")
		w.p("} else {")
		w.absent(f, def)
		w.p("}")
	case def != "":
		w.p("if !d.Absent() {")
		value()
		w.p("} else {")
		w.absent(f, def)
		w.p("}")
	default:
		value()
	}
}

// absent prints what becomes of the field of a member that a sample does not have.
func (w *printer) absent(f field, def string) {
	switch {
	case f.Optional:
		w.p(f.ptr, " = nil")
	case f.External:
		w.p(f.ptr, " = cdr.Ptr(", w.goType(f.Type), "(", def, "))")
	default:
		w.p(f.x, " = ", def)
	}
}

// tryDecode prints the reading of a value that its type may be unable to hold.
func (w *printer) tryDecode(f field) {
	w.try(f.TryConstruct, f.Type, f.x, f.Member.Name, 0, false, func() {
		switch def := w.defaultOf(f.Member); {
		case f.Optional:
			w.p(f.ptr, " = nil")
		case def != "":
			w.p(f.x, " = ", def)
		case f.External:
			w.reset(f.Type, "(*"+f.ptr+")", 0)
		default:
			w.reset(f.Type, f.x, 0)
		}
	})
}

// defaultOf is the Go literal for the default of a member; "" for the default of its type.
func (w *printer) defaultOf(m *Member) string {
	c := m.constraints()
	if !c.Default.Valid() {
		return ""
	}
	return w.literal(c.Default, m.Type)
}

// skipMember prints how a member of an aggregate that is not mutable is passed over.
func (w *printer) skipMember(m *Member) {
	if !m.Optional {
		w.skipValue(m.Type, m.Name, 0)
		return
	}
	w.p("if h, ok := d.BeginOptional(", quote(m.Name), ", ", m.ID, "); ok {")
	w.skipValue(m.Type, m.Name, 0)
	w.p("d.End(h)")
	w.p("}")
}

// mutableIndex is where the members of a mutable type are in the ascending order of their ids.
func mutableIndex(members []*Member) (ids []uint32, index map[*Member]int) {
	sorted := slices.SortedFunc(slices.Values(members), func(a, b *Member) int { return int(a.ID) - int(b.ID) })
	index = map[*Member]int{}
	for i, m := range sorted {
		ids = append(ids, m.ID)
		index[m] = i
	}
	return ids, index
}

// idList prints the ids of the members of a mutable type.
func (w *printer) idList(name string, ids []uint32) {
	if len(ids) == 0 {
		w.p("var ", idListName(name), " []uint32")
		w.p()
		return
	}
	w.p("var ", idListName(name), " = []uint32{")
	for _, id := range ids {
		w.p(id, ",")
	}
	w.p("}")
	w.p()
}

func idListName(name string) string { return lowerFirst(name) + "IDs" }

// beginDecode prints the start of reading an aggregate.
func (w *printer) beginDecode(x cdr.Extensibility, name string, n int) {
	if x == cdr.Mutable {
		w.p("var at [", n, "]cdr.Position")
		w.p("s := d.BeginMutable(", idListName(name), ", at[:])")
		return
	}
	w.p("s := d.Begin(", extensibilityName(x), ")")
}
