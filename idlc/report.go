package idlc

import (
	"fmt"
	"slices"
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
	Pos      Pos
	Severity Severity
	What     string
	Hint     string // what to do about it; may be empty
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

// maxErrors bounds what is reported; nobody reads more.
const maxErrors = 1000

// Report collects the findings of all stages: none of them stops at its first.
type Report struct {
	diagnostics []Diagnostic
	errors      int
	dropped     *Diagnostic // stands for the errors above maxErrors; at the first of them
}

func (r *Report) errorf(pos Pos, hint, format string, args ...any) {
	switch {
	case !r.full():
		r.errors++
		r.add(pos, Error, hint, format, args)
	case r.dropped == nil:
		r.dropped = &Diagnostic{pos, Error, fmt.Sprintf("too many errors: those above %d are not shown", maxErrors), ""}
	}
}

func (r *Report) warnf(pos Pos, hint, format string, args ...any) {
	r.add(pos, Warning, hint, format, args)
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
	r.diagnostics = append(r.diagnostics, Diagnostic{pos, severity, fmt.Sprintf(format, args...), clip(hint)})
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
		if c := strings.Compare(a.Pos.Filename, b.Pos.Filename); c != 0 {
			return c
		}
		if c := a.Pos.Line - b.Pos.Line; c != 0 {
			return c
		}
		return a.Pos.Column - b.Pos.Column
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
