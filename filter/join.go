package filter

import (
	"fmt"
	"slices"

	"github.com/omg-dds-go/dds/xtypes"
)

// maxJoined bounds the topics of one expression.
const maxJoined = 16

// Join is a compiled topic expression (DDS 1.4 Annex B, TopicExpression): which members of which topics a MultiTopic
// has, joined by the members that they have in common, and a condition. It does not change, and any number of
// goroutines may use it; a Table holds what it is about.
type Join struct {
	text   string
	params []string
	tree   *topicSyntax
	topics []joined
	common []common
	where  *node // nil: everything passes
	result *xtypes.Type
	picks  []pick
	plans  []plan  // by the topic that has changed
	needs  []index // that the plans look into
}

// joined is a topic of the expression.
type joined struct {
	span
	name string
	typ  *xtypes.Type
}

// common is a member that several topics have: rows are made of samples that are equal in it.
type common struct {
	name string
	of   []*operand // by topic; nil for those that do not have it
}

// NewJoin compiles a topic expression. types gives the type of a topic that it names. The samples that come of it are of the type
// result, or if that is nil of a type that is called name and has what is selected. An error is an *Error.
func NewJoin(expression string, types func(topic string) (*xtypes.Type, error), result *xtypes.Type, name string, params ...string) (*Join, error) {
	tree, err := topicLanguage.parse(expression)
	if err != nil {
		return nil, err
	}
	j := &Join{text: expression, tree: tree}
	if err := j.from(tree.From, types); err != nil {
		return nil, err
	}
	if err := j.findCommon(); err != nil {
		return nil, err
	}
	if err := j.choose(result, name); err != nil {
		return nil, err
	}
	j.plan()
	return j.With(params...)
}

// With gives the join with other parameters.
func (j *Join) With(params ...string) (*Join, error) {
	if j.absent() {
		return nil, notMade("the Join", "NewJoin")
	}
	if err := checkParameters(j.text, params); err != nil {
		return nil, err
	}
	out := *j
	out.params, out.where = slices.Clone(params), nil
	if j.tree.Where == nil {
		return &out, nil
	}
	c := checker{text: j.text, params: out.params, schema: j.schema()}
	var err error
	if out.where, err = c.condition(j.tree.Where); err != nil {
		return nil, err
	}
	return &out, nil
}

func (j *Join) absent() bool { return j == nil || j.tree == nil }

// Expression is the text that the join was made of.
func (j *Join) Expression() string {
	if j == nil {
		return ""
	}
	return j.text
}

// Parameters are the values of %0, %1 and so on.
func (j *Join) Parameters() []string {
	if j == nil {
		return nil
	}
	return slices.Clone(j.params)
}

// Topics are the names of the topics, in the order of FROM. Table counts them from 0.
func (j *Join) Topics() []string {
	if j == nil {
		return nil
	}
	names := make([]string, len(j.topics))
	for i, t := range j.topics {
		names[i] = t.name
	}
	return names
}

// Type is the type of the samples that come of the join.
func (j *Join) Type() *xtypes.Type {
	if j == nil {
		return nil
	}
	return j.result
}

func (j *Join) errorf(at span, hint, format string, args ...any) error {
	return &Error{Expression: j.text, Offset: at.from, Length: at.to - at.from, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

func (j *Join) schema() schema {
	types := make([]*xtypes.Type, len(j.topics))
	for i, t := range j.topics {
		types[i] = t.typ
	}
	return schemaOf(types...)
}

// from lists the topics. Natural joins are associative: parentheses mean nothing.
func (j *Join) from(s *joinSyntax, types func(string) (*xtypes.Type, error)) error {
	for ; s != nil; s = s.With {
		if s.Group != nil {
			if err := j.from(s.Group, types); err != nil {
				return err
			}
			continue
		}
		t := joined{span: span{s.Topic.Pos.Offset, s.Topic.EndPos.Offset}, name: plain(s.Topic.Name)}
		t.to = t.from + len(s.Topic.Name) + len(s.Topic.Quoted)
		if s.Topic.Quoted != "" {
			t.name = unquote(s.Topic.Quoted)
		}
		if slices.ContainsFunc(j.topics, func(o joined) bool { return o.name == t.name }) {
			return j.errorf(t.span, "", "topic %s is named twice", t.name)
		}
		if len(j.topics) == maxJoined {
			return j.errorf(t.span, "", "more than %d topics", maxJoined)
		}
		var err error
		if t.typ, err = types(t.name); err != nil {
			return j.errorf(t.span, "", "%s", err)
		}
		if t.typ == nil || t.typ.Resolve().Kind() != xtypes.TKStructure {
			return j.errorf(t.span, "", "topic %s has type %s, and only structures are joined", t.name, t.typ)
		}
		j.topics = append(j.topics, t)
	}
	return nil
}

// findCommon finds the members that several topics have.
func (j *Join) findCommon() error {
	for i, t := range j.topics {
		for m := range t.typ.Resolve().Members() {
			if err := j.share(i, m.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// share notes that topic i has a member, if others behind it do, too, and none before it does.
func (j *Join) share(i int, name string) error {
	c := common{name: name, of: make([]*operand, len(j.topics))}
	var members []*member
	for k, t := range j.topics {
		if t.typ.Resolve().MemberByName(name) == nil {
			continue
		}
		if k < i {
			return nil
		}
		m, err := schemaOf(t.typ).find(&memberSyntax{Name: name}, "")
		if err != nil {
			if members == nil && !j.sharedBehind(k, name) {
				return nil
			}
			return j.errorf(t.span, "a natural join is on all members of equal names",
				"topics have %s in common, which in %s has type %s, whose values are not compared",
				name, t.name, t.typ.Resolve().MemberByName(name).Type)
		}
		for _, o := range members {
			if !comparable(o.typ, m.typ) {
				return j.errorf(t.span, "a natural join is on all members of equal names",
					"topics have %s in common, of types %s and %s, which can not be compared", name, o.name, m.name)
			}
		}
		members = append(members, m)
		c.of[k] = &m.operand
	}
	if len(members) > 1 {
		j.common = append(j.common, c)
	}
	return nil
}

func (j *Join) sharedBehind(i int, name string) bool {
	return slices.ContainsFunc(j.topics[i+1:], func(t joined) bool { return t.typ.Resolve().MemberByName(name) != nil })
}
