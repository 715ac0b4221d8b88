package filter

import "strings"

// Error tells what is wrong with an expression or a parameter, and where.
type Error struct {
	Expression string
	Offset     int    // of what is wrong, in bytes
	Length     int    // of it; 0 for a place between
	Detail     string // one clause
	Hint       string // what to do, or empty
}

// Error gives the clause, the line of the expression, and a caret under what is wrong.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("filter: ")
	b.WriteString(e.Detail)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	if e.Expression == "" {
		return b.String()
	}
	at := min(max(e.Offset, 0), len(e.Expression))
	start := strings.LastIndexByte(e.Expression[:at], '\n') + 1
	line, _, _ := strings.Cut(e.Expression[start:], "\n")
	b.WriteString("\n\t")
	b.WriteString(line)
	b.WriteString("\n\t")
	for _, r := range e.Expression[start:at] {
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	marked := e.Expression[at:min(at+max(e.Length, 1), start+len(line), len(e.Expression))]
	b.WriteByte('^')
	for i := range marked {
		if i > 0 {
			b.WriteByte('~')
		}
	}
	return b.String()
}

// span is a place in an expression.
type span struct{ from, to int }

func (s span) text(expression string) string { return expression[s.from:s.to] }
