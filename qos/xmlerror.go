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

// report collects the errors and warnings of one file.
type report struct {
	strict   bool // what would be a warning is an error
	errs     XMLErrors
	warnings XMLErrors
	dropped  int
	last     place // of what was dropped
	ignored  map[string]*ignored
}

// ignored is an element of a vendor that has no effect here. It is said once, however often it occurs.
type ignored struct {
	warning *XMLError
	places  int
}

func xmlError(at place, path, what, hint string) *XMLError {
	return &XMLError{File: at.File, Line: at.Line, Col: at.Col, Path: path, What: what, Hint: hint}
}

func (r *report) fail(at place, path, what, hint string) { r.add(xmlError(at, path, what, hint)) }

func (r *report) add(e *XMLError) {
	if r.full() {
		r.dropped++
		r.last = place{File: e.File, Line: e.Line, Col: e.Col}
		return
	}
	r.errs = append(r.errs, e)
}

// full lets costly hints be left out where nobody will see them.
func (r *report) full() bool { return len(r.errs) >= maxXMLErrors }

func (r *report) warn(at place, path, what, hint string) {
	switch {
	case r.strict:
		r.fail(at, path, what, hint)
	case len(r.warnings) < maxXMLErrors:
		r.warnings = append(r.warnings, xmlError(at, path, what, hint))
	}
}

// ignore warns of an element that has no effect.
func (r *report) ignore(n *node, path, hint string) {
	what := fmt.Sprintf("<%s> has no effect here", n.Spelled())
	if r.strict {
		r.fail(n.At, path, what, hint)
		return
	}
	if known := r.ignored[n.Spelled()]; known != nil {
		known.places++
		return
	}
	if len(r.ignored) >= maxXMLErrors {
		return
	}
	if r.ignored == nil {
		r.ignored = map[string]*ignored{}
	}
	r.ignored[n.Spelled()] = &ignored{warning: xmlError(n.At, path, what, hint), places: 1}
}

func sortByPlace(list XMLErrors) {
	slices.SortStableFunc(list, func(a, b *XMLError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// warned is the sorted list of all warnings.
func (r *report) warned() XMLErrors {
	list := r.warnings
	for _, i := range r.ignored {
		if i.places > 1 {
			i.warning.What += fmt.Sprintf(" (%d places)", i.places)
		}
		list = append(list, i.warning)
	}
	sortByPlace(list)
	return list
}

// err is the sorted list of errors, nil if there is nothing in it.
func (r *report) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	sortByPlace(r.errs)
	if r.dropped > 0 {
		r.errs = append(r.errs, xmlError(r.last, "", fmt.Sprintf("%d more errors are not listed", r.dropped), ""))
	}
	return r.errs
}
