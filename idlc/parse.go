package idlc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

var (
	memberParser     = grammar[memberSyntax]()
	typedefParser    = grammar[typedefSyntax]()
	constParser      = grammar[constSyntax]()
	enumeratorParser = grammar[enumeratorSyntax]()
	moduleParser     = grammar[moduleHeader]()
	structParser     = grammar[structHeader]()
	enumParser       = grammar[enumHeader]()
)

func grammar[G any]() *participle.Parser[G] {
	return participle.MustBuild[G](participle.Lexer(idlLexer), participle.UseLookahead(3))
}

const (
	maxNesting     = 64      // brackets within brackets, and with them the depth of recursion
	maxDeclaration = 1 << 12 // tokens of one declaration, enumerator or member
)

// parser cuts the token stream into declarations at semicolons and braces and has participle parse each alone: an error
// costs one declaration, and all of them are found in one pass.
type parser struct {
	report *Report
	toks   []token
	at     int
	end    Pos  // behind the last token
	gaveUp bool // after too many errors
}

// parse gives the definitions of a translation unit.
func parse(toks []token, report *Report) []definition {
	p := &parser{report: report, toks: toks}
	if len(toks) > 0 {
		last := toks[len(toks)-1]
		p.end = last.Pos
		p.end.Advance(last.Value)
	}
	var defs []definition
	for p.at < len(p.toks) {
		defs = append(defs, p.definitions(0)...)
		if p.at < len(p.toks) { // a closing brace too many
			p.report.errorf(p.toks[p.at].Pos, "", "unexpected %q", p.toks[p.at].Value)
			p.at++
			p.skipSemicolon()
		}
	}
	return defs
}

// chunk is the tokens of one declaration, up to what ends it.
type chunk struct {
	toks  []token
	stop  token // the semicolon, comma or brace that ended it; its zero value: end of file
	doc   string
	trail string
	cut   bool // it was too long or too deep, which is reported
}

func (c chunk) pos(p *parser) Pos {
	if len(c.toks) > 0 {
		return c.toks[0].Pos
	}
	return p.stopPos(c)
}

func (p *parser) stopPos(c chunk) Pos {
	if c.stop.Value == "" {
		return p.end
	}
	return c.stop.Pos
}

// docs joins the comments above and behind.
func (c chunk) docs() string {
	if c.doc == "" {
		return c.trail
	}
	return joinLines(c.doc, c.trail)
}

// next takes tokens up to one of the stops outside of brackets, and the stop itself unless it is a brace.
func (p *parser) next(stops string) chunk {
	var c chunk
	depth, sequences := 0, 0
	for ; p.at < len(p.toks); p.at++ {
		t := p.toks[p.at]
		if len(c.toks) == 0 && c.doc == "" {
			c.doc = t.doc
		}
		if t.Type == kindPunct {
			if depth == 0 && strings.Contains(stops, t.Value) || strings.Contains("{};", t.Value) {
				c.stop, c.trail = t, t.trail
				if n := len(c.toks); n > 0 && c.toks[n-1].trail != "" {
					c.trail = joinLines(c.toks[n-1].trail, c.trail)
				}
				if t.Value != "{" && t.Value != "}" {
					p.at++
				}
				return c
			}
			switch t.Value {
			case "(", "[":
				if depth++; depth == maxNesting {
					c.cut = true
					p.report.errorf(t.Pos, "", "brackets nested more than %d deep", maxNesting-1)
				}
			case ")", "]":
				depth = max(0, depth-1)
			}
		}
		if t.word("sequence") {
			if sequences++; sequences == maxSequences+1 {
				c.cut = true
				p.report.errorf(t.Pos, "put structs between them", "sequences nested more than %d deep", maxSequences)
			}
		}
		if len(c.toks) == maxDeclaration {
			p.report.errorf(t.Pos, "", "declaration has more than %d words and signs", maxDeclaration)
			c.cut = true
			c.toks = append(c.toks, t)
		}
		if depth < maxNesting && sequences <= maxSequences && len(c.toks) < maxDeclaration {
			c.toks = append(c.toks, t)
		}
	}
	if n := len(c.toks); n > 0 {
		c.trail = c.toks[n-1].trail
	}
	return c
}

// definitions parses up to a closing brace, which it leaves, or the end.
func (p *parser) definitions(depth int) []definition {
	var defs []definition
	for p.at < len(p.toks) && !p.toks[p.at].is("}") {
		if p.report.full() {
			p.at = len(p.toks)
			p.gaveUp = true
			break
		}
		if p.toks[p.at].is(";") { // an empty declaration does no harm
			p.at++
			continue
		}
		if d := p.definition(depth); d != nil {
			defs = append(defs, d)
		}
	}
	return defs
}

