package idlc

import (
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
)

const (
	maxNesting     = 64      // brackets within brackets, and with them the depth of recursion
	maxDeclaration = 1 << 12 // tokens of one declaration, enumerator or member
)

// source is a translation unit as the preprocessor leaves it.
type source struct {
	toks    []token
	pragmas []pragma
}

// pragma is one that the preprocessor does not obey itself. It stands in front of toks[at].
type pragma struct {
	at   int
	pos  Pos
	toks []token // behind #pragma
}

// parser cuts the token stream into declarations at semicolons and braces and has participle parse each alone: an error
// costs one declaration, and all of them are found in one pass.
type parser struct {
	report *Report
	source
	at     int
	end    Pos  // behind the last token
	gaveUp bool // after too many errors
	bodies []structBody
}

// parse gives the definitions of a translation unit.
func parse(src source, report *Report) []definition {
	p := &parser{report: report, source: src}
	if len(p.toks) > 0 {
		last := p.toks[len(p.toks)-1]
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
	p.parseBodies()
	return append(defs, p.pragmasHere()...)
}

// chunk is the tokens of one declaration, up to what ends it.
type chunk struct {
	toks  []token
	stop  token // the semicolon, comma or brace that ended it; its zero value: end of file
	doc   string
	trail string
	marks []mark
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
	start := p.at
	depth, sequences := 0, 0
	for ; p.at < len(p.toks); p.at++ {
		t := &p.toks[p.at]
		if t.remarks != nil {
			if c.doc == "" && p.at == start {
				c.doc = t.doc
			}
			c.marks = append(c.marks, t.marks...)
		}
		if t.Type == kindPunct {
			if depth == 0 && strings.Contains(stops, t.Value) || strings.Contains("{};", t.Value) {
				c.stop = *t
				c.finish(p.toks[start:p.at])
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
		if t.word("sequence") || t.word("map") {
			if sequences++; sequences == maxSequences+1 {
				c.cut = true
				p.report.errorf(t.Pos, "put structs between them", "%ss nested more than %d deep", t.Value, maxSequences)
			}
		}
		if p.at-start == maxDeclaration {
			p.report.errorf(t.Pos, "", "declaration has more than %d words and signs", maxDeclaration)
			c.cut = true
		}
	}
	c.finish(p.toks[start:p.at])
	return c
}

// finish gives a chunk its tokens and the comment behind it.
func (c *chunk) finish(toks []token) {
	c.toks = toks
	_, c.trail, _ = c.stop.docs()
	if n := len(toks); n > 0 {
		_, trail, _ := toks[n-1].docs()
		c.trail = joinLines(trail, c.trail)
	}
}

// pragmasHere takes the pragmas in front of the next token.
func (p *parser) pragmasHere() []definition {
	var defs []definition
	for len(p.pragmas) > 0 && p.pragmas[0].at <= p.at {
		if d := p.keylist(p.pragmas[0]); d != nil {
			defs = append(defs, d)
		}
		p.pragmas = p.pragmas[1:]
	}
	return defs
}

// definitions parses up to a closing brace, which it leaves, or the end.
func (p *parser) definitions(depth int) []definition {
	var defs []definition
	for {
		if len(p.pragmas) > 0 {
			defs = append(defs, p.pragmasHere()...)
		}
		if p.at == len(p.toks) || p.toks[p.at].is("}") {
			return defs
		}
		if p.report.full() {
			p.at = len(p.toks)
			p.gaveUp = true
			return defs
		}
		if p.toks[p.at].is(";") { // an empty declaration does no harm
			p.at++
			continue
		}
		if d := p.definition(depth); d != nil {
			defs = append(defs, d)
		}
	}
}

func (p *parser) definition(depth int) definition {
	c := p.next(";")
	key := keyword(c.toks)
	open := c.stop.is("{")
	if key.Type != kindIdent && !key.is("@") {
		key.Value = ""
	}
	switch key.Value {
	case "module":
		if isTemplate(c.toks) || !open && len(c.toks) > 2 {
			return p.skip(c, key, "template module")
		}
		h := runGrammar(p, moduleParser, c)
		if !open {
			if h != nil {
				p.expected(c, "{")
			}
			return nil
		}
		return p.moduleBody(h, c, depth)
	case "struct":
		return p.structDef(c, runGrammar(p, structParser, c), open)
	case "union":
		return p.unionDef(c, runGrammar(p, unionParser, c), open)
	case "enum":
		return p.enumDef(c, runGrammar(p, enumParser, c), open)
	case "bitmask":
		return p.bitmaskDef(c, runGrammar(p, bitmaskParser, c), open)
	case "bitset":
		return p.bitsetDef(c, runGrammar(p, bitsetParser, c), open)
	case "@":
		return p.annotationDef(c, open)
	case "typedef":
		if open {
			return p.typedefOfBody(c)
		}
		p.terminated(c)
		if s := runGrammar(p, typedefParser, c); s != nil {
			s.Annotations = append(s.Annotations, p.fromMarks(c.marks)...)
			return &typedefDef{*s, c.docs()}
		}
		return unknown(c, lastIdent(c.toks))
	case "const":
		if open {
			break
		}
		p.terminated(c)
		if s := runGrammar(p, constParser, c); s != nil {
			return &constDef{*s, c.docs()}
		}
		return unknown(c, constName(c.toks))
	}
	if what := notData[key.Value]; what != "" {
		return p.notData(c, key, what, depth)
	}
	return p.otherDefinition(c, key)
}

// otherDefinition reports what is no definition, and skips it.
func (p *parser) otherDefinition(c chunk, key token) definition {
	open := c.stop.is("{")
	switch {
	case len(c.toks) == 0 && open:
		p.report.errorf(c.stop.Pos, "", "unexpected %q", "{")
	case key.Value == "" && len(c.toks) > 0 && c.toks[0].is("@"):
		p.report.errorf(c.pos(p), "", "annotation without a definition")
	case key.Value == "":
		p.report.errorf(c.pos(p), "", "unexpected %q, expected a definition", c.toks[0].Value)
	case isTypeWord(key.Value):
		p.report.errorf(key.Pos, "members belong into a struct; a constant begins with const", "unexpected %q, expected a definition", key.Value)
	default:
		p.report.errorf(key.Pos, suggest.DidYouMean(key.Value, slices.Values(definitionWords)), "unexpected %q, expected a definition", key.Value)
	}
	if open {
		p.skipBraces()
	}
	if name := nameBehind(c.toks, key); name != nil {
		return &unknownDef{key.Pos, name.Text}
	}
	return nil
}

var definitionWords = []string{"module", "struct", "union", "enum", "bitmask", "bitset", "typedef", "const", "interface",
	"valuetype", "exception", "native"}

func isTypeWord(w string) bool {
	_, primitive := primitiveWords[w]
	return primitive || w == "unsigned" || w == "string" || w == "wstring" || w == "sequence" || w == "map"
}

// nameBehind gives the identifier that follows a keyword.
func nameBehind(toks []token, key token) *ident {
	for i, t := range toks {
		if t.Token == key.Token && i+1 < len(toks) && toks[i+1].Type == kindIdent {
			return &ident{toks[i+1].Pos, toks[i+1].Value}
		}
	}
	return nil
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

// keyword is the first token behind annotations. The sign in front of @annotation counts as one.
func keyword(toks []token) token {
	for i := 0; i < len(toks); {
		if !toks[i].is("@") {
			return toks[i]
		}
		if i+1 < len(toks) && toks[i+1].word("annotation") || i+1 < len(toks) && toks[i+1].word("Annotation") {
			return toks[i]
		}
		i++
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

// closeBrace takes the closing brace and the semicolon behind it, and gives the annotations in comments there.
func (p *parser) closeBrace(what string, open token) []mark {
	if p.at == len(p.toks) {
		if p.gaveUp {
			return nil
		}
		p.report.errorf(p.end, "close it with };", "file ends within %s, opened at line %d", what, open.Pos.Line)
		return nil
	}
	_, _, marks := p.toks[p.at].docs()
	p.at++
	if p.at < len(p.toks) && p.toks[p.at].is(";") {
		_, _, more := p.toks[p.at].docs()
		p.at++
		return append(marks[:len(marks):len(marks)], more...)
	}
	brace := p.toks[p.at-1]
	after := brace.Pos
	after.Advance(brace.Value)
	p.report.errorf(after, "", "expected %q after %q", ";", "}")
	return marks
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
