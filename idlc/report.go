package idlc

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/participle/v2/lexer"
)

// Pos is a place in a file; lines and columns count from one, columns count characters.
type Pos = lexer.Position

// Severity tells what stops the compilation from what does not.
type Severity uint8

const (
	Warning Severity = iota
	Error
)

// Diagnostic is one finding.
type Diagnostic struct {
	Pos      Pos // as #line has it
	Severity Severity
	What     string
	Hint     string // what to do about it; may be empty

	at Pos // in the text that was read
}

// String gives "file:line:col: what; hint".
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.Pos.Filename != "" {
		b.WriteString(d.Pos.Filename)
		if d.Pos.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", d.Pos.Line, d.Pos.Column)
		}
		b.WriteString(": ")
	}
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.What)
	if d.Hint != "" {
		b.WriteString("; " + d.Hint)
	}
	return b.String()
}

// maxErrors bounds what is reported, and as many warnings; nobody reads more.
const maxErrors = 1000

// Report collects the findings of all stages: none of them stops at its first.
type Report struct {
	diagnostics []Diagnostic
	errors      int
	warnings    int
	dropped     *Diagnostic // stands for the errors above maxErrors; at the first of them

	sources    map[string]string // text of the files that were read
	includedAt map[string]Pos    // where each was first included
	presumed   map[string][]presumption
}

// presumption is a #line: the line behind it counts as another.
type presumption struct {
	behind int // line of the directive
	line   int // of the next one
	file   string
}

func newReport() *Report {
	return &Report{sources: map[string]string{}, includedAt: map[string]Pos{}, presumed: map[string][]presumption{}}
}

// part gives a report for a part of what is compiled at the same time as others. take brings in what it found.
func (r *Report) part() *Report {
	return &Report{sources: r.sources, includedAt: r.includedAt, presumed: r.presumed}
}

// take adds the findings of a part.
func (r *Report) take(part *Report) {
	for _, d := range part.diagnostics {
		if r.warnings++; d.Severity == Warning && r.warnings > maxErrors {
			continue
		}
		r.diagnostics = append(r.diagnostics, d)
	}
}

func (r *Report) errorf(pos Pos, hint, format string, args ...any) {
	switch {
	case !r.full():
		r.errors++
		r.add(pos, Error, hint, format, args)
	case r.dropped == nil:
		r.dropped = &Diagnostic{Pos: r.presumedPos(pos), Severity: Error,
			What: fmt.Sprintf("too many errors: those above %d are not shown", maxErrors), at: pos}
	}
}

func (r *Report) warnf(pos Pos, hint, format string, args ...any) {
	if r.warnings++; r.warnings <= maxErrors {
		r.add(pos, Warning, hint, format, args)
	}
}

func (r *Report) add(pos Pos, severity Severity, hint, format string, args []any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = clip(a)
		case *scopedName:
			args[i] = clip(a.String())
		}
	}
	r.diagnostics = append(r.diagnostics, Diagnostic{r.presumedPos(pos), severity, fmt.Sprintf(format, args...), clip(hint), pos})
}

// presume makes the line behind pos count as a line of a file; of the same if the name is empty.
func (r *Report) presume(pos Pos, line int, file string) {
	if file == "" {
		file = r.presumedPos(pos).Filename
	}
	r.presumed[pos.Filename] = append(r.presumed[pos.Filename], presumption{pos.Line, line, file})
}

// presumedPos applies the last #line in front of a position.
func (r *Report) presumedPos(pos Pos) Pos {
	list := r.presumed[pos.Filename] // in the order of the lines
	if n := sort.Search(len(list), func(i int) bool { return list[i].behind >= pos.Line }); n > 0 {
		p := list[n-1]
		pos.Line, pos.Filename = p.line+pos.Line-p.behind-1, p.file
	}
	return pos
}

// full tells whether further errors are dropped, so that costly hints can be left out.
func (r *Report) full() bool { return r.errors >= maxErrors }

// clip takes the middle out of what is too long for a message.
func clip(s string) string {
	const most, tail = 160, 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	r := []rune(s)
	return string(r[:most-tail-3]) + "..." + string(r[len(r)-tail:])
}

// Failed tells whether there is an error among the findings.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.diagnostics, func(d Diagnostic) bool { return d.Severity == Error })
}

// Diagnostics gives the findings in the order of their positions, each once: a file that several others include is
// read once for each of them. The last stands for those that are left out, if any.
func (r *Report) Diagnostics() []Diagnostic {
	sorted := slices.Clone(r.diagnostics)
	slices.SortStableFunc(sorted, func(a, b Diagnostic) int {
		if c := strings.Compare(a.at.Filename, b.at.Filename); c != 0 {
			return c
		}
		if c := a.at.Line - b.at.Line; c != 0 {
			return c
		}
		return a.at.Column - b.at.Column
	})
	sorted = slices.Compact(sorted)
	if r.dropped != nil {
		sorted = append(sorted, *r.dropped)
	}
	return sorted
}

// String gives one finding a line.
func (r *Report) String() string {
	var b strings.Builder
	for _, d := range r.Diagnostics() {
		b.WriteString(d.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Explain gives the findings for a person: below each, the line of the file with a mark under the place, and how
// the file came to be included.
//
//	track.idl:3:8: unknown type lung; did you mean long?
//	    3 |        lung altitude;
//	      |        ^~~~
func (r *Report) Explain() string {
	var b strings.Builder
	lines := map[string][]string{}
	for _, d := range r.Diagnostics() {
		b.WriteString(d.String())
		b.WriteByte('\n')
		file := d.at.Filename
		if text, known := r.sources[file]; known && lines[file] == nil {
			lines[file] = strings.Split(text, "\n")
		}
		if n := d.at.Line; n > 0 && n <= len(lines[file]) {
			showLine(&b, d.at, strings.TrimRight(lines[file][n-1], "\r"))
		}
		for at, n := d.at, 0; n < maxIncludeDepth; n++ {
			from, included := r.includedAt[at.Filename]
			if !included {
				break
			}
			fmt.Fprintf(&b, "      = included from %s:%d\n", from.Filename, from.Line)
			at = from
		}
	}
	return b.String()
}

// showLine writes the line of a position and a mark under the word there. Tabs stay tabs, so that the mark is in its place.
func showLine(b *strings.Builder, pos Pos, text string) {
	const most = 160 // characters of a line
	line := []rune(text)
	at := min(pos.Column-1, len(line))
	from := max(0, min(at-most/2, len(line)-most))
	shown := line[from:min(len(line), from+most)]
	var pad strings.Builder
	for _, c := range line[from:at] {
		if c != '\t' {
			c = ' '
		}
		pad.WriteRune(c)
	}
	width := 1
	if at < len(line) {
		s := scanner{directive: true}
		_, n := s.next(string(line[at:]))
		width = max(1, min(utf8.RuneCountInString(string(line[at:])[:n]), len(shown)-(at-from)))
	}
	fmt.Fprintf(b, "%5d | %s\n      | %s^%s\n", pos.Line, string(shown), pad.String(), strings.Repeat("~", width-1))
}
