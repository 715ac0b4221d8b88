package suggest

import (
	"flag"
	"strings"
)

// Flag gives ", did you mean -NAME?" for an error of fs.Parse that says that a flag is not known; "" for others, and if none is near.
// A single letter is no misspelt name.
func Flag(fs *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown || len(name) < 2 {
		return ""
	}
	near := DidYouMean(name, func(yield func(string) bool) {
		more := true
		fs.VisitAll(func(f *flag.Flag) { more = more && yield(f.Name) })
	})
	if near == "" {
		return ""
	}
	return ", " + strings.Replace(near, "did you mean ", "did you mean -", 1)
}
