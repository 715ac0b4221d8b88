package idlc

import (
	"go/doc/comment"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file gives the printed code the form that gofmt would give it, in one pass over its lines. Running gofmt instead took four
// fifths of the time of a compilation. Tests hold that format.Source changes no byte of what comes out.
//
// What stands within a line is as its printer wrote it: blanks around operators, no parentheses too many, one statement on a
// line. The layout adds what depends on the surroundings:
//
//   - indentation, from the brackets that are open;
//   - columns: the fields of structs with their tags and comments, keys and values of composite literals, groups of constants;
//   - blank lines: one at most, none behind an opening brace and none before a closing one;
//   - bodies of functions that were written on one line and are too long for it.

// layouter holds what is open where a line begins.
type layouter struct {
	out     []byte
	open    []bracket // the first is the file
	blank   bool      // a blank line is due before the next line
	opened  bool      // the last line ended within a new bracket: no blank line may follow
	raw     bool      // within a string between backquotes that began on a line above
	columns []columns // lines whose columns wait for those below
	doc     []string  // lines of a comment at the left margin, which may turn out to be that of a declaration
	bad     bool      // brackets do not match
}

type bracket struct {
	closer    byte
	kind      bracketKind
	indent    int  // of the line that opened it
	within    int  // of the lines between
	continued bool // the expression of the last line goes on
}

type bracketKind uint8

const (
	plain   bracketKind = iota
	fields              // struct {
	literal             // T{
	group               // const (
)

// columns is a line cut into cells.
type columns struct {
	indent int
	cells  []string
}

// layout gives the code of a file the form of gofmt. It fails if brackets or strings are not closed.
func layout(code string) ([]byte, bool) {
	l := newLayouter(true, len(code)+len(code)/8)
	l.text(code)
	return l.end()
}

// newLayouter begins at the front of a file, or behind other code and a blank line.
func newLayouter(front bool, room int) *layouter {
	return &layouter{out: make([]byte, 0, room), open: make([]bracket, 1, 16), opened: front, blank: !front}
}

// text takes whole lines.
func (l *layouter) text(code string) {
	for line := range strings.SplitSeq(code, "\n") {
		l.line(line)
	}
}

// end gives what became of the lines. It fails if brackets or strings are not closed.
func (l *layouter) end() ([]byte, bool) {
	l.flush()
	return l.out, !l.bad && !l.raw && len(l.open) == 1
}

// line takes the next line.
func (l *layouter) line(line string) {
	if l.raw {
		l.flush()
		n := strings.IndexByte(line, '`')
		l.raw = n < 0
		l.out = append(append(l.out, line...), '\n')
		if !l.raw {
			l.brackets(line[n+1:], len(l.open)-1, 0)
		}
		return
	}
	line = strings.Trim(line, " \t")
	switch {
	case line == "":
		l.flush()
		l.blank = true
	case !strings.HasPrefix(line, "//"):
		l.doc = docComment(l.doc)
		l.code(line)
	case len(l.open) == 1:
		if len(l.doc) == 0 {
			l.flush()
		}
		l.doc = append(l.doc, line)
	default:
		l.flush()
		l.write(l.indent(), line)
	}
}

// write writes a line.
func (l *layouter) write(indent int, line string) {
	l.begin(indent)
	l.out = append(append(l.out, line...), '\n')
}

// indent is that of a line within the brackets that are open.
func (l *layouter) indent() int {
	top := &l.open[len(l.open)-1]
	if top.continued {
		return top.within + 1
	}
	return top.within
}

// begin writes what stands before the text of a line.
func (l *layouter) begin(indent int) {
	if l.blank && !l.opened {
		l.out = append(l.out, '\n')
	}
	l.blank, l.opened = false, false
	for range indent {
		l.out = append(l.out, '\t')
	}
}

// code writes a line that is no comment.
func (l *layouter) code(line string) {
	if before, body, behind, ok := longBody(line); ok {
		l.code(before)
		for _, s := range statements(body) {
			l.code(s)
		}
		l.code(behind)
		return
	}
	line = rangeOver(line)
	closers := 0
	for closers < len(line) && strings.IndexByte(")]}", line[closers]) >= 0 {
		closers++
	}
	at := len(l.open) - 1 - closers
	if at < 0 {
		l.bad = true
		return
	}
	indent := l.indent()
	if closers > 0 {
		indent = l.open[at+1].indent
		l.blank = false
	} else if strings.HasPrefix(line, "case ") || strings.HasPrefix(line, "default:") {
		indent--
	}
	level := &l.open[len(l.open)-1]
	kind, outermost := level.kind, at == 0
	single := l.brackets(line, at, indent) && len(l.open)-1 == at && closers == 0 && !l.raw
	if single {
		if cells := cut(line, kind, outermost); len(cells) > 1 {
			if len(l.columns) == 0 || l.blank {
				l.flush()
				l.begin(0)
			}
			l.columns = append(l.columns, columns{indent, cells})
			return
		}
	}
	l.flush()
	l.write(indent, line)
	l.opened = len(l.open)-1 > at
}

// brackets follows the brackets in a line, which began with level at after its leading closers. It tells whether the
// line closed none that it had not opened.
func (l *layouter) brackets(line string, at, indent int) bool {
	whole := true
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"', '\'':
			for i++; i < len(line) && line[i] != c; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			l.bad = l.bad || i >= len(line)
		case '`':
			n := strings.IndexByte(line[i+1:], '`')
			if n < 0 {
				l.raw = true
				return false
			}
			i += n + 1
		case '/':
			if strings.HasPrefix(line[i:], "//") {
				line = strings.TrimRight(line[:i], " ")
			}
		case '(', '[', '{':
			b := bracket{closer: c + 2, indent: indent, within: indent + 1}
			if c == '(' {
				b.closer = ')'
			}
			if i == len(line)-1 {
				b.kind = l.kindOf(line)
			}
			l.open = append(l.open, b)
		case ')', ']', '}':
			n := len(l.open) - 1
			if n == 0 || l.open[n].closer != c {
				l.bad = true
				return false
			}
			l.open = l.open[:n]
			whole = whole && n > at
		}
	}
	if top := len(l.open) - 1; top <= at {
		l.open[top].continued = line != "" && strings.IndexByte("&|+-", line[len(line)-1]) >= 0
	}
	return whole
}

