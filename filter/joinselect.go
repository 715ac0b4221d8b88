package filter

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/omg-dds-go/dds/xtypes"
)

// pick takes a value from a sample of one topic to the result.
type pick struct {
	topic    int
	from, to string // as package xtypes writes paths
	member   *xtypes.Type
}

// choose finds what is selected, and the type that it goes to.
func (j *Join) choose(result *xtypes.Type, name string) error {
	var chosen []choice
	var err error
	if j.tree.All {
		chosen = j.everything(result)
	} else if chosen, err = j.selected(result != nil); err != nil {
		return err
	}
	if result == nil {
		return j.infer(name, chosen)
	}
	if result.Resolve().Kind() != xtypes.TKStructure {
		return j.errorf(j.head(), "", "the result has type %s, which is no structure", result)
	}
	return j.fit(result, chosen)
}

// head is where SELECT stands.
func (j *Join) head() span { return span{j.tree.Pos.Offset, j.tree.Pos.Offset + len("SELECT")} }

// choice is something that is selected.
type choice struct {
	span
	topic int
	path  xtypes.Path
	as    string // path in the result
	asAt  span
}

// everything is what SELECT * selects: each name once. Of a type that is given, only what it has.
func (j *Join) everything(result *xtypes.Type) []choice {
	var out []choice
	for i, t := range j.topics {
		for m := range t.typ.Resolve().Members() {
			if slices.ContainsFunc(out, func(c choice) bool { return c.as == m.Name }) || result != nil &&
				result.Resolve().MemberByName(m.Name) == nil {
				continue
			}
			path, err := t.typ.Path(m.Name)
			if err != nil {
				continue // it can not be: the type has it
			}
			out = append(out, choice{span: j.head(), topic: i, path: path, as: m.Name, asAt: j.head()})
		}
	}
	return out
}

func (j *Join) selected(typed bool) ([]choice, error) {
	s := j.schema()
	var out []choice
	for _, f := range j.tree.Fields {
		c := choice{span: span{f.Member.Pos.Offset, f.Member.EndPos.Offset}, topic: max(0, s.rootOf(plain(f.Member.Name)))}
		c.to = c.from + trimmed(j.text[c.from:c.to])
		if _, err := s.walk(c.topic, f.Member, j.text); err != nil {
			return nil, err
		}
		var err error
		if c.path, err = s.roots[c.topic].Path(pathText(f.Member)); err != nil {
			return nil, j.errorf(c.span, "", "%s", err)
		}
		c.asAt, c.as = c.span, pathText(f.Member)
		last := c.path.Steps()[len(c.path.Steps())-1].Member
		switch {
		case f.As != nil:
			c.asAt = span{f.As.Pos.Offset, f.As.EndPos.Offset}
			c.asAt.to = c.asAt.from + trimmed(j.text[c.asAt.from:c.asAt.to])
			c.as = pathText(f.As)
			if !typed && len(f.As.Steps) > 0 {
				return nil, j.errorf(c.asAt, "", "%s can not be the name of a member", c.as)
			}
		case !typed && last == nil:
			return nil, j.errorf(c.span, "name it with AS", "an element has no name")
		case !typed:
			c.as = last.Name
		}
		if slices.ContainsFunc(out, func(o choice) bool { return o.as == c.as }) {
			return nil, j.errorf(c.asAt, "name one of them otherwise with AS", "the result has two members %s", c.as)
		}
		out = append(out, c)
	}
	return out, nil
}

// trimmed is the length of a text without the space behind it.
func trimmed(text string) int {
	n := len(text)
	for n > 0 && (text[n-1] == ' ' || text[n-1] == '\t' || text[n-1] == '\n' || text[n-1] == '\r') {
		n--
	}
	return n
}

// infer makes the type of the result: its keys are those of the topics, as far as they are selected.
func (j *Join) infer(name string, chosen []choice) error {
	d := xtypes.TypeDescriptor{Kind: xtypes.TKStructure, Name: name}
	for _, c := range chosen {
		m := xtypes.Member{Name: c.as, AutoID: true, Type: c.path.Type(), Key: j.isKey(c), Optional: mayLack(c.path)}
		if last := c.path.Steps()[len(c.path.Steps())-1].Member; last != nil {
			m.Default = last.Default
		}
		if m.Optional {
			m.Default, m.Key = nil, false
		}
		d.Members = append(d.Members, m)
		j.picks = append(j.picks, pick{topic: c.topic, from: c.path.String(), to: c.as, member: m.Type})
	}
	var err error
	if j.result, err = xtypes.Build(d); err != nil {
		return j.errorf(j.head(), "", "the result is no type: %s", err)
	}
	return nil
}

// isKey tells whether what is selected is a key member of its topic, or of another one that has it in common.
func (j *Join) isKey(c choice) bool {
	steps := c.path.Steps()
	if keyPath(j.topics[c.topic].typ, steps) {
		return true
	}
	if len(steps) > 1 {
		return false
	}
	return slices.ContainsFunc(j.topics, func(t joined) bool {
		m := t.typ.Resolve().MemberByName(steps[0].Member.Name)
		return m != nil && m.Key
	})
}

// keyPath tells whether a path leads to something that is part of the key: inside of a member that is, everything is if nothing
// is marked.
func keyPath(t *xtypes.Type, steps []xtypes.Step) bool {
	for i, s := range steps {
		if s.Member == nil || !s.Member.Key && (i == 0 || t.Resolve().Keyed()) {
			return false
		}
		t = s.Member.Type
	}
	return true
}

