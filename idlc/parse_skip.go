package idlc

import (
	"slices"
	"strings"
)

// notData maps the words that begin definitions which describe no data to what they introduce.
var notData = map[string]string{
	"interface": "interface", "local": "interface", "abstract": "interface", "valuetype": "valuetype", "custom": "valuetype",
	"eventtype": "eventtype", "exception": "exception", "native": "native type", "component": "component", "home": "home",
	"porttype": "porttype", "connector": "connector", "import": "import", "typeid": "typeid", "typeprefix": "typeprefix",
	"alias": "template module",
}

// skip passes over a definition and leaves a note of it.
func (p *parser) skip(c chunk, key token, what string) definition {
	if c.stop.is("{") {
		p.skipBraces()
	}
	return &skippedDef{key.Pos, what, nameBehind(c.toks, key)}
}

// notData passes over a definition that describes no data. The types and constants that an interface declares do: they
// are kept.
func (p *parser) notData(c chunk, key token, what string, depth int) definition {
	for i := range c.toks { // abstract valuetype, local interface, custom valuetype
		if next := c.toks[i]; next.Type == kindIdent && (next.Value == "interface" || next.Value == "valuetype" || next.Value == "eventtype") {
			key, what = next, next.Value
			break
		}
	}
	name := nameBehind(c.toks, key)
	switch what {
	case "import", "typeid", "typeprefix":
		return &skippedDef{key.Pos, what, nil}
	case "interface", "valuetype", "eventtype":
	default:
		return p.skip(c, key, what)
	}
	if name == nil || !c.stop.is("{") || depth >= maxNesting {
		return p.skip(c, key, what)
	}
	open := p.toks[p.at]
	p.at++
	d := &interfaceDef{Pos: key.Pos, What: what, Name: name}
	for p.at < len(p.toks) && !p.toks[p.at].is("}") && !p.report.full() {
		start := p.at
		m := p.next(";")
		switch k := keyword(m.toks); {
		case k.Type == kindIdent && slices.Contains([]string{"struct", "union", "enum", "bitmask", "bitset", "typedef", "const",
			"exception", "native"}, k.Value):
			p.at = start
			if inner := p.definition(depth + 1); inner != nil {
				d.Defs = append(d.Defs, inner)
			}
		case m.stop.is("{"):
			p.skipBraces()
		}
	}
	p.closeBrace(what+" "+name.Text, open)
	return d
}

// isTemplate finds module M<typename T>.
func isTemplate(toks []token) bool {
	return slices.ContainsFunc(toks, func(t token) bool { return t.is("<") })
}

// typedefOfBody reports typedef struct { ... } NAME, which is C.
func (p *parser) typedefOfBody(c chunk) definition {
	kind := ""
	for _, t := range c.toks {
		if t.word("struct") || t.word("union") || t.word("enum") {
			kind = t.Value
		}
	}
	if kind == "" {
		p.expected(c, ";")
		p.skipBraces()
		return unknown(c, lastIdent(c.toks))
	}
	p.report.errorf(c.toks[0].Pos, "write "+kind+" NAME { ... };", "a typedef cannot define %s %s", article(kind), kind)
	for depth := 0; p.at < len(p.toks); p.at++ {
		if p.toks[p.at].is("{") {
			depth++
		} else if p.toks[p.at].is("}") {
			if depth--; depth == 0 {
				p.at++
				break
			}
		}
	}
	rest := p.next(";")
	if name := lastIdent(rest.toks); name != "" {
		return &unknownDef{c.toks[0].Pos, name}
	}
	return nil
}

// keylist reads #pragma keylist TYPE MEMBER..., and #pragma DCPS_DATA_KEY "TYPE MEMBER" of older OpenDDS.
func (p *parser) keylist(x pragma) definition {
	toks := x.toks[1:]
	if x.toks[0].Value != "keylist" {
		if len(toks) != 1 || toks[0].Type != kindString {
			p.report.errorf(x.pos, `write "TYPE MEMBER"`, "#pragma DCPS_DATA_KEY needs a type and a member in quotes")
			return nil
		}
		pos := toks[0].Pos
		pos.Column++
		pos.Offset++
		toks = lexDirective(strings.Trim(toks[0].Value, `"`), pos, p.report)
	}
	end := 0 // of the type's name: a word or ::, alternating
	for end < len(toks) && (toks[end].Type == kindScope || toks[end].Type == kindIdent && (end == 0 || toks[end-1].Type == kindScope)) {
		end++
	}
	c := chunk{toks: toks[:end]}
	if end == 0 {
		p.report.errorf(x.pos, "", "#pragma keylist needs the name of a struct")
		return nil
	}
	c.stop = toks[end-1]
	name := runGrammar(p, nameParser, c)
	if name == nil {
		return nil
	}
	d := &keylistDef{Pos: x.pos, Type: name}
	if len(toks) > maxDeclaration {
		p.report.errorf(x.pos, "", "#pragma keylist has more than %d words and signs", maxDeclaration)
		return nil
	}
	for i, rest := 0, toks[end:]; i < len(rest); i++ {
		t := rest[i]
		last := len(d.Members) - 1
		switch {
		case t.Type == kindIdent && i > 0 && rest[i-1].Value == ".":
			d.Members[last].Text += "." + t.Value
		case t.Type == kindIdent:
			d.Members = append(d.Members, &ident{t.Pos, t.Value})
		case t.Value == "." && last >= 0 || t.is(","):
		default:
			p.report.errorf(t.Pos, "", "unexpected %q, expected a member of %s", t.Value, name)
			return nil
		}
	}
	return d
}

// fromMarks gives annotations in comments the form of others. Those that speak of the code of other languages are left out.
func (p *parser) fromMarks(marks []mark) []*annotation {
	var list []*annotation
	for _, m := range marks {
		word := strings.ToLower(strings.ReplaceAll(m.name, "-", "_"))
		arg := m.arg
		switch word {
		case "key", "optional", "must_understand", "external", "nested", "topic":
			if !strings.EqualFold(arg, "true") && !strings.EqualFold(arg, "false") {
				arg = "" // a remark
			}
		case "shared":
			word, arg = "external", ""
		case "id", "default", "bit_bound", "min", "max":
		case "extensibility":
			word = map[string]string{"FINAL": "final", "EXTENSIBLE": "appendable", "APPENDABLE": "appendable",
				"MUTABLE": "mutable"}[strings.TrimSuffix(arg, "_EXTENSIBILITY")]
			if word == "" {
				p.report.errorf(m.pos, "", "//@Extensibility takes FINAL_EXTENSIBILITY, EXTENSIBLE_EXTENSIBILITY or MUTABLE_EXTENSIBILITY, not %q", arg)
				continue
			}
			arg = ""
		case "top_level":
			word = "nested"
			if strings.EqualFold(arg, "false") {
				arg = "TRUE"
			} else {
				arg = "FALSE"
			}
		default:
			continue
		}
		a := &annotation{Pos: m.pos, Name: &scopedName{Pos: m.pos, Parts: []*ident{{m.pos, word}}}}
		if arg != "" {
			c := chunk{toks: lexDirective(strings.ToUpper(arg), m.pos, p.report)}
			if word != "nested" && word != "key" {
				c.toks = lexDirective(arg, m.pos, p.report)
			}
			if len(c.toks) == 0 {
				continue
			}
			c.stop = c.toks[len(c.toks)-1]
			value := runGrammar(p, exprParser, c)
			if value == nil {
				continue
			}
			a.Args = []*annotationArg{{Pos: value.Pos, Value: value}}
		}
		list = append(list, a)
	}
	return list
}
