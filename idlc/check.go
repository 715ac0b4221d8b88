package idlc

import (
	"math"
	"math/big"
	"strings"
)

// checker turns the syntax tree into the model. Declarations are checked in their order, so a name is known from its
// declaration on, as IDL demands.
type checker struct {
	report *Report
	root   *scope
	scope  *scope
	unit   *Unit
	later  map[string]Pos // where the names of the file are declared, for hints about those used too early
}

// scope is a module or the global scope. Names are kept in lower case: in IDL two names may not differ in case only.
type scope struct {
	name   string
	parent *scope
	names  map[string]*entry
}

type entry struct {
	name string // as declared
	pos  Pos
	what any // *scope, Decl, *Enumerator or *unknownDef
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

// check gives the model of a translation unit.
func check(file string, defs []definition, report *Report) *Unit {
	root := newScope("", nil)
	c := &checker{report: report, root: root, scope: root, unit: &Unit{File: file}, later: map[string]Pos{}}
	c.collect(defs)
	c.definitions(defs)
	c.completeness()
	return c.unit
}

// collect remembers where names are declared.
func (c *checker) collect(defs []definition) {
	remember := func(n *ident) {
		if _, known := c.later[n.Text]; !known {
			c.later[n.Text] = n.Pos
		}
	}
	for _, d := range defs {
		switch d := d.(type) {
		case *moduleDef:
			c.collect(d.Defs)
		case *structDef:
			remember(d.Name)
		case *enumDef:
			remember(d.Name)
		case *constDef:
			remember(d.Name)
		case *typedefDef:
			for _, decl := range d.Declarators {
				remember(decl.Name)
			}
		}
	}
}

// unknownHint tells what may be meant by a name that is not known: one that is declared later, or one that looks like it.
func (c *checker) unknownHint(part *ident, from *scope, here bool) string {
	if c.report.full() {
		return ""
	}
	if pos, ok := c.later[part.Text]; ok && (pos.Filename != part.Pos.Filename || pos.Offset > part.Pos.Offset) {
		return "it is declared later, at " + near(part.Pos, pos) + ": move it up"
	}
	return didYouMean(part.Text, func(yield func(string) bool) {
		for name := range from.visible(here) {
			if !yield(name) {
				return
			}
		}
		for name := range c.later {
			if !here && !yield(name) {
				return
			}
		}
	})
}

func (c *checker) definitions(defs []definition) {
	for _, d := range defs {
		switch d := d.(type) {
		case *moduleDef:
			c.module(d)
		case *structDef:
			c.structDef(d)
		case *enumDef:
			c.enumDef(d)
		case *typedefDef:
			c.typedef(d)
		case *constDef:
			c.constDef(d)
		case *unknownDef:
			key := strings.ToLower(d.Name)
			if c.scope.names[key] == nil {
				c.scope.names[key] = &entry{d.Name, d.Pos, d}
			}
		}
	}
}

func (c *checker) module(d *moduleDef) {
	c.annotations(d.Annotations, "module", nil)
	var inner *scope
	if e := c.scope.names[strings.ToLower(d.Name.Text)]; e != nil && e.name == d.Name.Text {
		inner, _ = e.what.(*scope) // opened again
	}
	if inner == nil {
		inner = newScope(d.Name.Text, c.scope)
		c.declare(d.Name, inner)
	}
	outer := c.scope
	c.scope = inner
	c.definitions(d.Defs)
	c.scope = outer
}

// reserved are the words that IDL keeps for itself (IDL 4.2 table 7-6); a leading underscore makes them names.
var reserved = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(`abstract any alias attribute bitfield bitmask bitset boolean case char component
		connector const consumes context custom default double emits enum eventtype exception factory finder fixed
		float getraises getter home import in inout interface local long manages map mirrorport module multiple native
		object octet oneway out primarykey private port porttype provides public publishes raises readonly setter
		sequence setraises short string struct supports switch true truncatable typedef typeid typename typeprefix
		unsigned union uses valuebase valuetype void wchar wstring int8 uint8 int16 int32 int64 uint16 uint32 uint64`) {
		words[w] = true
	}
	return words
}()

// cleanName checks a declared name and strips the underscore that protects it from being a keyword.
func (c *checker) cleanName(n *ident) string {
	if rest, ok := strings.CutPrefix(n.Text, "_"); ok && rest != "" {
		return rest
	}
	if reserved[strings.ToLower(n.Text)] {
		c.report.errorf(n.Pos, "write _"+n.Text, "%q is a keyword of IDL", n.Text)
	}
	return n.Text
}

// declare enters a name into the current scope.
func (c *checker) declare(n *ident, what any) bool {
	name := c.cleanName(n)
	key := strings.ToLower(name)
	old := c.scope.names[key]
	if old == nil {
		c.scope.names[key] = &entry{name, n.Pos, what}
		return true
	}
	if old.name == name {
		c.report.errorf(n.Pos, "", "%s is declared twice, first at %s", name, near(n.Pos, old.pos))
	} else {
		c.report.errorf(n.Pos, "in IDL, names may not differ in case only", "%s clashes with %s, declared at %s", name, old.name, near(n.Pos, old.pos))
	}
	return false
}

