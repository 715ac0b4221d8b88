package cdr

import (
	"unicode/utf16"
	"unicode/utf8"
)

// WideString is a wstring within an encoded sample. Its code units are those of UTF-16, in the byte order of the sample, and
// surrogates are known to pair up.
type WideString struct {
	units []byte
	big   bool
	text  string // of a default, which is in no sample
}

// WideString gives the wstring at an offset.
func (s Sample) WideString(at int32) WideString {
	return WideString{units: s.sequenceBytes(at, 1), big: s.big}
}

// WideText gives a wstring that is not in a sample: the default of a member that the sample does not have.
func WideText(text string) WideString { return WideString{text: text} }

// TrimWideString cuts a wstring to its bound in code units, and not within a surrogate pair.
func TrimWideString(w WideString, bound int) WideString {
	if len(w.units)/2 <= bound {
		return w
	}
	if last := w.units[2*bound-2 : 2*bound]; utf16.DecodeRune(rune(loadUint16(last, w.big)), 0xdc00) != utf8.RuneError {
		bound-- // the first half of a pair
	}
	w.units = w.units[:2*bound]
	return w
}

// String converts the wstring into memory of its own.
func (w WideString) String() string {
	if w.text != "" {
		return w.text
	}
	return string(w.AppendTo(make([]byte, 0, len(w.units))))
}

// AppendTo appends the wstring in UTF-8 to dst.
func (w WideString) AppendTo(dst []byte) []byte {
	if w.text != "" {
		return append(dst, w.text...)
	}
	return appendUTF8(dst, w.units, w.big)
}

// Is tells whether the wstring is s.
func (w WideString) Is(s string) bool {
	if w.text != "" {
		return w.text == s
	}
	for len(w.units) >= 2 {
		var one [4]byte
		n := 2
		if utf16.IsSurrogate(rune(loadUint16(w.units, w.big))) && len(w.units) >= 4 {
			n = 4
		}
		c := appendUTF8(one[:0], w.units[:n], w.big)
		if len(s) < len(c) || s[:len(c)] != string(c) {
			return false
		}
		s, w.units = s[len(c):], w.units[n:]
	}
	return s == ""
}
