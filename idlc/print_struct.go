package idlc

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/omg-dds-go/dds/cdr"
)

// structure prints a struct with everything that belongs to it.
func (w *printer) structure(s *Struct) {
	name := w.plan.goName(s)
	w.comment(s.Doc, name+" is the IDL struct "+s.Scoped()+".")
	w.p("type ", name, " struct {")
	if s.Base != nil {
		w.p(w.ref(s.Base))
	}
	for _, m := range s.Members {
		w.memberComment(m, "")
		w.p(w.plan.fieldName(m), " ", w.fieldType(m), " ", jsonTag(m))
	}
	w.p("}")
	w.p()
	w.typeInfo(s)
	if s.Extensibility == cdr.Mutable {
		ids, _ := mutableIndex(s.wire())
		w.idList(name, ids)
	}
	w.defaults(s)
	w.codec(s)
	w.keys(s)
	w.skip(s)
	w.p()
	w.cloneEqual(s)
	w.view(s)
	w.builder(s)
	w.writer(s)
}

// memberComment prints the documentation of a member with what annotations say of it; otherwise stands for a missing comment.
func (w *printer) memberComment(m *Member, otherwise string) {
	doc := cmp.Or(m.Doc, otherwise)
	add := func(line string) { doc = strings.TrimLeft(doc+"\n"+line, "\n") }
	c := m.constraints()
	if c.Unit != "" {
		add("Unit: " + c.Unit + ".")
	}
	if m.Key {
		add("Key.")
	}
	if c.Default.Valid() {
		add("Default: " + w.literal(c.Default, m.Type) + ".")
	}
	switch {
	case c.Min.Valid() && c.Max.Valid():
		add("Range: " + w.literal(c.Min, m.Type) + " to " + w.literal(c.Max, m.Type) + ".")
	case c.Min.Valid():
		add("At least " + w.literal(c.Min, m.Type) + ".")
	case c.Max.Valid():
		add("At most " + w.literal(c.Max, m.Type) + ".")
	}
	w.comment(doc, "")
}

// jsonTag keeps the name of a member in JSON, where an absent one is left out.
func jsonTag(m *Member) string {
	if m.Optional {
		return "`json:\"" + m.Name + ",omitempty\"`"
	}
	return "`json:\"" + m.Name + "\"`"
}

// lowerFirst makes an unexported name of an exported one: its first word, or the capitals in front of it, in lower case.
func lowerFirst(name string) string {
	n := 1
	for n < len(name) && unicode.IsUpper(rune(name[n])) {
		n++
	}
	if n > 1 && n < len(name) && unicode.IsLower(rune(name[n])) {
		n-- // the last capital begins the next word
	}
	return strings.ToLower(name[:n]) + name[n:]
}

// typeInfo prints the description of a struct or a union.
func (w *printer) typeInfo(t Type) {
	d := t.(Decl)
	var a *Aggregate
	switch t := t.(type) {
	case *Struct:
		a = &t.Aggregate
	case *Union:
		a = &t.Aggregate
	}
	name := w.plan.goName(d)
	v := lowerFirst(name) + "Type"
	w.p("var ", v, " = cdr.Define(cdr.TypeInfo{")
	w.p(fmt.Sprintf("Name: %q,", d.common().Scoped()))
	w.p("Extensibility: ", extensibilityName(a.Extensibility), ",")
	if isKeyed(t) {
		w.p("Keyed: true,")
	}
	if a.Nested {
		w.p("Nested: true,")
	}
	if a.Topic != "" {
		w.p("Topic: ", strconv.QuoteToASCII(a.Topic), ",")
	}
	if r := a.Representations; r != 0 {
		w.p("Representations: ", representationNames(r), ",")
	}
	w.p("MaxSize: ", w.sizes.maxSize(t), ",")
	w.p("MaxKeySize: ", w.sizes.maxKeySize(t), ",")
	a1, n1, ok1 := fixedLayout(t, false)
	a2, n2, ok2 := fixedLayout(t, true)
	if ok1 && ok2 {
		layout := fmt.Sprintf("cdr.Layout{Align: [2]int{%d, %d}, Size: [2]int{%d, %d}, Stride: [2]int{%d, %d}}", a1, a2, n1, n2,
			alignUp(n1, a1), alignUp(n2, a2))
		if isImage(t) {
			w.p("Layout: cdr.ImageOf[", name, "](", layout, "),")
		} else {
			w.p("Layout: &", layout, ",")
		}
	}
	if s, ok := t.(*Struct); ok && s.front() != nil {
		w.frontOf(s.front())
	}
	if object, defaults, err := w.types.describe(t); err == nil {
		w.p("TypeObject: ", strconv.QuoteToASCII(string(object)), ",")
		if len(defaults) > 0 {
			w.p("Defaults: []cdr.MemberDefault{")
			for _, d := range defaults {
				w.p(fmt.Sprintf("{Type: %q, Member: %q, Value: %s},", d.Type, d.Member, goValue(d.Value)))
			}
			w.p("},")
		}
	} else {
		pos := d.common().Pos
		w.plan.report.warnf(pos, "", "%s: peers cannot check the type", strings.TrimPrefix(err.Error(), pos.String()+": "))
	}
	w.p("Text: `", typeText(t), "`,")
	w.p("})")
	w.p()
	w.p("// CDRType describes the type.")
	w.p("func (*", name, ") CDRType() *cdr.TypeInfo { return ", v, " }")
	w.p()
}