// near leaves the file name out of a position in the same file.
func near(here, there Pos) string {
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
		var e *entry
		for s := start; s != nil && e == nil; s = s.parent {
			e = s.names[strings.ToLower(name)]
			if i > 0 || n.Global {
				break
			}
		}
		switch {
		case e == nil:
			c.report.errorf(part.Pos, c.unknownHint(part, start, i > 0 || n.Global), "unknown %s %s", what, n)
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
		case *unknownDef:
			return inner
		default:
			c.report.errorf(part.Pos, "", "%s is not a module", part.Text)
			return nil
		}
	}
	return found
}

// visible lists the names that can be used in a scope, primitive types included.
func (s *scope) visible(here bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for ; s != nil; s = s.parent {
			for _, e := range s.names {
				if !yield(e.name) {
					return
				}
			}
			if here {
				return
			}
		}
		for w := range primitiveWords {
			if !yield(w) {
				return
			}
		}
		for _, w := range []string{"string", "wstring", "sequence", "unsigned"} {
			if !yield(w) {
				return
			}
		}
	}
}

// typeOf resolves a type where it is used; nil after it has reported why not. incomplete allows a struct that is only
// declared forward, as in a sequence of it.
func (c *checker) typeOf(s *typeSpec, incomplete bool) Type {
	switch {
	case s.Unsupported != "":
		name := s.Unsupported
		if name == "longdouble" {
			name = "long double"
		}
		c.report.errorf(s.Pos, "", "not supported yet by this version: type %s", name)
		return nil
	case len(s.Primitive) > 0:
		return primitiveWords[strings.Join(s.Primitive, " ")]
	case s.String != nil:
		bound, ok := c.bound(s.String.Bound)
		if !ok {
			return nil
		}
		return &String{Wide: s.String.Kind == "wstring", Bound: bound}
	case s.Sequence != nil:
		elem := c.typeOf(s.Sequence.Element, true)
		bound, ok := c.bound(s.Sequence.Bound)
		if elem == nil || !ok {
			return nil
		}
		return &Sequence{Elem: elem, Bound: bound}
	case s.Name != nil:
		return c.namedType(s.Name, incomplete)
	}
	return nil
}

func (c *checker) namedType(n *scopedName, incomplete bool) Type {
	switch found := c.lookup(n, "type").(type) {
	case nil, *unknownDef:
		return nil
	case *Struct:
		if !found.Complete && !incomplete {
			c.report.errorf(n.Pos, "define it before, or use a sequence of it", "struct %s is not complete here", found.Name)
			return nil
		}
		return found
	case *Enum:
		return found
	case *Alias:
		if !incomplete && !isComplete(found) {
			c.report.errorf(n.Pos, "", "type %s is not complete here", found.Name)
			return nil
		}
		return found
	case *Const:
		c.report.errorf(n.Pos, "", "%s is a constant, not a type", n)
	case *Enumerator:
		c.report.errorf(n.Pos, "", "%s is an enumerator of %s, not a type", n, found.Enum.Name)
	case *scope:
		c.report.errorf(n.Pos, "", "%s is a module, not a type", n)
	}
	return nil
}

// isComplete tells whether the size of a value is known; a sequence hides its element.
func isComplete(t Type) bool {
	switch t := resolve(t).(type) {
	case *Struct:
		return t.Complete
	case *Array:
		return isComplete(t.Elem)
	}
	return true
}

func (c *checker) bound(e *exprSum) (int, bool) {
	if e == nil {
		return 0, true
	}
	return c.positive(e.Pos, c.evalSum(e), "bound")
}

// positive checks a bound or an array dimension.
func (c *checker) positive(pos Pos, v Value, what string) (int, bool) {
	switch {
	case !v.Valid():
		return 0, false
	case v.Int == nil || v.Char:
		c.report.errorf(pos, "", "%s must be an integer, not %s", what, v.kind())
	case v.Int.Sign() <= 0:
		c.report.errorf(pos, "", "%s must be at least 1, not %s", what, v.Int)
	case v.Int.Cmp(big.NewInt(math.MaxInt32)) > 0:
		c.report.errorf(pos, "", "%s must be at most %d, not %s", what, math.MaxInt32, v.Int)
	default:
		return int(v.Int.Int64()), true
	}
	return 0, false
}

// declared applies the dimensions of a declarator to a type.
func (c *checker) declared(t Type, d *declarator) Type {
	var dims []int
	for _, e := range d.Dims {
		n, ok := c.positive(e.Pos, c.eval(e), "array dimension")
		if !ok {
			return nil
		}
		dims = append(dims, n)
	}
	if t == nil {
		return nil
	}
	if len(dims) > 0 {
		t = &Array{Elem: t, Dims: dims}
		if n := memorySize(t); n > maxValue {
			c.report.errorf(d.Pos, "use a sequence", "array %s takes %.0f bytes, more than %d", d.Name.Text, n, maxValue)
			return nil
		}
	}
	switch {
	case depthOf(t) > maxDepth:
		c.report.errorf(d.Pos, "nest fewer arrays and sequences", "%s has values nested more than %d deep", d.Name.Text, maxDepth)
		return nil
	case sequencesOf(t) > maxSequences:
		c.report.errorf(d.Pos, "put structs between them", "%s has sequences nested more than %d deep", d.Name.Text, maxSequences)
		return nil
	}
	return t
}

