package idlc

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
)

// scope is a module, an interface or the global scope. Names are kept in lower case: in IDL two names may not differ in
// case only. Annotations have names of their own, with the sign in front.
type scope struct {
	name   string
	parent *scope
	names  map[string]*entry
	kind   string // "interface" and the like; "" is a module
}

type entry struct {
	name string // as declared
	pos  Pos
	what any // *scope, Decl, *Enumerator, *Flag, *AnnotationType, *skippedDef or *unknownDef
}

func newScope(name string, parent *scope) *scope {
	return &scope{name: name, parent: parent, names: map[string]*entry{}}
}

func (s *scope) path() []string {
	if s.parent == nil {
		return nil
	}
	return append(s.parent.path(), s.name)
}

// words makes a set.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// reserved are the words that IDL keeps for itself (IDL 4.2 table 7-6); a leading underscore makes them names.
var reserved = words(`any boolean case char const default double enum false fixed float long module octet sequence short string
	struct switch true typedef union unsigned wchar wstring`)

// reservedElsewhere are those of building blocks that describe no data, or that came late. Files of other tools use
// them as names.
var reservedElsewhere = words(`abstract alias attribute bitfield bitmask bitset component connector consumes context custom emits
	eventtype exception factory finder getraises getter home import in inout interface local manages map mirrorport multiple
	native object oneway out primarykey private port porttype provides public publishes raises readonly setter setraises
	supports truncatable typeid typename typeprefix uses valuebase valuetype void int8 uint8 int16 int32 int64 uint16 uint32
	uint64`)

// cleanName checks a declared name and strips the underscore that protects it from being a keyword.
func (c *checker) cleanName(n *ident) string {
	if rest, ok := strings.CutPrefix(n.Text, "_"); ok && rest != "" {
		return rest
	}
	switch lower := strings.ToLower(n.Text); {
	case !reserved[lower] && !reservedElsewhere[lower]:
	case reserved[n.Text] || n.Text == "TRUE" || n.Text == "FALSE" || c.strict:
		c.report.errorf(n.Pos, "write _"+n.Text, "%q is a keyword of IDL", n.Text)
	default: // other compilers take it
		c.report.warnf(n.Pos, "write _"+n.Text+", which is the same name", "%q is a keyword of IDL", n.Text)
	}
	return n.Text
}

// declare enters a name into the current scope.
func (c *checker) declare(n *ident, what any) bool {
	name := c.cleanName(n)
	if c.strict && strings.EqualFold(name, c.scope.name) {
		c.report.errorf(n.Pos, "", "%s cannot be declared within %s itself", name, c.scope.name)
	}
	old := c.scope.enter(name, n.Pos, what)
	switch {
	case old == nil:
		return true
	case old.name == name:
		c.report.errorf(n.Pos, "", "%s is declared twice, first at %s", name, c.near(n.Pos, old.pos))
	default:
		c.report.errorf(n.Pos, "in IDL, names may not differ in case only", "%s clashes with %s, declared at %s", name, old.name,
			c.near(n.Pos, old.pos))
	}
	return false
}

// enter adds a name, or gives what has it already.
func (s *scope) enter(name string, pos Pos, what any) *entry {
	key := strings.ToLower(name)
	if old := s.names[key]; old != nil {
		return old
	}
	s.names[key] = &entry{name, pos, what}
	return nil
}

// get finds a name in this scope alone, whatever the case of its letters.
func (s *scope) get(name string) *entry { return s.names[strings.ToLower(name)] }

// near leaves the file name out of a position in the same file.
func (c *checker) near(here, there Pos) string {
	here, there = c.report.presumedPos(here), c.report.presumedPos(there)
	if here.Filename == there.Filename {
		return "line " + itoa(there.Line)
	}
	return there.String()
}

func (c *checker) common(n *ident, doc string) Common {
	return Common{Name: strings.TrimPrefix(n.Text, "_"), Module: c.scope.path(), Doc: doc, Pos: n.Pos}
}

