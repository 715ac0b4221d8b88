package notation

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
)

// node is an element. The names of the members follow those of DDS-XML 1.0 in what is made of them, not here: one shape
// serves all elements.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Nodes   []*node    `xml:",any"`

	start, end int // of the tag, in a document that was read
}

func element(name string, attrs ...string) *node {
	n := &node{XMLName: xml.Name{Local: name}}
	for i := 0; i+1 < len(attrs); i += 2 {
		n.set(attrs[i], attrs[i+1])
	}
	return n
}

func (n *node) set(name, value string) {
	n.Attrs = append(n.Attrs, xml.Attr{Name: xml.Name{Local: name}, Value: value})
}

func (n *node) setIf(is bool, name, value string) {
	if is {
		n.set(name, value)
	}
}

func (n *node) add(child *node) *node {
	n.Nodes = append(n.Nodes, child)
	return child
}

// xmlWords are the values of the attribute type.
var xmlWords = map[xtypes.Kind]string{
	xtypes.TKBoolean: "boolean", xtypes.TKByte: "byte", xtypes.TKInt8: "int8", xtypes.TKUint8: "uint8", xtypes.TKChar8: "char8",
	xtypes.TKChar16: "char16",
	xtypes.TKInt16:  "int16", xtypes.TKUint16: "uint16", xtypes.TKInt32: "int32", xtypes.TKUint32: "uint32",
	xtypes.TKInt64: "int64", xtypes.TKUint64: "uint64",
	xtypes.TKFloat32: "float32", xtypes.TKFloat64: "float64", xtypes.TKFloat128: "float128", xtypes.TKString8: "string", xtypes.TKString16: "wstring",
}

// XML writes types, and those that they refer to, as the <types> of DDS-XML 1.0.
func XML(types []*xtypes.Type) ([]byte, error) {
	return newXMLWriter().write(types)
}

// XMLWithout is XML without the annotations that have no place there: lost names each of them with its type and member.
// Ids that @autoid and @hashid gave are written as numbers.
func XMLWithout(types []*xtypes.Type) (text []byte, lost []string, err error) {
	w := newXMLWriter()
	w.loses = true
	text, err = w.write(types)
	return text, w.lost, err
}

func newXMLWriter() *xmlWriter {
	return &xmlWriter{root: element("types"), declared: map[*xtypes.Type]bool{}, forward: map[*xtypes.Type]bool{}}
}

