package idlc

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
)

const (
	maxIncludeDepth = 32
	maxTokens       = 1 << 21 // of one translation unit after all substitutions
	maxFiles        = 1 << 12 // read for one translation unit
	maxText         = 1 << 28 // bytes of them
)

// preprocessor turns a file into the tokens of its translation unit, as that of C does: it follows #include, substitutes macros
// (macro.go), and drops what conditions leave out (condition.go).
type preprocessor struct {
	report  *Report
	read    func(name string) ([]byte, error)
	include []string
	once    map[string]bool   // files that said #pragma once
	guards  map[string]string // files that lie within #ifndef NAME, and NAME
	source
	ros2Read map[string]bool // files of ROS 2 by package/kind/type
	reads    int             // files read
	bytes    int             // of them
	expander
}

// preprocess gives the tokens of the translation unit that begins at file.
func preprocess(file string, opts *Options, report *Report) source {
	p := &preprocessor{report: report, read: opts.ReadFile, include: opts.Include, once: map[string]bool{}, guards: map[string]string{}}
	p.expander = expander{report: report, macros: map[string]*macro{}}
	for _, d := range opts.Define {
		name, value, given := strings.Cut(d, "=")
		if !given {
			value = "1"
		}
		p.define(Pos{Filename: "-D " + d, Line: 1, Column: 1}, lexDirective(name+" "+value, Pos{Filename: "-D " + d, Line: 1, Column: 1}, report))
	}
	text, err := p.read(file)
	if err != nil {
		report.errorf(Pos{Filename: file}, "", "cannot read: %v", cause(err))
		return source{}
	}
	p.file(file, string(text), nil)
	return p.source
}

// conditional is one #if with what follows it.
type conditional struct {
	pos       Pos
	active    bool // tokens count
	taken     bool // some branch did
	outer     bool // the surrounding condition is active
	elseGiven bool
}

func (p *preprocessor) file(name, text string, stack []string) {
	p.reads++
	p.bytes += len(text)
	delete(p.report.presumed, name)           // read again, it says the same again
	text = strings.TrimPrefix(text, "\uFEFF") // some editors put it in front of UTF-8
	p.report.sources[name] = text
	if ros2Kind(name) != "" {
		p.ros2(name, text, stack)
		return
	}
	toks := lex(name, text, p.report)
	stack = append(stack, name)
	var conds []conditional
	guard, guarded := "", false
	run := 0 // tokens from here on are not passed on yet
	for i := range toks {
		t := &toks[i]
		active := len(conds) == 0 || conds[len(conds)-1].active
		if t.Type != kindDirective {
			continue
		}
		if active {
			p.text(toks[run:i])
		}
		run = i + 1
		if !t.newLine {
			if active {
				p.report.errorf(t.Pos, "a directive begins its line", "unexpected %q", "#")
			}
			continue
		}
		if i == 0 {
			guard = guardName(t)
		}
		conds = p.directive(t, conds, stack)
		if len(conds) == 0 { // the guard goes on to the end of the file, or is none
			guarded = guard != "" && i == len(toks)-1
			if !guarded {
				guard = ""
			}
		}
	}
	if len(conds) == 0 || conds[len(conds)-1].active {
		p.text(toks[run:])
	}
	if guarded {
		p.guards[name] = guard
	}
	for _, c := range conds {
		p.report.errorf(c.pos, "close it with #endif", "condition does not end")
	}
}

// guardName gives NAME of #ifndef NAME.
func guardName(t *token) string {
	words := strings.Fields(t.Value[1:])
	if len(words) == 2 && words[0] == "ifndef" {
		return words[1]
	}
	return ""
}

// text passes tokens on, with macros substituted.
func (p *preprocessor) text(toks []token) {
	if len(toks) == 0 {
		return
	}
	p.toks = slices.Grow(p.toks, len(toks))
	p.expand(toks, func(t token) bool {
		if len(p.toks) == maxTokens {
			p.report.errorf(t.Pos, "look for macros that multiply", "more than %d tokens", maxTokens)
		}
		if len(p.toks) > maxTokens {
			return false
		}
		switch {
		case t.Type == kindInvalid && t.Value == "!": // which parsers do not expect anywhere: there is one error for all of a != b
			t.Type = kindPunct
			p.toks = append(p.toks, t)
		case t.Type == kindInvalid || t.Type == kindOpenString:
			p.toks = append(p.toks, p.mistaken(t)...)
		default:
			p.toks = append(p.toks, t)
		}
		return true
	})
}

