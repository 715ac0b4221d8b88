package filter

import "unicode/utf8"

// like is LIKE of DDS 1.4 Annex B: % stands for any text, _ for one character. What does not decode as UTF-8 counts byte by
// byte. Only the last % is ever tried again, so the work is at most the product of the lengths.
func like(s, pattern []byte) bool {
	rest, retry := []byte(nil), -1 // of s and pattern, behind the last %
	p := 0
	for len(s) > 0 {
		switch {
		case p < len(pattern) && pattern[p] == '%':
			p++
			rest, retry = s, p
		case p < len(pattern) && pattern[p] == '_':
			_, n := utf8.DecodeRune(s)
			s = s[n:]
			p++
		case p < len(pattern) && pattern[p] == s[0]:
			s = s[1:]
			p++
		case retry >= 0: // % takes one character more
			_, n := utf8.DecodeRune(rest)
			rest = rest[n:]
			s, p = rest, retry
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}
