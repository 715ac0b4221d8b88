package idlc

import (
	gotoken "go/token"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
)

// A union is a struct whose fields only its methods reach, so that the discriminator always agrees with the member
// (docs/adr/0020-unions-are-tagged-structs.md).

// unionPrinter holds the names that belong to a union.
type unionPrinter struct {
	*printer
	u       *Union
	name    string
	disc    string // Go type of the discriminator
	of      string // function from a discriminator to the number of the member
	members []*Member
	ids     []uint32
	index   map[*Member]int // in ids
	self    *Member         // the discriminator, as a member with id 0
}

func (w *printer) unionPrinter(u *Union) *unionPrinter {
	name := w.plan.goName(u)
	p := &unionPrinter{printer: w, u: u, name: name, disc: w.goType(u.Discriminator), of: lowerFirst(name) + "Member"}
	p.self = &Member{Name: "discriminator", Type: u.Discriminator, MustUnderstand: true}
	for _, c := range u.Cases {
		p.members = append(p.members, &c.Member)
	}
	p.ids, p.index = mutableIndex(append([]*Member{p.self}, p.members...))
	return p
}

func (w *printer) union(u *Union) { w.unionPrinter(u).print() }

// unionField is the field of a member within the union; its accessors have goName.
func (w *unionPrinter) unionField(m *Member) field {
	goName := w.plan.accessorName(m)
	name := "m." + unionFieldName(goName)
	f := field{Member: m, goName: goName, ptr: name, x: name}
	if m.pointer() {
		f.x = deref(m.Type, name)
	}
	return f
}

func unionFieldName(goName string) string {
	name := lowerFirst(goName)
	if gotoken.IsKeyword(name) || name == "discriminator" {
		return name + "_"
	}
	return name
}

// unionMethods are the methods of all unions and of their views; accessors keep clear of them.
var unionMethods = map[string]bool{"Discriminator": true, "SetDiscriminator": true, "MarshalJSON": true, "UnmarshalJSON": true}

// accessorName is the name of the method that reads a member of a union; the one that sets it has Set in front.
func (p *plan) accessorName(m *Member) string {
	name := exportedName(m.Name)
	if methodNames[name] || unionMethods[name] || methodNames["Set"+name] {
		return name + "_"
	}
	return name
}

func (w *unionPrinter) label(v Value) string { return w.literal(v, w.u.Discriminator) }

// first is the discriminator that selecting a member sets.
func (w *unionPrinter) first(c *Case) string {
	if len(c.Labels) == 0 {
		return w.label(w.u.Other)
	}
	return w.label(c.Labels[0])
}

func (w *unionPrinter) print() {
	u := w.u
	w.comment(u.Doc, w.name+" is the IDL union "+u.Scoped()+".")
	w.p("//")
	w.p("// It holds the member that its discriminator selects. Setting a member sets the discriminator; the zero value has")
	w.p("// the discriminator that is zero, and what that selects.")
	w.p("type ", w.name, " struct {")
	w.p("discriminator ", w.disc)
	for _, m := range w.members {
		f := w.unionField(m)
		w.p(f.ptr[2:], " ", w.fieldType(m))
	}
	w.p("}")
	w.p()
	w.typeInfo(u)
	if u.Extensibility == cdr.Mutable {
		w.idList(w.name, w.ids)
	}
	w.selector()
	w.defaults()
	w.accessors()
	w.codec()
	w.keys()
	w.skip()
	w.json()
	w.cloneEqualUnion()
	w.view()
	w.views(u, w.name)
	w.builder()
	w.writer()
}

// selector prints the function that tells which member a discriminator selects.
func (w *unionPrinter) selector() {
	w.p("// ", w.of, " gives the number of the member that d selects, -1 for none.")
	w.p("func ", w.of, "(d ", w.disc, ") int {")
	w.p("switch d {")
	other := -1
	for i, c := range w.u.Cases {
		if c.IsDefault {
			other = i
		}
		if len(c.Labels) == 0 || c.IsDefault && !w.u.Exhaustive {
			continue // the default has it
		}
		labels := make([]string, len(c.Labels))
		for k, v := range c.Labels {
			labels[k] = w.label(v)
		}
		w.p("case ", strings.Join(labels, ", "), ":\nreturn ", i)
	}
	w.p("}")
	w.p("return ", other)
	w.p("}")
	w.p()
}

