package filter

import (
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// What recursion and memory a text can cost is bounded before it is parsed.
const (
	maxExpression = 16 << 10 // bytes
	maxNesting    = 64       // parentheses within parentheses
)

// Key words are reserved where they mean something: in a filter, a member may be called "from".
var (
	filterWords = []string{"AND", "OR", "NOT", "BETWEEN", "LIKE", "MATCH", "IN", "TRUE", "FALSE", "NULL"}
	queryWords  = append([]string{"ORDER", "BY", "ASC", "DESC"}, filterWords...)
	topicWords  = append([]string{"SELECT", "FROM", "WHERE", "AS", "INNER", "NATURAL", "JOIN"}, filterWords...)
)

// language is the grammar of one kind of expression.
type language[G any] struct {
	words  []string
	lexer  *lexer.StatefulDefinition
	parser *participle.Parser[G]
}

func languageOf[G any](words []string) language[G] {
	// The lexer never fails: what no other rule takes becomes Open or Invalid, and is reported where it stands.
	def := lexer.MustStateful(lexer.Rules{"Root": {
		{Name: "Space", Pattern: `\s+`},
		{Name: "Parameter", Pattern: `%\d+`},
		{Name: "String", Pattern: "['`](?:[^'\\n]|'')*'"},
		{Name: "Float", Pattern: `(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+`},
		{Name: "Int", Pattern: `0[xX][0-9a-fA-F]+|\d+`},
		{Name: "Keyword", Pattern: `(?i:` + strings.Join(words, "|") + `)\b`},
		{Name: "Scoped", Pattern: `[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+`},
		{Name: "Ident", Pattern: `[A-Za-z_]\w*|"[A-Za-z_]\w*"`},
		{Name: "Open", Pattern: "['`\"]"},
		{Name: "Operator", Pattern: `<>|!=|<=|>=|[=<>]`},
		{Name: "Punct", Pattern: `[-+*.,;()\[\]]`},
		{Name: "Invalid", Pattern: `(?:.|\n)`},
	}})
	return language[G]{words, def, participle.MustBuild[G](
		participle.Lexer(def), participle.Elide("Space"), participle.CaseInsensitive("Keyword"), participle.UseLookahead(2),
	)}
}

var (
	filterLanguage  = languageOf[filterSyntax](filterWords)
	queryLanguage   = languageOf[querySyntax](queryWords)
	topicLanguage   = languageOf[topicSyntax](topicWords)
	literalLanguage = languageOf[literalSyntax](filterWords)
)

// filterSyntax is FilterExpression of DDS 1.4 Annex B.
type filterSyntax struct {
	Condition *conditionSyntax `parser:"@@"`
}

// querySyntax is QueryExpression. That a condition may be missing is the standard's.
type querySyntax struct {
	Condition *conditionSyntax `parser:"@@?"`
	Order     []*orderSyntax   `parser:"( 'ORDER' 'BY' @@ ( ',' @@ )* )?"`
}

type orderSyntax struct {
	Member *memberSyntax `parser:"@@"`
	Down   bool          `parser:"( 'ASC' | @'DESC' )?"`
}

// topicSyntax is TopicExpression. That the semicolon may be missing is an extension.
type topicSyntax struct {
	Pos    lexer.Position
	All    bool             `parser:"'SELECT' ( @'*'"`
	Fields []*fieldSyntax   `parser:"         | @@ ( ',' @@ )* )"`
	From   *joinSyntax      `parser:"'FROM' @@"`
	Where  *conditionSyntax `parser:"( 'WHERE' @@ )? ';'?"`
}

// fieldSyntax is SubjectFieldSpec: a member of a topic, and what it is called in the result.
type fieldSyntax struct {
	Member *memberSyntax `parser:"@@"`
	As     *memberSyntax `parser:"( 'AS'? @@ )?"`
}

// joinSyntax is Selection, and JoinItem with its parentheses.
type joinSyntax struct {
	Group *joinSyntax `parser:"( '(' @@ ')'"`
	Topic *nameSyntax `parser:"| @@ )"`
	With  *joinSyntax `parser:"( ( 'INNER' 'NATURAL' | 'NATURAL' 'INNER'? ) 'JOIN' @@ )?"`
}

// nameSyntax is TOPICNAME. One that is no identifier is a string: an extension.
type nameSyntax struct {
	Pos    lexer.Position
	Name   string `parser:"  @Ident"`
	Quoted string `parser:"| @String"`
	EndPos lexer.Position
}

// conditionSyntax is Condition; that NOT binds closer than AND, and AND closer than OR, is in conjunctions and terms.
type conditionSyntax struct {
	Any []*conjunctionSyntax `parser:"@@ ( 'OR' @@ )*"`
}

type conjunctionSyntax struct {
	All []*termSyntax `parser:"@@ ( 'AND' @@ )*"`
}

type termSyntax struct {
	Nots      []string         `parser:"@'NOT'*"`
	Group     *conditionSyntax `parser:"( '(' @@ ')'"`
	Predicate *predicateSyntax `parser:"| @@ )"`
}

// predicateSyntax is ComparisonPredicate and BetweenPredicate. MATCH and IN are extensions.
type predicateSyntax struct {
	Pos      lexer.Position
	Left     *operandSyntax   `parser:"@@"`
	Operator string           `parser:"( @Operator"`
	Right    *operandSyntax   `parser:"  @@"`
	Not      bool             `parser:"| @'NOT'? ("`
	Low      *operandSyntax   `parser:"    'BETWEEN' @@"`
	High     *operandSyntax   `parser:"    'AND' @@"`
	Like     *operandSyntax   `parser:"  | 'LIKE' @@"`
	Match    *operandSyntax   `parser:"  | 'MATCH' @@"`
	In       []*operandSyntax `parser:"  | 'IN' '(' @@ ( ',' @@ )* ')' ) )"`
	EndPos   lexer.Position
}

// operandSyntax is FIELDNAME or Parameter. An enumerator may stand without quotes: it looks like a member, or is Scoped.
type operandSyntax struct {
	Pos       lexer.Position
	Parameter string         `parser:"  @Parameter"`
	Literal   *literalSyntax `parser:"| @@"`
	Scoped    string         `parser:"| @Scoped"`
	Member    *memberSyntax  `parser:"| @@"`
	EndPos    lexer.Position
}

type literalSyntax struct {
	Number  string `parser:"  @( ( '-' | '+' )? ( Int | Float ) )"`
	String  string `parser:"| @String"`
	Boolean string `parser:"| @( 'TRUE' | 'FALSE' )"`
	Null    bool   `parser:"| @'NULL'"`
}

// memberSyntax is FIELDNAME: a.b[2].c.
type memberSyntax struct {
	Pos    lexer.Position
	Name   string        `parser:"@Ident"`
	Steps  []*stepSyntax `parser:"@@*"`
	EndPos lexer.Position
}

type stepSyntax struct {
	Pos    lexer.Position
	Name   string `parser:"  '.' @Ident"`
	Index  string `parser:"| '[' @Int ']'"`
	EndPos lexer.Position
}

// parse gives the tree of an expression.
func (l language[G]) parse(text string) (*G, error) {
	if len(text) > maxExpression {
		return nil, &Error{Expression: text[:32] + "...", Detail: "the expression is longer than 16 KiB"}
	}
	if err := l.checkNesting(text); err != nil {
		return nil, err
	}
	tree, err := l.parser.ParseString("", text)
	if err != nil {
		return nil, l.explain(text, err)
	}
	return tree, nil
}

// checkNesting bounds how deep the parser recurses.
func (l language[G]) checkNesting(text string) error {
	lex, err := l.lexer.LexString("", text)
	if err != nil {
		return &Error{Expression: text, Detail: err.Error()}
	}
	depth := 0
	for {
		t, err := lex.Next()
		switch {
		case err != nil:
			return &Error{Expression: text, Detail: err.Error()}
		case t.EOF():
			return nil
		case t.Value == "(":
			depth++
		case t.Value == ")":
			depth--
		}
		if depth > maxNesting {
			return &Error{Expression: text, Offset: t.Pos.Offset, Length: len(t.Value), Detail: "nested too deeply: the limit is 64"}
		}
	}
}

// explain says in our words what the parser did not like.
func (l language[G]) explain(text string, err error) error {
	e := &Error{Expression: text, Detail: err.Error()}
	pe, ok := err.(participle.Error)
	if !ok {
		return e
	}
	e.Offset, e.Detail = pe.Position().Offset, pe.Message()
	ue, ok := err.(*participle.UnexpectedTokenError)
	if !ok {
		return e
	}
	t := ue.Unexpected
	e.Length = len(t.Value)
	symbols := l.lexer.Symbols()
	switch t.Type {
	case lexer.EOF:
		e.Length, e.Detail = 0, "the expression ends too early"
	case symbols["Open"]:
		e.Detail = "quote without its end"
	case symbols["Keyword"]:
		e.Detail = "unexpected key word " + strings.ToUpper(t.Value)
		e.Hint = `for a member of that name write "` + t.Value + `" with double quotes`
	case symbols["Invalid"]:
		e.Detail = "unexpected character " + t.Value
	default:
		e.Detail = "unexpected " + t.Value
	}
	if slices.Contains(l.words, "WHERE") || e.Hint != "" {
		return e
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.EqualFold(first, "SELECT") || strings.EqualFold(first, "WHERE") {
		e.Hint = "write the condition alone, which stands behind WHERE elsewhere: x > 1"
	}
	return e
}

// unquote gives the text of a String token. Two quotes stand for one.
func unquote(token string) string {
	return strings.ReplaceAll(token[1:len(token)-1], "''", "'")
}

// plain gives the name of an Ident token.
func plain(token string) string { return strings.Trim(token, `"`) }