func (p *parser) definition(depth int) definition {
	c := p.next(";")
	key := keyword(c.toks)
	open := c.stop.is("{")
	switch {
	case len(c.toks) == 0 && open:
		p.report.errorf(c.stop.Pos, "", "unexpected %q", "{")
		p.skipBraces()
		return nil
	case key.word("module"):
		h := runGrammar(p, moduleParser, c)
		if !open {
			if h != nil {
				p.expected(c, "{")
			}
			return nil
		}
		return p.moduleBody(h, c, depth)
	case key.word("struct") || key.word("exception"):
		if key.word("exception") {
			break
		}
		h := runGrammar(p, structParser, c)
		if !open {
			if h == nil {
				return nil
			}
			p.terminated(c)
			return &structDef{structHeader: *h, Doc: c.docs(), Forward: true}
		}
		return p.structBody(h, c)
	case key.word("enum"):
		h := runGrammar(p, enumParser, c)
		if !open {
			if h != nil {
				p.expected(c, "{")
			}
			return nil
		}
		return p.enumBody(h, c)
	case key.word("typedef") && !open:
		p.terminated(c)
		if s := runGrammar(p, typedefParser, c); s != nil {
			return &typedefDef{*s, c.docs()}
		}
		return unknown(c, lastIdent(c.toks))
	case key.word("const") && !open:
		p.terminated(c)
		if s := runGrammar(p, constParser, c); s != nil {
			return &constDef{*s, c.docs()}
		}
		return unknown(c, constName(c.toks))
	}
	return p.otherDefinition(c, key)
}

// unsupported maps the keywords of IDL that this version leaves out to what they introduce.
var unsupported = map[string]string{
	"union": "union", "bitmask": "bitmask", "bitset": "bitset", "interface": "interface", "valuetype": "valuetype",
	"exception": "exception", "native": "native type", "local": "interface", "abstract": "interface", "component": "component",
	"annotation": "annotation definition", "eventtype": "eventtype", "custom": "valuetype", "map": "map",
}

// otherDefinition reports what is no definition, or none that is supported, and skips it.
func (p *parser) otherDefinition(c chunk, key token) definition {
	name := ""
	for i, t := range c.toks {
		if t.Pos == key.Pos && t.Value == key.Value && i+1 < len(c.toks) {
			name = c.toks[i+1].Value
		}
	}
	what, known := unsupported[key.Value]
	switch {
	case known:
		p.report.errorf(key.Pos, "", "not supported yet by this version: %s %s", what, name)
	case key.Value == "":
		p.report.errorf(c.pos(p), "", "annotation without a definition")
	default:
		p.report.errorf(key.Pos, didYouMean(key.Value, definitionWords), "unexpected %q, expected a definition", key.Value)
	}
	if c.stop.is("{") {
		p.skipBraces()
	}
	if name == "" {
		return nil
	}
	return &unknownDef{key.Pos, name}
}

func definitionWords(yield func(string) bool) {
	for _, w := range []string{"module", "struct", "enum", "typedef", "const"} {
		if !yield(w) {
			return
		}
	}
}

func unknown(c chunk, name string) definition {
	if name == "" {
		return nil
	}
	return &unknownDef{c.toks[0].Pos, name}
}

func lastIdent(toks []token) string {
	name := ""
	for _, t := range toks {
		if t.is("[") {
			break
		}
		if t.Type == kindIdent {
			name = t.Value
		}
	}
	return name
}

func constName(toks []token) string {
	for i, t := range toks {
		if t.is("=") {
			return lastIdent(toks[:i])
		}
	}
	return ""
}

// keyword is the first token behind annotations; @annotation itself counts as one.
func keyword(toks []token) token {
	for i := 0; i < len(toks); {
		if !toks[i].is("@") {
			return toks[i]
		}
		i++
		if i < len(toks) && toks[i].word("annotation") {
			return toks[i]
		}
		for i < len(toks) && (toks[i].Type == kindIdent && !(i > 0 && toks[i-1].Type == kindIdent) || toks[i].Value == "::") {
			i++
		}
		if i < len(toks) && toks[i].is("(") {
			for depth := 0; i < len(toks); i++ {
				if toks[i].is("(") {
					depth++
				} else if toks[i].is(")") {
					if depth--; depth == 0 {
						i++
						break
					}
				}
			}
		}
	}
	return token{}
}

func (p *parser) moduleBody(h *moduleHeader, c chunk, depth int) definition {
	open := p.toks[p.at]
	p.at++
	if depth == maxNesting {
		p.report.errorf(open.Pos, "", "modules nested more than %d deep", maxNesting)
		p.at--
		p.skipBraces()
		return nil
	}
	defs := p.definitions(depth + 1)
	if h == nil {
		h = &moduleHeader{Name: &ident{Pos: open.Pos, Text: "?"}}
	}
	p.closeBrace("module "+h.Name.Text, open)
	return &moduleDef{moduleHeader: *h, Doc: c.doc, Defs: defs}
}

// closeBrace takes the closing brace and the semicolon behind it.
func (p *parser) closeBrace(what string, open token) {
	if p.at == len(p.toks) {
		if p.gaveUp {
			return
		}
		p.report.errorf(p.end, "close it with };", "file ends within %s, opened at line %d", what, open.Pos.Line)
		return
	}
	p.at++
	p.skipOrReportSemicolon()
}

