package idlc

import (
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxIncludeDepth = 32
	maxTokens       = 1 << 19 // of one translation unit after all substitutions
	maxExpansions   = 1 << 19 // of macros: their bodies may be empty and still multiply
	maxMacroDepth   = 1 << 7  // of macros within macros
	maxFiles        = 1 << 10 // read for one translation unit
)

// preprocessor turns a file into tokens: it follows #include, substitutes object-like #define, and drops what #ifdef
// leaves out.
type preprocessor struct {
	report  *Report
	read    func(name string) ([]byte, error)
	include []string
	macros  map[string][]token
	once    map[string]bool
	out     []token
	reads   int // files read
	expands int // macros expanded
}

// preprocess gives the tokens of the translation unit that begins at file.
func preprocess(file string, opts *Options, report *Report) []token {
	p := &preprocessor{report: report, read: opts.ReadFile, include: opts.Include,
		macros: map[string][]token{}, once: map[string]bool{}}
	text, err := p.read(file)
	if err != nil {
		report.errorf(Pos{Filename: file}, "", "cannot read: %v", cause(err))
		return nil
	}
	p.file(file, string(text), nil)
	return p.out
}

// condition is one #ifdef.
type condition struct {
	pos       Pos
	active    bool // tokens count
	taken     bool // some branch did
	outer     bool // the surrounding condition is active
	elseGiven bool
}

func (p *preprocessor) file(name, text string, stack []string) {
	p.reads++
	var conds []condition
	active := func() bool { return len(conds) == 0 || conds[len(conds)-1].active }
	text = strings.TrimPrefix(text, "\uFEFF") // some editors put it in front of UTF-8
	for _, t := range lex(name, text, p.report) {
		switch {
		case t.Type == kindDirective && t.newLine:
			conds = p.directive(t, conds, append(stack, name))
		case !active():
		case t.Type == kindDirective:
			p.report.errorf(t.Pos, "a directive begins its line", "unexpected %q", "#")
		default:
			p.emit(t, nil)
		}
	}
	for _, c := range conds {
		p.report.errorf(c.pos, "close it with #endif", "condition does not end")
	}
}

// literal reports what is no token, and gives what may be meant by it.
func (p *preprocessor) literal(t token) []token {
	switch t.Type {
	case kindInvalid:
		hint := ""
		if t.Value == "'" {
			hint = "a character literal is one character between single quotes"
		}
		p.report.errorf(t.Pos, hint, "unexpected character %q", t.Value)
		return nil
	case kindOpenString:
		p.report.errorf(t.Pos, `close it with " on the line it begins on`, "string does not end")
		semicolon := t
		text, ended := strings.CutSuffix(strings.TrimRight(t.Value, " \t\r"), ";")
		semicolon.Pos.Advance(text)
		semicolon.Type, semicolon.Value, semicolon.doc = kindPunct, ";", ""
		t.Type, t.Value = kindString, `""`
		if ended {
			return []token{t, semicolon}
		}
	}
	return []token{t}
}

// emit appends a token, or what its macro stands for.
func (p *preprocessor) emit(t token, within []string) {
	body, ok := p.macros[t.Value]
	if t.Type != kindIdent || !ok || slices.Contains(within, t.Value) {
		if len(p.out) == maxTokens {
			p.report.errorf(t.Pos, "look for macros that multiply", "more than %d tokens", maxTokens)
		}
		if len(p.out) <= maxTokens {
			p.out = append(p.out, p.literal(t)...)
		}
		return
	}
	if len(within) == maxMacroDepth {
		p.report.errorf(t.Pos, "look for macros that stand for one another", "macros are nested more than %d deep", maxMacroDepth)
		return
	}
	if p.expands++; p.expands == maxExpansions {
		p.report.errorf(t.Pos, "look for macros that multiply", "more than %d macro expansions", maxExpansions)
	}
	if p.expands >= maxExpansions {
		return
	}
	for i, b := range body {
		b.Pos = t.Pos
		b.doc, b.trail = "", ""
		if i == 0 {
			b.doc = t.doc
		}
		if i == len(body)-1 {
			b.trail = t.trail
		}
		if len(p.out) > maxTokens {
			return
		}
		p.emit(b, append(within, t.Value))
	}
}