// goValue is v, of a basic type, as Go has it.
func goValue(v any) string {
	switch v.(type) {
	case string, bool:
		return fmt.Sprintf("%#v", v)
	}
	return fmt.Sprintf("%T(%v)", v, v)
}

func extensibilityName(x cdr.Extensibility) string {
	switch x {
	case cdr.Final:
		return "cdr.Final"
	case cdr.Mutable:
		return "cdr.Mutable"
	}
	return "cdr.Appendable"
}

// representationNames gives the set as Go has it.
func representationNames(r cdr.Representations) string {
	var names []string
	for i, name := range []string{"XCDR1", "XML", "XCDR2"} {
		if r>>i&1 != 0 {
			names = append(names, "cdr.Representation"+name)
		}
	}
	return strings.Join(names, " | ")
}

// codec prints MarshalCDR and UnmarshalCDR.
func (w *printer) codec(s *Struct) {
	name := w.plan.goName(s)
	x := extensibilityName(s.Extensibility)
	align, size, inMemory := s.inMemory()
	if inMemory {
		w.p("// ", lowerFirst(name), "Memory tells that ", name, " lies in memory as it is encoded.")
		w.p("var ", lowerFirst(name), "Memory = cdr.MemoryOf[", name, "](", align, ", ", size, ")")
		w.p()
	}
	w.p("// MarshalCDR writes all members.")
	w.p("func (m *", name, ") MarshalCDR(e *cdr.Encoder) {")
	w.checkRanges(s.wire(), w.field)
	if s.Extensibility != cdr.Final {
		w.p("s := e.Begin(", x, ")")
	}
	if s.Extensibility == cdr.Mutable && len(s.wire()) > 0 {
		w.p("var h cdr.MemberMark")
	}
	run := w.encodeRun
	if inMemory {
		w.encodeMemory(s, name)
		run = nil
	}
	w.fields(s, func(f field) { w.encodeMember(s.Extensibility, f) }, run)
	if s.Extensibility != cdr.Final {
		w.p("e.End(s)")
	}
	w.p("}")
	w.p()
	w.p("// UnmarshalCDR reads all members.")
	w.p("func (m *", name, ") UnmarshalCDR(d *cdr.Decoder) {")
	_, index := mutableIndex(s.wire())
	w.beginDecode(s.Extensibility, name, len(index))
	w.fields(s, func(f field) { w.decodeMember(s.Extensibility, f, index[f.Member]) }, w.decodeRun)
	w.p("d.End(s)")
	w.p("}")
	w.p()
}

// encodeMemory prints the writing of all members at once. Enumerators have been checked by then.
func (w *printer) encodeMemory(s *Struct, name string) {
	for _, m := range s.wire() {
		if _, ok := resolve(m.Type).(*Enum); ok {
			x := w.field(m).x
			w.p("if !", x, ".Valid() {\ne.NotEnumerator(", quote(m.Name), ", int32(", x, "))\n}")
		}
	}
	w.p("if ", lowerFirst(name), "Memory.Encode(e, m) {")
	if s.Extensibility != cdr.Final {
		w.p("e.End(s)")
	}
	w.p("return")
	w.p("}")
}

