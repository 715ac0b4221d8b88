package notation

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/internal/suggest"
	"github.com/omg-dds-go/dds/xtypes"
)

// maxXML bounds a document; with it the memory and the depth of elements.
const (
	maxXML      = 16 << 20
	maxXMLDepth = 64
)

// XMLError is one thing that is wrong with a document, and where: lines and columns count from one, columns count characters.
type XMLError struct {
	Line, Column int
	Element      string // the declaration that it is in: `<struct name="S">`; may be empty
	Detail       string
}

// Error gives "3:12: <struct name="S">: ...".
func (e *XMLError) Error() string {
	of := ""
	if e.Element != "" {
		of = e.Element + ": "
	}
	return fmt.Sprintf("%d:%d: %s%s", e.Line, e.Column, of, e.Detail)
}

// XMLErrors are all that is wrong with a document, in the order of their places.
type XMLErrors []*XMLError

// Error gives one a line.
func (list XMLErrors) Error() string {
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = "notation: XML: " + e.Error()
	}
	return strings.Join(lines, "\n")
}

// maxXMLErrors bounds what is reported; nobody reads more.
const maxXMLErrors = 1000

// ParseXML reads the types of a document of DDS-XML 1.0, in their order: a <types> element, alone or in a <dds>. The
// words of RTI Connext and Fast DDS are understood as well (long, unsignedLong, octet, wchar; bit_value, bit_bound,
// sequenceMaxLength...). Types without extensibility are appendable. An error is an XMLErrors with all that is wrong.
func ParseXML(text []byte) ([]*xtypes.Type, error) {
	r := xmlReader{text: text, types: map[string]*xtypes.Type{}, broken: map[*xtypes.Type]bool{}, constants: map[string]string{},
		spelled: map[string]string{}, forwards: map[*xtypes.Type]*node{}}
	root := r.parse()
	switch {
	case root == nil:
	case root.XMLName.Local == "dds":
		for _, n := range root.Nodes {
			if n.XMLName.Local == "types" {
				r.module(n, nil)
			}
		}
	case root.XMLName.Local == "types":
		r.module(root, nil)
	default:
		r.fail(root, "", "<%s> is neither <types> nor <dds>", root.XMLName.Local)
	}
	r.incomplete()
	if len(r.errors) > 0 {
		slices.SortStableFunc(r.errors, func(a, b *XMLError) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, r.errors
	}
	return r.list, nil
}

// parse reads the elements, with a limit on their depth; nil after it has reported why not.
func (r *xmlReader) parse() *node {
	if len(r.text) > maxXML {
		r.errorAt(0, "", "%d bytes exceed %d", len(r.text), maxXML)
		return nil
	}
	d := xml.NewDecoder(bytes.NewReader(r.text))
	var root *node
	var open []*node
	for {
		start := int(d.InputOffset())
		token, err := d.Token()
		if token == nil {
			if root != nil && len(open) == 0 {
				return root
			}
			detail := fmt.Sprintf("there is no element: %v", err)
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				detail = syntax.Msg
			}
			r.errorAt(int(d.InputOffset()), "", "%s", detail)
			return nil
		}
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{XMLName: x.Name, Attrs: x.Attr, start: start, end: int(d.InputOffset())}
			switch {
			case len(open) >= maxXMLDepth:
				r.errorAt(start, "", "elements are nested more than %d levels deep", maxXMLDepth)
				return nil
			case len(open) > 0:
				open[len(open)-1].add(n)
			case root != nil:
				r.errorAt(start, "", "a second element <%s> follows the first", x.Name.Local)
				return nil
			default:
				root = n
			}
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// errorAt notes what is wrong at an offset of the text.
func (r *xmlReader) errorAt(offset int, element, format string, args ...any) {
	r.failed = true
	if len(r.errors) >= maxXMLErrors {
		return
	}
	before := r.text[:min(offset, len(r.text))]
	line := bytes.LastIndexByte(before, '\n') + 1
	r.errors = append(r.errors, &XMLError{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[line:]),
		Element: element, Detail: fmt.Sprintf(format, args...)})
}

// place finds the value of an attribute of an element, or the element.
func (r *xmlReader) place(n *node, attribute string) int {
	tag := r.text[n.start:n.end]
	for at := 0; attribute != ""; {
		i := bytes.Index(tag[at:], []byte(attribute))
		if i < 0 {
			break
		}
		at += i + len(attribute)
		rest := bytes.TrimLeft(tag[at:], " \t\r\n")
		if c := tag[at-len(attribute)-1]; len(rest) > 0 && rest[0] == '=' && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ':') {
			rest = bytes.TrimLeft(rest[1:], " \t\r\n")
			return n.end - len(rest) + min(1, len(rest))
		}
	}
	return n.start
}

