package idlc

import (
	"slices"
	"strings"
)

// startsDefinition tells whether a declaration within braces shows that the closing brace is missing.
func startsDefinition(c chunk) bool {
	k := keyword(c.toks)
	switch k.Value {
	case "struct", "module", "enum", "typedef", "const", "union", "interface", "bitmask", "bitset":
		return k.Type == kindIdent
	}
	return k.is("@")
}

// items parses what is between braces, of which the opening one comes next. Each item gets one declaration and tells whether it
// was in order. what names the whole in messages.
func (p *parser) items(what, stops string, item func(c chunk) bool) (broken bool, marks []mark) {
	open := p.toks[p.at]
	kind, _, _ := strings.Cut(what, " ")
	p.at++
	for p.at < len(p.toks) && !p.toks[p.at].is("}") {
		start := p.at
		c := p.next(stops)
		switch {
		case startsDefinition(c):
			if c.stop.is("{") && p.inlineType(c, kind) {
				broken = true
				continue
			}
			p.report.errorf(c.toks[0].Pos, "close the "+kind+" with };", "definition inside %s, opened at line %d", what, open.Pos.Line)
			p.at = start
			return true, nil
		case c.stop.is("{"):
			p.report.errorf(c.stop.Pos, "define the type on its own, before the "+kind, "unexpected %q in %s %s", "{", article(kind), kind)
			p.skipBraces()
			broken = true
		case !item(c):
			broken = true
		}
	}
	return broken, p.closeBrace(what, open)
}

// inlineType reports a type that is defined where a member uses it, as IDL allowed before version 4.
func (p *parser) inlineType(c chunk, kind string) bool {
	depth := 0
	for i := p.at; i < min(len(p.toks), p.at+maxDeclaration); i++ {
		switch {
		case p.toks[i].is("{"):
			depth++
		case p.toks[i].is("}"):
			depth--
		}
		if depth > 0 {
			continue
		}
		if i+1 >= len(p.toks) || p.toks[i+1].Type != kindIdent || isTypeWord(p.toks[i+1].Value) ||
			slices.Contains(definitionWords, p.toks[i+1].Value) {
			return false
		}
		p.report.errorf(c.toks[0].Pos, "define the type on its own, before the "+kind, "%s is defined within %s %s",
			keyword(c.toks).Value, article(kind), kind)
		p.at = i + 1
		p.next(";")
		return true
	}
	return false
}

func article(noun string) string {
	if strings.IndexByte("aeio", noun[0]) >= 0 { // a union, an enum
		return "an"
	}
	return "a"
}

// separated reports a semicolon or nothing where a comma separates.
func (p *parser) separated(c chunk, kind, one string) {
	switch {
	case c.stop.is(";"):
		p.report.errorf(c.stop.Pos, one+"s are separated by commas", "unexpected %q in %s %s", ";", article(kind), kind)
	case len(c.toks) == 0 && c.stop.is(","):
		p.report.errorf(c.stop.Pos, "", "unexpected %q, expected %s %s", ",", article(one), one)
	}
}

// named gives the name of a definition whose header did not parse, as well as it can be told.
func (p *parser) named(c chunk) *ident {
	if name := nameBehind(c.toks, keyword(c.toks)); name != nil {
		return name
	}
	return &ident{Pos: c.pos(p), Text: "?"}
}

// headless handles a definition without a body; it tells whether it is a forward declaration that parsed.
func (p *parser) headless(c chunk, parsed, mayForward bool) bool {
	if !parsed {
		return false
	}
	if !mayForward {
		p.expected(c, "{")
		return false
	}
	p.terminated(c)
	return true
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

func (p *parser) structDef(c chunk, h *structHeader, open bool) definition {
	if !open {
		if p.headless(c, h != nil, true) {
			return &structDef{structHeader: *h, Doc: c.docs(), Forward: true}
		}
		return nil
	}
	s := &structDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		s.structHeader = *h
	} else {
		s.Name = p.named(c)
	}
	var members []chunk
	broken, marks := p.items("struct "+s.Name.Text, ";", func(m chunk) bool {
		if len(m.toks) > 0 {
			members = append(members, m)
		}
		return true
	})
	s.Broken = s.Broken || broken
	s.Annotations = append(s.Annotations, p.fromMarks(append(c.marks, marks...))...)
	p.bodies = append(p.bodies, structBody{s, members})
	return s
}