// fields visits the members in the order of the encoding, primitives that follow each other as runs; without run, one by one.
func (w *printer) fields(s *Struct, one func(field), run func(fs []field, align, size int)) {
	w.fieldsBehind(s, 0, one, run)
}

// fieldsBehind is fields without the first n.
func (w *printer) fieldsBehind(s *Struct, n int, one func(field), run func(fs []field, align, size int)) {
	members := s.wire()[n:]
	known := 1 // what the offset of the next member is a multiple of, in XCDR2
	if n == 0 && s.Extensibility != cdr.Final {
		known = 4
	}
	for i := 0; i < len(members); {
		fs, align, size := w.run(s, members[i:], known)
		if len(fs) >= 2 && run != nil {
			run(fs, align, size)
			i += len(fs)
		} else {
			one(w.field(members[i]))
			i++
		}
		known = 1
	}
}

// scalarSize is the size of a value that is one number on the wire.
func scalarSize(t Type) (int, bool) {
	switch t := resolve(t).(type) {
	case Primitive:
		return primitives[t].size, true
	case *Enum:
		return t.Width, true
	case *Bitmask:
		return t.Width, true
	case *Bitset:
		return t.Width, true
	}
	return 0, false
}

// inRun tells whether a member may be part of a run.
func inRun(m *Member) bool {
	switch t := resolve(m.Type).(type) {
	case Primitive:
		return t != Float128 && !m.pointer()
	case *Enum:
		return !m.pointer() && m.TryConstruct <= TryConstructDiscard
	case *Bitmask:
		return !m.pointer()
	}
	return false
}

// run gives the primitives and enums at the front of members whose offsets from the first do not depend on where it lies.
func (w *printer) run(s *Struct, members []*Member, known int) (fs []field, align, size int) {
	for i, m := range members {
		if s.Extensibility == cdr.Mutable || !inRun(m) {
			break
		}
		n, _ := scalarSize(m.Type)
		a := min(n, 4)
		if i == 0 {
			align = max(a, known)
		}
		if a > align {
			break
		}
		f := w.field(m)
		f.offset = alignUp(size, a)
		size = f.offset + n
		fs = append(fs, f)
	}
	return fs, align, size
}

// alignXCDR1 gives the alignment of a run in XCDR1, if its members have the same offsets there.
func alignXCDR1(fs []field) (align int, same bool) {
	align, _ = scalarSize(fs[0].Type)
	end := 0
	for _, f := range fs {
		n, _ := scalarSize(f.Type)
		if n > align || alignUp(end, n) != f.offset {
			return 0, false
		}
		end = f.offset + n
	}
	return align, true
}

func (w *printer) encodeRun(fs []field, align, size int) {
	method := "Run"
	if a, ok := alignXCDR1(fs); ok {
		method, align = "RunBoth", a
	}
	w.p("switch b, fast := e.", method, "(", align, ", ", size, "); {")
	w.p("case b != nil:")
	end := 0
	for _, f := range fs {
		for ; end < f.offset; end++ {
			w.p("b[", end, "] = 0")
		}
		n, _ := scalarSize(f.Type)
		end = f.offset + n
		w.store(f.Type, "b", f.offset, f.x)
		switch t := resolve(f.Type).(type) {
		case *Enum:
			w.p("if !", f.x, ".Valid() {\ne.NotEnumerator(", quote(f.Member.Name), ", int32(", f.x, "))\n}")
		case *Bitmask:
			w.checkMask(t, f.x, f.Member.Name)
		}
	}
	w.p("case !fast:")
	for _, f := range fs {
		w.encodeMember(cdr.Final, f)
	}
	w.p("}")
}

// store prints how x gets into the bytes b at an offset.
func (w *printer) store(t Type, b string, offset int, x string) {
	at := b
	if offset > 0 {
		at = b + "[" + itoa(offset) + ":]"
	}
	switch t := resolve(t).(type) {
	case *Enum:
		switch t.Width {
		case 1:
			w.p(b, "[", offset, "] = byte(", x, ")")
		case 2:
			w.p("cdr.PutInt16(", at, ", int16(", x, "))")
		default:
			w.p("cdr.PutInt32(", at, ", int32(", x, "))")
		}
	case *Bitmask:
		if t.Width == 1 {
			w.p(b, "[", offset, "] = byte(", x, ")")
		} else {
			w.p("cdr.PutUint", 8*t.Width, "(", at, ", uint", 8*t.Width, "(", x, "))")
		}
	case Primitive:
		switch {
		case t == Boolean:
			w.p("cdr.PutBool(", at, ", ", x, ")")
		case t == Int8:
			w.p(b, "[", offset, "] = uint8(", x, ")")
		case primitives[t].size == 1:
			w.p(b, "[", offset, "] = ", x)
		default:
			w.p("cdr.Put", primitives[t].method, "(", at, ", ", x, ")")
		}
	}
}

