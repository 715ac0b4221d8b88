package idlc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
	"github.com/omg-dds-go/dds/internal/suggest"
)

var (
	memberParser     = grammar[memberSyntax]()
	caseParser       = grammar[caseSyntax]()
	bitfieldParser   = grammar[bitfieldSyntax]()
	parameterParser  = grammar[parameterSyntax]()
	typedefParser    = grammar[typedefSyntax]()
	constParser      = grammar[constSyntax]()
	enumeratorParser = grammar[enumeratorSyntax]()
	moduleParser     = grammar[moduleHeader]()
	structParser     = grammar[structHeader]()
	unionParser      = grammar[unionHeader]()
	enumParser       = grammar[enumHeader]()
	bitmaskParser    = grammar[bitmaskHeader]()
	bitsetParser     = grammar[bitsetHeader]()
	annotationParser = grammar[annotationHeader]()
	nameParser       = grammar[scopedName]()
	exprParser       = grammar[expr]()
)

func grammar[G any]() *participle.Parser[G] {
	return participle.MustBuild[G](participle.Lexer(symbols{}), participle.UseLookahead(3))
}

// tokenStream feeds a declaration to participle.
type tokenStream struct {
	toks []token
	end  Pos
}

func (s *tokenStream) Next() (lexer.Token, error) {
	if len(s.toks) == 0 {
		return lexer.EOFToken(s.end), nil
	}
	t := s.toks[0].Token
	s.toks = s.toks[1:]
	return t, nil
}

// runGrammar parses one declaration; nil after it has reported an error.
func runGrammar[G any](p *parser, g *participle.Parser[G], c chunk) *G {
	if c.cut {
		return nil
	}
	lx, err := lexer.Upgrade(&tokenStream{c.toks, p.stopPos(c)})
	if err != nil {
		p.report.errorf(c.pos(p), "", "%v", err)
		return nil
	}
	tree, err := g.ParseFromLexer(lx)
	if err == nil {
		return tree
	}
	pos := c.pos(p)
	what := err.Error()
	var unexpected *participle.UnexpectedTokenError
	var perr participle.Error
	if errors.As(err, &perr) {
		pos, what = perr.Position(), perr.Message()
	}
	if errors.As(err, &unexpected) {
		what = "unexpected " + stopText(c)
		if !unexpected.Unexpected.EOF() {
			what = fmt.Sprintf("unexpected %q", unexpected.Unexpected.Value)
		}
		if e := expectation(perr.Message()); e != "" {
			what += ", expected " + e
		} else if unexpected.Expect == "" && !unexpected.Unexpected.EOF() && !strings.Contains(perr.Message(), "(expected ") && len(c.toks) > 0 {
			what += ", expected " + c.separator()
		}
	}
	hint := habitHint(c, pos)
	if hint == "" {
		hint = shiftHint(c, pos)
	}
	if hint == "" {
		hint = semicolonHint(c, pos)
	}
	if hint == "" {
		hint = keywordHint(c, pos)
	}
	p.report.errorf(pos, hint, "%s", what)
	return nil
}

// keywordHint looks for a misspelt word of the grammar in front of where parsing stopped.
func keywordHint(c chunk, pos Pos) string {
	words := []string{"unsigned", "sequence", "wstring", "string"}
	for i, t := range c.toks {
		if t.Pos == pos {
			break
		}
		if t.Type != kindIdent || i > 0 && c.toks[i-1].is("@") || reserved[t.Value] {
			continue
		}
		if hint := suggest.DidYouMean(t.Value, slices.Values(words)); hint != "" {
			return hint
		}
	}
	return ""
}

// notCompared is the hint for operators that constants do not have.
const notCompared = "constants of IDL are not compared, and have the operators | ^ & << >> + - * / % ~ only"

// isMember tells whether token i of a declaration stands behind the type and the name of a member.
func isMember(c chunk, i int) bool {
	return i >= 2 && c.toks[i-1].Type == kindIdent && c.toks[i-2].Type == kindIdent && !reserved[c.toks[i-1].Value] &&
		!slices.ContainsFunc([]string{"const", "struct", "union", "enum", "bitset", "case"}, c.toks[0].word)
}

