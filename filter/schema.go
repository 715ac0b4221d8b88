package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
	"github.com/omg-dds-go/dds/xtypes"
)

// member is a part of the samples that an expression names.
type member struct {
	span
	typ  *xtypes.Type // without typedefs
	name string       // of the type, as declared
	operand
}

// schema looks up the members that an expression names. Of several types, which a topic expression has, a name is a member of the
// first that has it: natural joins are on equal names, so the others have the same value.
type schema struct{ roots []*xtypes.Type }

func schemaOf(types ...*xtypes.Type) schema { return schema{types} }

// knows tells whether name is a member without any steps behind it.
func (s schema) knows(name string) bool { return s.rootOf(name) >= 0 }

// rootOf is the type that name is a member of, and -1 if there is none.
func (s schema) rootOf(name string) int {
	return slices.IndexFunc(s.roots, func(t *xtypes.Type) bool { return t.Resolve().MemberByName(name) != nil })
}

// find gives the member; that there is none is an *Error.
func (s schema) find(m *memberSyntax, text string) (*member, error) {
	root := max(0, s.rootOf(plain(m.Name)))
	t, err := s.walk(root, m, text)
	if err != nil {
		return nil, err
	}
	at := span{m.Pos.Offset, m.EndPos.Offset}
	found := &member{span: at, typ: t.Resolve(), name: t.String()}
	var ok bool
	if found.class, ok = classOf(found.typ); !ok {
		return nil, &Error{Expression: text, Offset: at.from, Length: at.to - at.from, Hint: "name a part of it",
			Detail: fmt.Sprintf("%s has type %s, whose values are not compared", at.text(text), t)}
	}
	path, err := s.roots[root].Path(pathText(m))
	if err == nil {
		found.field, err = newField(path)
	}
	if err == nil {
		found.field.topic = root
	}
	if err != nil {
		return nil, &Error{Expression: text, Offset: at.from, Length: at.to - at.from, Detail: err.Error()}
	}
	return found, nil
}

// pathText is the member as package xtypes writes paths.
func pathText(m *memberSyntax) string {
	var b strings.Builder
	b.WriteString(plain(m.Name))
	for _, s := range m.Steps {
		if s.Name != "" {
			b.WriteString("." + plain(s.Name))
		} else {
			b.WriteString("[" + s.Index + "]")
		}
	}
	return b.String()
}

// walk follows a member step by step, so that an error can point at the step that leads nowhere.
func (s schema) walk(root int, m *memberSyntax, text string) (*xtypes.Type, error) {
	at := span{m.Pos.Offset, m.Pos.Offset + len(m.Name)}
	t, err := s.first(root, plain(m.Name))
	for i := 0; err == nil && i < len(m.Steps); i++ {
		step := m.Steps[i]
		at = span{step.Pos.Offset, step.EndPos.Offset}
		if step.Name != "" {
			at.from++ // the dot
			t, err = part(t, plain(step.Name))
			continue
		}
		var used int
		if t, used, err = element(t, m.Steps[i:]); err == nil {
			i += used - 1
		}
	}
	if err != nil {
		e := err.(*Error)
		e.Expression, e.Offset, e.Length = text, at.from, at.to-at.from
		return nil, e
	}
	return t, nil
}

// first is the member that a path begins with.
func (s schema) first(root int, name string) (*xtypes.Type, error) {
	t, err := part(s.roots[root], name)
	if err == nil || len(s.roots) == 1 {
		return t, err
	}
	var types, names []string
	for _, t := range s.roots {
		types = append(types, t.String())
		for m := range t.Resolve().Members() {
			names = append(names, m.Name)
		}
	}
	return nil, &Error{Detail: fmt.Sprintf("%s is no member of %s", name, strings.Join(types, " or ")), Hint: memberHint(name, names)}
}

// part is a member of t, or a union's discriminator.
func part(t *xtypes.Type, name string) (*xtypes.Type, error) {
	r := t.Resolve()
	if k := r.Kind(); k != xtypes.TKStructure && k != xtypes.TKUnion {
		return nil, &Error{Detail: fmt.Sprintf("%s has no members", t)}
	}
	if m := r.MemberByName(name); m != nil {
		return m.Type, nil
	}
	if d := r.Discriminator(); d != nil && name == xtypes.Discriminator {
		return d.Type, nil
	}
	var names []string
	for m := range r.Members() {
		names = append(names, m.Name)
	}
	return nil, &Error{Detail: fmt.Sprintf("%s is no member of %s", name, t), Hint: memberHint(name, names)}
}

// memberHint suggests the nearest name, or lists a few. To a name of two letters, everything short is near.
func memberHint(name string, names []string) string {
	if near := suggest.DidYouMean(name, slices.Values(names)); near != "" && len(name) > 2 {
		return near
	}
	const few = 8
	if len(names) == 0 || len(names) > few {
		return ""
	}
	return "it has " + strings.Join(names, ", ")
}

// element is what the index, or the indexes of an array with several dimensions, lead to.
func element(t *xtypes.Type, steps []*stepSyntax) (of *xtypes.Type, used int, err error) {
	r := t.Resolve()
	var dims []uint32
	switch r.Kind() {
	case xtypes.TKArray:
		dims = r.Dims()
	case xtypes.TKSequence:
		dims = []uint32{r.Bound()}
	default:
		return nil, 0, &Error{Detail: fmt.Sprintf("%s has no elements", t)}
	}
	for i, n := range dims {
		if i == len(steps) || steps[i].Index == "" {
			return nil, 0, &Error{Detail: fmt.Sprintf("%s takes %d indexes, not %d", t, len(dims), i)}
		}
		index, err := strconv.ParseUint(steps[i].Index, 0, 31)
		if err != nil || n > 0 && index >= uint64(n) {
			return nil, 0, &Error{Detail: fmt.Sprintf("index %s is outside of %s", steps[i].Index, t), Hint: "indexes begin with 0"}
		}
	}
	return r.Elem(), len(dims), nil
}
