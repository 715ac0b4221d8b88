package idlc

import (
	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// Types and annotations parse themselves, as expressions do: nearly every declaration has some, and trying a dozen
// alternatives for each took participle four fifths of the time of the whole front end.

// typeSpec is a type where it is used. One of Sequence to Name is set.
type typeSpec struct {
	Pos       Pos
	Sequence  *sequenceSpec
	Map       *mapSpec
	String    *stringSpec
	Fixed     *fixedSpec
	Other     string // any, Object, ValueBase
	Primitive string // its words with a space between them
	Name      *scopedName
}

type (
	// elementSpec is the type of an element, perhaps with annotations of its own.
	elementSpec struct {
		Annotations []*annotation
		Type        *typeSpec
	}
	sequenceSpec struct {
		Element *elementSpec
		Bound   *boundExpr
	}
	mapSpec struct {
		Key, Value *elementSpec
		Bound      *boundExpr
	}
	stringSpec struct {
		Kind  string
		Bound *boundExpr
	}
	// fixedSpec has no digits as the type of a constant.
	fixedSpec struct {
		Digits *boundExpr
		Scale  *boundExpr
	}
)

// annotation is @name, @name(value) or @name(a=value, b=value).
type annotation struct {
	Pos  Pos
	Name *scopedName
	Args []*annotationArg
}

type annotationArg struct {
	Pos   Pos
	Name  *ident
	Value *expr
}

// scopedName is a::b or ::a::b.
type scopedName struct {
	Pos    Pos
	Global bool
	Parts  []*ident
}

func (n *scopedName) String() string {
	s := ""
	if n.Global {
		s = "::"
	}
	for i, p := range n.Parts {
		if i > 0 {
			s += "::"
		}
		s += p.Text
	}
	return s
}

func unexpected(lex *lexer.PeekingLexer, instead string) error {
	return &participle.UnexpectedTokenError{Unexpected: *lex.Peek(), Expect: instead}
}

// punct takes a sign, if it comes next.
func punct(lex *lexer.PeekingLexer, sign string) bool {
	if t := lex.Peek(); t.Type == kindPunct && t.Value == sign {
		lex.Next()
		return true
	}
	return false
}

// word takes one of some words, if one comes next.
func word(lex *lexer.PeekingLexer, words ...string) string {
	if t := lex.Peek(); t.Type == kindIdent {
		for _, w := range words {
			if t.Value == w {
				return lex.Next().Value
			}
		}
	}
	return ""
}

func expect(lex *lexer.PeekingLexer, sign string) error {
	if !punct(lex, sign) {
		return unexpected(lex, `"`+sign+`"`)
	}
	return nil
}

// Parse is what participle calls for a name.
func (n *scopedName) Parse(lex *lexer.PeekingLexer) error {
	t := lex.Peek()
	n.Pos = t.Pos
	if t.Type == kindScope {
		n.Global = true
		lex.Next()
	}
	for {
		t := lex.Peek()
		if t.Type != kindIdent {
			return unexpected(lex, "Ident")
		}
		n.Parts = append(n.Parts, &ident{t.Pos, t.Value})
		lex.Next()
		if lex.Peek().Type != kindScope {
			return nil
		}
		lex.Next()
	}
}

// Parse is what participle calls for an annotation.
func (a *annotation) Parse(lex *lexer.PeekingLexer) error {
	a.Pos = lex.Peek().Pos
	if !punct(lex, "@") {
		return participle.NextMatch
	}
	a.Name = &scopedName{}
	if err := a.Name.Parse(lex); err != nil {
		return unexpected(lex, "Ident")
	}
	if !punct(lex, "(") || punct(lex, ")") {
		return nil
	}
	for {
		arg := &annotationArg{Pos: lex.Peek().Pos}
		if t := lex.Peek(); t.Type == kindIdent {
			at := lex.MakeCheckpoint()
			lex.Next()
			if punct(lex, "=") {
				arg.Name = &ident{t.Pos, t.Value}
			} else {
				lex.LoadCheckpoint(at)
			}
		}
		arg.Value = &expr{}
		if err := arg.Value.Parse(lex); err != nil {
			return err
		}
		a.Args = append(a.Args, arg)
		if !punct(lex, ",") {
			return expect(lex, ")")
		}
	}
}

// Parse is what participle calls for a type.
func (s *typeSpec) Parse(lex *lexer.PeekingLexer) (err error) {
	t := lex.Peek()
	s.Pos = t.Pos
	if t.Type == kindScope {
		s.Name = &scopedName{}
		return s.Name.Parse(lex)
	}
	if t.Type != kindIdent {
		return unexpected(lex, "TypeSpec")
	}
	switch t.Value {
	case "long":
		lex.Next()
		if s.Primitive = "long"; lex.Peek().Type == kindIdent {
			if w := word(lex, "long", "double"); w != "" {
				s.Primitive += " " + w
			}
		}
	case "unsigned":
		return s.unsigned(lex)
	case "short", "float", "double", "boolean", "octet", "char", "wchar", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64":
		s.Primitive = lex.Next().Value
	case "any", "Object", "ValueBase":
		s.Other = lex.Next().Value
	case "string", "wstring":
		s.String = &stringSpec{Kind: lex.Next().Value}
		if punct(lex, "<") {
			return boundTo(lex, &s.String.Bound)
		}
	case "fixed":
		lex.Next()
		s.Fixed = &fixedSpec{}
		if punct(lex, "<") {
			s.Fixed.Digits = &boundExpr{}
			if err = s.Fixed.Digits.Parse(lex); err == nil {
				err = expect(lex, ",")
			}
			if err == nil {
				err = boundTo(lex, &s.Fixed.Scale)
			}
		}
		return err
	case "sequence":
		return s.sequence(lex)
	case "map":
		return s.mapping(lex)
	default:
		s.Name = &scopedName{}
		return s.Name.Parse(lex)
	}
	return nil
}

func (s *typeSpec) unsigned(lex *lexer.PeekingLexer) error {
	lex.Next()
	switch w := word(lex, "short", "long"); {
	case w == "":
		return unexpected(lex, `"short" or "long"`)
	case w == "long" && word(lex, "long") != "":
		s.Primitive = "unsigned long long"
	default:
		s.Primitive = "unsigned " + w
	}
	return nil
}

func (s *typeSpec) sequence(lex *lexer.PeekingLexer) error {
	lex.Next()
	s.Sequence = &sequenceSpec{Element: &elementSpec{}}
	if err := expect(lex, "<"); err != nil {
		return err
	}
	if err := s.Sequence.Element.Parse(lex); err != nil {
		return err
	}
	if punct(lex, ",") {
		return boundTo(lex, &s.Sequence.Bound)
	}
	return expect(lex, ">")
}

func (s *typeSpec) mapping(lex *lexer.PeekingLexer) error {
	lex.Next()
	s.Map = &mapSpec{Key: &elementSpec{}, Value: &elementSpec{}}
	if err := expect(lex, "<"); err != nil {
		return err
	}
	if err := s.Map.Key.Parse(lex); err != nil {
		return err
	}
	if err := expect(lex, ","); err != nil {
		return err
	}
	if err := s.Map.Value.Parse(lex); err != nil {
		return err
	}
	if punct(lex, ",") {
		return boundTo(lex, &s.Map.Bound)
	}
	return expect(lex, ">")
}

// boundTo reads a bound and what closes the template.
func boundTo(lex *lexer.PeekingLexer, bound **boundExpr) error {
	*bound = &boundExpr{}
	if err := (*bound).Parse(lex); err != nil {
		return err
	}
	return expect(lex, ">")
}

// Parse is what participle calls for an element.
func (e *elementSpec) Parse(lex *lexer.PeekingLexer) error {
	for {
		a := &annotation{}
		if err := a.Parse(lex); err == participle.NextMatch {
			break
		} else if err != nil {
			return err
		}
		e.Annotations = append(e.Annotations, a)
	}
	e.Type = &typeSpec{}
	return e.Type.Parse(lex)
}

// Parse is what participle calls for the labels of a case.
func (l *labelsSyntax) Parse(lex *lexer.PeekingLexer) error {
	for {
		one := &labelSyntax{Pos: lex.Peek().Pos}
		switch word(lex, "default", "case") {
		case "default":
			one.Default = true
		case "case":
			one.Value = &expr{}
			if err := one.Value.Parse(lex); err != nil {
				return err
			}
		default:
			if len(l.List) == 0 {
				return unexpected(lex, `"case" or "default"`)
			}
			return nil
		}
		if err := expect(lex, ":"); err != nil {
			return err
		}
		l.List = append(l.List, one)
	}
}