func (p *parser) unionDef(c chunk, h *unionHeader, open bool) definition {
	if !open {
		if !p.headless(c, h != nil, true) {
			return nil
		}
		if h.Switch != nil {
			p.expected(c, "{")
		}
		return &unionDef{unionHeader: *h, Doc: c.docs(), Forward: true}
	}
	u := &unionDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		u.unionHeader = *h
	} else {
		u.Name = p.named(c)
	}
	if h != nil && h.Switch == nil {
		p.report.errorf(c.stop.Pos, "write union "+u.Name.Text+" switch (TYPE) {", "unexpected %q, expected %q", "{", "switch")
		u.Broken = true
	}
	broken, marks := p.items("union "+u.Name.Text, ";", func(m chunk) bool {
		if len(m.toks) == 0 {
			return true
		}
		parsed := runGrammar(p, caseParser, m)
		if parsed == nil {
			return false
		}
		parsed.Annotations = slices.Concat(parsed.Before, parsed.Annotations, p.fromMarks(m.marks))
		u.Cases = append(u.Cases, &caseDef{*parsed, m.docs()})
		p.terminated(m)
		return true
	})
	u.Broken = u.Broken || broken
	u.Annotations = append(u.Annotations, p.fromMarks(append(c.marks, marks...))...)
	return u
}

func (p *parser) enumDef(c chunk, h *enumHeader, open bool) definition {
	if !open {
		p.headless(c, h != nil, false)
		return nil
	}
	e := &enumDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		e.enumHeader = *h
	} else {
		e.Name = p.named(c)
	}
	list, broken, marks := p.enumerators("enum "+e.Name.Text, "enumerator")
	e.Enumerators, e.Broken = list, e.Broken || broken
	e.Annotations = append(e.Annotations, p.fromMarks(append(c.marks, marks...))...)
	return e
}

func (p *parser) bitmaskDef(c chunk, h *bitmaskHeader, open bool) definition {
	if !open {
		p.headless(c, h != nil, false)
		return nil
	}
	b := &bitmaskDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		b.bitmaskHeader = *h
	} else {
		b.Name = p.named(c)
	}
	list, broken, marks := p.enumerators("bitmask "+b.Name.Text, "flag")
	b.Flags, b.Broken = list, b.Broken || broken
	b.Annotations = append(b.Annotations, p.fromMarks(append(c.marks, marks...))...)
	return b
}

// enumerators parses a list with commas: of an enum or of a bitmask.
func (p *parser) enumerators(what, one string) (list []*enumeratorDef, broken bool, marks []mark) {
	kind, _, _ := strings.Cut(what, " ")
	broken, marks = p.items(what, ",", func(m chunk) bool {
		p.separated(m, kind, one)
		if len(m.toks) == 0 {
			return true
		}
		parsed := runGrammar(p, enumeratorParser, m)
		if parsed == nil {
			return false
		}
		list = append(list, &enumeratorDef{*parsed, m.docs()})
		return true
	})
	return list, broken, marks
}

func (p *parser) bitsetDef(c chunk, h *bitsetHeader, open bool) definition {
	if !open {
		p.headless(c, h != nil, false)
		return nil
	}
	b := &bitsetDef{Doc: c.docs(), Broken: h == nil}
	if h != nil {
		b.bitsetHeader = *h
	} else {
		b.Name = p.named(c)
	}
	broken, _ := p.items("bitset "+b.Name.Text, ";", func(m chunk) bool {
		if len(m.toks) == 0 {
			return true
		}
		parsed := runGrammar(p, bitfieldParser, m)
		if parsed == nil {
			return false
		}
		b.Fields = append(b.Fields, &bitfieldDef{*parsed, m.docs()})
		p.terminated(m)
		return true
	})
	b.Broken = b.Broken || broken
	return b
}

// annotationDef parses @annotation NAME { parameters, types and constants };
func (p *parser) annotationDef(c chunk, open bool) definition {
	if len(c.toks) > 1 && c.toks[1].word("Annotation") { // @Annotation local interface, before IDL 4
		name := nameBehind(c.toks, c.toks[min(3, len(c.toks)-1)])
		if open {
			p.skipBraces()
		}
		return &skippedDef{c.toks[0].Pos, "annotation in the form of XTypes 1.0,", name}
	}
	h := runGrammar(p, annotationParser, c)
	if h == nil || !open {
		if h != nil {
			p.expected(c, "{")
		} else if open {
			p.skipBraces()
		}
		return nil
	}
	a := &annotationDef{annotationHeader: *h, Doc: c.docs()}
	brace := p.toks[p.at]
	p.at++
	for p.at < len(p.toks) && !p.toks[p.at].is("}") && !p.report.full() {
		start := p.at
		m := p.next(";")
		switch k := keyword(m.toks); {
		case len(m.toks) == 0 && !m.stop.is("{"):
		case k.word("enum") || k.word("const") || k.word("typedef") || k.word("bitmask"):
			p.at = start
			if d := p.definition(maxNesting); d != nil {
				a.Defs = append(a.Defs, d)
			}
		case m.stop.is("{"):
			p.report.errorf(m.stop.Pos, "", "unexpected %q in an annotation", "{")
			p.skipBraces()
		default:
			if parsed := runGrammar(p, parameterParser, m); parsed != nil {
				a.Params = append(a.Params, parsed)
				p.terminated(m)
			}
		}
	}
	p.closeBrace("annotation "+a.Name.Text, brace)
	return a
}
