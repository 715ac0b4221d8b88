package qos

import (
	"slices"
	"strings"

	"github.com/omg-dds-go/dds/internal/suggest"
)

// didYouMean is the hint for a name that none of the candidates is: the closest if there is one that is close,
// else all of them if they are few.
func didYouMean(name string, candidates []string) string {
	if best, ok := closest(name, candidates); ok {
		return "did you mean " + best + "?"
	}
	if len(candidates) == 0 || len(candidates) > 8 {
		return ""
	}
	return "expected " + alternatives(candidates)
}

func alternatives(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func closest(name string, candidates []string) (string, bool) {
	if name == "" {
		return "", false
	}
	return suggest.Nearest(name, slices.Values(candidates), 1+len(name)/4) // more than a quarter wrong is another word
}