// incomplete reports what needs types that are declared and never described.
func (r *xmlReader) incomplete() {
	for _, t := range r.list {
		missing := slices.DeleteFunc(t.Incomplete(), func(name string) bool { return r.broken[r.types[name]] })
		for _, name := range missing {
			forward := r.types[name]
			if r.broken[forward] = true; r.forwards[forward] != nil {
				r.of = ""
				r.fail(r.forwards[forward], "name", "%s is declared and not described; %s needs it", name, t.Name())
			}
		}
	}
}

type xmlReader struct {
	text      []byte
	types     map[string]*xtypes.Type
	broken    map[*xtypes.Type]bool  // those in which something is wrong: who uses them says nothing more
	forwards  map[*xtypes.Type]*node // where types are declared ahead
	constants map[string]string
	spelled   map[string]string // names as they are spelled, by their small letters
	list      []*xtypes.Type
	of        string // the element that is read, for errors
	failed    bool   // what is read cannot be built
	errors    XMLErrors
}

// fail notes what is wrong with an element, at the value of an attribute if one is named.
func (r *xmlReader) fail(n *node, attribute, format string, args ...any) {
	r.errorAt(r.place(n, attribute), r.of, format, args...)
}

func (r *xmlReader) module(n *node, path []string) {
	for _, c := range n.Nodes {
		name := c.attr("name")
		full := strings.Join(append(path[:len(path):len(path)], name), "::")
		r.of = "<" + c.XMLName.Local + " name=" + strconv.Quote(name) + ">"
		if slices.Contains(xmlElements, c.XMLName.Local) && c.XMLName.Local != "directive" {
			r.name(c)
			if lower := strings.ToLower(full); r.spelled[lower] != full && r.spelled[lower] != "" {
				r.fail(c, "name", "%s clashes with %s: in IDL, names may not differ in case only", full, r.spelled[lower])
				continue
			} else {
				r.spelled[lower] = full
			}
		}
		switch c.XMLName.Local {
		case "module":
			r.module(c, append(path[:len(path):len(path)], name))
		case "const":
			r.constants[full] = c.attr("value")
		case "forward_dcl", "forwardDcl":
			if r.types[full] == nil {
				r.types[full] = xtypes.Forward(full)
				r.forwards[r.types[full]] = c
			}
		case "struct", "valuetype", "union", "enum", "typedef", "bitmask", "bitset":
			r.declare(c, path, full)
		case "directive":
		default:
			r.fail(c, "", "this element is not supported%s", after(suggest.DidYouMean(c.XMLName.Local, slices.Values(xmlElements))))
		}
	}
}

// name reports a name that IDL cannot have.
func (r *xmlReader) name(n *node) {
	if name := n.attr("name"); !isName(name) {
		r.fail(n, "name", "%q is no name in IDL, which are of letters, digits and underscores", name)
	}
}

var isName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString

