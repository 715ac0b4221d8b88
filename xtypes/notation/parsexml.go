package notation

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/xtypes"
)

// maxXML bounds a document; with it the memory and the depth of elements.
const (
	maxXML      = 16 << 20
	maxXMLDepth = 64
)

// ParseXML reads the types of a document of DDS-XML 1.0, in their order: a <types> element, alone or in a <dds>. The words of RTI Connext
// and Fast DDS are understood as well (long, unsignedLong, octet, wchar; bit_value, bit_bound, sequenceMaxLength...). Types without
// extensibility are appendable.
func ParseXML(text []byte) ([]*xtypes.Type, error) {
	root, err := parseNodes(text)
	if err != nil {
		return nil, fmt.Errorf("notation: XML: %w", err)
	}
	r := xmlReader{types: map[string]*xtypes.Type{}, constants: map[string]string{}}
	if root.XMLName.Local == "dds" {
		for _, n := range root.Nodes {
			if n.XMLName.Local == "types" {
				r.module(n, nil)
			}
		}
	} else if root.XMLName.Local == "types" {
		r.module(root, nil)
	} else {
		r.fail("<%s> is neither <types> nor <dds>", root.XMLName.Local)
	}
	for _, t := range r.list {
		if missing := t.Incomplete(); len(missing) > 0 && r.err == nil {
			r.fail("%s needs %s, which is declared and not described", t.Name(), strings.Join(missing, ", "))
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.list, nil
}

// parseNodes reads a document with a limit on the depth of its elements.
func parseNodes(text []byte) (*node, error) {
	if len(text) > maxXML {
		return nil, fmt.Errorf("%d bytes exceed %d", len(text), maxXML)
	}
	d := xml.NewDecoder(strings.NewReader(string(text)))
	var root *node
	var open []*node
	for {
		token, err := d.Token()
		if token == nil {
			switch {
			case root == nil:
				return nil, fmt.Errorf("there is no element: %w", err)
			case len(open) > 0:
				return nil, err
			}
			return root, nil
		}
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{XMLName: x.Name, Attrs: x.Attr}
			switch {
			case len(open) >= maxXMLDepth:
				return nil, fmt.Errorf("elements are nested more than %d levels deep", maxXMLDepth)
			case len(open) > 0:
				open[len(open)-1].add(n)
			case root != nil:
				return nil, fmt.Errorf("a second element <%s> follows the first", x.Name.Local)
			default:
				root = n
			}
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

type xmlReader struct {
	types     map[string]*xtypes.Type
	constants map[string]string
	list      []*xtypes.Type
	of        string // the element that is read, for errors
	err       error
}

func (r *xmlReader) fail(format string, args ...any) {
	if r.err == nil {
		of := ""
		if r.of != "" {
			of = r.of + ": "
		}
		r.err = fmt.Errorf("notation: XML: %s%s", of, fmt.Sprintf(format, args...))
	}
}

func (r *xmlReader) module(n *node, path []string) {
	for _, c := range n.Nodes {
		if r.err != nil {
			return
		}
		name := c.attr("name")
		full := strings.Join(append(path[:len(path):len(path)], name), "::")
		r.of = "<" + c.XMLName.Local + " name=" + strconv.Quote(name) + ">"
		switch c.XMLName.Local {
		case "module":
			r.module(c, append(path[:len(path):len(path)], name))
		case "const":
			r.constants[full] = c.attr("value")
		case "forward_dcl", "forwardDcl":
			if r.types[full] == nil {
				r.types[full] = xtypes.Forward(full)
			}
		case "struct", "valuetype", "union", "enum", "typedef", "bitmask", "bitset":
			r.declare(c, path, full)
		case "directive":
		default:
			r.fail("this element is not supported")
		}
	}
}

func (r *xmlReader) declare(n *node, path []string, full string) {
	t := r.types[full]
	if t == nil {
		t = xtypes.Forward(full)
		r.types[full] = t
	}
	d := xtypes.TypeDescriptor{Name: full, Forward: t, Nested: r.flag(n, "nested"), Extensibility: r.extensibility(n)}
	switch n.XMLName.Local {
	case "struct", "valuetype":
		d.Kind = xtypes.TKStructure
		if base := n.attr("baseType", "baseClass"); base != "" {
			d.Base = r.lookup(base, path)
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
	if r.err != nil {
		return
	}
	if _, err := xtypes.Build(d); err != nil {
		r.fail("%v", err)
		return
	}
	r.list = append(r.list, t)
}

func (r *xmlReader) extensibility(n *node) cdr.Extensibility {
	switch s := strings.ToLower(n.attr("extensibility")); s {
	case "final":
		return cdr.Final
	case "", "appendable", "extensible":
		return cdr.Appendable
	case "mutable":
		return cdr.Mutable
	default:
		r.fail("extensibility %q is none of final, appendable, mutable", s)
	}
	return 0
}

func (r *xmlReader) flag(n *node, name string) bool {
	switch s := strings.ToLower(n.attr(name)); s {
	case "", "false", "0":
	case "true", "1":
		return true
	default:
		r.fail("%s=%q is no boolean", name, s)
	}
	return false
}

// number reads an attribute that is a number or the name of a constant; 0 if there is none.
func (r *xmlReader) number(n *node, path []string, low, high int64, names ...string) int64 {
	s := n.attr(names...)
	if s == "" {
		return 0
	}
	v, err := strconv.ParseInt(s, 0, 64)
	for i := len(path); err != nil && i >= 0; i-- {
		if c, ok := r.constants[strings.Join(append(path[:i:i], s), "::")]; ok {
			v, err = strconv.ParseInt(c, 0, 64)
			break
		}
	}
	if err != nil || v < low || v > high {
		r.fail("%s=%q is no number from %d to %d", names[0], s, low, high)
		return 0
	}
	return v
}

// bound reads a length; -1 and no attribute stand for none.
func (r *xmlReader) bound(n *node, path []string, name string) uint32 {
	return uint32(max(0, r.number(n, path, -1, 1<<31-1, name)))
}

func (r *xmlReader) lookup(name string, path []string) *xtypes.Type {
	name = strings.TrimPrefix(name, "::")
	for i := len(path); i >= 0; i-- {
		if t := r.types[strings.Join(append(path[:i:i], name), "::")]; t != nil {
			return t
		}
	}
	r.fail("there is no type %q", name)
	return nil
}

var xmlKinds = func() map[string]xtypes.Kind {
	m := map[string]xtypes.Kind{"octet": xtypes.TKByte, "char": xtypes.TKChar8, "wchar": xtypes.TKChar16, "short": xtypes.TKInt16, "unsignedShort": xtypes.TKUint16,
		"long": xtypes.TKInt32, "unsignedLong": xtypes.TKUint32, "longLong": xtypes.TKInt64, "unsignedLongLong": xtypes.TKUint64, "float": xtypes.TKFloat32,
		"double": xtypes.TKFloat64, "longDouble": xtypes.TKFloat128}
	for k, word := range xmlWords {
		m[word] = k
	}
	return m
}()

// basic gives the type that an attribute names.
func (r *xmlReader) basic(n *node, path []string, word, other, bound string) *xtypes.Type {
	switch s := n.attr(word); s {
	case "nonBasic":
		return r.lookup(n.attr(other), path)
	case "string":
		return xtypes.NewString(r.bound(n, path, bound))
	case "wstring":
		return xtypes.NewWString(r.bound(n, path, bound))
	default:
		if t := xtypes.Primitive(xmlKinds[s]); t != nil {
			return t
		}
		r.fail("%s=%q is no type", word, s)
	}
	return nil
}

func (r *xmlReader) built(t *xtypes.Type, err error) *xtypes.Type {
	if err != nil {
		r.fail("%v", err)
	}
	return t
}

func (r *xmlReader) typ(n *node, path []string) *xtypes.Type {
	t := r.basic(n, path, "type", "nonBasicTypeName", "stringMaxLength")
	if r.err == nil && n.attr("mapKeyType") != "" {
		key := r.basic(n, path, "mapKeyType", "mapKeyNonBasicTypeName", "mapKeyStringMaxLength")
		if r.err == nil {
			t = r.built(xtypes.NewMap(key, t, r.bound(n, path, "mapMaxLength")))
		}
	}
	if r.err == nil && n.attr("sequenceMaxLength") != "" {
		t = r.built(xtypes.NewSequence(t, r.bound(n, path, "sequenceMaxLength")))
	}
	if dims := n.attr("arrayDimensions"); r.err == nil && dims != "" {
		var list []uint32
		for d := range strings.SplitSeq(dims, ",") {
			list = append(list, uint32(r.number(element("", "arrayDimensions", strings.TrimSpace(d)), path, 1, 1<<31-1, "arrayDimensions")))
		}
		if r.err == nil {
			t = r.built(xtypes.NewArray(t, list...))
		}
	}
	return t
}

func (r *xmlReader) member(n *node, path []string) xtypes.Member {
	m := xtypes.Member{Name: n.attr("name"), AutoID: n.attr("id") == "", ID: uint32(r.number(n, path, 0, 1<<28-1, "id")), Key: r.flag(n, "key"), Optional: r.flag(n, "optional"),
		MustUnderstand: r.flag(n, "mustUnderstand"), External: r.flag(n, "external")}
	m.Type = r.typ(n, path)
	return m
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
		r.fail("a case comes before the discriminator")
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
	if base := n.attr("baseType"); base != "" {
		if d.Base = r.lookup(base, path); d.Base != nil {
			for b := d.Base.Resolve(); b != nil; b = b.Base() {
				for _, f := range b.Bitfields() {
					at = max(at, int64(f.Position)+int64(f.Bits))
				}
			}
		}
	}
	for _, f := range n.Nodes {
		bits := r.number(f, path, 1, 64, "bitBound", "bit_bound")
		if r.err != nil {
			return
		}
		if at > 64 {
			r.fail("it has more than 64 bits")
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
