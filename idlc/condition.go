package idlc

import (
	"strconv"
	"strings"
)

// truth decides the expression of #if or #elif, by the rules of C: macros are substituted, other names count as 0,
// numbers have 64 bits.
func (p *preprocessor) truth(pos Pos, toks []token) bool {
	errors := p.report.errors
	toks = p.definedNames(toks)
	toks = p.expandAll(toks)
	c := &condition{report: p.report, toks: toks, end: pos}
	if n := len(toks); n > 0 {
		c.end = toks[n-1].Pos
		c.end.Advance(toks[n-1].Value)
	}
	v := c.ternary(true, 0)
	if c.at < len(c.toks) {
		c.fail(c.toks[c.at].Pos, "unexpected %q in a condition", c.toks[c.at].Value)
	}
	return v != 0 && p.report.errors == errors
}

// definedNames puts 1 or 0 for defined NAME and defined(NAME).
func (p *preprocessor) definedNames(toks []token) []token {
	var out []token
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if !t.word("defined") {
			out = append(out, t)
			continue
		}
		name := i + 1
		paren := name < len(toks) && toks[name].is("(")
		if paren {
			name++
		}
		if name >= len(toks) || toks[name].Type != kindIdent || paren && (name+1 >= len(toks) || !toks[name+1].is(")")) {
			p.report.errorf(t.Pos, "write defined(NAME)", "defined needs a name")
			return nil
		}
		t.Type, t.Value = kindInt, "0"
		if p.macros[toks[name].Value] != nil || toks[name].Value == "__IDLGEN__" {
			t.Value = "1"
		}
		out = append(out, t)
		i = name
		if paren {
			i++
		}
	}
	return out
}

// condition computes as it parses. What is not evaluated, behind && and ||, only has to parse.
type condition struct {
	report *Report
	toks   []token
	at     int
	end    Pos
	failed bool
}

func (c *condition) fail(pos Pos, format string, args ...any) {
	if !c.failed {
		c.report.errorf(pos, "", format, args...)
	}
	c.failed = true
	c.at = len(c.toks)
}

// operators by precedence; those of two characters come as two tokens without space between them.
var conditionOperators = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"<<", ">>"},
	{"+", "-"}, {"*", "/", "%"}}

// operator takes one of a level, if it comes next.
func (c *condition) operator(level int) string {
	pair := c.pair()
	for _, op := range conditionOperators[level] {
		if len(op) == 2 && op == pair {
			c.at += 2
			return op
		}
		if len(op) == 1 && c.at < len(c.toks) && c.toks[c.at].is(op) && !isPair(pair) {
			c.at++
			return op
		}
	}
	return ""
}

// isPair tells whether two signs are an operator of their own.
func isPair(pair string) bool {
	switch pair {
	case "||", "&&", "==", "!=", "<=", ">=", "<<", ">>":
		return true
	}
	return false
}

// pair gives the next two signs if nothing is between them.
func (c *condition) pair() string {
	if c.at+1 < len(c.toks) && c.toks[c.at].Type == kindPunct && c.toks[c.at+1].Type == kindPunct && !c.toks[c.at+1].spaced {
		return c.toks[c.at].Value + c.toks[c.at+1].Value
	}
	return ""
}

func (c *condition) sign(s string) bool {
	if c.at < len(c.toks) && c.toks[c.at].is(s) {
		c.at++
		return true
	}
	return false
}

func (c *condition) ternary(live bool, depth int) int64 {
	if depth > maxNesting {
		c.fail(c.end, "parentheses nested more than %d deep", maxNesting)
		return 0
	}
	v := c.binary(0, live, depth)
	if !c.sign("?") {
		return v
	}
	yes := c.ternary(live && v != 0, depth+1)
	if !c.sign(":") {
		c.fail(c.end, "expected %q in a condition", ":")
	}
	no := c.ternary(live && v == 0, depth+1)
	if v != 0 {
		return yes
	}
	return no
}

func (c *condition) binary(level int, live bool, depth int) int64 {
	if level == len(conditionOperators) {
		return c.unary(live, depth)
	}
	v := c.binary(level+1, live, depth)
	for {
		at := c.at
		op := c.operator(level)
		if op == "" {
			return v
		}
		pos := c.toks[at].Pos
		needed := live && !(op == "&&" && v == 0) && !(op == "||" && v != 0)
		v = c.apply(pos, op, v, c.binary(level+1, needed, depth), needed)
	}
}

func (c *condition) apply(pos Pos, op string, a, b int64, live bool) int64 {
	switch op {
	case "||":
		return truthOf(a != 0 || b != 0)
	case "&&":
		return truthOf(a != 0 && b != 0)
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "&":
		return a & b
	case "==":
		return truthOf(a == b)
	case "!=":
		return truthOf(a != b)
	case "<":
		return truthOf(a < b)
	case ">":
		return truthOf(a > b)
	case "<=":
		return truthOf(a <= b)
	case ">=":
		return truthOf(a >= b)
	case "<<":
		return a << (uint64(b) & 63)
	case ">>":
		return a >> (uint64(b) & 63)
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	if b == 0 {
		if live {
			c.fail(pos, "division by zero in a condition")
		}
		return 0
	}
	if b == -1 { // the least number has no positive twin
		if op == "%" {
			return 0
		}
		return -a
	}
	if op == "/" {
		return a / b
	}
	return a % b
}

func truthOf(v bool) int64 {
	if v {
		return 1
	}
	return 0
}

func (c *condition) unary(live bool, depth int) int64 {
	if c.at == len(c.toks) {
		c.fail(c.end, "condition ends where a value is expected")
		return 0
	}
	var signs []string
	for c.at < len(c.toks) && c.toks[c.at].Type == kindPunct && strings.Contains("!~+-", c.toks[c.at].Value) {
		signs = append(signs, c.toks[c.at].Value)
		c.at++
	}
	v := c.primary(live, depth)
	for i := len(signs) - 1; i >= 0; i-- {
		switch signs[i] {
		case "!":
			v = truthOf(v == 0)
		case "~":
			v = ^v
		case "-":
			v = -v
		}
	}
	return v
}

func (c *condition) primary(live bool, depth int) int64 {
	if c.at == len(c.toks) {
		c.fail(c.end, "condition ends where a value is expected")
		return 0
	}
	t := c.toks[c.at]
	c.at++
	switch {
	case t.is("("):
		v := c.ternary(live, depth+1)
		if !c.sign(")") {
			c.fail(c.end, "expected %q in a condition", ")")
		}
		return v
	case t.Type == kindInt:
		v, err := strconv.ParseUint(strings.TrimRight(t.Value, "uUlL"), 0, 64)
		if err != nil {
			c.fail(t.Pos, "%s is no number of 64 bits", t.Value)
		}
		return int64(v)
	case t.Type == kindChar:
		s, ok := unquote(strings.TrimPrefix(t.Value, "L"))
		if r := []rune(s); ok && len(r) == 1 {
			return int64(r[0])
		}
		c.fail(t.Pos, "%s is not one character", t.Value)
	case t.word("TRUE") || t.word("true"):
		return 1
	case t.Type == kindIdent:
		return 0
	default:
		c.fail(t.Pos, "unexpected %q in a condition", t.Value)
	}
	return 0
}
