package notation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
)

// IDL writes types, and those that they refer to, each behind what it needs.
func IDL(types []*xtypes.Type) ([]byte, error) {
	w := idlWriter{declared: map[*xtypes.Type]bool{}, begun: map[*xtypes.Type]bool{}, forward: map[*xtypes.Type]bool{}, names: map[string]bool{}}
	for _, t := range types {
		for _, r := range t.References() {
			modules, _ := scope(r.Name())
			for n := range modules {
				w.names[strings.Join(modules[:n+1], "::")] = true
			}
			w.names[r.Name()] = true
		}
	}
	for _, t := range types {
		for _, r := range t.References() {
			w.declaration(r)
		}
	}
	w.modules(nil)
	if w.err != nil {
		return nil, w.err
	}
	return []byte(w.String()), nil
}

type idlWriter struct {
	strings.Builder
	open     []string // modules
	declared map[*xtypes.Type]bool
	begun    map[*xtypes.Type]bool // what they mention is being declared
	forward  map[*xtypes.Type]bool
	names    map[string]bool // of all types and modules
	of       string          // the declaration that is written, for errors
	err      error
}

func (w *idlWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("notation: %s: %s", w.of, fmt.Sprintf(format, args...))
	}
}

// line writes an indented line.
func (w *idlWriter) line(format string, args ...any) {
	w.WriteString(strings.Repeat("  ", len(w.open)))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// modules closes modules and opens others until those in path are open.
func (w *idlWriter) modules(path []string) {
	same := 0
	for same < len(path) && same < len(w.open) && path[same] == w.open[same] {
		same++
	}
	for len(w.open) > same {
		w.open = w.open[:len(w.open)-1]
		w.line("};")
	}
	for _, m := range path[same:] {
		w.line("module %s {", identifier(m))
		w.open = append(w.open, m)
	}
}

func scope(name string) (modules []string, last string) {
	parts := strings.Split(name, "::")
	return parts[:len(parts)-1], parts[len(parts)-1]
}

// identifier escapes what IDL takes as a keyword, in whatever case.
func identifier(name string) string {
	if _, found := slices.BinarySearch(keywords, strings.ToLower(name)); found {
		return "_" + name
	}
	return name
}

// keywords of IDL 4.2 in lower case, sorted.
var keywords = strings.Fields(`abstract alias any attribute bitfield bitmask bitset boolean case char component connector const consumes context
	custom default double emits enum eventtype exception factory false finder fixed float getraises home import in inout int16 int32 int64 int8
	interface local long manages map mirrorport module multiple native object octet oneway out port porttype primarykey private provides public
	publishes raises readonly sequence setraises short string struct supports switch true truncatable typedef typeid typename typeprefix uint16
	uint32 uint64 uint8 union unsigned uses valuebase valuetype void wchar wstring`)

// declaration writes a type behind those that it mentions. In a recursion, a struct or union is declared forward first;
// a typedef needs no more of it.
func (w *idlWriter) declaration(t *xtypes.Type) {
	if w.begun[t] || w.err != nil {
		return
	}
	w.begun[t] = true
	for _, p := range mentioned(t) {
		loop := t.Kind() == xtypes.TKAlias && slices.Contains(p.References(), t)
		if !loop {
			w.declaration(p)
		}
		w.of = t.Name()
		if !w.declared[p] && !w.forward[p] && p != t {
			if k := p.Kind(); k != xtypes.TKStructure && k != xtypes.TKUnion {
				w.fail("it and %s refer to each other; IDL declares structs and unions forward only", p)
				return
			}
			w.forward[p] = true
			modules, name := scope(p.Name())
			w.modules(modules)
			w.line("%s%s %s;", extensibility(p), p.Kind(), identifier(name))
		}
	}
	w.of, w.declared[t] = t.Name(), true
	modules, name := scope(t.Name())
	if strings.ContainsAny(t.Name(), "#<> ") {
		w.fail("that is no name of IDL: the type comes from a minimal type object, or from another naming scheme")
	}
	w.modules(modules)
	w.doc(t.Doc())
	name = identifier(name)
	if v := t.Verbatim(); v != nil {
		w.line("@verbatim(language = %s, placement = %s, text = %s)", quote(v.Language), placement(v.Placement), quote(v.Text))
	}
	switch t.Kind() {
	case xtypes.TKStructure:
		base := ""
		if b := t.Base(); b != nil {
			base = " : " + w.name(b)
		}
		w.line("%sstruct %s%s {", typeAnnotations(t), name, base)
		w.members(t, firstID(t))
		w.line("};")
	case xtypes.TKUnion:
		w.union(t, name)
	case xtypes.TKEnum:
		w.enum(t, name)
	case xtypes.TKBitmask:
		w.bitmask(t, name)
	case xtypes.TKBitset:
		w.bitset(t, name)
	case xtypes.TKAlias:
		typ, dims := w.declarator(t.Target())
		standard, least, most := t.Constraints()
		w.line("%stypedef %s %s%s;", w.constraints(t.Target(),
			xtypes.Member{Unit: t.Unit(), Default: standard, Min: least, Max: most}), typ, name, dims)
	default:
		w.fail("a %s with a name is not in IDL", t.Kind())
	}
}

func placement(p string) string {
	if p == "" {
		return "BEFORE_DECLARATION"
	}
	return p
}

// mentioned gives the named types that a declaration mentions.
func mentioned(t *xtypes.Type) []*xtypes.Type {
	var list []*xtypes.Type
	var visit func(p *xtypes.Type)
	visit = func(p *xtypes.Type) {
		switch {
		case p == nil:
		case p.Name() != "":
			list = append(list, p)
		default:
			visit(p.Elem())
			visit(p.MapKey())
		}
	}
	visit(t.Base())
	visit(t.Target())
	if d := t.Discriminator(); d != nil {
		visit(d.Type)
	}
	for m := range t.OwnMembers() {
		visit(m.Type)
	}
	return list
}

// firstID is the id that the first own member has if none is given.
func firstID(t *xtypes.Type) uint32 {
	next := uint32(0)
	if t.Kind() == xtypes.TKUnion {
		next = 1
	}
	if b := t.Base(); b != nil && b.NumMembers() > 0 {
		next = b.Member(b.NumMembers()-1).ID + 1
	}
	return next
}

// name gives a name that means t where it is written. It does not begin with "::", which an annotation in front would
// take for its own.
func (w *idlWriter) name(t *xtypes.Type) string {
	modules, last := scope(t.Name())
	here := slices.DeleteFunc(slices.Clone(w.open), func(m string) bool { return m == "" })
	if slices.Equal(modules, here) {
		return identifier(last)
	}
	first := append(modules, last)[0]
	for n := len(here); n > 0; n-- {
		if inner := strings.Join(append(here[:n:n], first), "::"); w.names[inner] {
			w.fail("%s cannot be named there: %s means %s", t.Name(), first, inner)
		}
	}
	parts := make([]string, 0, len(modules)+1)
	for _, p := range append(modules, last) {
		parts = append(parts, identifier(p))
	}
	return strings.Join(parts, "::")
}

func extensibility(t *xtypes.Type) string { return "@" + t.Extensibility().String() + " " }

func typeAnnotations(t *xtypes.Type) string {
	s := extensibility(t)
	if t.Nested() {
		s += "@nested "
	}
	if t.AutoIDHash() {
		s += "@autoid(HASH) "
	}
	if name := t.Topic(); name != "" {
		s += "@topic(name=" + quote(name) + ") "
	}
	if names := representations(t); names != nil {
		s += "@data_representation(" + strings.Join(names, " | ") + ") "
	}
	return s
}

// representations are the words of @data_representation; nil without it.
func representations(t *xtypes.Type) (names []string) {
	for i, name := range []string{"XCDR1", "XML", "XCDR2"} {
		if t.Representations()>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (w *idlWriter) doc(text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		w.line("%s", strings.TrimRight("// "+line, " "))
	}
}

func (w *idlWriter) members(t *xtypes.Type, next uint32) {
	w.open = append(w.open, "")
	for m := range t.OwnMembers() {
		w.doc(m.Doc)
		typ, dims := w.declarator(m.Type)
		w.line("%s%s %s%s;", w.annotations(t, m, next), typ, identifier(m.Name), dims)
		next = m.ID + 1
	}
	w.open = w.open[:len(w.open)-1]
}

// annotations writes those of a member. The id is written if it is not the one that the member would have anyway.
func (w *idlWriter) annotations(t *xtypes.Type, m *xtypes.Member, next uint32) string {
	var b strings.Builder
	add := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(&b, format+" ", args...)
		}
	}
	add(m.Key && t.Kind() == xtypes.TKStructure, "@key")
	switch {
	case m.HasHashID && m.HashID != "":
		add(true, "@hashid(%s)", quote(m.HashID))
	case m.HasHashID:
		add(true, "@hashid")
	case t.AutoIDHash():
		add(m.ID != xtypes.HashID(m.Name), "@id(%d)", m.ID)
	default:
		add(m.ID != next, "@id(%d)", m.ID)
	}
	add(m.Optional, "@optional")
	add(m.MustUnderstand && !m.Key, "@must_understand")
	add(m.External, "@external")
	add(m.TryConstruct > xtypes.TryConstructDiscard, "@try_construct(%s)", m.TryConstruct)
	return b.String() + w.constraints(m.Type, *m)
}