// names checks those of the parts of a type.
func (r *xmlReader) names(of *node, spelled map[string]string) {
	for _, n := range of.Nodes {
		switch n.XMLName.Local {
		case "case":
			r.names(n, spelled)
		case "bitfield":
			if n.attr("name") == "" {
				continue // it takes room, and no more
			}
			fallthrough
		case "member", "enumerator", "flag", "bit_value":
			r.name(n)
			name := n.attr("name")
			if lower := strings.ToLower(name); spelled[lower] != "" && spelled[lower] != name {
				r.fail(n, "name", "%s clashes with %s: in IDL, names may not differ in case only", name, spelled[lower])
			} else {
				spelled[lower] = name
			}
		}
	}
}

func (r *xmlReader) declare(n *node, path []string, full string) {
	r.failed = false
	t := r.types[full]
	if t == nil {
		t = xtypes.Forward(full)
		r.types[full] = t
	} else if t.Kind() != xtypes.TKNone || r.broken[t] {
		r.fail(n, "name", "%s is described twice", full)
		return
	}
	r.names(n, map[string]string{})
	d := xtypes.TypeDescriptor{Name: full, Forward: t, Nested: r.flag(n, "nested"), Extensibility: r.extensibility(n)}
	switch n.XMLName.Local {
	case "struct", "valuetype":
		d.Kind = xtypes.TKStructure
		if base := n.attr("baseType", "baseClass"); base != "" {
			d.Base = r.lookup(n, cmp.Or(present(n, "baseType"), "baseClass"), path)
		}
		for _, m := range n.Nodes {
			if m.XMLName.Local == "member" {
				d.Members = append(d.Members, r.member(m, path))
			}
		}
	case "union":
		r.union(&d, n, path)
	case "enum":
		d.Kind, d.BitBound = xtypes.TKEnum, uint16(r.number(n, path, 0, 32, "bitBound", "bit_bound"))
		next := int32(0)
		for _, e := range n.Nodes {
			if v := e.attr("value"); v != "" {
				next = int32(r.number(e, path, -1<<31, 1<<31-1, "value"))
			}
			d.Literals = append(d.Literals, xtypes.Literal{Name: e.attr("name"), Value: next, Default: r.flag(e, "defaultLiteral")})
			next++
		}
	case "typedef":
		d.Kind, d.Target = xtypes.TKAlias, r.typ(n, path)
		d.Default, d.Min, d.Max = r.literal(n, d.Target, "default", path), r.literal(n, d.Target, "min", path), r.literal(n, d.Target, "max", path)
	case "bitmask":
		d.Kind, d.BitBound = xtypes.TKBitmask, uint16(r.number(n, path, 0, 64, "bitBound", "bit_bound"))
		next := uint16(0)
		for _, f := range n.Nodes {
			if f.attr("position") != "" {
				next = uint16(r.number(f, path, 0, 63, "position"))
			}
			d.Bitflags = append(d.Bitflags, xtypes.Bitflag{Name: f.attr("name"), Position: next})
			next++
		}
	case "bitset":
		r.bitset(&d, n, path)
	}
	if r.failed {
		r.broken[t] = true
		return
	}
	if _, err := xtypes.Build(d); err != nil {
		r.broken[t] = true
		at, detail := n, err.Error()
		if wrong := (*xtypes.BuildError)(nil); errors.As(err, &wrong) {
			detail = strings.TrimSpace(strings.TrimPrefix(wrong.Member+" "+wrong.Detail, " "))
			at = named(n, wrong.Member)
		}
		r.fail(at, "name", "%s", detail)
		return
	}
	r.list = append(r.list, t)
}

// named finds the last element with a name within another, which is the one that is wrong if there are two; the other
// if there is none.
func named(in *node, name string) *node {
	found := in
	for _, n := range in.Nodes {
		switch n.XMLName.Local {
		case "case":
			if m := named(n, name); m != n {
				found = m
			}
		default:
			if n.attr("name") == name && name != "" {
				found = n
			}
		}
	}
	return found
}

