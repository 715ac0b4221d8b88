package qos

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknownProfile is what a lookup of a name that no loaded file defines unwraps to.
var ErrUnknownProfile = errors.New("qos: unknown profile")

// XMLError is one thing wrong in a QoS file, and where. Columns count bytes from 1.
type XMLError struct {
	File      string
	Line, Col int
	Path      string // "Lib::Profile/datawriter_qos/history/depth"
	What      string
	Hint      string

	err error // what it unwraps to, if anything
}

// Error reads "file:line:col: path: what; hint".
func (e *XMLError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Col)
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.What)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives ErrInconsistentPolicy for values that contradict each other.
func (e *XMLError) Unwrap() error { return e.err }

// XMLErrors is everything that is wrong in a file, in the order of its lines.
type XMLErrors []*XMLError

// Error has one line for each.
func (e XMLErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

func (e XMLErrors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// maxXMLErrors bounds what one file can make us say.
const maxXMLErrors = 100

// place is a position in a file.
type place struct {
	file      string
	line, col int
}

func (p place) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col) }

// report collects the errors and warnings of one file.
type report struct {
	errs     XMLErrors
	warnings XMLErrors
	dropped  int
	last     place // of what was dropped
}

func (r *report) fail(at place, path, what, hint string) {
	r.add(&XMLError{File: at.file, Line: at.line, Col: at.col, Path: path, What: what, Hint: hint})
}

func (r *report) add(e *XMLError) {
	if r.full() {
		r.dropped++
		r.last = place{e.File, e.Line, e.Col}
		return
	}
	r.errs = append(r.errs, e)
}

// full lets costly hints be left out where nobody will see them.
func (r *report) full() bool { return len(r.errs) >= maxXMLErrors }

func (r *report) warn(at place, path, what, hint string) {
	if len(r.warnings) < maxXMLErrors {
		r.warnings = append(r.warnings, &XMLError{File: at.file, Line: at.line, Col: at.col, Path: path, What: what, Hint: hint})
	}
}

// err is the sorted list, nil if there is nothing in it.
func (r *report) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(r.errs, func(a, b *XMLError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	if r.dropped > 0 {
		r.errs = append(r.errs, &XMLError{
			File: r.last.file, Line: r.last.line, Col: r.last.col,
			What: fmt.Sprintf("%d more errors are not listed", r.dropped),
		})
	}
	return r.errs
}