// lookup resolves a name: its first part from the current scope outwards, the others from there. It reports a name that
// is not known and gives nil.
func (c *checker) lookup(n *scopedName, what string) any {
	start := c.scope
	if n.Global {
		start = c.root
	}
	var found any
	for i, part := range n.Parts {
		name := strings.TrimPrefix(part.Text, "_")
		here := i > 0 || n.Global
		var e *entry
		for s := start; s != nil && e == nil; s = s.parent {
			if e = s.get(name); here {
				break
			}
		}
		switch {
		case e == nil:
			hint := ""
			if what == "type" && !c.strict && n.String() == "char16" {
				return WChar // as the data model of XTypes and DDS-XML call it
			}
			if w := foreignTypes[n.String()]; w != "" && what == "type" {
				hint = "IDL calls it " + w
			} else {
				hint = c.unknownHint(part, start, here, what)
			}
			c.report.errorf(part.Pos, hint, "unknown %s %s", what, n)
			return nil
		case e.name != name:
			c.report.errorf(part.Pos, "did you mean "+e.name+"?", "unknown %s %s: case counts", what, n)
			return nil
		}
		found = e.what
		if i == len(n.Parts)-1 {
			return found
		}
		switch inner := found.(type) {
		case *scope:
			start = inner
		case *Enum:
			start = inner.names
		case *Bitmask:
			start = inner.names
		case *Alias:
			switch of := inner.final.(type) {
			case *Enum:
				start = of.names
			case *Bitmask:
				start = of.names
			default:
				c.report.errorf(part.Pos, "", "%s is not a module", part.Text)
				return nil
			}
		case *unknownDef, *skippedDef:
			return inner
		default:
			c.report.errorf(part.Pos, "", "%s is not a module", part.Text)
			return nil
		}
	}
	return found
}

// foreignTypes are what other languages and tools call the types of IDL.
var foreignTypes = map[string]string{
	"bool": "boolean", "byte": "octet", "int": "long", "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16",
	"int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64", "float32": "float", "float64": "double",
	"float32_t": "float", "float64_t": "double", "char8": "char", "char16": "wchar", "char16_t": "wchar", "wchar_t": "wchar",
	"vector": "sequence", "list": "sequence", "str": "string", "String": "string", "std::string": "string", "std::wstring": "wstring",
	"uint": "unsigned long", "ulong": "unsigned long", "ushort": "unsigned short", "size_t": "unsigned long long", "uchar": "octet",
	"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
	"f32": "float", "f64": "double", "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "BYTE": "octet", "WORD": "unsigned short",
	"DWORD": "unsigned long", "QWORD": "unsigned long long", "BOOL": "boolean", "rune": "wchar", "real": "double",
}

// unknownHint tells what may be meant by a name that is not known: one that is declared later, or one that looks like it.
func (c *checker) unknownHint(part *ident, from *scope, here bool, what string) string {
	if c.report.full() {
		return ""
	}
	if pos, ok := c.later[part.Text]; ok && (pos.Filename != part.Pos.Filename || pos.Offset > part.Pos.Offset) {
		return "it is declared later, at " + c.near(part.Pos, pos) + ": move it up"
	}
	near := suggest.DidYouMean(part.Text, func(yield func(string) bool) {
		for name := range from.visible(here) {
			if !yield(name) {
				return
			}
		}
		for name := range c.later {
			if !here && name != part.Text && !yield(name) {
				return
			}
		}
		for w := range primitiveWords {
			if what == "type" && !here && !yield(w) {
				return
			}
		}
		for _, w := range []string{"string", "wstring", "sequence", "map", "unsigned", "TRUE", "FALSE"} {
			if (what == "type") != (w == "TRUE" || w == "FALSE") && !here && !yield(w) {
				return
			}
		}
	})
	if what == "constant" && !here && c.extra != nil && len(c.extra.names) > 0 { // a label, or another place that takes one type
		if near != "" {
			near += " "
		}
		near += c.extra.has()
	}
	return near
}

// has lists what a scope has, in the order in which it was declared.
func (s *scope) has() string {
	const most = 10
	list := slices.SortedFunc(maps.Values(s.names), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.pos.Offset, b.pos.Offset), cmp.Compare(a.name, b.name))
	})
	text := s.name + " has "
	for i, e := range list[:min(len(list), most)] {
		if i > 0 {
			text += ", "
		}
		text += e.name
	}
	if n := len(list) - most; n > 0 {
		text += " and " + itoa(n) + " more"
	}
	return text
}

// visible lists the names that can be used in a scope.
func (s *scope) visible(here bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for ; s != nil; s = s.parent {
			for _, e := range s.names {
				if e.name[0] != '@' && !yield(e.name) {
					return
				}
			}
			if here {
				return
			}
		}
	}
}