// load prints how x comes out of the bytes b at an offset, and how it is checked.
func (w *printer) load(f field) {
	at := "b"
	if f.offset > 0 {
		at = "b[" + itoa(f.offset) + ":]"
	}
	switch t := resolve(f.Type).(type) {
	case *Enum:
		from := "cdr.GetInt32(" + at + ")"
		switch t.Width {
		case 1:
			from = "int8(b[" + itoa(f.offset) + "])"
		case 2:
			from = "cdr.GetInt16(" + at + ")"
		}
		w.p(f.x, " = ", w.ref(t), "(", from, ")")
		w.p("if !", f.x, ".Valid() {\nd.NotEnumerator(", quote(f.Member.Name), ", int32(", f.x, "))\n}")
	case *Bitmask:
		if t.Width == 1 {
			w.p(f.x, " = ", w.ref(t), "(b[", f.offset, "])", bitsOf(t))
		} else {
			w.p(f.x, " = ", w.ref(t), "(cdr.GetUint", 8*t.Width, "(", at, "))", bitsOf(t))
		}
	case Primitive:
		switch {
		case t == Boolean:
			w.p(f.x, " = d.ToBool(", quote(f.Member.Name), ", b[", f.offset, "])")
		case t == Int8:
			w.p(f.x, " = int8(b[", f.offset, "])")
		case primitives[t].size == 1:
			w.p(f.x, " = b[", f.offset, "]")
		default:
			w.p(f.x, " = cdr.Get", primitives[t].method, "(", at, ")")
		}
	}
}

func (w *printer) decodeRun(fs []field, align, size int) {
	method := "Run"
	if a, ok := alignXCDR1(fs); ok {
		method, align = "RunBoth", a
	}
	w.p("if b := d.", method, "(", align, ", ", size, "); b != nil {")
	for _, f := range fs {
		w.load(f)
	}
	w.p("} else {")
	for _, f := range fs {
		w.decodeMember(cdr.Final, f, 0)
	}
	w.p("}")
}

// keys prints the methods for the KeyHolder.
func (w *printer) keys(s *Struct) {
	name := w.plan.goName(s)
	order := keyOrder(s)
	what := "the key members in the order of their ids"
	if !s.keyed() {
		what = "all members: none is marked as a key"
	}
	w.p("// MarshalKeyCDR writes ", what, ".")
	w.p("func (m *", name, ") MarshalKeyCDR(e *cdr.Encoder) {")
	for _, m := range order {
		w.encodeKey(w.field(m))
	}
	w.p("}")
	w.p()
	w.p("// UnmarshalKeyCDR reads what MarshalKeyCDR writes.")
	w.p("func (m *", name, ") UnmarshalKeyCDR(d *cdr.Decoder) {")
	w.p("s := d.Begin(cdr.Final)")
	for _, m := range order {
		w.decodeKey(w.field(m))
	}
	w.p("d.End(s)")
	w.p("}")
	w.p()
	w.transcodeKey(s, order)
}

// encodeKey prints the writing of a member of a KeyHolder. An optional member is there as one of a final type.
func (w *printer) encodeKey(f field) {
	switch {
	case f.Optional:
		w.p("if h, ok := e.BeginOptional(", memberID(f.Member), ", ", f.ptr, " != nil); ok {")
		w.encode(f.Type, f.x, f.Member.Name, 0, true)
		w.p("e.EndMember(h)")
		w.p("}")
		return
	case f.External:
		v := lowerFirst(f.goName) + "Value"
		w.p(v, " := cdr.OrZero(", f.ptr, ")")
		f.x = deref(f.Type, v)
	}
	w.encode(f.Type, f.x, f.Member.Name, 0, true)
}