func (w *unionPrinter) accessors() {
	w.p("// Discriminator tells which member the union holds.")
	w.p("func (m *", w.name, ") Discriminator() ", w.disc, " { return m.discriminator }")
	w.p()
	w.p("// SetDiscriminator sets a discriminator that selects the member that the union holds already, or none.")
	w.p("func (m *", w.name, ") SetDiscriminator(d ", w.disc, ") error {")
	w.p("switch ", w.of, "(d) {")
	if !w.u.Exhaustive && w.u.Default == nil {
		w.p("case -1:")
		w.p("*m = ", w.name, "{discriminator: d}")
	}
	w.p("case ", w.of, "(m.discriminator):")
	w.p("m.discriminator = d")
	w.p("default:")
	w.p("return ", w.use("fmt"), ".Errorf(\"discriminator %v of ", w.name, " selects another member than %v\", d, m.discriminator)")
	w.p("}")
	w.p("return nil")
	w.p("}")
	w.p()
	for i, c := range w.u.Cases {
		f := w.unionField(&c.Member)
		result, x, zero := w.goType(f.Type), f.x, ""
		if w.byReference(f.Type) {
			result, zero = "*"+result, "nil"
			if x = "&" + f.ptr; f.External {
				x = f.ptr
			}
		}
		w.memberComment(f.Member, f.goName+" gives "+f.Member.Name+", if the union holds it.")
		w.p("func (m *", w.name, ") ", f.goName, "() (v ", result, ", ok bool) {")
		w.p("if ", w.of, "(m.discriminator) != ", i, " {\nreturn v, false\n}")
		if f.External && zero == "" {
			w.p("return *cdr.OrZero(", f.ptr, "), true")
		} else {
			w.p("return ", x, ", true")
		}
		w.p("}")
		w.p()
		value := "v"
		if f.External {
			value = "&v"
		}
		w.p("// Set", f.goName, " makes the union hold ", f.Member.Name, ".")
		w.p("func (m *", w.name, ") Set", f.goName, "(v ", w.goType(f.Type), ") {")
		w.p("*m = ", w.name, "{discriminator: ", w.first(c), ", ", f.ptr[2:], ": ", value, "}")
		w.p("}")
		w.p()
	}
}

// byReference tells for which types a pointer is given instead of a copy.
func (w *printer) byReference(t Type) bool {
	switch resolve(t).(type) {
	case *Struct, *Union, *Array:
		return true
	}
	return false
}

// cases prints a switch over the members.
func (w *unionPrinter) cases(selected string, print func(i int, c *Case, f field)) {
	w.p("switch ", selected, " {")
	for i, c := range w.u.Cases {
		w.p("case ", i, ":")
		print(i, c, w.unionField(&c.Member))
	}
	w.p("}")
}

func (w *unionPrinter) codec() {
	u, x := w.u, extensibilityName(w.u.Extensibility)
	mutable := u.Extensibility == cdr.Mutable
	w.p("// MarshalCDR writes the discriminator and the member that it selects.")
	w.p("func (m *", w.name, ") MarshalCDR(e *cdr.Encoder) {")
	if u.Extensibility != cdr.Final {
		w.p("s := e.Begin(", x, ")")
	}
	disc := field{Member: w.self, x: "m.discriminator"}
	if mutable {
		w.p("var h cdr.MemberMark")
	}
	w.encodeMember(u.Extensibility, disc)
	w.cases(w.of+"(m.discriminator)", func(i int, c *Case, f field) {
		w.checkRanges([]*Member{f.Member}, func(*Member) field { return f })
		w.encodeMember(u.Extensibility, f)
	})
	if u.Extensibility != cdr.Final {
		w.p("e.End(s)")
	}
	w.p("}")
	w.p()
	w.p("// UnmarshalCDR reads the discriminator and the member that it selects.")
	w.p("func (m *", w.name, ") UnmarshalCDR(d *cdr.Decoder) {")
	w.beginDecode(u.Extensibility, w.name, len(w.ids))
	w.decodeDiscriminator("was := " + w.of + "(m.discriminator)")
	w.cases("now", func(i int, c *Case, f field) { w.decodeMember(u.Extensibility, f, w.index[f.Member]) })
	w.p("d.End(s)")
	w.p("}")
	w.p()
}

// decodeDiscriminator prints the reading of the discriminator and the clearing of a member that it does not select.
func (w *unionPrinter) decodeDiscriminator(was string) {
	w.p("var disc ", w.disc)
	w.decodeMember(w.u.Extensibility, field{Member: w.self, x: "disc"}, w.index[w.self])
	w.p(was)
	w.p("now := ", w.of, "(disc)")
	w.p("if now != was {\n*m = ", w.name, "{}\n}")
	w.p("m.discriminator = disc")
}

