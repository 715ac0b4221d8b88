package qos

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestPartitionsMatch(t *testing.T) {
	for name, c := range map[string]struct {
		pub, sub []string
		match    bool
	}{
		"both default":                       {nil, nil, true},
		"empty list is the empty name":       {nil, []string{""}, true},
		"default and named":                  {nil, []string{"A"}, false},
		"star takes the default":             {nil, []string{"*"}, true},
		"same name":                          {[]string{"A"}, []string{"A"}, true},
		"names are case sensitive":           {[]string{"A"}, []string{"a"}, false},
		"one of several":                     {[]string{"A", "B"}, []string{"C", "B"}, true},
		"pattern of the subscriber":          {[]string{"sensor/left"}, []string{"sensor/*"}, true},
		"pattern of the publisher":           {[]string{"sensor/*"}, []string{"sensor/left"}, true},
		"equal patterns do not match":        {[]string{"A*"}, []string{"A*"}, false},
		"pattern beside a name":              {[]string{"A*", "B"}, []string{"A*", "B"}, true},
		"question mark is one character":     {[]string{"AB"}, []string{"A?"}, true},
		"question mark is not none":          {[]string{"A"}, []string{"A?"}, false},
		"question mark is a whole character": {[]string{"Aé"}, []string{"A?"}, true},
		"bracket":                            {[]string{"A2"}, []string{"A[0-5]"}, true},
		"bracket excludes":                   {[]string{"A9"}, []string{"A[0-5]"}, false},
		"negated bracket":                    {[]string{"A9"}, []string{"A[!0-5]"}, true},
		"bracket with its own end":           {[]string{"A]"}, []string{"A[]x]"}, true},
		"bracket with a dash at the end":     {[]string{"A-"}, []string{"A[x-]"}, true},
		"class":                              {[]string{"A7"}, []string{"A[[:digit:]]"}, true},
		"class excludes":                     {[]string{"Ax"}, []string{"A[[:digit:]]"}, false},
		"open bracket is literal":            {[]string{"A[0"}, []string{"A[0"}, false}, // both hold a wildcard character
		"escaped star is literal":            {[]string{"A*B"}, []string{`A\*?`}, false},
		"escape in a pattern":                {[]string{`Axx`}, []string{`A\x*`}, true},
		"star spans slashes":                 {[]string{"a/b/c"}, []string{"a*c"}, true},
		"two stars":                          {[]string{"abcabd"}, []string{"a*b*d"}, true},
		"two stars fail":                     {[]string{"abcabc"}, []string{"a*b*d"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.match, PartitionsMatch(c.pub, c.sub))
			assert.Equal(t, c.match, PartitionsMatch(c.sub, c.pub), "sides exchanged")
		})
	}
}

func TestFnmatchOpenBracketIsLiteral(t *testing.T) {
	assert.True(t, fnmatch("a[b*", "a[bc"))
	assert.False(t, fnmatch("a[b*", "abc"))
}

// The standard library's matcher agrees wherever both are defined: no slash, no brackets, valid escapes.
func TestFnmatchAgreesWithPathMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`([ab*?]|\\[ab*?]){0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "name")
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fnmatch(pattern, name); got != want {
			t.Fatalf("fnmatch(%q, %q) = %t", pattern, name, got)
		}
	})
}

func TestFnmatchIsNotExponential(t *testing.T) {
	assert.False(t, fnmatch(strings.Repeat("a*", 200)+"b", strings.Repeat("a", 2000)))
}

// Partition names come from peers: any text is a name.
func TestPartitionNamesOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.StringMatching(`[ab\[\]!\-\\:*?é\x80]{0,10}`)
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if PartitionsMatch([]string{a}, []string{b}) != PartitionsMatch([]string{b}, []string{a}) {
			t.Fatalf("%q and %q match in one direction only", a, b)
		}
		if !hasWildcard(a) && !PartitionsMatch([]string{a}, []string{a}) {
			t.Fatalf("%q does not match itself", a)
		}
	})
}