// mistaken reports what is no token, and gives what may be meant by it.
func (p *preprocessor) mistaken(t token) []token {
	if t.Type == kindInvalid {
		hint := ""
		if t.Value == "'" {
			hint = "a character literal is one character between single quotes"
		}
		p.report.errorf(t.Pos, hint, "unexpected character %q", t.Value)
		return nil
	}
	p.report.errorf(t.Pos, `close it with " on the line it begins on`, "string does not end")
	semicolon := t
	text, ended := strings.CutSuffix(strings.TrimRight(t.Value, " \t\r"), ";")
	semicolon.Pos.Advance(text)
	semicolon.Type, semicolon.Value, semicolon.remarks = kindPunct, ";", nil
	t.Type, t.Value = kindString, `""`
	if ended {
		return []token{t, semicolon}
	}
	return []token{t}
}

var directives = []string{"include", "define", "undef", "ifdef", "ifndef", "if", "elif", "else", "endif", "pragma", "error", "warning", "line"}

// directive obeys one line that begins with a number sign.
func (p *preprocessor) directive(t *token, conds []conditional, stack []string) []conditional {
	start := t.Pos
	start.Advance("#")
	text := t.Value[1:]
	top := len(conds) - 1
	active := top < 0 || conds[top].active
	quiet := p.report
	if !active {
		quiet = newReport()
	}
	toks := lexDirective(text, start, quiet)
	word := ""
	if len(toks) > 0 {
		word = toks[0].Value
	}
	var rest []token
	if len(toks) > 1 {
		rest = toks[1:]
	}
	switch word {
	case "ifdef", "ifndef":
		on := false
		if active {
			name := p.macroName(t, word, rest)
			on = (p.macros[name] != nil) == (word == "ifdef")
		}
		return append(conds, conditional{pos: t.Pos, active: on, taken: on, outer: active})
	case "if":
		on := active && p.truth(t.Pos, rest)
		return append(conds, conditional{pos: t.Pos, active: on, taken: on, outer: active})
	case "else", "elif":
		if top < 0 || conds[top].elseGiven {
			p.report.errorf(t.Pos, "", "#%s without #if", word)
			return conds
		}
		c := &conds[top]
		c.elseGiven = word == "else"
		c.active = c.outer && !c.taken && (word == "else" || p.truth(t.Pos, rest))
		c.taken = c.taken || c.active
		return conds
	case "endif":
		if top < 0 {
			p.report.errorf(t.Pos, "", "#endif without #if")
			return conds
		}
		return conds[:top]
	}
	if !active || len(toks) == 0 {
		return conds
	}
	line := strings.TrimSpace(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(text), word), "\\\n", " "))
	switch word {
	case "include":
		p.includeFile(t, line, rest, stack)
	case "define":
		p.define(t.Pos, rest)
	case "undef":
		delete(p.macros, p.macroName(t, word, rest))
	case "pragma":
		p.pragma(t, line, rest, stack[len(stack)-1])
	case "error":
		p.report.errorf(t.Pos, "", "#error %s", line)
	case "warning":
		p.report.warnf(t.Pos, "", "#warning %s", line)
	case "line":
		p.line(t, rest)
	default:
		if toks[0].Type == kindInt { // # 12 "file.idl", as preprocessors of C write it
			p.line(t, toks)
			break
		}
		p.report.errorf(t.Pos, suggest.DidYouMean(word, slices.Values(directives)), "unknown directive #%s", word)
	}
	return conds
}

func (p *preprocessor) macroName(t *token, word string, rest []token) string {
	if len(rest) == 0 || rest[0].Type != kindIdent {
		p.report.errorf(t.Pos, "", "#%s needs a name", word)
		return ""
	}
	return rest[0].Value
}