// mayLack tells whether a sample may lack what the path leads to.
func mayLack(p xtypes.Path) bool {
	t := p.Root()
	for _, s := range p.Steps() {
		switch r := t.Resolve(); {
		case s.Member == nil && r.Kind() == xtypes.TKArray:
			t = r.Elem()
		case s.Member != nil && r.Kind() == xtypes.TKStructure && !s.Member.Optional:
			t = s.Member.Type
		default:
			return true
		}
	}
	return false
}

// fit puts what is selected into a type that is given.
func (j *Join) fit(result *xtypes.Type, chosen []choice) error {
	j.result = result
	filled := map[string]bool{}
	for _, c := range chosen {
		path, err := result.Path(c.as)
		if err != nil {
			return j.errorf(c.asAt, memberHint(c.as, memberNames(result)), "the result, %s, has no %s", result, c.as)
		}
		to, from := path.Type(), c.path.Type()
		if err := xtypes.Assignable(to, from, xtypes.Consistency{}); err != nil {
			return j.errorf(c.span, "", "%s has type %s, and %s of the result has %s", c.path, from, c.as, to)
		}
		if mayLack(c.path) && !mayLack(path) {
			return j.errorf(c.span, "make it @optional in "+result.String(),
				"samples may lack %s, and %s of the result is not optional", c.path, c.as)
		}
		filled[path.Steps()[0].Member.Name] = true
		j.picks = append(j.picks, pick{topic: c.topic, from: c.path.String(), to: c.as, member: to})
	}
	for m := range result.Resolve().Members() {
		if !filled[m.Name] && !m.Optional {
			return j.errorf(j.head(), "select it, or make it @optional", "nothing is selected for %s of the result, %s", m.Name, result)
		}
	}
	return nil
}

func memberNames(t *xtypes.Type) []string {
	var names []string
	for m := range t.Resolve().Members() {
		names = append(names, m.Name)
	}
	return names
}

// project makes the sample of the result.
func (j *Join) project(of []*tuple) ([]byte, error) {
	out, err := xtypes.NewData(j.result)
	if err != nil {
		return nil, err
	}
	for _, p := range j.picks {
		data, err := of[p.topic].decoded(j.topics[p.topic].typ)
		if err != nil {
			return nil, err
		}
		v, err := data.Get(p.from)
		if err != nil {
			return nil, err
		}
		if v, err = carry(p.member, v); err != nil {
			return nil, err
		}
		if err := out.Set(p.to, v); err != nil {
			return nil, err
		}
	}
	return out.Encode(j.result.Encapsulation(true, false))
}

// carry makes a value one of type t. Those of structures and unions know their types: of two descriptions, the one is
// copied member by member to the other.
func carry(t *xtypes.Type, v any) (any, error) {
	t = t.Resolve()
	switch v := v.(type) {
	case []*xtypes.Data:
		out := make([]*xtypes.Data, len(v))
		for i, d := range v {
			x, err := carry(t.Elem(), d)
			if err != nil {
				return nil, err
			}
			out[i] = x.(*xtypes.Data)
		}
		return out, nil
	case *xtypes.Data:
		if v == nil || v.Type() == t {
			return v, nil
		}
		return carryData(t, v)
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.Kind() == reflect.Map && t.Kind() == xtypes.TKMap {
		return carryMap(t, r)
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.Kind() == reflect.Slice && r.Type().Elem().Kind() != reflect.Uint8 && nests(t.Elem()) {
		return carryList(t, r)
	}
	return v, nil
}

// nests tells whether values of t hold values that know their types.
func nests(t *xtypes.Type) bool {
	switch t = t.Resolve(); t.Kind() {
	case xtypes.TKStructure, xtypes.TKUnion, xtypes.TKMap:
		return true
	case xtypes.TKSequence, xtypes.TKArray:
		return nests(t.Elem())
	}
	return false
}

func carryData(t *xtypes.Type, v *xtypes.Data) (any, error) {
	out, err := xtypes.NewData(t)
	if err != nil {
		return nil, err
	}
	set := func(to, from *xtypes.Member) error {
		x, err := carry(to.Type, v.Member(from))
		if err != nil {
			return err
		}
		return out.SetMember(to, x)
	}
	if d := t.Discriminator(); d != nil {
		if err := out.SetMember(d, v.Member(v.Type().Discriminator())); err != nil {
			return nil, err
		}
		to, from := out.Selected(), v.Selected()
		if to == nil || from == nil {
			return out, nil
		}
		return out, set(to, from)
	}
	for m := range t.Members() {
		from := v.Type().MemberByName(m.Name)
		if from == nil {
			continue // it has its default
		}
		if err := set(m, from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func carryList(t *xtypes.Type, v reflect.Value) (any, error) {
	out := make([]any, v.Len())
	for i := range out {
		var err error
		if out[i], err = carry(t.Elem(), v.Index(i).Interface()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func carryMap(t *xtypes.Type, v reflect.Value) (any, error) {
	out := make(map[any]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		x, err := carry(t.Elem(), it.Value().Interface())
		if err != nil {
			return nil, fmt.Errorf("key %v: %w", it.Key(), err)
		}
		out[it.Key().Interface()] = x
	}
	return out, nil
}
