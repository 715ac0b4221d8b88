package qos

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// PartitionsMatch says whether a publisher and a subscriber with these PARTITION names have one in common
// (2.2.3.13). An empty list is the default partition, the list of one empty name. A name may be a POSIX fnmatch
// pattern; two patterns never match each other, not even when they are equal.
//
// A mismatch is not an incompatibility: no status reports it.
func PartitionsMatch(pub, sub []string) bool {
	pub, sub = partitionNames(pub), partitionNames(sub)
	return slices.ContainsFunc(pub, func(p string) bool {
		return slices.ContainsFunc(sub, func(s string) bool { return partitionMatch(p, s) })
	})
}

func partitionNames(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

func partitionMatch(p, s string) bool {
	switch pw, sw := hasWildcard(p), hasWildcard(s); {
	case pw && sw:
		return false
	case pw:
		return fnmatch(p, s)
	case sw:
		return fnmatch(s, p)
	}
	return p == s
}

func hasWildcard(name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// fnmatch is POSIX fnmatch without flags: * ? [...] and \ to escape. It remembers only the last star, which
// is enough and keeps it quadratic at worst.
func fnmatch(pattern, name string) bool {
	p, n := 0, 0
	star, starName := -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, starName = p, n
			continue
		}
		if next, size, ok := matchOne(pattern[p:], name[n:]); ok {
			p += next
			n += size
			continue
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[starName:])
		starName += size
		p, n = star, starName
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches the first element of pattern, which is not a star, with the first character of name; it
// says how many bytes of each that took.
func matchOne(pattern, name string) (patternSize, nameSize int, ok bool) {
	c, size := utf8.DecodeRuneInString(name)
	if pattern == "" {
		return 0, 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, size, true
	case '[':
		if end, in, ok := matchBracket(pattern, c); ok {
			return end, size, in
		}
	case '\\':
		if len(pattern) > 1 {
			pc, psize := utf8.DecodeRuneInString(pattern[1:])
			return 1 + psize, size, pc == c && pattern[1:1+psize] == name[:size]
		}
	}
	pc, psize := utf8.DecodeRuneInString(pattern)
	return psize, size, pc == c && pattern[:psize] == name[:size]
}

// matchBracket matches c with the bracket expression that pattern starts with. Without a closing bracket it
// is none (ok false), and its first character stands for itself.
func matchBracket(pattern string, c rune) (end int, in, ok bool) {
	i := 1
	negate := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negate {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, in != negate, true
		}
		if rest, isClass := strings.CutPrefix(pattern[i:], "[:"); isClass {
			if name, _, closed := strings.Cut(rest, ":]"); closed {
				in = in || inClass(name, c)
				i += len("[:") + len(name) + len(":]")
				continue
			}
		}
		lo, size := bracketRune(pattern[i:])
		i += size
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, size = bracketRune(pattern[i+1:])
			i += 1 + size
		}
		in = in || lo <= c && c <= hi
	}
	return 0, false, false
}

// openBracket gives the offset of the first bracket in a pattern that is not closed; -1 if there is none. fnmatch lets it
// stand for itself, which is hardly what is meant.
func openBracket(pattern string) int {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			end, _, ok := matchBracket(pattern[i:], 0)
			if !ok {
				return i
			}
			i += end - 1
		}
	}
	return -1
}

func bracketRune(s string) (rune, int) {
	if len(s) > 1 && s[0] == '\\' {
		r, size := utf8.DecodeRuneInString(s[1:])
		return r, 1 + size
	}
	return utf8.DecodeRuneInString(s)
}

// inClass knows the character classes of the POSIX locale; an unknown one holds nothing.
func inClass(name string, c rune) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := '!' <= c && c <= '~'
	switch name {
	case "alpha":
		return lower || upper
	case "alnum":
		return lower || upper || digit
	case "digit":
		return digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return graph && !lower && !upper && !digit
	case "graph":
		return graph
	case "print":
		return graph || c == ' '
	case "cntrl":
		return c < ' ' || c == 0x7f
	}
	return false
}
