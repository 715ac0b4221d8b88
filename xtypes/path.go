package xtypes

import (
	"fmt"
	"strconv"
	"strings"
)

// Discriminator is the name by which paths reach the discriminator of a union.
const Discriminator = "_d"

// Step is one step of a Path: a member, or an element of a sequence or an array.
type Step struct {
	Member *Member // nil for an element; the Discriminator has Index -1
	Index  int     // of the element, over all dimensions of an array
}

// Path leads from a type to a part of its values. It is immutable.
type Path struct {
	root, typ *Type
	steps     []Step
	text      string
}

// Root is the type that the path starts at.
func (p Path) Root() *Type { return p.root }

// Type is the type of what the path leads to, typedefs as they were declared.
func (p Path) Type() *Type { return p.typ }

// Steps gives the path's steps; they must not be changed.
func (p Path) Steps() []Step { return p.steps }

// String gives the text that was parsed.
func (p Path) String() string { return p.text }

// PathError says where a path leaves its type.
type PathError struct {
	Path   string
	At     string // what of it was found
	Type   string // of what was found
	Detail string
}

// Error gives one sentence: "xtypes: path a.b[3].c: a.b (sequence<long>) ...".
func (e *PathError) Error() string {
	at := e.At
	if at == "" {
		at = "the sample"
	}
	return fmt.Sprintf("xtypes: path %q: %s is a %s: %s", e.Path, at, e.Type, e.Detail)
}

// Path finds a part of a type: "position.lat", "route[3].name", "matrix[1][2]". In a union, "_d" is the discriminator.
// The empty path is the type itself.
func (t *Type) Path(text string) (Path, error) {
	p := pathParser{Path: Path{root: t, typ: t, text: text}, rest: text}
	for p.rest != "" {
		var err error
		if p.rest[0] == '[' {
			err = p.elements()
		} else {
			err = p.member()
		}
		if err != nil {
			return Path{}, err
		}
	}
	return p.Path, nil
}

type pathParser struct {
	Path
	rest string
}

func (p *pathParser) errorf(format string, args ...any) error {
	return &PathError{Path: p.text, At: strings.TrimSuffix(p.text[:len(p.text)-len(p.rest)], "."), Type: p.typ.String(),
		Detail: fmt.Sprintf(format, args...)}
}

func (p *pathParser) member() error {
	if len(p.steps) > 0 {
		if p.rest[0] != '.' {
			return p.errorf("expected '.' or '[' before %q", p.rest)
		}
		p.rest = p.rest[1:]
	}
	n := strings.IndexAny(p.rest, ".[")
	if n < 0 {
		n = len(p.rest)
	}
	name := p.rest[:n]
	t := p.typ.Resolve()
	m := t.byName[name]
	if m == nil && t.disc != nil && name == Discriminator {
		m = t.disc
	}
	switch {
	case name == "":
		return p.errorf("expected the name of a member at byte %d", len(p.text)-len(p.rest))
	case t.d.Kind != TKStructure && t.d.Kind != TKUnion:
		return p.errorf("it has no member %q", name)
	case m == nil:
		return p.errorf("it has no member %q; it has %s", name, memberNames(t))
	}
	p.steps = append(p.steps, Step{Member: m})
	p.typ = m.Type
	p.rest = p.rest[n:]
	return nil
}

// memberNames lists what a path may name, and not more than helps.
func memberNames(t *Type) string {
	const most = 12
	var names []string
	for i, m := range t.all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(t.all)-most))
			break
		}
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return "no members"
	}
	return strings.Join(names, ", ")
}

// elements reads one index for a sequence, and one for each dimension of an array.
func (p *pathParser) elements() error {
	t := p.typ.Resolve()
	dims := t.d.Dims
	switch {
	case t.d.Kind == TKSequence:
		most := t.d.Bound
		if most == 0 {
			most = maxBound
		}
		dims = []uint32{most}
	case t.d.Kind == TKMap:
		return p.errorf("paths do not reach into maps")
	case t.d.Kind != TKArray:
		return p.errorf("it has no elements")
	}
	rest, index := p.rest, 0
	for _, dim := range dims {
		end := strings.IndexByte(rest, ']')
		if rest == "" || rest[0] != '[' || end < 0 {
			return p.errorf("expected %s, got %q", strings.Repeat("[index]", len(dims)), p.rest)
		}
		i, err := strconv.ParseUint(rest[1:end], 10, 31)
		if err != nil {
			return p.errorf("%q is no index", rest[1:end])
		}
		if uint32(i) >= dim {
			return p.errorf("index %d is not below %d", i, dim)
		}
		index = index*int(dim) + int(i)
		rest = rest[end+1:]
	}
	p.steps = append(p.steps, Step{Index: index})
	p.typ = t.d.Elem
	p.rest = rest
	return nil
}

// String gives the type as IDL writes it where it is used: "sequence<long, 4>", "avionics::AirData".
func (t *Type) String() string {
	switch t.d.Kind {
	case TKString8, TKString16:
		if t.d.Bound > 0 {
			return fmt.Sprintf("%s<%d>", t.d.Kind, t.d.Bound)
		}
		return t.d.Kind.String()
	case TKSequence:
		if t.d.Bound > 0 {
			return fmt.Sprintf("sequence<%s, %d>", t.d.Elem, t.d.Bound)
		}
		return fmt.Sprintf("sequence<%s>", t.d.Elem)
	case TKMap:
		if t.d.Bound > 0 {
			return fmt.Sprintf("map<%s, %s, %d>", t.d.MapKey, t.d.Elem, t.d.Bound)
		}
		return fmt.Sprintf("map<%s, %s>", t.d.MapKey, t.d.Elem)
	case TKArray:
		s := t.d.Elem.String()
		for _, d := range t.d.Dims {
			s += fmt.Sprintf("[%d]", d)
		}
		return s
	}
	if t.d.Name != "" {
		return t.d.Name
	}
	return t.d.Kind.String()
}
