package idlc

import (
	"maps"
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
)

// subject is what annotations stand in front of.
type subject struct {
	on   target
	name string
	typ  Type // of the member, typedef or constant; nil if it is not known
}

// annotations checks what is written in front of a declaration, and gives what was in order.
func (c *checker) annotations(list []*annotation, s subject) []*Applied {
	var good []*Applied
	for _, a := range list {
		a = a.asStandard(s.on)
		name := a.Name.String()
		t := c.annotationType(a)
		switch {
		case t == nil:
			if !vendorAnnotations[name] {
				c.report.warnf(a.Pos, suggest.DidYouMean("@"+name, c.knownAnnotations), "unknown annotation @%s is ignored", name)
			}
		case t.on != 0 && t.on&s.on == 0:
			c.report.errorf(a.Pos, "", "@%s does not apply to %s %s", name, article(s.on.String()), s.on)
		default:
			if applied := c.arguments(a, t, s); applied != nil && !c.contradicts(applied, good, s) {
				good = append(good, applied)
			}
		}
	}
	return good
}

// contradicts tells whether an annotation of the standard says something else than the same one in front of it. Texts
// for several languages and platforms may be given.
func (c *checker) contradicts(a *Applied, before []*Applied, s subject) bool {
	name := a.standard()
	if name == "" || name == "verbatim" || name == "service" || name == "extensibility" {
		return false
	}
	for _, b := range before {
		if name == "topic" && b.Type == a.Type && *a.Args[1].Str != *b.Args[1].Str {
			continue // one for each platform
		}
		if b.Type == a.Type && !slices.EqualFunc(a.Args, b.Args, func(x, y Value) bool { return x.text() == y.text() }) {
			c.report.errorf(a.Pos, "", "@%s of %s is given twice: %s, and before it %s", name, s.name, a.arguments(), b.arguments())
			return true
		}
	}
	return false
}

// asStandard gives three annotations of other compilers in the words of the standard: @topic(FALSE) of OpenDDS, which
// is @nested, @Key of early versions of Fast DDS, for to ignore a key would change the type, and
// @allowed_data_representation of RTI Connext.
func (a *annotation) asStandard(on target) *annotation {
	rename := func(name string, args ...*annotationArg) *annotation {
		return &annotation{a.Pos, &scopedName{Pos: a.Name.Pos, Parts: []*ident{{a.Name.Pos, name}}}, args}
	}
	switch a.Name.String() {
	case "Key":
		return rename("key", a.Args...)
	case "allowed_data_representation":
		if on&standardAnnotations["data_representation"].on == 0 || len(a.Args) != 1 {
			break
		}
		return rename("data_representation", &annotationArg{Pos: a.Args[0].Pos, Value: a.Args[0].Value})
	case "topic":
		if len(a.Args) != 1 || a.Args[0].Name != nil || a.Args[0].Value.Name == nil {
			break
		}
		switch at := a.Args[0].Pos; strings.ToUpper(a.Args[0].Value.Name.String()) {
		case "TRUE":
			return rename("topic")
		case "FALSE":
			yes := &scopedName{Pos: at, Parts: []*ident{{at, "TRUE"}}}
			return rename("nested", &annotationArg{Pos: at, Value: &expr{Pos: at, Name: yes}})
		}
	}
	return a
}

// annotationType finds one of the user's own, or one of the standard.
func (c *checker) annotationType(a *annotation) *AnnotationType {
	if c.annotated {
		start := c.scope
		if a.Name.Global {
			start = c.root
		}
		for s := start; s != nil; s = s.parent {
			in := s
			for _, part := range a.Name.Parts[:len(a.Name.Parts)-1] {
				e := in.get(part.Text)
				if e == nil {
					in = nil
					break
				}
				if in, _ = e.what.(*scope); in == nil {
					break
				}
			}
			if in == nil {
				continue
			}
			if e := in.get("@" + a.Name.Parts[len(a.Name.Parts)-1].Text); e != nil {
				return e.what.(*AnnotationType)
			}
		}
	}
	if len(a.Name.Parts) == 1 {
		return standardAnnotations[a.Name.Parts[0].Text]
	}
	return nil
}

func (c *checker) knownAnnotations(yield func(string) bool) {
	for _, name := range slices.Sorted(maps.Keys(standardAnnotations)) {
		if !yield("@" + name) {
			return
		}
	}
	for _, t := range c.unit.Annotations {
		if !yield("@" + t.Scoped()) {
			return
		}
	}
}

