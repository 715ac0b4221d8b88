package idlc

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// The lexer is written by hand: participle's own, made of regular expressions, took more time than all other stages together.
// It never fails: what is no token becomes an Invalid one, reported where it is used. Closing angle brackets come
// one by one, so that sequence<sequence<long>> needs no help from the grammar.

type tokenKind = lexer.TokenType

const (
	kindIdent      tokenKind = iota + 1
	kindInt                  // decimal, octal or hexadecimal, perhaps with a suffix of C
	kindFloat                // also with the suffix d of a fixed-point number
	kindString               // "text", L"text"
	kindOpenString           // does not end on its line
	kindChar                 // 'c', L'c'
	kindScope                // ::
	kindPunct
	kindDirective // a whole line that begins with #
	kindInvalid
)

// symbols are the kinds that the grammar names.
type symbols struct{}

func (symbols) Symbols() map[string]tokenKind {
	return map[string]tokenKind{"EOF": lexer.EOF, "Ident": kindIdent, "Int": kindInt, "Float": kindFloat, "String": kindString,
		"Char": kindChar, "Scope": kindScope, "Punct": kindPunct}
}

// Lex is what participle would call to read a file by itself.
func (symbols) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	report := newReport()
	s := &tokenStream{toks: lex(filename, string(text), report)}
	return s, nil
}

// token is a lexical unit with the comments that belong to it.
type token struct {
	lexer.Token
	*remarks
	newLine bool // first on its line
	spaced  bool // with white space in front of it
	painted bool // the name of a macro that stands for itself
}

// remarks are the comments around a token.
type remarks struct {
	doc   string // right before it
	trail string // behind it on the same line
	marks []mark // annotations as comments behind it: //@key
}

// mark is an annotation in the form that RTI's and older tools have it: //@name argument.
type mark struct {
	pos       Pos
	name, arg string
}

func (t *token) remark() *remarks {
	if t.remarks == nil {
		t.remarks = &remarks{}
	}
	return t.remarks
}

func (t *token) docs() (doc, trail string, marks []mark) {
	if t.remarks == nil {
		return "", "", nil
	}
	return t.remarks.doc, t.remarks.trail, t.remarks.marks
}

func (t *token) is(punct string) bool { return t.Type == kindPunct && t.Value == punct }

func (t *token) word(w string) bool { return t.Type == kindIdent && t.Value == w }

// scanner cuts text into tokens.
type scanner struct {
	text      string
	at        int
	pos       Pos // of at
	directive bool
	report    *Report
	tokens    []token

	doc      []string // comments that may document the next token
	docEnd   int      // line the last of them ended on
	lastLine int      // line the last token or comment ended on
	spaced   bool
}

// lex gives the tokens of a file. Comments become attributes of the tokens around them.
func lex(filename, text string, report *Report) []token {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !utf8.ValidString(text) {
		report.warnf(Pos{Filename: filename}, "save the file as UTF-8", "file is not UTF-8")
		text = strings.ToValidUTF8(text, "�")
	}
	s := scanner{text: text, pos: Pos{Filename: filename, Line: 1, Column: 1}, report: report, tokens: make([]token, 0, len(text)/6)}
	s.run()
	return s.tokens
}

// lexDirective gives the tokens of a part of a directive, which begins at pos.
func lexDirective(text string, pos Pos, report *Report) []token {
	s := scanner{text: text, pos: pos, report: report, directive: true, lastLine: pos.Line}
	s.run()
	return s.tokens
}

// advance moves on by n bytes and keeps the position in step. Columns count characters.
func (s *scanner) advance(n int) {
	for _, c := range []byte(s.text[s.at : s.at+n]) {
		switch {
		case c == '\n':
			s.pos.Line++
			s.pos.Column = 1
		case c&0xc0 != 0x80: // not the rest of a character
			s.pos.Column++
		}
	}
	s.at += n
	s.pos.Offset += n
}

func (s *scanner) run() {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f':
			s.advance(spaces(rest))
			s.spaced = true
		case c == '\\' && len(rest) > 1 && rest[1] == '\n': // the line goes on
			s.advance(2)
			s.spaced = true
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			s.comment(n)
		case strings.HasPrefix(rest, "/*"):
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				s.comment(n + 4)
				break
			}
			s.report.errorf(s.pos, "close it with */", "comment does not end")
			s.advance(len(rest))
		case c == '#' && !s.directive:
			s.token(kindDirective, directiveEnd(rest))
		default:
			s.token(s.next(rest))
		}
	}
}

func spaces(text string) int {
	n := 0
	for n < len(text) && (text[n] == ' ' || text[n] >= '\t' && text[n] <= '\r') {
		n++
	}
	return n
}

// directiveEnd finds the end of a directive: that of its line, unless the line goes on behind a backslash or in a comment.
func directiveEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\n':
			return i
		case text[i] == '\\' && i+1 < len(text):
			i++
		case strings.HasPrefix(text[i:], "//"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
			return i
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return len(text)
			}
			i += n + 3
		case text[i] == '"':
			if n := stringEnd(text[i:]); n > 0 {
				i += n - 1
			}
		}
	}
	return len(text)
}

// token adds one, n bytes long.
func (s *scanner) token(kind tokenKind, n int) {
	t := token{Token: lexer.Token{Type: kind, Value: s.text[s.at : s.at+n], Pos: s.pos}, newLine: s.pos.Line > s.lastLine, spaced: s.spaced}
	if len(s.doc) > 0 {
		if s.pos.Line <= s.docEnd+1 {
			t.remark().doc = strings.Join(s.doc, "\n")
		}
		s.doc = nil
	}
	s.tokens = append(s.tokens, t)
	s.advance(n)
	s.spaced = false
	s.lastLine = s.pos.Line
}

