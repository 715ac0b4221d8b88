package suggest

import (
	"flag"
	"strings"
	"time"
)

// Flag gives ", did you mean -NAME?" for an error of fs.Parse that says that a flag is not known, and what a time looks
// like for one that says that the value of a flag is none; "" for others, and if none is near. A single letter is no
// misspelt name.
func Flag(fs *flag.FlagSet, err error) string {
	if value, wrong := strings.CutSuffix(err.Error(), ": parse error"); wrong {
		f := fs.Lookup(value[strings.LastIndex(value, " -")+len(" -"):])
		if f == nil {
			return ""
		}
		if g, is := f.Value.(flag.Getter); is {
			if _, is := g.Get().(time.Duration); is {
				return ": want a time with its unit, such as 5s."
			}
		}
		return ""
	}
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