func (w *unionPrinter) keys() {
	what := "the discriminator, which is the key"
	if !w.u.DiscriminatorKey {
		what = "everything: the discriminator is not marked as a key"
	}
	w.p("// MarshalKeyCDR writes ", what, ".")
	w.p("func (m *", w.name, ") MarshalKeyCDR(e *cdr.Encoder) {")
	w.encodeKey(field{Member: w.self, x: "m.discriminator"})
	if !w.u.DiscriminatorKey {
		w.cases(w.of+"(m.discriminator)", func(i int, c *Case, f field) { w.encodeKey(f) })
	}
	w.p("}")
	w.p()
	w.p("// UnmarshalKeyCDR reads what MarshalKeyCDR writes.")
	w.p("func (m *", w.name, ") UnmarshalKeyCDR(d *cdr.Decoder) {")
	w.p("s := d.Begin(cdr.Final)")
	w.p("var disc ", w.disc)
	w.decodeKey(field{Member: w.self, x: "disc"})
	if w.u.DiscriminatorKey {
		w.p("*m = ", w.name, "{discriminator: disc}")
	} else {
		w.p("now := ", w.of, "(disc)")
		w.p("if now != ", w.of, "(m.discriminator) {\n*m = ", w.name, "{}\n}")
		w.p("m.discriminator = disc")
		w.cases("now", func(i int, c *Case, f field) { w.decodeKey(f) })
	}
	w.p("d.End(s)")
	w.p("}")
	w.p()
	w.p("// TranscodeKeyCDR copies the key out of an encoded value.")
	w.p("func (*", w.name, ") TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {")
	w.beginDecode(w.u.Extensibility, w.name, len(w.ids))
	w.p("var disc ", w.disc)
	w.decodeMember(w.u.Extensibility, field{Member: w.self, x: "disc"}, w.index[w.self])
	w.encodeKey(field{Member: w.self, x: "disc"})
	if !w.u.DiscriminatorKey {
		w.cases(w.of+"(disc)", func(i int, c *Case, f field) { w.transcodeMember(w.u.Extensibility, f.Member, w.index[f.Member]) })
	} else if w.u.Extensibility != cdr.Mutable {
		w.p("if d.Rest(s) {")
		w.cases(w.of+"(disc)", func(i int, c *Case, f field) { w.skipMember(f.Member) })
		w.p("}")
	}
	w.p("d.End(s)")
	w.p("}")
	w.p()
}

func (w *unionPrinter) skip() {
	w.p("// SkipCDR passes over an encoded value.")
	if w.u.Extensibility == cdr.Mutable {
		w.p("func (*", w.name, ") SkipCDR(d *cdr.Decoder) { d.SkipMutable(", idListName(w.name), ") }")
		w.p()
		return
	}
	w.p("func (*", w.name, ") SkipCDR(d *cdr.Decoder) {")
	if w.u.Extensibility != cdr.Final {
		w.p("if d.SkipDelimited(\"\") {\nreturn\n}")
	}
	w.p("s := d.Begin(", extensibilityName(w.u.Extensibility), ")")
	w.p("var disc ", w.disc)
	w.decode(w.u.Discriminator, "disc", "discriminator", 0, false)
	w.cases(w.of+"(disc)", func(i int, c *Case, f field) { w.skipMember(f.Member) })
	w.p("d.End(s)")
	w.p("}")
	w.p()
}

// json prints an object of the discriminator and the member: {"_d": 2, "radius": 1.5}.
func (w *unionPrinter) json() {
	jsonName := w.use("encoding/json")
	w.p("// MarshalJSON gives an object of the discriminator and the member: {\"_d\": ..., \"", w.members[0].Name, "\": ...}.")
	w.p("func (m ", w.name, ") MarshalJSON() ([]byte, error) {")
	w.cases(w.of+"(m.discriminator)", func(i int, c *Case, f field) {
		ptr := "&" + f.ptr
		if f.External {
			ptr = f.ptr
		}
		w.p("return cdr.MarshalUnionJSON(m.discriminator, ", quote(f.Member.Name), ", ", ptr, ")")
	})
	w.p("return cdr.MarshalUnionJSON(m.discriminator, \"\", nil)")
	w.p("}")
	w.p()
	w.p("// UnmarshalJSON is the inverse of MarshalJSON. Without \"_d\", the member decides.")
	w.p("func (m *", w.name, ") UnmarshalJSON(data []byte) error {")
	w.p("var u ", w.name)
	w.p("name, member, hasLabel, err := cdr.UnmarshalUnionJSON(data, &u.discriminator)")
	w.p("if err != nil {\nreturn err\n}")
	w.p("number := -1")
	w.p("switch name {")
	for i, c := range w.u.Cases {
		w.p("case ", quote(c.Name), ":")
		w.p("number = ", i)
		w.p("if !hasLabel {\nu.discriminator = ", w.first(c), "\n}")
		f := w.unionField(&c.Member)
		w.p("err = ", jsonName, ".Unmarshal(member, &u.", f.ptr[2:], ")")
	}
	w.p("case \"\":")
	w.p("default:")
	w.p("return ", w.use("fmt"), ".Errorf(\"", w.name, " has no member %q\", name)")
	w.p("}")
	w.p("if err != nil {\nreturn err\n}")
	w.p("if number != ", w.of, "(u.discriminator) {")
	w.p("return ", w.use("fmt"), ".Errorf(\"discriminator %v of ", w.name, " does not select member %q\", u.discriminator, name)")
	w.p("}")
	w.p("*m = u")
	w.p("return nil")
	w.p("}")
	w.p()
}

