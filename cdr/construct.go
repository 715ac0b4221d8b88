package cdr

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// What a reader's type cannot hold, such as a string above its bound or an unknown enumerator, makes the object around it fail as
// well, unless @try_construct says otherwise (XTypes 1.3 §7.2.2.4.4.5).

// Attempt remembers where a value began that may turn out not to be constructible.
type Attempt struct {
	pos   int
	depth int
	scope Scope
	late  bool // something had failed before
}

// Try is called before such a value.
func (d *Decoder) Try() Attempt { return Attempt{d.pos, d.depth, d.scope(), d.err != nil} }

// Caught tells, after the value, that its type could not hold it. Then the decoder stands before the value again, for it to be
// passed over. Input that is no encoding at all is not caught.
func (d *Decoder) Caught(a Attempt) bool {
	if d.err == nil || a.late || d.err.final || d.err.Err != ErrBound && d.err.Err != ErrInvalidValue && d.err.Err != ErrNotUnderstood {
		return false
	}
	d.err = nil
	d.pos, d.depth = a.pos, a.depth
	d.end, d.origin, d.open = a.scope.end, a.scope.origin, a.scope.open
	return true
}

// TrimString cuts a string to its bound in bytes, and not within a character of UTF-8.
func TrimString(s string, bound int) string {
	if len(s) <= bound {
		return s
	}
	for bound > 0 && !utf8.RuneStart(s[bound]) {
		bound--
	}
	return s[:bound]
}

// TrimWString cuts a wstring to its bound in UTF-16 code units, and not within a surrogate pair.
func TrimWString(s string, bound int) string {
	for i, r := range s {
		if bound -= utf16.RuneLen(r); bound < 0 {
			return s[:i]
		}
	}
	return s
}

// OutOfRange fails the encoding for a value that @min, @max or @range does not allow.
func OutOfRange[T any](e *Encoder, name string, v T, allowed string) {
	e.fail(&Error{Path: name, Err: ErrInvalidValue, Detail: fmt.Sprintf("%v is outside of its range, %s", v, allowed)})
}

// RejectRange is OutOfRange for member i of a builder.
func RejectRange[T any](b *Builder, i int, v T, allowed string) {
	if b.info != nil {
		OutOfRange(&b.e, b.names[i], v, allowed)
	}
}