// constraints writes what annotations say of the values of t, but for what they say of the typedefs that t is.
func (w *idlWriter) constraints(t *xtypes.Type, m xtypes.Member) string {
	for a := t; a.Kind() == xtypes.TKAlias; a = a.Target() {
		standard, least, most := a.Constraints()
		if m.Unit == a.Unit() {
			m.Unit = ""
		}
		for _, v := range []struct {
			own  *any
			said any
		}{{&m.Default, standard}, {&m.Min, least}, {&m.Max, most}} {
			if *v.own == v.said {
				*v.own = nil
			}
		}
	}
	s := ""
	if m.Unit != "" {
		s = fmt.Sprintf("@unit(%s) ", quote(m.Unit))
	}
	for _, v := range []struct {
		name string
		is   any
	}{{"default", m.Default}, {"min", m.Min}, {"max", m.Max}} {
		if v.is != nil {
			s += fmt.Sprintf("@%s(%s) ", v.name, w.literal(t, v.is))
		}
	}
	return s
}

// declarator gives the type in front of a name, and the dimensions behind it.
func (w *idlWriter) declarator(t *xtypes.Type) (typ, dims string) {
	if t.Kind() != xtypes.TKArray {
		return w.typ(t), ""
	}
	for _, d := range t.Dims() {
		dims += fmt.Sprintf("[%d]", d)
	}
	if f := t.ElemMember(); f.External || f.TryConstruct > xtypes.TryConstructDiscard {
		w.fail("IDL cannot annotate the elements of an array")
	}
	return w.typ(t.Elem()), dims
}

