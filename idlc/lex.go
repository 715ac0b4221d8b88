package idlc

import (
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// The lexer never fails: whatever no other rule takes becomes an Invalid token, reported where it is used. Closing angle
// brackets come one by one, so that sequence<sequence<long>> needs no help from the grammar.
var idlLexer = lexer.MustStateful(lexer.Rules{"Root": {
	{Name: "Space", Pattern: `\s+`},
	{Name: "LineComment", Pattern: `//[^\n]*`},
	{Name: "BlockComment", Pattern: `/\*(?:[^*]|\*+[^*/])*\*+/`},
	{Name: "OpenComment", Pattern: `/\*(?:.|\n)*`},
	{Name: "Directive", Pattern: `#(?:\\\r?\n|[^\n])*`},
	{Name: "Float", Pattern: `(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdDlL]?|\d+[eE][+-]?\d+[fFdDlL]?|\d+[fFdD]\b`},
	{Name: "Int", Pattern: `0[xX][0-9a-fA-F]+|\d+`},
	{Name: "String", Pattern: `L?"(?:\\[^\n]|[^"\\\n])*"`},
	{Name: "OpenString", Pattern: `L?"(?:\\[^\n]|[^"\\\n])*`},
	{Name: "Char", Pattern: `L?'(?:\\[^\n]|[^'\\\n]){0,32}'`},
	{Name: "Ident", Pattern: `[A-Za-z_][A-Za-z0-9_]*`},
	{Name: "Scope", Pattern: `::`},
	{Name: "Punct", Pattern: `[-+*/%&|^~(){}\[\]<>=,;:@?]`},
	{Name: "Invalid", Pattern: `(?:.|\n)`},
}})

type tokenKind = lexer.TokenType

func kindOf(name string) tokenKind { return idlLexer.Symbols()[name] }

var (
	kindSpace        = kindOf("Space")
	kindLineComment  = kindOf("LineComment")
	kindBlockComment = kindOf("BlockComment")
	kindOpenComment  = kindOf("OpenComment")
	kindDirective    = kindOf("Directive")
	kindIdent        = kindOf("Ident")
	kindInt          = kindOf("Int")
	kindString       = kindOf("String")
	kindOpenString   = kindOf("OpenString")
	kindPunct        = kindOf("Punct")
	kindInvalid      = kindOf("Invalid")
)

// token is a lexical unit with the comments that belong to it.
type token struct {
	lexer.Token
	doc     string // comment right before it
	trail   string // comment behind it on the same line
	newLine bool   // first on its line
	spaced  bool   // with white space in front of it
}

func (t token) is(punct string) bool { return t.Type == kindPunct && t.Value == punct }

func (t token) word(w string) bool { return t.Type == kindIdent && t.Value == w }

// lex cuts text into tokens. Comments become attributes of the tokens around them.
func lex(filename, text string, report *Report) []token {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !utf8.ValidString(text) {
		report.warnf(Pos{Filename: filename}, "save the file as UTF-8", "file is not UTF-8")
		text = strings.ToValidUTF8(text, "�")
	}
	lx, err := idlLexer.LexString(filename, text)
	if err != nil {
		report.errorf(Pos{Filename: filename}, "", "%v", err)
		return nil
	}
	var (
		tokens   []token
		doc      []string // comments that may document the next token
		docEnd   int      // line the last of them ended on
		lastLine int      // line the last token or comment ended on
		spaced   bool
	)
	for {
		t, err := lx.Next()
		if err != nil {
			report.errorf(Pos{Filename: filename}, "", "%v", err)
			return tokens
		}
		if t.EOF() {
			return tokens
		}
		endLine := t.Pos.Line + strings.Count(t.Value, "\n")
		switch t.Type {
		case kindSpace:
			spaced = true
			continue
		case kindLineComment, kindBlockComment:
			c := commentText(t.Value)
			switch {
			case len(tokens) > 0 && t.Pos.Line == lastLine && len(doc) == 0:
				prev := &tokens[len(tokens)-1]
				prev.trail = joinLines(prev.trail, c)
			case len(doc) > 0 && t.Pos.Line > docEnd+1:
				doc, docEnd = []string{c}, endLine
			default:
				doc, docEnd = append(doc, c), endLine
			}
			spaced = true
		case kindOpenComment:
			report.errorf(t.Pos, "close it with */", "comment does not end")
		default:
			tok := token{Token: t, newLine: t.Pos.Line > lastLine, spaced: spaced}
			if len(doc) > 0 && t.Pos.Line <= docEnd+1 {
				tok.doc = strings.Join(doc, "\n")
			}
			doc = nil
			tokens = append(tokens, tok)
			spaced = false
		}
		lastLine = endLine
	}
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// commentText strips a comment to its words: the markers, the stars of a block, the extra slash or exclamation mark of a
// documentation comment, and the arrow of one that follows what it documents.
func commentText(c string) string {
	if rest, ok := strings.CutPrefix(c, "//"); ok {
		rest = strings.TrimLeft(rest, "/!")
		rest = strings.TrimPrefix(rest, "<")
		return strings.TrimRight(strings.TrimPrefix(rest, " "), " \t\r")
	}
	c = strings.TrimSuffix(strings.TrimPrefix(c, "/*"), "*/")
	c = strings.TrimLeft(c, "*!")
	c = strings.TrimPrefix(c, "<")
	lines := strings.Split(c, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if i > 0 {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "*"), " ")
		}
		lines[i] = strings.TrimRight(line, " \t*")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