func (w *xmlWriter) write(types []*xtypes.Type) ([]byte, error) {
	for _, t := range types {
		for _, r := range t.References() {
			w.declaration(r)
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	var b bytes.Buffer
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(w.root); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

type xmlWriter struct {
	root     *node
	declared map[*xtypes.Type]bool
	forward  map[*xtypes.Type]bool
	of       string
	err      error
	loses    bool     // annotations without a place are left out, and named in lost
	lost     []string // sentences
}

// lose names an annotation that has no place.
func (w *xmlWriter) lose(format string, args ...any) {
	if !w.loses {
		w.fail(format, args...)
		return
	}
	w.lost = append(w.lost, w.of+": "+fmt.Sprintf(format, args...))
}

func (w *xmlWriter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("notation: %s: %s", w.of, fmt.Sprintf(format, args...))
	}
}

// module gives the element of a module: the last one if it is that, otherwise one more, for a type must come behind
// what it needs.
func (w *xmlWriter) module(path []string) *node {
	at := w.root
	for _, name := range path {
		if n := len(at.Nodes); n > 0 && at.Nodes[n-1].XMLName.Local == "module" && at.Nodes[n-1].attr("name") == name {
			at = at.Nodes[n-1]
		} else {
			at = at.add(element("module", "name", name))
		}
	}
	return at
}

func (w *xmlWriter) declaration(t *xtypes.Type) {
	if w.declared[t] {
		return
	}
	w.declared[t] = true
	w.of = t.Name()
	for _, p := range mentioned(t) {
		if !w.declared[p] && !w.forward[p] { // it refers to t as well
			w.forward[p] = true
			modules, name := scope(p.Name())
			w.module(modules).add(element("forward_dcl", "name", name, "kind", p.Kind().String()))
		}
	}
	modules, name := scope(t.Name())
	in := w.module(modules)
	if t.Verbatim() != nil {
		w.lose("DDS-XML has no @verbatim")
	}
	if t.IgnoreLiteralNames() {
		w.lose("DDS-XML has no @ignore_literal_names")
	}
	if t.AutoIDHash() {
		w.lose("DDS-XML has no @autoid")
	}
	if t.Topic() != "" {
		w.lose("DDS-XML has no @topic")
	}
	if t.Representations() != 0 {
		w.lose("DDS-XML has no @data_representation")
	}
	aggregate := func(kind string) *node {
		n := in.add(element(kind, "name", name, "extensibility", t.Extensibility().String()))
		n.setIf(t.Nested(), "nested", "true")
		return n
	}
	switch t.Kind() {
	case xtypes.TKStructure:
		n := aggregate("struct")
		if b := t.Base(); b != nil {
			n.set("baseType", b.Name())
		}
		w.members(n, t)
	case xtypes.TKUnion:
		w.union(aggregate("union"), t)
	case xtypes.TKEnum:
		n := in.add(element("enum", "name", name))
		n.setIf(t.BitBound() != 32, "bitBound", fmt.Sprint(t.BitBound()))
		n.setIf(t.Extensibility() != cdr.Appendable, "extensibility", t.Extensibility().String())
		for _, l := range t.Literals() {
			e := n.add(element("enumerator", "name", l.Name, "value", fmt.Sprint(l.Value)))
			e.setIf(l.Default, "defaultLiteral", "true")
		}
	case xtypes.TKBitmask:
		n := in.add(element("bitmask", "name", name, "bitBound", fmt.Sprint(t.BitBound())))
		n.setIf(t.Extensibility() != cdr.Appendable, "extensibility", t.Extensibility().String())
		for _, f := range t.Bitflags() {
			n.add(element("flag", "name", f.Name, "position", fmt.Sprint(f.Position)))
		}
	case xtypes.TKBitset:
		w.bitset(in.add(element("bitset", "name", name)), t)
	case xtypes.TKAlias:
		n := in.add(element("typedef", "name", name))
		w.typ(n, t.Target())
		standard, least, most := t.Constraints()
		w.constraints(n, "", t.Target(), t.Unit(), standard, least, most)
	default:
		w.fail("a %s with a name is not in DDS-XML", t.Kind())
	}
}

func (w *xmlWriter) bitset(n *node, t *xtypes.Type) {
	at := 0
	if b := t.Base(); b != nil {
		n.set("baseType", b.Name())
		for ; b != nil; b = b.Base() {
			for _, f := range b.Bitfields() {
				at = max(at, int(f.Position)+int(f.Bits))
			}
		}
	}
	for _, f := range t.Bitfields() {
		if gap := int(f.Position) - at; gap > 0 {
			n.add(element("bitfield", "bitBound", fmt.Sprint(gap)))
		}
		e := n.add(element("bitfield"))
		if f.Name != "" {
			e.set("name", f.Name)
			e.set("type", xmlWords[f.Holder])
			if f.Unit != "" {
				w.lose("%s: DDS-XML has no @unit", f.Name)
			}
		}
		e.set("bitBound", fmt.Sprint(f.Bits))
		at = int(f.Position) + int(f.Bits)
	}
}

func (w *xmlWriter) members(n *node, t *xtypes.Type) {
	next := firstID(t)
	for m := range t.OwnMembers() {
		w.member(n, m, next)
		next = m.ID + 1
	}
}

func (w *xmlWriter) member(n *node, m *xtypes.Member, next uint32) {
	e := n.add(element("member", "name", m.Name))
	w.typ(e, m.Type)
	e.setIf(m.ID != next, "id", fmt.Sprint(m.ID))
	e.setIf(m.Key, "key", "true")
	e.setIf(m.Optional, "optional", "true")
	e.setIf(m.MustUnderstand && !m.Key, "mustUnderstand", "true")
	e.setIf(m.External, "external", "true")
	w.constraints(e, m.Name+": ", m.Type, m.Unit, m.Default, m.Min, m.Max)
	if m.HasHashID {
		w.lose("%s: DDS-XML has no @hashid", m.Name)
	}
	if m.TryConstruct > xtypes.TryConstructDiscard {
		w.lose("%s: DDS-XML has no @try_construct", m.Name)
	}
}

// constraints writes what annotations say of the values of t, in the attributes that RTI Connext has for them.
func (w *xmlWriter) constraints(n *node, of string, t *xtypes.Type, unit string, standard, least, most any) {
	for _, v := range []struct {
		name string
		is   any
	}{{"default", standard}, {"min", least}, {"max", most}} {
		if v.is != nil {
			n.set(v.name, w.literal(of, t.Resolve(), v.is))
		}
	}
	if unit != "" {
		w.lose("%sDDS-XML has no @unit", of)
	}
}

func (w *xmlWriter) literal(of string, t *xtypes.Type, v any) string {
	s, mark := "", ""
	switch x := v.(type) {
	case string:
		s, mark = x, `"`
	case float32:
		return float(float64(x), 32)
	case float64:
		return float(x, 64)
	case xtypes.Float128:
		return float(x.Float64(), 64)
	case int32:
		if t.Kind() == xtypes.TKEnum {
			return xmlLabel(t, int64(x))
		}
		return fmt.Sprint(x)
	case uint8:
		if t.Kind() != xtypes.TKChar8 {
			return fmt.Sprint(x)
		}
		s, mark = string(rune(x)), "'"
	case uint16:
		if t.Kind() != xtypes.TKChar16 {
			return fmt.Sprint(x)
		}
		s, mark = string(rune(x)), "'"
	default:
		return fmt.Sprint(v)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == utf8.RuneError || r == 0xfffe || r == 0xffff }) {
		w.fail("%sXML cannot hold the character in the value %q", of, s)
	}
	return mark + s + mark
}

func (w *xmlWriter) union(n *node, t *xtypes.Type) {
	d := n.add(element("discriminator"))
	w.typ(d, t.Discriminator().Type)
	d.setIf(t.Discriminator().Key, "key", "true")
	if t.Discriminator().TryConstruct > xtypes.TryConstructDiscard {
		w.lose("discriminator: DDS-XML has no @try_construct")
	}
	next := firstID(t)
	for m := range t.OwnMembers() {
		k := n.add(element("case"))
		for _, l := range m.Labels {
			k.add(element("caseDiscriminator", "value", xmlLabel(t.Discriminator().Type.Resolve(), l)))
		}
		if m.DefaultCase {
			k.add(element("caseDiscriminator", "value", "default"))
		}
		w.member(k, m, next)
		next = m.ID + 1
	}
}

func xmlLabel(t *xtypes.Type, l int64) string {
	switch t.Kind() {
	case xtypes.TKEnum:
		e, _ := t.LiteralByValue(int32(l))
		return e.Name
	case xtypes.TKBoolean:
		return fmt.Sprint(l != 0)
	}
	return fmt.Sprint(l)
}

// typ writes the attributes that say a type: of an array of sequences or maps of something with a name, from the outside in.
func (w *xmlWriter) typ(n *node, t *xtypes.Type) {
	var attrs []string
	if t.Kind() == xtypes.TKArray {
		dims := make([]string, len(t.Dims()))
		for i, d := range t.Dims() {
			dims[i] = fmt.Sprint(d)
		}
		w.plainElem(t.ElemMember())
		attrs = append(attrs, "arrayDimensions", strings.Join(dims, ","))
		t = t.Elem()
	}
	switch t.Kind() {
	case xtypes.TKSequence:
		attrs = append(attrs, "sequenceMaxLength", xmlBound(t.Bound()))
		w.plainElem(t.ElemMember())
		t = t.Elem()
	case xtypes.TKMap:
		w.plainElem(t.MapKeyMember())
		w.plainElem(t.ElemMember())
		word, bound, other := w.basic(t.MapKey())
		attrs = append(attrs, "mapKeyType", word, "mapMaxLength", xmlBound(t.Bound()))
		if other != "" {
			attrs = append(attrs, "mapKeyNonBasicTypeName", other)
		}
		if bound != "" {
			attrs = append(attrs, "mapKeyStringMaxLength", bound)
		}
		t = t.Elem()
	}
	word, bound, other := w.basic(t)
	n.set("type", word)
	n.setIf(other != "", "nonBasicTypeName", other)
	n.setIf(bound != "", "stringMaxLength", bound)
	for i := 0; i < len(attrs); i += 2 {
		n.set(attrs[i], attrs[i+1])
	}
}

func (w *xmlWriter) plainElem(m *xtypes.Member) {
	if m.External || m.TryConstruct > xtypes.TryConstructDiscard {
		w.fail("DDS-XML cannot annotate elements of collections")
	}
}

func xmlBound(b uint32) string {
	if b == 0 {
		return "-1"
	}
	return fmt.Sprint(b)
}

// basic gives the word for a type without parts, the bound of a string, or the name of another type.
func (w *xmlWriter) basic(t *xtypes.Type) (word, bound, other string) {
	if t.Name() != "" {
		return "nonBasic", "", t.Name()
	}
	word = xmlWords[t.Kind()]
	if word == "" {
		w.fail("%s within another type: give it a name with a typedef", t)
	}
	if k := t.Kind(); k == xtypes.TKString8 || k == xtypes.TKString16 {
		bound = xmlBound(t.Bound())
	}
	return word, bound, ""
}

func (n *node) attr(names ...string) string {
	for _, a := range n.Attrs {
		if slices.Contains(names, a.Name.Local) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}