// comment gives a comment to the token before it, on its line, or keeps it for the one behind.
func (s *scanner) comment(n int) {
	text, line := s.text[s.at:s.at+n], s.pos.Line
	m, isMark := markOf(text, s.pos)
	s.advance(n)
	s.spaced = true
	if s.directive {
		return
	}
	switch c := commentText(text); {
	case isMark && len(s.tokens) > 0:
		r := s.tokens[len(s.tokens)-1].remark()
		r.marks = append(r.marks, m)
	case isMark:
	case len(s.tokens) > 0 && line == s.lastLine && len(s.doc) == 0:
		r := s.tokens[len(s.tokens)-1].remark()
		r.trail = joinLines(r.trail, c)
	case len(s.doc) > 0 && line > s.docEnd+1:
		s.doc, s.docEnd = []string{c}, s.pos.Line
	default:
		s.doc, s.docEnd = append(s.doc, c), s.pos.Line
	}
	s.lastLine = s.pos.Line
}

// markOf reads //@name argument.
func markOf(text string, pos Pos) (mark, bool) {
	rest, ok := strings.CutPrefix(text, "//@")
	if !ok || rest == "" || !letter(rest[0]) {
		return mark{}, false
	}
	n := 0
	for n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '-') {
		n++
	}
	pos.Column += 2
	pos.Offset += 2
	return mark{pos, rest[:n], strings.TrimSpace(rest[n:])}, true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func hexDigit(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// next gives kind and length of the token that text begins with.
func (s *scanner) next(text string) (tokenKind, int) {
	c := text[0]
	switch {
	case c == 'L' && len(text) > 1 && (text[1] == '"' || text[1] == '\''):
		kind, n := quoted(text[1:])
		return kind, n + 1
	case letter(c):
		n := 1
		for n < len(text) && (letter(text[n]) || digit(text[n])) {
			n++
		}
		return kindIdent, n
	case digit(c) || c == '.' && len(text) > 1 && digit(text[1]):
		return number(text)
	case c == '"' || c == '\'':
		return quoted(text)
	case strings.HasPrefix(text, "::"):
		return kindScope, 2
	case strings.IndexByte("-+*/%&|^~(){}[]<>=,;:@?", c) >= 0:
		return kindPunct, 1
	case s.directive && strings.HasPrefix(text, "##"):
		return kindPunct, 2
	case s.directive && strings.HasPrefix(text, "..."):
		return kindPunct, 3
	case s.directive && (c == '#' || c == '!'):
		return kindPunct, 1
	}
	_, n := utf8.DecodeRuneInString(text)
	return kindInvalid, n
}

// quoted reads a string or character literal.
func quoted(text string) (tokenKind, int) {
	if text[0] == '"' {
		if n := stringEnd(text); n > 0 {
			return kindString, n
		}
		if n := strings.IndexByte(text, '\n'); n > 0 {
			return kindOpenString, n
		}
		return kindOpenString, len(text)
	}
	const most = 32 // characters: a literal has one, perhaps written as an escape
	for i, count := 1, 0; i < len(text) && text[i] != '\n' && count <= most; count++ {
		switch {
		case text[i] == '\'':
			return kindChar, i + 1
		case text[i] == '\\' && i+1 < len(text) && text[i+1] != '\n':
			i++
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		i += n
	}
	return kindInvalid, 1
}

// stringEnd gives the length of a string literal, 0 if it does not end on its line.
func stringEnd(text string) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			if i++; i < len(text) && text[i] == '\n' {
				return 0
			}
		}
	}
	return 0
}

// number reads an integer, floating-point or fixed-point literal.
func number(text string) (tokenKind, int) {
	n, kind := 0, kindInt
	digits := func(of func(byte) bool) {
		for n < len(text) && of(text[n]) {
			n++
		}
	}
	at := func(i int, set string) bool { return i < len(text) && strings.IndexByte(set, text[i]) >= 0 }
	if text[0] == '0' && at(1, "xX") && len(text) > 2 && hexDigit(text[2]) {
		n = 2
		digits(hexDigit)
		return kindInt, n + suffix(text[n:], "uUlL")
	}
	digits(digit)
	if at(n, ".") && !strings.HasPrefix(text[n:], "...") {
		kind = kindFloat
		n++
		digits(digit)
	}
	if at(n, "eE") {
		sign := 0
		if at(n+1, "+-") {
			sign = 1
		}
		if n+1+sign < len(text) && digit(text[n+1+sign]) {
			kind = kindFloat
			n += 1 + sign
			digits(digit)
		}
	}
	if kind == kindFloat {
		return kind, n + suffix(text[n:], "fFdDlL")
	}
	if m := suffix(text[n:], "uUlL"); m > 0 {
		return kindInt, n + m
	}
	if m := suffix(text[n:], "fFdD"); m == 1 {
		return kindFloat, n + 1
	}
	return kindInt, n
}

// suffix gives the length of a suffix of the given letters, 0 if it is part of a longer word.
func suffix(text, letters string) int {
	n := 0
	for n < len(text) && strings.IndexByte(letters, text[n]) >= 0 {
		n++
	}
	if n < len(text) && (letter(text[n]) || digit(text[n])) {
		return 0
	}
	return n
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