// habitHint tells what IDL has for what C and C++ would have where parsing stopped.
func habitHint(c chunk, pos Pos) string {
	i := slices.IndexFunc(c.toks, func(t token) bool { return t.Pos == pos })
	if i < 1 {
		return ""
	}
	t, before := c.toks[i], c.toks[i-1]
	switch {
	case c.toks[0].word("typedef") && slices.Contains([]string{"struct", "union", "enum"}, c.toks[1].Value) && i == 3:
		return fmt.Sprintf("types have no tags in IDL: write typedef %s %s", before.Value, t.Value)
	case before.word("unsigned") && t.word("int"):
		return "IDL calls it unsigned long"
	case before.word("unsigned") && t.word("char"):
		return "IDL calls it octet, or uint8"
	case before.word("unsigned") && !isTypeWord(t.Value):
		return "IDL has unsigned short, unsigned long and unsigned long long"
	case slices.ContainsFunc(c.toks[:i], func(t token) bool { return t.word("signed") }):
		return "numbers have a sign unless they are unsigned: leave signed out"
	case before.Value == t.Value && (t.is("&") || t.is("|")), t.is("=") && i+1 < len(c.toks) && c.toks[i+1].is("="):
		return notCompared
	case c.toks[0].word("const") && t.is("!"), c.toks[0].word("const") && i > 3 && slices.ContainsFunc([]string{"<", ">", "=", "?"}, t.is):
		return notCompared
	case t.is("]") && before.is("["):
		return "an array has a size; what has none is a sequence<T>"
	case t.is("=") && isMember(c, i):
		return "a member has its default in front: @default(value)"
	case t.is(":") && isMember(c, i):
		return "numbers of some bits are in a bitset: bitfield<bits> name"
	case t.is("*") || t.is("&"):
		return "IDL has no pointers; @external and @optional members are some in Go"
	case t.is("<") && slices.Contains([]string{"vector", "list", "array", "optional"}, before.Value):
		return "IDL has sequence<T>, sequence<T, bound>, T name[size] and @optional"
	case before.word("int") || t.word("int"):
		return "IDL has short, long and long long"
	}
	return ""
}

// shiftHint explains why ">>" does not shift between angle brackets.
func shiftHint(c chunk, pos Pos) string {
	for i, t := range c.toks {
		if t.Pos == pos && t.is(">") && i > 0 && c.toks[i-1].is(">") {
			return "a shift to the right in a bound needs parentheses"
		}
	}
	return ""
}

// semicolonHint guesses that a declaration which goes on over a line's end lacks its semicolon.
func semicolonHint(c chunk, pos Pos) string {
	for i, t := range c.toks {
		if t.Pos == pos && i > 0 && t.newLine {
			return fmt.Sprintf("is the %q missing at the end of line %d?", ";", c.toks[i-1].Pos.Line)
		}
	}
	return ""
}

// expectation turns participle's grammar terms into words.
func expectation(message string) string {
	_, after, ok := strings.Cut(message, "(expected ")
	if !ok {
		return ""
	}
	after = strings.TrimSuffix(after, ")")
	switch {
	case strings.Contains(after, `" or "`):
		return after

	case strings.HasPrefix(after, `"unsigned`), strings.HasPrefix(after, "TypeSpec"), strings.HasPrefix(after, "ElementSpec"):
		return "a type"
	}
	first, _, _ := strings.Cut(after, " ")
	first = strings.Trim(first, "()?*+|")
	words := map[string]string{
		"<ident>": "a name", "Ident": "a name", "TypeSpec": "a type", "ScopedName": "a name", "Declarator": "a name",
		"<scope>": "a name", "<float>": "a value", "Expr": "a value", "ExprSum": "a value", "ExprPrimary": "a value",
		"ExprProduct": "a value", "ExprUnary": "a value", "<EOF>": `";"`, "<eof>": `";"`,
	}
	if w, ok := words[first]; ok {
		return w
	}
	if strings.HasPrefix(first, `"`) {
		return first
	}
	return ""
}

// separator is what ends a declaration like this one.
func (c chunk) separator() string {
	if c.stop.is(",") || c.stop.is("}") {
		return `","`
	}
	if c.stop.is("{") {
		return `"{"`
	}
	return `";"`
}

func stopText(c chunk) string {
	if c.stop.Value == "" {
		return "end of file"
	}
	return fmt.Sprintf("%q", c.stop.Value)
}
