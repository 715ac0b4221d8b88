package idlc

import (
	"fmt"
	"slices"
	"strings"

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

// Report collects the findings of all stages: none of them stops at its first.
type Report struct{ diagnostics []Diagnostic }

func (r *Report) errorf(pos Pos, hint, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, Diagnostic{pos, Error, fmt.Sprintf(format, args...), hint})
}

func (r *Report) warnf(pos Pos, hint, format string, args ...any) {
	r.diagnostics = append(r.diagnostics, Diagnostic{pos, Warning, fmt.Sprintf(format, args...), hint})
}

// Failed tells whether there is an error among the findings.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.diagnostics, func(d Diagnostic) bool { return d.Severity == Error })
}

// Diagnostics gives the findings in the order of their positions, each once: a file that several others include is
// read once for each of them.
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
	return slices.Compact(sorted)
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
