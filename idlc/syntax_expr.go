package idlc

import (
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// expr is a constant expression: an operand, an operator with Right, or one with Left and Right. It parses itself,
// which participle allows for: six levels of struct tags, one for each precedence, took most of the time of the parser,
// and a shift to the left in the bound of a template could not be told from what closes the template.
type expr struct {
	Pos   Pos
	Op    string
	At    Pos // of Op
	Left  *expr
	Right *expr

	Float  *string
	Int    *string
	String []string
	Char   *string
	Name   *scopedName
}

// boundExpr is an expression within angle brackets: "<<" shifts, ">" closes.
type boundExpr struct{ expr }

// precedence of the binary operators; higher binds tighter.
var precedence = map[string]int{"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}

// Parse is what participle calls for an expression.
func (e *expr) Parse(lex *lexer.PeekingLexer) error { return e.parse(lex, false) }

// Parse is what participle calls for a bound.
func (e *boundExpr) Parse(lex *lexer.PeekingLexer) error { return e.parse(lex, true) }

func (e *expr) parse(lex *lexer.PeekingLexer, bound bool) error {
	x, err := parseBinary(lex, 1, bound)
	if err == nil {
		*e = *x
	}
	return err
}

// parseBinary reads operators that bind at least as tight as a level.
func parseBinary(lex *lexer.PeekingLexer, level int, bound bool) (*expr, error) {
	left, err := parseUnary(lex)
	for err == nil {
		op, tokens := operatorAt(lex, bound)
		p := precedence[op]
		if p < level {
			return left, nil
		}
		pos := lex.Peek().Pos
		for range tokens {
			lex.Next()
		}
		var right *expr
		if right, err = parseBinary(lex, p+1, bound); err == nil {
			left = &expr{Pos: left.Pos, Op: op, At: pos, Left: left, Right: right}
		}
	}
	return nil, err
}

// operatorAt gives the binary operator that comes next, and of how many tokens it is.
func operatorAt(lex *lexer.PeekingLexer, bound bool) (string, int) {
	t := lex.Peek()
	if t.Type != kindPunct {
		return "", 0
	}
	if t.Value != "<" && t.Value != ">" {
		return t.Value, 1
	}
	if t.Value == ">" && bound {
		return "", 0
	}
	at := lex.MakeCheckpoint()
	defer lex.LoadCheckpoint(at)
	lex.Next()
	if next := lex.Peek(); next.Type == kindPunct && next.Value == t.Value {
		return t.Value + t.Value, 2
	}
	return "", 0
}

func parseUnary(lex *lexer.PeekingLexer) (*expr, error) {
	t := lex.Peek()
	if t.Type == kindPunct && strings.Contains("+-~", t.Value) {
		lex.Next()
		right, err := parsePrimary(lex)
		return &expr{Pos: t.Pos, Op: t.Value, At: t.Pos, Right: right}, err
	}
	return parsePrimary(lex)
}

func parsePrimary(lex *lexer.PeekingLexer) (*expr, error) {
	t := lex.Peek()
	e := &expr{Pos: t.Pos}
	switch {
	case t.Type == kindFloat:
		e.Float = &lex.Next().Value
	case t.Type == kindInt:
		e.Int = &lex.Next().Value
	case t.Type == kindChar:
		e.Char = &lex.Next().Value
	case t.Type == kindString:
		for lex.Peek().Type == kindString {
			e.String = append(e.String, lex.Next().Value)
		}
	case t.Type == kindIdent || t.Type == kindScope:
		e.Name = &scopedName{}
		return e, e.Name.Parse(lex)
	case t.Type == kindPunct && t.Value == "(":
		lex.Next()
		inner, err := parseBinary(lex, 1, false)
		if err != nil {
			return nil, err
		}
		return inner, expect(lex, ")")
	default:
		return nil, &participle.UnexpectedTokenError{Unexpected: *t, Expect: "Expr"}
	}
	return e, nil
}