// directive obeys one line that begins with a number sign.
func (p *preprocessor) directive(t token, conds []condition, stack []string) []condition {
	text := strings.TrimSpace(strings.ReplaceAll(t.Value[1:], "\\\n", " "))
	split := strings.IndexFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	word, rest := text, ""
	if split >= 0 {
		word, rest = text[:split], strings.TrimSpace(text[split:])
	}
	top := len(conds) - 1
	active := top < 0 || conds[top].active
	switch word {
	case "ifdef", "ifndef":
		name := p.macroName(t, word, rest)
		_, defined := p.macros[name]
		on := active && defined == (word == "ifdef")
		return append(conds, condition{pos: t.Pos, active: on, taken: on, outer: active})
	case "if":
		on := false
		if active {
			on = p.truth(t, rest)
		}
		return append(conds, condition{pos: t.Pos, active: on, taken: on, outer: active})
	case "else", "elif":
		if top < 0 || conds[top].elseGiven {
			p.report.errorf(t.Pos, "", "#%s without #if", word)
			return conds
		}
		c := &conds[top]
		c.elseGiven = word == "else"
		c.active = c.outer && !c.taken && (word == "else" || p.truth(t, rest))
		c.taken = c.taken || c.active
		return conds
	case "endif":
		if top < 0 {
			p.report.errorf(t.Pos, "", "#endif without #if")
			return conds
		}
		return conds[:top]
	}
	if !active {
		return conds
	}
	switch word {
	case "include":
		p.includeFile(t, rest, stack)
	case "define":
		p.define(t, rest)
	case "undef":
		delete(p.macros, p.macroName(t, word, rest))
	case "pragma":
		if rest == "once" {
			p.once[stack[len(stack)-1]] = true
			break
		}
		p.report.warnf(t.Pos, "use annotations instead", "#pragma %s is ignored", rest)
	case "error":
		p.report.errorf(t.Pos, "", "#error %s", rest)
	case "warning":
		p.report.warnf(t.Pos, "", "#warning %s", rest)
	case "line", "":
		// Line numbers are those of the file that is read.
	default:
		p.report.errorf(t.Pos, didYouMean(word, slices.Values(directives)), "unknown directive #%s", word)
	}
	return conds
}

var directives = []string{"include", "define", "undef", "ifdef", "ifndef", "if", "elif", "else", "endif", "pragma", "error", "warning", "line"}

func (p *preprocessor) macroName(t token, word, rest string) string {
	toks := lex(t.Pos.Filename, rest, &Report{})
	if len(toks) == 0 || toks[0].Type != kindIdent {
		p.report.errorf(t.Pos, "", "#%s needs a name", word)
		return ""
	}
	return toks[0].Value
}

// truth decides the conditions that IDL files use: a number, defined(NAME), and the negation of either.
func (p *preprocessor) truth(t token, rest string) bool {
	cond := strings.TrimSpace(rest)
	negate := false
	for strings.HasPrefix(cond, "!") {
		cond, negate = strings.TrimSpace(cond[1:]), !negate
	}
	toks := lex(t.Pos.Filename, cond, &Report{})
	var words []string
	for _, tok := range toks {
		words = append(words, tok.Value)
	}
	var value bool
	switch {
	case len(words) == 1 && toks[0].Type == kindInt:
		value = strings.Trim(words[0], "0xX") != ""
	case len(words) == 1 && toks[0].Type == kindIdent:
		body := p.macros[words[0]]
		value = len(body) == 1 && body[0].Type == kindInt && strings.Trim(body[0].Value, "0xX") != ""
	case len(words) == 4 && words[0] == "defined" && words[1] == "(" && words[3] == ")":
		_, value = p.macros[words[2]]
	case len(words) == 2 && words[0] == "defined":
		_, value = p.macros[words[1]]
	default:
		p.report.errorf(t.Pos, "write a number or defined(NAME), or use #ifdef", "condition %q is not supported", rest)
	}
	return value != negate
}

func (p *preprocessor) define(t token, rest string) {
	body := lex(t.Pos.Filename, rest, p.report)
	if len(body) == 0 || body[0].Type != kindIdent {
		p.report.errorf(t.Pos, "", "#define needs a name")
		return
	}
	if len(body) > 1 && body[1].is("(") && !body[1].spaced {
		p.report.errorf(t.Pos, "use a const", "macro %s has parameters: not supported", body[0].Value)
		return
	}
	p.macros[body[0].Value] = body[1:]
}

func (p *preprocessor) includeFile(t token, rest string, stack []string) {
	var name string
	var dirs []string
	switch {
	case len(rest) > 2 && rest[0] == '"' && strings.IndexByte(rest[1:], '"') > 0:
		name = rest[1 : 1+strings.IndexByte(rest[1:], '"')]
		dirs = append(dirs, filepath.Dir(t.Pos.Filename))
	case len(rest) > 2 && rest[0] == '<' && strings.IndexByte(rest, '>') > 1:
		name = rest[1:strings.IndexByte(rest, '>')]
	default:
		p.report.errorf(t.Pos, `write #include "file.idl"`, "#include needs a file name")
		return
	}
	if p.reads >= maxFiles {
		p.report.errorf(t.Pos, "guard the files with #ifndef or #pragma once", "more than %d files included", maxFiles)
		return
	}
	if len(stack) > maxIncludeDepth {
		p.report.errorf(t.Pos, "guard the file with #ifndef or #pragma once", "includes are nested more than %d deep", maxIncludeDepth)
		return
	}
	for _, dir := range append(dirs, p.include...) {
		path := filepath.Join(dir, name)
		if p.once[path] {
			return
		}
		text, err := p.read(path)
		if err != nil {
			continue
		}
		p.file(path, string(text), stack)
		return
	}
	p.report.errorf(t.Pos, "name its directory with -I", "cannot find %q", name)
}