func (p *parser) skipOrReportSemicolon() {
	if p.at < len(p.toks) && p.toks[p.at].is(";") {
		p.at++
		return
	}
	brace := p.toks[p.at-1]
	after := brace.Pos
	after.Advance(brace.Value)
	p.report.errorf(after, "", "expected %q after %q", ";", "}")
}

func (p *parser) skipSemicolon() {
	if p.at < len(p.toks) && p.toks[p.at].is(";") {
		p.at++
	}
}

// skipBraces passes over a block and its semicolon.
func (p *parser) skipBraces() {
	for depth := 0; p.at < len(p.toks); p.at++ {
		switch {
		case p.toks[p.at].is("{"):
			depth++
		case p.toks[p.at].is("}"):
			if depth--; depth == 0 {
				p.at++
				p.skipSemicolon()
				return
			}
		}
	}
}

// expected reports a declaration that ended too early.
func (p *parser) expected(c chunk, what string) {
	p.report.errorf(p.stopPos(c), "", "unexpected %s, expected %q", stopText(c), what)
}

// terminated reports a declaration that does not end in a semicolon.
func (p *parser) terminated(c chunk) {
	if !c.stop.is(";") {
		p.expected(c, ";")
	}
}

func stopText(c chunk) string {
	if c.stop.Value == "" {
		return "end of file"
	}
	return fmt.Sprintf("%q", c.stop.Value)
}

// startsDefinition tells whether a declaration within braces shows that the closing brace is missing.
func startsDefinition(c chunk) bool {
	k := keyword(c.toks)
	switch k.Value {
	case "struct", "module", "enum", "typedef", "const", "union", "interface", "bitmask", "bitset":
		return k.Type == kindIdent
	}
	return false
}

func (p *parser) structBody(h *structHeader, c chunk) definition {
	open := p.toks[p.at]
	p.at++
	s := &structDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		s.structHeader = *h
	} else {
		s.Name = &ident{Pos: c.pos(p), Text: "?"}
		for i, t := range c.toks {
			if t.word("struct") && i+1 < len(c.toks) && c.toks[i+1].Type == kindIdent {
				s.Name = &ident{Pos: c.toks[i+1].Pos, Text: c.toks[i+1].Value}
			}
		}
	}
	for p.at < len(p.toks) && !p.toks[p.at].is("}") {
		start := p.at
		m := p.next(";")
		if startsDefinition(m) {
			p.report.errorf(m.toks[0].Pos, "close the struct with };", "definition inside struct %s, opened at line %d", s.Name.Text, open.Pos.Line)
			p.at = start
			s.Broken = true
			return s
		}
		if m.stop.is("{") {
			p.report.errorf(m.stop.Pos, "define the type on its own, before the struct", "unexpected %q in a member", "{")
			p.skipBraces()
			s.Broken = true
			continue
		}
		if len(m.toks) == 0 {
			continue
		}
		if parsed := runGrammar(p, memberParser, m); parsed != nil {
			s.Members = append(s.Members, &memberDef{*parsed, m.docs()})
			p.terminated(m)
		} else {
			s.Broken = true
		}
	}
	p.closeBrace("struct "+s.Name.Text, open)
	return s
}

func (p *parser) enumBody(h *enumHeader, c chunk) definition {
	open := p.toks[p.at]
	p.at++
	e := &enumDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		e.enumHeader = *h
	} else {
		e.Name = &ident{Pos: c.pos(p), Text: "?"}
	}
	for p.at < len(p.toks) && !p.toks[p.at].is("}") {
		start := p.at
		m := p.next(",")
		if startsDefinition(m) {
			p.report.errorf(m.toks[0].Pos, "close the enum with };", "definition inside enum %s, opened at line %d", e.Name.Text, open.Pos.Line)
			p.at = start
			e.Broken = true
			return e
		}
		switch {
		case m.stop.is("{"):
			p.report.errorf(m.stop.Pos, "", "unexpected %q in an enum", "{")
			p.skipBraces()
			e.Broken = true
			continue
		case m.stop.is(";"):
			p.report.errorf(m.stop.Pos, "enumerators are separated by commas", "unexpected %q in an enum", ";")
		}
		if len(m.toks) == 0 {
			if m.stop.is(",") {
				p.report.errorf(m.stop.Pos, "", "unexpected %q, expected an enumerator", ",")
			}
			continue
		}
		if parsed := runGrammar(p, enumeratorParser, m); parsed != nil {
			e.Enumerators = append(e.Enumerators, &enumeratorDef{*parsed, m.docs()})
		} else {
			e.Broken = true
		}
	}
	p.closeBrace("enum "+e.Name.Text, open)
	return e
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
	for i, t := range c.toks { // templates that the grammar leaves out
		if (t.word("map") || t.word("fixed")) && i+1 < len(c.toks) && c.toks[i+1].is("<") {
			p.report.errorf(t.Pos, "", "not supported yet by this version: type %s", t.Value)
			return nil
		}
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
		}
	}
	hint := semicolonHint(c, pos)
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
		if hint := didYouMean(t.Value, slices.Values(words)); hint != "" {
			return hint
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
	case strings.HasPrefix(after, `"unsigned`), strings.HasPrefix(after, "TypeSpec"):
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
