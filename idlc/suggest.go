package idlc

import (
	"errors"
	"io/fs"
	"iter"
	"strings"
)

// maxSuggestWork bounds what looking for one suggestion may cost, in letters compared with letters.
const maxSuggestWork = 1 << 18

// didYouMean suggests the candidate nearest to a name that is not known; "" if none is near, or if there are so many that
// the search is not worth it.
func didYouMean(name string, candidates iter.Seq[string]) string {
	best, bestDistance := "", (len(name)+2)/3
	work := 0
	for c := range candidates {
		if work += (len(name) + 1) * (len(c) + 1); work > maxSuggestWork {
			return ""
		}
		d := distance(strings.ToLower(name), strings.ToLower(c), bestDistance)
		if d < bestDistance || d == bestDistance && (best == "" || c < best) {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance is the number of edits (insert, delete, replace, exchange neighbours) between a and b, or more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 256 {
		return limit + 1
	}
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

// cause strips the file name, which the message has already, from an error of the file system.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