var idlWords = map[xtypes.Kind]string{xtypes.TKInt16: "short", xtypes.TKUint16: "unsigned short", xtypes.TKInt32: "long",
	xtypes.TKUint32: "unsigned long",
	xtypes.TKInt64:  "long long", xtypes.TKUint64: "unsigned long long"}

func (w *idlWriter) typ(t *xtypes.Type) string {
	bound := func(parts ...string) string {
		if t.Bound() > 0 {
			parts = append(parts, fmt.Sprint(t.Bound()))
		}
		if len(parts) == 0 {
			return ""
		}
		return "<" + strings.Join(parts, ", ") + ">"
	}
	if t.Name() != "" {
		return w.name(t)
	}
	switch t.Kind() {
	case xtypes.TKString8, xtypes.TKString16:
		return t.Kind().String() + bound()
	case xtypes.TKSequence:
		return "sequence" + bound(w.elem(t.ElemMember()))
	case xtypes.TKMap:
		return "map" + bound(w.elem(t.MapKeyMember()), w.elem(t.ElemMember()))
	case xtypes.TKArray:
		w.fail("%s within another type: give the array a name with a typedef", t)
		return ""
	}
	if s, ok := idlWords[t.Kind()]; ok {
		return s
	}
	return t.Kind().String()
}

func (w *idlWriter) elem(m *xtypes.Member) string {
	s := ""
	if m.External {
		s += "@external "
	}
	if m.TryConstruct > xtypes.TryConstructDiscard {
		s += "@try_construct(" + m.TryConstruct.String() + ") "
	}
	return s + w.typ(m.Type)
}

func (w *idlWriter) union(t *xtypes.Type, name string) {
	d := t.Discriminator()
	key := ""
	if d.Key {
		key = "@key "
	}
	if d.TryConstruct > xtypes.TryConstructDiscard {
		key += "@try_construct(" + d.TryConstruct.String() + ") "
	}
	w.line("%sunion %s switch (%s%s) {", typeAnnotations(t), name, key, w.typ(d.Type))
	w.open = append(w.open, "")
	next := firstID(t)
	for m := range t.OwnMembers() {
		for _, l := range m.Labels {
			w.line("case %s:", w.label(d.Type, l))
		}
		if m.DefaultCase {
			w.line("default:")
		}
		w.doc(m.Doc)
		typ, dims := w.declarator(m.Type)
		w.line("  %s%s %s%s;", w.annotations(t, m, next), typ, identifier(m.Name), dims)
		next = m.ID + 1
	}
	w.open = w.open[:len(w.open)-1]
	w.line("};")
}