// arguments gives each parameter its value; nil after it has reported why not.
func (c *checker) arguments(a *annotation, t *AnnotationType, s subject) *Applied {
	applied := &Applied{Type: t, Args: make([]Value, len(t.Params)), Pos: a.Pos, argPos: a.Pos}
	given := make([]bool, len(t.Params))
	if len(a.Args) > 0 {
		applied.argPos = a.Args[0].Value.Pos
	}
	if len(a.Args) > len(t.Params) {
		c.report.errorf(a.Pos, "", "@%s takes %s, not %d", a.Name, argumentCount(t), len(a.Args))
		return nil
	}
	ok := true
	for i, arg := range a.Args {
		at := i
		if arg.Name != nil {
			at = slices.IndexFunc(t.Params, func(p *AnnotationParam) bool { return p.Name == strings.TrimPrefix(arg.Name.Text, "_") })
			if at < 0 {
				c.report.errorf(arg.Pos, suggest.DidYouMean(arg.Name.Text, t.paramNames), "@%s has no parameter %s", a.Name, arg.Name.Text)
				return nil
			}
		} else if len(a.Args) == 1 { // what is left out has its default
			at = max(0, slices.IndexFunc(t.Params, func(p *AnnotationParam) bool { return !p.Default.Valid() }))
		}
		if given[at] {
			c.report.errorf(arg.Pos, "", "@%s is given %s twice", a.Name, t.Params[at].Name)
			return nil
		}
		given[at] = true
		applied.Args[at] = c.argument(a, arg, t, t.Params[at], s)
		ok = ok && applied.Args[at].Valid()
	}
	for i, p := range t.Params {
		if given[i] {
			continue
		}
		if !p.Default.Valid() {
			c.report.errorf(a.Pos, "", "@%s takes %s, not %d", a.Name, argumentCount(t), len(a.Args))
			return nil
		}
		applied.Args[i] = p.Default
	}
	if !ok {
		return nil
	}
	return applied
}

func (t *AnnotationType) paramNames(yield func(string) bool) {
	for _, p := range t.Params {
		if !yield(p.Name) {
			return
		}
	}
}

func argumentCount(t *AnnotationType) string {
	least := 0
	if len(t.Params) == 0 {
		return "no argument"
	}
	for _, p := range t.Params {
		if !p.Default.Valid() {
			least++
		}
	}
	if least == len(t.Params) {
		return plural(least, "argument")
	}
	return itoa(least) + " to " + plural(len(t.Params), "argument")
}

// argument computes one, in the form of its parameter's type; where any value will do, in that of what is annotated.
func (c *checker) argument(a *annotation, arg *annotationArg, t *AnnotationType, p *AnnotationParam, s subject) Value {
	want := p.Type
	if want == nil {
		if t.Standard && s.typ != nil && s.on != onEnumerator {
			return c.evalFor(arg.Value, s.typ) // converted by whoever applies it
		}
		return c.eval(arg.Value)
	}
	if e, ok := want.(*Enum); ok && t.Standard {
		return c.wordArgument(a, arg, e)
	}
	outer := c.extra
	if t.names != nil {
		c.extra = t.names
	}
	v := c.evalFor(arg.Value, want)
	c.extra = outer
	switch {
	case !v.Valid():
		return v
	case !t.Standard:
		return c.convert(arg.Value.Pos, v, want)
	}
	takes, hint, fits := "", "", true
	switch r := want.(type) {
	case *String:
		takes, fits = "a string", v.Str != nil
	case Primitive:
		if r == Boolean {
			takes, hint, fits = "a boolean", "write TRUE or FALSE", v.Bool != nil
			break
		}
		takes, fits = "an integer", v.integer()
	default:
		return c.convert(arg.Value.Pos, v, want)
	}
	if !fits {
		c.report.errorf(arg.Pos, hint, "@%s takes %s, not %s", a.Name, takes, v.kind())
		return Value{}
	}
	if t.Name == "id" && (v.Int.Sign() < 0 || v.Int.BitLen() > 28) {
		c.report.errorf(arg.Pos, "", "member id %s is not within 0 to %d", v.Int, maxMemberID)
		return Value{}
	}
	if t.Name == "bit_bound" || t.Name == "position" {
		return v // whoever applies it knows the range
	}
	return c.convert(arg.Value.Pos, v, want)
}

// wordArgument is one that the standard gives words for.
func (c *checker) wordArgument(a *annotation, arg *annotationArg, e *Enum) Value {
	text := ""
	switch {
	case arg.Value.Name != nil:
		text = arg.Value.Name.Parts[len(arg.Value.Name.Parts)-1].Text
	case len(arg.Value.String) == 1 && e == placementKind:
		s, _ := unquote(strings.TrimPrefix(arg.Value.String[0], "L"))
		if v, ok := placement(s); ok {
			return v
		}
		text = s
	}
	if found := e.names.get(text); found != nil && found.name == text {
		return Value{Enum: found.what.(*Enumerator)}
	}
	var names []string
	for _, v := range e.Enumerators {
		names = append(names, v.Name)
	}
	last := len(names) - 1
	c.report.errorf(arg.Pos, suggest.DidYouMean(text, slices.Values(names)), "@%s takes %s or %s, not %q", a.Name,
		strings.Join(names[:last], ", "), names[last], text)
	return Value{}
}