// after puts a hint behind a message.
func after(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// xmlElements are those within <types> and modules.
var xmlElements = []string{"module", "const", "forward_dcl", "struct", "valuetype", "union", "enum", "typedef", "bitmask", "bitset", "directive"}

func (r *xmlReader) extensibility(n *node) cdr.Extensibility {
	switch s := strings.ToLower(n.attr("extensibility")); s {
	case "final":
		return cdr.Final
	case "", "appendable", "extensible":
		return cdr.Appendable
	case "mutable":
		return cdr.Mutable
	default:
		r.fail(n, "extensibility", "extensibility %q is none of final, appendable, mutable", s)
	}
	return 0
}

func (r *xmlReader) flag(n *node, name string) bool {
	switch s := strings.ToLower(n.attr(name)); s {
	case "", "false", "0":
	case "true", "1":
		return true
	default:
		r.fail(n, name, "%s=%q is no boolean", name, s)
	}
	return false
}

// number reads an attribute that is a number or the name of a constant; 0 if there is none.
func (r *xmlReader) number(n *node, path []string, low, high int64, names ...string) int64 {
	s := n.attr(names...)
	if s == "" {
		return 0
	}
	v, ok := r.value(s, path)
	if !ok || v < low || v > high {
		which := names[0]
		for _, other := range names {
			if n.attr(other) == s && n.attr(which) == "" {
				which = other
			}
		}
		r.fail(n, which, "%s=%q is no number from %d to %d", which, s, low, high)
		return 0
	}
	return v
}

// value is a number, or that of a constant.
func (r *xmlReader) value(s string, path []string) (v int64, ok bool) {
	v, err := strconv.ParseInt(r.constant(s, path), 0, 64)
	return v, err == nil
}

// bound reads a length; -1 and no attribute stand for none.
func (r *xmlReader) bound(n *node, path []string, name string) uint32 {
	return uint32(max(0, r.number(n, path, -1, 1<<31-1, name)))
}

// lookup finds the type that an attribute names; nil after it has reported why not, or if that was.
func (r *xmlReader) lookup(n *node, attribute string, path []string) *xtypes.Type {
	name := strings.TrimPrefix(n.attr(attribute), "::")
	for i := len(path); i >= 0; i-- {
		if t := r.types[strings.Join(append(path[:i:i], name), "::")]; t != nil {
			r.failed = r.failed || r.broken[t]
			return t
		}
	}
	r.fail(n, attribute, "there is no type %q%s", name, after(suggest.DidYouMean(name, maps.Keys(r.types))))
	return nil
}

var xmlKinds = func() map[string]xtypes.Kind {
	m := map[string]xtypes.Kind{"octet": xtypes.TKByte, "char": xtypes.TKChar8, "wchar": xtypes.TKChar16, "short": xtypes.TKInt16,
		"unsignedShort": xtypes.TKUint16,
		"long":          xtypes.TKInt32, "unsignedLong": xtypes.TKUint32, "longLong": xtypes.TKInt64,
		"unsignedLongLong": xtypes.TKUint64, "float": xtypes.TKFloat32,
		"double": xtypes.TKFloat64, "longDouble": xtypes.TKFloat128}
	for k, word := range xmlWords {
		m[word] = k
	}
	return m
}()

// present gives the name of an attribute that an element has.
func present(n *node, name string) string {
	if n.attr(name) == "" {
		return ""
	}
	return name
}

// basic gives the type that an attribute names.
func (r *xmlReader) basic(n *node, path []string, word, other, bound string) *xtypes.Type {
	switch s := n.attr(word); s {
	case "nonBasic":
		return r.lookup(n, other, path)
	case "string":
		return xtypes.NewString(r.bound(n, path, bound))
	case "wstring":
		return xtypes.NewWString(r.bound(n, path, bound))
	default:
		if t := xtypes.Primitive(xmlKinds[s]); t != nil {
			return t
		}
		r.fail(n, word, "%s=%q is no type%s", word, s, after(suggest.DidYouMean(s, maps.Keys(xmlKinds))))
	}
	return nil
}

func (r *xmlReader) built(n *node, t *xtypes.Type, err error) *xtypes.Type {
	if err != nil {
		r.fail(n, "", "%v", err)
	}
	return t
}

func (r *xmlReader) typ(n *node, path []string) *xtypes.Type {
	t := r.basic(n, path, "type", "nonBasicTypeName", "stringMaxLength")
	if n.attr("mapKeyType") != "" {
		key, bound := r.basic(n, path, "mapKeyType", "mapKeyNonBasicTypeName", "mapKeyStringMaxLength"), r.bound(n, path, "mapMaxLength")
		if key == nil || t == nil || r.broken[key] || r.broken[t] {
			return nil
		}
		m, err := xtypes.NewMap(key, t, bound)
		t = r.built(n, m, err)
	}
	if n.attr("sequenceMaxLength") != "" {
		bound := r.bound(n, path, "sequenceMaxLength")
		if t == nil {
			return nil
		}
		s, err := xtypes.NewSequence(t, bound)
		t = r.built(n, s, err)
	}
	if dims := n.attr("arrayDimensions"); dims != "" {
		var list []uint32
		for d := range strings.SplitSeq(dims, ",") {
			v, ok := r.value(strings.TrimSpace(d), path)
			if !ok || v < 1 || v > 1<<31-1 {
				r.fail(n, "arrayDimensions", "arrayDimensions=%q is no number from %d to %d", strings.TrimSpace(d), 1, 1<<31-1)
				return nil
			}
			list = append(list, uint32(v))
		}
		if t == nil {
			return nil
		}
		a, err := xtypes.NewArray(t, list...)
		t = r.built(n, a, err)
	}
	return t
}

func (r *xmlReader) member(n *node, path []string) xtypes.Member {
	m := xtypes.Member{Name: n.attr("name"), AutoID: n.attr("id") == "", ID: uint32(r.number(n, path, 0, 1<<28-1, "id")),
		Key: r.flag(n, "key"), Optional: r.flag(n, "optional"),
		MustUnderstand: r.flag(n, "mustUnderstand"), External: r.flag(n, "external")}
	m.Type = r.typ(n, path)
	m.Default, m.Min, m.Max = r.literal(n, m.Type, "default", path), r.literal(n, m.Type, "min", path), r.literal(n, m.Type, "max", path)
	return m
}

// literal reads a value of a type, as RTI Connext has it in the attributes default, min and max; nil if there is none,
// or it is wrong and reported.
func (r *xmlReader) literal(n *node, t *xtypes.Type, attribute string, path []string) any {
	s := n.attr(attribute)
	if s == "" || t == nil || r.broken[t.Resolve()] {
		return nil
	}
	t = t.Resolve()
	switch k := t.Kind(); {
	case k == xtypes.TKString8 || k == xtypes.TKString16:
		if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
			s = s[1 : len(s)-1]
		}
		return s
	case k == xtypes.TKEnum:
		if l, ok := t.LiteralByName(strings.Trim(s[strings.LastIndex(s, ":")+1:], "()")); ok {
			return l.Value
		}
	case k == xtypes.TKBoolean:
		if b, err := strconv.ParseBool(strings.ToLower(s)); err == nil {
			return b
		}
	case k == xtypes.TKChar8 || k == xtypes.TKChar16:
		if len(s) >= 3 && s[0] == '\'' && s[len(s)-1] == '\'' {
			s = s[1 : len(s)-1]
		}
		return s
	case k == xtypes.TKFloat32:
		if f, err := strconv.ParseFloat(r.constant(s, path), 32); err == nil {
			return float32(f)
		}
	case k == xtypes.TKFloat64 || k == xtypes.TKFloat128:
		if f, err := strconv.ParseFloat(r.constant(s, path), 64); err == nil {
			return f
		}
	case k.Integer() || k == xtypes.TKByte || k == xtypes.TKBitmask:
		text := r.constant(s, path)
		if v, err := strconv.ParseInt(text, 0, 64); err == nil {
			return v
		}
		if v, err := strconv.ParseUint(text, 0, 64); err == nil {
			return v
		}
	}
	r.fail(n, attribute, "%s=%q is no value of type %s", attribute, s, t)
	return nil
}