// kindOf tells what the bracket at the end of a line opens.
func (l *layouter) kindOf(line string) bracketKind {
	switch {
	case strings.HasSuffix(line, "struct {"):
		return fields
	case line == "const (" || line == "var (":
		return group
	case line == "{":
		return l.open[len(l.open)-1].kind & literal
	case strings.HasSuffix(line, "{") && !strings.HasSuffix(line, " {"):
		return literal
	}
	return plain
}

// cut gives the cells of a line: one if it has no columns.
func cut(line string, kind bracketKind, outermost bool) []string {
	switch {
	case kind == fields:
		name, rest, ok := strings.Cut(line, " ")
		if !ok {
			return nil
		}
		for _, mark := range []string{" `", " // "} {
			if i := strings.Index(rest, mark); i >= 0 {
				return []string{name, rest[:i], rest[i+1:]}
			}
		}
		return []string{name, rest}
	case kind == group:
		name, rest, ok := strings.Cut(line, " ")
		if t, value, typed := strings.Cut(rest, " = "); ok && typed {
			return []string{name, t, "= " + value}
		}
	case kind == literal && len(line) <= maxAligned:
		if key, value, ok := strings.Cut(line, ": "); ok && strings.IndexFunc(key, notOfName) < 0 {
			return []string{key + ":", value}
		}
	case kind == plain && outermost && strings.HasPrefix(line, "func ") && strings.HasSuffix(line, "}"):
		if header, body := lastBody(line); body != "" {
			return []string{header, body}
		}
	}
	return nil
}

// maxAligned is the size up to which gofmt takes an element of a composite literal for a line.
const maxAligned = 1_000_000

func notOfName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// flush writes the lines that wait: a comment, or lines with blanks up to their columns.
func (l *layouter) flush() {
	for _, line := range l.doc {
		l.write(0, line)
	}
	l.doc = l.doc[:0]
	if len(l.columns) == 0 {
		return
	}
	widths := make([][]int, len(l.columns))
	l.measure(widths, 0, len(l.columns), 0)
	for i, c := range l.columns {
		for range c.indent {
			l.out = append(l.out, '\t')
		}
		for j, cell := range c.cells {
			l.out = append(l.out, cell...)
			if j < len(c.cells)-1 {
				for n := utf8.RuneCountInString(cell); n <= widths[i][j]; n++ {
					l.out = append(l.out, ' ')
				}
			}
		}
		l.out = append(l.out, '\n')
	}
	clear(l.columns)
	l.columns = l.columns[:0]
}

// measure finds the widths of a column: lines that follow each other share it as long as they have it and share those before.
func (l *layouter) measure(widths [][]int, from, to, column int) {
	for from < to {
		end, width := from, 0
		for end < to && column < len(l.columns[end].cells)-1 {
			width = max(width, utf8.RuneCountInString(l.columns[end].cells[column]))
			end++
		}
		if end == from {
			from++
			continue
		}
		for i := from; i < end; i++ {
			widths[i] = append(widths[i], width)
		}
		l.measure(widths, from, end, column+1)
		from = end
	}
}