// constrain applies @default, @min, @max, @range and @unit.
func (c *checker) constrain(out *Constraints, list []*Applied, s subject) {
	for _, a := range list {
		least, most := Value{}, Value{}
		switch a.standard() {
		case "unit":
			out.Unit = *a.Args[0].Str
		case "default":
			out.Default = c.constraint(a, 0, s)
		case "min":
			least = c.constraint(a, 0, s)
		case "max":
			most = c.constraint(a, 0, s)
		case "range":
			least, most = c.constraint(a, 0, s), c.constraint(a, 1, s)
		default:
			continue
		}
		c.limitOnce(a, "minimum", s, &out.Min, least)
		c.limitOnce(a, "maximum", s, &out.Max, most)
		if out.Min.Valid() && out.Max.Valid() && orderOf(out.Min, out.Max) > 0 {
			c.report.errorf(a.Pos, "", "the range of %s is empty: %s is more than %s", s.name, out.Min.text(), out.Max.text())
			out.Max = Value{}
		}
	}
	for _, a := range list {
		if a.standard() == "default" && out.Default.Valid() &&
			(out.Min.Valid() && orderOf(out.Default, out.Min) < 0 || out.Max.Valid() && orderOf(out.Default, out.Max) > 0) {
			c.report.errorf(a.Pos, "", "default %s of %s is outside of its range", out.Default.text(), s.name)
		}
	}
}

// limitOnce takes over a limit that is given, unless there is another one: @range says the same as @min and @max.
func (c *checker) limitOnce(a *Applied, what string, s subject, out *Value, limit Value) {
	switch {
	case !limit.Valid():
	case out.Valid() && out.text() != limit.text():
		c.report.errorf(a.Pos, "", "the %s of %s is given twice: %s, and before it %s", what, s.name, limit.text(), out.text())
	default:
		*out = limit
	}
}

// constraint gives an argument the form of the type that it speaks of.
func (c *checker) constraint(a *Applied, arg int, s subject) Value {
	if s.typ == nil || !a.Args[arg].Valid() {
		return Value{}
	}
	bounds := a.standard() != "default"
	switch r := resolve(s.typ).(type) {
	case Primitive:
		if bounds && r == Boolean {
			break
		}
		return c.convert(a.argPos, a.Args[arg], r)
	case *Enum, *Fixed:
		return c.convert(a.argPos, a.Args[arg], r)
	case *String, *Bitmask:
		if !bounds {
			return c.convert(a.argPos, a.Args[arg], r)
		}
	case *Sequence, *Array:
		if !bounds && a.Args[arg].Str != nil { // as rosidl writes those of arrays
			c.report.warnf(a.Pos, "", "the default of %s is ignored: it is of type %s", s.name, typeName(s.typ))
			return Value{}
		}
	}
	c.report.errorf(a.Pos, "", "@%s does not apply to %s, which is of type %s", a.Name(), s.name, typeName(s.typ))
	return Value{}
}

// annotationDef declares an annotation of the user's own.
func (c *checker) annotationDef(d *annotationDef) {
	t := &AnnotationType{Common: c.common(d.Name, d.Doc), names: newScope(d.Name.Text, nil)}
	body := newScope(d.Name.Text, c.scope)
	decls := c.unit.Decls
	c.within(body, d.Defs)
	c.unit.Decls = decls // its types are for its parameters alone
	t.names.names = body.names
	outer := c.scope
	c.scope = body
	for _, p := range d.Params {
		out := &AnnotationParam{Name: strings.TrimPrefix(p.Name.Name.Text, "_"), Pos: p.Name.Name.Pos}
		if slices.ContainsFunc(t.Params, func(old *AnnotationParam) bool { return old.Name == out.Name }) {
			c.report.errorf(out.Pos, "", "annotation %s has two parameters %s", t.Name, out.Name)
			continue
		}
		if !p.Any {
			if out.Type = c.typeOf(p.Type, false); out.Type == nil {
				continue
			}
		}
		if p.Default != nil {
			if out.Type == nil {
				out.Default = c.eval(p.Default)
			} else if v := c.evalFor(p.Default, out.Type); v.Valid() {
				out.Default = c.convert(p.Default.Pos, v, out.Type)
			}
		}
		t.Params = append(t.Params, out)
	}
	c.scope = outer
	if old := c.scope.enter("@"+t.Name, d.Name.Pos, t); old != nil {
		c.report.errorf(d.Name.Pos, "", "annotation %s is declared twice, first at %s", t.Name, c.near(d.Name.Pos, old.pos))
		return
	}
	c.annotated = true
	c.unit.Annotations = append(c.unit.Annotations, t)
}