func (c *checker) typedef(d *typedefDef) {
	c.annotations(d.Annotations, "typedef", nil)
	t := c.typeOf(d.Type, true)
	for _, decl := range d.Declarators {
		target := c.declared(t, decl)
		if target == nil {
			c.declare(decl.Name, &unknownDef{decl.Pos, decl.Name.Text})
			continue
		}
		a := &Alias{Common: c.common(decl.Name, d.Doc), Target: target, final: resolve(target)}
		if c.declare(decl.Name, a) {
			c.unit.Decls = append(c.unit.Decls, a)
		}
	}
}

func (c *checker) constDef(d *constDef) {
	c.annotations(d.Annotations, "const", nil)
	t := c.typeOf(d.Type, false)
	v := c.eval(d.Value)
	if t != nil && v.Valid() {
		v = c.convert(d.Value.Pos, v, t)
	}
	if t == nil || !v.Valid() {
		c.declare(d.Name, &unknownDef{d.Name.Pos, d.Name.Text})
		return
	}
	k := &Const{Common: c.common(d.Name, d.Doc), Type: t, Value: v}
	if c.declare(d.Name, k) {
		c.unit.Decls = append(c.unit.Decls, k)
	}
}

// convert checks that a value is one of type t and gives it the form of t.
func (c *checker) convert(pos Pos, v Value, t Type) Value {
	wrong := func() Value {
		c.report.errorf(pos, "", "%s is no value of type %s", v.kind(), typeName(t))
		return Value{}
	}
	switch r := resolve(t).(type) {
	case Primitive:
		info := primitives[r]
		switch {
		case r == Boolean:
			if v.Bool == nil {
				return wrong()
			}
		case r == Char || r == WChar:
			if !v.Char {
				return wrong()
			}
			if r == Char && v.Int.Cmp(big.NewInt(255)) > 0 {
				c.report.errorf(pos, "use wchar", "character %s does not fit into a char", v.Int)
				return Value{}
			}
		case info.integer:
			if v.Int == nil || v.Char {
				return wrong()
			}
			lo, hi := integerRange(info)
			if v.Int.Cmp(lo) < 0 || v.Int.Cmp(hi) > 0 {
				c.report.errorf(pos, "", "%s does not fit into %s, which holds %s to %s", v.Int, info.idl, lo, hi)
				return Value{}
			}
		default:
			f, ok := v.float()
			if !ok {
				return wrong()
			}
			if r == Float32 && math.Abs(f) > math.MaxFloat32 {
				c.report.errorf(pos, "use double", "%g does not fit into float", f)
				return Value{}
			}
			return Value{Float: &f}
		}
		return v
	case *String:
		if v.Str == nil {
			return wrong()
		}
		if n := len(*v.Str); r.Bound > 0 && !r.Wide && n > r.Bound {
			c.report.errorf(pos, "", "string of %d bytes exceeds its bound of %d", n, r.Bound)
			return Value{}
		}
		return v
	case *Enum:
		if v.Enum == nil || v.Enum.Enum != r {
			return wrong()
		}
		return v
	}
	c.report.errorf(pos, "", "a constant cannot be of type %s", typeName(t))
	return Value{}
}

func integerRange(info primitiveInfo) (lo, hi *big.Int) {
	bits := uint(8 * info.size)
	one := big.NewInt(1)
	if info.signed {
		hi = new(big.Int).Lsh(one, bits-1)
		return new(big.Int).Neg(hi), new(big.Int).Sub(hi, one)
	}
	return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, bits), one)
}

// completeness reports structs that were promised and never defined, and typedefs that became too large when a struct was.
func (c *checker) completeness() {
	var walk func(s *scope)
	walk = func(s *scope) {
		for _, e := range s.names {
			switch w := e.what.(type) {
			case *scope:
				walk(w)
			case *Struct:
				if !w.Complete {
					c.report.errorf(w.Pos, "", "struct %s is declared but never defined", w.Name)
				}
			}
		}
	}
	walk(c.root)
	for _, d := range c.unit.Decls {
		if a, ok := d.(*Alias); ok {
			if n := memorySize(a); n > maxValue {
				c.report.errorf(a.Pos, "use a sequence", "array %s takes %.0f bytes, more than %d", a.Name, n, maxValue)
			}
			if depthOf(a) > maxDepth {
				c.report.errorf(a.Pos, "nest fewer arrays and sequences", "%s has values nested more than %d deep", a.Name, maxDepth)
			}
		}
	}
}
