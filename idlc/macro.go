package idlc

import (
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

const (
	maxExpansions = 1 << 19 // of macros: their bodies may be empty and still multiply
	maxBuilt      = 1 << 22 // tokens that substitution makes, also those that a later one drops
	maxMacroDepth = 1 << 7  // of macros within macros, and of calls within arguments
	maxParams     = 1 << 8  // of a macro
	maxGlued      = 1 << 26 // bytes of the tokens that # and ## make
)

// macro is a #define. Params is nil for one without parentheses.
type macro struct {
	name     string
	function bool
	params   []string
	variadic bool // the last parameter takes all that is left; it is called __VA_ARGS__ unless it has a name
	body     []token
}

// expander substitutes macros by the rules of C: what a macro gives is read again together with what follows, but
// within it the macro's own name stands for itself.
type expander struct {
	report  *Report
	macros  map[string]*macro
	expands int
	built   int
	glued   int
	depth   int // of arguments within arguments
}

// frame is a run of tokens that is being read.
type frame struct {
	toks []token
	of   *macro // that gave them; nil for text
}

// input is what an expansion reads: the text, and on top of it what macros gave.
type input struct {
	frames  []frame
	hidden  map[*macro]int // macros that are being read, and how often
	carried *remarks       // of a macro that gave nothing
}

// next takes a token; macros whose tokens are used up may be used again.
func (in *input) next() (token, bool) {
	for n := len(in.frames) - 1; n >= 0; n-- {
		f := &in.frames[n]
		if len(f.toks) > 0 {
			t := f.toks[0]
			f.toks = f.toks[1:]
			return t, true
		}
		if f.of != nil {
			if in.hidden[f.of]--; in.hidden[f.of] == 0 {
				delete(in.hidden, f.of)
			}
		}
		in.frames = in.frames[:n]
	}
	return token{}, false
}

// peek gives the next token and leaves it.
func (in *input) peek() *token {
	for n := len(in.frames) - 1; n >= 0; n-- {
		if len(in.frames[n].toks) > 0 {
			return &in.frames[n].toks[0]
		}
	}
	return nil
}

// expand gives the tokens that toks stand for to emit, until that refuses one.
func (x *expander) expand(toks []token, emit func(token) bool) {
	x.expandHiding(toks, nil, emit)
}

// expandAll gives them as a list.
func (x *expander) expandAll(toks []token) []token {
	var all []token
	x.expand(toks, func(t token) bool { all = append(all, t); return true })
	return all
}

func (x *expander) expandHiding(toks []token, hidden map[*macro]int, emit func(token) bool) {
	if len(x.macros) == 0 && !usesBuiltin(toks) {
		for _, t := range toks {
			if !emit(t) {
				return
			}
		}
		return
	}
	in := &input{frames: []frame{{toks: toks}}, hidden: map[*macro]int{}}
	for m, n := range hidden {
		in.hidden[m] = n
	}
	for {
		t, ok := in.next()
		if !ok {
			return
		}
		if t.Type == kindIdent && !t.painted {
			m := x.macros[t.Value]
			switch {
			case m == nil:
				t = builtin(t)
			case in.hidden[m] > 0:
				t.painted = true
			case m.function && (in.peek() == nil || !in.peek().is("(")):
			default:
				if !x.substitute(in, m, t) {
					return
				}
				continue
			}
		}
		if in.carried != nil {
			r := *t.remark()
			r.doc = joinLines(in.carried.doc, r.doc)
			t.remarks, in.carried = &r, nil
		}
		if !emit(t) {
			return
		}
	}
}

func usesBuiltin(toks []token) bool {
	for i := range toks {
		if strings.HasPrefix(toks[i].Value, "__") {
			return true
		}
	}
	return false
}

// builtin gives what the names stand for that every file knows.
func builtin(t token) token {
	switch t.Value {
	case "__LINE__":
		t.Type, t.Value = kindInt, strconv.Itoa(t.Pos.Line)
	case "__FILE__":
		t.Type, t.Value = kindString, strconv.Quote(t.Pos.Filename)
	case "__IDLGEN__":
		t.Type, t.Value = kindInt, "1"
	}
	return t
}

// substitute puts what a macro stands for in front of the input; false when a bound is reached.
func (x *expander) substitute(in *input, m *macro, t token) bool {
	if len(in.frames)+x.depth > maxMacroDepth {
		return x.tooDeep(t.Pos)
	}
	if x.expands++; x.expands >= maxExpansions {
		if x.expands == maxExpansions {
			x.report.errorf(t.Pos, "look for macros that multiply", "more than %d macro expansions", maxExpansions)
		}
		return false
	}
	body := m.body
	_, trail, marks := t.docs()
	if m.function {
		args, last, ok := x.arguments(in, m, t)
		if !ok {
			return true // reported: the name is dropped
		}
		_, trail, marks = last.docs()
		body = x.replace(m, args, in.hidden, t.Pos)
	}
	if x.built += len(body); x.built > maxBuilt {
		x.report.errorf(t.Pos, "look for macros that multiply", "macros make more than %d tokens", maxBuilt)
		return false
	}
	made := make([]token, len(body))
	for i, b := range body {
		b.Pos, b.remarks, b.newLine = t.Pos, nil, false
		made[i] = b
	}
	if doc, _, _ := t.docs(); doc != "" {
		if len(made) > 0 {
			made[0].remark().doc = doc
		} else {
			in.carried = &remarks{doc: doc}
		}
	}
	if n := len(made); n > 0 {
		made[0].newLine = t.newLine
		if trail != "" || marks != nil {
			r := made[n-1].remark()
			r.trail, r.marks = trail, marks
		}
	}
	in.frames = append(in.frames, frame{made, m})
	in.hidden[m]++
	return true
}

func (x *expander) tooDeep(pos Pos) bool {
	x.report.errorf(pos, "look for macros that stand for one another", "macros are nested more than %d deep", maxMacroDepth)
	return false
}

// glue counts bytes that # and ## make; false when there are too many.
func (x *expander) glue(pos Pos, n int) bool {
	if x.glued > maxGlued {
		return false
	}
	if x.glued += n; x.glued > maxGlued {
		x.report.errorf(pos, "look for macros that multiply", "# and ## make more than %d bytes", maxGlued)
		return false
	}
	return true
}

// arguments takes those of a call, whose opening parenthesis comes next, and gives the closing one as well.
func (x *expander) arguments(in *input, m *macro, call token) (args [][]token, last token, ok bool) {
	in.next()
	depth := 1
	var arg []token
	for {
		t, more := in.next()
		if !more {
			x.report.errorf(call.Pos, "", "the arguments of macro %s do not end", m.name)
			return nil, t, false
		}
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth == 0 {
			last = t
			break
		}
		if t.is(",") && depth == 1 && !(m.variadic && len(args) == len(m.params)-1) {
			args, arg = append(args, arg), nil
			continue
		}
		arg = append(arg, t)
	}
	if len(args) > 0 || len(arg) > 0 || len(m.params) > 0 {
		args = append(args, arg)
	}
	if m.variadic && len(args) == len(m.params)-1 {
		args = append(args, nil)
	}
	if len(args) != len(m.params) {
		x.report.errorf(call.Pos, "", "macro %s takes %s, not %d", m.name, plural(len(m.params), "argument"), len(args))
		return nil, last, false
	}
	return args, last, true
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return itoa(n) + " " + what + "s"
}

// replace gives the body of a macro with arguments for its parameters.
func (x *expander) replace(m *macro, args [][]token, hidden map[*macro]int, pos Pos) []token {
	var out []token
	expanded := make([][]token, len(args))
	full := func(i int) []token {
		if expanded[i] != nil || len(args[i]) == 0 {
			return expanded[i]
		}
		expanded[i] = []token{}
		x.depth++
		defer func() { x.depth-- }()
		if x.depth == maxMacroDepth {
			x.tooDeep(pos)
			return nil
		}
		x.expandHiding(args[i], hidden, func(t token) bool {
			x.built++
			expanded[i] = append(expanded[i], t)
			return x.built <= maxBuilt
		})
		return expanded[i]
	}
	for i := 0; i < len(m.body) && x.built+len(out) <= maxBuilt; i++ {
		t := m.body[i]
		p := m.param(t)
		switch {
		case t.is("#") && m.function && i+1 < len(m.body) && m.param(m.body[i+1]) >= 0:
			i++
			if x.glued > maxGlued { // reported
				break
			}
			if t.Type, t.Value = kindString, stringized(args[m.param(m.body[i])]); x.glue(pos, len(t.Value)) {
				out = append(out, t)
			}
		case t.is("##") && i+1 < len(m.body):
			i++
			right := []token{m.body[i]}
			if p := m.param(m.body[i]); p >= 0 {
				right = args[p]
			}
			if n := len(out); n > 0 && out[n-1].is(",") && m.variadic && m.param(m.body[i]) == len(m.params)-1 {
				if len(right) == 0 { // a comma in front of no argument goes, too
					out = out[:n-1]
				}
				out = append(out, right...)
				break
			}
			out = x.paste(out, right, pos)
		case p >= 0 && i+1 < len(m.body) && m.body[i+1].is("##"):
			out = append(out, args[p]...)
			if len(args[p]) == 0 { // nothing to paste with
				out = append(out, token{Token: lexer.Token{Type: kindPunct, Value: ""}})
			}
		case p >= 0:
			out = append(out, full(p)...)
		default:
			out = append(out, t)
		}
	}
	kept := out[:0]
	for _, t := range out {
		if t.Value != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// param gives the index of the parameter that a token of the body names, or -1.
func (m *macro) param(t token) int {
	if t.Type == kindIdent {
		for i, p := range m.params {
			if p == t.Value {
				return i
			}
		}
	}
	return -1
}

// stringized is the text of an argument as a string literal.
func stringized(arg []token) string {
	var b strings.Builder
	for i, t := range arg {
		if i > 0 && t.spaced {
			b.WriteByte(' ')
		}
		b.WriteString(t.Value)
	}
	s := strings.ReplaceAll(b.String(), `\`, `\\`)
	return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
}

// paste joins the last token of out with the first of right.
func (x *expander) paste(out, right []token, pos Pos) []token {
	if len(right) == 0 || len(out) == 0 {
		return append(out, right...)
	}
	left := &out[len(out)-1]
	if !x.glue(pos, len(left.Value)+len(right[0].Value)) {
		return out
	}
	joined := lexDirective(left.Value+right[0].Value, pos, newReport())
	if len(joined) != 1 {
		x.report.errorf(pos, "", "%q and %q do not make one token", left.Value, right[0].Value)
		return append(out, right...)
	}
	left.Type, left.Value, left.painted = joined[0].Type, joined[0].Value, false
	return append(out, right[1:]...)
}

// define reads NAME body or NAME(parameters) body.
func (x *expander) define(pos Pos, toks []token) {
	if len(toks) == 0 || toks[0].Type != kindIdent {
		x.report.errorf(pos, "", "#define needs a name")
		return
	}
	if toks[0].Value == "defined" {
		x.report.errorf(toks[0].Pos, "", "defined cannot be the name of a macro")
		return
	}
	m := &macro{name: toks[0].Value, body: toks[1:]}
	if len(toks) > 1 && toks[1].is("(") && !toks[1].spaced {
		m.function = true
		n := m.parameters(toks[2:])
		if len(m.params) == maxParams {
			x.report.errorf(pos, "", "macro %s has %d parameters or more", m.name, maxParams)
			return
		}
		if n < 0 {
			x.report.errorf(toks[1].Pos, "write NAME(a, b) or NAME(a, ...)", "the parameters of macro %s are not in order", m.name)
			return
		}
		m.body = toks[2+n:]
	}
	if n := len(m.body); n > 0 && (m.body[0].is("##") || m.body[n-1].is("##")) {
		x.report.errorf(pos, "", "## needs a token on both sides")
		return
	}
	if old := x.macros[m.name]; old != nil && !old.same(m) {
		x.report.warnf(toks[0].Pos, "#undef it first", "macro %s is defined again, in another way", m.name)
	}
	x.macros[m.name] = m
}

// parameters reads them up to the closing parenthesis, and gives how many tokens that took; -1 if they are not in order.
func (m *macro) parameters(toks []token) int {
	if len(toks) > 0 && toks[0].is(")") {
		return 1
	}
	for i := 0; i+1 < len(toks); i += 2 {
		name, behind := toks[i], toks[i+1]
		taken := 2
		switch {
		case m.variadic:
			return -1
		case name.is("..."):
			m.variadic = true
			m.params = append(m.params, "__VA_ARGS__")
		case name.Type == kindIdent && m.param(name) < 0 && len(m.params) < maxParams:
			m.params = append(m.params, name.Value)
			if behind.is("...") && i+2 < len(toks) {
				m.variadic = true
				i++
				behind = toks[i+1]
			}
		default:
			return -1
		}
		if behind.is(")") {
			return i + taken
		}
		if !behind.is(",") {
			return -1
		}
	}
	return -1
}

// same tells whether a second definition says what the first does.
func (m *macro) same(o *macro) bool {
	if m.function != o.function || m.variadic != o.variadic || len(m.params) != len(o.params) || len(m.body) != len(o.body) {
		return false
	}
	for i := range m.params {
		if m.params[i] != o.params[i] {
			return false
		}
	}
	for i := range m.body {
		if m.body[i].Value != o.body[i].Value || i > 0 && m.body[i].spaced != o.body[i].spaced {
			return false
		}
	}
	return true
}