// constant gives the text of the constant that is called so, or else what was given.
func (r *xmlReader) constant(s string, path []string) string {
	for i := len(path); i >= 0; i-- {
		if c, ok := r.constants[strings.Join(append(path[:i:i], s), "::")]; ok {
			return c
		}
	}
	return s
}

func (r *xmlReader) union(d *xtypes.TypeDescriptor, n *node, path []string) {
	d.Kind = xtypes.TKUnion
	for _, c := range n.Nodes {
		switch c.XMLName.Local {
		case "discriminator":
			d.Discriminator = xtypes.Member{Type: r.typ(c, path), Key: r.flag(c, "key")}
		case "case":
			var m xtypes.Member
			for _, e := range c.Nodes {
				if e.XMLName.Local == "member" {
					m = r.member(e, path)
				}
			}
			for _, e := range c.Nodes {
				if e.XMLName.Local == "caseDiscriminator" {
					r.label(&m, d.Discriminator.Type, e, path)
				}
			}
			d.Members = append(d.Members, m)
		}
	}
}

func (r *xmlReader) label(m *xtypes.Member, disc *xtypes.Type, n *node, path []string) {
	s := n.attr("value")
	switch {
	case s == "default":
		m.DefaultCase = true
		return
	case disc == nil:
		if !r.failed { // there is one, and it is wrong
			r.fail(n, "", "a case comes before the discriminator")
		}
		return
	case r.broken[disc.Resolve()]:
		return
	}
	switch t := disc.Resolve(); t.Kind() {
	case xtypes.TKEnum:
		name := s[strings.LastIndex(s, ":")+1:]
		if l, ok := t.LiteralByName(strings.Trim(name, "()")); ok {
			m.Labels = append(m.Labels, int64(l.Value))
			return
		}
	case xtypes.TKBoolean:
		if b, err := strconv.ParseBool(strings.ToLower(s)); err == nil {
			m.Labels = append(m.Labels, map[bool]int64{true: 1}[b])
			return
		}
	case xtypes.TKChar8, xtypes.TKChar16:
		if text := []rune(s); len(text) == 3 && text[0] == '\'' && text[2] == '\'' {
			m.Labels = append(m.Labels, int64(text[1]))
			return
		}
	}
	m.Labels = append(m.Labels, r.number(n, path, -1<<63, 1<<63-1, "value"))
}