// maxBody is the length of the longest function that gofmt leaves on one line, without the braces of its body.
const maxBody = 100

// longBody cuts a line at the braces of the first function whose body is too long for it.
func longBody(line string) (before, body, behind string, ok bool) {
	if len(line) <= maxBody || !strings.Contains(line, "func") {
		return "", "", "", false
	}
	for from := 0; ; {
		i := strings.Index(line[from:], "func")
		if i < 0 {
			return "", "", "", false
		}
		start := from + i
		from = start + len("func")
		if start > 0 && strings.IndexByte(" (,", line[start-1]) < 0 || from >= len(line) ||
			strings.IndexByte(" (", line[from]) < 0 || inString(line, start) {
			continue
		}
		open, end := bodyOf(line, from)
		if end < 0 || end-open <= 1 {
			continue
		}
		text := strings.TrimSpace(line[open+1 : end])
		_, _, _, nested := longBody(text)
		header := open - 1 - start
		if line[from] == ' ' {
			header++ // gofmt counts the blank of a declaration twice
		}
		if nested || header+len(text) > maxBody {
			return line[:open+1], text, line[end:], true
		}
	}
}

// inString tells whether a place in a line lies within a string.
func inString(line string, at int) bool {
	for i := 0; i < at; i++ {
		if c := line[i]; c == '"' || c == '`' || c == '\'' {
			if i = skipString(line, i); i > at {
				return true
			}
		}
	}
	return false
}

// skipString gives the place of the quote that ends the string or the rune which begins at i, or the end of the line.
func skipString(line string, i int) int {
	quote := line[i]
	for i++; i < len(line) && line[i] != quote; i++ {
		if line[i] == '\\' && quote != '`' {
			i++
		}
	}
	return i
}

// bodyOf finds the braces of the body of a function whose signature begins at from; end is -1 if the line does not close them.
func bodyOf(line string, from int) (open, end int) {
	depth := 0
	open = -1
	for i := from; i < len(line); i++ {
		switch line[i] {
		case '"', '`', '\'':
			i = skipString(line, i)
		case '(', '[':
			depth++
		case '{':
			if depth == 0 && open < 0 && line[i-1] == ' ' {
				open = i
			}
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 && open >= 0 {
				return open, i
			}
			if depth < 0 {
				return -1, -1
			}
		}
	}
	return -1, -1
}

// lastBody cuts a function on one line before its body.
func lastBody(line string) (header, body string) {
	if open, end := bodyOf(line, len("func")); end == len(line)-1 {
		return line[:open-1], line[open:]
	}
	return "", ""
}

// statements cuts a body at its semicolons.
func statements(body string) []string {
	var list []string
	depth, start := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"', '`', '\'':
			i = skipString(body, i)
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ';':
			if depth == 0 {
				list = append(list, strings.TrimSpace(body[start:i]))
				start = i + 1
			}
		}
	}
	return append(list, strings.TrimSpace(body[start:]))
}

// rangeOver takes parentheses away from what a loop ranges over.
func rangeOver(line string) string {
	before, x, ok := strings.Cut(line, " range (")
	if x, ok2 := strings.CutSuffix(x, ") {"); ok && ok2 && !strings.ContainsAny(x, "()") {
		return before + " range " + x + " {"
	}
	return line
}

// docComment gives the comment of a declaration in the form of gofmt, which knows lists, headings and blocks of code.
func docComment(lines []string) []string {
	if !slices.ContainsFunc(lines, notProse) {
		return lines
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(strings.TrimPrefix(line[len("//"):], " "))
		text.WriteByte('\n')
	}
	var parser comment.Parser
	var printer comment.Printer
	formatted := printer.Comment(parser.Parse(text.String()))
	lines = lines[:0]
	for line := range strings.Lines(string(formatted)) {
		mark := "// "
		if line == "\n" || line[0] == '\t' {
			mark = "//"
		}
		lines = append(lines, mark+strings.TrimRight(line, "\n"))
	}
	return lines
}

// noInline stands alone in front of a method that another one calls seldom, and which keeps that one from being inlined
// if it is itself.
const noInline = "//go:noinline"

// notProse tells whether a line of a comment may be more than a line of a paragraph.
func notProse(line string) bool {
	if line == noInline {
		return false
	}
	return len(line) < len("// x") || line[2] != ' ' || line[3] < 'A' || line[3] > 'z' || line[3] == '[' ||
		strings.Contains(line, "``") || strings.Contains(line, "''")
}