// label writes a case label.
func (w *idlWriter) label(t *xtypes.Type, l int64) string {
	switch t.Resolve().Kind() {
	case xtypes.TKEnum:
		e, _ := t.Resolve().LiteralByValue(int32(l))
		modules, _ := scope(t.Resolve().Name())
		for i, m := range modules {
			modules[i] = identifier(m)
		}
		return strings.Join(append(append([]string{""}, modules...), identifier(e.Name)), "::")
	case xtypes.TKBoolean:
		return strings.ToUpper(strconv.FormatBool(l != 0))
	case xtypes.TKChar8:
		return fmt.Sprintf(`'\x%02x'`, l)
	case xtypes.TKChar16:
		return fmt.Sprintf(`L'\u%04x'`, l)
	}
	return strconv.FormatInt(l, 10)
}

// literal writes a value of an annotation.
func (w *idlWriter) literal(t *xtypes.Type, v any) string {
	t = t.Resolve()
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return quote(x)
	case bool:
		return strings.ToUpper(strconv.FormatBool(x))
	case float32:
		return float(float64(x), 32)
	case float64:
		return float(x, 64)
	case xtypes.Float128:
		return float(x.Float64(), 64)
	case int32:
		if t.Kind() == xtypes.TKEnum {
			return w.label(t, int64(x))
		}
	case uint8:
		if t.Kind() == xtypes.TKChar8 {
			return w.label(t, int64(x))
		}
	case uint16:
		if t.Kind() == xtypes.TKChar16 {
			return w.label(t, int64(x))
		}
	}
	return fmt.Sprint(v)
}

func float(f float64, bits int) string {
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// quote writes a string literal of IDL. Characters beyond ASCII stay, for an escape is a character, not a byte of UTF-8.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\%03o`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (w *idlWriter) bits(t *xtypes.Type) string {
	s := ""
	if t.Extensibility() != cdr.Appendable {
		s = extensibility(t)
	}
	if t.BitBound() != 32 {
		s += fmt.Sprintf("@bit_bound(%d) ", t.BitBound())
	}
	return s
}

func (w *idlWriter) enum(t *xtypes.Type, name string) {
	byValue := ""
	if t.IgnoreLiteralNames() {
		byValue = "@ignore_literal_names "
	}
	w.line("%s%senum %s {", byValue, w.bits(t), name)
	w.open = append(w.open, "")
	next := int32(0)
	for i, l := range t.Literals() {
		w.doc(l.Doc)
		s := ""
		if l.Default {
			s = "@default_literal "
		}
		if l.Value != next {
			s += fmt.Sprintf("@value(%d) ", l.Value)
		}
		w.line("%s%s%s", s, identifier(l.Name), comma(i, len(t.Literals())))
		next = l.Value + 1
	}
	w.open = w.open[:len(w.open)-1]
	w.line("};")
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

func (w *idlWriter) bitmask(t *xtypes.Type, name string) {
	w.line("%sbitmask %s {", w.bits(t), name)
	w.open = append(w.open, "")
	next := uint16(0)
	for i, f := range t.Bitflags() {
		w.doc(f.Doc)
		s := ""
		if f.Position != next {
			s = fmt.Sprintf("@position(%d) ", f.Position)
		}
		w.line("%s%s%s", s, identifier(f.Name), comma(i, len(t.Bitflags())))
		next = f.Position + 1
	}
	w.open = w.open[:len(w.open)-1]
	w.line("};")
}

func (w *idlWriter) bitset(t *xtypes.Type, name string) {
	base, at := "", 0
	for b := t.Base(); b != nil; b = b.Base() {
		if base == "" {
			base = " : " + w.name(b)
		}
		for _, f := range b.Bitfields() {
			at = max(at, int(f.Position)+int(f.Bits))
		}
	}
	w.line("bitset %s%s {", name, base)
	w.open = append(w.open, "")
	for _, f := range t.Bitfields() {
		if gap := int(f.Position) - at; gap > 0 {
			w.line("bitfield<%d>;", gap)
		}
		at = int(f.Position) + int(f.Bits)
		if f.Name == "" {
			w.line("bitfield<%d>;", f.Bits)
			continue
		}
		w.doc(f.Doc)
		unit := ""
		if f.Unit != "" {
			unit = fmt.Sprintf("@unit(%s) ", quote(f.Unit))
		}
		w.line("%sbitfield<%d, %s> %s;", unit, f.Bits, w.typ(xtypes.Primitive(f.Holder)), identifier(f.Name))
	}
	w.open = w.open[:len(w.open)-1]
	w.line("};")
}
