package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shrink looks for a smaller run that still violates something: a shorter one, then one with fewer acts and
// faults. It returns the options of the smallest that it found within a number of runs, and its result.
func Shrink(r *Result, o Options, runs int) (Options, *Result) {
	seed := r.Plan.Seed
	attempt := func(o Options) bool {
		if runs--; runs < 0 {
			return false
		}
		smaller := Run(seed, o)
		if smaller.Err != nil {
			r = smaller
		}
		return smaller.Err != nil
	}
	for d := r.Plan.Length / 2; d > time.Microsecond; d /= 2 {
		shorter := o
		if shorter.Duration = d; !attempt(shorter) {
			break
		}
		o = shorter
	}
	if o.Keep == nil {
		o.Keep = make([]int, r.Scheduled)
		for i := range o.Keep {
			o.Keep[i] = i
		}
	}
	for size := (len(o.Keep) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(o.Keep); {
			fewer := o
			fewer.Keep = slices.Delete(slices.Clone(o.Keep), at, min(at+size, len(o.Keep))) // never nil: that would be all
			if attempt(fewer) {
				o = fewer
			} else {
				at += size
			}
		}
	}
	return o, r
}

// FormatKeep and ParseKeep are the text of Options.Keep: numbers and ranges, "3,5-9", or "none".
func FormatKeep(keep []int) string {
	if len(keep) == 0 {
		return "none"
	}
	var parts []string
	for i := 0; i < len(keep); {
		j := i
		for j+1 < len(keep) && keep[j+1] == keep[j]+1 {
			j++
		}
		part := strconv.Itoa(keep[i])
		if j > i {
			part += "-" + strconv.Itoa(keep[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// ParseKeep reads what FormatKeep writes.
func ParseKeep(text string) ([]int, error) {
	keep := []int{}
	if text == "none" {
		return keep, nil
	}
	for _, part := range strings.Split(text, ",") {
		low, high, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(low)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(high)
		}
		if err != nil || from < 0 || to < from || to > 1_000_000 {
			return nil, fmt.Errorf("cluster: no list of numbers and ranges: %q; say for example 3,5-9", text)
		}
		for n := from; n <= to; n++ {
			keep = append(keep, n)
		}
	}
	return keep, nil
}