func (w *unionPrinter) view() {
	w.p("// ", w.name, "View reads an encoded ", w.name, " where it is. It ends, with the strings and bytes that it gives, when the")
	w.p("// bytes of the sample do.")
	w.p("type ", w.name, "View struct {")
	w.p("s cdr.Sample")
	w.p("d ", w.disc)
	w.p("at int32 // offset of the member")
	w.p("}")
	w.p()
	w.newView(w.name, nil)
	w.p("// ScanCDR finds the member of the next value. It is for generated code.")
	w.p("func (v *", w.name, "View) ScanCDR(d *cdr.Decoder) {")
	w.p("v.s = d.Sample()")
	w.p("v.at = cdr.Missing")
	w.beginDecode(w.u.Extensibility, w.name, len(w.ids))
	w.decodeMember(w.u.Extensibility, field{Member: w.self, x: "v.d"}, w.index[w.self])
	w.cases(w.of+"(v.d)", func(i int, c *Case, f field) {
		if w.u.Extensibility == cdr.Mutable {
			w.p("d.Select(at[", w.index[f.Member], "])")
		}
		w.tryScan(f, "v.at")
	})
	w.p("d.End(s)")
	w.p("}")
	w.p()
	w.p("// Discriminator tells which member the union holds.")
	w.p("func (v ", w.name, "View) Discriminator() ", w.disc, " { return v.d }")
	w.p()
	for i, c := range w.u.Cases {
		f := w.unionField(&c.Member)
		f.path = w.name + f.goName
		result, body := w.read(f, "v.at")
		w.p("// ", f.goName, " reads ", f.Member.Name, ", if the union holds it.")
		w.p("func (v ", w.name, "View) ", f.goName, "() (x ", result, ", ok bool) {")
		w.p("if ", w.of, "(v.d) != ", i, " {\nreturn x, false\n}")
		for _, line := range body[:len(body)-1] {
			w.p(line)
		}
		w.p("return ", body[len(body)-1], ", true")
		w.p("}")
		w.p()
	}
}

func (w *unionPrinter) builder() {
	list := w.memberNames(w.name, []*Member{w.self})
	w.p("// ", w.name, "Builder builds an encoded ", w.name, " in the caller's bytes, without an intermediate value. One member is set.")
	w.p("type ", w.name, "Builder struct {")
	w.p("b cdr.Builder")
	w.p("has [1]bool")
	w.p("}")
	w.p()
	w.p("// New", w.name, "Builder starts a sample in buf, encapsulation header included.")
	w.p("func New", w.name, "Builder(buf []byte) ", w.name, "Builder {")
	w.p("var b ", w.name, "Builder")
	w.p("b.b.Init(buf, ", lowerFirst(w.name), "Type, ", list, ")")
	w.p("return b")
	w.p("}")
	w.p()
	put := func(label string, member func()) {
		w.p("if e := b.b.Variable(0, 0); e != nil {")
		if w.u.Extensibility == cdr.Mutable {
			w.p("var h cdr.MemberMark")
		}
		w.encodeMember(w.u.Extensibility, field{Member: w.self, x: label})
		member()
		w.p("b.has[0] = b.b.EndVariable(0)")
		w.p("}")
	}
	for _, c := range w.u.Cases {
		f := w.builderField(&c.Member)
		f.External = false
		w.p("// Set", w.plan.accessorName(&c.Member), " sets ", c.Name, " and the discriminator.")
		w.p("func (b *", w.name, "Builder) Set", w.plan.accessorName(&c.Member), "(v ", w.parameter(f), ") {")
		w.p("d := ", w.disc, "(", w.first(c), ")")
		put("d", func() {
			m := *f.Member
			m.External = false
			f.Member = &m
			w.encodeMember(w.u.Extensibility, f)
		})
		w.p("}")
		w.p()
	}
	if !w.u.Exhaustive && w.u.Default == nil {
		w.p("// SetDiscriminator sets a discriminator that selects no member.")
		w.p("func (b *", w.name, "Builder) SetDiscriminator(d ", w.disc, ") {")
		w.p("if ", w.of, "(d) >= 0 {")
		w.p("b.b.Fail(0, ", strconv.Quote("it selects a member, which has to be set"), ")")
		w.p("return")
		w.p("}")
		put("d", func() {})
		w.p("}")
		w.p()
	}
	w.p("// Finish completes the sample and gives its length.")
	w.p("func (b *", w.name, "Builder) Finish() (int, error) { return b.b.Finish(b.has[:]) }")
}