// pragma obeys one, or leaves it to the parser. Those of other compilers that are about their code alone say nothing to us.
func (p *preprocessor) pragma(t *token, line string, rest []token, file string) {
	word := ""
	if len(rest) > 0 {
		word = rest[0].Value
	}
	switch word {
	case "once":
		p.once[file] = true
	case "keylist", "DCPS_DATA_KEY":
		p.pragmas = append(p.pragmas, pragma{at: len(p.toks), pos: t.Pos, toks: rest})
	case "prefix", "ID", "version", "DCPS_DATA_TYPE", "DCPS_SUPPORT_ZERO_COPY_READ": // of repositories, and of older OpenDDS
	default:
		p.report.warnf(t.Pos, suggest.DidYouMean(word, slices.Values([]string{"once", "keylist", "prefix"})), "#pragma %s is ignored", line)
	}
}

// line makes what follows count from another number, perhaps in another file.
func (p *preprocessor) line(t *token, rest []token) {
	rest = p.expandAll(rest)
	if len(rest) == 0 || rest[0].Type != kindInt || len(rest) > 1 && rest[1].Type != kindString {
		p.report.errorf(t.Pos, `write #line 12 "file.idl"`, "#line needs a number")
		return
	}
	n, err := strconv.Atoi(rest[0].Value)
	if err != nil {
		p.report.errorf(rest[0].Pos, "", "line number %s is too large", rest[0].Value)
		return
	}
	name := ""
	if len(rest) > 1 {
		name, _ = unquote(strings.TrimPrefix(rest[1].Value, "L"))
	}
	p.report.presume(t.Pos, n, name)
}

// includedName reads "name" or <name>.
func includedName(line string) (name string, quoted, ok bool) {
	if len(line) > 2 && line[0] == '"' {
		if n := strings.IndexByte(line[1:], '"'); n > 0 {
			return line[1 : 1+n], true, true
		}
	}
	if len(line) > 2 && line[0] == '<' {
		if n := strings.IndexByte(line, '>'); n > 1 {
			return line[1:n], false, true
		}
	}
	return "", false, false
}

func (p *preprocessor) includeFile(t *token, line string, rest []token, stack []string) {
	name, quoted, ok := includedName(line)
	if !ok { // perhaps a macro stands for the name
		line = ""
		for _, tok := range p.expandAll(rest) {
			line += tok.Value
		}
		name, quoted, ok = includedName(line)
	}
	var dirs []string
	if quoted {
		dirs = append(dirs, filepath.Dir(t.Pos.Filename))
	}
	switch {
	case !ok:
		p.report.errorf(t.Pos, `write #include "file.idl"`, "#include needs a file name")
		return
	case len(p.toks) > maxTokens: // reported
		return
	case p.bytes > maxText:
		p.report.errorf(t.Pos, "guard the files with #ifndef or #pragma once", "more than %d bytes included", maxText)
		return
	case p.reads >= maxFiles:
		p.report.errorf(t.Pos, "guard the files with #ifndef or #pragma once", "more than %d files included", maxFiles)
		return
	case len(stack) > maxIncludeDepth:
		p.report.errorf(t.Pos, "guard the file with #ifndef or #pragma once", "includes are nested more than %d deep", maxIncludeDepth)
		return
	}
	for _, dir := range append(dirs, p.include...) {
		path := filepath.Join(dir, name)
		if p.once[path] || p.guards[path] != "" && p.macros[p.guards[path]] != nil {
			return
		}
		text, err := p.read(path)
		if err != nil {
			continue
		}
		if _, again := p.report.includedAt[path]; !again {
			p.report.includedAt[path] = t.Pos
		}
		p.file(path, string(text), stack)
		return
	}
	hint := "name its directory with -I"
	if len(p.include) > 0 {
		hint = "it is not in " + strings.Join(p.include, ", ") + "; " + hint
	}
	p.report.errorf(t.Pos, hint, "cannot find %q", name)
}

// cause strips the file name, which the message has already, from an error of the file system.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
