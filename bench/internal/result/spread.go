package result

import (
	"fmt"
	"slices"
)

// Spread is one figure over the rounds of a comparison.
type Spread struct{ Median, Min, Max float64 }

// SpreadOf is the spread of at least one value. Of an even number of values the lower middle one is the median:
// a median is a value that was measured.
func SpreadOf(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	return Spread{Median: s[(len(s)-1)/2], Min: s[0], Max: s[len(s)-1]}
}

// Format prints the median and, in brackets, the spread, with each value as f prints it.
func (s Spread) Format(f func(float64) string) string {
	return fmt.Sprintf("%s (%s..%s)", f(s.Median), f(s.Min), f(s.Max))
}

// PerSecond prints a rate with a unit and three digits.
func PerSecond(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3g M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3g k", v/1e3)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// Micros prints ns as µs, from a thousand of them as ms.
func Micros(ns float64) string {
	if ns >= 1e6 {
		return fmt.Sprintf("%.4g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g µs", ns/1e3)
}