func (r *xmlReader) bitset(d *xtypes.TypeDescriptor, n *node, path []string) {
	d.Kind = xtypes.TKBitset
	at := int64(0)
	if n.attr("baseType") != "" {
		if d.Base = r.lookup(n, "baseType", path); d.Base != nil && !r.broken[d.Base] {
			for b := d.Base.Resolve(); b != nil; b = b.Base() {
				for _, f := range b.Bitfields() {
					at = max(at, int64(f.Position)+int64(f.Bits))
				}
			}
		}
	}
	for _, f := range n.Nodes {
		bits := r.number(f, path, 1, 64, "bitBound", "bit_bound")
		if at > 64 {
			r.fail(f, "", "it has more than 64 bits")
			return
		}
		name, holder := f.attr("name"), xmlKinds[f.attr("type")]
		if f.attr("type") == "" {
			holder = defaultHolder(bits)
		}
		if name != "" {
			d.Bitfields = append(d.Bitfields, xtypes.Bitfield{Name: name, Position: uint16(at), Bits: uint8(bits), Holder: holder})
		}
		at += bits
	}
}

// defaultHolder is the type of a bit field that names none (IDL 4.2 §7.4.13.4.3.3).
func defaultHolder(bits int64) xtypes.Kind {
	switch {
	case bits == 1:
		return xtypes.TKBoolean
	case bits <= 8:
		return xtypes.TKByte
	case bits <= 16:
		return xtypes.TKUint16
	case bits <= 32:
		return xtypes.TKUint32
	}
	return xtypes.TKUint64
}
