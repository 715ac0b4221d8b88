package qos

import "strings"

const (
	maxSuggestLength     = 64   // longer names are not compared
	maxSuggestCandidates = 1000 // nor are more of them
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
	if name == "" || len(name) > maxSuggestLength {
		return "", false
	}
	if len(candidates) > maxSuggestCandidates {
		candidates = candidates[:maxSuggestCandidates]
	}
	limit := 1 + len(name)/4 // more than a quarter wrong is another word
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if strings.EqualFold(c, name) {
			return c, true
		}
		if len(c) > maxSuggestLength || len(c)-len(name) > limit || len(name)-len(c) > limit {
			continue
		}
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, best != ""
}

// editDistance counts insertions, deletions, replacements and exchanges of neighbours (optimal string
// alignment), over bytes: all our names are ASCII.
func editDistance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			replace := row[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			next[j] = min(replace, row[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
