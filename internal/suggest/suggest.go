// Package suggest finds the name that somebody meant.
package suggest

import (
	"iter"
	"strings"
)

const (
	// maxWork bounds what looking for one suggestion may cost, in letters compared with letters.
	maxWork = 1 << 18
	// maxName is the length of a name beyond which nothing is suggested.
	maxName = 256
)

// DidYouMean gives "did you mean NAME?" for the candidate nearest to a name that is not known; "" if none is near, or
// if there are so many that the search is not worth it. A third of the letters may be wrong.
func DidYouMean(name string, candidates iter.Seq[string]) string {
	if best, ok := Nearest(name, candidates, (len(name)+2)/3); ok {
		return "did you mean " + best + "?"
	}
	return ""
}

// Nearest gives the candidate to which the fewest edits lead, of several the first by name; false if all take more than limit, or
// if there are so many that the search is not worth it. Case does not count.
func Nearest(name string, candidates iter.Seq[string], limit int) (best string, ok bool) {
	if len(name) > maxName {
		return "", false
	}
	work := 0
	for c := range candidates {
		if work++; len(c) >= len(name)-limit && len(c) <= len(name)+limit {
			work += len(name) * len(c)
			d := distance(strings.ToLower(name), strings.ToLower(c))
			if d < limit || d == limit && (!ok || c < best) {
				best, limit, ok = c, d, true
			}
		}
		if work > maxWork {
			return "", false
		}
	}
	return best, ok
}

// distance is the number of edits (insert, delete, replace, exchange neighbours) between a and b.
func distance(a, b string) int {
	before := make([]int, len(b)+1) // two rows back
	row := make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