func (w *printer) decodeKey(f field) {
	switch {
	case f.Optional:
		w.p("if h, ok := d.BeginOptional(", quote(f.Member.Name), ", ", f.ID, "); !ok {")
		w.p(f.ptr, " = nil")
		w.p("} else if cdr.Allocate(d, ", quote(f.Member.Name), ", &", f.ptr, ") {")
		w.decode(f.Type, f.x, f.Member.Name, 0, true)
		w.p("d.End(h)")
		w.p("}")
	case f.External:
		w.p("if cdr.Allocate(d, ", quote(f.Member.Name), ", &", f.ptr, ") {")
		w.decode(f.Type, f.x, f.Member.Name, 0, true)
		w.p("}")
	default:
		w.decode(f.Type, f.x, f.Member.Name, 0, true)
	}
}

// transcodeMember prints the copying of a member of a KeyHolder out of an aggregate with extensibility x.
func (w *printer) transcodeMember(x cdr.Extensibility, m *Member, i int) {
	switch {
	case !m.Optional && x == cdr.Mutable:
		w.p("d.Select(at[", i, "])")
		w.transcode(m.Type, m.Name, 0)
	case !m.Optional:
		w.transcode(m.Type, m.Name, 0)
	case x == cdr.Mutable:
		w.p("if h, ok := e.BeginOptional(", memberID(m), ", d.Select(at[", i, "])); ok {")
		w.transcode(m.Type, m.Name, 0)
		w.p("e.EndMember(h)")
		w.p("}")
	default:
		w.p("{")
		w.p("h, ok := d.BeginOptional(", quote(m.Name), ", ", m.ID, ")")
		w.p("if g, ok := e.BeginOptional(", memberID(m), ", ok); ok {")
		w.transcode(m.Type, m.Name, 0)
		w.p("e.EndMember(g)")
		w.p("d.End(h)")
		w.p("}")
		w.p("}")
	}
}

// transcodeKey walks over an encoded value once for every run of ascending ids: usually once.
func (w *printer) transcodeKey(s *Struct, order []*Member) {
	w.p("// TranscodeKeyCDR copies the key out of an encoded value.")
	w.p("func (*", w.plan.goName(s), ") TranscodeKeyCDR(d *cdr.Decoder, e *cdr.Encoder) {")
	all := s.wire()
	if s.Extensibility == cdr.Mutable {
		_, index := mutableIndex(all)
		w.beginDecode(s.Extensibility, w.plan.goName(s), len(all))
		for _, m := range order {
			w.transcodeMember(s.Extensibility, m, index[m])
		}
		w.p("d.End(s)")
		w.p("}")
		w.p()
		return
	}
	w.p("s := d.Begin(", extensibilityName(s.Extensibility), ")")
	index := map[*Member]int{}
	for i, m := range all {
		index[m] = i
	}
	at := 0
	for i, m := range order {
		if i > 0 && index[m] < index[order[i-1]] {
			at = -1 // some member lies before the one that precedes it in the key
		}
	}
	if at < 0 {
		w.p("start := d.Pos()")
	}
	at = 0
	for _, m := range order {
		if index[m] < at {
			w.p("d.Rewind(start)")
			at = 0
		}
		for ; at < index[m]; at++ {
			w.skipMember(all[at])
		}
		w.transcodeMember(s.Extensibility, m, 0)
		at++
	}
	if at < len(all) {
		w.p("if d.Rest(s) {")
		for ; at < len(all); at++ {
			w.skipMember(all[at])
		}
		w.p("}")
	}
	w.p("d.End(s)")
	w.p("}")
	w.p()
}

func (w *printer) skip(s *Struct) {
	name := w.plan.goName(s)
	w.p("// SkipCDR passes over an encoded value.")
	if s.Extensibility == cdr.Mutable {
		w.p("func (*", name, ") SkipCDR(d *cdr.Decoder) { d.SkipMutable(", idListName(name), ") }")
		return
	}
	w.p("func (*", name, ") SkipCDR(d *cdr.Decoder) {")
	if s.Extensibility != cdr.Final {
		w.p("if d.SkipDelimited(\"\") {\nreturn\n}")
	}
	w.p("s := d.Begin(", extensibilityName(s.Extensibility), ")")
	for _, m := range s.wire() {
		w.skipMember(m)
	}
	w.p("d.End(s)")
	w.p("}")
}
